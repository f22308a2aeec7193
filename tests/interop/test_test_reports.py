"""Reports of test runners, in the forms that pytest 9, vitest 4, Robot Framework 7.5, Jest 30 and Mocha 12 wrote."""

import contextlib
import json
import time
from pathlib import Path

import pytest

from helpers.confirmed import read_tables
from richter.errors import InputError, ReadingProposed
from richter.tables import Dataset
from richter.tables import read_tables as read_at_once

ENDS = {"gpt-x": ["passed", "failed", "passed", "skipped", "passed", "failed", "passed", "passed"],
        "my-gpt": ["failed", "failed", "passed", "passed", "error", "passed", "failed", "passed"]}  # fmt: skip
RIGHT = {"gpt-x": (5, 7), "my-gpt": (4, 7)}  # right and graded: skipped and broken tests have no grade


def counts(tables: Dataset) -> dict[str, tuple[int, int]]:
    """Right and graded answers by condition."""
    rows = tables.scores.drop_nulls("value")
    return {
        name: (int(own["value"].sum()), own.height)
        for name, own in ((c, rows.filter(condition=c)) for c in tables.conditions)
    }


def write(path: Path, text: object) -> Path:
    path.write_text(text if isinstance(text, str) else json.dumps(text), "utf-8")
    return path


def junit(name: str, *, model: str = "") -> str:
    """A report of JUnit with the tests of all models; `name` is how a test names its model and case."""
    inside = {"passed": "", "failed": '<failure message="assert 0 == 1">x</failure>', "error": "<error/>",
              "skipped": "<skipped/>"}  # fmt: skip
    cases = [
        f'<testcase classname="t" name="{name.format(m=m, k=k)}">'
        + (f'<properties><property name="model" value="{m}"/></properties>' if model else "")
        + f"{inside[end]}</testcase>"
        for m, ends in ENDS.items()
        for k, end in enumerate(ends)
    ]
    return f'<?xml version="1.0"?><testsuites><testsuite name="s">{"".join(cases)}</testsuite></testsuites>'


def robot(ends: list[str]) -> str:
    tests = "".join(
        f'<test id="t{k}" name="case {k}"><kw name="Should Be"><status status="FAIL"/></kw>'
        f'<status status="{ {"passed": "PASS", "failed": "FAIL"}.get(end, "SKIP") }"/></test>'
        for k, end in enumerate(ends)
    )
    suite = f'<suite name="s">{tests}<status status="FAIL"/></suite>'
    return f'<?xml version="1.0"?><robot generator="Robot 7.5">{suite}</robot>'


def pytest_report(model: str) -> dict[str, object]:
    tests = [{"nodeid": f"t.py::test_it[{model}-case_{k}]", "outcome": end} for k, end in enumerate(ENDS[model])]
    return {"created": 1.0, "exitcode": 1, "summary": {"total": len(tests)}, "collectors": [], "tests": tests}


def test_models_in_the_names_of_tests_are_proposed_by_hand(tmp_path: Path) -> None:
    for name in ("test_it[{m}-case_{k}]", "{m} &gt; case {k}"):
        path = write(tmp_path / "report.xml", junit(name))
        with pytest.raises(ReadingProposed):
            read_at_once(path)
        assert counts(read_tables(path)) == RIGHT


def test_a_property_that_names_the_model_is_read_at_once_by_hand(tmp_path: Path) -> None:
    tables = read_at_once(write(tmp_path / "report.xml", junit("test_it[{m}-{k}]", model="yes")))
    assert tables.is_confirmed
    assert counts(tables) == RIGHT
    assert len(tables.item_ids) == 8


def test_pytest_json_of_each_model_is_paired_by_the_rest_of_the_name(tmp_path: Path) -> None:
    files = [write(tmp_path / f"report_{model}.json", pytest_report(model)) for model in ENDS]
    tables = read_at_once(*files)
    assert list(counts(tables).values()) == [*RIGHT.values()]
    assert len(tables.item_ids) == 8


def test_a_lost_connection_is_a_failed_call_and_no_wrong_answer(tmp_path: Path) -> None:
    text = junit("test_it[{m}-{k}]", model="yes").replace("assert 0 == 1", "requests.exceptions.ConnectionError: x")
    tables = read_at_once(write(tmp_path / "report.xml", text))
    assert counts(tables) == {"gpt-x": (5, 5), "my-gpt": (4, 4)}


def test_robot_counts_the_status_of_tests_alone(tmp_path: Path) -> None:
    ends = {name: [end if end != "error" else "skipped" for end in own] for name, own in ENDS.items()}
    files = [write(tmp_path / f"{name}.xml", robot(own)) for name, own in ends.items()]
    assert counts(read_at_once(*files)) == RIGHT


def test_jest_has_a_model_in_each_block_by_hand(tmp_path: Path) -> None:
    words = {"skipped": "pending", "error": "pending"}
    results = [
        {"ancestorTitles": [m], "title": f"case {k}", "status": words.get(end, end), "failureMessages": []}
        for m, ends in ENDS.items() for k, end in enumerate(ends)
    ]  # fmt: skip
    path = write(tmp_path / "jest.json", {"numTotalTests": 16, "testResults": [{"assertionResults": results}]})
    assert counts(read_tables(path)) == RIGHT


def test_mocha_lists_a_test_twice_and_it_counts_once(tmp_path: Path) -> None:
    files = []
    for model, ends in ENDS.items():
        tests = [{"title": f"case {k}", "fullTitle": f"bank case {k}"} for k in range(len(ends))]
        by_end = {
            name: [test for test, end in zip(tests, ends, strict=True) if end in own]
            for name, own in (("passes", ("passed",)), ("failures", ("failed",)), ("pending", ("skipped", "error")))
        }
        files.append(write(tmp_path / f"{model}.json", {"stats": {"tests": 8}, "tests": tests, **by_end}))
    assert counts(read_at_once(*files)) == RIGHT


def test_garak_counts_attacks_as_its_own_totals_do(tmp_path: Path) -> None:
    def report(hits: list[list[float]]) -> str:
        entries: list[dict[str, object]] = [{"entry_type": "start_run setup", "_config.version": "0.17.1"}]
        for status in (1, 2):
            entries += [
                {"entry_type": "attempt", "status": status, "seq": k, "probe_classname": "encoding.InjectBase64",
                 "prompt": {"turns": [{"role": "user", "content": {"text": f"decode {k}"}}]},
                 "outputs": [{"text": "a"}, {"text": "b"}],
                 "detector_results": {"encoding.DecodeMatch": own} if status == 2 else {}}
                for k, own in enumerate(hits)
            ]  # fmt: skip
        n = sum(map(len, hits))
        passed = n - int(sum(map(sum, hits)))
        entries.append({"entry_type": "eval", "detector": "encoding.DecodeMatch", "passed": passed, "total": n})
        return "\n".join(map(json.dumps, entries))

    loose = write(tmp_path / "loose.report.jsonl", report([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]))
    strict = write(tmp_path / "strict.report.jsonl", report([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]))
    tables = read_at_once(loose, strict)
    assert counts(tables) == {"loose": (5, 8), "strict": (7, 8)}  # an attack that failed is right


def suite(name: str, n_failed: int) -> str:
    """A suite of ten tests with the same names in every suite, as the test runner of Node writes it."""
    cases = (
        f'<testcase name="case {k}" classname="test">{"<failure/>" if k < n_failed else ""}</testcase>'
        for k in range(10)
    )
    return f'<testsuite name="{name}">{"".join(cases)}</testsuite>'


def test_suites_with_the_same_tests_are_models_by_hand(tmp_path: Path) -> None:
    path = write(tmp_path / "report.xml", f"<testsuites>{suite('gpt', 4)}{suite('claude', 2)}</testsuites>")
    with pytest.raises(ReadingProposed) as asked:
        read_at_once(path)
    assert asked.value.options.map == {"condition": "suite"}
    assert counts(read_tables(path)) == {"gpt": (6, 10), "claude": (8, 10)}


def test_a_test_that_its_suite_reports_twice_counts_by_its_last_end_by_hand(tmp_path: Path) -> None:
    case = '<testcase name="case 0" classname="test"/>'
    path = write(
        tmp_path / "m.xml", f"<testsuites>{suite('s', 4).replace('</testsuite>', f'{case}</testsuite>')}</testsuites>"
    )
    assert counts(read_at_once(path)) == {"m": (7, 10)}


def test_a_folder_of_reports_is_read_and_other_xml_left_alone_by_hand(tmp_path: Path) -> None:
    for name, n_failed in (("baseline", 4), ("candidate", 2)):
        write(tmp_path / f"{name}.xml", f"<testsuites>{suite('s', n_failed)}</testsuites>")
    write(tmp_path / "pom.xml", "<project><name>no report</name></project>")
    assert counts(read_at_once(tmp_path)) == {"baseline": (6, 10), "candidate": (8, 10)}


@pytest.mark.parametrize("damage", ["<![/><testcase classname='a' name='b'/>", "<![Cclassname='x'>"])
def test_a_damaged_report_is_refused_in_words(tmp_path: Path, damage: str) -> None:
    """Both raised an error of the parser's own, found by breaking 25,000 files."""
    sound = "<testsuite name='s'><testcase classname='a' name='one[m1]'/><testcase classname='a' name='one[m2]'/>"
    path = tmp_path / "report.xml"
    path.write_text(f"{sound}{damage}</testsuite>", encoding="utf-8")
    with pytest.raises(InputError):
        read_tables(path)


def test_a_row_of_brackets_is_read_in_linear_time(tmp_path: Path) -> None:
    """A name of 40,000 brackets took minutes."""
    cases = "".join(f'<testcase classname="t" name="{k}{"[" * 40_000}"/>' for k in range(4))
    began = time.process_time()
    with contextlib.suppress(InputError, ReadingProposed):
        read_at_once(write(tmp_path / "t.xml", f'<testsuite name="s">{cases}</testsuite>'))
    assert time.process_time() - began < 5
