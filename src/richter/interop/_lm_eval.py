"""lm-evaluation-harness: `samples_*.jsonl`, a row per document and filter.

Checked against files that lm-eval 0.4.13 wrote with its dummy model. The rows name neither model nor task: these come
from `results_*.json` beside them, and the task from the file's name.
"""

import contextlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from richter.errors import InputError
from richter.interop import _record as log
from richter.interop._rows import companion, json_rows
from richter.interop._safe import Unreadable, decode, json_lines

_NAME = re.compile(r"samples_(?P<task>.+)_(?P<stamp>\d{4}-\d\d-\d\dT[\d.-]+)$")
_STAMP_ONLY = re.compile(r"samples_(?P<task>.+)$")
_OLD = re.compile(r"(?:pretrained__)?(?P<model>.+?__.+?|(?<=pretrained__).+?)_(?P<task>[^_].*)")  # versions to 0.4.2
_KNOWN = {
    *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash"),
    *("prompt_hash", "target_hash", "idx", "is_greedy"),
}


def read_lm_eval(path: Path, reading: log.Reading) -> Iterator[log.Sample]:
    """One sample a document, by the filter that was asked for or else the first of the file."""
    setup, task, totals = _origin(path)
    filters = _filters(path)
    asked = reading.options.filter
    wanted = asked if asked is not None and asked in filters else next(iter(filters), "none")
    for name, total in totals.items():
        if name.endswith(f",{wanted}"):
            reading.counted(name.rpartition(",")[0], log.real(total))
    for row in json_rows(path, reading):
        if (log.flat_text(row.get("filter")) or "none") != wanted:
            continue
        try:
            yield _sample(row, setup, task, reading)
        except Unreadable as error:
            reading.unread[f"sample: {error}"] += 1
    if len(filters) > 1:
        reading.notes.append(_describe_filters(wanted, filters, totals))


def _describe_filters(wanted: str, filters: Iterable[str], totals: Mapping[str, Any]) -> str:
    shown = {name: f"{name}{_described_totals(name, totals)}" for name in filters}
    others = ", ".join(text for name, text in shown.items() if name != wanted)
    return f"The filter {shown[wanted]} grades; the same answers are also graded by {others}. --filter chooses."


def _described_totals(name: str, totals: Mapping[str, Any]) -> str:
    """The tool's own totals by a filter, in brackets."""
    own = {key.rpartition(",")[0]: log.real(total) for key, total in totals.items() if key.endswith(f",{name}")}
    shown = [
        f"{measure} {total:.3g}" for measure, total in own.items() if total is not None and "_stderr" not in measure
    ]
    return f" ({', '.join(shown)})" if shown else ""


class _Filter(msgspec.Struct):
    filter: str = "none"


def _filters(path: Path) -> Counter[str]:
    """The filters of a file, in the order of their first row, with how many rows each has."""
    found: Counter[str] = Counter()
    for line in json_lines(path):
        with contextlib.suppress(Unreadable):
            found[decode(line or b"", _Filter).filter] += 1
    return found


def _origin(path: Path) -> tuple[log.Setup, str, Mapping[str, Any]]:
    named = _NAME.match(path.stem) or _STAMP_ONLY.match(path.stem)
    task = named["task"] if named else path.stem
    stamp = named.groupdict().get("stamp") if named else None
    results = companion(path.with_name(f"results_{stamp}.json"), dict[str, Any]) if stamp else None
    if named is None and (old := _OLD.fullmatch(path.stem)):
        return log.Setup(old["model"].replace("__", "/")), old["task"], {}
    if results is None and stamp is None and "__" not in path.parent.name:  # renamed: only the file's name is left
        return log.Setup(path.stem.removeprefix("samples_")), "", {}
    if results is None:
        return log.Setup(path.parent.name.replace("__", "/") or "unknown model"), task, {}
    config = log.mapping(results.get("config"))
    model = log.flat_text(results.get("model_name")) or log.flat_text(config.get("model")) or "unknown model"
    totals = log.mapping(log.mapping(results.get("results")).get(task))
    return log.Setup(model, _settings(results, task)), task, totals


def _settings(results: Mapping[str, Any], task: str) -> tuple[tuple[str, str], ...]:
    """What may tell two runs of one model apart: system prompt, template, shots, arguments."""
    settings = {
        k: log.flat_text(results.get(k)) for k in ("system_instruction", "chat_template_sha", "fewshot_as_multiturn")
    }
    settings["n-shot"] = log.flat_text(log.mapping(results.get("n-shot")).get(task))
    config = log.mapping(results.get("config"))
    for key in ("model_args", "gen_kwargs"):
        value = config.get(key)
        arguments = value if isinstance(value, Mapping) else {key: value}
        settings |= {str(k): log.flat_text(v) for k, v in arguments.items()}
    return tuple((k, v) for k, v in settings.items() if v)


def are_totals(names: Mapping[str, Any]) -> bool:
    """Whether an object has the names of `results_*.json`."""
    return names.keys() >= {"results", "versions", "config"}


def read_totals(path: Path, reading: log.Reading) -> Iterator[log.Sample]:
    """No sample: totals say nothing about single items; refused where the samples are not beside them."""
    if not any(path.parent.glob("samples_*")):
        raise InputError(
            f"{path} holds the totals of lm-eval and no samples: nothing is known of single items.",
            remedy="Run lm_eval again with --log_samples and give the folder that it writes.",
        )
    yield from ()


def _sample(row: Mapping[str, Any], setup: log.Setup, task: str, reading: log.Reading) -> log.Sample:
    if "doc_id" not in row:
        raise Unreadable("no doc_id")
    doc = log.mapping(row.get("doc"))
    scores = _scores(row, reading)
    reading.scorer = reading.scorer or next(iter(scores), "")
    arguments = [log.mapping(a) for a in log.mapping(row.get("arguments")).values()]
    replies = row.get("filtered_resps")
    likelihoods = _likelihoods(replies)
    answer, confidences = "", {}
    options: tuple[str, ...] = ()
    if likelihoods and len(likelihoods) == len(arguments):
        options = tuple(log.flat_text(a.get("arg_1")).strip() for a in arguments)
        best, sure = log.softmax_choice(likelihoods)
        answer, confidences = options[best], {"options": sure}
    elif isinstance(replies, list) and replies:
        answer = log.flat_text(replies[0])
    if not likelihoods:
        _count_repeats(row.get("resps"), reading)
    asked = arguments[0].get("arg_0") if arguments else log.pick(doc, "question", "query", "input")
    return log.Sample(
        item=log.flat_text(row["doc_id"]),
        setup=setup,
        task=task,
        draw=0,
        prompt=log.flat_text(asked),
        references=_references(row.get("target"), options),
        options=options,
        domain=log.flat_text(log.pick(doc, *log.DOMAIN_KEYS)),
        answer=answer,
        scores=scores,
        confidences=confidences,
    )


def _scores(row: Mapping[str, Any], reading: log.Reading) -> dict[str, float | None]:
    """The values of the metrics that a row names, or of all its fields that are not lm-eval's own."""
    names = row.get("metrics")
    if not isinstance(names, list):
        names = [k for k in row if k not in _KNOWN]
    return {str(n): log.count_number(row.get(n), reading) for n in names if isinstance(row.get(n), str | int | float)}


def _references(target: object, options: Sequence[str]) -> tuple[str, ...]:
    """The right answers; where there are options, the number of one stands for its text."""
    references = tuple(map(log.flat_text, target)) if isinstance(target, list) else (log.flat_text(target),)
    if options and len(references) == 1 and references[0].isdecimal() and int(references[0]) < len(options):
        references = (options[int(references[0])],)
    return tuple(r for r in references if r)


def _count_repeats(replies: object, reading: log.Reading) -> None:
    """Count as unread the further replies to a question: only the first is graded."""
    first = replies[0] if isinstance(replies, list) and replies else None
    if isinstance(first, list) and len(first) > 1:
        reading.unread["repeat: it has no grade of its own"] += len(first) - 1


def _likelihoods(replies: object) -> list[float]:
    """Log-likelihoods of the options: pairs of (log-likelihood, is it greedy), written as text or as numbers."""
    if not isinstance(replies, list) or len(replies) < 2:
        return []
    out = []
    for reply in replies:
        if not isinstance(reply, list) or len(reply) != 2 or str(reply[1]) not in ("True", "False", "true", "false"):
            return []
        try:
            value = log.real(float(reply[0]))
        except (TypeError, ValueError, OverflowError):
            return []
        if value is None:
            return []
        out.append(value)
    return out
