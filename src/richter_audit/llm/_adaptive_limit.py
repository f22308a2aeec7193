"""How many calls go out at a time: as many as the server takes, fewer when it says so."""

import asyncio
from collections import deque


class AdaptiveLimit:
    """Additive increase, multiplicative decrease: each success adds 1/limit, each "slow down" halves the limit.

    Calls refused together lower the limit once, not once each. A Retry-After holds everything back until then. After
    `restart` it grows from one call by one with each success, so that few calls are out before the first is seen.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.limit = float(most)
        self._growing = False
        self._active = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._resume_at = 0.0
        self._halved_at = -1.0

    async def __aenter__(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            pause = self._resume_at - loop.time()
            if pause > 0:
                await asyncio.sleep(pause)
            elif self._active < max(1, int(self.limit)):
                self._active += 1
                return
            else:
                turn: asyncio.Future[None] = loop.create_future()
                self._waiting.append(turn)
                await turn

    async def __aexit__(self, *_: object) -> None:
        self._active -= 1
        self._wake()

    def _wake(self) -> None:
        free = max(1, int(self.limit)) - self._active
        while free > 0 and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                free -= 1

    @property
    def waiting_s(self) -> float:
        """How long nothing goes out, because the server asked for that."""
        return max(0.0, self._resume_at - asyncio.get_running_loop().time())

    def count_success(self) -> None:
        """A call was answered."""
        if self.limit < self.most:
            self.limit = min(self.most, self.limit + (1 if self._growing else 1 / self.limit))

    def restart(self) -> None:
        """Begin with one call at a time."""
        self.limit = 1.0
        self._growing = True

    def slow_down(self, retry_after_s: float | None) -> None:
        """The server asked for fewer calls, or for none until later."""
        now = asyncio.get_running_loop().time()
        self._growing = False
        if now - self._halved_at > 1.0:
            self.limit = max(1.0, self.limit / 2)
            self._halved_at = now
        if retry_after_s is not None:
            self._resume_at = max(self._resume_at, now + retry_after_s)
