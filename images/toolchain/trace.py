"""Mark which of the lines that trace_plan.py prepared this interpreter executes.

agent-trace.pth has every interpreter of a box run this first when a request is there, and
nothing otherwise. It works on what the interpreter tells of code objects (sys.monitoring,
PEP 669), by their file names: so the text, the byte code and the modules of a program are
what they are without it, and a line costs something once.

A mark is one byte of a file that all processes share: it is there at once, and stays when
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
            # Without a descriptor, which programs that become daemons would close.
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
        # What a module's first line is differs between versions.
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
