"""The Inspect extension, run by Inspect itself on simulated models, and once on the built-in one."""

import asyncio
import gc
import json
import math
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

pytest.importorskip("inspect_ai", reason="Inspect is not installed")

from inspect_ai import Epochs, Task
from inspect_ai import eval as inspect_eval
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import SampleScore, Score, answer, exact, f1, includes, match, pattern

import richter
from richter.errors import InputError
from richter.plugins.inspect._metrics import resampled_tail_means
from richter.plugins.inspect._stop_when import PATIENCE, StopWhen
from richter.records import Item
from richter.tables import severity_of
from richter.tail import tvar
from richter_audit import inspect as extension
from richter_audit.bench import read_gazetteer
from richter_audit.judge import RuleJudge

# Inspect itself calls what warns of its end
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

GOLDEN = Path(__file__).parents[1] / "judge" / "golden.jsonl"


@pytest.fixture(autouse=True)
def contained(request: pytest.FixtureRequest) -> Iterator[None]:
    """Inspect leaves streams unclosed; they are collected here, where their warning is expected."""
    yield
    if "tmp_path" not in request.fixturenames:  # no evaluation was run
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture
def bench(tmp_path: Path) -> tuple[Path, dict[str, str], dict[str, float]]:
    """Items of the judge's golden file with its gazetteer, real answers to them, and the rules' severities."""
    rows = {row["item"]["id"]: row for row in map(json.loads, GOLDEN.read_text().splitlines())}
    rows = dict(list(rows.items())[:60])
    path = tmp_path / "golden.jsonl"
    path.write_text("".join(json.dumps(r["item"]) + "\n" for r in rows.values()))
    (tmp_path / "golden.gazetteer.json.gz").write_bytes((GOLDEN.with_name("golden.gazetteer.json.gz")).read_bytes())
    answers = {r["item"]["prompt"]: r["answer"] for r in rows.values()}
    rules = RuleJudge(read_gazetteer(path))
    return path, answers, {k: rules.score(Item.from_dict(r["item"]), r["answer"]).severity for k, r in rows.items()}


def simulated(answer: Callable[[str], str]) -> Any:
    def reply(messages: Any, *_: Any) -> ModelOutput:
        output = ModelOutput.from_content("mockllm", answer(messages[-1].text))
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # else it fetches a tokenizer
        return output

    return get_model("mockllm/simulated", custom_outputs=reply, memoize=False)


def run(task: Any, model: Any, tmp_path: Path, **options: Any) -> EvalLog:
    log = inspect_eval(task, model=model, log_dir=str(tmp_path / "logs"), display="none", **options)[0]
    assert log.status == "success", log.error
    return log


def metrics(log: EvalLog, scorer: str) -> dict[str, float]:
    assert log.results is not None
    return {m.name: m.value for s in log.results.scores if s.scorer == scorer for m in s.metrics.values()}


def test_facts_scores_severity_as_the_rule_judge_does(bench: Any, tmp_path: Path) -> None:
    path, answers, severities = bench
    log = run(extension.facts(path=str(path)), simulated(answers.__getitem__), tmp_path)
    given = {s.id: s.scores["severity"].value for s in log.samples or []}
    assert given == severities
    wrong = sum(v > 0 for v in severities.values())
    found = metrics(log, "severity")
    exact = binomtest(wrong, len(severities)).proportion_ci(method="exact")
    assert found["error_rate"] == wrong / len(severities)
    assert (found["error_rate_low"], found["error_rate_high"]) == pytest.approx((exact.low, exact.high), abs=1e-9)
    assert found["mean_severity"] == pytest.approx(np.mean(list(severities.values())))
    worst = sorted(severities.values())[-6:]  # a tenth of 60
    assert found["tail_mean"] == pytest.approx(np.mean(worst))
    opened = richter.open(str(log.location))  # and the log, read back without Inspect, says the same
    assert dict(severity_of(opened.tables).select("item", "severity").iter_rows()) == severities


def scored(rows: list[tuple[str, float]]) -> list[SampleScore]:
    return [SampleScore(score=Score(value=v), sample_id=i) for i, v in rows]


def test_metrics_take_every_epoch_by_hand() -> None:
    """Two samples, twice each: (0, 4) and (0, 0). Averaged first, the 4 would be a 2 and nothing would reach 3."""
    rows = scored([("a", 0.0), ("a", 4.0), ("b", 0.0), ("b", 0.0)])
    assert extension.severity_rate()(rows)["severity_3_rate"] == 0.25
    assert extension.mean_severity()(rows)["mean_severity"] == 1.0
    assert extension.tail_mean(share=0.25)(rows)["tail_mean"] == 4.0


def test_grades_in_letters_are_errors_and_no_severities_by_hand() -> None:
    """Of C, I, N and true one half is wrong; how bad is not known, and right answers alone would say 0."""
    rows = [SampleScore(score=Score(value=v), sample_id=str(k)) for k, v in enumerate(("C", "I", "N", True))]
    assert extension.error_rate()(rows)["error_rate"] == 0.5
    for metric in (extension.mean_severity(), extension.severity_rate(), extension.tail_mean()):
        assert all(math.isnan(v) for v in metric(rows).values())


@pytest.mark.sampled(5)
@pytest.mark.parametrize("epochs", [None, Epochs(3, "mode"), Epochs(2, ["mean", "at_least_2"])])
@pytest.mark.parametrize(
    "scorer",
    [match(), includes(), exact(), f1(), pattern("(.*)"), answer("word")],
    ids=["match", "includes", "exact", "f1", "pattern", "answer"],
)
def test_no_scorer_of_inspect_ends_an_eval_by_our_metrics(scorer: Any, epochs: Epochs | None, tmp_path: Path) -> None:
    """Every metric on every scorer: what has no severity is NaN, and no sample is lost."""
    ours = [
        make()
        for make in (
            extension.error_rate, extension.mean_severity, extension.severity_rate, extension.tail_mean,
        )
    ]  # fmt: skip
    task = Task(
        dataset=[Sample(input=f"q{k}", target="yes" if k % 2 else "no", id=str(k)) for k in range(6)],
        scorer=scorer, metrics=ours, epochs=epochs,
    )  # fmt: skip
    log = run(task, simulated(lambda _: "ANSWER: yes"), tmp_path)
    names = {m.name for s in log.results.scores for m in s.metrics.values()}
    assert {"error_rate", "mean_severity", "tail_mean"} <= names


def test_resampled_tail_means_are_those_of_the_resamples_by_hand(rng: np.random.Generator) -> None:
    """Against `tvar` of the resample written out, with the same draws, epochs going with their sample."""
    values = rng.integers(0, 9, 60) / 2
    samples = np.repeat(np.arange(20), 3)
    drawn = np.random.default_rng(0).multinomial(20, np.full(20, 1 / 20), size=100)
    direct = [tvar(np.repeat(values, weights[samples]), q=0.9) for weights in drawn[:20]]
    assert resampled_tail_means(values, samples, 0.1)[:20] == pytest.approx(direct)


def test_unscored_answers_are_left_out_and_zero_errors_are_bounded() -> None:
    rows = scored([*((f"q{i}", 0.0) for i in range(59)), ("lost", math.nan)])
    found = extension.error_rate()(rows)
    assert found["error_rate"] == 0
    assert found["error_rate_high"] == pytest.approx(1 - 0.025 ** (1 / 59))
    twice = scored([(f"q{i % 59}", 0.0) for i in range(118)])  # the same items again tell no more of other items
    assert extension.error_rate()(twice)["error_rate_high"] == found["error_rate_high"]
    assert all(math.isnan(v) for v in extension.error_rate()([]).values())


@pytest.mark.slow
def test_semantic_calibration_of_a_sure_and_wrong_model(tmp_path: Path) -> None:
    """Ten items, four draws, always the same wrong answer: confidence 1, accuracy 0, so both ECEs are 1."""
    path = tmp_path / "sure.jsonl"
    names = ("Ghana", "Chad", "Peru", "Cuba", "Fiji", "Iran", "Mali", "Oman", "Togo", "Laos")
    path.write_text(
        "".join(json.dumps({"id": n, "prompt": f"Which country is {n[::-1]}?", "reference": n}) + "\n" for n in names)
    )
    (tmp_path / "sure.gazetteer.json.gz").write_bytes((GOLDEN.with_name("golden.gazetteer.json.gz")).read_bytes())
    log = run(extension.facts(path=str(path), draws=4), simulated(lambda _: "Norway"), tmp_path)
    found = metrics(log, "semantic")
    assert found["sem1_ece"] == pytest.approx(1.0)
    assert found["sem2_ece"] == pytest.approx(1.0)
    assert found["deployed_accuracy"] == 0


def test_stops_when_decided(bench: Any, tmp_path: Path) -> None:
    path, _, severities = bench
    task = extension.facts(path=str(path), stop_when="error_rate > 0.3")
    log = run(task, simulated(lambda _: "Zorblatt"), tmp_path, max_samples=1)
    assert log.results is not None
    stopped = log.results.early_stopping
    assert stopped is not None
    assert stopped.metadata["verdict"] == "verified"
    assert len(stopped.early_stops) == len(severities) - len(log.samples or [])
    # all wrong: the mixture first excludes 0.3 after k of k, with B(k + 1/2, 1/2) / B(1/2, 1/2) / 0.3^k >= 20 two-sided
    k = next(k for k in range(1, 60) if math.lgamma(k + 0.5) - math.lgamma(k + 1) - math.log(math.pi) / 2
             - k * math.log(0.3) >= math.log(20))  # fmt: skip
    assert stopped.metadata["n"] == k
    assert len(log.samples or []) == k
    assert "warning" not in stopped.metadata


def feed(stop: StopWhen, order: list[str], arrivals: list[tuple[str, float]], *, shuffled: bool = True) -> StopWhen:
    async def go() -> None:
        spec: Any = SimpleNamespace(dataset=SimpleNamespace(shuffled=shuffled))
        await stop.start_task(spec, [SimpleNamespace(id=i) for i in order], 1)  # type: ignore[misc]
        for name, value in arrivals:
            score = SampleScore(score=Score(value=value, metadata={"kind": "rule"}), sample_id=name)
            await stop.complete_sample(name, 1, {"severity": score})

    asyncio.run(go())
    return stop


def test_answers_count_in_order_not_by_speed() -> None:
    """The wrong answers arrive first. Taken as they come they would decide; in the set order they do not."""
    order = [str(i) for i in range(100)]
    quick = [(str(i), 4.0) for i in range(50, 80)]
    stop = feed(StopWhen("error_rate > 0.5"), order, quick)
    assert not stop.decision.decided
    assert stop.decision.n == 0
    stop = feed(StopWhen("error_rate > 0.5"), order, [*quick, *((str(i), 0.0) for i in range(50))])
    assert asyncio.run(stop.complete_task())["taken"] <= 50
    assert stop.decision.verdict.value == "refuted"  # 50 right answers came first in the order


def test_a_sample_that_never_comes_is_failed_not_waited_for() -> None:
    order = [str(i) for i in range(PATIENCE + 50)]
    stop = feed(StopWhen("accuracy > 0.9"), order, [(i, 0.0) for i in order[1:]], shuffled=False)
    row = asyncio.run(stop.complete_task())
    assert row["unusable"] == 1
    assert row["verdict"] == "verified"
    assert "not shuffled" in str(row["warning"])


def test_epochs_of_a_sample_are_waited_for_and_count_once() -> None:
    order = [str(i) for i in range(60)]
    stop = StopWhen("error_rate > 0.5")

    async def go() -> None:
        spec: Any = SimpleNamespace(dataset=SimpleNamespace(shuffled=True))
        await stop.start_task(spec, [SimpleNamespace(id=i) for i in order], 2)  # type: ignore[misc]
        for epoch, values in ((1, [4.0] * 60), (2, [4.0] * 10)):
            for name, value in zip(order, values, strict=False):
                score = SampleScore(score=Score(value=value, metadata={"kind": "rule"}), sample_id=name)
                await stop.complete_sample(name, epoch, {"severity": score})

    asyncio.run(go())
    assert stop.decision.n <= 10  # only ten samples are whole


def test_a_group_of_samples_is_taken_whole_and_counts_once() -> None:
    """Passages of ten questions, shuffled sample by sample: a passage is one unit, and half a one is none."""
    order = [f"{k:03}" for k in np.random.default_rng(3).permutation(200)]
    spec: Any = SimpleNamespace(dataset=SimpleNamespace(shuffled=True))

    def samples(key: str) -> list[Any]:
        return [SimpleNamespace(id=i, metadata={key: int(i) // 10}) for i in order]

    async def go(stop: StopWhen, asked: list[str]) -> StopWhen:
        await stop.start_task(spec, samples("passage"), 1)
        for name in asked:
            score = SampleScore(score=Score(value=4.0, metadata={"kind": "rule"}), sample_id=name)
            await stop.complete_sample(name, 1, {"severity": score})
        return stop

    first = [str(i) for i in order if order.index(f"{int(i) // 10 * 10:03}") <= order.index("000")]  # 000's and before
    whole = asyncio.run(go(StopWhen("error_rate > 0.9", group="passage"), first))
    assert whole.decision.units == len(first) // 10
    assert whole.decision.n == len(first)
    assert asyncio.run(go(StopWhen("error_rate > 0.9", group="passage"), first[:-1])).decision.units < len(first) // 10
    assert asyncio.run(whole.complete_task())["taken"] == len(first)
    with pytest.raises(InputError, match="No sample's metadata has 'chapter'"):
        asyncio.run(go(StopWhen("error_rate > 0.9", group="chapter"), []))


def test_panel_asks_other_models_and_never_the_model_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from inspect_ai import Task
    from inspect_ai.dataset import Sample

    from richter.records import Answer
    from richter_audit.inspect import _severity_scorers

    class Judge:
        def __init__(self, name: str) -> None:
            self.name, self.severity = name, {"lenient": 1.0, "strict": 3.0, "m": 2.0}.get(name.split("/")[-1], 4.0)

        async def ask(self, *_: Any) -> Answer:
            return Answer(text=json.dumps({"reason": "r", "mechanism": "retrieval", "severity": self.severity}))

        async def aclose(self) -> None: ...

    monkeypatch.setattr(_severity_scorers, "_open", Judge)
    scorer = extension.panel(["mockllm/lenient", "mockllm/strict", "mockllm/m", "mockllm/simulated"])
    task = Task(dataset=[Sample(input=f"2 + {i}?", target="4") for i in range(6)], scorer=scorer)
    log = run(task, simulated(lambda _: "5"), tmp_path)
    for sample in log.samples or []:
        score = (sample.scores or {})["panel"]
        given = list((score.metadata or {})["judges"].values())
        assert 4.0 not in given  # that would be the audited model's own
        differ = abs(given[0] - given[1]) > 1
        assert len(given) == (3 if differ else 2)
        assert score.value == (2.0 if differ else sum(given) / 2)  # the median of 1, 2, 3, or the mean of two


def test_a_panel_of_the_model_alone_is_refused(tmp_path: Path) -> None:
    from inspect_ai import Task
    from inspect_ai.dataset import Sample

    task = Task(dataset=[Sample(input="2 + 2?", target="4")], scorer=extension.panel(["mockllm/simulated"]))
    log = inspect_eval(task, model=simulated(lambda _: "5"), log_dir=str(tmp_path), display="none")[0]
    assert log.status == "error"
    assert "holds only the audited model" in str(log.error)


def installed() -> bool:
    return any(e.name == "richter" for e in metadata.entry_points(group="inspect_ai"))


@pytest.mark.slow
@pytest.mark.local_model
@pytest.mark.xdist_group("local_model")
def test_inspect_eval_runs_the_built_in_model(bench: Any, tmp_path: Path) -> None:
    """`inspect eval richter/facts --model richter/smollm2`, as a user types it."""
    from richter.models import weights_cached

    if not installed():
        pytest.skip("Richter is not installed, so Inspect cannot find its entry point")
    if weights_cached("smollm2") is None:
        pytest.skip("the built-in model's weights are not here")
    path, _, _ = bench
    command = [sys.executable, "-m", "inspect_ai", "eval", "richter/facts", "--model", "richter/smollm2"]
    command += ["-T", f"path={path}", "--limit", "4", "-T", "max_tokens=12", "--log-format", "json"]
    command += ["--log-dir", str(tmp_path / "logs"), "--display", "none"]
    made = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert made.returncode == 0, made.stderr
    log = json.loads(next((tmp_path / "logs").glob("*.json")).read_text())
    assert log["status"] == "success"
    texts = [s["output"]["choices"][0]["message"]["content"] for s in log["samples"]]
    assert all(texts)
    assert log["stats"]["model_usage"]["richter/smollm2"]["output_tokens"] > 4
