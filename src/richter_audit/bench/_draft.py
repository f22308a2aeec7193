"""From a fact to an item: what a domain writes down, and the checks that every item must pass."""

import dataclasses
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from richter.records import Item
from richter_audit.bench._text import leaks, normalise_name, ordered, unique

# ways to say that what was asked about is not there
NO_SUCH = (
    *(
        "none", "no such", "does not exist", "doesn't exist", "not assigned", "isn't assigned", "unassigned",
        "not a valid",
    ),
    *("not valid", "invalid", "not a real", "not a recognized", "not a recognised", "not an official", "there is no"),
    *("there isn't", "not in use", "not currently", "no known", "fictional", "not a standard", "not an actual"),
)  # fmt: skip

Form = Literal["plain", "compositional", "trap"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One question as a domain writes it.

    `stem` is a sentence that the answer completes. `wrong` are plausible wrong answers, best first; what is also
    right (`aliases`, `also`) is never offered among them.
    """

    prompt: str
    stem: str
    answer: str
    wrong: Sequence[str]
    truth: Mapping[str, Any]
    aliases: Sequence[str] = ()
    also: Sequence[str] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The questions of one relation in one tier: the ids of its facts, and how one is written.

    `weight` is the relation's share of its tier. `shots` are solved sentences of the same relation with their answers.
    """

    tier: int
    relation: str
    facts: Sequence[str]
    write: Callable[[str], Draft | None]
    shots: Sequence[tuple[str, str]]
    source: str
    form: Form = "plain"
    weight: int = 1


Write = Callable[[str], Draft | None]
STEMS = (
    (r"^(?:What is|Give) the (.*)[?.]$", r"The \1 is"),
    (r"^Which (.*) has the (.*)\?$", r"The \1 with the \2 is"),
)


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """What is asked, the sentence that the answer completes, and what both are about.

    "What is the code of X?" has the stem "The code of X is" of itself, "Which X has the Y?" has "The X with the Y is".
    """

    prompt: str
    subject: str
    stem: str = ""

    def draft(
        self,
        answer: str,
        wrong: Sequence[str],
        kind: str,
        *,
        aliases: Sequence[str] = (),
        also: Sequence[str] = (),
        code_of: str = "",
        **truth: Any,
    ) -> Draft:
        """The question with its answer; the rest is what a wrong answer is measured against."""
        stem = self.stem or next((re.sub(*rule, self.prompt) for rule in STEMS if re.match(rule[0], self.prompt)), "")
        truth = {"kind": kind, **({"of": code_of} if code_of else {}), "subject": self.subject, **truth}
        return Draft(prompt=self.prompt, stem=stem, answer=answer, wrong=wrong, truth=truth, aliases=aliases, also=also)

    def trap(
        self,
        answer: str,
        wrong: Sequence[str],
        premise: str,
        corrected: str = "unassigned",
        *,
        aliases: Sequence[str],
        **truth: Any,
    ) -> Draft:
        """A question whose premise is false; `answer` says so."""
        return self.draft(answer, wrong, "trap", aliases=aliases, premise=premise, corrected=corrected, **truth)


def ask(
    draft: Callable[[Any, Asked], Draft | None],
    prompt: str,
    shown: Callable[[str], str] = str,
    subject: Callable[[str], str] | None = None,
    *,
    stem: str = "",
    key: Callable[[str], Any] | None = None,
) -> Write:
    """How a fact is written: `shown` of it stands for {} in prompt and stem, and is the subject unless `subject` says.

    `draft` gets the fact, or its `key`. Where there is nothing to show there is no question.
    """

    def write(fact: str) -> Draft | None:
        name = shown(fact)
        if not name:
            return None
        asked = Asked(prompt.format(name), (subject or shown)(fact), stem.format(name))
        return draft(key(fact) if key else fact, asked)

    return write


def relation(
    name: str, source: str, write: Write, shots: Sequence[str] | Sequence[tuple[str, str]], form: Form = "plain"
) -> Callable[..., Cell]:
    """The cells of one relation, which lack tier, facts and weight. `shots` are facts, or sentences solved already."""
    given = [shot for shot in shots if isinstance(shot, tuple)]
    solved = given or solve(write, [fact for fact in shots if isinstance(fact, str)])
    return partial(Cell, relation=name, source=source, write=write, shots=solved, form=form)


def solve(write: Write, facts: Sequence[str]) -> list[tuple[str, str]]:
    """Solved sentences of a relation, for use as shots, each with its answer."""
    drafts = (write(fact) for fact in facts)
    return [(f"{draft.stem} {draft.answer}.", draft.answer) for draft in drafts if draft and draft.answer]


def finish(domain: str, cell: Cell, fact: str) -> Item | None:
    """The item for a fact, or None where it would give itself away or has no three wrong options.

    Its group is what it asks about, within its domain: who knows little of a country fails several of its questions,
    and another draw of the benchmark would have other countries. Relations are no groups: every draw has the same.
    """
    draft = cell.write(fact)
    if draft is None:
        return None
    aliases = unique([draft.answer, *draft.aliases])[1:]
    right = [draft.answer, *aliases]
    if leaks(right, draft.prompt) or leaks(right, draft.stem):
        return None
    taken = {normalise_name(name) for name in [*right, *draft.also]}
    wrong = [name for name in unique(draft.wrong) if normalise_name(name) not in taken][:3]
    if len(wrong) < 3:
        return None
    identity = hashlib.sha256(f"{cell.relation}|{draft.prompt}".encode()).hexdigest()[:10]
    return Item(
        id=f"{domain.split()[0]}-{cell.tier}-{identity}",
        prompt=draft.prompt,
        reference=draft.answer,
        aliases=aliases,
        options=tuple(ordered([draft.answer, *wrong], "options", draft.prompt)),
        stem=draft.stem,
        shots=_shots(cell, draft),
        domain=domain,
        tier=cell.tier,
        group=f"{domain}: {normalise_name(str(draft.truth.get('subject', draft.prompt)))}",
        form=cell.form,
        source=cell.source,
        truth={**draft.truth, "relation": cell.relation},
    )


def _shots(cell: Cell, draft: Draft) -> tuple[str, ...]:
    """Two solved sentences that neither hold the answer nor share one."""
    right = unique([draft.answer, *draft.aliases, *draft.also])
    chosen: dict[str, str] = {}
    for text, answer in ordered(cell.shots, "shots", draft.prompt):
        if not leaks(right, text) and not text.startswith(draft.stem) and answer not in chosen:
            chosen[answer] = text
        if len(chosen) == 2:
            return tuple(chosen.values())
    raise AssertionError(f"{cell.relation} has no two shots for {draft.prompt!r}")
