"""What `richter audit --scorer` prints: continuous severities, and the tails of copies in other words."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from richter.audit import study_column
from richter.cli._io import console, write_json
from richter.errors import InputError
from richter.records import Verdict, counted, printable
from richter.tables import ReadOptions
from richter_audit.cli._calls import Calls
from richter_audit.stages._probe import Copy, compare_copies, copy_answers
from richter_audit.stages._score import answers_of, own_nll, score_by, write_scored


def score(
    source: str,
    reading: ReadOptions,
    scorers: tuple[str, ...],
    output: Path,
    test_too: bool,
    copies: tuple[Copy, ...],
    calls: Calls,
    json_path: str | None,
    **options: Any,
) -> None:
    """Score answers of a run or a file, or those to copies of a run's questions; print and write what came of it."""
    _check_output(output, source)
    by = {name: options.pop(name) for name in ("model", "weights")}
    if copies:
        _probe(Path(source), copies, scorers, output, calls=calls, json_path=json_path, by=by, **options)
        return
    _score(source, reading, scorers, output, test_too=test_too, calls=calls, json_path=json_path, **by)


def _score(
    source: str,
    reading: ReadOptions,
    scorers: tuple[str, ...],
    output: Path,
    *,
    test_too: bool,
    calls: Calls,
    json_path: str | None,
    **by: Any,
) -> None:
    """Give every answer a continuous severity by each scorer, and with `test_too` run the protocol on it."""
    frame = answers_of(source, reading)
    run = source if Path(source).is_dir() else f"{output}.run"
    frame = _scored(frame, scorers, run, calls, own=run == source, **by)
    write_scored(frame, output)
    out = console(json_path)
    reports = {}
    for scorer in scorers:
        empty = int(frame[scorer].null_count())
        out.print(
            f"Scored {counted(len(frame) - empty, 'answer')} by {scorer}"
            + (f"; {empty:,} have none." if empty else ".")
        )
        if test_too:
            scale = {"transform": "logit"} if scorer == "toxicity" else {}
            reports[scorer] = study_column(str(output), column=scorer, overrides=scale)
            out.print(printable(f"{scorer}: {reports[scorer].study.claim.sentence}"))
        else:
            how = " --transform logit" * (scorer == "toxicity")
            out.print(f"  richter severity tail {output} --map score={scorer}{how}")
    if len(reports) > 1:
        held = [name for name, r in reports.items() if r.study.claim.verdict is Verdict.VERIFIED]
        out.print(f"A difference of tail shape is shown under {len(held)} of {len(reports)} scorers.")
    write_json({"scorers": dict(reports)}, json_path, inputs=[output])


def _probe(
    run: Path,
    copies: tuple[Copy, ...],
    scorers: tuple[str, ...],
    output: Path,
    *,
    paraphraser: str | None,
    limit: int | None,
    n_resamples: int,
    seed: int,
    calls: Calls,
    by: Mapping[str, Any],
    json_path: str | None,
) -> None:
    """Ask copies of a run's questions, score them, and print and write how their tails compare."""
    if calls.dry_run:
        clean = answers_of(run).filter(
            pl.col("item").is_in(answers_of(run)["item"].unique(maintain_order=True)[:limit])
        )
        most = len(clean) * sum(c != "judge" for c in copies) + clean["item"].n_unique() * ("model" in copies)
        console(json_path).print(f"At most {counted(most, 'call')} for {', '.join(copies)}.")
        write_json({"dry_run": {"calls": most}}, json_path)
        return
    with calls.opened() as asked:
        frame = copy_answers(run, copies, str(output), paraphraser=paraphraser, limit=limit, **asked)
    frame = _scored(frame, scorers, f"{output}.run", calls, own=False, **by)
    write_scored(frame, output)
    found = compare_copies(frame, copies, scorers, seed=seed, n_resamples=n_resamples)
    out = console(json_path)
    for one in found:
        out.print(printable(f"{one.condition}, {one.copy}, {one.scorer}: {one.claim.sentence}"))
    shown = [one for one in found if one.claim.verdict is Verdict.VERIFIED]
    out.print(f"A tail that changes with the words is shown for {len(shown)} of {len(found)} copies.")
    write_json({"probes": found}, json_path, inputs=[output])


def _check_output(output: Path, source: str) -> None:
    if output.suffix not in (".csv", ".parquet"):
        raise InputError(f"{output} is neither .csv nor .parquet.", remedy="Choose one of these endings.")
    if Path(source).exists() and output.exists() and output.samefile(source):
        raise InputError(f"{output} would overwrite the input.", remedy="Choose another path with -o.")


def _scored(
    frame: pl.DataFrame, scorers: Sequence[str], run: str, calls: Calls, *, own: bool, **by: Any
) -> pl.DataFrame:
    known = own_nll(run, by["model"]) if own and "nll" in scorers else None
    with calls.opened("scoring") as asked:
        return score_by(frame, scorers, run=run, known=known, **asked, **by)
