"""A results document in a screen of 100 columns (80 in a narrow terminal): what a run shows."""

import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.cells import cell_len, set_cell_size

from richter.interop import named_source
from richter.records import counted, printable
from richter.words import CORRECTED, CORRECTED_MEANS, describe_note, lines_below, verdict_word
from richter.words._page_texts import describe_claim_row, describe_lost_end
from richter.words._spans import number

WIDTH, LEAST = 100, 80
CONDITIONS = 10  # rows at most
RATE_BAR = 10
STEPS = 1
NOTES = 3  # on the data
REQUIREMENTS = 8
LONGEST = 800  # characters of a text that may be a model's name
SIGNS = {False: tuple("━●·"), True: tuple("-o.")}  # of a bar: the interval, the estimate, no value
MARKS = {False: "✗", True: "x"}  # of a check that failed

Row = Mapping[str, Any]


def summarise(
    document: Row,
    *,
    ascii_only: bool = False,
    after: Sequence[str] = (),
    width: int = WIDTH,
    sources: Sequence[str] = (),
) -> list[str]:
    """The lines: the answer and its counts; each condition; requirements; failed checks; the next step.

    Everything comes from the document; `after` are lines that follow (where the report lies). The page has all claims.
    A command names the `sources` as they were typed, with their folders, which no document has.
    """
    wide = min(max(width, LEAST), WIDTH)
    head = [*_head(document, wide), "", *_conditions(document, ascii_only, wide)]
    checks, steps = _checks(document["checks"], ascii_only, wide), _next(document["next"], wide, sources)
    lines = [*head, *_requirements(document, wide), "", *_searches(document, wide), *checks, *steps, *after]
    return [line.rstrip() for line in lines]


def _head(document: Row, width: int) -> Iterator[str]:
    run = document["run"]
    yield from _wrap(printable(document["answer"], limit=LONGEST), width)
    if run["lost"]:
        yield from _wrap(printable(describe_lost_end(run["lost"]), limit=LONGEST), width)
    for line in lines_below(document.get("first_lines") or {}):
        yield from _wrap(printable(line, limit=LONGEST), width)
    items = counted(run["items"], "question") + (f" of {printable(run['bench'], limit=40)}" if run["bench"] else "")
    facts = [items, printable(str(document["signature"]["basis"]), limit=LONGEST)]
    if run["state"] != "complete":
        facts.insert(0, f"the run is {'empty' if run['state'] == 'empty' else 'still in progress'}")
    yield from _wrap(f"{'; '.join(facts)}.", width)
    yield from _reading(document, width)


def _reading(document: Row, width: int) -> Iterator[str]:
    """How the file was read, and what is to be known of the data: the first notes whole, the others counted."""
    if understood := str(document.get("understood") or ""):
        first, *rest = _wrap(f"Read as: {printable(understood, limit=LONGEST)}".replace("…", "..."), width - 2)
        yield from (first, *(f"  {line}" for line in rest))
    notes = list(document.get("notes") or ())
    for note in notes[:NOTES]:
        yield from _wrap(describe_note(printable(str(note), limit=LONGEST)), width)
    if len(notes) > NOTES:
        yield f"{counted(len(notes) - NOTES, 'more note')} in the report"


# ------------------------------------------------------------------ conditions


HEADS = ("right", "", "severe", "mean", "ECE", "worst in")
BAR_COLUMN = 1
MEANT = {"severe": "severe: 3+ of 4", "mean": "mean: severity over all", "ECE": "ECE: how far confidence is off"}


def _conditions(document: Row, ascii_only: bool, width: int) -> Iterator[str]:
    """A line a condition, of the columns in which any has a value; the bars give way in a narrow terminal."""
    rows: list[Row] = list(document["conditions"])
    if not rows:
        return
    shown = rows
    if len(rows) > CONDITIONS:
        shown = sorted(rows, key=_error_rate)[:CONDITIONS]
    names = [_name(row) for row in shown]
    wide = min(max(len("name"), *map(cell_len, names)), 24)
    values = [_cells(row, ascii_only) for row in shown]
    columns = _column_widths([row for row in values if isinstance(row, list)], width - wide)

    def line(first: str, row: Sequence[str]) -> str:
        text = "  ".join([_fit(first, wide), *(_fit(row[k], size) if size else row[k] for k, size in columns.items())])
        return _fit(text, width, pad=False)

    if columns:
        heads = [f"right ({_level_of(document)} CI)", *HEADS[1:]]
        yield line("name" if shown is rows else f"{len(shown)} of {len(rows)}", heads)
    for name, row in zip(names, values, strict=True):
        yield line(name, row) if isinstance(row, list) else _fit(f"{_fit(name, wide)}  {row}", width, pad=False)
    if columns:
        rest = [] if shown is rows else ["best first, others in the report"]
        meant = [MEANT[HEADS[k]] for k in columns if HEADS[k] in MEANT]
        meant += [CORRECTED_MEANS] if any((row["how_often"] or {}).get("graded") for row in shown) else []
        yield from _wrap("; ".join([*meant, *rest]), width)


def _level_of(document: Row) -> str:
    """The level of the intervals of conditions."""
    spans = [(row["how_often"] or {}).get("interval") for row in document["conditions"]]
    level = next((span["level"] for span in spans if span and span.get("level")), 0.95)
    return f"{100 * level:.3g}%"


def _column_widths(rows: Sequence[Sequence[str]], room: int) -> dict[int, int]:
    """The columns in which any row has a value, with their widths; the last one's is 0, for as wide as it is."""
    columns = [k for k in range(len(HEADS)) if any(row[k] != "-" for row in rows)]
    last = len(HEADS) - 1
    sizes = {k: 0 if k == last else max(len(HEADS[k]), *(cell_len(row[k]) for row in rows)) for k in columns}
    if 0 in sizes:
        sizes[0] = max(sizes[0], len("right (95% CI)"))
    before_last = [size for k, size in sizes.items() if k != last]
    if sum(before_last) + 2 * len(before_last) + 10 > room:
        sizes.pop(BAR_COLUMN, None)
    return sizes


def _error_rate(row: Row) -> float:
    return math.inf if row["how_often"] is None else float(row["how_often"]["estimate"])


def _name(row: Row) -> str:
    name = printable(row["name"], limit=40)
    return f"{name} (simulated)" if row["simulated"] and "simulated" not in name else name


def _cells(row: Row, ascii_only: bool) -> list[str] | str:
    """The cells of a condition's line, "-" where it has none; or what is said instead of an error rate."""
    often, badly, knows = row["how_often"], row["how_badly"], row["knows"]
    if often is None and (scored := row.get("scored")):
        low, high = (number(x) if math.isfinite(x) else f"{x}" for x in _two_ends(scored["interval"]))
        return f"{number(scored['estimate'])} ({low} to {high}) {scored['what']}"
    if often is None:
        answered = f"{row['answered']:,} of {row['items']:,} questions answered" if row["answered"] else "no answers"
        return f"{answered}, none graded: no error rate"
    right = _share_right(often)
    mean = f"{badly['mean']['estimate']:.2f}" if badly else "-"
    ece = "-"
    if knows:
        ece = f"{knows['estimate']:.2f} ({knows['interval']['low']:.2f} to {knows['interval']['high']:.2f})"
    where = "-"
    if row["where"]:
        worst = row["where"][0]
        where = f"{printable(worst['group'], limit=40)} {1 - worst['error_rate']:.0%} right"
    return [_percent(right), _rate_bar(right, ascii_only), _percent(badly) if badly else "-", mean, ece, where]


def _two_ends(span: Row) -> tuple[float, float]:
    """The ends of an interval; JSON has no infinity, and writes none."""
    low, high = span["low"], span["high"]
    return -math.inf if low is None else float(low), math.inf if high is None else float(high)


def _percent(rate: Row) -> str:
    low, high = (100 * rate["interval"][end] for end in ("low", "high"))
    return f"{rate['estimate']:.0%}{CORRECTED * bool(rate.get('graded'))} ({low:.0f} to {high:.0f})"


def _share_right(wrong: Row) -> Row:
    """The share of right answers with its interval, from that of wrong ones."""
    low, high = 1 - wrong["interval"]["high"], 1 - wrong["interval"]["low"]
    return {**wrong, "estimate": 1 - wrong["estimate"], "interval": {**wrong["interval"], "low": low, "high": high}}


def _rate_bar(rate: Row, ascii_only: bool) -> str:
    """A share between 0 and 1 with its interval."""
    line, point, nothing = SIGNS[ascii_only]
    places = [min(RATE_BAR - 1, int(v * RATE_BAR)) for v in (rate["interval"]["low"], rate["interval"]["high"])]
    cells = [line if places[0] <= i <= places[1] else nothing for i in range(RATE_BAR)]
    cells[min(RATE_BAR - 1, int(rate["estimate"] * RATE_BAR))] = point
    return "".join(cells)


# ------------------------------------------------------------------ requirements, searches, checks and next steps


def _requirements(document: Row, width: int) -> Iterator[str]:
    """What came of each requirement, after an empty line."""
    required = [claim for claim in document["claims"] if claim["section"] == "requirements"]
    for k, claim in enumerate(required[:REQUIREMENTS]):
        word = verdict_word(str(claim["verdict"]), str(claim.get("side")))
        yield from [""] * (k == 0)
        yield from _wrap(f"{word}: {printable(describe_claim_row(claim), limit=LONGEST)}", width)
    if len(required) > REQUIREMENTS:
        yield f"{counted(len(required) - REQUIREMENTS, 'more requirement')} in the report"


def _searches(document: Row, width: int) -> Iterator[str]:
    """What each search for errors found, two at most; the rate of its base is from paragraphs drawn at random."""
    found = document["sections"].get("search")
    for row in found[:2] if isinstance(found, list) else ():
        rate = row["population"]["error_rate"]
        span = row["population"]["interval"]
        limits = ""
        if span is not None:
            limits = f" ({100 * span['level']:.3g}% CI {100 * span['low']:.0f} to {100 * span['high']:.0f})"
        base = "" if rate is None else f"; {rate:.0%} of paragraphs drawn at random wrong{limits}"
        words = (
            f"{row['errors_found']:,} errors in {row['answers']:,} answers, {row['sources_found']:,} failing paragraphs"
        )
        yield from _hung("Search:", f"{printable(row['model'], limit=24)}: {words}{base}", width)


def _checks(checks: Sequence[Row], ascii_only: bool, width: int) -> Iterator[str]:
    """How many checks passed, and those that failed in words."""
    mark = MARKS[ascii_only]
    passed = sum(check["passed"] is True for check in checks)
    failed = [check for check in checks if check["passed"] is False]
    if checks:
        yield from _hung("Checks:", f"{passed} of {passed + len(failed)} passed; the report lists them.", width)
    for check in failed:
        text = f"{mark} {printable(check['name'], limit=40)}: {printable(check['text'], limit=300)}"
        yield from _hung("", text, width)


def _next(steps: Sequence[str], width: int, sources: Sequence[str]) -> Iterator[str]:
    """The first step; its command stands whole on a line of its own, to be pasted."""
    for step in steps[:STEPS]:
        found = re.search(r"(?<=: )richter [a-z].*", step)
        yield from _hung("Next:", printable(step[: found.start()] if found else step, limit=LONGEST), width)
        if found:
            yield f"{'':8}{printable(_as_typed(found[0], sources))}"
    if len(steps) > STEPS:
        yield from _hung("", f"{counted(len(steps) - STEPS, 'more step')} in the report", width)


def _as_typed(command: str, sources: Sequence[str]) -> str:
    """A command with the sources as they were typed instead of their names."""
    for source in sources:
        name, place = named_source(source)
        bare = shlex.quote(f"{name}={place.name}" if name else place.resolve().name)
        parts = re.split(rf"(?<= ){re.escape(bare)}(?= |;|$)", command)
        command = shlex.quote(source).join(parts)
    return command


def _hung(label: str, text: str, width: int) -> Iterator[str]:
    """Lines under a label."""
    for i, line in enumerate(_wrap(text, width - 8)):
        yield f"{label if i == 0 else '':<8}{line}"


# ------------------------------------------------------------------ text in cells


def _fit(text: str, width: int, *, pad: bool = True) -> str:
    """A text in exactly `width` cells (at most, without `pad`); what is cut ends in dots."""
    if cell_len(text) > width:
        text = set_cell_size(text, max(width - 2, 0)).rstrip() + ".."
    return set_cell_size(text, width) if pad else text


def _wrap(text: str, width: int) -> list[str]:
    """Lines of `width` cells; only a word that is wider than a line is cut."""
    lines: list[str] = []
    words = text.split()
    while words:
        line = ""
        while words and cell_len(f"{line} {words[0]}".strip()) <= width:
            line = f"{line} {words.pop(0)}".strip()
        if not line:  # one word wider than the line
            line, words = _fit(words[0], width, pad=False), words[1:]
        lines.append(line)
    return lines
