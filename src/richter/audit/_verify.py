"""Whether published claims follow from their evidence: recomputed from the data, and consistent in themselves."""

import dataclasses
import hashlib
import json
import math
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from richter.audit._compare import compare_tables
from richter.audit._measure import measure_run
from richter.errors import InputError
from richter.interop import Source
from richter.records import Result, plain
from richter.tables import ReadOptions, read_tables
from richter.tail import TailPlan

__all__ = ["Verification", "verify_archive", "verify_results"]

CLOSE = 1e-9  # relative: what other versions of the same libraries may change
COMPARED = ("estimate", "n", "units", "verdict", "needed", "p", "blocked_by")
SCHEMAS = ("richter/compare", "richter/results")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Verification(Result):
    """What was checked, how many claims were recomputed, and every way in which evidence and document differ."""

    schema: ClassVar = "richter/verification"

    checked: int
    recomputed: int
    faults: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 where all follows from the evidence, 1 where something does not, 4 where it could not be recomputed."""
        if self.faults:
            return 1
        return 0 if self.recomputed == self.checked and self.checked else 4

    @property
    def sentence(self) -> str:
        """The outcome in one sentence."""
        if self.faults:
            return (
                f"{len(self.faults)} fault{'s' * (len(self.faults) > 1)} in {self.checked:,} checked: {self.faults[0]}."
            )
        if self.recomputed == self.checked and self.checked:
            return f"All {self.checked:,} follow from the evidence."
        return f"{self.recomputed:,} of {self.checked:,} recomputed; the others are consistent in themselves."


def verify_results(
    path: str | Path, evidence: Sequence[Source] = (), *, options: ReadOptions | None = None
) -> Verification:
    """Check a results document of `richter compare` or `richter report`, and recompute its claims from the evidence.

    Without evidence only consistency is checked: that intervals and verdicts say the same, and that no claim stands
    twice. With evidence every claim is computed again with the options, level and seed that the document records:
    counts and verdicts must be equal, numbers equal within 1e-9.
    """
    document = _read(Path(path))
    claims = document["claims"]
    faults = [fault for claim in claims for fault in _inconsistent(claim)]
    keys = [_key(c) for c in claims]
    faults += [f"{_name(c)} stands twice" for k, c in enumerate(claims) if _key(c) in keys[:k]]
    if not evidence:
        return Verification(checked=len(claims), recomputed=0, faults=tuple(faults), notes=("no evidence was given",))
    found, data_hash = _again(document, evidence, options)
    stated = {c.get("data_hash") for c in claims} - {"", None}
    if data_hash and stated and stated != {data_hash}:
        faults.append("the evidence is not the data that the document was made from")
    by_key = {_key(c): c for c in found}
    left = [c for c in claims if _key(c) not in by_key]
    for claim in claims:
        if _key(claim) in by_key:
            faults += _different(claim, by_key[_key(claim)])
    notes = [f"{_name(c)} was made with options that the document does not record" for c in left]
    return Verification(
        checked=len(claims), recomputed=len(claims) - len(left), faults=tuple(faults), notes=tuple(notes)
    )


def verify_archive(path: str | Path) -> Verification:
    """Check every file of an evidence archive against its manifest."""
    try:
        with zipfile.ZipFile(path) as archive:
            lines = [line.split("  ", 1) for line in archive.read("MANIFEST.sha256").decode().splitlines()]
            sums = {name: digest for digest, name in lines}
            names = set(archive.namelist()) - {"MANIFEST.sha256"}
            bad = [n for n in sorted(names & set(sums)) if hashlib.sha256(archive.read(n)).hexdigest() != sums[n]]
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(
            f"{path} is no evidence archive.", remedy="Make one: richter export RUN --evidence a.zip"
        ) from error
    faults = [f"{name} was changed" for name in bad]
    faults += [f"{name} is not in the manifest" for name in sorted(names - set(sums))]
    faults += [f"{name} is missing" for name in sorted(set(sums) - names)]
    return Verification(checked=len(sums), recomputed=len(sums) - len(bad), faults=tuple(faults))


def _read(path: Path) -> Mapping[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is no results document.", remedy="Write one with --json.") from error
    schema = document.get("schema") if isinstance(document, Mapping) else None
    if schema == "richter/results" and document.get("version") != 2:
        raise InputError(
            f"{path} is a results document of version {document.get('version')}; this Richter verifies version 2.",
            remedy="Make it again from its run: richter report RUN --json results.json",
        )
    if schema not in SCHEMAS or not isinstance(document.get("claims"), list):
        raise InputError(f"{path} holds no claims.", remedy=f"Give a document of the schema {' or '.join(SCHEMAS)}.")
    return dict(document)


def _again(
    document: Mapping[str, Any], evidence: Sequence[Source], options: ReadOptions | None
) -> tuple[list[dict[str, Any]], str]:
    if document["schema"] == "richter/results":
        methods = document["methods"]
        kept = {name: methods[name] for name in ("seed", "level", "n_resamples")}
        results = measure_run(*evidence, options=options, **kept)
        return results.to_dict()["claims"], results.tables.data_hash
    asked = dict(document.get("options") or {})
    if not asked:  # a document from before options were recorded
        stated = [c.get("hypothesis") or {} for c in document["claims"] if len(c["conditions"]) == 2]
        directed = any(h.get("relation", "differs") != "differs" for h in stated)
        asked = {"conditions": [*document["conditions"]], "on": [document["primary"]], "directed": directed}
    reading, tail = asked.pop("reading", None), asked.pop("tail_plan", None)
    kept = {name: document[name] for name in ("margin", "about", "level", "tried", "seed", "n_resamples")}
    try:
        if options in (None, ReadOptions()) and reading is not None:
            options = msgspec.convert(reading, ReadOptions)
        plan = None if tail is None else msgspec.convert(tail, TailPlan)
        tables = read_tables(*evidence, options=options)
        report = compare_tables(tables, tail_plan=plan, **kept, **asked)
    except (msgspec.ValidationError, TypeError, KeyError) as error:
        raise InputError(f"The document's options cannot be read: {error}.", remedy="Make it again.") from error
    return plain(report.claims), report.data_hash


def _key(claim: Mapping[str, Any]) -> tuple[Any, ...]:
    asked = claim.get("hypothesis") or {}
    return claim["measure"], tuple(claim["conditions"]), asked.get("relation"), asked.get("value"), claim.get("section")


def _name(claim: Mapping[str, Any]) -> str:
    return f"{claim['measure']} of {' and '.join(claim['conditions']) or 'all'}"


def _inconsistent(claim: Mapping[str, Any]) -> Iterator[str]:
    """Where verdict and deciding interval of a difference without gates do not say the same."""
    interval, asked, verdict = claim.get("interval"), claim.get("hypothesis"), claim["verdict"]
    if interval is None or asked is None or claim.get("gates") or len(claim["conditions"]) != 2:
        return
    low, high, value = interval["low"], interval["high"], asked["value"]
    if low is None or high is None or asked["relation"] == "within":
        return
    above, below = low > value, high < value
    relation, margin = asked["relation"], claim.get("margin")
    shown = {"above": above, "below": below}.get(relation, above or below)
    right = {
        "verified": shown,
        "refuted": below if relation == "above" else above,
        "undecided": not (above or below) or " and " in claim["measure"],  # two parts, the interval of one
        "equivalent": margin is not None and -margin <= low - value and high - value <= margin,
    }.get(verdict, True)
    if not right:
        yield f"{_name(claim)}: its interval does not say {verdict}"


def _different(claim: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    ends = [(f"interval {end}", (claim.get("interval") or {}).get(end), (found.get("interval") or {}).get(end))
            for end in ("low", "high", "level")]  # fmt: skip
    for name, stated, again in [*((n, claim.get(n), found.get(n)) for n in COMPARED), *ends]:
        same = stated == again
        if isinstance(stated, float) and isinstance(again, int | float):
            same = math.isclose(stated, again, rel_tol=CLOSE, abs_tol=1e-12)
        if not same:
            yield f"{_name(claim)}: {name} is {stated}, and {again} by the evidence"
