import dataclasses
import json

import numpy as np
import polars as pl
import pytest

from helpers.small_base import SimulatedTestee, small_base
from richter.cli import main
from richter.errors import InputError
from richter.records import Condition, Decoding
from richter_audit.ascent import SearchSettings, base_of, run_search, survey_errors
from richter_audit.llm import parse_budget

CONDITION = Condition(name="simulated", model="simulated/testee", decoding=Decoding(max_tokens=8), style="cloze")


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    folder = tmp_path_factory.mktemp("search")
    base = small_base(folder / "kb")
    testee = SimulatedTestee(lambda document, _: document in (2, 3, 7))
    settings = SearchSettings(strategy="sea", wordings="all", batch=20, neighbours=12, questions=1, phrasings=1)
    summary = run_search(folder / "run", base, CONDITION, settings, budget=parse_budget("140calls"), model=testee)
    return folder / "run", base, summary


def show(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main(["search", "show", *map(str, arguments)])
    printed = capsys.readouterr()
    return stop.value.code, printed.out, printed.err


def test_every_failing_paragraph_is_on_the_map_and_clusters_are_the_hard_documents(searched):
    run, base, summary = searched
    found = survey_errors(run, base, rng=np.random.default_rng(0))
    assert len(found.points) == sum(step.paragraphs for step in summary.steps)  # what passes is on the map too
    failing = [point for point in found.points if point.fails]
    assert len(failing) == summary.sources_found == sum(c.paragraphs for c in found.clusters) + found.scattered
    assert {base.document_of(point.paragraph) for point in failing} == {2, 3, 7}
    asked = base.paragraphs([point.paragraph for point in found.points])
    assert [point.question for point in found.points] == [p.questions[0].wordings[0] for p in asked]
    hard = [sorted({base.document_of(p.paragraph) for p in failing if p.cluster == c.cluster}) for c in found.clusters]
    assert hard == [[3, 7], [2]]  # documents 3 and 7 share a category
    assert (found.clusters[0].kind, found.clusters[0].name) == ("place", "category: category 3")
    for cluster in found.clusters:
        points = [point for point in found.points if point.cluster == cluster.cluster]
        rows = [point.paragraph for point in points if point.fails]
        assert (len(points), len(rows)) == (cluster.asked, cluster.paragraphs)
        assert cluster.example in rows
        assert cluster.categories == ((f"category {base.document_of(rows[0]) % 4}", len(rows)),)
        assert cluster.error == pytest.approx(np.mean([point.error for point in points]))
    assert found == survey_errors(run, base, rng=np.random.default_rng(0))


def test_two_models_share_one_plane(searched, tmp_path):
    run, base, _ = searched
    testee = SimulatedTestee(lambda document, _: document == 5)
    other = dataclasses.replace(CONDITION, name="other")
    settings = SearchSettings(strategy="random", wordings="all", batch=20, questions=1, phrasings=1, seed=9)
    run_search(tmp_path / "other", base, other, settings, budget=parse_budget("60calls"), model=testee)
    places = [
        {point.paragraph: (point.x, point.y) for point in survey_errors(r, base, rng=np.random.default_rng(k)).points}
        for k, r in enumerate((run, tmp_path / "other"))
    ]
    both = places[0].keys() & places[1].keys()
    assert len(both) > 10
    for row in both:
        assert places[0][row] == pytest.approx(places[1][row])


def test_show_writes_map_clusters_costs_and_curves(searched, tmp_path, capsys):
    run, base, summary = searched
    code, out, _ = show(capsys, run, "--map", tmp_path / "map.csv", "--json", tmp_path / "show.json")
    assert code == 0
    assert "2 clusters" in out
    table = pl.read_csv(tmp_path / "map.csv")
    assert table.columns == [
        *("paragraph", "x", "y", "category", "cluster", "step", "error", "fails", "question", "model", "text")
    ]
    assert table["fails"].sum() == summary.sources_found < len(table)
    assert table["text"].to_list() == [p.text for p in base.paragraphs(table["paragraph"].to_list())]
    found = json.loads((tmp_path / "show.json").read_text())
    assert len(found["map"]["points"]) == len(table)
    assert len(found["clusters"]["found"]) == found["clusters"]["clusters"] == 2
    assert found["not_computed"] == {}
    (cost,) = found["costs"]
    assert (cost["model"], cost["role"], cost["calls"]) == ("simulated/testee", "tested", summary.spent.calls)
    assert (cost["tokens_in"], cost["tokens_out"]) == (10 * summary.answers, 2 * summary.answers)
    assert found["cost_per_error"]["calls"] == pytest.approx(summary.spent.calls / summary.errors_found)
    curves = found["curves"]
    assert curves["answers"][-1] == found["answers"]
    assert curves["errors_found"][-1] == found["errors_found"]
    assert curves["cumulative_error"] == [step["cumulative_error"] for step in found["steps"]]
    # one question a paragraph: the cumulative error of eq. (2) is the share of wrong answers so far
    shares = [wrong / answers for wrong, answers in zip(curves["errors_found"], curves["answers"], strict=True)]
    assert curves["cumulative_error"] == pytest.approx(shares)


def test_a_base_that_has_moved_is_said_and_another_one_is_refused(tmp_path, capsys):
    base = small_base(tmp_path / "kb")
    testee = SimulatedTestee(lambda document, _: False)
    settings = SearchSettings(strategy="sea", wordings="all", batch=8, neighbours=6, questions=1, phrasings=1)
    run_search(tmp_path / "run", base, CONDITION, settings, budget=parse_budget("16calls"), model=testee)
    code, out, _ = show(capsys, tmp_path / "run")
    assert code == 0
    assert "No group of paragraphs fails more often" in out  # nothing failed: said, and the rest shown
    assert "The map (" in out
    assert "No prediction: 16 paragraphs, 0 failing" in out
    (tmp_path / "kb").rename(tmp_path / "moved")
    assert base_of(tmp_path / "run") is None
    code, out, _ = show(capsys, tmp_path / "run")
    assert (code, "--kb says where" in out) == (0, True)
    code, _, err = show(capsys, tmp_path / "run", "--map", tmp_path / "map.csv")
    assert (code, "--kb says where" in err) == (1, True)
    code, out, _ = show(capsys, tmp_path / "run", "--kb", tmp_path / "moved", "--json", tmp_path / "j.json")
    assert code == 0
    found = json.loads((tmp_path / "j.json").read_text())
    assert (found["clusters"]["found"], found["prediction"]) == ([], None)
    assert len(found["map"]["points"]) == 16
    assert set(found["not_computed"]) == {"prediction"}
    other = small_base(tmp_path / "other", documents=3)
    with pytest.raises(InputError, match="is not the base of"):
        survey_errors(tmp_path / "run", other, rng=np.random.default_rng(0))


def test_a_base_that_was_asked_whole_has_its_own_rate(tmp_path, capsys):
    """All 20 paragraphs are asked about, and 10 of them fail: not the rate of the four that were drawn at random."""
    base = small_base(tmp_path / "kb", documents=2, paragraphs=10)
    settings = SearchSettings(batch=10, questions=1, phrasings=1)
    testee = SimulatedTestee(lambda document, _: document == 1)
    found = run_search(tmp_path / "run", base, CONDITION, settings, budget=parse_budget("500calls"), model=testee)
    assert (found.population.n, found.population.size, found.population.error_rate) == (20, 20, 0.5)
    status, printed, _ = show(capsys, tmp_path / "run")
    assert status == 0
    assert "All were asked about, and 20 have an answer." in " ".join(printed.split())
    assert "higher by design" not in printed
    assert f"Next: richter search export {tmp_path / 'run'} -o regressions.jsonl" in printed.replace("\n", "")
