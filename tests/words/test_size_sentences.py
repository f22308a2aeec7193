"""One source of sizes and of next steps: `compare`, `size` and the page say the same of the same data."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from richter.audit import compare_tables, measure_run, size_from_pilot
from richter.cli import main
from richter.records import Verdict
from richter.tables import read_tables
from richter.words import describe_pilot_size


def table(path: Path, *, group: int = 0, repeats: int = 1, own_questions: bool = False, **more: object) -> Path:
    """Right and wrong answers of two models that hardly differ, with what else a file may hold."""
    rng = np.random.default_rng(5)
    n, luck = 120, np.random.default_rng(6).random(120)
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "model", "correct", *(["group"] if group else []), "epoch", *more])
        for name in ("old", "new"):
            for k in range(n):
                item = f"{name}{k}" if own_questions else f"q{k}"
                for epoch in range(repeats):
                    right = (luck[k] if rng.random() < 0.5 else rng.random()) < 0.66
                    rows.writerow(
                        [item, name, int(right), *([f"g{k // group}"] if group else []), epoch, *more.values()]
                    )
    return path


@pytest.mark.parametrize("margin", [None, 0.05])
@pytest.mark.parametrize(
    "shape", [{}, {"group": 6}, {"repeats": 3}, {"own_questions": True}], ids=lambda shape: next(iter(shape), "plain")
)
def test_compare_and_size_say_one_sentence_on_sizes(
    shape: dict[str, Any], margin: float | None, tmp_path: Path
) -> None:
    """Paired, in groups, repeated, without pairs: the sizes come from one function and read alike."""
    tables = read_tables(table(tmp_path / "results.csv", **shape))
    compared = compare_tables(tables, margin=margin, n_resamples=100)
    (claim,) = [c for c in compared.claims if c.primary]
    assert claim.verdict is Verdict.UNDECIDED
    size = size_from_pilot(tables, margins={} if margin is None else {"": margin})
    assert compared.first_lines.sizes == describe_pilot_size(size)[0]
    if margin is None:
        per_unit = claim.n / claim.units
        assert [s.items for s in size.steps] == [pytest.approx(s.units * per_unit, abs=2) for s in claim.sizes]


@pytest.mark.parametrize("vouched", [{}, {"unpaired": True}, {"missing": "at-random"}, {"level": 0.9}], ids=str)
@pytest.mark.parametrize("more", [{}, {"judge": "gpt-4o"}, {"answer": "text", "judge": "gpt-4o"}], ids=str)
def test_the_page_begins_with_the_step_that_the_terminal_names(
    vouched: dict[str, Any], more: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = table(tmp_path / "results.csv", **more)
    options = [f"--{name}" + (f"={value}" if value is not True else "") for name, value in vouched.items()]
    with pytest.raises(SystemExit):
        main(["compare", str(path), "old", "new", *options])
    said = capsys.readouterr().out.splitlines()[-1].replace(f"{tmp_path}/", "")
    document = measure_run(path, conditions=("old", "new"), n_resamples=100, **vouched).to_dict()
    assert said == f"Next: {document['next'][0]}"
    assert document["methods"]["vouched"] == {k: value for k, value in vouched.items() if k != "level"}
