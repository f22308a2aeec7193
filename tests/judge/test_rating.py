"""People's ratings: the sample, the page and what it refuses, the sheet and its way back."""

import asyncio
import csv
import json
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp
import numpy as np
import pytest
from aiohttp import web

from richter import texts
from richter.audit import (
    compare_tables,
    import_ratings,
    label_page,
    labelling_of,
    measure_run,
    open_rating,
    serve_rating,
    shared_sample,
    write_sheet,
)
from richter.audit._labelling import labels_of
from richter.cli import main
from richter.errors import InputError
from richter.ratings import RatingPage, Sample, draw_sample, extend_sample
from richter.records import Answer, Condition, Item, Rating, call_key
from richter.store import Call, Ledger, open_ledger
from richter.tables import read_tables

EVIL = '<script>alert(1)</script><img src=x onerror=alert(2)> & "quotes"'


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of 30 items under two conditions, rated by rules; the first answer is hostile."""
    folder = tmp_path / "run"
    conditions = [Condition(name="new", model="openai/a"), Condition(name="old", model="openai/b")]
    items = [Item(id=f"q{i}", prompt=f"Question {i}?", reference=f"R{i}") for i in range(30)]

    async def fill() -> None:
        with open_ledger(folder, mode="write") as ledger:
            ledger.add_items(items)
            ledger.add_conditions(conditions)
            calls, ratings = [], []
            for c in conditions:
                for i, item in enumerate(items):
                    text = EVIL if i == 0 else f"=cmd answer {i} of a model"
                    answer = Answer(text=text, item=item.id, condition=c.name)
                    key = call_key(c.model, [{"role": "user", "content": item.prompt}], c.decoding, 0)
                    calls.append(Call(key=key, model=c.model, request="{}", answer=answer))
                    ratings.append(
                        Rating(item=item.id, condition=c.name, rater="rules", kind="rule", severity=(i % 9) / 2)
                    )
            await asyncio.gather(*(ledger.record(call) for call in calls))
            ledger.add_ratings(ratings)

    asyncio.run(fill())
    return folder


def page_of(ledger: Ledger, rater: str = "anna", n: int = 20) -> RatingPage:
    sample = shared_sample(ledger, n=n, seed=0)
    answers = {(a.item, a.condition, a.draw): a for a in ledger.answers()}
    return RatingPage(ledger, sample, rater, {i.id: i for i in ledger.items()}, answers)


# ---- the sample ------------------------------------------------------------------------------------------------------


def test_every_stratum_is_drawn_and_none_too_often() -> None:
    answers = [Answer(text="x", item=f"q{i}", condition="c") for i in range(100)]
    scores = {(f"q{i}", "c", 0): 0.0 if i < 90 else 4.0 for i in range(100)}
    sample = draw_sample(answers, scores, 30, seed=1)
    drawn = [sample.strata[key] for key in sample.chosen]
    # by hand: 90 times the root of 0.5 to 10 times the root of 4.5 is 3 to 1, of 30 labels 22.5 to 7.5
    assert drawn.count("c | 0") == 23
    assert drawn.count("c | 3.5-4") == 7
    assert sample.inclusion == pytest.approx({"c | 0": 23 / 90, "c | 3.5-4": 0.7})
    assert sample == draw_sample(answers, scores, 30, seed=1)
    assert sample.chosen != draw_sample(answers, scores, 30, seed=2).chosen
    assert len(set(sample.chosen)) == 30


def test_the_sample_is_random_within_its_strata() -> None:
    answers = [Answer(text="x", item=f"q{i}", condition="c") for i in range(40)]
    counts = np.zeros(40)
    for seed in range(400):
        for item, _, _ in draw_sample(answers, {}, 10, seed=seed).chosen:
            counts[int(item[1:])] += 1
    # Each answer is drawn with probability 1/4; the variance of a count is 400 * 3/16 = 75.
    assert np.all(np.abs(counts - 100) < 4.5 * np.sqrt(75))


def test_two_conditions_are_labelled_on_the_same_items_and_go_on_with_the_next() -> None:
    answers = [Answer(text="x", item=f"q{i}", condition=c) for c in ("old", "new") for i in range(100)]
    sample = draw_sample(answers, {}, 30, seed=1)
    items = [{item for item, condition, _ in sample.chosen if condition == c} for c in ("old", "new")]
    assert items[0] == items[1]
    assert len(items[0]) == 15
    larger = extend_sample(sample, {"old | unscored": 5, "new | unscored": 5})
    assert larger.chosen[:30] == sample.chosen
    more = [{item for item, condition, _ in larger.chosen[30:] if condition == c} for c in ("old", "new")]
    assert more[0] == more[1]
    assert not more[0] & items[0]


def test_too_small_a_sample_is_refused(run: Path) -> None:
    with open_ledger(run, mode="write") as ledger, pytest.raises(InputError, match="strata"):
        shared_sample(ledger, n=3, seed=0)


# ---- the page --------------------------------------------------------------------------------------------------------


def serve(run: Path, act: Callable[[aiohttp.ClientSession, str, RatingPage], Awaitable[None]]) -> None:
    async def session() -> None:
        with open_ledger(run, mode="write") as ledger:
            page = page_of(ledger)
            runner = web.AppRunner(page.app())
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            port = runner.addresses[0][1]
            jar = aiohttp.CookieJar(unsafe=True)  # cookies of an address without a name
            async with aiohttp.ClientSession(cookie_jar=jar) as client:
                await act(client, f"http://127.0.0.1:{port}", page)
            await runner.cleanup()

    asyncio.run(session())


def good(base: str) -> dict[str, str]:
    return {"Origin": base, "X-Richter": "1", "Content-Type": "application/json"}


def test_rating_undo_and_resume(run: Path) -> None:
    async def act(client: aiohttp.ClientSession, base: str, page: RatingPage) -> None:
        async with client.get(f"{base}/?token={page.guard.token}") as reply:
            assert reply.status == 200
            assert "page.js" in await reply.text()
        async with client.get(f"{base}/api/next") as reply:
            first = await reply.json()
        assert (first["done"], first["total"]) == (0, 20)
        blind = {"number", "question", "reference", "answer", "severity", "mechanism"}
        assert set(first["task"]) == blind
        body = {"task": first["task"]["number"], "severity": 2.5, "mechanism": "retrieval", "started_at": 1.0}
        async with client.post(f"{base}/api/rate", json=body, headers=good(base)) as reply:
            second = await reply.json()
        assert second["done"] == 1
        assert second["task"]["number"] != first["task"]["number"]
        async with client.post(f"{base}/api/undo", json={}, headers=good(base)) as reply:
            back = await reply.json()
        assert back["task"]["number"] == first["task"]["number"]
        assert (back["task"]["severity"], back["task"]["mechanism"]) == (2.5, "retrieval")
        body["severity"] = 0
        async with client.post(f"{base}/api/rate", json=body, headers=good(base)) as reply:
            assert (await reply.json())["done"] == 1

    serve(run, act)
    with open_ledger(run, mode="write") as ledger:
        [rating] = ledger.ratings(kind="human")
        assert (rating.severity, rating.mechanism, rating.rater, rating.started_at) == (0.0, "", "anna", 1.0)
        assert rating.ended_at > 1.0
        assert page_of(ledger).state()["done"] == 1  # a new session goes on where the old one stopped


def test_the_token_works_once_and_nothing_else_opens_the_page(run: Path) -> None:
    async def act(client: aiohttp.ClientSession, base: str, page: RatingPage) -> None:
        async with client.get(f"{base}/api/next") as reply:
            assert reply.status == 403
        async with client.get(f"{base}/?token=guess") as reply:
            assert reply.status == 403
        async with client.get(f"{base}/?token={page.guard.token}", allow_redirects=False) as reply:
            assert reply.status == 303
            cookie = reply.headers["Set-Cookie"]
            assert "HttpOnly" in cookie
            assert "SameSite=Strict" in cookie
            assert page.guard.token not in cookie
        async with client.get(f"{base}/api/next") as reply:
            assert reply.status == 200
        async with aiohttp.ClientSession() as stranger, stranger.get(f"{base}/?token={page.guard.token}") as reply:
            assert reply.status == 403

    serve(run, act)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"X-Richter": ""},
        {"Content-Type": "text/plain"},
        {"Host": "evil.example"},
    ],
)
def test_requests_from_elsewhere_are_refused(run: Path, headers: dict[str, str]) -> None:
    async def act(client: aiohttp.ClientSession, base: str, page: RatingPage) -> None:
        await (await client.get(f"{base}/?token={page.guard.token}")).read()
        body = json.dumps({"task": 0, "severity": 1})
        async with client.post(f"{base}/api/rate", data=body, headers={**good(base), **headers}) as reply:
            assert reply.status == 403
        assert not page.rated

    serve(run, act)


def test_a_disk_that_is_slow_while_rating_holds_up_nobody_else(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reached, answers = threading.Event(), threading.Event()

    async def act(client: aiohttp.ClientSession, base: str, page: RatingPage) -> None:
        kept = page.ledger.add_ratings

        def slow(ratings: list[Rating]) -> None:
            reached.set()
            assert answers.wait(20)
            kept(ratings)

        monkeypatch.setattr(type(page.ledger), "add_ratings", lambda _, ratings: slow(ratings))
        async with client.get(f"{base}/?token={page.guard.token}") as reply:
            assert reply.status == 200
        async with client.get(f"{base}/api/next") as reply:
            task = (await reply.json())["task"]
        body = {"task": task["number"], "severity": 1.0}
        rating = asyncio.create_task(client.post(f"{base}/api/rate", json=body, headers=good(base)).__aenter__())
        assert await asyncio.to_thread(reached.wait, 20)
        async with asyncio.timeout(10), client.get(f"{base}/page.css") as reply:  # the app goes on
            assert reply.status == 200
        assert not rating.done()
        answers.set()
        assert (await (await rating).json())["done"] == 1

    serve(run, act)


def test_every_reply_forbids_scripts_and_frames(run: Path) -> None:
    async def act(client: aiohttp.ClientSession, base: str, page: RatingPage) -> None:
        files = ("/", "/page.js", "/page.css", "/app_frame.css", "/tokens.css")
        paths = (f"/?token={page.guard.token}", *files, "/api/next", "/api/scale", "/api/disagreements", "/nowhere")
        for path in paths:
            async with client.get(base + path) as reply:
                policy = reply.headers["Content-Security-Policy"]
                assert "default-src 'none'" in policy
                assert "unsafe" not in policy
                assert "frame-ancestors 'none'" in policy
                assert reply.headers["X-Content-Type-Options"] == "nosniff"
                assert EVIL not in (await reply.text()) or reply.content_type == "application/json"

    serve(run, act)


@pytest.mark.parametrize(
    "body",
    [
        {"task": 999, "severity": 1},
        {"task": -1, "severity": 1},
        {"task": True, "severity": 1},
        {"task": 0},
        {"task": 0, "severity": 1.3},
        {"task": 0, "severity": 5},
        {"task": 0, "severity": "2"},
        {"task": 0, "severity": 1, "mechanism": "magic"},
    ],
)
def test_bad_ratings_are_refused_with_a_reason(run: Path, body: dict) -> None:
    with open_ledger(run, mode="write") as ledger:
        page = page_of(ledger)
        with pytest.raises(InputError):
            page.rate(body)
        assert not ledger.ratings(kind="human")


# ---- the sheet -------------------------------------------------------------------------------------------------------


def filled(sheet: Path, change: Callable[[int, dict[str, str]], None]) -> Path:
    with sheet.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for i, row in enumerate(rows):
        change(i, row)
    target = sheet.with_name("filled.csv")
    with target.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return target


def test_a_sheet_is_blind_and_comes_back(run: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "labels.csv"
    assert write_sheet(run, sheet, n=20) == 20
    text = sheet.read_text()
    for secret in ("new", "old", "rules", "condition"):
        assert secret not in text
    assert "\n=cmd" not in text  # a spreadsheet would run it
    assert ",=cmd" not in text

    def fill(i: int, row: dict[str, str]) -> None:
        row["severity"], row["mechanism"] = ("", "") if i == 0 else ("1,5" if i == 1 else "3", "Retrieval")

    assert import_ratings(run, filled(sheet, fill), rater="anna").taken == 19
    with open_ledger(run) as ledger:
        ratings = ledger.ratings(kind="human")
    assert {r.rater for r in ratings} == {"anna"}
    assert sorted(r.severity for r in ratings)[0] == 1.5


def test_scores_between_half_steps_are_placed_and_counted_and_all_faults_named_by_hand(
    run: Path, tmp_path: Path
) -> None:
    sheet = tmp_path / "labels.csv"
    write_sheet(run, sheet, n=20)
    values = ["1.3", "0,2", "0.75", "3.9"]
    found = import_ratings(
        run, filled(sheet, lambda i, row: row.update(severity=values[i] if i < 4 else "1")), rater="anna"
    )
    assert (found.taken, found.moved) == (20, 4)
    assert "4 lay between half steps and were put on the nearest." in str(found)
    with open_ledger(run) as ledger:
        kept = sorted(r.severity or 0.0 for r in ledger.ratings(kind="human"))
    assert kept == sorted([1.5, 0.5, 0.5, 4.0] + [1.0] * 16)  # halves of a step go down; no error becomes 0
    bad = {1: ("severity", "7"), 4: ("severity", "x"), 6: ("id", "zzzz"), 9: ("severity", "-1")}
    again = tmp_path / "again.csv"
    write_sheet(run, again, n=20, rater="ben")

    def spoil(i: int, row: dict[str, str]) -> None:
        row["severity"] = "1"
        if i in bad:
            row[bad[i][0]] = bad[i][1]

    with pytest.raises(InputError) as fault:
        import_ratings(run, filled(again, spoil), rater="ben")
    for words in ("row 2: severity 7 is not on the scale", "row 5: severity 'x' is not a number",
                  "row 7: 'zzzz' is not in this run", "row 10: severity -1 is not on the scale"):  # fmt: skip
        assert words in fault.value.what
    with open_ledger(run) as ledger:
        assert not [r for r in ledger.ratings(kind="human") if r.rater == "ben"]


def test_judge_ratings_are_not_imported_as_people(run: Path, tmp_path: Path) -> None:
    table = tmp_path / "r.csv"
    table.write_text("item,condition,rater,kind,severity\nq1,new,gpt,judge,2\n")
    with pytest.raises(InputError, match="judge rating"):
        import_ratings(run, table)
    table.write_text("item,condition,rater,kind,severity\nq1,new,anna,human,2\nq99,new,anna,human,2\n")
    with pytest.raises(InputError, match="no answer"):
        import_ratings(run, table)


def test_the_server_ends_when_all_is_rated(run: Path) -> None:
    ready, address = threading.Event(), []

    def tell(url: str, total: int) -> None:
        address.append((url, total))
        ready.set()

    done: list[tuple[int, str]] = []
    thread = threading.Thread(target=lambda: done.append(serve_rating(run, rater="ben", n=20, most=20, ready=tell)))
    thread.start()
    assert ready.wait(20)
    url, total = address[0]
    base = url.partition("/?")[0]

    async def rate_all() -> None:
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
            await (await client.get(url)).read()
            state = await (await client.get(f"{base}/api/next")).json()
            while state["task"]:
                body = {"task": state["task"]["number"], "severity": 1.0}
                async with client.post(f"{base}/api/rate", json=body, headers=good(base)) as reply:
                    state = await reply.json()

    asyncio.run(rate_all())
    thread.join(20)
    assert total == 20
    assert [count for count, _ in done] == [20]


# ---- labelling for a claim -------------------------------------------------------------------------------------------


def judged_run(folder: Path, rng: np.random.Generator, *, gap: float) -> tuple[Path, dict[tuple[str, str, int], float]]:
    """400 items, two conditions; a judge kinder to the second by five points. Returns people's severities too."""
    truth: dict[tuple[str, str, int], float] = {}
    calls, ratings = [], []
    for name, rate in (("old", 0.4), ("new", 0.4 - gap)):
        for i in range(400):
            wrong = rng.random() < rate
            seen = wrong != (rng.random() < 0.05)
            if name == "new" and seen and rng.random() < 0.05 / rate:
                seen = False
            key = (f"q{i}", name, 0)
            truth[key] = 3.0 if wrong else 0.0
            answer = Answer(text=f"answer {i} {name}", item=key[0], condition=name)
            calls.append(Call(key=f"{i}{name}", model="simulated/m", request="{}", answer=answer, given_up=True))
            rating = Rating(item=key[0], condition=name, rater="j", kind="judge", severity=3.0 if seen else 0.0)
            ratings.append(rating)
    with open_ledger(folder, mode="write") as ledger:
        ledger.add_items([Item(id=f"q{i}", prompt=f"Q{i}?", reference="A") for i in range(400)])
        ledger.add_conditions([Condition(name=name, model="simulated/m") for name in ("old", "new")])
        for call in calls:
            ledger._commit([call])
        ledger.add_ratings(ratings)
    return folder, truth


def rate_all(run: Path, truth: dict[tuple[str, str, int], float], *, most: int) -> tuple[int, list[str]]:
    """Rate on the page until it ends; how many labels it took, and what the page said after each."""
    tables = read_tables(run)
    said = []
    with open_ledger(run, mode="write") as ledger:
        page = open_rating(
            ledger, "anna", n=40, labelling=lambda s: labelling_of(tables, s, on="accuracy", batch=20, most=most)
        )
        state = page.state()
        while state["task"] is not None:
            key = page._key(state["task"]["number"])
            state = page.rate({"task": state["task"]["number"], "severity": truth[key]})
            said.append(state["sentence"])
        return len(page.sample.chosen), said


def test_a_label_does_not_grade_the_answers_again(
    tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 800 answers to 400 questions with references each is graded once, however many labels follow."""
    run, truth = judged_run(tmp_path / "run", rng, gap=0.2)
    graded = []
    monkeypatch.setattr(texts, "grade_answer", lambda item, *_: bool(graded.append(item.id)))
    with open_ledger(run, mode="write") as ledger:
        page = label_page(ledger, "anna")
        state = page.state()
        for _ in range(12):
            key = page._key(state["task"]["number"])
            state = page.rate({"task": state["task"]["number"], "severity": truth[key]})
    assert len(graded) == 800


def test_labelling_stops_when_a_large_difference_is_decided(tmp_path: Path, rng: np.random.Generator) -> None:
    run, truth = judged_run(tmp_path / "run", rng, gap=0.35)
    labels, said = rate_all(run, truth, most=200)
    assert 40 <= labels < 200
    assert said[-1].endswith(f"by {labels} labels. This is decided.")
    assert "Accuracy, new minus old: +" in said[-1]
    assert not any("decided" in text for text in said[:39])  # looks are taken at the end of a batch
    with open_ledger(run) as ledger:
        sample = Sample.from_dict(ledger.note("rating sample"))
    assert sample.batches[0] == 40
    assert sum(sample.batches) == labels
    order = sample.order("ben")
    assert sorted(order[:40]) == list(range(40))  # a later batch comes later for everybody


def test_a_sheet_again_is_the_next_batch_and_changed_answers_count(tmp_path: Path, rng: np.random.Generator) -> None:
    run, _ = judged_run(tmp_path / "run", rng, gap=0.0)
    first = tmp_path / "one.csv"
    assert write_sheet(run, first, rater="anna", n=40) == 40

    def fill(i: int, row: dict[str, str]) -> None:
        row["severity"] = "0"
        if i == 3:
            row["answer"] = "another answer altogether"

    found = import_ratings(run, filled(first, fill), rater="anna")
    assert (found.taken, found.replaced, found.changed) == (39, 0, 1)
    assert "1 rate an answer that has changed since" in str(found)
    assert "Accuracy, new minus old" in str(found)
    rest = tmp_path / "two.csv"
    assert write_sheet(run, rest, rater="anna", n=40) == 1  # what is not rated yet
    import_ratings(run, filled(rest, lambda _, row: row.update(severity="0")), rater="anna")
    assert write_sheet(run, tmp_path / "three.csv", rater="anna", n=40) == 20
    again = import_ratings(run, filled(first, lambda _, row: row.update(severity="1")), rater="anna")
    assert (again.taken, again.replaced, again.changed) == (40, 40, 0)


def test_bands_are_joined_before_anything_is_drawn_by_hand() -> None:
    """Four conditions in five bands each would leave three labels a stratum of 60; three bands leave five."""
    answers = [Answer(text="x", item=f"q{i}", condition=f"c{k}") for i in range(200) for k in range(4)]
    scores = {(f"q{i}", f"c{k}", 0): float(i % 9) / 2 for i in range(200) for k in range(4)}
    sample = draw_sample(answers, scores, 60, seed=1)
    assert {name.split(" | ")[1] for name in sample.strata.values()} == {"0", "0.5-2", "2.5-4"}
    drawn = [sample.strata[key] for key in sample.chosen]
    assert {drawn.count(name) for name in set(drawn)} == {5}


def test_people_decide_what_compare_gate_and_report_say(
    tmp_path: Path, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    run, truth = judged_run(tmp_path / "run", rng, gap=0.0)

    def call(*arguments: object) -> int:
        with pytest.raises(SystemExit) as ended:
            main([str(a) for a in arguments])
        return int(ended.value.code or 0)

    call("compare", run, "--json", tmp_path / "before.json")
    graded = {
        name: row["error_rate"]
        for name, row in json.loads((tmp_path / "before.json").read_text())["conditions"].items()
    }
    assert "Graded by j; nobody checked it." in capsys.readouterr().out
    rate_all(run, truth, most=100)
    call("compare", run, "--json", tmp_path / "c.json")
    assert "corrected by 100 human labels (drawn by stratum)" in capsys.readouterr().out
    found = json.loads((tmp_path / "c.json").read_text())
    claim = next(c for c in found["claims"] if c["measure"] == "accuracy")
    wrong = {name: row["error_rate"] for name, row in found["conditions"].items()}
    assert claim["estimate"] == pytest.approx(wrong["old"] - wrong["new"])
    assert wrong != graded
    assert abs(wrong["old"] - 0.4) < 0.15  # what people find, as they would of all answers
    document = measure_run(run, only=["floors"]).to_dict()
    for row in document["conditions"]:
        assert row["how_often"]["estimate"] == pytest.approx(wrong[row["name"]])
        assert row["how_often"]["what"].startswith("share of wrong answers, as people would grade (")
        judged = graded[row["name"]]
        assert row["how_often"]["graded"]["estimate"] == pytest.approx(judged)
    plan = tmp_path / "gate.toml"
    plan.write_text(
        'kind = "gate"\ncandidate = "new"\nbaseline = "old"\n\n'
        '[[require]]\nmetric = "error_rate"\nrule = "below"\nlimit = 0.9\n'
    )
    assert call("gate", plan, run) == 0
    assert "corrected by" in capsys.readouterr().out


def test_the_label_loop_says_what_compare_says_of_the_same_labels(tmp_path: Path, rng: np.random.Generator) -> None:
    run, truth = judged_run(tmp_path / "run", rng, gap=0.1)
    rate_all(run, truth, most=80)
    with open_ledger(run) as ledger:
        sample = Sample.from_dict(ledger.note("rating sample"))
        labels = labels_of(ledger.ratings(kind="human"), sample)
    tables = read_tables(run)
    plan = labelling_of(tables, sample, on="accuracy", batch=20, most=80)
    assert plan is not None
    state = plan.state(labels)
    claim = compare_tables(tables, conditions=["old", "new"], n_resamples=100).of("accuracy")[0]
    assert claim.plain_interval is not None
    assert state.interval is not None
    assert state.estimate == pytest.approx(claim.estimate)
    assert (state.interval.low, state.interval.high) == pytest.approx(
        (claim.plain_interval.low, claim.plain_interval.high)
    )
    assert state.decided == (state.verdict in ("verified", "refuted"))


def test_labels_of_the_boundary_are_catastrophic_and_only_rated_measures_are_labelled_for(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    run, truth = judged_run(tmp_path / "run", rng, gap=0.0)  # wrong answers have severity 3
    rate_all(run, truth, most=60)
    with open_ledger(run) as ledger:
        sample = Sample.from_dict(ledger.note("rating sample"))
        labels = labels_of(ledger.ratings(kind="human"), sample)
    tables = read_tables(run)
    wrong, severe = (labelling_of(tables, sample, on=name) for name in ("accuracy", "catastrophic_rate"))
    assert wrong is not None
    assert severe is not None
    assert severe.state(labels).estimate == pytest.approx(-(wrong.state(labels).estimate or 0.0))
    with pytest.raises(InputError, match="Labels say nothing of tokens"):
        labelling_of(tables, sample, on="tokens")
