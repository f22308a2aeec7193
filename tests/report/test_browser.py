"""The report in a real Chromium: figures draw, filters filter, what a model wrote never runs, nothing is fetched."""

import base64
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.browser import Browser, open_browser
from helpers.simulated import simulated_run
from report.simulated_report import HOSTILE, NAMES, build_run, document
from richter.audit import measure_run
from richter.report import figures, write_report

TAB = "\ue004"
pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    return write_report(document(), build_run(folder / "run"), folder / "report.html", built_at="2026-01-01")


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with open_browser(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture
def browser(driver: Browser, page: Path) -> Browser:
    """The report freshly opened, with the evidence unpacked."""
    driver.dark(False)
    driver.size(1440, 900)
    driver.go("about:blank")
    driver.requests()
    driver.logged()
    driver.go(page.as_uri())
    opened(driver)
    return driver


def opened(driver: Browser) -> None:
    driver.wait("window.RICHTER_REPORT && document.readyState === 'complete'")
    driver.promise("RICHTER_REPORT.unpack().then(() => 1)")


def items(browser: Browser) -> list[str]:
    return browser.script("return [...document.querySelectorAll('.items article')].map((n) => n.dataset.item)")


def said(browser: Browser) -> str:
    return browser.script("return document.querySelector('richter-evidence output').textContent")


def show(browser: Browser, name: str) -> None:
    browser.script(f"document.querySelector('[data-show={name}]').click()")
    browser.wait(f"document.querySelector('[data-show={name}][aria-pressed=true]')")


def test_every_figure_is_there_and_the_page_is_quiet(browser: Browser, page: Path) -> None:
    drawn = browser.script(
        "return [...document.querySelectorAll('figure[data-figure]')].map((f) => f.dataset.figure).sort()"
    )
    assert drawn == sorted(figures(document()))
    assert browser.logged() == []  # neither an error nor a breach of the policy
    assert browser.requests() == [page.as_uri()]


def test_a_panel_shows_its_own_rows_only(browser: Browser) -> None:
    """30 cells over 3 conditions are 30 rectangles, not 90."""
    assert browser.script("return document.querySelectorAll('#figure-severity-heatmap rect').length") == 30


@pytest.mark.sampled(1)
@pytest.mark.slow  # axe-core looks at every element
@pytest.mark.parametrize(("width", "dark"), [(360, True), (1440, False)])
def test_no_sideways_scroll_and_accessible(browser: Browser, width: int, dark: bool) -> None:
    browser.size(width, 900)
    browser.dark(dark)
    assert browser.script("return document.documentElement.scrollWidth") <= width
    paper = browser.script("return getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") is not dark
    browser.script("for (const d of document.querySelectorAll('details')) d.open = true")
    assert browser.script("return document.documentElement.scrollWidth") <= width
    assert browser.barriers() == []


def test_evidence_opens_at_what_matters_and_filters_by_hand(browser: Browser) -> None:
    """Old is wrong at the 16 hostile items (severity 4) and at k % 3 == 0, new at (k + 1) % 3 == 0."""
    old = set(range(16)) | {k for k in range(40) if k % 3 == 0}
    new = {k for k in range(40) if (k + 1) % 3 == 0}
    assert said(browser).startswith("1 to 10 of ")
    assert browser.script("return document.querySelector('[aria-pressed=true]').dataset.show") == "turned"
    first = browser.script("return document.querySelector('.items article .chip').textContent")
    assert first == "severity 4"  # a difference of four steps comes first
    counts = dict(
        browser.script("return [...document.querySelectorAll('[data-show]')].map((b) => [b.dataset.show, b.innerText])")
    )
    assert counts["wrong"] == f"wrong in either {len(old | new)}"
    assert counts["all"] == "all 40"
    fixed = {k for k in old if k not in new}
    broken = {k for k in new if k not in old}
    assert int(counts["better"].split()[-1]) >= len(fixed)
    assert int(counts["worse"].split()[-1]) >= len(broken)
    assert counts["turned"] == f"fixed or broken {len(fixed | broken)}"
    assert (counts["fixed"], counts["broken"]) == (f"fixed {len(fixed)}", f"broken {len(broken)}")
    show(browser, "broken")
    assert said(browser).startswith(f"1 to 10 of {len(broken)} questions") or len(broken) < 10
    show(browser, "worse")
    changes = "return [...new Set([...document.querySelectorAll('.items article')].map((n) => n.dataset.change))]"
    assert browser.script(changes) == ["worse"]
    show(browser, "all")
    browser.script(
        "const w = document.querySelector('richter-evidence [name=search]');"
        "w.value = 'wrong answer 21 '; w.dispatchEvent(new Event('input'))"
    )
    browser.wait("document.querySelectorAll('.items article').length === 1")
    assert items(browser) == ["item-021"]


def test_keys_move_turn_and_search(browser: Browser) -> None:
    show(browser, "all")
    browser.script("document.querySelector('.items article').focus()")
    browser.press("j")
    place = "return [...document.querySelectorAll('.items article')].indexOf(document.activeElement)"
    assert browser.script(place) == 1
    browser.press("n")
    browser.wait("document.querySelector('richter-evidence output').textContent.startsWith('11 to 20')")
    browser.press("p")
    browser.wait("document.querySelector('richter-evidence output').textContent.startsWith('1 to 10')")
    browser.press("/")
    assert browser.script("return document.activeElement.name") == "search"


def test_hostile_answers_are_inert(browser: Browser) -> None:
    browser.promise("RICHTER_REPORT.show({show: 'all', condition: 'simulated old'})")
    shown: list[str] = []
    for _ in range(4):
        browser.script("for (const d of document.querySelectorAll('.items details')) d.open = true")
        shown += browser.script("return [...document.querySelectorAll('.items .side .text')].map((n) => n.textContent)")
        browser.script("document.querySelector('richter-evidence').page(1)")
        browser.promise("new Promise((done) => setTimeout(() => done(1), 50))")
    for name in ("script", "closing", "handler", "link", "css", "template", "iframe"):
        assert HOSTILE[name] in shown, name
    assert browser.script("return window.hacked") is None
    alive = "richter-evidence :is(script, img, svg, style, link, iframe, base, a)"
    assert browser.script("return document.querySelectorAll(arguments[0]).length", alive) == 0
    assert browser.script("return document.documentElement.scrollWidth") <= 1440
    assert browser.logged() == []


def test_downloads_hold_no_formula(browser: Browser) -> None:
    browser.promise("RICHTER_REPORT.show({show: 'all', condition: 'simulated old'})")
    text = browser.script("return RICHTER_REPORT.evidenceCsv()")
    for name in ("formula", "plus", "minus", "at"):
        assert "\"'" + HOSTILE[name].replace('"', '""') + '"' in text, name
    assert '"\'\t=1+1"' in text
    for name, figure in figures(document()).items():
        csv = browser.script("return RICHTER_REPORT.figureCsv(arguments[0])", name)
        assert csv.count("\r\n") == len(figure.rows) + 1


def test_opening_what_is_behind_a_figure(browser: Browser) -> None:
    """By a click on a mark, from the table of numbers, from a claim; and a mark says what it stands for."""
    mark = "document.querySelector('#figure-severity-heatmap [data-row]')"
    browser.script(f"{mark}.dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
    browser.wait("document.querySelector('richter-evidence').asked.domain === 'cities'")
    asked = browser.script("return document.querySelector('richter-evidence').asked")
    assert (asked["tier"], asked["first"], asked["second"]) == (1, "simulated old", "")
    browser.wait("document.querySelectorAll('.items article').length === 3")  # k = 0, 10, 30 of 0, 10, 20, 30 are wrong
    browser.script("document.querySelector('details[data-table=severity-heatmap]').open = true")
    browser.wait("document.querySelector('[data-table=severity-heatmap] tbody button')")
    browser.script("document.querySelector('[data-table=severity-heatmap] tbody tr:nth-child(2) button').click()")
    browser.wait("document.querySelector('richter-evidence').asked.tier === 2")
    browser.script("document.querySelector('#claim-2 [data-open]').click()")
    browser.wait("document.querySelector('richter-evidence').asked.second === 'simulated <b>third</b>'")
    assert browser.script("return document.querySelector('richter-evidence').asked.tier") is None
    browser.script(f"{mark}.dispatchEvent(new PointerEvent('pointermove', {{bubbles: true, clientX: 9, clientY: 9}}))")
    tip = browser.script("return document.querySelector('.tip').textContent")
    assert "cities" in tip
    assert "error rate" in tip


def test_the_table_is_sorted_by_a_column(browser: Browser) -> None:
    values = "return [...document.querySelectorAll('.measures tbody tr')].map((r) => Number(r.cells[1].dataset.value))"
    for turned in (True, False):
        browser.script("document.querySelector('.measures thead th:nth-child(2) button').click()")
        found = browser.script(values)
        assert found == sorted(found, reverse=turned)


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_the_first_screen_holds_answer_figure_counts_and_next_step(browser: Browser, width: int, height: int) -> None:
    browser.size(width, height)
    for part in ("h1", ".lead-figure .panel", ".count.is-worse", ".step"):
        bottom = browser.script(f"return document.querySelector('{part}').getBoundingClientRect().bottom")
        assert bottom <= height, part


@pytest.mark.slow  # measures a run
def test_a_measured_run(driver: Browser, tmp_path: Path) -> None:
    """What `measure_run` really writes is drawn whole: no section with data stays without figures, none fails."""
    run = simulated_run(tmp_path / "run", conditions=3, items=600, judged=120, drawn=30)
    measured = measure_run(run).to_dict()
    sections = {n for n, s in measured["sections"].items() if "missing" not in s}
    names = list(figures(measured))
    assert sections == {"severity", "tail", "calibration", "floors", "judges"}
    assert {name.split("-")[0] for name in names} == sections
    driver.size(360, 800)
    driver.go("about:blank")
    driver.logged()
    driver.go(write_report(measured, run, tmp_path / "report.html").as_uri())
    opened(driver)
    assert driver.script("return document.querySelectorAll('figure[data-figure]').length") == len(names)
    assert driver.script("return document.documentElement.scrollWidth") <= 360
    assert driver.logged() == []


def test_keyboard_reaches_everything(browser: Browser) -> None:
    browser.script("document.body.focus()")
    browser.press(TAB)
    assert browser.script("return document.activeElement.textContent") == "Skip to the report"
    reached = browser.script(
        "return [...document.querySelectorAll('a[href], button, select, input, summary')]"
        ".filter((n) => n.tabIndex < 0 && !n.disabled).length"
    )
    assert reached == 0


def test_paper_is_light_and_one_page(driver: Browser, tmp_path: Path) -> None:
    """The answer, the numbers, the findings and the signature of two conditions, on one sheet."""
    run = build_run(tmp_path / "run")
    driver.go(write_report(document(NAMES[:2]), run, tmp_path / "report.html").as_uri())
    opened(driver)
    driver.dark(True)
    driver.devtools("Emulation.setEmulatedMedia", media="print")
    assert driver.script("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for hidden in (".top", "#evidence", "#severity"):
        assert driver.script(f"return getComputedStyle(document.querySelector('{hidden}')).display") == "none"
    assert driver.script("return getComputedStyle(document.querySelector('.sign')).display") != "none"
    driver.devtools("Emulation.setEmulatedMedia", media="")
    paper = base64.b64decode(driver.call("POST", "/print", {}))
    assert paper.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", paper)) == 1


def test_a_page_of_the_worst_input_still_reads(driver: Browser, tmp_path: Path) -> None:
    """50 conditions, names of 200 characters, right-to-left text, a failed section, a section of another form."""
    names = tuple(f"\u05e9\u05dc\u05d5\u05dd {k} " + "very long name " * 12 for k in range(50))
    whole = document(names)
    whole["sections"] |= {"tail": {"missing": {"reason": "It failed.", "remedy": "x"}}, "judges": {"kinds": ["old"]}}
    driver.size(390, 844)
    driver.go("about:blank")
    driver.logged()
    driver.go(write_report(whole, build_run(tmp_path / "run"), tmp_path / "report.html").as_uri())
    opened(driver)
    assert driver.script("return document.documentElement.scrollWidth") <= 390
    driver.script("for (const d of document.querySelectorAll('details')) d.open = true")
    text = driver.script("return document.body.innerText")
    assert "It failed." in text
    assert "It is of a form that this version does not draw." in text
    assert driver.logged() == []
    assert (tmp_path / "report.html").stat().st_size < 5_000_000
