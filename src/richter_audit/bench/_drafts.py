"""From a table of templates to items: the one generator of all domains, and the checks that every item must pass."""

import dataclasses
import functools
import hashlib
import operator
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from richter.records import Item
from richter_audit.bench._text_order import leaks, normalise_name, order_by_hash, unique

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
Slots = Mapping[str, str]
Shot = tuple[str, str]  # a solved sentence, and the answer in it

TEMPLATES = Path(__file__).with_name("templates.toml")
SLOT = re.compile(r"\{\w+\}")
STEMS = (
    (r"^(?:What is|Give) the (.*)[?.]$", r"The \1 is"),
    (r"^Which (.*) has the (.*)\?$", r"The \1 with the \2 is"),
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Object:
    """What a question asks for.

    `wrong` are plausible wrong answers, best first (the distractor rule); what is also right (`aliases`, `also`) is
    never offered among them. `truth` is what a wrong answer is measured against; it may give its own `kind`. A code
    says what it is a code `of`.
    """

    kind: str
    answer: str
    wrong: Sequence[str]
    aliases: Sequence[str] = ()
    also: Sequence[str] = ()
    of: str = ""
    truth: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question without its answer; `salt` settles every choice among wrong answers."""

    fact: str
    slots: Slots
    prompt: str
    salt: str


Rule = Callable[[str, Asked], Object | None]


def no_slots(fact: str) -> Slots:
    """Nothing but the fact itself stands in the wording."""
    return {}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Template:
    """One relation of a domain: a row of `templates.toml`.

    A fact is the id of what is asked about, and `slots` are the texts that stand for {name} in `prompt`, `stem` and
    `subject` ({fact} is always there); where one of the prompt is empty there is no question. `stem` is a sentence
    that the answer completes: "What is the code of X?" has the stem "The code of X is" of itself, "Which X has the
    Y?" has "The X with the Y is". `about` leads from the fact to what `answer` is asked for: a capital's country.
    `shots` are facts, or sentences solved already.
    """

    relation: str
    source: str
    prompt: str
    answer: Rule
    shots: Sequence[str] | Sequence[Shot]
    stem: str
    subject: str = "{fact}"
    slots: Callable[[str], Slots] = no_slots
    about: Callable[[str], str] = str
    salt: str = "{prompt}"
    form: Form = "plain"

    @cached_property
    def needed(self) -> list[str]:
        """The slots that must be filled."""
        return [slot[1:-1] for slot in SLOT.findall(self.prompt)]

    @cached_property
    def solved(self) -> list[Shot]:
        """The shots as sentences, each with its answer."""
        drafts = (self.write(shot) for shot in self.shots if isinstance(shot, str))
        given = [shot for shot in self.shots if isinstance(shot, tuple)]
        return given or [(f"{draft.stem} {draft.answer}.", draft.answer) for draft in drafts if draft and draft.answer]

    def write(self, fact: str) -> "Draft | None":
        """The question about a fact; None where there is none."""
        slots = {**self.slots(fact), "fact": fact}
        if not all(slots[name] for name in self.needed):
            return None
        prompt = self.prompt.format_map(slots)
        asked = Asked(fact=fact, slots=slots, prompt=prompt, salt=self.salt.format(fact=fact, prompt=prompt))
        object_ = self.answer(self.about(fact), asked)
        if object_ is None:
            return None
        head = {} if "kind" in object_.truth else {"kind": object_.kind}
        head |= {"of": object_.of} if object_.of else {}
        return Draft(
            prompt=prompt,
            stem=self.stem.format_map(slots),
            answer=object_.answer,
            wrong=object_.wrong,
            truth={**head, "subject": self.subject.format_map(slots), **object_.truth},
            aliases=object_.aliases,
            also=object_.also,
        )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One question as its template writes it."""

    prompt: str
    stem: str
    answer: str
    wrong: Sequence[str]
    truth: Mapping[str, Any]
    aliases: Sequence[str]
    also: Sequence[str]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The questions of one template in one tier; `weight` is its share of the tier."""

    template: Template
    tier: int
    facts: Sequence[str]
    weight: int

    @property
    def relation(self) -> str:
        """The template's."""
        return self.template.relation


def cells(domain: str, rules: object, pools: Mapping[str, Any]) -> list[Cell]:
    """The cells of a domain; those of a tier take turns in the order of its templates.

    What a template names is one of `pools` (facts, sentences, rules), or else an attribute of `rules`.
    """

    def find(name: str) -> Any:
        name, _, part = name.partition("[")
        value = pools[name] if name in pools else operator.attrgetter(name)(rules)
        return value[slice(*(int(end) if end else None for end in part[:-1].split(":")))] if part else value

    rows = []
    for row in _table()[domain]:
        template = _template(row, find)
        for entry in row["tiers"]:
            tier, facts, weight = [*entry.split(), "1"][:3]
            rows.append(Cell(template=template, tier=int(tier), facts=find(facts), weight=int(weight)))
    return rows


@functools.cache
def _table() -> dict[str, list[dict[str, Any]]]:
    return tomllib.loads(TEMPLATES.read_text(encoding="utf-8"))


def _template(row: Mapping[str, Any], find: Callable[[str], Any]) -> Template:
    """A row of the table with what it names."""
    stem, about = row.get("stem") or derive_stem(row["prompt"]), find(row["about"]) if "about" in row else str
    if "trap" in row:
        named = {key: row[key] for key in ("denials", "corrected") if key in row}
        answer = trap(row["trap"], row["premise"], find(row["wrong"]), **named)
    else:
        answer = find(row["answer"])
    return Template(
        **{key: row[key] for key in ("relation", "source", "prompt", "form", "subject", "salt") if key in row},
        stem=stem,
        slots=find(row["slots"]) if "slots" in row else no_slots,
        about=about.__getitem__ if isinstance(about, Mapping) else about,
        answer=answer,
        shots=solve(stem, find(row["solved"])) if "solved" in row else find(row["shots"]),
    )


def derive_stem(prompt: str) -> str:
    """The sentence that the answer to a prompt completes, where its form says so; else nothing."""
    return next((re.sub(*rule, prompt) for rule in STEMS if re.match(rule[0], prompt)), "")


def solve(stem: str, pairs: Iterable[tuple[str, str]]) -> list[Shot]:
    """Sentences of a stem with one slot: what stands there, and the answer."""
    before, after = SLOT.split(stem)
    return [(f"{before}{name}{after} {answer}.", answer) for name, answer in pairs]


def trap(
    answer: str,
    premise: str,
    wrong: Callable[[str], Sequence[str]],
    *,
    denials: Sequence[str] = (),
    corrected: str = "unassigned",
) -> Rule:
    """The rule of a question whose premise is false; `answer` says so, and `denials` do besides `NO_SUCH`."""

    def reject(key: str, asked: Asked) -> Object:
        truth = {"premise": premise.format_map(asked.slots), "corrected": corrected.format_map(asked.slots)}
        aliases = [*NO_SUCH, *(denial.format_map(asked.slots) for denial in denials)]
        return Object(
            kind="trap", answer=answer.format_map(asked.slots), wrong=wrong(asked.salt), aliases=aliases, truth=truth
        )

    return reject


def finish(domain: str, cell: Cell, fact: str) -> Item | None:
    """The item for a fact, or None where it would give itself away or has no three wrong options.

    Its group is what it asks about, within its domain: who knows little of a country fails several of its questions,
    and another draw of the benchmark would have other countries. Relations are no groups: every draw has the same.
    """
    draft = cell.template.write(fact)
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
        options=tuple(order_by_hash([draft.answer, *wrong], "options", draft.prompt)),
        stem=draft.stem,
        shots=_shots(cell, draft),
        domain=domain,
        tier=cell.tier,
        group=f"{domain}: {normalise_name(str(draft.truth.get('subject', draft.prompt)))}",
        form=cell.template.form,
        source=cell.template.source,
        truth={**draft.truth, "relation": cell.relation},
    )


def _shots(cell: Cell, draft: Draft) -> tuple[str, ...]:
    """Two solved sentences that neither hold the answer nor share one."""
    right = unique([draft.answer, *draft.aliases, *draft.also])
    chosen: dict[str, str] = {}
    for text, answer in order_by_hash(cell.template.solved, "shots", draft.prompt):
        if not leaks(right, text) and not text.startswith(draft.stem) and answer not in chosen:
            chosen[answer] = text
        if len(chosen) == 2:
            return tuple(chosen.values())
    raise AssertionError(f"{cell.relation} has no two shots for {draft.prompt!r}")
