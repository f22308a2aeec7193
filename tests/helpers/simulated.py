"""A run folder in which everything is simulated and named so: to try the results document, the report and the view on.

Every condition answers every item; severities come from known laws (a condition's error rate and slope b), rule
ratings carry reasons and mechanisms, two judges rate a sample with a known leniency, token probabilities are
overconfident by a known amount, a continuous column `nll` lies in scores.csv, and some items are drawn repeatedly.
Nothing here says anything of a model. The same arguments give the same records (the ledger also keeps the time at which
they were written).
"""

import asyncio
import math
from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import ndtri

from richter.ratings import rubric
from richter.records import Answer, Condition, Decoding, Item, Rating, call_key
from richter.store import Call, Ledger, open_ledger
from richter_audit.stages import DRAWS_NAME

LEVELS = np.arange(1, 9) / 2
DOMAINS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")
JUDGES = ("simulated judge 1", "simulated judge 2")
LENIENCY = (0.0, 0.5)  # how much lower than the rules each judge scores a wrong answer
LABELS = ("near miss", "near miss", "neighbour", "neighbour", "wrong", "wrong", "far off", "invented")


def simulated_run(
    folder: Path,
    *,
    conditions: int = 3,
    items: int = 400,
    judged: int = 200,
    drawn: int = 60,
    draws: int = 20,
    nll: bool = True,
    seed: int = 0,
) -> Path:
    """Write a run: `conditions` x `items` answers rated by rules, `judged` answers by two judges, `drawn` x `draws`.

    Condition k has an error rate of 0.2 + 0.02 (k mod 7) on middling items, and a slope b of 0.4 + 0.1 (k mod 5).
    """
    rng = np.random.default_rng(seed)
    questions = [_item(k) for k in range(items)]
    under = [
        Condition(
            name=f"simulated {k + 1:02d}", model=f"simulated/model-{k + 1}", decoding=Decoding(temperature=1.0, seed=k)
        )
        for k in range(conditions)
    ]
    shared = rng.normal(size=items)  # what makes an item hard for every condition alike
    level = np.array([_levels(rng, k, questions, shared) for k in range(conditions)])
    with open_ledger(folder, mode="write") as ledger:
        ledger.add_items(questions)
        ledger.add_conditions(under)
        ledger.set_note("bench", {"path": f"simulated, {items} items, seed {seed}"})
        for k, condition in enumerate(under):
            _record(ledger, [_call(rng, condition, q, int(s)) for q, s in zip(questions, level[k], strict=True)])
            ledger.add_ratings(
                [_rule(condition, q, int(s), n) for n, (q, s) in enumerate(zip(questions, level[k], strict=True))]
            )
        _judge(ledger, rng, under, questions, level, judged)
    if nll:
        _scores(rng, under, questions, level).write_csv(folder / "scores.csv")
    if drawn:
        _draws(folder / "draws", rng, under, questions[:drawn], level, draws)
    return folder


def _item(k: int) -> Item:
    return Item(
        id=f"simulated-{k:05d}",
        prompt=f"Simulated question {k}: which number follows {k}?",
        reference=f"Number {k + 1}",
        domain=DOMAINS[k % len(DOMAINS)],
        tier=k // len(DOMAINS) % 5 + 1,
        source="simulated",
    )


def _levels(rng: np.random.Generator, k: int, questions: list[Item], shared: np.ndarray) -> np.ndarray:
    """A half-step level 0..8 for each item: wrong more often in a higher tier, then a truncated geometric law.

    Half of an item's difficulty is its own, as with real models, whose errors go together.
    """
    tier = np.array([q.tier or 1 for q in questions])
    rate = np.clip(0.2 + 0.02 * (k % 7) + 0.05 * (tier - 3), 0.01, 0.99)
    wrong = (shared + rng.normal(size=len(questions))) / math.sqrt(2) < ndtri(rate)
    weight = 10 ** (-(0.4 + 0.1 * (k % 5)) * LEVELS)
    return np.where(wrong, rng.choice(8, size=len(questions), p=weight / weight.sum()) + 1, 0)


def _text(question: Item, level: int) -> str:
    return question.reference if level == 0 else f"Simulated wrong answer of severity {level / 2:g}"


def _call(rng: np.random.Generator, condition: Condition, question: Item, level: int) -> Call:
    confidence = min(max(rng.beta(8, 2) - 0.15 * (level > 0), 0.01), 0.99)
    text = _text(question, level)
    messages = [{"role": "user", "content": question.prompt}]
    return Call(
        key=call_key(condition.model, messages, condition.decoding, 0),
        model=condition.model,
        request=question.prompt,
        answer=Answer(
            text=text,
            item=question.id,
            condition=condition.name,
            finish="stop",
            tokens=(text,),
            logprobs=(math.log(confidence),),
            tokens_in=20,
            tokens_out=8,
            money_usd=0.0,
            latency_s=0.1,
        ),
    )


def _record(ledger: Ledger, calls: list[Call]) -> None:
    async def commit() -> None:
        await asyncio.gather(*(ledger.record_soon(call) for call in calls))

    asyncio.run(commit())


def _rule(condition: Condition, question: Item, level: int, place: int) -> Rating:
    mechanisms = rubric().mechanism_names
    return Rating(
        item=question.id,
        condition=condition.name,
        rater="simulated rules",
        kind="rule",
        severity=level / 2,
        mechanism="" if level == 0 else mechanisms[(place + level) % len(mechanisms)],
        reason="correct: a simulated answer" if level == 0 else f"{LABELS[level - 1]}: a simulated answer",
    )


def _judge(
    ledger: Ledger,
    rng: np.random.Generator,
    under: list[Condition],
    questions: list[Item],
    level: np.ndarray,
    judged: int,
) -> None:
    """Two judges on a random sample; each misses a wrong answer, or a level, now and then."""
    chosen = rng.choice(level.size, size=min(judged, level.size), replace=False)
    rows = []
    for at in np.sort(chosen):
        k, n = divmod(int(at), len(questions))
        for judge, lenient in zip(JUDGES, LENIENCY, strict=True):
            truth = level[k, n] / 2
            seen = truth + rng.normal(0, 0.4) - (lenient if truth else 0.0)
            severity = float(np.clip(np.round(2 * seen) / 2, 0, 4))
            rows.append(
                Rating(
                    item=questions[n].id,
                    condition=under[k].name,
                    rater=judge,
                    kind="judge",
                    severity=severity,
                    mechanism="" if severity == 0 else "retrieval",
                    reason="a simulated judge's reason",
                )
            )
    ledger.add_ratings(rows)
    judges = [Condition(name=name, model=f"simulated/{name.replace(' ', '-')}") for name in JUDGES]
    ledger.set_note("judging", {"judges": [j.to_dict() for j in judges], "pool": list(JUDGES), "self_allowed": False})


def _scores(rng: np.random.Generator, under: list[Condition], questions: list[Item], level: np.ndarray) -> pl.DataFrame:
    """A scores table with `nll`: bulk from a beta law, a tenth from a generalised Pareto law of shape 0.1 (k mod 3)."""
    parts = []
    for k, condition in enumerate(under):
        shape = 0.1 * (k % 3)
        u = rng.random(len(questions))
        tail = -(1 - shape) * np.log(u) if shape == 0 else (1 - shape) / shape * (u**-shape - 1)
        nll = np.where(rng.random(len(questions)) < 0.9, 3 * rng.beta(2, 3, len(questions)), 3 + tail)
        parts.append(
            pl.DataFrame(
                {
                    "item": [q.id for q in questions],
                    "condition": [condition.name] * len(questions),
                    "severity": level[k] / 2,
                    "domain": [q.domain for q in questions],
                    "tier": [q.tier for q in questions],
                    "nll": np.round(nll, 5),
                }
            )
        )
    return pl.concat(parts)


def _draws(
    folder: Path,
    rng: np.random.Generator,
    under: list[Condition],
    questions: list[Item],
    level: np.ndarray,
    draws: int,
) -> None:
    """Repeated answers of the first three conditions: each question has a mode of share 0.35 to 0.95."""
    rows = []
    with open_ledger(folder, mode="write") as ledger:
        ledger.add_items(questions)
        ledger.add_conditions(under[:3])
        for k, condition in enumerate(under[:3]):
            calls = []
            for n, question in enumerate(questions):
                share = rng.uniform(0.35, 0.95)
                cluster = np.where(rng.random(draws) < share, 0, rng.integers(1, 4, draws))
                right = 0 if level[k, n] == 0 else 1
                for draw, c in enumerate(cluster):
                    text = question.reference if c == right else f"Simulated answer of class {c}"
                    key = call_key(condition.model, [{"content": question.prompt}], condition.decoding, draw)
                    answer = Answer(
                        text=text, item=question.id, condition=condition.name, draw=draw, tokens_in=20, tokens_out=8
                    )
                    calls.append(Call(key=key, model=condition.model, request=question.prompt, answer=answer))
                    rows.append(
                        {
                            "item": question.id,
                            "condition": condition.name,
                            "draw": draw,
                            "question": question.prompt,
                            "answer": text,
                            "cluster": int(c),
                            "clustered_by": "simulated",
                            "correct": int(c == right),
                            "reference": question.reference,
                        }
                    )
            _record(ledger, calls)
    pl.DataFrame(rows).write_ndjson(folder / DRAWS_NAME)
