"""Foreign files are never trusted: broken, huge or hostile ones give a clear error or what can be read with counts.

`python tests/soak files` breaks 3,000 files of every kind; here are some of them.
"""

import random
from pathlib import Path

import pytest

from helpers.foreign_logs import write_lines
from helpers.mutations import bombs, mutate, seeds
from helpers.read_any import all_seeds, ended
from richter.errors import InputError, RichterError
from richter.interop import logs_summary, problems, read_logs
from richter.interop._safe import Unreadable, decode
from richter.tables import read_tables


def test_broken_files_give_an_error_or_counts(tmp_path: Path) -> None:
    files = seeds(tmp_path)
    outcomes = set()
    for k in range(160):
        source = files[k % len(files)]
        path = tmp_path / f"broken_{k}{source.suffix}"
        path.write_bytes(mutate(source, random.Random(10_000 + k)))
        try:
            read_tables(path)
            logs = read_logs([path])
        except RichterError:
            outcomes.add("refused")
        else:
            outcomes.add("partial" if logs.unread else "read")
            assert logs_summary(logs)["conditions"]
            problems(logs)
    assert outcomes == {"refused", "partial", "read"}


def test_broken_files_of_every_kind_are_read_or_refused(tmp_path: Path) -> None:
    files = all_seeds(tmp_path / "seeds")
    assert sum(ended(path, read) == "read" for path, read in files) > len(files) / 2
    for k in range(len(files), 3 * len(files)):
        source, read = files[k % len(files)]
        path = source.parent / f"broken{k}{''.join(source.suffixes)}"
        path.write_bytes(mutate(source, random.Random(20_000 + k)))
        assert ended(path, read) in ("read", "refused")
        path.unlink()


def test_every_seed_is_read_whole(tmp_path: Path) -> None:
    for path in seeds(tmp_path):
        assert len(read_tables(path).answers), path


@pytest.mark.slow
def test_bombs_and_pickles_are_refused(tmp_path: Path) -> None:
    for path in bombs(tmp_path):
        with pytest.raises(InputError, match=r"too large|damaged|pickle|packed"):
            read_logs([path])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"a": NaN, "b": [Infinity, -Infinity]}', {"a": None, "b": [None, None]}),
        (b'{"a": "NaN, \\"NaN\\": NaN", "b": NaN}', {"a": 'NaN, "NaN": NaN', "b": None}),
        (b'["\\ud800", "\\ud83d\\ude00", "\\\\ud800"]', ["\ufffd", "\U0001f600", "\\ud800"]),
        (b"[123456789012345678901234567890]", [123456789012345678901234567890]),
    ],
)
def test_json_that_is_not_quite_json(text: bytes, value: object) -> None:
    assert decode(text) == value


@pytest.mark.parametrize("text", [b"[" * 200_000, b'{"a":' * 100_000 + b"1" + b"}" * 100_000, b'"\xff"', b"", b"{"])
def test_json_that_cannot_be_read(text: bytes) -> None:
    with pytest.raises(Unreadable):
        decode(text)


def test_several_models_in_one_log_are_several_conditions(tmp_path: Path) -> None:
    rows = [{"item": str(i), "model": m, "correct": i % 2} for m in ("a", "b", "c") for i in range(3)]
    path = write_lines(tmp_path / "t.jsonl", rows)
    assert read_tables(path).conditions == ("a", "b", "c")
    with pytest.raises(InputError, match=r"holds 3 conditions \(a, b, c\), so it cannot be called x"):
        read_tables(f"x={path}")
