"""The recipes of CONTRIBUTING, each followed literally in a copy of the package: the thing is added, then used."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from helpers.package_copy import call, copy_package, document, insert

CHECK = '''
def check_parity(dataset: Dataset, question: Question, policy: Policy) -> Finding:
    """An odd number of questions: a note, and a block in a gate."""
    if len(dataset.item_ids) % 2 == 0:
        return FINE
    block = Blocked(gate="parity", reason="the number of questions is odd", remedy="Add a question.")
    return Finding(notes=("The number of questions is odd.",), block=block if policy.is_gate else None)


'''

ESTIMATOR = '''
def estimate_median(dataset: Dataset, question: Question, policy: Policy) -> Evidence | Blocked:
    """The median difference of two conditions; blocked, since this copy only shows that it is asked."""
    return Blocked(gate="median", reason="the estimator of this copy was asked", remedy="None is needed.")


'''

ROW = """
METRICS["median_helpfulness"] = _row(
    "median_helpfulness", "bounded", "higher",
    "more helpful | less helpful | equally helpful | median helpfulness", low=0.0, high=10.0,
    source="column", column="helpfulness", estimator="median",
)
"""

READER = '''"""Answers of a tool called tally: one JSON object a line."""

from collections.abc import Iterator
from pathlib import Path

from richter.interop._record import Reading, Sample, Setup
from richter.interop._rows import json_rows


def read_tally(path: Path, reading: Reading) -> Iterator[Sample]:
    """One answer a line."""
    reading.scorer = "tally"
    for row in json_rows(path, reading):
        scores = {"tally": float(row["tally_points"])}
        yield Sample(item=row["tally_case"], setup=Setup(row["tally_model"]), answer=row["text"], scores=scores)
'''

OPTIONS = '''"""The options of `richter count`."""

import click

from richter.cli._options import READING, command


@command("_count_output:count", reads=READING)
@click.argument("sources", nargs=-1, required=True)
def count() -> None:
    """How many questions does a file have?"""
'''
BODY = '''"""What `richter count` prints."""

from richter.cli._io import console
from richter.tables import ReadOptions, read_tables


def count(sources: tuple[str, ...], reading: ReadOptions) -> None:
    """Print how many questions a file has."""
    console().print(str(len(read_tables(*sources, options=reading).item_ids)))
'''


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return copy_package(tmp_path / "package")


@pytest.fixture
def grades(tmp_path: Path) -> Path:
    """A file of 201 questions, two conditions, a score of 0 to 10 beside right and wrong."""
    rng = np.random.default_rng(8)
    rows = ["item,condition,correct,helpfulness"]
    for condition, chance in (("old", 0.6), ("new", 0.8)):
        rows += [f"q{k},{condition},{int(rng.random() < chance)},{rng.integers(0, 11)}" for k in range(201)]
    (tmp_path / "grades.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


def test_a_check_works_in_every_command_at_once(package: Path, grades: Path) -> None:
    checks = package / "richter" / "evidence" / "_checks.py"
    insert(checks, CHECK, before="\nCHECKS: ")
    insert(checks, "    check_parity,\n", before="    check_missing,\n")
    compared = document(package, grades, "compare", "grades.csv")
    assert all("The number of questions is odd." in claim["notes"] for claim in compared["claims"])
    gated = document(package, grades, "gate", "grades.csv", "old", "new", "--margin", "2pt")
    assert [(claim["verdict"], claim["blocked_by"]) for claim in gated["claims"]] == [("blocked", "parity")]


def test_an_estimator_answers_the_measure_that_names_it(package: Path, grades: Path) -> None:
    estimators = package / "richter" / "evidence" / "_estimators.py"
    insert(estimators, ESTIMATOR, before="\nEstimate = Callable")
    insert(estimators, '    "median": estimate_median,\n', before='    "ece": estimate_ece,\n')
    insert(package / "richter" / "claims" / "_measures.py", ROW, before="\n\ndef gateable_measures()")
    found = document(package, grades, "compare", "grades.csv")
    claims = {claim["measure"]: claim["blocked_by"] for claim in found["claims"]}
    assert claims["median_helpfulness"] == "median"
    assert claims["accuracy"] is None


def test_a_log_format_is_a_reader_and_a_line(package: Path, grades: Path) -> None:
    interop = package / "richter" / "interop"
    (interop / "_tally.py").write_text(READER)
    insert(
        interop / "_recognise.py",
        "from richter.interop._tally import read_tally\n",
        before="from richter.interop._tracing",
    )
    line = (
        '    Format(name="tally log", shapes=_RECORDS, matches=_has("tally_case", "tally_points"), read=read_tally),\n'
    )
    insert(interop / "_recognise.py", line, before='    Format(name="LangSmith runs"')
    rng, right = np.random.default_rng(2), {}
    for model, chance in (("old", 0.5), ("new", 0.8)):
        points = (rng.random(120) < chance).astype(int)
        right[model] = points.mean()
        rows = [
            {"tally_case": f"q{k}", "tally_model": model, "tally_points": int(p), "text": "a"}
            for k, p in enumerate(points)
        ]
        (grades / f"{model}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = document(package, grades, "compare", "old.jsonl", "new.jsonl")
    claim = found["claims"][0]
    assert claim["conditions"] == ["old", "new"]
    assert claim["estimate"] == pytest.approx(right["new"] - right["old"])


def test_a_sentence_is_changed_in_one_place(package: Path, grades: Path) -> None:
    """The words of a measure, the sentence around them, and the headline: each in its one place, for every surface."""
    changes = (
        ("claims/_measures.py", '"more accurate | less accurate', '"more often right | less often right'),
        (
            "words/_claim_sentences.py",
            "{second} is {_word(words, rising)} than {first}",
            "{second} is now {_word(words, rising)} than {first}",
        ),
        (
            "words/_headline.py",
            "{second} is {_headline_word(words, seen)} than {first}",
            "{second} is plainly {_headline_word(words, seen)} than {first}",
        ),
    )
    for name, old, new in changes:
        file = package / "richter" / name
        text = file.read_text(encoding="utf-8")
        assert text.count(old) == 1, name
        file.write_text(text.replace(old, new), encoding="utf-8")
    found = document(package, grades, "report", "grades.csv", "-o", "page.html", "--md", "page.md")
    sentence = next(claim["sentence"] for claim in found["claims"] if claim["measure"] == "accuracy")
    shown = call(package, grades, "compare", "grades.csv", "--verbose").stdout
    documents = [(grades / name).read_text(encoding="utf-8") for name in ("page.html", "page.md")]
    documents = [re.sub(r"</?b[^>]*>", "", text) for text in documents]  # names stand in bold letters
    for surface in (sentence, shown, *documents):
        assert "new is now more often right than old: " in surface
    for surface in (shown, *documents):
        assert "new is plainly better than old: " in surface
    assert "more accurate" not in sentence + shown


def test_a_command_is_two_files_and_two_lines(package: Path, grades: Path) -> None:
    cli = package / "richter" / "cli"
    (cli / "_count_commands.py").write_text(OPTIONS)
    (cli / "_count_output.py").write_text(BODY)
    row = '    "count": ("._count_commands:count", "How many questions a file has."),\n'
    insert(cli / "_main.py", row, before='    "compare": (')
    text = (cli / "_main.py").read_text()
    (cli / "_main.py").write_text(text.replace('("verify", "export"', '("count", "verify", "export"'))
    assert call(package, grades, "count", "grades.csv").stdout.split() == ["201"]
    assert "How many questions a file has." in call(package, grades, "help").stdout
