import math
from pathlib import Path

import numpy as np
import pytest

from richter.errors import InputError
from richter.tail import find_bound, on_half_steps, transform_scores
from tail.simulated import gpd


def test_scales_by_hand() -> None:
    assert transform_scores([0.25], "logit").values == pytest.approx([-math.log(3)])
    assert transform_scores([0.25], "cloglog").values == pytest.approx([math.log(-math.log(0.75))])
    assert transform_scores([2.0, 8.0], "log").values == pytest.approx([math.log(2), math.log(8)])
    assert transform_scores([15.0], "logit", bounds=(10, 30)).values == pytest.approx([-math.log(3)])
    assert transform_scores([1.0, 2.0], np.sqrt).values == pytest.approx([1, math.sqrt(2)])


def test_what_was_moved_is_counted() -> None:
    moved = transform_scores([0.0, 0.5, 1.0, 1.0], "logit", clip=0.001)
    assert (moved.n_clipped_low, moved.n_clipped_high) == (1, 2)
    assert moved.values == pytest.approx([-math.log(999), 0, math.log(999), math.log(999)])
    assert transform_scores([0.0, 3.0], "log", clip=0.01).n_clipped_low == 1


@pytest.mark.parametrize(
    ("values", "transform", "message"),
    [
        ([-0.1, 0.5], "logit", r"1 of 2 severities lie outside \[0, 1\]"),
        ([-1.0, 2.0], "log", "1 of 2 severities lie below 0"),
        ([0.0, 0.0], "log", "All severities are 0"),
        ([1.0, math.inf], "identity", "missing or infinite"),
        ([], "identity", "no severities"),
        ([0.5], "cube", "not known"),
        ([1.0, 2.0], lambda x: -x, "not finite and increasing"),
    ],
)
def test_undefined_is_named(values, transform, message: str) -> None:
    with pytest.raises(InputError, match=message):
        transform_scores(values, transform)


def test_unbounded_scores_have_no_bound(rng: np.random.Generator) -> None:
    for xi in (-0.3, 0.0, 0.5):
        for scale in (0.02, 1.0, 300.0):
            for _ in range(20):
                x = gpd(5000, xi, scale, rng)
                assert find_bound(x, float(np.quantile(x, 0.95)), largest=float(x.max())) is None


def test_atom_and_pile_up_are_told_apart(rng: np.random.Generator) -> None:
    x = np.minimum(gpd(5000, 0.1, 1.0, rng), 4.5)
    atom = find_bound(x, float(np.quantile(x, 0.95)), largest=4.5)
    assert atom is not None
    assert (atom.kind, atom.bound, atom.contaminates) == ("atom", 4.5, True)
    assert atom.n_at_bound == int(np.sum(x == 4.5)) > 3
    crowded = 1 / (1 + np.exp(-(rng.normal(-3, 3, size=5000))))
    pile = find_bound(crowded, float(np.quantile(crowded, 0.95)), largest=float(crowded.max()))
    assert pile is not None
    assert (pile.kind, pile.bound) == ("pile-up", 1.0)
    assert "logit" in pile.remedy
    rising = 10 - 5 * rng.random(4000) ** 2  # density rises towards 10, which is never met
    found = find_bound(rising, 6.0, largest=float(rising.max()))
    assert found is not None
    assert found.kind == "pile-up"


def test_a_round_largest_score_is_a_suspicion_only() -> None:
    x = np.append(np.random.default_rng(1).exponential(size=2000), 25.0)
    found = find_bound(x, float(np.quantile(x, 0.95)), largest=25.0)
    assert found is not None
    assert (found.kind, found.contaminates) == ("attained", False)


def test_a_declared_bound_is_a_fact(rng: np.random.Generator) -> None:
    x = np.minimum(rng.exponential(size=2000), 24.0)  # nobody comes near 25
    u = float(np.quantile(x, 0.95))
    found = find_bound(x, u, largest=float(x.max()), bounds=(0.0, 25.0))
    assert found is not None
    assert (found.bound, found.kind, found.n_at_bound, found.contaminates) == (25.0, "declared", 0, False)
    assert "logit" in found.remedy
    piled = find_bound(np.minimum(x, 4.0), u, largest=4.0, bounds=(0.0, 4.0))
    assert piled is not None
    assert (piled.kind, piled.contaminates) == ("atom", True)  # what the scores do goes before what was declared
    with pytest.raises(InputError, match=r"leave the declared bounds \[0, 2\]"):
        transform_scores([0.5, 2.5], "identity", bounds=(0.0, 2.0))


def test_half_steps() -> None:
    assert on_half_steps(np.array([0, 0.5, 4.0]))
    assert not on_half_steps(np.array([0, 0.25]))
    assert not on_half_steps(np.array([0, 4.5]))


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize("declared", [False, True])
def test_bound_of_real_translation_scores_is_found_and_said(
    declared: bool, shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import json

    from richter.cli import main

    out = tmp_path / "out.json"
    options = ["--better", "higher", "--map", "score=mqm_avg_score", "--map", "item=seg_id"]
    options += ["--map", "condition=system", "--resamples", "200", "--json", str(out)]
    options += ["--scale=-25:0"] if declared else []
    with pytest.raises(SystemExit) as stop:
        main(["severity", "tail", str(shared_data / "mqm_newstest2020_ende_scores.tsv"), *options])
    assert not stop.value.code
    result = json.loads(out.read_text())
    assert len(result["conditions"]) == 10
    assert len(result["claims"]) == 45
    bounds = [c["bounded"] for c in result["conditions"].values()]
    assert {b["bound"] for b in bounds} == {25}
    assert sum(b["n_at_bound"] for b in bounds) == 1  # of 14,180: no pile-up, so that data alone give a suspicion
    assert {b["kind"] for b in bounds} == {"declared" if declared else "attained"}
    assert all(c["n"] == 1418 for c in result["conditions"].values())
    assert {p["verdict"] for p in result["claims"]} == {"blocked"}  # 71 exceedances each
    text = " ".join(capsys.readouterr().out.split())
    if declared:
        assert "no score can exceed the declared bound 25" in text
        assert "Compare on the logit scale" in text
    else:
        assert "looks like the bound 25 of the scorer" in text
        assert "Declare bounds = [0, 25] and compare on the logit scale" in text
