"""What a set of ratings is worth: agreement within a kind, judges against a reference, and human-label corrections."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from richter.errors import InputError
from richter.judge._rubric import check_mechanism, check_severity, snap
from richter.records import Rating
from richter.stats import (
    ICC,
    Alpha,
    Corrected,
    EffectiveJudges,
    Kappa,
    LeaveOneOut,
    Leniency,
    Missingness,
    Screening,
    Share,
    difference_of,
    effective_judges,
    fleiss_kappa,
    icc,
    krippendorff_alpha,
    leave_one_judge_out,
    leniency,
    missingness,
    overcall_rate,
    ppi_difference,
    ppi_mean,
    ppi_rates,
    screen,
    weighted_kappa,
)

__all__ = [
    "Agreement",
    "Correction",
    "JudgeReport",
    "Tabulated",
    "agreement",
    "corrections",
    "judge_report",
    "tabulate",
]

Kind = Literal["human", "judge", "rule"]
Key = tuple[str, str, int]  # item, condition, draw
P = ParamSpec("P")
T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Undefined:
    """A measure that these data do not have, and why. Never a 0."""

    why: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"undefined": self.why}


def _try(measure: Callable[P, T], *data: P.args, **options: P.kwargs) -> T | Undefined:
    try:
        return measure(*data, **options)
    except InputError as error:
        return Undefined(why=str(error))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Tabulated:
    """Ratings of one kind as answers x raters; NaN where a rater was not asked or failed (counted in `failed`)."""

    kind: str
    keys: tuple[Key, ...]
    raters: tuple[str, ...]
    values: NDArray[np.float64]
    failed: NDArray[np.bool_]

    @property
    def mean(self) -> NDArray[np.float64]:
        """Each answer's mean over those who rated it; NaN where nobody did."""
        seen = ~np.isnan(self.values)
        count = seen.sum(axis=1)
        total = np.where(seen, self.values, 0.0).sum(axis=1)
        mean: NDArray[np.float64] = np.where(count > 0, total / np.maximum(count, 1), np.nan)
        return mean


def tabulate(ratings: Iterable[Rating], kind: Kind, *, any_scale: bool = False) -> Tabulated:
    """Ratings of one kind as a table. Kinds never mix: none of this kind is an error, whatever else is there."""
    ratings = list(ratings)
    chosen = [r for r in ratings if r.kind == kind]
    if not chosen:
        others = sorted({r.kind for r in ratings})
        raise InputError(
            f"There are no {kind} ratings here" + (f", only {' and '.join(others)} ratings." if others else "."),
            remedy="Kinds are never taken for one another; collect ratings of this kind (`richter rate` for people).",
        )
    keys = tuple(sorted({(r.item, r.condition, r.draw) for r in chosen}))
    raters = tuple(sorted({r.rater for r in chosen}))
    row, column = {key: i for i, key in enumerate(keys)}, {name: j for j, name in enumerate(raters)}
    values = np.full((len(keys), len(raters)), np.nan)
    failed = np.zeros(values.shape, dtype=bool)
    given = np.zeros(values.shape, dtype=bool)
    for r in chosen:
        at = row[r.item, r.condition, r.draw], column[r.rater]
        where = f"{r.rater} on {r.item} ({r.condition})"
        if given[at]:
            raise InputError(f"{where} is rated twice.", remedy="Keep one rating per rater and answer.")
        given[at] = True
        check_mechanism(r.mechanism, where=where)
        if r.severity is None:
            failed[at] = True
        else:
            values[at] = r.severity if any_scale else check_severity(r.severity, where=where)
    return Tabulated(kind=kind, keys=keys, raters=raters, values=values, failed=failed)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How far raters of one kind agree. Measures that need full rows use `n_complete` answers."""

    kind: str
    raters: tuple[str, ...]
    design: Literal["crossed", "round robin"]
    n_answers: int
    n_complete: int
    icc: ICC | Undefined
    alpha: Alpha | Undefined
    fleiss: Kappa | Undefined
    kappa_linear: dict[str, Kappa | Undefined]
    kappa_quadratic: dict[str, Kappa | Undefined]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}


def agreement(table: Tabulated, rows: NDArray[np.bool_] | None = None, *, rng: np.random.Generator) -> Agreement:
    """Agreement within one kind, on all answers or on some `rows`.

    Where every rater rated the same answers (crossed) the raters are the columns. Where a pool was dealt out (round
    robin: fewer full rows than half of those with two ratings) ICC and kappa compare each answer's first and second
    rating, as the paper does with its primary and secondary judge; alpha takes the table as it is.
    """
    values = table.values if rows is None else table.values[rows]
    full = values[~np.isnan(values).any(axis=1)]
    doubly = values[(~np.isnan(values)).sum(axis=1) >= 2]
    crossed = len(full) >= max(2, len(doubly) / 2) or len(table.raters) == 2
    columns, names = (full, table.raters) if crossed else (_first_two(doubly), ("first", "second"))
    pairs = [(i, j) for i in range(len(names)) for j in range(i + 1, len(names))]

    def kappas(weights: Literal["linear", "quadratic"]) -> dict[str, Kappa | Undefined]:
        return {
            f"{names[i]} / {names[j]}": _try(weighted_kappa, columns[:, i], columns[:, j], weights=weights)
            for i, j in pairs
        }

    return Agreement(
        kind=table.kind,
        raters=table.raters,
        design="crossed" if crossed else "round robin",
        n_answers=len(values),
        n_complete=len(columns),
        icc=_try(icc, columns),
        alpha=_try(krippendorff_alpha, values, rng=rng),
        fleiss=_try(fleiss_kappa, columns),
        kappa_linear=kappas("linear"),
        kappa_quadratic=kappas("quadratic"),
    )


def _first_two(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The first two ratings of each row; which judge comes first turns from answer to answer, as when dealt."""
    order = np.argsort(np.isnan(values), axis=1, kind="stable")
    pair = np.take_along_axis(values, order, axis=1)[:, :2]
    pair[1::2] = pair[1::2, ::-1]
    return pair


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class JudgeReport:
    """Judges of one kind against a reference of another kind, on the answers that have both."""

    kind: str
    reference: str
    judges: tuple[str, ...]
    n_both: int
    screening: dict[str, Screening | Undefined]  # per judge, and "panel" for their mean
    overcall: dict[str, Share | Undefined]
    overcall_by_condition: dict[str, Share | Undefined]
    effective: EffectiveJudges | Undefined
    leniency: Leniency | Undefined
    leave_one_out: tuple[LeaveOneOut, ...] | Undefined
    missing: dict[str, Share]
    missing_test: Missingness | Undefined

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}


def judge_report(judges: Tabulated, reference: Tabulated | None, *, rng: np.random.Generator) -> JudgeReport:
    """Bias, overcall, sensitivity and PPV of each judge and of their mean; effective judges; leniency; missing scores.

    Without a reference, what needs one is undefined and says so: judges that agree with each other may share their
    mistakes.
    """
    truth = np.full(len(judges.keys), np.nan)
    if reference is not None:
        known = dict(zip(reference.keys, reference.mean, strict=True))
        truth = np.array([known.get(key, np.nan) for key in judges.keys])
    none = Undefined(why="Needs a human or rule reference on the same answers; judges alone cannot show it.")
    columns = {**{name: judges.values[:, j] for j, name in enumerate(judges.raters)}, "panel": judges.mean}
    both = ~np.isnan(truth) & ~np.isnan(judges.mean)
    conditions = sorted({key[1] for key in judges.keys})
    of = np.array([key[1] for key in judges.keys])
    asked = {c: int((judges.failed | ~np.isnan(judges.values))[of == c].sum()) for c in conditions}
    lost = {c: int(judges.failed[of == c].sum()) for c in conditions}

    def overcalled(column: NDArray[np.float64], rows: NDArray[np.bool_] | None = None) -> Share | Undefined:
        if reference is None:
            return none
        here = slice(None) if rows is None else rows
        return _try(overcall_rate, column[here], truth[here])

    snapped = snap(judges.mean)
    return JudgeReport(
        kind=judges.kind,
        reference="" if reference is None else reference.kind,
        judges=judges.raters,
        n_both=int(both.sum()),
        screening={
            name: none if reference is None else _try(screen, column, truth) for name, column in columns.items()
        },
        overcall={name: overcalled(snapped if name == "panel" else column) for name, column in columns.items()},
        overcall_by_condition={c: overcalled(snapped, of == c) for c in conditions},
        effective=none if reference is None else _try(effective_judges, judges.values, truth, rng=rng),
        leniency=_try(leniency, judges.values),
        leave_one_out=_try(leave_one_judge_out, judges.values),
        missing={c: Share.of(lost[c], asked[c]) for c in conditions},
        missing_test=(
            _try(missingness, list(lost.values()), list(asked.values()), rng=rng)
            if len(conditions) > 1
            else Undefined(why="One condition only: nothing to compare.")
        ),
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """A condition's (or a difference's) figures as the judges have them, corrected by human labels."""

    condition: str
    n: int
    n_labelled: int
    mean_severity: Corrected | Undefined
    rates: dict[float, Corrected] | Undefined  # P(severity >= s); at 0.5 the error rate

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}


def corrections(
    human: Tabulated,
    judges: Tabulated,
    *,
    strata: Mapping[Key, str] | None = None,
    rng: np.random.Generator,
    thresholds: Sequence[float] = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0),
) -> tuple[Correction, ...]:
    """Prediction-powered figures for every condition, then for every pair of conditions (first minus second).

    `strata` names the stratum in which each answer could be drawn for labelling; without it the labels are taken as
    a simple random sample of the judged answers, which the caller must be able to say.
    """
    labels = dict(zip(human.keys, human.mean, strict=True))
    scored = ~np.isnan(judges.mean)
    keys = [key for key, ok in zip(judges.keys, scored, strict=True) if ok]
    score = judges.mean[scored]
    label = np.array([labels.get(key, np.nan) for key in keys])
    of = np.array([key[1] for key in keys])
    found = []
    for condition in sorted(set(of.tolist())):
        mine = of == condition
        group = None
        if strata is not None:
            group = np.array([strata.get(key, "") for key, here in zip(keys, mine, strict=True) if here])
        y, f = label[mine], score[mine]
        found.append(
            Correction(
                condition=condition,
                n=int(mine.sum()),
                n_labelled=int((~np.isnan(y)).sum()),
                mean_severity=_try(ppi_mean, y, f, strata=group),
                rates=_try(ppi_rates, y, f, thresholds=thresholds, strata=group, rng=rng),
            )
        )
    if strata is None:
        found += _differences(keys, label, score, [c.condition for c in found], thresholds)
    else:
        found += [_unpaired(a, b) for i, a in enumerate(found) for b in found[i + 1 :]]
    return tuple(found)


def _unpaired(a: Correction, b: Correction) -> Correction:
    """The difference of two conditions whose labels were drawn apart."""
    mean: Corrected | Undefined
    rates: dict[float, Corrected] | Undefined
    if isinstance(a.mean_severity, Undefined) or isinstance(b.mean_severity, Undefined):
        mean = Undefined(why="One of the two is undefined.")
    else:
        mean = difference_of(a.mean_severity, b.mean_severity)
    if isinstance(a.rates, Undefined) or isinstance(b.rates, Undefined):
        rates = Undefined(why="One of the two is undefined.")
    else:
        rates = {s: difference_of(a.rates[s], b.rates[s]) for s in a.rates}
    return Correction(
        condition=f"{a.condition} minus {b.condition}",
        n=min(a.n, b.n),
        n_labelled=min(a.n_labelled, b.n_labelled),
        mean_severity=mean,
        rates=rates,
    )


def _differences(
    keys: Sequence[Key],
    label: NDArray[np.float64],
    score: NDArray[np.float64],
    conditions: Sequence[str],
    thresholds: Sequence[float],
) -> list[Correction]:
    at = {key: i for i, key in enumerate(keys)}
    found = []
    for i, first in enumerate(conditions):
        for second in conditions[i + 1 :]:
            shared = [
                (at[item, first, draw], at[item, second, draw])
                for item, condition, draw in keys
                if condition == first and (item, second, draw) in at
            ]
            if not shared:
                continue
            a, b = (np.array(side) for side in zip(*shared, strict=True))
            sides = (label[a], score[a]), (label[b], score[b])
            found.append(
                Correction(
                    condition=f"{first} minus {second}",
                    n=len(shared),
                    n_labelled=int((~np.isnan(label[a]) & ~np.isnan(label[b])).sum()),
                    mean_severity=_try(ppi_difference, *sides),
                    rates=_try(_rate_differences, *sides, thresholds),
                )
            )
    return found


def _rate_differences(first: Any, second: Any, thresholds: Sequence[float]) -> dict[float, Corrected]:
    return {s: ppi_difference(first, second, threshold=s) for s in thresholds}
