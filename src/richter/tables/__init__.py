"""Any source into answers, scores and ratings: the one reader, and the one rule for an answer's severity.

Everything that measures reads these tables: `outcomes` is the view of one metric on them, `severity_scores` the arrays
of the room `severity`.
"""

from richter.tables._outcomes import (
    CATASTROPHIC,
    chance_of,
    item_codes,
    outcomes,
    question_codes,
    severity_scores,
)
from richter.tables._ratings import RatingsFile, ratings_of, read_ratings
from richter.tables._read import holds_logs, read_tables, tables_of
from richter.tables._scores import scores_table
from richter.tables._tables import KEY, ReadOptions, Tables, severity_of
from richter.tables._write import write_tables

__all__ = [
    "CATASTROPHIC",
    "KEY",
    "RatingsFile",
    "ReadOptions",
    "Tables",
    "chance_of",
    "holds_logs",
    "item_codes",
    "outcomes",
    "question_codes",
    "ratings_of",
    "read_ratings",
    "read_tables",
    "scores_table",
    "severity_of",
    "severity_scores",
    "tables_of",
    "write_tables",
]
