"""`richter agreement`: how far raters and judges agree, and what that is worth."""

from pathlib import Path
from typing import Any

import click
import numpy as np

from richter.cli._agreement_text import print_agreement, print_corrections, print_groups, print_judges
from richter.cli._output import console, json_option, write_json
from richter.errors import InputError
from richter.interop import RatingsFile, read_ratings
from richter.judge import Agreement, Tabulated, corrections, judge_report, tabulate
from richter.judge import agreement as agree
from richter.records import printable
from richter.store import LEDGER_NAME, open_ledger

__all__ = ["agreement"]

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
    kind: str | None,
    reference: str | None,
    by: str | None,
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
    source = _read(file)
    rng = np.random.default_rng(seed)
    present = [k for k in KINDS if any(r.kind == k for r in source.ratings)]
    wanted = [kind] if kind else present
    tables = {k: tabulate(source.ratings, k, any_scale=any_scale) for k in dict.fromkeys([*wanted, *present])}  # type: ignore[arg-type]
    payload: dict[str, Any] = {"file": str(file), "kinds": {}}
    for name in wanted:
        table = tables[name]
        if len(table.raters) < 2 and kind is None:
            out.print(f"{name} ratings: one rater ({printable(table.raters[0])}), {len(table.keys):,} answers.")
            payload["kinds"][name] = {"raters": table.raters, "n_answers": len(table.keys)}
            continue
        found = agree(table, rng=rng)
        print_agreement(out, found)
        payload["kinds"][name] = found.to_dict()
        if by:
            groups = _by(table, source, by, rng)
            print_groups(out, by, groups)
            payload["kinds"][name][f"by_{by}"] = {g: a.to_dict() for g, a in groups.items()}
    for name in (k for k in ("judge", "rule") if k in wanted):
        basis = _reference(tables, reference) if name == "judge" else tables.get("human")
        if name == "rule" and basis is None:
            continue
        report = judge_report(tables[name], basis, rng=rng)
        print_judges(out, report)
        payload[f"{name}s"] = report.to_dict()
        if "human" in tables and not any_scale:
            corrected = corrections(tables["human"], tables[name], strata=source.strata or None, rng=rng)
            print_corrections(out, corrected, kind=name, stratified=bool(source.strata))
            payload[f"corrected_{name}s"] = [c.to_dict() for c in corrected]
    write_json(payload, json_path, inputs=[file])


def _read(file: str) -> RatingsFile:
    if not (Path(file) / LEDGER_NAME).exists():
        return read_ratings(file)
    with open_ledger(file, mode="read") as ledger:
        ratings = tuple(ledger.ratings())
        domains = {item.id: item.domain for item in ledger.items() if item.domain}
        note = ledger.note("rating sample") or {}
    if not ratings:
        raise InputError(f"{file} holds no ratings.", remedy="Run `richter judge` or `richter rate` on it first.")
    strata = {(item, condition, int(draw)): stratum for item, condition, draw, stratum in note.get("strata", [])}
    return RatingsFile(ratings=ratings, domains=domains, strata=strata)


def _reference(tables: dict[str, Tabulated], wanted: str | None) -> Tabulated | None:
    if wanted and wanted not in tables:
        raise InputError(f"There are no {wanted} ratings to hold the judges against.", remedy="Leave --reference out.")
    return tables.get(wanted or ("human" if "human" in tables else "rule"))


def _by(table: Tabulated, source: RatingsFile, by: str, rng: np.random.Generator) -> dict[str, Agreement]:
    if by == "domain" and not source.domains:
        raise InputError("The ratings have no `domain` column.", remedy="Add one, or use --by condition.")
    names = np.array([key[1] if by == "condition" else source.domains.get(key[0], "") for key in table.keys])
    return {name: agree(table, names == name, rng=rng) for name in sorted(set(names.tolist()))}
