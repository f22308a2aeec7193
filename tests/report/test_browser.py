"""The report in a real Chromium: figures draw, filters filter, what a model wrote never runs, nothing is fetched."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.browser import Browser, open_browser
from helpers.simulated import simulated_run
from report.simulated_report import HOSTILE, build_run, document
from richter.audit import measure_run
from richter.report import figures, write_report

TAB, ENTER = "\ue004", "\ue007"
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
    """The report freshly opened, with all figures drawn and the evidence unpacked."""
    driver.dark(False)
    driver.size(1440, 900)
    driver.go("about:blank")
    driver.requests()
    driver.logged()
    driver.go(page.as_uri())
    driver.wait("window.RICHTER_REPORT && document.readyState === 'complete'")
    driver.promise("RICHTER_REPORT.drawAll().then(() => RICHTER_REPORT.unpack()).then(() => 1)")
    return driver


def test_every_figure_draws_quietly(browser: Browser, page: Path) -> None:
    drawn = browser.script(
        "return [...document.querySelectorAll('figure[data-figure]')].map((f) => [f.dataset.figure, "
        "f.querySelectorAll('svg path, svg text').length])"
    )
    assert [name for name, _ in drawn] == list(figures(document()))
    assert all(marks > 5 for _, marks in drawn), drawn
    assert browser.logged() == []  # neither an error nor a breach of the policy
    assert browser.requests() == [page.as_uri()]


def test_a_facet_shows_its_own_rows_only(browser: Browser) -> None:
    """30 cells over 3 conditions are 30 rectangles, not 90."""
    count = "return [...document.querySelectorAll('#figure-severity-heatmap .mark-rect.role-mark path')].length"
    assert browser.script(count) == 30


@pytest.mark.slow  # axe-core looks at every element
@pytest.mark.parametrize(("width", "dark"), [(360, True), (1440, False)])
def test_no_sideways_scroll_and_accessible(browser: Browser, width: int, dark: bool) -> None:
    browser.size(width, 900)
    browser.dark(dark)
    browser.script("window.dispatchEvent(new Event('resize'))")
    browser.promise("new Promise((done) => setTimeout(done, 400)).then(() => RICHTER_REPORT.drawAll()).then(() => 1)")
    assert browser.script("return document.documentElement.scrollWidth") <= width
    paper = browser.script("return getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") is not dark
    browser.script(
        "for (const name of ['severity-heatmap', 'tail-gates', 'floors-forest'])"
        "document.querySelector(`details[data-table=${name}]`).open = true;"
        "for (const d of document.querySelectorAll('#verdict details, #rows details, .docs details')) d.open = true"
    )
    assert browser.barriers() == []


def test_search_and_filters(browser: Browser) -> None:
    found = browser.script("return document.getElementById('found').textContent")
    assert found == "50 of 50 errors."  # 24 of the first condition (hostile ones and every third), 13 and 13
    browser.script(
        "const w = document.getElementById('words'); w.value = 'wrong answer 21 '; w.dispatchEvent(new Event('input'))"
    )
    browser.wait("document.querySelectorAll('#rows tbody tr').length === 1")
    assert browser.script("return document.querySelector('#rows tbody tr').dataset.item") == "item-021"
    browser.script("document.getElementById('clear').click()")
    browser.wait("document.querySelectorAll('#rows tbody tr').length === 25")
    browser.script(
        "const s = document.getElementById('by-condition'); s.value = '1'; "
        "s.dispatchEvent(new Event('change', {bubbles: true}))"
    )
    browser.wait(
        "[...document.querySelectorAll('#rows tbody tr')].every((r) => r.dataset.condition === 'simulated new')"
    )
    browser.script("document.getElementById('clear').click()")
    browser.script("document.getElementById('after').click()")
    browser.wait("document.getElementById('page-of').textContent.startsWith('Page 2')")


def test_fixed_and_broken(browser: Browser) -> None:
    browser.script("document.querySelector('input[value=pair]').click()")
    browser.wait("document.querySelector('#rows tbody tr[data-change]')")
    changes = (
        "return [...new Set([...document.querySelectorAll('#rows tbody tr')].map((r) => r.dataset.change))].sort()"
    )
    assert browser.script(changes) == ["broken", "fixed"]
    browser.script("document.getElementById('different').click()")
    browser.wait("document.querySelector('#rows tbody tr[data-change=\"both wrong\"]')")
    rows = browser.script("return document.getElementById('found').textContent")
    # by hand: old is wrong at the 16 hostile items and at k % 3 == 0, new at (k + 1) % 3 == 0
    old = set(range(16)) | {k for k in range(40) if k % 3 == 0}
    new = {k for k in range(40) if (k + 1) % 3 == 0}
    assert f"{len(old - new)} fixed, {len(new - old)} broken, {len(old & new)} wrong in both" in rows


@pytest.mark.slow
def test_hostile_answers_are_inert(browser: Browser) -> None:
    browser.script("for (const d of document.querySelectorAll('#rows details')) d.open = true")
    shown = browser.script("return [...document.querySelectorAll('#rows .text')].map((n) => n.textContent)")
    for name in ("script", "closing", "handler", "link", "css", "template", "iframe"):
        assert HOSTILE[name] in shown, name
    assert browser.script("return window.hacked") is None
    assert (
        browser.script(
            "return document.querySelectorAll('#rows :is(script, img, svg, style, link, iframe, base)').length"
        )
        == 0
    )
    assert browser.script("return [...document.querySelectorAll('#rows a')].length") == 0
    assert browser.script("return document.documentElement.scrollWidth") <= 1440
    assert browser.logged() == []


def test_downloads_hold_no_formula(browser: Browser) -> None:
    text = browser.script("return RICHTER_REPORT.evidenceCsv()")
    for name in ("formula", "plus", "minus", "at"):
        assert "\"'" + HOSTILE[name].replace('"', '""') + '"' in text, name
    assert '"\'\t=1+1"' in text
    for name, figure in figures(document()).items():
        csv = browser.script("return RICHTER_REPORT.figureCsv(arguments[0])", name)
        assert csv.count("\r\n") == len(figure.rows) + 1


def test_opening_what_is_behind_a_figure(browser: Browser) -> None:
    """By mouse, by keyboard from the table of numbers, and through the hook that an app sets."""
    browser.script("document.querySelector('details[data-table=severity-heatmap]').open = true")
    browser.wait("document.querySelector('[data-table=severity-heatmap] tbody button')")
    browser.script("document.querySelector('[data-table=severity-heatmap] tbody button').click()")
    browser.wait(
        "document.getElementById('by-domain').value === 'cities' && document.getElementById('by-tier').value === '1'"
    )
    browser.script("window.RICHTER_VIEW = {open: (detail) => { window.opened = detail; }}")
    browser.script("document.querySelector('[data-table=severity-heatmap] tbody button').click()")
    detail = browser.script("return window.opened")
    assert detail == {"figure": "severity-heatmap", "condition": "simulated old", "domain": "cities", "tier": 1}


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
    driver.wait("window.RICHTER_REPORT && document.readyState === 'complete'")
    driver.promise("RICHTER_REPORT.drawAll().then(() => RICHTER_REPORT.unpack()).then(() => 1)")
    assert driver.script("return RICHTER_REPORT.drawn.size") == len(names)
    assert driver.script("return document.documentElement.scrollWidth") <= 360
    assert driver.logged() == []


def test_keyboard_reaches_the_evidence(browser: Browser) -> None:
    """The first stop skips to the report; filters and pages are reached by Tab and act by Enter and letters."""
    browser.script("document.body.focus()")
    browser.press(TAB)
    assert browser.script("return document.activeElement.textContent") == "Skip to the report"
    browser.script("document.getElementById('words').focus()")
    browser.press("wrong answer 21 ")
    browser.wait("document.querySelectorAll('#rows tbody tr').length === 1")
    browser.script("document.getElementById('clear').focus()")
    browser.press(ENTER)
    browser.wait("document.querySelectorAll('#rows tbody tr').length === 25")
    reached = browser.script(
        "return [...document.querySelectorAll('a[href], button, select, input, summary')]"
        ".filter((n) => n.tabIndex < 0 && !n.disabled).length"
    )
    assert reached == 0


def test_paper_is_light_and_holds_the_figures(browser: Browser) -> None:
    browser.dark(True)
    browser.devtools("Emulation.setEmulatedMedia", media="print")
    assert browser.script("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.script("return getComputedStyle(document.querySelector('.top')).display") == "none"
    browser.devtools("Emulation.setEmulatedMedia", media="")
    paper = browser.call("POST", "/print", {})
    assert paper.startswith("JVBER")  # %PDF


def test_theme_button_and_documentation(browser: Browser) -> None:
    browser.script("document.getElementById('theme').click()")
    assert browser.script("return getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"
    browser.script("document.querySelector('#figure-severity-curve .under a').click()")
    browser.wait("document.querySelector('#docs-estimators-b-value details').open")
