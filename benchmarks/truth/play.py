"""What a contestant runs in: tables come in as JSON lines, claims go out as JSON lines; the standard library is enough.

A contestant is a file in `contestants/` with

    requires = "package==1.2.3"          # what pip installs into its own environment
    ways = ("default", "recommended")    # optional: the rows that it has in the table
    sequential = ("recommended",)        # optional: ways that look at every day of a `day` column by themselves

    def answer(world, table, way): ...

`world` is {"question": .., "measure": .., "margin": ..}, `table` the columns as lists. `answer` gives a list of
`claim(..)`; or None where it has no answer for such data, or "same" where this way is its first way; `raise
Refused(..)` where the tool itself declines. Anything else raised is a crash.
"""

import contextlib
import importlib.util
import io
import json
import math
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

Table = dict[str, list[Any]]
OUTCOMES = ("correct", "score", "severity", "nll")


class Refused(Exception):
    """The tool declines to answer, with a reason."""


def claim(
    yes: bool,
    estimate: float,
    interval: Any = None,
    *,
    name: str = "second",
    as_judged: bool = False,
) -> dict[str, Any]:
    """One claim: `yes` says that `name` differs, in the direction of `estimate` (second minus first).

    `as_judged`: it says so by a judge's grades alone, in so many words. A name that starts with "other:" is a claim on
    another measure than the main one.
    """
    if hasattr(interval, "low"):
        interval = (interval.low, interval.high)
    low, high = (math.nan, math.nan) if interval is None else (float(x) for x in interval)
    verdict = "as judged" if yes and as_judged else "yes" if yes else "no"
    return {"claim": name, "verdict": verdict, "estimate": float(estimate), "low": low, "high": high}


def sides(world: dict[str, Any], table: Table) -> dict[str, dict[str, list[float]]] | None:
    """By condition and item its outcomes, those that are there; None where the question is of no mean of them.

    Of the severity of errors only the errors are given.
    """
    if world["question"] not in ("difference", "some-better") or world.get("measure") == "b":
        return None
    (column,) = ("cost",) if world.get("measure") == "money" else (name for name in OUTCOMES if name in table)
    found: dict[str, dict[str, list[float]]] = {}
    for item, condition, value in zip(table["item"], table["condition"], table[column], strict=True):
        if value is not None and (value > 0 or world.get("measure") != "severity_given_error"):
            found.setdefault(condition, {}).setdefault(item, []).append(float(value))
    return found


def versus(found: dict[str, dict[str, list[float]]]) -> list[tuple[str, dict[str, list[float]]]]:
    """Every condition but the first, which it is compared with."""
    return list(found.items())[1:]


def group_of(table: Table) -> dict[str, str] | None:
    """The passage of each item, where the table has one."""
    return dict(zip(table["item"], table["passage"], strict=True)) if "passage" in table else None


def _until(table: Table, day: int) -> Table:
    keep = [k for k, d in enumerate(table["day"]) if d <= day]
    return {name: [values[k] for k in keep] for name, values in table.items() if name != "day"}


def played(module: Any, world: dict[str, Any], table: Table, way: str) -> dict[str, Any]:
    """The claims on one table, with the seconds they took; a table with days is looked at every day until a claim."""
    start = time.perf_counter()
    try:
        if "day" in table and way not in getattr(module, "sequential", ()):
            for day in range(1, max(table["day"]) + 1):
                claims = module.answer(world, _until(table, day), way)
                if claims in (None, "same") or any(c["verdict"] == "yes" for c in claims):
                    break
        else:
            claims = module.answer(world, table, way)
        if claims in (None, "same"):
            return {"absent" if claims is None else "same": True}
        result: dict[str, Any] = {"claims": claims}
    except Refused as reason:
        result = {"refused": str(reason)[:200]}
    except Exception as fault:
        result = {"crashed": f"{type(fault).__name__}: {fault}"[:200]}
    return {**result, "seconds": time.perf_counter() - start}


def load(path: Path) -> Any:
    """A contestant's file as a module."""
    sys.modules.setdefault("play", sys.modules[__name__])
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def serve(path: Path, say: Callable[[str], Any]) -> None:
    """Answer every line of stdin; what the tool prints is thrown away."""
    warnings.simplefilter("ignore")
    with contextlib.redirect_stdout(io.StringIO()) as noise:
        module = load(path)
        for line in sys.stdin:
            asked = json.loads(line)
            found = played(module, asked["world"], asked["table"], asked["way"])
            noise.seek(0)
            noise.truncate()
            say(json.dumps({"replicate": asked["replicate"], **found}))


if __name__ == "__main__":
    out = sys.stdout
    serve(Path(sys.argv[1]), lambda line: print(line, file=out, flush=True))
