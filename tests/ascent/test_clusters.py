from itertools import combinations
from math import comb

import numpy as np
import pytest

from helpers.simulated_search import simulate_search
from helpers.trials import most_hits, n_trials
from richter_audit.ascent import SearchSettings, distinguishing_terms, find_failing_groups
from richter_audit.ascent._clusters import _choose_group, _neighbourhoods
from richter_audit.knowledge import find_similar


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def shares(sizes, failing):
    """Places a, b, .. of these sizes, and which of their paragraphs fail."""
    places = [{name} for name, size in zip("abcdefgh", sizes, strict=False) for _ in range(size)]
    fails = [i < wrong for size, wrong in zip(sizes, failing, strict=True) for i in range(size)]
    return places, fails


def test_groups_by_hand():
    """12 of 40 fail, 10 of the 10 of `a`: p = C(30, 2) / C(40, 12), times two places (`b`, of 30, is too large)."""
    places, fails = shares((10, 10, 20), (10, 1, 1))
    found = find_failing_groups(fails, places=places)
    (group,) = found.groups
    assert (group.kind, group.name, group.members, group.failing) == ("place", "a", tuple(range(10)), 10)
    assert found.tested == 3
    assert group.p_value == pytest.approx(3 * comb(30, 2) / comb(40, 12))


def test_kinds_share_the_risk_by_hand():
    """The same group as a place and as a word: each is charged for two kinds."""
    places, fails = shares((10, 10, 20), (10, 1, 1))
    texts = [" ".join(own) * 3 for own in places]
    found = find_failing_groups(fails, places=places, texts=texts)
    assert found.tested == 6
    (group,) = found.groups
    assert (group.kind, group.p_value) == ("place", pytest.approx(6 * comb(30, 2) / comb(40, 12)))


def test_a_group_of_less_than_five_or_more_than_half_is_not_tested():
    places, fails = shares((4, 21, 15), (4, 0, 0))
    found = find_failing_groups(fails, places=places)
    assert (found.groups, found.tested) == ((), 1)


def test_each_planted_group_is_found_whole_and_once(rng):
    """A place, a word and a neighbourhood of 20 each, all of which fail, among 240 of which one in ten does."""
    x = unit(rng.normal(size=(240, 16)))
    x[40:60] = unit(x[40] + 0.1 * unit(rng.normal(size=(20, 16))))
    places = [{"folder: a"} if i < 20 else {f"folder: {i % 5}"} for i in range(240)]
    texts = ["about quorum" if 20 <= i < 40 else f"about {'abcdef'[i % 6] * 4}" for i in range(240)]
    fails = np.where(np.arange(240) < 60, True, rng.random(240) < 0.1)
    found = find_failing_groups(fails, places=places, texts=texts, vectors=x)
    by_kind = {group.kind: group for group in found.groups[:3]}
    assert all(group.p_value > 0.01 for group in found.groups[3:])  # one in twenty tells something of the rest
    assert (by_kind["place"].name, by_kind["place"].members) == ("folder: a", tuple(range(20)))
    assert (by_kind["word"].name, by_kind["word"].members) == ("quorum", tuple(range(20, 40)))
    assert by_kind["neighbours"].name == ""
    assert set(range(40, 60)) <= set(by_kind["neighbours"].members)


def test_what_a_group_explains_is_not_told_again():
    """Every failing paragraph of the word `quorum` lies in `a`: the word leaves with it."""
    places, fails = shares((20, 20, 40), (20, 2, 4))
    texts = ["quorum" if i < 12 else "other" for i in range(80)]
    found = find_failing_groups(fails, places=places, texts=texts)
    assert [group.name for group in found.groups] == ["a"]


def test_the_level_decides():
    """7 of 30 fail, 5 of the 10 of `a`: p by the hypergeometric sum is 0.026; three places make it 0.078."""
    places, fails = shares((10, 10, 10), (5, 1, 1))
    tail = sum(comb(10, k) * comb(20, 7 - k) for k in (5, 6, 7)) / comb(30, 7)
    assert 0.05 < 3 * tail < 0.1
    assert find_failing_groups(fails, places=places).groups == ()
    (group,) = find_failing_groups(fails, places=places, level=0.9).groups
    assert group.p_value == pytest.approx(3 * tail)


def test_p_values_of_overlapping_groups_against_all_assignments():
    """Of 12, 5 fail: how many of the 792 ways give one of 12 overlapping places as small a p-value as was seen."""
    members = [[(start + i) % 12 for i in range(6)] for start in range(12)]
    places = [{str(k) for k, own in enumerate(members) if row in own} for row in range(12)]
    tail = {f: sum(comb(6, k) * comb(6, 5 - k) for k in range(f, 6)) / 792 for f in range(6)}
    most = [max(len({*own} & {*wrong}) for own in members) for wrong in combinations(range(12), 5)]
    seen = {0, 1, 2, 3, 7}  # 4 of the 6 of place 0
    exact = np.mean([tail[f] <= tail[4] for f in most])
    (first, *_) = find_failing_groups([row in seen for row in range(12)], places=places, level=0.01).groups
    assert exact < 0.9 < 12 * tail[4]  # Bonferroni says nothing here
    assert first.p_value == pytest.approx(exact, abs=0.11)  # three standard errors of 199 shuffles


def test_of_groups_that_are_nearly_as_sure_a_place_comes_first_then_the_purest(rng):
    """A word covers two folders and little else; a ball covers two touching ones. Neither is named in their stead."""
    places = [{f"folder: {i // 20}"} for i in range(200)]
    texts = ["closes" if i < 42 else f"{'abcdef'[i % 6] * 4}" for i in range(200)]
    fails = [(i < 40 and i % 10 != 0) or i % 25 == 24 for i in range(200)]
    found = find_failing_groups(fails, places=places, texts=texts).groups
    assert [(group.kind, group.name) for group in found] == [("place", "folder: 0"), ("place", "folder: 1")]
    share = np.array([0.8, 0.9, 0.95])
    assert _choose_group(np.array([1e-20, 1e-17, 1e-10]), np.array([False] * 3), share) == 1
    assert _choose_group(np.array([1e-20, 1e-17, 1e-10]), np.array([False, False, True]), share) == 2
    assert _choose_group(np.array([1e-20, 1e-17, 1e-7]), np.array([False, False, True]), share) == 1


def test_neighbourhoods_around_others_by_hand():
    """Twelve paragraphs at right angles: those nearest to none of them, but to a place between five."""
    apart = np.eye(12, dtype=np.float32)
    assert (0, 2, 4, 6, 8) in {tuple(m) for m in _neighbourhoods(apart, apart[[0, 2, 4, 6, 8]].sum(axis=0)[None])}
    assert (0, 2, 4, 6, 8) not in {tuple(m) for m in _neighbourhoods(apart, apart[:0])}


def test_a_search_with_errors_at_random_tells_no_clusters():
    """The search goes where errors were; P(Binomial(n, 0.05) is above the limit) = 0.002."""
    told, searches = 0, n_trials(60)
    for seed in range(searches):
        rng = np.random.default_rng([4, seed])
        vectors = unit(rng.normal(size=(600, 6))).astype(np.float32)
        fails = (rng.random(600) < 0.3).astype(float)
        found = simulate_search(
            vectors,
            np.arange(600) % 5,
            lambda rows, k, used, v=vectors: find_similar(v[rows], v, k, exclude=used),
            lambda rows, f=fails: f[rows],
            SearchSettings(strategy="sea", seed=seed, batch=20, neighbours=8),
            paragraphs=160,
        )
        rows = np.array([row for batch in found.batches for row in batch])
        places = [{str(row % 5)} for row in rows]
        told += bool(find_failing_groups(fails[rows] > 0, places=places, vectors=vectors[rows]).groups)
    assert told <= most_hits(searches, 0.05)


def test_nothing_that_fails_nothing_that_passes_and_nothing_at_all(rng):
    x = rng.normal(size=(30, 8))
    for fails in ([False] * 30, [True] * 30):
        assert find_failing_groups(fails, vectors=x).groups == ()
    assert find_failing_groups([]).tested == 0
    assert find_failing_groups([True] * 3, vectors=x[:3], texts=["a word"] * 3, places=[{"p"}] * 3).tested == 0


def test_terms_by_hand():
    """`mill` in 18 of 20 inside and 6 of 40 outside: the prior adds 24/60 of 10 to either, 22 of 30 and 10 of 50.

    `oak` in 2 of 20 falls short of three texts, whatever its odds.
    """
    inside = ["A mill, a MILL of 1801"] * 18 + ["an oak"] * 2
    outside = ["the mill"] * 6 + ["the ford"] * 34
    (term,) = distinguishing_terms(inside, outside)
    assert (term.term, term.inside, term.outside) == ("mill", 18, 6)
    odds = np.log(22 / 8) - np.log(10 / 40)
    assert term.z == pytest.approx(odds / np.sqrt(1 / 22 + 1 / 8 + 1 / 10 + 1 / 40))


def test_terms_of_every_text_and_of_few_texts_are_left_out():
    inside = ["common alpha"] * 20 + ["common rare"] * 2
    outside = ["common beta"] * 40
    (term,) = distinguishing_terms(inside, outside)
    assert (term.term, term.inside, term.outside) == ("alpha", 20, 0)
