"""Draw demo.svg from a real run of the demo: `python docs/images/make_demo.py RUN` (asks what is missing)."""

import io
import re
import sys
from pathlib import Path

from rich.console import Console

from richter.audit import run_demo
from richter.cli._demo import print_demo


def main() -> None:
    """Run, or read back, the demo in the folder named, and draw what it prints."""
    console = Console(record=True, width=118, file=io.StringIO(), markup=False, highlight=False, emoji=False)
    print_demo(console, run_demo(sys.argv[1]))
    svg = re.sub(r"@font-face \{.*?\}", "", console.export_svg(title="make demo"), flags=re.S)  # nothing from elsewhere
    Path(__file__).with_name("demo.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
