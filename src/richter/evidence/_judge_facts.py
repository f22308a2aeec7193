"""What speaks against judges: answers that are written to be obeyed, and references that say otherwise than judges."""

import dataclasses

import numpy as np
import polars as pl
from numpy.typing import NDArray

from richter.claims import METRICS, Evidence, Outcomes, difference_evidence
from richter.evidence._facts import once, outcomes_of, valued_by
from richter.stats import Floats
from richter.tables import KEY, Dataset, severity_of

__all__ = [
    "Bait",
    "ObeyedOrders",
    "RuleContrast",
    "bait_counts",
    "obeyed_orders",
    "rule_contrast",
    "rule_level",
    "share_rule_grades",
]

Counts = NDArray[np.int64]  # 2 x 2
MAX_GRADED_ITEMS = 5_000  # items whose answers are graded by their references, to be held against the judges
MIN_COMPARED = 20  # items that both graders graded of both conditions
MIN_KAPPA = 0.6  # of rules and judges, on one of two conditions: below it the references are not what judges go by
CONTRAST_LEVEL = 0.99
MIN_OBEYED_SHARE = 0.01  # of a condition's answers: fewer that judges obey move no claim, and are a note
CONTRAST_SIZE = 0.1  # of the scale: what judges and rules may differ by in a difference without a contradiction
PASSED, FAILED = (0, 1), (1, 0)  # answers that judges pass and rules fail, and the other way round


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Bait:
    """How many of a condition's answers speak to a judge, of how many, and the first item with such an answer."""

    number: int
    answers: int
    item: str


@once
def bait_counts(dataset: Dataset) -> dict[str, Bait]:
    """By condition that has any, the answers that contain a judge's reply or instructions to a judge."""
    rows = dataset.answers.filter(pl.col("text").is_not_null()).select("item", "condition", "text")
    if rows.is_empty():
        return {}
    from richter.texts import has_judge_bait  # only where there are texts

    rows = rows.with_columns(has_judge_bait(rows["text"]).alias("bait"))
    by = rows.group_by("condition").agg(
        pl.col("bait").sum().alias("number"), pl.len(), pl.col("item").filter(pl.col("bait")).first()
    )
    return {
        name: Bait(number=number, answers=answers, item=item)
        for name, number, answers, item in by.iter_rows()
        if number
    }


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RuleContrast:
    """One difference of two conditions by judges and by rules, and by how much the first exceeds the second.

    `counts` are each condition's answers by judges (right, wrong) and rules (right, wrong).
    """

    judged: Evidence
    ruled: Evidence
    excess: Evidence
    counts: tuple[Counts, Counts]
    is_binary: bool

    @property
    def agreement(self) -> float:
        """The larger of both conditions' Cohen's kappa between judges and rules."""
        return max(map(_kappa, self.counts))

    @property
    def is_contradiction(self) -> bool:
        """Whether judges and rules cannot both be right about the difference.

        Rules must agree with judges on one condition at least: where they do on neither, references say too little.
        They contradict each other where the 99% interval of the excess leaves out 0, and both show a difference at 95%
        in opposite directions; or it is a tenth of the scale or more, and not by errors that both conditions share.
        """
        if self.agreement < MIN_KAPPA or 0 in self.excess.interval(CONTRAST_LEVEL):
            return False
        one, two = self.judged.interval(0.95), self.ruled.interval(0.95)
        are_opposite = (one.low > 0 and two.high < 0) or (one.high < 0 and two.low > 0)
        return are_opposite or (self.is_binary and abs(self.excess.estimate) >= CONTRAST_SIZE and self.has_own_errors)

    @property
    def has_own_errors(self) -> bool:
        """Whether judges favour one condition by errors that they, or the references, do not make in the other.

        Two rates are compared, of answers that judges pass and rules fail: among those that judges pass, and among
        those that rules fail. Where judges and references err alike in both conditions, a condition with more right
        answers has the first rate lower and the second one higher, however often they err. Both are higher in one
        condition only if something else is at work. So too of answers that judges fail and rules pass.
        """
        other, favoured = self.counts if self.excess.estimate > 0 else self.counts[::-1]
        return _is_more_frequent(favoured, other, PASSED) or _is_more_frequent(other, favoured, FAILED)


def rule_contrast(dataset: Dataset, measure: str, first: str, second: str) -> RuleContrast | None:
    """Judges against rules on a difference; None where no judge graded, or nothing is known to hold against judges."""
    source = valued_by(dataset, measure)
    if not outcomes_of(dataset, source).judges:
        return None
    ruled = _rule_grades(dataset)
    if ruled.is_empty():
        return None
    # all that judges say of an answer is whether it is right: one contrast for every measure that rests on it
    key = (rule_contrast.__name__, _judges_score(dataset, source), first, second)
    if key not in dataset.memory:
        dataset.memory[key] = _contrast(dataset, source, ruled, first, second)
    found: RuleContrast | None = dataset.memory[key]
    return found


def _contrast(dataset: Dataset, source: str, ruled: pl.DataFrame, first: str, second: str) -> RuleContrast | None:
    judged, is_binary = _judged_right(dataset, source)
    rows = judged.join(ruled, on=KEY, how="inner").filter(pl.col("condition").is_in([first, second]))
    shared = rows.group_by("item").agg(pl.col("condition").n_unique()).filter(pl.col("condition") == 2)
    if len(shared) < MIN_COMPARED:
        return None
    rows = rows.join(shared, on="item", how="semi")
    if not (rows["ruled"] > 0).any():  # references in another form than the answers say nothing of a difference
        return None
    base = outcomes_of(dataset, source)
    values = {name: rows[name].to_numpy() for name in ("judged", "ruled")}
    values["excess"] = values["judged"] - values["ruled"]
    found = {name: difference_evidence(_with_values(base, rows, own), first, second) for name, own in values.items()}
    one, two = (_count_grades(rows.filter(pl.col("condition") == name)) for name in (first, second))
    return RuleContrast(counts=(one, two), is_binary=is_binary, **found)


@once
def rule_level(dataset: Dataset, measure: str, condition: str) -> tuple[float, float, int] | None:
    """The share of a condition's answers that judges and rules call right, and on how many; None as of a contrast."""
    source = valued_by(dataset, measure)
    if not outcomes_of(dataset, source).judges or _rule_grades(dataset).is_empty():
        return None
    rows = _judged_right(dataset, source)[0].join(_rule_grades(dataset), on=KEY, how="inner")
    rows = rows.filter(pl.col("condition") == condition)
    if len(rows) < MIN_COMPARED:
        return None
    return float(rows["judged"].to_numpy().mean()), float(rows["ruled"].to_numpy().mean()), len(rows)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ObeyedOrders:
    """How many of a condition's answers that rules call wrong judges pass: that speak to a judge, and others.

    `answers` is the number of the condition's answers that both graded.
    """

    passed: int
    speaking: int
    others_passed: int
    others: int
    answers: int

    @property
    def p(self) -> float:
        """Fisher's exact p-value, one-sided: that judges pass those that speak to them no more often than others."""
        return _fisher_p(self.passed, self.speaking, self.others_passed, self.others)

    @property
    def is_shown(self) -> bool:
        """Whether judges obey, at 1%, in a number of answers that can move a claim."""
        return self.passed >= MIN_OBEYED_SHARE * self.answers and self.p < 1 - CONTRAST_LEVEL


@once
def obeyed_orders(dataset: Dataset, measure: str, condition: str) -> ObeyedOrders | None:
    """How judges grade wrong answers that speak to them; None where no answer does or no rule graded any."""
    if condition not in bait_counts(dataset) or _rule_grades(dataset).is_empty():
        return None
    from richter.texts import has_judge_bait

    rows = _judged_right(dataset, valued_by(dataset, measure))[0].filter(pl.col("condition") == condition)
    rows = rows.join(_rule_grades(dataset), on=KEY, how="inner")
    rows = rows.join(dataset.answers.select(*KEY, "text"), on=KEY, how="left")
    speaks = has_judge_bait(rows["text"].fill_null("")).to_numpy()
    is_wrong, is_passed = rows["ruled"].to_numpy() < 0.5, rows["judged"].to_numpy() > 0.5
    return ObeyedOrders(
        passed=int((is_wrong & is_passed & speaks).sum()), speaking=int((is_wrong & speaks).sum()),
        others_passed=int((is_wrong & is_passed & ~speaks).sum()), others=int((is_wrong & ~speaks).sum()),
        answers=len(rows),
    )  # fmt: skip


def _with_values(base: Outcomes, rows: pl.DataFrame, value: Floats) -> Outcomes:
    """Other values on the same units, which nobody corrects."""
    item, condition = (
        rows[column].cast(pl.Enum(names)).to_physical().to_numpy().astype(np.intp)
        for column, names in (("item", base.items), ("condition", base.conditions))
    )
    metric = dataclasses.replace(METRICS["mean_score"], low=-1.0, high=1.0)
    return dataclasses.replace(
        base, metric=metric, value=value, draw=None, run=None, runs=(), label=None, layer=None, chance=None,
        label_fault="", is_proxy=False, judges=(), notes=(), item=item, condition=condition,
    )  # fmt: skip


def _judges_score(dataset: Dataset, source: str) -> bool:
    """Whether a measure rests on judges' scores, and not on their severities."""
    return source in ("accuracy", "mean_score", "error_rate") and bool(dataset.scored_by)


def _judged_right(dataset: Dataset, source: str) -> tuple[pl.DataFrame, bool]:
    """What judges say of each answer, from 0 (wrong) to 1 (right), and whether they say nothing in between."""
    if _judges_score(dataset, source):
        rows = dataset.scores.filter(pl.col("metric") == dataset.metric, pl.col("value").is_not_null())
        share = (pl.col("value") - pl.col("low")) / (pl.col("high") - pl.col("low"))
        share = pl.when(pl.col("better") == "lower").then(1 - share).otherwise(share)
        return rows.select(*KEY, share.alias("judged")), bool(rows["kind"].eq("binary").all())
    rated = severity_of(dataset)
    return rated.select(*KEY, (pl.col("severity") == 0).cast(pl.Float64).alias("judged")), True


@once
def _rule_grades(dataset: Dataset) -> pl.DataFrame:
    """Right (1) or wrong (0) of each answer without a model: by rules that rated it, else by its item's reference."""
    rated = dataset.ratings.filter(pl.col("kind") == "rule", pl.col("severity").is_not_null())
    if len(rated):
        return rated.group_by(KEY).agg((pl.col("severity") == 0).cast(pl.Float64).mean().alias("ruled"))
    known = [item for item in dataset.items.values() if item.reference.strip()][:MAX_GRADED_ITEMS]
    rows = dataset.answers.filter(pl.col("text").is_not_null(), pl.col("item").is_in([item.id for item in known]))
    if rows.is_empty():
        return pl.DataFrame(schema={**{k: dataset.answers.schema[k] for k in KEY}, "ruled": pl.Float64})
    from richter.texts import choose_graders, grade_answer  # only where it is needed: graders take time to load

    items, graders = {item.id: item for item in known}, choose_graders(known).by_item
    grades = [grade_answer(items[i], text, graders[i]) for i, text in rows.select("item", "text").iter_rows()]
    return rows.select(KEY).with_columns(pl.Series("ruled", grades, dtype=pl.Boolean).cast(pl.Float64))


def share_rule_grades(dataset: Dataset, relabelled: Dataset) -> None:
    """Give a dataset that differs in human labels only the grades by rules of the other, made once for all such."""
    relabelled.memory[_rule_grades.__name__,] = _rule_grades(dataset)


def _count_grades(rows: pl.DataFrame) -> Counts:
    """Answers by judges and rules, right (above one half) before wrong."""
    one, two = (rows[name].to_numpy() > 0.5 for name in ("judged", "ruled"))
    return np.array([[np.sum((one == a) & (two == b)) for b in (True, False)] for a in (True, False)])


def _kappa(counts: Counts) -> float:
    """Cohen's kappa of judges and rules; 0 where either says one thing only."""
    share = counts / counts.sum()
    agreed, chance = float(np.trace(share)), float(share.sum(axis=1) @ share.sum(axis=0))
    return 0.0 if chance >= 1 else (agreed - chance) / (1 - chance)


def _is_more_frequent(counts: Counts, others: Counts, cell: tuple[int, int]) -> bool:
    """Whether a cell has a larger share of its row, and of its column, than in the other table, each at 0.5%."""
    judged, ruled = cell
    lines = ((counts[judged], others[judged]), (counts[:, ruled], others[:, ruled]))
    tests = (_fisher_p(counts[cell], own.sum(), others[cell], theirs.sum()) for own, theirs in lines)
    return all(p < (1 - CONTRAST_LEVEL) / 2 for p in tests)  # two cells are looked at


def _fisher_p(k: int, n: int, k_other: int, n_other: int) -> float:
    """Fisher's exact p-value, one-sided: that k of n is no larger a share than that of the others."""
    from scipy.stats import hypergeom  # slow to load, and only where judges graded

    return float(hypergeom.sf(k - 1, n + n_other, k + k_other, n))
