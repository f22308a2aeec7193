"""Rows that say nothing new must change nothing: copies as draws of an item, or as members of its group."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from richter.audit import measure_run, weigh_scores

ITEMS, COPIES = 60, 5
SPLIT = ("curve",)  # on the thresholds that a table has


def widths(found: Any, path: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(found, dict):
        if isinstance(found.get("low"), float) and isinstance(found.get("high"), float) and "level" in found:
            yield path, found["high"] - found["low"]
        for key, value in found.items():
            yield from widths(value, f"{path}.{key}")
    elif isinstance(found, list):
        for k, value in enumerate(found):
            name = (
                value.get("name") or value.get("group") or value.get("measure") or k if isinstance(value, dict) else k
            )
            yield from widths(value, f"{path}[{name}]")


def tables_of(folder: Path, *, severity: bool) -> dict[str, Path]:
    """One table, the same with every answer drawn several times, and with every item copied into a group."""
    rng = np.random.default_rng(3)
    rows = []
    for k in range(ITEMS):
        easy = rng.random()
        for name, gain in (("old", 0.0), ("new", 0.1)):
            grave = 0.0 if rng.random() < easy + gain else float(rng.integers(1, 9)) / 2
            own = [f"{grave:g}"] if severity else [str(int(grave == 0)), f"{0.2 + 0.6 * rng.random():.3f}"]
            rows.append((k, name, ",".join([*own, "AB"[k % 2]])))
    head = "severity" if severity else "correct,confidence"
    copies = range(COPIES)
    texts = {
        "once": ["", *(f"{k},{n},{rest}" for k, n, rest in rows)],
        "drawn": [",draw", *(f"{k},{n},{rest},{d}" for k, n, rest in rows for d in copies)],
        "grouped": [",passage", *(f"{k}_{d},{n},{rest},{k}" for k, n, rest in rows for d in copies)],
    }
    for name, (column, *lines) in texts.items():
        (folder / f"{name}.csv").write_text("\n".join([f"item,condition,{head},domain{column}", *lines]))
    return {name: folder / f"{name}.csv" for name in texts}


@pytest.mark.slow
@pytest.mark.parametrize("severity", [True, False])
def test_copies_of_answers_narrow_no_interval_of_a_report(tmp_path: Path, severity: bool) -> None:
    found = {
        name: dict(widths(json.loads(json.dumps(measure_run(path, n_resamples=200).to_dict()))))
        for name, path in tables_of(tmp_path, severity=severity).items()
    }
    once = {path: width for path, width in found["once"].items() if width > 0 and not any(s in path for s in SPLIT)}
    for name in ("drawn", "grouped"):
        shared = [path for path in once if path in found[name]]
        assert len(shared) > 0.8 * len(once)
        narrower = {path: found[name][path] / once[path] for path in shared if found[name][path] < 0.8 * once[path]}
        assert not narrower, f"{name}: {narrower}"


def test_a_requirement_counts_groups_by_hand(tmp_path: Path) -> None:
    """No grave error in 1,000 answers of 40 passages: at most 7.2%, not 0.3%, may be grave."""
    path = tmp_path / "passages.csv"
    rows = [f"{g}_{k},a,{1 if k == 0 else 0},{g}" for g in range(40) for k in range(25)]
    path.write_text("\n".join(["item,condition,severity,passage", *rows]))
    rules = [f"severity>=3 below {rate} per million" for rate in (10_000, 80_000)]
    verdicts = [c.verdict for c in weigh_scores(path, require=rules, n_resamples=200).requirements]
    assert verdicts == ["undecided", "verified"]
    alone = tmp_path / "alone.csv"
    alone.write_text("\n".join(["item,condition,severity", *(row.rpartition(",")[0] for row in rows)]))
    verdicts = [c.verdict for c in weigh_scores(alone, require=rules, n_resamples=200).requirements]
    assert verdicts == ["verified", "verified"]
