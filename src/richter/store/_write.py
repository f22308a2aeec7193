"""Files are written whole or not at all."""

import contextlib
from pathlib import Path

from richter.errors import StorageError

__all__ = ["write_file"]


def write_file(
    path: str | Path, content: str | bytes, *, into_new: bool = False, remedy: str = "Choose another path."
) -> Path:
    """Write a file beside its place first, then put it there; `into_new` makes its folder. A fault is one line."""
    target = Path(path)
    partial = target.with_name(f"{target.name}.part")
    try:
        if into_new:
            target.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(content.encode() if isinstance(content, str) else content)
        partial.replace(target)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise StorageError(f"{target} cannot be written: {error.strerror}.", remedy=remedy) from error
    return target
