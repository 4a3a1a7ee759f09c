"""Carry what mypy knows of a workspace from one box to the next.

    python3 types_cache.py unpack DIR <PACKED
    python3 types_cache.py pack DIR PACKED

PACKED is a compressed tar of mypy's cache directory DIR. mypy uses a cached module
for a file if size and mtime are equal, or else if size and hash are. Files of two
boxes can share an mtime by chance, so the mtimes of sources are replaced by one that
no file has: the hash always decides.

pack writes nothing if little is new since unpack, or if it is too much to carry. Before
it gives up, it leaves out DIR/rest, the cache for files beyond those that a project checks
itself. mypy's data about a library is mostly equal in both parts, and one file is then a link
to the other. unpack leaves either all of DIR or none of it; without one mypy starts afresh.
"""

import hashlib
import json
import os
import shutil
import sys
import tarfile

MAX_SIZE = 40 << 20  # bytes of DIR, which shares /tmp with whatever mypy writes anew
MAX_PACKED = 8 << 20  # bytes of PACKED, the most that the guest collects
NO_TIME = -1
LITTLE = 16  # new data counts if it is more than one file in so many


def files(top):
    for folder, _, names in os.walk(top):
        for name in sorted(names):
            if name.endswith(".json"):
                yield os.path.join(folder, name)


DATA, META = ".data.json", ".meta.json"


def unhook(path):
    """Take the source's mtime out of mypy's record of a module, and put in the mtime of its data file."""
    if path.endswith(META):
        with open(path, encoding="utf-8") as f:
            meta = json.load(f)
        kept = os.stat(path)
        data = path.removesuffix(META) + DATA
        meant = {**meta, "mtime": NO_TIME}
        if os.path.exists(data):
            meant["data_mtime"] = int(os.path.getmtime(data))
        if meant != meta:
            with open(path, "w", encoding="utf-8") as f:
                json.dump(meant, f)
            os.utime(path, ns=(kept.st_atime_ns, kept.st_mtime_ns))


def link(paths):
    """Make equal data files one file. Its mtime is the newest of theirs, which shows what is new."""
    same = {}  # digest: the files
    for path in paths:
        if path.endswith(DATA):
            with open(path, "rb") as f:
                same.setdefault(hashlib.file_digest(f, "sha256").digest(), []).append(path)
    for first, *others in same.values():
        for path in others:
            if os.path.samefile(first, path):
                continue
            newest = max(os.stat(first).st_mtime_ns, os.stat(path).st_mtime_ns)
            os.remove(path)
            os.link(first, path)
            os.utime(first, ns=(newest, newest))


def worth(paths):
    """Report whether enough is new and fits: mtimes are whole seconds if unpack wrote the file, not if mypy did."""
    stats = list({s.st_ino: s for s in (os.stat(path) for path in paths if path.endswith(DATA))}.values())
    new = sum(1 for s in stats if s.st_mtime_ns % 10**9)
    return new * LITTLE > len(stats) and sum(s.st_size for s in stats) <= MAX_SIZE


def whole_seconds(info):
    info.mtime = int(info.mtime)  # as mypy compares the mtimes of its own files
    return info


def pack(top, packed):
    everything = list(files(top))
    link(everything)
    promised = [path for path in everything if not path.startswith(os.path.join(top, "rest", ""))]
    for paths in (everything, promised):
        if worth(paths) and written(top, packed, paths):
            return


def written(top, packed, paths):
    try:
        with tarfile.open(packed, "w:gz", compresslevel=6) as tar:
            for path in paths:
                unhook(path)
                tar.add(path, os.path.relpath(path, top), filter=whole_seconds)
        if os.path.getsize(packed) <= MAX_PACKED:
            return True
    except OSError as e:  # a full disk
        print(e, file=sys.stderr)
    os.remove(packed)
    return False


def unpack(top):
    try:
        with tarfile.open(fileobj=sys.stdin.buffer, mode="r|gz") as tar:
            size = 0
            for member in tar:
                size += member.size
                known = member.isfile() or member.islnk() and member.linkname.endswith(DATA)
                if size > 2 * MAX_SIZE or not known or not member.name.endswith(".json"):
                    raise ValueError(f"it holds {member.name}, {size} bytes so far")
                tar.extract(member, top, filter="data")
    # Catches any fault, since no reader of tars lists everything that hostile bytes raise.
    except Exception as e:
        shutil.rmtree(top, ignore_errors=True)
        sys.exit(f"{type(e).__name__}: {e}")


if __name__ == "__main__":
    if sys.argv[1] == "pack":
        pack(*sys.argv[2:])
    else:
        unpack(*sys.argv[2:])
