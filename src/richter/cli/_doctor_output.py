"""`richter doctor`."""

import itertools
import os
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from richter import __version__
from richter.cli._io import grid, publish
from richter.models import PROVIDERS, WEIGHTS, weights_cached
from richter.store import cache_folder

# extra -> (packages whose presence shows it, what it is for)
EXTRAS = {
    "audit": (("aiohttp",), "asking models over HTTP, and the local web pages"),
    "local": (("xllamacpp",), "local models, SmolLM2 among them"),
    "facts": (
        ("reverse_geocode", "airportsdata", "pycountry", "babel", "language_data", "pygments"),
        "building the facts benchmark",
    ),
    "inspect": (("inspect-ai",), "models that only Inspect reaches"),
    "gpu": (("torch", "sentence-transformers"), "larger embeddings, search on a GPU"),
    "lance": (("lancedb",), "knowledge bases beyond memory"),
    "ray": (("ray",), "more than one machine"),
}


def doctor(json_path: str | None) -> None:
    """Say what is installed, which model and keys are found, and what to do about what is missing."""
    system = f"{__version__} on Python {platform.python_version()}, {os.cpu_count()} cores"
    checks = (_check_extras(), _check_weights(), _check_keys(), _check_folders(), _check_compiled())
    rows = [_check("richter", True, system), *itertools.chain.from_iterable(checks)]
    publish({"checks": rows}, json_path).print(grid("what|state|to do", (row.values() for row in rows)))


def _check(what: str, ok: bool, state: str, remedy: str = "") -> dict[str, str]:
    return {"what": what, "state": ("ok: " if ok else "missing: ") + state, "to do": "" if ok else remedy}


def _check_extras() -> Iterator[dict[str, str]]:
    for extra, (packages, purpose) in EXTRAS.items():
        found = {package: _version(package) for package in packages}
        missing = [package for package, number in found.items() if number is None]
        state = ", ".join(f"{p} {v}" for p, v in found.items()) if not missing else f"{', '.join(missing)} ({purpose})"
        yield _check(f"extra {extra}", not missing, state, f"pip install 'richter[{extra}]'")


def _check_weights() -> Iterator[dict[str, str]]:
    for name, weights in WEIGHTS.items():
        path = weights_cached(name)
        yield _check(
            f"weights of {name}",
            path is not None,
            str(path) if path else f"not fetched yet ({weights.megabytes} MB)",
            "fetched when first asked for by name; needs pip and a package index once",
        )


def _check_keys() -> Iterator[dict[str, str]]:
    for name, provider in PROVIDERS.items():
        if provider.key:
            has_key = bool(os.environ.get(provider.key))
            yield _check(f"key for {name}/", has_key, provider.key, f"export {provider.key}=...")


def _check_folders() -> Iterator[dict[str, str]]:
    folder = cache_folder()
    writable = os.access(next(p for p in (folder, *folder.parents) if p.exists()), os.W_OK)
    yield _check("cache folder", writable, str(folder), "set RICHTER_CACHE to a folder that can be written")
    here = os.access(Path.cwd(), os.W_OK)
    yield _check("this folder", here, "can be written", "run folders need a place that can be written")


def _check_compiled() -> Iterator[dict[str, str]]:
    """Where numba keeps what it compiled: beside the code, or in the user's cache where that cannot be written."""
    package = Path(__file__).parents[1]
    given = os.environ.get("NUMBA_CACHE_DIR")
    places = [Path(given)] if given else [package] if os.access(package, os.W_OK) else []
    number = sum(1 for place in places for _ in place.rglob("*.nbi"))
    where = str(places[0]) if places else "numba's cache in your home folder"
    state = f"{number} kept in {where}" if number else f"kept in {where} once used: the first use takes some seconds"
    yield _check("compiled loops", True, state)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
