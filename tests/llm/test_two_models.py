"""Two real models on the same questions, where both are at hand: nothing is fetched for it."""

from pathlib import Path

import pytest

from richter.audit import compare_tables
from richter.models import weights_cached
from richter.store import open_ledger
from richter.tables import read_tables
from richter_audit.bench import build_facts
from richter_audit.stages import ask_run, demo_prompts, grade_run


@pytest.mark.slow
@pytest.mark.skipif(
    weights_cached("smollm2") is None or weights_cached("gemma-270m") is None,
    reason="the weights of both models are not in the cache (richter demo --also gemma-270m fetches them)",
)
def test_two_models_are_asked_compared_and_crossed(tmp_path: Path) -> None:
    """One claim on the items of both, counted anew by hand; of one's errors so many are the other's too."""
    pytest.importorskip("xllamacpp")
    _, small, _, other = demo_prompts(also="gemma-270m")
    items = build_facts(items=12, seed=5, domains=("countries", "money", "computing codes")).items  # quickly read
    ask_run(tmp_path / "run", items, [small, other])
    grade_run(tmp_path / "run")
    right = {item.id: item.reference for item in items}
    with open_ledger(tmp_path / "run") as ledger:
        correct = {(a.item, a.condition): a.text.strip() == right[a.item] for a in ledger.answers()}
    assert len(correct) == 24
    found = compare_tables(read_tables(tmp_path / "run"))
    [claim] = [c for c in found.claims if c.measure == "accuracy"]
    assert claim.conditions == ("examples", "gemma-270m examples")
    rates = [sum(correct[i, c] for i in right) / 12 for c in claim.conditions]
    assert claim.values == pytest.approx(rates)
    crossed = [
        [sum(not correct[i, a] and not correct[i, b] for i in right) for b in claim.conditions]
        for a in claim.conditions
    ]
    assert crossed[0][1] == crossed[1][0] <= min(crossed[0][0], crossed[1][1])
    fixed = sum(not correct[i, "examples"] and correct[i, "gemma-270m examples"] for i in right)
    assert crossed[0][0] - crossed[0][1] == fixed
    assert found.pairs[0].fixed == fixed
