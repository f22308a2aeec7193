"""Who may open a local page: this machine, once by the printed address, then by a cookie; never another site."""

import asyncio
import hmac
import logging
import secrets
from collections.abc import Awaitable, Callable

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from richter.errors import InputError, RichterError

__all__ = ["LoopbackGuard", "error_reply", "serve_loopback"]

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


PATIENCE_S = 0.5  # how long replies that are under way may take at the end


class LoopbackGuard:
    """The middleware of a local page.

    The address carries a token that works once and is exchanged for a cookie; after that nothing but the cookie opens
    the page. Requests must name this host (no DNS rebinding) and, where they change something, come from the page
    itself. `command` is what the user starts again for a new address. A handler may set a header; the rest of
    `HEADERS` is added to every reply.
    """

    def __init__(self, *, cookie: str, command: str) -> None:
        self.token = secrets.token_urlsafe(24)
        self._name, self._used_up = cookie, f"The address has been used. Start `{command}` again for a new one."
        self._session = secrets.token_urlsafe(24)
        self._token_used = False

    @web.middleware
    async def middleware(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Let a request through, or refuse it; errors of ours become one JSON line."""
        try:
            if request.path == "/" and "token" in request.query and not self._foreign(request):
                response: web.StreamResponse = self._redeem(request)
            else:
                refusal = self._foreign(request) or self._stranger(request)
                response = error_reply(403, refusal) if refusal else await handler(request)
        except RichterError as error:
            response = error_reply(400, str(error))
        except web.HTTPException as error:
            response = error_reply(error.status, error.reason)
        except (ValueError, TypeError, OverflowError, RecursionError):
            if request.method in ("GET", "HEAD"):
                raise
            response = error_reply(400, "The request cannot be understood.")  # whatever a body holds
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    def _foreign(self, request: web.Request) -> str | None:
        port = _port(request)
        if request.host not in (f"127.0.0.1:{port}", f"localhost:{port}"):
            return "This page answers on its own address only."
        if request.method not in ("GET", "HEAD"):
            if request.headers.get("Origin") != f"http://{request.host}":
                return "Changes are taken from the page itself only."
            if request.content_type != "application/json" or request.headers.get("X-Richter") != "1":
                return "Changes are taken as JSON only."
        return None

    def _stranger(self, request: web.Request) -> str | None:
        given = request.cookies.get(self._cookie(request), "")
        return None if hmac.compare_digest(given.encode(), self._session.encode()) else self._used_up

    def _cookie(self, request: web.Request) -> str:
        """Its name for this server: browsers keep one set of cookies for all the ports of a machine."""
        return f"{self._name}-{_port(request)}"

    def _redeem(self, request: web.Request) -> web.Response:
        given = request.query["token"]
        if self._token_used or not hmac.compare_digest(given.encode(), self.token.encode()):
            return error_reply(403, self._used_up)
        self._token_used = True
        redirect = web.Response(status=303, headers={"Location": "/"})
        redirect.set_cookie(self._cookie(request), self._session, httponly=True, samesite="Strict", path="/")
        return redirect


def _port(request: web.Request) -> int | None:
    here = request.transport.get_extra_info("sockname") if request.transport else None
    return here[1] if here else None


def error_reply(status: int, text: str) -> web.Response:
    """An error as one line of JSON."""
    return web.json_response({"error": text}, status=status)


def _is_own_fault(record: logging.LogRecord) -> bool:
    """Whether a fault is ours: a request that is not HTTP is answered, and nothing to print."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


async def serve_loopback(
    app: web.Application, *, port: int, ready: Callable[[str], None], ended: Callable[[], bool] = lambda: False
) -> None:
    """Serve an app on this machine only, until `ended`; `ready` gets its address without the token."""
    logger = logging.getLogger(__name__)
    logger.addFilter(_is_own_fault)
    runner = web.AppRunner(app, access_log=None, logger=logger, shutdown_timeout=PATIENCE_S)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, "127.0.0.1", port).start()
        except OSError as error:
            raise InputError(f"Port {port} cannot be used: {error.strerror}.", remedy="Leave --port out.") from error
        ready(f"http://127.0.0.1:{runner.addresses[0][1]}")
        while not ended():
            await asyncio.sleep(0.5)
        await asyncio.sleep(1.0)  # let the page show that all is done
    finally:
        await runner.cleanup()
