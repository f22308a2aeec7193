"""`richter demo`."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from richter.audit import AskProgress, DemoResult, DemoSize, calibration_sentence, run_demo
from richter.cli._agreement_text import print_judges
from richter.cli._compare_text import findings_of, verdict_note
from richter.cli._output import console, json_option, write_json
from richter.cli._progress import asking, downloading
from richter.cli._severity import headlines
from richter.records import printable

__all__ = ["demo", "print_demo"]

STAGES = {"asking": "asking SmolLM2", "judging": "judging a sample", "drawing": "drawing repeated answers"}


@click.command()
@click.argument("run", type=click.Path(path_type=Path), default="demo")
@click.option("--quick", is_flag=True, help="A third of the questions.")
@json_option
def demo(run: Path, quick: bool, json_path: str | None) -> None:
    """Audit the built-in small model on real facts: no key, no GPU, no network after the first download.

    \b
    Examples:
      richter demo
      richter demo --quick
    """

    def watch(stage: str) -> AbstractContextManager[Callable[[AskProgress], None]]:
        return asking(STAGES[stage])

    with downloading("fetching SmolLM2-135M-Instruct") as download:
        result = run_demo(run, size=DemoSize.quick() if quick else DemoSize(), watch=watch, download=download)
    print_demo(console(json_path), result)
    write_json(result, json_path)


def print_demo(out: Console, result: DemoResult) -> None:
    """The demonstration's findings: how often, how badly, whether the difference is real, whether it knows."""
    conditions = list(dict.fromkeys(row.condition for row in result.rows))
    cells = {(row.group, row.condition): row for row in result.rows}
    out.print(
        f"HOW OFTEN  SmolLM2-135M on {cells['all', conditions[0]].n} facts questions, free-form; an answer counts as "
        "correct when it contains the reference or an alias. Accuracy with 95% Wilson interval:"
    )
    table = Table("", *(printable(name) for name in conditions))
    groups = list(dict.fromkeys(row.group for row in result.rows))
    last_domain = [group for group in groups if not group.startswith("tier ")][-1]
    for group in groups:
        rows = [cells[group, name] for name in conditions]
        table.add_row(
            group,
            *(f"{r.accuracy:4.0%}  [{r.interval.low:4.0%}, {r.interval.high:4.0%}]  {r.correct}/{r.n}" for r in rows),
            end_section=group in ("all", last_domain),
        )
    out.print(table)
    for item, answer in result.wrong[:: max(1, len(result.wrong) // 3)][:3]:
        out.print(f"  {printable(item.prompt, limit=100)}", style="dim")
        out.print(f"    said {printable(answer.text, limit=90)!r}; it is {printable(item.reference, limit=60)}")
    out.print("\nIS THE DIFFERENCE REAL  (paired by item, graded by rules)")
    for pair in result.comparison.comparison.pairs:
        for finding in findings_of(result.comparison, pair).values():
            out.print(f"  {printable(finding.sentence)} ({verdict_note(finding)})")
    out.print("\nHOW BADLY  (rated by rules from the facts behind each question, 0 correct to 4 fabricated)")
    for name, counts in result.judging.rule_labels.items():
        n = sum(counts.values())
        mean = result.judging.mean_severity["rule"][name]
        invented = counts.get("fabrication", 0)
        out.print(
            f"  {printable(name)}: mean severity {mean:.2f}; {invented / n:.0%} of answers name what does not exist"
        )
    for line in headlines(result.severity.study, paper=False):
        out.print(f"  {line}")
    out.print("\nCAN THE JUDGES BE TRUSTED  (SmolLM2 judging SmolLM2: a trial of the panel, not evidence)")
    if result.judging.judges is not None:
        print_judges(out, result.judging.judges)
    out.print("DOES IT KNOW WHEN IT IS WRONG  (repeated choices between four options, temperature 1)")
    for condition in result.calibration.conditions:
        out.print(f"  {calibration_sentence(condition)}")
    run = result.run
    out.print(f"\nEverything is in {run}/. Next: richter run show {run}", end="; ")
    out.print(f"richter severity {run}/scores.csv; richter calibration {run}/draws")
