"""How often SmolLM2 errs on the facts benchmark, by domain and tier: two-shot cloze between the four options.

    python studies/bench_tiers.py facts.jsonl [items per cell]

Prints the error in percent per cell with the number asked, and per relation. Greedy, so it repeats.
"""

import asyncio
import sys
from collections import Counter, defaultdict

from richter.models import BUILT_IN
from richter.records import Condition, Decoding, Item
from richter_audit.bench import read_items
from richter_audit.llm import messages_for, open_model

SLOTS = 16


async def main(path: str, per_cell: int) -> None:
    condition = Condition(name="cloze", model=BUILT_IN, decoding=Decoding(max_tokens=48), style="cloze")
    cells: dict[tuple[str, int], list[Item]] = defaultdict(list)
    for item in read_items(path):
        if len(cells[item.domain, item.tier or 0]) < per_cell:
            cells[item.domain, item.tier or 0].append(item)
    model = open_model(BUILT_IN, slots=SLOTS)
    gate = asyncio.Semaphore(SLOTS)
    wrong: Counter[tuple[str, int]] = Counter()
    by_relation: dict[tuple[str, int, str], list[bool]] = defaultdict(list)

    async def ask(item: Item) -> None:
        messages, decoding = messages_for(item, condition)
        async with gate:
            answer = await model.ask(messages, decoding, 0)
        miss = answer.text.strip() != item.reference
        wrong[item.domain, item.tier or 0] += miss
        by_relation[item.domain, item.tier or 0, item.truth["relation"]].append(miss)

    await asyncio.gather(*(ask(item) for items in cells.values() for item in items))
    await model.aclose()
    for domain in dict.fromkeys(domain for domain, _ in cells):
        row = [f"{100 * wrong[domain, t] / max(1, len(cells[domain, t])):4.0f}" for t in range(1, 6)]
        print(f"{domain:24}", *row, f"   n = {len(cells[domain, 1])}")
    tiers = {t: [cell for cell in cells if cell[1] == t] for t in range(1, 6)}
    rates = [100 * sum(wrong[c] for c in own) / sum(len(cells[c]) for c in own) for own in tiers.values()]
    print(f"{'all':24}", *(f"{rate:4.0f}" for rate in rates))
    for (domain, tier, relation), misses in sorted(by_relation.items()):
        print(f"  {domain}, tier {tier}, {relation}: {100 * sum(misses) / len(misses):.0f}% of {len(misses)}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100))
