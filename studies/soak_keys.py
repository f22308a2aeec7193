"""Let servers echo keys in 14 encodings, as answers, errors and broken replies: none is on disk or screen.

Usage: python studies/soak_keys.py [NUMBER]
"""

import contextlib
import io
import os
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from helpers.raw_server import RawApi, http  # noqa: E402
from helpers.soak import campaign  # noqa: E402
from llm.test_hostile_servers import ENCODINGS, traces  # noqa: E402
from llm.test_http import ask_prompts  # noqa: E402

KEYS = (
    "sk-very/secret+0123456789abcdef",
    "sk-proj-AbC_dEf-1234567890",
    "gsk_0a1b2c3d4e5f6a7b8c9d",
    "hf_AbCdEfGhIjKlMnOpQrSt",
)
KINDS = ("answer", "error", "broken")


def attempt(k: int) -> str:
    how, kind = list(ENCODINGS)[k % len(ENCODINGS)], KINDS[k // len(ENCODINGS) % len(KINDS)]
    key = KEYS[k // len(ENCODINGS) // len(KINDS) % len(KEYS)]
    body = ENCODINGS[how](key)
    sent = {"answer": http(body), "error": http(body, status=500), "broken": http(body[:-20] + b"\xff" * 20)}[kind]
    folder, screen = Path(tempfile.mkdtemp(prefix="richter-soak-")), io.StringIO()
    os.environ["RICHTER_API_KEY"] = key
    try:
        with RawApi(lambda *_: sent) as api, contextlib.redirect_stderr(screen):
            asker, answers = ask_prompts(folder, api.model, ["q"], max_attempts=1)
        shown = repr(asker.tally) + repr(answers) + screen.getvalue()
        kept = b"".join(path.read_bytes() for path in folder.iterdir()) + shown.encode()
        return f"{kind}: KEPT" if any(trace in kept for trace in traces(key)) else f"{kind}: nowhere"
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    campaign("keys", attempt, number=len(ENCODINGS) * len(KINDS) * len(KEYS), batch=42)
