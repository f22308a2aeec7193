"""What an error advises works when it is pasted: it never ends in the same error."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.commands import run

TWO = ("old", "new")


def long(column: str, value: Callable[[int, int], object]) -> str:
    """Forty items under two models, with a value a row, of the item and the model's place."""
    rows = (f"q{i},{m},{value(i, j)}\n" for i in range(40) for j, m in enumerate(TWO))
    return f"item,model,{column}\n" + "".join(rows)


CASES = {
    "words": (long("outcome of test", lambda i, j: ("fine", "meh", "bad")[(i + j) % 3]), "compare f.csv"),
    "letters": (long("grade", lambda i, j: "ABC"[(i + j) % 3]), "compare f.csv"),
    "codes": (long("score", lambda i, j: 99 if (i + j) % 25 == 0 else 1 + (i + j) % 5), "compare f.csv"),
    "off scale": (long("score", lambda i, j: 1 + (i * 3 + j) % 9), "compare f.csv --scale 1:5"),
    "falling": (long("score", lambda i, j: 1 + (i + j) % 5), "compare f.csv --scale 5:1"),
    "no severities": (long("score", lambda i, j: 1 + (i + j) % 5), "severity f.csv"),
    "comma": ('question,"A, v1","B, v2",length\n' + "".join(f"q{i},{i % 2},{i % 3 % 2},{i}\n" for i in range(40)),
              "compare f.csv --wide 'A, v1,B, v2'"),
    "no plan": (long("correct", lambda i, j: (i + j) % 2), "gate f.csv"),
    "partly shared": ("item,model,correct\n" + "".join(f"q{i + 35 * j},{m},{i % 2}\n" for i in range(40) for j, m in
                                                       enumerate(TWO)), "compare f.csv"),

}  # fmt: skip
# options that are advised together, each with its value; names in capitals stand for something
_OPTION = (
    r"--(?:map|grade|scale|wide|better|as-severity|margin|date|condition|unpaired)\b"
    r"(?:[ =](?:'[^']*'|[^\s,;()']+(?:,[^\s,;()']+)*))?"
)
_TOGETHER = re.compile(rf"{_OPTION}(?:(?: |, with ){_OPTION})*")
_MANY = ("--map", "--grade")  # may be given again


@pytest.mark.parametrize("name", CASES)
def test_advice_can_be_pasted(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "1000")
    text, line = CASES[name]
    Path("f.csv").write_text(text)
    code, said = run(capsys, shlex.split(line))
    pasted: list[str] = []
    own = shlex.split(line)
    for advised in _TOGETHER.findall(said) if code else ():
        if re.search(r"\b[A-Z]{3,}\b|A,B", advised):
            continue
        more = shlex.split(advised.replace(", with ", " ").rstrip("."))
        drop = {k + n for k, part in enumerate(own) if part in more and part not in _MANY for n in (0, 1)}
        again = run(capsys, [*(part for k, part in enumerate(own) if k not in drop), *more])[1]
        assert again != said, advised
        pasted.append(advised)
    assert pasted or code == 0, said
