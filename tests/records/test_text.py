from richter.records import printable


def test_escapes_become_visible() -> None:
    assert printable("\x1b[31mred\x07") == "\\x1b[31mred\\x07"
    assert printable("a\u202eb\u200bc") == "a\\u202eb\\u200bc"
    assert printable("two\nlines\t.") == "two lines ."
    assert printable("naïve 東京 😀") == "naïve 東京 😀"


def test_cut() -> None:
    assert printable("abcdef", limit=4) == "abc…"
