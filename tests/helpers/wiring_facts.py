"""Small files that each hold one fact about data which every command must know."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from helpers.judged_worlds import judged_world

SEED = 20_261_116
WORDS = {0.0: "none", 1.0: "minor", 2.0: "moderate", 3.0: "major", 4.0: "critical"}
ACCURACY, SCORE, SEVERITY = "accuracy", "mean_score", "mean_severity"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A fact: its table, how it is read, what is asked, and what every surface must then say.

    `note` is a pattern of the sentence on it, `block` the check that blocks the claim on `measure` ("" where none),
    `gate_block` the one that blocks it in a gate only, `tail_block` the one that blocks tails only.
    `options` go to every command that reads data, `asked` to those that make claims; `settings` is a richter.toml.
    """

    name: str
    table: pl.DataFrame
    note: str = ""
    block: str = ""
    gate_block: str = ""
    tail_block: str = ""
    measure: str = ACCURACY
    names: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    reading: dict[str, Any] = dataclasses.field(default_factory=dict)
    asked: tuple[str, ...] = ()
    settings: str = ""
    level: float = 0.95
    margin: float | None = None
    tried: int = 1
    unpaired: bool = False
    form: str = "csv"

    @property
    def has_severity(self) -> bool:
        """Whether `richter severity` has something to weigh."""
        return "severity" in self.table.columns

    def write(self, folder: Path) -> Path:
        """The table in a file."""
        path = folder / f"data.{self.form}"
        if self.form == "csv":
            self.table.write_csv(path)
        elif self.form == "parquet":
            self.table.write_parquet(path)
        else:
            self.table.write_ndjson(path)
        return path


def base(
    n: int = 160, conditions: tuple[str, ...] = ("old", "new"), noise: float = 0.8, step: float = 0.5, ease: float = 0.2
) -> pl.DataFrame:
    """Right and wrong answers of each condition on the same questions; each condition better than the one before."""
    rng = np.random.default_rng(SEED)
    hard = rng.normal(size=n)
    rows = []
    for k, name in enumerate(conditions):
        right = hard + noise * rng.normal(size=n) < ease + step * k
        rows.append(
            pl.DataFrame(
                {"item": [f"q{i:04d}" for i in range(n)], "condition": [name] * n, "correct": right.astype(int)}
            )
        )
    return pl.concat(rows)


def rated(table: pl.DataFrame) -> pl.DataFrame:
    """The same with a severity of every answer, 0 where it is right."""
    rng = np.random.default_rng(SEED + 1)
    severity = np.where(table["correct"] == 1, 0, rng.integers(1, 5, size=len(table)))
    return table.with_columns(severity=severity)


def blank(table: pl.DataFrame, where: np.ndarray, *columns: str) -> pl.DataFrame:
    """The same with nothing in these columns of some rows."""
    mark = pl.Series(where)
    return table.with_columns(pl.when(mark).then(None).otherwise(pl.col(c)).alias(c) for c in columns)


def wrong_of_new(table: pl.DataFrame, number: int) -> np.ndarray:
    """Some rows of `new` that are wrong."""
    is_wrong = ((table["condition"] == "new") & (table["correct"] == 0)).to_numpy()
    return is_wrong & (np.cumsum(is_wrong) <= number)


def item_column(table: pl.DataFrame, value: Callable[[int], Any]) -> pl.Series:
    """A column that depends on the question alone."""
    return pl.Series([value(int(item[1:])) for item in table["item"]])


def labelled(*, strata: str = "", chances: str = "") -> pl.DataFrame:
    """Judged answers of which people labelled some: by chance, by stratum, or with stated probabilities.

    `strata` and `chances` say for which rows the column stands there: `all` or `labelled`.
    """
    table, rng = base(n=300), np.random.default_rng(SEED + 2)
    stratum = np.where(table["correct"] == 1, "judged right", "judged wrong")
    chance = np.where(table["correct"] == 1, 0.2, 0.6) if strata or chances else np.full(len(table), 0.3)
    drawn = rng.random(len(table)) < chance
    truth = np.where(rng.random(len(table)) < 0.1, 1 - table["correct"].to_numpy(), table["correct"].to_numpy())
    table = table.with_columns(human=pl.Series([int(t) if d else None for t, d in zip(truth, drawn, strict=True)]))
    for name, column, rows in (("stratum", stratum, strata), ("inclusion", chance, chances)):
        if rows:
            shown = drawn | (rows == "all")
            table = table.with_columns(
                pl.Series(name, [v if s else None for v, s in zip(column.tolist(), shown, strict=True)])
            )
    return table


def by_raters(shares: dict[str, tuple[str, ...]]) -> pl.DataFrame:
    """Severities by the raters that a condition names in turn."""
    table = rated(base()).drop("correct")
    names = [shares[c][int(i[1:]) % len(shares[c])] for c, i in table.select("condition", "item").iter_rows()]
    return table.with_columns(rater=pl.Series(names), kind=pl.lit("human"))


def shuffled() -> pl.DataFrame:
    """Conditions on 1,000 questions, one of which lists them in another order: the others tell that it does."""
    names = ("old", "new", "third", "fourth", "fifth", "sixth", "mixed")
    table = base(n=1000, conditions=names, noise=0.5, step=0.02, ease=0.6)
    order = np.random.default_rng(SEED + 3).permutation(1000)
    mixed = table.filter(pl.col("condition") == "mixed")
    mixed = mixed.with_columns(correct=mixed["correct"].gather(order))
    return pl.concat([table.filter(pl.col("condition") != "mixed"), mixed])


def with_draws() -> pl.DataFrame:
    """Three answers to each question."""
    rng = np.random.default_rng(SEED + 4)
    table = base(n=100)
    flips = [
        table.with_columns(
            draw=pl.lit(k),
            correct=pl.Series(np.where(rng.random(len(table)) < 0.15, 1 - table["correct"], table["correct"])),
        )
        for k in range(3)
    ]
    return pl.concat(flips)


def scored(top: float, *, name: str = "score") -> pl.DataFrame:
    """A score from 0 to `top` for every answer."""
    rng = np.random.default_rng(SEED + 5)
    table = base()
    value = np.clip(0.35 + 0.3 * table["correct"].to_numpy() + 0.15 * rng.normal(size=len(table)), 0.01, 0.99)
    return table.drop("correct").with_columns(pl.Series(name, np.round(top * value, 4)))


def contests() -> pl.DataFrame:
    """Who won of two models, each shown first in half of the contests."""
    rng = np.random.default_rng(SEED + 7)
    rows = []
    for i in range(200):
        first, second = ("alpha", "beta") if i % 2 else ("beta", "alpha")
        rows.append((f"p{i}", first, second, "beta" if rng.random() < 0.65 else "alpha"))
    return pl.DataFrame(rows, schema=["prompt_id", "model_a", "model_b", "winner"], orient="row")


def facts() -> list[Fact]:
    """Every fact of the wiring matrix."""
    complete = rated(base())
    lost = wrong_of_new(complete, 12)
    failed = complete.with_columns(error=pl.Series(np.where(lost, "timeout", "")))
    by_words = complete.with_columns(severity=pl.Series([WORDS[float(s)] for s in complete["severity"]]))
    confident = complete.with_columns(
        confidence=np.round(np.random.default_rng(SEED + 6).beta(6, 2, size=len(complete)), 3)
    )
    grouped = base().pipe(lambda t: t.with_columns(group=item_column(t, lambda i: f"g{i // 4}")))
    crossed = base().pipe(
        lambda t: t.with_columns(
            passage=item_column(t, lambda i: f"p{i // 8}"), author=item_column(t, lambda i: f"a{i % 11}")
        )
    )
    three_ways = crossed.pipe(lambda t: t.with_columns(template=item_column(t, lambda i: f"t{i % 3 + i // 50}")))
    few = base().pipe(lambda t: t.with_columns(group=item_column(t, lambda i: f"g{i // 16}")))
    uneven = base().pipe(lambda t: t.with_columns(group=item_column(t, lambda i: f"g{max(i - 40, 0) // 4}")))
    weight = base().pipe(lambda t: t.with_columns(weight=item_column(t, lambda i: 1.0 + i % 3)))
    apart = base().pipe(lambda t: t.with_columns(item=pl.col("condition") + "-" + pl.col("item")))
    return [
        Fact(name="complete", table=confident),
        Fact(name="rows absent", table=confident.filter(~pl.Series(lost)), note=r"new lacks 12 grades \(12 absent\)"),
        Fact(name="rows without a grade", table=blank(confident, lost, "correct", "severity"),
             note=r"new lacks 12 grades \(12 not graded\)", form="jsonl"),
        Fact(name="failed calls", table=blank(failed, lost, "correct", "severity"),
             note=r"new lacks 12 grades \(12 failed calls\)", form="parquet"),
        Fact(name="failed calls with grades", table=failed, note=r"new lacks 12 grades \(12 failed calls\)"),
        Fact(name="one grouping", table=grouped, note=r"group"),
        Fact(name="two groupings", table=crossed, note=r"passage.*author|author.*passage"),
        Fact(name="three groupings", table=three_ways, note=r"Columns not used: .*author \(passage and template group"),
        Fact(name="few groups", table=few, note=r"could fail wholly|every question fails"),
        Fact(name="a large group", table=uneven, note=r"Group g0 holds 28%"),
        Fact(name="draws", table=with_draws(), note=r"draws?|epochs?|repeats?"),
        Fact(name="weights", table=weight, note=r"weight"),
        Fact(name="sample weights", table=weight.rename({"weight": "sample_weight"}), note=r"weight"),
        Fact(name="human labels", table=labelled(), note=r"human labels"),
        Fact(name="labels by stratum", table=labelled(strata="all"), note=r"human labels"),
        Fact(name="labels by stratum, labelled rows only", table=labelled(strata="labelled"), block="labels",
             note=r"stratum"),
        Fact(name="labels with inclusion", table=labelled(chances="all"), note=r"human labels"),
        Fact(name="labels with inclusion, labelled rows only", table=labelled(chances="labelled"),
             note=r"human labels"),
        Fact(name="disjoint raters", table=by_raters({"old": ("ann",), "new": ("bob",)}), measure=SEVERITY,
             block="raters", note=r"no rater rated both"),
        Fact(name="unbalanced raters", table=by_raters({"old": ("ann", "ann", "bob"), "new": ("bob", "bob", "ann")}),
             measure=SEVERITY, note=r"raters differ between the two", tail_block="raters"),
        Fact(name="misaligned items", table=shuffled(), block="items", names=("old", "mixed"), note=r"order"),
        Fact(name="unpaired items", table=apart, gate_block="shared", note=r"no graded question in common"),
        Fact(name="unpaired items as stated", table=apart, asked=("--unpaired",), unpaired=True,
             note=r"different questions"),
        Fact(name="severities in words", table=by_words, options=("--layout", "severity-words"),
             reading={"layout": ("severity-words",)}),
        Fact(name="percentages", table=scored(100.0), measure=SCORE, margin=0.02, asked=("--margin", "2pt")),
        Fact(name="less is better", table=scored(1.0, name="toxicity"), measure=SCORE,
             options=("--map", "score=toxicity", "--better", "lower"),
             reading={"map": {"score": "toxicity"}, "better": "lower"}, note=r"less|lower"),
        Fact(name="unused look-alikes",
             table=base().with_columns(
                 stratum=pl.int_range(pl.len()) % 3, inclusion=0.2 + 0.1 * (pl.int_range(pl.len()) % 4)
             ), note=r"Columns not used: .*stratum.*inclusion"),
        Fact(name="level by option", table=base(), asked=("--level", "0.9"), level=0.9),
        Fact(name="level by settings", table=base(), settings="level = 0.9\n", level=0.9),
        Fact(name="margin by option", table=base(), asked=("--margin", "5pt"), margin=0.05),
        Fact(name="margin by settings", table=base(), settings='margin = "5pt"\n', margin=0.05),
        Fact(name="tried", table=base(), asked=("--tried", "12"), tried=12, note=r"12 attempts|best of 12"),
        Fact(name="references beside judges", table=judged_world(np.random.default_rng(SEED), right=(0.5, 0.7)),
             options=("--map", "score=llm_judge_correct"), reading={"map": {"score": "llm_judge_correct"}},
             note=r"references"),
        Fact(name="judges that obey", table=judged_world(np.random.default_rng(SEED), obeyed=0.6),
             options=("--map", "score=llm_judge_correct"), reading={"map": {"score": "llm_judge_correct"}},
             block="judges", note=r"instructions to a judge"),
        Fact(name="look-alike names", table=base(conditions=("n\u0435w", "new")),
             note=r"n\\?u0435w looks like another name"),
        Fact(name="a column names the judge", table=base(step=1.0).with_columns(judge=pl.lit("gpt-4o")),
             note=r"by the judge|nobody checked|unchecked"),
        Fact(name="contests", table=contests(), measure="win_rate", options=("--layout", "preferences"),
             reading={"layout": ("preferences",)}),
        Fact(name="labels beside a judge", table=labelled().with_columns(judge=pl.lit("gpt-4o")),
             note=r"human labels"),
        Fact(name="two raters of every answer", table=by_raters(dict.fromkeys(("old", "new"), ("Anna Berg",))).vstack(
                 by_raters(dict.fromkeys(("old", "new"), ("Ben Frost",))).with_columns(
                     severity=pl.col("severity").shift(3).fill_null(0))), measure=SEVERITY),
        Fact(name="unchecked judge", table=scored(1.0, name="llm_judge_score"), measure=SCORE,
             options=("--map", "score=llm_judge_score"), reading={"map": {"score": "llm_judge_score"}},
             note=r"by the judge|nobody checked|unchecked"),
    ]  # fmt: skip
