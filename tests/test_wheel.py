"""The built wheel by itself, in an environment that has nothing else of this repository."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(*command: object, folder: Path) -> str:
    bare = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run([str(c) for c in command], cwd=folder, env=bare, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
@pytest.mark.skipif("RICHTER_TEST_WHEEL" not in os.environ, reason="installs all anew: set RICHTER_TEST_WHEEL=1")
def test_the_wheel_alone_compares_reports_and_shows_the_demo(tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", tmp_path / "env", folder=tmp_path)
    pip = (tmp_path / "env" / "bin" / "pip", "--quiet", "--disable-pip-version-check")
    run(*pip, "wheel", "--no-deps", "-w", tmp_path, ROOT, folder=tmp_path)
    [wheel] = tmp_path.glob("richter-*.whl")
    run(*pip, "install", "-c", ROOT / "constraints.txt", f"{wheel}[local,facts]", folder=tmp_path)
    richter = tmp_path / "env" / "bin" / "richter"
    rows = [f"q{i},{c},{int(i % k > 0)}" for k, c in ((3, "old"), (9, "new")) for i in range(500)]
    (tmp_path / "grades.csv").write_text("\n".join(["item,condition,correct", *rows]) + "\n")
    assert "new is more accurate than old" in run(richter, "compare", "grades.csv", folder=tmp_path)
    run(richter, "report", "grades.csv", "-o", "page.html", folder=tmp_path)
    assert "<title>" in (tmp_path / "page.html").read_text()
    run(richter, "demo", "--quick", folder=tmp_path)
    assert list((tmp_path / "demo").rglob("*.html"))
