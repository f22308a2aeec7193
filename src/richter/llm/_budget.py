"""A budget in calls, tokens or money, held before a call goes out: it is never exceeded."""

import asyncio
import dataclasses
import re

from richter.errors import BudgetExhausted, InputError
from richter.store import Spent

__all__ = ["Bound", "Budget", "parse_budget"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """The most that one attempt can cost."""

    tokens: int
    money_usd: float | None


@dataclasses.dataclass(slots=True, kw_only=True)
class Budget:
    """Limits over a whole run, retries and earlier sessions included, and what is spent or held so far.

    An attempt holds its upper bound before it goes out and settles at what it really cost; an attempt that no longer
    fits waits for those in flight to settle, and is refused when none is left that could make room.
    """

    calls: int | None = None
    tokens: int | None = None
    money_usd: float | None = None
    spent_calls: int = 0
    spent_tokens: int = 0
    spent_usd: float = 0.0
    _in_flight: int = 0
    _held_tokens: int = 0
    _held_usd: float = 0.0
    _settled: asyncio.Event = dataclasses.field(default_factory=asyncio.Event)

    def start_from(self, spent: Spent) -> None:
        """Count what the run has cost before."""
        self.spent_calls, self.spent_tokens, self.spent_usd = spent.calls, spent.tokens, spent.money_usd

    @property
    def limited(self) -> bool:
        """Whether there is any limit."""
        return not (self.calls is None and self.tokens is None and self.money_usd is None)

    def _fits(self, bound: Bound) -> bool:
        return (
            (self.calls is None or self.spent_calls + self._in_flight + 1 <= self.calls)
            and (self.tokens is None or self.spent_tokens + self._held_tokens + bound.tokens <= self.tokens)
            and (
                self.money_usd is None
                or (bound.money_usd is not None and self.spent_usd + self._held_usd + bound.money_usd <= self.money_usd)
            )
        )

    async def hold(self, bound: Bound) -> None:
        """Hold room for an attempt; raises `BudgetExhausted` when there is none."""
        while not self._fits(bound):
            if self._in_flight == 0:
                raise BudgetExhausted(
                    f"The budget ({self}) is used up: {self.spent_calls} calls, {self.spent_tokens} tokens, "
                    f"${self.spent_usd:.4f} spent.",
                    remedy="Raise --budget and run the same command again to go on.",
                )
            self._settled.clear()
            await self._settled.wait()
        self._in_flight += 1
        self._held_tokens += bound.tokens
        self._held_usd += bound.money_usd or 0.0

    def settle(self, bound: Bound, *, tokens: int, money_usd: float) -> None:
        """Replace what an attempt held by what it cost."""
        self._in_flight -= 1
        self._held_tokens -= bound.tokens
        self._held_usd -= bound.money_usd or 0.0
        self.spent_calls += 1
        self.spent_tokens += tokens
        self.spent_usd += money_usd
        self._settled.set()

    def __str__(self) -> str:
        parts = [
            f"{self.calls} calls" if self.calls is not None else "",
            f"{self.tokens} tokens" if self.tokens is not None else "",
            f"${self.money_usd:g}" if self.money_usd is not None else "",
        ]
        return ", ".join(p for p in parts if p) or "unlimited"


_UNITS = {"usd": "money_usd", "$": "money_usd", "calls": "calls", "call": "calls", "tok": "tokens", "tokens": "tokens"}
_SCALES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}


def parse_budget(text: str | None) -> Budget:
    """`5usd`, `20000calls`, `2Mtok`, or several with commas; None is no limit."""
    limits: dict[str, float] = {}
    for part in (text or "").split(","):
        if not part.strip():
            continue
        match = re.fullmatch(
            r"(\$?)\s*([0-9]*\.?[0-9]+)\s*([kmg]?)\s*(usd|\$|calls?|tok(?:ens)?|)", part.strip().lower()
        )
        unit = "$" if match and match[1] else (match[4] if match else "")
        if not match or not unit or (match[1] and match[4] not in ("", "usd")):
            raise InputError(f"--budget {part.strip()!r} is not one.", remedy="Write 5usd, 20000calls or 2Mtok.")
        limits[_UNITS[unit]] = float(match[2]) * _SCALES[match[3]]
    return Budget(
        calls=int(limits["calls"]) if "calls" in limits else None,
        tokens=int(limits["tokens"]) if "tokens" in limits else None,
        money_usd=limits.get("money_usd"),
    )
