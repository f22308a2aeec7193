"""What a replicate's claims are worth against the truth, added up by contestant, way and world."""

import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from scipy.stats import beta

COUNTS = ("n", "false", "hits", "refused", "crashed", "covered", "intervals", "as_judged", "others", "others_false")
OURS = "richter"
ENOUGH = 100  # tables that replace committed figures, even if those are of more

Row = dict[str, Any]


def is_null(spec: dict[str, Any]) -> bool:
    """Whether nothing is there to be found, so that every claim is false."""
    return spec["truth"] in (0.0, False, [])


def judged(spec: dict[str, Any], record: dict[str, Any]) -> dict[str, float]:
    """One replicate: a false claim? the true thing said? intervals that cover, and their widths."""
    found = dict.fromkeys((*COUNTS, "width"), 0.0) | {"n": 1.0}
    for fault in ("refused", "crashed"):
        if fault in record:
            return found | {fault: 1.0}
    for name, verdict, estimate, low, high in record["claims"]:
        if name.startswith("other:"):
            is_false = verdict == "yes" and estimate * spec.get("others", {}).get(name.removeprefix("other:"), 0.0) <= 0
            found["others"], found["others_false"] = 1.0, max(found["others_false"], float(is_false))
            continue
        found["as_judged"] = max(found["as_judged"], float(verdict == "as judged"))
        true = _true_value(spec, name)
        right = bool(true) and estimate * true > 0
        if verdict == "yes":
            found["hits" if right else "false"] = 1.0
        if low is not None and math.isfinite(high - low) and not isinstance(true, bool):
            found["intervals"] += 1
            found["covered"] += low <= true <= high
            found["width"] += high - low
    return found


def _true_value(spec: dict[str, Any], name: str) -> float | bool:
    truth = spec["truth"]
    if spec["question"] == "some-better":
        return float(spec["effect"]) if name in truth else 0.0
    return bool(truth) if spec["question"] in ("miscalibrated", "requirement") else float(truth)


def total(scores: Iterable[dict[str, float]]) -> dict[str, float]:
    """Sums of what `judged` gives."""
    sums = dict.fromkeys((*COUNTS, "width"), 0.0)
    for score in scores:
        for name in sums:
            sums[name] += score[name]
    return sums


def read(path: Path) -> list[dict[str, Any]]:
    """The records of one file, by replicate; a line that was cut off ends it."""
    found = []
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                found.append(json.loads(line))
            except json.JSONDecodeError:
                break
    return found


def collected(folder: Path, contestants: dict[str, Row], specs: list[Row]) -> list[Row]:
    """Every row that has run: counts by contestant, way and world, its hits against Richter's on the same tables."""
    rows = []
    path = folder / "replayed.json"
    replayed = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for spec in specs:
        ours = {r["replicate"]: judged(spec, r) for r in read(folder / OURS / f"{spec['name']}.0.jsonl")}
        for name, told in contestants.items():
            for k, way in enumerate(told["ways"]):
                records = read(folder / name / f"{spec['name']}.{k}.jsonl")
                same = bool(records) and "same" in records[0]
                if same:
                    records = read(folder / name / f"{spec['name']}.0.jsonl")
                if not records or "absent" in records[0]:
                    continue
                scores = {r["replicate"]: judged(spec, r) for r in records}
                shared = scores.keys() & ours.keys()
                rows.append(
                    {
                        "contestant": name,
                        "way": way,
                        "world": spec["name"],
                        "same": same,
                        **{key: round(value, 4) for key, value in total(scores.values()).items()},
                        "seconds": round(sorted(r["seconds"] for r in records)[len(records) // 10], 4),
                        "shared": len(shared),
                        "only_this": sum(scores[r]["hits"] > ours[r]["hits"] for r in shared),
                        "only_ours": sum(scores[r]["hits"] < ours[r]["hits"] for r in shared),
                        "reasons": sorted(_reasons(records))[:3],
                        "states": sorted({r["state"] for r in records if "state" in r}),
                        **({"replayed": replayed[spec["name"]]} if name == OURS and spec["name"] in replayed else {}),
                    }
                )
    return rows


def merged(committed: list[Row], ran: list[Row]) -> list[Row]:
    """The rows that ran, and the committed ones of what did not run, or on fewer tables than `ENOUGH` and before."""

    def key(row: Row) -> tuple[str, str, str]:
        return row["world"], row["contestant"], row["way"]

    rows = {key(row): row for row in committed}
    for row in ran:
        before = rows.get(key(row))
        if before is None or row["n"] >= min(ENOUGH, before["n"]):
            rows[key(row)] = row
    return sorted(rows.values(), key=lambda row: str(row["world"]))


def _reasons(records: list[dict[str, Any]]) -> Iterator[str]:
    """Why a tool refused or crashed, numbers left out so that like ones are one."""
    seen = set()
    for record in records:
        said = record.get("refused") or record.get("crashed")
        if said:
            start = "".join("#" if c.isdigit() else c for c in said[:70])
            if start not in seen:
                seen.add(start)
                yield said[:120]


def limits(k: float, n: float, *, level: float = 0.95) -> tuple[float, float]:
    """Clopper and Pearson's exact limits of a share."""
    tail = (1 - level) / 2
    low = 0.0 if k == 0 else float(beta.ppf(tail, k, n - k + 1))
    return low, 1.0 if k == n else float(beta.ppf(1 - tail, k + 1, n - k))


def shown_above(k: float, n: float, share: float, *, looks: int = 1, level: float = 0.99) -> bool:
    """Whether the one-sided lower limit, with Bonferroni over `looks`, lies above `share`."""
    return k > 0 and float(beta.ppf((1 - level) / looks, k, n - k + 1)) > share


def power_gap(row: dict[str, Any], *, looks: int = 1, level: float = 0.99) -> tuple[float, float]:
    """How much more often this one than Richter finds what is there, on the same replicates; and its lower limit.

    The limit is Wald's on matched pairs with two added to either kind of disagreement (Bonett and Price).
    """
    n, a, b = row["shared"], row["only_this"], row["only_ours"]
    if n == 0:
        return 0.0, -1.0
    pa, pb = (a + 1) / (n + 2), (b + 1) / (n + 2)
    z = -_normal_quantile((1 - level) / looks)
    return (a - b) / n, pa - pb - z * math.sqrt((pa + pb - (pa - pb) ** 2) / (n + 2))


def _normal_quantile(p: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(p)
