"""What newcomers typed, and what they are told: shares in any writing, margins that mean nothing, words and advice."""

import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from helpers.commands import run
from richter.cli._io import grid

GRADES = "item,condition,correct\n" + "".join(
    f"q{i},{c},{int(i % k > 0)}\n" for c, k in (("old", 3), ("new", 5)) for i in range(60)
)
SCORES = "item,condition,score\n" + "".join(
    f"q{i},{c},{(7 * i) % 90 + k}\n" for c, k in (("old", 3), ("new", 5)) for i in range(60)
)
MEANS = "dataset,method,seed,accuracy\n" + "".join(
    f"{d},{m},{s},{80 + 2 * i + 0.1 * k * s + 0.3 * (i * k % 3)}\n"
    for i, d in enumerate(("SST", "MRPC", "RTE", "QNLI"))
    for k, m in enumerate(("LoRA", "DoRA", "Full"), 1)
    for s in (1, 2, 3)
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    for name, text in (("grades", GRADES), ("scores", SCORES), ("means", MEANS)):
        Path(f"{name}.csv").write_text(text)
    return tmp_path


@pytest.mark.parametrize("written", ["2pt", "2 pt", "2pts", "2pp", "2%", "2 points", "2 percentage points", "0.02"])
def test_two_points_in_any_writing(capsys: pytest.CaptureFixture[str], written: str) -> None:
    code, said = run(capsys, f"size --discordance 12% --margin '{written}'")
    assert code == 0, said
    assert "For 2 points you need about" in said


def test_rates_are_written_as_margins_are(capsys: pytest.CaptureFixture[str]) -> None:
    """The same figure from a share and from per cent: Wilson's interval at 0.02 of 792 is 0.0100 to either side."""
    for rate in ("0.02", "2%", "2pp"):
        code, said = run(capsys, f"size --rate {rate} --half-width 1pt")
        assert (code, "792 questions" in said, "95% CI 1.23% to 3.23%" in said) == (0, True, True)
    assert run(capsys, "size --below 1%")[1].startswith("You need 299 questions with no error")
    assert run(capsys, "size --margin 2pt --accuracy 85% 87%")[0] == 0


@pytest.mark.parametrize(
    "line",
    [
        "compare grades.csv --margin 2",
        "compare grades.csv --margin 150pt",
        "gate grades.csv --margin 2",
        "watch grades.csv --condition new --margin 5",
        "size --margin 2 --discordance 0.1",
        "size grades.csv old new --margin 2",
        "size --rate 2 --half-width 1pt",
    ],
)
def test_two_hundred_points_are_refused_and_two_are_named(
    folder: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    code, said = run(capsys, line)
    assert code in (1, 2)
    assert "2pt" in said
    assert "plan" not in said


def test_a_scores_margin_is_on_its_scale(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run(capsys, "compare scores.csv --margin 20")
    assert code == 0
    assert "margin 20" in said  # all differ by 2
    code, said = run(capsys, "compare scores.csv --margin 100")
    assert code == 1
    assert "the whole scale of mean score, 0 to 100" in said


def test_a_gate_without_a_plan_asks_for_the_margin(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run(capsys, "gate grades.csv")
    assert code == 2
    assert "grades.csv is not a plan" in said
    assert "--margin 2pt" in said
    assert "TOML" not in said
    assert run(capsys, "gate grades.csv --margin 2pt")[0] in (0, 3, 4)
    code, said = run(capsys, "gate grades.csv old --margin 2pt")
    assert code == 1
    advice = re.search(r"richter (plan new gate .*?\]'), then richter (gate plan.toml) FILE", said)
    assert advice is not None
    assert run(capsys, advice[1])[0] == 0  # as it is written
    assert run(capsys, f"{advice[2]} grades.csv")[0] == 3  # 20 of 60 are wrong, 5% are allowed
    Path("plan.toml").rename("limits")  # a plan, whatever it is called
    assert run(capsys, "gate limits grades.csv")[0] == 3


def test_a_gate_says_that_there_were_enough_items(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """1 of 250 fixed, 2 broken: 186 items would do if nothing were lost, and 250 are more."""
    rows = ["item,condition,correct"]
    for i in range(250):
        old, new = i % 5 > 0 or i == 5, (i % 5 > 0 and i != 1) or i == 10
        rows += [f"q{i},main,{int(old)}", f"q{i},branch,{int(new)}"]
    Path("ci.csv").write_text("\n".join(rows))
    code, said = run(capsys, "gate ci.csv --margin 2pt")
    assert code == 4
    assert "these 250 questions were enough to pass" in said


def test_many_undecided_pairs_say_why(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run(capsys, "compare means.csv --yes")
    assert code == 0
    assert "4 items leave 3 degrees of freedom, and under 4 nothing is decided" in said


def test_paired_is_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "help paired")[1].startswith("paired: Both models answered the same questions")
    assert run(capsys, "help unpaired")[0] == 0


def test_an_ab_test_with_other_users_on_each_side(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """90 of 100 against 60 of 100, two conversations a user: read as proposed, compared without pairs."""
    rows = ["conversation_id,user_id,variant,thumb"]
    for k, (arm, good) in enumerate((("treatment", 90), ("control", 60))):
        rows += [f"c{1000 * k + i},u{500 * k + i // 2},{arm},{'up' if i < good else 'down'}" for i in range(100)]
    Path("ab.csv").write_text("\n".join(rows))
    code, said = run(capsys, "compare ab.csv")
    assert code == 2
    confirmed = re.search(r"Keep it: richter compare (.*) \(or --save", said)
    assert confirmed is not None
    code, said = run(capsys, f"compare {confirmed[1]}")
    assert code == 0
    assert said.startswith("control is worse than treatment: -30.0 points (95% CI ")
    more = run(capsys, f"compare {confirmed[1]} --verbose")[1]
    assert "100 and 100 different questions in 100 groups" in more
    assert "column user_id is read as the group" in said
    for false in ("has no grade", "items have no grade", "begin again", "assuming that", "Refused", "missing"):
        assert false not in said
    code, paged = run(capsys, f"report {confirmed[1]} -o ab.html")
    assert code == 0
    assert "short of" not in paged
    assert "every item answered" not in paged
    turned = confirmed[1].replace("ab.csv", "ab.csv treatment control")
    code, refused = run(capsys, f"gate {turned} --margin 2pt --unpaired")
    assert code == 1  # a control that stands second would pass a loss as a gain
    assert "richter gate ab.csv control treatment" in refused
    named = confirmed[1].replace("ab.csv", "ab.csv control treatment")
    thumbs_down = named.replace("up=right", "up=wrong").replace("down=wrong", "down=right")
    for reading, status in ((named, 0), (thumbs_down, 3)):  # +30 and -30 points
        code, gated = run(capsys, f"gate {reading} --margin 2pt --unpaired")
        assert code == status
        assert "100 and 100 different questions" in gated
    code, mapped = run(capsys, f"compare {confirmed[1]} --map group=user_id --unpaired")
    assert mapped.startswith(said[:80])


def test_conditions_that_were_not_compared_are_in_no_set(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("few.csv").write_text(
        "item,condition,correct\n" + "".join(f"{i},{c},{i % k % 2}\n" for c, k, s in (("north", 3, 0), ("south", 5, 30))
                                              for i in range(s, s + 40))
    )  # fmt: skip
    code, said = run(capsys, "compare few.csv")
    assert code == 4
    assert "only 10 of 70 questions" in said
    assert "--unpaired" in said
    code, said = run(capsys, "compare few.csv --unpaired --verbose")
    assert code == 0
    assert "40 and 40 different questions" in said


def test_a_report_shows_a_calibration_whatever_the_main_measure_shows(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Right in 64% at a confidence of 80%: miscalibrated; it is open which of the two is better."""
    rows = ["item,condition,correct,confidence"]
    for i in range(300):
        rows += [f"q{i},sure,{int(i % 25 < 16)},0.8", f"q{i},other,{int((i * 7) % 25 < 17)},0.8"]
    Path("sure.csv").write_text("\n".join(rows))
    alone = run(capsys, "calibration sure.csv")[1]
    verdict = re.search(r"sure: confidence is miscalibrated: .*? CI .*?\)\.", alone)
    assert verdict is not None
    assert run(capsys, "report sure.csv -o sure.html --json sure.json")[0] == 0
    claims = [
        c
        for c in json.loads(Path("sure.json").read_text())["claims"]
        if c["conditions"] == ["sure"] and c["measure"] == "ece"
    ]
    assert [c["verdict"] for c in claims] == ["verified"]


def test_words_that_may_be_grades_are_named_with_the_option(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"q{i},{c},{'very nice' if (i + k) % 3 else 'awful'}" for k, c in enumerate("ab") for i in range(60)]
    Path("words.csv").write_text("\n".join(["item,condition,score", *rows]))
    code, said = run(capsys, "compare words.csv")
    advice = re.search(r"--grade awful=right --grade 'very nice=wrong'", said)
    assert (code, advice is None) == (1, False)
    assert advice is not None
    code, said = run(capsys, f"compare words.csv {advice[0]}")  # as it is written
    assert code == 0
    assert "60 questions x 2" in said


def test_grades_alone_are_neither_judged_nor_labelled_nor_scored(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Judges were asked, and paid, about empty answers to the question "old"; the page itself advised it."""
    (folder / "prompts.csv").write_text(GRADES.replace("item,condition", "item,variant"))
    assert run(capsys, "import prompts.csv -o RUN")[0] == 0
    assert "old: grades alone" in run(capsys, "view RUN --list")[1]  # and not the question "old", sixty times
    judges = "audit --only judge RUN --judges openai/gpt-4o-mini,openai/gpt-4o"
    for line in (f"{judges} --dry-run", "label RUN --sheet sheet.csv", "audit RUN --scorer length -o scores.csv"):
        code, said = run(capsys, line)
        assert (code, "text" in said) == (1, True), line
    code, said = run(capsys, "label prompts.csv --rater me --no-browser")
    assert code == 1
    assert "richter import prompts.csv -o RUN" in said
    assert run(capsys, "report prompts.csv --json results.json")[0] == 0
    steps = json.loads((folder / "results.json").read_text())["next"]
    assert not any("richter audit --only judge" in step or "richter label" in step for step in steps)
    assert any("`severity`" in step for step in steps)
    assert any("`confidence`" in step for step in steps)


def test_numbers_stand_in_the_units_of_the_sentence_and_empty_columns_are_left_out(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was +13.3 points in the sentence and +0.1333 below it, beside columns of dashes; 48 - 40 of 60 by hand."""
    monkeypatch.setenv("COLUMNS", "80")
    said = run(capsys, "compare grades.csv old new")[1]
    assert "13.3 points" in said
    assert "0.1333" not in said
    assert "ECE" not in said
    assert "sets" not in said


def test_names_stay_whole_in_a_narrow_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """The first column was cut to one character, so that nobody knew whose numbers stood there."""
    rows = [["baseline", *["123,456 (< 234,567)"] * 4], ["candidate", *["12,345 (< 23,456)"] * 4]]
    Console(width=60).print(grid("condition|a|b|c|d", rows, right=1))
    out = capsys.readouterr().out
    assert "baseline" in out
    assert "candidate" in out
    assert "…" not in out


def test_faults_of_a_plan_are_sentences(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """ "candidate is missing ... (The condition on trial.) require is missing": where one ends was not to be seen."""
    assert run(capsys, "plan new gate -o plan.toml")[0] == 0
    code, said = run(capsys, "plan lock plan.toml")
    assert code == 1
    assert "candidate is missing and has no default (The condition on trial). require is missing" in said


def bot_log(condition: str, offset: int) -> str:
    """A log of a bot: 40 questions in 10 passages, three draws each, with confidences, costs and a judge's scores."""
    rows = []
    for q in range(40):
        for draw in range(3):
            right = (7 * q + 3 * draw + offset) % 10 < 6 + offset // 3
            row = {"question_id": f"q{q}", "passage": f"kb{q // 4}", "model": condition, "draw": draw, "correct": right}
            row |= {
                "answer": f"It takes {5 + (q + draw) % 3} days, {'always' if right else 'not always'}, in shop {q}."
            }
            row |= {"confidence": 0.5 + 0.05 * ((q + draw) % 9), "cost_usd": (0.004 - 0.0002 * offset) * (1 + q % 5)}
            rows.append(json.dumps(row | {"judge_score": 5 if right else 1 + (q + draw) % 3}))
    return "\n".join(rows)


@pytest.fixture
def logs(folder: Path) -> Path:
    for name, offset in (("a", 0), ("b", 3)):
        Path(f"bot_{name}.jsonl").write_text(bot_log(f"bot-{name}", offset))
    return folder


def test_a_ratio_stands_in_per_cent_in_the_table_too_by_hand(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It read "dollars an item -0.150", as if an item were 15 cents cheaper."""
    _, said = run(capsys, "compare bot_a.jsonl bot_b.jsonl --on money")
    assert "15.0% cheaper" in said
    assert "-15.0% (95% CI" in said


def test_small_amounts_keep_their_digits_in_the_table(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, said = run(capsys, "compare bot_a.jsonl bot_b.jsonl --map score=cost_usd")
    assert "-0.00180 (95% CI -0.00196 to -0.00164)" in said


def test_a_log_with_confidences_has_one_calibration_error_on_every_surface(
    logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page took how often draws agree (0.25) or first draws alone (0.042), `compare` all stated confidences."""
    assert run(capsys, "report bot_a.jsonl bot_b.jsonl -o page.html --json page.json")[0] == 0
    document = json.loads(Path("page.json").read_text())
    assert run(capsys, "compare bot_a.jsonl bot_b.jsonl --json compare.json")[0] == 0
    compared = json.loads(Path("compare.json").read_text())["conditions"]
    for row in document["conditions"]:
        own = compared[row["name"]]
        assert row["knows"]["estimate"] == own["ece_debiased"]
        assert row["knows"]["interval"] == own["ece_interval"]
        assert row["knows"]["right"] == pytest.approx(1 - row["how_often"]["estimate"])
    (claim,) = (c for c in document["claims"] if c["measure"] == "ece" and len(c["conditions"]) == 2)
    assert claim["unit"] == "group"
    page = Path("page.html").read_text()
    assert f"on calibration error takes most to settle: {claim['needed']:,} groups." in page  # it said items


@pytest.mark.audit  # embeddings
def test_a_grouping_that_mixes_right_and_wrong_is_said_beside_what_rests_on_it(
    logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, said = run(capsys, "calibration bot_a.jsonl bot_b.jsonl")
    assert "classes in 40 questions hold right and wrong answers: the grouping tells them apart badly" in said


RATINGS = "item,condition,rater,kind,severity\n" + "".join(
    f"q{i},{c},gpt,judge,{(i * k) % 5 if i % 2 else 0}\n"
    + (f"q{i},{c},ann,human,{(i * k) % 4}\n" if i % 3 == 0 else "")
    for c, k in (("old", 3), ("new", 2))
    for i in range(90)
)


def test_labels_in_the_file_correct_its_judges(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They were left aside without --human, and the last lines said so; `compare` used them."""
    Path("ratings.csv").write_text(RATINGS)
    run(capsys, "severity ratings.csv --json own.json")
    run(capsys, "severity ratings.csv --human ratings.csv --json given.json")
    own, given = (json.loads(Path(f"{name}.json").read_text()) for name in ("own", "given"))
    assert own == given
    assert own["human"]
    run(capsys, "severity ratings.csv --ratings judge --json aside.json")
    assert not json.loads(Path("aside.json").read_text())["human"]
    assert run(capsys, "report ratings.csv -o page.html")[0] == 0
    assert "they need not add up" in Path("page.html").read_text()


def test_severity_takes_several_logs_and_names_as_compare_does(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run(capsys, "severity bot_a.jsonl bot_b.jsonl --map score=judge_score --as-severity 5:1")
    assert code == 0
    assert "bot-b" in said
    code, said = run(capsys, "severity bot_a.jsonl bot_b.jsonl bot-b --map score=judge_score --as-severity 5:1")
    assert code == 0
    assert "There is one model or prompt" in said


def test_an_unknown_measure_is_answered_with_those_there_are(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It said "It has accuracy", of a log with confidences and costs."""
    _, said = run(capsys, "compare bot_a.jsonl bot_b.jsonl --on seconds")
    assert "There are no values of seconds in bot_a.jsonl and bot_b.jsonl." in said
    assert "There are accuracy, ece, money." in said


def test_a_difference_without_any_spread_could_not_have_shown_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One right throughout and one wrong throughout: "could have shown 0.0"."""
    Path("ends.csv").write_text("item,condition,correct\n" + "".join(f"{i},a,1\n{i},b,0\n" for i in range(40)))
    _, said = run(capsys, "compare ends.csv --json ends.json")
    assert "could have shown" not in said
    assert json.loads(Path("ends.json").read_text())["claims"][0]["min_detectable_difference"] is None


COSTS = "item,condition,correct,cost_usd\n" + "".join(
    f"q{i},{c},1,{k * (1 + i % 7) * (1 + 0.1 * ((i * k) % 3))}\n"
    for c, k in (("a", 4), ("b", 2), ("c", 8), ("d", 16))
    for i in range(70)
)


def test_a_board_of_costs_turns_ratios_over_by_hand(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Half as dear is -50%; the ratio of the dearer to the cheaper (+100%) was negated: "b better than a by -100%"."""
    Path("costs.csv").write_text(COSTS)
    _, said = run(capsys, "compare costs.csv --on money --verbose --json costs.json")
    claims = json.loads(Path("costs.json").read_text())["claims"]
    (claim,) = (c for c in claims if c["measure"] == "money" and c["conditions"] == ["b", "d"])
    by, low, high = (100 / (1 + x) - 100 for x in (claim["estimate"], *(claim["interval"][e] for e in ("high", "low"))))
    shown = re.search(r"b better than d (\S+)% \(\S+ CI (\S+) to ([-+.\d]+)\)", said)
    assert shown is not None
    assert [float(x) for x in shown.groups()] == pytest.approx([by, low, high], abs=0.05)


def test_a_page_of_scores_where_less_is_better_ranks_and_names_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The figure said "on accuracy", the differences were not drawn, and the table stood in the order of the file."""
    Path("costs.csv").write_text(COSTS)
    assert run(capsys, "report costs.csv --map score=cost_usd --better lower -o page.html --md page.md")[0] == 0
    page = Path("page.html").read_text()
    assert "differ on mean score" in page or "statistically indistinguishable on mean score" in page
    assert "difference in mean score" in page
    ranking = page[page.index('id="figure-floors-ranking"') :]
    assert re.findall(r'class="h">([a-d])</text>', ranking[: ranking.index("</figure>")]) == list("bacd")
    forest = page[page.index('id="figure-floors-forest"') :]
    assert "var(--worse)" in forest[: forest.index("</figure>")]  # d - b costs more
    assert "Better or worse" in page
    assert ">Worse<" not in page
    assert "| name | n | score |" in Path("page.md").read_text()


def test_advice_on_two_logs_names_both_and_the_page_too(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`richter import bot_a.jsonl -o RUN` would have judged one of the two."""
    run(capsys, "report bot_a.jsonl new=bot_b.jsonl -o page.html --json page.json")
    document = json.loads(Path("page.json").read_text())
    assert any("richter import bot_a.jsonl new=bot_b.jsonl -o RUN; " in step for step in document["next"])
    assert document["run"]["name"] == "bot_a.jsonl and bot_b.jsonl"


def test_rows_of_a_table_say_what_they_are_of(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two rows "accuracy, points" for two subgroups; pass@3 as a share below points."""
    Path("parts.csv").write_text(
        "item,condition,correct,subject\n"
        + "".join(
            f"q{i},{c},{int(i % k > 0)},{'law' if i % 2 else 'art'}\n"
            for c, k in (("old", 3), ("new", 5))
            for i in range(60)
        )
    )
    said = run(capsys, "compare parts.csv old new --by subject")[1]
    assert re.search(r"law 30 [+-]", said)
    assert re.search(r"art 30 [+-]", said)
    said = run(capsys, "compare bot_a.jsonl bot_b.jsonl --on pass@3")[1]
    assert "in pass@3" in said or "pass@3 " in said


def test_a_gate_says_at_which_level_its_limits_are(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`compare` of the same data prints a wider interval, and nothing said why."""
    _, said = run(capsys, "gate grades.csv --margin 2pt --md gate.md")
    assert "one-sided 95%" in said
    assert "one-sided 95%" in Path("gate.md").read_text()


def test_a_watch_speaks_in_the_units_of_other_commands_by_hand(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It printed "error_rate 0.2533"."""
    for month, name in ((9, "a"), (10, "b")):
        Path(f"2026-{month:02d}-01.jsonl").write_text(
            Path(f"bot_{name}.jsonl").read_text().replace(f"bot-{name}", "bot")
        )
    wrong = sum('"correct": false' in line for line in Path("2026-10-01.jsonl").read_text().splitlines())
    _, said = run(capsys, "watch 2026-09-01.jsonl 2026-10-01.jsonl")
    assert re.search(rf"error rate \S+ {100 * wrong / 120:.1f}% detects ", said), said
    assert not re.search(r"detects [\d,]{5,}", said), said  # a change of dollars by 1e305% was one
    assert "error_rate" not in said


def test_a_new_plan_says_whether_anything_is_left_to_fill_in(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Fill in candidate, require, then: richter plan lock" in run(capsys, "plan new gate -o open.toml")[1]
    rule = 'require=[{metric="accuracy", rule="no_worse", limit=0.02}]'
    _, said = run(capsys, ["plan", "new", "gate", "--set", "candidate=new", "--set", "baseline=old", "--set", rule])
    assert "Nothing is left to be filled in; lock it before you look at data: richter plan lock plan.toml" in said
