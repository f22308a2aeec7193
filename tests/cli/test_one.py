"""Data of one: nothing is said in the plural of one thing."""

import re
import shlex
from pathlib import Path

import pytest

from richter.cli import main

FILES = {
    "one": "item,condition,correct\nq1,a,1\nq1,b,0\n",
    "single": "item,condition,correct\nq1,a,1\n",
    "group": "item,condition,correct,confidence,group\nq1,a,1,0.9,g\nq2,a,0,0.8,g\nq1,b,0,0.7,g\nq2,b,0,0.4,g\n",
    "severe": "item,condition,severity\nq1,a,0\nq2,a,3\nq1,b,1\nq2,b,0\n",
    "raters": "item,condition,rater,kind,severity\nq1,a,x,human,0\nq1,a,y,human,3\nq2,a,x,human,1\nq2,a,y,human,0\n",
    "draws": "item,condition,draw,answer,correct\nq1,a,0,Paris,1\nq1,a,1,Rome,0\nq1,b,0,Paris,1\nq1,b,1,Rome,0\n",
    "score": "item,condition,score\nq1,a,3\nq1,b,5\n",
    "gaps": "item,condition,correct,error\nq1,a,1,\nq2,a,,timeout\nq3,a,,\nq1,b,0,\nq2,b,0,\nq3,b,1,\n",
}
LINES = ("{}.csv", "compare {}.csv", "severity {}.csv", "calibration {}.csv", "size calibration {}.csv",
         "label agreement {}.csv", "import {}.csv --dry-run", "gate {}.csv --margin 2pt", "severity tail {}.csv",
         "report {}.csv -o x.html --md -", "watch {}.csv", "import {}.csv -o {}.run")  # fmt: skip
# one thing in the plural; not a verb after a number ("1 is", "of 1 lies"), nor a share of something
PLURAL = re.compile(r"(?<![\d.,:±-])\b1 (?!is\b|was\b|has\b|this\b|as\b|does\b|lies\b|says\b|less\b)[a-z]+s\b")


@pytest.mark.parametrize("name", FILES)
def test_one_is_singular(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "250")
    Path(f"{name}.csv").write_text(FILES[name])
    found = []
    for line in LINES:
        with pytest.raises(SystemExit):
            main(shlex.split(line.format(name, name)))
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        found += [(line, said) for said in (out + err).splitlines() if PLURAL.search(said)]
    assert not found
