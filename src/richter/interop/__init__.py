"""Files in and out: others' logs, the tables that the statistics read, and exports."""

from richter.interop._croissant import About, DataFile, croissant
from richter.interop._evidence import evidence_of, write_evidence
from richter.interop._export import EXPORTS, export_dataset, export_table
from richter.interop._files import read_frame, read_sheets
from richter.interop._frames import Frame, Source, as_frame, is_frame, source_name
from richter.interop._hub import hub_header, hub_size, write_dataset
from richter.interop._lm_eval_task import write_lm_eval_tasks
from richter.interop._logs import Logs, is_log, is_severity, log_files, named_source, read_logs
from richter.interop._logs import summary as logs_summary
from richter.interop._problems import next_command, problems
from richter.interop._record import Options as LogOptions
from richter.interop._run import IMPORT_NOTE, RatingKind, write_run

__all__ = [
    "EXPORTS",
    "IMPORT_NOTE",
    "About",
    "DataFile",
    "Frame",
    "LogOptions",
    "Logs",
    "RatingKind",
    "Source",
    "as_frame",
    "croissant",
    "evidence_of",
    "export_dataset",
    "export_table",
    "hub_header",
    "hub_size",
    "is_frame",
    "is_log",
    "is_severity",
    "log_files",
    "logs_summary",
    "named_source",
    "next_command",
    "problems",
    "read_frame",
    "read_logs",
    "read_sheets",
    "source_name",
    "write_dataset",
    "write_evidence",
    "write_lm_eval_tasks",
    "write_run",
]
