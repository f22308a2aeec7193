"""What the demo asks: by hand. That it runs is tried with the built wheel (`tests/test_wheel.py`)."""

from pathlib import Path

from richter.records import Item
from richter_audit.llm import messages_for
from richter_audit.stages import DemoSize, demo_prompts, demo_settings
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


def test_draws_are_of_one_prompt_and_a_quick_demo_has_none(tmp_path: Path) -> None:
    settings = demo_settings(tmp_path, [ITEM], DemoSize())
    assert [(c.name, c.decoding.temperature, c.shots) for c in settings.draw_conditions] == [
        ("examples t=1", 1.0, None)
    ]
    assert (settings.judges, settings.base, settings.nll) == ((), None, None)
    quick = demo_settings(tmp_path, [ITEM], DemoSize.quick())
    assert (quick.drawn, quick.draws) == (0, 0)
    assert quick.conditions == settings.conditions  # so that a full demo goes on from a quick one
