"""Run mypy with the plugins of the workspace as they were before a patch.

    python3 run_mypy.py keep TREE WORK          before the patch is applied
    python3 run_mypy.py run TREE WORK ARG...    mypy, in the patched workspace

keep makes TREE the workspace as it is now. Standard input is a JSON list of the paths below WORK
that the patch will change. They are copied; directories and files that it leaves alone become
links. run takes every import of a module below WORK from TREE, however it is requested, and also
what a plugin opens below WORK. The files that mypy checks are read from WORK as usual.
"""

import builtins
import importlib.machinery
import io
import json
import os
import shutil
import sys
import zipimport
from importlib import _bootstrap_external as external


def keep(tree: str, work: str, paths: list[str]) -> None:
    """Make tree from work, in which only the paths will change."""
    within: dict[str, set[str]] = {"": set()}
    for p in paths:
        while p:
            p, name = os.path.split(p)
            within.setdefault(p, set()).add(name)
    for directory in sorted(within):
        here = os.path.join(work, directory)
        if not os.path.isdir(here) or os.path.islink(here):
            continue
        os.makedirs(os.path.join(tree, directory), exist_ok=True)
        for entry in os.scandir(here):
            to = os.path.join(tree, directory, entry.name)
            if entry.name not in within[directory]:
                os.symlink(entry.path, to)
            elif not entry.is_dir(follow_symlinks=False):
                shutil.copy2(entry.path, to, follow_symlinks=False)


def run(tree: str, work: str, args: list[str]) -> None:
    """Run mypy, with imports below work taken from tree."""

    def instead(path: object) -> object:
        if not isinstance(path, (str, os.PathLike)):
            return path
        place = os.path.abspath(os.fspath(path))  # type: ignore[arg-type]
        if isinstance(place, str) and (place == work or place.startswith(work + "/")):
            return tree + place[len(work) :]
        return path

    loaders = [
        (importlib.machinery.ExtensionFileLoader, importlib.machinery.EXTENSION_SUFFIXES),
        (importlib.machinery.SourceFileLoader, importlib.machinery.SOURCE_SUFFIXES),
        (importlib.machinery.SourcelessFileLoader, importlib.machinery.BYTECODE_SUFFIXES),
    ]

    def hook(path: str) -> object:
        place = instead(path)
        if place is path:
            raise ImportError(path)
        # A directory that does not exist finds nothing.
        return zipimport.zipimporter(place) if os.path.isfile(place) else importlib.machinery.FileFinder(place, *loaders)

    sys.path_hooks.insert(0, hook)
    sys.path_importer_cache.clear()

    load = external.FileLoader.get_data
    external.FileLoader.get_data = lambda self, path: load(self, instead(path))

    plain = builtins.open

    def opened(file, *rest, **named):
        frame = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_filename.startswith(tree + "/"):
                return plain(instead(file), *rest, **named)
            frame = frame.f_back
        return plain(file, *rest, **named)

    builtins.open = io.open = opened

    sys.path[0] = os.path.dirname(sys.executable)  # as for the mypy program
    sys.argv = ["mypy", *args]
    from mypy.__main__ import console_entry

    sys.exit(console_entry())


if __name__ == "__main__":
    command, top, place = sys.argv[1:4]
    if command == "keep":
        keep(top, place, json.load(sys.stdin))
    else:
        run(top, place, sys.argv[4:])
