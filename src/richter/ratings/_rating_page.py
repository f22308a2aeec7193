"""The local page on which a person rates answers: loopback only, one-time token, nothing in an answer can run."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

from aiohttp import web

from richter.errors import InputError
from richter.ratings._guard import LoopbackGuard, error_reply
from richter.ratings._rubric import check_mechanism, check_severity, rubric
from richter.ratings._sample import Key, Sample
from richter.records import Answer, Item, Rating
from richter.store import Ledger

__all__ = ["RatingPage"]

FILES = {
    "": ("index.html", "text/html"),
    "page.js": ("page.js", "text/javascript"),
    "page.css": ("page.css", "text/css"),
}
LONGEST_BODY = 10_000


class RatingPage:
    """One rater's session on one sample. Every rating is in the ledger before the next answer is shown.

    What the rater sees is blind: neither condition, item id, judge score nor other raters. `claim` says where the
    labelled claim stands: `claim` in words, `span` with `low`, `estimate`, `high` and which end is `better`. `more`
    gives the sample with its next batch once this one is rated, or None to end.
    """

    def __init__(
        self,
        ledger: Ledger,
        sample: Sample,
        rater: str,
        items: Mapping[str, Item],
        answers: Mapping[Key, Answer],
        *,
        claim: Callable[[], Mapping[str, Any]] | None = None,
        more: Callable[[Sample], Sample | None] | None = None,
    ) -> None:
        if not rater.strip():
            raise InputError("The rater has no name.", remedy="Give one with --rater.")
        self.ledger, self.sample, self.rater, self.items, self.answers = ledger, sample, rater, items, answers
        self.order = sample.order(rater)
        self._claim, self._more = claim, more
        self.guard = LoopbackGuard(cookie="richter-rate", command="richter label")
        self.turn = asyncio.Lock()
        self._again: int | None = None  # a task that was taken back
        self.actions: dict[tuple[str, str], Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            ("GET", "api/scale"): lambda _: rubric().to_dict(),
            ("GET", "api/next"): lambda _: self.state(),
            ("POST", "api/rate"): self.rate,
            ("POST", "api/undo"): lambda _: self.undo(),
        }
        self.rated = {(r.item, r.condition, r.draw): r for r in ledger.ratings(kind="human") if r.rater == rater}

    # ---- the rating itself ---------------------------------------------------------------------------------------

    def _key(self, number: int) -> Key:
        return self.sample.chosen[self.order[number]]

    def state(self) -> dict[str, Any]:
        """Progress and the next answer to rate: the one taken back, else the first unrated in this rater's order."""
        numbers = range(len(self.order))
        done = sum(self._key(n) in self.rated for n in numbers)
        number = self._again
        if number is None:
            number = next((n for n in numbers if self._key(n) not in self.rated), None)
        if number is None and self._more is not None:  # a batch is done: the next one, unless the claim is decided
            larger = self._more(self.sample)
            if larger is not None:
                number, self.sample, self.order = len(self.order), larger, larger.order(self.rater)
        task = None
        if number is not None:
            key = self._key(number)
            item, before = self.items[key[0]], self.rated.get(key)
            task = {
                "number": number,
                "question": item.prompt,
                "reference": item.reference,
                "answer": self.answers[key].text,
                "severity": before.severity if before else None,
                "mechanism": before.mechanism if before else "",
            }
        claim = {"claim": "", "span": None} if self._claim is None else self._claim()
        return {"done": done, "total": len(self.order), "task": task, **claim}

    def rate(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Store one rating and go on."""
        number, severity = body.get("task"), body.get("severity")
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < len(self.order):
            raise InputError("That task does not exist.", remedy="Load the page again.")
        if isinstance(severity, bool) or not isinstance(severity, int | float) or not 0 <= severity <= 4:
            raise InputError("A rating needs a severity.", remedy="Choose a level from 0 to 4.")
        mechanism = check_mechanism(str(body.get("mechanism") or ""))
        if severity == 0:
            mechanism = ""
        started = body.get("started_at")
        item, condition, draw = key = self._key(number)
        rating = Rating(
            item=item,
            condition=condition,
            draw=draw,
            rater=self.rater,
            kind="human",
            severity=check_severity(float(severity)),
            mechanism=mechanism,
            started_at=_moment(started),
            ended_at=time.time(),
        )
        self.ledger.add_ratings([rating])
        self.rated[key] = rating
        self._again = None
        return self.state()

    def undo(self) -> dict[str, Any]:
        """Show the last rated answer again, with its rating, to be changed; the old one stays until it is."""
        mine = [(self.rated[k].ended_at or 0.0, n) for n in range(len(self.order)) if (k := self._key(n)) in self.rated]
        if mine:
            self._again = max(mine)[1]
        return self.state()

    # ---- the server ----------------------------------------------------------------------------------------------

    def app(self) -> web.Application:
        """The web application of this page alone; serve it on loopback only."""
        app = web.Application(middlewares=[self.guard.middleware], client_max_size=LONGEST_BODY)

        async def handle(request: web.Request) -> web.Response:
            return await self.respond(request.match_info["name"], request)

        app.router.add_route("*", "/{name:.*}", handle)
        return app

    async def respond(self, name: str, request: web.Request) -> web.Response:
        """What the page holds under `name`; a server with more pages gives this one a folder of its own."""
        if request.method == "GET" and name in FILES:
            file, kind = FILES[name]
            return web.Response(text=_read(file), content_type=kind)
        act = self.actions.get((request.method, name))
        if act is None:
            return error_reply(404, "There is nothing here.")
        body = await _body(request) if request.method == "POST" else {}
        async with (
            self.turn
        ):  # one after the other, beside the event loop: a database that is lost holds up nobody else
            return web.json_response(await asyncio.to_thread(act, body))


async def _body(request: web.Request) -> Mapping[str, Any]:
    try:
        body = await request.json()
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError("The request is not JSON.") from error
    if not isinstance(body, dict):
        raise InputError("The request is not a JSON object.")
    return body


def _moment(value: object) -> float | None:
    """A time since 1970 that a page gave, if it is one."""
    return float(value) if isinstance(value, int | float) and 0 < value < 1e11 else None


def _read(name: str) -> str:
    return resources.files("richter.ratings").joinpath("page").joinpath(name).read_text(encoding="utf-8")
