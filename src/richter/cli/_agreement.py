"""`richter agreement`: how far raters and judges agree, and what that is worth."""

from typing import Literal

import click
import numpy as np

from richter.audit import LoneRater, measure_agreement
from richter.cli._agreement_text import print_agreement, print_corrections, print_groups, print_judges
from richter.cli._output import console, json_option, write_json
from richter.errors import InputError
from richter.records import printable
from richter.store import run_place
from richter.tables import RatingsFile, read_ratings

KINDS = ("human", "judge", "rule")


@click.command()
@click.argument("file", metavar="FILE", type=click.Path())
@click.option("--kind", type=click.Choice(KINDS), help="Only this kind of rating; an error where there is none.")
@click.option("--reference", type=click.Choice(["human", "rule"]), help="Hold the judges against this kind.")
@click.option("--by", type=click.Choice(["condition", "domain"]), help="Also for each condition or each domain.")
@click.option("--any-scale", is_flag=True, help="Ratings on another scale than 0 to 4 in half steps.")
@click.option("--seed", default=0, show_default=True, help="Seed of the bootstrap.")
@json_option
def agreement(
    file: str,
    kind: Literal["human", "judge", "rule"] | None,
    reference: Literal["human", "rule"] | None,
    by: Literal["condition", "domain"] | None,
    any_scale: bool,
    seed: int,
    json_path: str | None,
) -> None:
    """How far raters and judges agree, and what that is worth.

    FILE is a ratings table (item, condition, rater, kind, severity), a scores table with judge_1 and judge_2, or a run
    folder. Each kind of rating (human, judge, rule) is reported by itself; with a human or rule reference, judges are
    held against it, and judge figures are corrected by the human labels.

    \b
    Examples:
      richter agreement ratings.csv
      richter agreement ratings.csv --kind human --by domain
      richter agreement runs/facts --reference rule --json -
    """
    out = console(json_path)
    report = measure_agreement(
        _read(file),
        rng=np.random.default_rng(seed),
        file=str(run_place(file)),
        kind=kind,
        reference=reference,
        by=by,
        any_scale=any_scale,
    )
    for name, found in report.kinds.items():
        if isinstance(found, LoneRater):
            out.print(f"{name} ratings: one rater ({printable(found.raters[0])}), {found.n_answers:,} answers.")
            continue
        print_agreement(out, found)
        if report.by and name in report.groups:
            print_groups(out, report.by, report.groups[name])
    for name, judged in report.references.items():
        print_judges(out, judged)
        if name in report.corrected:
            print_corrections(out, report.corrected[name], kind=name, stratified=report.stratified)
    write_json(report, json_path, inputs=[file])


def _read(file: str) -> RatingsFile:
    found = read_ratings(file)
    if not found.ratings:
        raise InputError(f"{file} holds no ratings.", remedy="Run `richter judge` or `richter label` on it first.")
    return found
