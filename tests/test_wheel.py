"""The built wheel by itself, in an environment that has nothing else of this repository."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(*command: object, folder: Path, code: int = 0) -> str:
    bare = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run([str(c) for c in command], cwd=folder, env=bare, capture_output=True, text=True)
    assert done.returncode == code, done.stderr[-2000:]
    return done.stdout if code == 0 else done.stderr


@pytest.mark.slow
@pytest.mark.skipif("RICHTER_TEST_WHEEL" not in os.environ, reason="installs all anew: set RICHTER_TEST_WHEEL=1")
def test_the_wheel_alone_compares_and_reports_and_with_its_extras_shows_the_demo(tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", tmp_path / "env", folder=tmp_path)
    pip = (tmp_path / "env" / "bin" / "pip", "--quiet", "--disable-pip-version-check")
    run(*pip, "wheel", "--no-deps", "-w", tmp_path, ROOT, folder=tmp_path)
    [wheel] = tmp_path.glob("richter-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"richter", "richter_audit"}
    assert {"richter/models/prices.tsv", "richter/ratings/rubric.toml", "richter/ratings/page/page.js"} <= set(names)
    run(*pip, "install", "-c", ROOT / "constraints.txt", wheel, folder=tmp_path)
    richter = tmp_path / "env" / "bin" / "richter"
    rows = [f"q{i},{c},{int(i % k > 0)}" for k, c in ((3, "old"), (9, "new")) for i in range(500)]
    (tmp_path / "grades.csv").write_text("\n".join(["item,condition,correct", *rows]) + "\n")
    assert "new is better than old" in run(richter, "compare", "grades.csv", folder=tmp_path)
    run(richter, "report", "grades.csv", "-o", "page.html", folder=tmp_path)
    assert "<title>" in (tmp_path / "page.html").read_text()
    assert "richter[audit]" in run(richter, "view", "grades.csv", folder=tmp_path, code=1)
    run(*pip, "install", "-c", ROOT / "constraints.txt", f"{wheel}[audit,local,facts]", folder=tmp_path)
    run(richter, "demo", "--quick", folder=tmp_path)
    assert list((tmp_path / "demo").rglob("*.html"))
