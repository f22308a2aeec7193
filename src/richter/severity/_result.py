"""What every result of the room's further analyses shares."""

import dataclasses
from typing import Any

from richter.records import jsonable

__all__ = ["Result"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A frozen record that can be written as plain values."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values; what is undefined is null."""
        return {f.name: jsonable(getattr(self, f.name)) for f in dataclasses.fields(self)}
