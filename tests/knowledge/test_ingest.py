import bz2
import json
from pathlib import Path

import polars as pl
import pytest

from richter.errors import InputError
from richter_audit.knowledge import _blocks, _markup, read_documents
from richter_audit.knowledge._child_reader import end_children, read_limited

WIKI = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/">
<page><title>Mill Hill</title><ns>0</ns><revision><text>{{Infobox|x=1}}
'''Mill Hill''' is a made-up hill with a [[windmill|mill]] on it.&lt;ref&gt;A made-up source.&lt;/ref&gt; It was
built long ago.

Its second paragraph tells of the miller and of his three daughters.
== History ==
The mill burnt down and was built again, so the story goes, in a year.
[[File:Mill.jpg|thumb|A mill]]
{| class="wikitable"
! a table
|}
[[Category:Hills]] [[Category:Mills]]</text></revision></page>
<page><title>Old Mill</title><ns>0</ns><redirect title="Mill Hill" />
<revision><text>#REDIRECT [[Mill Hill]]</text></revision></page>
<page><title>Talk:Mill Hill</title><ns>1</ns>
<revision><text>Is this a talk page? Yes it is one, and a long one too.</text></revision></page>
<page><title>Empty</title><ns>0</ns><revision><text></text></revision></page>
</mediawiki>
"""


@pytest.mark.parametrize("packed", [False, True])
def test_a_wiki_dump_gives_articles_without_markup_by_hand(tmp_path, packed):
    pytest.importorskip("mwparserfromhell")
    path = tmp_path / ("dump.xml.bz2" if packed else "dump.xml")
    path.write_bytes(bz2.compress(WIKI.encode()) if packed else WIKI.encode())
    article, empty = read_documents(path)
    assert article.title == "Mill Hill"
    (whole,) = article.paragraphs  # fewer than 60 words: one paragraph, under what its sections share
    assert whole.text == article.abstract
    assert whole.text == (
        "Mill Hill is a made-up hill with a mill on it. It was built long ago. Its second paragraph tells of the "
        "miller and of his three daughters. History: The mill burnt down and was built again, so the story goes, in a "
        "year."
    )
    assert whole.attributes["section"] == ""
    assert {p.category for p in article.paragraphs} == {"Hills"}
    assert empty.paragraphs == ()


def test_a_torn_dump_is_refused(tmp_path):
    pytest.importorskip("mwparserfromhell")
    path = tmp_path / "dump.xml"
    path.write_text(WIKI[:900])
    with pytest.raises(InputError, match="not a whole MediaWiki dump"):
        list(read_documents(path))
    path.write_text('<!DOCTYPE x [<!ENTITY a "aa">]><mediawiki>&a;</mediawiki>')
    with pytest.raises(InputError, match="not a whole MediaWiki dump"):
        list(read_documents(path))


PAGE = "<page><title>{}</title><ns>0</ns><revision><text>{}</text></revision></page>"
SENTENCE = "An honest article of one sentence that is long enough to be kept, as a paragraph of its own."


@pytest.mark.parametrize(
    ("limits", "markup"),
    [
        ({"ARTICLE_S": 0.2, "CHARACTER_S": 0.0}, "&lt;b&gt;" * 6_000),
        ({"ROOM": 3 << 23}, "*#:;" * 5_000),
    ],
)
def test_an_article_over_its_limits_is_counted_and_the_next_is_read(tmp_path, monkeypatch, limits, markup):
    """Limits that even this markup breaks, and an honest article keeps; what the parser can take has no end."""
    pytest.importorskip("mwparserfromhell")
    end_children()
    for name, value in limits.items():
        monkeypatch.setattr(_markup, name, value)
    monkeypatch.setattr("richter_audit.knowledge._ingest._ARTICLES", {"read": 0, "given up": 0})
    pages = [PAGE.format("bad", markup), PAGE.format("good", SENTENCE)]
    (tmp_path / "dump.xml").write_text(f"<mediawiki>{''.join(pages)}</mediawiki>")
    bad, good = read_documents(tmp_path / "dump.xml")
    assert [p.text for p in bad.paragraphs] == [""]
    assert [p.text for p in good.paragraphs] == [SENTENCE]
    (tmp_path / "many.xml").write_text(f"<mediawiki>{pages[0] * 3}</mediawiki>")
    with pytest.raises(InputError, match=r"2 articles of the dump, 'bad' the last, take more time or memory"):
        list(read_documents(tmp_path / "many.xml"))


def test_no_reader_takes_code_from_the_folder_it_is_in(tmp_path, monkeypatch):
    parser = Path(pytest.importorskip("mwparserfromhell").__file__).parents[1]
    end_children()
    for name in ("json", "mwparserfromhell", "markdown_it", "resource", "sitecustomize", "usercustomize"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').write('{name}')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    limits = {"folder": str(parser), "seconds": 5.0, "room": 1 << 28}
    assert read_limited(_markup.__file__, "wiki", SENTENCE.encode(), **limits) == [[[SENTENCE, 0]], []]
    page = read_limited(_blocks.__file__, ".md", SENTENCE.encode(), **limits)
    assert page == {"title": "", "blocks": [[SENTENCE, 0, ""]], "left_out": {}}
    assert not (tmp_path / "ran").exists()


ROWS = [
    {"title": "A_b", "text": "One.", "qas": [{"q": "Who?", "a": ["Ann", "Ann B."]}, {"q": "When?", "a": ["1901"]}]},
    {"title": "A_b", "text": "Two.", "qas": [{"q": "Where?", "a": ["Ghent"]}, {"q": "How many?", "a": ["17"]}]},
    {"title": "C", "text": "Three.", "category": "c", "qas": [{"q": "", "a": ["x"]}, {"q": "What?", "a": []}]},
]


def test_rows_with_human_questions_by_hand(tmp_path):
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, ROWS)) + "\n")
    pl.DataFrame(ROWS).write_parquet(tmp_path / "a.parquet")
    first, second = read_documents(tmp_path / "a.jsonl")
    assert [first, second] == list(read_documents(tmp_path / "a.parquet"))
    assert first.title == "A b"
    who, when = first.paragraphs[0].questions
    assert (who.answer, who.aliases, who.wordings) == ("Ann", ("Ann B.",), ("Who?",))
    assert who.wrong == ("Ghent", "17", "1901")  # the like in form first
    assert when.wrong[0] == "17"
    assert second.paragraphs[0].questions == ()  # no question or no answer: nothing to ask
    assert second.paragraphs[0].category == "c"


@pytest.mark.parametrize(
    ("name", "body", "message"),
    [
        ("a.jsonl", '{"text": "x"}\n{oops', "line 2 is not JSON"),
        ("a.jsonl", '{"title": "x"}', "line 1 has no `text`"),
        ("a.parquet", "not parquet", "not a Parquet file"),
        ("a.png", "x", "not a kind of file that Richter reads"),
    ],
)
def test_bad_files_are_refused(tmp_path, name, body, message):
    (tmp_path / name).write_text(body)
    with pytest.raises(InputError, match=message):
        list(read_documents(tmp_path / name))


@pytest.mark.slow
@pytest.mark.real_data
def test_squad_becomes_a_base_with_human_questions(shared_data):
    documents = list(read_documents(shared_data / "squad_wiki48.jsonl"))
    paragraphs = [p for d in documents for p in d.paragraphs]
    assert (len(documents), len(paragraphs)) == (48, 2067)
    questions = [q for p in paragraphs for q in p.questions]
    assert len(questions) > 10_000
    assert sum(len(q.wrong) == 3 for q in questions) == len(questions)
    for q in questions:
        assert not {w.casefold() for w in q.wrong} & {a.casefold() for a in (q.answer, *q.aliases)}
