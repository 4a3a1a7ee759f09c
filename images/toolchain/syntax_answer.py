"""What the parsers behind syntax.py can say of a file: its faults, or why there is no word about it."""


class Trouble(Exception):
    """A tool that is missing or did not work: no word about the file."""


class Skipped(Exception):
    """The file is not what its name says, such as a template: no parser for it."""


def finding(rule, line, column, message):
    return {"line": line or 0, "column": column or 0, "rule": rule, "message": message}
