import json
import random
import tomllib
from pathlib import Path

import pytest

from richter.audit import new_plan, read_plan
from richter.audit._plan import KINDS, PlanField, _checked, _kind
from richter.cli import main
from richter.errors import PlanError
from richter.tables import ReadOptions

TOLERANCES = {"tolerance_mean": 0.1, "tolerance_tvar": 0.2}
KIND = PlanField(type=str, help="")


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(new_plan("tail", TOLERANCES))
    return path


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_writes_a_plan_that_reads_back(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(new_plan(kind, {}))
    values, faults = _checked(tomllib.loads(path.read_text()), _kind(kind)[0] | {"kind": KIND}, "")
    assert values["kind"] == kind
    assert all("is missing and has no default" in fault for fault in faults)  # only what is mandatory


def test_every_fault_is_named(plan: Path) -> None:
    plan.write_text(
        'kind = "tail"\ntolerance_mean = -1\nq = 1.5\ntransfrom = "logit"\nalpha = "much"\nband = [0.9, 2.0]\n'
        'n_resamples = 1e4\npower = nan\n[[steps]]\ntransform = "cube"\nq = 0.9\n'
    )
    with pytest.raises(PlanError) as caught:
        read_plan(plan)
    for part in (
        "transfrom is not a field",
        "tolerance_mean = -1 is out of range (above 0)",
        "tolerance_tvar is missing",
        "q = 1.5 is out of range",
        "alpha = 'much' is not a number",
        "band[2] = 2.0 is out of range",
        "n_resamples = 10000.0 is not a whole number",
        "power = nan is out of range",
        "steps[1].transform = 'cube' is not one of",
    ):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('kind = "tail', "is not TOML"),
        ("q = 0.9\n", "kind = None is not a kind"),
        ('kind = "tall"\n', "kind = 'tall' is not a kind"),
        ('kind = "tail"\ntolerance_mean = 1\ntolerance_tvar = 1\nbounds = [1.0, 0.0]\n', "not a range"),
    ],
)
def test_malformed_plans_are_refused(plan: Path, text: str, message: str) -> None:
    plan.write_text(text)
    with pytest.raises(PlanError, match=message):
        read_plan(plan)


def test_comments_and_spelling_do_not_change_the_hash(plan: Path) -> None:
    before = read_plan(plan).hash
    plan.write_text('kind = "tail"\ntolerance_tvar = 0.20\ntolerance_mean = 1e-1 # ten percent\n')
    assert read_plan(plan).hash == before


def test_reading_that_a_plan_fixes_is_typed_and_checked(plan: Path) -> None:
    text = plan.read_text()
    plan.write_text(
        text + 'read = {map = {score = "x"}, scale = [1, 5], grade = {unsure = "wrong", none = "missing"}}\n'
    )
    fixed = read_plan(plan).reading
    assert fixed == ReadOptions(map={"score": "x"}, scale=(1.0, 5.0), grade={"unsure": 0.0, "none": None})
    same = text + "read = {map = {score = 'x'}, scale = [1.0, 5.0], grade = {unsure = 0.0, none = 'missing'}}\n"
    before = read_plan(plan).hash
    plan.write_text(same)
    assert read_plan(plan).hash == before
    for wrong in ("3", "{colour = 1}", "{scale = 1}", "{better = 'most'}", "{grade = 1}", "{any_scale = true}"):
        plan.write_text(f"{text}read = {wrong}\n")
        with pytest.raises(PlanError, match="read"):
            read_plan(plan)
    plan.write_text(new_plan("tail", TOLERANCES | {"read": {"map": {"score": "x"}, "wide": ["a", "b"]}}))
    assert read_plan(plan).reading == ReadOptions(map={"score": "x"}, wide=("a", "b"))


def test_item_order_depends_on_the_plan_only(plan: Path) -> None:
    items = [f"item-{i}" for i in range(50)]
    first = read_plan(plan)
    shuffled = random.Random(1).sample(items, 50)
    assert first.order(items) == first.order(shuffled) != items
    plan.write_text(new_plan("tail", TOLERANCES | {"q": 0.97}))
    assert read_plan(plan).order(items) != first.order(items)


def run(*args: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(args))
    return int(stop.value.code or 0)


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "p.toml")
    assert run("plan", "new", "tail", "-o", path) == 0
    assert run("verify", path) == 1
    shown = capsys.readouterr()
    assert "Fill in tolerance_mean, tolerance_tvar, then: richter plan lock" in shown.out
    assert "tolerance_mean is missing" in shown.err
    assert f"Fill in tolerance_mean, tolerance_tvar in {path}." in shown.err
    Path(path).unlink()
    sets = ["--set", "tolerance_mean=0.1", "--set", "tolerance_tvar=0.2", "--set", "transform=logit"]
    assert run("plan", "new", "tail", "-o", path, *sets) == 0
    assert run("plan", "new", "tail", "-o", path) == 1  # never over a file
    assert run("verify", path) == 0
    assert "is not locked" in capsys.readouterr().out
    assert run("plan", "lock", path, "--json", "-") == 0
    out = capsys.readouterr()
    assert json.loads(out.out)["state"] == "locked"
    Path(path).write_text(Path(path).read_text().replace("q = 0.95", "q = 0.96", 1))
    assert run("verify", path) == 3
    assert "was changed after it was locked" in capsys.readouterr().out
    assert run("plan", "new", "tail", "--set", "colour=1", "-o", str(tmp_path / "x.toml")) == 1
    assert "has no field colour" in capsys.readouterr().err
