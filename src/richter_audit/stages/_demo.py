"""What the demonstration asks: the new prompt is better, they say. Is it? A real small model on real facts."""

import dataclasses
from pathlib import Path

from richter.models import BUILT_IN
from richter.records import Condition, Decoding, Item
from richter.store import RunLike, write_file
from richter_audit.bench import FactsBench, World, build_facts, pack, read_items, write_items
from richter_audit.stages._ask_stage import name_conditions
from richter_audit.stages._judging import GAZETTEER_NAME
from richter_audit.stages._stages import AuditSettings, draw_conditions

__all__ = ["DemoSize", "demo_facts", "demo_prompts", "demo_settings", "prepare_demo"]

BENCH = "facts.jsonl"
DOMAINS = ("countries", "money", "computing codes")  # where solved examples help most: a third of the questions will do
LONGEST_OPTION = 32  # tokens
EXPERT = "You are a world-class expert in geography, science and languages. You always answer correctly."


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DemoSize:
    """How much the demonstration asks."""

    items: int = 300
    drawn: int = 20
    draws: int = 10

    @classmethod
    def quick(cls) -> "DemoSize":
        """The three prompts on 50 questions: too little to decide most, and the page says how much would do."""
        return cls(items=50, drawn=0, draws=0)


def demo_facts(items: int, *, seed: int = 0, world: World | None = None) -> FactsBench:
    """The demonstration's questions."""
    return build_facts(items=items, seed=seed, world=world, domains=DOMAINS)


def prepare_demo(run: RunLike, size: DemoSize, *, seed: int = 0) -> list[Item]:
    """Build the questions and the gazetteer in the run, unless they are there."""
    folder = Path(run)
    bench = folder / BENCH
    items = read_items(bench) if bench.exists() else []
    if len(items) < size.items:  # a smaller benchmark is the beginning of a larger one
        folder.mkdir(parents=True, exist_ok=True)
        facts = demo_facts(size.items, seed=seed)
        write_file(folder / GAZETTEER_NAME, pack(facts.gazetteer))
        write_items(facts.items, bench)  # last: where it lies, the other does
        items = list(facts.items)
    return items[: size.items]


def demo_prompts(*, seed: int = 0, also: str | None = None) -> tuple[Condition, ...]:
    """Three prompts for one greedy model that completes a sentence by one of four options.

    `plain` is the sentence alone, `examples` puts two solved ones before it, and `expert` tells the model besides that
    it is an expert: two claimed improvements. `also` names a second model, which is asked as
    `examples` is.
    """
    decoding = Decoding(max_tokens=LONGEST_OPTION, seed=seed, logprobs=True)
    asked = [("plain", BUILT_IN, 0, ""), ("examples", BUILT_IN, None, ""), ("expert", BUILT_IN, None, EXPERT)]
    asked += [(f"{also} examples", also, None, "")] if also is not None else []
    prompts = []
    for name, model, shots, system in asked:
        (one,) = name_conditions([model], systems=[system], decoding=decoding, style="cloze", shots=[shots])
        prompts.append(dataclasses.replace(one, name=name))
    return tuple(prompts)


def demo_settings(
    run: RunLike, items: list[Item], size: DemoSize, *, seed: int = 0, also: str | None = None
) -> AuditSettings:
    """SmolLM2 under three prompts, and a second model where one is named, rated by rules; draws of `examples`."""
    conditions = demo_prompts(seed=seed, also=also)
    return AuditSettings(
        conditions=conditions,
        bench=str(Path(run) / BENCH),
        draws=size.draws,
        drawn=size.drawn,
        draw_conditions=draw_conditions(conditions[1:2], items),
        seed=seed,
    )
