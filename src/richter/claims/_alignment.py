"""Do conditions grade the same questions under the same ids? Told by whose grades agree, or by the questions' texts.

Conditions that answer the same questions fail on the same hard ones, or answer by opposite habits: either way their
grades depend on each other, item by item. Grades in another order do not.
"""

import dataclasses
import functools
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from richter._special import chdtrc, gammaln, ndtr, stdtrit
from richter.claims._measures import Codes, Floats, Outcomes
from richter.claims._units import Sample, as_sample
from richter.records import Refused, distinct_names
from richter.stats import average_ranks
from richter.words._check_words import ALIGNMENT, UNCHECKED

__all__ = ["Alignment", "check_alignment"]

LINK = 6e-5  # a pair whose agreement has a smaller p is linked
PAIRS = 10  # with more pairs the limit falls, so that a false link stays as rare over the whole file
SEEN = 6.0  # the |z| to be expected before its absence counts
MAX_DISPLACED = 0.01  # share of a condition's texts that may be other items' by chance
MIN_SHARED_ITEMS = 200  # shared items under which absence says nothing
NEAR = 0.1  # shares of the range: accuracies this close are alike, and one this close to chance is near it
PART = -4.0  # the z at which a part of the file no longer fits
BLOCKS = 8  # of the file; windows of two to six in a row are looked at
SORTED = 0.03  # share of the variance of items' totals between parts above which a file is sorted by difficulty
TINY = 1e-12  # share of a sum of squares that rounding alone leaves
EXACT = 400.0  # variance of an agreement from which the normal law is near enough

Bools = NDArray[np.bool_]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """Which conditions share one order of items.

    `sets` are the conditions in one order, the main one first: pairs within a set may be compared, pairs across sets
    may not. What could not be checked stays in the main set and is named in `unchecked` and `warnings`. `refused` has
    one line for each set that is out of order. Where ids were trusted nothing is refused and those lines are warnings.
    """

    sets: tuple[tuple[str, ...], ...]
    refused: tuple[Refused, ...] = ()
    unchecked: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def apart(self) -> frozenset[frozenset[str]]:
        """The pairs that may not be compared item by item."""
        return frozenset(
            frozenset((a, b)) for one, other in itertools.combinations(self.sets, 2) for a in one for b in other
        )


Typical: TypeAlias = Callable[[int, int], float | None]  # of a condition and one of the main set


@dataclasses.dataclass(frozen=True, slots=True)
class _Agreement:
    """Conditions x conditions: phi within groups, z and p of it, and the z that a phi of 1 would have."""

    phi: Floats
    z: Floats
    p: Floats
    reach: Floats
    shared: Floats


def check_alignment(
    sample: Sample | Outcomes, *, texts: Codes | None = None, chance: float | None = None, trust: bool = False
) -> Alignment:
    """Sort conditions into sets that share one order of items, and refuse what is seen to be in another.

    For every pair the agreement on shared items, within group or stratum where there are any, has an exact
    (hypergeometric) two-sided p; for graded values the same with ranks and the normal law. Pairs with p < 6e-5 in
    either direction are linked (less with more than ten pairs), and so is a condition that depends on a set together;
    connected conditions are aligned. One outside the main set is refused only where its place would have been seen:
    an expected |z| of 6, from the median |phi| of pairs of like accuracy. Under 200 shared items, with two conditions,
    or near chance it "cannot be checked", which is a warning. `chance` is the share of right answers by guessing;
    where it is unknown, accuracies below 0.6 and near the lowest of all may be chance.

    `texts` (items x conditions, a code of the question's text, -1 for none) decides where it is given: a condition is
    out of order where its texts are those of other items. Where ids are positions, a part of the file that no longer
    fits (a shift from some row on, a shuffled half) is looked for: in windows of two to six eighths, the correlation
    with the sum of the others against that in the rest, by Fisher's z, relative to how the other conditions fare
    there; -4 or below is refused. A random half of the items cannot be told from a less similar condition.
    """
    sample = as_sample(sample)
    outcomes, values = sample.outcomes, sample.mean
    names, number = outcomes.conditions, len(outcomes.conditions)
    if number < 2:
        return Alignment(sets=(names,))
    short = distinct_names(names)
    texts = np.empty((0, number), dtype=np.intp) if texts is None else texts
    displaced = _displaced(texts)  # condition: items that have another item's text
    wrong = {k: ALIGNMENT["displaced"].format(number=x, total=n) for k, (x, n) in displaced.items() if x}
    lost = [([k], line) for k, line in wrong.items()]
    usable = sorted({*np.flatnonzero(~np.isnan(values).all(axis=0)).tolist()} - wrong.keys())
    unchecked: dict[int, str] = {}
    warnings: list[str] = []
    if not {*usable} <= displaced.keys():
        graded = _check_usable(values, usable, set(displaced), outcomes, chance)
        lost, unchecked = [*lost, *graded.lost], graded.unchecked
        warnings = [ALIGNMENT["unsure"].format(name=short[k], found=line) for k, line in graded.unsure]
    reworded = _reworded(texts, displaced)
    warnings += [ALIGNMENT["reworded"].format(name=short[k], number=x, total=n) for k, (x, n) in reworded.items()]
    lost = [(members, line) for members, line in lost if not {*members} <= reworded.keys()]
    warnings += _describe_unchecked(unchecked, short)
    alone = tuple(names[k] for k in sorted(unchecked))
    if trust:
        warnings += (ALIGNMENT["trusted"].format(names=_listed(short[k] for k in own), found=x) for own, x in lost)
        return Alignment(sets=(names,), unchecked=alone, warnings=tuple(warnings))
    return Alignment(**_split_sets(names, lost), unchecked=alone, warnings=tuple(warnings))


def _split_sets(names: Sequence[str], lost: Sequence[tuple[list[int], str]]) -> dict[str, Any]:
    """The sets of conditions that share an order, and why those that are `lost` are refused."""
    out = {k for members, _ in lost for k in members}
    sets = [[k for k in range(len(names)) if k not in out], *(members for members, _ in lost)]
    refused = (
        Refused(conditions=tuple(names[k] for k in members), reason=f"{line}; {ALIGNMENT['remedy']}")
        for members, line in lost
    )
    return {"sets": tuple(tuple(names[k] for k in own) for own in sets if own), "refused": tuple(refused)}


def _describe_unchecked(unchecked: Mapping[int, str], short: Sequence[str]) -> Iterator[str]:
    """One line for each reason why the order of conditions cannot be checked."""
    for why, some in itertools.groupby(sorted(unchecked, key=lambda k: unchecked[k]), key=lambda k: unchecked[k]):
        text = UNCHECKED[why].format(number=MIN_SHARED_ITEMS)
        names = _listed(short[k] for k in some)
        yield ALIGNMENT["unchecked"].format(names=names, why=f", and {text}" if text else "")


@dataclasses.dataclass(frozen=True, slots=True)
class _GradedCheck:
    """What grades say of the order: sets out of order with the reason, who cannot be checked, and who is unsure."""

    lost: list[tuple[list[int], str]]
    unchecked: dict[int, str]
    unsure: list[tuple[int, str]]


def _check_usable(
    values: Floats, usable: list[int], displaced: set[int], outcomes: Outcomes, chance: float | None
) -> _GradedCheck:
    """The order of the conditions in use by their grades; those of `displaced` have texts that place them."""
    sure = [place for place, k in enumerate(usable) if k in displaced]
    within = outcomes.group if outcomes.group is not None else outcomes.stratum
    apart, why, whole = _by_grades(values[:, usable], within, sure, outcomes, chance)
    unchecked = {usable[k]: reason for k, reason in why.items()}
    outside = [[usable[k] for k in part] for part in apart]
    main = sorted({*usable} - {*itertools.chain(*outside)})
    lost = [(members, _order_line(members, main, values, outcomes.items)) for members in outside]
    by_parts = _by_parts(values, outcomes.items, main) if whole else {}
    partly = {k: line for k, line in by_parts.items() if k not in displaced | unchecked.keys()}
    is_sure = {usable[place] for place in whole}
    lost += [([k], partly.pop(k)) for k in [*partly] if k in is_sure]
    return _GradedCheck(lost, _sharing(unchecked, values), list(partly.items()))


def _sharing(conditions: Mapping[int, str], values: Floats) -> dict[int, str]:
    """Those of these conditions that share an item with another; the order of the rest does not matter."""
    known = ~np.isnan(values)
    shared = known.sum(axis=1) > 1
    return {k: reason for k, reason in conditions.items() if known[shared, k].any()}


def _by_grades(
    values: Floats, within: Codes | None, sure: list[int], outcomes: Outcomes, chance: float | None
) -> tuple[list[list[int]], dict[int, str], list[int]]:
    """Sets that are out of order, why others cannot be checked, and whose parts can be; `sure` ones share one order."""
    number = values.shape[1]
    agree = _agreement(values, within)
    linked = agree.p < LINK * min(1.0, PAIRS / max(1, number * (number - 1) // 2))
    linked[np.ix_(sure, sure)] = True
    labels = _components(linked)
    main = int(labels[sure[0]]) if sure else int(np.argmax(np.bincount(labels)))
    joined = _joined(values, within, labels, main)
    labels[joined] = main
    accuracy = np.nanmean(values, axis=0)
    close = NEAR * _range_of(values, outcomes)
    is_binary = outcomes.metric.kind == "binary"
    near = np.asarray(is_binary) & _near_chance(accuracy, close, chance)
    habits = bool((linked & (agree.phi < 0)).any())
    inside = labels == main
    single = np.bincount(labels)[labels] == 1
    is_loose = int(np.sum(single & ~inside & ~near)) > max(1, number // 4)  # then links are no matter of course
    most = _most_phi(accuracy) if is_binary else np.ones_like(agree.phi)
    typical = _typical_phi(np.abs(agree.phi) / most, inside, accuracy, close)
    few = 5 if chance is None or chance > 0.4 else 3  # with two options four may share one habit that a fifth lacks
    apart: list[list[int]] = []
    unchecked: dict[int, str] = {}
    for label in sorted(set(labels[~inside].tolist())):
        members = np.flatnonzero(labels == label)
        why = _why_unchecked(agree, members, inside, near, habits=habits, chance=chance)
        if not why and (is_loose or not _would_be_seen(agree, members, inside, near, most, typical, few)):
            why = "few"
        if why:
            unchecked |= dict.fromkeys(members.tolist(), why)
        else:
            apart.append(members.tolist())
    if inside.sum() == 1 and number > 1:
        unchecked[int(np.flatnonzero(inside)[0])] = next(iter(unchecked.values()))
    return apart, unchecked, [] if habits else np.flatnonzero(inside & ~near).tolist()


def _range_of(values: Floats, outcomes: Outcomes) -> float:
    """The range of the measure; where it has none, that of the values."""
    low, high = outcomes.metric.low, outcomes.metric.high
    return float((np.nanmax(values) if high is None else high) - (np.nanmin(values) if low is None else low))


def _near_chance(accuracy: Floats, close: float, chance: float | None) -> Bools:
    """Whose accuracy may be that of guessing; with an unknown chance, below 0.6 and near the lowest."""
    if chance is None:
        return (accuracy < 0.5 + close) & (accuracy < np.min(accuracy) + close)
    return np.asarray(np.abs(accuracy - chance) < close)


def _why_unchecked(
    agree: _Agreement, members: NDArray[np.intp], inside: Bools, near: Bools, *, habits: bool, chance: float | None
) -> str:
    """Which of `UNCHECKED` keeps conditions outside the main set from being checked; empty where none does."""
    if inside.sum() < 2:
        return "two sets" if len(inside) == 2 else "no agreement"
    if max(agree.shared[np.ix_(members, inside)].max(initial=0), 0) < MIN_SHARED_ITEMS:
        return "few shared"
    if all(near[members]):
        return "possibly near chance" if chance is None else "near chance"
    return "habits" if habits else ""


def _would_be_seen(
    agree: _Agreement, members: NDArray[np.intp], inside: Bools, near: Bools, most: Floats, typical: Typical, few: int
) -> bool:
    """Whether the agreement of these conditions with the main set would have been seen, were they in its order."""
    places = np.flatnonzero(inside)

    def expected(k: int) -> float:
        """The largest |z| that condition k should have with one inside."""
        shares = ((j, typical(k, int(j))) for j in places)
        return max((x * float(most[k, j]) * float(agree.reach[k, j]) for j, x in shares if x is not None), default=0.0)

    if max(expected(int(k)) for k in members if not near[k]) < SEEN:
        return False
    return max(_foreseen(agree, members, np.flatnonzero(some), few) for some in (inside, inside & ~near)) >= SEEN


def _typical_phi(share: Floats, inside: Bools, accuracy: Floats, close: float) -> Typical:
    """The median |phi| that a condition may be expected to have with one inside, as a share of the most it can be.

    From pairs inside in which the other is of like accuracy as the condition; where there is none, from pairs whose
    accuracies are as far apart. Conditions of one accuracy have one answer, which is found once.
    """
    members = np.flatnonzero(inside)
    apart = np.abs(accuracy[members][:, None] - accuracy[members][None, :])

    @functools.cache
    def typical(own: float, j: int) -> float | None:
        others = members[(members != j) & (np.abs(accuracy[members] - own) <= close)]
        found = share[j, others]
        if not len(found):
            alike = np.triu(np.abs(apart - abs(own - accuracy[j])) <= close, 1)
            found = share[np.ix_(members, members)][alike]
        return float(np.median(found)) if len(found) else None

    return lambda k, j: typical(float(accuracy[k]), j)


def _foreseen(agree: _Agreement, members: NDArray[np.intp], inside: NDArray[np.intp], few: int) -> float:
    """The least |z| that a further condition like those inside would have with its closest one.

    A prediction bound at 1 in 200 for one more of the logarithms of every member's largest |phi|; few or uneven
    members (habits shared by some) make it small, and then absence says nothing.
    """
    if len(inside) < few:
        return 0.0
    phi = np.abs(agree.phi[np.ix_(inside, inside)])
    np.fill_diagonal(phi, 0.0)
    logs = np.log(np.maximum(phi.max(axis=1), 1e-9))
    n = len(logs)
    bound = logs.mean() - float(stdtrit(n - 1, 0.995)) * logs.std(ddof=1) * math.sqrt(1 + 1 / n)
    return math.exp(bound) * float(agree.reach[np.ix_(members, inside)].max())


def _most_phi(accuracy: Floats) -> Floats:
    """The largest phi of two conditions of these accuracies: the better one is right wherever the other is."""
    odds = np.clip(accuracy, 1e-6, 1 - 1e-6) / (1 - np.clip(accuracy, 1e-6, 1 - 1e-6))
    ratio: Floats = np.sqrt(odds[:, None] / odds[None, :])
    return np.minimum(ratio, 1 / ratio)


def _agreement(values: Floats, within: Codes | None) -> _Agreement:
    """Every pair's agreement on shared items, permuted within groups: sum of (xy - mean x mean y), its variance, p."""
    known = ~np.isnan(values)
    binary = bool(np.isin(values[known], (0.0, 1.0)).all())
    x = np.nan_to_num(values if binary else average_ranks(values))
    m = known.astype(np.float64)
    number = values.shape[1]
    excess, variance, square, rows = (np.zeros((number, number)) for _ in range(4))
    tables: list[tuple[Floats, ...]] = []
    for part in _parts(within):
        a, b = x[part], m[part]
        n, sums, squares, both = b.T @ b, a.T @ b, (a * a).T @ b, a.T @ a
        with np.errstate(invalid="ignore", divide="ignore"):
            spread = np.nan_to_num(np.maximum(squares - sums**2 / n, 0.0))
            excess += np.nan_to_num(both - sums * sums.T / n)
            variance += np.nan_to_num(spread * spread.T / (n - 1), posinf=0.0)
        square += spread
        rows += n
        tables.append((n, sums, both))
    with np.errstate(invalid="ignore", divide="ignore"):
        reach = np.nan_to_num(np.sqrt(square * square.T) / np.sqrt(variance))
        phi = np.nan_to_num(excess / np.sqrt(square * square.T))
        z = np.nan_to_num(excess / np.sqrt(variance))
    p = 2 * ndtr(-np.abs(z))
    if binary:
        unsure = np.triu((np.abs(z) > 3) & (variance < EXACT), 1)
        for i in np.flatnonzero(unsure.any(axis=1)):
            to = np.flatnonzero(unsure[i])
            margins = zip(*(_margins(n[i, to], s[i, to], s[to, i]) for n, s, _ in tables), strict=True)
            seen = np.sum([both[i, to] for *_, both in tables], axis=0).astype(int).tolist()
            p[i, to] = p[to, i] = list(map(_exact, margins, seen))
    np.fill_diagonal(p, 0.0)
    return _Agreement(phi=phi, z=z, p=p, reach=reach, shared=rows)


def _components(linked: NDArray[np.bool_]) -> NDArray[np.int32]:
    """The number of each condition's set, where linked ones and those linked to them are one."""
    near = linked | linked.T | np.eye(len(linked), dtype=bool)
    lowest, before = np.arange(len(linked)), np.array([-1])
    while not np.array_equal(lowest, before):
        before, lowest = lowest, np.where(near, lowest, len(linked)).min(axis=1)
    return np.unique(lowest, return_inverse=True)[1].astype(np.int32)


def _parts(within: Codes | None) -> list[NDArray[np.intp] | slice]:
    """The rows of every group, or all."""
    if within is None or len(np.unique(within)) == len(within):
        return [slice(None)]
    order = np.argsort(within, kind="stable")
    return list(np.split(order, np.flatnonzero(np.diff(within[order])) + 1))


@functools.lru_cache(maxsize=64)  # there are few sizes of groups, and many pairs
def _log_factorials(most: int) -> Floats:
    """The logarithms of 0! to `most`!."""
    found: Floats = gammaln(np.arange(most + 1) + 1)
    return found


Margins: TypeAlias = tuple[int, int, int]  # items of a group, and how many each of two got right, the fewer first


def _margins(n: Floats, one: Floats, other: Floats) -> Iterator[Margins]:
    """The margins of one condition and several others."""
    columns = (n, np.minimum(one, other), np.maximum(one, other))
    return zip(*(column.astype(int).tolist() for column in columns), strict=True)


def _exact(margins: tuple[Margins, ...], seen: int) -> float:
    """Two-sided p of the number right in both, over all groups, given each group's margins."""
    start, p = _two_sided(margins)
    return p[seen - start]


@functools.lru_cache(maxsize=4096)  # many pairs of a board have the same margins
def _two_sided(margins: tuple[Margins, ...]) -> tuple[int, list[float]]:
    """The least number right in both, and from it on every number's two-sided p: a sum of hypergeometrics."""
    law, start = np.ones(1), 0
    for n, a, b in margins:
        low, high = max(0, a + b - n), min(a, b)
        if high > low:
            k, logs_of = np.arange(low, high + 1), _log_factorials(n)
            logs = -(logs_of[k] + logs_of[a - k] + logs_of[b - k] + logs_of[n - a - b + k])
            part = np.exp(logs - logs.max())
            law = np.convolve(law, part / part.sum())
        start += low
    tails = np.minimum(np.cumsum(law), np.cumsum(law[::-1])[::-1])
    return start, np.minimum(1.0, 2 * tails).tolist()


def _joined(values: Floats, within: Codes | None, labels: NDArray[np.int32], main: int) -> list[int]:
    """Conditions outside the main set that depend on its members together: n R^2 against chi-square, within groups.

    Several weak agreements add up, and members with opposite habits cancel.
    """
    inside = np.flatnonzero(labels == main)
    if len(inside) < 2 or (labels == main).all():
        return []
    known = ~np.isnan(values)
    x = values.copy()
    freedom = 0
    for part in _parts(within):
        with np.errstate(invalid="ignore"):
            count = known[part].sum(axis=0)
            x[part] -= np.where(count > 0, np.nansum(values[part], axis=0) / np.maximum(count, 1), 0.0)
        freedom += 1
    base = np.nan_to_num(x[:, inside])
    found = []
    for k in np.flatnonzero(labels != main):
        use = known[:, k]
        n = int(use.sum()) - freedom
        for design in (base[use].sum(axis=1, keepdims=True), base[use]):
            if n > 10 * design.shape[1]:
                y = x[use, k]
                fit = design @ np.linalg.lstsq(design, y, rcond=None)[0]
                share = float(fit @ fit) / max(float(y @ y), 1e-300)
                if chdtrc(design.shape[1], n * share) < LINK / 2:
                    found.append(int(k))
                    break
    return found


def _displaced(texts: Codes) -> dict[int, tuple[int, int]]:
    """Of every condition whose texts can be compared: items that carry another item's text, and items compared.

    An item's own text is the one that most conditions give; of two that as many give, the first condition's. A text
    that no item owns (a template of the condition's own) says nothing; a condition in which most texts are such is left
    to its grades, unless more than 1% of its texts are those of other items.
    """
    items, number = texts.shape
    own = np.full(items, -1, dtype=np.intp)
    for i, row in enumerate(texts):
        seen = row[row >= 0]
        if len(seen):
            _, place, counts = np.unique(seen, return_index=True, return_counts=True)
            own[i] = seen[place[counts == counts.max()].min()]
    owned = np.unique(own[own >= 0])
    found = {}
    for k in range(number):
        has_text = texts[:, k] >= 0
        given = has_text & np.isin(texts[:, k], owned)
        wrong, n = int(np.sum(texts[given, k] != own[given])), int(has_text.sum())
        if wrong > MAX_DISPLACED * n:
            found[k] = (wrong, n)
        elif given.sum() > max(0.5 * n, 1):
            found[k] = (0, int(given.sum()))
    return found


def _reworded(texts: Codes, displaced: Iterable[int]) -> dict[int, tuple[int, int]]:
    """Of every condition with texts of its own, of which none is another item's: texts that no other condition has."""
    found = {}
    for k in set(range(texts.shape[1])) - {*displaced}:
        has_text = (texts[:, k] >= 0) & (np.delete(texts, k, axis=1) >= 0).any(axis=1)
        own = has_text & ~np.isin(texts[:, k], np.delete(texts, k, axis=1))
        if own.any():
            found[k] = (int(own.sum()), int(has_text.sum()))
    return found


def _by_parts(values: Floats, items: Sequence[str], main: list[int]) -> dict[int, str]:
    """Conditions that fit the others in one part of the file and not in another, where ids are positions."""
    if len(main) < 6 or len(items) < 2 * MIN_SHARED_ITEMS or (order := _positions(items)) is None:
        return {}
    x = values[order][:, main]
    centred = np.nan_to_num(x - np.nanmean(x, axis=0))
    total = centred.sum(axis=1)
    edges = np.linspace(0, len(order), BLOCKS + 1).astype(int)
    block = np.repeat(np.arange(BLOCKS), np.diff(edges))
    means = np.bincount(block, weights=total) / np.bincount(block)
    if float(np.var(means[block])) > SORTED * float(np.var(total)):
        return {}  # sorted by difficulty: parts differ in how conditions agree, and each in its own way
    lowest: dict[int, tuple[float, int, int]] = {}
    for first, last in itertools.combinations(range(BLOCKS + 1), 2):
        if not 2 <= last - first <= 6:
            continue
        window = np.zeros(len(order), dtype=bool)
        window[edges[first] : edges[last]] = True
        inner, outer = (_with_others(x[use], centred[use], total[use]) for use in (window, ~window))
        with np.errstate(invalid="ignore"):
            gap = np.arctanh(inner[0]) - np.arctanh(outer[0])
            gap -= np.nanmedian(gap)
            # a file sorted by subject or difficulty changes every condition's fit, each in its own way
            typical = 1.4826 * np.nanmedian(np.abs(gap))
            z = gap / np.maximum(np.sqrt(1 / (inner[1] - 3) + 1 / (outer[1] - 3)), typical)
        for k in np.flatnonzero((z < PART) & (inner[0] * np.sqrt(inner[1]) < -PART)):
            if z[k] < lowest.get(main[k], (0.0, 0, 0))[0]:
                lowest[main[k]] = (float(z[k]), int(edges[first]), int(edges[last]) - 1)
    return {
        k: ALIGNMENT["part"].format(others=len(main) - 1, first=items[order[first]], last=items[order[last]])
        for k, (_, first, last) in lowest.items()
    }


def _with_others(x: Floats, centred: Floats, total: Floats) -> tuple[Floats, Floats]:
    """Every condition's correlation with the sum of the others, and the items it is over."""
    known = ~np.isnan(x)
    sizes = known.sum(axis=0).astype(np.float64)
    own, squares, both = centred.sum(axis=0), (centred**2).sum(axis=0), total @ centred
    rest, rest_squares = total @ known - own, total**2 @ known - 2 * both + squares
    with np.errstate(invalid="ignore", divide="ignore"):
        spread, rest_spread = squares - own**2 / sizes, rest_squares - rest**2 / sizes
        found = (both - squares - own * rest / sizes) / np.sqrt(spread * rest_spread)
        varies = (spread > TINY * squares) & (rest_spread > TINY * rest_squares)
    low, high = (end(np.where(known, x, fill), axis=0) for end, fill in ((np.min, np.inf), (np.max, -np.inf)))
    counts = [(x == end).sum(axis=0) for end in (low, high)]
    rare = (low < high) & (counts[0] + counts[1] == sizes) & (np.minimum(*counts) < MIN_SHARED_ITEMS // 8)
    usable = (sizes > MIN_SHARED_ITEMS // 8) & ~rare & varies  # a few errors do not place a correlation
    return np.where(usable, np.clip(found, -0.999, 0.999), np.nan), sizes


def _positions(items: Sequence[str]) -> NDArray[np.intp] | None:
    """The order of items whose ids are positions (consecutive numbers, perhaps after one common word); None if not."""
    found = [re.fullmatch(r"(.*?)(\d{1,9})", item, re.DOTALL) for item in items]
    if not all(found) or len({m[1] for m in found if m}) != 1:
        return None
    numbers = np.array([int(m[2]) for m in found if m])
    if np.ptp(numbers) >= 1.5 * len(numbers):
        return None
    return np.argsort(numbers, kind="stable")


def _order_line(members: list[int], main: list[int], values: Floats, items: Sequence[str]) -> str:
    line = ALIGNMENT["order"].format(others=len(main))
    order = _positions(items)
    if order is not None:
        rest = np.nanmean(values[order][:, main], axis=1)
        shifts = {_shift(values[order, k], rest) for k in members}
        if len(shifts) == 1 and 0 not in shifts:
            line += ALIGNMENT["shifted"].format(rows=shifts.pop())
    return line


def _shift(x: Floats, rest: Floats, reach: int = 5) -> int:
    """By how many rows a condition must move to agree with the others after all; 0 where none helps."""
    for move in itertools.chain.from_iterable((k, -k) for k in range(1, reach + 1)):
        a, b = (x[:-move], rest[move:]) if move > 0 else (x[-move:], rest[:move])
        use = ~np.isnan(a) & ~np.isnan(b)
        if use.sum() > 30 and a[use].std() > 0 and b[use].std() > 0:
            r = float(np.corrcoef(a[use], b[use])[0, 1])
            if r * math.sqrt(use.sum()) > SEEN:
                return move
    return 0


def _listed(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
