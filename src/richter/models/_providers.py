"""Names of models: who serves them, where, and which variable of the environment holds the key."""

import dataclasses
import os
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from richter.errors import InputError, MissingKey, UnknownProvider
from richter.models._weights import WEIGHTS

__all__ = ["BUILT_IN", "PROVIDERS", "ModelSpec", "resolve"]

BUILT_IN = "local/smollm2"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """An OpenAI-compatible service. `choices` says how it restricts an answer to given texts, if it can."""

    url: str
    key: str | None  # variable of the environment that holds the key; None: needs none
    url_variable: str = ""
    self_hosted: bool = False
    max_tokens: str = "max_tokens"
    choices: Literal["", "grammar", "vllm"] = ""


# Prefixes as Inspect spells them.
PROVIDERS = {
    "openai": Provider(
        url="https://api.openai.com/v1",
        key="OPENAI_API_KEY",
        url_variable="OPENAI_BASE_URL",
        max_tokens="max_completion_tokens",
    ),
    "openrouter": Provider(url="https://openrouter.ai/api/v1", key="OPENROUTER_API_KEY"),
    "deepseek": Provider(url="https://api.deepseek.com/v1", key="DEEPSEEK_API_KEY"),
    "deepinfra": Provider(url="https://api.deepinfra.com/v1/openai", key="DEEPINFRA_API_KEY"),
    "together": Provider(url="https://api.together.xyz/v1", key="TOGETHER_API_KEY"),
    "mistral": Provider(url="https://api.mistral.ai/v1", key="MISTRAL_API_KEY"),
    "grok": Provider(url="https://api.x.ai/v1", key="XAI_API_KEY"),
    "groq": Provider(url="https://api.groq.com/openai/v1", key="GROQ_API_KEY"),
    "vllm": Provider(
        url="http://localhost:8000/v1", key=None, url_variable="VLLM_BASE_URL", self_hosted=True, choices="vllm"
    ),
    "ollama": Provider(url="http://localhost:11434/v1", key=None, url_variable="OLLAMA_BASE_URL", self_hosted=True),
    "llama-cpp-server": Provider(
        url="http://localhost:8080/v1",
        key=None,
        url_variable="LLAMA_CPP_SERVER_BASE_URL",
        self_hosted=True,
        choices="grammar",
    ),
}
OPTIONAL_KEYS = {"vllm": "VLLM_API_KEY", "ollama": "OLLAMA_API_KEY", "llama-cpp-server": "LLAMA_CPP_SERVER_API_KEY"}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """A model's name taken apart: the backend, and what that backend needs to find it."""

    name: str  # as the user wrote it; part of every call's key
    backend: Literal["http", "local", "inspect"]
    provider: str
    model: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where an HTTP model is and how to talk to it. `key` never leaves the process."""

    url: str
    model: str
    provider: Provider
    key_variable: str
    key: str = dataclasses.field(repr=False)


def resolve(name: str) -> ModelSpec:
    """Take a model's name apart: `provider/model`, `http://host:port/v1#model`, `inspect/...`, `smollm2`, a file.

    Nothing is contacted and no key is looked for.
    """
    if (own := name.removeprefix("local/")) in WEIGHTS:
        return ModelSpec(name=f"local/{own}", backend="local", provider="local", model=own)
    if name.startswith(("http://", "https://")):
        _check_address(name, "The address", "RICHTER_API_KEY")
        _, _, model = name.partition("#")
        if not model:
            raise InputError(f"{name} names no model.", remedy="Write it after a '#': http://host:port/v1#model.")
        return ModelSpec(name=name, backend="http", provider="", model=model)
    if name.endswith(".gguf") or name.startswith("local/"):
        path = name.removeprefix("local/")
        return ModelSpec(name=name, backend="local", provider="local", model=str(Path(path).expanduser()))
    provider, _, model = name.partition("/")
    if provider == "inspect" and model:
        return ModelSpec(name=name, backend="inspect", provider="inspect", model=model)
    if provider not in PROVIDERS or not model:
        raise UnknownProvider(
            f"{name!r} names no known model provider.",
            remedy=f"Use {', '.join(WEIGHTS)}, a .gguf file, http://host:port/v1#model, inspect/PROVIDER/MODEL, "
            f"or one of {', '.join(f'{p}/MODEL' for p in PROVIDERS)}.",
        )
    return ModelSpec(name=name, backend="http", provider=provider, model=model)


def _check_address(url: str, what: str, variable: str) -> None:
    """Refuse what is no address, and one with a secret in it, which ledgers and messages would repeat."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        parts, host = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not host:
        raise InputError(f"{what} is not an address.", remedy="Write http://host:port/v1.")
    carried = "a user name or password" if parts.username or parts.password else "parameters" if parts.query else ""
    if carried:
        raise InputError(
            f"{what} (at {host}) carries {carried}, which would be kept with every call.",
            remedy=f"Keep keys in the environment: set {variable} and leave all that out of the address.",
        )


def _key(variable: str) -> str:
    """The key in a variable of the environment; it goes into a header, which is one line."""
    key = os.environ.get(variable, "").strip()
    if not key.isprintable():
        raise InputError(
            f"{variable} holds a line end or another control character.", remedy="Set it to the key alone."
        )
    return key


def endpoint(spec: ModelSpec) -> Endpoint:
    """The address and key of an HTTP model; the key comes from the environment only."""
    if not spec.provider:
        address = spec.name.partition("#")[0].rstrip("/")
        own = Provider(url=address, key=None, choices="grammar")
        return Endpoint(
            url=address,
            model=spec.model,
            provider=own,
            key_variable="RICHTER_API_KEY",
            key=_key("RICHTER_API_KEY"),
        )
    provider = PROVIDERS[spec.provider]
    variable = provider.key or OPTIONAL_KEYS.get(spec.provider, "")
    key = _key(variable) if variable else ""
    if provider.key and not key:
        raise MissingKey(
            f"{spec.name} needs a key, and the environment has no {provider.key}.",
            remedy=f"export {provider.key}=... and run the command again.",
        )
    url = os.environ.get(provider.url_variable, "") if provider.url_variable else ""
    if url:
        _check_address(url, provider.url_variable, variable)
    return Endpoint(
        url=(url or provider.url).rstrip("/"), model=spec.model, provider=provider, key_variable=variable, key=key
    )
