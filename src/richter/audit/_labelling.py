"""Labels where they narrow a claim most: the next batch, the interval as it stands, and when to stop."""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from richter.claims import METRICS, Metric
from richter.errors import InputError
from richter.judge import SAMPLE_NOTE, Sample, extend_sample
from richter.records import DEFAULT_LEVEL, Interval, Rating, Result, counted, printable
from richter.stats import Floats, LabelledPool, labelled_pool, more_labels, pool_difference, pool_interval
from richter.store import Ledger
from richter.tables import Tables, outcomes

__all__ = ["LabelState", "Labelling", "labelling_of"]

Key = tuple[str, str, int]
MOST = 200  # labels at most, unless told


class LabelOptions(TypedDict, total=False):
    """What is labelled for: the conditions and the metric of a claim, how many at a time, and how many at most."""

    conditions: Sequence[str]
    on: str | None
    batch: int
    most: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LabelState(Result):
    """What the labels so far say of the claim: a sentence, the estimate with its interval, and whether to go on."""

    sentence: str
    labels: int
    estimate: float | None
    interval: Interval | None
    decided: bool


@dataclasses.dataclass(frozen=True, slots=True)
class _Side:
    """One condition: its answers, how each was graded, and the stratum in which each could be drawn."""

    keys: tuple[Key, ...]
    value: Floats
    layer: NDArray[np.str_]


class Labelling:
    """Labelling for one claim: the mean of one condition, or the difference of two (second minus first).

    Looks are taken at the end of each batch, `looks` of them at most, each at a level of 1 - (1 - level) / looks, so
    that stopping at the first that decides shows something false in at most 1 - level of all cases.
    """

    def __init__(
        self,
        metric: Metric,
        sides: Mapping[str, _Side],
        *,
        batch: int,
        most: int,
        first: int,
        level: float = DEFAULT_LEVEL,
    ) -> None:
        self.metric, self.sides, self.batch, self.most, self.level = metric, dict(sides), batch, most, level
        self.looks = max(1, 1 + math.ceil(max(most - first, 0) / batch))

    def pools(self, labels: Mapping[Key, float]) -> list[LabelledPool] | None:
        """The conditions' answers with these labels; None while one has fewer than two."""
        found = []
        for side in self.sides.values():
            given = np.array([_speaks(self.metric, labels.get(key)) for key in side.keys])
            if int((~np.isnan(given)).sum()) < 2:
                return None
            low, high = self.metric.low or 0.0, self.metric.high or 0.0
            found.append(labelled_pool(given, side.value, strata=side.layer, low=low, high=high))
        return found

    def _interval(self, pools: Sequence[LabelledPool], level: float) -> Interval:
        if len(pools) == 1:
            return pool_interval(pools[0], level=level)
        return pool_difference(pools[0], pools[1], level=level)

    def state(self, labels: Mapping[Key, float]) -> LabelState:
        """Where the claim stands with these labels."""
        metric, names = self.metric, [printable(name, limit=40) for name in self.sides]
        what = names[0] if len(names) == 1 else f"{names[1]} minus {names[0]}"
        mine = sum(key in labels for side in self.sides.values() for key in side.keys)
        pools = self.pools(labels)
        if pools is None:
            text = f"{what}: {counted(mine, 'label')}, no interval before each condition has two"
            return LabelState(sentence=text, labels=mine, estimate=None, interval=None, decided=False)
        estimate = pools[-1].estimate - (pools[0].estimate if len(pools) == 2 else 0.0)
        now, strict = self._interval(pools, self.level), self._interval(pools, 1 - (1 - self.level) / self.looks)
        decided = len(pools) == 2 and (strict.low > 0 or strict.high < 0)
        sign = len(pools) == 2
        text = (
            f"{metric.noun}, {what}: {metric.amount(estimate, sign=sign)} [{metric.amount(now.low, sign=sign)}, "
            f"{metric.amount(now.high, sign=sign)}]{metric.suffix} by {counted(mine, 'label')}"
        )
        text += "; decided" if decided else ""
        return LabelState(sentence=text, labels=mine, estimate=estimate, interval=now, decided=decided)

    def grow(self, sample: Sample, labels: Mapping[Key, float]) -> Sample | None:
        """The sample with the next batch, dealt to the strata where labels narrow the claim most; None: no more."""
        left = min(self.batch, self.most - len(sample.chosen))
        pools = self.pools(labels)
        if left <= 0 or pools is None or self.state(labels).decided:
            return None
        wanted: dict[str, int] = {}
        for side, now, then in zip(self.sides.values(), pools, more_labels(pools, left), strict=True):
            names = np.unique(side.layer)
            for name, extra in zip(names, (then.count - now.count).astype(int), strict=True):
                if extra > 0:
                    wanted[str(name)] = wanted.get(str(name), 0) + int(extra)
        larger = extend_sample(sample, wanted)
        return larger if len(larger.chosen) > len(sample.chosen) else None


def _speaks(metric: Metric, severity: float | None) -> float:
    """What a severity says of the metric."""
    if severity is None:
        return math.nan
    if metric.name == "accuracy":
        return float(severity == 0)
    return float(severity >= 3) if metric.name == "catastrophic_rate" else severity


def labels_of(ratings: Iterable[Rating], sample: Sample) -> dict[Key, float]:
    """People's labels of the answers that were drawn: of several people the median."""
    drawn = set(sample.chosen)
    given: dict[Key, list[float]] = {}
    for r in ratings:
        key = (r.item, r.condition, r.draw)
        if r.kind == "human" and r.severity is not None and key in drawn:
            given.setdefault(key, []).append(r.severity)
    return {key: float(np.median(values)) for key, values in given.items()}


def labelling_of(
    tables: Tables,
    sample: Sample,
    *,
    conditions: Sequence[str] = (),
    on: str | None = None,
    batch: int = 20,
    most: int = MOST,
    level: float = DEFAULT_LEVEL,
) -> Labelling | None:
    """The labelling of a run for a claim: on two conditions (named, or its first two), or on its only one.

    `on` is accuracy, mean_severity or catastrophic_rate. None where nothing but people graded the run: there is
    nothing to correct, and every label speaks for itself.
    """
    if tables.metric is None or tables.counting == "human":
        return None
    name = on or ("accuracy" if tables.metric == "accuracy" else "mean_severity")
    if name not in ("accuracy", "mean_severity", "catastrophic_rate"):
        raise InputError(f"Labels say nothing of {name}.", remedy="Use accuracy, mean_severity or catastrophic_rate.")
    unknown = [c for c in conditions if c not in tables.conditions]
    if unknown:
        raise InputError(f"No condition is named {unknown[0]}.", remedy=f"There are {', '.join(tables.conditions)}.")
    wanted = tuple(conditions) or tables.conditions[:2]
    found = outcomes(tables, name)
    draws = np.zeros(len(found.value), dtype=np.intp) if found.draw is None else found.draw
    sides: dict[str, _Side] = {}
    for condition in wanted[:2]:
        rows = np.flatnonzero(found.condition == tables.conditions.index(condition))
        keys = [(found.items[found.item[r]], condition, int(draws[r])) for r in rows]
        known = [k for k, key in enumerate(keys) if key in sample.strata]
        sides[condition] = _Side(
            tuple(keys[k] for k in known), found.value[rows[known]], np.array([sample.strata[keys[k]] for k in known])
        )
    return Labelling(METRICS[name], sides, batch=batch, most=most, first=len(sample.chosen), level=level)


def keep_sample(ledger: Ledger, sample: Sample) -> None:
    """The run's sample, for every rater."""
    ledger.set_note(SAMPLE_NOTE, sample.to_dict())
