"""Rules that find where a run went wrong: one table, a row a rule.

A rule says what happened, never why. It reads steps, the answer and how the run ended; it asks no model. What is
planted and found, and how often: docs/validation/agents.md.
"""

import dataclasses
import functools
import re
from collections.abc import Callable, Iterator

from richter.trajectories._steps import Step, Trajectory

__all__ = ["RULES", "Fault", "FaultRule", "find_faults", "is_failed"]

CallKey = tuple[str, str, str, str]  # a tool, its arguments, its result and its error

LOOP_TURNS = 3  # times that the same calls come one after another
MAX_PERIOD = 5  # calls of one turn of a loop
MIN_LETTERS = 4  # of a word that a later step may take from a result
MIN_SUBJECT = 3  # characters of a word or number that says what a call is about


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
    r"\s*(?:\[?(?:error|exception|fatal|traceback|failed to)\b"
    r"|(?:[\w./-]+: (?:line \d+: )?(?:[^:\n]{1,200}: ){0,2})?"
    r"(?:command not found|no such file or directory|permission denied)\s*$)"
    r"|.*\b(?:exit|return) ?(?:code|status)?[:= ]+[1-9]\d{0,2}\b",
    re.IGNORECASE,
)
_REFUSES = re.compile(
    r"\b(?:can(?:no|')t|cannot|(?:won't|will not)(?: be able to)?|unable to|not able to|decline to|refuse to)\s+"
    r"(?:help|assist|comply|do that|support|provide that|take part|engage)"
    r"|\bi(?:'m| am) not (?:permitted|allowed|willing) to|\bi (?:must|have to) (?:decline|refuse)\b"
    r"|not something i(?:'m| am) (?:willing|able|allowed)|n't something i(?:'m| am) (?:willing|able|allowed)"
    r"|(?:against|violates?) (?:my|our|the) (?:\w+ )?(?:policy|policies|guidelines|rules)",
    re.IGNORECASE,
)
_GIVES_UP = re.compile(
    r"\b(?:giv(?:e|ing) up|gave up|abandon(?:ing|ed)?|i(?:'m| am) stuck|stopp?(?:ing)? here|out of ideas"
    r"|(?:could|can)(?: ?not|n't) (?:answer|complete|finish|solve|proceed|continue|make progress)"
    r"|(?:do not|don't) know the answer|(?:no answer|nothing) (?:found|to report)|leav(?:e|ing) (?:it|this) unresolved"
    r"|(?:unable|not (?:been )?able|not possible for me) to"
    r" (?:answer|complete|finish|solve|proceed|continue|find|determine|make|work)"
    r"|no further progress|(?:task|this) (?:is|seems|appears) (?:impossible|not possible))\b",
    re.IGNORECASE,
)
_BUDGET = re.compile(r"limit|length|budget|max[_ -]|timeout|timed out|out of (?:tokens|time|steps)", re.IGNORECASE)
_CONFIRMS = re.compile(
    r"\W*(?:ok(?:ay)?|done|success\w*|wrote|written|saved|created|updated|deleted|removed|sent|moved|copied|added"
    r"|installed|set|exit(?:ed)? (?:code|status)?[: ]*0|no (?:output|results?|match(?:es)?)|nothing found"
    r"|none|true|null|\{\}|\[\])\b|\W*$",
    re.IGNORECASE,
)
_SPACE_AT_QUOTE = re.compile(r'\s*"\s*')
_TOKEN = re.compile(rf"\d[\d.,:]*\d|\d|[^\W\d_]{{{MIN_LETTERS},}}")


@functools.lru_cache(maxsize=1 << 12)  # several rules and figures ask of every step
def is_failed(step: Step) -> bool:
    """Whether a tool call failed: by its error, or by what its result begins with or says of its exit."""
    return step.role == "tool" and bool(step.error or _FAILURE.match(step.result.partition("\n")[0][:500]))


def _failed_calls(run: Trajectory) -> list[int]:
    return [k for k, step in enumerate(run.steps) if is_failed(step)]


@functools.lru_cache(maxsize=1)  # three rules ask
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
    """What makes two calls the same: spaces at the ends of arguments do not."""
    return step.tool, _SPACE_AT_QUOTE.sub('"', step.arguments.strip()), step.result, step.error


@functools.lru_cache(maxsize=1)
def _repeated(run: Trajectory) -> list[int]:
    """The calls that an earlier one answered already: the same call with the same result.

    A call that only confirms may have changed something, so that asking the same tool again after it is no repetition.
    Loops count by themselves.
    """
    in_loops = {k for span in _loops(run) for k in span}
    seen: set[CallKey] = set()
    found = []
    for k, step in enumerate(run.steps):
        if step.role != "tool" or is_failed(step):
            continue
        key = _call_key(step)
        if key in seen and k not in in_loops:
            found.append(k)
        if _CONFIRMS.match(step.result):
            seen = {other for other in seen if other[0] != step.tool}
        seen.add(key)
    return found


def _unused(run: Trajectory) -> list[int]:
    """The calls that lead from nothing to nothing: they take up neither the task nor an earlier result, and no word and
    no number of their results comes again in a later text or a later call.

    What the task or the call itself says does not count as coming from the result. A result that only confirms, or
    only gives back the agent's own words, has nothing to be used. A run that was cut, refused or given up is not asked.
    """
    if run.crashed or _ends_early(run):
        return []
    skipped = {*_repeated(run), *(k for span in _loops(run) for k in span)}
    task, own = _tokens(run.prompt), [_own_words(step) for step in run.steps]
    first = {token: k for k in reversed(range(len(own))) for token in own[k]}  # the step in which it is said first
    last = {token: k for k, words in enumerate(own) for token in words} | dict.fromkeys(_tokens(run.answer), len(own))
    found, known = [], set(task)
    for k, step in enumerate(run.steps):
        if step.role != "tool":
            known |= own[k]
            continue
        subject = {token for token in own[k] if len(token) >= MIN_SUBJECT}
        if subject and not subject & known and k not in skipped and _is_left_unused(step, k, task, own, first, last):
            found.append(k)
        known |= _tokens(step.result)
    return found


def _is_left_unused(
    step: Step, k: int, task: set[str], own: list[set[str]], first: dict[str, int], last: dict[str, int]
) -> bool:
    """Whether a result says something new of which nothing comes again after step `k`."""
    if is_failed(step) or _CONFIRMS.match(step.result):
        return False
    result = _tokens(step.result) - task
    is_new = any(first.get(token, len(own)) > k for token in result)
    return is_new and not any(last.get(token, -1) > k for token in result - own[k])


def _own_words(step: Step) -> set[str]:
    """What the agent itself says in a step: a message, or the arguments of a call."""
    return _tokens(step.arguments if step.role == "tool" else step.result)


def _tokens(text: str) -> set[str]:
    """The numbers and longer words of a text."""
    return set(_TOKEN.findall(text.lower()))


def _last(run: Trajectory) -> list[int]:
    return [max(len(run.steps) - 1, 0)]


def _hits_budget(run: Trajectory) -> bool:
    return bool(_BUDGET.search(run.finish))


def _has_refused(run: Trajectory) -> bool:
    """Whether the run declines: in words of refusal, or by a content filter."""
    if run.crashed or run.is_right or _hits_budget(run):
        return False
    return bool(_REFUSES.search(_ending(run).replace("\u2019", "'"))) or "content_filter" in run.finish


def _has_given_up(run: Trajectory) -> bool:
    """Whether the run ends without an answer though nothing stopped it. One that is graded right has an answer."""
    if run.crashed or run.is_right or _hits_budget(run) or _has_refused(run):
        return False
    return run.declines or bool(_GIVES_UP.search(_ending(run).replace("\u2019", "'")))


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
        severity=1,
        meaning="A call has to do with nothing before it, and nothing of its result comes again.",
        find=_unused,
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
