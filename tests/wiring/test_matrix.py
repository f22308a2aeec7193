"""The wiring matrix: every fact x every command and surface gives the same claim or the same named block, and its note.

The reference of a fact is the comparison in Python. A cell is a surface that shows the same data.
"""

import dataclasses
import html
import json
import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

import richter
from helpers.wiring_facts import Fact, facts
from richter.audit import compare_tables, margin_plan, run_gate
from richter.claims import Blocked, Question
from richter.cli._main import _root
from richter.evidence import Policy, evidence
from richter.notebook._python_words import in_python
from richter.plugins import pytest_gate
from richter.records import Claim, Verdict, plain
from richter.tables import ReadOptions, read_tables

FACTS = facts()

# facts that a series of days of one condition cannot show, and why
NOT_WATCHED = {
    "rows absent": "a row that every day lacks leaves no trace; of days that differ only common items are watched",
    "disjoint raters": "one condition has no second one with other raters; raters that change by day are a change",
    "unbalanced raters": "as of disjoint raters",
    "misaligned items": "one condition has no second one in another order",
    "unpaired items": "one condition has no second one to be paired with",
    "unpaired items as stated": "as of unpaired items",
    "judges that obey": "one condition has no second one whose judges do not obey; the note on its answers is watched",
    "contests": "who won is known of two models together; no day is of one of them",
    "look-alike names": "one condition has no second one that it looks like",
    "tried": "the level of a series is that of all looks; there are no attempts",
}
DAYS = 6
CLOSE = 1e-9
LIMIT = "0.02"  # of the plan's requirement, in shares of the scale
DATA_CHECKS = ("reading", "items", "shared", "raters", "labels", "range", "groups", "missing", "judges")


@dataclasses.dataclass(frozen=True, slots=True)
class Cell:
    """What one surface shows: its claims, its text, and the exit status; `fault` where the command broke."""

    claims: tuple[Mapping[str, Any], ...] = ()
    text: str = ""
    fault: str = ""
    has_verdicts: bool = True  # the family is that of the reference
    has_limits: bool = False  # limits of a gate, which never fall short, may be wider
    gate_block: str = ""  # the check that blocks a gate only
    shows_note: bool = True


# ------------------------------------------------------------------ surfaces


class Surfaces:
    """The commands on one fact's file, each run once."""

    def __init__(self, fact: Fact, folder: Path) -> None:
        self.fact, self.folder, self.path = fact, folder, fact.write(folder)
        if fact.settings:
            (folder / "richter.toml").write_text(fact.settings)
        self.tables = read_tables(self.path, options=ReadOptions(**fact.reading))
        self.margin = fact.margin
        if fact.margin is not None and fact.measure != "accuracy":
            (low, high) = self.tables.scores.select("low", "high").row(0)
            self.margin = fact.margin * (high - low)
        self.reference = compare_tables(
            self.tables, conditions=fact.names, margin=self.margin, level=fact.level, tried=fact.tried,
            unpaired=fact.unpaired,
        )  # fmt: skip

    def invoke(self, *arguments: object) -> tuple[str, str]:
        """What a command printed, and how it broke, if it did."""
        result = CliRunner().invoke(_root, [str(a) for a in arguments])
        broken = result.exception is not None and not isinstance(result.exception, SystemExit)
        return result.output, f"{type(result.exception).__name__}: {result.exception}" if broken else ""

    def shown(
        self, command: str, arguments: Sequence[object], files: Sequence[str], **more: Any
    ) -> Iterator[tuple[str, Cell]]:
        """The cells of one command that writes several files: its JSON's claims, and the text of each form."""
        targets = {form: self.folder / f"{command}.{form}" for form in files}
        options = [x for form, path in targets.items() for x in (OPTION[form], path)]
        output, fault = self.invoke(command, *arguments, *options)
        if fault:
            yield from ((f"{command} {form}", Cell(fault=fault)) for form in (*files, "screen"))
            return
        for form, path in targets.items():
            text = path.read_text(encoding="utf-8")
            if form == "json":
                document = json.loads(text)
                words = " ".join((*strings_in(document), f"{document.get('tried')} attempts"))
                yield f"{command} json", Cell(claims=tuple(claims_in(document)), text=words, **more)
            else:
                yield f"{command} {form}", Cell(text=as_text(form, text), **more)
        yield f"{command} screen", Cell(text=output, **more)

    def cells(self) -> Iterator[tuple[str, Cell]]:
        """Every surface's cell."""
        yield from self.compared()
        yield from self.gated()
        yield from self.reported()
        yield from self.weighed()
        yield from self.sized()
        yield from self.watched()
        yield from self.in_python()
        yield from self.kept()

    def compared(self) -> Iterator[tuple[str, Cell]]:
        fact = self.fact
        yield from self.shown("compare", [self.path, *fact.names, *fact.options, *fact.asked], ["json", "md"])
        if (self.folder / "compare.json").exists():
            output, fault = self.invoke("verify", self.folder / "compare.json", self.path, *fact.options)
            ended = "All" in output and "follow from the evidence" in output
            yield "verify compare", Cell(fault=fault or ("" if ended else output[:200]), shows_note=False)

    @property
    def gate_cell(self) -> dict[str, Any]:
        """What is known of every gate's cell."""
        return {"has_verdicts": False, "has_limits": True, "gate_block": self.fact.gate_block}

    def gated(self) -> Iterator[tuple[str, Cell]]:
        """The gate without a plan, by a plan file, in Python and in pytest."""
        fact = self.fact
        names = fact.names or self.tables.conditions
        if fact.tried == 1:
            given = () if fact.margin is not None else ("--margin", "2pt")
            asked = [self.path, *names, *fact.options, *fact.asked, *given]
            yield from self.shown("gate", asked, ["json", "md", "xml"], **self.gate_cell)
        plan = self.folder / "plan.toml"
        row = self.reference.of(fact.measure)[0]
        limit = float(LIMIT) if row.measure == "accuracy" else float(LIMIT) * _range(self.tables)
        given = {"candidate": names[-1], "baseline": names[0], "level": fact.level, "tried": fact.tried}
        given |= {"unpaired": "true"} if fact.unpaired else {}
        sets = [x for key, value in given.items() for x in ("--set", f"{key}={value}")]
        rule = f'require=[{{metric="{self.reference.primary}", rule="no_worse", limit={limit}}}]'
        _, fault = self.invoke("plan", "new", "gate", "-o", plan, *sets, "--set", rule)
        assert not fault
        target = self.folder / "planned.json"
        output, fault = self.invoke("gate", plan, self.path, *fact.options, "--json", target)
        if fault:
            yield "gate plan", Cell(fault=fault)
            return
        document = json.loads(target.read_text(encoding="utf-8"))
        claims = tuple(claims_in(document))
        yield "gate plan", Cell(claims=claims, text=output, **self.gate_cell)
        if document["tried"] != fact.tried or document["level"] != fact.level:
            yield "gate plan tried", Cell(fault=f"tried {document['tried']}, level {document['level']}")
        opened = richter.open(self.path, options=ReadOptions(**fact.reading))
        report = opened.gate(plan)
        same = [plain(c) for c in report.claims]
        yield "python gate", Cell(claims=tuple(same), text=words_of(report), **self.gate_cell)
        if not fact.reading:
            text = gate_in_pytest(plan, self.path)
            missing = [c["sentence"] for c in claims if c["sentence"] not in text]
            yield "pytest gate", Cell(fault=f"not said: {missing[0]}" if missing else "", shows_note=False)

    def reported(self) -> Iterator[tuple[str, Cell]]:
        fact = self.fact
        options = () if fact.settings else fact.asked
        if fact.names or fact.tried > 1 or options:
            return  # a report has no such option: a plan or the settings say it
        yield from self.shown("report", [self.path, *fact.options, "--force"], ["json", "md", "html"])
        target = self.folder / "report.json"
        if target.exists():
            output, fault = self.invoke("verify", target, self.path, *fact.options)
            ended = "follow from the evidence" in output
            yield "verify report", Cell(fault=fault or ("" if ended else output[:200]), shows_note=False)

    def weighed(self) -> Iterator[tuple[str, Cell]]:
        """Severities, tails and calibration, where the file has them."""
        fact, more = self.fact, {"has_verdicts": False}
        options = [*fact.options, *(("--level", fact.level) if fact.level != 0.95 else ())]
        if fact.has_severity:
            yield from self.shown("severity", [self.path, *options], ["json"], **more)
            target = self.folder / "tail.json"
            _, fault = self.invoke(
                "severity", "tail", self.path, "--q", 0.5, "--resamples", 200, *fact.options, "--json", target
            )
            blocked = [] if fault else [c["blocked_by"] for c in claims_in(json.loads(target.read_text()))]
            block = fact.block or fact.tail_block
            if not fault and block and set(blocked) != {block}:
                fault = f"blocked by {blocked}, not by {block}"
            if not fault and not block and set(blocked) & set(DATA_CHECKS) - {"missing"}:
                fault = f"blocked by {blocked}"
            yield "tail test", Cell(fault=fault, shows_note=False)
        if "confidence" in fact.table.columns:
            target = self.folder / "calibration.json"
            _, fault = self.invoke("calibration", self.path, *options, "--json", target)
            yield "calibration", Cell(fault=fault or self.other_calibration(target), shows_note=False)

    def other_calibration(self, target: Path) -> str:
        """How calibration and report differ on one condition's calibration."""
        report = self.folder / "report.json"
        if not report.exists():
            return "there is no report"
        of = {}
        for path in (target, report):
            found = claims_in(json.loads(path.read_text(encoding="utf-8")))
            of[path] = {tuple(c["conditions"]): c for c in found if c["measure"] == "ece" and len(c["conditions"]) == 1}
        if not of[target] or of[target].keys() != of[report].keys():
            return f"claims on {sorted(of[target])} and {sorted(of[report])}"
        return "; ".join(
            x
            for key, claim in of[target].items()
            for x in differences(claim, of[report][key], Cell(has_verdicts=False))
        )

    def sized(self) -> Iterator[tuple[str, Cell]]:
        """The size of a next study from these data: the same margin on the same scale, and the same block."""
        fact = self.fact
        names = fact.names or self.tables.conditions
        target = self.folder / "size.json"
        given = ("--margin", "2pt")
        output, fault = self.invoke("size", self.path, *names, *fact.options, *given, "--json", target)
        if fact.block:
            reason = self.reference.of(self.reference.primary)[0].reason
            yield (
                "size",
                Cell(
                    fault="" if same_words(reason, output + fault) else f"no block: {(output + fault)[:120]}",
                    shows_note=False,
                ),
            )
            return
        yield "size", Cell(fault=fault, text=output + (target.read_text() if target.exists() else ""), shows_note=False)

    def watched(self) -> Iterator[tuple[str, Cell]]:
        """Days of the same answers of one condition."""
        fact = self.fact
        if fact.name in NOT_WATCHED:
            return
        rows = fact.table.filter(pl.col("condition") == "new")
        days = [rows.with_columns(date=pl.lit(f"2026-01-{k + 1:02d}")) for k in range(DAYS)]
        path, target = self.folder / "series.parquet", self.folder / "watch.json"
        pl.concat(days).drop("confidence", strict=False).write_parquet(path)
        asked = ["--date", "date", "--condition", "new", *fact.options, *fact.asked, "--json", target]
        output, fault = self.invoke("watch", path, *asked)
        if fault or not target.exists():
            yield "watch", Cell(fault=fault or output[:200])
            return
        document = json.loads(target.read_text(encoding="utf-8"))
        words = " ".join((output, *strings_in(document)))
        level = document["level"]
        blocks = [reason for reason in [self.own_block()] if reason and not same_words(reason, words)]
        fault = f"level {level}" if level != fact.level else f"no block: {blocks[0]}" if blocks else ""
        yield "watch", Cell(text=output, fault=fault)

    def own_block(self) -> str:
        """Why a check blocks the watched condition's own measure; empty where none does."""
        asked = evidence(self.tables.select(["new"]), Question(measure=self.fact.measure, conditions=("new",)))
        return asked.evidence.reason if isinstance(asked.evidence, Blocked) else ""

    def kept(self) -> Iterator[tuple[str, Cell]]:
        """The same data kept as a run, and written as a table."""
        fact, folder = self.fact, self.folder
        writing = {
            folder / "run": ("import", self.path, "-o"),
            folder / "kept.csv": ("export", self.path, "-o"),
            folder / "kept.parquet": ("export", self.path, "-o"),
            folder / "of_run.csv": ("export", folder / "run", "-o"),
        }
        for target, (command, source, option) in writing.items():
            own = fact.options if source == self.path else ()
            output, fault = self.invoke(command, source, option, target, *own)
            if fault or not target.exists():
                yield f"{command} {target.name}", Cell(fault=fault or output[-300:])
                continue
            document = folder / f"{target.name}.json"
            output, fault = self.invoke("compare", target, *fact.names, *fact.asked, "--json", document)
            if fault or not document.exists():
                yield f"{command} {target.name}", Cell(fault=fault or output[-300:])
                continue
            found = json.loads(document.read_text(encoding="utf-8"))
            words = " ".join((output, *strings_in(found), f"{found.get('tried')} attempts"))
            yield f"{command} {target.name}", Cell(claims=tuple(claims_in(found)), text=words)

    def in_python(self) -> Iterator[tuple[str, Cell]]:
        fact = self.fact
        opened = richter.open(self.path, options=ReadOptions(**fact.reading))
        report = opened.compare(
            *fact.names, margin=self.margin, level=fact.level, tried=fact.tried, unpaired=fact.unpaired
        )
        yield "python compare", Cell(claims=tuple(plain(c) for c in report.claims), text=words_of(report))
        if not fact.names and fact.level == 0.95 and fact.tried == 1 and fact.margin is None:
            yield "python findings", Cell(claims=tuple(plain(c) for c in opened.findings), shows_note=False)


OPTION = {"json": "--json", "md": "--md", "xml": "--junit", "html": "-o"}


def _range(tables: Any) -> float:
    if tables.metric != "mean_score":
        return 1.0
    low, high = tables.scores.select("low", "high").row(0)
    return float(high - low)


def gate_in_pytest(plan: Path, data: Path) -> str:
    """What the plugin tells pytest of a gate."""
    sections: list[str] = []
    item = SimpleNamespace(
        config=SimpleNamespace(rootpath=plan.parent), user_properties=[],
        add_report_section=lambda when, key, content: sections.append(content),
    )  # fmt: skip
    check: Callable[..., Any] = pytest_gate._check
    try:
        check(item, plan.name, data.name)
    except pytest.fail.Exception as failure:
        sections.append(str(failure))
    return "\n".join(sections)


def claims_in(document: Any) -> Iterator[Mapping[str, Any]]:
    """Every claim in a JSON document, wherever it stands."""
    if isinstance(document, dict):
        if {"measure", "conditions", "verdict"} <= document.keys():
            yield document
            return
        document = list(document.values())
    if isinstance(document, list):
        for part in document:
            yield from claims_in(part)


def strings_in(document: Any) -> Iterator[str]:
    """Every text in a JSON document."""
    if isinstance(document, str):
        yield document
    elif isinstance(document, dict | list):
        for part in document.values() if isinstance(document, dict) else document:
            yield from strings_in(part)


def as_text(form: str, text: str) -> str:
    """The words of a page or of XML."""
    if form == "xml":
        return " ".join(x for e in ElementTree.fromstring(text).iter() for x in (e.text or "", *e.attrib.values()))
    if form == "html":
        text = re.sub(r"(?s)<(script|style)\b.*?</\1>", " ", text)
        return html.unescape(re.sub(r"<[^>]+>", " ", text))
    return html.unescape(text.replace("\\", ""))


def words_of(report: Any) -> str:
    """What a report in Python says: its notes, and each claim's."""
    return " ".join(
        (
            *report.notes,
            report.understood,
            f"{report.tried} attempts",
            *(x for c in report.claims for x in (*c.notes, c.sentence, c.basis, c.reason)),
        )
    )


# ------------------------------------------------------------------ what differs


def differences(claim: Mapping[str, Any], other: Mapping[str, Any], cell: Cell) -> Iterator[str]:
    """How a surface's claim differs from the reference's on the same measure and conditions."""
    if cell.gate_block:
        if claim["blocked_by"] != cell.gate_block:
            yield f"blocked by {claim['blocked_by']}, not by {cell.gate_block}"
        return
    for name in ("estimate", "n", "unit", "blocked_by", "better", "basis"):
        if not is_same(claim[name], other[name]):
            yield f"{name} {claim[name]} for {other[name]}"
    one, two = claim["plain_interval"], other["plain_interval"]
    if (one is None) != (two is None):
        yield f"interval {one} for {two}"
    elif one is not None and two is not None:
        ends = [one["low"], one["high"], two["low"], two["high"]]
        is_wider = cell.has_limits and ends[0] <= ends[2] + CLOSE and ends[1] >= ends[3] - CLOSE
        if one["level"] != two["level"] or not (is_wider or (is_same(ends[0], ends[2]) and is_same(ends[1], ends[3]))):
            yield f"interval {ends[:2]} at {one['level']} for {ends[2:]} at {two['level']}"
    if cell.has_verdicts and claim["verdict"] != other["verdict"]:
        yield f"verdict {claim['verdict']} for {other['verdict']}"
    if cell.has_verdicts and not is_same(claim["margin"], other["margin"]):
        yield f"margin {claim['margin']} for {other['margin']}"


def is_same(one: Any, two: Any) -> bool:
    if isinstance(one, float) and isinstance(two, float):
        return math.isclose(one, two, rel_tol=CLOSE, abs_tol=CLOSE)
    return bool(one == two)


def same_words(wanted: str, text: str) -> bool:
    """Whether a text holds a sentence, however its lines are broken."""
    return " ".join(wanted.split()) in " ".join(text.split())


def tells_reason(reason: str, text: str) -> bool:
    """Whether a text holds a reason in the words of the command line or in Python's."""
    return same_words(reason, text) or same_words(in_python(reason), text)


def differing(fact: Fact, surfaces: Surfaces) -> dict[str, str]:
    """The surfaces that differ from the reference, and how."""
    reference = {(c.measure, c.conditions): plain(c) for c in surfaces.reference.claims}
    main = surfaces.reference.of(surfaces.reference.primary)[0]
    found = dict(unlike_stated(fact, surfaces.reference.of(fact.measure)[0], surfaces))
    for name, cell in surfaces.cells():
        problems = [cell.fault] if cell.fault else []
        own = {(c["measure"], tuple(c["conditions"])): c for c in cell.claims if not c.get("column")}
        for key in own.keys() & reference.keys():
            problems += [f"{key[0]}: {x}" for x in differences(own[key], reference[key], cell)]
        if cell.claims and not own.keys() & reference.keys():
            problems.append("no claim of the reference")
        if fact.note and cell.shows_note and not cell.fault and not re.search(fact.note, " ".join(cell.text.split())):
            problems.append(f"no note {fact.note!r}")
        is_shown = main.verdict is Verdict.BLOCKED and cell.text and cell.shows_note
        if is_shown and not tells_reason(main.reason, cell.text):
            problems.append("no reason of the block")
        if problems:
            found[name] = "; ".join(problems)
    return found


def unlike_stated(fact: Fact, claim: Claim, surfaces: Surfaces) -> Iterator[tuple[str, str]]:
    """Where the reference itself is not as the fact says."""
    if (claim.blocked_by or "") != fact.block:
        yield "reference block", f"{claim.blocked_by} for {fact.block or None}"
    if claim.plain_interval is not None and claim.plain_interval.level != fact.level:
        yield "reference level", str(claim.plain_interval.level)
    if claim.margin != surfaces.margin:
        yield "reference margin", str(claim.margin)


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.name)
def test_every_surface_says_the_same(fact: Fact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    found = differing(fact, Surfaces(fact, tmp_path))
    table = "\n".join(f"{fact.name} | {surface} | {how}" for surface, how in found.items())
    assert not table, f"differing cells (fact | surface | how):\n{table}"


def test_a_reading_that_nobody_confirmed_is_noted_and_blocks_a_gate(tmp_path: Path) -> None:
    tables = read_tables(FACTS[0].write(tmp_path))
    inferred = dataclasses.replace(tables, is_confirmed=False)
    known, noted = (compare_tables(t, on=("accuracy",)) for t in (tables, inferred))
    for one, two in zip(known.claims, noted.claims, strict=True):
        assert (one.estimate, one.plain_interval, one.n, one.verdict) == (
            two.estimate,
            two.plain_interval,
            two.n,
            two.verdict,
        )
        assert set(two.notes) - set(one.notes) == {"Reading not confirmed: columns were inferred."}
    plan = margin_plan(tables, 0.02)
    (open_claim,), (closed,) = run_gate(plan, tables).claims, run_gate(plan, inferred).claims
    assert (open_claim.blocked_by, closed.blocked_by, closed.override) == (None, "reading", "--trust-reading")
    (trusted,) = run_gate(plan, inferred, policy=Policy(trust_reading=True)).claims
    assert (trusted.verdict, trusted.estimate) == (open_claim.verdict, open_claim.estimate)


def test_only_facts_are_left_out_of_a_series() -> None:
    assert NOT_WATCHED.keys() <= {fact.name for fact in FACTS}
