"""Labels where they narrow a claim most: the next batch, the interval as it stands, and when to stop."""

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict

import numpy as np
import polars as pl
from numpy.typing import NDArray

from richter.claims import (
    METRICS,
    Blocked,
    Evidence,
    Metric,
    Outcomes,
    Question,
    decide,
    labelled_measures,
    undecided_claim,
)
from richter.errors import InputError
from richter.evidence import evidence, outcomes_of, share_rule_grades
from richter.ratings import Sample, extend_sample
from richter.records import DEFAULT_LEVEL, SAMPLE_NOTE, Interval, Rating, Result, Verdict, counted, printable
from richter.stats import Floats, LabelledPool, labelled_pool, more_labels
from richter.store import Ledger
from richter.tables import KEY, Dataset
from richter.tables._tables import ANSWERS, RATINGS
from richter.words import describe_span

__all__ = ["LabelState", "Labelling", "labelling_of"]

Key = tuple[str, str, int]
Labels = Mapping[Key, Sequence[float]]  # of each labelled answer every person's severity
MOST = 200  # labels at most, unless told


class LabelOptions(TypedDict, total=False):
    """What is labelled for: the conditions and the metric of a claim, how many at a time, and how many at most."""

    conditions: Sequence[str]
    on: str | None
    batch: int
    most: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LabelState(Result):
    """What the labels so far say of the claim: a sentence, the estimate with its interval, and whether to go on.

    `verdict` is that of the claim at its share of the level; `notes` are those of the data and of the checks.
    `to_settle` is about how many more labels would decide a difference if the estimate stays; None where labels of
    every answer would not, and before there is an estimate.
    """

    sentence: str
    labels: int
    estimate: float | None
    interval: Interval | None
    decided: bool
    verdict: Verdict = Verdict.UNDECIDED
    notes: tuple[str, ...] = ()
    to_settle: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class _Side:
    """One condition: its answers, how each was graded, and the stratum in which each could be drawn."""

    keys: tuple[Key, ...]
    value: Floats
    layer: NDArray[np.str_]


class Labelling:
    """Labelling for one claim: the mean of one condition, or the difference of two (second minus first).

    The claim is asked as `compare` asks it, of the data with the labels so far. Looks are taken at the end of each
    batch, `looks` of them at most, each at a level of 1 - (1 - level) / looks, so that stopping at the first that
    decides shows something false in at most 1 - level of all cases.
    """

    def __init__(
        self,
        dataset: Dataset,
        metric: Metric,
        sides: Mapping[str, _Side],
        *,
        batch: int,
        most: int,
        first: int,
        level: float = DEFAULT_LEVEL,
    ) -> None:
        self.dataset, self.metric, self.sides, self.level = dataset, metric, dict(sides), level
        self.batch, self.most = batch, most
        self.looks = max(1, 1 + math.ceil(max(most - first, 0) / batch))

    def pools(self, labels: Labels) -> list[LabelledPool] | None:
        """The conditions' answers with these labels, to deal the next batch by; None while one has fewer than two."""
        found = []
        for side in self.sides.values():
            given = np.array([self._value(labels[key]) if key in labels else math.nan for key in side.keys])
            if int((~np.isnan(given)).sum()) < 2:
                return None
            low, high = self.metric.low or 0.0, self.metric.high or 0.0
            found.append(labelled_pool(given, side.value, strata=side.layer, low=low, high=high))
        return found

    def _value(self, severities: Sequence[float]) -> float:
        """The measure's value as people say it of one answer: of several the median."""
        return float(np.median(self.metric.of_severity(np.array(severities))))

    def _labelled(self, labels: Labels) -> Dataset:
        """The data with these labels and no others, each in the stratum that its answer was drawn in."""
        strata = {
            key: str(name) for side in self.sides.values() for key, name in zip(side.keys, side.layer, strict=True)
        }
        size, drawn = Counter(strata.values()), Counter(strata[key] for key in labels if key in strata)
        layers = pl.DataFrame([(*key, name) for key, name in strata.items()], orient="row",
                              schema={**{k: ANSWERS[k] for k in KEY}, "layer": pl.String})  # fmt: skip
        rows = [
            dict(zip(KEY, key, strict=True))
            | {
                "rater": f"label {number}",
                "kind": "human",
                "severity": value,
                "inclusion": drawn[strata[key]] / size[strata[key]],
            }
            for key, severities in labels.items()
            if key in strata
            for number, value in enumerate(severities, start=1)
        ]
        people = pl.DataFrame(rows, schema=RATINGS)
        others = self.dataset.ratings.filter(pl.col("kind") != "human").select(list(RATINGS))
        answers = self.dataset.answers.drop("layer").join(layers, on=KEY, how="left", maintain_order="left")
        made = dataclasses.replace(self.dataset, answers=answers, ratings=pl.concat([others, people]))
        share_rule_grades(self.dataset, made)
        return made

    def state(self, labels: Labels, sample: Sample | None = None) -> LabelState:
        """Where the claim stands with these labels; with a sample it is decided only where all of that is labelled."""
        metric, names = self.metric, [printable(name, limit=40) for name in self.sides]
        what = names[0] if len(names) == 1 else f"{names[1]} minus {names[0]}"
        mine = sum(key in labels for side in self.sides.values() for key in side.keys)
        if self.pools(labels) is None:
            text = f"{what}: {counted(mine, 'label')}. Each needs two before there is an interval."
            return LabelState(sentence=text, labels=mine, estimate=None, interval=None, decided=False)
        asked = evidence(self._labelled(labels), Question(measure=metric.name, conditions=tuple(self.sides)))
        sign = len(names) == 2
        if isinstance(asked.evidence, Blocked):
            (claim,) = decide([asked])
            text = f"{what}: {counted(mine, 'label')}, {asked.evidence.reason}"
            return LabelState(
                sentence=text, labels=mine, estimate=None, interval=None, decided=False, verdict=claim.verdict,
                notes=claim.notes,
            )  # fmt: skip
        claim = undecided_claim(asked, level=self.level)  # a level of one condition is estimated, and not tested
        if sign and (sample is None or labels.keys() >= set(sample.chosen)):  # a look is taken at the end of a batch
            (claim,) = decide([asked], level=self.level, tried=self.looks)
        now = asked.known.interval(self.level)
        text = (
            f"{metric.noun[0].upper()}{metric.noun[1:]}, {what}: "
            f"{describe_span(metric, asked.known.estimate, now, is_difference=sign)} by {counted(mine, 'label')}."
        )
        to_settle = self._to_settle(asked.known) if sign else None
        text += " This is decided." if claim.decided else f" {describe_to_settle(to_settle)}" if sign else ""
        return LabelState(
            sentence=text, labels=mine, estimate=asked.known.estimate, interval=now, decided=claim.decided,
            verdict=claim.verdict, notes=claim.notes, to_settle=to_settle,
        )  # fmt: skip

    def _to_settle(self, found: Evidence) -> int | None:
        """About how many more labels would decide the difference at the level of a look."""
        count = found.labels_to_settle
        return None if count is None else count(1 - (1 - self.level) / self.looks)

    def grow(self, sample: Sample, labels: Labels) -> Sample | None:
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


def describe_to_settle(labels: int | None) -> str:
    """How many more labels would decide a difference of this size."""
    if labels is None:
        return "Labels of every answer would not settle it: ask more questions."
    return f"About {labels:,} more would settle a difference of this size." if labels else ""


def labels_of(ratings: Iterable[Rating], sample: Sample) -> dict[Key, tuple[float, ...]]:
    """People's labels of the answers that were drawn, each person's own."""
    drawn = set(sample.chosen)
    given: dict[Key, list[float]] = {}
    for r in ratings:
        key = (r.item, r.condition, r.draw)
        if r.kind == "human" and r.severity is not None and key in drawn:
            given.setdefault(key, []).append(r.severity)
    return {key: tuple(values) for key, values in given.items()}


def labelling_of(
    tables: Dataset,
    sample: Sample,
    *,
    conditions: Sequence[str] = (),
    on: str | None = None,
    batch: int = 20,
    most: int = MOST,
    level: float = DEFAULT_LEVEL,
) -> Labelling | None:
    """The labelling of a run for a claim: on two conditions (named, or its first two), or on its only one.

    `on` is a measure that a person's severity of an answer says the value of. None where nothing but people graded the
    run: there is nothing to correct, and every label speaks for itself.
    """
    if tables.metric is None or (tables.counting == "human" and not tables.scored_by):
        return None
    name = on or ("accuracy" if tables.metric == "accuracy" else "mean_severity")
    if name not in labelled_measures():
        raise InputError(f"Labels say nothing of {name}.", remedy=f"Use {', '.join(labelled_measures())}.")
    unknown = [c for c in conditions if c not in tables.conditions]
    if unknown:
        raise InputError(f"No condition is named {unknown[0]}.", remedy=f"There are {', '.join(tables.conditions)}.")
    wanted = (tuple(conditions) or tables.conditions)[:2]
    dataset = tables.select(wanted)
    found = outcomes_of(dataset, name)
    sides = {condition: _side(found, condition, sample) for condition in wanted}
    return Labelling(dataset, METRICS[name], sides, batch=batch, most=most, first=len(sample.chosen), level=level)


def _side(found: Outcomes, condition: str, sample: Sample) -> _Side:
    """The answers of a condition that could be drawn for people."""
    rows = np.flatnonzero(found.condition == found.conditions.index(condition))
    draws = np.zeros(len(found.value), dtype=np.intp) if found.draw is None else found.draw
    keys = {(found.items[found.item[r]], condition, int(draws[r])): r for r in rows}
    known = {key: r for key, r in keys.items() if key in sample.strata}
    return _Side(tuple(known), found.value[list(known.values())], np.array([sample.strata[key] for key in known]))


def keep_sample(ledger: Ledger, sample: Sample) -> None:
    """The run's sample, for every rater."""
    ledger.set_note(SAMPLE_NOTE, sample.to_dict())
