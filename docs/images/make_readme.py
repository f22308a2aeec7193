"""Draw the README's pictures from its two files: `python docs/images/make_readme.py`.

page.png is the top of the page of ../examples/old.csv and new.csv in Chromium, comment.png what a gate writes into a
pull request (chromium and chromedriver must be installed). Nothing is asked.
"""

import contextlib
import os
import sys
import tempfile
from pathlib import Path

from markdown_it import MarkdownIt

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from helpers.browser import open_browser  # noqa: E402
from richter.cli import main as richter  # noqa: E402

STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:16px;background:#fff;color:#1f2328}"
    ".box{border:1px solid #d1d9e0;border-radius:6px;max-width:860px}"
    ".head{background:#f6f8fa;padding:8px 14px;border-bottom:1px solid #d1d9e0;color:#59636e}"
    ".body{padding:4px 14px 12px}h2{font-size:20px}table{border-collapse:collapse}"
    "td,th{border:1px solid #d1d9e0;padding:5px 10px;text-align:left}code{background:#eff1f3;padding:1px 4px}"
)


def main() -> None:
    """Draw the page and the comment."""
    examples = HERE.parent / "examples"
    with tempfile.TemporaryDirectory() as name, open_browser(Path(name)) as browser:
        folder = Path(name)
        page, comment = folder / "page.html", folder / "comment.md"
        os.chdir(examples)
        for command in (["report", "-o", str(page)], ["gate", "--margin", "2pt", "--md", str(comment)]):
            with contextlib.suppress(SystemExit):
                richter([*command, "old.csv", "new.csv"])
        browser.size(1180, 700)
        browser.go(page.resolve().as_uri())
        browser.picture(HERE / "page.png")
        body = (
            MarkdownIt("commonmark", {"html": True})
            .enable("table")
            .render(comment.read_text(encoding="utf-8").replace("✅", "✔"))
        )
        shown = folder / "comment.html"
        shown.write_text(
            f'<!doctype html><meta charset="utf-8"><style>{STYLE}</style><div class="box"><div class="head">'
            f'<b>github-actions</b> commented</div><div class="body">{body}</div></div>',
            encoding="utf-8",
        )
        browser.size(920, 420)
        browser.go(shown.resolve().as_uri())
        browser.picture(HERE / "comment.png")


if __name__ == "__main__":
    main()
