"""A sound file of every container that a command reads: its reader, and ways to break what is packed in it."""

import bz2
import gzip
import io
import lzma
import random
import shutil
import warnings
import zipfile
from pathlib import Path

import polars as pl
import zstandard

from helpers.foreign_logs import inspect_sample, write_inspect
from helpers.mutations import MUTATIONS, mutate
from helpers.read_any import Reader, read_log, read_table, write_documents
from richter_audit.knowledge import read_documents

ROWS = 24
PACKERS = {
    "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstandard.ZstdCompressor().compress,
}  # fmt: skip


ODD_NAMES = (
    "old.csv/x.csv", "../x.csv", "/x.csv", "a" * 300 + ".csv", "C:\\x.csv", "\u202ex.csv", "x", ".", "x.csv\n",
)  # fmt: skip


def grades() -> pl.DataFrame:
    names = ["old"] * ROWS + ["new"] * ROWS
    return pl.DataFrame({
        "item": [f"q{i % ROWS}" for i in range(2 * ROWS)], "condition": names, "correct": [1, 0, 1] * (2 * ROWS // 3),
        "answer": ['a, "b"', "c <d> &e;"] * ROWS,
    })  # fmt: skip


def containers(folder: Path) -> dict[str, tuple[Path, Reader]]:
    """A sound file of each container by name, with what reads it."""
    folder.mkdir(parents=True, exist_ok=True)
    table = grades()
    texts = {
        "csv": table.write_csv(), "tsv": table.write_csv(separator="\t"), "json": table.write_json(),
        "jsonl": table.write_ndjson(),
    }  # fmt: skip
    for name, text in texts.items():
        (folder / f"t.{name}").write_text(text, encoding="utf-8")
    table.write_parquet(folder / "t.parquet")
    with zipfile.ZipFile(folder / "t.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("old", "new"):
            archive.writestr(f"{name}.csv", table.filter(condition=name).drop("condition").write_csv())
    for name, pack in PACKERS.items():
        (folder / f"t.csv.{name}").write_bytes(pack(texts["csv"].encode()))
    books = sorted((Path(__file__).parents[1] / "corpus" / "unusual").glob("*.xlsx"))
    shutil.copy(books[0], folder / "t.xlsx")
    samples = [inspect_sample(f"q{i}", "C" if i % 3 else "I", epoch=1) for i in range(ROWS)]
    log = write_inspect(folder / "t.eval", samples)
    write_documents(folder / "documents")
    found: dict[str, tuple[Path, Reader]] = {
        path.name.removeprefix("t."): (path, read_table) for path in sorted(folder.glob("t.*")) if path != log
    }
    found["eval"] = (log, read_log)
    for path in sorted((folder / "documents").iterdir()):
        found[f"document {path.suffix[1:]}"] = (path, lambda p: list(read_documents(p)))
    return found


def broken_copy(path: Path, rng: random.Random) -> bytes:
    """A broken copy; of what is packed, mostly with the fault inside and packed again."""
    data = path.read_bytes()
    ending = path.suffix[1:]
    if rng.random() < 0.3:
        return mutate(path, rng)
    if ending in PACKERS:
        opened = {"gz": gzip.decompress, "bz2": bz2.decompress, "xz": lzma.decompress}
        inside = opened[ending](data) if ending in opened else zstandard.ZstdDecompressor().decompress(data)
        return PACKERS[ending](rng.choice(MUTATIONS)(inside, rng))
    if ending == "zip":
        return _broken_zip(data, rng)
    return mutate(path, rng)


def _broken_zip(data: bytes, rng: random.Random) -> bytes:
    """The archive with a broken member, a member of an odd name, or one twice."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    k = rng.randrange(len(members))
    name, body = members[k]
    match rng.randrange(4):
        case 0:
            members[k] = (name, rng.choice(MUTATIONS)(body, rng))
        case 1:
            members.append((rng.choice(ODD_NAMES), body))
        case 2:
            members.append((name, body[: len(body) // 2]))
        case _:
            members[k] = (rng.choice(ODD_NAMES), body)
    out = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(out, "w", rng.choice((0, 8))) as archive:
            for own, content in members:
                archive.writestr(zipfile.ZipInfo(own), content)
    return out.getvalue()
