"""DeepEval: `test_run_*.json`, as `DEEPEVAL_RESULTS_FOLDER` collects them.

Checked against a file that DeepEval 4.3.1 wrote with two metrics, one of which failed on a case.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from richter.interop._record import Reading, Sample, Setup, count_number, flat_text, mapping, real, share
from richter.interop._safe import Unreadable, decode, open_bytes


class _Run(msgspec.Struct, rename="camel"):
    test_cases: list[msgspec.Raw] = []
    conversational_test_cases: list[msgspec.Raw] = []
    hyperparameters: dict[str, Any] | None = None
    identifier: str | None = None
    metrics_scores: list[dict[str, Any]] | None = None


def read_deepeval(path: Path, reading: Reading) -> Iterator[Sample]:
    """One sample a test case; a metric's `success`, by its own threshold, says right or wrong."""
    run = decode(open_bytes(path), _Run)
    settings = {str(k): flat_text(v) for k, v in (run.hyperparameters or {}).items()}
    model = settings.pop("model", "") or run.identifier or "unknown model"
    setup = Setup(model, tuple((k, v) for k, v in settings.items() if v))
    for metric in run.metrics_scores or []:
        reading.counted(metric.get("metric"), share(metric.get("passes"), metric.get("fails")))
    if run.conversational_test_cases:
        reading.unread["case: a conversation, which has no single answer"] += len(run.conversational_test_cases)
    for raw in run.test_cases:
        try:
            yield _sample(decode(raw, dict[str, Any]), setup, reading)
        except Unreadable as error:
            reading.unread[f"case: {error}"] += 1


def _sample(case: Mapping[str, Any], setup: Setup, reading: Reading) -> Sample:
    scores: dict[str, float | None] = {}
    judges: dict[str, float | None] = {}
    for entry in case.get("metricsData") or []:
        metric = mapping(entry)
        name = flat_text(metric.get("name")) or "metric"
        measured = metric.get("score") is not None and not metric.get("error")
        scores[name] = count_number(metric.get("success"), reading) if measured else None
        scores[f"{name} score"] = count_number(metric.get("score"), reading) if measured else None
        judge = flat_text(metric.get("evaluationModel"))
        if judge and measured:
            judges[f"{name}/{judge}"] = count_number(metric.get("score"), reading)
    reading.scorer = reading.scorer or next(iter(scores), "")
    expected = flat_text(case.get("expectedOutput"))
    return Sample(
        item=flat_text(case.get("name")) or flat_text(case.get("order")),
        setup=setup,
        draw=0,
        prompt=flat_text(case.get("input")),
        references=(expected,) if expected else (),
        domain=flat_text(mapping(case.get("metadata")).get("domain")),
        answer=flat_text(case.get("actualOutput")),
        scores=scores,
        votes=judges,
        money_usd=real(case.get("tokenCost")),
        latency_s=real(case.get("completionTime")),
    )
