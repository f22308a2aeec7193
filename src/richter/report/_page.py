"""The page: a results document, its figures and the run's errors in one file that loads nothing."""

import base64
import contextlib
import hashlib
import json
import math
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from richter.claims import SIDES, measure_words
from richter.errors import InputError, StorageError
from richter.records import GLOSSARY, Verdict, printable
from richter.report._docs import docs_id, docs_pages
from richter.report._evidence import IN_FULL, WHOLE, Evidence, read_evidence
from richter.report._figure import COLOURS, CONFIG, Figure
from richter.report._figures import figures
from richter.report._words import among, count, interval_words, name, number, percent
from richter.store import RunLike
from richter.tables import Tables

__all__ = ["render_report", "write_report"]

PAGE_BYTES = 14_500_000  # a page that mail and browsers still take; evidence gives way first
LEAST_EVIDENCE_BYTES = 1_000_000
CLAIM_BYTES = 900  # of a claim in the page, about
FIRST = 8  # claims on the first screen; the rest unfold
TERMS = {"condition", "severity", "ECE", "interval", "exploratory", "catastrophic"}
SECTIONS = {  # id: title, what it answers
    "severity": ("Severity", "How badly does it fail?"),
    "tail": ("Tail", "Is one condition's tail really heavier than another's?"),
    "calibration": ("Calibration", "Does it know when it is wrong?"),
    "floors": ("Floors", "Is there enough evidence to say so?"),
    "search": ("Search", "Where does it fail?"),
    "judges": ("Judges", "Can the ratings be trusted?"),
}


def write_report(
    document: Mapping[str, Any],
    run: RunLike | Tables,
    path: str | Path,
    *,
    built_at: str | None = None,
    item_url: str | None = None,
) -> Path:
    """Write the report of a run to `path`, whole or not at all; see `render_report`."""
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder.", remedy="Name the file that the report shall be written to.")
    text = render_report(document, run, built_at=built_at, item_url=item_url)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text, encoding="utf-8", newline="\n")
        draft.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise StorageError(
            f"{path} cannot be written: {error.strerror}.", remedy="Choose a folder that you may write to."
        ) from error
    return path


def render_report(
    document: Mapping[str, Any], run: RunLike | Tables, *, built_at: str | None = None, item_url: str | None = None
) -> str:
    """The report as HTML.

    `document` is what `audit.measure_run` makes; questions, answers and ratings come from the tables, which are read
    where a run is given. The same two give the same text; `built_at` is the only thing that may differ. `item_url` is
    an address with `{item}` and `{condition}` in it, to which each row of the evidence links where an app serves it.
    """
    drawn = figures(document)
    figures_json = _data({n: _in_page(f) for n, f in drawn.items()})
    settings = {"config": CONFIG, "item_url": item_url}
    css = Markup(_colours() + _part("report.css"))  # noqa: S704 (packaged text)
    script, bundle = _script(_part("report.js")), _script(_bundle())
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    template = environment.from_string(_part("report.html.j2"))
    claims = [_claim(c, k) for k, c in enumerate(document.get("claims") or [], start=1)]
    others = len(bundle) + len(script) + len(css) + len(figures_json) + CLAIM_BYTES * len(claims)
    evidence = read_evidence(run, most_bytes=max(PAGE_BYTES - others, LEAST_EVIDENCE_BYTES))
    methods = document.get("methods") or {}
    plan = methods.get("plan") or {}
    return template.render(
        version=name(document.get("richter") or ""),
        built_at=built_at,
        policy=_policy(css, script, bundle),
        css=css,
        script=script,
        bundle=bundle,
        run=_run(document),
        answer=printable(document.get("answer") or "Nothing was measured.", limit=600),
        facts=_facts(document),
        warning=_warning(document),
        groups=_groups(claims),
        claimed=len(claims),
        tally=_tally(claims),
        terms={word: GLOSSARY[word] for word in {c["verdict"] for c in claims} | TERMS if word in GLOSSARY},
        exploratory=bool(claims) and bool(methods.get("exploratory", not plan)),
        no_claims="no two conditions have answers to the same graded items.",
        conditions=_conditions(document.get("conditions") or []),
        columns=[COLUMNS[key][0] for key in _columns(document.get("conditions") or [])],
        checks=[_check(c) for c in document.get("checks") or []],
        next=[printable(str(step), limit=400) for step in document.get("next") or []],
        signature=_signature(document),
        sections=[_section(key, document, drawn) for key in SECTIONS],
        evidence={"words": _evidence_words(evidence), "shown": evidence.shown, "packed": evidence.packed},
        methods=_methods(document),
        plan_fields=_plan_fields(plan),
        docs=docs_pages(f.docs for f in drawn.values()),
        figures_json=figures_json,
        settings_json=_data(settings),
    )


# ---- what the page is made of ------------------------------------------------------------------------------------


def _part(file: str) -> str:
    return resources.files("richter.report").joinpath("page", file).read_text(encoding="utf-8")


@cache
def _bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script."""
    import altair
    import vl_convert

    version = ".".join(altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    known = version in vl_convert.get_vegalite_versions()
    assign = "window.vegaEmbed = vegaEmbed;"
    return vl_convert.javascript_bundle(assign, vl_version=version if known else None)


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


def _colours() -> str:
    """The palette as CSS variables: light, dark by preference or by choice, and light on paper."""

    def block(place: int) -> str:
        return "".join(f"{variable}:{pair[place]};" for variable, pair in COLOURS.items())

    return (
        f":root{{color-scheme:light;{block(0)}}}\n"
        "@media screen and (prefers-color-scheme:dark)"
        f"{{:root:not([data-theme=light]){{color-scheme:dark;{block(1)}}}}}\n"
        f"@media screen{{:root[data-theme=dark]{{color-scheme:dark;{block(1)}}}}}\n"
    )


def _in_page(figure: Figure) -> dict[str, Any]:
    """A figure for the script: the names of its fields once, not in every row."""
    fields = list(dict.fromkeys(key for row in figure.rows for key in row))
    return {
        "title": figure.title,
        "spec": figure.spec,
        "fields": fields,
        "values": [[row.get(key) for key in fields] for row in figure.rows],
        "columns": dict(figure.columns),
        "drills": figure.drills,
    }


# ---- the first screen --------------------------------------------------------------------------------------------


def _run(document: Mapping[str, Any]) -> dict[str, str]:
    run = document.get("run") or {}
    conditions = document.get("conditions") or []
    parts = [name(run.get("name") or "run")]
    if run.get("bench"):
        parts.append(name(run["bench"]))
    if run.get("items"):
        parts.append(f"{count(run['items'], 'item')}, {count(len(conditions), 'condition')}")
    if run.get("ended_at"):
        parts.append(name(run["ended_at"]))
    return {"name": parts[0], "line": " · ".join(parts)}


def _warning(document: Mapping[str, Any]) -> str:
    state = (document.get("run") or {}).get("state")
    simulated = [name(c.get("name")) for c in document.get("conditions") or [] if c.get("simulated")]
    said = []
    if state == "in progress":
        said.append("This run is still in progress: the numbers cover what has been answered and rated so far.")
    if state == "empty":
        said.append("This run holds no answers yet. Ask a model with richter ask, or run richter audit.")
    if simulated:
        said.append(f"Simulated, and no statement about any model: {among(simulated)}.")
    return " ".join(said)


def _facts(document: Mapping[str, Any]) -> str:
    """How much the answer rests on, and on whom."""
    run, basis = document.get("run") or {}, (document.get("signature") or {}).get("basis")
    parts = [count(run["items"], "question")] if run.get("items") else []
    if basis:
        parts.append(printable(str(basis), limit=200))
    return "; ".join(parts) + "." if parts else ""


def _claim(claim: Mapping[str, Any], place: int) -> dict[str, Any]:
    interval = claim.get("interval") or claim.get("plain_interval")
    two = len(claim.get("conditions") or ()) == 2
    parts = []
    if claim.get("n"):
        parts.append(f"{count(claim['n'], 'item')}")
    if isinstance(interval, Mapping):
        kind = "" if claim.get("interval") else "plain "
        parts.append(
            f"{kind}{number(100 * interval['level'])}% interval, {printable(str(interval['method']), limit=80)}"
        )
    if claim.get("verdict") == "undecided":
        if claim.get("could_show") is not None and two:
            words = measure_words(str(claim.get("measure")))
            parts.append(f"could have shown: {words.amount(claim['could_show'])}{words.suffix}")
        if (claim.get("needed") or 0) > (claim.get("units") or 0):
            parts.append(f"{number(claim['needed'])} {claim.get('unit') or 'item'}s would settle it")
    if claim.get("blocked_by"):
        parts.append(f"blocked by {name(claim['blocked_by'])}")
    turned = claim.get("better") == "lower" and two  # right is better for the reader, whatever the measure
    return {
        "number": place,
        "verdict": re.sub(r"[^a-z]", "", str(claim.get("verdict") or "untestable")),
        "side": claim.get("side") if claim.get("side") in SIDES else "open",
        "sentence": printable(str(claim.get("sentence") or ""), limit=600),
        "numbers": "; ".join([*parts, *(printable(str(n), limit=300) for n in claim.get("notes") or [])]),
        "bar": _bar(claim.get("estimate"), interval, signed=two, turned=turned),
    }


def _groups(claims: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The claims by what they mean for the reader: worse, better, practically the same, and what cannot be said."""
    found = []
    left = FIRST
    for key in ("worse", "better", "alike", "open"):
        own = [c for c in claims if c["side"] == key]
        if own:
            shown = own[: max(left, 2)]
            left -= len(shown)
            found.append({"side": key, "title": SIDES[key], "shown": shown, "more": own[len(shown) :]})
    return found


def _tally(claims: Sequence[Mapping[str, Any]]) -> str:
    """How many claims came out how, where there are more than the first screen shows."""
    if len(claims) <= FIRST:
        return ""
    counts = Counter(c["verdict"] for c in claims)
    said = [f"{counts[v]:,} {v}" for v in Verdict if counts[v]]
    return f"Of {len(claims):,} claims " + ", ".join(said) + "."


def _bar(
    estimate: Any, interval: Any, *, signed: bool, turned: bool = False, top: float | None = None
) -> dict[str, Any] | None:
    """Where an estimate and its interval stand on a rail of 0..100: from 0 to `top`, or symmetric about 0.

    `turned` puts smaller values to the right, where less is better.
    """
    if not isinstance(interval, Mapping) or not isinstance(estimate, int | float):
        return None
    low, high = interval.get("low"), interval.get("high")
    if not isinstance(low, int | float) or not isinstance(high, int | float):
        return None
    reach = max(abs(low), abs(high), abs(estimate)) * 1.1 if top is None else top
    if not math.isfinite(reach) or reach <= 0:
        return None

    def place(value: float) -> float:
        share = (value + reach) / (2 * reach) if signed else value / reach
        return round(100 * min(max(share, 0.0), 1.0), 2)

    ends = sorted((place(-high), place(-low))) if turned else [place(low), place(high)]
    at = place(-estimate if turned else estimate)
    return {"low": ends[0], "high": ends[1], "at": at, "zero": 50 if signed else None}


COLUMNS = {  # of a condition's row: the question, what is measured, the end of its rail
    "scored": ("How well does it score?", "mean score", None),
    "how_often": ("How often is it wrong?", "answers wrong", 1.0),
    "how_badly": ("How badly?", "severity 3 and over", 1.0),
    "knows": ("Does it know?", "calibration error", 0.5),
}


def _columns(conditions: Sequence[Mapping[str, Any]]) -> list[str]:
    """The columns in which some condition has a number; the three of an audit where none has."""
    some = [key for key in COLUMNS if any(isinstance(c.get(key), Mapping) for c in conditions)]
    return some or ["how_often", "how_badly", "knows"]


def _conditions(conditions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    keys = _columns(conditions)
    tops = {key: _top([c.get(key) for c in conditions], COLUMNS[key][2] or 1.0) for key in keys}
    rows = []
    for condition in conditions:
        cells = [_cell(condition.get(key), *COLUMNS[key][:2], tops[key], share=key.startswith("how_")) for key in keys]
        rows.append({"name": name(condition.get("name")), "detail": _detail(condition), "cells": cells})
    return rows


def _top(cells: Sequence[Any], least: float) -> float:
    """The end of a column's rail: all of 0..1 where numbers reach that far, else a rounder, nearer end."""
    highs = [c["interval"]["high"] for c in cells if isinstance(c, Mapping) and isinstance(c.get("interval"), Mapping)]
    top = max((h for h in highs if isinstance(h, int | float)), default=least)
    return next((end for end in (0.01, 0.05, 0.1, 0.25, 0.5, 1.0) if top <= end), max(top, 1.0))


def _cell(value: Any, label: str, what: str, top: float, *, share: bool) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not isinstance(value.get("estimate"), int | float):
        reason = value.get("missing") if isinstance(value, Mapping) else None
        return {"label": label, "big": "", "what": printable(str(reason or "not measured"), limit=160)}
    interval = value.get("interval")
    said = [printable(str(value.get("what") or what), limit=120)]
    mean = value.get("mean")
    mean = mean.get("estimate") if isinstance(mean, Mapping) else mean
    if isinstance(mean, int | float):
        said.append(f"mean severity {number(mean)}")
    if value.get("n") is not None:
        said.append(f"n = {number(value['n'])}")
    if isinstance(interval, Mapping) and interval.get("level") not in (None, 0.95):
        said.append(f"{number(100 * interval['level'])}% interval")
    return {
        "label": label,
        "big": percent(value["estimate"]) if share else number(value["estimate"]),
        "interval": interval_words(interval, as_percent=share),
        "what": ", ".join(said),
        "bar": _bar(value["estimate"], interval, signed=False, top=top),
    }


def _detail(condition: Mapping[str, Any]) -> str:
    parts = []
    model = condition.get("model")
    if model and model != condition.get("name"):
        parts.append(name(model))
    if condition.get("answered") is not None:
        parts.append(count(condition["answered"], "answer"))
    parts += [f"{number(condition[key])} {key}" for key in ("failed", "refused") if condition.get(key)]
    if condition.get("simulated"):
        parts.append("simulated")
    worst = next(iter(condition.get("where") or []), None)
    if worst:
        parts.append(f"worst in {name(worst.get('group'))}: {percent(worst.get('error_rate'))} wrong")
    return ", ".join(parts)


def _check(check: Mapping[str, Any]) -> dict[str, str]:
    passed = check.get("passed")
    mark, said = (
        ("passed", "passed:") if passed else ("failed", "failed:") if passed is False else ("open", "not made:")
    )
    return {"mark": mark, "said": said, "text": printable(str(check.get("text") or check.get("name")), limit=300)}


def _signature(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    signature = document.get("signature") or {}
    deviations = signature.get("deviations") or []

    def said(value: Any, otherwise: str) -> str:
        if isinstance(value, Mapping):
            value = "; ".join(f"{k}: {v}" for k, v in value.items())
        return printable(str(value), limit=600) if value not in (None, "", [], {}) else otherwise

    return [
        ("Requirement", said(signature.get("requirement"), "none was stated")),
        ("Bound", said(signature.get("bound"), "none: nothing was required")),
        ("Basis", said(signature.get("basis"), "no ratings")),
        ("Population covered", said(signature.get("population"), "the items of this run only")),
        ("Plan", said(signature.get("plan_hash"), "no plan was locked; every claim is exploratory")),
        ("Deviations", said("; ".join(str(d) for d in deviations), "none recorded")),
    ]


# ---- sections and the end ----------------------------------------------------------------------------------------


def _section(key: str, document: Mapping[str, Any], drawn: Mapping[str, Figure]) -> dict[str, Any]:
    title, lead = SECTIONS[key]
    content = (document.get("sections") or {}).get(key)
    shown = [f for f in drawn.values() if f.section == key]
    missing = []
    if isinstance(content, Mapping) and isinstance(content.get("missing"), Mapping):
        missing.append(content["missing"])
    elif not shown:
        missing.append(
            {"reason": f"This run holds nothing for the section on {title.lower()}.", "remedy": "richter audit"}
        )
    return {
        "id": key,
        "title": title,
        "lead": lead,
        "missing": [{k: printable(str(m.get(k) or ""), limit=400) for k in ("reason", "remedy")} for m in missing],
        "figures": [
            {
                "name": f.name,
                "title": f.title,
                "sentence": f.sentence,
                "drills": f.drills,
                "rows": f.rows,
                "docs_id": docs_id(f.docs),
            }
            for f in shown
        ],
    }


def _evidence_words(evidence: Evidence) -> str:
    if evidence.kind is None:
        return "No answer is rated yet. Rate them with richter judge or richter label."
    who = {"given": "severities given", "grader": "grades"}.get(evidence.kind, f"{evidence.kind} ratings")
    if not evidence.errors:
        return f"The {who} find no error."
    said = f"Every answer that the {who} find wrong, gravest first: {count(evidence.errors, 'error')}"
    said += f", of which the gravest {number(evidence.shown)} are here. " if evidence.shown < evidence.errors else ". "
    if evidence.errors > IN_FULL:
        said += f"The {IN_FULL:,} gravest are in full, the others cut to {evidence.cut} characters; "
    else:
        said += f"Answers are in full up to {WHOLE:,} characters; "
    said += "richter view shows everything."
    return said


def _methods(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    methods = document.get("methods") or {}
    plan = methods.get("plan") or {}
    spent = methods.get("spent") or {}
    rows = [
        ("Plan", f"{plan.get('hash')}, locked {plan.get('locked_at')}" if plan else "none locked; exploratory"),
        ("Deviations", "; ".join(str(d) for d in methods.get("deviations") or []) or "none recorded"),
        ("Seed", number(methods.get("seed"))),
        ("Versions", ", ".join(f"{k} {v}" for k, v in (methods.get("versions") or {}).items()) or "not recorded"),
        ("Cost", ", ".join(f"{k.replace('_', ' ')} {number(v)}" for k, v in spent.items()) or "not recorded"),
        ("Results document", f"version {document.get('version')}, made by Richter {document.get('richter')}"),
    ]
    return [(term, printable(value, limit=2000)) for term, value in rows]


def _plan_fields(plan: Mapping[str, Any]) -> str:
    fields = plan.get("fields")
    if not fields:
        return ""
    return "\n".join(printable(line) for line in json.dumps(fields, indent=2, ensure_ascii=False).split("\n"))
