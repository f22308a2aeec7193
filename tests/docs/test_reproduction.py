"""The page that sets Richter's figures beside the papers' has every row, and only rows."""

import importlib
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.audit  # rows run written benchmarks and searches

ROOT = Path(__file__).parents[2]

# what the papers have, table by table and figure by figure
LISTED = {
    "ERRORQUAKE": (
        "rubric; 8 x 5 benchmark with traps; queries by a model, tier audit; "
        "dual judge with round robin, tiebreak and self-judging audit; "
        "human study page; ICC, kappas, alpha, overcall, PPV; five families with BIC and Vuong; b with KS m_min; "
        "discriminator; matched accuracy by equivalence; jackknife; aggregation; threshold sweep; fixed m_min; "
        "tail ratio; log-linear; Fisher with BH; hierarchical bootstrap; 10,000 queries; judge leave-one-out; scaling; "
        "micro-error prediction; domains; pipeline pairs; S1; S2; S3; S4; S5; deployment table; mechanisms; "
        "information and resolution bound; Croissant"
    ),
    "Tail protocol": (
        "GPD; TVaR; logit and bound diagnosis; G1-G5, P1-P2; sample-size bound; stability scan; pair matrix; "
        "tolerance sensitivity; synthetic recovery; two scorers; perturbation probe; pre-registration"
    ),
    "Sem-ECE": (
        "sampling; clustering; Sem1, Sem2, verbalised; regimes and constants; margin-stratified curves; "
        "convergence and slope; paired bootstrap; reliability"
    ),
    "Verification tax": (
        "floors; sizing; Lipschitz estimate; self-evaluation test; leaderboard noise; phase transition; active; "
        "sequential; composition; fairness; horizon; half-life; trap; transfer; synthetic experiments"
    ),
    "SEA": (
        "knowledge base; hierarchical retrieval; generation and rephrasing; ascent; graph and pruning; budget; "
        "ablations; baselines; error map; patterns; cross-model matrix; free-form and context retests; predictor; "
        "cost table"
    ),
}


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "papers"))
    yield importlib.import_module("reproduction")
    sys.modules.pop("reproduction", None)


def rows_of_page(text: str) -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = {}
    for part in re.split(r"^## ", text, flags=re.M)[1:]:
        title, body = part.split("\n", 1)
        lines = [line for line in body.splitlines() if line.startswith("| ")]
        found[title] = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[1:]]
    return found


def test_every_listed_row_is_on_the_page_and_no_other() -> None:
    page = (ROOT / "docs" / "validation" / "papers.md").read_text()
    found = rows_of_page(page)
    for paper, names in LISTED.items():
        assert [cells[0] for cells in found[paper]] == names.split("; ")
        for cells in found[paper]:
            assert len(cells) == 6, cells[0]  # row, where, command, Richter, the paper, difference
            assert all(cells), cells[0]
            assert not cells[3].startswith(("failed", "skipped: not run")), cells
    assert set(found) == {*LISTED, "Skipped in this run"}


def test_the_page_is_what_the_program_writes(study: ModuleType) -> None:
    """Nothing on it is typed by hand: with the figures of its rows the program writes it again, to the letter."""
    text = (ROOT / "docs" / "validation" / "papers.md").read_text()
    figures = {f"{paper}: {cells[0]}": cells[3] for paper, rows in rows_of_page(text).items() for cells in rows}
    assert study.page(figures) == text


def test_a_row_without_its_data_says_so(study: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("DATA", "WORK", "PAGE"):
        monkeypatch.setattr(study, name, tmp_path / name)
    monkeypatch.setattr(study, "ROWS", [r for r in study.ROWS if r.name in ("stability scan", "horizon")])
    monkeypatch.setattr(sys, "argv", ["reproduction.py"])
    study.main()
    assert "skipped: data not there (mqm_newstest2020_ende_scores.tsv)" in study.PAGE.read_text()
    assert "1.40e+04" in study.PAGE.read_text()
    # it goes on where it stopped: what is there is not made again
    monkeypatch.setattr(study, "ROWS", [r._replace(run=lambda: 1 / 0) for r in study.ROWS])
    study.main()
    assert "1.40e+04" in study.PAGE.read_text()
