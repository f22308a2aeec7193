"""Files in and out: the tables that the statistics read, and exports."""

from richter.interop._tables import TABLES, read_frame, read_table

__all__ = ["TABLES", "read_frame", "read_table"]
