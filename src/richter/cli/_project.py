"""`richter.toml`: what a project has settled once for all its commands."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from richter.errors import InputError

NAME = "richter.toml"
# what may stand there -> the kinds it may have; each is the option of the same name, on every command that has it
KNOWN: dict[str, tuple[type, ...]] = {
    "map": (dict,), "scale": (str,), "better": (str,), "as_severity": (str,), "ratings": (str,), "scorer": (str,),
    "filter": (str,), "pass_at": (int, float), "margin": (str, int, float), "severity_margin": (int, float),
    "level": (int, float), "seed": (int,), "prices": (str,),
}  # fmt: skip


def project_defaults(folder: Path) -> dict[str, Any]:
    """The defaults in `richter.toml` of this folder, as the options take them; empty without one."""
    path = folder / NAME
    if not path.is_file():
        return {}
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise InputError(f"{NAME} cannot be read: {error}.", remedy='It is TOML, as margin = "2pt".') from error
    unknown = [name for name in values if name not in KNOWN]
    if unknown:
        raise InputError(f"{NAME}: there is no setting {unknown[0]!r}.", remedy=f"There are {', '.join(KNOWN)}.")
    wrong = next((name for name, value in values.items() if not isinstance(value, KNOWN[name])), None)
    if wrong is not None:
        raise InputError(f"{NAME}: {wrong} = {values[wrong]!r} is of the wrong kind.", remedy="See docs/reading.md.")
    return {name: _as_option(value) for name, value in values.items()}


def _as_option(value: Any) -> Any:
    if isinstance(value, Mapping):
        return [f"{field}={column}" for field, column in value.items()]
    return str(value) if isinstance(value, str) else value
