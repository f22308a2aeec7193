"""Many conditions on one set of items: what each shows, which pairs differ, and who cannot be told apart."""

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from scipy.stats import fisher_exact

from richter.claims import EceSide, ece_difference, ece_side, maximal_sets, p_value
from richter.errors import InputError, TooFewErrors
from richter.floors._check import check_level, check_share
from richter.floors._gap import METRICS, Gap, GapFinding, decide_gaps
from richter.floors._lipschitz import Lipschitz, lipschitz
from richter.floors._paired import PairedCounts, clustered_test, mcnemar, misaligned
from richter.floors._rates import accuracy_floor, passive_floor
from richter.floors._sizing import paired_gap_labels, visible_paired_gap
from richter.records import Interval, Shown, Verdict, jsonable
from richter.stats import EceResult, clopper_pearson, ece, wilson

__all__ = ["Comparison", "ConditionSummary", "PairResult", "Refusal", "compare"]

Floats = NDArray[np.float64]

POWER = 0.8
REFERENCE_GAP = 0.02  # what labels_needed is for when no margin is stated
FEW_ITEMS = 30
FEW_GROUPS = 10


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ConditionSummary(Shown):
    """One condition: its error rate, calibration and floor, and what is wrong with its data.

    `error_rate` None: nothing was graded. With zero errors `error_rate` is 0 and what is known is the upper end of
    `error_interval`. `floor` is the passive rate at the estimated L; None where L is undefined.
    """

    name: str
    n: int
    failed: int
    missing: int
    error_rate: float | None
    error_interval: Interval | None
    ece: EceResult | None
    lipschitz: Lipschitz | None
    floor: float | None
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values under the names other tools rely on."""
        return {
            "n": self.n,
            "failed": self.failed,
            "missing": self.missing,
            "error_rate": self.error_rate,
            "error_rate_interval": jsonable(self.error_interval),
            "accuracy": None if self.error_rate is None else 1 - self.error_rate,
            "ece": None if self.ece is None else self.ece.ece,
            "ece_debiased": None if self.ece is None else self.ece.debiased,
            "ece_null": None if self.ece is None else self.ece.null,
            "ece_interval": None if self.ece is None else self.ece.interval.to_dict(),
            "lipschitz": None if self.lipschitz is None else self.lipschitz.estimate,
            "lipschitz_detail": jsonable(self.lipschitz),
            "floor": self.floor,
            "warnings": list(self.warnings),
        }


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PairResult(Shown):
    """Two conditions on the items both were graded on; differences are b minus a."""

    a: str
    b: str
    n_paired: int
    accuracy: GapFinding
    calibration: GapFinding | None
    items: Mapping[str, Any]
    flags: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "a": self.a,
            "b": self.b,
            "n_paired": self.n_paired,
            "accuracy": self.accuracy.to_dict(),
            "calibration": None if self.calibration is None else self.calibration.to_dict(),
            "items": jsonable(dict(self.items)),
            "flags": list(self.flags),
        }


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A pair that is not compared, and why."""

    a: str
    b: str
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Shown):
    """All conditions, all pairs, and the sets of conditions that cannot be told apart by accuracy.

    `groups` are maximal sets in which every pair is undecided or equivalent; they may overlap and are not a ranking.
    """

    conditions: tuple[ConditionSummary, ...]
    pairs: tuple[PairResult, ...]
    groups: tuple[tuple[str, ...], ...]
    refused: tuple[Refusal, ...]
    level: float
    margin: float | None
    tried: int
    n_items: int
    n_resamples: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values under the names other tools rely on."""
        return {
            "conditions": {c.name: c.to_dict() for c in self.conditions},
            "pairs": [p.to_dict() for p in self.pairs],
            "groups": [list(g) for g in self.groups],
            "refused": [r.to_dict() for r in self.refused],
            "level": self.level,
            "margin": self.margin,
            "tried": self.tried,
            "n_items": self.n_items,
            "n_resamples": self.n_resamples,
        }


def compare(
    correct: ArrayLike,
    *,
    rng: np.random.Generator,
    names: Sequence[str] | None = None,
    confidence: ArrayLike | None = None,
    failed: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    margin: float | None = None,
    tried: int = 1,
    directed: bool = False,
    min_shared: float = 0.5,
    level: float = 0.95,
    n_resamples: int = 2000,
) -> Comparison:
    """Compare conditions on the items they share.

    `correct` is items x conditions, 1, 0 or NaN where there is no grade; `failed` marks the NaNs that are failed
    calls; `confidence` has the same shape; `groups` labels each item (one passage, one template), and whole groups
    are then the unit. Every pair uses the items both were graded on, McNemar's exact test (a clustered t with
    groups), Tango's interval and a paired bootstrap beside it; calibration by the honest intervals of both. All
    pairs of a metric form one family at 1 - `level` (Holm). A pair is refused when the shared items are less than
    `min_shared` of the items either was graded on, when nothing is graded, or when the items are misaligned.
    `tried` is the number of attempts of which the shown ones are the best: p-values are multiplied by it and intervals
    widened to 1 - alpha / tried. `directed` fixes the claim "b is better
    than a" beforehand.
    """
    grades = np.asarray(correct, dtype=np.float64)
    if grades.ndim != 2 or grades.shape[1] < 1 or grades.shape[0] < 1:
        raise InputError(f"Grades of shape {grades.shape} are not items x conditions.", remedy="Give a matrix.")
    if not np.isin(grades[~np.isnan(grades)], (0.0, 1.0)).all():
        raise InputError("A grade is neither 0 nor 1.", remedy="Leave missing grades as NaN.")
    check_level(level)
    check_share(min_shared, "min_shared", zero=True)
    if margin is not None:
        check_share(margin, "margin")
    if tried < 1:
        raise InputError(f"tried={tried} is not a number of attempts.", remedy="Give at least 1.")
    number = grades.shape[1]
    labels = [f"condition {i + 1}" for i in range(number)] if names is None else [str(x) for x in names]
    scores = np.full_like(grades, np.nan) if confidence is None else np.asarray(confidence, dtype=np.float64)
    broken = np.zeros(grades.shape, dtype=bool) if failed is None else np.asarray(failed, dtype=bool)
    if len(labels) != number or scores.shape != grades.shape or broken.shape != grades.shape:
        raise InputError(
            f"names, confidence and failed must fit grades of shape {grades.shape}.", remedy="Give one per condition."
        )
    units = None
    if groups is not None:
        units = np.unique(np.asarray(groups), return_inverse=True)[1].astype(np.intp)
        if len(units) != len(grades):
            raise InputError(f"{len(units)} groups for {len(grades)} items.", remedy="Give one group an item.")
        if int(np.max(units)) + 1 == len(units):
            units = None  # groups of one item: nothing is clustered

    summaries = tuple(
        _summarise(labels[i], grades[:, i], scores[:, i], broken[:, i], rng=rng, level=level, n_resamples=n_resamples)
        for i in range(number)
    )
    refused: list[Refusal] = []
    drafts: list[_Draft] = []
    for i, j in itertools.combinations(range(number), 2):
        reason = _refusal(grades, labels, i, j, min_shared)
        if reason:
            refused.append(Refusal(a=labels[i], b=labels[j], reason=reason))
        else:
            drafts.append(_Draft(i, j, ~np.isnan(grades[:, i]) & ~np.isnan(grades[:, j])))

    weights = None  # one bootstrap of groups serves all pairs
    if units is not None:
        number_of_groups = int(np.max(units)) + 1
        share = np.full(number_of_groups, 1 / number_of_groups)
        weights = rng.multinomial(number_of_groups, share, size=n_resamples).astype(np.float64)
    # each pair's sizing allows for the family that it is judged in
    alpha = 1 - level
    wide = 1 - alpha / tried  # the best of several attempts needs an interval that holds for all of them
    sizing = _Sizing(margin=margin, alpha=alpha / max(len(drafts), 1) / tried)
    options: dict[str, Any] = {"margin": margin, "tried": tried, "alpha": alpha, "directed": directed}
    accuracy = decide_gaps(
        [
            _accuracy_gap(grades, labels, d, units, weights, sizing, level=wide, rng=rng, n_resamples=n_resamples)
            for d in drafts
        ],
        METRICS["accuracy"],
        **options,
    )
    measured = _calibration_gaps(grades, scores, labels, drafts, summaries, sizing, level=wide)
    known = [k for k, gap in enumerate(measured) if gap is not None]
    decided = decide_gaps([g for g in measured if g is not None], METRICS["calibration"], **options)
    calibration = dict(zip(known, decided, strict=True))
    pairs = tuple(
        PairResult(
            a=labels[d.i],
            b=labels[d.j],
            n_paired=int(np.sum(d.shared)),
            accuracy=accuracy[k],
            calibration=calibration.get(k),
            items=_items(grades, d),
            flags=_flags(grades, scores, d),
        )
        for k, d in enumerate(drafts)
    )
    return Comparison(
        conditions=summaries,
        pairs=pairs,
        groups=_groups(summaries, pairs),
        refused=tuple(refused),
        level=level,
        margin=margin,
        tried=tried,
        n_items=len(grades),
        n_resamples=n_resamples,
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Draft:
    """A pair of columns and the items both were graded on."""

    i: int
    j: int
    shared: NDArray[np.bool_]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Sizing:
    margin: float | None
    alpha: float

    @property
    def aim(self) -> float:
        return REFERENCE_GAP if self.margin is None else self.margin


def _summarise(
    name: str,
    grade: Floats,
    score: Floats,
    failed: NDArray[np.bool_],
    *,
    rng: np.random.Generator,
    level: float,
    n_resamples: int,
) -> ConditionSummary:
    graded = ~np.isnan(grade)
    n, errors = int(np.sum(graded)), int(np.sum(grade[graded] == 0))
    n_failed = int(np.sum(failed & ~graded))
    missing = len(grade) - n - n_failed
    warnings = []
    if n_failed:
        warnings.append(f"{n_failed} of {len(grade)} calls failed; they are left out, not graded as wrong")
    if missing:
        warnings.append(f"{missing} of {len(grade)} items have no grade")
    if n == 0:
        why = "every row failed" if n_failed == len(grade) else "no row has a grade"
        return ConditionSummary(
            name=name,
            n=0,
            failed=n_failed,
            missing=missing,
            error_rate=None,
            error_interval=None,
            ece=None,
            lipschitz=None,
            floor=None,
            warnings=(f"untestable: {why}", *warnings),
        )
    interval = wilson(errors, n, level=level)
    if errors == 0:
        interval = clopper_pearson(0, n, level=level, side="upper")
        warnings.append(f"no error in {n}: the rate is at most {interval.high:.2g} ({100 * level:g}%), not 0")
    if errors in (0, n) and n >= FEW_ITEMS:
        warnings.append(f"{100 * (1 - errors / n):g}% accuracy on {n} items: check that answers were extracted right")
    if n < FEW_ITEMS:
        warnings.append(f"only {n} graded item{'s' * (n > 1)}: every figure here is rough")
    known = graded & ~np.isnan(score)
    result, smooth, floor = None, None, None
    if known.any():
        c, a = score[known], grade[known]
        if int(np.sum(known)) < n:
            warnings.append(f"{n - int(np.sum(known))} graded items have no confidence; calibration leaves them out")
        warnings += _confidence_warnings(c)
        result = ece(c, a, level=level)
        try:
            smooth = lipschitz(c, a, rng=rng, level=level, n_resamples=min(n_resamples, 1000))
            # with no error seen, the rate's upper limit stands in: a floor of 0 would be false
            floor = float(passive_floor(len(c), errors / n if errors else interval.high, lipschitz=smooth.estimate))
        except TooFewErrors as few:
            warnings.append(few.what)
    return ConditionSummary(
        name=name,
        n=n,
        failed=n_failed,
        missing=missing,
        error_rate=errors / n,
        error_interval=interval,
        ece=result,
        lipschitz=smooth,
        floor=floor,
        warnings=tuple(warnings),
    )


def _confidence_warnings(c: Floats) -> list[str]:
    values = np.unique(np.round(c, 6))
    shares = {round(1 / k, 6) for k in range(2, 27)}
    if len(c) > 1 and set(values.tolist()) <= shares:
        return ["every confidence is one over a number of options: it says nothing of the answer"]
    if len(c) > 1 and len(values) == 1:
        return [f"every confidence is {values[0]:g}: calibration only compares it with the accuracy"]
    return []


def _counts(grades: Floats, draft: _Draft) -> PairedCounts:
    a, b = grades[draft.shared, draft.i], grades[draft.shared, draft.j]
    both, right_a, right_b = int(a @ b), int(a.sum()), int(b.sum())
    return PairedCounts(
        both=both, only_a=right_a - both, only_b=right_b - both, neither=len(a) - right_a - right_b + both
    )


def _refusal(grades: Floats, labels: list[str], i: int, j: int, min_shared: float) -> str:
    has_i, has_j = ~np.isnan(grades[:, i]), ~np.isnan(grades[:, j])
    for has, name in ((has_i, labels[i]), (has_j, labels[j])):
        if not has.any():
            return f"untestable: {name} has no graded item"
    shared, either = int(np.sum(has_i & has_j)), int(np.sum(has_i | has_j))
    if shared < 1 or shared < min_shared * either:
        return (
            f"only {shared} of {either} items were graded in both ({100 * shared / either:.0f}%, "
            f"at least {100 * min_shared:.0f}% are asked for)"
        )
    draft = _Draft(i, j, has_i & has_j)
    counts = _counts(grades, draft)
    if misaligned(counts):
        phi = counts.phi
        reason = (
            f"misaligned items: both are right on most of {counts.n} items, yet their grades agree no better than "
            f"chance (phi {phi:+.3f}); the item names do not mean the same questions"
        )
        offset = _offset(grades[:, i], grades[:, j])
        return reason + (f"; moved by {offset:+d} rows they fit" if offset else "")
    return ""


def _offset(a: Floats, b: Floats, reach: int = 5) -> int:
    """The shift in rows, if any, at which two misaligned conditions correlate after all; 0 for none."""
    for shift in itertools.chain.from_iterable((k, -k) for k in range(1, reach + 1)):
        x, y = (a[:-shift], b[shift:]) if shift > 0 else (a[-shift:], b[:shift])
        known = ~np.isnan(x) & ~np.isnan(y)
        if int(np.sum(known)) > 30 and np.std(x[known]) > 0 and np.std(y[known]) > 0:
            r = float(np.corrcoef(x[known], y[known])[0, 1])
            if r > 4 / math.sqrt(int(np.sum(known))) and r > 0.09:
                return shift
    return 0


def _accuracy_gap(
    grades: Floats,
    labels: list[str],
    draft: _Draft,
    units: NDArray[np.intp] | None,
    weights: Floats | None,
    sizing: _Sizing,
    *,
    level: float,
    rng: np.random.Generator,
    n_resamples: int,
) -> Gap:
    counts = _counts(grades, draft)
    n = counts.n
    inflation, detail = 1.0, {}
    test = mcnemar(counts, margin=sizing.margin, level=level)
    tail = (1 - level) / 2
    if units is not None and weights is not None:
        members = np.unique(units[draft.shared], return_inverse=True)[1].astype(np.intp)
        difference = grades[draft.shared, draft.j] - grades[draft.shared, draft.i]
        single = test
        test = clustered_test(difference, members, margin=sizing.margin, level=level)
        number = int(np.max(members)) + 1
        place = units[draft.shared]
        sums = np.bincount(place, weights=difference, minlength=weights.shape[1])
        sizes = np.bincount(place, minlength=weights.shape[1])
        drawn = (weights @ sums) / np.maximum(weights @ sizes, 1)
        if single.interval.half_width > 0:
            inflation = max(1.0, (test.interval.half_width / single.interval.half_width) ** 2)
        detail = {"n_groups": number, "design_effect": inflation}
    else:
        cells = np.array([counts.only_b, counts.only_a, n - counts.only_a - counts.only_b]) / n
        table = rng.multinomial(n, cells, size=n_resamples)
        drawn = (table[:, 0] - table[:, 1]) / n
    low, high = np.quantile(drawn, [tail, 1 - tail])
    error = 1 - (2 * counts.both + counts.only_a + counts.only_b) / (2 * n)
    aim = sizing.aim
    needed = paired_gap_labels(aim, counts.discordance, alpha=sizing.alpha, power=POWER)
    if sizing.margin is not None:  # either answer must be reachable
        needed = max(
            needed, paired_gap_labels(aim, counts.discordance, alpha=sizing.alpha, power=POWER, equivalence=True)
        )
    return Gap(
        a=labels[draft.i],
        b=labels[draft.j],
        delta=test.delta,
        interval=test.interval,
        p=test.p,
        p_equivalence=test.p_equivalence,
        n=n,
        labels_needed=math.ceil(needed * inflation),
        labels_needed_for=aim,
        visible=visible_paired_gap(max(1, int(n / inflation)), counts.discordance, alpha=sizing.alpha, power=POWER),
        floor=accuracy_floor(n, error, conditions=2) if 0 < error < 1 else None,
        detail={
            "method": test.method,
            "fixed": counts.only_b,
            "broken": counts.only_a,
            "bootstrap_interval": Interval(
                low=float(low), high=float(high), level=level, method="paired bootstrap percentile"
            ),
            "worth_unpaired": counts.worth_unpaired,
            "phi": counts.phi,
            **detail,
        },
    )


def _calibration_gaps(
    grades: Floats,
    scores: Floats,
    labels: list[str],
    drafts: list[_Draft],
    summaries: tuple[ConditionSummary, ...],
    sizing: _Sizing,
    *,
    level: float,
) -> list[Gap | None]:
    sides: dict[tuple[int, bytes], EceSide] = {}

    def side(column: int, use: NDArray[np.bool_]) -> EceSide:
        key = (column, use.tobytes())
        if key not in sides:
            sides[key] = ece_side(scores[use, column], grades[use, column])
        return sides[key]

    gaps: list[Gap | None] = []
    for draft in drafts:
        use = draft.shared & ~np.isnan(scores[:, draft.i]) & ~np.isnan(scores[:, draft.j])
        n = int(np.sum(use))
        if n < 2:
            gaps.append(None)
            continue
        a, b = side(draft.i, use), side(draft.j, use)
        found = ece_difference(a, b)
        interval, within = found.interval(level), None
        if sizing.margin is not None:
            far = (p_value(found, limit) / 2 for limit in (-sizing.margin, sizing.margin))
            within = max(far) if abs(found.estimate) < sizing.margin else 0.5
        reach = interval.half_width / float(ndtri(0.5 + level / 2))  # one standard error, as measured
        ask = float(ndtri(1 - sizing.alpha / 2) + ndtri(POWER)) * reach
        floors = [s.floor for s in (summaries[draft.i], summaries[draft.j]) if s.floor is not None]
        gaps.append(
            Gap(
                a=labels[draft.i],
                b=labels[draft.j],
                delta=found.estimate,
                interval=interval,
                p=p_value(found, 0.0),
                p_equivalence=within,
                n=n,
                labels_needed=math.ceil(n * (ask / sizing.aim) ** 2),
                labels_needed_for=sizing.aim,
                visible=ask,
                floor=max(floors) if len(floors) == 2 else None,
                detail={"method": interval.method, "ece_a": a.plug_in, "ece_b": b.plug_in},
            )
        )
    return gaps


def _items(grades: Floats, draft: _Draft) -> dict[str, Any]:
    """What pairing left out, whether it was harder, and the difference with missing items counted as wrong."""
    has_i, has_j = ~np.isnan(grades[:, draft.i]), ~np.isnan(grades[:, draft.j])
    either = has_i | has_j
    row: dict[str, Any] = {
        "only_a": int(np.sum(has_i & ~has_j)),
        "only_b": int(np.sum(has_j & ~has_i)),
        "share_paired": float(np.mean(draft.shared[either])),
    }
    for side, column, has in (("a", draft.i, has_i), ("b", draft.j, has_j)):
        dropped = has & ~draft.shared
        if dropped.any():
            kept, left = grades[draft.shared, column], grades[dropped, column]
            table = [[int(kept.sum()), len(kept) - int(kept.sum())], [int(left.sum()), len(left) - int(left.sum())]]
            p = float(fisher_exact(table)[1])
            row[f"dropped_from_{side}"] = {
                "n": len(left),
                "accuracy": float(np.mean(left)),
                "accuracy_of_paired": float(np.mean(kept)),
                "p": p,
                "harder": bool(p < 0.05 and np.mean(left) < np.mean(kept)),
                "easier": bool(p < 0.05 and np.mean(left) > np.mean(kept)),
            }
    if row["only_a"] or row["only_b"]:
        filled = np.nan_to_num(grades[either][:, [draft.i, draft.j]])
        row["missing_as_wrong"] = mcnemar(_counts(filled, _Draft(0, 1, np.ones(len(filled), dtype=bool)))).to_dict()
    return row


def _flags(grades: Floats, scores: Floats, draft: _Draft) -> tuple[str, ...]:
    a, b = grades[draft.shared, draft.i], grades[draft.shared, draft.j]
    c, d = scores[draft.shared, draft.i], scores[draft.shared, draft.j]
    known = ~np.isnan(c) & ~np.isnan(d)
    flags = []
    same = bool(np.array_equal(a, b))
    if known.any():
        shift = d[known] - c[known]
        if same and np.all(shift == 0):
            flags.append("identical runs: every grade and confidence agrees; are they two runs at all?")
        elif len(shift) > 2 and np.ptp(shift) < 1e-9 and np.ptp(c[known]) > 1e-9 and abs(shift[0]) > 1e-9:
            flags.append(f"constant shift: every confidence differs by {shift[0]:+.4g}")
    elif same and len(a) > 1 and 0 < np.mean(a) < 1:
        flags.append("identical runs: every grade agrees; are they two runs at all?")
    return tuple(flags)


def _groups(summaries: tuple[ConditionSummary, ...], pairs: tuple[PairResult, ...]) -> tuple[tuple[str, ...], ...]:
    """Maximal sets, members and sets by accuracy; a refused pair is never alike."""
    rated = sorted(((s.error_rate, s.name) for s in summaries if s.error_rate is not None), key=lambda x: x[0])
    names = [name for _, name in rated]
    place = {name: k for k, name in enumerate(names)}
    alike = np.zeros((len(names), len(names)), dtype=bool)
    for pair in pairs:
        if pair.accuracy.verdict in (Verdict.UNDECIDED, Verdict.EQUIVALENT):
            i, j = place[pair.a], place[pair.b]
            alike[i, j] = alike[j, i] = True
    return tuple(tuple(names[k] for k in members) for members in maximal_sets(alike))
