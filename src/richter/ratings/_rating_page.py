"""The local page on which a person rates answers: loopback only, one-time token, nothing in an answer can run."""

import asyncio
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from aiohttp import web

from richter.errors import InputError
from richter.ratings._disagreements import Disagreement, find_disagreements, rater_progress
from richter.ratings._guard import LoopbackGuard, error_reply
from richter.ratings._rubric import GRID, check_mechanism, check_severity, rubric
from richter.ratings._sample import Key, Sample
from richter.records import Answer, Item, Rating, printable
from richter.store import Ledger
from richter.words._label_texts import ClaimStanding, describe_label_effect, describe_standing

__all__ = ["RatingPage"]

FILES = {
    "": ("ratings/page/index.html", "text/html"),
    "page.js": ("ratings/page/page.js", "text/javascript"),
    "page.css": ("ratings/page/page.css", "text/css"),
    "app_frame.css": ("ratings/page/app_frame.css", "text/css"),
    "tokens.css": ("report/page/tokens.css", "text/css"),  # a file that all pages share, no code
}
LONGEST_BODY = 10_000


class RatingPage:
    """One rater's session on one sample. Every rating is in the ledger before the next answer is shown.

    What the rater sees is blind: neither condition, item id, judge score nor other people's labels; only where two
    others differ does a third person see their labels, to settle it. `claim` says where the labelled claim stands.
    `more` gives the sample with its next batch once this one is rated, or None to end.
    """

    def __init__(
        self,
        ledger: Ledger,
        sample: Sample,
        rater: str,
        items: Mapping[str, Item],
        answers: Mapping[Key, Answer],
        *,
        claim: Callable[[], ClaimStanding] | None = None,
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
        self._is_finished = False  # as the last state had it
        self._standing: ClaimStanding | None = None  # of the claim, with the labels so far
        self._before: ClaimStanding | None = None  # the same before the last label
        self.actions: dict[tuple[str, str], Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            ("GET", "api/scale"): lambda _: rubric().to_dict(),
            ("GET", "api/next"): lambda _: self.state(),
            ("POST", "api/rate"): self.rate,
            ("POST", "api/undo"): lambda _: self.undo(),
            ("GET", "api/disagreements"): lambda _: self.disagreements(),
            ("POST", "api/settle"): self.settle,
        }
        self.rated = {(r.item, r.condition, r.draw): r for r in ledger.ratings(kind="human") if r.rater == rater}

    # ---- the rating itself ---------------------------------------------------------------------------------------

    def _key(self, number: int) -> Key:
        return self.sample.chosen[self.order[number]]

    def state(self) -> dict[str, Any]:
        """Progress and the next answer to rate: the one taken back, else the first unrated in this rater's order."""
        done = sum(self._key(n) in self.rated for n in range(len(self.order)))
        number = self._next_number()
        task = None if number is None else self._task(number)
        people = self.ledger.ratings(kind="human")
        waiting = [d for d in self._disputed(people) if self.rater not in d.raters and d.third is None]
        self._is_finished = task is None and not waiting
        return {
            "done": done,
            "total": len(self.order),
            "run": printable(Path(self.ledger.name).name, limit=80),
            "rater": self.rater,
            "task": task,
            "raters": self._progress(people),
            "disagreements": len(waiting),
            **self._claim_now(),
        }

    def _next_number(self) -> int | None:
        """The place of the next answer to rate; a batch that is done is followed by the next one, if there is one."""
        if self._again is not None:
            return self._again
        number = next((n for n in range(len(self.order)) if self._key(n) not in self.rated), None)
        if number is None and self._more is not None:
            larger = self._more(self.sample)
            if larger is not None:
                number, self.sample, self.order = len(self.order), larger, larger.order(self.rater)
        return number

    def _task(self, number: int) -> dict[str, Any]:
        """What the page shows of an answer, with this rater's own label where there is one."""
        key = self._key(number)
        item, before = self.items[key[0]], self.rated.get(key)
        return {
            "number": number,
            "question": item.prompt,
            "reference": item.reference,
            "answer": self.answers[key].text,
            "severity": before.severity if before else None,
            "mechanism": before.mechanism if before else "",
        }

    def is_finished(self) -> bool:
        """Whether this rater had nothing left to do at the last state: no answer to label, no disagreement to settle.

        The server asks this beside requests that are being answered, so it reads and draws nothing.
        """
        return self._is_finished

    def _progress(self, people: Sequence[Rating]) -> list[dict[str, Any]]:
        counts = {self.rater: 0} | rater_progress(people, self.sample.chosen)
        total = len(self.sample.chosen)
        return [
            {"name": printable(name, limit=80), "done": done, "total": total, "is_you": name == self.rater}
            for name, done in counts.items()
        ]

    def _claim_now(self) -> dict[str, Any]:
        """Where the claim stands in words and on its rail, and what the last label did to it."""
        if self._claim is None:
            return {"claim": "", "span": None, "effect": None}
        if self._standing is None:
            self._standing = self._claim()
        now, before = self._standing, self._before
        words = describe_label_effect(before, now)
        effect = {"words": words, "before": _ends(before) if before else None} if words else None
        return {"claim": describe_standing(now), "sentence": now.sentence, "span": _ends(now), "effect": effect}

    def _save(self, rating: Rating) -> None:
        """Put a label into the ledger, and remember where the claim stood before it."""
        before = self._standing
        self.ledger.add_ratings([rating])
        self.rated[rating.item, rating.condition, rating.draw] = rating
        self._before, self._standing = before, None

    # ---- what two others differ on -------------------------------------------------------------------------------

    def _disputed(self, people: Sequence[Rating]) -> list[Disagreement]:
        return find_disagreements(people, self.sample.chosen)

    def disagreements(self) -> dict[str, Any]:
        """The answers that two others labelled differently, and how many await a third label because of this rater's.

        Of the latter nothing more is told: a rater who saw them would not label blind any longer.
        """
        people = self.ledger.ratings(kind="human")
        found = self._disputed(people)
        numbers = {key: number for number, key in enumerate(self.sample.chosen)}
        rows = [self._disputed_row(d, numbers[d.key]) for d in found if self.rater not in d.raters]
        own = [d for d in found if self.rater in d.raters]
        return {
            "rows": rows,
            "yours": len([d for d in own if d.third is None]),
            "raters": self._progress(people),
            **self._claim_now(),
        }

    def _disputed_row(self, found: Disagreement, number: int) -> dict[str, Any]:
        low, high = found.ends
        third = found.third
        return {
            "number": number,
            "question": self.items[found.key[0]].prompt,
            "reference": self.items[found.key[0]].reference,
            "answer": self.answers[found.key].text,
            "labels": [
                {"rater": printable(r.rater, limit=80), "severity": r.severity, "mechanism": r.mechanism}
                for r in (found.first, found.second)
            ],
            "levels": [level for level in GRID if low <= level <= high],
            "settled": None if third is None else third.severity,
            "settled_by": None if third is None else printable(third.rater, limit=80),
            "is_yours": third is None or third.rater == self.rater,
        }

    def settle(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Store a third label between the two that differ, and list what is left."""
        number, severity = body.get("answer"), body.get("severity")
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < len(self.sample.chosen):
            raise InputError("That answer does not exist.", remedy="Load the page again.")
        key = self.sample.chosen[number]
        found = next((d for d in self._disputed(self.ledger.ratings(kind="human")) if d.key == key), None)
        if found is None or self.rater in found.raters or (found.third and found.third.rater != self.rater):
            raise InputError("That disagreement is not yours to settle.", remedy="Load the page again.")
        if isinstance(severity, bool) or not isinstance(severity, int | float) or severity not in GRID:
            raise InputError("A label needs a severity.", remedy="Choose one of the levels.")
        low, high = found.ends
        if not low <= severity <= high:
            raise InputError(
                "The third label lies between the two.", remedy=f"Choose a level from {low:g} to {high:g}."
            )
        item, condition, draw = key
        nearest = min((found.first, found.second), key=lambda r: abs(float(r.severity or 0.0) - severity))
        self._save(
            Rating(
                item=item,
                condition=condition,
                draw=draw,
                rater=self.rater,
                kind="human",
                severity=float(severity),
                mechanism=nearest.mechanism if severity else "",
                started_at=_moment(body.get("started_at")),
                ended_at=time.time(),
            )
        )
        self.state()
        return self.disagreements()

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
        item, condition, draw = self._key(number)
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
        self._save(rating)
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
        async with self.turn:  # one after the other, beside the event loop: a slow disk holds up nobody else
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


def _ends(standing: ClaimStanding) -> dict[str, Any] | None:
    """A claim's estimate and interval for its rail, and which end of it is better; None before there are any."""
    ends = standing.interval
    if ends is None or not (math.isfinite(ends.low) and math.isfinite(ends.high)):
        return None
    better = standing.metric.better if standing.is_difference else None
    return {
        "low": ends.low,
        "estimate": standing.estimate,
        "high": ends.high,
        "better": better,
    }


def _read(name: str) -> str:
    return resources.files("richter").joinpath(*name.split("/")).read_text(encoding="utf-8")
