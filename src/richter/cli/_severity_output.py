"""`richter severity`: whose errors are worse, how bad they are, and which law describes them."""

import dataclasses
import shlex
from collections.abc import Mapping
from typing import Any

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from richter.audit import SeverityReport, read_plan, weigh_scores
from richter.claims import decide_gate, margin_on
from richter.cli._io import (
    DEFAULT_MAP,
    cells,
    grid,
    publish,
    settle_reading,
    split_sources,
    without_settings,
)
from richter.cli._task_progress import counted_mapper
from richter.errors import InputError
from richter.records import Claim, Verdict, at_most, counted, plain, printable
from richter.severity import MEASURES, BValue, DeploymentTable, SeverityStudy
from richter.stats import in_threads
from richter.tables import ReadOptions, as_options, read_tables
from richter.words import (
    describe_note,
    describe_registration,
    describe_severity_board,
    describe_severity_next,
    describe_verdict,
    first_lines,
    lines_below,
)
from richter.words._spans import describe_level

TABLES = ("human", "plan", "traffic")
_SHOWN = 10
_ORDER = (Verdict.VERIFIED, Verdict.REFUTED, Verdict.EQUIVALENT, Verdict.UNDECIDED, Verdict.BLOCKED, Verdict.UNTESTABLE)
_FAMILY = {
    "power_law": "power law",
    "truncated_power_law": "truncated power",
    "exponential": "exponential",
    "stretched_exponential": "stretched exp.",
    "lognormal": "lognormal",
}


def severity(
    sources: tuple[str, ...],
    everything: bool,
    margin: dict[str, float],
    reading: ReadOptions,
    json_path: str | None,
    **options: Any,
) -> int:
    """Whose errors are worse, and how bad are they?"""
    files, names = split_sources(sources)
    if options["plan"] is not None:
        planned = read_plan(options["plan"], kind="severity")
        reading = settle_reading(reading, planned.reading)
        options = without_settings(options, planned.values)
        if names and sorted(names) != sorted(planned.values["conditions"]):
            options["beside_plan"] = [f"conditions: plan {planned.values['conditions']}, option {names}"]
    tables = read_tables(*files, options=dataclasses.replace(reading, any_scale=True))
    tables = tables.select(names) if names else tables
    mapper = counted_mapper("testing", local=in_threads)
    report = weigh_scores(tables, margin=_margins_by_measure(margin), mapper=mapper, **options)
    given = [options[name] for name in TABLES if isinstance(options[name], str)]
    out = publish(report, json_path, inputs=[*files, *given])
    _print(out, report, everything=everything)
    again = " ".join([shlex.join(sources), *as_options(reading)])
    out.print(printable(describe_severity_next(report.study.claims, again=again)), soft_wrap=True)
    outcome = decide_gate(report.requirements, accept_judge=True)
    return {Verdict.REFUTED: 3, Verdict.UNDECIDED: 4}.get(outcome.verdict, 0)


def _print(out: Console, report: SeverityReport, *, everything: bool) -> None:
    study = report.study
    shown, rest = _first_screen(report, everything=everything)
    for line in shown:
        out.print(printable(line, limit=1000), soft_wrap=True)
    if rest:
        out.print(f"{counted(rest, 'more result')}, most on other measures: --all, or --json PATH.", style="dim")
    out.print(_conditions_table(study, is_corrected_below=bool(report.human)))
    if everything:
        if study.slopes:
            out.print(_law_table(study))
        if study.rates:
            out.print(_rates_table(study.rates))
    if report.human:
        out.print(_rates_table(report.human))
    for line in _small_print(report, everything=everything):
        out.print(printable(line, limit=600), style="dim")


def _first_screen(report: SeverityReport, *, everything: bool) -> tuple[list[str], int]:
    """The lines that come first, and how many results stay behind `--all`."""
    required = [f"{describe_verdict(check)}: {check.sentence}" for check in report.requirements]
    pair = [] if everything else _pair_lines(report.study)
    lines = required + (pair or headlines(report, everything=everything))
    shown = lines if everything or pair else lines[:_SHOWN]
    others = 0 if everything else sum(not c.primary for c in report.study.claims)
    return shown, len(lines) - len(shown) + others


def _pair_lines(study: SeverityStudy) -> list[str]:
    """What a first screen says of the only pair, a line each; empty where there is another number of pairs."""
    main = [c for c in study.claims if c.primary]
    if len(main) != 1 or len(study.conditions) != 2 or main[0].estimate is None:
        return []
    first = first_lines(main, conditions=list(study.conditions))
    return [first.headline, *lines_below(plain(first)), *map(describe_note, main[0].notes)]


def headlines(report: SeverityReport, *, everything: bool) -> list[str]:
    """What the study says of the pairs, best shown first, and of whom it can say nothing."""
    study = report.study
    first, rest = ([c for c in study.claims if c.primary is which] for which in (True, False))
    lines = []
    if len(study.conditions) == 1:
        lines.append("There is one model or prompt: there are no pairs to compare.")
    if len(first) > 1:
        lines.append(describe_severity_board(first, _means(study), _noun(first[0])))
    if everything and study.slopes:
        lines.append(_paper_line(study))
    lines += [_with_remedy(c) for c in _sorted(first)]
    lines += [f"{name} is left out: {r.reason}." for r in study.refused for name in r.conditions]
    return lines + [_with_remedy(c) for c in _sorted(rest)] if everything else lines


def _with_remedy(claim: Claim) -> str:
    """A claim's sentence; of a blocked one also what to do, and the option that overrides the check."""
    override = f" ({claim.override} overrides this.)" if claim.override else ""
    return f"{claim.sentence} {claim.remedy}".rstrip() + override


def _noun(claim: Claim) -> str:
    metric = MEASURES.get(claim.measure)
    return "the corrected mean severity of errors" if metric is None else metric.noun


def _means(study: SeverityStudy) -> dict[str, float]:
    """The mean severity of each condition's errors, where it has any."""
    return {n: c.mean_given_error for n, c in study.conditions.items() if c.mean_given_error is not None}


def _paper_line(study: SeverityStudy) -> str:
    counts = study.counts
    by = ", ".join(f"{n} by {MEASURES[m].noun}" for m, n in counts.screened.items() if m != "dominance")
    return (
        f"Of {counted(counts.matched, 'pair')} within {100 * study.max_error_gap:g} "
        "points of error rate the paper's rule "
        f"(disjoint intervals of b, which also fires on identical models) calls {counts.paper} different, "
        f"{counts.paper_min_gap} with |delta b| > {study.min_gap:g}; without a law, at a false-discovery rate of "
        f"{100 * (1 - study.level):g}%, "
        f"{by}; by b where the law is adequate on both sides {counts.law} of {counts.adequate}."
    )


def _sorted(claims: list[Claim]) -> list[Claim]:
    """By verdict, and the largest differences first."""
    return sorted(claims, key=lambda c: (_ORDER.index(c.verdict), -abs(c.estimate or 0.0)))


def _small_print(report: SeverityReport, *, everything: bool) -> list[str]:
    study = report.study
    lines = [f"Read as: {report.understood}.", *map(describe_note, report.notes)]
    if study.slopes and everything:
        lines.append(_describe_slopes(study))
    lines += [f"{name}: no answer is rated." for name in study.unrated]
    lines += [f"{name}: not corrected by human labels. {why}" for name, why in report.human_skipped.items()]
    families = {c.family.name: c.family for c in study.claims if c.family is not None}
    rules = {"holm": "Holm", "max t": "largest t"}
    lines += [
        f"Intervals of {'the main measure' if name == 'main' else 'other measures'} are adjusted for "
        f"{counted(family.size, 'comparison')} ({rules.get(family.method, family.method)}, "
        f"{100 * (1 - study.level):.3g}%)."
        for name, family in families.items()
        if family.size > 1
    ]
    plan = report.plan
    if plan is None or not plan.confirmatory:
        lines.append(describe_registration(is_registered=False, reasons=() if plan is None else plan.reasons))
    else:
        vouched = f"plan {plan.hash[:16]} locked {plan.locked_at}, {plan.vouched}"
        lines.append(describe_registration(is_registered=True, vouched=vouched))
    return lines


LOOK: dict[str, Any] = {"right": 1, "box": SIMPLE_HEAD, "padding": 0, "pad_edge": False}
LOOK |= {"title_justify": "left", "caption_justify": "left"}


def _describe_slopes(study: SeverityStudy) -> str:
    """How many conditions' errors the law of a constant slope describes, and how many have too few."""
    adequate = [n for n, f in study.slopes.items() if isinstance(f, BValue) and f.adequate]
    few = [n for n, f in study.slopes.items() if not isinstance(f, BValue)]
    return (
        f"The law of a constant slope describes the errors of {len(adequate)} "
        f"of {len(study.slopes)} within {study.recipe.tolerance:g}, at the upper limit"
        + (f"; {len(few)} ha{'s' if len(few) == 1 else 've'} too few, or of one severity only" if few else "")
        + "."
    )


def _conditions_table(study: SeverityStudy, *, is_corrected_below: bool) -> Table:
    columns = "{name:28}|{r.n:,}|{r.errors:,}|{r.error_rate:.1%}|{r.mean_given_error:.2f}|"
    columns += "{r.mean_given_error_interval.low:.2f} to {r.mean_given_error_interval.high:.2f}"
    rows = [
        [*cells(columns, found, name=name), *([] if found.rates is None else [_rate(found.rates, 3.0)])]
        for name, found in sorted(study.conditions.items(), key=lambda x: -(x[1].mean_given_error or 0.0))
    ]
    headings = f"name|answers|errors|rate|mean of errors|{describe_level(study.level)} CI"
    caption = None
    if study.rates:
        headings += "|>= 3 per million"
        grouped = any(c.unit == "group" for c in study.claims)
        kind = "upper limit that allows for groups" if grouped else "exact upper limit"
        caption = f"per million answers, with the {kind} (one-sided {describe_level(study.level)})"
    title = "How severe errors are, the most severe first" + (" (as graded)" if is_corrected_below else "")
    return grid(headings, rows, title=title, caption=caption, **LOOK)


def _law_table(study: SeverityStudy) -> Table:
    columns = "{r.b:.3f}{star}|{r.interval.low:.2f} to {r.interval.high:.2f}|{r.m_min:g}|{r.n_above:,}|{r.misfit:.3f}|"
    rows = []
    for name, fit in study.slopes.items():
        found, fitted = study.conditions[name], fit if isinstance(fit, BValue) else None
        star = "" if fitted is None or fitted.adequate else "*"
        row = [printable(name, limit=26), *cells(columns + "{r.misfit_limit:.3f}", fitted, star=star)]
        row.append("-" if found.families is None else _FAMILY[found.families.best])
        row[-1] += "" if found.families is None or found.families.adequate else "*"
        own = found.paper
        row.append("-" if own is None else f"{own['b']:.2f} ({own['low']:.2f} to {own['high']:.2f})")
        rows.append(row)
    caption = (
        f"* the errors may be further than {study.recipe.tolerance:g} from the law, and then b says nothing about them"
    )
    level = describe_level(study.level)
    headings = f"name|b|{level} CI|from|errors|misfit|limit|family|paper's b ({level} CI)"
    return grid(headings, rows, title="Slope b (smaller: a heavier tail)", caption=caption, **LOOK)


def _rate(rates: DeploymentTable, severity: float) -> str:
    row = rates.at(severity)
    if row.per_million is None:
        return f"none seen, < {at_most(row.upper, digits=4)}"
    return f"{row.per_million:,.0f} (< {at_most(row.upper, digits=4)})"


def _rates_table(tables: Mapping[str, DeploymentTable]) -> Table:
    first = next(iter(tables.values()))
    bases = {rates.basis for rates in tables.values()}  # of labels each condition has a number of its own
    basis = first.basis if len(bases) == 1 else "corrected by human labels"
    title = f"Answers per million at or above a severity ({basis})"
    if first.weighted:
        title += f", weighted to the traffic; no question covers {first.uncovered:.1%} of it"
    shown = (1.0, 2.0, 3.0, 4.0)
    rows = ([printable(name, limit=28), *(_rate(rates, s) for s in shown)] for name, rates in tables.items())
    caption = (
        f"in brackets: the upper limit (one-sided {describe_level(first.level)}); all eight severities are in --json"
    )
    return grid(["name", *(f">= {s:g}" for s in shown)], rows, title=title, caption=caption, **LOOK)


def _margins_by_measure(given: Mapping[str, float]) -> dict[str, float]:
    """The margins by measure, each on its scale; one without a name is that of the mean severity of errors.

    Of the settings in richter.toml only those count that are stated for one of these measures.
    """
    if click.get_current_context().get_parameter_source("margin") is DEFAULT_MAP:
        given = {name: margin for name, margin in given.items() if name in MEASURES}
    named = {name or "severity_given_error": margin for name, margin in given.items()}
    unknown = next((name for name in named if name not in MEASURES), None)
    if unknown is not None:
        raise InputError(
            f"{printable(unknown, limit=40)!r} is not a measure.", remedy=f"There are {', '.join(MEASURES)}."
        )
    return {name: margin_on(margin, MEASURES[name]) for name, margin in named.items()}
