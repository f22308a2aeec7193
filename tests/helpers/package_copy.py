"""A copy of the package that a test may change, and its command."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import richter


def copy_package(folder: Path) -> Path:
    """A folder that holds a copy of the core and nothing else."""
    shutil.copytree(Path(richter.__file__).parent, folder / "richter")  # with what Python has compiled
    return folder


def insert(file: Path, text: str, *, before: str) -> None:
    """Write a text before a mark that stands in the file exactly once."""
    old = file.read_text(encoding="utf-8")
    assert old.count(before) == 1, (file, before)
    file.write_text(old.replace(before, text + before), encoding="utf-8")


def call(package: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command of the copy, run in a folder."""
    command = [sys.executable, "-m", "richter", *words]
    env = {**os.environ, "PYTHONPATH": str(package)}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


def document(package: Path, folder: Path, *words: str) -> dict[str, Any]:
    """What a command of the copy writes as JSON."""
    done = call(package, folder, *words, "--json", "out.json")
    assert done.returncode in (0, 3, 4), done.stderr
    found: dict[str, Any] = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    return found
