"""The generated shapes of data of the golden documents: small simulated tables, each with one thing of users' files.

A shape is a table and the commands that are run on it. Its random numbers come from its name: the tables never change.
"""

import dataclasses
import zlib
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shape:
    """A table, the options of `compare` and `report` on it, those of `compare` alone, and further commands."""

    name: str
    table: pl.DataFrame
    asked: str = ""
    alone: str = ""
    more: tuple[str, ...] = ()


def graded(
    rng: np.random.Generator, n: int = 120, models: Sequence[str] = ("old", "new"), gain: float = 0.5
) -> pl.DataFrame:
    """Right and wrong answers of each model on the same questions; each model better than the one before."""
    ease = rng.normal(0.5, 1.0, n)
    right = [ease + gain * k + 0.8 * rng.normal(size=n) > 0 for k in range(len(models))]
    return pl.DataFrame(
        {
            "item": [f"q{i:04d}" for i in range(n)] * len(models),
            "condition": np.repeat(list(models), n),
            "correct": np.concatenate(right).astype(int),
        }
    )  # fmt: skip


def per_item(table: pl.DataFrame, value: Callable[[int], object]) -> pl.Series:
    """A column that depends on the question alone."""
    return pl.Series([value(int(item[1:])) for item in table["item"]])


def with_severity(table: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """A severity for each answer, 0 where it is right."""
    drawn = np.minimum(4, np.ceil(2 * rng.exponential(1.0, len(table))) / 2)
    return table.with_columns(severity=np.where(table["correct"] == 1, 0.0, drawn))


def with_confidence(table: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """A stated confidence for each answer, higher where it is right."""
    sure = np.clip(0.55 + 0.25 * table["correct"].to_numpy() + rng.normal(0, 0.15, len(table)), 0.02, 0.99)
    return table.with_columns(confidence=np.round(sure, 2))


def with_repeats(table: pl.DataFrame, rng: np.random.Generator, repeats: int = 3) -> pl.DataFrame:
    """Several answers of each model to each question."""
    one = table["correct"].to_numpy()
    return pl.concat(
        table.with_columns(draw=pl.lit(k), correct=np.where(rng.random(len(one)) < 0.15, 1 - one, one))
        for k in range(repeats)
    )


def blank(table: pl.DataFrame, where: np.ndarray, *columns: str) -> pl.DataFrame:
    """The same with nothing in these columns of some rows."""
    return table.with_columns(pl.when(pl.Series(where)).then(None).otherwise(pl.col(c)).alias(c) for c in columns)


def some(table: pl.DataFrame, rng: np.random.Generator, share: float, model: str = "new") -> np.ndarray:
    """Some rows of one model."""
    return (rng.random(len(table)) < share) & (table["condition"] == model).to_numpy()


def labelled(table: pl.DataFrame, rng: np.random.Generator, chance: np.ndarray | float) -> pl.DataFrame:
    """Grades of which people labelled some, differing from the grade in a tenth."""
    grade = table["correct"].to_numpy()
    label = np.where(rng.random(len(grade)) < 0.1, 1 - grade, grade)
    drawn = rng.random(len(grade)) < chance
    return table.with_columns(human=pl.Series([int(v) if d else None for v, d in zip(label, drawn, strict=True)]))


def rated(table: pl.DataFrame, rng: np.random.Generator, raters: Sequence[str]) -> pl.DataFrame:
    """A severity for each answer by each rater, half a step apart."""
    truth = with_severity(table, rng)["severity"].to_numpy()
    seen = [np.clip(truth + rng.choice([-0.5, 0.0, 0.5], len(truth)), 0, 4) for _ in raters]
    return pl.concat(
        table.drop("correct").with_columns(rater=pl.lit(name), kind=pl.lit("human"), severity=seen[k])
        for k, name in enumerate(raters)
    )


def apart(table: pl.DataFrame) -> pl.DataFrame:
    """The second model answered other questions."""
    other = (
        pl.when(pl.col("condition") == "new").then(pl.lit("x") + pl.col("item").str.slice(1)).otherwise(pl.col("item"))
    )
    return table.with_columns(item=other)


def written(table: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """Answers as texts beside a reference: numbers, which Richter grades."""
    reference = per_item(table, lambda i: str(100 + 7 * i))
    answer = [r if c else str(int(r) + 3) for r, c in zip(reference, table["correct"], strict=True)]
    question = per_item(table, lambda i: f"What is 100 plus 7 times {i}?")
    return table.drop("correct").with_columns(question=question, answer=pl.Series(answer), reference=reference)


GATE = "gate DATA old new --margin 5pt"
SUBJECTS = ("history", "physics", "law", "sport")


def shapes() -> list[Shape]:
    """All shapes, each from a seed that its name gives."""
    made: list[Shape] = []

    def add(
        name: str,
        make: Callable[[np.random.Generator], pl.DataFrame],
        asked: str = "",
        more: tuple[str, ...] = (),
        alone: str = "",
    ) -> None:
        table = make(np.random.default_rng(zlib.crc32(name.encode())))
        made.append(Shape(name=name, table=table, asked=asked, alone=alone, more=more))

    three, eight = ("old", "mid", "new"), [f"model-{k}" for k in range(8)]
    add("plain", graded, more=(GATE, "size DATA old new --margin 5pt", "DATA"))
    add("plain-three-models", lambda r: graded(r, models=three))
    add("plain-eight-models", lambda r: graded(r, models=eight, gain=0.1))
    add("control", lambda r: graded(r, models=three), alone="--control old")
    add("one-model", lambda r: graded(r, models=("only",)))
    add("tiny", lambda r: graded(r, n=12), more=(GATE,))
    add("ceiling", lambda r: graded(r).with_columns(correct=pl.lit(1)), more=(GATE,))
    add("equal-with-margin", lambda r: graded(r, n=1500, gain=0.0), "--margin 5pt", (GATE,))
    add("level", graded, "--level 0.9", ("gate DATA old new --margin 5pt --level 0.9",))
    add("tried", graded, "--tried 12")
    add(
        "words-for-grades",
        lambda r: graded(r).with_columns(correct=pl.col("correct").replace_strict({0: "no", 1: "yes"})),
    )
    add(
        "subgroups",
        lambda r: (t := graded(r, n=240)).with_columns(subject=per_item(t, lambda i: SUBJECTS[i % 4])),
        alone="--by subject",
    )
    add("groups", lambda r: (t := graded(r)).with_columns(passage=per_item(t, lambda i: f"p{i % 30}")), more=(GATE,))
    add(
        "two-groupings",
        lambda r: (t := graded(r, n=240)).with_columns(
            passage=per_item(t, lambda i: f"p{i % 24}"), author=per_item(t, lambda i: f"a{i // 12}")
        ),
    )
    add("few-groups", lambda r: (t := graded(r)).with_columns(passage=per_item(t, lambda i: f"p{i % 6}")))
    add("large-group", lambda r: (t := graded(r)).with_columns(passage=per_item(t, lambda i: f"p{0 if i < 40 else i}")))
    add("repeats", lambda r: with_repeats(graded(r), r), more=(GATE,))
    add("pass-at", lambda r: with_repeats(graded(r), r, 5), "--on pass@2 --on pass^3")
    add(
        "repeats-groups-missing",
        lambda r: blank(
            (t := with_repeats(graded(r), r)).with_columns(passage=per_item(t, lambda i: f"p{i % 30}")),
            some(t, r, 0.05),
            "correct",
        ),
    )
    add("missing-cells", lambda r: blank(t := graded(r), some(t, r, 0.05), "correct"), more=(GATE,))
    add("missing-rows", lambda r: (t := graded(r)).filter(~pl.Series(some(t, r, 0.05))), more=(GATE,))
    add("many-missing", lambda r: blank(t := graded(r), some(t, r, 0.2), "correct"), more=(GATE,))
    add("missing-at-random", lambda r: blank(t := graded(r), some(t, r, 0.2), "correct"), "--missing at-random")
    add(
        "failed-calls",
        lambda r: blank(t := graded(r), lost := some(t, r, 0.06), "correct").with_columns(
            error=pl.Series([("timeout" if x else None) for x in lost])
        ),
    )
    add("weights", lambda r: (t := graded(r)).with_columns(weight=per_item(t, lambda i: 1 + i % 5)), more=(GATE,))
    add(
        "weights-groups",
        lambda r: (t := graded(r)).with_columns(
            weight=per_item(t, lambda i: 1 + i % 5), passage=per_item(t, lambda i: f"p{i % 30}")
        ),
    )
    add(
        "macro-average",
        lambda r: (t := graded(r)).with_columns(subject=per_item(t, lambda i: SUBJECTS[0 if i < 60 else i % 4])),
        "--macro subject",
        ("gate DATA old new --margin 5pt --macro subject",),
    )
    run_column = "--map run=run"
    add("runs", lambda r: with_repeats(graded(r), r).rename({"draw": "run"}), run_column, (f"{GATE} {run_column}",))
    add("unpaired", lambda r: apart(graded(r)), "--unpaired", ("gate DATA old new --margin 5pt --unpaired",))
    add("unpaired-unsaid", lambda r: apart(graded(r)), more=(GATE,))
    add(
        "unpaired-groups",
        lambda r: (t := apart(graded(r))).with_columns(passage=per_item(t, lambda i: f"p{i % 30}")),
        "--unpaired",
    )
    add(
        "partial-overlap",
        lambda r: graded(r).filter(~((pl.col("condition") == "new") & (pl.col("item") < "q0050"))),
    )
    add(
        "partial-credit",
        lambda r: (
            graded(r)
            .rename({"correct": "score"})
            .with_columns(score=pl.Series(np.round(r.beta(2, 1, 240), 2)) * (0.5 + pl.col("score") / 2))
        ),
        more=(GATE,),
    )
    add(
        "percentages",
        lambda r: graded(r).rename({"correct": "score"}).with_columns(score=pl.Series(r.integers(20, 101, 240))),
        "--scale 0:100",
    )
    add(
        "less-is-better",
        lambda r: graded(r).drop("correct").with_columns(toxicity=pl.Series(np.round(r.beta(1, 4, 240), 3))),
    )
    add(
        "two-scores",
        lambda r: (
            graded(r)
            .drop("correct")
            .with_columns(helpfulness=pl.Series(r.integers(1, 6, 240)), relevance=pl.Series(r.integers(1, 6, 240)))
        ),
        "--scale 1:5",
    )
    add(
        "costs",
        lambda r: graded(r).with_columns(
            cost=pl.Series(np.round(r.lognormal(-4, 0.5, 240), 5)),
            latency=pl.Series(np.round(r.lognormal(0, 0.4, 240), 2)),
            tokens=pl.Series(r.integers(50, 900, 240)),
        ),
        "--on accuracy --on money --on latency",
    )
    add("severities", lambda r: with_severity(graded(r, n=240), r), more=("severity DATA", GATE))
    add("severities-three-models", lambda r: with_severity(graded(r, n=240, models=three), r), more=("severity DATA",))
    add(
        "severities-groups",
        lambda r: with_severity((t := graded(r, n=240)).with_columns(passage=per_item(t, lambda i: f"p{i % 30}")), r),
        more=("severity DATA",),
    )
    add("severities-one-model", lambda r: with_severity(graded(r, n=240, models=("only",)), r), more=("severity DATA",))
    add("confidences", lambda r: with_confidence(graded(r, n=300), r), more=("calibration DATA",))
    add(
        "confidences-three-models",
        lambda r: with_confidence(graded(r, n=300, models=three), r),
        more=("calibration DATA",),
    )
    add(
        "confidences-one-model",
        lambda r: with_confidence(graded(r, n=300, models=("only",)), r),
        more=("calibration DATA",),
    )
    add(
        "everything",
        lambda r: blank(
            (t := with_confidence(with_severity(graded(r, n=300, models=three), r), r)).with_columns(
                passage=per_item(t, lambda i: f"p{i % 60}"), subject=per_item(t, lambda i: SUBJECTS[i % 4])
            ),
            some(t, r, 0.04),
            "correct",
            "severity",
        ),
        "--level 0.9",
        ("severity DATA", "calibration DATA"),
    )
    add("human-labels", lambda r: labelled(graded(r, n=300), r, 0.3), more=(GATE,))
    add(
        "labels-by-stratum",
        lambda r: labelled(t := graded(r, n=300), r, np.where(t["correct"] == 1, 0.2, 0.6)).with_columns(
            stratum=pl.when(pl.col("correct") == 1).then(pl.lit("judged right")).otherwise(pl.lit("judged wrong"))
        ),
    )
    add(
        "judge-and-labels",
        lambda r: labelled(graded(r, n=300), r, 0.3).with_columns(judge=pl.lit("gpt-4o")),
        more=(GATE,),
    )
    add("unchecked-judge", lambda r: graded(r).with_columns(judge=pl.lit("gpt-4o")), more=(GATE,))
    add(
        "two-raters",
        lambda r: rated(graded(r, n=150), r, ("ann", "ben")),
        more=("severity DATA", "label agreement DATA"),
    )
    add(
        "one-rater-each",
        lambda r: rated(graded(r, n=150), r, ("ann", "ben")).filter(
            (pl.col("rater") == "ann") == (pl.col("condition") == "old")
        ),
        more=("severity DATA",),
    )
    add("texts-graded-here", lambda r: written(graded(r), r))
    add("same-texts", lambda r: (t := graded(r)).with_columns(question=per_item(t, lambda i: f"What is {i // 3}?")))
    return made
