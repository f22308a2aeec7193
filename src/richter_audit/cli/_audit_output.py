"""`richter audit` and `richter demo`: ask, judge, draw, score, search, measure and report, in stages that resume."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from richter.audit import measure_run
from richter.cli._io import cells, console, grid, money, progress_console, publish, split_names, write_json
from richter.cli._screen import summarise
from richter.errors import InputError
from richter.floors import parse_claim
from richter.models import resolve
from richter.records import Claim, Decoding, Item, printable
from richter.store import open_ledger
from richter_audit.bench import read_items
from richter_audit.cli._ask_output import read_system
from richter_audit.cli._calls import Calls
from richter_audit.cli._judge_output import print_grading
from richter_audit.cli._progress import asking, price
from richter_audit.judge import judge_decoding
from richter_audit.stages import (
    AuditSettings,
    DemoSize,
    DocumentAudit,
    StagesResult,
    adopt_plan,
    audit_documents,
    demo_settings,
    draw_conditions,
    estimate_stages,
    model_conditions,
    name_conditions,
    prepare_demo,
    run_stages,
    usual_style,
)

REPORT = "report.html"
LABELS = {
    "ask": "asking",
    "judge": "judging",
    "draw": "drawing",
    "score": "scoring for the tail",
    "search": "searching for errors",
}


def audit(
    run: Path,
    bench: Path | None,
    models: tuple[str, ...],
    generator: str | None,
    claims: tuple[str, ...],
    questions: int,
    output: Path | None,
    temperatures: tuple[float, ...],
    systems: tuple[str, ...],
    style: str | None,
    max_tokens: int,
    limit: int | None,
    judge_names: str,
    gazetteer: Path | None,
    draws: int,
    base: Path | None,
    canaries: Path | None,
    plan_path: Path | None,
    stop_when: str | None,
    only: str | None,
    seed: int,
    calls: Calls,
    json_path: str | None,
    **options: Any,
) -> int:
    """Audit models on a benchmark, into the folder RUN: how often they fail, how badly, do they know it, where."""
    if (bench is None) == (generator is None):
        raise InputError(
            "Give questions (--bench) or the model that writes some about documents (--generator).",
            remedy="richter audit RUN --bench FILE --model MODEL, or richter audit DOCUMENTS --generator MODEL ...",
        )
    if generator is not None:
        folder = run
        audited = DocumentAudit(
            documents=folder,
            conditions=model_conditions(models, seed=seed),
            generator=generator,
            judges=tuple(name_conditions(split_names(judge_names), decoding=judge_decoding())),
            claims=claims,
            questions=questions,
            draws=draws or 10,
            search_calls=options["search_calls"],
            nll=options["nll"],
            seed=seed,
        )
        into = output or folder.with_name(f"{folder.name}.audit")
        return _audit_documents(into, audited, calls, plan_path=plan_path, json_path=json_path)
    assert bench is not None
    items = read_items(bench)[:limit]
    if canaries is not None:
        with open_ledger(canaries) as ledger:
            known = {item.id for item in items}
            items += [item for item in ledger.items() if item.id not in known]
    local = all(resolve(model).backend == "local" for model in models)
    lists_options = (style or usual_style(items)) == "choice"
    conditions = name_conditions(
        models,
        temperatures=temperatures or (0.0,),
        systems=[read_system(text) for text in systems] or [""],
        decoding=Decoding(max_tokens=max_tokens, seed=seed if local else None, logprobs=local or lists_options),
        style=style,
        items=items,
    )
    settings = AuditSettings(
        conditions=tuple(conditions),
        bench=str(bench),
        gazetteer=None if gazetteer is None else str(gazetteer),
        judges=tuple(name_conditions(split_names(judge_names), decoding=judge_decoding())),
        draws=draws,
        draw_conditions=draw_conditions(conditions, items) if draws else (),
        base=None if base is None else str(base),
        canaries=canaries,
        seed=seed,
        **options,
    )
    wanted = None if only is None else split_names(only)
    if calls.dry_run:
        _price(run, items, settings, calls, only=wanted, json_path=json_path)
        return 0
    _adopt(run, plan_path)
    result = run_audit(run, items, settings, calls, only=wanted, stop_when=stop_when)
    return finish(run, result, only=wanted, seed=seed, json_path=json_path)


def _audit_documents(
    run: Path, audit: DocumentAudit, calls: Calls, *, plan_path: Path | None, json_path: str | None
) -> int:
    """Audit models on a folder of documents, into a run beside it."""
    if calls.dry_run:
        raise InputError(
            "What an audit of documents costs depends on what it finds: it cannot be priced before.",
            remedy="Give --budget: it covers everything, and is never exceeded.",
        )
    progress = progress_console()

    def tell(line: str) -> None:
        progress.print(printable(line), soft_wrap=True)

    _adopt(run, plan_path)
    with calls.opened(None) as asked:
        result, settled = audit_documents(run, audit, watch=lambda stage: asking(LABELS[stage]), tell=tell, **asked)
    for claim in settled.claims:
        tell(claim.sentence)
    return finish(run, result, only=None, seed=audit.seed, json_path=json_path)


def _adopt(run: Path, plan_path: Path | None) -> None:
    """Keep a plan with the run, and say where it confirms nothing."""
    if plan_path is not None and (why := adopt_plan(run, plan_path)) is not None:
        progress_console().print(
            f"{printable(str(plan_path))}: {why}; every finding will be exploratory.", soft_wrap=True
        )


def run_audit(
    run: Path,
    items: list[Item],
    settings: AuditSettings,
    calls: Calls,
    *,
    only: Collection[str] | None = None,
    stop_when: str | None = None,
) -> StagesResult:
    """The stages, with their progress on stderr."""
    claim = None if stop_when is None else parse_claim(stop_when)
    progress = progress_console()

    def on_batch(decision: Claim) -> None:
        progress.print(printable(decision.sentence), soft_wrap=True)

    with calls.opened(None) as asked:
        asked |= {"stop_when": claim, "on_batch": on_batch}
        return run_stages(run, items, settings, only=only, watch=lambda stage: asking(LABELS[stage]), **asked)


def finish(run: Path, result: StagesResult, *, only: Collection[str] | None, seed: int, json_path: str | None) -> int:
    """Measure the run, write its report, print the summary; the exit status that its requirements give."""
    from richter.report import write_report  # what draws takes a second to load

    progress, out = progress_console(), console(json_path)
    if result.grading is not None:
        print_grading(progress, result.grading)
    results = measure_run(
        run, only=only, seed=seed, watch=lambda name: progress.print(f"measuring {name}", soft_wrap=True)
    )
    document = results.to_dict()
    progress.print("writing the report", soft_wrap=True)
    after = [f"report  {write_report(document, run, run / REPORT)}"]
    ascii_only = out.options.ascii_only
    for line in summarise(document, ascii_only=ascii_only, after=after, width=out.width, sources=[str(run)]):
        out.print(line, soft_wrap=True)
    write_json(document, json_path)
    if result.stopped is not None:
        raise result.stopped
    return exit_status(document)


def exit_status(document: Mapping[str, Any]) -> int:
    """0 where every requirement of the plan is met, 3 where one is violated, 4 where one is not shown either way.

    1 where judges were asked and none gave a score, so that there is no verdict.
    """
    silent = any(c["name"] == "judge replies read" and c["passed"] is False for c in document["checks"])
    if silent and document["run"]["ratings"] is None:
        return 1
    verdicts = [
        c["verdict"] for c in document["claims"] if c["section"] == "requirements" and c["measure"] != "stopping"
    ]
    if "refuted" in verdicts:
        return 3
    plan = document["methods"]["plan"] or {}
    warn = plan.get("fields", {}).get("on_undecided") == "warn"
    return 4 if any(v != "verified" for v in verdicts) and not warn else 0


def _price(
    run: Path,
    items: list[Item],
    settings: AuditSettings,
    calls: Calls,
    *,
    only: list[str] | None,
    json_path: str | None,
) -> None:
    """What every stage would still cost at most."""
    rows = estimate_stages(run, items, settings, only=only, prices=calls.prices)
    asks, tokens = sum(row.calls for row in rows), sum(row.tokens for row in rows)
    out = publish({"dry_run": rows, "calls": asks, "tokens": tokens}, json_path)
    unpriced = sum(row.calls for row in rows if row.money_usd is None)
    total = money(sum(row.money_usd or 0.0 for row in rows), unpriced)
    out.print(f"At most {asks:,} calls, {tokens:,} tokens, {total}.")
    told = (cells("{r.stage}|{r.what}|{r.calls:,}|{r.tokens:,}|{cost}", r, cost=price(r.money_usd)) for r in rows)
    out.print(grid("stage|of|calls|tokens, at most|at most", told))
    calls.say_prices(out)


def demo(run: Path, quick: bool, also: str | None, json_path: str | None) -> int:
    """Is the new prompt better? Three prompts for the built-in small model on real questions."""
    size = DemoSize.quick() if quick else DemoSize()
    progress_console().print(
        f"building {size.items} questions, to be asked under three prompts"
        + (": few, so expect to read how many would decide it" if quick else ""),
        soft_wrap=True,
    )
    items = prepare_demo(run, size)
    result = run_audit(run, items, demo_settings(run, items, size, also=also), Calls())
    return finish(run, result, only=None, seed=0, json_path=json_path)
