"""`richter search export`: the questions answered wrongly, as a set of items for another tool."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from shlex import quote

import numpy as np
from rich.console import Console

from richter.cli._io import console
from richter.errors import InputError, ModelError, TooFewErrors
from richter.models import resolve
from richter.words import describe_key_readings, describe_keys
from richter_audit.ascent import (
    FailingSet,
    base_of,
    check_keys,
    draw_key_labels,
    failing_questions,
    judge_answers,
    judge_keys,
    keep_sound,
    keep_stable,
    plan_key_readings,
    read_readings,
    suspect_questions,
)
from richter_audit.bench import write_set
from richter_audit.cli._calls import Calls
from richter_audit.cli._progress import price_at_most
from richter_audit.knowledge import KnowledgeBase, open_base
from richter_audit.stages import ask_run, estimate_run


def search_export(
    run: Path,
    output: Path,
    to: str,
    again: int | None,
    keys: str,
    checker: str | None,
    calls: Calls,
    base_path: Path | None,
    force: bool,
) -> None:
    """Write the questions that a search found answered wrongly, as a set of items."""
    if output.exists() and not force:
        raise InputError(f"{output} exists.", remedy="Choose another name, or add --force.")
    export_failing(
        run, output, to=to, again=again, keys=keys, checker=checker, calls=calls, base_path=base_path, force=force
    )


def export_failing(
    source: Path,
    output: Path,
    *,
    to: str,
    again: int | None,
    calls: Calls,
    base_path: Path | None,
    force: bool,
    keys: str = "sound",
    checker: str | None = None,
) -> None:
    """Write the questions that a search found answered wrongly, each once: those that fail again, with a sound key.

    Unless told how often (`again`), a model that cannot be asked is no fault: the set is written as it is, with the
    share that is expected to fail again.
    """
    say, folder, beside = console().print, base_path or base_of(source), output.with_name(f"{output.name}.again")
    base = open_base(folder) if folder else None
    found = failing_questions(source, base)
    times = (found.condition.style != "cloze") if again is None else again  # a cloze is the same each time
    if times and found.questions:
        try:
            found = _asked_again(found, beside, int(times), calls)
        except ModelError as error:
            if again is not None:
                raise
            say(f"Not asked again: {error.what}", soft_wrap=True)
    if keys == "sound":
        found = _with_sound_keys(source, found, base, beside, checker, calls)
    else:
        _say_unread_keys(found, base)
    if calls.dry_run:
        say("Nothing was asked or written.")
        return
    if not found.questions:
        raise _no_failing_error(source, found)
    written = write_set(found.items(), output, to=to, name=output.stem, force=force)
    _print_written(console(), found, written, to=to)


def _with_sound_keys(
    source: Path, found: FailingSet, base: KnowledgeBase | None, beside: Path, checker: str | None, calls: Calls
) -> FailingSet:
    """What of a set has a key that its readers find right; says the cost first, and what share may be bad still."""
    say = console().print
    if not found.questions:
        return found
    if base is None:
        say("Keys not read again: the base does not lie where it was (--kb).", soft_wrap=True)
        return found
    plan = plan_key_readings(found, base, checker=resolve(checker).name if checker else None)
    if not plan.suspects:
        return found  # the keys came with the base
    for line in describe_key_readings(plan, price_at_most(plan.money_usd_most(calls.prices))):
        say(line, soft_wrap=True)
    if calls.dry_run:
        return found
    try:
        with calls.opened(None) as asked:
            report = check_keys(source, found, plan, beside=beside, **asked)
    except ModelError as error:
        raise ModelError(
            f"Nobody could read the keys of these questions again: {error.what}",
            remedy="Make a reader reachable (--checker MODEL), or add --keys all to write every question.",
        ) from error
    for line in describe_keys(report, f"richter search --only label {quote(str(source))}"):
        say(line, soft_wrap=True)
    return keep_sound(found, report)


def _say_unread_keys(found: FailingSet, base: KnowledgeBase | None) -> None:
    """Say that a set holds keys that a model wrote and nobody read again."""
    if base is not None and suspect_questions(found, base):
        text = "Nobody read the keys again. A model wrote them, and bad keys are common among failing questions."
        console().print(text, soft_wrap=True)


def label(run: Path, n: int, base_path: Path | None, seed: int) -> None:
    """Draw the doubtful keys of a search, and some that survive, for a person to label."""
    readings, folder = read_readings(run), base_path or base_of(run)
    if not readings or folder is None:
        raise InputError(f"Nobody has read the keys of {run} again.", remedy="Run `richter search export` first.")
    base = open_base(folder)
    failing = failing_questions(run, base)
    read = set().union(*readings.values())  # what was right when it was asked again was not read
    failing = dataclasses.replace(failing, questions=tuple(q for q in failing.questions if q.item.id in read))
    verdicts = judge_keys(run, failing, suspect_questions(failing, base), readings)
    place = draw_key_labels(run, failing, verdicts, n=n, rng=np.random.default_rng(seed))
    say = console().print
    doubtful = sum(verdict == "doubtful" for verdict in verdicts.values())
    say(f"{doubtful:,} doubtful keys and up to {n:,} others drawn at random are ready to label.")
    say("Level 0: the key is right by the text. Export again afterwards: the labels decide.")
    say(f"Next: richter label {quote(str(place))}", soft_wrap=True)


def _no_failing_error(source: Path, found: FailingSet) -> TooFewErrors:
    """The error that no question is left to write, with what was left out."""
    left = ", ".join(f"{count} {why}" for why, count in found.left_out.items())
    return TooFewErrors(f"{source} has no failing question to write{f' ({left})' if left else ''}.", n=0, needed=1)


def _print_written(out: Console, found: FailingSet, written: Sequence[Path], *, to: str) -> None:
    """Print how many questions were written, what share of them fails again, and what was left out."""
    modes = len({q.mode for q in found.questions})
    files = ", ".join(map(str, written))
    out.print(f"{len(found.questions):,} failing questions of {modes:,} modes for {to}: {files}.")
    if (share := found.expected_again) is not None:
        out.print(f"About {share:.0%} of them are expected to fail when asked again in other words.")
    for why, count in found.left_out.items():
        out.print(f"Left out: {count:,} {why}.")


def _asked_again(found: FailingSet, beside: Path, times: int, calls: Calls) -> FailingSet:
    """What of a set fails each of so many times that it is asked again, into a run beside it; says the cost first."""
    items, condition, say = [q.item for q in found.questions], found.condition, console().print
    (row,) = estimate_run(beside, items, [condition], draws=times, prices=calls.prices)
    say(
        f"Asks {len(items):,} failing questions again before they are written: {row.calls:,} calls to {row.model}, "
        f"{price_at_most(row.money_usd_most)} (--again 0 asks nothing).",
        soft_wrap=True,
    )
    if calls.dry_run:
        return found
    with calls.opened() as asked:
        ask_run(beside, items, [condition], draws=times, most_tokens=condition.decoding.max_tokens, **asked)
        if found.judge is not None:
            judge_answers(beside, items, condition, found.judge, **asked)
    kept = keep_stable(found, beside)
    if not kept.questions and kept.left_out.get("not asked again") == len(items):
        raise ModelError(f"{row.model} answered none of them.", remedy="See that it can be asked, or give --again 0.")
    return kept
