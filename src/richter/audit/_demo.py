"""What the demonstration audits: a real small model on real facts, at two temperatures, with everything Richter has."""

import dataclasses

from richter.ascent import SearchSettings
from richter.audit._ask import name_conditions
from richter.audit._judging import GAZETTEER_NAME
from richter.audit._stages import AuditSettings, draw_conditions
from richter.bench import World, build_facts, fact_documents, pack, read_items, write_bytes, write_items
from richter.judge import judge_decoding
from richter.knowledge import write_base
from richter.llm import BUILT_IN
from richter.records import Decoding, Item
from richter.store import RunLike, run_folder

__all__ = ["DemoSize", "demo_settings", "prepare_demo"]

BENCH, BASE = "facts.jsonl", "airfields.kb"
STRICT = "Be strict: when in doubt, give the higher severity."


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DemoSize:
    """How much the demonstration asks."""

    items: int = 240
    judged: int = 60
    drawn: int = 60
    draws: int = 20
    search_calls: int = 150

    @classmethod
    def quick(cls) -> "DemoSize":
        """About a quarter of it."""
        return cls(items=60, judged=12, drawn=16, draws=10, search_calls=60)


def prepare_demo(run: RunLike, size: DemoSize, *, seed: int = 0) -> list[Item]:
    """Build the questions, the gazetteer and a small base (of airfields) in the run, unless they are there."""
    folder = run_folder(run)
    bench = folder / BENCH
    found = read_items(bench) if bench.exists() else []
    if len(found) < size.items:  # a smaller benchmark is the beginning of a larger one
        folder.mkdir(parents=True, exist_ok=True)
        world = World()
        facts = build_facts(items=size.items, seed=seed, world=world)
        documents = fact_documents(world, parts=("airfields",))
        write_base(folder / BASE, documents, name="facts airfields", sources=world.versions)
        write_bytes(pack(facts.gazetteer), folder / GAZETTEER_NAME)
        write_items(facts.items, bench)  # last: where it lies, the others do
        found = list(facts.items)
    return found[: size.items]


def demo_settings(run: RunLike, items: list[Item], size: DemoSize, *, seed: int = 0) -> AuditSettings:
    """SmolLM2, greedy and at temperature 1, at most 32 tokens; judged by rules and, a sample, by itself twice.

    The two judges are the audited model with two instructions: a trial of the panel, and marked as self-judging. The
    draws are choices between the four options of a cloze at temperature 1.
    """
    decoding = Decoding(max_tokens=32, seed=seed, logprobs=True)
    conditions = tuple(name_conditions([BUILT_IN], temperatures=(0.0, 1.0), decoding=decoding))
    return AuditSettings(
        conditions=conditions,
        bench=str(run_folder(run) / BENCH),
        judges=tuple(name_conditions([BUILT_IN], systems=("", STRICT), decoding=judge_decoding())),
        allow_self=True,
        judged=size.judged,
        draws=size.draws,
        drawn=size.drawn,
        draw_conditions=draw_conditions(conditions, items),
        nll=BUILT_IN,
        base=str(run_folder(run) / BASE),
        search_calls=size.search_calls,
        search=SearchSettings(questions=1, phrasings=3, batch=10, seed=seed),
        seed=seed,
    )
