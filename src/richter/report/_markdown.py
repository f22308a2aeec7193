"""A results document in Markdown, short enough for a pull request."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import polars as pl

from richter.claims import claim_words, measure_words
from richter.records import Claim, Verdict, at_most, markdown_safe, refusals
from richter.report._side_by_side import judged_answers
from richter.tables import Dataset
from richter.words import (
    describe_gate_context,
    describe_registration,
    describe_span,
    describe_verdict,
    lines_below,
    rail,
    verdict_word,
)
from richter.words._page_texts import describe_warnings, signature_rows
from richter.words._spans import count, interval_words, number, percent

__all__ = ["MARKDOWN_MARK", "gate_comment", "markdown"]

MARKDOWN_MARK = "<!-- richter report -->"  # the first line, by which a report is known again
MOST = 12  # claims and conditions told one by one; beyond, they are counted
DECIDED = ("refuted", "verified", "equivalent")
MARKS = {True: "passed", False: "**failed**", None: "not made"}

SIDES = 5  # items that got worse and that got better, each
ANSWER = 200  # characters of an answer in a comment
BAR = 24

Row = Mapping[str, Any]


def gate_comment(
    sentence: str,
    claims: Sequence[Claim],
    requirements: Sequence[str],
    tables: Dataset,
    *,
    small: str,
    outcome: Verdict,
    page: str = "",
    notes: Sequence[str] = (),
    next_step: str = "",
) -> str:
    """A gate for a pull request: the verdict, each requirement with its interval as a bar, what broke and what got
    fixed with both answers, what it would take, and where the page is.

    Everything that came from a model or a file is escaped: it stays text.
    """
    mark = {Verdict.REFUTED: "❌", Verdict.VERIFIED: "✅"}.get(outcome, "❔")
    lines = [f"## {mark} {markdown_safe(sentence, limit=600)}", ""]
    context = [markdown_safe(text) for text in map(describe_gate_context, claims) if text]
    lines += [*context, ""] if context else []
    lines += [markdown_safe(next_step, limit=600), ""] if next_step else []
    lines += ["| requirement | result | measured | worse ← · → better |", "|---|---|---|---|"]
    lines += [_requirement_row(required, claim) for required, claim in zip(requirements, claims, strict=True)]
    lines.append("")
    own = [x for c in claims for x in (*c.notes, f"{c.reason}. {c.remedy}".strip(". ")) if x]
    lines += how_read(tables.understood, tuple(dict.fromkeys((*notes, *own))))
    needs = [f"- {markdown_safe(c.sentence, limit=400)}" for c in claims if c.needed and c.verdict is Verdict.UNDECIDED]
    lines += [*needs, ""] if needs else []
    pair = next((c.conditions for c in claims if len(c.conditions) == 2), None)
    if pair is not None and all(name in tables.conditions for name in pair):
        lines += _changes(tables, pair[0], pair[1])
    if page:
        lines += [f"[The page with every answer](<{quote(page, safe=':/?&=%#~')}>)", ""]
    return "\n".join([*lines, f"<sub>{markdown_safe(small)}</sub>"]) + "\n"


def _requirement_row(required: str, claim: Claim) -> str:
    """A requirement, its verdict, and its interval in numbers and as a bar."""
    measured, bar, span = "–", "", claim.interval
    if claim.estimate is not None and span is not None:
        two = len(claim.conditions) == 2
        shown = claim.plain_interval or span
        measured = describe_span(claim_words(claim), claim.estimate, shown, is_difference=two)
        measured += f", n = {claim.n or 0:,}"
        bar = f"`{interval_bar(claim)}`" if two else ""
    return f"| {markdown_safe(required)} | {describe_verdict(claim)} | {measured} | {bar} |"


def interval_bar(claim: Claim, *, width: int = BAR) -> str:
    """An interval in characters, the estimate in it and zero in the middle; right of it is better for the reader."""
    assert claim.interval is not None
    assert claim.estimate is not None
    places = rail(claim.estimate, claim.interval.low, claim.interval.high, better=claim.better)
    first, dot, last = (round(p * (width - 1)) for p in places)
    cells = ["━" if first <= k <= last else "·" for k in range(width)]
    cells[width // 2] = "┿" if first <= width // 2 <= last else "│"
    cells[dot] = "●"
    return "".join(cells)


def _changes(tables: Dataset, first: str, second: str) -> Iterator[str]:
    """What got worse and what got better from one condition to the other, the largest changes first."""
    both = judged_answers(tables).filter(pl.col("condition").is_in([first, second]))
    wide = both.pivot("condition", index="item", values=["bad", "text"], aggregate_function="first")
    if not {f"bad_{n}" for n in (first, second)} <= set(wide.columns):
        return
    moved = (
        wide.with_columns((pl.col(f"bad_{second}") - pl.col(f"bad_{first}")).alias("change"))
        .filter(pl.col("change").is_not_null() & (pl.col("change") != 0))
        .sort(pl.col("change").abs(), descending=True, maintain_order=True)
    )
    right_or_wrong = both["bad"].drop_nulls().is_in([0.0, 1.0]).all() and not tables.counting
    worse, better = ("Broken", "Fixed") if right_or_wrong else ("Got worse", "Got better")
    for title, part in ((worse, moved.filter(pl.col("change") > 0)), (better, moved.filter(pl.col("change") < 0))):
        if len(part):
            yield from _changed_items(title, part, tables, (first, second))


def _changed_items(title: str, part: pl.DataFrame, tables: Dataset, pair: tuple[str, str]) -> Iterator[str]:
    """The first items that changed, folded: both answers side by side; of grades alone the items' names."""
    is_graded = not tables.counting and tables.rows["correct"].null_count() < len(tables.rows)
    by_first = (tables.rows["draw"] > 0).any() and not is_graded
    more = ", by first answers" if by_first else ""
    more += f", {SIDES} of them" if len(part) > SIDES else ""
    yield f"<details><summary>{title}: {count(len(part), 'question')}{more}</summary>"
    yield ""
    shown = part.head(SIDES)
    if any(text for n in pair for text in shown[f"text_{n}"]):
        yield f"| question | {markdown_safe(pair[0], limit=60)} | {markdown_safe(pair[1], limit=60)} |"
        yield "|---|---|---|"
        yield from (_answers_row(row, tables, pair) for row in shown.iter_rows(named=True))
    else:
        yield ", ".join(markdown_safe(str(item), limit=60) for item in shown["item"])
    yield ""
    yield "</details>"
    yield ""


def _answers_row(row: Row, tables: Dataset, pair: tuple[str, str]) -> str:
    """A question with both answers."""
    item = tables.items.get(row["item"])
    question = markdown_safe(item.prompt if item and item.prompt else row["item"], limit=ANSWER)
    texts = [markdown_safe(row[f"text_{n}"] or "(empty)", limit=ANSWER) for n in pair]
    return f"| {question} | {texts[0]} | {texts[1]} |"


def markdown(document: Row) -> str:
    """The question, the claims, the numbers per condition, the checks, what to do next, and what can be signed.

    Everything that came from a model or a file is escaped: it stays text. With many claims the decided ones come first
    and the rest are counted by measure; nothing is left out silently.
    """
    lines = [MARKDOWN_MARK, f"## {markdown_safe(document['answer'])}", "", *_about(document), ""]
    lines += how_read(str(document.get("understood") or ""), document.get("notes") or ())
    lines += [*_claims(document["claims"]), *_refused(document), *_conditions(document["conditions"])]
    checks = [f"- {MARKS[c['passed']]}: {markdown_safe(c['text'])}" for c in document["checks"]]
    lines += ["### Checks", "", *checks, ""]
    if document["next"]:
        lines += ["### Next", "", *(f"- {markdown_safe(step)}" for step in document["next"]), ""]
    signed = [f"- {name}: {markdown_safe(text, limit=600)}" for name, text in signature_rows(document)]
    lines += ["### To sign", "", *signed, "", _small(document)]
    return "\n".join(lines) + "\n"


def how_read(understood: str, notes: Sequence[str]) -> list[str]:
    """How the file was read, and what is to be known of the data, as lines of Markdown."""
    if not understood and not notes:
        return []
    return [
        f"**How the file was read**: {markdown_safe(understood, limit=600)}",
        "",
        *(f"- {markdown_safe(note, limit=600)}" for note in notes),
        *([""] if notes else []),
    ]


def _about(document: Row) -> Iterator[str]:
    run = document["run"]
    of = f" of {markdown_safe(run['bench'], limit=120)}" if run["bench"] else ""
    yield from map(markdown_safe, lines_below(document.get("first_lines") or {}))
    yield f"{count(run['items'], 'question')}{of}."
    warnings = describe_warnings(document)
    if warnings:
        yield f"**{markdown_safe(warnings, limit=600)}**"
    if document["methods"]["exploratory"]:
        reasons = ["the plan does not confirm it"] if document["methods"]["plan"] else []
        yield describe_registration(is_registered=False, reasons=reasons)


def _claims(claims: Sequence[Row]) -> Iterator[str]:
    if not claims:
        return
    yield "### Claims"
    yield ""
    order = sorted(claims, key=lambda c: (c["section"] != "requirements", c["verdict"] not in DECIDED))  # stable
    for claim in order[:MOST]:
        word = verdict_word(claim["verdict"], str(claim.get("side")))
        yield f"- **{word}** {markdown_safe(claim['sentence'], limit=600)}"
    yield ""
    if len(order) > MOST:
        words = [verdict_word(c["verdict"], str(c.get("side"))) for c in claims]
        verdicts = sorted(set(words))
        yield f"These are {MOST} of {len(order):,}. All of them:"
        yield ""
        yield "| " + " | ".join(["about", *verdicts]) + " |"
        yield "|---" * (1 + len(verdicts)) + "|"
        for measure in dict.fromkeys(c["measure"] for c in claims):
            counts = Counter(word for c, word in zip(claims, words, strict=True) if c["measure"] == measure)
            name = measure_words(measure).noun
            yield f"| {name} | " + " | ".join(number(counts[v]) if counts[v] else "" for v in verdicts) + " |"
        yield ""


def _refused(document: Row) -> Iterator[str]:
    """What was not compared, and why."""
    lines = refusals((r["conditions"], r["reason"]) for r in document["refused"])
    yield from (f"- **not compared** {markdown_safe(line, limit=600)}" for line in lines[:MOST])
    if len(lines) > MOST:
        yield f"- and {count(len(lines) - MOST, 'reason')} more"
    yield from [""] * bool(lines)


def _conditions(conditions: Sequence[Row]) -> Iterator[str]:
    if not conditions:
        return
    is_graded = any(c["how_often"] for c in conditions)
    often = "wrong" if is_graded or not any(c.get("scored") for c in conditions) else "score"
    yield f"| name | n | {often} | severity 3 or more | mean severity | calibration error | worst in |"
    yield "|---|---|---|---|---|---|---|"
    ranked = sorted(conditions, key=lambda c: -(c["how_often"] or {"estimate": -1.0})["estimate"])
    yield from (f"| {' | '.join(_condition_cells(c))} |" for c in ranked[:MOST])
    if len(ranked) > MOST:
        yield ""
        which = "that are wrong most often" if is_graded else "that are named first"
        yield f"The {MOST} {which}, of {len(ranked)}."
    yield ""


def _condition_cells(condition: Row) -> list[str]:
    """The numbers of a condition."""
    often, scored, knows = condition["how_often"], condition.get("scored"), condition["knows"]
    mean = (condition["how_badly"] or {}).get("mean")
    worst = next(iter(condition["where"]), None)
    return [
        markdown_safe(condition["name"], limit=60),
        number((often or scored or {"n": 0})["n"]),
        f"score {number(scored['estimate'])} {_interval(scored)}" if scored else _rate(often),
        _rate(condition["how_badly"]),
        "–" if mean is None else f"{mean['estimate']:.2f}",
        "–" if knows is None else f"{knows['estimate']:.3f} {_interval(knows)}",
        "" if worst is None else f"{markdown_safe(worst['group'], limit=60)}: {percent(worst['error_rate'])}",
    ]


def _interval(figure: Row) -> str:
    return interval_words(figure["interval"], as_percent=False)


def _rate(figure: Row | None) -> str:
    """A rate with its interval; with nothing seen its upper limit, never 0."""
    if figure is None:
        return "–"
    if figure["estimate"] == 0:
        return f"none seen, at most {at_most(100 * figure['interval']['high'])}%"
    low, high = figure["interval"]["low"], figure["interval"]["high"]
    level = f"{100 * figure['interval']['level']:.3g}% CI"
    return f"{percent(figure['estimate'])} ({level} {percent(low)} to {percent(high)})"


def _small(document: Row) -> str:
    methods = document["methods"]
    spent = methods["spent"]
    money = "price unknown" if spent["money_usd"] is None else f"${number(spent['money_usd'])}"
    made = f"Richter {markdown_safe(document['richter'])}, seed {methods['seed']}"
    return f"<sub>{made}; {count(spent['calls'], 'call')}, {number(spent['tokens'])} tokens, {money}.</sub>"
