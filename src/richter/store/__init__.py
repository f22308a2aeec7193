"""The ledger: what was asked, answered, rated and paid, on disk; and the cache of fetched files."""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter.store._atomic_files import *
    from richter.store._call_rows import *
    from richter.store._ledger import *
    from richter.store._runs import *
    from richter.store._spending import *
    from richter.store._sqlite import *
    from richter.store._wheels import *

lazy(__name__)
