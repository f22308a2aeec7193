"""Every further analysis of the paper that a study's columns allow, each with its result or the reason it has none."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, TypedDict, cast

import numpy as np

import errorquake_judges as judges
import errorquake_prediction as prediction
import errorquake_robustness as robust
from errorquake_mechanisms import (
    Coupling,
    DomainVariation,
    domain_variation,
    mechanisms_by_severity,
    mechanisms_by_size,
)
from errorquake_pairs import PipelinePair, pipeline_pairs
from errorquake_scaling import RankCorrelation, Scaling, correlate_ranks, estimate_scaling
from errorquake_scores import Scores
from richter.errors import InputError
from richter.records import Result
from richter.severity import DEFAULT, PAPER, BValue, Recipe, Unestimated, estimate_all, fit_rows
from richter.severity._disjoint_intervals import Recount
from richter.stats import Floats, Leniency, Mapper


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """An analysis that the data do not allow, and what it would need."""

    skipped: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """Errors whose mechanism was named: one entry an answer."""

    mechanism: Sequence[str]
    severity: Sequence[float]
    condition: Sequence[str]


class Swept(TypedDict):
    """Conditions with at least so many exceedances: the count of disjoint pairs, and the trend with size."""

    count: Recount
    conditions: tuple[str, ...]
    scaling: dict[str, float | None] | Skipped


class Informed(TypedDict):
    """What b adds to the error rate, and how small a difference can be resolved."""

    information: prediction.Information | Skipped
    resolution: prediction.Resolution


class Mechanisms(TypedDict, total=False):
    """How the kind of error goes with its severity, and with model size."""

    by_severity: Coupling
    by_size: Coupling


class WithoutJudges(TypedDict, total=False):
    """The count without each judge, and the trend with size (appendix H)."""

    counts: tuple[Recount, ...]
    scaling: dict[str, RankCorrelation | Skipped]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Lenient(Result):
    """Judges' effects, and the judges in their order."""

    flat: ClassVar = ("found",)

    judges: tuple[str, ...]
    found: Leniency


class Analyses(TypedDict, total=False):
    """The paper's analyses: each with its result, or why it was skipped."""

    leave_one_domain_out: tuple[Recount, ...] | Skipped
    aggregation_rules: tuple[Recount, ...] | Skipped
    dual_coverage: tuple[Recount, ...] | Skipped
    exceedance_sweep: dict[int, Swept] | Skipped
    fixed_m_min: tuple[Recount, ...] | Skipped
    tail_summaries: robust.TailSummaries | Skipped
    catastrophes: list[robust.CatastropheTests] | Skipped
    hierarchical_bootstrap: judges.HierarchicalBootstrap | Skipped
    judge_leniency: Lenient | Skipped
    judge_reweighting: Recount | Skipped
    leave_one_judge_out: WithoutJudges | Skipped
    scaling: Scaling | Skipped
    prediction: list[prediction.MicroPrediction] | Skipped
    domain_variation: DomainVariation | Skipped
    pipeline_pairs: tuple[PipelinePair, ...] | Skipped
    coarsening: list[robust.Coarsening] | Skipped
    overcalls: robust.Overcalls | Skipped
    subsampling: robust.Subsampling | Skipped
    m_min: robust.MMinSensitivity | Skipped
    mechanisms: Mechanisms | Skipped
    information: Informed | Skipped


def run_analyses(
    scores: Scores,
    *,
    recipe: Recipe = DEFAULT,
    active_params: Mapping[str, float] | None = None,
    pairs: Sequence[tuple[str, str]] = (),
    labelled: Labelled | None = None,
    reliability: float | None = None,
    overcall_rate: float | None = None,
    estimates: Mapping[str, BValue | Unestimated] | None = None,
    only: Sequence[str] | None = None,
    n_resamples: int = 2000,
    level: float = 0.95,
    rng: np.random.Generator,
    mapper: Mapper = map,
) -> Analyses:
    """Run every analysis of sections 4.1 to 4.7 and 5 and of the appendices; each is a result or `Skipped`.

    With the recipe `PAPER` the scale is collapsed and overcalls are taken back as the paper's released program does,
    of which 33% is the share of overcalls (else 33.5%, the audit's figure). `only` names the ones to run. `estimates`
    are the study's slopes, where they are at hand. `mapper` says where the one that takes seconds runs, the
    hierarchical bootstrap.
    """
    options: dict[str, Any] = {"recipe": recipe, "n_resamples": n_resamples, "level": level, "rng": rng}
    as_paper = recipe == PAPER
    sizes = np.array([(active_params or {}).get(name, np.nan) for name in scores.conditions])

    def scaling() -> Any:
        _need(active_params, "a conditions table with active_params")
        return estimate_scaling(scores, sizes, **options)

    def scaling_by_exceedances() -> Any:
        out = {}
        for threshold, (count, names) in robust.exceedance_sweep(scores, **options).items():
            kept = np.array([s if n in names else np.nan for n, s in zip(scores.conditions, sizes, strict=True)])
            out[threshold] = {"count": count, "conditions": names, "scaling": _attempt(partial(trend, kept))}
        return out

    def trend(kept: Floats) -> Any:
        _need(active_params, "a conditions table with active_params")
        found = estimate_scaling(scores, kept, **{**options, "n_resamples": 200})
        return {
            "spearman": found.strategies["ks"].spearman,
            "p": found.strategies["ks"].permutation_p,
            "partial_error_rate": found.partial_error_rate,
            "partial_error_rate_p": found.partial_error_rate_p,
        }

    def information() -> Any:
        fits = estimates
        if fits is None:
            counts = scores.counts()
            fits = estimate_all(counts, **options)
        good = [f for f in fits.values() if isinstance(f, BValue)]
        b, error, above = ([getattr(f, k) for f in good] for k in ("b", "standard_error", "n_above"))
        rates = [f.error_rate for f in good]
        return {
            "information": _attempt(
                lambda: prediction.conditional_information(b, rates, error, n_resamples=n_resamples, rng=rng)
            ),
            "resolution": prediction.resolution_bound(b, error, above, reliability=reliability),
        }

    def mechanisms() -> Any:
        found = _need(labelled, "ratings that name a mechanism")
        out = {"by_severity": mechanisms_by_severity(found.mechanism, found.severity, rng=rng)}
        if active_params:
            out["by_size"] = mechanisms_by_size(found.mechanism, found.condition, active_params, rng=rng)
        return out

    def without_judges() -> Any:
        out: dict[str, Any] = {"counts": judges.leave_one_judge_out_counts(scores, **options)}
        if active_params:  # appendix H: the trend with size without each judge
            out["scaling"] = {
                judge: _attempt(partial(correlate_ranks, np.log10(sizes), fit_rows(counts[:, 1:], recipe).b, rng=rng))
                for judge, counts in judges.counts_without_judge(scores).items()
            }
        return out

    def leniency() -> Any:
        names, found = judges.judge_leniency(scores)
        return Lenient(judges=names, found=found)

    table: dict[str, Callable[[], Any]] = {
        "leave_one_domain_out": lambda: robust.leave_one_domain_out(scores, **options),
        "aggregation_rules": lambda: robust.aggregation_rules(scores, **options),
        "dual_coverage": lambda: robust.dual_coverage(scores, **options),
        "exceedance_sweep": scaling_by_exceedances,
        "fixed_m_min": lambda: robust.fixed_m_min(scores, **options),
        "tail_summaries": lambda: robust.summarise_tails(scores, recipe=recipe),
        "catastrophes": lambda: [robust.catastrophe_tests(scores, severity=s) for s in (3.0, 2.5)],
        "hierarchical_bootstrap": lambda: judges.hierarchical_bootstrap(
            scores, recipe=recipe, level=level, rng=rng, mapper=mapper
        ),
        "judge_leniency": leniency,
        "judge_reweighting": lambda: judges.reweight_judges(scores, **options),
        "leave_one_judge_out": without_judges,
        "scaling": scaling,
        "prediction": lambda: [
            prediction.predict_catastrophes(scores, severity=s, recipe=recipe, rng=rng) for s in (3.0, 2.5)
        ],
        "domain_variation": lambda: domain_variation(scores, recipe=recipe),
        "pipeline_pairs": lambda: pipeline_pairs(scores, _need(pairs, "pairs named with --pair"), **options),
        "coarsening": lambda: [robust.coarsen_scale(scores, n, as_paper=as_paper, recipe=recipe) for n in (7, 5)],
        "overcalls": lambda: robust.correct_overcalls(
            scores,
            overcall_rate=overcall_rate if overcall_rate is not None else 0.33 if as_paper else 0.335,
            as_paper=as_paper,
            recipe=recipe,
            rng=rng,
        ),
        "subsampling": lambda: robust.subsample_stability(scores, recipe=recipe, rng=rng),
        "m_min": lambda: robust.vary_m_min(scores, recipe=recipe),
        "mechanisms": mechanisms,
        "information": information,
    }
    chosen = {name: _attempt(analysis) for name, analysis in table.items() if only is None or name in only}
    return cast(Analyses, chosen)


def _need(value: Any, what: str) -> Any:
    if not value:
        raise InputError(f"It needs {what}.")
    return value


def _attempt(analysis: Callable[[], Any]) -> Any:
    try:
        return analysis()
    except InputError as error:
        return Skipped(skipped=str(error))
