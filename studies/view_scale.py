"""How fast the app is on a large run and on many runs, measured in Chromium.

    python studies/view_scale.py [--items 100000] [--runs 500]   (--items 0: only the list)

The runs are simulated, each with a ledger and a page of its own. Needs chromium and chromium-driver. Times are wall
clock on the machine that runs it; of the list also the processor time of the page, which other work does not change.
"""

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from simulated_run import build_run

from richter.report import RunsApp, render_report
from richter.report._index import EvidenceIndex

DIFFERENT = 10  # runs that are simulated; the others are copies of them


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=500)
    asked = parser.parse_args()
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    from helpers.browser import open_browser
    from report.simulated_report import document
    from report.test_view import served
    from richter.audit import label_page

    def app_of(*runs: Path) -> RunsApp:
        return RunsApp([str(r) for r in runs], measure=lambda *_: document(), rating=label_page)

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        many = [folder / f"few-{k:03d}" for k in range(asked.runs)]
        for k, few in enumerate(many):
            if k >= DIFFERENT:
                shutil.copytree(many[k % DIFFERENT], few)
                continue
            build_run(few, conditions=2, items=20, judged=0, drawn=0, nll=False, seed=k)
            (few / "report.html").write_text(render_report(document(), few), encoding="utf-8")
        with open_browser(folder) as browser:
            app = app_of(*many)
            with served(app) as base:
                browser.devtools("Performance.enable", timeDomain="threadTicks")
                browser.go(f"{base}/?token={app.guard.token}")
                for _ in range(5):
                    browser.go("about:blank")
                    start = time.perf_counter()
                    browser.go(f"{base}/")
                    browser.wait(f"document.querySelectorAll('.card').length >= {min(asked.runs, 100)}")
                    wall = time.perf_counter() - start
                    found = {m["name"]: m["value"] for m in browser.devtools("Performance.getMetrics")["metrics"]}
                    busy = found["TaskDuration"]
                    print(f"list of {asked.runs} runs: {wall:.2f} s, {busy:.2f} s of it work of the page")
                while browser.script("return document.querySelectorAll('.card').length") < asked.runs:
                    browser.script("window.scrollTo(0, document.body.scrollHeight)")
                    time.sleep(0.1)
                print("all rows come as the page is scrolled")
        if not asked.items:
            return
        large = folder / "large"
        build_run(large, conditions=2, items=asked.items)
        start = time.perf_counter()
        index = EvidenceIndex(large)
        print(f"index of {asked.items:,} items: {time.perf_counter() - start:.1f} s, once a state of the run")
        for said, query in {
            "open": {},
            "next page": {"offset": "10"},
            "page 5,000": {"show": "all", "offset": "50000"},
            "worse": {"show": "worse"},
            "search": {"search": "item 77"},
            "sort": {"show": "all", "sort": "gravest"},
        }.items():
            start = time.perf_counter()
            found = index.find({"limit": "10", **query})
            print(f"  {said}: {1000 * (time.perf_counter() - start):.0f} ms, {found['total']:,} items")
        index.close()

        with open_browser(folder) as browser:
            app = app_of(large)
            with served(app) as base:
                browser.go(f"{base}/?token={app.guard.token}")
                browser.script("location.hash = '#/run/0/items'")
                browser.wait("document.querySelector('.items article')", seconds=600)
                for said, act in {
                    "got worse": "document.querySelector('[data-show=worse]').click()",
                    "next page": "document.querySelector('richter-evidence').page(1)",
                    "search": "document.querySelector('richter-evidence').set({search: 'item 77'})",
                }.items():
                    ms = browser.promise(
                        "new Promise((done) => { const start = performance.now(); "
                        "document.querySelector('richter-evidence').addEventListener('found', () => "
                        "requestAnimationFrame(() => setTimeout(() => done(performance.now() - start))),"
                        "{once: true}); "
                        f"{act}; }})"
                    )
                    print(f"  in Chromium, {said}: {ms:.0f} ms")


if __name__ == "__main__":
    main()
