"""Files are written whole or not at all."""

import contextlib
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from richter.errors import StorageError

__all__ = ["replace_file", "write_file", "write_folder"]


@contextlib.contextmanager
def replace_file(path: str | Path, *, into_new: bool = False, remedy: str = "Choose another path.") -> Iterator[Path]:
    """Where to write a file beside its place; it is put there when the block ends well, and else nothing is left.

    `into_new` makes its folder. A fault is one line.
    """
    target = Path(path)
    partial = target.with_name(f"{target.name}.{secrets.token_hex(4)}.part")  # several may write at once
    try:
        if into_new:
            target.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        partial.replace(target)
    except OSError as error:
        raise StorageError(f"{target} cannot be written: {error.strerror or error}.", remedy=remedy) from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


def write_file(
    path: str | Path, content: str | bytes, *, into_new: bool = False, remedy: str = "Choose another path."
) -> Path:
    """Write a text or bytes as a file, whole or not at all."""
    with replace_file(path, into_new=into_new, remedy=remedy) as partial:
        partial.write_bytes(content.encode() if isinstance(content, str) else content)
    return Path(path)


def write_folder(folder: str | Path, files: Mapping[str, str | bytes]) -> Path:
    """Write all files of a folder beside it first, then put them there: what is there is whole. A fault is one line."""
    target = Path(folder)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as scratch:
            for name, content in files.items():
                place = Path(scratch) / name
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content.encode() if isinstance(content, str) else content)
            Path(scratch).chmod(0o755)
            shutil.copytree(scratch, target, dirs_exist_ok=True)
    except OSError as error:
        reason = error.strerror or "a file of it cannot be put there"
        raise StorageError(f"{target} cannot be written: {reason}.", remedy="Choose another folder.") from error
    return target
