"""The page: a results document, its figures and the run's answers in one file that loads nothing."""

import base64
import contextlib
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
import msgspec
from markupsafe import Markup

from richter.claims import METRICS
from richter.errors import InputError
from richter.records import printable
from richter.report._claim_list import claim_rows, lead_pair, pair_matrix
from richter.report._docs import docs_id, docs_pages
from richter.report._figure import Figure
from richter.report._figures import figures
from richter.report._first_screen import first_screen, moved_changes
from richter.report._floors_figures import MOST_RANKED
from richter.report._history import history_section
from richter.report._run_summary import summary_of
from richter.report._side_by_side import MOST_ITEMS, Evidence, read_evidence
from richter.report._svg import panel_svg, shape_svg
from richter.report._terms import POPOVERS, with_terms
from richter.report._tokens import tokens_css
from richter.store import RunLike, write_file
from richter.tables import Dataset
from richter.words import GLOSSARY
from richter.words._page_texts import (
    BY_HOW_MUCH,
    SEVERE,
    SHARED,
    check_rows,
    describe_absent,
    describe_confidence,
    describe_evidence,
    describe_repeats,
    describe_rest,
    describe_shared_questions,
    method_rows,
    signature_rows,
)
from richter.words._spans import name

__all__ = ["render_report", "write_report"]

SECTIONS = {  # id: title, what it answers
    "floors": ("Comparison", "Which is better?"),
    "severity": ("Severity", "How bad are the errors?"),
    "calibration": ("Calibration", "Does it know when it is wrong?"),
    "tail": ("Tail", "How bad are the worst errors?"),
    "search": ("Search", "Where else does it fail?"),
    "judges": ("Judges", "Can the ratings be trusted?"),
}
COMMAND = re.compile(r"(\brichter [a-z][^()]*?(?= \(|\)|$)|(?<!\S)--[a-z][a-z-]*)")  # a command or option in a step
MOST_TESTS = 300  # of the claims whose tests are listed
MOST_ROWS = 2_000  # of a figure's numbers in the page; JSON has all


def write_report(
    document: Mapping[str, Any],
    run: RunLike | Dataset | None,
    path: str | Path,
    *,
    built_at: str | None = None,
    redact: bool = False,
) -> Path:
    """Write the report of a run to `path`, whole or not at all; see `render_report`."""
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder.", remedy="Name the file that the report shall be written to.")
    text = render_report(document, run, built_at=built_at, redact=redact)
    return write_file(path, text, into_new=True, remedy="Choose a folder that you may write to.")


def render_report(
    document: Mapping[str, Any], run: RunLike | Dataset | None, *, built_at: str | None = None, redact: bool = False
) -> str:
    """The report as HTML.

    `document` is what `audit.measure_run` makes; questions, answers and ratings come from the tables, which are read
    where a run is given. The same two give the same text; `built_at` is the only thing that may differ. `redact` makes
    a page without questions, references, answers and reasons. A stored document alone has none (`run` is None).
    """
    drawn = figures(document)
    evidence = read_evidence(run, pair=lead_pair(document), redact=redact)
    css = Markup(tokens_css() + _part("report.css"))  # noqa: S704 (packaged text)
    scripts = [_script(_part(part)) for part in ("evidence.js", "report.js")]
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    claims = document.get("claims") or []
    methods = document.get("methods") or {}
    plan = methods.get("plan") or {}
    sections = [_section(key, document, drawn) for key in SECTIONS]
    absent = [s for s in sections if (not s["figures"] and s["id"] != "floors") or s["failed"]]
    requirement = (document.get("signature") or {}).get("requirement")
    screen = _screen_with_answers(document, evidence)
    lead = drawn.get("floors-difference") or drawn.get("floors-ranking")  # the figure of the first screen
    if lead is not None and "severe" in dict(lead.columns):
        screen["lines"] = [line for line in screen["lines"] if line[0] != SEVERE]
    table = screen["table"]
    is_in_figure = lead is not None and _is_in_figure(table, drawn)
    return environment.from_string(_part("report.html.j2")).render(
        screen,
        with_claims=len(claims) > 1 or (len(claims) == 1 and len(claims[0].get("conditions") or ()) != 2),
        with_table=bool(table["rows"] and table["columns"]) and not is_in_figure,
        listed={claim["number"] for group in screen["groups"] for claim in (*group["shown"], *group["more"])},
        version=name(document.get("richter") or ""),
        summary=msgspec.json.encode(summary_of(document)).decode(),
        built_at=built_at,
        policy=_policy(css, *scripts),
        css=css,
        scripts=scripts,
        lead=lead and _figure(lead),
        floors=[_figure(drawn[f]) for f in ("floors-flips", "floors-forest") if f in drawn],
        matrix=pair_matrix(document),
        claims=claim_rows(claims[:MOST_TESTS]),
        n_claims=len(claims),
        by_how_much=BY_HOW_MUCH,
        not_measured=_absent_words(absent, lacks_cost=not _has_cost(document)),
        terms=GLOSSARY,
        popovers={word: GLOSSARY[word] for word in POPOVERS if word in GLOSSARY},
        exploratory=bool(claims and plan and methods.get("exploratory")),
        understood=printable(str(document.get("understood") or ""), limit=600),
        notes=[printable(str(note), limit=600) for note in document.get("notes") or ()],
        checks=check_rows(document.get("checks") or []),
        next=[COMMAND.split(printable(str(step), limit=400)) for step in document.get("next") or []],
        signature=signature_rows(document) if plan or requirement else [],
        sections=[s for s in sections if s["figures"] and s["id"] != "floors"],
        absent=absent,
        absent_words=describe_rest([s["title"].lower() for s in absent]),
        evidence={
            "words": describe_evidence(None if run is None else evidence, redact=redact, most=MOST_ITEMS),
            "shown": evidence.shown,
            "packed": evidence.packed,
        },
        history=history_section(document.get("history")),
        methods=method_rows(document),
        plan_fields=_plan_fields(plan),
        docs=docs_pages(f.docs for f in drawn.values()),
        figures_json=_data({n: _in_page(f) for n, f in drawn.items()}),
        settings_json=_data({"pair": [name(c) for c in lead_pair(document)], "compared": not screen["is_blocked"]}),
    )


def _screen_with_answers(document: Mapping[str, Any], evidence: Evidence) -> dict[str, Any]:
    """The first screen with what the answers add to the document: repeats, and the questions that two share."""
    screen = first_screen(document)
    if screen["is_blocked"]:
        n_shared = evidence.moved[2] if evidence.moved else None
        shared = describe_shared_questions(document.get("conditions") or (), n_shared)
        screen["lines"][:0] = [(SHARED, shared)] if shared else []
    elif evidence.repeats > 1:
        screen["changes"] = screen["changes"] or moved_changes(document, lead_pair(document), evidence.moved)
    screen["facts"] += [describe_repeats(evidence.repeats)] if evidence.repeats > 1 else []
    return screen


# ---- what the page is made of ------------------------------------------------------------------------------------


def _part(file: str) -> str:
    return resources.files("richter.report").joinpath("page", file).read_text(encoding="utf-8")


def _script(text: str) -> Markup:
    """Our own script, made safe to stand in a page: nothing in it ends the element early."""
    safe = text.replace("</script", "<\\/script").replace("<!--", "<\\!--").replace("\r\n", "\n")
    return Markup(safe)  # noqa: S704 (packaged text)


def _data(value: Any) -> Markup:
    """JSON that cannot end its script element, whatever the strings in it hold."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return Markup(text)  # noqa: S704 (escaped above)


def _policy(css: str, *scripts: str) -> str:
    """Nothing is loaded; what runs and styles is what was built in, by its hash; no eval."""

    def sha(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    return (
        f"default-src 'none'; script-src {' '.join(sha(s) for s in scripts)}; style-src {sha(css)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _in_page(figure: Figure) -> dict[str, Any]:
    """A figure's numbers for the script: the names of its fields once, not in every row."""
    fields = list(dict.fromkeys(key for row in figure.rows for key in row))
    return {
        "title": figure.title,
        "fields": fields,
        "values": [
            [float(f"{value:.6g}") if isinstance(value := row.get(key), float) else value for key in fields]
            for row in figure.rows[:MOST_ROWS]
        ],
        "columns": dict(figure.columns),
        "drills": figure.drills,
    }


# ---- sections and the end ----------------------------------------------------------------------------------------


def _absent_words(absent: Sequence[Mapping[str, Any]], *, lacks_cost: bool) -> str:
    titles = [section["title"].lower() for section in absent if section["id"] in ("severity", "calibration")]
    return describe_absent([*titles, "cost"] if lacks_cost else titles)


def _has_cost(document: Mapping[str, Any]) -> bool:
    """Whether the document says what the answers cost, in money, tokens or time."""
    spent = [row.get("spent") or {} for row in document.get("conditions") or []]
    measures = {str(c.get("measure")) for c in document.get("claims") or []}
    is_cost = (METRICS[m].is_cost for m in measures if m in METRICS)
    return any(s.get("money_usd") or s.get("tokens") for s in spent) or any(is_cost)


def _what_is_missing(content: Any) -> tuple[bool, Mapping[str, Any]]:
    """Whether a section could not be made, and why nothing is drawn of it."""
    missing = content.get("missing") if isinstance(content, Mapping) else None
    if isinstance(missing, Mapping):
        return True, missing
    if content:
        return False, {"reason": "It is of a form that this version does not draw.", "remedy": "richter report"}
    return False, {"reason": "This run holds nothing for it.", "remedy": "richter audit"}


def _section(key: str, document: Mapping[str, Any], drawn: Mapping[str, Figure]) -> dict[str, Any]:
    title, lead = SECTIONS[key]
    content = (document.get("sections") or {}).get(key)
    shown = []
    for figure in drawn.values():
        if figure.section == key:
            with contextlib.suppress(TypeError, ValueError):  # a number from outside is missing: the others are drawn
                shown.append(_figure(figure))
    failed, missing = _what_is_missing(content)
    is_in_words = key == "calibration" and len(document.get("conditions") or ()) > 1
    is_open = _open_figures(shown)
    return {
        "id": key,
        "failed": failed,
        "title": title,
        "lead": lead,
        "words": with_terms(describe_confidence(document)) if is_in_words else "",
        "missing": {k: printable(str(missing.get(k) or ""), limit=400) for k in ("reason", "remedy")},
        "figures": shown,
        "open": is_open,
        "folded": [f for f in shown if f not in is_open],
    }


def _open_figures(shown: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The figures of a section that are not folded: beside a small one there is room for a second."""
    found = [f for f in shown if not f["folded"]] or list(shown[:1])
    if len(found) == 1 and len(found[0]["panels"]) == 1:
        found += [f for f in shown if f not in found and len(f["panels"]) == 1][:1]
    return found


def _is_in_figure(table: Mapping[str, Any], drawn: Mapping[str, Figure]) -> bool:
    """Whether the first screen's figure holds all of the table; of one model calibration has a section of its own."""
    elsewhere = int(len(table["rows"]) == 1 and any(f.section == "calibration" for f in drawn.values()))
    return len(table["columns"]) <= 1 + elsewhere and len(table["rows"]) <= MOST_RANKED


def _figure(figure: Figure) -> dict[str, Any]:
    """A figure for the template, its panels drawn (our own marks; every text in them is escaped)."""
    return {
        "name": figure.name,
        "title": figure.title,
        "finding": with_terms(figure.finding),
        "reading": with_terms(figure.reading),
        "plain": figure.sentence,
        "drills": figure.drills,
        "folded": figure.folded,
        "panels": [Markup(panel_svg(p)[0]) for p in figure.panels],  # noqa: S704
        "legend": [(Markup(shape_svg(k.shape, 7, 7, 5, f' fill="{k.colour}"')), k.name) for k in figure.legend]  # noqa: S704
        if figure.panels
        else [],
        "docs_id": docs_id(figure.docs),
    }


def _plan_fields(plan: Mapping[str, Any]) -> str:
    fields = plan.get("fields")
    if not fields:
        return ""
    return "\n".join(printable(line) for line in json.dumps(fields, indent=2, ensure_ascii=False).split("\n"))
