"""Evidence on calibration: the confidences of graded answers, by unit."""

import dataclasses
import functools

import numpy as np
import polars as pl

from richter.claims import (
    EceSide,
    Evidence,
    Question,
    as_judged,
    ece_difference,
    ece_evidence,
    ece_side,
)
from richter.errors import InputError
from richter.evidence._facts import once, sample_of
from richter.evidence._policy import Policy
from richter.stats import Bools, Floats, Indices
from richter.tables import KEY, Dataset, judges_of

__all__ = ["GradedRows", "confident_counts", "estimate_ece", "graded_rows"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GradedRows:
    """Every answer graded right or wrong: codes of its item and condition, its grade, and its confidence or NaN."""

    item: Indices
    condition: Indices
    correct: Floats
    confidence: Floats
    group: Indices | None
    weight: Floats | None
    run: Indices | None = None

    def of(self, condition: int) -> tuple[Floats, Floats, Indices]:
        """One condition's confidence, grade and item, row by row."""
        use = self.condition == condition
        return self.confidence[use], self.correct[use], self.item[use]


@once
def graded_rows(dataset: Dataset) -> GradedRows:
    """The rows of right and wrong answers with their confidences, in the order of the dataset's items."""
    right = sample_of(dataset, "accuracy").outcomes
    rows = dataset.scores.filter(pl.col("metric") == "accuracy", pl.col("value").is_in([0.0, 1.0]))
    if rows["confidence"].null_count() < len(rows):
        rows = rows.sort("item", "condition", "draw")
    codes = {
        name: rows[name].cast(pl.Enum(order)).to_physical().to_numpy().astype(np.intp)
        for name, order in (("item", right.items), ("condition", dataset.conditions))
    }
    return GradedRows(
        item=codes["item"],
        condition=codes["condition"],
        correct=rows["value"].to_numpy(),
        confidence=rows["confidence"].fill_null(float("nan")).to_numpy(),
        group=right.group,
        weight=right.weight,
        run=_run_codes(dataset, rows),
    )


def _run_codes(dataset: Dataset, rows: pl.DataFrame) -> Indices | None:
    """The run of each row as a code; None where there are none."""
    answers = dataset.answers
    if answers["run"].null_count() == len(answers):
        return None
    runs = rows.select(KEY).join(answers.select(*KEY, "run"), on=KEY, how="left", maintain_order="left")["run"]
    return (runs.fill_null("").rank("dense") - 1).to_numpy().astype(np.intp)


@once
def confident_counts(dataset: Dataset) -> Indices:
    """Answers with a grade and a confidence, by item and condition."""
    rows = graded_rows(dataset)
    known = ~np.isnan(rows.confidence)
    shape = (len(dataset.item_ids), len(dataset.conditions))
    cell = rows.item[known] * shape[1] + rows.condition[known]
    return np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape).astype(np.intp)


@once
def _side_of(dataset: Dataset, k: int, items: bytes, about: str) -> EceSide:
    """One condition's calibration on some of the items."""
    graded = graded_rows(dataset)
    confidence, correct, item = graded.of(k)
    kept = ~np.isnan(confidence) & np.frombuffer(items, dtype=bool)[item]
    run = None
    if about == "such-runs":
        every = np.zeros_like(graded.condition) if graded.run is None else graded.run
        run = every[graded.condition == k][kept]
    return ece_side(
        confidence[kept], correct[kept], item[kept], group=graded.group, weight=graded.weight, run=run,
        these=about == "these-items",
    )  # fmt: skip


def estimate_ece(dataset: Dataset, question: Question, policy: Policy) -> Evidence:
    """The calibration error of one condition, or the second's minus the first's on the items that both have.

    Where they share none, or `unpaired`, each has its own.
    """
    counts = confident_counts(dataset)
    has: list[Bools] = [counts[:, dataset.conditions.index(name)] > 0 for name in question.conditions]
    if not all(h.any() for h in has):
        raise InputError("No graded answer has a confidence.", remedy="Give a `confidence` column.")
    use = has
    judged = as_judged(judges_of(dataset, "accuracy"))
    side = functools.partial(_side_of, dataset)
    if len(has) == 1:
        found = ece_evidence(side(dataset.conditions.index(question.conditions[0]), use[0].tobytes(), policy.about))
        return dataclasses.replace(found, judged=judged)
    both = has[0] & has[1]
    is_unpaired = policy.unpaired or not both.any()
    use = has if is_unpaired else [both, both]
    number = (int(np.sum(use[0])), int(np.sum(use[1])))
    if min(number) < 2:
        raise InputError("Fewer than two items have a confidence.", remedy="Give confidences of more answers.")
    one, two = (
        side(dataset.conditions.index(name), kept.tobytes(), policy.about)
        for name, kept in zip(question.conditions, use, strict=True)
    )
    found = dataclasses.replace(ece_difference(one, two, paired=not is_unpaired), judged=judged)
    return dataclasses.replace(found, sides=number, n=sum(number)) if is_unpaired else found
