"""Reports of test runners as rows: JUnit XML (pytest, vitest, ..), Robot Framework, pytest-json-report, Jest, Mocha.

A test is an item; passed is right, failed wrong, skipped without a grade. An error outside the test, or a failure that
is a lost connection or a timeout, is a failed call. Checked against files that each of these tools wrote.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from html.parser import HTMLParser
from typing import Any, NamedTuple

from richter.interop._safe import Unreadable

CROSSED = 0.8  # share of the pairs of first parts and tests that are there
MAX_FIRST_PARTS = 20
_LOST_CALL = re.compile(r"\s*(?:\w+\.)*\w*(?:connection|timeout|ratelimit|apierror|httperror)\w*\b", re.IGNORECASE)
_GRADES = {
    "passed": "pass", "pass": "pass", "xpassed": "pass", "failed": "fail", "fail": "fail", "xfailed": "fail",
    "error": "error", "broken": "error",
}  # fmt: skip
_PARAMETERS = re.compile(
    r"(?=.*\]$)(.*)\[(.+)\]$", re.DOTALL
)  # the first part: a row of [ without an end takes no time


class Test(NamedTuple):
    """One test of a report: the titles around it, its own name, how it ended, and the model that it names."""

    suite: str
    name: str
    outcome: str
    message: str = ""
    model: str = ""

    def grade(self) -> str:
        """The word for how the test ended; empty where it did not run."""
        grade = _GRADES.get(self.outcome.lower(), "")
        return "error" if grade == "fail" and _LOST_CALL.match(self.message) else grade


def report_rows(tests: Sequence[Test], stem: str) -> list[dict[str, Any]]:
    """A row for each test: its name, its grade, and its model or what stands before its name, where that crosses it."""
    if any(test.model for test in tests):
        return [
            {"item": _without_parameter(test, test.model), "model": test.model, "correct": test.grade()}
            for test in tests
        ]
    for pairs in _pairs_of_names(tests):
        if _do_cross(pairs):
            return [
                {"item": own, "suite": first, "correct": test.grade()}
                for test, (first, own) in zip(tests, pairs, strict=True)
            ]
    shared = _shared_parameter(tests, stem)
    return [{"item": _without_parameter(test, shared), "correct": test.grade()} for test in tests]


def _pairs_of_names(tests: Sequence[Test]) -> Iterator[list[tuple[str, str]]]:
    """The ways to part every test's name in two: by its suite, at ` > `, and at each hyphen of its parameters."""
    yield [(test.suite, test.name) for test in tests]
    if all(" > " in test.name for test in tests):
        yield [(test.name.partition(" > ")[0], test.name.partition(" > ")[2]) for test in tests]
    found = [_PARAMETERS.match(test.name) for test in tests]
    if not all(found):
        return
    parts = [(match[1], match[2].split("-")) for match in found if match]
    for n in range(1, min(len(words) for _, words in parts)):
        yield [("-".join(words[:n]), f"{base}[{'-'.join(words[n:])}]") for base, words in parts]
        yield [("-".join(words[-n:]), f"{base}[{'-'.join(words[:-n])}]") for base, words in parts]
    yield from _pairs_by_ends(parts)


def _pairs_by_ends(parts: Sequence[tuple[str, list[str]]]) -> Iterator[list[tuple[str, str]]]:
    """Parameters parted before their last words, or after their first, however many words the other one has."""
    for n in range(1, min(len(words) for _, words in parts)):
        yield [("-".join(words[:-n]), f"{base}[{'-'.join(words[-n:])}]") for base, words in parts]
        yield [("-".join(words[n:]), f"{base}[{'-'.join(words[:n])}]") for base, words in parts]


def _do_cross(pairs: Sequence[tuple[str, str]]) -> bool:
    """Whether few first parts stand before most of the same second ones, each pair once."""
    firsts, seconds = {first for first, _ in pairs}, {second for _, second in pairs}
    if not 2 <= len(firsts) <= min(MAX_FIRST_PARTS, len(seconds)) or len(set(pairs)) < len(pairs):
        return False
    return len(pairs) >= CROSSED * len(firsts) * len(seconds)


def _shared_parameter(tests: Sequence[Test], stem: str) -> str:
    """The parameter that all tests share and that the file is named by; empty without."""
    found = [_PARAMETERS.match(test.name) for test in tests]
    words = [match[2].split("-")[:-1] if match else [] for match in found]
    alike = itertools.takewhile(lambda own: len({*own}) == 1, zip(*words, strict=False))
    shared = "-".join(own[0] for own in alike)
    return shared if shared and shared in stem else ""


def _without_parameter(test: Test, parameter: str) -> str:
    """The test's name without a parameter, so that the same test has one name for all models."""
    match = _PARAMETERS.match(test.name)
    if match is None or not parameter:
        return f"{test.suite}.{test.name}" if test.suite else test.name
    rest = f"-{match[2]}-".replace(f"-{parameter}-", "-").strip("-")
    return f"{test.suite}.{match[1]}[{rest}]"


# ------------------------------------------------------------------ the tools' own forms


def json_tests(document: Any) -> list[Test]:
    """The tests of a report in JSON, by what each tool has in it; none for any other document."""
    names = document.keys() if isinstance(document, dict) else set()
    if names >= {"tests", "summary", "exitcode"}:
        return [_pytest_test(test) for test in _records(document["tests"])]
    if names >= {"stats", "tests", "passes", "failures"}:
        return _mocha_tests(document)
    if names >= {"numTotalTests", "testResults"}:
        files = [_records(file.get("assertionResults")) for file in _records(document["testResults"])]
        return [_jest_test(test) for tests in files for test in tests]
    return []


def _records(value: Any) -> list[dict[str, Any]]:
    """The entries of a list of objects; none for any other value."""
    are_objects = isinstance(value, list) and all(isinstance(entry, dict) for entry in value)
    return value if are_objects else []


def _pytest_test(test: Mapping[str, Any]) -> Test:
    suite, _, name = str(test.get("nodeid", "")).rpartition("::")
    if "[" in suite:  # a parameter with `::` in it
        suite, _, name = str(test["nodeid"]).partition("::")
    call = test.get("call")
    crash = call.get("crash") if isinstance(call, dict) else None
    message = str(crash.get("message", "")) if isinstance(crash, dict) else ""
    return Test(suite=suite, name=name, outcome=str(test.get("outcome", "")), message=message)


def _mocha_tests(document: Mapping[str, Any]) -> list[Test]:
    ends = {
        str(test.get("fullTitle")): outcome
        for outcome, name in (("passed", "passes"), ("failed", "failures"), ("skipped", "pending"))
        for test in _records(document.get(name))
    }  # fmt: skip
    names = [(str(test.get("fullTitle", "")), str(test.get("title", ""))) for test in _records(document["tests"])]
    return [
        Test(suite=full.removesuffix(title).strip(), name=title, outcome=ends.get(full, "")) for full, title in names
    ]


def _jest_test(test: Mapping[str, Any]) -> Test:
    around = test.get("ancestorTitles")
    messages = test.get("failureMessages")
    return Test(
        suite=" > ".join(map(str, around)) if isinstance(around, list) else "",
        name=str(test.get("title", "")),
        outcome=str(test.get("status", "")),
        message=str(messages[0]) if isinstance(messages, list) and messages else "",
    )


class _Report(HTMLParser):
    """The tests of a report in XML: JUnit's `testcase`, Robot Framework's `test` with the status right below it."""

    def __init__(self) -> None:
        super().__init__()
        self.tests: list[Test] = []
        self.suites: list[str] = []  # of each test, the names of the suites around it
        self.around: list[str] = []  # of the suites that are open
        self.is_inside = False
        self.depth = 0  # of elements below a test

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        if tag == "testsuite":
            self.around.append(named.get("name", ""))
        elif tag == "testcase" or (tag == "test" and "name" in named):
            self.suites.append(" > ".join(self.around))
            self.tests.append(Test(suite=named.get("classname", ""), name=named.get("name", ""), outcome="passed"))
            self.is_inside, self.depth = True, 0
        elif self.is_inside:
            self.depth += 1
            self._within_test(tag, named)

    def _within_test(self, tag: str, named: Mapping[str, str]) -> None:
        test = self.tests[-1]
        if tag in ("failure", "error", "skipped") and self.depth == 1:
            outcome = {"failure": "failed", "error": "error", "skipped": "skipped"}[tag]
            self.tests[-1] = test._replace(outcome=outcome, message=named.get("message", ""))
        elif tag == "status" and self.depth == 1:
            self.tests[-1] = test._replace(outcome=named.get("status", ""))
        elif tag == "property" and named.get("name") == "model":
            self.tests[-1] = test._replace(model=named.get("value", ""))

    def handle_endtag(self, tag: str) -> None:
        if tag in ("testcase", "test"):
            self.is_inside = False
        elif tag == "testsuite" and self.around:
            self.around.pop()
        elif self.is_inside:
            self.depth = max(self.depth - 1, 0)


def xml_tests(source: bytes) -> list[Test]:
    """The tests of a report in XML; one retried or reported twice in its suite counts by its last end.

    Where a name recurs in another suite, the suites around a test tell its namesakes apart.
    """
    report = _Report()
    try:
        report.feed(source.decode("utf-8-sig", "replace"))
    except AssertionError as error:  # a declaration that is none: what comes after it would be lost
        raise Unreadable(f"damaged XML: {error}") from error
    last = {(around, test.suite, test.name): test for around, test in zip(report.suites, report.tests, strict=True)}
    if len({(suite, name) for _, suite, name in last}) == len(last):
        return list(last.values())
    return [test._replace(suite=around) for (around, _, _), test in last.items()]
