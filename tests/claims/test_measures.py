"""The table of measures, row by row, and what its functions say of a row."""

import dataclasses
import math

import numpy as np
import pytest

from helpers.outcomes import outcomes
from richter.claims import (
    METRICS,
    Metric,
    Points,
    as_sample,
    check_margin,
    claim_words,
    labelled_measures,
    margin_on,
    measure_words,
    parse_margin,
    pass_metric,
    severity_page_measures,
)
from richter.errors import InputError
from richter.records import Claim, Verdict

RATE = (0.0, 1.0, 100.0, " points", 1, 0.02)
SEVERITY = (0.0, 4.0, 1.0, "", 3, 0.1)
# low, high, scale, suffix, digits, default margin; may a gate, a stop rule, a watch ask; page rank, cost, severity from
ROWS = {
    "accuracy": (*RATE, "gs", 0, False, None),
    "error_rate": (*RATE, "gsw", 0, False, None),
    "mean_score": (None, None, 1.0, "", 3, None, "gsw", 0, False, None),
    "catastrophic_rate": (*RATE, "gs", 2, False, 3.0),
    "mean_severity": (*SEVERITY, "gsw", 1, False, None),
    "severity_given_error": (*SEVERITY, "s", 3, False, None),
    "true_severity_given_error": (*SEVERITY, "", 0, False, None),
    "graver_error": (*RATE, "", 0, False, None),
    "severe_given_error_2": (*RATE, "", 0, False, 2.0),
    "severe_given_error_3": (*RATE, "", 0, False, 3.0),
    "dominance": (0.0, 1.0, 100.0, " points", 2, 0.02, "", 0, False, None),
    "b": (None, None, 1.0, "", 3, 0.15, "", 4, False, None),
    "ece": (*RATE, "gsw", 0, False, None),
    "draws": (-1.0, *RATE[1:], "", 0, False, None),
    "xi": (None, None, 1.0, "", 3, None, "", 0, False, None),
    "refusal_rate": (*RATE, "gsw", 0, False, None),
    "failure_rate": (*RATE, "gs", 0, False, None),
    "tokens": (0.0, None, 1.0, "", 1, None, "gw", 0, True, None),
    "latency": (0.0, None, 1.0, " s", 3, None, "g", 0, True, None),
    "money": (0.0, None, 1.0, "", 6, None, "gw", 0, True, None),
}


@pytest.mark.parametrize("name", ROWS)
def test_the_numbers_of_a_row_by_hand(name: str) -> None:
    m = METRICS[name]
    flags = "".join(letter for letter, on in zip("gsw", (m.gateable, m.sequential, m.watched), strict=True) if on)
    assert (
        m.low, m.high, m.scale, m.suffix, m.digits, m.default_margin, flags, m.page_rank, m.is_cost, m.at
    ) == ROWS[name]  # fmt: skip


def test_a_page_asks_for_severities_in_their_order() -> None:
    assert severity_page_measures() == ("mean_severity", "catastrophic_rate", "severity_given_error", "b")


def test_the_ends_of_a_range_by_hand() -> None:
    assert (METRICS["accuracy"].worst, METRICS["accuracy"].best) == (0.0, 1.0)
    assert (METRICS["mean_severity"].worst, METRICS["mean_severity"].best) == (4.0, 0.0)
    bare = METRICS["mean_score"]
    for low, high in ((None, 1.0), (0.0, None)):
        assert dataclasses.replace(bare, low=low, high=high).worst is None
        assert dataclasses.replace(bare, low=low, high=high).best is None
    assert dataclasses.replace(bare, kind="real", low=0.0, high=9.0).worst is None


def test_severities_into_the_values_of_a_measure_by_hand() -> None:
    given = np.array([0.0, 0.5, 2.5, 3.0, 4.0])
    values = {
        "accuracy": [1, 0, 0, 0, 0], "error_rate": [0, 1, 1, 1, 1], "catastrophic_rate": [0, 0, 0, 1, 1],
        "mean_severity": [0, 0.5, 2.5, 3, 4],
    }  # fmt: skip
    for name, want in values.items():
        assert METRICS[name].of_severity(given).tolist() == want


def test_amounts_as_people_read_them_by_hand() -> None:
    rate = METRICS["accuracy"]
    assert [rate.amount(x) for x in (0.0123, -0.0123, 0.0004, -0.0004)] == ["1.2", "-1.2", "0.0", "0.0"]
    assert [rate.amount(x, sign=True) for x in (0.0123, -0.0123, 0.0004, 12.3456)] == [
        "+1.2",
        "-1.2",
        "0.0",
        "+1,234.6",
    ]
    assert [rate.amount(x, sign=True) for x in (0.0005, 0.00049)] == ["+0.1", "0.0"]


def test_digits_that_tell_values_apart_by_hand() -> None:
    rate = METRICS["accuracy"]
    assert rate.telling(0.012, 0.013).digits == 1
    assert rate.telling(0.0121, 0.0122).digits == 2
    assert rate.telling(0.02, 0.02).digits == 1
    assert rate.telling(0.02, math.inf).digits == 1
    assert rate.telling(0.1, stated=0.0005).digits == 2  # 0.05% as it was stated
    assert rate.telling(0.0203, stated=0.02).digits == 2
    assert rate.telling(0.1, 0.1 + 1e-8).digits == 6  # five more at most
    assert rate.telling(0.1, 0.1 + 1e-13).digits == 1  # rounding


def test_units_and_scales_in_words_by_hand() -> None:
    assert [METRICS[name].unit for name in ("accuracy", "latency", "mean_severity")] == ["%", " s", ""]
    assert METRICS["mean_severity"].read_on == " on a scale of 0 to 4"
    score = METRICS["mean_score"]
    assert dataclasses.replace(score, low=1.0, high=5.0).read_on == " on a scale of 1 to 5"
    for other in (score, METRICS["accuracy"], METRICS["ece"], METRICS["money"], METRICS["b"],
                  dataclasses.replace(score, low=0.0), dataclasses.replace(score, high=1.0)):  # fmt: skip
        assert other.read_on == ""


def test_words_of_measures_that_have_no_row_by_hand() -> None:
    tries = measure_words("pass@5")
    assert (tries.name, tries.kind, tries.low, tries.high) == ("pass@5", "bounded", 0.0, 1.0)
    assert "one of 5 tries" in tries.better_word
    assert "all of 3 tries" in pass_metric(3, every=True).better_word
    assert "all of 3 tries" in measure_words("pass^3").worse_word
    own = measure_words("tone_of_voice", (1.0, 7.0))
    assert (own.name, own.noun, own.kind, own.better, own.low, own.high) == (
        "tone_of_voice", "tone of voice", "bounded", "higher", 1.0, 7.0,
    )  # fmt: skip
    assert (measure_words("mean_score", (1.0, 7.0)).low, measure_words("accuracy", (1.0, 7.0)).high) == (1.0, 1.0)
    assert measure_words("accuracy:law") == METRICS["accuracy"]
    assert measure_words("pass@0").noun == "pass@0"


def test_a_ratio_of_amounts_speaks_in_per_cent_by_hand() -> None:
    def words(measure: str, *conditions: str) -> Metric:
        return claim_words(Claim(measure=measure, conditions=conditions, verdict=Verdict.UNDECIDED, sentence=""))

    ratio = words("money", "a", "b")
    assert (ratio.scale, ratio.suffix, ratio.digits) == (100.0, "%", 1)
    assert "%" not in {words("money", "a").suffix, words("accuracy", "a", "b").suffix, words("b", "a", "b").suffix}


def test_margins_in_points_are_hundredths_of_the_range_by_hand() -> None:
    score = dataclasses.replace(METRICS["mean_score"], low=1.0, high=5.0)
    assert margin_on(Points(0.02), score) == pytest.approx(0.08)
    assert margin_on(0.02, score) == 0.02
    assert margin_on(Points(0.1), METRICS["money"]) == pytest.approx(0.1)
    for endless in (dataclasses.replace(score, low=None), dataclasses.replace(score, high=None), METRICS["b"],
                    dataclasses.replace(score, kind="real")):  # fmt: skip
        with pytest.raises(InputError):
            margin_on(Points(0.02), endless)


def test_a_margin_of_the_whole_range_is_refused_by_hand() -> None:
    score = dataclasses.replace(METRICS["mean_score"], low=1.0, high=5.0)
    check_margin(score, 3.99)
    check_margin(METRICS["accuracy"], 0.99)
    for endless in (dataclasses.replace(score, low=None), dataclasses.replace(score, high=None), METRICS["money"],
                    dataclasses.replace(score, kind="real")):  # fmt: skip
        check_margin(endless, 100.0)
    for metric, margin, word in ((score, 4.0, "1 to 5"), (METRICS["accuracy"], 1.0, "points")):
        with pytest.raises(InputError, match=word):
            check_margin(metric, margin)


def test_a_row_may_ask_nothing_unless_it_says_so() -> None:
    row = Metric(name="own", kind="bounded", better="higher")
    assert not any((row.is_cost, row.gateable, row.sequential, row.watched, row.page_rank))
    assert (row.scale, row.digits, row.low, row.high, row.default_margin, row.at) == (1.0, 3, None, None, None, None)


def test_people_label_accuracy_and_what_severities_say() -> None:
    assert labelled_measures() == ("accuracy", "catastrophic_rate", "mean_severity")


@pytest.mark.parametrize(("text", "number"), [("2pt", 0.02), ("2%", 0.02), ("0.02", 0.02), ("99pt", 0.99), ("3", 3.0)])
def test_margins_as_they_are_written_by_hand(text: str, number: float) -> None:
    found = parse_margin(text)
    assert found == pytest.approx(number)
    assert isinstance(found, Points) is (text[-1] in "t%")


@pytest.mark.parametrize("text", ["100pt", "150pt", "0", "-1pt", "two"])
def test_what_is_no_margin_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_margin(text)


def test_at_most_five_more_digits_are_printed_by_hand() -> None:
    row = METRICS["mean_severity"]  # three digits
    assert row.telling(1.0, 1.00000001).digits == 8
    assert row.telling(1.0, 1.000000001).digits == 8  # nine digits would tell these apart, and are too many


def test_right_answers_are_counted_of_grades_of_0_and_1_only_by_hand() -> None:
    grades = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, np.nan]])
    counts = as_sample(outcomes(grades)).right_counts
    assert counts is not None
    assert (counts.right.tolist(), counts.gained.tolist()) == ([[3, 2], [2, 2]], [[0, 1], [1, 0]])
    assert as_sample(outcomes(grades / 2)).right_counts is None
