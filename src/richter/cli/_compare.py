"""`richter compare`: is the difference between conditions real?"""

import dataclasses
from pathlib import Path

import click

from richter.audit import compare_tables, read_plan
from richter.audit._plan_tail import tail_plan
from richter.claims import About
from richter.cli._compare_text import markdown, show
from richter.cli._output import console, json_option, write_json
from richter.cli._reading import read_given, reading_options, split_sources
from richter.errors import StorageError
from richter.tables import ReadOptions, attempts


def parse_points(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """A margin: `2pt` (points), `2%` or `0.02`."""
    if value is None:
        return None
    text = value.strip().lower()
    scale = 1.0
    for suffix in ("points", "point", "pts", "pt", "%"):
        if text.endswith(suffix):
            text, scale = text.removesuffix(suffix).strip(), 0.01
            break
    try:
        number = float(text) * scale
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is not a margin; write 2pt or 0.02.") from error
    if not number > 0:
        raise click.BadParameter(f"{value!r} is not above 0; write 2pt or 0.02 for two points.")
    return number


def parse_tried(ctx: click.Context, param: click.Parameter, value: str) -> int | None:
    """A number of attempts, or None for as many as the log of looks knows."""
    if value == "auto":
        return None
    try:
        number = int(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is neither a number nor auto.") from error
    if number < 1:
        raise click.BadParameter(f"{value} is not at least 1.")
    return number


def parse_weights(ctx: click.Context, param: click.Parameter, value: str | None) -> dict[str, float] | None:
    """`NAME=WEIGHT,NAME=WEIGHT`."""
    if value is None:
        return None
    try:
        pairs = [part.rsplit("=", 1) for part in value.split(",")]
        return {name.strip(): float(weight) for name, weight in pairs}
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is not NAME=WEIGHT,NAME=WEIGHT.") from error


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="FILE|RUN [A B ..] | NAME=FILE NAME=FILE ..")
@click.option(
    "--margin",
    callback=parse_points,
    metavar="2pt",
    help="The gap that would matter. Gives 'equivalent', and sizes what is undecided.",
)
@click.option("--severity-margin", type=float, metavar="S", help="The same for mean severity, on its scale.")
@click.option(
    "--on",
    multiple=True,
    metavar="METRIC",
    help="The measure that comes first (accuracy, mean_score, ece, mean_severity, money, ...); more may follow.",
)
@click.option(
    "--about",
    type=click.Choice(["such-items", "these-items", "such-runs"]),
    default="such-items",
    show_default=True,
    help="What is generalised to: items like these, these very items (only draws vary), or runs like these.",
)
@click.option("--control", metavar="NAME", help="Compare all conditions with this one only.")
@click.option("--by", metavar="COLUMN", help="Each value of this column by itself, and whether the difference differs.")
@click.option("--adjust", is_flag=True, help="Take out how hard items are, as the other conditions see it.")
@click.option(
    "--suite", callback=parse_weights, metavar="A=2,B=1", help="One claim over benchmarks (domains) with these weights."
)
@click.option("--chance", type=click.FloatRange(0, 1), help="Right answers by guessing: near it order is uncheckable.")
@click.option("--trust-ids", is_flag=True, help="Compare conditions even where their items seem to be in other orders.")
@click.option("--tail-plan", "tail_path", metavar="PLAN", help="A tail plan, for a claim on the tail's shape.")
@click.option(
    "--tried",
    callback=parse_tried,
    default="1",
    metavar="N|auto",
    help="Attempts of which the shown one is the best; corrected for. auto: as many as the log of looks knows.",
)
@click.option(
    "--min-shared",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="Refuse a pair that shares less than this share of its items.",
)
@reading_options
@click.option("--level", type=click.FloatRange(0.5, 0.9999), default=0.95, show_default=True)
@click.option("--resamples", type=click.IntRange(min=100), default=2000, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--md", "md_path", metavar="PATH", help="Write a short report in Markdown, for a pull request.")
@json_option
def compare(
    sources: tuple[str, ...],
    margin: float | None,
    severity_margin: float | None,
    on: tuple[str, ...],
    about: About,
    control: str | None,
    by: str | None,
    adjust: bool,
    suite: dict[str, float] | None,
    chance: float | None,
    trust_ids: bool,
    tail_path: str | None,
    tried: int | None,
    min_shared: float,
    reading: ReadOptions,
    level: float,
    resamples: int,
    seed: int,
    md_path: str | None,
    json_path: str | None,
) -> None:
    """Is the difference between conditions real?

    The same items are paired, draws of an item are averaged, groups and weights are allowed for. Each claim comes as
    a sentence with its direction (the second minus the first), then the numbers; all claims of a page are one family.
    Many conditions come out as the sets that cannot be told apart, not as a ranking.

    \b
    richter compare grades.csv                            all conditions of a file
    richter compare grades.csv old new --margin 2pt       is new better than old?
    richter compare old=a.csv new=b.csv --tried 12 --md pr.md
    richter compare old=a.eval new=b.eval --margin 2pt    straight from logs (see richter import)
    richter compare runs/demo small large --ratings human
    richter compare prompts.csv --control baseline        all prompts against one
    richter compare grades.csv old new --by subject       in each subject, and whether they differ
    richter compare runs.csv old new --on pass@5          one of five draws is right
    richter compare logs.csv old new --margin 1pt --on money     no worse by a point, and cheaper
    """
    files, names = split_sources(sources)
    if by is not None and by not in ("domain", "tier", "group"):  # any other column of a table stands in for a domain
        reading, by = dataclasses.replace(reading, map={**reading.map, "domain": by}), "domain"
    tables = read_given(files, reading, names)
    known = attempts(tables.select(names) if names else tables)
    report = compare_tables(
        tables,
        conditions=names,
        on=on,
        margin=margin,
        severity_margin=severity_margin,
        about=about,
        control=control,
        by=by,
        adjust=adjust,
        suite=suite,
        chance=chance,
        trust_ids=trust_ids,
        tail_plan=None if tail_path is None else tail_plan(read_plan(tail_path, kind="tail")),
        tried=tried or known or 1,
        attempts=known,
        min_shared=min_shared,
        level=level,
        n_resamples=resamples,
        seed=seed,
    )
    write_json(report, json_path, inputs=[f.partition("=")[2] or f for f in files])
    if md_path is not None:
        try:
            Path(md_path).write_text(markdown(report), encoding="utf-8")
        except OSError as error:
            raise StorageError(f"{md_path} cannot be written: {error.strerror}.", remedy="Choose another.") from error
    show(console(json_path), report)
