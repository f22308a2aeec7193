"""Whether a run is as it was written: damage, and against a seal that was kept elsewhere tampering."""

import contextlib
import dataclasses

from richter.errors import LedgerError
from richter.store._chain import MOST_NAMED, Damage, check_chain, is_sealed
from richter.store._ledger import find_parts, open_ledger
from richter.store._place import Place, RunLike, run_place
from richter.store._sqlite import SqliteDatabase

__all__ = ["Integrity", "PartIntegrity", "check_integrity"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PartIntegrity:
    """One ledger of a run: how much of it the chain covers, its seal, and what is wrong.

    `sealed` is False for a ledger that was last written before there was a chain: then only the file's own structure
    was looked at. `grown` says that the expected seal was once this ledger's, and that only more was added since.
    """

    name: str
    sealed: bool = False
    writers: int = 0
    commits: int = 0
    records: int = 0
    seal: str = ""
    expected: str | None
    grown: bool = False
    damage: tuple[Damage, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong, as far as the chain and the expected seal can tell."""
        return not self.damage and (self.expected is None or self.expected == self.seal or self.grown)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Integrity:
    """A run and its parts. The `seals` by part are what to keep elsewhere."""

    parts: tuple[PartIntegrity, ...]

    @property
    def sound(self) -> bool:
        """Whether every part is."""
        return all(part.sound for part in self.parts)

    @property
    def seals(self) -> dict[str, str]:
        """The seal of each part by its name; the run's own is under the empty name."""
        return {part.name: part.seal for part in self.parts}


def check_integrity(run: RunLike, *, seals: dict[str, str] | None = None) -> Integrity:
    """Check every record of a run and its parts against the chain of hashes, and the chain against kept seals.

    Without `seals` damage is found, and changes by whoever did not know of the chain. Somebody who rewrites records
    and chain together is found by a seal that was kept elsewhere (in an evidence archive, in a mail, in a colleague's
    notes): the run must have had it after one of its commits. Take seals of a run in a database while nobody writes.
    """
    place = run_place(run)
    parts: dict[str, Place] = {"": place}
    with contextlib.suppress(LedgerError):  # the run's own check says what is wrong with it
        parts |= find_parts(run)
    wanted = seals or {}
    missing = [_broken(name, "the part is gone", expected=seal) for name, seal in wanted.items() if name not in parts]
    return Integrity(parts=(*(_check(name, part, wanted.get(name)) for name, part in parts.items()), *missing))


def _broken(name: str, what: str, *, expected: str | None) -> PartIntegrity:
    return PartIntegrity(name=name, expected=expected, damage=(Damage(table="ledger", record="", what=what),))


def _check(name: str, place: Place, expected: str | None) -> PartIntegrity:
    try:
        with open_ledger(place, checked=False) as ledger:
            database = ledger._database
            file = database.faults() if isinstance(database, SqliteDatabase) else []
            faults = tuple(Damage(table="file", record="", what=fault) for fault in file[:MOST_NAMED])
            sealed = is_sealed(database)
            checked = check_chain(database, history=expected is not None) if sealed else None
    except LedgerError as error:
        return _broken(name, error.what, expected=expected)
    if checked is None:
        return PartIntegrity(name=name, expected=expected, damage=faults)
    seal = checked.seals[-1] if checked.seals else ""
    return PartIntegrity(
        name=name,
        sealed=True,
        writers=checked.writers,
        commits=checked.commits,
        records=checked.records,
        seal=seal,
        expected=expected,
        grown=expected is not None and expected in checked.seals[:-1],
        damage=(*faults, *checked.damage),
    )
