"""Doing together what arrives together: one commit, or one round trip, for many calls."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, TypeVar

GROUP_S = 0.005  # what arrives within this time is done together

T = TypeVar("T")
R = TypeVar("R")


class Grouped(Generic[T, R]):
    """Hands what arrives within a few milliseconds to `work` as one list, in a thread, one group after the other.

    `work` returns one result for each, or raises for all. What is pending when the event loop ends is not lost:
    `finish` does it.
    """

    def __init__(self, work: Callable[[list[T]], Sequence[R]], pool: ThreadPoolExecutor) -> None:
        self._work = work
        self._pool = pool
        self._pending: list[tuple[T, asyncio.Future[R]]] = []
        self._cut_off: tuple[list[T], Future[Sequence[R]]] | None = None
        self._flusher: asyncio.Task[None] | None = None

    def submit(self, thing: T) -> asyncio.Future[R]:
        """Have it done within milliseconds; the future has its result."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[R] = loop.create_future()
        self._pending.append((thing, done))
        if self._flusher is None:
            self._flusher = loop.create_task(self._flush())
        return done

    async def _flush(self) -> None:
        try:
            while self._pending:
                await asyncio.sleep(GROUP_S)
                batch, self._pending = self._pending, []
                if not batch:  # `finish` has done it
                    return
                things = [thing for thing, _ in batch]
                running = self._pool.submit(self._work, things)
                try:
                    results = await asyncio.wrap_future(running)
                except asyncio.CancelledError:
                    self._cut_off = things, running  # it may be done, or never begun: `finish` looks
                    raise
                except Exception as error:
                    _fail([done for _, done in batch], error)
                else:
                    _deliver([done for _, done in batch], results)
        finally:
            self._flusher = None

    def forget(self) -> None:
        """Leave undone what is pending: nobody waits for it any more."""
        self._pending = []

    def finish(self) -> None:
        """Do what is still pending, once; the pool must have been shut down before."""
        left = [thing for thing, _ in self._pending]
        self._pending = []
        if self._cut_off is not None:
            things, running = self._cut_off
            self._cut_off = None
            if running.cancelled() or running.exception() is not None:
                left = things + left
        if left:
            self._work(left)


def _fail(waiting: Sequence[asyncio.Future[Any]], error: Exception) -> None:
    for done in waiting:
        if not done.done():
            done.set_exception(error)
            done.exception()  # a waiter that was cancelled does not come back for it


def _deliver(waiting: Sequence[asyncio.Future[Any]], results: Sequence[Any]) -> None:
    for done, result in zip(waiting, results, strict=True):
        if not done.done():
            done.set_result(result)
