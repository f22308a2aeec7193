"""What `richter label next` prints: the answers of a pool to label next."""

from typing import Any

from richter.audit import next_labels
from richter.cli._io import publish
from richter.records import counted, printable
from richter.words import describe_ci, describe_note
from richter.words._spans import describe_level


def label_next(file: str, budget: int, memory: str | None, json_path: str | None, **options: Any) -> None:
    """Print and write the answers to label next, and what the labels so far say of the pool."""
    result = next_labels(file, budget=budget, memory=memory or f"{file}.asked.json", **options)
    out = publish(result, json_path, inputs=[file])
    if result.estimate is None:
        out.print(
            f"Nothing is known of {printable(result.condition)} yet: {result.labelled} of {budget} labels are given."
        )
    else:
        e = result.estimate
        out.print(
            f"{printable(result.condition)} is wrong in {100 * e.error_rate:.1f}% of the {result.pool:,} answers "
            f"({describe_level(e.error_interval.level)} CI {100 * e.error_interval.low:.1f} to "
            f"{100 * e.error_interval.high:.1f}), by {result.labelled} of {budget} labels. "
            f"ECE {e.ece_debiased:.3f} {describe_ci(e.ece_interval, digits=3)}."
        )
    for warning in result.warnings:
        out.print(describe_note(warning))
    for item in result.skipped[:10]:
        out.print(f"  passed over: {printable(item)}")
    if not result.items:
        out.print("The budget is spent." if result.phase == "done" else "Every answer is labelled.")
        return
    out.print(f"Next: label these {counted(len(result.items), 'answer')} ({result.phase}):")
    for item in result.items:
        out.print(f"  {printable(item)}")
