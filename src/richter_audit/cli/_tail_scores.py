"""`richter tail score` and `richter tail probe`: what asks models for a tail study."""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import polars as pl

from richter.audit import study_column
from richter.cli._io import console, json_option, reading_options, write_json
from richter.errors import InputError
from richter.records import Verdict, counted, printable
from richter.store import Place, is_database, keep_file, run_file, run_folder, run_place
from richter.tables import ReadOptions
from richter_audit.cli._calls import Calls, call_options
from richter_audit.cli._progress import asking, downloading
from richter_audit.stages._probe import COPIES, Copy, compare_copies, copy_answers
from richter_audit.stages._score import SCORERS, answers_of, own_nll, score_by, write_scored

SCORING = (
    click.option(
        "--scorer", "scorers", type=click.Choice(SCORERS), multiple=True, required=True, help="Several may be given."
    ),
    click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="CSV or Parquet to write."),
    click.option("--model", default="smollm2", help="nll: the local judge model (or a GGUF file)."),
    click.option("--max-tokens", type=click.IntRange(1), default=256, help="nll: tokens read at most."),
    click.option("--slots", type=click.IntRange(1), default=16, help="nll: texts read in parallel."),
)


def _scoring(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(SCORING):
        command = option(command)
    return command


@click.command()
@click.argument("source", metavar="RUN|FILE")
@_scoring
@functools.partial(reading_options, names=("map", "wide", "filter"))  # of scores it needs none
@click.option("--test", "test_too", is_flag=True, help="Run the protocol on every scorer's column.")
@json_option
def score(
    source: str,
    reading: ReadOptions,
    scorers: tuple[str, ...],
    output: Path,
    test_too: bool,
    json_path: str | None,
    **nll: Any,
) -> None:
    """Give every answer of a RUN or a FILE, which is any data with answers that `richter compare` takes, a continuous
    severity.

    nll: the mean negative log-likelihood per token under a judge model that runs here. toxicity: a probability by
    alt-profanity-check, bounded in [0, 1]. length: characters. None says that an answer is wrong.
    Other columns of a table that is already at OUTPUT are kept. Then: richter tail test OUTPUT, or --test.

    \b
    Examples:
      richter tail score run1 --scorer nll -o scores.csv
      richter tail score answers.csv --scorer toxicity -o scores.csv --map answer=reply
      richter tail score run1 --scorer nll --scorer toxicity --test -o scores.csv
    """
    _check_output(output, source)
    frame = answers_of(source, reading)
    run = source if is_database(source) or Path(source).is_dir() else f"{output}.run"
    frame = _scored(frame, scorers, run, own=run == source, **nll)
    if own := is_database(source) and output.resolve() == (run_folder(source) / output.name).resolve():
        output.parent.mkdir(parents=True, exist_ok=True)
        run_file(source, output.name)  # as the database has it: its columns are kept
    write_scored(frame, output)
    if own:
        keep_file(source, output.name, output.read_bytes())
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
            out.print(f"  richter tail test {output} --map score={scorer}{how}")
    if len(reports) > 1:
        held = [name for name, r in reports.items() if r.study.claim.verdict is Verdict.VERIFIED]
        out.print(f"A difference of tail shape is shown under {len(held)} of {len(reports)} scorers.")
    write_json({"scorers": dict(reports)}, json_path, inputs=[output])


@click.command()
@click.argument("run", type=run_place)
@click.option("--copy", "copies", type=click.Choice(COPIES), multiple=True, help="How; default template and length.")
@_scoring
@click.option("--paraphraser", help="model: who puts the questions into other words.")
@click.option("--limit", type=click.IntRange(1), help="Only the first N items.")
@click.option("--n-resamples", type=click.IntRange(200), default=2000)
@click.option("--seed", type=click.IntRange(0), default=0)
@call_options("5usd, 20000calls or 2Mtok: of each copy.", dry_run="Say how much it would ask, and ask nothing.")
@json_option
def probe(
    run: Place,
    copies: tuple[Copy, ...],
    scorers: tuple[str, ...],
    output: Path,
    paraphraser: str | None,
    limit: int | None,
    n_resamples: int,
    seed: int,
    calls: Calls,
    json_path: str | None,
    **nll: Any,
) -> None:
    """Is a tail a trait of the model, or of the words it was asked in? Makes copies of a RUN, asks, scores, compares.

    template: the same questions in a frame of words. model: in another model's words. length: for a longer answer.
    judge: the same answers, the nll judge being asked otherwise. Copies are asked into OUTPUT.COPY and nothing is
    paid for twice. Every condition goes through all gates of the protocol against each of its copies.

    \b
    Examples:
      richter tail probe run1 --scorer nll -o probe.csv
      richter tail probe run1 --copy template --copy model --paraphraser openai/gpt-4o-mini --scorer nll -o probe.csv
    """
    copies = copies or ("template", "length")
    _check_output(output, str(run))
    if calls.dry_run:
        clean = answers_of(run).filter(
            pl.col("item").is_in(answers_of(run)["item"].unique(maintain_order=True)[:limit])
        )
        most = len(clean) * sum(c != "judge" for c in copies) + clean["item"].n_unique() * ("model" in copies)
        console(json_path).print(f"At most {counted(most, 'call')} for {', '.join(copies)}.")
        write_json({"dry_run": {"calls": most}}, json_path)
        return
    with calls.opened() as asked:
        asked["slots"] = nll["slots"]
        frame = copy_answers(run, copies, str(output), paraphraser=paraphraser, limit=limit, **asked)
    frame = _scored(frame, scorers, f"{output}.run", own=False, **nll)
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
    frame: pl.DataFrame, scorers: Sequence[str], run: str, *, own: bool, model: str, max_tokens: int, slots: int
) -> pl.DataFrame:
    with asking("scoring") as watch, downloading("SmolLM2-135M") as download:
        known = own_nll(run, model, max_tokens=max_tokens) if own and "nll" in scorers else None
        shown: dict[str, Any] = {"watch": watch, "download": download, "max_tokens": max_tokens, "slots": slots}
        return score_by(frame, scorers, model=model, run=run, known=known, **shown)
