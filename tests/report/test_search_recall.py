from richter.report._search_figures import search_figures

STEP = {"step": 1, "paragraphs": 40, "error": 0.5, "cumulative_error": 0.5}
SEARCH = {"strategy": "sea", "model": "simulated", "errors_found": 20, "answers": 40, "steps": [STEP]}


def test_a_search_by_an_index_says_what_its_index_finds():
    recall = {"k": 50, "recall": 0.977, "queries": 100}
    by_index, exact = (next(search_figures([SEARCH | {"base": b}])) for b in ({"index": {"recall": [recall]}}, {}))
    assert "finds 97.7% of the exact 50, measured on 100 random paragraphs" in by_index.sentence
    assert "index" not in exact.sentence
