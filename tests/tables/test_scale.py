"""Tables with very many columns, conditions or subgroups: linear work, or a refusal in words before any of it."""

import numpy as np
import polars as pl
import pytest

from richter.audit import compare_tables
from richter.claims import Board, JointTests
from richter.errors import InputError
from richter.tables import _read_files, read_tables


def graded(n: int, conditions: int) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "item": np.tile(np.arange(n), conditions),
            "condition": np.repeat([f"c{k}" for k in range(conditions)], n),
            "correct": rng.integers(0, 2, n * conditions),
        }
    )


def test_the_kinds_of_columns_are_looked_up_a_fixed_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Polars makes all of them for each look: 10,000 columns took 20,000 looks and ten minutes."""
    looks = [0]
    schema = pl.DataFrame.schema.fget

    def counted(frame: pl.DataFrame) -> pl.Schema:
        looks[0] += 1
        return schema(frame)

    monkeypatch.setattr(pl.DataFrame, "schema", property(counted))
    counts = []
    for columns in (30, 120):
        looks[0] = 0
        read_tables(graded(40, 2).with_columns(pl.lit(str(k)).alias(f"x{k}") for k in range(columns)))
        counts.append(looks[0])
    assert counts[1] < counts[0] + 10


def test_cells_are_not_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look for a last row of sums read every cell as a text, twice: ten seconds of a million rows."""
    reads = [0]
    number = _read_files.number_of

    def counted(text: str) -> float | None:
        reads[0] += 1
        return number(text)

    monkeypatch.setattr(_read_files, "number_of", counted)
    read_tables(graded(3000, 2))
    assert reads[0] < 100


def test_millions_of_pairs_are_refused_before_any_is_compared() -> None:
    """10,000 conditions: the command had no end."""
    tables = read_tables(graded(2, 700))
    with pytest.raises(InputError, match=r"700 conditions make 244,650 pairs.*--control"):
        compare_tables(tables, all_pairs=True)
    with pytest.raises(InputError, match=r"2,001 conditions make 2,001,000 pairs"):
        compare_tables(read_tables(graded(2, Board.MOST + 1)))


def test_claims_against_a_control_take_linear_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """700 conditions took three minutes: the least p-value of those left was looked for anew for every claim."""
    looks = []
    farthest = JointTests.farthest
    monkeypatch.setattr(JointTests, "farthest", lambda self, keys: looks.append(len(keys)) or farthest(self, keys))
    assert len(compare_tables(read_tables(graded(30, 60)), control="c0").claims) == 59
    assert looks == [59]


def test_a_column_of_thousands_of_values_is_no_subgroup() -> None:
    """100,000 values took 15 s of CPU to find that none has two items."""
    table = graded(1500, 2).with_columns(domain=pl.format("d{}", "item"))
    with pytest.raises(InputError, match=r"domain has 1,500 values; at most 1,000"):
        compare_tables(read_tables(table), by="domain")


@pytest.mark.parametrize("left_out", [[], ["q10"], ["q1", "q7"]])
def test_codes_of_items_are_their_places_among_the_items_by_name(left_out: list[str]) -> None:
    """Of a column with all items, of the answers' own and of one that lacks some."""
    rows = [(f"q{k}", name, k % 2) for name in "ab" for k in (10, 9, 1, 7, 2)]
    tables = read_tables(pl.DataFrame(rows, schema=["item", "condition", "correct"], orient="row"))
    places = {name: k for k, name in enumerate(sorted({item for item, _, _ in rows}))}
    items = [item for item, _, _ in rows if item not in left_out]
    assert tables.item_ids == tuple(places)
    assert tables.item_codes(pl.Series(items)).tolist() == [places[item] for item in items]
    assert tables.item_codes(tables.answers["item"]).tolist() == [places[item] for item in tables.answers["item"]]
    assert tables.item_codes(pl.Series([], dtype=pl.String)).tolist() == []
