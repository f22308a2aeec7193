import numpy as np
import pytest

from richter_audit.ascent import find_patterns


def test_a_group_that_errs_is_found_and_named_by_hand():
    attributes = [{"land": "A" if i < 20 else "B", "size": "small" if i % 2 else "large"} for i in range(80)]
    errors = [1.0 if i < 20 else 0.0 for i in range(80)]
    first, *_ = find_patterns(errors, attributes, rng=np.random.default_rng(0))
    assert dict(first.attributes) == {"land": "A"}
    assert (first.error, first.error_of_others, first.paragraphs, first.others) == (1.0, 0.0, 20, 60)
    assert str(first) == "land A: 100% wrong against 0%"
    assert first.p_value == pytest.approx(1 / 2001)


def test_few_patterns_where_there_are_none_recovers_truth():
    """Errors independent of all attributes: the chance of any finding at all is held to 5% by Benjamini-Hochberg.

    60 sets; with 5% each the number of sets with a finding exceeds 9 with probability under 0.1%.
    """
    rng = np.random.default_rng(5)
    with_a_finding = 0
    for _ in range(60):
        attributes = [{"a": rng.integers(4), "b": rng.integers(3)} for _ in range(150)]
        errors = rng.binomial(3, 0.4, size=150) / 3
        with_a_finding += bool(find_patterns(errors, attributes, n_resamples=400, rng=rng))
    assert with_a_finding <= 9


def test_nothing_to_contrast_gives_nothing():
    rng = np.random.default_rng(0)
    assert find_patterns([], [], rng=rng) == []
    assert find_patterns([1.0] * 50, [{"a": i % 2} for i in range(50)], rng=rng) == []
    assert find_patterns([1.0, 0.0], [{"a": 1}, {"a": 2}], rng=rng) == []
