"""`richter view`: a local web app over runs. Loopback only; what models wrote is shown as text and never runs."""

import asyncio
import contextlib
import ctypes
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import polars as pl
from aiohttp import web

from richter.errors import InputError, RichterError
from richter.interop import EXPORTS, export_table
from richter.ratings import LoopbackGuard, RatingPage, error_reply, serve_loopback
from richter.records import json_text, printable
from richter.report._index import EvidenceIndex, first_items
from richter.report._page import render_report
from richter.report._run_list import RunRows, unread_row
from richter.report._run_summary import summary_of
from richter.report._side_by_side import read_item_tables, read_run_tables
from richter.report._tokens import tokens_css
from richter.report._visible_text import visible
from richter.store import Ledger, is_run, open_ledger
from richter.store import find_runs as find_runs_in
from richter.tables import graded_answers, read_tables

__all__ = ["RunsApp", "find_runs", "serve_runs"]

FILES = {
    "/": ("report/view/index.html", "text/html"),
    "/view.js": ("report/view/view.js", "text/javascript"),
    "/runs_table.js": ("report/view/runs_table.js", "text/javascript"),
    "/view.css": ("report/view/view.css", "text/css"),
    "/evidence.js": ("report/page/evidence.js", "text/javascript"),
    "/report.css": ("report/page/report.css", "text/css"),
    "/app_frame.css": ("ratings/page/app_frame.css", "text/css"),
}
LONGEST_BODY = 10_000
ROWS_AT_ONCE = 6  # lines of the list that are read
LIST_S = 0.3  # how long the list waits for lines that are read for the first time
FIRST_S = 0.5  # how long a first page waits for all of the run to be read
NARROWING = ("show", "search", "item", "domain", "tier", "severity", "mechanism", "offset")
LOOK_S = 0.2  # how often it is looked whether a reader still waits
# The report brings its own policy; here it is kept from reading anything of the app and from being framed by others.
REPORT_HEADERS = {
    "Content-Security-Policy": "sandbox allow-scripts allow-downloads; frame-ancestors 'self'",
    "X-Frame-Options": "SAMEORIGIN",
}
TYPES = {".csv": "text/csv", ".jsonl": "application/x-ndjson", ".parquet": "application/octet-stream"}

T = TypeVar("T")


def find_runs(places: Sequence[str]) -> list[str]:
    """The runs at `places`: a run itself, or the runs in a folder; each once, in order."""
    found: dict[str, None] = {}
    for place in places:
        folder = Path(place)
        if is_run(folder):
            found[place] = None
            continue
        if not folder.is_dir():
            raise InputError(
                f"{place} is not a run or a folder of runs.", remedy="`richter view --list` shows what is here."
            )
        found |= dict.fromkeys(map(str, find_runs_in(folder)))
    return list(found)


class RunsApp:
    """The app over some runs.

    `measure` makes the results document of a run or of several together (`audit.measure_run`), `rating` opens a rating
    page on a run; both are handed in, since this room may not import the one that makes them.
    """

    def __init__(
        self,
        runs: Sequence[str],
        *,
        measure: Callable[..., Mapping[str, Any]],
        rating: Callable[[Ledger, str], RatingPage],
    ) -> None:
        self.runs, self.measure, self.rating = list(runs), measure, rating
        self.guard = LoopbackGuard(cookie="richter-view", command="richter view")
        self._list_rows = RunRows()
        self._reading: dict[int, asyncio.Task[dict[str, Any]]] = {}
        self._documents: dict[str, tuple[object, Mapping[str, Any]]] = {}
        self._indexes: dict[str, tuple[object, asyncio.Task[EvidenceIndex], list[float]]] = {}
        self._indexing = asyncio.Lock()
        self._rating: dict[str, tuple[Ledger, RatingPage]] = {}
        self._few = asyncio.Semaphore(ROWS_AT_ONCE)
        self._turn = asyncio.Lock()  # who opens a run for rating
        self._measuring, self._rendering = asyncio.Lock(), asyncio.Lock()
        self._pages: tuple[str, object, str] | None = None  # the last page: a run, the document it shows, its text

    def app(self) -> web.Application:
        """The web application; serve it on loopback only."""
        app = web.Application(middlewares=[self.guard.middleware], client_max_size=LONGEST_BODY)
        for path in FILES:
            app.router.add_get(path, self._file)
        app.router.add_get("/api/runs", self._list)
        app.router.add_get(r"/api/runs/{run:\d+}", self._one_run)
        app.router.add_get(r"/api/runs/{run:\d+}/evidence", self._evidence)
        app.router.add_get(r"/api/runs/{run:\d+}/item", self._item)
        app.router.add_post(r"/api/runs/{run:\d+}/rate", self._open_rating)
        app.router.add_post(r"/api/runs/{run:\d+}/rate/close", self._close_rating)
        app.router.add_get(r"/runs/{run:\d+}/report", self._report)
        app.router.add_get(r"/runs/{run:\d+}/report/{other:\d+}", self._report)
        app.router.add_get(r"/runs/{run:\d+}/export/{name}", self._export)
        app.router.add_route("*", r"/runs/{run:\d+}/rate/{name:.*}", self._rate)
        app.on_startup.append(self._begin)
        app.on_cleanup.append(self._close)
        return app

    def _run(self, request: web.Request, key: str = "run") -> str:
        number = int(request.match_info[key][:9])
        if number >= len(self.runs):
            raise web.HTTPNotFound(reason="There is no such run.")
        return self.runs[number]

    async def _begin(self, _: web.Application) -> None:
        """Read the lines of the list ahead: by the time that somebody opens it, most of many runs are read."""
        self._rows_read([n for n, run in enumerate(self.runs) if "://" not in run])

    async def _close(self, _: web.Application) -> None:
        for task in self._reading.values():
            task.cancel()
        for run in [*self._rating]:
            await self._end_rating(run)
        for _stamp_of, reading, _progress in self._indexes.values():
            if not reading.cancel() and reading.exception() is None:
                reading.result().close()

    async def _file(self, request: web.Request) -> web.Response:
        name, kind = FILES[request.path]
        text = resources.files("richter").joinpath(*name.split("/")).read_text(encoding="utf-8")
        return web.Response(text=tokens_css() + text if name == "report/page/report.css" else text, content_type=kind)

    # ---- runs, and how far one has come --------------------------------------------------------------------------

    async def _list(self, _: web.Request) -> web.Response:
        """The lines of all runs; of many that are read for the first time, some come as unread."""
        tasks = self._rows_read(range(len(self.runs)))
        if tasks:
            await asyncio.wait(tasks, timeout=LIST_S)
        rows = [t.result() if t.done() else unread_row(n, self.runs[n]) for n, t in enumerate(tasks)]
        return web.json_response({"runs": rows, "now": time.time()})

    def _rows_read(self, numbers: Iterable[int]) -> "list[asyncio.Task[dict[str, Any]]]":
        """The reading of some lines: one that is under way goes on, all others begin, a few at once."""
        for n in numbers:
            if n not in self._reading or self._reading[n].done():
                self._reading[n] = asyncio.create_task(self._row_read(n))
        return [self._reading[n] for n in numbers]

    async def _row_read(self, number: int) -> dict[str, Any]:
        async with self._few:
            return await _in_thread(self._row, number, self.runs[number])

    async def _one_run(self, request: web.Request) -> web.Response:
        run = self._run(request)
        return web.json_response(await _in_thread(self._row, int(request.match_info["run"]), run))

    def _row(self, number: int, run: str) -> dict[str, Any]:
        """One line of the list: what is known of it now, with what its last measurement said."""
        row = self._list_rows.row(number, run)
        known = self._documents.get(run)
        if known is None or "error" in row:
            return row
        return {**row, "summary": msgspec.to_builtins(summary_of(known[1])), "stale": _has_changed(run, known[0])}

    # ---- items and answers ---------------------------------------------------------------------------------------

    async def _evidence(self, request: web.Request) -> web.Response:
        run = self._run(request)
        reading, progress = await self._index(run)
        await asyncio.wait([reading], timeout=FIRST_S)
        plain = not any(request.query.get(key, "") not in ("", "0") for key in NARROWING)
        if not reading.done() and plain:
            found = await _in_thread(first_items, run, request.query)
            note = "the run is being read; what matters most comes first when it is"
            return web.json_response({**found, "reading": progress[-1], "note": note})
        index = await asyncio.shield(reading)
        return web.json_response(await _in_thread(index.find, request.query))

    async def _item(self, request: web.Request) -> web.Response:
        found = await _in_thread(_one_item, self._run(request), request.query.get("item", ""))
        return web.json_response(found)

    async def _index(self, run: str) -> "tuple[asyncio.Task[EvidenceIndex], list[float]]":
        """The reading of a run, under way or done, with how far it is; anew where the run has changed."""
        stamp = await _in_thread(_stamp, run)
        known = self._indexes.get(run)
        if known is not None and (not known[1].done() or (known[0] == stamp and known[1].exception() is None)):
            return known[1:]
        progress = [0.0]

        async def read() -> EvidenceIndex:
            async with self._indexing:  # one at a time: a large run is read whole for it, once
                if known is not None and known[1].exception() is None:
                    known[1].result().close()
                return await _in_thread(EvidenceIndex, run, progress.append)

        reading = asyncio.create_task(read())
        self._indexes[run] = (stamp, reading, progress)
        return reading, progress

    # ---- the report ----------------------------------------------------------------------------------------------

    async def _document(self, request: web.Request, *runs: str) -> Mapping[str, Any]:
        async with self._measuring:  # one at a time: it takes both cores of a small machine
            stamp = [await _in_thread(_stamp, run) for run in runs]
            key = "\n".join(runs)
            known = self._documents.get(key)
            if known is None or known[0] != stamp:
                named = runs if len(runs) == 1 else [f"{Path(run).name}={run}" for run in runs]
                known = self._documents[key] = (stamp, await _for_reader(request, lambda: self.measure(*named)))
            return known[1]

    async def _report(self, request: web.Request) -> web.Response:
        text = await self._rendered(request)
        if request.query.get("in") == "app":  # which has a bar of its own at the top
            text = text.replace('<html lang="en">', '<html lang="en" data-in="app">', 1)
        return web.Response(text=text, content_type="text/html", headers=REPORT_HEADERS)

    async def _rendered(self, request: web.Request) -> str:
        """The page of a run or of two: one is made at a time, kept until a run changes, only for who still waits."""
        runs = [self._run(request, key) for key in ("run", "other") if key in request.match_info]
        document = await self._document(request, *runs)
        async with self._rendering:
            known, key = self._pages, "\n".join(runs)
            if known is None or known[0] != key or known[1] is not document:
                source = runs[0] if len(runs) == 1 else [f"{Path(run).name}={run}" for run in runs]
                known = self._pages = (key, document, await _for_reader(request, lambda: _render(document, source)))
            return known[2]

    async def _export(self, request: web.Request) -> web.Response:
        run, name = self._run(request), request.match_info["name"]
        stem, _, ending = name.rpartition(".")
        if name == "results.json":
            body = json_text(await self._document(request, run), indent=1).encode()
            return _download(body, name, "application/json")
        if name == "report.html":
            return _download((await self._rendered(request)).encode(), name, "application/octet-stream")
        if stem in EXPORTS and f".{ending}" in TYPES:
            return _download(await _in_thread(_table, run, stem, ending), name, TYPES[f".{ending}"])
        raise web.HTTPNotFound(reason="There is no such export.")

    # ---- rating --------------------------------------------------------------------------------------------------

    async def _open_rating(self, request: web.Request) -> web.Response:
        run = self._run(request)
        try:
            body = await request.json()
            rater = str(body["rater"]).strip()
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise InputError("The request names no rater.") from error
        rater = printable(rater, limit=100)
        async with self._turn:
            if run in self._rating and self._rating[run][1].rater != rater:
                await self._end_rating(run)
            if run not in self._rating:
                self._rating[run] = await asyncio.to_thread(self._begin_rating, run, rater)
        return web.json_response({"path": f"/runs/{self.runs.index(run)}/rate/"})

    def _begin_rating(self, run: str, rater: str) -> tuple[Ledger, RatingPage]:
        ledger = open_ledger(run, mode="write")
        try:
            return ledger, self.rating(ledger, rater)
        except BaseException:
            ledger.close()
            raise

    async def _end_rating(self, run: str) -> None:
        if (held := self._rating.pop(run, None)) is not None:
            async with held[1].turn:  # what is being written is written first
                await asyncio.to_thread(held[0].close)

    async def _close_rating(self, request: web.Request) -> web.Response:
        await self._end_rating(self._run(request))
        return web.json_response({})

    async def _rate(self, request: web.Request) -> web.Response:
        held = self._rating.get(self._run(request))
        if held is None:
            return error_reply(404, "Nobody is rating this run. Open it from the list of runs.")
        return await held[1].respond(request.match_info["name"], request)


def serve_runs(app: RunsApp, *, port: int = 0, ready: Callable[[str], None]) -> None:
    """Serve the app on loopback until interrupted; `ready` gets the address, which works once."""
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve_loopback(app.app(), port=port, ready=lambda base: ready(f"{base}/?token={app.guard.token}")))


class _Gone(SystemExit):
    """Raised in a thread whose work nobody waits for any more; no guard inside the work takes it for a fault."""


@contextlib.contextmanager
def _working(work: Callable[[], T]) -> "Iterator[tuple[asyncio.Future[T], threading.Thread]]":
    """What `work` will return, and the thread that does it; it stops at its next step where nobody waits any more."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def begin() -> None:
        try:
            found, fault = work(), None
        except BaseException as error:
            found, fault = None, error
        with contextlib.suppress(RuntimeError):  # the app has ended
            loop.call_soon_threadsafe(_settle, done, found, fault)

    thread = threading.Thread(target=begin, daemon=True)  # the end of the program does not wait for it
    thread.start()
    try:
        yield done, thread
    finally:
        if done.cancel() and thread.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(_Gone))


async def _in_thread(work: Callable[..., T], *given: object) -> T:
    with _working(lambda: work(*given)) as (done, _):
        return await done


async def _for_reader(request: web.Request, work: Callable[[], T]) -> T:
    """Do `work` in a thread while its reader is there."""
    if not _has_gone(request):
        with _working(work) as (done, thread):
            while not done.done() and not _has_gone(request):
                await asyncio.wait([done], timeout=LOOK_S)
            if done.done():
                return done.result()
        await _in_thread(thread.join)
    raise web.HTTPServiceUnavailable(reason="Nobody waits for the page any more.")


def _has_gone(request: web.Request) -> bool:
    return request.transport is None or request.transport.is_closing()


def _settle(done: "asyncio.Future[Any]", found: Any, fault: BaseException | None) -> None:
    if done.cancelled():
        return
    if fault is None:
        done.set_result(found)
    else:
        done.set_exception(fault)


def _download(body: bytes, name: str, kind: str) -> web.Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return web.Response(body=body, content_type=kind, headers=headers)


def _table(run: str, table: str, ending: str) -> bytes:
    dataset = read_run_tables(run)  # its outcomes are shown now
    with open_ledger(run) as ledger:
        frame = graded_answers(ledger, dataset) if table == "answers" else EXPORTS[table](ledger)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table.{ending}"
        export_table(frame, path)
        return path.read_bytes()


def _stamp(run: str) -> object:
    """What changes when the run does: how many answers of which conditions, and ratings."""
    with open_ledger(run, checked=False) as ledger:
        return ledger.state()


def _has_changed(run: str, stamp: object) -> bool:
    """Whether a run is not what it was when it was measured; one that cannot be read now says so in its line."""
    try:
        return [_stamp(run)] != stamp
    except RichterError:
        return True


def _render(document: Mapping[str, Any], source: str | list[str]) -> str:
    return render_report(document, read_tables(*source) if isinstance(source, list) else source)


def _one_item(run: str, item_id: str) -> dict[str, Any]:
    """Everything about one item: the question, every condition's answers and draws, every rating with its reason."""
    (tables,) = read_item_tables(run, [item_id])  # nothing of the others: a run may hold hundreds of thousands
    item = tables.items.get(item_id)
    if item is None:
        raise web.HTTPNotFound(reason="The run has no such item.")
    ratings = tables.ratings.filter(pl.col("item") == item_id).to_dicts()
    answers = tables.rows.filter(pl.col("item") == item_id).to_dicts()
    return {
        "item": item.id,
        "name": visible(item.id),
        "question": visible(item.prompt),
        "reference": visible(item.reference),
        "aliases": [visible(a) for a in item.aliases],
        "domain": visible(item.domain),
        "tier": item.tier,
        "answers": [_told(answer, ratings) for answer in answers],
        "draws": _draws(run, item_id),
    }


def _told(answer: Mapping[str, Any], ratings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    own = [r for r in ratings if (r["condition"], r["draw"]) == (answer["condition"], answer["draw"])]
    return {
        "condition": visible(answer["condition"]),
        "draw": answer["draw"],
        "answer": visible(answer["text"] or ""),
        "error": visible(answer["error"] or ""),
        "correct": None if answer["correct"] is None else bool(answer["correct"]),
        "score": answer["score"],
        "confidence": answer["confidence"],
        "ratings": [
            {
                "rater": visible(r["rater"]),
                "kind": r["kind"],
                "severity": r["severity"],
                "mechanism": visible(r["mechanism"] or ""),
                "reason": visible(r["reason"] or ""),
            }
            for r in own
        ],
    }


def _draws(run: str, item_id: str) -> list[dict[str, Any]]:
    """The repeated draws of an item, where the run has them as a part: answer texts with how often they came."""
    part = Path(run) / "draws"
    if not is_run(part):
        return []
    counts: dict[tuple[str, str], int] = defaultdict(int)
    with open_ledger(part, checked=False) as ledger:
        for answer in ledger.answers(item=item_id):
            if not answer.error:
                counts[answer.condition, answer.text.strip()] += 1
    rows = [{"condition": visible(c), "answer": visible(t), "times": n} for (c, t), n in counts.items()]
    return sorted(rows, key=lambda r: (str(r["condition"]), -int(str(r["times"])), str(r["answer"])))
