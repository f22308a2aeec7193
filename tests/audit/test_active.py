from pathlib import Path

import numpy as np
import pytest

from helpers.trials import n_trials
from richter.audit import next_labels
from richter.errors import InputError
from richter.floors import active_estimate, next_batch, start_active


def pool_file(path: Path, labels: dict[str, float]) -> Path:
    rng = np.random.default_rng(1)
    rows = [f"q{k},m,{labels.get(f'q{k}', '')},{c:.3f}" for k, c in enumerate(rng.uniform(0.3, 0.95, 400))]
    path.write_text("item,condition,correct,confidence\n" + "\n".join(rows))
    return path


def test_batches_of_any_size_ask_the_same_items_in_the_end() -> None:
    rng = np.random.default_rng(0)
    c = rng.beta(6, 1.2, 1000)
    right = (rng.random(1000) < c).astype(float)
    found = []
    for size in (None, 7):
        state = start_active(c, budget=120, seed=4)
        while len(batch := next_batch(state, size=size)):
            state = state.with_labels(batch, right[batch])
        found.append(set(np.flatnonzero(~np.isnan(state.labels)).tolist()))
    assert found[0] == found[1]


@pytest.mark.slow
def test_small_batches_do_not_bias_the_error_rate_recovers_truth() -> None:
    # rates learned anew from every batch are 4% too low; the relative bias of 300 audits has a standard error of 1%
    rng, trials = np.random.default_rng(3), n_trials(300)
    off, truth = [], []
    for k in range(trials):
        c = rng.beta(6, 1.2, 1000)
        right = (rng.random(1000) < c).astype(float)
        state = start_active(c, budget=150, seed=k)
        while len(batch := next_batch(state, size=15)):
            state = state.with_labels(batch, right[batch])
        truth.append(1 - right.mean())
        off.append(active_estimate(state).error_rate - truth[-1])
    assert abs(np.mean(off)) < 3 * np.std(off) / np.sqrt(trials)
    assert np.std(off) / np.mean(truth) < 0.012 * np.sqrt(300)


def test_what_was_asked_is_remembered_and_skipped_items_are_named(tmp_path: Path) -> None:
    memory = tmp_path / "asked.json"
    labels: dict[str, float] = {}
    first = next_labels(pool_file(tmp_path / "p.csv", labels), budget=60, size=10, memory=memory)
    again = next_labels(pool_file(tmp_path / "p.csv", labels), budget=60, size=10, memory=memory)
    assert again.items == first.items  # nothing was labelled: the same items
    labels |= dict.fromkeys(first.items[1:], 1.0)
    second = next_labels(pool_file(tmp_path / "p.csv", labels), budget=60, size=10, memory=memory)
    assert second.skipped == (first.items[0],)
    assert "passed over" in second.warnings[0]
    assert first.items[0] in second.items  # it is asked again
    stray = next(f"q{k}" for k in range(400) if f"q{k}" not in {*first.items, *second.items})
    labels[stray] = 0.0
    third = next_labels(pool_file(tmp_path / "p.csv", labels), budget=60, size=10, memory=memory)
    assert third.unasked == 1
    with pytest.raises(InputError, match="begun with seed 0"):
        next_labels(pool_file(tmp_path / "p.csv", labels), budget=60, seed=1, memory=memory)
    memory.write_text("[]")
    with pytest.raises(InputError, match="asked before"):
        next_labels(pool_file(tmp_path / "p.csv", labels), budget=60, memory=memory)
