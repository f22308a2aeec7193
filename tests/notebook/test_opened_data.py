"""`richter.open`: one object over runs, files and frames, and what a notebook shows of its results."""

import json
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from scipy.stats import norm

import richter
from helpers.small_run import scores, small_run
from richter.cli._main import _root
from richter.errors import InputError
from richter.records import plain

HOSTILE = '<img src=x onerror="alert(1)">&"\u202e'


@pytest.fixture
def run_folder(tmp_path: Path, rng: np.random.Generator) -> Path:
    return small_run(tmp_path / "run", rng)


def test_a_run_a_file_and_a_frame_give_what_the_commands_give(run_folder: Path, tmp_path: Path) -> None:
    run = richter.open(run_folder)
    frame = run.scores.select("item", "condition", "severity", "domain", "tier")
    path = tmp_path / "scores.parquet"
    frame.write_parquet(path)
    made = CliRunner().invoke(_root, ["compare", str(path), "old", "new", "--json", "-"])
    told = json.loads(made.stdout)
    for opened in (run, richter.open(path), richter.open(frame)):
        found = opened.compare("old", "new").to_dict()
        for mine, theirs in zip(found["claims"], told["claims"], strict=True):
            assert {k: v for k, v in mine.items() if k not in ("basis", "data_hash")} == {
                k: v for k, v in theirs.items() if k not in ("basis", "data_hash")
            }
    made = CliRunner().invoke(_root, ["severity", str(path), "--json", "-", "--resamples", "200"])
    assert run.severity(n_resamples=200).to_dict()["conditions"] == json.loads(made.stdout)["conditions"]
    assert run.conditions == ("old", "new")
    assert run.table("ratings").height == 400
    assert [f.sentence for f in run.findings]
    assert {f.verdict.value for f in run.findings} <= {"verified", "refuted", "undecided", "blocked", "untestable"}


def test_compare_by_hand() -> None:
    """10 items: a right on all, b on 5; McNemar's z is 5 / sqrt 5."""
    frame = pl.DataFrame(
        {
            "item": [str(i) for i in range(10)] * 2,
            "condition": ["a"] * 10 + ["b"] * 10,
            "correct": [1] * 10 + [1, 0] * 5,
        }
    )
    claim = richter.open(frame).compare("a", "b").claims[0]
    assert claim.estimate == -0.5
    assert claim.p == pytest.approx(2 * norm.sf(5**0.5))


class PandasLike:
    """As much of a pandas frame as is relied on: columns of numpy arrays, text as objects with NaN for missing."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.columns = frame.columns
        self._frame = frame

    def __getitem__(self, name: str) -> np.ndarray:
        column = self._frame[name]
        if column.dtype == pl.String:
            return np.array([float("nan") if v is None else v for v in column.to_list()], dtype=object)
        return column.to_numpy()


def test_a_frame_like_pandas_gives_the_same(rng: np.random.Generator) -> None:
    frame = scores(rng).with_columns(pl.Series("domain", (["x", None] * 300)[:600]))
    same = richter.open(PandasLike(frame))
    assert same.severity(n_resamples=200).to_dict() == richter.open(frame).severity(n_resamples=200).to_dict()
    assert (
        same.tail("severity", q=0.8).to_dict()["claims"]
        == richter.open(frame).tail("severity", q=0.8).to_dict()["claims"]
    )
    assert same.floors().to_dict() == richter.open(frame).floors().to_dict()


def test_bad_sources(tmp_path: Path, rng: np.random.Generator) -> None:
    with pytest.raises(InputError, match="no such run or file"):
        richter.open(tmp_path / "none")
    with pytest.raises(InputError):
        richter.open(tmp_path).compare()
    with pytest.raises(InputError, match="The frame: can't find the column with the scores"):
        richter.open(pl.DataFrame({"x": [1]})).compare()
    plan = tmp_path / "plan.toml"
    CliRunner().invoke(_root, ["plan", "new", "severity", "-o", str(plan)])
    assert richter.open(scores(rng)).severity(plan=plan).plan.state == "unlocked"  # a frame is known by its outcomes


class Strict(HTMLParser):
    """Collects every tag and attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_notebook_figures_are_inert_svg(rng: np.random.Generator) -> None:
    frame = scores(rng).with_columns(pl.col("condition").replace("new", HOSTILE))
    run = richter.open(frame)
    shown = [
        run,
        run.compare(),
        run.severity(n_resamples=200),
        run.tail("severity", q=0.8),
        run.floors(),
        run.findings[0],
        richter.severity.estimate_b(frame["severity"], n_resamples=200, rng=rng),
        richter.tail.fit_gpd(rng.exponential(size=200)),
    ]
    for result in shown:
        html = result._repr_html_()
        seen = Strict()
        seen.feed(html)
        assert seen.tags <= {"div", "p", "svg", "g", "title", "text", "line", "circle", "code"}, result
        assert not {a for a in seen.attributes if a.startswith("on") or a in ("src", "href", "style")}
        assert "svg" in seen.tags
        assert "\u202e" not in html
        ElementTree.fromstring(html)  # well-formed: what was opened is closed


def statistics(column: Any) -> list[Any]:
    """Statistics of every room on columns made by `column` (an array, a polars or a pandas column)."""
    rng = np.random.default_rng(1)
    severity = rng.choice(np.arange(9) / 2, 400, p=[0.5, 0.2, 0.1, 0.08, 0.05, 0.03, 0.02, 0.01, 0.01])
    confidence = rng.random(400)
    correct = (rng.random(400) < confidence).astype(float)
    tail = rng.exponential(size=400)
    seed = np.random.default_rng
    return [
        richter.severity.estimate_b(column(severity), n_resamples=200, rng=seed(0)),
        richter.severity.fit_families(column(severity), n_resamples=200, rng=seed(0)),
        richter.severity.deployment_table(column(severity)),
        richter.tail.fit_gpd(column(tail)),
        richter.tail.tvar(column(tail)),
        richter.calibration.ece(column(confidence), column(correct)),
        richter.floors.rate_sequence(column(correct)).interval,
        richter.stats.weighted_kappa(column(severity), column(np.roll(severity, 1))),
    ]


def as_plain(result: Any) -> Any:
    return plain(result)


def test_statistics_take_lists_and_polars_columns() -> None:
    expected = [as_plain(r) for r in statistics(lambda x: x)]
    assert [as_plain(r) for r in statistics(lambda x: pl.Series(x))] == expected
    assert [as_plain(r) for r in statistics(lambda x: x.tolist())] == expected


def test_every_result_of_a_run_is_a_frame_and_prints_its_sentence(run_folder: Path) -> None:
    run = richter.open(run_folder)
    for result in (run.measure(), run.compare("old", "new"), run.severity(), run.floors()):
        frame = result.to_frame()
        assert {"measure", "estimate", "low", "high"} <= set(frame.columns)
        assert frame.height > 0
        assert not str(result).startswith(type(result).__name__)
    claim = run.compare("old", "new").claims[0]
    assert claim.to_frame().row(0, named=True)["estimate"] == claim.estimate  # the rest: one row of its own values


def test_what_the_page_on_python_names_is_there(tmp_path: Path) -> None:
    """`run.grades` was not; `measure` refused a frame, which `richter report` takes; two slips gave bare errors."""
    page = (Path(__file__).parents[2] / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    frame = pl.DataFrame({"item": [0, 1, 0, 1], "condition": ["a", "a", "b", "b"], "correct": [1, 0, 1, 1]})
    opened = richter.open(frame)
    named = set(re.findall(r"`run\.(\w+)", page))
    assert len(named) > 10
    assert [name for name in sorted(named) if name not in dir(opened)] == []
    assert opened.measure(n_resamples=50).conditions[0].name == "a"
    assert opened.compare("a", "b", margin="2pt").margins == {"accuracy": 0.02}
    with pytest.raises(InputError, match=r"^one: no such run or file"):  # a mapping of a name to a path
        richter.open([{"item": "one"}])
    with pytest.raises(InputError, match="not an array of scores"):
        richter.open({"a": {"item": "one"}})
