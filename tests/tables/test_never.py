"""What the reader must never do without a word, each by hand."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from helpers.shapes import workbook
from richter.errors import InputError, ReadingProposed
from richter.records import of_kind
from richter.tables import Dataset, ReadOptions, outcomes, read_tables

ITEMS = [f"q{k}" for k in range(30)]
N_TABLES = int(os.environ.get("RICHTER_TABLES", "50"))  # `make soak` asks for 300


def frame_of(**columns: list[object]) -> pl.DataFrame:
    return pl.DataFrame({"item": ITEMS * 2, **columns}, strict=False)


def mean(tables: Dataset, condition: str) -> float:
    return float(tables.scores.filter(pl.col("condition") == condition)["value"].mean())  # type: ignore[arg-type]


@pytest.mark.parametrize("column", ["run", "epoch", "trial", "run_id", "seed"])
@pytest.mark.parametrize("names", [("baseline", "new-prompt"), ("2025-01-02", "2025-02-03"), ("a1", "b2")])
def test_rows_of_runs_with_names_are_never_pooled(column: str, names: tuple[str, str]) -> None:
    frame = frame_of(**{column: [names[0]] * 30 + [names[1]] * 30, "correct": [1] * 30 + [0] * 30})
    with pytest.raises(ReadingProposed) as proposed:
        read_tables(frame)
    assert proposed.value.options.map == {"condition": column}
    assert read_tables(frame, confirm=True).conditions == names


@pytest.mark.parametrize("name", ["p", "prob", "probability"])
def test_the_probability_of_a_label_is_never_a_confidence(name: str) -> None:
    frame = frame_of(model=["a"] * 30 + ["b"] * 30, pred=["x", "y"] * 30, label=["x", "x"] * 30,
                     correct=[1, 0] * 30, **{name: [0.9, 0.2] * 30})  # fmt: skip
    tables = read_tables(frame)
    assert tables.scores["confidence"].null_count() == len(tables.scores)
    assert name in " ".join(of_kind(tables.notes, "unused columns")) or name == "p"
    chosen = read_tables(frame, options=ReadOptions(map={"confidence": name}))
    assert chosen.scores["confidence"].null_count() == 0


@pytest.mark.parametrize("word", ["ERROR", "FAILED", "timeout", "Timed out", "crashed", "exception"])
@pytest.mark.parametrize("grades", [("1", "0"), ("true", "false"), ("correct", "incorrect")])
def test_the_end_of_a_call_is_never_a_wrong_answer(word: str, grades: tuple[str, str]) -> None:
    cells = [word] * 6 + [grades[0]] * 12 + [grades[1]] * 12
    frame = frame_of(model=["a"] * 30 + ["b"] * 30, correct=cells * 2)
    tables = read_tables(frame)
    assert mean(tables, "a") == 0.5
    assert tables.scores["value"].null_count() == 12
    (note,) = of_kind(tables.notes, "status")
    assert note.startswith(f"12 graded {word!r} have no grade")
    wrong = read_tables(frame, options=ReadOptions(grade={word: 0.0}))
    assert mean(wrong, "a") == pytest.approx(12 / 30)
    assert not of_kind(wrong.notes, "status")


def test_a_code_is_applied_once(tmp_path: Path) -> None:
    frame = frame_of(model=["a"] * 30 + ["b"] * 30, correct=[1] * 24 + [0] * 6 + [1] * 10 + [0] * 20)
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    turned = ReadOptions(grade={"0": 1.0, "1": 0.0})
    for source in (frame, tmp_path / "t.csv", tmp_path / "t.parquet"):
        tables = read_tables(source, options=turned)
        assert (mean(tables, "a"), mean(tables, "b")) == (0.2, pytest.approx(2 / 3))


def test_a_text_that_is_not_utf_8_is_read_as_windows_1252_which_is_said(tmp_path: Path) -> None:
    rows = "".join(f"{q},{m},1\n" for q in ITEMS for m in ("Zoë", "alt"))
    path = tmp_path / "t.csv"
    path.write_bytes(f"item,model,correct\n{rows}".encode("cp1252"))
    tables = read_tables(path)
    assert tables.conditions == ("Zoë", "alt")
    assert of_kind(tables.notes, "encoding") == ["t.csv is not UTF-8: it is read as Windows-1252"]


@pytest.mark.parametrize("name", ["a[1].csv", "a*.csv", "a?.csv"])
def test_a_files_name_is_never_a_pattern(name: str, tmp_path: Path) -> None:
    rows = "".join(f"{q},{m},{k}\n" for q in ITEMS for k, m in enumerate(("x", "y")))
    (tmp_path / name).write_text(f"item,model,correct\n{rows}")
    (tmp_path / "a1.csv").write_text(f"item,model,correct\n{rows}".replace(",x,", ",z,"))
    assert read_tables(tmp_path / name).conditions == ("x", "y")


# ------------------------------------------------------------------ containers agree

GRADES: dict[str, Callable[[np.random.Generator, int], list[object]]] = {
    "0/1": lambda rng, n: rng.integers(0, 2, n).tolist(),
    "truths": lambda rng, n: [bool(v) for v in rng.integers(0, 2, n)],
    "fractions": lambda rng, n: rng.integers(0, 5, n).tolist() and [v / 4 for v in rng.integers(0, 5, n).tolist()],
    "points": lambda rng, n: rng.integers(1, 6, n).tolist(),
    "words": lambda rng, n: rng.choice(["pass", "fail"], n).tolist(),
    "status": lambda rng, n: rng.choice(["correct", "incorrect", "ERROR"], n, p=[0.5, 0.4, 0.1]).tolist(),
    "codes": lambda rng, n: rng.choice([0, 1, 99], n, p=[0.5, 0.4, 0.1]).tolist(),
}
OPTIONS: dict[str, ReadOptions] = {
    "none": ReadOptions(),
    "turned": ReadOptions(grade={"0": 1.0, "1": 0.0}),
    "shifted": ReadOptions(grade={"0": 1.0, "1": 2.0, "2": 3.0}),
    "missing": ReadOptions(grade={"99": None}),
    "words": ReadOptions(grade={"fail": 1.0, "pass": 0.0, "true": 0.0, "false": 1.0}),
    "empty": ReadOptions(grade={"empty": 0.0, "99": 0.5}),
    "lower": ReadOptions(better="lower"),
    "scale": ReadOptions(scale=(0.0, 100.0)),
}


def write_containers(frame: pl.DataFrame, folder: Path) -> list[Path]:
    frame.write_csv(folder / "t.csv")
    frame.write_ndjson(folder / "t.jsonl")
    frame.write_parquet(folder / "t.parquet")
    workbook(folder / "t.xlsx", {"t": [frame.columns, *map(list, frame.rows())]})
    return [folder / f"t.{ending}" for ending in ("csv", "jsonl", "parquet", "xlsx")]


def read_as(path: Path, options: ReadOptions) -> tuple[str, ...]:
    try:
        tables = read_tables(path, options=options, confirm=True)
    except InputError:
        return ("refused",)
    values = outcomes(tables, tables.metric).value if tables.metric else np.array([])
    return tables.data_hash, str(tables.is_confirmed), f"{values.sum():.9f}"


def check_containers(seed: int, folder: Path) -> None:
    rng = np.random.default_rng(seed)
    n_items, names = int(rng.integers(8, 30)), ["a", "b", "c"][: int(rng.integers(1, 4))]
    kind, chosen = str(rng.choice([*GRADES])), str(rng.choice([*OPTIONS]))
    ids = [f"{k:03d}" if seed % 2 else f"q{k}" for k in range(n_items)] * len(names)
    grades = GRADES[kind](rng, len(ids))
    if seed % 3 == 0:
        grades = [None if rng.random() < 0.1 else value for value in grades]
    column = str(rng.choice(["correct", "score", "grade"]))
    columns = {"item": ids, "model": np.repeat(names, n_items).tolist(), column: grades}
    if seed % 5 == 0:
        columns["confidence"] = rng.random(len(ids)).round(3).tolist()
    frame = pl.DataFrame(columns, strict=False)
    readings = {path.suffix: read_as(path, OPTIONS[chosen]) for path in write_containers(frame, folder)}
    assert len({*readings.values()}) == 1, (seed, kind, chosen, readings)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("first", range(0, 60, 10))
def test_containers_agree(first: int, tmp_path: Path) -> None:
    pytest.importorskip("fastexcel", reason="workbooks need richter[excel]")
    for seed in range(first, first + 10):
        check_containers(seed, tmp_path)


@pytest.mark.slow
def test_containers_agree_in_many_tables(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel", reason="workbooks need richter[excel]")
    for seed in range(1000, 1000 + N_TABLES):
        check_containers(seed, tmp_path)


def test_training_and_testing_never_count_together_without_a_word(tmp_path: Path) -> None:
    rows = [
        f"q{i},{c},{'train' if i < 60 else 'test'},{i % k > 0:d}" for c, k in (("a", 3), ("b", 4)) for i in range(100)
    ]
    (tmp_path / "grades.csv").write_text("\n".join(["item,condition,split,correct", *rows]) + "\n")
    with pytest.raises(ReadingProposed, match=r"train \(120 rows\), test \(80 rows\)") as asked:
        read_tables(tmp_path / "grades.csv")
    assert asked.value.added == ("--layout splits",)
    (note,) = [note for note in read_tables(tmp_path / "grades.csv", confirm=True).notes if "split" in note]
    assert "train (120 rows), test (80 rows)" in note
    (tmp_path / "grades.csv").write_text((tmp_path / "grades.csv").read_text().replace("train", "dev"))
    tables = read_tables(tmp_path / "grades.csv")  # nothing was learnt from either
    assert tables.is_confirmed
    assert any("dev (120 rows), test (80 rows)" in note for note in tables.notes)


def test_a_table_of_too_many_columns_is_refused_before_it_is_read() -> None:
    with pytest.raises(InputError, match=r"20,001 columns, more than 20,000"):
        read_tables(pl.DataFrame({f"c{k}": [k] for k in range(20_001)}))
