"""`richter size gap` from data of two conditions."""

from pathlib import Path

import numpy as np
import pytest

from richter.cli import main


def test_size_gap_from_a_pilot_says_what_is_cheaper(
    tmp_path: Path, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["item,condition,draw,correct"]
    for i in range(200):
        for k, name in enumerate(("old", "new")):
            rows += [f"q{i},{name},{d},{int(rng.random() < 0.6 + 0.1 * k)}" for d in range(2)]
    path = tmp_path / "pilot.csv"
    path.write_text("\n".join(rows))
    with pytest.raises(SystemExit) as stop:
        main(["size", "gap", str(path), "old", "new", "--margin", "5pt", "--cost-item", "9"])
    assert not stop.value.code
    out = capsys.readouterr().out
    # draws alone vary: 2 x 0.24 / 2 an item, at (2.80 / 0.05)^2
    items = int(out.split(" items", 1)[0].replace(",", ""))
    assert items == pytest.approx(0.23 * (2.8016 / 0.05) ** 2, rel=0.15)
    assert "of the variance" in out
    assert "more draws" in out  # an item costs nine draws, and items hardly vary
