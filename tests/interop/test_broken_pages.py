"""Pages of HTML whose tags stand anyhow are read or refused in words."""

import contextlib
from pathlib import Path

import pytest

from helpers.containers import grades, html_table
from richter.errors import InputError
from richter.tables import read_tables

SOUND = html_table(grades())


@pytest.mark.parametrize(
    "broken",
    [
        SOUND.replace("</td>", "<table>x", 1),
        SOUND.replace("</td>", "<tr>x", 1),
        SOUND.replace("<td>", "<td><table>y", 3),
        SOUND.replace("<tr>", "<tr></table>z<td>", 2),
        SOUND.replace("</tr>", "<![if x]>", 1),
        SOUND.replace("<table>", "<![CDATA[", 1),
    ],
    ids=["table in a cell", "row in a cell", "tables in cells", "a cell without a table", "a declaration", "CDATA"],
)
def test_tags_that_stand_anyhow(broken: str, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(broken)
    with contextlib.suppress(InputError):
        assert read_tables(path, confirm=True).conditions


@pytest.mark.parametrize("page", ["<html><tr>", "<html><tr><td", "<html><table><tr></tr></table>"])
def test_a_page_without_cells_is_refused_in_words(page: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(page)
    with pytest.raises(InputError):
        read_tables(tmp_path / "page.html")
