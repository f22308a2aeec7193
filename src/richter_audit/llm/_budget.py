"""A budget in calls, tokens or money, held before a call goes out: it is never exceeded."""

import asyncio
import dataclasses
import re
import uuid

from richter.errors import BudgetExhausted, InputError
from richter.store import Attempt, Ledger, Limits, Usage, start_spending

__all__ = ["Budget", "parse_budget"]


@dataclasses.dataclass(slots=True, kw_only=True)
class Budget:
    """Limits over a whole run with its parts, retries and earlier sessions included.

    An attempt commits the most that it can cost before it goes out and is settled at what it really cost; one that no
    longer fits waits for those in flight to settle, and is refused when none is left that could make room. `own_calls`
    limits the calls of one part of the run. `used` is what the run has spent or holds, `own` that of this ledger alone.
    """

    calls: int | None = None
    tokens: int | None = None
    money_usd: float | None = None
    own_calls: int | None = None
    used: Usage = dataclasses.field(default_factory=Usage)
    own: Usage = dataclasses.field(default_factory=Usage)
    _ledger: Ledger | None = None
    _settles: int = 0
    _settled: asyncio.Event = dataclasses.field(default_factory=asyncio.Event)

    def start_from(self, ledger: Ledger) -> None:
        """Count what the run has cost before."""
        self.used, self.own = start_spending(ledger)
        self._ledger, self._settled = ledger, asyncio.Event()

    @property
    def is_limited(self) -> bool:
        """Whether there is any limit."""
        return any(limit is not None for limit in (self.calls, self.tokens, self.money_usd, self.own_calls))

    @property
    def left_calls(self) -> int | None:
        """How many calls may still go out; None: any number."""
        limits = ((self.calls, self.used), (self.own_calls, self.own))
        return min((most - used.calls for most, used in limits if most is not None), default=None)

    async def hold(self, key: str, model: str, bound: Usage) -> str:
        """Commit that an attempt goes out that costs `bound` at most; raises `BudgetExhausted` without room for it."""
        assert self._ledger is not None, "a budget is held in a ledger"
        limits = Limits(calls=self.calls, tokens=self.tokens, money_usd=self.money_usd, own_calls=self.own_calls)
        attempt = Attempt(uuid.uuid4().hex, key, model, bound, limits)
        while True:
            before = self._settles
            room = await asyncio.shield(self._ledger.hold(attempt))
            self.used, self.own = room.used, room.own
            if room.granted:
                self._ledger.mark_sent(attempt.id)
                return attempt.id
            if not room.in_flight:
                money = f", ${room.used.money_usd:.4f}" if room.used.money_usd else ""  # nothing is known, or free
                raise BudgetExhausted(
                    f"The budget ({self}) is used up: {room.used.calls} calls, {room.used.tokens} tokens{money} spent, "
                    "or perhaps billed for attempts that brought no answer.",
                    remedy="Raise --budget and run the same command again to go on; `richter view --list` looks at the "
                    "attempts without answers.",
                )
            if self._settles == before:
                self._settled.clear()
                await self._settled.wait()

    def notify_settled(self, _: object = None) -> None:
        """Say that an attempt was settled, which may make room."""
        self._settles += 1
        self._settled.set()

    def __str__(self) -> str:
        calls = [n for n in (self.calls, self.own_calls) if n is not None]
        parts = [
            f"{min(calls)} calls" if calls else "",
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
