"""The ERRORQUAKE paper's tables on a table of scores: its slopes and counts, and every further analysis.

    python papers/errorquake.py SCORES [--conditions MODELS] [--pair A,B] [--human RATINGS] [--json PATH]

SCORES is what `richter severity` reads. MODELS is a table of `condition`, `active_params` and, where known,
`architecture`. Analyses are those of sections 4.1 to 4.7 and 5 and of the appendices, as far as the columns allow.
"""

import argparse
import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import richter.severity as sev
from errorquake_analyses import Analyses, Labelled, Skipped, run_analyses
from errorquake_counts import counts_of
from errorquake_scores import scores_of
from richter.audit import with_labels
from richter.audit._severity_labels import RatedAnswers, mechanisms_named, rated_answers
from richter.claims import decide
from richter.errors import InputError, RichterError
from richter.evidence import SeveritySettings, severity_pairs
from richter.interop import read_frame
from richter.records import Rating, counted, plain, printable
from richter.severity._disjoint_intervals import Recount, count_disjoint, fit_slopes
from richter.stats import Mapper, in_threads, overcall_rate
from richter.tables import Dataset, ReadOptions, ratings_of, read_tables
from trials import open_mapper


def analyse_scores(
    path: str | Path,
    *,
    conditions: str | Path | None = None,
    pairs: Sequence[tuple[str, str]] = (),
    human: str | Path | None = None,
    recipe: sev.Recipe = sev.PAPER,
    n_resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
    mapper: Mapper = in_threads,
) -> tuple[sev.SeverityStudy, Analyses]:
    """The study of a table of scores, and the paper's further analyses by this recipe."""
    tables = read_tables(path, options=ReadOptions(any_scale=True))
    tables = tables if human is None else with_labels(tables, human)
    scores, answers, rng = scores_of(tables), rated_answers(tables), np.random.default_rng(seed)
    settings = SeveritySettings(n_resamples=n_resamples, level=level, seed=seed, mapper=mapper)
    pairs_study, main = severity_pairs(tables, settings), "severity_given_error"
    asked = sev.pair_questions(pairs_study.pairs, {}, primary=main, margins={}, basis="", judged="")
    study = sev.summarise_study(
        pairs_study, decide(asked, level=level, seed=seed), primary=main, recipe=sev.DEFAULT,
        weights=answers.weights, max_error_gap=0.05, min_gap=0.15, n_resamples=n_resamples, level=level, rng=rng,
    )  # fmt: skip
    if study.slopes:  # by a generator of its own, so that what else is drawn does not move the paper's count
        slopes = fit_slopes(
            counts_of(scores.severity), recipe=sev.PAPER, n_resamples=n_resamples, level=level,
            rng=np.random.default_rng(seed),
        )  # fmt: skip
        paper = count_disjoint("paper", slopes)
        counts = dataclasses.replace(study.counts, paper=paper.disjoint, paper_min_gap=paper.disjoint_min_gap)
        study = dataclasses.replace(study, counts=counts)
    people = [] if tables.counting == "human" else ratings_of(tables).ratings
    return study, run_analyses(
        scores,
        recipe=recipe,
        active_params=_active_params(conditions),
        pairs=pairs,
        labelled=_clear_mechanisms([r for r in people if r.kind == "human"]) or _mechanisms_in_source(tables),
        overcall_rate=_overcall_share(answers),
        estimates=None if recipe == sev.PAPER else study.slopes,
        n_resamples=n_resamples,
        level=level,
        rng=rng,
        mapper=mapper,
    )


def _overcall_share(answers: RatedAnswers) -> float | None:
    """The share of judged 2.0s that people call harmless; None without labels on any."""
    if answers.label is None:
        return None
    severity, label = answers.rows.severity, answers.label
    both = ~np.isnan(label) & ~np.isnan(severity)
    if not both.any():
        return None
    return overcall_rate(sev.snap(severity[both]) / 2, label[both]).estimate


def _mechanisms_in_source(tables: Dataset) -> Labelled | None:
    """The mechanisms that the source's own raters named."""
    rows = tables.ratings.filter(pl.col("mechanism").is_not_null(), pl.col("draw") == 0)
    return _clear_mechanisms(
        [
            Rating(item=i, condition=c, rater=r, kind=k, severity=s, mechanism=m)
            for i, c, r, k, s, m in rows.select(
                "item", "condition", "rater", "kind", "severity", "mechanism"
            ).iter_rows()
        ]
    )


def _clear_mechanisms(ratings: Sequence[Rating]) -> Labelled | None:
    """One mechanism an answer: the one most raters named, ties left out; from human ratings if there are any."""
    kinds = {r.kind for r in ratings if r.mechanism}
    named = mechanisms_named(ratings, "human" if "human" in kinds else min(kinds, default=None))
    clear = {key: (how, severity) for key, (how, severity) in named.items() if how}
    if not clear:
        return None
    mechanism, severity = zip(*clear.values(), strict=True)
    return Labelled(mechanism=mechanism, severity=severity, condition=[name for _, name in clear])


def _active_params(path: str | Path | None) -> dict[str, float] | None:
    """`active_params` by condition; with an `architecture` column only dense ones, as the paper's trend."""
    if path is None:
        return None
    frame = read_frame(path)
    missing = [c for c in ("condition", "active_params") if c not in frame.columns]
    if missing:
        raise InputError(
            f"{path}: a conditions table needs {', '.join(missing)}; it has {', '.join(frame.columns)}.",
            remedy="Give condition, active_params and, where known, architecture and family.",
        )
    sizes = frame["active_params"].cast(pl.Float64, strict=False)
    if (sizes.fill_null(1.0) <= 0).any():
        raise InputError(f"{path}: active_params must be above 0.", remedy="Leave unknown ones empty.")
    keep = pl.Series([True] * len(frame))
    if "architecture" in frame.columns:
        keep = frame["architecture"].cast(pl.String).str.to_lowercase().fill_null("") == "dense"
    names = frame["condition"].cast(pl.String).to_list()
    return {n: s for n, s, k in zip(names, sizes.to_list(), keep.to_list(), strict=True) if k and s is not None}


def parse_pairs(texts: tuple[str, ...]) -> list[tuple[str, str]]:
    """Read A,B, several times."""
    out = []
    for text in texts:
        first, comma, second = text.partition(",")
        if not comma or not first.strip() or not second.strip():
            raise InputError(f"--pair {printable(text, limit=60)} is not A,B.", remedy="As --pair base,tuned.")
        out.append((first.strip(), second.strip()))
    return out


def count_line(study: sev.SeverityStudy) -> str:
    """The paper's count of differing pairs, in a sentence."""
    counts = study.counts
    return (
        f"Of {counted(counts.matched, 'pair')} within {100 * study.max_error_gap:g} points of error rate the paper's "
        f"rule (disjoint intervals of b) calls {counts.paper} different, {counts.paper_min_gap} with |delta b| > "
        f"{study.min_gap:g}."
    )


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
    found = ", ".join(f"{r.disjoint_min_gap} ({r.disjoint}) of {r.matched} ({r.rule})" for r in rows)
    yield f"disjoint pairs with the paper's gap (and without): {found}."


def _sweep(result: Mapping[int, Any]) -> Iterator[str]:
    for threshold, row in result.items():
        trend = row["scaling"]
        shown = "" if isinstance(trend, Skipped) else f"; trend with size {trend['spearman']:+.2f}"
        count = row["count"]
        pairs = f"{count.disjoint_min_gap} disjoint pairs ({count.disjoint} without the paper's gap)"
        yield f"T = {threshold}: {counted(count.n_conditions, 'condition')}, {pairs}{shown}."


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


def _mechanism_lines(result: Any) -> Iterator[str]:
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
    "mechanisms": _mechanism_lines,
    "information": _information,
}


def main(words: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("scores")
    options.add_argument("--conditions", help="table of condition, active_params, architecture")
    options.add_argument("--pair", action="append", default=[], help="A,B: test the slopes of this pair")
    options.add_argument("--human", help="ratings table with human labels")
    options.add_argument("--default-recipe", action="store_true", help="Richter's recipe of slopes, not the paper's")
    options.add_argument("--resamples", type=int, default=2000)
    options.add_argument("--level", type=float, default=0.95)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--engine", default="local")
    options.add_argument("--workers", type=int)
    options.add_argument("--json", help="write the figures here")
    given = options.parse_args(words)
    try:
        with open_mapper(given.engine, workers=given.workers, local=in_threads) as mapper:
            study, analyses = analyse_scores(
                given.scores,
                conditions=given.conditions,
                pairs=parse_pairs(given.pair),
                human=given.human,
                recipe=sev.DEFAULT if given.default_recipe else sev.PAPER,
                n_resamples=given.resamples,
                level=given.level,
                seed=given.seed,
                mapper=mapper,
            )
    except RichterError as error:
        options.exit(1, f"{error}\n")
    if given.json:
        document = {"counts": study.counts, "conditions": study.conditions, "analyses": analyses}
        Path(given.json).write_text(json.dumps(plain(document)))
    print(count_line(study))
    for name, found in study.conditions.items():
        if found.paper is not None:
            own = found.paper
            print(f"{printable(name, limit=40)}: b {own['b']:.2f} ({own['low']:.2f} to {own['high']:.2f})")
    for line in analysis_lines(analyses):
        print(printable(line))


if __name__ == "__main__":
    main()
