"""The report: one self-contained page from a results document and a run's ledger, and its figures as files."""

from richter.report._evidence import Evidence, read_evidence
from richter.report._figure import Figure
from richter.report._figures import figures, write_figures
from richter.report._markdown import MARKDOWN_MARK, markdown
from richter.report._page import render_report, write_report
from richter.report._view import RunsApp, find_runs, serve_runs

__all__ = [
    "MARKDOWN_MARK",
    "Evidence",
    "Figure",
    "RunsApp",
    "figures",
    "find_runs",
    "markdown",
    "read_evidence",
    "render_report",
    "serve_runs",
    "write_figures",
    "write_report",
]
