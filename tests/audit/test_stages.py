"""The stages of an audit against a real server: resumed, killed, under a budget, stopped early, planned."""

import dataclasses
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from helpers.raw_server import RawApi, http
from helpers.raw_server import reply as raw_reply
from helpers.server import FakeApi
from helpers.small_base import small_base
from richter.audit import lock_plan, new_plan
from richter.audit._results import STOP_NOTE
from richter.errors import InputError
from richter.floors import parse_claim
from richter.models import Price
from richter.records import Answer, Condition, Decoding, Item, Rating, Verdict
from richter.store import Call, open_ledger, run_used
from richter.tables import read_tables, severity_of
from richter_audit.judge import judge_decoding
from richter_audit.llm import parse_budget
from richter_audit.stages import AuditSettings, adopt_plan, estimate_stages, name_conditions, run_stages
from richter_audit.stages._stages import StagesRunner, draw_conditions

GAZETTEER = Path(__file__).parents[1] / "judge" / "golden.gazetteer.json.gz"
SOURCE = Path(__file__).parents[2] / "src"
ITEMS = [
    Item(id=f"i{n}", prompt=f"question {n}", reference=f"right {n}", domain="odd" if n % 2 else "even", tier=1 + n % 5)
    for n in range(40)
]


def reply(prompt: str) -> str:
    """Right in three of four questions; as a judge, always the same; to a question of the base, nothing right."""
    if "boundary" in prompt or "DATA-" in prompt:
        return '{"reason": "so it is", "mechanism": "none", "severity": 2.0}'
    number = prompt.removeprefix("question ")
    if not number.isdigit():
        return "wrong 1"
    return f"right {number}" if int(number) % 4 else "something else"


def settings_for(api: FakeApi, **more) -> AuditSettings:
    decoding = Decoding(max_tokens=8)
    conditions = tuple(name_conditions([api.model], temperatures=(0.0, 1.0), decoding=decoding))
    drawn = draw_conditions(conditions, ITEMS)
    values = {"conditions": conditions, "gazetteer": str(GAZETTEER), "draw_conditions": drawn, "draws": 3, "drawn": 5}
    return AuditSettings(**(values | more))


def judges_of(api: FakeApi) -> tuple[Condition, ...]:
    names = [f"{api.url}#judge-a", f"{api.url}#judge-b"]
    return tuple(name_conditions(names, decoding=judge_decoding()))


def test_every_stage_runs_and_a_second_time_asks_nothing(tmp_path: Path) -> None:
    small_base(tmp_path / "kb")
    with FakeApi(reply=reply) as api:
        settings = settings_for(
            api, judges=judges_of(api), judged=10, base=str(tmp_path / "kb"), search_calls=30, bench="by hand"
        )
        done = run_stages(tmp_path / "run", ITEMS, settings)
        assert done.stages == ("ask", "judge", "draw", "search")
        # 40 items under 2 conditions, 10 answers by 2 judges, 5 items x 3 draws of 1 condition, 30 of the search;
        # the judges are told the same of equal answers, and what is the same is paid for once
        judged = sum(count for prompt, count in api.requests.items() if "DATA-" in prompt)
        searched = sum(count for prompt, count in api.requests.items() if prompt.startswith("Q"))
        assert 20 < searched <= 30  # no paragraph is begun that the calls left cannot finish
        assert judged in (10, 20)
        assert api.requests.total() == 80 + judged + 15 + searched
        total = api.requests.total()
        run_stages(tmp_path / "run", ITEMS, settings)
        assert api.requests.total() == total
    with open_ledger(tmp_path / "run") as ledger:
        rated = ledger.ratings()
        wrong = {r.item for r in rated if r.kind == "rule" and r.severity}
    assert wrong == {f"i{n}" for n in range(0, 40, 4)}
    assert len([r for r in rated if r.kind == "judge"]) == 20
    assert (tmp_path / "run" / "scores.csv").read_text().replace('"', "").startswith("item,condition,severity")
    assert (tmp_path / "run" / "draws" / "draws.jsonl").exists()
    assert len(list((tmp_path / "run").glob("search-*/ledger.sqlite"))) == 1


def test_canaries_are_rated_anew_in_a_part_of_the_run_and_paid_for_once(tmp_path: Path) -> None:
    with FakeApi(reply=reply) as api:
        settings = settings_for(api, judges=judges_of(api), draws=0, draw_conditions=())
        run_stages(tmp_path / "first", ITEMS, settings, only=["severity"])
        again = dataclasses.replace(settings, canaries=tmp_path / "first")
        run_stages(tmp_path / "second", ITEMS[:20], again, only=["severity"])
        total = api.requests.total()
        run_stages(tmp_path / "second", ITEMS[:20], again, only=["severity"])
        assert api.requests.total() == total
    with open_ledger(tmp_path / "second" / "canaries") as ledger:
        fixed = {(a.condition, a.item): a.text for a in ledger.answers()}
        rated = {(r.kind, r.condition, r.item) for r in ledger.ratings()}
    with open_ledger(tmp_path / "first") as ledger:
        first = {(a.condition, a.item): a.text for a in ledger.answers()}
    assert fixed == first  # 80 answers, fewer than the most
    assert {(kind, *key) for kind in ("rule", "judge") for key in fixed} == rated
    with open_ledger(tmp_path / "second") as ledger:
        assert {a.item for a in ledger.answers()} == {item.id for item in ITEMS[:20]}  # the run itself has its own


class Killed(BaseException):
    """The end of the process, as far as a test can stage it."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("stage", ["ask", "judge", "draw"])
@pytest.mark.parametrize("within", [False, True], ids=["between", "within"])
def test_killed_and_started_again_pays_for_nothing_twice(tmp_path: Path, stage: str, within: bool) -> None:
    @contextmanager
    def watch(name: str):
        if name == stage and not within:
            raise Killed

        def tell(state) -> None:
            if name == stage and state.done >= 4:
                raise Killed

        yield tell

    with FakeApi(reply=reply, delay_s=0.01) as api, FakeApi(reply=reply) as other:
        settings = settings_for(api, judges=judges_of(api), judged=10)
        with pytest.raises((Killed, BaseExceptionGroup)):
            run_stages(tmp_path / "run", ITEMS, settings, watch=watch, concurrency=2)
        before = api.requests.total()
        assert (before > 0) == (within or stage != "ask")
        assert run_stages(tmp_path / "run", ITEMS, settings, concurrency=2).stopped is None
        run_stages(tmp_path / "whole", ITEMS, settings_for(other, judges=judges_of(other), judged=10))
    # what a run that was never stopped asks, and once more only what was in flight (two calls, or ten judged answers)
    in_flight = 0 if not within else 10 if stage == "judge" else 2
    assert other.requests.total() <= api.requests.total() <= other.requests.total() + in_flight


def test_money_is_one_account_over_stages_and_repeated_audits(tmp_path: Path) -> None:
    """Half of the replies are cut off and billed all the same: a stage that forgets that spends beyond the budget."""
    rng, billed = random.Random(1), [0.0]

    def half(prompt: str, body: dict) -> bytes:
        billed[0] += (len(prompt) // 4 + body["max_tokens"]) * 1e-3
        usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": body["max_tokens"]}
        whole = http(raw_reply(reply(prompt), usage=usage))
        return whole if rng.random() < 0.5 else whole[: len(whole) // 2]

    with RawApi(half) as api:
        prices = {api.model: Price(input_usd=1e3, output_usd=1e3)}
        settings = settings_for(api)
        for _ in range(3):
            run_stages(tmp_path / "run", ITEMS, settings, budget=parse_budget("8usd"), prices=prices)
            assert billed[0] <= 8.0
    assert billed[0] > 0.5
    assert run_used(tmp_path / "run").money_usd <= 8.0


def test_a_budget_is_held_over_all_stages(tmp_path: Path) -> None:
    with FakeApi(reply=reply) as api:
        settings = settings_for(api, judges=judges_of(api), judged=10)
        part = run_stages(tmp_path, ITEMS, settings, budget=parse_budget("92calls"))
        assert part.stopped is not None
        assert "92 calls" in str(part.stopped) or "used up" in str(part.stopped)
        assert api.requests.total() <= 92
        with open_ledger(tmp_path) as ledger:
            assert len([r for r in ledger.ratings() if r.kind == "rule"]) == 80  # rules cost nothing
        whole = run_stages(tmp_path, ITEMS, settings, budget=parse_budget("200calls"))
        assert whole.stopped is None
        assert api.requests.total() <= 200


def test_stops_when_decided_and_stays_stopped(tmp_path: Path) -> None:
    items = [Item(id=f"i{n}", prompt=f"question {n}", reference=f"right {n}") for n in range(400)]
    with FakeApi(reply=reply) as api:
        settings = settings_for(api, draws=0)
        name = settings.conditions[0].name
        said: list[str] = []
        done = run_stages(
            tmp_path,
            items,
            settings,
            stop_when=parse_claim(f"error_rate({name}) < 0.05"),
            on_batch=lambda decision: said.append(decision.verdict.value),
        )
        assert done.sequential is not None
        assert done.sequential.claim.verdict is Verdict.REFUTED  # a quarter of the answers is wrong
        asked = done.sequential.asked
        assert asked < 200
        assert said[-1] == "refuted"
        with open_ledger(tmp_path) as ledger:
            assert len(ledger.answered_draws(settings.conditions[1].name)) == asked  # the others on the same items
            note = ledger.note(STOP_NOTE)
        assert note is not None
        assert len(note["items"]) == asked
        total = api.requests.total()
        assert total == 2 * asked
        run_stages(tmp_path, items, settings)  # the stop is part of the run
        assert api.requests.total() == total


def test_three_judges_count_by_their_median_where_asking_stops_too(tmp_path: Path) -> None:
    """Two judges call it right and one calls it bad: it is right wherever it is counted."""
    condition = Condition(name="c", model="simulated/c")
    with open_ledger(tmp_path, mode="write") as ledger:
        ledger.add_items(ITEMS[:1])
        ledger.add_conditions([condition])
        ledger.add_calls(
            [Call(key="1", model="m", request="", answer=Answer(text="right 0", item="i0", condition="c"))]
        )
        scores = {"judge-a": 0.0, "judge-b": 2.0, "judge-c": 0.0}
        ledger.add_ratings(
            [Rating(item="i0", condition="c", rater=j, kind="judge", severity=s) for j, s in scores.items()]
        )
    audit = StagesRunner(tmp_path, ITEMS[:1], AuditSettings(conditions=(condition,)), None, {})
    (found,) = audit._outcomes({"i0"}, {"c"}, "judge")
    assert (found.severity, found.correct) == (0.0, 1.0)
    assert severity_of(read_tables(tmp_path))["severity"].to_list() == [found.severity]


def test_better_than_is_decided_on_the_same_items(tmp_path: Path) -> None:
    items = [Item(id=f"i{n}", prompt=f"question {n}", reference=f"right {n}") for n in range(300)]
    with FakeApi(reply=reply) as good, FakeApi(reply=lambda prompt: "no idea") as bad:
        models = [f"{good.url}#good", f"{bad.url}#bad"]
        conditions = tuple(name_conditions(models, decoding=Decoding(max_tokens=8)))
        settings = AuditSettings(conditions=conditions, gazetteer=str(GAZETTEER), draws=0)
        claim = parse_claim(f"{conditions[0].name} better than {conditions[1].name}")
        done = run_stages(tmp_path, items, settings, stop_when=claim)
    assert done.sequential is not None
    assert done.sequential.claim.verdict is Verdict.VERIFIED
    assert done.sequential.saved > 100


def test_what_would_fail_later_is_said_before_the_first_call(tmp_path: Path) -> None:
    with FakeApi(reply=reply) as api:
        bare = [Item(id="a", prompt="question 1", reference="")]
        with pytest.raises(InputError, match="No judge given"):
            run_stages(tmp_path, bare, settings_for(api, gazetteer=None))
        own = tuple(name_conditions([api.model], decoding=judge_decoding()))
        with pytest.raises(InputError, match="No judge is left"):
            run_stages(tmp_path, ITEMS, settings_for(api, judges=own))
        with pytest.raises(InputError, match="No item can be drawn"):
            run_stages(tmp_path, bare, settings_for(api))
        with pytest.raises(InputError, match="price of"):
            run_stages(tmp_path, ITEMS, settings_for(api), budget=parse_budget("1usd"))
        with pytest.raises(InputError, match="no section 'tails'"):
            run_stages(tmp_path, ITEMS, settings_for(api), only=["tails"])
        with pytest.raises(InputError, match="--nll"):
            run_stages(tmp_path, ITEMS, settings_for(api), only=["tail"])
        assert api.requests.total() == 0


def test_an_estimate_counts_what_is_missing_by_hand(tmp_path: Path) -> None:
    with FakeApi(reply=reply) as api:
        settings = settings_for(api, judges=judges_of(api), judged=10)
        rows = {row.stage: row for row in estimate_stages(tmp_path, ITEMS, settings)}
        assert {name: row.calls for name, row in rows.items()} == {"ask": 80, "judge": 20, "draw": 15}
        assert rows["ask"].money_usd is None  # the price of an address is not known
        assert api.requests.total() == 0
        run_stages(tmp_path, ITEMS, settings, only=["severity"])
        rows = {row.stage: row for row in estimate_stages(tmp_path, ITEMS, settings)}
        assert rows["ask"].calls == 0
        assert rows["draw"].calls == 15


def test_a_plan_is_adopted_with_its_lock(tmp_path: Path) -> None:
    rule = {"metric": "error_rate", "rule": "below", "limit": 0.5}
    plan = tmp_path / "plan.toml"
    plan.write_text(new_plan("gate", {"candidate": "fake", "require": [rule]}))
    assert adopt_plan(tmp_path / "early", plan) == "the plan is not locked"
    lock_plan(plan)
    assert adopt_plan(tmp_path / "run", plan) is None
    assert (tmp_path / "run" / "plan.toml.lock").exists()
    assert adopt_plan(tmp_path / "run", plan) is None  # as it is there already
    plan.write_text(plan.read_text().replace("0.5", "0.25"))
    with pytest.raises(InputError, match="another plan"):
        adopt_plan(tmp_path / "run", plan)


def _audit_command(run: Path, bench: Path, api: FakeApi) -> list[str]:
    judges = f"{api.url}#judge-a,{api.url}#judge-b"
    options = ["--draws", "4", "--drawn", "40", "--max-tokens", "8", "--concurrency", "8", "--judges", judges]
    command = [sys.executable, "-m", "richter", "audit", str(run), "--bench", str(bench), "--model", api.model]
    return [*command, "--temperature", "0", "--temperature", "1", "--judged", "60", *options]


KILLS = 4


@pytest.mark.sampled(0)
@pytest.mark.slow
def test_sigkill_at_any_moment_of_the_whole_command(tmp_path: Path) -> None:
    """Killed four times, between and within stages; what the ledgers held at a kill is never asked again."""
    bench, run = tmp_path / "facts.jsonl", tmp_path / "run"
    bench.write_text("".join(json.dumps(item.to_dict()) + "\n" for item in ITEMS))
    shutil.copy(GAZETTEER, tmp_path / "facts.gazetteer.json.gz")
    rng, environment = random.Random(0), {**os.environ, "PYTHONPATH": str(SOURCE)}

    def paid() -> set[tuple[str, str]]:
        found = set()
        for path in run.rglob("ledger.sqlite"):
            try:
                with open_ledger(path.parent) as ledger:
                    found |= {(str(path), key) for (key,) in ledger._rows("SELECT key FROM calls")}
            except Exception:  # killed while the tables were made
                continue
        return found

    with FakeApi(reply=reply, delay_s=0.15) as api:
        held: set[tuple[str, str]] = set()
        for _ in range(KILLS):
            process = subprocess.Popen(
                _audit_command(run, bench, api), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            first = api.requests.total()
            while api.requests.total() == first and process.poll() is None:
                time.sleep(0.02)
            time.sleep(rng.uniform(0.0, 1.5))
            process.send_signal(signal.SIGKILL)
            process.wait()
            assert held <= paid()  # nothing that was paid for is lost
            held = paid()
        api._delay_s = 0.0
        in_flight = KILLS * 16  # judges take sixteen at a time
        subprocess.run(_audit_command(run, bench, api), env=environment, check=True, capture_output=True)
        assert held <= paid()
        assert api.requests.total() <= len(paid()) + in_flight
        total = api.requests.total()
        subprocess.run(_audit_command(run, bench, api), env=environment, check=True, capture_output=True)
        assert api.requests.total() == total
