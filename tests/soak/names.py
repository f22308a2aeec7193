"""Read 200 odd file names by 12 commands: each reads that file, and never one beside it that a pattern would find.

Every folder holds, beside the odd file, files of other results under names that a shell's pattern would match.
"""

import contextlib
import functools
import random
import shutil
import tempfile
from pathlib import Path

import polars as pl
from click.testing import CliRunner

from richter.cli._main import _root
from richter.errors import RichterError

PIECES = ("[1]", "[a-z]", "[!x]", "*", "**", "?", "{a,b}", "~", "$HOME", "%20", " ", "'", '"', ";", "&", "|", "(1)",
          "#", "@", "=", "+", ",", "\u00e9", "e\u0301", "\u4e2d", "\U0001f600", "\u202e", "\u00a0", "-", "--json", "\\",
          "\n", "\t", "\x07", "a", "b1", "new", ".", "..x", "x" * 150, "<b>", "&amp;", "`id`", "!")  # fmt: skip
DECOYS = ("1", "a", "b", "x", "aa", "a1", "new1", "zz", "e", "HOME", "id")
COMMANDS = {
    "compare": ("compare", "{}"), "gate": ("gate", "{}", "old", "new", "--margin", "5pt"),
    "report": ("report", "{}", "--force", "-o", "{out}/r.html"), "severity": ("severity", "{}"),
    "calibration": ("calibration", "{}"), "size": ("size", "{}", "old", "new", "--margin", "5pt"),
    "watch": ("watch", "{}", "--date", "date", "--condition", "new"),
    "tail": ("severity", "tail", "{}", "--q", "0.5", "--resamples", "200"),
    "import": ("import", "{}", "-o", "{out}/run"), "dry run": ("import", "{}", "--dry-run"),
    "named": ("compare", "one={}", "two={}"),
    "verify": ("verify", "{out}/c.json", "{}"),
}  # fmt: skip


def table(names: tuple[str, str], wrong: int) -> pl.DataFrame:
    n = 40
    return pl.DataFrame({
        "item": [f"q{i}" for i in range(n)] * 2, "condition": [names[0]] * n + [names[1]] * n,
        "correct": [int(i % 5 >= wrong) for i in range(n)] + [int(i % 5 >= 1) for i in range(n)],
        "severity": [0.0 if i % 5 >= wrong else 1.0 + i % 3 for i in range(n)] + [float(i % 5 < 1) for i in range(n)],
        "confidence": [0.5 + (i % 5) / 10 for i in range(2 * n)],
        "date": [f"2026-01-0{1 + i % 6}" for i in range(2 * n)],
    })  # fmt: skip


def odd_name(rng: random.Random) -> str:
    name = "".join(rng.choice(PIECES) for _ in range(rng.randint(1, 4)))[:180].strip(".") or "[a]"
    return name.replace("/", "")


def output_of(command: str, path: Path, out: Path) -> tuple[int, str]:
    words = [word.replace("{out}", str(out)).replace("{}", str(path)) for word in COMMANDS[command]]
    if command == "verify":
        CliRunner().invoke(_root, ["compare", str(path), "--json", f"{out}/c.json"])
    done = CliRunner().invoke(_root, words)
    if isinstance(done.exception, RichterError):
        return 1, str(done.exception)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def own_table(command: str) -> pl.DataFrame:
    """The table that the command must read."""
    own = table(("old", "new"), 3)
    return own.filter(pl.col("condition") == "new") if command == "named" else own


@functools.cache
def status_of_plain(command: str) -> int:
    """The exit status of the command on the same table under a plain name."""
    with tempfile.TemporaryDirectory(prefix="richter-soak-") as folder:
        own_table(command).write_csv(Path(folder) / "plain.csv")
        return output_of(command, Path(folder) / "plain.csv", Path(folder))[0]


def attempt(k: int) -> str:
    command = list(COMMANDS)[k % len(COMMANDS)]
    rng = random.Random(k // len(COMMANDS))
    name = odd_name(rng)
    folder = Path(tempfile.mkdtemp(prefix="richter-soak-"))
    try:
        for part in ("odd", "out"):
            (folder / part).mkdir()
        for decoy in DECOYS:
            with contextlib.suppress(OSError):
                table(("decoy", "other"), 2).write_csv(folder / "odd" / f"{decoy}.csv")
        with (folder / "odd" / f"{name}.csv").open("wb") as file:
            own_table(command).write_csv(file)
        code, text = output_of(command, folder / "odd" / f"{name}.csv", folder / "out")
        wanted = status_of_plain(command)
        if "decoy" in text:
            return f"{command}: ANOTHER FILE"
        return f"{command}: the same, exit {code}" if code == wanted else f"{command}: exit {code} for {wanted}"
    finally:
        shutil.rmtree(folder)
