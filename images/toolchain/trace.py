"""Mark which of the lines that trace_plan.py prepared this interpreter executes.

agent-trace.pth makes every interpreter of a box run this first if there is a request, and
nothing otherwise. It works on the interpreter's events about code objects (sys.monitoring,
PEP 669) and their file names. So the text, byte code and modules of a program are the same as
without it, and a line has a cost only once.

A mark is one byte of a file that all processes share: it is set at once, and stays when
a process is killed.
"""


def follow(asked="/tmp/agent-trace.asked", marks="/tmp/agent-trace.marks", tool=4):
    import marshal
    import mmap
    import sys
    from posixpath import realpath

    watch = sys.monitoring
    try:
        with open(asked, "rb") as f:
            files = marshal.load(f)
        with open(marks, "r+b") as f:
            # No descriptor is kept, since programs that become daemons would close it.
            mark = mmap.mmap(f.fileno(), 0, trackfd=False)
        watch.use_tool_id(tool, "agent")
    except (OSError, ValueError, EOFError, TypeError):
        return
    names = {path.rpartition("/")[2] for path in files}
    done, event = watch.DISABLE, watch.events.LINE

    def named(path):
        if path.rpartition("/")[2] not in names:
            return None
        if path not in files:
            try:
                files[path] = files.get(realpath(path))
            except (OSError, ValueError):
                files[path] = None
        return files[path]

    def scope(code):
        # The first line of a module differs between versions.
        return (code.co_name, code.co_name != "<module>" and code.co_firstlineno)

    def started(code, _):
        found = named(code.co_filename)
        if found:
            unit, lines = found.get(scope(code), (None, None))
            if unit is not None:
                mark[unit] = 1
            if lines:
                watch.set_local_events(tool, code, event)
        return done

    def reached(code, line):
        found = named(code.co_filename)
        if found:
            for unit in found.get(scope(code), (None, {}))[1].get(line, ()):
                mark[unit] = 1
        return done

    watch.register_callback(tool, watch.events.PY_START, started)
    watch.register_callback(tool, event, reached)
    watch.set_events(tool, watch.events.PY_START)


follow()
