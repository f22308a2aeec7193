from richter.report._search_figures import search_figures


def search(model, points, base="kb"):
    return {
        "strategy": "sea",
        "model": model,
        "base": {"name": base},
        "map": [
            {"x": x, "y": y, "category": "rivers", "question": f"Q{x}?", "wrong": wrong, "fails": wrong > 0.5}
            for x, y, wrong in points
        ],
    }


def test_passing_points_and_questions_show_and_searches_of_one_base_share_a_plane_by_hand():
    one = search("a", [(0.0, 0.0, 1.0), (1.0, 2.0, 0.0)])
    two = search("b", [(9.0, 9.0, 1.0), (1.0, 2.0, 1.0), (0.0, 0.0, 0.5)])
    elsewhere = search("c", [(100.0, 100.0, 1.0)], base="other")
    (found,) = (f for f in search_figures([one, two, elsewhere]) if f.name == "search-map")
    assert "4 failing paragraphs and 2 that pass" in found.sentence
    assert "the same place in every search" in found.sentence
    assert len(found.rows) == 6
    assert [row["question"] for row in found.rows][:2] == ["Q0.0?", "Q1.0?"]
    first, second, third = found.panels
    assert [len(panel.marks) for panel in found.panels] == [2, 3, 1]
    assert (first.x, first.y) == (second.x, second.y) != (third.x, third.y)
    assert first.x.low <= 0 < 9 <= first.x.high < 100
    faint = [mark.at[0] for panel in (first, second) for mark in panel.marks if mark.faint]
    assert faint == [(1.0, 2.0), (0.0, 0.0)]
    assert [key.name for key in found.legend] == ["rivers", "passes"]


def test_failing_questions_are_listed_by_mode_with_what_speaks_for_them_by_hand():
    row = {"mode": "rivers", "question": "Which?", "right": "Nile", "answered": "Volga", "reworded": 1.0}
    failing = [row | {"text": "The Nile flows.", "place": "a.md"}, row | {"mode": "lakes", "text": "", "place": ""}]
    (found,) = (
        f
        for f in search_figures([search("a", []) | {"failing": failing, "n_failing": 7}])
        if f.name == "search-failing"
    )
    assert "7 different questions fail" in found.sentence
    assert "2 modes" in found.sentence
    assert "The first 2 are listed" in found.sentence
    assert [(r["mode"], r["right"], r["answered"], r["reworded"], r["source"]) for r in found.rows] == [
        ("rivers", "Nile", "Volga", 1.0, "a.md The Nile flows."),
        ("lakes", "Nile", "Volga", 1.0, ""),
    ]
