"""Whether published claims follow from their evidence: recomputed from the data, and consistent in themselves."""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import msgspec

from richter.audit._comparison import compare_tables
from richter.audit._measure import measure_run
from richter.audit._plan import POLICY_DEFAULTS
from richter.claims import is_inside
from richter.errors import InputError
from richter.interop import Source
from richter.records import Interval, Result, plain
from richter.tables import ReadOptions, read_tables
from richter.tail import TailPlan

__all__ = ["Verification", "verify_document", "verify_results"]

CLOSE = 1e-9  # relative: what other versions of the same libraries may change
MOST_RESAMPLES = 1_000_000  # a document may ask for more than anybody can wait for
OPTIONS = inspect.signature(compare_tables).parameters.keys() - {"tables", "more"}
VERSION = 3  # of results documents
SCHEMAS = ("richter/compare", "richter/results")
# what says when, where and by which program a document was made, and what to do next: nothing that evidence can tell
CIRCUMSTANCES = {"richter", "run", "next", "remedy", "versions", "defaults", "history", "options", "id",
                 "data_hash"}  # fmt: skip
# what one form of the same data tells and another may not: a difference is a note
OF_THE_FORM = {"basis", "understood", "notes", "model", "decoding", "system", "style", "spent", "simulated", "checks",
               "plan", "plan_hash", "population", "missing", "file"}  # fmt: skip
ASKED = {"level", "tried", "seed", "n_resamples", "margins"}  # with which a document is made again


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Verification(Result):
    """What was checked, how many of it were recomputed, and every way in which evidence and document differ.

    `given` are the fields that nothing was held against: a change of them would not be found.
    """

    schema: ClassVar = "richter/verification"

    checked: int
    recomputed: int
    faults: tuple[str, ...]
    notes: tuple[str, ...] = ()
    given: tuple[str, ...] = ()

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
            return f"All {self.checked:,} claims follow from the evidence."
        return f"{self.recomputed:,} of {self.checked:,} recomputed; the others are consistent in themselves."


def verify_results(
    path: str | Path, evidence: Sequence[Source] = (), *, options: ReadOptions | None = None
) -> Verification:
    """Check a results document of `richter compare` or `richter report`, and make it again from the evidence.

    Without evidence only consistency is checked: that intervals and verdicts say the same, and that no claim stands
    twice. With evidence all of it is made again with the options, level and seed that it records: counts, verdicts and
    sentences must be equal and numbers equal within 1e-9, in claims and in tables, and no claim may be left out.
    """
    try:
        document = _read(Path(path).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a results document.", remedy="Write one with --json.") from error
    return verify_document(document, evidence, options=options, path=str(path))


def verify_document(
    document: Any,
    evidence: Sequence[Source] = (),
    *,
    options: ReadOptions | None = None,
    path: str = "The document",
) -> Verification:
    """Check a results document that was read already; see `verify_results`."""
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema == "richter/results" and document.get("version") != VERSION:
        raise InputError(
            f"{path} is a results document of version {document.get('version')}; this Richter verifies {VERSION}.",
            remedy="Make it again from its run: richter report RUN --json results.json",
        )
    if schema not in SCHEMAS or not isinstance(document.get("claims"), list):
        raise InputError(
            f"{path} is not a document that can be verified.", remedy=f"Give one of the schema {' or '.join(SCHEMAS)}."
        )
    try:
        return _verified(document, evidence, options)
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{path} is not as Richter writes such documents ({type(error).__name__}: {str(error)[:80]}).",
            remedy="Make it again with --json.",
        ) from error


def _verified(document: dict[str, Any], evidence: Sequence[Source], options: ReadOptions | None) -> Verification:
    claims: list[dict[str, Any]] = document["claims"]
    stated = {_key(claim): claim for claim in claims}
    faults = _faults_within(claims)
    if not evidence:
        return Verification(checked=len(claims), recomputed=0, faults=tuple(faults), notes=("no evidence was given",))
    again, data_hash, notes = _make_again(document, evidence, options)
    found, names = {_key(claim): claim for claim in again["claims"]}, _conditions(again)
    unmade = [claim for key, claim in stated.items() if key not in found]
    faults += [*_wrong_data(claims, data_hash), *_left_out(document, stated, found)]
    differences = [("", d) for d in _different(_without_claims(document), _without_claims(again), names)]
    notes += [f"{_name(claim)} cannot be made again from this evidence" for claim in unmade]
    of_claims = _claim_differences(stated, found, names)
    everywhere = (*of_claims, *differences)
    faults += [f"{claim}{difference.sentence}" for claim, difference in everywhere if not difference.is_around]
    notes += _describe_other_forms(difference.sentence for _, difference in everywhere if difference.is_around)
    return Verification(
        checked=len(claims), recomputed=len(claims) - len(unmade), faults=tuple(faults), notes=tuple(notes),
        given=_given_fields(document),
    )  # fmt: skip


def _faults_within(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    """Claims whose interval and verdict do not say the same, and claims that stand twice."""
    faults = [fault for claim in claims for fault in _inconsistent(claim)]
    counts = Counter(map(_key, claims))
    return faults + [
        f"{_name(claim)} stands twice" for claim in {_key(c): c for c in claims if counts[_key(c)] > 1}.values()
    ]


def _given_fields(document: Mapping[str, Any]) -> tuple[str, ...]:
    """The fields of a document that other forms of its data cannot tell, by name; and sections stated as missing."""
    absent = [f"section {name}" for name, section in document.get("sections", {}).items() if "missing" in section]
    return (*sorted(_names_in(document) & (CIRCUMSTANCES | OF_THE_FORM | ASKED)), *absent)


def _names_in(value: Any) -> set[str]:
    """The names of all fields anywhere in a document."""
    if isinstance(value, Mapping):
        return {*value}.union(*map(_names_in, value.values()))
    return set().union(*map(_names_in, value)) if isinstance(value, list | tuple) else set()


def _describe_other_forms(sentences: Iterable[str]) -> list[str]:
    """The notes on differences that come from the form of the data, each once with the number of its places."""
    return [
        f"{sentence}{f' ({times} times)' if times > 1 else ''}: another form of the same data may say it otherwise"
        for sentence, times in Counter(sentences).items()
    ]


def _claim_differences(
    stated: Mapping[Any, Any], found: Mapping[Any, Any], names: Collection[str]
) -> Iterator[tuple[str, _Difference]]:
    """Every way in which claims differ from those that were made again."""
    for key, claim in stated.items():
        if key in found:
            yield from ((f"{_name(claim)}: ", d) for d in _different(claim, found[key], names))


def _without_claims(document: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in document.items() if k not in ("claims", "notes")}


def _wrong_data(claims: Sequence[Mapping[str, Any]], data_hash: str) -> list[str]:
    """A fault where the claims were made from other data than these."""
    hashes = {claim.get("data_hash") for claim in claims} - {"", None}
    is_other = bool(data_hash and hashes) and hashes != {data_hash}
    return ["the evidence is not the data that the document was made from"] * is_other


def _left_out(document: Mapping[str, Any], stated: Collection[Any], found: Mapping[Any, Any]) -> list[str]:
    """The claims that the evidence makes and the document lacks, sections that were not asked for aside."""
    unasked = {name for name, section in document.get("sections", {}).items() if "missing" in section}
    return [
        f"{_name(claim)} is left out: by the evidence it is {claim['verdict']}"
        for key, claim in found.items()
        if key not in stated and claim.get("section") not in unasked
    ]


def _read(text: bytes) -> Any:
    """JSON in which no name stands twice: another reader may take the other."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(found := dict(pairs)) < len(pairs):
            raise ValueError("a name stands twice")
        return found

    def refuse(word: str) -> Any:
        raise ValueError(f"{word} is not JSON")

    return json.loads(text, object_pairs_hook=once, parse_constant=refuse)


def _make_again(
    document: dict[str, Any], evidence: Sequence[Source], options: ReadOptions | None
) -> tuple[dict[str, Any], str, list[str]]:
    """The document made again from the evidence, the hash of its data, and what is to be known of how it was read."""
    _check_resamples((document.get("methods") or document)["n_resamples"])
    again = _results_again if document["schema"] == "richter/results" else _comparison_again
    return again(document, evidence, options)


def _check_resamples(drawn: Any) -> None:
    if not 0 < int(drawn) <= MOST_RESAMPLES:
        raise ValueError(f"n_resamples of {drawn}")


def _vouched(methods: Mapping[str, Any]) -> dict[str, Any]:
    """What a document's maker vouched for, of the names that there are."""
    return {name: value for name, value in (methods.get("vouched") or {}).items() if name in POLICY_DEFAULTS}


def _results_again(
    document: dict[str, Any], evidence: Sequence[Source], options: ReadOptions | None
) -> tuple[dict[str, Any], str, list[str]]:
    methods = document["methods"]
    results = measure_run(
        *evidence, options=options, conditions=_conditions(document), seed=methods["seed"], level=methods["level"],
        n_resamples=methods["n_resamples"], margin=methods.get("margins") or None, **_vouched(methods),
    )  # fmt: skip
    again = results.to_dict()
    for name, section in document["sections"].items():
        if "missing" in section:  # asked for with --only, or not to be had then
            again["sections"][name] = section
    return again, results.tables.data_hash, []


def _comparison_again(
    document: dict[str, Any], evidence: Sequence[Source], options: ReadOptions | None
) -> tuple[dict[str, Any], str, list[str]]:
    asked = dict(document["options"])
    asked["conditions"] = asked.get("conditions") or [*document["conditions"]]
    reading, tail = asked.pop("reading", None), asked.pop("tail_plan", None)
    unknown = asked.keys() - OPTIONS
    if unknown:
        raise ValueError(f"no option is called {min(unknown)}")
    asked |= {name: document[name] for name in ("level", "tried", "seed", "n_resamples")}
    asked |= {"margin": document["margins"], "tail_plan": None if tail is None else msgspec.convert(tail, TailPlan)}
    notes = []
    if options in (None, ReadOptions()) and reading is not None:
        options = msgspec.convert(reading, ReadOptions)
        usual = plain(ReadOptions())
        own = {name: value for name, value in reading.items() if name != "settings" and value != usual.get(name)}
        notes = [f"the data are read as the document says: {name} {_short(value)}" for name, value in own.items()]
    report = compare_tables(read_tables(*evidence, options=options), **asked)
    return plain(report), report.data_hash, notes


def _conditions(document: Mapping[str, Any]) -> list[str]:
    """The names of a document's conditions, which it keeps as a list or by name."""
    return [c if isinstance(c, str) else c["name"] for c in document["conditions"]]


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
    within = Interval(low=low, high=high, level=interval["level"], method=interval["method"])
    relation, margin = asked["relation"], claim.get("margin")
    shown = {"above": above, "below": below}.get(relation, above or below)
    right = {
        "verified": shown,
        "refuted": below if relation == "above" else above,
        "undecided": not (above or below),
        "equivalent": margin is not None and is_inside(within, margin, value=value),
    }.get(verdict, True)
    if not right:
        yield f"{_name(claim)}: its interval does not say {verdict}"


class _Difference(NamedTuple):
    where: str
    stated: Any
    found: Any
    is_around: bool  # in what another form of the same data may not tell

    @property
    def sentence(self) -> str:
        return f"{self.where} is {_short(self.stated)}, and {_short(self.found)} by the evidence"


def _different(
    stated: Any,
    found: Any,
    names: Collection[str],
    where: str = "",
    is_around: bool = False,
) -> Iterator[_Difference]:
    """Every place at which two values differ, but for the circumstances; conditions (`names`) may be called anything.

    Differences in what another form of the data may not tell are marked.
    """
    if isinstance(stated, dict) and isinstance(found, dict):
        by_condition = bool(found) and found.keys() <= set(names)
        for name in {**found, **stated}:
            if by_condition or name not in CIRCUMSTANCES:
                is_less = is_around or (name in OF_THE_FORM and not by_condition)
                at = f"{where} {name}".strip()
                yield from _different(stated.get(name), found.get(name), names, at, is_less)
    elif isinstance(stated, list) and isinstance(found, list | tuple) and len(stated) == len(found):
        for k, (one, other) in enumerate(zip(stated, found, strict=True)):
            yield from _different(one, other, names, f"{where} {k + 1}", is_around)
    elif not _is_same(stated, found):
        yield _Difference(where, stated, found, is_around)


def _is_same(stated: Any, found: Any) -> bool:
    """Equal, numbers within what other versions of the same libraries may change."""
    if isinstance(stated, bool) or isinstance(found, bool):
        return stated is found
    are_numbers = isinstance(stated, float | int) and isinstance(found, float | int)
    return math.isclose(stated, found, rel_tol=CLOSE, abs_tol=1e-12) if are_numbers else bool(stated == found)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else f"{text[:97]}..."
