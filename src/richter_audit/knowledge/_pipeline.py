"""The blocks of a source, prepared: in this process, or by the machines of a cluster through Ray Data."""

import dataclasses
import logging
import platform
from collections.abc import Callable, Container, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cache
from importlib import import_module
from itertools import islice, takewhile
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from richter.engine import LocalEngine, RayEngine, own_version
from richter.errors import EngineError, RichterError
from richter.records import Document
from richter.texts._embed import Embed, SentenceEncoder
from richter_audit.knowledge._ingest import Documents
from richter_audit.knowledge._prepare_documents import Prepared, cut, prepare

BLOCKS_A_WORKER = 16  # in a window: what ends a window early or late is then little beside it
WINDOW_BLOCKS = 512  # at most: some 250 MB of text
PROBE = "A probe: every machine must turn this sentence into the same vector."
PROBE_TOLERANCE = 0.01  # in an entry of a unit vector: room for another processor's rounding, none for another model


MOST_KNOWN = 5_000_000  # keys of 8 bytes that go to every machine; of a larger base none do


@dataclasses.dataclass(frozen=True, slots=True)
class Known:
    """The keys of the paragraphs that a base holds, as small as they can be sent."""

    keys: NDArray[np.uint64]  # in order

    def __contains__(self, key: object) -> bool:
        place = int(np.searchsorted(self.keys, np.uint64(key)))  # type: ignore[arg-type]  # keys are integers
        return place < len(self.keys) and int(self.keys[place]) == key


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a machine of the cluster is told to do to each block, and how it is known that it would do it as here."""

    parse: Callable[[Any], Document]
    vectors: Embed
    embedding: str
    probe: Any
    known: Container[int] = ()


def prepared_blocks(
    documents: Documents[Any], *, embedding: str, vectors: Embed, engine: LocalEngine | RayEngine, known: set[int]
) -> Iterator[Prepared]:
    """The blocks of a source in their order, each prepared. The engine changes nothing in them.

    What the base has (`known`) is not embedded again. The other machines are told what it had at the start, unless
    that is more than `MOST_KNOWN`.
    """
    if not isinstance(engine, RayEngine):
        for pieces in cut(documents):
            yield prepare(pieces, parse=documents.parse, vectors=vectors, known=known)
        return
    known_keys = Known(np.sort(np.fromiter(known if len(known) <= MOST_KNOWN else (), dtype=np.uint64)))
    work = Work(
        parse=documents.parse, vectors=vectors, embedding=embedding, probe=vectors([PROBE])[0], known=known_keys
    )
    yield from _on_cluster(engine, cut(documents), work)


def _on_cluster(engine: RayEngine, blocks: Iterator[list[Any]], work: Work) -> Iterator[Prepared]:
    ray, cloudpickle = engine.ray, _package("ray.cloudpickle")
    gpus = int(ray.cluster_resources().get("GPU", 0)) if isinstance(work.vectors, SentenceEncoder) else 0
    settings = {
        "version": own_version(),
        "work": cloudpickle.dumps(work),
        "workers": engine.wanted,
        "gpus": min(gpus, 1),
    }
    try:
        conductor: Any
        if engine.remote:  # Ray Data does not work through Ray's client: let it run beside the head
            place = {"num_cpus": 0, "resources": {"node:__internal_head__": 0.001}}
            actor = ray.remote(Conductor).options(**place).remote(**settings)
            conductor = _Far(ray, actor)
        else:
            conductor = Conductor(**settings)
        packed = (cloudpickle.dumps(pieces) for pieces in blocks)
        with closing(conductor):
            for window in _windows(packed, workers=engine.workers):
                conductor.begin(*window)
                while (result := conductor.next()) is not None:
                    block = cloudpickle.loads(result)
                    if isinstance(block, RichterError):
                        raise block
                    yield block
    except (ray.exceptions.RayError, ConnectionError) as error:
        raise engine.explain(error) from error


def _windows(blocks: Iterable[bytes], *, workers: int) -> Iterator[list[bytes]]:
    """Blocks by the window, the next being read while one is worked on; small at first, so that work begins at once."""
    stopped = Event()
    source = takewhile(lambda _: not stopped.is_set(), blocks)
    most = min(BLOCKS_A_WORKER * workers, WINDOW_BLOCKS)
    with ThreadPoolExecutor(1) as reader:
        window = list(islice(source, workers))
        try:
            while window:
                ahead = reader.submit(list, islice(source, min(2 * len(window), most)))
                yield window
                window = ahead.result()
        finally:
            stopped.set()


class Conductor:
    """Sends a window of blocks through Ray Data and hands out the results in the order of the blocks.

    Tasks, not a pool of actors: Ray keeps the processes between tasks, and with them the model, while a pool would be
    started anew for each window (6 to 12 s against 0.2 s). What a lost machine had is done again: the blocks lie with
    whoever runs this.
    """

    def __init__(self, *, version: str, work: bytes, workers: int | None, gpus: int) -> None:
        self.told = {"version": version, "work": work}
        self.workers = workers
        self.gpus = gpus
        self.results: Generator[Any, None, None] = (_ for _ in ())

    def begin(self, *window: bytes) -> None:
        """Start on a window."""
        pa, data = _package("pyarrow"), _package("ray.data")
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # errors reach the user in our words
        dataset = data.from_arrow([pa.table({"block": [block]}) for block in window])
        dataset.context.enable_progress_bars = False
        dataset.context.execution_options.preserve_order = True
        dataset = dataset.map_batches(
            _on_worker,
            fn_kwargs=self.told,
            compute=data.TaskPoolStrategy(size=min(self.workers or len(window), len(window))),
            batch_size=None,
            batch_format="pyarrow",
            num_cpus=1,
            num_gpus=self.gpus,
        )
        self.results = iter(dataset.iter_batches(batch_size=None, batch_format="pyarrow"))

    def next(self) -> bytes | None:
        """The next block's result; None at the end of the window."""
        table = next(self.results, None)
        return None if table is None else table.column("block")[0].as_py()

    def close(self) -> None:
        """Leave what is not done, here and now: a garbage collection in a thread of Ray's cannot end that thread."""
        self.results.close()


class _Far:
    """A conductor that runs on the cluster."""

    def __init__(self, ray: Any, actor: Any) -> None:
        self.ray = ray
        self.actor = actor

    def begin(self, *window: bytes) -> None:
        self.ray.get(self.actor.begin.remote(*(self.ray.put(block) for block in window)))

    def next(self) -> bytes | None:
        piece: bytes | None = self.ray.get(self.actor.next.remote())
        return piece

    def close(self) -> None:
        """The actor ends with the last reference to it."""


def _package(name: str) -> Any:
    """Ray's packages come with it, and are imported where it is used."""
    return import_module(name)


def _on_worker(table: Any, *, version: str, work: bytes) -> Any:
    pa, cloudpickle = _package("pyarrow"), _package("ray.cloudpickle")
    block: Prepared | RichterError
    try:
        ready = _ready(version, work)
        pieces = cloudpickle.loads(table.column("block")[0].as_py())
        block = prepare(pieces, parse=ready.parse, vectors=ready.vectors, known=ready.known)
    except RichterError as error:  # as a value: Ray Data would hand on no more than its traceback
        block = error
    return pa.table({"block": [cloudpickle.dumps(block)]})


@cache  # once a process
def _ready(version: str, work: bytes) -> Work:
    """What to do, if this machine would do it as the one that asks."""
    here = platform.node() or "a machine"
    same = "Install the same Richter and the same embedding model on every machine of the cluster."
    if own_version() != version:
        raise EngineError(f"{here} of the cluster runs Richter {own_version()}, not {version}.", remedy=same)
    try:
        ready: Work = _package("ray.cloudpickle").loads(work)
        vector = ready.vectors([PROBE])[0]
    except RichterError as error:
        raise EngineError(f"{here} of the cluster cannot embed: {error}", remedy=same) from error
    name = getattr(ready.vectors, "name", ready.embedding)
    if name != ready.embedding:
        raise EngineError(f"{here} of the cluster embeds with {name}, not {ready.embedding}.", remedy=same)
    if vector.shape != ready.probe.shape or not np.allclose(vector, ready.probe, rtol=0, atol=PROBE_TOLERANCE):
        raise EngineError(f"{here} of the cluster gives other vectors for {ready.embedding}.", remedy=same)
    return ready
