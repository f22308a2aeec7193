"""A run with two simulated conditions and simulated rule ratings, as `richter audit` would leave one."""

from pathlib import Path

import numpy as np
import polars as pl

from richter.records import Answer, Condition, Item, Rating
from richter.store import Call, open_ledger


def scores(rng: np.random.Generator, n: int = 300) -> pl.DataFrame:
    """Two simulated conditions; the second errs twice as often."""
    rows = []
    for name, rate in (("old", 0.2), ("new", 0.4)):
        wrong = rng.random(n) < rate
        severity = np.where(wrong, rng.choice([0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0], n), 0.0)
        rows += [{"item": f"q{i}", "condition": name, "severity": float(s)} for i, s in enumerate(severity)]
    return pl.DataFrame(rows)


def small_run(folder: Path, rng: np.random.Generator, *, n: int = 200, text: str = "B", new: str = "new") -> Path:
    """Write the run; every answer is `text`, and the second condition is called `new`."""
    frame = scores(rng, n).with_columns(pl.col("condition").replace("new", new))
    with open_ledger(folder, mode="write") as ledger:
        ledger.add_items([Item(id=f"q{i}", prompt=f"Q{i}?", reference="A", domain="d", tier=1) for i in range(n)])
        ledger.add_conditions([Condition(name=name, model="simulated/m") for name in ("old", new)])
        for key, row in enumerate(frame.iter_rows(named=True)):
            answer = Answer(text=text, item=row["item"], condition=row["condition"])
            ledger._commit([Call(key=str(key), model="simulated/m", request="{}", answer=answer, given_up=True)])
        ledger.add_ratings(
            [
                Rating(item=r["item"], condition=r["condition"], rater="rules", kind="rule", severity=r["severity"])
                for r in frame.iter_rows(named=True)
            ]
        )
    return folder
