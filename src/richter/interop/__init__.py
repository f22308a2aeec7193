"""Files in and out: the tables that the statistics read, and exports."""

from richter.interop._export import EXPORTS, export_table
from richter.interop._frames import Frame, Source, as_frame, is_frame, source_name
from richter.interop._ratings import RatingsFile, read_ratings
from richter.interop._scores import read_scores
from richter.interop._tables import TABLES, check_table, read_frame, read_table

__all__ = [
    "EXPORTS",
    "TABLES",
    "Frame",
    "RatingsFile",
    "Source",
    "as_frame",
    "check_table",
    "export_table",
    "is_frame",
    "read_frame",
    "read_ratings",
    "read_scores",
    "read_table",
    "source_name",
]
