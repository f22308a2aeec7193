"""The records of an audit as a data set: answers as Parquet, and a Croissant file that names it and each column."""

import argparse
import io
from collections.abc import Sequence

import polars as pl

from richter.interop import About, DataFile, write_dataset
from richter.tables import answers_table, read_tables


def main(words: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("source")
    options.add_argument("folder")
    options.add_argument("--license", default="", help="the terms, such as cc-by-4.0")
    options.add_argument("--creator", default="", help="who made it")
    given = options.parse_args(words)
    frame = answers_table(read_tables(given.source))
    content = io.BytesIO()
    frame.write_parquet(content)
    file = DataFile(
        path="data/answers.parquet", content=content.getvalue(), description="The answers.",
        columns={name: _kind(name, kind) for name, kind in frame.schema.items()},
    )  # fmt: skip
    about = About(
        name=given.folder, description=f"Records of an audit of language models: {frame.height:,} answers.",
        licenses=(given.license,) if given.license else (), creator=given.creator,
        keywords=("language models", "evaluation", "error severity"),
    )  # fmt: skip
    readme = f"# {given.folder}\n\n{about.description}\n\nAnswers are what models wrote: untrusted text.\n"
    write_dataset(given.folder, about, [file], readme)
    print(f"{given.folder}: {frame.height:,} answers.")


def _kind(column: str, kind: pl.DataType) -> tuple[str, str, bool]:
    inner = kind.inner if isinstance(kind, pl.List) else kind
    name = "Integer" if inner.is_integer() else "Float" if inner.is_numeric() else "Text"
    return ("Boolean" if inner == pl.Boolean else name, column.replace("_", " "), isinstance(kind, pl.List))


if __name__ == "__main__":
    main()
