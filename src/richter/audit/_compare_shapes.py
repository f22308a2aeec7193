"""The shape of severities in a comparison: the slope b and the tail, behind gates of their own."""

from collections.abc import Sequence

import numpy as np

from richter.claims import Comparison, not_tested
from richter.errors import InputError
from richter.records import Claim, Verdict
from richter.severity import discriminate
from richter.tables import Tables, severity_scores
from richter.tail import TailPlan, compare_conditions

SLOPE_GAP = 0.15  # ERRORQUAKE, appendix G


def shape_claims(
    tables: Tables,
    comparison: Comparison,
    *,
    tail_plan: TailPlan | None,
    slopes: Sequence[Claim] | None = None,
    level: float,
    n_resamples: int,
    rng: np.random.Generator,
) -> tuple[list[Claim], list[str]]:
    """The claims on slopes, and on tails with a tail plan, of the pairs compared; and what stood in the way."""
    found = severity_scores(tables)
    scores = {name: found.severity[:, k] for k, name in enumerate(found.conditions)}
    pairs = {frozenset(shared.conditions) for shared in comparison.shared}
    claims: list[Claim] = []
    notes: list[str] = []
    try:
        if slopes is None:
            slopes = discriminate(scores, min_gap=SLOPE_GAP, level=level, n_resamples=n_resamples, rng=rng).claims
        settled = all(c.verdict is not Verdict.UNDECIDED for c in comparison.claims)  # else their turn does not come
        claims += [
            c if settled else not_tested(c) for c in slopes if c.measure == "b" and frozenset(c.conditions) in pairs
        ]
    except InputError as fault:
        notes.append(f"no slope b: {fault.what}")
    if tail_plan is None:
        notes.append("no claim on the tail's shape without a tail plan: richter plan new tail, then --tail-plan")
        return claims, notes
    try:
        items = dict.fromkeys(scores, found.items)
        study = compare_conditions(scores, tail_plan, rng=rng, items=items, band=False)
    except InputError as fault:
        return claims, [*notes, f"no tail shape: {fault.what}"]
    return claims + [c for c in study.claims if frozenset(c.conditions) in pairs], notes
