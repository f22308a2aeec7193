"""`richter severity tail`: is one condition's tail heavier? Only behind every gate."""

import shlex
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from richter.audit import TailReport, read_plan, study_column
from richter.cli._io import (
    DEFAULT_MAP,
    cells,
    grid,
    publish,
    settle_reading,
)
from richter.cli._task_progress import counted_mapper
from richter.evidence import MissingPolicy
from richter.records import Claim, counted, of_kind, printable
from richter.tables import ReadOptions, as_options
from richter.tail import GATES
from richter.words import describe_note, describe_registration, describe_tail_next, describe_verdict

_MARKS = {True: "pass", False: "FAIL", None: "open"}


def severity_tail(
    files: tuple[str, ...],
    reading: ReadOptions,
    plan_path: str | None,
    probe: str | None,
    json_path: str | None,
    scan: bool,
    seed: int,
    level: float | None,
    missing: MissingPolicy,
    trust_ids: bool,
    trust_raters: bool,
    trust_labels: bool,
    unpaired: bool,
    **options: Any,
) -> None:
    """Run the tail protocol on a numeric column of FILE, which is any data that `richter compare` takes."""
    couple = None
    if probe is not None:
        clean, colon, perturbed = probe.partition(":")
        if not colon:
            raise click.UsageError("--probe is CLEAN:PERTURBED.")
        couple = (clean, perturbed)
    if plan_path is not None:
        plan = read_plan(plan_path, kind="tail")
        reading = settle_reading(reading, plan.reading)
        level = (
            None if click.get_current_context().get_parameter_source("level") is DEFAULT_MAP else level
        )  # the plan comes before settings
    asked: dict[str, Any] = {"probe": couple, "scan": scan, "seed": seed, "level": level}
    asked |= {"missing": missing, "trust_ids": trust_ids, "trust_raters": trust_raters}
    asked |= {"trust_labels": trust_labels, "unpaired": unpaired, "mapper": counted_mapper("resampling")}
    report = study_column(*files, plan_path=plan_path, reading=reading, overrides=options, **asked)
    out = publish(report, json_path, inputs=[*files, *([plan_path] if plan_path else [])])
    _show(out, report)
    again = " ".join([*map(shlex.quote, files), *as_options(reading)])
    out.print(printable(describe_tail_next(report.study.claim, again=again)), soft_wrap=True)


FEW_PAIRS = 3  # up to so many, each pair's gates and notes are printed


def _show(out: Console, report: TailReport) -> None:
    """Print the verdict, the conditions, the gates of every pair, and what goes with them."""
    study = report.study
    out.print(printable(study.claim.sentence))
    _print_standing(out, report)
    out.print()
    out.print(_condition_table(report))
    if study.claims:
        _print_gates(out, report)
    if study.probe is not None:
        out.print(printable(f"Probe: {study.probe.sentence}"))
    for name, scan in report.scans.items():
        span = f"{scan.envelope.low:+.3f} to {scan.envelope.high:+.3f}"
        text = f"{name}: xi over {len(scan.points)} thresholds: median {scan.median:+.3f}, envelope {span}"
        out.print(printable(text))
    notes = dict.fromkeys((f"Read as: {report.understood}.", *map(describe_note, study.notes)))
    for pair in study.claims if len(study.claims) <= FEW_PAIRS else ():
        above = of_kind(pair.notes, "condition")  # said once for all pairs
        notes |= dict.fromkeys(describe_note(n) for n in pair.notes if n not in above)
    if report.n_missing:
        notes[f"Note: {counted(report.n_missing, 'row')} without a number were left out."] = None
    for note in notes:
        out.print(printable(note))


def _print_standing(out: Console, report: TailReport) -> None:
    """Print whether the result is confirmatory, and the steps that it took."""
    study, status = report.study, report.status
    if study.claim.exploratory:
        reasons = () if status is None else status.reasons
        out.print(printable(describe_registration(is_registered=False, reasons=reasons)), style="dim")
    else:
        assert status is not None
        text = f"plan {status.hash[:16]} locked {status.locked_at}, {status.vouched}"
        out.print(printable(describe_registration(is_registered=True, vouched=text)), style="dim")
    for step in study.path if len(study.path) > 1 else ():
        left = "; ".join(f"{why}: {', '.join(names)}" for why, names in step["left_because"].items())
        outcome = f"left ({left})" if left else "kept"
        out.print(printable(f"step {step['transform']}, q = {step['q']:g}: {outcome}"))


def _print_gates(out: Console, report: TailReport) -> None:
    """Print which gate fell for which pair, over the band of thresholds, and with other tolerances."""
    study = report.study
    out.print(_gate_table(study.claims))
    for pair in study.claims if len(study.claims) <= FEW_PAIRS else ():
        out.print(printable(" against ".join(pair.conditions)))
        for gate in pair.gates:
            out.print(f"  {gate.name}  {_MARKS[gate.passed]:4}  {printable(gate.rule)}: {printable(gate.detail)}")
    if len(study.over_band) > 1:
        out.print(_band_table(report))
    for row in study.sensitivity:
        out.print(
            f"With tolerances x{row['factor']:g} ({row['tolerance_mean']:.3g}, {row['tolerance_tvar']:.3g}) "
            f"{row['admissible']} of {row['pairs']} pairs can be compared"
            + (f", {row['open']} would be with more exceedances (G3)" if row["open"] else "")
            + f", and {row['verified']} differ."
        )


def _condition_table(report: TailReport) -> Table:
    study = report.study
    level = f"{100 * (1 - study.plan.alpha):.4g}%"
    columns = (
        "{name:40}|{r.n:,}|{r.n_exc:,}|{r.threshold:.4g}|{r.mean:.4g}|{tvar:.4g}|{r.fit.xi:+.3f}|"
        "{r.interval.low:+.3f} to {r.interval.high:+.3f}|{r.gof.p:.3g}|{bound}"
    )
    rows = []
    for name, c in study.conditions.items():
        bound = "" if c.bounded is None else f"{c.bounded.bound:g} ({c.bounded.kind})"
        rows.append(cells(columns, c, name=name, tvar=None if c.tvar != c.tvar else c.tvar, bound=bound))
    title = f"{report.column}, {study.transform}, above the {study.q:g} quantile"
    headings = f"name|n|exceed|threshold|mean|TVaR|xi|{level} CI|AD p|bound"
    return grid(headings, rows, right=1, title=title, title_justify="left")


def _pair(pair: Claim) -> str:
    return " – ".join(printable(name, limit=24) for name in pair.conditions)


def _gate_table(pairs: tuple[Claim, ...]) -> Table:
    rows = []
    for pair in pairs:
        passed = {g.name: _MARKS[g.passed] for g in pair.gates}
        verdict = f"stopped by {pair.blocked_by}" if pair.blocked_by else describe_verdict(pair)
        rows.append([_pair(pair), *cells("{r.estimate:+.3f}", pair), *(passed[name] for name in GATES), verdict])
    return grid(["pair", "difference of xi", *GATES, "result"], rows, title="gates", title_justify="left")


def _band_table(report: TailReport) -> Table:
    study, rows = report.study, []
    for k, pair in enumerate(study.claims):
        here = [pairs[k] for pairs in study.over_band.values()]
        found = [f"{cells('{r.estimate:+.3f}', c)[0]} {c.blocked_by or describe_verdict(c)}" for c in here]
        rows.append([_pair(pair), *found])
    title = "difference of xi, and what stopped it, at each threshold"
    return grid(["pair", *(f"q = {q:g}" for q in study.over_band)], rows, right=1, title=title, title_justify="left")
