"""Reading somebody else's file in a child process with limits: parsers have none on their time and memory.

The child is this file, run alone and isolated, and takes nothing of Richter but the one file that it is told to read
with, whose function `in_child(kind, data)` gives what JSON can carry. It takes one document after another. A document
over its limits ends the child, and the next one gets another.
"""

import atexit
import importlib.util
import json
import subprocess
import sys
import threading
from typing import Any

_guard = threading.Lock()
_children: "dict[str, subprocess.Popen[bytes]]" = {}  # by the file that they read with


def read_limited(reader: str, kind: str, data: bytes, *, folder: str, seconds: float, room: int) -> Any:
    """What the file `reader` makes of `data`; None if that takes more than so many seconds of CPU or bytes of memory.

    `folder` is where the parser lies that the reader imports.
    """
    with _guard:
        child = _children.get(reader)
        if child is None:
            child = subprocess.Popen(  # noqa: S603  (no shell, our own file; -I: nothing from the folder we are in)
                [
                    sys.executable,
                    "-I",
                    "-B",
                    __file__,
                    reader,
                    folder,
                ],  # -B: where a disk is full it would cut code off
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            if not _children:
                atexit.register(end_children)
            _children[reader] = child
        to, back = child.stdin, child.stdout
        try:
            if to is None or back is None:
                return None
            to.write(json.dumps([kind, len(data), seconds, room]).encode() + b"\n")
            to.write(data)
            to.flush()
            return json.loads(back.readline())
        except (OSError, ValueError):  # it has ended
            _end(_children.pop(reader))
            return None


def end_children() -> None:
    """End them all; the next document gets new ones."""
    while _children:
        _end(_children.popitem()[1])


def _end(child: "subprocess.Popen[bytes]") -> None:
    child.kill()
    child.wait()
    for stream in (child.stdin, child.stdout):
        try:
            if stream is not None:
                stream.close()
        except OSError:  # what was still to be written
            continue


def _serve(reader: str, folder: str) -> None:
    """The child: one request after another until there are no more."""
    sys.path.append(folder)
    spec = importlib.util.spec_from_file_location("reader", reader)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["reader"] = module
    spec.loader.exec_module(module)
    while line := sys.stdin.buffer.readline():
        kind, size, seconds, room = json.loads(line)
        data = sys.stdin.buffer.read(size)
        try:
            import resource
            import signal

            resource.setrlimit(resource.RLIMIT_DATA, (room, resource.getrlimit(resource.RLIMIT_DATA)[1]))
            signal.setitimer(signal.ITIMER_PROF, seconds)  # which ends this process, wherever it is
        except (ImportError, ValueError, AttributeError, OSError):
            pass  # a system without such limits
        reply = json.dumps(module.in_child(kind, data))
        sys.stdout.write(reply + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve(*sys.argv[1:3])
