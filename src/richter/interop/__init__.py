"""Files in and out: others' logs, the tables that the statistics read, and exports."""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter.interop._croissant import *
    from richter.interop._fields import *
    from richter.interop._files import *
    from richter.interop._import_logs import *
    from richter.interop._logs import *
    from richter.interop._problems import *
    from richter.interop._recognise import *
    from richter.interop._record import *
    from richter.interop._run_tables import *
    from richter.interop._safe import *

lazy(__name__)
