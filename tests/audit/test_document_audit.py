"""One audit of a folder of documents from end to end, over loopback. Every model in it is simulated."""

import json

import pytest

from helpers.document_world import RATES, SimulatedWorld, write_documents
from richter.cli import main
from richter.store import find_parts, open_ledger, run_used

BUDGET = 1500


def exit_status(words: list[str]) -> int:
    with pytest.raises(SystemExit) as end:
        main(words)
    return int(end.value.code or 0)


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """The run, its document, the requests that it took and that doing the same again took, and the world."""
    folder = write_documents(tmp_path_factory.mktemp("world") / "mills", 80)
    found = folder.with_name("found.json")
    with SimulatedWorld() as world:
        words = ["audit", str(folder), "--generator", world.name("simulated-generator"), "--questions", "60"]
        words += [part for model in RATES for part in ("--model", world.name(model))]
        words += ["--judges", f"{world.name('simulated-judge-a')},{world.name('simulated-judge-b')}"]
        words += ["--budget", f"{BUDGET}calls", "--draws", "4", "--search-calls", "100", "--json", str(found)]
        assert exit_status(words) == 0
        requests, document = len(world.bodies), json.loads(found.read_text(encoding="utf-8"))
        assert exit_status(words) == 0
        yield folder.with_name("mills.audit"), document, requests, len(world.bodies) - requests, world


def test_every_part_is_played_within_the_budget(audited) -> None:
    run, _, requests, _, world = audited
    assert set(world.parts) == {*RATES, "simulated-generator", "simulated-judge-a", "simulated-judge-b"}
    assert 0 < requests <= BUDGET
    assert run_used(run).calls <= BUDGET
    assert (run / "report.html").exists()


def test_the_same_command_again_asks_nothing_more(audited) -> None:
    _, _, _, more, _ = audited
    assert more == 0


def test_claims_are_settled_by_sequences_and_are_true_of_the_simulated_models(audited) -> None:
    _, document, _, _, _ = audited
    stopped = [c for c in document["claims"] if c["measure"] == "stopping"]
    assert len(stopped) == 5  # which is better, and of each model severe errors and calibration
    better = next(c for c in stopped if "better than" in c["notes"][0])
    assert better["verdict"] == "verified"
    assert all(c["interval"] is None or c["interval"]["level"] == pytest.approx(0.99) for c in stopped)


def test_failures_that_the_search_found_are_weighed(audited) -> None:
    run, document, _, _, _ = audited
    searches = {name: part for name, part in find_parts(run).items() if name.startswith("search-")}
    assert len(searches) == len(RATES)
    severities = []
    for part in searches.values():
        with open_ledger(part) as ledger:
            severities += [r.severity for r in ledger.ratings(kind="judge")]
    assert severities
    assert all(severity is not None and severity > 0 for severity in severities)
    failing = [q for search in document["search"].values() for q in search["failing"]]
    assert failing
    assert {q["severity"] for q in failing} <= {1.0, 2.5, 4.0}
