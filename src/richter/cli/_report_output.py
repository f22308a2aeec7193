"""`richter report`: what a run shows, as a page, as JSON, as Markdown, as figures."""

import datetime
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from rich.console import Console

from richter.audit import measure_run, read_plan, stored_results
from richter.cli._io import (
    console,
    progress_console,
    read_history,
    settle_reading,
    split_names,
    split_sources,
    typed_only,
    write_json,
    write_text,
)
from richter.cli._screen import summarise
from richter.errors import InputError
from richter.interop import named_source
from richter.records import printable
from richter.report import MARKDOWN_MARK, markdown, write_figures, write_report
from richter.store import is_run, run_file
from richter.tables import ReadOptions

PAGE_MARK = '<meta name="generator" content="Richter'
MADE = (".html", ".md", ".json", ".svg", ".png")  # what reports are written as; all else in a run is its records
HEAD = 8192  # characters in which a report says that it is one


def report(
    sources: tuple[str, ...],
    output: Path | None,
    md_path: str | None,
    folder: Path | None,
    form: Literal["svg", "png"],
    only: str | None,
    plan: Path | None,
    history: str | None,
    level: float,
    margin: dict[str, float],
    seed: int,
    redact: bool,
    force: bool,
    reading: ReadOptions,
    json_path: str | None,
    **vouched: Any,
) -> None:
    """Measure what was given, or draw a stored document again; write the page and what else is asked for, and print."""
    files, names = split_sources(sources)
    place = named_source(files[0])[1] if len(files) == 1 else None
    run = place if place is not None and is_run(place) else None
    stored = None if place is None else stored_results(place)
    if {output, json_path, md_path, folder} == {None}:
        output = (run or Path()) / "report.html"
    inputs = _inputs(run, plan, files)
    _check_targets(output, md_path, inputs=inputs, force=force)
    if stored is not None:
        if reading.weight or reading.macro:
            raise InputError(
                "A results document is counted already.", remedy="Give the data, or leave out --weight and --macro."
            )
        for line in _again(stored, str(place), output, md_path=md_path, folder=folder, form=form):
            console(md_path).print(line, soft_wrap=True)
        return
    stated = _stated_options(run, plan, level=level, margin=margin)
    if (ruling := _plan_in_force(run, plan)) is not None:
        reading = settle_reading(reading, read_plan(ruling).reading)
    with _measuring() as watch:
        results = measure_run(
            *files, options=reading, conditions=names, only=None if only is None else split_names(only), plan=plan,
            seed=seed, **stated, **vouched, watch=watch,
        )  # fmt: skip
        document = results.to_dict()
        if history is not None and (past := read_history(history, options=reading, level=level)) is not None:
            document["history"] = past
        if output is not None:
            watch("the page")
            write_report(document, results.tables, output, built_at=_now(), redact=redact)
    written = _write_beside(document, output, folder, form, json_path=json_path, md_path=md_path, inputs=inputs)
    _print_summary(console(json_path, md_path), document, written, files)


def _write_beside(
    document: dict[str, Any],
    output: Path | None,
    folder: Path | None,
    form: Literal["svg", "png"],
    *,
    json_path: str | None,
    md_path: str | None,
    inputs: list[Path],
) -> list[str]:
    """The page, and the figures and the Markdown written beside it; the JSON is written too, but not named."""
    written = [] if output is None else [str(output)]
    if folder is not None:
        written += [str(path) for path in write_figures(document, folder, form)]
    write_json(document, json_path, inputs=inputs)
    if md_path is not None:
        write_text(markdown(document), md_path)
        written += [md_path] * (md_path != "-")
    return written


def _stated_options(run: Path | None, plan: Path | None, **options: Any) -> dict[str, Any]:
    """The options that hold: all of them, or only those typed where there is a plan."""
    return options if _plan_in_force(run, plan) is None else typed_only(options)


def _plan_in_force(run: Path | None, plan: Path | None) -> Path | None:
    """The plan that holds against `richter.toml` and defaults: the given one, else the run's own."""
    return plan if plan is not None or run is None else run_file(run, "plan.toml")


def _check_targets(output: Path | None, md_path: str | None, *, inputs: list[Path], force: bool) -> None:
    """Refuse, before the work, what the page or the Markdown must not overwrite."""
    if output is not None:
        check_target(output, mark=PAGE_MARK, inputs=inputs, force=force)
    if md_path is not None and md_path != "-":
        check_target(Path(md_path), mark=MARKDOWN_MARK, inputs=inputs, force=force)


def _print_summary(out: Console, document: dict[str, Any], written: list[str], files: list[str]) -> None:
    """Print what a document shows in a screen, and what was written."""
    after = [f"written  {', '.join(printable(p) for p in written[:3])}" + ", …" * (len(written) > 3)] if written else []
    lines = summarise(document, ascii_only=out.options.ascii_only, width=out.width, after=after, sources=files)
    for line in lines:
        out.print(line, soft_wrap=True)


def _again(
    document: dict[str, Any], file: str, output: Path | None, *, md_path: str | None, folder: Path | None, form: Any
) -> list[str]:
    """The page of a stored results document; nothing is measured and no answers are in it."""
    written = []
    try:
        if output is not None:
            write_report(document, None, output, built_at=_now())
            written.append(str(output))
        if folder is not None:
            written += [str(path) for path in write_figures(document, folder, form)]
        if md_path is not None:
            write_text(markdown(document), md_path)
    except (AttributeError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise InputError(
            f"{file} is a results document (version {document.get('version')}) that cannot be drawn.",
            remedy="Make it again from its run: richter report RUN --json results.json",
        ) from error
    return [printable(str(document.get("answer") or ""), limit=600), f"written  {', '.join(written[:3])}"]


def _inputs(run: Path | None, plan: Path | None, files: list[str]) -> list[Path]:
    """What a report is made from, and must never overwrite."""
    inside = () if run is None else run.rglob("*")
    own = [path for path in inside if path.is_file() and path.suffix not in MADE]
    planned = [] if plan is None else [plan, Path(f"{plan}.lock")]
    given = [path for file in files if (path := named_source(file)[1]).is_file()]
    return [*own, *planned, *given]


def is_report(path: Path, mark: str) -> bool:
    """Whether a file says in its head that Richter made it as a report."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return mark in file.read(HEAD)
    except OSError:
        return False


def check_target(path: Path, *, mark: str, inputs: Iterable[Path], force: bool) -> None:
    """Refuse, before the work, a path that cannot take a report: a folder, an input, or somebody's file."""
    if path.is_dir():
        raise InputError(f"{path} is a folder.", remedy="Name the file that the report shall be written to.")
    if not path.exists():
        return
    if any(path.samefile(other) for other in inputs if other.exists()):
        raise InputError(f"{path} is part of the run.", remedy="Choose another path.")
    if not force and not is_report(path, mark):
        raise InputError(f"{path} exists and is not a Richter report.", remedy="Choose another path, or --force.")


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


@contextmanager
def _measuring() -> Iterator[Any]:
    """A watcher that shows on a terminal which section is measured."""
    shown = progress_console()
    if not shown.is_terminal:
        yield lambda name: None
        return
    with shown.status("reading the run") as status:
        yield lambda name: status.update(f"measuring: {name}")
