"""The bill on every surface: money is compared by totals in compare, gate, size, trades and Python."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import richter
from richter.cli._main import _root
from richter.errors import InputError
from richter.stats import Floats

ITEMS = 120


def write(folder: Path, old: Floats, new: Floats, name: str = "costs.csv") -> Path:
    """Answers of two conditions, equally often right, with what each cost."""
    right = (np.arange(ITEMS) % 4 > 0).astype(int)
    flipped = np.where(np.arange(ITEMS) % 15 == 0, 1 - right, right)
    rows = [
        pl.DataFrame(
            {"item": [f"q{k}" for k in range(ITEMS)], "condition": [who] * ITEMS, "correct": grade, "cost": cost}
        )
        for who, grade, cost in (("old", right, old), ("new", flipped, new))
    ]
    path = folder / name
    pl.concat(rows).write_csv(path)
    return path


def invoke(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(_root, [str(a) for a in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


def claim_in(document: Any, measure: str = "money") -> dict[str, Any]:
    """The claim on a measure of both conditions, wherever it stands."""
    if isinstance(document, dict):
        if document.get("measure") == measure and len(document.get("conditions", ())) == 2 and "verdict" in document:
            return document
        document = list(document.values())
    for part in document if isinstance(document, list) else ():
        if found := claim_in(part, measure):
            return found
    return {}


@pytest.fixture
def costs(tmp_path: Path, rng: np.random.Generator) -> tuple[Path, float]:
    """The typical item of `new` costs half, one in ten twenty times as much: the bill is more than double."""
    old = np.exp(rng.normal(0, 0.1, ITEMS))
    new = np.where(np.arange(ITEMS) % 10 == 0, 20.0, 0.5) * np.exp(rng.normal(0, 0.1, ITEMS))
    return write(tmp_path, old, new), float(new.sum() / old.sum() - 1)


def test_every_surface_claims_the_bill(costs: tuple[Path, float], tmp_path: Path) -> None:
    path, change = costs
    found = {}
    for command, options in (
        ("compare", ("old", "new", "--on", "money")),
        ("gate", ("old", "new", "--on", "money", "--margin", "10%")),
    ):
        target = tmp_path / f"{command}.json"
        invoke(command, path, *options, "--json", target)
        found[command] = claim_in(json.loads(target.read_text()))
    (claim,) = richter.open(path).compare("old", "new", on=("money",)).of("money")
    found["python"] = {"estimate": claim.estimate, "verdict": str(claim.verdict)}
    assert all(claim["estimate"] == pytest.approx(change) for claim in found.values())
    assert found["compare"]["verdict"] == found["python"]["verdict"]
    assert found["gate"]["verdict"] == "refuted"
    assert any("per typical question -" in note for note in found["compare"]["notes"])


def test_a_size_for_costs_is_about_the_bill(costs: tuple[Path, float], tmp_path: Path) -> None:
    target = tmp_path / "size.json"
    code, _ = invoke("size", costs[0], "old", "new", "--on", "money", "--margin", "20%", "--json", target)
    assert code == 0
    assert json.loads(target.read_text())["labels"] > ITEMS  # one item in ten makes up most of the bill


def test_a_single_item_that_decides_the_bill_is_named_everywhere(tmp_path: Path, rng: np.random.Generator) -> None:
    old, new = np.exp(rng.normal(0, 0.1, (2, ITEMS)))
    new[7] = 60.0
    path, target = write(tmp_path, old, new), tmp_path / "out.json"
    for command in ("compare", "gate"):
        code, _ = invoke(command, path, "old", "new", "--on", "money", "--margin", "10%", "--json", target)
        claim = claim_in(json.loads(target.read_text()))
        assert claim["verdict"] == "undecided"
        assert "question q7 is 3" in claim["sentence"].lower()
        assert code == (4 if command == "gate" else 0)


def test_a_bill_of_nothing_is_blocked_everywhere(tmp_path: Path) -> None:
    path, target = write(tmp_path, np.ones(ITEMS), np.zeros(ITEMS)), tmp_path / "out.json"
    for command in ("compare", "gate"):
        invoke(command, path, "old", "new", "--on", "money", "--margin", "10%", "--json", target)
        assert claim_in(json.loads(target.read_text()))["blocked_by"] == "total"
    with pytest.raises(InputError, match="the total of new is 0"):
        CliRunner().invoke(
            _root, ["size", str(path), "old", "new", "--on", "money", "--margin", "10%"], catch_exceptions=False
        )


@pytest.mark.parametrize("options", [["--on", "money"], ["--on", "money", "--margin", "5pt"], ["--tried", "12"]])
def test_a_page_asks_what_the_comparison_asked(costs: tuple[Path, float], tmp_path: Path, options: list[str]) -> None:
    """The command that a comparison names next has its main measure, its margins and its attempts."""
    compared, page = tmp_path / "compared.json", tmp_path / "page.json"
    invoke("compare", costs[0], *options, "--json", compared)
    invoke("report", costs[0], *options, "-o", tmp_path / "page.html", "--json", page)
    own, other = (json.loads(path.read_text())["claims"] for path in (compared, page))
    keys = ("measure", "verdict", "interval", "p_adjusted", "sentence", "primary")
    of_pairs = [c for c in other if len(c["conditions"]) == 2]
    assert [{k: c[k] for k in keys} for c in of_pairs] == [{k: c[k] for k in keys} for c in own]
    for path in (compared, page):
        assert invoke("verify", path, costs[0])[0] == 0
        assert ("12 attempts" in path.read_text()) == ("--tried" in options)
    _, text = invoke("compare", costs[0], *options)
    assert "12 attempts" in text or "--tried" not in options
