from richter_audit.llm._grammar import choices_grammar, tokens_grammar


def test_texts_are_quoted_by_hand() -> None:
    assert choices_grammar(['a "b"', "c\n"]) == 'root ::= "a \\"b\\"" | "c\\n"'


def test_tokens_are_named_and_split_characters_spelled_by_hand() -> None:
    char = "漢".encode()
    pieces = [(7, b" to"), (8, b"kyo "), (11, char[:2]), (12, char[2:]), (9, b".")]
    assert tokens_grammar(pieces) == 'root ::= <[7]> <[8]> "漢" <[9]>'
