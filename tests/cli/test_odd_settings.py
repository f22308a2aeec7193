"""Settings that nobody means are refused in words, whoever wrote them."""

from pathlib import Path

import pytest

from richter.cli import main

DEEP = "a = " + "[" * 5000 + "]" * 5000
GATE = """kind = "gate"
candidate = "b"
baseline = "a"
tried = 99999999999999999999999
[[require]]
metric = "accuracy"
rule = "no_worse"
limit = 0.05
"""


@pytest.mark.parametrize(
    ("file", "text", "words", "code"),
    [
        ("richter.toml", DEEP, ("compare", "t.csv"), 1),
        ("richter.toml", "seed = -1", ("compare", "t.csv"), 2),
        ("plan.toml", DEEP, ("gate", "plan.toml", "t.csv"), 1),
        ("plan.toml", DEEP, ("plan", "lock", "plan.toml"), 1),
        ("plan.toml", GATE, ("gate", "plan.toml", "t.csv"), 1),
        ("x", "", ("compare", "t.csv", "--seed", "-1"), 2),
        ("x", "", ("report", "t.csv", "--seed", "-1"), 2),
        ("x", "", ("compare", "t.csv", "--tried", "9" * 30), 2),
    ],
)
def test_odd_settings_end_in_a_line(
    tmp_path: Path,
    file: str,
    text: str,
    words: tuple[str, ...],
    code: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{k},{name},{k % 2}" for name in "ab" for k in range(20)]
    Path("t.csv").write_text("\n".join(["item,condition,correct", *rows]))
    Path(file).write_text(text)
    with pytest.raises(SystemExit) as stop:
        main(list(words))
    assert stop.value.code == code, capsys.readouterr().err
