"""The results document of a run: its numbers against the commands' own, its gaps, and that it is always the same."""

import asyncio
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import numpy as np
import polars as pl
import pytest
from scipy.stats import fisher_exact, genpareto, sem
from scipy.stats import t as student

from helpers.locks import lock_at
from helpers.simulated import simulated_run
from helpers.small_base import SimulatedTestee, small_base
from helpers.small_run import scores
from richter.audit import (
    SECTIONS,
    compare_tables,
    measure_calibration,
    measure_run,
    new_plan,
    results_schema,
    shared_sample,
    weigh_scores,
)
from richter.audit._measure_summary import ECE_MARGIN
from richter.audit._plan_lock import VOUCHED_BY_RUN
from richter.claims import ece_evidence, ece_side
from richter.claims._decide import needed_units
from richter.cli import main
from richter.evidence import _facts
from richter.records import Answer, Condition, Decoding, Item, Rating, plain
from richter.stats import EceResult, benjamini_hochberg, ece, wilson
from richter.store import Call, open_ledger
from richter.tables import ReadOptions, read_tables
from richter_audit.ascent import SearchSettings, run_search
from richter_audit.llm import Budget

pytestmark = pytest.mark.xdist_group("measure")  # its run is made and measured once
RESAMPLES = 200
valid = jsonschema_rs.Draft202012Validator(results_schema()).validate


def measured(run: Path, **options: Any) -> dict[str, Any]:
    document = measure_run(run, n_resamples=RESAMPLES, **options).to_dict()
    valid(document)
    return document


def in_bytes(document: dict[str, Any]) -> bytes:
    return json.dumps(document, allow_nan=False).encode()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "simulated"
    return simulated_run(folder, conditions=2, items=240, judged=60, drawn=20, draws=10)


@pytest.fixture(scope="module")
def document(run: Path) -> dict[str, Any]:
    return measured(run)


def rule_ratings(run: Path) -> list[Rating]:
    with open_ledger(run) as ledger:
        return ledger.ratings(kind="rule")


# ------------------------------------------------------------------ numbers


def test_a_whole_run_has_every_section_but_a_search(document: dict[str, Any]) -> None:
    missing = [name for name in SECTIONS if "missing" in document["sections"][name]]
    assert missing == ["search"]
    assert (document["schema"], document["version"]) == ("richter/results", 3)
    assert document["run"]["state"] == "complete"
    assert all(condition["simulated"] for condition in document["conditions"])


def test_the_three_numbers_by_hand(run: Path, document: dict[str, Any]) -> None:
    for row in document["conditions"]:
        severity = [r.severity or 0.0 for r in rule_ratings(run) if r.condition == row["name"]]
        n = len(severity)
        assert row["how_often"]["n"] == row["answered"] == row["rated"] == n == 240
        assert row["how_often"]["estimate"] == sum(s > 0 for s in severity) / n
        assert row["how_badly"]["estimate"] == sum(s >= 3 for s in severity) / n
        assert row["how_badly"]["mean"]["estimate"] == pytest.approx(sum(severity) / n)
        z, p = 1.959963984540054, row["how_often"]["estimate"]  # Wilson (1927), written out
        centre, spread = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        low, high = (centre - spread) / (1 + z * z / n), (centre + spread) / (1 + z * z / n)
        assert (row["how_often"]["interval"]["low"], row["how_often"]["interval"]["high"]) == pytest.approx((low, high))


def test_where_it_fails_against_scipy(run: Path, document: dict[str, Any]) -> None:
    """Domains by counting; patterns are the pairs of attributes that Fisher's one-sided test keeps after BH."""
    with open_ledger(run) as ledger:
        items = {item.id: item for item in ledger.items()}
    row = document["conditions"][0]
    wrong = {r.item: bool(r.severity) for r in rule_ratings(run) if r.condition == row["name"]}
    for group in (g for g in row["where"] if g["kind"] == "domain"):
        own = [wrong[i] for i in wrong if items[i].domain == group["group"]]
        assert (group["n"], group["error_rate"]) == (len(own), sum(own) / len(own))
    ends = [g["interval"]["low"] for g in row["where"]]
    assert ends == sorted(ends, reverse=True)


def test_a_planted_pattern_is_found_against_scipy(tmp_path: Path) -> None:
    """Domain a fails in tier 1 only, b in tier 2 only: neither domain nor tier shows it, the pairs do."""
    rows = [(d, t, k) for d in "ab" for t in (1, 2) for k in range(40)]
    chance = np.random.default_rng(3).random(len(rows))
    planted = {("a", 1): 0.6, ("b", 2): 0.6}
    bad = {f"{d}{t}-{k}": c < planted.get((d, t), 0.2) for (d, t, k), c in zip(rows, chance, strict=True)}
    with open_ledger(tmp_path, mode="write") as ledger:
        ledger.add_items([Item(id=f"{d}{t}-{k}", prompt="?", reference="r", domain=d, tier=t) for d, t, k in rows])
        ledger.add_conditions([Condition(name="c", model="simulated/c")])
        ledger.add_ratings(
            [Rating(item=i, condition="c", rater="simulated", kind="rule", severity=2.0 * b) for i, b in bad.items()]
        )
        _answer_all(ledger, list(bad), "c")
    found = [g for g in measured(tmp_path)["conditions"][0]["where"] if g["kind"] == "pattern"]
    p = []
    for d, t in (("a", 1), ("a", 2), ("b", 1), ("b", 2)):
        inside = [b for i, b in bad.items() if i.startswith(f"{d}{t}")]
        outside = [b for i, b in bad.items() if not i.startswith(f"{d}{t}")]
        table = [[sum(inside), len(inside) - sum(inside)], [sum(outside), len(outside) - sum(outside)]]
        p.append(fisher_exact(table, alternative="greater").pvalue)
    kept = {name for name, q in zip(("a1", "a2", "b1", "b2"), benjamini_hochberg(p), strict=True) if q <= 0.05}
    assert {g["group"].replace("domain ", "").replace(", tier ", "") for g in found} == kept == {"a1", "b2"}


DECIDED = ("claims", "counts", "notes")  # on a page severities are corrected with all other measures


def _same_evidence(ours: list[dict[str, Any]], alone: list[dict[str, Any]]) -> None:
    """What a page says of a pair is what the command says of it, but for the claims that it is corrected with."""
    own = {(c["measure"], tuple(c["conditions"])): c for c in alone}
    assert ours
    for claim in ours:
        other = own[claim["measure"], tuple(claim["conditions"])]
        assert {k: claim[k] for k in ALIKE} == {k: other[k] for k in ALIKE}


ALIKE = ("estimate", "plain_interval", "values", "n", "units", "p")


def test_sections_are_what_the_commands_print(run: Path, document: dict[str, Any], tmp_path: Path) -> None:
    sections = document["sections"]
    ours, alone = sections["severity"]["study"], plain(weigh_scores(run, n_resamples=RESAMPLES))
    assert {k: v for k, v in ours.items() if k not in DECIDED} == {k: v for k, v in alone.items() if k not in DECIDED}
    _same_evidence(ours["claims"], alone["claims"])
    drawn = plain(measure_calibration(run / "draws", rng=np.random.default_rng(0)))
    for name, condition in sections["calibration"]["draws"]["conditions"].items():
        other = drawn["conditions"][name]
        _same_evidence([condition["claim"]], [other["claim"]])
        assert {k: v for k, v in condition.items() if k != "claim"} == {k: v for k, v in other.items() if k != "claim"}
    with pytest.raises(SystemExit) as stop:
        main(["label", "agreement", str(run), "--json", str(tmp_path / "agreement.json")])
    assert not stop.value.code
    agreed = json.loads((tmp_path / "agreement.json").read_text())
    judged = {k: v for k, v in sections["judges"].items() if k in agreed and k != "file"}
    assert judged.keys() == {"kinds", "judges", "slopes", "trust"}
    assert judged == {k: agreed[k] for k in judged}
    tables = read_tables(run, options=ReadOptions(ratings="rule"))
    compared = {(c.measure, c.conditions): c for c in compare_tables(tables, n_resamples=RESAMPLES).claims}
    for claim in sections["floors"]["comparison"]["claims"]:
        if len(claim["conditions"]) == 1:  # of calibration, in the family of other measures
            continue
        theirs = compared[claim["measure"], tuple(claim["conditions"])]
        assert (claim["estimate"], claim["verdict"]) == (theirs.estimate, theirs.verdict.value)


def test_the_curve_by_hand(run: Path, document: dict[str, Any]) -> None:
    """The seen ones by counting; the fitted as the sum of 10^(-b s) from the level to 4 over that from m_min."""
    section = document["sections"]["severity"]
    for name, study in section["study"]["conditions"].items():
        rows = [r for r in section["curve"] if r["condition"] == name]
        severity = [r.severity or 0.0 for r in rule_ratings(run) if r.condition == name]
        assert [r["exceed"] for r in rows] == [sum(s >= level / 2 for s in severity) for level in range(1, 9)]
        if study["b"] is None:  # too few errors above the planned m_min
            assert all(row["fitted_exceed"] is None for row in rows)
            continue
        b, m_min = study["b"]["truncated"], study["slope"]["m_min"]
        levels = [level / 2 for level in range(1, 9)]
        whole = sum(10 ** (-b * s) for s in levels if s >= m_min)
        start = next(r["exceed"] for r in rows if r["severity"] == m_min)
        for row in rows:
            if row["severity"] < m_min:
                assert row["fitted_exceed"] is None
            else:
                part = sum(10 ** (-b * s) for s in levels if s >= row["severity"])
                assert row["fitted_exceed"] == pytest.approx(start * part / whole)


def test_a_measure_is_computed_once_for_a_whole_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Conditions, claims, patterns and bounds read one and the same values of a measure."""
    asked: list[tuple[int, str]] = []
    compute = _facts.outcomes
    monkeypatch.setattr(_facts, "outcomes", lambda data, name: asked.append((id(data), name)) or compute(data, name))
    path = tmp_path / "scores.csv"
    scores(np.random.default_rng(3), 60).write_csv(path)
    results = measure_run(path, n_resamples=RESAMPLES)
    assert {name for _, name in asked} >= {"accuracy", "catastrophic_rate", "mean_severity"}
    assert len(set(asked)) == len(asked)
    assert results.signature.bounds


def test_the_heatmap_and_mechanisms_count_every_answer_once(run: Path, document: dict[str, Any]) -> None:
    section = document["sections"]["severity"]
    ratings = rule_ratings(run)
    assert sum(cell["n"] for cell in section["heatmap"]) == len(ratings)
    wrong = sum(bool(r.severity) for r in ratings)
    assert sum(cell["errors"] for cell in section["heatmap"]) == wrong
    assert sum(row["count"] for row in section["mechanisms"]) == wrong


def test_the_qq_points_against_scipy(tmp_path: Path) -> None:
    run = simulated_run(tmp_path / "r", conditions=1, items=600, judged=0, drawn=0)
    section = measured(run, only=["tail"])["sections"]["tail"]
    fit = section["study"]["conditions"]["simulated 01"]
    nll = np.sort(pl.read_csv(run / "scores.csv")["nll"].to_numpy())
    above = nll[nll > fit["threshold"]] - fit["threshold"]
    assert fit["n_exc"] == len(above) == len(section["qq"]) == 30  # fewer than 200: all of them
    assert [p["observed"] for p in section["qq"]] == pytest.approx(above)
    share = (np.arange(len(above)) + 0.5) / len(above)
    assert [p["model"] for p in section["qq"]] == pytest.approx(genpareto.ppf(share, fit["xi"], scale=fit["sigma"]))


def test_labels_for_calibration_settle_the_margin_recovers_truth() -> None:
    """Asked of 240 answers of a calibrated model, then tried: with so many labels the upper limit lies below the margin
    when the model is calibrated, and the lower above 0 when it is off by the margin, each in 80 of 100 runs.

    60 runs of each: three standard errors are 0.155.
    """
    rng = np.random.default_rng(8)

    def runs(n: int, shift: float, times: int) -> list[EceResult]:
        found = []
        for _ in range(times):
            c = rng.beta(6, 3, n)
            found.append(ece(c, (rng.random(n) < np.clip(c - shift, 0, 1)).astype(float)))
        return found

    asked = []
    for _ in range(40):
        c = rng.beta(6, 3, 240)
        evidence = ece_evidence(ece_side(c, (rng.random(240) < c).astype(float)))
        if evidence.interval(0.95).low == 0:
            asked.append(needed_units(evidence, ECE_MARGIN, alpha=0.05))
    n = int(np.median(asked))
    assert np.mean([r.interval.high < ECE_MARGIN for r in runs(n, 0.0, 60)]) > 0.8 - 0.155
    assert np.mean([r.interval.low > 0 for r in runs(n, ECE_MARGIN, 60)]) > 0.8 - 0.155


def test_the_signature_bounds_what_was_not_seen(tmp_path: Path) -> None:
    """With no catastrophic answer in n the bound is 1 - 0.05^(1/n), never 0."""
    with open_ledger(tmp_path, mode="write") as ledger:
        ledger.add_items([Item(id=str(k), prompt="?", reference="r") for k in range(50)])
        ledger.add_conditions([Condition(name="c", model="local/c")])
        ledger.add_ratings(
            [Rating(item=str(k), condition="c", rater="simulated", kind="rule", severity=0.0) for k in range(50)]
        )
        _answer_all(ledger, [str(k) for k in range(50)], "c")
    found = measured(tmp_path)
    assert found["signature"]["bounds"][0]["upper"] == pytest.approx(1 - 0.05 ** (1 / 50))
    assert found["conditions"][0]["how_often"]["interval"]["high"] == pytest.approx(1 - 0.05 ** (1 / 50))
    assert "no human labels" in found["signature"]["basis"]


def test_people_correct_the_rates_where_their_sample_is_known(run: Path, tmp_path: Path) -> None:
    """People who rate as the rules do: the corrected limits are as people would rate, and the bound says so.

    The same labels without the record of how they were drawn are taken as a random sample, as the page's figures take
    them: the bound was that of the rules alone, below what the page said of people.
    """
    copy = tmp_path / "people"
    shutil.copytree(run, copy)
    severity = {(r.item, r.condition): r.severity for r in rule_ratings(run)}
    with open_ledger(copy, mode="write") as ledger:
        sample = shared_sample(ledger, n=160, seed=0)
        ledger.add_ratings(
            [
                Rating(item=i, condition=c, rater="simulated person", kind="human", severity=severity[i, c])
                for i, c, _ in sample.chosen
            ]
        )
    found = measured(copy, only=["severity"])
    bound = found["signature"]["bounds"][0]
    assert bound["basis"].startswith("corrected by ")
    rows = found["sections"]["severity"]["study"]["human"]["simulated 01"]["rows"]
    assert bound["upper"] == next(row["upper"] for row in rows if row["severity"] == 3.0) / 1e6
    assert bound["seen"] / bound["n"] < bound["upper"] < 1
    assert "160 human labels" in found["signature"]["basis"]
    other = tmp_path / "others"
    shutil.copytree(run, other)
    with open_ledger(copy) as ledger, open_ledger(other, mode="write") as bare:
        bare.add_ratings([r for r in ledger.ratings() if r.kind == "human"])
    found = measured(other, only=["severity"])
    bound, shown = found["signature"]["bounds"][0], found["conditions"][0]["how_badly"]
    assert bound["basis"].startswith("corrected by ")
    alone = measured(run, only=["severity"])["signature"]["bounds"][0]
    assert shown["what"].endswith("labels)")
    assert bound["upper"] > alone["upper"] > shown["estimate"]


# ------------------------------------------------------------------ always the same


def test_the_same_ledger_gives_the_same_bytes(run: Path, document: dict[str, Any], tmp_path: Path) -> None:
    copy = tmp_path / run.name
    shutil.copytree(run, copy)
    before = {p: p.read_bytes() for p in copy.rglob("*") if p.is_file()}
    assert in_bytes(measured(copy)) == in_bytes(document)
    assert {p: p.read_bytes() for p in copy.rglob("*") if p.is_file() and p in before} == before


@pytest.mark.slow
def test_the_hash_seed_changes_nothing(run: Path, document: dict[str, Any]) -> None:
    code = (
        "import json, sys; from richter.audit import measure_run; "
        f"sys.stdout.write(json.dumps(measure_run(sys.argv[1], n_resamples={RESAMPLES}).to_dict(), allow_nan=False))"
    )
    here = os.environ | {"PYTHONHASHSEED": "4242", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run([sys.executable, "-c", code, str(run)], env=here, capture_output=True, check=True)
    assert done.stdout == in_bytes(document)


# ------------------------------------------------------------------ plans


def _planned(run: Path, folder: Path, at: str) -> dict[str, Any]:
    path = folder / "plan.toml"
    path.write_text(new_plan("severity", {"require": ["severity>=3 below 200 per thousand"], "n_resamples": RESAMPLES}))
    lock_at(path, at)
    return measured(run, plan=path)


def test_a_plan_locked_before_the_first_answer_confirms(run: Path, tmp_path: Path) -> None:
    found = _planned(run, tmp_path, "2020-01-01T00:00:00+00:00")
    assert not found["methods"]["exploratory"]
    assert found["signature"]["requirement"].startswith("simulated 01 has severity>=3 below 200,000 per million")
    assert set(found["signature"]["verdicts"]) == {"verified"}
    assert all(f["plan"] for f in found["claims"])
    assert found["methods"]["plan"]["vouched"] == VOUCHED_BY_RUN


def test_a_plan_locked_after_the_first_answer_does_not(run: Path, tmp_path: Path) -> None:
    found = _planned(run, tmp_path, "2999-01-01T00:00:00+00:00")
    assert found["methods"]["exploratory"]
    assert "after the first answer came" in found["methods"]["plan"]["vouched"]
    assert next(c for c in found["checks"] if c["name"] == "plan locked before asking")["passed"] is False


def test_a_gate_plan_gives_its_requirements(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    rules = [
        {"metric": "error_rate", "rule": "below", "limit": 0.9},
        {"metric": "catastrophic_rate", "rule": "below", "limit": 0.001},
    ]
    path.write_text(new_plan("gate", {"candidate": "simulated 02", "require": rules}))
    lock_at(path, "2020-01-01T00:00:00+00:00")
    found = measured(run, plan=path, only=["floors"])
    assert found["signature"]["requirement"] == (
        "error rate of simulated 02 is below 90%; rate of severe errors of simulated 02 is below 0.1%"
    )
    assert found["signature"]["verdicts"][0] == "verified"
    assert [f["section"] for f in found["claims"][:2]] == ["requirements", "requirements"]
    assert found["methods"]["plan"]["kind"] == "gate"


def test_a_tail_plan_holds_for_the_tail(tmp_path: Path) -> None:
    """On a column where low is bad, of the first 300 items by the plan's hash."""
    run = simulated_run(tmp_path / "r", conditions=2, items=400, judged=0, drawn=0)
    table = pl.read_csv(run / "scores.csv")
    table.with_columns((-pl.col("nll")).alias("score"), pl.lit(1.0).alias("other")).write_csv(run / "scores.csv")
    path = run / "plan.toml"
    fields = {"column": "score", "lower_is_worse": True, "items_per_condition": 300, "n_resamples": RESAMPLES}
    path.write_text(new_plan("tail", {**fields, "tolerance_mean": 0.1, "tolerance_tvar": 0.2}))
    section = measured(run, only=["tail"])["sections"]["tail"]
    assert section["column"] == "score"
    fit = section["study"]["conditions"]["simulated 01"]
    assert fit["n"] == 300
    assert fit["threshold"] > 0
    drawn = [p["observed"] for p in section["qq"] if p["condition"] == "simulated 01"]
    assert len(drawn) == fit["n_exc"] == 15
    assert section["stability"] == []  # a scan needs 200 exceedances


def test_a_search_beside_the_run(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "with search"
    shutil.copytree(run, copy)
    base = small_base(tmp_path / "kb")
    condition = Condition(name="simulated", model="simulated/testee", decoding=Decoding(max_tokens=8), style="cloze")
    settings = SearchSettings(strategy="sea", wordings="all", batch=8, neighbours=6, questions=2, phrasings=2)
    testee = SimulatedTestee(lambda document, _: document in (2, 3, 7))
    found = run_search(copy / "search", base, condition, settings, budget=Budget(own_calls=250), model=testee)
    document = measured(copy, only=["search"])
    (row,) = document["sections"]["search"]
    assert row["name"] == "search"
    assert row["errors_found"] == found.errors_found > 0
    assert row["map_missing"] is None
    assert len(row["map"]) == sum(step["paragraphs"] for step in row["steps"])  # what passes is there too
    assert sum(point["fails"] for point in row["map"]) == found.sources_found
    assert all((point["wrong"] > settings.xi) == point["fails"] for point in row["map"])
    assert all(point["question"] for point in row["map"])
    assert row["n_failing"] == len(row["failing"]) == found.errors_found
    assert all(q["question"] and q["answered"] != q["right"] and q["text"] for q in row["failing"])
    assert document["methods"]["spent"]["calls"] == 480 + 400 + found.spent.calls  # asked, drawn, searched
    shutil.rmtree(tmp_path / "kb")
    (row,) = measured(copy, only=["search"])["sections"]["search"]
    assert row["map"] == []
    assert "does not lie where it was" in row["map_missing"]


# ------------------------------------------------------------------ what may be missing


def _answer_all(ledger: Any, items: list[str], condition: str) -> None:
    async def record() -> None:
        for item in items:
            answer = Answer(text="an answer", item=item, condition=condition)
            await ledger.record(Call(key=f"{condition} {item}", model="m", request="?", answer=answer))

    asyncio.run(record())


def _small(folder: Path, ratings: list[Rating], conditions: int = 1) -> Path:
    names = [f"c{k}" for k in range(conditions)]
    with open_ledger(folder, mode="write") as ledger:
        ledger.add_items([Item(id="i", prompt="?", reference="r")])
        ledger.add_conditions([Condition(name=name, model="local/m") for name in names])
        ledger.add_ratings(ratings)
        for name in names:
            _answer_all(ledger, ["i"], name)
    return folder


def test_a_run_in_progress_is_measured_and_says_so(tmp_path: Path) -> None:
    run = _small(tmp_path, [])
    with open_ledger(run, mode="write"):
        found = measured(run)
    assert found["run"]["state"] == "in progress"
    assert found["checks"][0] == {
        "name": "run complete",
        "passed": False,
        "text": "the run is being written: these figures are of a moment",
    }
    assert measured(run)["run"]["state"] == "complete"


def test_damaged_files_beside_the_ledger_take_only_their_own_section(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "damaged"
    shutil.copytree(run, copy)
    (copy / "scores.csv").write_text("")
    (copy / "draws" / "draws.jsonl").write_text("{no json")
    found = measured(copy)
    assert found["sections"]["tail"]["missing"]["reason"] == "damaged/scores.csv is empty."  # and no path
    calibration = found["sections"]["calibration"]
    assert calibration["draws"] is None
    assert calibration["grades"]["conditions"]["simulated 01"]["n"] == 240
    assert calibration["draws_missing"]["reason"].startswith("damaged/draws/draws.jsonl cannot be read")
    assert str(tmp_path) not in json.dumps(found)


def test_kinds_of_ratings_never_mix(tmp_path: Path) -> None:
    """Rules rate both answers, a person one: the figures are the rules', and the signature says who checked."""
    ratings = [Rating(item="i", condition=f"c{k}", rater="rules", kind="rule", severity=1.0) for k in (0, 1)]
    person = Rating(item="i", condition="c0", rater="anna", kind="human", severity=4.0)
    found = measured(_small(tmp_path, [*ratings, person], conditions=2))
    assert [c["how_badly"]["mean"]["estimate"] for c in found["conditions"]] == [1.0, 1.0]
    assert found["signature"]["basis"] == "graded by rules (2 answers); 1 human label"


def _too_sure(conditions: int) -> pl.DataFrame:
    """Conditions that are right in half of 300 items and 95% sure of each."""
    rng = np.random.default_rng(1)
    right = rng.random((300, conditions)) < 0.5
    return pl.DataFrame(
        {
            "item": np.repeat(np.arange(300), conditions),
            "condition": np.tile([f"m{k}" for k in range(conditions)], 300),
            "correct": right.ravel().astype(int),
            "confidence": 0.95,
        }
    )


def test_calibration_is_decided_beside_the_main_measure_whatever_that_shows() -> None:
    page = measure_run(_too_sure(2)).to_dict()["claims"]
    first = next(c for c in page if c["primary"])
    assert (first["measure"], first["verdict"], first["family"]["name"]) == ("accuracy", "undecided", "main")
    ours = [c for c in page if c["section"] == "calibration"]
    assert [c["verdict"] for c in ours] == ["verified", "verified"]
    assert {(c["family"]["name"], c["family"]["size"]) for c in ours} == {("other", 3)}  # with the difference of ECE


def test_draws_of_an_item_do_not_narrow_a_conditions_rate_by_hand(tmp_path: Path) -> None:
    """Twenty equal draws of 50 items are worth 50 items less what Student's t costs: Wilson's interval at as many."""
    right = np.random.default_rng(1).random(50) < 0.5
    rows = [f"i{k},a,{draw},{int(value)},{'xy'[k % 2]}" for k, value in enumerate(right) for draw in range(20)]
    table = tmp_path / "draws.csv"
    table.write_text("\n".join(["item,model,draw,correct,domain", *rows]))
    row = measured(table)["conditions"][0]
    rate = float(np.mean(~right))
    worth = rate * (1 - rate) / sem(~right) ** 2 * (1.959963985 / student.ppf(0.975, 49)) ** 2
    expected = wilson(rate * worth, worth)
    found = row["how_often"]["interval"]
    assert (found["low"], found["high"]) == pytest.approx((expected.low, expected.high))
    assert (row["rated"], row["how_often"]["n"]) == (1000, 50)
    assert {group["group"]: group["n"] for group in row["where"]} == {"x": 25, "y": 25}


def test_a_mean_severity_of_zero_is_bounded_on_its_scale_by_hand(tmp_path: Path) -> None:
    """None of 50 is wrong: at most 1 - 0.05^(1/50) are; the mean is at most 4 (1 - 0.025^(1/50))."""
    table = tmp_path / "right.csv"
    table.write_text("\n".join(["item,condition,severity", *(f"{k},a,0" for k in range(50))]))
    badly = measured(table)["conditions"][0]["how_badly"]
    assert badly["interval"]["high"] == pytest.approx(1 - 0.05 ** (1 / 50))
    assert badly["mean"]["interval"]["high"] == pytest.approx(4 * (1 - 0.025 ** (1 / 50)))
