"""evalsig: `compare` of two run frames; recommended: `cluster=`, `holm` over several, `sequential_gate` for looks.

Of several draws it uses epoch 0 only, as its `compare` says.
"""

import numpy as np
from evalsig import ItemResult, RunFrame, compare, holm, sequential_gate
from play import Refused, claim, group_of, sides, versus

requires = "evalsig==0.1.2"
ways = ("default", "recommended")
sequential = ("recommended",)


def answer(world, table, way):
    passage = group_of(table) or {}
    better = way == "recommended"
    if better and not passage and "day" not in table and world["question"] != "some-better":
        return "same"
    found = sides(world, table)
    if found is None:
        return None

    def frame(name, items):
        rows = [
            ItemResult(item_id=i, score=x, cluster_id=passage.get(i), epoch=k)
            for i, values in items.items()
            for k, x in enumerate(values)
        ]
        return RunFrame(run_id=name, model_id=name, task_id="task", metric_name="score", items=rows)

    (base, first), *_ = found.items()
    if better and "day" in table:
        gaps = [found["second"][i][0] - first[i][0] for i in first]
        told = sequential_gate(gaps, alternative="two-sided")
        return [claim(told.stopped, told.delta, told.ci)]
    names, told = [name for name, _ in versus(found)], []
    for name in names:
        try:
            cluster = "passage" if better and passage else None
            told.append(compare(frame(base, first), frame(name, found[name]), cluster=cluster))
        except ValueError as error:
            raise Refused(str(error)) from error
    shown = [c.significant for c in told]
    if better and len(told) > 1:
        shown = holm(np.array([c.p_value for c in told])).reject
    return [claim(bool(yes), c.delta, c.ci, name=n) for n, c, yes in zip(names, told, shown, strict=True)]
