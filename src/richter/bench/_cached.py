"""The facts benchmark, built once and kept in the user's cache."""

import hashlib
from pathlib import Path

from richter.bench._gazetteer import pack
from richter.bench._items import write_bytes, write_items
from richter.errors import StorageError
from richter.store import cache_folder

__all__ = ["cached_facts"]


def cached_facts(*, items: int, seed: int = 0) -> Path:
    """The items' file, its gazetteer beside it; built where this number, seed and versions were not built before."""
    from richter.bench._facts import build_facts
    from richter.bench._world import World

    versions = World().versions
    code = [file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py"))]  # other code, other questions
    key = hashlib.sha256(repr(sorted(versions.items())).encode() + b"".join(code)).hexdigest()[:12]
    target = cache_folder() / f"facts-{key}" / f"facts-{items}-{seed}.jsonl"
    if not target.is_file():
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            what = f"{target.parent} cannot be made: {error.strerror}."
            raise StorageError(what, remedy="Set RICHTER_CACHE to a folder that can be written.") from error
        built = build_facts(items=items, seed=seed)
        write_bytes(pack(built.gazetteer), target.with_name(f"{target.stem}.gazetteer.json.gz"))
        write_items(built.items, target)  # last: a file that is there is whole
    return target
