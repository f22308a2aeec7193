"""A simulated run and a results document with every section, to test the page on. Nothing here is measured."""

import asyncio
import math
from pathlib import Path
from typing import Any

from richter.records import Answer, Claim, Condition, Hypothesis, Interval, Item, Rating, Verdict, plain
from richter.store import Call, open_ledger
from richter.words import side

NAMES = ("simulated old", "simulated new", "simulated <b>third</b>")
DOMAINS = ("cities", "money")
LEVELS = [k / 2 for k in range(1, 9)]
HOSTILE = {
    "script": "<script>window.hacked = 1</script>",
    "closing": "</script><script>window.hacked = 2</script><!--",
    "handler": '<img src=x onerror="window.hacked = 3"><svg onload=window.hacked=4>',
    "link": '<a href="javascript:window.hacked=5">click</a> javascript:window.hacked=6 [x](javascript:window.hacked=7)',
    "css": "<style>body{display:none}</style><link rel=stylesheet href=http://example.org/x.css>",
    "line": "A" * 1_000_000,
    "bidi": "safe \u202egnp.exe\u202c \u2066x\u2069 \u200b\u2028end",
    "null": "before\x00after\x1b[31m red \x07",
    "template": "{{ 7 * 7 }} {% raw %} ${7*7} #{7*7} <%= 7 %>",
    "formula": '=HYPERLINK("http://example.org","x")',
    "plus": "+1+cmd|' /C calc'!A0",
    "minus": "-2+3",
    "at": "@SUM(1+1)",
    "tab": "\t=1+1",
    "quotes": 'he said "a, b"; and\nleft',
    "iframe": "<iframe srcdoc='<script>parent.hacked=8</script>'></iframe><base href=//example.org>",
}


def build_run(folder: Path, *, items: int = 40, hostile: bool = True) -> Path:
    """A ledger of simulated answers: item k is wrong for condition c where (k + c) % 3 is 0; hostile ones are grave."""
    questions = [
        Item(
            id=f"item-{k:03d}",
            prompt=f"Simulated question {k}?",
            reference=f"Reference {k}",
            domain=DOMAINS[k % 2],
            tier=k % 5 + 1,
        )
        for k in range(items)
    ]
    texts = dict(enumerate(HOSTILE.values())) if hostile else {}
    calls, ratings = [], []
    for c, condition in enumerate(NAMES):
        for k, item in enumerate(questions):
            bad = c == 0 and k in texts
            wrong = bad or (k + c) % 3 == 0
            text = texts[k] if bad else f"Wrong answer {k} of {c}" if wrong else item.reference
            severity = 4.0 if bad else LEVELS[(k + c) % 8] if wrong else 0.0
            answer = Answer(text=text, item=item.id, condition=condition, finish="stop")
            calls.append(Call(key=f"{c}-{k}", model="simulated", request="", answer=answer))
            common: dict[str, Any] = {"item": item.id, "condition": condition}
            reason = f"<b>reason {k}</b> {texts[k][:50]}" if bad else f"simulated reason {k}"
            mechanism = "retrieval" if wrong else ""
            ratings.append(
                Rating(**common, rater="rules", kind="rule", severity=severity, mechanism=mechanism, reason=reason)
            )
            if k % 4 == 0:
                ratings.append(Rating(**common, rater="judge", kind="judge", severity=2.0, reason="simulated judge"))

    async def commit(ledger: Any) -> None:
        await asyncio.gather(*(ledger.record_soon(call) for call in calls))

    with open_ledger(folder, mode="write") as ledger:
        ledger.add_items(questions)
        ledger.add_conditions([Condition(name=n, model="simulated") for n in NAMES])
        asyncio.run(commit(ledger))
        ledger.add_ratings(ratings)
    return folder


def interval(middle: float, half: float = 0.05) -> dict[str, Any]:
    return {"low": middle - half, "high": middle + half, "level": 0.95, "method": "simulated"}


def document(names: tuple[str, ...] = NAMES) -> dict[str, Any]:
    """A results document with every section."""
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    return {
        "schema": "richter/results",
        "version": 2,
        "richter": "0",
        "run": {"name": "simulated", "bench": "simulated facts", "items": 40, "state": "complete", "ratings": "rule"},
        "question": "Is simulated new better than simulated old?",
        "conditions": [_condition(n, k) for k, n in enumerate(names)],
        "answer": "simulated new is better than simulated old.",
        "claims": [_claim(a, b, k) for k, (a, b) in enumerate(pairs)],
        "refused": [],
        "checks": [
            {"name": "aligned", "passed": True, "text": "items aligned"},
            {"name": "judges", "passed": False, "text": "judges agree"},
            {"name": "plan", "passed": None, "text": "plan locked"},
        ],
        "next": ["1,900 more labelled items would settle a margin of 2 points"],
        "signature": {"requirement": "severity>=3 below 10%", "bound": "12%", "basis": "rules"},
        "sections": {
            "severity": _severity(names),
            "tail": _tail(names, pairs),
            "calibration": _calibration(names),
            "floors": _floors(names, pairs),
            "search": [_search()],
            "judges": _judges(),
        },
        "methods": {
            "plan": {"hash": "abc123", "locked_at": "2026-01-01", "fields": {"margin": 0.02}},
            "seed": 7,
            "versions": {"numpy": "2"},
            "spent": {"calls": 120, "tokens": 4_000, "money_usd": 0.5},
            "exploratory": False,
        },
    }


def wrong_at(rate: float) -> dict[str, Any]:
    """A condition's figures by an error rate."""
    wrong = {"estimate": rate, "interval": interval(rate), "n": 40}
    right = {"estimate": 1 - rate, "interval": interval(1 - rate), "n": 40, "better": "higher"}
    return {"how_often": wrong, "measures": {"accuracy": right, "catastrophic_rate": BADLY}}


BADLY = {
    "estimate": 0.1,
    "interval": interval(0.1),
    "n": 40,
    "what": "rate of severity >= 3",
    "mean": {"estimate": 1.2, "interval": None, "n": 240, "what": "mean severity"},
}


def _condition(name: str, k: int) -> dict[str, Any]:
    return {
        "name": name,
        "model": "simulated",
        "items": 40,
        "answered": 40,
        "failed": 0,
        "refused": 1,
        "simulated": True,
        **wrong_at(0.3 + 0.02 * (k % 9)),
        "how_badly": BADLY,
        "knows": None if k else {"estimate": 0.11, "interval": interval(0.11), "n": 40, "what": "ECE, debiased"},
        "where": [{"group": "cities", "kind": "domain", "error_rate": 0.5, "interval": interval(0.5), "n": 20}],
    }


def _claim(a: str, b: str, k: int) -> dict[str, Any]:
    verdict = Verdict(("verified", "undecided", "blocked", "equivalent", "refuted", "untestable")[k % 6])
    sign = -1 if verdict is Verdict.REFUTED else 1
    claim = Claim(
        measure="accuracy",
        conditions=(a, b),
        verdict=verdict,
        sentence=f"{b} is better than {a}: {sign * (k + 1):+d}.0 points.",
        estimate=sign * 0.01 * (k + 1),
        interval=Interval(**interval(sign * 0.01 * (k + 1))),
        n=40,
        units=40,
        needed=1_900 if verdict is Verdict.UNDECIDED else None,
        needed_for=0.02 if verdict is Verdict.UNDECIDED else None,
        min_detectable_difference=0.11,
        hypothesis=Hypothesis(relation="above", value=0.0),
        better="higher",
        blocked_by="G2" if verdict is Verdict.BLOCKED else None,
        plan="abc123",
    )
    return {**plain(claim), "section": "floors", "side": side(claim)}


def _severity(names: tuple[str, ...]) -> dict[str, Any]:
    conditions, curve, heatmap, mechanisms = {}, [], [], []
    for k, name in enumerate(names):
        exceed = [round(12 * 10 ** (-(0.2 + 0.02 * k) * (s - 0.5))) for s in LEVELS]
        per_million = {
            str(s): {
                "severity": s,
                "count": n,
                "n": 40,
                "per_million": n / 40 * 1e6,
                "interval": {"low": n * 2e4, "high": n * 3e4},
            }
            for s, n in zip(LEVELS, exceed, strict=True)
        }
        fits = {"power_law": {"bic": 120.0 + k}, "exponential": {"bic": 110.0}, "lognormal": {"bic": 130.0}}
        conditions[name] = {
            "n": 40,
            "errors": exceed[0],
            "slope": {"b": 0.2 + 0.02 * k, "adequate": True},
            "per_million": per_million,
            "families": {"fits": fits, "decisive": k == 0},
        }
        for s, n, after in zip(LEVELS, exceed, [*exceed[1:], 0], strict=True):
            fitted = 40 * 0.3 * math.exp(1 - s) if s >= 1 else None
            point = {"condition": name, "severity": s, "count": n - after}
            curve.append({**point, "exceed": n, "fitted_exceed": fitted})
            mechanisms.append(
                {"condition": name, "mechanism": ("retrieval", "format")[k % 2], "severity": s, "count": n}
            )
        for domain in DOMAINS:
            for tier in range(1, 6):
                mean = (tier + k) / 8
                cell = {"condition": name, "domain": domain, "tier": tier, "n": 4, "errors": 2, "error_rate": 0.5}
                heatmap.append({**cell, "mean_severity": mean, "catastrophic": 0})
    return {"study": {"conditions": conditions}, "curve": curve, "heatmap": heatmap, "mechanisms": mechanisms}


def _tail(names: tuple[str, ...], pairs: list[tuple[str, str]]) -> dict[str, Any]:
    gate = {"rule": "a rule", "n": 200, "detail": "seen"}
    outcomes = {"G1": True, "G2": False, "G3": None, "G4": True, "G5": True, "P1": False, "P2": True}
    gates = [{**gate, "name": name, "passed": passed} for name, passed in outcomes.items()]
    found = [{"conditions": pair, "verdict": "blocked", "blocked_by": "G2", "gates": gates} for pair in pairs]
    stability = [
        {"condition": n, "q": q / 100, "threshold": 2.0, "n_exc": 50, "xi": 0.1, "low": 0.0, "high": 0.2}
        for n in names
        for q in range(90, 99)
    ]
    qq = [{"condition": n, "model": k / 10, "observed": k / 9} for n in names for k in range(20)]
    return {"column": "nll", "study": {"q": 0.95, "claims": found}, "stability": stability, "qq": qq}


def _reliability(shift: float) -> dict[str, Any]:
    bins = [
        {
            "low": k / 10,
            "high": (k + 1) / 10,
            "n": k + 1,
            "confidence": k / 10 + 0.05,
            "accuracy": k / 10 - shift * k / 10,
        }
        for k in range(10)
    ]
    return {"ece": shift, "debiased": shift, "interval": interval(shift), "n": 55, "bins": bins}


def _calibration(names: tuple[str, ...]) -> dict[str, Any]:
    draws = {"sem1": _reliability(0.2), "sem2": _reliability(0.1), "token": None}
    questions = [
        {
            "condition": names[0],
            "item": f"item-{k:03d}",
            "margin": k / 20,
            "top_share": 0.5 + k / 40,
            "regime": ("jensen", "low", "large")[min(k // 4, 2)],
            "correct": (True, False, None)[k % 3],
        }
        for k in range(20)
    ]
    grades = {n: _reliability(0.05 + 0.01 * k) for k, n in enumerate(names)}
    return {
        "draws": {"conditions": {names[0]: draws}},
        "grades": {"conditions": grades},
        "confidence": dict.fromkeys(names, "token probability"),
        "questions": questions,
    }


def _floors(names: tuple[str, ...], pairs: list[tuple[str, str]]) -> dict[str, Any]:
    verdicts = ("verified", "undecided", "refuted", "equivalent")
    claims = [
        {
            "conditions": [a, b],
            "measure": measure,
            "estimate": 0.03 - 0.02 * k,
            "interval": interval(0.03 - 0.02 * k, 0.02),
            "min_detectable_difference": 0.03,
            "margin": 0.02,
            "verdict": verdicts[k % 4],
            "n": 40,
            "needed": 1_900 * (k + 1),
        }
        for k, (a, b) in enumerate(pairs)
        for measure in ("accuracy", "mean_severity")
    ]
    return {
        "comparison": {
            "claims": claims,
            "conditions": {n: {"accuracy": 0.7 - 0.01 * k} for k, n in enumerate(names)},
            "pairs": [{"conditions": [a, b], "fixed": 3 + k, "broken": 5} for k, (a, b) in enumerate(pairs)],
            "groups": [list(names[:2]), [names[-1]]],
        }
    }


def _search() -> dict[str, Any]:
    steps = [
        {"step": k, "paragraphs": 40, "error": 0.1 * k, "cumulative_error": 0.08 * k, "sources": k, "pruned": 0}
        for k in range(1, 6)
    ]
    category = {"error_rate": 0.2, "interval": interval(0.2, 0.1), "n": 12, "size": 100}
    return {
        "strategy": "sea",
        "model": "simulated",
        "steps": steps,
        "answers": 200,
        "errors_found": 60,
        "population": {"error_rate": 0.11, "interval": interval(0.11), "n": 40, "size": 1_000},
        "by_category": {f"category {k}": category for k in range(4)},
        "map": [{"x": k % 7, "y": k % 5, "category": f"category {k % 9}", "wrong": 0.5 + k % 2 / 2} for k in range(60)],
    }


def _judges() -> dict[str, Any]:
    share = {"k": 3, "n": 20, "estimate": 0.15, "interval": interval(0.15, 0.1)}
    rows = [{"threshold": s, "sensitivity": share, "specificity": share, "ppv": share} for s in LEVELS]
    effect = {"estimate": 0.1, "interval": interval(0.1), "n": 20, "mean": 2.0}
    alpha = {"estimate": 0.64, "interval": interval(0.64), "n_items": 20}
    return {
        "kinds": {"judge": {"alpha": alpha, "icc": {"single": 0.5, "single_interval": interval(0.5), "n_items": 20}}},
        "judges": {"reference": "rule", "screening": {"judge": {"rows": rows}, "panel": {"rows": rows}}},
        "leniency": {"judge": effect, "other": {**effect, "estimate": -0.1, "interval": interval(-0.1)}},
        "overcall": {"judge": share, "panel": {**share, "estimate": None}},
    }
