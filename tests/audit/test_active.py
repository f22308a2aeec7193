import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from richter.audit import label_pool
from richter.errors import InputError
from richter.floors import active_estimate, start_active


def test_a_pool_is_labelled_to_its_budget_by_a_simulated_person() -> None:
    rng = np.random.default_rng(0)
    confidence = rng.beta(5, 1.5, 800)
    truth = (rng.random(800) < confidence).astype(float)
    names = [f"q{i}" for i in range(800)]
    asked: list[str] = []

    async def person(items: Sequence[str]) -> list[float | None]:
        """Simulated: knows the truth, and passes on every ninth item."""
        asked.extend(items)
        return [None if int(i[1:]) % 9 == 0 else truth[int(i[1:])] for i in items]

    sizes: list[int] = []
    state = asyncio.run(
        label_pool(
            start_active(confidence, budget=150, seed=3), names, person, on_batch=lambda s: sizes.append(s.labelled)
        )
    )
    assert state.labelled == 150 == sizes[-1]
    assert len(asked) == len(set(asked)) > 150
    assert 1 - truth.mean() in active_estimate(state).error_interval


def test_labels_must_fit_the_items() -> None:
    async def short(items: Sequence[str]) -> list[float | None]:
        return [1.0]

    state = start_active(np.linspace(0.1, 0.9, 50), budget=20)
    with pytest.raises(InputError, match="1 labels for 10 items"):
        asyncio.run(label_pool(state, [str(i) for i in range(50)], short))
    with pytest.raises(InputError, match="names for a pool"):
        asyncio.run(label_pool(state, ["a"], short))
