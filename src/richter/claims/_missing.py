"""Missing grades at an end of the range: the second of the two ways in which a claim must hold."""

import dataclasses
from typing import Literal

import numpy as np

from richter.claims._outcomes import Codes, Outcomes

__all__ = ["with_missing_at"]


def with_missing_at(outcomes: Outcomes, lacking: Codes, end: Literal["worst", "best"] = "worst") -> Outcomes:
    """The same outcomes with a row at the worse (or better) end of the range for every grade that is missing.

    `lacking` counts them by item and condition. Where people labelled some answers, the added rows are a stratum of
    their own in which every label is known.
    """
    value = outcomes.metric.worst if end == "worst" else outcomes.metric.best
    assert value is not None
    item, condition = (np.repeat(code, lacking.ravel()) for code in np.indices(lacking.shape).reshape(2, -1))
    added, before = len(item), len(outcomes.item)
    changes: dict[str, object] = {
        "item": np.concatenate([outcomes.item, item]),
        "condition": np.concatenate([outcomes.condition, condition]),
        "value": np.concatenate([outcomes.value, np.full(added, value)]),
    }
    if outcomes.draw is not None:
        changes["draw"] = np.concatenate([outcomes.draw, np.full(added, -1)])
    if outcomes.run is not None:
        changes["run"] = np.concatenate([outcomes.run, np.zeros(added, dtype=np.intp)])
    if outcomes.label is not None:
        layer = np.zeros(before, dtype=np.intp) if outcomes.layer is None else outcomes.layer
        changes["label"] = np.concatenate([outcomes.label, np.full(added, value)])
        changes["layer"] = np.concatenate([layer, np.full(added, int(layer.max(initial=0)) + 1)])
    return dataclasses.replace(outcomes, **changes)  # type: ignore[arg-type]
