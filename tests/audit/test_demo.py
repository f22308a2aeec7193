"""What the demo asks: by hand. That it runs is tried with the built wheel (`tests/test_wheel.py`)."""

from richter.records import Item
from richter_audit.llm import messages_for
from richter_audit.stages import demo_prompts
from richter_audit.stages._demo import EXPERT

ITEM = Item(
    id="a", prompt="Where?", reference="B", stem="A is in", shots=("C is in D.", "E is in F."), options=("B", "D")
)


def test_the_three_prompts_differ_in_examples_and_a_first_line_by_hand() -> None:
    sent = {c.name: messages_for(ITEM, c)[0][0]["content"] for c in demo_prompts()}
    assert sent == {
        "plain": "A is in",
        "examples": "C is in D.\nE is in F.\nA is in",
        "expert": f"{EXPERT}\nC is in D.\nE is in F.\nA is in",
    }
    assert {(c.model, c.decoding.temperature, c.decoding.seed) for c in demo_prompts(seed=3)} == {
        ("local/smollm2", 0, 3)
    }
