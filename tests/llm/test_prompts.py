"""What a condition sends: by hand."""

import pytest

from richter.errors import InputError
from richter.records import Item
from richter_audit.llm import messages_for
from richter_audit.stages import name_conditions

ITEM = Item(
    id="a",
    prompt="Where is Ghent?",
    reference="Belgium",
    stem="Ghent is in",
    shots=("Lyon is in France.", "Turin is in Italy."),
    options=("Belgium", "Spain"),
)


@pytest.mark.parametrize(
    ("shots", "system", "sent"),
    [
        (None, "", "Lyon is in France.\nTurin is in Italy.\nGhent is in"),
        (1, "", "Lyon is in France.\nGhent is in"),
        (0, "", "Ghent is in"),
        (0, "You know it.", "You know it.\nGhent is in"),
    ],
)
def test_a_cloze_has_its_first_line_its_examples_and_its_sentence_by_hand(shots, system, sent):
    (condition,) = name_conditions(["smollm2"], style="cloze", shots=[shots], systems=[system])
    messages, decoding = messages_for(ITEM, condition)
    assert messages == [{"role": "text", "content": sent}]
    assert decoding.choices == (" Belgium", " Spain")


def test_conditions_with_other_examples_have_other_names_by_hand():
    found = name_conditions(["smollm2"], style="cloze", shots=[None, 0, 2])
    assert [c.name for c in found] == ["smollm2 cloze", "smollm2 cloze shots=0", "smollm2 cloze shots=2"]
    with pytest.raises(InputError, match="Only a cloze"):
        name_conditions(["smollm2"], shots=[0])
