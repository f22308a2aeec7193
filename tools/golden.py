"""The golden documents: what the documented commands and the generated shapes print and write, kept in tests/golden.

    python tools/golden.py --check [NAME ..]     run them and compare; a difference is listed and ends with 1
    python tools/golden.py --write [NAME ..]     keep what they give now

A document is text: for each command its exit status, both streams, and the files it wrote. JSON is one value per line
with six digits, long lists by their ends and their mean. Paths, times, versions and hashes are blanked.
"""

import argparse
import concurrent.futures
import contextlib
import difflib
import io
import json
import multiprocessing
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "tests" / "golden"
EXAMPLES = ROOT / "docs" / "examples"
MAX_LISTED = 12  # longer lists of numbers are kept by their ends and their mean
BLANKED = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?"), "TIME"),
    (re.compile(r"\b[0-9a-f]{12,64}\b"), "HASH"),
    (re.compile(r"\b\d+(\.\d+)? (s|seconds|MB|KB)\b"), "MEASURED"),
)
PROGRESS = re.compile(r"\w+: \d+ of \d+ tasks")  # shown where work takes long
TEXTS = (".md", ".xml", ".csv", ".toml")


def documented() -> dict[str, list[str]]:
    """The sections of commands.txt."""
    sections: dict[str, list[str]] = {}
    lines = (FOLDER / "commands.txt").read_text().splitlines()
    for line in (line.strip() for line in lines if line.strip() and not line.startswith("#")):
        if line.startswith("["):
            commands = sections.setdefault(f"docs-{line.strip('[]')}", [])
        else:
            commands.append(line)
    return sections


def generated() -> dict[str, Any]:
    """The generated shapes by the names of their documents."""
    from golden_shapes import shapes

    return {f"shape-{shape.name}": shape for shape in shapes()}


def shape_commands(shape: Any) -> list[str]:
    """The commands that are run on a generated shape."""
    lines = [
        f"compare DATA {shape.asked} {shape.alone} --json compare.json --md compare.md",
        f"report DATA {shape.asked} --json report.json --md report.md -o page.html",
        *shape.more,
    ]
    return [f"richter {' '.join(line.split())}".replace("DATA", "data.csv") for line in lines]


def blanked(text: str, folder: Path) -> str:
    """A text without what differs from one run to the next."""
    from richter import __version__

    text = text.replace(str(folder), "FOLDER").replace(__version__, "VERSION")
    for pattern, word in BLANKED:
        text = pattern.sub(word, text)
    return text


def json_lines(value: Any, path: str = "") -> Iterator[str]:
    """A document as lines `path: value`."""
    if isinstance(value, dict) and value:
        for key in value:
            yield from json_lines(value[key], f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and len(value) > MAX_LISTED and all(isinstance(v, (int, float)) for v in value):
        yield f"{path}: {len(value)} numbers, {value[0]:.6g} .. {value[-1]:.6g}, mean {sum(value) / len(value):.6g}"
    elif isinstance(value, list) and value:
        for k, element in enumerate(value):
            yield from json_lines(element, f"{path}[{k}]")
    elif isinstance(value, float):
        yield f"{path}: {value:.6g}"
    elif value not in (None, "", [], {}):  # where there is none, there is no line
        yield f"{path}: {json.dumps(value, ensure_ascii=False)}"


def run_command(line: str, folder: Path) -> Iterator[str]:
    """The lines that a command adds to its document."""
    from richter.cli import main

    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    out, err = io.StringIO(), io.StringIO()
    code: Any = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main(shlex.split(line)[1:])
    except SystemExit as stop:
        code = stop.code or 0
    except Exception as error:  # a fault of the program is a part of its document until it is mended
        code = f"fault: {type(error).__name__}: {error}"
    yield f"$ {line}"
    yield f"exit {code}"
    for name, text in (("", out.getvalue()), ("err| ", err.getvalue())):
        if text.startswith("{") and not name:
            yield from (f"json| {blanked(row, folder)}" for row in json_lines(json.loads(text)))
        else:
            rows = (row for row in blanked(text, folder).splitlines() if not PROGRESS.match(row))
            yield from (f"{name}{row}".rstrip() for row in rows)
    for path in sorted(folder.rglob("*")):
        if path.is_dir() or before.get(path) == path.stat().st_mtime_ns or path.suffix not in (".json", *TEXTS):
            continue
        yield f"--- {path.relative_to(folder)}"
        if path.suffix == ".json":
            yield from (blanked(row, folder) for row in json_lines(json.loads(path.read_text())))
        else:
            yield from (row.rstrip() for row in blanked(path.read_text(), folder).splitlines())
    yield ""


def make_document(name: str) -> str:
    """The text of one golden document, made in a folder of its own."""
    os.environ.update(COLUMNS="120", NO_COLOR="1", TERM="dumb")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made).resolve()
        if name.startswith("docs-"):
            shutil.copytree(EXAMPLES, folder, dirs_exist_ok=True)
            commands = documented()[name]
        else:
            shape = generated()[name]
            shape.table.write_csv(folder / "data.csv")
            commands = shape_commands(shape)
        with contextlib.chdir(folder):
            return "\n".join(row for line in commands for row in run_command(line, folder)) + "\n"


def main() -> int:
    """Make all documents, or those named, and keep them or compare them with what is kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    act = parser.add_mutually_exclusive_group(required=True)
    act.add_argument("--write", action="store_true", help="keep what the commands give now")
    act.add_argument("--check", action="store_true", help="compare with what is kept")
    parser.add_argument("names", nargs="*", help="only documents whose name contains one of these")
    parser.add_argument("--lines", type=int, default=40, help="lines shown per difference (default 40)")
    args = parser.parse_args()
    every = [*documented(), *generated()]
    names = [name for name in every if not args.names or any(part in name for part in args.names)]
    differing = []
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        for name, text in zip(names, pool.map(make_document, names), strict=True):
            path = FOLDER / f"{name}.txt"
            if args.write:
                path.write_text(text)
                continue
            kept = path.read_text() if path.exists() else ""
            if text != kept:
                differing.append(name)
                rows = list(
                    difflib.unified_diff(
                        kept.splitlines(), text.splitlines(), f"kept/{name}", f"now/{name}", n=1, lineterm=""
                    )
                )
                cut = [f"... {len(rows) - args.lines} more lines"] if len(rows) > args.lines else []
                print("\n".join(rows[: args.lines] + cut))
    vanished = [] if args.names else sorted({p.stem for p in FOLDER.glob("*-*.txt")} - set(every))
    if args.write:
        for name in vanished:
            (FOLDER / f"{name}.txt").unlink()
        print(f"{len(names)} golden documents written")
        return 0
    print(f"{len(names)} golden documents, {len(differing)} differ: {', '.join(differing) or 'none'}")
    if vanished:
        print(f"kept, but no longer made: {', '.join(vanished)}")
    return int(bool(differing or vanished))


if __name__ == "__main__":
    sys.exit(main())
