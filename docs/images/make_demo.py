"""Draw demo.svg from a run of the demo: `python docs/images/make_demo.py RUN`. Asks nothing."""

import io
import re
import sys
from pathlib import Path

from rich.console import Console

from richter.audit import measure_run
from richter.cli._summary import WIDTH, summarise


def main() -> None:
    """Draw what the demo prints at its end."""
    run = Path(sys.argv[1])
    console = Console(record=True, width=WIDTH, file=io.StringIO(), markup=False, highlight=False, emoji=False)
    for line in summarise(measure_run(run).to_dict(), after=[f"report  {run.name}/report.html"]):
        console.print(line)
    svg = re.sub(r"@font-face \{.*?\}", "", console.export_svg(title="make demo"), flags=re.S)  # nothing from elsewhere
    Path(__file__).with_name("demo.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
