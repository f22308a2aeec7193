"""`richter demo`."""

from pathlib import Path

import click
from rich.table import Table

from richter.audit import run_demo
from richter.cli._output import console, json_option, write_json
from richter.cli._progress import asking, downloading
from richter.records import printable

__all__ = ["demo"]


@click.command()
@click.argument("run", type=click.Path(path_type=Path), default="demo")
@click.option("--items", type=click.IntRange(40), default=240, show_default=True, help="Questions to ask.")
@click.option("--quick", is_flag=True, help="80 questions.")
@json_option
def demo(run: Path, items: int, quick: bool, json_path: str | None) -> None:
    """Audit the built-in small model on real facts: no key, no GPU, no network after the first download.

    \b
    Examples:
      richter demo
      richter demo --quick
    """
    with downloading("fetching SmolLM2-135M-Instruct") as download, asking("asking SmolLM2") as watch:
        result = run_demo(run, items=80 if quick else items, watch=watch, download=download)
    out = console(json_path)
    conditions = list(dict.fromkeys(row.condition for row in result.rows))
    cells = {(row.group, row.condition): row for row in result.rows}
    out.print(
        f"SmolLM2-135M on {cells['all', conditions[0]].n} facts questions, free-form, at most 32 tokens; an answer "
        "counts as correct when it contains the reference or an alias."
    )
    table = Table("", *(printable(name) for name in conditions), title="accuracy with 95% Wilson interval")
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
    out.print("Some of its errors:")
    step = max(1, len(result.wrong) // 5)
    for item, answer in result.wrong[::step][:5]:
        out.print(f"  {printable(item.prompt, limit=110)}")
        out.print(f"    said {printable(answer.text, limit=90)!r}; it is {printable(item.reference, limit=60)}")
    out.print(f"Everything is in {run}/. Next: richter run show {run}; richter export {run} -o answers.csv")
    write_json(result, json_path)
