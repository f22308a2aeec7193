"""`richter severity`: whose errors are worse, how bad they are, and which law describes them."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from richter.audit import SeverityReport, read_plan, weigh_scores
from richter.cli._engine_options import open_mapper
from richter.cli._io import (
    cells,
    grid,
    publish,
    settle_reading,
    split_sources,
    without_settings,
)
from richter.errors import InputError
from richter.records import Claim, Verdict, at_most, counted, printable
from richter.severity import MEASURES, BValue, DeploymentTable, Recount, SeverityStudy, Skipped
from richter.stats import in_threads
from richter.tables import ReadOptions, read_tables

TABLES = ("human", "conditions", "plan", "traffic")
_SHOWN = 10
_MEASURES = ", ".join(MEASURES)
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
    full: bool,
    pairs: tuple[str, ...],
    margins: tuple[str, ...],
    reading: ReadOptions,
    costs: tuple[str, ...],
    engine: str,
    workers: int | None,
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
            options["deviations"] = [f"conditions: plan {planned.values['conditions']}, option {names}"]
    tables = read_tables(*files, options=dataclasses.replace(reading, any_scale=True))
    tables = tables.select(names) if names else tables
    with open_mapper(engine, workers=workers, label="testing", local=in_threads) as mapper:
        report = weigh_scores(
            tables,
            margin=parse_margins(margins),
            costs=parse_costs(costs),
            pairs=parse_pairs(pairs),
            everything=full,
            mapper=mapper,
            **options,
        )
    given = [options[name] for name in TABLES if isinstance(options[name], str)]
    out = publish(report, json_path, inputs=[*files, *given])
    _print(out, report, everything=everything)
    verdicts = {check.verdict for check in report.requirements}
    return 3 if Verdict.REFUTED in verdicts else 4 if verdicts - {Verdict.VERIFIED} else 0


def _print(out: Console, report: SeverityReport, *, everything: bool) -> None:
    study = report.study
    lines = [check.sentence for check in report.requirements] + list(headlines(report))
    shown = lines if everything else lines[:_SHOWN]
    for line in shown:
        out.print(printable(line, limit=1000))
    rest = len(lines) - len(shown)
    if rest:
        out.print(f"... and {rest:,} more: --all, or --json PATH.", style="dim")
    out.print(_conditions_table(study))
    if everything or report.paper:
        if study.slopes:
            out.print(_law_table(study, paper=report.paper))
        if study.rates:
            out.print(_rates_table(study.rates))
    if report.human:
        out.print(_rates_table(report.human))
    for name, loss in report.losses.items():
        limits = f"{loss.interval.low:,.4g} to {loss.interval.high:,.4g}"
        out.print(f"Expected loss of {printable(name, limit=40)}: {loss.per_answer:,.4g} an answer ({limits}).")
    for line in analysis_lines(report.analyses):
        out.print(printable(line))
    for line in _small_print(report):
        out.print(printable(line, limit=600), style="dim")


def headlines(report: SeverityReport) -> list[str]:
    """What the study says of the pairs, best shown first, and of whom it can say nothing."""
    study = report.study
    first, rest = ([c for c in study.claims if c.primary is which] for which in (True, False))
    lines = []
    if len(study.conditions) == 1:
        lines.append("One condition only: there are no pairs to compare.")
    if len(first) > 1:
        shown = sum(c.verdict is Verdict.VERIFIED for c in first)
        lines.append(f"{shown} of {len(first)} pairs are shown to differ in {_noun(first[0])}{_extremes(study)}.")
    if report.paper:
        lines.append(_paper_line(study))
    lines += [_with_remedy(c) for c in _sorted(first)]
    lines += [f"{name} is left out: {r.reason}." for r in study.refused for name in r.conditions]
    return lines + [_with_remedy(c) for c in _sorted(rest)]


def _with_remedy(claim: Claim) -> str:
    """A claim's sentence; of a blocked one also what to do, and the option that overrides the check."""
    override = f" ({claim.override} overrides this.)" if claim.override else ""
    return f"{claim.sentence} {claim.remedy}".rstrip() + override


def _noun(claim: Claim) -> str:
    metric = MEASURES.get(claim.measure)
    return "the mean severity of their errors, judges' errors allowed for" if metric is None else f"their {metric.noun}"


def _extremes(study: SeverityStudy) -> str:
    known = {n: c.mean_given_error for n, c in study.conditions.items() if c.mean_given_error is not None}
    if len(known) < 3:
        return ""
    worst, best = max(known, key=known.__getitem__), min(known, key=known.__getitem__)
    high, low = f"{worst} have the highest mean severity ({known[worst]:.2f})", f"{best} the lowest ({known[best]:.2f})"
    return f"; the errors of {high}, those of {low}"


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


def _small_print(report: SeverityReport) -> list[str]:
    study = report.study
    lines = [f"Read: {report.understood}.", *report.notes]
    adequate = [n for n, f in study.slopes.items() if isinstance(f, BValue) and f.adequate]
    if study.slopes:
        few = [n for n, f in study.slopes.items() if not isinstance(f, BValue)]
        said = (
            f"The law of a constant slope describes the errors of {len(adequate)} "
            f"of {counted(len(study.slopes), 'condition')}"
        )
        lines.append(
            f"{said} within {study.recipe.tolerance:g}, at the upper limit"
            + (f"; {len(few)} ha{'s' if len(few) == 1 else 've'} too few, or of one severity only" if few else "")
            + ("." if report.paper else " (--all shows the slopes).")
        )
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
        lines.append(f"exploratory: {'no plan' if plan is None else '; '.join(plan.reasons)}")
    else:
        lines.append(f"confirmatory: plan {plan.hash[:16]} locked {plan.locked_at}, {plan.vouched}")
    return lines + [f"deviation from the plan: {d}" for d in (() if plan is None else plan.deviations)]


LOOK: dict[str, Any] = {"right": 1, "box": SIMPLE_HEAD, "padding": 0, "pad_edge": False}
LOOK |= {"title_justify": "left", "caption_justify": "left"}


def _conditions_table(study: SeverityStudy) -> Table:
    columns = "{name:28}|{r.n:,}|{r.errors:,}|{r.error_rate:.1%}|{r.mean_given_error:.2f}|"
    columns += "{r.mean_given_error_interval.low:.2f} .. {r.mean_given_error_interval.high:.2f}"
    rows = [
        [*cells(columns, found, name=name), *([] if found.rates is None else [_rate(found.rates, 3.0)])]
        for name, found in sorted(study.conditions.items(), key=lambda x: -(x[1].mean_given_error or 0.0))
    ]
    headings, caption = "condition|answers|errors|rate|mean of errors|interval", None
    if study.rates:
        headings += "|>= 3 per million"
        grouped = any(c.unit == "group" for c in study.claims)
        kind = "upper limit that allows for groups" if grouped else "exact upper limit"
        caption = f"per million answers, with the {kind} at {100 * study.level:.4g}%"
    return grid(headings, rows, title="How grave errors are, gravest first", caption=caption, **LOOK)


def _law_table(study: SeverityStudy, *, paper: bool) -> Table:
    columns = "{r.b:.3f}{star}|{r.interval.low:.2f} .. {r.interval.high:.2f}|{r.m_min:g}|{r.n_above:,}|{r.misfit:.3f}|"
    rows = []
    for name, fit in study.slopes.items():
        found, fitted = study.conditions[name], fit if isinstance(fit, BValue) else None
        star = "" if fitted is None or fitted.adequate else "*"
        row = [printable(name, limit=26), *cells(columns + "{r.misfit_limit:.3f}", fitted, star=star)]
        row.append("-" if found.families is None else _FAMILY[found.families.best])
        row[-1] += "" if found.families is None or found.families.adequate else "*"
        if paper:
            own = found.paper
            row.append("-" if own is None else f"{own['b']:.2f} ({own['low']:.2f} .. {own['high']:.2f})")
        rows.append(row)
    caption = (
        f"* the errors may be further than {study.recipe.tolerance:g} from the law: then b and family describe nothing"
    )
    headings = "condition|b|interval|from|errors|misfit|limit|family" + "|paper's b" * paper
    return grid(headings, rows, title="Slope b (smaller: a heavier tail)", caption=caption, **LOOK)


def _rate(rates: DeploymentTable, severity: float) -> str:
    row = rates.at(severity)
    if row.per_million is None:
        return f"none seen, < {at_most(row.upper, digits=4)}"
    return f"{row.per_million:,.0f} (< {at_most(row.upper, digits=4)})"


def _rates_table(tables: Mapping[str, DeploymentTable]) -> Table:
    first = next(iter(tables.values()))
    title = f"Answers per million at or above a severity ({first.basis})"
    if first.weighted:
        title += f", weighted to the traffic; {first.uncovered:.1%} of it is covered by no item"
    shown = (1.0, 2.0, 3.0, 4.0)
    rows = ([printable(name, limit=28), *(_rate(rates, s) for s in shown)] for name, rates in tables.items())
    caption = f"in brackets: the upper limit at {100 * first.level:.4g}%; all eight severities are in --json"
    return grid(["condition", *(f">= {s:g}" for s in shown)], rows, title=title, caption=caption, **LOOK)


def parse_margins(texts: tuple[str, ...]) -> dict[str, float]:
    """Read S or MEASURE=S, several times; of a rate also in points, as 0.5pt."""
    out = {}
    for text in texts:
        name, _, amount = text.rpartition("=")
        measure = name.strip() or "severity_given_error"
        if measure not in MEASURES:
            raise InputError(f"{printable(measure, limit=40)!r} is not a measure.", remedy=f"There are {_MEASURES}.")
        number, in_points = amount.strip().removesuffix("pt"), amount.strip().endswith("pt")
        try:
            value = float(number) / (100 if in_points else 1)
        except ValueError as error:
            what = f"--margin {printable(text, limit=40)} is not a number or MEASURE=NUMBER."
            raise InputError(what, remedy="As --margin 0.2 or --margin b=0.15.") from error
        if in_points and MEASURES[measure].scale != 100:
            what = f"--margin {printable(text, limit=40)}: {MEASURES[measure].noun} is not in points."
            raise InputError(what, remedy="Give it on its own scale, as --margin 0.2.")
        if not value > 0:
            raise InputError(f"--margin {printable(text, limit=40)} is not above 0.", remedy="As --margin 0.2.")
        out[measure] = value
    return out


def parse_costs(texts: tuple[str, ...]) -> dict[float, float]:
    """Read LEVEL=COST, several times."""
    out = {}
    for text in texts:
        level, _, cost = text.partition("=")
        try:
            out[float(level)] = float(cost)
        except ValueError as error:
            what = f"--cost {printable(text, limit=40)} is not LEVEL=COST."
            raise InputError(what, remedy="As --cost 3=2000.") from error
    return out


def parse_pairs(texts: tuple[str, ...]) -> list[tuple[str, str]]:
    """Read A,B, several times."""
    out = []
    for text in texts:
        first, comma, second = text.partition(",")
        if not comma or not first.strip() or not second.strip():
            raise InputError(f"--pair {printable(text, limit=60)} is not A,B.", remedy="As --pair base,tuned.")
        out.append((first.strip(), second.strip()))
    return out


def analysis_lines(analyses: Mapping[str, Any]) -> Iterator[str]:
    """What each analysis found, in a sentence; or why it could not be run."""
    for name, result in analyses.items():
        title = name.replace("_", " ").capitalize()
        if isinstance(result, Skipped):
            yield f"{title}: not run. {result.skipped}"
        else:
            for line in _LINES[name](result):
                yield f"{title}: {line}"


def _counts(rows: Iterable[Recount]) -> Iterator[str]:
    yield "disjoint pairs " + ", ".join(f"{r.disjoint} of {r.matched} ({r.rule})" for r in rows) + "."


def _sweep(result: Mapping[int, Any]) -> Iterator[str]:
    for threshold, row in result.items():
        trend = row["scaling"]
        shown = "" if isinstance(trend, Skipped) else f"; trend with size {trend['spearman']:+.2f}"
        count = row["count"]
        yield f"T = {threshold}: {counted(count.n_conditions, 'condition')}, {count.disjoint} disjoint pairs{shown}."


def _tails(result: Any) -> Iterator[str]:
    gaps = ", ".join(f"{n} by tail ratio > {g}" for g, n in result.pairs_by_ratio.items())
    slopes = ", ".join(f"{n} by log-linear slope > {g}" for g, n in result.pairs_by_slope.items())
    yield f"of {result.matched} matched pairs {slopes}, {gaps}; tail ratio against b: {result.ratio_against_b:+.2f}."


def _leniency(result: Any) -> Iterator[str]:
    harsh = ", ".join(f"{n} {e.estimate:+.2f}" for n, e in zip(result.judges, result.found.effects, strict=True))
    yield f"effects on the same answers {harsh} (joint p {result.found.wald_p:.2g})."


def _without_judges(result: Any) -> Iterator[str]:
    yield from _counts(result["counts"])
    trends = {j: r for j, r in result.get("scaling", {}).items() if not isinstance(r, Skipped)}
    if trends:
        yield "trend with size " + ", ".join(f"{r.spearman:+.2f} without {j}" for j, r in trends.items()) + "."


def _scaling(result: Any) -> Iterator[str]:
    yield result.verdict
    yield ", ".join(f"m_min {s}: rho {c.spearman:+.3f} (p {c.permutation_p:.2g})" for s, c in result.strategies.items())
    yield f"given the error rate {result.partial_error_rate:+.2f} (p {result.partial_error_rate_p:.2g})."


def _domains(result: Any) -> Iterator[str]:
    means = ", ".join(f"{d} {b:.2f}" for d, b in sorted(result.mean_b.items(), key=lambda x: x[1]))
    if result.friedman_p is None:
        yield (
            f"{counted(result.n_complete, 'condition has', 'conditions have')} a "
            f"slope in every domain, too few for a test; mean b {means}."
        )
    else:
        yield f"Friedman p {result.friedman_p:.2g}, Kendall's W {result.kendall_w:.2f}; mean b {means}."


def _prediction(results: Any) -> Iterator[str]:
    for r in results:
        rho = r.correlation
        ranks = "too few for a rank correlation" if rho is None else f"rank correlation {rho.spearman:+.2f}"
        yield (
            f"at {r.severity:g} and above: {ranks}, {r.within} of {r.n} within 1.5x, {r.under} under, {r.over} over; "
            f"slope easy minus hard {r.mean_slope_gap:+.3f}."
        )


def _coarsening(result: Any) -> Iterator[str]:
    levels = (f"{r.n_levels} levels: rank correlation with the full scale {r.spearman:+.2f}" for r in result)
    yield ", ".join(levels) + "."


def _m_min(result: Any) -> Iterator[str]:
    kept = ", ".join(f"{rho:+.2f} with m_min {name}" for name, rho in result.spearman_with_ks.items())
    yield f"the ranking by KS is kept {kept}."


def _mechanisms(result: Any) -> Iterator[str]:
    for by, table in result.items():
        how = f"{table.method}, n = {table.n}"
        yield f"{by.replace('_', ' ')}: Cramer's V {table.cramers_v:.2f}, p {table.p:.2g} ({how})."


def _information(result: Any) -> Iterator[str]:
    found, bound = result["information"], result["resolution"]
    if not isinstance(found, Skipped):
        yield (
            f"I(b; condition | error rate) {found.bits:.2f} bits, where noise alone gives {found.noise_bits:.2f} "
            f"(p {found.p:.2g}); R^2 of b on the error rate {found.r_squared:.2f}."
        )
    span = f"slopes span {bound.observed_range:.3f}"
    yield f"differences below {bound.minimum_detectable:.3f} cannot be resolved (3.96 SE); {span}."


def _each(template: str) -> Callable[[Any], Iterator[str]]:
    """A sentence for the result, or for each row of it."""
    return lambda result: (template.format(r=row) for row in (result if isinstance(result, list | tuple) else [result]))


_LINES: dict[str, Callable[[Any], Iterator[str]]] = {
    "leave_one_domain_out": _counts,
    "aggregation_rules": _counts,
    "dual_coverage": _counts,
    "exceedance_sweep": _sweep,
    "fixed_m_min": _counts,
    "tail_summaries": _tails,
    "catastrophes": _each(
        "at {r.severity:g} and above {r.mcnemar} of {r.matched} pairs differ (McNemar, q <= 0.05); "
        "{r.fisher} by the paper's Fisher test."
    ),
    "hierarchical_bootstrap": _each(
        "item and judge noise put the count between {r.low:g} and {r.high:g} (median {r.median:g})."
    ),
    "judge_leniency": _leniency,
    "judge_reweighting": lambda result: _counts([result]),
    "leave_one_judge_out": _without_judges,
    "scaling": _scaling,
    "prediction": _prediction,
    "domain_variation": _domains,
    "pipeline_pairs": _each(
        "{r.second} minus {r.first} at m_min {r.m_min:g}: b {r.delta_b:+.3f} "
        "({r.interval.low:+.2f} to {r.interval.high:+.2f}), p {r.p:.2g}, q {r.q:.2g}."
    ),
    "coarsening": _coarsening,
    "overcalls": _each("with {r.overcall_rate:.1%} of 2.0s taken back the ranking keeps {r.mean_spearman:+.2f}."),
    "subsampling": _each("on halves of the items b varies by {r.median:.1%} (median coefficient of variation)."),
    "m_min": _m_min,
    "mechanisms": _mechanisms,
    "information": _information,
}
