"""The local page on which a person rates answers: loopback only, one-time token, nothing in an answer can run."""

import hmac
import json
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from importlib import resources
from typing import Any

from aiohttp import web

from richter.errors import InputError
from richter.judge._rubric import check_mechanism, check_severity, rubric
from richter.judge._sample import Key, Sample
from richter.records import Answer, Item, Rating
from richter.store import Ledger

__all__ = ["RatingPage"]

COOKIE = "richter-rate"
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
FILES = {"page.js": "text/javascript", "page.css": "text/css"}
LONGEST_BODY = 10_000


class RatingPage:
    """One rater's session on one sample. Every rating is in the ledger before the next answer is shown.

    The address carries a token that works once and is exchanged for a cookie; after that nothing but the cookie opens
    the page. Requests must name this host (no DNS rebinding) and, where they change something, come from this page.
    What the rater sees is blind: neither condition, item id, judge score nor other raters.
    """

    def __init__(
        self, ledger: Ledger, sample: Sample, rater: str, items: Mapping[str, Item], answers: Mapping[Key, Answer]
    ) -> None:
        if not rater.strip():
            raise InputError("The rater has no name.", remedy="Give one with --rater.")
        self.ledger, self.sample, self.rater, self.items, self.answers = ledger, sample, rater, items, answers
        self.order = sample.order(rater)
        self.token = secrets.token_urlsafe(24)
        self._session = secrets.token_urlsafe(24)
        self._token_used = False
        self._again: int | None = None  # a task that was taken back
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
        return {"done": done, "total": len(self.order), "task": task}

    def rate(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Store one rating and go on."""
        number, severity = body.get("task"), body.get("severity")
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < len(self.order):
            raise InputError("That task does not exist.", remedy="Load the page again.")
        if isinstance(severity, bool) or not isinstance(severity, int | float):
            raise InputError("A rating needs a severity.", remedy="Choose a level from 0 to 8.")
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
            started_at=float(started) if isinstance(started, int | float) else None,
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
        """The web application; serve it on loopback only."""
        app = web.Application(middlewares=[self._guard], client_max_size=LONGEST_BODY)
        app.router.add_get("/", self._index)
        for name in FILES:
            app.router.add_get(f"/{name}", self._file)
        app.router.add_get("/api/scale", self._reply(lambda _: rubric().to_dict()))
        app.router.add_get("/api/next", self._reply(lambda _: self.state()))
        app.router.add_post("/api/rate", self._reply(self.rate))
        app.router.add_post("/api/undo", self._reply(lambda _: self.undo()))
        return app

    @web.middleware
    async def _guard(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        try:
            refusal = self._refuse(request)
            response = _error(403, refusal) if refusal else await handler(request)
        except InputError as error:
            response = _error(400, str(error))
        except web.HTTPException as error:
            response = _error(error.status, error.reason)
        response.headers.update(HEADERS)
        return response

    def _refuse(self, request: web.Request) -> str | None:
        here = request.transport.get_extra_info("sockname") if request.transport else None
        port = here[1] if here else None
        if request.host not in (f"127.0.0.1:{port}", f"localhost:{port}"):
            return "This page answers on its own address only."
        if request.method not in ("GET", "HEAD"):
            if request.headers.get("Origin") != f"http://{request.host}":
                return "Ratings are taken from the page itself only."
            if request.content_type != "application/json" or request.headers.get("X-Richter") != "1":
                return "Ratings are taken as JSON only."
        if request.path == "/" and "token" in request.query:
            return None  # checked, and used up, by the page itself
        if not hmac.compare_digest(request.cookies.get(COOKIE, ""), self._session):
            return "The address has been used. Start `richter rate` again for a new one."
        return None

    async def _index(self, request: web.Request) -> web.Response:
        given = request.query.get("token")
        if given is not None:
            if self._token_used or not hmac.compare_digest(given.encode(), self.token.encode()):
                return _error(403, "The address has been used. Start `richter rate` again for a new one.")
            self._token_used = True
            gone = web.Response(status=303, headers={"Location": "/"})
            gone.set_cookie(COOKIE, self._session, httponly=True, samesite="Strict", path="/")
            return gone
        return web.Response(text=_read("index.html"), content_type="text/html")

    async def _file(self, request: web.Request) -> web.Response:
        name = request.path.removeprefix("/")
        return web.Response(text=_read(name), content_type=FILES[name])

    def _reply(
        self, act: Callable[[Mapping[str, Any]], dict[str, Any]]
    ) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(request: web.Request) -> web.Response:
            body: Any = {}
            if request.method == "POST":
                try:
                    body = await request.json()
                except (json.JSONDecodeError, UnicodeDecodeError) as error:
                    raise InputError("The request is not JSON.") from error
                if not isinstance(body, dict):
                    raise InputError("The request is not a JSON object.")
            return web.json_response(act(body))

        return handle


def _read(name: str) -> str:
    return resources.files("richter.judge").joinpath("page").joinpath(name).read_text(encoding="utf-8")


def _error(status: int, text: str) -> web.Response:
    return web.json_response({"error": text}, status=status)
