"""Where a run is: a folder, or tables in a PostgreSQL database that several machines write."""

import dataclasses
import hashlib
import re
from pathlib import Path
from typing import TypeGuard
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from richter.errors import InputError
from richter.store._sqlite import LEDGER_NAME

__all__ = ["DatabaseRun", "Place", "RunLike", "is_database", "is_run", "run_folder", "run_part", "run_place"]

SCHEMES = ("postgresql://", "postgres://")
DEFAULT_NAME = "richter"
LONGEST_NAME = 50  # leaves room for /draws and the like ...
LONGEST_WITH_PART = 63  # ... in what PostgreSQL keeps of a name
_WORD = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
REMEDY = "Write postgresql://user@host/database, or postgresql://user@host/database#run for one run of several."


@dataclasses.dataclass(frozen=True, slots=True)
class DatabaseRun:
    """A run in a database: its address, with the password if it carries one, and the run's name, a schema there.

    It prints without the password.
    """

    url: str = dataclasses.field(repr=False)
    name: str
    shown: str

    def __str__(self) -> str:
        return self.shown

    @property
    def password(self) -> str:
        """The password that the address carries, or nothing."""
        parts = urlsplit(self.url)
        return unquote(parts.password or "") or dict(parse_qsl(parts.query)).get("password", "")

    @property
    def database(self) -> str:
        """The database's name, or nothing where the address leaves it to the user's settings."""
        return unquote(urlsplit(self.url).path.lstrip("/"))


Place = Path | DatabaseRun
RunLike = str | Place  # what a caller may give


def is_database(source: object) -> "TypeGuard[str | DatabaseRun]":
    """Whether this is, or is the address of, a run in a database."""
    return isinstance(source, DatabaseRun) or (isinstance(source, str) and source.lower().startswith(SCHEMES))


def run_place(run: RunLike) -> Place:
    """A run's folder, or its place in a database where `run` is an address (postgresql://...#name)."""
    if isinstance(run, Path) and run.parts[:1] in (("postgresql:",), ("postgres:",)):
        raise InputError(f"{run}: a database's address is not a path.", remedy="Give a folder here.")
    if isinstance(run, Path | DatabaseRun):
        return run
    if not run.lower().startswith(SCHEMES):
        return Path(run)
    scheme, _, rest = run.partition(":")
    run = f"{scheme.lower()}:{rest}"
    try:
        parts = urlsplit(run)
        _ = parts.port
        if "@" in parts.path + parts.query or re.search(r"\s", run):  # something before it ended the address too early
            raise ValueError("a character that must be escaped")
    except ValueError as error:  # its text may hold the password
        raise InputError(
            "The database's address cannot be read.",
            remedy=f"{REMEDY} Special characters in a password are written as %23, %2F, %3F, %40.",
        ) from error
    name = unquote(parts.fragment) or DEFAULT_NAME
    if not can_name(name):
        raise InputError(
            "What follows # in the database's address cannot be a run's name.",  # it may be a part of the password
            remedy="Use up to 50 letters, digits, '-', '_' and '.', not beginning with pg_; write # elsewhere as %23.",
        )
    if "/" in parts.path.strip("/"):
        raise InputError(f"{run} names no database.", remedy=REMEDY)
    return named_run(DatabaseRun(url=run.partition("#")[0], name=name, shown=""), name)


def can_name(name: str) -> bool:
    """Whether a run, or a part of one, can have this name in a database."""
    short = len(name.partition("/")[0]) <= LONGEST_NAME and len(name) <= LONGEST_WITH_PART
    return short and re.fullmatch(rf"(?!pg_){_WORD}(/{_WORD})?", name) is not None


def named_run(place: DatabaseRun, name: str) -> DatabaseRun:
    """Another run in the same database."""
    parts = urlsplit(place.url)
    query = urlencode([(k, v) for k, v in parse_qsl(parts.query, keep_blank_values=True) if not k.endswith("password")])
    host = parts.netloc.rpartition("@")
    user = f"{host[0].partition(':')[0]}@" if host[1] else ""
    shown = f"{parts.scheme}://{user}{host[2]}{parts.path}{'?' if query else ''}{query}"
    if name != DEFAULT_NAME:
        shown += f"#{name}"
    return DatabaseRun(url=place.url, name=name, shown=shown)


def is_run(source: RunLike) -> bool:
    """Whether this names a run: a database's address, or a folder that holds a ledger."""
    place = run_place(source)
    return isinstance(place, DatabaseRun) or (place / LEDGER_NAME).exists()


def run_folder(run: RunLike) -> Path:
    """Where a run's files go that are not in its ledger: its folder; for a database, DATABASE.RUN where you are."""
    place = run_place(run)
    if isinstance(place, Path):
        return place
    return Path(f"{place.database.replace('/', '-') or 'postgresql'}.{place.name}")


def whole_run(place: Place) -> Place:
    """The run that this is a part of, or itself: a folder in a run's folder, RUN/PART in a database."""
    if isinstance(place, DatabaseRun):
        return named_run(place, place.name.partition("/")[0])
    above = place.absolute().parent
    return above if (above / LEDGER_NAME).exists() else place


def run_part(run: RunLike, part: str) -> Place:
    """A part of a run with a ledger of its own (draws, a search): a folder in its folder, RUN/PART in its database."""
    place = run_place(run)
    if isinstance(place, Path):
        return place / part
    name = f"{place.name}/{part}"
    if len(name) > LONGEST_WITH_PART:  # told apart by a hash of what is cut
        name = f"{name[: LONGEST_WITH_PART - 9]}-{hashlib.sha256(part.encode()).hexdigest()[:8]}"
    return named_run(place, name)
