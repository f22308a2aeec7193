"""Whether a run is as it was written: damage, and any change since a seal was kept elsewhere."""

import contextlib
import dataclasses

from richter.errors import LedgerError
from richter.store._hashes import MOST_NAMED, Damage, check_hashes, has_hashes
from richter.store._place import Place, RunLike, run_place
from richter.store._runs import find_parts, open_ledger
from richter.store._sqlite import SqliteDatabase

__all__ = ["Integrity", "PartIntegrity", "check_integrity"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PartIntegrity:
    """One ledger of a run: its number of records, its seal, and what is wrong.

    The seal is one hash over all records; an empty ledger has none.
    """

    name: str
    records: int = 0
    seal: str = ""
    expected: str | None
    damage: tuple[Damage, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong, as far as the hashes and the expected seal can tell."""
        return not self.damage and self.expected in (None, self.seal)


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
    """Check every record of a run and its parts against its hash, and the run against seals that were kept.

    Without `seals` damage is found, and changes by whoever did not know of the hashes. Somebody who rewrites records
    and hashes together is found by a seal that was kept elsewhere (in an evidence archive, in a mail): the run must
    hold the same records as then, no more and no fewer. Take seals of a run in a database while nobody writes it.
    """
    place = run_place(run)
    parts: dict[str, Place] = {"": place}
    with contextlib.suppress(LedgerError):  # the run's own check says what is wrong with it
        parts |= find_parts(run)
    expected = seals or {}
    missing = [_broken_part(name, "the part is gone", seal) for name, seal in expected.items() if name not in parts]
    return Integrity(parts=(*(_check_part(name, part, expected.get(name)) for name, part in parts.items()), *missing))


def _broken_part(name: str, what: str, expected: str | None) -> PartIntegrity:
    return PartIntegrity(name=name, expected=expected, damage=(Damage(table="ledger", record="", what=what),))


def _check_part(name: str, place: Place, expected: str | None) -> PartIntegrity:
    try:
        with open_ledger(place, checked=False) as ledger:
            database = ledger._database
            file = database.faults() if isinstance(database, SqliteDatabase) else []
            faults = tuple(Damage(table="file", record="", what=fault) for fault in file[:MOST_NAMED])
            checked = check_hashes(database) if has_hashes(database) else None
    except LedgerError as error:
        return _broken_part(name, error.what, expected)
    if checked is None:
        return PartIntegrity(name=name, expected=expected, damage=faults)
    damage = (*faults, *checked.damage)
    return PartIntegrity(name=name, records=checked.records, seal=checked.seal, expected=expected, damage=damage)
