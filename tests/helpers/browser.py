"""A real Chromium over the WebDriver protocol, as much of it as the tests of the pages need."""

import base64
import contextlib
import importlib.resources
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

__all__ = ["Browser", "open_browser"]

ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


class Browser:
    """One window. `logged()` returns what the console said, `requests()` what went to any network."""

    def __init__(self, port: int, folder: Path) -> None:
        self.base = f"http://127.0.0.1:{port}"
        wanted = {
            "browserName": "chrome",
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            "goog:chromeOptions": {
                "args": [*ARGUMENTS, f"--user-data-dir={folder}"],
                "binary": shutil.which("chromium"),
                "perfLoggingPrefs": {"enableNetwork": True, "enablePage": False},
            },
        }
        reply = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.base += f"/session/{reply['sessionId']}"
        self.call("POST", "/timeouts", {"script": 120_000})

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.base + path, data=data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=180) as reply:
                return json.loads(reply.read())["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(json.loads(error.read())["value"]["message"]) from error

    def go(self, url: str) -> None:
        self.call("POST", "/url", {"url": url})

    def script(self, text: str, *arguments: object) -> Any:
        return self.call("POST", "/execute/sync", {"script": text, "args": list(arguments)})

    def promise(self, text: str) -> Any:
        """The value of a promise; its failure is an error here."""
        body = f"const done = arguments[0]; ({text}).then((v) => done({{v}}), (e) => done({{e: String(e)}}))"
        reply = self.call("POST", "/execute/async", {"script": body, "args": []})
        assert "e" not in reply, reply["e"]
        return reply.get("v")

    def press(self, keys: str) -> None:
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def wait(self, condition: str, *, seconds: float = 30) -> None:
        deadline = time.monotonic() + seconds
        while not self.script(f"return Boolean({condition})"):
            assert time.monotonic() < deadline, condition
            time.sleep(0.05)

    def devtools(self, command: str, **parameters: Any) -> Any:
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def size(self, width: int, height: int) -> None:
        """The size of what the page sees, also below the narrowest window."""
        self.devtools(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def dark(self, on: bool) -> None:
        features = [{"name": "prefers-color-scheme", "value": "dark" if on else "light"}]
        self.devtools("Emulation.setEmulatedMedia", features=features)

    def picture(self, path: Path, *, whole: bool = False) -> None:
        reply = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(reply["data"]))

    def barriers(self) -> list[Any]:
        """What axe-core calls serious or critical on the page as it is."""
        self.script(importlib.resources.files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
        found = self.promise(
            "axe.run({resultTypes: ['violations']}).then((r) => r.violations"
            ".map((v) => [v.impact, v.id, v.nodes.slice(0, 3)"
            ".map((n) => n.html.slice(0, 200) + n.failureSummary.slice(0, 200))]))"
        )
        return [violation for violation in found if violation[0] in ("serious", "critical")]

    def logged(self) -> list[str]:
        return [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})]

    def requests(self) -> list[str]:
        """Addresses that pages asked for since the last call; data inside them and the browser's own pages apart."""
        events = [json.loads(e["message"])["message"] for e in self.call("POST", "/se/log", {"type": "performance"})]
        urls = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
        return [url for url in urls if not url.startswith(("data:", "blob:", "chrome"))]


@contextlib.contextmanager
def open_browser(folder: Path) -> Iterator[Browser]:
    """A browser with its profile in `folder`; skips the test where none can be had."""
    binary = shutil.which("chromedriver")
    if binary is None or shutil.which("chromium") is None:
        pytest.skip("chromium and chromium-driver are not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([binary, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        browser = Browser(port, folder / "profile")
        yield browser
        browser.call("DELETE", "")
    finally:
        process.terminate()
        process.wait(10)
