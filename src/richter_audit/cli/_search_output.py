"""What `richter search` prints."""

from pathlib import Path
from shlex import quote
from typing import Any

import click

from richter.cli._io import console, progress_console, write_json
from richter.models import resolve
from richter.records import Decoding
from richter.texts import open_embedder
from richter_audit import ascent
from richter_audit.cli._calls import Calls
from richter_audit.cli._search_show_output import print_search
from richter_audit.knowledge import open_base, usual_retrieval
from richter_audit.stages import name_conditions


def search(
    run: Path,
    model: str,
    base_path: Path,
    calls: Calls,
    style: str | None,
    temperature: float,
    no_prune: bool,
    retrieval: str | None,
    steps: int | None,
    testee_budget: int | None,
    max_tokens: int,
    generator: str | None,
    checker: str | None,
    judge: str | None,
    embedding_path: Path | None,
    json_path: str | None,
    **settled: Any,
) -> None:
    """Search a base for errors of a model; print and write the summary."""
    if calls.limit is None and testee_budget is None:
        raise click.UsageError("Give --budget: 3000calls, 2Mtok or 5usd; or --testee-budget 3000.")
    base = open_base(base_path)
    settled |= {"gamma": None} if no_prune else {}
    settings = ascent.SearchSettings.from_dict(settled | {"retrieval": retrieval or usual_retrieval(base)})
    writer, checker, judge = (resolve(name).name if name else None for name in (generator, checker, judge))
    style = style or ("cloze" if resolve(model).backend == "local" else "choice")
    decoding = Decoding(max_tokens=max_tokens)
    (condition,) = name_conditions([model], temperatures=[temperature], decoding=decoding, style=style)
    out = console(json_path)
    if calls.dry_run:
        budget = calls.budget
        plan = ascent.estimate_search(
            base,
            condition,
            settings,
            budget=budget,
            testee_calls=testee_budget,
            prices=calls.prices,
            generator=writer,
            judge=judge,
        )
        out.print(str(plan), soft_wrap=True)
        calls.say_prices(out)
        write_json({"dry_run": plan.to_dict() | {"budget": str(budget)}}, json_path)
        return
    progress = progress_console()
    line = progress.status("asking")

    def watch(step: ascent.StepSummary) -> None:
        progress.print(f"step {_step_line(step)}", soft_wrap=True)

    def within(step: int, answered: int, asked: int) -> None:
        line.update(f"step {step}: {answered:,} of {asked:,} answers")

    with calls.opened(None) as asked, line:
        asked |= {"context_tokens": 4096 if generator or judge else 1024, "watch": watch, "progress": within}
        embedder = open_embedder(embedding_path) if embedding_path else None
        asked |= {
            "steps": steps,
            "testee_calls": testee_budget,
            "generator": writer,
            "checker": checker,
            "judge": judge,
            "embedder": embedder,
        }
        summary = ascent.run_search(run, base, condition, settings, **asked)
    print_search(summary, json_path, table=False)
    out.print(f"Next: richter search show {quote(str(run))}", style="dim")
    write_json(summary, json_path)


def _step_line(step: ascent.StepSummary) -> str:
    cells = [f"{step.step}: {step.paragraphs} paragraphs"]
    if step.error is not None and step.cumulative_error is not None:
        cells.append(f"{step.error:.0%} wrong, {step.cumulative_error:.0%} so far")
    return ", ".join([*cells, f"{step.sources} sources, {step.pruned} pruned"])
