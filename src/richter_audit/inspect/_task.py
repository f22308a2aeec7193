"""The facts benchmark as an Inspect task."""

from __future__ import annotations

from collections.abc import Sequence

from inspect_ai import Epochs, Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import Scorer
from inspect_ai.solver import generate

from richter.errors import InputError
from richter.plugins.inspect._semantic import semantic
from richter.plugins.inspect._stop_when import StopWhen
from richter.records import Item
from richter_audit.bench import cached_facts, read_items
from richter_audit.inspect._names import in_namespace_richter
from richter_audit.inspect._severity_scorers import panel, severity

__all__ = ["facts"]


@task
@in_namespace_richter
def facts(
    items: int = 240,
    seed: int = 0,
    path: str | None = None,
    domain: str | None = None,
    tier: int | None = None,
    draws: int = 1,
    judges: str | list[str] | None = None,
    stop_when: str | None = None,
    max_tokens: int = 64,
    temperature: float | None = None,
) -> Task:
    """The facts benchmark, scored by severity.

    `items` and `seed` as for `richter bench facts`; built once, then kept in the cache; `path` takes a built one.
    `domain` and `tier` keep a part. `draws` above 1 asks each question as often (at temperature 1 unless one is given)
    and adds semantic calibration. `judges`, separated by commas, add a panel. `stop_when` is a claim, such as
    `error_rate < 0.5`: asking ends when it is decided.
    """
    source = cached_facts(items=items, seed=seed) if path is None else path
    chosen = _choose_items(read_items(source)[: items if path is None else None], domain, tier)
    scorers: list[Scorer] = [severity(gazetteer=str(source))]
    if draws > 1:
        scorers.append(semantic())
        temperature = 1.0 if temperature is None else temperature
    if judges:
        names = judges.split(",") if isinstance(judges, str) else judges
        scorers.append(panel([name.strip() for name in names]))
    dataset = MemoryDataset([_sample(item) for item in chosen], name="facts", location=str(source))
    if stop_when:
        dataset.shuffle(seed)  # early stopping is honest in random order only
    return Task(
        dataset=dataset,
        solver=generate(),
        scorer=scorers,
        epochs=Epochs(draws, "mean") if draws > 1 else None,
        early_stopping=StopWhen(stop_when, scorer="severity") if stop_when else None,
        config=GenerateConfig(max_tokens=max_tokens, temperature=0.0 if temperature is None else temperature),
    )


def _choose_items(items: Sequence[Item], domain: str | None, tier: int | None) -> list[Item]:
    chosen = [i for i in items if domain in (None, i.domain) and (tier is None or i.tier == int(tier))]
    if not chosen:
        raise InputError(f"No item is of domain {domain!r} and tier {tier!r}.", remedy="`richter bench` lists them.")
    return chosen


def _sample(item: Item) -> Sample:
    return Sample(
        id=item.id,
        input=item.prompt,
        target=[item.reference, *item.aliases],
        metadata={"item": item.to_dict(), "domain": item.domain, "tier": item.tier, "form": item.form},
    )
