"""`richter view`: a local web app over runs. Loopback only; what models wrote is shown as text and never runs."""

import asyncio
import contextlib
import dataclasses
import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import polars as pl
from aiohttp import web

from richter.errors import InputError, RichterError
from richter.interop import EXPORTS, export_table
from richter.judge import LoopbackGuard, RatingPage, error_reply, serve_loopback
from richter.records import Item, printable
from richter.report._evidence import read_run_tables, visible
from richter.report._page import render_report
from richter.store import LEDGER_NAME, DatabaseRun, Ledger, has_ledger, open_ledger, run_part, run_place
from richter.store import find_runs as find_runs_in
from richter.tables import Tables

__all__ = ["RunsApp", "find_runs", "serve_runs"]

FILES = {
    "/": ("index.html", "text/html"),
    "/view.js": ("view.js", "text/javascript"),
    "/view.css": ("view.css", "text/css"),
}
PAGE = 100  # items in one reply of the list
LONGEST_BODY = 10_000
# The report brings its own policy; here it is kept from reading anything of the app and from being framed by others.
REPORT_HEADERS = {
    "Content-Security-Policy": "sandbox allow-scripts allow-downloads; frame-ancestors 'self'",
    "X-Frame-Options": "SAMEORIGIN",
}
TYPES = {".csv": "text/csv", ".jsonl": "application/x-ndjson", ".parquet": "application/octet-stream"}


def find_runs(places: Sequence[str]) -> list[str]:
    """The runs at `places`: a run itself, or the runs in a folder; each once, in order."""
    found: dict[str, None] = {}
    for place in places:
        folder = run_place(place)
        if isinstance(folder, DatabaseRun):  # one run of it, or all
            inside = [folder] if "#" in place else find_runs_in(folder)
            found |= dict.fromkeys(f"{folder.url}#{run.name}" for run in inside)
            continue
        if (folder / LEDGER_NAME).exists():
            found[place] = None
            continue
        if not folder.is_dir():
            raise InputError(
                f"{place} is no run and no folder of runs.", remedy="`richter run list` shows what is here."
            )
        found |= dict.fromkeys(str(path.parent) for path in sorted(folder.glob(f"*/{LEDGER_NAME}")))
    return list(found)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Index:
    """A run's items with the severity of each condition's answer, to list and to filter."""

    tables: Tables
    severity: Mapping[tuple[str, str], float | None]  # of (item, condition) answered at draw 0
    mechanism: Mapping[tuple[str, str], str]

    @property
    def items(self) -> Mapping[str, Item]:
        """Every item."""
        return self.tables.items

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions' names."""
        return self.tables.conditions

    @property
    def kind(self) -> str | None:
        """Whose ratings the severities are."""
        return self.tables.counting


class RunsApp:
    """The app over some runs.

    `measure` makes a run's results document (`audit.measure_run`), `rating` opens a rating page on a run; both are
    handed in, since this room may not import the one that makes them.
    """

    def __init__(
        self,
        runs: Sequence[str],
        *,
        measure: Callable[[str], Mapping[str, Any]],
        rating: Callable[[Ledger, str], RatingPage],
        archive: Callable[[str, Path], None],
    ) -> None:
        self.runs, self.measure, self.rating, self.archive = list(runs), measure, rating, archive
        self.guard = LoopbackGuard(cookie="richter-view", command="richter view")
        self._documents: dict[str, tuple[object, Mapping[str, Any]]] = {}
        self._indexes: dict[str, tuple[object, _Index]] = {}
        self._rating: dict[str, tuple[Ledger, RatingPage]] = {}
        self._measuring, self._rendering = asyncio.Lock(), asyncio.Lock()
        self._pages: tuple[str, object, str] | None = None  # the last page: a run, the document it shows, its text

    def app(self) -> web.Application:
        """The web application; serve it on loopback only."""
        app = web.Application(middlewares=[self.guard.middleware], client_max_size=LONGEST_BODY)
        for path in FILES:
            app.router.add_get(path, self._file)
        app.router.add_get("/api/runs", self._list)
        app.router.add_get(r"/api/runs/{run:\d+}/items", self._items)
        app.router.add_get(r"/api/runs/{run:\d+}/item", self._item)
        app.router.add_post(r"/api/runs/{run:\d+}/rate", self._open_rating)
        app.router.add_post(r"/api/runs/{run:\d+}/rate/close", self._close_rating)
        app.router.add_get(r"/runs/{run:\d+}/report", self._report)
        app.router.add_get(r"/runs/{run:\d+}/export/{name}", self._export)
        app.router.add_route("*", r"/runs/{run:\d+}/rate/{name:.*}", self._rate)
        app.on_cleanup.append(self._close)
        return app

    def _run(self, request: web.Request) -> str:
        number = int(request.match_info["run"][:9])
        if number >= len(self.runs):
            raise web.HTTPNotFound(reason="There is no such run.")
        return self.runs[number]

    async def _close(self, _: web.Application) -> None:
        for ledger, _page in self._rating.values():
            ledger.close()

    async def _file(self, request: web.Request) -> web.Response:
        name, kind = FILES[request.path]
        text = resources.files("richter.report").joinpath("view").joinpath(name).read_text(encoding="utf-8")
        return web.Response(text=text, content_type=kind)

    # ---- runs, and how far one has come --------------------------------------------------------------------------

    async def _list(self, _: web.Request) -> web.Response:
        # a few at once: a database far away takes its time for each
        rows = await asyncio.gather(*(asyncio.to_thread(_state, n, run) for n, run in enumerate(self.runs)))
        return web.json_response({"runs": list(rows), "now": time.time()})

    # ---- items and answers ---------------------------------------------------------------------------------------

    async def _items(self, request: web.Request) -> web.Response:
        index = await asyncio.to_thread(self._index, self._run(request))
        return web.json_response(_listed(index, request.query))

    async def _item(self, request: web.Request) -> web.Response:
        found = await asyncio.to_thread(_one_item, self._run(request), request.query.get("item", ""))
        return web.json_response(found)

    def _index(self, run: str) -> _Index:
        stamp = _stamp(run)
        known = self._indexes.get(run)
        if known is None or known[0] != stamp:
            known = self._indexes[run] = (stamp, _read_index(run))
        return known[1]

    # ---- the report ----------------------------------------------------------------------------------------------

    async def _document(self, run: str) -> Mapping[str, Any]:
        async with self._measuring:  # one at a time: it takes both cores of a small machine
            stamp = await asyncio.to_thread(_stamp, run)
            known = self._documents.get(run)
            if known is None or known[0] != stamp:
                known = self._documents[run] = (stamp, await asyncio.to_thread(self.measure, run))
            return known[1]

    async def _report(self, request: web.Request) -> web.Response:
        text = await self._rendered(request)
        return web.Response(text=text, content_type="text/html", headers=REPORT_HEADERS)

    async def _rendered(self, request: web.Request) -> str:
        """The run's page: made one at a time, kept until the run changes, and not made for a reader who has gone."""
        run = self._run(request)
        document = await self._document(run)
        async with self._rendering:
            if request.transport is None or request.transport.is_closing():
                raise web.HTTPServiceUnavailable(reason="Nobody waits for the page any more.")
            known = self._pages
            if known is None or known[0] != run or known[1] is not document:
                known = self._pages = (run, document, await asyncio.to_thread(render_report, document, run))
            return known[2]

    async def _export(self, request: web.Request) -> web.Response:
        run, name = self._run(request), request.match_info["name"]
        stem, _, ending = name.rpartition(".")
        if name == "results.json":
            body = json.dumps(await self._document(run), ensure_ascii=False, indent=1).encode()
            return _download(body, name, "application/json")
        if name == "report.html":
            return _download((await self._rendered(request)).encode(), name, "application/octet-stream")
        if name == "evidence.zip":
            return _download(await asyncio.to_thread(self._archived, run), name, "application/zip")
        if stem in EXPORTS and f".{ending}" in TYPES:
            return _download(await asyncio.to_thread(_table, run, stem, ending), name, TYPES[f".{ending}"])
        raise web.HTTPNotFound(reason="There is no such export.")

    def _archived(self, run: str) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "evidence.zip"
            self.archive(run, path)
            return path.read_bytes()

    # ---- rating --------------------------------------------------------------------------------------------------

    async def _open_rating(self, request: web.Request) -> web.Response:
        run = self._run(request)
        try:
            body = await request.json()
            rater = str(body["rater"]).strip()
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise InputError("The request names no rater.") from error
        rater = printable(rater, limit=100)
        if run in self._rating and self._rating[run][1].rater != rater:
            self._rating.pop(run)[0].close()
        if run not in self._rating:
            ledger = open_ledger(run, mode="write")
            try:
                self._rating[run] = (ledger, self.rating(ledger, rater))
            except BaseException:
                ledger.close()
                raise
        return web.json_response({"path": f"/runs/{self.runs.index(run)}/rate/"})

    async def _close_rating(self, request: web.Request) -> web.Response:
        if (held := self._rating.pop(self._run(request), None)) is not None:
            held[0].close()
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


def _download(body: bytes, name: str, kind: str) -> web.Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return web.Response(body=body, content_type=kind, headers=headers)


def _table(run: str, table: str, ending: str) -> bytes:
    read_run_tables(run)  # its outcomes are shown now
    with open_ledger(run) as ledger:
        frame = EXPORTS[table](ledger)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table.{ending}"
        export_table(frame, path)
        return path.read_bytes()


def _stamp(run: str) -> object:
    """What changes when the run does: how many answers of which conditions, and ratings."""
    with open_ledger(run, checked=False) as ledger:
        return ledger.state()


def _state(number: int, run: str) -> dict[str, Any]:
    """One line of the list. A run that cannot be read says why and does not hide the others."""
    row: dict[str, Any] = {"run": number, "name": run_place(run).name}
    try:
        with open_ledger(run, checked=False) as ledger:  # what reads all of it is what holds it against its hashes
            items = len(ledger.items())
            counts = ledger.counts()
            spent = ledger.spent()
            writing = ledger.being_written()
            conditions = [
                {
                    "name": visible(c.name),
                    "expected": items,
                    "answered": counts.get(c.name, (0, 0))[0],
                    "failed": counts.get(c.name, (0, 0))[1],
                }
                for c in ledger.conditions()
            ]
    except RichterError as error:
        return {**row, "error": str(error)}
    return {
        **row,
        "items": items,
        "conditions": conditions,
        "writing": writing,
        "calls": spent.calls,
        "tokens": spent.tokens,
        "money_usd": spent.money_usd,
    }


def _read_index(run: str) -> _Index:
    tables = read_run_tables(run)
    first = tables.rows.filter(pl.col("draw") == 0, pl.col("error").fill_null("") == "")
    graded = (
        pl.when(pl.col("correct") == 0).then(1.0).when(pl.col("correct") == 1).then(0.0)
    )  # wrong, how badly unknown
    shown = pl.col("severity") if tables.counting else graded
    severity = {(i, c): s for i, c, s in first.select("item", "condition", shown.alias("shown")).iter_rows()}
    named = tables.ratings.filter(pl.col("draw") == 0, pl.col("kind") == (tables.counting or ""))
    mechanism: dict[tuple[str, str], str] = {}
    for item, condition, text in named.select("item", "condition", "mechanism").iter_rows():
        mechanism.setdefault((item, condition), text or "")
    return _Index(tables=tables, severity=severity, mechanism=mechanism)


def _listed(index: _Index, query: Mapping[str, str]) -> dict[str, Any]:
    """A page of the items that match a query: words, domain, tier, mechanism, least severity, different only."""
    words = query.get("search", "").casefold().split()
    named = (query.get("condition"), query.get("other"))
    wanted = [c for c in index.conditions if visible(c) in named] or list(index.conditions)
    least = _number(query, "severity")
    found = [
        item
        for item in index.items.values()
        if all(w in f"{item.id} {item.prompt} {item.reference}".casefold() for w in words)
        and query.get("domain") in (None, visible(item.domain))
        and query.get("tier") in (None, str(item.tier))
        and (least is None or any((index.severity.get((item.id, c)) or 0.0) >= least for c in wanted))
        and ("mechanism" not in query or any(index.mechanism.get((item.id, c)) == query["mechanism"] for c in wanted))
        and ("different" not in query or _differ(index, item.id, wanted))
    ]
    start = min(int(_number(query, "offset") or 0), len(found))
    rows = [
        {
            "item": item.id,
            "question": visible(item.prompt[:300]),
            "domain": visible(item.domain),
            "tier": item.tier,
            "severity": [index.severity.get((item.id, c)) for c in index.conditions],
        }
        for item in found[max(start, 0) : max(start, 0) + PAGE]
    ]
    names = [visible(c) for c in index.conditions]
    domains = sorted({visible(i.domain) for i in index.items.values() if i.domain})
    return {
        "total": len(found),
        "offset": start,
        "page": PAGE,
        "conditions": names,
        "kind": index.kind,
        "domains": domains,
        "rows": rows,
    }


def _number(query: Mapping[str, str], name: str) -> float | None:
    if query.get(name, "") == "":
        return None
    try:
        value = float(query[name])
    except ValueError as error:
        raise InputError(f"{name} is {query[name][:40]!r}, no number.") from error
    if not 0 <= value < 1e9:
        raise InputError(f"{name} is out of range.")
    return value


def _differ(index: _Index, item: str, conditions: Sequence[str]) -> bool:
    """Whether some of these conditions got the item right and some wrong."""
    wrong = {s > 0 for c in conditions if (s := index.severity.get((item, c))) is not None}
    return len(wrong) == 2


def _one_item(run: str, item_id: str) -> dict[str, Any]:
    """Everything about one item: the question, every condition's answers and draws, every rating with its reason."""
    tables = read_run_tables(run, item=item_id)  # nothing of the others: a run may hold hundreds of thousands
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
    part = run_part(run, "draws")
    if not has_ledger(part):
        return []
    counts: dict[tuple[str, str], int] = defaultdict(int)
    with open_ledger(part, checked=False) as ledger:
        for answer in ledger.answers(item=item_id):
            if not answer.error:
                counts[answer.condition, answer.text.strip()] += 1
    rows = [{"condition": visible(c), "answer": visible(t), "times": n} for (c, t), n in counts.items()]
    return sorted(rows, key=lambda r: (str(r["condition"]), -int(str(r["times"])), str(r["answer"])))
