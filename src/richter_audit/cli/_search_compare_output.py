"""What `richter search show` prints of several searches: how they compare."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from richter.cli._io import cells, console, grid, money, write_json
from richter.errors import InputError
from richter.records import printable
from richter_audit import ascent


def compare_searches(runs: tuple[Path, ...], level: float, json_path: str | None) -> None:
    """Print and write how searches compare: wrong questions per question asked, categories and cost."""
    found = [(path, ascent.read_search(path)) for path in runs]
    out, alike = console(json_path), len({(s.model, s.base["name"]) for _, s in found}) == 1
    if not alike:
        out.print("These runs differ in model or base as well as in strategy: the ratios compare both.")
    told, rows = [], []
    columns = "{name:24}|{r.strategy}|{r.answers:,}|{r.errors_found:,}|{rate:.3f}|{r.distinct_categories}|"
    for path, s in found:
        if not s.answers:
            raise InputError(f"{path} has no answers yet.", remedy="Run it first.")
        rate = s.errors_found / s.answers
        cost, effective = money(s.spent.money_usd, s.spent.unpriced), s.effective_categories or 0.0
        told.append(cells(columns + f"{effective:.1f}|{cost}", s, name=path.name, rate=rate))
        rows.append({"run": str(path), "errors_per_answer": rate, **s.to_dict()})
    out.print(grid("run|strategy|answers|wrong|per answer|categories|effective|cost", told))
    _add_ratios_to_random(rows)
    for row in (r for r in rows if "ratio_to_random" in r):
        name = printable(row["run"].rpartition("/")[2], limit=24)
        out.print(f"{name} ({row['strategy']}) finds {row['ratio_to_random']:.2f} x the errors per answer.")
    ratios = _ratios(rows, level) if alike else {}
    for strategy, ratio in ratios.items():
        limits = f"{ratio.interval.low:.2f} to {ratio.interval.high:.2f}"
        out.print(
            f"Over {ratio.n} searches {strategy} finds {ratio.ratio:.2f} x the errors per answer of "
            f"{ratio.n_baseline} random ones ({100 * level:.4g}%: {limits})."
        )
    write_json({"runs": rows, "ratios_to_random": ratios}, json_path)


def _add_ratios_to_random(rows: Sequence[dict[str, Any]]) -> None:
    """Add to each search its errors per answer over those of the first random search, where that has errors."""
    base = next((r for r in rows if r["strategy"] == "random"), None)
    if base is None or not base["errors_per_answer"]:
        return
    for row in rows:
        if row is not base:
            row["ratio_to_random"] = row["errors_per_answer"] / base["errors_per_answer"]


def _ratios(rows: Sequence[Mapping[str, Any]], level: float) -> dict[str, ascent.RateRatio]:
    """Each strategy against random, where there are at least two searches of both."""
    rates: dict[str, list[float]] = {}
    for row in rows:
        rates.setdefault(row["strategy"], []).append(row["errors_per_answer"])
    baseline = rates.pop("random", [])
    if len(baseline) < 2 or not any(baseline):
        return {}
    return {
        s: ascent.rate_ratio(values, baseline, level=level)
        for s, values in rates.items()
        if len(values) > 1 and any(values)
    }
