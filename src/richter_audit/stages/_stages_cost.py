"""What the stages of an audit would cost, before anything is asked."""

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from richter.models import Price, price_of, read_prices
from richter.records import Condition, Item, Result, counted
from richter.store import RunLike
from richter_audit.judge import deal
from richter_audit.stages._ask_stage import BYTES_PER_TOKEN, CHAT_OVERHEAD_TOKENS, estimate_run
from richter_audit.stages._judging import price_panel
from richter_audit.stages._stages import AuditSettings, drawn_items, stages_for

__all__ = ["StageEstimate", "estimate_stages"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StageEstimate(Result):
    """What a stage would still cost at most. Money is None where a price is unknown."""

    stage: str
    what: str
    calls: int
    tokens: int
    money_usd: float | None


def estimate_stages(
    run: RunLike,
    items: Sequence[Item],
    settings: AuditSettings,
    *,
    only: Collection[str] | None = None,
    prices: Mapping[str, Price] | None = None,
) -> list[StageEstimate]:
    """What each stage would still cost at most, before anything is asked."""
    prices = read_prices() if prices is None else prices
    n = len(items) * len(settings.conditions)
    estimates: dict[str, Callable[[], StageEstimate]] = {
        "ask": lambda: _estimate_asking("ask", Path(run), items, settings.conditions, 1, prices),
        "draw": lambda: _estimate_asking(
            "draw",
            Path(run) / "draws",
            drawn_items(items, settings),
            settings.draw_conditions,
            settings.draws,
            prices,
        ),
        "judge": lambda: _estimate_judging(items, settings, prices),
        "score": lambda: StageEstimate(stage="score", what=f"{n:,} answers, here", calls=n, tokens=0, money_usd=0.0),
        "search": lambda: _estimate_search(settings, prices),
    }
    return [estimates[stage]() for stage in stages_for(settings, only=only)]


def _estimate_asking(
    stage: str,
    place: Path,
    items: Sequence[Item],
    conditions: Sequence[Condition],
    draws: int,
    prices: Mapping[str, Price],
) -> StageEstimate:
    estimates = estimate_run(place, items, conditions, draws=draws, prices=prices)
    money = [e.money_usd_most for e in estimates]
    return StageEstimate(
        stage=stage,
        what=f"{counted(len(items), 'question')}, {counted(len(conditions), 'model')}"
        + (f", {draws} repeats" if draws > 1 else ""),
        calls=sum(e.calls for e in estimates),
        tokens=sum(e.tokens_in + e.tokens_out_most for e in estimates),
        money_usd=None if None in money else sum(m for m in money if m is not None),
    )


def _estimate_judging(items: Sequence[Item], settings: AuditSettings, prices: Mapping[str, Price]) -> StageEstimate:
    """As if every answer were as long as it may be, and a third judge were needed every time."""
    each = len(items)
    if settings.judged is not None:
        each = min(each, max(1, settings.judged // len(settings.conditions)))
    dealt = []
    for condition in settings.conditions if settings.judges else ():
        answer = "x" * BYTES_PER_TOKEN * condition.decoding.max_tokens
        for turn, item in enumerate(items[:each]):
            dealt.append((item, answer, deal(settings.judges, condition, turn, allow_self=settings.allow_self)))
    cost = price_panel(dealt, prices)
    what = f"{len(dealt):,} answers by {len(settings.judges)} judges" if dealt else "by rules"
    return StageEstimate(
        stage="judge", what=what, calls=cost.calls_most, tokens=cost.tokens_most, money_usd=cost.money_usd_most
    )


def _estimate_search(settings: AuditSettings, prices: Mapping[str, Price]) -> StageEstimate:
    models = list(dict.fromkeys(c.model for c in settings.conditions))
    asked, reply = CHAT_OVERHEAD_TOKENS + 64, 64
    costs = [price_of(model, prices) for model in models]
    return StageEstimate(
        stage="search",
        what=f"{len(models)} models, {settings.search_calls:,} calls each",
        calls=settings.search_calls * len(models),
        tokens=settings.search_calls * len(models) * (asked + reply),
        money_usd=None
        if None in costs
        else sum(settings.search_calls * price.cost(asked, reply) for price in costs if price is not None),
    )
