"""Rules that find where a run went wrong: one table, a row a rule.

A rule says what happened, never why. It reads steps, the answer and how the run ended; it asks no model. What is
planted and found, and how often: docs/validation/agents.md.
"""

import dataclasses
import functools
import re
from collections.abc import Callable, Collection, Iterator

from richter.trajectories._steps import Step, Trajectory

__all__ = ["RULES", "Fault", "FaultRule", "find_faults", "is_failed"]

CallKey = tuple[str, str, str, str]  # a tool, its arguments, its result and its error

LOOP_TURNS = 3  # times that the same calls come one after another
MAX_PERIOD = 5  # calls of one turn of a loop
MIN_LETTERS = 4  # of a word that a later step may take from a result
MAX_ENDING = 300  # characters of an answer that may decline or give up: a longer one reports something
MAX_TOLD = 200  # characters of a message that tells the agent of a spent budget
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
    r"(?:command not found|no such file or directory|permission denied)\s*$"
    r"|\{.{0,200}?\"(?:status|state|type)\": ?\"(?:error|fail\w*)\"|\{.{0,200}?\"error\": ?(?:[\"{]\w|true)"
    r"|\{.{0,200}?\"(?:ok|success)\": ?false)"
    r"|.*\b(?:exit|return) ?(?:code|status)?[:= ]+[1-9]\d{0,2}\b|.*\[errno \d+\]",
    re.IGNORECASE,
)
# how an ending is read: who speaks, what is denied, and whether a will, a norm or a means is missing
_AGENT = re.compile(r"\b(?:i|we|me|my|our|us)\b", re.IGNORECASE)
_FORBIDS = (
    r"inappropriate|improper|unethical|unlawful|unauthori|illegal|forb[ia]d|prohibit|prevent|violat|breach|barred\b"
)
_DENIES = re.compile(
    r"\b(?:not|no|nor|none|never|nothing|cannot|unable|without|outside|against|beyond|instead|off)\b|n't\b"
    rf"|\b(?:{_FORBIDS}|sorry|apolog|regret|unfortunate|stop)",
    re.IGNORECASE,
)
_DECLINES = re.compile(
    r"\b(?:declin|refus|refrain|abstain|object to|turn(?:ing)? (?:\w+ )?down|pass on|rather not|not willing|unwilling"
    r"|will not|won't|wouldn't|would not|(?:choose|prefer) not|(?:choose|prefer|want|going) to (?:avoid|leave))"
    r"|\b(?:can't|can ?not|unable to|not able to) (?:help|assist|comply|do th(?:at|is)|support|provide that|take part"
    r"|engage|fulfil)|\b(?:is|are)(?: not|n't) something (?:that )?i\b",
    re.IGNORECASE,
)
_NORMS = re.compile(
    r"\b(?:polic(?:y|ies)|guideline|rules?\b|ethic|moral|conscience|conduct|terms\b|instructions\b|law(?:ful|s)?\b"
    r"|legal|allow|permi|authori[sz]|entitled|clearance|consent|appropriate|comfortable|priva|confidential|sensitive"
    r"|personal|secre|safe|harm|danger|misuse|abus|risk"
    rf"|as an? (?:ai|assistant|(?:large )?language model)\b|{_FORBIDS})",
    re.IGNORECASE,
)
_FAILS_TO = re.compile(
    r"(?:\b(?:not|never|nothing|cannot|unable|fail(?:ed|s)?|without)\b|n't\b)(?: \w+){0,3}?"
    r" (?:find|found|determin|locat|get\b|got\b|solv|complet|finish|work(?:ed|ing)?\b|answer|know|succe|establish"
    r"|figure|tell\b|say\b|resolv|reach|identif|obtain|manag|able\b|possible|proceed|continue|make\b|done\b"
    r"|do (?:it|this|that)|available|enough|sufficient|clear|access|verify|confirm|seem|appear|help)",
    re.IGNORECASE,
)
_GIVES_UP = re.compile(
    r"\b(?:giv(?:e|en|ing) up|gave up|abandon|(?:i am|i'm|got|getting) (?:stuck|lost)|dead end"
    r"|(?:stop|end)(?:ping|ing)? (?:here|now)"
    r"|(?:ran|run|running|out) (?:\w+ )?of (?:\w+ )?(?:ideas|options|approaches|ways)"
    r"|no (?:\w+ ){0,2}(?:answer|result|ideas?|options?|way|progress|conclusion|luck|success|solution|value|data)\b"
    r"|un(?:answered|resolved|solved|finished|successful|clear|known|sure|certain)|incomplete|inconclusive|impossible"
    r"|nothing (?:\w+ )?(?:to report|found))",
    re.IGNORECASE,
)
_NO_ANSWER = re.compile(r"\W*(?:(?:unknown|n/?a|none|null|nil|not found|no answer)\W*)?$", re.IGNORECASE)
_SENTENCE = re.compile(r"[.!?\n]\s")
_TURNS = re.compile(r"\b(?:but|however|yet|still|though)\b|[;:]", re.IGNORECASE)  # what counts comes after it
_BUDGET = re.compile(r"limit|length|budget|max[_ -]|timeout|timed out|out of (?:tokens|time|steps)", re.IGNORECASE)
_LIMITED = (
    r"(?:steps?|tokens?|turns?|calls?|actions?|time|messages?|budget|limit|maximum|context(?: window)?|deadline"
    r"|allowance|cap|credits?)"
)
_SPENT = r"(?:exhaust\w*|exceed\w*|reach\w*|used|spent|over|up|full|hit|left|remain\w*|passed|expired|ended|depleted)"
_BUDGET_TOLD = re.compile(
    rf"\b{_LIMITED}\b[^.\n]{{0,60}}?\b{_SPENT}\b|\b{_SPENT}\b[^.\n]{{0,30}}?\b{_LIMITED}\b|\bout of {_LIMITED}\b",
    re.IGNORECASE,
)
_PASSING = re.compile(r"retry|again|rate|later|per (?:second|minute|hour)", re.IGNORECASE)  # a limit that will lift
_CONFIRMS = re.compile(
    r"\W*(?:ok(?:ay)?|done|success\w*|wrote|written|saved|created|updated|deleted|removed|sent|moved|copied|added"
    r"|installed|set|exit(?:ed)? (?:code|status)?[: ]*0|no (?:output|results?|match(?:es)?)|nothing found"
    r"|none|true|null|\{\}|\[\])\b|\W*$",
    re.IGNORECASE,
)
_SPACE_AT_QUOTE = re.compile(r'\s*"\s*')
_TOKEN = re.compile(rf"[^\W\d]\w*\d\w*|\d[\d.,:]*\d|\d|[^\W\d_]{{{MIN_LETTERS},}}")
_KEY = re.compile(r'"\w+": ')  # the name of an argument


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
    candidates = _unrelated_calls(run, {*_repeated(run), *(k for span in _loops(run) for k in span)})
    if not candidates:
        return []
    task, own = _tokens(run.prompt), [_own_words(step) for step in run.steps]
    first = {token: k for k in reversed(range(len(own))) for token in own[k]}  # the step in which it is said first
    last = {token: k for k, words in enumerate(own) for token in words} | dict.fromkeys(_tokens(run.answer), len(own))
    return [k for k in candidates if _is_left_unused(run.steps[k], k, task, own, first, last)]


def _unrelated_calls(run: Trajectory, skipped: Collection[int]) -> list[int]:
    """The calls of which no word stands in the task, in an earlier text or in an earlier result."""
    found, said = [], run.prompt.lower()
    for k, step in enumerate(run.steps):
        if step.role == "tool" and k not in skipped:
            subject = [token for token in _own_words(step) if len(token) >= MIN_SUBJECT]
            if subject and not any(token in said for token in subject):
                found.append(k)
        said += f" {step.result.lower()}"
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
    return _tokens(_KEY.sub("", step.arguments) if step.role == "tool" else step.result)


def _tokens(text: str) -> set[str]:
    """The numbers, names with a number and longer words of a text, a plural as its singular."""
    return {token.removesuffix("s") for token in _TOKEN.findall(text.lower())}


def _last(run: Trajectory) -> list[int]:
    return [max(len(run.steps) - 1, 0)]


def _budget_place(run: Trajectory) -> int | None:
    """The step at which a budget ended the run: the last, or the one that told the agent so before it wrote its end."""
    if _BUDGET.search(run.finish):
        return max(len(run.steps) - 1, 0)
    for k in range(len(run.steps) - 1, -1, -1):
        step = run.steps[k]
        if step.role == "assistant":
            continue
        told = step.error or step.result
        is_told = len(told) <= MAX_TOLD and bool(_BUDGET_TOLD.search(told)) and not _PASSING.search(told)
        return k if is_told and (step.error or step.role == "user") else None
    return None


def _hits_budget(run: Trajectory) -> bool:
    return _budget_place(run) is not None


@functools.lru_cache(maxsize=1)
def _declined_part(run: Trajectory) -> str | None:
    """What the ending says where it may decline or give up: None where it reports something, or is right or stopped.

    It reports something where it states a number that a tool gave and the task did not.
    """
    if run.crashed or run.is_right or _hits_budget(run):
        return None
    ending = _ending(run).replace("\u2019", "'")
    if len(ending) > MAX_ENDING:
        return None
    numbers = {token for token in _tokens(ending) if token[0].isdigit()} - _tokens(run.prompt)
    results = [step.result for step in run.steps if step.role == "tool"] if numbers else []
    if any(number in text and number in _tokens(text) for text in results for number in numbers):
        return None
    return ending


def _has_refused(run: Trajectory) -> bool:
    """Whether the run declines by its will or by a norm, or by a content filter."""
    if "content_filter" in run.finish and not run.is_right:
        return True
    ending = _declined_part(run)
    if ending is None:
        return False
    return any(
        _AGENT.search(sentence)
        and (_DECLINES.search(sentence) or (_DENIES.search(sentence) and _NORMS.search(sentence)))
        for sentence in _SENTENCE.split(ending)
    )


def _has_given_up(run: Trajectory) -> bool:
    """Whether the run ends without an answer though nothing stopped it. One that is graded right has an answer."""
    ending = _declined_part(run)
    if ending is None or _has_refused(run):
        return False
    last = _TURNS.split(ending)[-1]
    return run.declines or bool(_NO_ANSWER.match(last) or _GIVES_UP.search(last) or _FAILS_TO.search(last))


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
        find=lambda run: [] if (at := _budget_place(run)) is None else [at],
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
