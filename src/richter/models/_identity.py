"""When two names mean one model."""

import functools
import hashlib
import re
from pathlib import Path

from richter.errors import UnknownProvider
from richter.models._providers import BUILT_IN, resolve

__all__ = ["model_identity"]

_QUANTISATION = re.compile(r"[-._](?:i?q\d\w*|f16|bf16|f32|fp8|fp16|int4|int8|awq|gptq|gguf)$")
_RELEASE = re.compile(r"[-@:](?:\d{4}-?\d{2}-?\d{2}|\d{4}|latest|free|preview|v\d+:\d+)$")


@functools.cache
def model_identity(name: str) -> str:
    """One name for one model, whoever serves it and however it is spelt.

    `openai/gpt-4o`, `openrouter/openai/gpt-4o-2024-08-06` and `http://host/v1#GPT-4o` are one model; so are a GGUF
    file and its copies (by their content, where the file is at hand) and its quantisations (by name). It errs on the
    side of calling two releases of one model the same: they share their mistakes. A model that no provider here can
    reach (from another tool's log, or simulated) goes by its name alone.
    """
    try:
        spec = resolve(name)
    except UnknownProvider:
        return _plain_name(name)
    if spec.backend == "local" and spec.name != BUILT_IN and Path(spec.model).is_file():
        with Path(spec.model).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest.startswith("b179c9523d0e6a0f"):  # the built-in weights under another name
            return "smollm2-135m-instruct"
        return f"sha256:{digest}"
    if spec.name == BUILT_IN:
        return "smollm2-135m-instruct"
    return _plain_name(spec.model)


def _plain_name(model: str) -> str:
    """A model's last name without its quantisation and release."""
    last = re.split(r"[/\\#]", model.lower().rstrip("/"))[-1].removesuffix(".gguf")
    while True:
        shorter = _RELEASE.sub("", _QUANTISATION.sub("", last))
        if shorter == last:
            return last
        last = shorter
