"""What a set of ratings is worth: agreement within a kind, judges against a reference, and human-label corrections."""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar, Literal, ParamSpec, TypeVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from richter import stats
from richter.errors import InputError
from richter.ratings._label_noise import LabelNoise, label_noise, mechanism_kappa
from richter.ratings._rubric import check_mechanism, check_severity, snap
from richter.records import DEFAULT_LEVEL, Rating, Result
from richter.stats import Bools, Floats, Indices, icc, leniency

__all__ = [
    "ACCEPTED_ALPHA",
    "Agreement",
    "Correction",
    "JudgeReport",
    "Tabulated",
    "Undefined",
    "agreement",
    "corrections",
    "judge_report",
    "tabulate",
]

Kind = Literal["human", "judge", "rule"]
Key = tuple[str, str, int]  # item, condition, draw
LEAST_SEVERE_ERROR = 0.5
ACCEPTED_ALPHA = 0.667  # Krippendorff (2004): below it, no conclusions even tentatively
P = ParamSpec("P")
T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Undefined(Result):
    """A measure that these data do not have, and why. Never a 0."""

    named: ClassVar = {"why": "undefined"}

    why: str


def _try(measure: Callable[P, T], *data: P.args, **options: P.kwargs) -> T | Undefined:
    try:
        return measure(*data, **options)
    except InputError as error:
        return Undefined(why=str(error))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Tabulated:
    """Ratings of one kind as answers x raters; NaN where a rater was not asked or failed (counted in `failed`).

    `twice` counts ratings of an answer that the same rater gave again (the last one counts), `moved` scores between
    the half steps, which are put on the nearest.
    """

    kind: str
    keys: tuple[Key, ...]
    raters: tuple[str, ...]
    values: Floats
    failed: Bools
    mechanism: Indices  # the number of the one that a rater named, below 0 where none
    twice: int = 0
    moved: int = 0

    @property
    def mean(self) -> Floats:
        """Each answer's mean over those who rated it; NaN where nobody did."""
        seen = ~np.isnan(self.values)
        count = seen.sum(axis=1)
        total = np.where(seen, self.values, 0.0).sum(axis=1)
        mean: Floats = np.where(count > 0, total / np.maximum(count, 1), np.nan)
        return mean

    def decisions(self, threshold: float | None) -> Floats:
        """What each rater says: the severity itself, or 1 where it is at least the threshold (0.5: above 0)."""
        if threshold is None:
            return self.values
        reached = self.values > 0 if threshold == LEAST_SEVERE_ERROR else self.values >= threshold
        return np.where(np.isnan(self.values), np.nan, reached.astype(np.float64))

    def votes(self, threshold: float | None) -> Floats:
        """Each answer's median over raters, of decisions the majority's; an even vote is the item's own rater's.

        That is the one whose place among its raters by name the CRC-32 of the item's id names, as in comparisons.
        """
        decisions = self.decisions(threshold)
        found = _medians(decisions)
        for row in np.flatnonzero(found == 0.5) if threshold is not None else ():
            own = decisions[row][~np.isnan(decisions[row])]
            found[row] = own[crc32(self.keys[row][0].encode()) % len(own)]
        return found


def _medians(values: Floats) -> Floats:
    """The median of each row's known values; NaN without any."""
    found, known = np.full(len(values), np.nan), ~np.isnan(values).all(axis=1)
    found[known] = np.nanmedian(values[known], axis=1)
    return found


def _of_kind(ratings: Sequence[Rating], kind: Kind) -> list[Rating]:
    """The ratings of this kind; there must be some."""
    chosen = [r for r in ratings if r.kind == kind]
    if chosen:
        return chosen
    others = sorted({r.kind for r in ratings})
    raise InputError(
        f"There are no {kind} ratings here" + (f", only {' and '.join(others)} ratings." if others else "."),
        remedy="Kinds are never taken for one another; collect ratings of this kind (`richter label` for people).",
    )


def tabulate(ratings: Iterable[Rating], kind: Kind, *, any_scale: bool = False) -> Tabulated:
    """Ratings of one kind as a table. Kinds never mix: none of this kind is an error, whatever else is there."""
    chosen = _of_kind(list(ratings), kind)
    keys = tuple(sorted({(r.item, r.condition, r.draw) for r in chosen}))
    raters = tuple(sorted({r.rater for r in chosen}))
    row, column = {key: i for i, key in enumerate(keys)}, {name: j for j, name in enumerate(raters)}
    values = np.full((len(keys), len(raters)), np.nan)
    failed, given = np.zeros(values.shape, dtype=bool), np.zeros(values.shape, dtype=bool)
    number, mechanism = dict[str, int](), np.full(values.shape, -1, dtype=np.intp)
    twice = moved = 0
    for r in chosen:
        at = row[r.item, r.condition, r.draw], column[r.rater]
        where = f"{r.rater} on {r.item} ({r.condition})"
        twice += bool(given[at])
        given[at], failed[at] = True, r.severity is None
        name = check_mechanism(r.mechanism, where=where)
        mechanism[at] = number.setdefault(name, len(number)) if name else -1
        values[at] = np.nan
        if r.severity is not None:
            values[at] = r.severity if any_scale else _on_grid(r.severity, where)
            moved += bool(abs(values[at] - r.severity) > 0)
    return Tabulated(
        kind=kind, keys=keys, raters=raters, values=values, failed=failed, mechanism=mechanism, twice=twice,
        moved=int(moved),
    )  # fmt: skip


def _on_grid(severity: float, where: str) -> float:
    """A severity on the nearest half step; one outside of 0 to 4 is refused."""
    return check_severity(float(snap([severity])[0]) if 0 <= severity <= 4 else severity, where=where)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Agreement(Result):
    """How far raters of one kind agree. Measures that need full rows use `n_complete` answers of `each` ratings."""

    kind: str
    raters: tuple[str, ...]
    design: Literal["crossed", "in turn"]
    each: int
    n_answers: int
    n_complete: int
    n_ratings: int
    twice: int
    moved: int
    icc: stats.ICC | Undefined
    alpha: stats.Alpha | Undefined
    fleiss: stats.Kappa | Undefined
    kappa_linear: dict[str, stats.Kappa | Undefined]
    kappa_quadratic: dict[str, stats.Kappa | Undefined]
    weighted: bool = False  # kappas are of all answers that could be drawn, not of the rated ones
    noise: LabelNoise | Undefined | None = None  # where several rated one answer
    mechanisms: stats.Kappa | Undefined | None = None


def agreement(
    table: Tabulated,
    rows: Bools | None = None,
    *,
    strata: Mapping[Key, str] | None = None,
    level: float = DEFAULT_LEVEL,
    rng: np.random.Generator,
) -> Agreement:
    """Agreement within one kind, on all answers or on some `rows`.

    Where every rater rated the same answers (crossed) the raters are the columns. Where answers were dealt out among
    more raters than rate one (in turn), ICC and kappa take all ratings of the answers that have the usual number of
    them: first, second, third and so on, with the raters' places turning from answer to answer. Alpha takes the table
    as it is, whatever the number of ratings. `strata` are those in which answers were drawn for rating: with them
    kappas weigh each answer by those of its stratum that it stands for; ICC and alpha are of the rated answers.
    """
    use = np.ones(len(table.keys), dtype=bool) if rows is None else rows
    values, keys = table.values[use], [key for key, is_used in zip(table.keys, use, strict=True) if is_used]
    number = (~np.isnan(values)).sum(axis=1)
    several = number[number >= 2]
    full = values[number == len(table.raters)]
    crossed = len(full) >= max(2, len(several) / 2) or len(table.raters) == 2
    each = len(table.raters)
    if crossed:
        columns, names = full, table.raters
    else:
        each = int(np.bincount(several).argmax()) if len(several) else 2
        columns = _in_turn(values[number == each], each)
        names = tuple(f"rating {k + 1}" for k in range(each))
    complete = [key for key, k in zip(keys, number, strict=True) if k == each]
    item_weight = None if strata is None else _weights_back(complete, strata)

    def kappas(weights: Literal["linear", "quadratic"]) -> dict[str, stats.Kappa | Undefined]:
        return {
            f"{names[i]} / {names[j]}": _try(
                stats.weighted_kappa,
                columns[:, i],
                columns[:, j],
                weights=weights,
                item_weight=item_weight,
                level=level,
            )
            for i, j in itertools.combinations(range(len(names)), 2)
        }

    return Agreement(
        kind=table.kind,
        raters=table.raters,
        design="crossed" if crossed else "in turn",
        each=len(names),
        n_answers=len(values),
        n_complete=len(columns),
        n_ratings=int(number.sum()),
        twice=table.twice,
        moved=table.moved,
        icc=_try(icc, columns, level=level),
        alpha=_try(stats.krippendorff_alpha, values, level=level, rng=rng),
        fleiss=_try(stats.fleiss_kappa, columns, item_weight=item_weight, level=level),
        kappa_linear=kappas("linear"),
        kappa_quadratic=kappas("quadratic"),
        weighted=item_weight is not None,
        noise=_try(label_noise, values, level=level),
        mechanisms=_try(mechanism_kappa, table.mechanism[use], level=level),
    )


def _weights_back(keys: Sequence[Key], strata: Mapping[Key, str]) -> list[float] | None:
    """How many answers of its stratum each rated one stands for; None where that is the same for all, or unknown."""
    drawn = [strata[key] for key in keys if key in strata]
    if not drawn or len(drawn) < len(keys):
        return None
    there, here = Counter(strata.values()), Counter(drawn)
    weights = [there[layer] / here[layer] for layer in drawn]
    return weights if len(set(weights)) > 1 else None


def _in_turn(values: Floats, each: int) -> Floats:
    """All `each` ratings of every row; which rater's comes first turns from answer to answer, as when dealt."""
    order = np.argsort(np.isnan(values), axis=1, kind="stable")[:, :each]
    columns = np.take_along_axis(values, order, axis=1)
    places = (np.arange(each) + np.arange(len(values))[:, None]) % each
    return np.take_along_axis(columns, places, axis=1)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class JudgeReport(Result):
    """Judges of one kind against a reference of another kind, on the answers that have both.

    `weighted` says that the reference's answers were drawn by a known design and that figures are of all answers;
    else they are of the labelled ones only.
    """

    kind: str
    reference: str
    judges: tuple[str, ...]
    n_both: int
    screening: dict[str, stats.Screening | Undefined]  # per judge, and "panel" for their mean
    overcall: dict[str, stats.Share | Undefined]
    overcall_by_condition: dict[str, stats.Share | Undefined]
    leniency: stats.Leniency | Undefined
    leave_one_out: tuple[stats.LeaveOneOut, ...] | Undefined
    missing: dict[str, stats.Share]
    missing_test: stats.Missingness | Undefined
    missing_depends: bool  # on the condition, by that test at the level
    weighted: bool


def _missing_shares(judges: Tabulated, of: NDArray[np.str_], *, level: float) -> dict[str, stats.Share]:
    """Of each condition the share of asked judgements that failed; `of` names each answer's condition."""
    is_asked = judges.failed | ~np.isnan(judges.values)
    rows = {c: of == c for c in sorted(set(of.tolist()))}
    return {
        c: stats.Share.of(int(judges.failed[r].sum()), int(is_asked[r].sum()), level=level) for c, r in rows.items()
    }


def _compare_missing(
    missing: Mapping[str, stats.Share], rng: np.random.Generator
) -> stats.Missingness | Undefined:  # fmt: skip
    """Whether judgements fail more often in one condition than in another."""
    if len(missing) < 2:
        return Undefined(why="One condition only: nothing to compare.")
    counts = [[share.k for share in missing.values()], [share.n for share in missing.values()]]
    return _try(stats.missingness, *counts, rng=rng)


def judge_report(
    judges: Tabulated,
    reference: Tabulated | None,
    *,
    strata: Mapping[Key, str] | None = None,
    level: float = DEFAULT_LEVEL,
    rng: np.random.Generator,
) -> JudgeReport:
    """Bias, overcall, sensitivity and PPV of each judge and of their mean; leniency; missing scores.

    `strata` are those in which the reference's answers were drawn: with them figures are weighted back to all judged
    answers. Without a reference, what needs one is undefined and says so: judges that agree with each other may share
    their mistakes.
    """
    truth = np.full(len(judges.keys), np.nan)
    if reference is not None:
        known = dict(zip(reference.keys, reference.mean, strict=True))
        truth = np.array([known.get(key, np.nan) for key in judges.keys])
    none = Undefined(why="Needs a human or rule reference on the same answers; judges alone cannot show it.")
    columns = {**{name: judges.values[:, j] for j, name in enumerate(judges.raters)}, "panel": judges.mean}
    of = np.array([key[1] for key in judges.keys])
    missing = _missing_shares(judges, of, level=level)
    group = None if strata is None else np.array([strata.get(key, "") for key in judges.keys])

    def overcalled(column: Floats, rows: Bools | None = None) -> stats.Share | Undefined:
        if reference is None:
            return none
        here = slice(None) if rows is None else rows
        drawn = None if group is None else group[here]
        return _try(stats.overcall_rate, column[here], truth[here], strata=drawn, level=level)

    snapped, missing_test = snap(judges.mean), _compare_missing(missing, rng)
    return JudgeReport(
        kind=judges.kind,
        reference="" if reference is None else reference.kind,
        judges=judges.raters,
        n_both=int((~np.isnan(truth) & ~np.isnan(judges.mean)).sum()),
        screening={
            name: none if reference is None else _try(stats.screen, column, truth, strata=group, level=level)
            for name, column in columns.items()
        },
        overcall={name: overcalled(snapped if name == "panel" else column) for name, column in columns.items()},
        overcall_by_condition={c: overcalled(snapped, of == c) for c in missing},
        leniency=_try(leniency, judges.values, level=level),
        leave_one_out=_try(stats.leave_one_judge_out, judges.values),
        missing=missing,
        missing_test=missing_test,
        missing_depends=not isinstance(missing_test, Undefined) and missing_test.p_value <= 1 - level,
        weighted=group is not None,
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Correction(Result):
    """A condition's (or a difference's) figures as the judges have them, corrected by human labels."""

    condition: str
    n: int
    n_labelled: int
    mean_severity: stats.Corrected | Undefined
    rates: dict[float, stats.Corrected] | Undefined  # P(severity >= s); at 0.5 the error rate


def corrections(
    human: Tabulated,
    judges: Tabulated,
    *,
    strata: Mapping[Key, str] | None = None,
    order: Iterable[str] = (),
    thresholds: Sequence[float] = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0),
    level: float = DEFAULT_LEVEL,
) -> tuple[Correction, ...]:
    """Corrected figures for every condition, then for every pair of conditions on shared items (second minus first).

    `order` is that of the conditions, where another than that of their names is meant.
    `strata` names the stratum in which each answer could be drawn for labelling; without it the labels are taken as
    a simple random sample of the judged answers, which the caller must be able to say.
    """
    pool = _Pool(human, judges, strata)
    known = {key[1] for key in pool.keys}
    conditions = [name for name in order if name in known] or sorted(known)
    found = [_correct_condition(pool, condition, thresholds, level) for condition in conditions]
    for first, second in itertools.combinations(conditions, 2):
        difference = _correct_difference(pool, first, second, thresholds, level)
        found += [] if difference is None else [difference]
    return tuple(found)


class _Pool:
    """The answers that judges scored: their scores, people's labels (NaN: none), and the strata of these.

    Of several people the median counts, of several judges too. A rate is of each rater's decisions: the median of two
    severities would be an error where only one of the two sees one.
    """

    def __init__(self, human: Tabulated, judges: Tabulated, strata: Mapping[Key, str] | None) -> None:
        self._scored: Bools = np.asarray(~np.isnan(judges.values).all(axis=1))
        self._human, self._judges = human, judges
        self.keys = tuple(key for key, is_scored in zip(judges.keys, self._scored, strict=True) if is_scored)
        self.group = None if strata is None else np.array([strata.get(key, "") for key in self.keys])
        self._by_threshold: dict[float | None, tuple[Floats, Floats]] = {}

    def part(self, rows: Indices, threshold: float | None = None) -> tuple[Floats, Floats]:
        """Labels and scores of some answers, or whether they are at least a threshold."""
        if threshold not in self._by_threshold:
            of_people = _medians(self._human.decisions(threshold))
            labels = dict(zip(self._human.keys, of_people, strict=True))
            label = np.array([labels.get(key, np.nan) for key in self.keys])
            self._by_threshold[threshold] = label, self._judges.votes(threshold)[self._scored]
        label, score = self._by_threshold[threshold]
        return label[rows], score[rows]

    def strata(self, rows: Indices) -> NDArray[np.str_] | None:
        """The strata of some answers; None where labels were drawn from all."""
        return None if self.group is None else self.group[rows]


def _correct_condition(pool: _Pool, condition: str, thresholds: Sequence[float], level: float) -> Correction:
    """One condition's mean and rates."""
    rows = np.flatnonzero([key[1] == condition for key in pool.keys])
    label, score = pool.part(rows)
    group = pool.strata(rows)

    def rate(threshold: float) -> stats.Corrected:
        return stats.ppi_mean(*pool.part(rows, threshold), strata=group, level=level, low=0.0, high=1.0)

    return Correction(
        condition=condition,
        n=len(label),
        n_labelled=int((~np.isnan(label)).sum()),
        mean_severity=_try(stats.ppi_mean, label, score, strata=group, level=level),
        rates=_try(lambda: {s: rate(s) for s in thresholds}),
    )


def _correct_difference(
    pool: _Pool, first: str, second: str, thresholds: Sequence[float], level: float
) -> Correction | None:
    """The second condition minus the first on the items of both; None where they share none."""
    at = {key: i for i, key in enumerate(pool.keys)}
    shared = [
        (at[item, first, draw], at[item, second, draw])
        for item, condition, draw in pool.keys
        if condition == first and (item, second, draw) in at
    ]
    if not shared:
        return None
    one, other = (np.array(rows) for rows in zip(*shared, strict=True))
    drawn = pool.strata(one), pool.strata(other)
    strata = None if drawn[0] is None or drawn[1] is None else (drawn[0], drawn[1])

    def difference(threshold: float | None) -> stats.Corrected:
        sides = pool.part(one, threshold), pool.part(other, threshold)
        return stats.ppi_difference(*sides, strata=strata, level=level, high=4.0 if threshold is None else 1.0)

    return Correction(
        condition=f"{second} minus {first}",
        n=len(shared),
        n_labelled=sum(int((~np.isnan(pool.part(rows)[0])).sum()) for rows in (one, other)),
        mean_severity=_try(difference, None),
        rates=_try(lambda: {s: difference(s) for s in thresholds}),
    )
