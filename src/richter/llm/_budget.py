"""A budget in calls, tokens or money, held before a call goes out: it is never exceeded."""

import asyncio
import contextlib
import dataclasses
import re

from richter.errors import BudgetExhausted, InputError
from richter.store import Ledger, Limits, Usage

__all__ = ["Budget", "parse_budget"]

LOOK_AGAIN_S = 0.25  # after other processes, whose calls may make room


@dataclasses.dataclass(slots=True, kw_only=True)
class Budget:
    """Limits over a whole run, retries and earlier sessions included, and what is spent or held so far.

    An attempt holds its upper bound before it goes out and settles at what it really cost; an attempt that no longer
    fits waits for those in flight to settle, and is refused when none is left that could make room. In a run that
    several processes write, each of them holds within what all of them have spent and hold.
    """

    calls: int | None = None
    tokens: int | None = None
    money_usd: float | None = None
    spent: Usage = dataclasses.field(default_factory=Usage)
    _held: Usage = dataclasses.field(default_factory=Usage)
    _own: Usage = dataclasses.field(default_factory=Usage)  # spent since `start_from`
    _ledger: Ledger | None = None  # where it is shared
    _settled: asyncio.Event = dataclasses.field(default_factory=asyncio.Event)

    def start_from(self, ledger: Ledger) -> None:
        """Count what the run has cost before."""
        before = ledger.spent()
        self.spent = Usage(calls=before.calls, tokens=before.tokens, money_usd=before.money_usd)
        self._own = Usage()
        self._ledger = ledger if ledger.shared else None

    @property
    def limited(self) -> bool:
        """Whether there is any limit."""
        return not (self.calls is None and self.tokens is None and self.money_usd is None)

    async def hold(self, bound: Usage) -> None:
        """Hold room for an attempt that costs `bound` at most; raises `BudgetExhausted` when there is none."""
        while True:
            granted, elsewhere = True, 0
            if self.limited:
                limits = Limits(calls=self.calls, tokens=self.tokens, money_usd=self.money_usd)
                if self._ledger is None:
                    granted = limits.allow(self.spent + self._held + bound)
                else:
                    room = await self._ledger.hold(bound, limits)
                    granted, elsewhere = room.granted, room.others_in_flight
                    self.spent = room.others + self._own
            elif self._ledger is not None:
                self._ledger.count(held=bound)
            if granted:
                self._held += bound
                return
            if not self._held.calls and not elsewhere:
                raise BudgetExhausted(
                    f"The budget ({self}) is used up: {self.spent.calls} calls, {self.spent.tokens} tokens, "
                    f"${self.spent.money_usd:.4f} spent.",
                    remedy="Raise --budget and run the same command again to go on.",
                )
            self._settled.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_AGAIN_S if elsewhere else None):
                    await self._settled.wait()

    def settle(self, bound: Usage, cost: Usage) -> None:
        """Replace what an attempt held by what it cost."""
        self._held -= bound
        self.spent += cost
        if self._ledger is not None:
            self._own += cost
            self._ledger.count(held=Usage() - bound, spent=cost)
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
