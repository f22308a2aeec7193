"""Whether published claims follow from their evidence: recomputed from the data, and consistent in themselves."""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import msgspec

from richter import __version__
from richter.audit._comparison import compare_tables
from richter.audit._measure import measure_run
from richter.audit._plan import POLICY_DEFAULTS
from richter.claims import is_inside
from richter.errors import InputError, RichterError
from richter.interop import Source, evidence_files, is_evidence, is_frame, named_source, restore_run
from richter.records import Interval, Result, counted, plain
from richter.tables import Dataset, ReadOptions, read_tables
from richter.tail import TailPlan

__all__ = ["Verification", "verify_archive", "verify_document", "verify_results"]

Render = Callable[[Mapping[str, Any], Dataset], str]
_BROKEN = (RichterError, LookupError, TypeError, AttributeError, ValueError, OverflowError, RecursionError)

CLOSE = 1e-9  # relative: what other versions of the same libraries may change
MOST_RESAMPLES = 1_000_000  # a document may ask for more than anybody can wait for
OPTIONS = inspect.signature(compare_tables).parameters.keys() - {"tables", "more"}
VERSION = 3  # of results documents
SCHEMAS = ("richter/compare", "richter/results")
PART_OF_A_RUN = "this archive holds a part of a run: what stands on the rest of it is not made again"
ALONE = ("estimate", "values", "n", "units", "p", "plain_interval")  # of a claim whatever its family
# what says when, where and by which program a document was made, and what to do next: nothing that evidence can tell
CIRCUMSTANCES = {"richter", "run", "next", "remedy", "versions", "attempts", "defaults", "history", "options", "id",
                 "data_hash"}  # fmt: skip
# what one form of the same data tells and another may not: a difference is a note
OF_THE_FORM = {"basis", "understood", "notes", "model", "decoding", "system", "style", "spent", "simulated", "checks",
               "plan", "plan_hash", "population", "deviations", "missing", "file"}  # fmt: skip
ASKED = {"level", "tried", "seed", "n_resamples", "margins"}  # with which a document is made again
# what not even an archive, which has the run's own records, can tell; all else in its results is made again
OF_THE_PROGRAM = {"richter", "versions"}
AS_STATED = ("run name", "methods seed", "methods level", "methods n_resamples", "methods margins", "methods vouched")
IN_NOTES = ("run started_at", "run ended_at", "run bench", "run spent", "signature population")  # not in old archives
COMMANDS = {"next", "remedy", "file"}  # they name the place of the run, which of a database an archive does not know


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Verification(Result):
    """What was checked, how many of it were recomputed, and every way in which evidence and document differ.

    `unmade` are claims in an archive that its records do not make again: changed with a fitting manifest, they would
    not be found. `given` are the fields and files that nothing was held against: a change of them would not be found.
    """

    schema: ClassVar = "richter/verification"
    unwritten: ClassVar = ("what",)

    checked: int
    recomputed: int
    faults: tuple[str, ...]
    notes: tuple[str, ...] = ()
    unmade: int = 0
    given: tuple[str, ...] = ()
    what: Literal["claims", "records", "files"] = "claims"

    @property
    def exit_code(self) -> int:
        """0 where all follows from the evidence, 1 where something does not, 4 where it could not be recomputed."""
        if self.faults:
            return 1
        return 0 if self.recomputed == self.checked and self.checked and not self.unmade else 4

    @property
    def sentence(self) -> str:
        """The outcome in one sentence."""
        if self.faults:
            return (
                f"{len(self.faults)} fault{'s' * (len(self.faults) > 1)} in {self.checked:,} checked: {self.faults[0]}."
            )
        if self.recomputed == self.checked and self.checked:
            verbs = {"claims": "follow from the evidence", "records": "are as they were written"}
            rest = f"; {counted(self.unmade, 'claim')} in it cannot be made again from its records" * bool(self.unmade)
            return f"All {self.checked:,} {self.what} {verbs.get(self.what, 'are as the manifest says')}{rest}."
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
    differences: list[tuple[str, _Difference]] = []
    if unmade and any(map(_is_archive, evidence)):
        notes.append(PART_OF_A_RUN)
        found = _without_families(stated, found, unmade)
    else:
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


def _without_families(
    stated: Mapping[Any, Any], found: Mapping[Any, Any], unmade: list[dict[str, Any]]
) -> dict[Any, Any]:
    """The claims that were made again; of one in another family than stated, what no family changes.

    The latter are among the unmade too.
    """
    partly = {key: claim for key, claim in stated.items() if key in found and not _same_family(claim, found[key])}
    unmade += partly.values()
    return {**found, **{key: claim | {k: found[key][k] for k in ALONE} for key, claim in partly.items()}}


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


def _same_family(claim: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    return bool(claim.get("family") == found["family"])


def _claim_differences(
    stated: Mapping[Any, Any], found: Mapping[Any, Any], names: Collection[str], *, given: Collection[str] | None = None
) -> Iterator[tuple[str, _Difference]]:
    """Every way in which claims differ from those that were made again."""
    for key, claim in stated.items():
        if key in found:
            yield from ((f"{_name(claim)}: ", d) for d in _different(claim, found[key], names, given=given))


def _without_claims(document: Mapping[str, Any]) -> dict[str, Any]:
    return _without(document, "claims", "notes")


def _without(document: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {k: v for k, v in document.items() if k not in names}


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


def _is_archive(source: Source) -> bool:
    return not is_frame(source) and is_evidence(named_source(source)[1])


def verify_archive(path: str | Path, *, render: Render | None = None) -> Verification:
    """Check every file of an evidence archive against its manifest, and its results against its records.

    The run is made again from the records, and its results from the run: all that they state must be the same, but
    for what is listed as `given`. `render` makes the page of a document and its data, as `richter.report.render_report`
    does; the page in the archive must be that, where the same version wrote it.
    """
    files, faults = evidence_files(Path(path))
    records = [name for name in files if name not in ("results.json", "report.html")]
    found = Verification(
        checked=len(files), recomputed=max(0, len(files) - len(faults)), faults=tuple(faults), given=tuple(records),
        what="files",
    )  # fmt: skip
    if faults:
        return found
    if "results.json" not in files:
        return dataclasses.replace(found, recomputed=0, notes=("it holds no results.json: nothing is made again",))
    try:
        document = _read(files["results.json"])
        return _verify_restored(found, files, document, render)
    except _BROKEN as error:
        why = str(error) if isinstance(error, RichterError) else "it is not as Richter writes it"
        return dataclasses.replace(found, faults=(f"results.json does not follow from the records: {why}",))


def _verify_restored(
    found: Verification, files: Mapping[str, bytes], document: dict[str, Any], render: Render | None
) -> Verification:
    """The check of an archive's results and page against the run that its records make."""
    if (document["schema"], document["version"]) != ("richter/results", VERSION):
        raise InputError(f"its results are of version {document['version']}.", remedy="Make it again from its run.")
    name, methods = str(document["run"]["name"]), document["methods"]
    _check_resamples(methods["n_resamples"])
    with tempfile.TemporaryDirectory() as scratch:
        is_file_name = name == Path(name).name and name not in ("", "..") and len(name.encode()) < 256
        run = Path(scratch) / (name if is_file_name else "run")
        try:
            restore_run(files, run, what="the archive")
            results = measure_run(
                run, seed=methods["seed"], level=methods["level"], n_resamples=methods["n_resamples"],
                margin=methods.get("margins") or None, **_vouched(methods),
            )  # fmt: skip
        except RichterError as error:
            raise InputError(error.what.replace(f"{scratch}/", ""), remedy="Get the archive again.") from error
        as_stated = AS_STATED if "records/notes.json" in files else (*AS_STATED, *IN_NOTES)
        commands = COMMANDS if "postgresql:///" in json.dumps(document) else set[str]()
        faults, notes, unmade = compare_documents(
            document, results.to_dict(), given=OF_THE_PROGRAM | commands, as_stated=as_stated
        )
        page = None if render is None or faults else render(document, results.tables)
    made = len(document["claims"]) - unmade
    notes = [f"of its {len(document['claims']):,} claims {made:,} were made again from its records", *notes]
    given = (*found.given, *sorted(OF_THE_PROGRAM | commands), *as_stated)
    if "report.html" not in files:
        notes.append("it holds no report.html")
    elif page is None or document["richter"] != __version__:
        given = (*given, "report.html")
        other = "" if document["richter"] == __version__ else f": Richter {document['richter']} made it"
        notes.append(f"report.html is not compared{other}")
    elif files["report.html"].decode("utf-8", "replace") != page:
        faults.append("report.html is not the page that its results and records make")
    return dataclasses.replace(found, faults=tuple(faults), notes=tuple(notes), unmade=unmade, given=given)


def compare_documents(
    document: Mapping[str, Any],
    again: Mapping[str, Any],
    *,
    given: Collection[str] = OF_THE_PROGRAM,
    as_stated: tuple[str, ...] = AS_STATED,
) -> tuple[list[str], list[str], int]:
    """Faults and notes on a results document against the same made again, and how many of its claims were not.

    Every field counts but those of a `given` name and those that begin `as_stated`; one that is absent is null.
    Where the records do not make all claims (the steps of a search are not among them), only the claims that they
    make are compared.
    """
    claims: list[dict[str, Any]] = document["claims"]
    faults, notes = _faults_within(claims), list[str]()
    stated, found = ({_key(claim): claim for claim in one["claims"]} for one in (document, again))
    unmade = [claim for key, claim in stated.items() if key not in found]
    names = _conditions(again)
    if unmade:
        notes.append(PART_OF_A_RUN)
        found, given = _without_families(stated, found, unmade), {*given, "data_hash"}
        notes += [f"{_name(claim)} cannot be made again from its records" for claim in unmade]
    else:
        faults += _left_out({}, stated, found)
        if not faults and [*stated] != [*found]:
            faults.append("the claims stand in another order")
        faults += _faults_around(document, again, names, given, as_stated)
    faults += [f"{claim}{d.sentence}" for claim, d in _claim_differences(stated, found, names, given=given)]
    return faults, notes, len(unmade)


def _faults_around(
    document: Mapping[str, Any],
    again: Mapping[str, Any],
    names: Collection[str],
    given: Collection[str],
    as_stated: tuple[str, ...],
) -> list[str]:
    """Where a document differs from the same made again beside its claims."""
    rest = _different(_without(document, "claims"), _without(again, "claims"), names, given=given)
    return [difference.sentence for difference in rest if not difference.where.startswith(as_stated)]


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
    *,
    given: Collection[str] | None = None,
) -> Iterator[_Difference]:
    """Every place at which two values differ, but for `given` fields; conditions (`names`) may be called anything.

    Without `given` those are the circumstances, and differences in what another form of the data may not tell are
    marked.
    """
    skipped, marked = (CIRCUMSTANCES, OF_THE_FORM) if given is None else (given, ())
    if isinstance(stated, dict) and isinstance(found, dict):
        by_condition = bool(found) and found.keys() <= set(names)
        for name in {**found, **stated}:
            if by_condition or name not in skipped:
                is_less = is_around or (name in marked and not by_condition)
                at = f"{where} {name}".strip()
                yield from _different(stated.get(name), found.get(name), names, at, is_less, given=given)
    elif isinstance(stated, list) and isinstance(found, list | tuple) and len(stated) == len(found):
        for k, (one, other) in enumerate(zip(stated, found, strict=True)):
            yield from _different(one, other, names, f"{where} {k + 1}", is_around, given=given)
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
