"""Severity as Inspect scorers: by rule, and by a panel of Inspect models."""

from __future__ import annotations

import atexit
import functools
import hashlib
from collections.abc import Sequence
from pathlib import Path

from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState

from richter.plugins.inspect._metrics import error_rate, mean_severity, severity_rate, tail_mean
from richter.plugins.inspect._sample_item import item_of
from richter.ratings import rubric, snap
from richter.records import Answer, Condition
from richter_audit.bench import cached_facts, read_gazetteer
from richter_audit.inspect._names import in_namespace_richter
from richter_audit.judge import Rule, RuleJudge, aggregate, deal, judge_decoding, rate_answer
from richter_audit.llm import Direct, Model, open_model
from richter_audit.llm._local import LocalModel

__all__ = ["panel", "severity"]

JUDGE_SLOTS, JUDGE_CONTEXT = 4, 2048  # of a local judge

# one way to count for both scorers, over all epochs
METRICS = [error_rate(), mean_severity(), severity_rate(), tail_mean()]


def _answer(state: TaskState) -> Answer:
    text = state.output.completion if state.output else ""
    return Answer(text=text, item=str(state.sample_id), condition=str(state.model), draw=state.epoch - 1)


@functools.lru_cache(maxsize=2)
def _rule_judge(gazetteer: str | None) -> RuleJudge:
    return RuleJudge(read_gazetteer(Path(gazetteer) if gazetteer else cached_facts(items=240)))


@scorer(metrics=METRICS)
@in_namespace_richter
def severity(gazetteer: str | None = None) -> Scorer:
    """The rule judge: 0 (right) to 4 (all invented), without any model.

    It grades how far off an answer is where the sample is an item with structured truth, as those of `richter/facts`
    are. Of other samples it can only tell right, declined and wrong. `gazetteer` is the file beside a benchmark;
    without one it is built once and kept in the cache.
    """
    rules = _rule_judge(gazetteer)

    async def score(state: TaskState, target: Target) -> Score:
        answer = _answer(state)
        graded = rules.score(item_of(state, target), answer.text)
        return Score(
            value=graded.severity,
            answer=answer.text,
            explanation=f"{graded.label}: {graded.reason}",
            metadata={"rater": "rules", "kind": "rule", "label": graded.label, "mechanism": graded.mechanism},
        )

    return score


@scorer(metrics=METRICS)
@in_namespace_richter
def panel(judges: Sequence[str], allow_self: bool = False, rule: Rule = "mean") -> Scorer:
    """Two judge models score each answer on the rubric, a third where they differ by more than one; never the model.

    `judges` are Inspect's names (`openai/gpt-4o`, `richter/smollm2`); Inspect's keys, limits and logs apply. A judge
    that fails leaves no score, never a 0. Judges take turns by the sample's id, so that no one of them scores all.
    """
    pool = [
        Condition(name=name, model=_ours(name), decoding=judge_decoding()) for name in dict.fromkeys(map(str, judges))
    ]
    models: dict[str, Model] = {}

    async def score(state: TaskState, target: Target) -> Score:
        answer = _answer(state)
        turn = int.from_bytes(hashlib.sha256(str(state.sample_id).encode()).digest()[:4]) + state.epoch
        audited = Condition(name=answer.condition, model=_ours(answer.condition))
        order = deal(pool, audited, turn, allow_self=allow_self)
        for judge in order[:3]:  # opened when first needed: a local one loads its weights
            if judge.model not in models:
                models[judge.model] = _open(judge.model)
        ratings = await rate_answer(Direct(), models, order, item_of(state, target), answer)
        given = [r.severity for r in ratings] + [None] * 3
        panel_score = aggregate(*given[:3], rule=rule)
        detail = {
            "kind": "judge",
            "how": panel_score.how,
            "rubric": rubric().version,
            "judges": {r.rater: r.severity for r in ratings},
            "mechanism": next((r.mechanism for r in ratings if r.mechanism), ""),
        }
        reasons = "; ".join(f"{r.rater}: {r.reason}" for r in ratings)
        if panel_score.severity is None:
            return Score.unscored(reason="grader_failed", answer=answer.text, explanation=reasons, metadata=detail)
        return Score(value=float(snap(panel_score.severity)), answer=answer.text, explanation=reasons, metadata=detail)

    return score


def _ours(name: str) -> str:
    """Inspect's name of a model as Richter spells it, by which copies of one model are recognised."""
    return name.removeprefix("richter/") if name.startswith("richter/") else f"inspect/{name}"


def _open(name: str) -> Model:
    model = open_model(name, slots=JUDGE_SLOTS, context_tokens=JUDGE_CONTEXT)
    if isinstance(model, LocalModel):
        atexit.register(model.close)  # Inspect does not know of it, and it must be closed before the process ends
    return model
