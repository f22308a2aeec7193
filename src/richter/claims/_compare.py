"""Conditions on the items they share: every claim of a page in one family, who cannot be told apart, missing grades."""

import dataclasses
import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr

from richter.claims._control import joint_tests
from richter.claims._decide import Question, counted, decide
from richter.claims._evidence import Evidence
from richter.claims._outcomes import Floats, Metric, Outcomes, measure_words
from richter.claims._units import About, Sample, as_sample, difference_evidence, mean_evidence
from richter.claims._unpaired import unpaired_evidence
from richter.errors import InputError
from richter.records import Claim, Interval, Refused, Verdict, printable
from richter.stats import Bools

__all__ = [
    "Comparison",
    "Missing",
    "Shared",
    "Summary",
    "WorstCase",
    "compare_outcomes",
    "maximal_sets",
    "missing_grades",
    "pairs_of",
    "too_few_shared",
    "worst_case",
]

MOST_PAIRS = 200_000  # some minutes; more are a column that holds no conditions
FEWEST = 5  # missing items, and items that have values, below which nothing is said of their difficulty
MANY_LACK = 4  # conditions without some grades that are still named one by one


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Items that one condition has no value for: how the others fare on them and on the rest, and the p of that."""

    condition: str
    n: int
    items: int
    others_there: float | None
    others_elsewhere: float | None
    p: float | None
    harder: bool | None  # None: not shown to be harder or easier than the rest
    sentence: str


class WorstCase(NamedTuple):
    """Whether a shown difference holds if every missing value speaks against it, and the sentence on it."""

    holds: bool
    sentence: str


def missing_grades(sample: Sample, conditions: Sequence[str] = (), *, level: float = 0.95) -> tuple[Missing, ...]:
    """Of every condition that lacks grades which others have: are they missing on harder items?

    An item's difficulty is the mean of the other conditions' values, each taken from its own mean so that who is
    missing does not matter. The two means are compared by a t test on units (group, else item), at `level` after
    Bonferroni over the conditions with missing grades. One that shares no item with others lacks none: it has its own.
    """
    names = tuple(conditions) or sample.outcomes.conditions
    columns = [sample.place(name) for name in names]
    mean = sample.mean[:, columns]
    known = ~np.isnan(mean)
    asked, shared = known.any(axis=1), known.sum(axis=1) > 1
    lacking = [k for k in range(len(names)) if (asked & ~known[:, k]).any() and known[shared, k].any()]
    return tuple(_of(sample, names[k], k, mean, known, (1 - level) / len(lacking)) for k in lacking)


def _of(sample: Sample, name: str, k: int, mean: Floats, known: np.ndarray, alpha: float) -> Missing:
    metric = sample.metric
    others = np.delete(mean, k, axis=1)
    has = ~np.isnan(others)
    own = np.nansum(others, axis=0) / np.maximum(has.sum(axis=0), 1)
    seen = has.any(axis=1)
    easy = np.nansum(others - own, axis=1) / np.maximum(has.sum(axis=1), 1) + float(np.mean(own))
    gone = seen & ~known[:, k]
    n, items = int(gone.sum()), int(seen.sum())
    text = f"{name} has no grade on {n:,} of {counted(items, 'item')}"
    kept = seen & known[:, k]
    if n < FEWEST or int(kept.sum()) < FEWEST:
        return Missing(
            condition=name,
            n=n,
            items=items,
            others_there=None,
            others_elsewhere=None,
            p=None,
            harder=None,
            sentence=text,
        )
    there, elsewhere = float(np.mean(easy[gone])), float(np.mean(easy[kept]))
    # contributions of items to the difference of the two means, by unit
    part = np.where(gone, (easy - there) / n, -(easy - elsewhere) / int(kept.sum()))[seen]
    group = sample.outcomes.group
    sums = part if group is None else np.bincount(np.unique(group[seen], return_inverse=True)[1], weights=part)
    error = math.sqrt(float(np.sum(sums**2)) * len(sums) / max(len(sums) - 1, 1))
    gap = there - elsewhere
    p = 1.0 if error == 0 else min(1.0, 2 * float(stdtr(max(len(sums) - 1, 1), -abs(gap) / error)))
    harder = (gap < 0) == (metric.better == "higher") if p < alpha else None
    if harder is not None:
        shown = f"{_value(metric, there)} there, {_value(metric, elsewhere)} elsewhere"
        text += f", and they are {'harder' if harder else 'easier'} ones (the others: {shown})"
    return Missing(
        condition=name,
        n=n,
        items=items,
        others_there=there,
        others_elsewhere=elsewhere,
        p=p,
        harder=harder,
        sentence=text,
    )


def _on_missing(missing: Sequence[Missing]) -> list[str]:
    """A sentence for each condition that lacks grades; where many do, one for those that lack them anywhere."""
    plain = [m for m in missing if m.harder is None]
    if len(plain) <= MANY_LACK:
        return [m.sentence for m in missing]
    most = max(plain, key=lambda m: m.n / m.items)
    least = min(m.n for m in plain)
    lack = (
        f"{counted(len(plain), 'condition lacks', 'conditions lack')} grades on "
        f"{least:,} to {most.n:,} of {most.items:,} items"
    )
    return [f"{lack}, the most of them {most.condition}", *(m.sentence for m in missing if m.harder is not None)]


def _value(metric: Metric, value: float) -> str:
    return f"{metric.amount(value)}{metric.unit}"


def worst_case(sample: Sample, claim: Claim, *, about: About = "such-items") -> WorstCase | None:
    """Does a shown difference hold if all missing values were those that speak against it? None if none is missing.

    The missing values of the condition that came out better take the worst value of the range, those of the other the
    best one; the same interval is then computed at the level at which the claim was decided. About these very items
    such a value does not vary. None about such runs, and where the claim rests on other evidence (adjusted, a suite)
    and the plain difference does not show it without them either.
    """
    metric = sample.metric
    if claim.verdict not in (Verdict.VERIFIED, Verdict.REFUTED) or len(claim.conditions) != 2 or claim.interval is None:
        return None
    if metric.low is None or metric.high is None or claim.estimate is None or sample.outcomes.label is not None:
        return None
    if metric.kind == "real" or about == "such-runs":  # the ends of what was seen: a missing value may lie beyond
        return None
    places = [sample.place(name) for name in claim.conditions]
    known = ~np.isnan(sample.mean[:, places])
    lacks = known.any(axis=1, keepdims=True) & ~known
    if not lacks.any():
        return None
    rising = claim.estimate > 0
    mean, draws = sample.mean.copy(), sample.draws.copy()
    for side, (place, high) in enumerate(zip(places, (rising, not rising), strict=True)):
        mean[lacks[:, side], place] = metric.high if high else metric.low
        draws[lacks[:, side], place] = 1 if about == "such-items" else 2
    filled = dataclasses.replace(sample, mean=mean, draws=draws)
    plain, found = (difference_evidence(s, *claim.conditions, about=about) for s in (sample, filled))
    interval: Interval = found.interval(claim.interval.level)
    value = 0.0 if claim.hypothesis is None else claim.hypothesis.value
    if value in plain.interval(claim.interval.level):
        return None
    said = f"{metric.amount(found.estimate, sign=True)} [{metric.amount(interval.low, sign=True)}, "
    said += f"{metric.amount(interval.high, sign=True)}]{metric.suffix}"
    holds = value not in interval and (found.estimate > value) == (claim.estimate > value)
    n = int(lacks.sum())
    total = f"{'the one item' if n == 1 else f'all {n:,} items'} without a grade spoke against it"
    better = rising == (metric.better == "higher")
    if metric.name == "accuracy" and not lacks[:, 0 if better else 1].any():
        lacking = claim.conditions[1 if better else 0]
        total = f"the one that {lacking} lacks was wrong" if n == 1 else f"all {n:,} that {lacking} lacks were wrong"
    return WorstCase(holds, f"it {'holds even' if holds else 'would not hold'} if {total}: {said}")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One measure of one condition on all items that have it, with its plain interval; `missing` items have none."""

    measure: str
    condition: str
    estimate: float | None
    interval: Interval | None
    n: int
    units: int
    missing: int
    labels: int = 0
    notes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What two conditions have in common: items of both, of the first alone and of the second alone."""

    conditions: tuple[str, str]
    both: int
    first_only: int
    second_only: int

    @property
    def sides(self) -> tuple[int, int]:
        """All items of each."""
        return self.both + self.first_only, self.both + self.second_only


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All claims of a page, what was refused, each condition's own figures, and the sets that cannot be told apart.

    `sets` are maximal sets of conditions of which every pair is undecided or equivalent by the first measure; they may
    overlap and are not a ranking. A condition that was compared with none is in none.
    """

    claims: tuple[Claim, ...]
    refused: tuple[Refused, ...]
    summaries: tuple[Summary, ...]
    shared: tuple[Shared, ...]
    sets: tuple[tuple[str, ...], ...]
    about: About
    level: float
    tried: int
    n_items: int
    missing: tuple[Missing, ...] = ()
    fragile: int = 0  # differences shown that would not hold in the worst case of missing grades
    notes: tuple[str, ...] = ()


def pairs_of(conditions: Sequence[str], *, control: str | None = None) -> list[tuple[str, str]]:
    """Which pairs are compared, first and second: all, or all others against a control."""
    if control is None and (number := math.comb(len(conditions), 2)) > MOST_PAIRS:
        raise InputError(
            f"{len(conditions):,} conditions make {number:,} pairs; at most {MOST_PAIRS:,} are compared.",
            remedy="Name those to compare, or one to compare the others with (--control). If that column holds no "
            "conditions, say which does: --map condition=COLUMN.",
        )
    if control is None:
        return list(itertools.combinations(conditions, 2))
    if control not in conditions:
        raise InputError(f"No condition is named {control}.", remedy=f"There are {', '.join(conditions)}.")
    return [(control, name) for name in conditions if name != control]


def compare_outcomes(
    outcomes: Sequence[Outcomes | Sample],
    *,
    conditions: Sequence[str] = (),
    margins: Mapping[str, float] | None = None,
    about: About = "such-items",
    directed: bool = False,
    control: str | None = None,
    rng: np.random.Generator | None = None,
    evidence_of: Callable[[Sample, str, str], Evidence] | None = None,
    before: Sequence[Claim] = (),
    more: Sequence[Question] = (),
    refused: Sequence[Refused] = (),
    apart: Collection[frozenset[str]] = (),
    unpaired: bool = False,
    min_shared: float = 0.5,
    basis: str = "",
    data_hash: str = "",
    seed: int | None = None,
    tried: int = 1,
    level: float = 0.95,
) -> Comparison:
    """Compare conditions by every measure given; those of the first are primary (unless one of `more` is), others not.

    With a `control` all others are compared with it alone, and their levels come from the largest |t| of all together
    (`rng` resamples units; with `evidence_of` they are Holm's, since that law is of plain differences). `margins` by
    measure add equivalence. `directed` fixes beforehand that the second is better. `evidence_of` makes the evidence on
    the first measure in another way (adjusted, over a suite). Claims `before` were decided by themselves and come
    first: all others are then secondary. `more` are questions on evidence made elsewhere (calibration, severity given
    an error), in the same family. Pairs in `apart` are not compared (their reasons are in `refused`), nor those that
    share less than `min_shared` of the items of either. Where no two conditions share an item, or `unpaired`, all are
    compared as independent samples (`unpaired_evidence`).
    """
    if not outcomes:
        raise InputError("There is nothing to compare by.", remedy="Give the outcomes of one metric at least.")
    made = [as_sample(o) if isinstance(o, Outcomes) else o for o in outcomes]
    samples = {sample.metric.name: sample for sample in made}
    lead = made[0]
    first = lead.outcomes
    names = tuple(conditions) or first.conditions
    wanted = pairs_of(names, control=control)
    refusals, shared, pairs = list(refused), [], []
    loose = dict[tuple[str, ...], str]()  # compared without pairs, and what to do where they have pairs
    known = ~np.isnan(lead.mean[:, [lead.place(name) for name in names]])
    alone = unpaired or not (known.sum(axis=1) > 1).any()  # else those that share none are of another set of items
    for a, b in wanted:
        if frozenset((a, b)) in apart:
            continue
        found = _shared(lead, a, b)
        reason = too_few_shared(lead, a, b, min_shared=min_shared)
        if evidence_of is None and alone and min(found.sides):
            same = "" if found.both else "where these are the same items, write their ids alike to pair them"
            loose[a, b] = same and f"they have no item in common ({_own_items(lead, a, b)}); {same}"
            pairs.append((a, b))
        elif reason:
            reason += "; compare --unpaired takes all of their items as different ones" * bool(min(found.sides))
            refusals.append(Refused(conditions=(a, b), reason=reason))
        else:
            shared.append(found)
            pairs.append((a, b))
    questions: list[Question] = []
    for sample in samples.values():
        metric = sample.metric
        relation = "differs" if not directed else ("above" if metric.better == "higher" else "below")
        for a, b in pairs:
            try:
                if sample is lead and evidence_of is not None:
                    evidence = evidence_of(sample, a, b)
                else:
                    make = unpaired_evidence if (a, b) in loose else difference_evidence
                    evidence = make(sample, a, b, about=about)
            except InputError as fault:
                refusals.append(
                    Refused(conditions=(a, b), reason=f"{metric.name}: {fault.what} {fault.remedy}".rstrip("."))
                )
                continue
            questions.append(
                Question(
                    metric=metric,
                    conditions=(a, b),
                    evidence=evidence,
                    relation=relation,  # type: ignore[arg-type]
                    margin=(margins or {}).get(metric.name),
                    primary=sample is lead and not before and not any(q.primary for q in more),
                    basis=basis,
                    notes=tuple(said for said in (loose.get((a, b)),) if said),
                )
            )
    asked = set(pairs)
    questions += [
        dataclasses.replace(q, primary=q.primary and not before)
        for q in more
        if len(q.conditions) == 1 or (q.conditions in asked and bool(q.evidence.sides) == (q.conditions in loose))
    ]
    joint = None
    paired = [pair for pair in pairs if pair not in loose]
    plain = about == "such-items" and lead.outcomes.label is None and evidence_of is None  # what the joint law is of
    if control is not None and plain and len(paired) > 1:
        joint = joint_tests(lead, paired, rng=np.random.default_rng(seed or 0) if rng is None else rng)
    claims = decide(
        questions,
        level=level,
        tried=tried,
        joint=joint,
        settled=all(c.verdict is not Verdict.UNDECIDED for c in before),
        data_hash=data_hash,
        seed=seed,
    )
    worst = [
        worst_case(samples[c.measure], c, about=about) if c.measure in samples and c.conditions not in loose else None
        for c in claims
    ]
    summaries = tuple(_summary(s, name, about, level) for s in samples.values() for name in names)
    partly = {pair.conditions for pair in shared if pair.first_only or pair.second_only}
    claims = tuple(
        dataclasses.replace(c, notes=(*c.notes, *([] if bad is None else [bad.sentence]), *_on_shared(c, summaries)))
        if bad is not None or c.conditions in partly
        else c
        for c, bad in zip(claims, worst, strict=True)
    )
    missing = () if unpaired else missing_grades(lead, names, level=level)
    return Comparison(
        claims=(*before, *claims),
        refused=tuple(refusals),
        summaries=summaries,
        shared=tuple(shared),
        sets=_sets(lead, names, claims) if control is None else (),
        about=about,
        level=level,
        tried=tried,
        n_items=len(first.items),
        missing=missing,
        fragile=sum(bad is not None and not bad.holds for bad in worst),
        notes=tuple(
            dict.fromkeys(
                [
                    *(n for sample in made for n in sample.outcomes.notes),
                    *_on_missing(missing),
                    *(
                        []
                        if len(names) == 2 or not loose
                        else [f"{counted(len(loose), 'pair is', 'pairs are')} compared as different items"]
                    ),
                ]
            )
        ),
    )


def _on_shared(claim: Claim, summaries: Sequence[Summary]) -> list[str]:
    """What both are on the items of both, where each by itself, on all of its own, comes out in the other order."""
    figures = {s.condition: s.estimate for s in summaries if s.measure == claim.measure}
    alone, here = [figures.get(name) for name in claim.conditions], list(claim.values)
    if claim.estimate is None or len(here) != 2 or None in (*alone, *here):
        return []
    first, second = (x or 0.0 for x in alone)
    if (second - first) * claim.estimate >= 0:
        return []
    words, sides = measure_words(claim.measure), zip(claim.conditions, here, strict=True)
    both = " and ".join(f"{name} {_value(words, value or 0.0)}" for name, value in sides)
    return [f"on the {counted(claim.n, 'item')} of both: {both}; each on all of its own they come in the other order"]


def _shared(sample: Sample, a: str, b: str) -> Shared:
    has_a, has_b = (~np.isnan(sample.mean[:, sample.place(name)]) for name in (a, b))
    both = int(np.sum(has_a & has_b))
    return Shared(
        conditions=(a, b), both=both, first_only=int(np.sum(has_a)) - both, second_only=int(np.sum(has_b)) - both
    )


def too_few_shared(sample: Sample | Outcomes, first: str, second: str, *, min_shared: float = 0.5) -> str:
    """Why two conditions share too few items to be compared; empty where they share enough."""
    sample = as_sample(sample) if isinstance(sample, Outcomes) else sample
    shared = _shared(sample, first, second)
    said = _too_few(shared, min_shared)
    return said if shared.both or not min(shared.sides) else f"{said} ({_own_items(sample, first, second)})"


def _own_items(sample: Sample, first: str, second: str) -> str:
    """An item of each, where they share none."""
    one, two = (
        sample.outcomes.items[int(np.flatnonzero(~np.isnan(sample.mean[:, sample.place(name)]))[0])]
        for name in (first, second)
    )
    return f"one has {printable(one, limit=40)}, the other {printable(two, limit=40)}"


def _too_few(shared: Shared, min_shared: float) -> str:
    for alone, name in ((shared.first_only, shared.conditions[0]), (shared.second_only, shared.conditions[1])):
        if shared.both + alone == 0:
            return f"untestable: {name} has no graded item"
    either = shared.both + shared.first_only + shared.second_only
    if shared.both >= 1 and shared.both >= min_shared * either:
        return ""
    if shared.both == 0:
        return "they have no graded item in common"
    return (
        f"only {shared.both} of {either} items were graded in both ({100 * shared.both / either:.0f}%, at least "
        f"{100 * min_shared:.0f}% are asked for)"
    )


def _summary(sample: Sample, name: str, about: About, level: float) -> Summary:
    missing = int(np.sum(np.isnan(sample.mean[:, sample.place(name)])))
    try:
        evidence = mean_evidence(sample, name, about=about)
    except InputError as fault:
        return Summary(
            measure=sample.metric.name, condition=name, estimate=None, interval=None, n=0, units=0, missing=missing,
            notes=(fault.what,),
        )  # fmt: skip
    return Summary(
        measure=sample.metric.name,
        condition=name,
        estimate=evidence.estimate,
        interval=evidence.interval(level),
        n=evidence.n,
        units=evidence.units,
        missing=missing,
        labels=evidence.labels,
        notes=evidence.notes,
    )


def _sets(sample: Sample, names: Sequence[str], claims: Sequence[Claim]) -> tuple[tuple[str, ...], ...]:
    """Maximal sets, members and sets best first; a refused pair is never alike, nor does it tell apart."""
    weight = np.ones(len(sample.mean)) if sample.outcomes.weight is None else sample.outcomes.weight
    means = {}
    for name in names:
        values = sample.mean[:, sample.place(name)]
        known = ~np.isnan(values)
        if known.any():
            means[name] = float(np.average(values[known], weights=weight[known]))
    sign = -1 if sample.metric.better == "higher" else 1
    ranked = sorted(means, key=lambda name: sign * means[name])
    place = {name: k for k, name in enumerate(ranked)}
    alike = np.zeros((len(ranked), len(ranked)), dtype=bool)
    compared = set[str]()
    for claim in claims:
        if claim.measure == sample.metric.name and len(claim.conditions) == 2:
            compared |= set(claim.conditions)
            i, j = (place[name] for name in claim.conditions)
            alike[i, j] = alike[j, i] = claim.verdict in (Verdict.UNDECIDED, Verdict.EQUIVALENT)
    sets = (tuple(ranked[k] for k in members) for members in maximal_sets(alike))
    return tuple(members for members in sets if compared.issuperset(members))


def maximal_sets(alike: Bools) -> list[list[int]]:
    """All maximal sets of members of which every two are `alike` (a symmetric matrix), by Bron and Kerbosch.

    Sets may overlap: with a ~ b and b ~ c but a and c told apart, {a, b} and {b, c} come out, never {a, b, c}. They
    are ordered by their first member, and members keep their order.
    """
    number = len(alike)
    near = [{j for j in range(number) if j != i and alike[i, j]} for i in range(number)]
    found: list[list[int]] = []

    def grow(members: set[int], candidates: set[int], done: set[int]) -> None:
        if not candidates and not done:
            found.append(sorted(members))
            return
        pivot = max(candidates | done, key=lambda v: len(near[v] & candidates))
        for vertex in sorted(candidates - near[pivot]):
            grow(members | {vertex}, candidates & near[vertex], done & near[vertex])
            candidates = candidates - {vertex}
            done = done | {vertex}

    if number:
        grow(set(), set(range(number)), set())
    return sorted(found)
