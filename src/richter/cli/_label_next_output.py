"""What `richter label next` prints: the items of a pool that are to be labelled next."""

from typing import Any

from richter.audit import next_labels
from richter.cli._io import publish
from richter.records import printable


def label_next(file: str, budget: int, memory: str | None, json_path: str | None, **options: Any) -> None:
    """Print and write the items to label next, and what the labels so far say of the pool."""
    result = next_labels(file, budget=budget, memory=memory or f"{file}.asked.json", **options)
    out = publish(result, json_path, inputs=[file])
    if result.estimate is None:
        out.print(f"Nothing can be said of {printable(result.condition)} yet: {result.labelled} of {budget} labels.")
    else:
        e = result.estimate
        out.print(
            f"{printable(result.condition)} is wrong in {100 * e.error_rate:.1f}% "
            f"[{100 * e.error_interval.low:.1f}, {100 * e.error_interval.high:.1f}] of the pool of {result.pool:,}; "
            f"ECE {e.ece_debiased:.3f} [{e.ece_interval.low:.3f}, {e.ece_interval.high:.3f}]; "
            f"{result.labelled} of {budget} labels."
        )
    for warning in result.warnings:
        out.print(f"Note: {warning}")
    for item in result.skipped[:10]:
        out.print(f"  passed over: {printable(item)}")
    if not result.items:
        out.print("The budget is spent." if result.phase == "done" else "No item is left to label.")
        return
    out.print(f"Label next ({result.phase}, {len(result.items)} items):")
    for item in result.items:
        out.print(f"  {printable(item)}")
