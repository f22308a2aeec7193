"""Level and margin by option, by `richter.toml` and by default: one value in every command that has them."""

import contextlib
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from helpers.spelling import command_of
from richter.audit import compare_tables, margin_plan, run_gate, watch_series
from richter.cli import main
from richter.floors import decide_claim
from richter.records import DEFAULT_LEVEL
from richter.tables import read_tables


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of two conditions with severities and confidences, and twelve days of one."""
    place, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(5)
    items = [f"q{k}" for k in range(120)]
    tables = []
    for name, rate in (("old", 0.4), ("new", 0.3)):
        wrong = rng.random(120) < rate
        severity = np.where(wrong, rng.choice([0.5, 1, 1.5, 2, 2.5, 3, 4], 120), 0)
        table = {"item": items, "condition": name, "correct": (~wrong).astype(int)}
        tables.append(pl.DataFrame(table | {"severity": severity, "confidence": rng.uniform(0.5, 1, 120).round(3)}))
    pl.concat(tables).write_csv(place / "results.csv")
    (place / "days").mkdir()
    for day in range(12):
        table = pl.DataFrame({"item": items, "condition": "bot", "correct": rng.binomial(1, 0.8, 120)})
        table.write_csv(place / "days" / f"2026-01-{day + 1:02}.csv")
    return place


def run(folder: Path, *arguments: str, settings: str = "") -> dict[str, object]:
    toml, out = folder / "richter.toml", folder / "out.json"
    toml.write_text(settings)
    try:
        with contextlib.chdir(folder), pytest.raises(SystemExit) as stop:
            main([*arguments, "--json", str(out)])
    finally:
        toml.unlink()
    assert stop.value.code in (0, 3, 4, None)
    found: dict[str, object] = json.loads(out.read_text())
    return found


def levels(found: object, key: str = "plain_interval") -> set[float]:
    """The levels of all intervals of one name anywhere in a document."""
    if isinstance(found, list):
        return set().union(*(levels(x, key) for x in found)) if found else set()
    if not isinstance(found, dict):
        return set()
    own = {found[key]["level"]} if isinstance(found.get(key), dict) else set()
    return own.union(*(levels(x, key) for x in found.values())) if found else own


# the command, and the interval that shows its level: of claims the unadjusted one, of a gate 1 - 2 (1 - level)
COMMANDS_WITH_LEVEL = {
    "compare": (("compare", "results.csv", "old", "new", "--resamples", "100"), "plain_interval"),
    "gate": (("gate", "results.csv", "old", "new", "--margin", "20pt"), "plain_interval"),
    "report": (("report", "results.csv", "--only", "floors"), "plain_interval"),
    "severity": (("severity", "results.csv"), "plain_interval"),
    "calibration": (("calibration", "results.csv"), "plain_interval"),
    "watch": (("watch", "days"), None),
    "size": (("size", "results.csv", "old", "new", "--on", "accuracy", "--margin", "5pt"), None),
}


@pytest.mark.parametrize("name", COMMANDS_WITH_LEVEL)
def test_a_level_of_the_settings_is_that_of_the_option(name: str, folder: Path) -> None:
    words, key = COMMANDS_WITH_LEVEL[name]
    by_option = run(folder, *words, "--level", "0.9")
    by_settings = run(folder, *words, settings="level = 0.9")
    usual = run(folder, *words)
    assert by_settings.pop("defaults") == {"level": 0.9}
    for document in (by_option, by_settings, usual):
        for changing in ("built_at", "created", "run"):
            document.pop(changing, None)
    assert by_settings == by_option
    assert usual != by_option
    if key is not None:
        assert 0.9 in levels(by_option, key)
        assert DEFAULT_LEVEL not in levels(by_option, key)
        assert DEFAULT_LEVEL in levels(usual, key)
    if "level" in by_option:
        assert (by_option["level"], usual["level"]) == (0.9, DEFAULT_LEVEL)


def test_a_gates_intervals_follow_its_level(folder: Path) -> None:
    words = ("gate", "results.csv", "old", "new", "--margin", "20pt")
    for level in (0.9, 0.99):
        (claim,) = run(folder, *words, "--level", str(level))["claims"]  # type: ignore[misc]
        assert claim["interval"]["level"] == pytest.approx(1 - 2 * (1 - level))


def test_an_option_wins_over_the_settings(folder: Path) -> None:
    words = ("compare", "results.csv", "old", "new", "--resamples", "100")
    assert run(folder, *words, "--level", "0.99", settings="level = 0.9")["level"] == 0.99


@pytest.mark.parametrize("settings", ['margin = "2pt"', "margin = 0.02", '[margin]\naccuracy = "2pt"'])
def test_a_margin_of_the_settings_works_with_every_command(settings: str, folder: Path) -> None:
    compared = run(folder, "compare", "results.csv", "old", "new", "--resamples", "100", settings=settings)
    assert compared["margins"]["accuracy"] == pytest.approx(0.02)  # type: ignore[index]
    required = run(folder, "gate", "results.csv", "old", "new", settings=settings)["claims"]
    assert [c["hypothesis"]["value"] for c in required] == pytest.approx([-0.02])  # type: ignore[attr-defined]
    sized = run(folder, "size", "results.csv", "old", "new", settings=settings)
    assert sized["margin"] == pytest.approx(0.02)
    watched = run(folder, "watch", "days", settings=settings)
    assert "2 points" in str(watched["reliance"])
    assert run(folder, "report", "results.csv", "--only", "floors", settings=settings)["claims"]


def test_a_margin_is_that_of_the_measure_that_it_is_stated_for(folder: Path) -> None:
    words = ("compare", "results.csv", "old", "new", "--resamples", "100")
    found = run(folder, *words, "--margin", "2pt", "--margin", "catastrophic_rate=0.5pt")
    claims = {c["measure"]: c["margin"] for c in found["claims"]}  # type: ignore[attr-defined]
    assert claims["accuracy"] == pytest.approx(0.02)
    assert claims["catastrophic_rate"] == pytest.approx(0.005)
    assert claims["mean_severity"] is None


@pytest.mark.parametrize("given", [("2pt", "3pt"), ("accuracy=2pt", "accuracy=2pt"), ("=2pt",), ("accuracy=",)])
def test_margins_that_say_nothing_or_two_things_are_refused(given: tuple[str, ...], folder: Path) -> None:
    words = [word for margin in given for word in ("--margin", margin)]
    with pytest.raises(SystemExit) as stop:
        main(["compare", str(folder / "results.csv"), *words])
    assert stop.value.code == 2


def test_python_has_the_default_of_the_command_line(folder: Path) -> None:
    """The settings of a folder are those of the command line: Python is told a level, or has the default."""
    tables = read_tables(folder / "results.csv")
    assert compare_tables(tables, conditions=["old", "new"], n_resamples=100).level == DEFAULT_LEVEL
    assert run_gate(margin_plan(tables, 0.2), tables).level == DEFAULT_LEVEL
    for function in (watch_series, decide_claim):
        assert function.__kwdefaults__["level"] == DEFAULT_LEVEL
    for name in ("compare", "gate", "report", "watch", "calibration", "label agreement", "search show"):
        _, command = command_of(name.split()) or ("", None)
        assert command is not None
        options = {p.name: p.default for p in command.params}
        assert options["level"] == DEFAULT_LEVEL


@pytest.mark.parametrize("settings", ['[grade]\n0 = "right"\n1 = "wrong"', '[read."results.csv"]\nbetter = "lower"'])
def test_every_output_says_that_the_settings_changed_the_reading(settings: str, folder: Path) -> None:
    """A stranger's `richter.toml` turns grades around: nobody typed that, so that all who read results are told."""
    words = ("compare", "results.csv", "old", "new", "--resamples", "100", "--md", str(folder / "out.md"))
    document = run(folder, *words, settings=settings)
    gate = run(folder, "gate", "results.csv", "old", "new", "--margin", "20pt", settings=settings)
    page = folder / "page.html"
    run(folder, "report", "results.csv", "--only", "floors", "--force", "-o", str(page), settings=settings)
    for text in (str(document["notes"]), str(gate["notes"]), page.read_text(), (folder / "out.md").read_text()):
        assert "richter.toml sets how the data are read" in text
    assert "richter.toml" not in str(run(folder, *words)["notes"])
