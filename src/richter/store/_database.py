"""What the ledger asks of a database.

SQL is written once for both, with numbered parameters (?1) and `clock()`, the database's seconds since 1970.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

from richter.errors import LedgerError

T = TypeVar("T")
Values = Sequence[Any]


class Stream(Protocol):
    """A way to read row by row."""

    def __call__(self, sql: str, values: Values = ()) -> Iterator[Any]:
        """Read without holding all rows in memory."""


class UnstorableValue(LedgerError):
    """A value that a column cannot hold, among those of a transaction, which was not done."""


class Statements(Protocol):
    """What a driver does within a writing transaction."""

    def rows(self, sql: str, values: Values = ()) -> list[Any]:
        """Run one statement; the rows it returns."""

    def many(self, sql: str, rows: Sequence[Values]) -> None:
        """Run one statement for each row of values."""

    def alone(self) -> None:
        """Let no other writer of the run pass this point until the transaction ends."""


class Transaction(Statements, Protocol):
    """A writing transaction under way. Records go into their tables with `add`, which hashes them."""

    def add(self, table: str, rows: Iterable[Values]) -> None:
        """Add records; the time at which they are made is the database's and is left out of the rows."""


class Database(Protocol):
    """A connection to a run's tables."""

    name: str  # of the run, for messages

    def rows(self, sql: str, values: Values = ()) -> list[Any]:
        """Read, beside a transaction that is writing."""

    def stream(self, sql: str, values: Values = ()) -> Iterator[Any]:
        """Read without holding all rows in memory."""

    def snapshot(self) -> AbstractContextManager[Stream]:
        """Read in the same way, every time what stood there at the beginning."""

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Do `work` in one transaction, whole or not at all."""

    def being_written(self) -> bool:
        """Whether some process writes the run now."""

    def check_room(self) -> None:
        """Raise where it can be known that an answer would find no room."""

    def close(self) -> None:
        """Let go of it."""
