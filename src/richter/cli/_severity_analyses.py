"""One line, or a few, for each further analysis of `richter severity --full`."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from richter.severity import Recount, Skipped


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
        yield f"T = {threshold}: {count.n_conditions} conditions, {count.disjoint} disjoint pairs{shown}."


def _tails(result: Any) -> Iterator[str]:
    gaps = ", ".join(f"{n} by tail ratio > {g}" for g, n in result.pairs_by_ratio.items())
    slopes = ", ".join(f"{n} by log-linear slope > {g}" for g, n in result.pairs_by_slope.items())
    yield f"of {result.matched} matched pairs {slopes}, {gaps}; tail ratio against b: {result.ratio_against_b:+.2f}."


def _leniency(result: Any) -> Iterator[str]:
    harsh = ", ".join(f"{n} {e.estimate:+.2f}" for n, e in zip(result["judges"], result["effects"], strict=True))
    yield f"effects on the same answers {harsh} (joint p {result['wald_p']:.2g})."


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
        yield f"{result.n_complete} conditions have a slope in every domain, too few for a test; mean b {means}."
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
    yield (
        ", ".join(f"{r.n_levels} levels: rank correlation with the full scale {r.spearman:+.2f}" for r in result) + "."
    )


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
