"""Rules that find where a run went wrong: one table, a row a rule.

A rule says what happened, never why. It reads steps, the answer and how the run ended; it asks no model. What is
planted and found, and how often: docs/validation/agents.md.
"""

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterator

from richter.trajectories._steps import Step, Trajectory

__all__ = ["RULES", "Fault", "FaultRule", "find_faults", "is_failed"]

CallKey = tuple[str, str, str, str]  # a tool, its arguments, its result and its error

LOOP_TURNS = 3  # times that the same calls come one after another
MAX_PERIOD = 5  # calls of one turn of a loop
MIN_LETTERS = 4  # of a word that a later step may take from a result


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault of a run: the rule that found it and the place of its step, from 0."""

    rule: str
    step: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FaultRule:
    """A rule: its severity from 0 to 4 where nobody judged the step, what it means, and how it finds its steps."""

    severity: int
    meaning: str
    find: Callable[[Trajectory], list[int]]


_FAILURE = re.compile(
    r"\s*(?:\[?(?:error|exception|fatal|traceback|failed|failure)\b"
    r"|(?:[\w./-]+: ){0,3}(?:command not found|no such file or directory|permission denied))"
    r"|.*\b(?:exit|return) ?(?:code|status)?[:= ]+[1-9]\d{0,2}\b",
    re.IGNORECASE,
)
_REFUSES = re.compile(
    r"\b(?:can(?:no|')t|cannot|won't|will not|unable to|not able to|must decline to|decline to|refuse to)\s+"
    r"(?:help|assist|comply|do that|support|provide that|take part|engage)|against (?:my|our|the) (?:policy|policies"
    r"|guidelines|rules)",
    re.IGNORECASE,
)
_GIVES_UP = re.compile(
    r"\b(?:giv(?:e|ing) up|gave up|abandon(?:ing|ed)?|i(?:'m| am) stuck|stopp?(?:ing)? here"
    r"|(?:could|can)(?: ?not|n't) (?:complete|finish|solve|proceed|continue|make progress)"
    r"|unable to (?:complete|finish|solve|proceed|continue|find|determine|make)|no further progress"
    r"|(?:task|this) (?:is|seems|appears) (?:impossible|not possible))\b",
    re.IGNORECASE,
)
_BUDGET = re.compile(r"limit|length|budget|max[_ -]|timeout|timed out|out of (?:tokens|time|steps)", re.IGNORECASE)
_CONFIRMS = re.compile(
    r"\W*(?:ok(?:ay)?|done|success\w*|wrote|written|saved|created|updated|deleted|removed|sent|moved|copied|added"
    r"|installed|set|exit(?:ed)? (?:code|status)?[: ]*0|no output|none|true|null|\{\}|\[\])\b|\W*$",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"\d[\d.,:]*\d|\d|[^\W\d_]+", re.UNICODE)


def is_failed(step: Step) -> bool:
    """Whether a tool call failed: by its error, or by what its result begins with or says of its exit."""
    return step.role == "tool" and bool(step.error or _FAILURE.match(step.result.partition("\n")[0][:500]))


def _failed_calls(run: Trajectory) -> list[int]:
    return [k for k, step in enumerate(run.steps) if is_failed(step)]


def _loops(run: Trajectory) -> list[range]:
    """The places of calls that go round: the same calls with the same results, three times or more in a row."""
    places = [k for k, step in enumerate(run.steps) if step.role == "tool"]
    keys = [_call_key(run.steps[k]) for k in places]
    found: list[range] = []
    for period in range(1, MAX_PERIOD + 1):
        for first, end in _recurrences(keys, period):
            span = range(places[first], places[end - 1] + 1)
            if not any(span.start in other or other.start in span for other in found):
                found.append(span)
    return sorted(found, key=lambda span: span.start)


def _recurrences(keys: list[CallKey], period: int) -> Iterator[tuple[int, int]]:
    """The first place and the end of every stretch that goes round in so many calls, often enough for a loop."""
    start = 0  # of the stretch in which every call is the one a period before
    for k in range(period, len(keys) + 1):
        if k < len(keys) and keys[k] == keys[k - period]:
            continue
        if k - start >= LOOP_TURNS * period:
            yield start, k
        start = k - period + 1


def _call_key(step: Step) -> CallKey:
    return step.tool, step.arguments, step.result, step.error


def _repeated(run: Trajectory) -> list[int]:
    """The calls that an earlier one answered already: the same call with the same result. Loops count by themselves."""
    in_loops = {k for span in _loops(run) for k in span}
    seen: set[CallKey] = set()
    found = []
    for k, step in enumerate(run.steps):
        if step.role != "tool" or is_failed(step):
            continue
        key = _call_key(step)
        if key in seen and k not in in_loops:
            found.append(k)
        seen.add(key)
    return found


def _unused(run: Trajectory) -> list[int]:
    """The calls of whose results nothing comes again: no word and no number, in a later text or a later call.

    What the task or the call itself says does not count as coming from the result. A result that only confirms, or
    only gives back the agent's own words, has nothing to be used. A run that was cut, refused or given up is not asked.
    """
    if run.crashed or _ends_early(run):
        return []
    skipped = {*_repeated(run), *(k for span in _loops(run) for k in span)}
    task, own = _tokens(run.prompt), [_own_words(step) for step in run.steps]
    later = list(itertools.accumulate(reversed(own), set.union, initial=_tokens(run.answer)))[::-1]
    known = list(itertools.accumulate(own, set.union, initial=task))
    found = []
    for k, step in enumerate(run.steps):
        if step.role != "tool" or k in skipped or is_failed(step) or _CONFIRMS.match(step.result):
            continue
        result = _tokens(step.result)
        if result - known[k + 1] and not (result - task - own[k]) & later[k + 1]:
            found.append(k)
    return found


def _own_words(step: Step) -> set[str]:
    """What the agent itself says in a step: a message, or the arguments of a call."""
    return _tokens(step.arguments if step.role == "tool" else step.result)


def _tokens(text: str) -> set[str]:
    """The numbers and longer words of a text."""
    return {t.lower() for t in _TOKEN.findall(text) if t[0].isdigit() or len(t) >= MIN_LETTERS}


def _last(run: Trajectory) -> list[int]:
    return [max(len(run.steps) - 1, 0)]


def _hits_budget(run: Trajectory) -> bool:
    return bool(_BUDGET.search(run.finish))


def _has_refused(run: Trajectory) -> bool:
    """Whether the run declines: in words of refusal, by a content filter, or before it called anything."""
    if run.crashed or _hits_budget(run):
        return False
    text, has_called = _ending(run), any(step.role == "tool" for step in run.steps)
    return bool(_REFUSES.search(text)) or "content_filter" in run.finish or (run.declines and not has_called)


def _has_given_up(run: Trajectory) -> bool:
    """Whether the run ends without an answer though nothing stopped it: in words, or with nothing after its calls."""
    if run.crashed or _hits_budget(run) or _has_refused(run):
        return False
    has_called = any(step.role == "tool" for step in run.steps)
    return bool(_GIVES_UP.search(_ending(run))) or (has_called and run.declines)


def _ends_early(run: Trajectory) -> bool:
    return _hits_budget(run) or _has_refused(run) or _has_given_up(run)


def _ending(run: Trajectory) -> str:
    """The answer, else the last that the agent said."""
    said = (step.result for step in reversed(run.steps) if step.role == "assistant" and step.result)
    return run.answer or next(said, "")


# the name that people and JSON read -> the rule
RULES: dict[str, FaultRule] = {
    "failed call": FaultRule(severity=1, meaning="A tool call ended in an error.", find=_failed_calls),
    "repeated call": FaultRule(
        severity=1, meaning="An earlier call with the same arguments had given the same result.", find=_repeated
    ),
    "unused result": FaultRule(
        severity=1, meaning="Nothing of a tool's result comes again in a later step or the answer.", find=_unused
    ),
    "loop": FaultRule(
        severity=2,
        meaning="The same calls came three times or more in a row.",
        find=lambda run: [span.start for span in _loops(run)],
    ),
    "budget hit": FaultRule(
        severity=3,
        meaning="A limit on tokens, messages, time or cost ended the run.",
        find=lambda run: _last(run) if _hits_budget(run) else [],
    ),
    "refusal": FaultRule(
        severity=3, meaning="The agent declined the task.", find=lambda run: _last(run) if _has_refused(run) else []
    ),
    "gave up": FaultRule(
        severity=3,
        meaning="The agent ended without an answer, and no limit stopped it.",
        find=lambda run: _last(run) if _has_given_up(run) else [],
    ),
}


def find_faults(run: Trajectory) -> Iterator[Fault]:
    """The faults of a run by every rule, those of one rule in their order."""
    for name, rule in RULES.items():
        for step in rule.find(run):
            yield Fault(rule=name, step=step)
