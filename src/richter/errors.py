"""What can go wrong, as a tree. Each message says what happened, the value, the rule and the remedy.

RichterError                    everything below; the command line prints it in one line and exits 1
├── InputError                  a file, a row or an argument breaks a stated rule
│   ├── ReadingProposed         how a table is read was inferred; carries the options that confirm it
│   └── TooFewErrors            the data cannot carry this estimate; carries n and the n needed
├── PlanError                   a plan is malformed, unlocked where it must be locked, or was changed
├── LedgerError                 the run's ledger cannot be used
│   ├── LedgerLocked            another process is writing to it
│   ├── LedgerNewer             written by a newer Richter
│   ├── LedgerCorrupt           not a ledger, or damaged
├── StorageError                the disk is full or the folder cannot be written
├── EngineError                 a cluster cannot be used
├── ModelError                  a model cannot be asked at all
│   ├── UnknownProvider         no such provider prefix
│   ├── MissingKey              the environment holds no key for the provider
│   ├── WrongKey                the provider refused the key (401, 403)
│   ├── UnknownModel            the provider has no such model (404)
│   ├── Unreachable             nothing answers at the address
│   └── MissingPart             an optional package or the built-in model's weights are not installed
├── CallFailed                  one call failed after its retries; recorded, the run goes on
└── BudgetExhausted             the next call would exceed the budget

RichterWarning                  what a Python user should know of a result, and may silence by its category
└── UnconfirmedReading          how a table is read was inferred, and nobody confirmed it
"""

from typing import Any

__all__ = [
    "BudgetExhausted",
    "CallFailed",
    "EngineError",
    "InputError",
    "LedgerCorrupt",
    "LedgerError",
    "LedgerLocked",
    "LedgerNewer",
    "MissingKey",
    "MissingPart",
    "ModelError",
    "PlanError",
    "ReadingProposed",
    "RichterError",
    "RichterWarning",
    "StorageError",
    "StorageFull",
    "TooFewErrors",
    "UnconfirmedReading",
    "UnknownModel",
    "UnknownProvider",
    "Unreachable",
    "WrongKey",
    "missing_package_error",
]


class RichterError(Exception):
    """A fault a user can act on: `what` happened and the `remedy`.

    >>> import richter
    >>> try:
    ...     richter.open("nowhere.csv")
    ... except richter.RichterError as error:
    ...     print(error.what)
    nowhere.csv: no such run or file.
    """

    def __init__(self, what: str, *, remedy: str = "") -> None:
        self.what = what
        self.remedy = remedy
        super().__init__(f"{self.what} {remedy}".strip())

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.args, self.__dict__)  # it crosses from one process to another whole


def _again(kind: type[RichterError], args: tuple[Any, ...], state: dict[str, Any]) -> RichterError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class InputError(RichterError):
    """A file, a row or an argument breaks a stated rule.

    >>> import richter
    >>> try:
    ...     richter.paired([1, 0, 1], [1, 0])
    ... except richter.InputError as error:
    ...     print(error.what)
    a has 3 scores and b 2.
    """


class ReadingProposed(InputError):
    """How a table is read was inferred: `lines` describe it, and `options` (`richter.tables.ReadOptions`) confirm it.

    `source` is the table, and `added` are the options that confirm it, as one writes them.

    >>> import polars, richter
    >>> frame = polars.DataFrame({"sheet": list(range(60)) * 2, "cook": ["a"] * 60 + ["b"] * 60, "thumb": [0, 1] * 60})
    >>> try:
    ...     richter.compare(frame)
    ... except richter.ReadingProposed as proposed:
    ...     print(richter.compare(frame, options=proposed.options)["a", "b"].estimate)
    0.0
    """

    exit_code = 2

    def __init__(self, what: str, *, lines: tuple[str, ...], source: str, options: Any, added: tuple[str, ...]) -> None:
        self.lines, self.source, self.options, self.added = lines, source, options, added
        super().__init__(what, remedy="Pass its .options to confirm it, or confirm=True to go on without.")


class TooFewErrors(InputError):
    """The data cannot carry this estimate: `n` were there, `needed` would do."""

    def __init__(self, what: str, *, n: int, needed: int, remedy: str = "") -> None:
        self.n = n
        self.needed = needed
        super().__init__(what, remedy=remedy or f"At least {needed} are needed, {n} were given.")


class PlanError(RichterError):
    """A plan is malformed, unlocked where it must be locked, or was changed after locking.

    >>> import richter
    >>> try:
    ...     richter.gate({"old": [1, 0] * 9, "new": [1, 0] * 9}, plan="nowhere.toml")
    ... except richter.PlanError as error:
    ...     print(error.what)
    nowhere.toml: no such plan.
    """


class LedgerError(RichterError):
    """The run's ledger cannot be used."""


class LedgerLocked(LedgerError):
    """Another process is writing to the ledger."""


class LedgerNewer(LedgerError):
    """The ledger was written by a newer Richter."""


class LedgerCorrupt(LedgerError):
    """The file is not a ledger, or is damaged."""


class StorageError(RichterError):
    """The disk is full or the folder cannot be written."""


class StorageFull(StorageError):
    """There is room for the answers that are on their way, and not for one more."""


class EngineError(RichterError):
    """A cluster cannot be used."""


class ModelError(RichterError):
    """A model cannot be asked at all."""


class UnknownProvider(ModelError):
    """No such provider prefix."""


class MissingKey(ModelError):
    """The environment holds no key for the provider."""


class WrongKey(ModelError):
    """The provider refused the key."""


class UnknownModel(ModelError):
    """The provider has no such model."""


class Unreachable(ModelError):
    """Nothing answers at the address."""


class MissingPart(ModelError):
    """An optional package or the built-in model's weights are not installed."""


class CallFailed(RichterError):
    """One call failed after its retries."""


class BudgetExhausted(RichterError):
    """The next call would exceed the budget."""


class RichterWarning(UserWarning):
    """What a Python user should know of a result.

    >>> import richter, warnings
    >>> warnings.simplefilter("ignore", richter.RichterWarning)  # silences all of them
    """


class UnconfirmedReading(RichterWarning):
    """How a table is read was inferred, and nobody confirmed it.

    >>> import richter, warnings
    >>> warnings.simplefilter("error", richter.UnconfirmedReading)  # stops a script there
    """


# packages that modules import when they load -> the extra that brings them
EXTRAS = {"aiohttp": "audit", "inspect_ai": "inspect"}


def missing_package_error(package: str) -> MissingPart | None:
    """The error that says which line installs a package; None for a package that no extra brings."""
    name = package.partition(".")[0]
    if name not in EXTRAS:
        return None
    return MissingPart(f"This needs the package {name}.", remedy=f"pip install 'richter[{EXTRAS[name]}]'")
