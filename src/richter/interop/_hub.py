"""A folder as the Hugging Face Hub lays data sets out: README.md with its header, data files, Croissant beside them."""

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from richter.errors import InputError, StorageError
from richter.interop._croissant import About, DataFile, croissant

__all__ = ["hub_header", "hub_size", "write_dataset"]

SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def hub_size(n: int) -> str:
    """The Hub's name for a number of rows."""
    return next((name for most, name in SIZES if n <= most), "n>1M")


def hub_header(fields: Mapping[str, Any]) -> str:
    """The header between lines of dashes. JSON is YAML, so each value is written as JSON: nothing can break out."""
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items()]
    return "\n".join(["---", *lines, "---", ""])


def write_dataset(folder: str | Path, about: About, files: Sequence[DataFile], readme: str, *, force: bool) -> None:
    """Write README.md, croissant.json and the data files in one step: a folder that is there is whole."""
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())) and not force:
        raise InputError(f"{target} exists and is not empty.", remedy="Choose another folder, or add --force.")
    text = json.dumps(croissant(about, files), indent=2, ensure_ascii=False) + "\n"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as made:
            for path, content in [
                *((file.path, file.content) for file in files),
                ("croissant.json", text.encode()),
                ("README.md", readme.encode()),
            ]:
                place = Path(made) / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
            Path(made).chmod(0o755)
            shutil.copytree(made, target, dirs_exist_ok=True)
    except OSError as error:
        raise StorageError(f"{target} cannot be written: {error.strerror}.", remedy="Choose another folder.") from error
