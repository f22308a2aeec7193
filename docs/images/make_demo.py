"""Draw the README's pictures and its example from a run of the demo: `python docs/images/make_demo.py RUN`.

demo.svg is what the demo prints at its end, page.png the top of its page in Chromium (chromium and chromedriver must be
installed), and ../examples/prompts.csv its answers as right and wrong. Nothing is asked.
"""

import io
import json
import re
import sys
import tempfile
from pathlib import Path

import polars as pl
from rich.console import Console

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1] / "src"), str(HERE.parents[1] / "tests")]

from helpers.browser import open_browser  # noqa: E402
from richter.audit import measure_run  # noqa: E402
from richter.cli._screen import WIDTH, summarise  # noqa: E402
from richter.report import write_report  # noqa: E402
from richter.tables import read_tables  # noqa: E402


def main() -> None:
    """Draw what the demo prints and shows."""
    run = Path(sys.argv[1])
    own = f"{run.resolve().parent}/"  # the folder of the run is nobody's business
    document = json.loads(json.dumps(measure_run(run).to_dict()).replace(json.dumps(own)[1:-1], ""))
    console = Console(record=True, width=WIDTH, file=io.StringIO(), markup=False, highlight=False, emoji=False)
    for line in summarise(document, after=[f"report  {run.name}/report.html"]):
        console.print(line)
    svg = re.sub(r"@font-face \{.*?\}", "", console.export_svg(title="make demo"), flags=re.S)  # nothing from elsewhere
    (HERE / "demo.svg").write_text(svg, encoding="utf-8")
    rows = read_tables(run).rows.select("item", "condition", correct=pl.col("correct").cast(pl.Int64))
    rows.sort("item", maintain_order=True).write_csv(HERE.parent / "examples" / "prompts.csv")
    with tempfile.TemporaryDirectory() as folder, open_browser(Path(folder)) as browser:
        page = write_report(document, run, Path(folder) / "report.html")
        browser.size(960, 820)
        browser.go(Path(page).resolve().as_uri())
        browser.picture(HERE / "page.png")


if __name__ == "__main__":
    main()
