import numpy as np

from richter.tail import TailPlan, compare_conditions, draw_severities, paper_parts


def test_parts_hold_what_the_study_says_and_escape_names() -> None:
    rng = np.random.default_rng(0)
    data = {"a_b & 50%": draw_severities(3000, 0.1, rng), "c": draw_severities(3000, 0.1, rng)}
    plan = TailPlan(tolerance_mean=0.1, tolerance_tvar=0.2, n_resamples=200)
    study = compare_conditions(data, plan, rng=rng, exploratory=False)
    parts = paper_parts(
        study, data="x.csv", column="nll", seed=7, plan_hash="ab" * 32, locked_at="2026-01-01", deviations=["q: 1, 2"]
    )
    assert set(parts) == {"table.tex", "methods.tex", "references.bib", "deviations.tex"}
    assert r"a\_b \& 50\%" in parts["table.tex"]
    assert f"{study.conditions['c'].xi:+.3f}" in parts["table.tex"]
    assert parts["table.tex"].count(r"\begin{") == parts["table.tex"].count(r"\end{")
    assert "abababababababab" in parts["methods.tex"]
    assert r"\item q: 1, 2" in parts["deviations.tex"]
    cited = {"zhou2026tail", "grimshaw1993computing", "smith1987estimating", "choulakian2001goodness"}
    for key in cited | {"schuirmann1987comparison"}:
        assert "{" + key in parts["references.bib"]
        assert key in parts["methods.tex"]
    open_study = compare_conditions(data, plan, rng=rng)
    assert "exploratory" in paper_parts(open_study, data="x", column="y", seed=0)["deviations.tex"]
