"""`read_tables` for tests of what is inferred: the proposal is taken, and the options that it offers read the same."""

import dataclasses
from typing import Any

from richter import tables
from richter.errors import ReadingProposed
from richter.interop import Source, is_frame
from richter.tables import Dataset, ReadOptions


def read_tables(*sources: Source, options: ReadOptions | None = None, **given: Any) -> Dataset:
    """The tables as they are read at once or, where that is inferred, as the proposals' own options read them."""
    options = options or ReadOptions()
    confirmed = options
    for _ in range(9):
        try:
            found = tables.read_tables(*sources, options=confirmed, **given)
            break
        except ReadingProposed as proposal:
            if is_frame(sources[0]):
                confirmed = proposal.options
            else:
                confirmed = dataclasses.replace(confirmed, saved={**confirmed.saved, proposal.source: proposal.options})
    if confirmed is options:
        return found
    taken = tables.read_tables(*sources, options=dataclasses.replace(options, confirm=True))
    assert found.is_confirmed
    assert not taken.is_confirmed
    assert found.data_hash == taken.data_hash, "the proposed options read something else"
    return taken
