"""The item behind a sample."""

from inspect_ai.scorer import Target
from inspect_ai.solver import TaskState

from richter.errors import InputError
from richter.records import Item

__all__ = ["item_of"]


def item_of(state: TaskState, target: Target) -> Item:
    """The sample's item where it carries one (`richter/facts` does), else one made of its input and targets."""
    given = (state.metadata or {}).get("item")
    if isinstance(given, dict):
        return Item.from_dict(given)
    if not target.text:
        raise InputError("A sample has no target.", remedy="Severity needs a reference answer.")
    return Item(
        id=str(state.sample_id), prompt=state.input_text, reference=target[0], aliases=tuple(str(t) for t in target[1:])
    )
