"""What a refusal advises is run as it is printed, and leads to a result."""

import re
import shlex
from pathlib import Path

import pytest

from richter.cli import main

N = 24
FIRST_OPTIONS = re.compile(r"--(?:map|grade|wide|scale|layout)[= ](?:'[^']*'|\S+?)(?=[\s,;.)]|$)")


def long(head: str, cells: str) -> str:
    """A long table of two models with the cells in turn."""
    rows = [f"q{k},{m},{cells[(k + j) % len(cells)]}" for k in range(N) for j, m in enumerate(("old", "new"))]
    return "\n".join([head, *rows])


def parts() -> str:
    rows = [f"{k},{d},{m},{(k * (j + 2) + len(d)) % 2}" for d in ("Retail", "SME", "Law") for k in range(N)
            for j, m in enumerate(("old", "new"))]  # fmt: skip
    return "\n".join(["id,department,model,correct", *rows])


TABLES = {
    "codes": long("item,model,score", "1245").replace("q3,old,5", "q3,old,99"),
    "one and two": long("item,model,correct", "12").replace("q3,old,1", "q3,old,2"),
    "letters": long("item,model,grade", "XYZX"),
    "marks": long("item,model,correct", "x").replace("new,x", "new,"),
    "repeats": long("item,model,correct", "01") + "\nq1,old,0\nq1,old,1\nq2,new,1\nq2,new,0",
    "sections": parts(),
    "two scores": long("qid,release,faithful", "0110").replace("\n", ",3\n").replace("faithful,3", "faithful,helpful")
    + ",2",
    "off the scale": long("item,model,score", "1245"),
}
GIVEN = {"off the scale": ["--scale", "1:4"]}


@pytest.mark.parametrize("name", TABLES)
def test_the_first_options_of_a_remedy_lead_to_a_result(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results.csv").write_text(TABLES[name], "utf-8")
    given = GIVEN.get(name, [])
    assert ended("compare", "results.csv", "--yes", *given) == 1
    printed = capsys.readouterr().err
    advice = re.split(r"; if | if |, or | \(or |\. Else", printed[printed.index("--") :])[0]
    options = [word for option in FIRST_OPTIONS.findall(advice) for word in shlex.split(option)]
    assert options, printed
    assert ended("compare", "results.csv", "--yes", *options) in (0, 3, 4), (options, capsys.readouterr().err)
    assert "old" in capsys.readouterr().out


def ended(*words: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(list(words))
    return int(end.value.code or 0)
