"""What a comparison may be asked for besides: subgroups, a suite, adjustment, and a quality kept at a lower cost."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from richter.claims import (
    Comparison,
    Evidence,
    Question,
    Sample,
    Subgroups,
    Trade,
    adjusted_difference,
    by_ratio,
    cheaper_and_no_worse,
    check_groups,
    check_weights,
    difference_evidence,
    not_tested,
    nothing_open,
    subgroup_differences,
    suite_evidence,
    within,
)
from richter.errors import InputError
from richter.records import Claim
from richter.tables import Tables, item_codes, severity_scores

if TYPE_CHECKING:
    from richter.tail import TailPlan

MOST_SUBGROUPS = 1000
COSTS = ("money", "tokens", "latency")


def evidence_maker(
    tables: Tables, whole: Sample, *, adjust: bool, suite: Mapping[str, float] | None, ratios: list[float]
) -> Callable[[Sample, str, str], Evidence] | None:
    """How the evidence on a pair is made; None for the plain way.

    `whole` has all conditions of the data: those that are not compared still tell how hard an item is. `suite` weighs
    the benchmarks that the items' domains name. What adjustment does to the variance of each goes into `ratios`.
    """

    def adjusted(sample: Sample, a: str, b: str, ratio: bool | None = None) -> Evidence:
        found = adjusted_difference(sample, a, b, ratio=ratio)
        ratios.append(found.variance_ratio)
        return found.evidence

    if suite is None:
        return (lambda _, a, b: adjusted(whole, a, b)) if adjust else None
    codes, names = item_codes(tables, "domain")
    check_weights(names, suite)
    check_groups(whole.outcomes, codes, "domain")
    return lambda sample, a, b: suite_evidence(
        {
            name: adjusted(within(whole, codes == k), a, b, by_ratio(whole, a, b))
            if adjust
            else difference_evidence(within(sample, codes == k), a, b, ratio=by_ratio(sample, a, b))
            for k, name in enumerate(names)
        },
        suite,
    )


def subgroups_of(
    tables: Tables,
    sample: Sample,
    pairs: Sequence[tuple[str, str]],
    by: str,
    *,
    basis: str,
    level: float,
    rng: np.random.Generator,
) -> tuple[tuple[Subgroups, ...], list[Question]]:
    """The differences of every pair by a column, and one secondary question for each subgroup."""
    if by == "group":
        raise InputError(
            "Items of a group vary together, so that a group is one unit and shows no difference by itself.",
            remedy="To look into each, read the column as a domain (--by domain --map domain=group); items then vary "
            "one by one.",
        )
    codes, names = item_codes(tables, by)
    word = tables.reading.map.get(by, by)
    if len(names) > MOST_SUBGROUPS:
        raise InputError(
            f"{word} has {len(names):,} values; at most {MOST_SUBGROUPS:,} subgroups are compared.",
            remedy="Choose a column of fewer values (--by domain --map domain=COLUMN).",
        )
    check_groups(sample.outcomes, codes, word)
    found, questions = [], []
    for a, b in pairs:
        found.append(
            subgroup_differences(
                sample, a, b, subgroup=codes, names=names, tests=len(pairs), level=level, rng=rng, n_resamples=1000
            )
        )
        for k, name in enumerate(names):
            if any(s.name == name for s in found[-1].subgroups):
                questions.append(
                    Question(
                        metric=dataclasses.replace(sample.metric, name=f"{sample.metric.name}:{name}"),
                        conditions=(a, b),
                        evidence=difference_evidence(within(sample, codes == k), a, b, ratio=found[-1].relative),
                        primary=False,
                        where=f"{word} {name}",
                        basis=basis,
                    )
                )
    return tuple(found), questions


def trades(
    quality: Sample, cost: Sample, pairs: Sequence[tuple[str, str]], *, margin: float, level: float, tried: int
) -> tuple[Claim, ...]:
    """Of every pair: is the second not worse by more than the margin, and cheaper?"""
    if quality.metric.name == cost.metric.name:
        raise InputError(f"{cost.metric.name} alone is no trade.", remedy="Give grades or scores beside the costs.")
    return cheaper_and_no_worse(
        [
            Trade(
                conditions=(a, b),
                quality=difference_evidence(quality, a, b),
                cost=difference_evidence(cost, a, b),
                metric=quality.metric,
                cost_metric=cost.metric,
                margin=margin,
            )
            for a, b in pairs
        ],
        level=level,
        tried=tried,
    )


SLOPE_GAP = 0.15  # ERRORQUAKE, appendix G


def shape_claims(
    tables: Tables,
    comparison: Comparison,
    *,
    tail_plan: "TailPlan | None",
    slopes: Sequence[Claim] | None = None,
    level: float,
    tried: int = 1,
    n_resamples: int,
    rng: np.random.Generator,
) -> tuple[list[Claim], list[str]]:
    """The claims on slopes, and on tails with a tail plan, of the pairs compared; and what stood in the way."""
    from richter.audit._tail import groups_of, unused
    from richter.severity import discriminate  # severities alone need what these load
    from richter.tail import compare_conditions

    found = severity_scores(tables)
    scores = {name: found.severity[:, k] for k, name in enumerate(found.conditions)}
    pairs = {frozenset(shared.conditions) for shared in comparison.shared}
    claims: list[Claim] = []
    notes: list[str] = []
    try:
        if slopes is None:
            slopes = discriminate(
                scores, groups=found.groups, min_gap=SLOPE_GAP, level=level, tried=tried, n_resamples=n_resamples,
                rng=rng,
            ).claims  # fmt: skip
        settled = nothing_open(comparison.claims, level=level)  # else their turn does not come
        claims += [
            c if settled else not_tested(c) for c in slopes if c.measure == "b" and frozenset(c.conditions) in pairs
        ]
    except InputError as fault:
        notes.append(f"no slope b: {fault.what}")
    if tail_plan is None:
        notes.append("no claim on the tail's shape without a tail plan: richter plan new tail, then --tail-plan")
        return claims, notes
    notes += [f"tail: {note}" for note in unused(tables)]
    try:
        items = dict.fromkeys(scores, found.items)
        study = compare_conditions(scores, tail_plan, rng=rng, items=items, groups=groups_of(tables), band=False)
    except InputError as fault:
        return claims, [*notes, f"no tail shape: {fault.what}"]
    return claims + [c for c in study.claims if frozenset(c.conditions) in pairs], notes
