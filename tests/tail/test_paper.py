import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from richter.tail import TailPlan, compare_conditions, paper_parts
from tail.simulated import mixture_quantiles

SPECIAL = r"a_b & 50% #1 $x$ {y} ~ ^ \z | <i> ± é"  # every character that LaTeX would take for itself
CITED = {
    "zhou2026tail",
    "grimshaw1993computing",
    "smith1987estimating",
    "choulakian2001goodness",
    "schuirmann1987comparison",
}


@pytest.fixture(scope="module")
def study():
    data = {SPECIAL: mixture_quantiles(3000, 0.1), "c": mixture_quantiles(3000, 0.1)}
    plan = TailPlan(tolerance_mean=0.1, tolerance_tvar=0.4, n_resamples=200, gof_p=0.999999)
    return compare_conditions(data, plan, rng=np.random.default_rng(0), locked="0" * 64)


@pytest.fixture(scope="module")
def parts(study) -> dict[str, str]:
    return paper_parts(
        study,
        data="x_1.csv",
        column="nll & more",
        seed=7,
        plan_hash="ab" * 32,
        locked_at="2026-01-01",
        deviations=["q: plan 0.95, option 0.9", "column: plan 'a_b', option '50%'"],
        versions={"richter": "0.1", "num_py": "2"},
    )


def test_parts_hold_what_the_study_says(study, parts: dict[str, str]) -> None:
    assert set(parts) == {"table.tex", "methods.tex", "references.bib", "deviations.tex"}
    assert f"{study.conditions['c'].xi:+.3f}" in parts["table.tex"]
    assert "abababababababab" in parts["methods.tex"]
    assert r"\item q: plan 0.95, option 0.9" in parts["deviations.tex"]
    for key in CITED:
        assert "{" + key in parts["references.bib"]
        assert key in parts["methods.tex"]
    open_study = paper_parts(
        compare_conditions({"a": mixture_quantiles(3000, 0.1)}, study.plan), data="x", column="y", seed=0
    )
    assert "exploratory" in open_study["deviations.tex"]


@pytest.mark.parametrize("name", ["table.tex", "methods.tex", "deviations.tex"])
def test_latex_is_balanced_and_escaped(name: str, parts: dict[str, str]) -> None:
    text = re.sub(r"^%.*$", "", parts[name], flags=re.MULTILINE)
    opened = []
    for kind, environment in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if kind == "begin":
            opened.append(environment)
        else:
            assert opened.pop() == environment
    assert not opened
    bare = re.sub(r"\\[\\%&#$_{}]", "", text)  # what is left after the escaped signs
    assert bare.count("{") == bare.count("}")
    outside = "".join(bare.split("$")[::2])  # odd parts are mathematics
    assert bare.count("$") % 2 == 0
    for sign in "%#~^|<>":
        assert sign not in outside
    assert "_" not in outside
    # the columns of the two tables, and none from a name
    assert {line.count("&") for line in bare.splitlines()} <= {0, 6, 9}


@pytest.mark.slow
def test_latex_compiles(parts: dict[str, str], tmp_path: Path) -> None:
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    for name, text in parts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    body = "".join(rf"\input{{{name}}}" for name in ("methods", "deviations", "table"))
    (tmp_path / "main.tex").write_text(
        r"\documentclass{article}\usepackage{amssymb,booktabs,natbib}\begin{document}"
        + body
        + r"\bibliographystyle{plainnat}\bibliography{references}\end{document}",
        encoding="utf-8",
    )
    latex = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "main"]
    for command in (latex, ["bibtex", "main"], latex, latex):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout[-2000:]
    log = (tmp_path / "main.log").read_text(errors="replace")
    assert "undefined" not in log  # every citation is in references.bib
    assert (tmp_path / "main.pdf").stat().st_size > 10_000
