"""A model that workers on a cluster hold. They take questions in batches; the ledger stays with the driver.

To whoever asks, it is a model like any other: budget, retries and the ledger do not know where the answer comes from.
A question whose worker is lost may have been answered and charged for, so it counts as an attempt and is asked again.
"""

import asyncio
import contextlib
import dataclasses
import os
import socket
from collections.abc import Coroutine, Iterable, Sequence
from concurrent.futures import Future
from typing import Any

from richter.engine import RayEngine, own_version
from richter.errors import EngineError, RichterError
from richter.models._providers import resolve
from richter.records import Answer, Decoding
from richter_audit.llm._model import AttemptFailed, Message, Model, Refused, TryAgain

# what comes within these times travels together: a message of Ray's costs several times what a call does
GATHER_ANSWERS_S = 0.02
GATHER_QUESTIONS_S = 0.005
START_S = 300.0  # for a worker to be placed and to open its model, which may have to be fetched first
RESTARTS = 5  # of one worker in a row that end before it answers anything
CLOSE_S = 5.0

Asked = tuple[int, list[Message], Decoding, int]
Given = tuple[int, Answer | AttemptFailed | RichterError]


class Worker:
    """What a worker runs: one open model, the questions it is asking, and the answers not fetched yet."""

    def __init__(self, name: str, options: dict[str, Any], per_machine: int) -> None:
        self._name, self._options = name, options
        self._threads = max(1, (os.cpu_count() or 1) // per_machine)
        self._model: Model | None = None
        self._asking: set[asyncio.Task[None]] = set()
        self._given: list[Given] = []
        self._any = asyncio.Event()

    async def open(self) -> tuple[str, str, RichterError | None]:
        """Open the model; the machine's name, the version of Richter there, and why the model cannot be had."""
        from richter_audit.llm._open_models import open_model

        problem = None
        try:
            if self._model is None:
                self._model = open_model(self._name, threads=self._threads, **self._options)
        except RichterError as error:
            problem = error
        return socket.gethostname(), own_version(), problem

    async def take(self, batch: list[Asked]) -> bool:
        """Begin to ask these, unless this is a new process that has no model yet."""
        if self._model is None:
            return False
        for asked in batch:
            task = asyncio.create_task(self._ask(self._model, *asked))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)
        return True

    async def _ask(self, model: Model, number: int, messages: list[Message], decoding: Decoding, draw: int) -> None:
        given: Answer | AttemptFailed | RichterError
        try:
            given = await model.ask(messages, decoding, draw)
        except (AttemptFailed, RichterError) as error:
            given = error
        except Exception as error:  # a fault of ours must not leave the driver waiting
            given = Refused(f"{self._name}: {type(error).__name__}: {error}", maybe_billed=True)
        self._given.append((number, given))
        self._any.set()

    async def give(self) -> list[Given]:
        """Wait for answers, and hand over those that are there."""
        await self._any.wait()
        if self._asking:
            await asyncio.wait(self._asking, timeout=GATHER_ANSWERS_S)
        given, self._given = self._given, []
        self._any.clear()
        return given

    async def close(self) -> None:
        """Free the model."""
        if self._model is not None:
            await self._model.aclose()


@dataclasses.dataclass(slots=True, eq=False)
class _Place:
    """A worker as the driver sees it: questions not sent yet, and those it has."""

    worker: Any
    up: bool = False
    restarts: int = 0
    waiting: list[int] = dataclasses.field(default_factory=list)
    sent: set[int] = dataclasses.field(default_factory=set)
    more: asyncio.Event = dataclasses.field(default_factory=asyncio.Event)  # there is something to send
    busy: asyncio.Event = dataclasses.field(default_factory=asyncio.Event)  # there is something to fetch

    @property
    def load(self) -> int:
        return len(self.waiting) + len(self.sent)


class RemoteModel:
    """A model on `workers` workers of a cluster, as far as there is room one on each machine."""

    def __init__(self, engine: RayEngine, name: str, **options: Any) -> None:
        self.name = name
        self.remote = resolve(name).backend != "local"
        self._engine = engine
        self._options = options
        self._questions: dict[int, tuple[Asked, asyncio.Future[Answer]]] = {}
        self._homeless: list[int] = []  # no worker is up just now
        self._places: list[_Place] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._count = 0
        self._started = False
        self._broken: RichterError | None = None

    async def ask(self, messages: Sequence[Message], decoding: Decoding, draw: int) -> Answer:
        """One attempt. See `Model`."""
        if self._broken is not None:
            raise self._broken
        if not self._started:
            self._start()
        self._count += 1
        number = self._count
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._questions[number] = (number, list(messages), decoding, draw), answer
        self._assign([number])
        try:
            return await answer
        finally:
            self._questions.pop(number, None)

    def _start(self) -> None:
        self._started = True
        workers = self._engine.wanted or self._engine.nodes
        per_machine = -(-workers // self._engine.nodes)
        # no processor is claimed: a client needs little, and a worker must find a place when its machine is lost
        kind = self._engine.ray.remote(
            num_cpus=0, max_restarts=-1, max_task_retries=0, max_concurrency=1_000, scheduling_strategy="SPREAD"
        )(Worker)
        self._places = [_Place(kind.remote(self.name, self._options, per_machine)) for _ in range(workers)]
        self._tasks = [asyncio.create_task(self._run(place)) for place in self._places]

    def _assign(self, numbers: Iterable[int]) -> None:
        """Give questions to the workers that have the fewest."""
        up = [place for place in self._places if place.up]
        for number in numbers:
            if not up:
                self._homeless.append(number)
                continue
            place = min(up, key=lambda p: p.load)
            place.waiting.append(number)
            place.more.set()

    async def _run(self, place: _Place) -> None:
        """Keep one worker at work, through its restarts, until it cannot be had."""
        ray = self._engine.ray
        try:
            while True:
                try:
                    await self._open(place)
                    await _both(self._send(place), self._fetch(place))
                except (ray.exceptions.RayActorError, _StartedAgain) as error:  # Ray starts it again, somewhere
                    place.restarts += 1
                    if place.restarts > RESTARTS:
                        raise self._engine.explain(error) from error
                    self._take_from(place)
        except Exception as error:  # Ray's client raises many kinds; those who wait for an answer must hear of any
            self._give_up(place, error)

    async def _open(self, place: _Place) -> None:
        try:
            machine, version, problem = await asyncio.wait_for(_reply(place.worker.open.remote()), START_S)
        except TimeoutError:
            raise EngineError(
                f"No worker could be started within {START_S:.0f} s.", remedy="See `ray status`: is there room?"
            ) from None
        if problem is not None:
            raise type(problem)(f"On {machine}: {problem.what}", remedy=problem.remedy)
        if version != own_version():
            raise EngineError(
                f"{machine} runs Richter {version}, this is {own_version()}.", remedy="Install one version everywhere."
            )
        place.up = True
        homeless, self._homeless = self._homeless, []
        self._assign(homeless)

    async def _send(self, place: _Place) -> None:
        while True:
            await place.more.wait()
            await asyncio.sleep(GATHER_QUESTIONS_S)
            place.more.clear()
            numbers = [n for n in place.waiting if n in self._questions]  # others were cancelled
            place.waiting.clear()
            if numbers:
                place.sent.update(numbers)
                place.busy.set()
                if not await _reply(place.worker.take.remote([self._questions[n][0] for n in numbers])):
                    raise _StartedAgain

    async def _fetch(self, place: _Place) -> None:
        while True:
            await place.busy.wait()
            for number, given in await _reply(place.worker.give.remote()):
                place.sent.discard(number)
                place.restarts = 0
                self._settle(number, given)
            if not place.sent:
                place.busy.clear()

    def _settle(self, number: int, given: Answer | AttemptFailed | RichterError) -> None:
        question = self._questions.get(number)
        if question is None or question[1].done():
            return
        if isinstance(given, Answer):
            question[1].set_result(given)
        else:
            question[1].set_exception(given)

    def _take_from(self, place: _Place) -> None:
        place.up = False
        sent, waiting = list(place.sent), list(place.waiting)
        place.sent.clear()
        place.waiting.clear()
        place.busy.clear()
        for number in sent:
            self._settle(number, TryAgain("the worker that asked was lost", maybe_billed=True))
        self._assign(waiting)

    def _give_up(self, place: _Place, error: BaseException) -> None:
        began = place.restarts == 0 and not place.up
        self._places.remove(place)
        self._take_from(place)
        if began or not self._places:  # what none can do at the start is said at once; later the others go on
            self._broken = error if isinstance(error, RichterError) else self._engine.explain(error)
            for number in list(self._questions):
                self._settle(number, self._broken)

    async def aclose(self) -> None:
        """Stop the workers."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(self._close(place.worker) for place in self._places))

    async def _close(self, worker: Any) -> None:
        ray = self._engine.ray
        try:
            await asyncio.wait_for(_reply(worker.close.remote()), CLOSE_S)
        except (TimeoutError, ray.exceptions.RayError):
            pass
        finally:
            ray.kill(worker)


class _StartedAgain(Exception):
    """A worker was lost and is back, without its model and its questions."""


async def _reply(reference: Any) -> Any:
    """What a call of Ray's gives. Who stops waiting leaves Ray's future alone: its client fails on cancelled ones."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Any] = loop.create_future()

    def settle(done: Future[Any]) -> None:
        if not answer.done():
            if (error := done.exception()) is not None:
                answer.set_exception(error)
            else:
                answer.set_result(done.result())

    def hand_over(done: Future[Any]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended, and with it whoever waited
            loop.call_soon_threadsafe(settle, done)

    reference.future().add_done_callback(hand_over)
    return await answer


async def _both(*work: Coroutine[Any, Any, None]) -> None:
    """Do both until one fails, and end the other then."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
