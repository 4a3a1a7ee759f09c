"""Interrupt the test for which everything in the box waits.

    python3 -I -S stalled.py PID SIGNAL RECORD [SECONDS,...]

PID runs tests and adds a line to RECORD whenever one begins or ends. On SIGNAL it raises an error in its main thread. Without this,
a test that waits for a server that never started, and sets itself no limit, would use up the time of all the others.

A test is stalled if RECORD has not grown for the first of the SECONDS, and the processes of the box have used next to no processor time
meanwhile. A test that computes, or that a busy machine keeps from computing, is not stalled. The next tests often wait in vain for the
same thing, so they get less time. This process ends with PID, or when RECORD is gone or replaced:
PID then begins anew, with another of these processes.
"""

import glob
import os
import sys
import time

PATIENCE = "60,10,3"  # seconds for the first stalled test, the second and the others
BUSY = 0.2  # of a processor, and the share of looks at which a process was running
TICKS = os.sysconf("SC_CLK_TCK")


def stat(pid):
    """Return the fields of /proc/PID/stat after the name of the program: state, parent, ..."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            return f.read().rpartition(")")[2].split()
    except OSError:
        return None


def begun(pid):
    fields = stat(pid)
    return fields and fields[0] not in "ZX" and fields[19]


def used():
    """Return the processor seconds of all processes and of their children that have ended, and whether one is computing or about to."""
    ticks, running = 0, False
    for path in glob.iglob("/proc/[0-9]*"):
        pid = path.rpartition("/")[2]
        fields = stat(pid)
        if fields and int(pid) != os.getpid():
            ticks += sum(map(int, fields[11:15]))
            running = running or fields[0] in "RD"
    return ticks / TICKS, running


def main():
    pid, signal, record = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    patience = [float(n) for n in (sys.argv[4:] or [PATIENCE])[0].split(",")]
    first, file, size, stalled = begun(pid), None, -1, 0
    while begun(pid) == first:
        try:
            found = os.stat(record)
        except OSError:
            return
        file = file or found.st_ino
        if found.st_ino != file:
            return
        grown, now, (seconds, running) = found.st_size, time.monotonic(), used()
        if grown != size:
            size, since, before, looks, seen = grown, now, seconds, 0, 0
        looks, seen = looks + 1, seen + running
        if now - since >= patience[min(stalled, len(patience) - 1)]:
            if seen < BUSY * looks and seconds - before < BUSY * (now - since):
                stalled += 1
                os.kill(pid, signal)
            since, before, looks, seen = now, seconds, 0, 0
        time.sleep(0.5)


if __name__ == "__main__":
    main()
