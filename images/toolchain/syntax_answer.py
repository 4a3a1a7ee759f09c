"""What the parsers behind syntax.py can say about a file: its faults, or why it is not judged."""


class Trouble(Exception):
    """A tool is missing or did not work, so the file is not judged."""


class Skipped(Exception):
    """The file is not what its name says, such as a template, so there is no parser for it."""


def finding(rule, line, column, message):
    return {"line": line or 0, "column": column or 0, "rule": rule, "message": message}
