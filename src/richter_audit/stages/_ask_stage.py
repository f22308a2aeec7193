"""Ask conditions the items of a benchmark, into a run. Resuming is doing the same again."""

import asyncio
import contextlib
import dataclasses
import functools
import hashlib
import itertools
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Unpack, get_args

from richter.errors import InputError
from richter.models import WEIGHTS, Price, price_of, read_prices, resolve
from richter.records import OPTIONS_SHARE_SOURCE, OPTIONS_SOURCE, Answer, Condition, Decoding, Item, Style
from richter.store import Ledger, RunLike, Spent, is_run, open_ledger
from richter.texts import grade_reply, option_mass, read_choice
from richter_audit import llm
from richter_audit.bench import order_by_hash

__all__ = ["AskProgress", "Estimate", "ask_run", "estimate_run", "name_conditions", "usual_style"]

BYTES_PER_TOKEN = 4  # a usual figure for English; for estimates only, a budget is held by bounds
CHAT_OVERHEAD_TOKENS = 30
_STYLES: dict[str, Style] = {style: style for style in get_args(Style)}
BLOCK = 16  # items asked together, as many as a local model has slots


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AskProgress:
    """How far an asking run has come. `money_usd` leaves out `unpriced` answers.

    `truncated` answers were cut off at the most tokens allowed; `said` is what people should know of a server, and
    `waiting_s` how long nothing is asked because a server wants it so.
    """

    total: int
    done: int
    answered: int  # in this session
    failed: int
    retries: int
    elapsed_s: float
    tokens: int
    money_usd: float
    unpriced: int
    truncated: int = 0
    said: tuple[str, ...] = ()
    waiting_s: float = 0.0

    @property
    def rate_per_s(self) -> float:
        """Answers a second in this session."""
        return self.answered / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def left_s(self) -> float | None:
        """Seconds to go at this rate."""
        return (self.total - self.done) / self.rate_per_s if self.answered else None


def progress_of(asker: llm.Asker, *, total: int, done: int, answered: int, started: float) -> AskProgress:
    """How far an asker has come since it started, by `time.monotonic`."""
    tally = asker.tally
    return AskProgress(
        total=total,
        done=done,
        answered=answered,
        failed=tally.failed,
        retries=tally.retries,
        elapsed_s=time.monotonic() - started,
        tokens=tally.tokens,
        money_usd=tally.money_usd,
        unpriced=tally.unpriced,
        truncated=tally.truncated,
        said=tuple(tally.server_notes),
        waiting_s=asker.waiting_s,
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What asking one condition would cost: calls still missing, tokens, and money (None: the price is unknown).

    Where no answer is cut off: one that is, is asked again with more tokens.
    """

    condition: str
    model: str
    calls: int
    already: int
    tokens_in: int
    tokens_out_most: int
    money_usd_most: float | None


def name_conditions(
    models: Sequence[str],
    *,
    temperatures: Sequence[float] = (0.0,),
    systems: Sequence[str] = ("",),
    decoding: Decoding | None = None,
    style: str | None = "chat",
    shots: Sequence[int | None] = (None,),
    items: Sequence[Item] = (),
) -> list[Condition]:
    """Every model at every temperature with every system prompt, each with a name that says what is particular to it.

    Of a cloze also with every number of `shots`, the solved examples before the sentence (None: all that an item has).

    The name depends on the condition alone (not on its companions), so that resuming with one more condition finds
    the old ones; only models that share their last name are told apart by their whole names. With `style` None
    questions that come with options to choose from (and no sentence to complete) are asked with them: `choice`.
    """
    style = style or usual_style(items)
    decoding = decoding or Decoding()
    specs = [resolve(model) for model in dict.fromkeys(models)]
    if style != "cloze" and any(given is not None for given in shots):
        raise InputError(
            "Only a cloze has solved examples before it.", remedy="Ask in the style cloze, or leave shots out."
        )
    for spec in specs:
        if style == "chat" and spec.model in WEIGHTS and not WEIGHTS[spec.model].chat:
            raise InputError(
                f"{spec.model} is pretrained: it continues a text and does not answer a question.",
                remedy="Let it continue texts: --style raw, or complete sentences: --style cloze.",
            )
    tails = [spec.name.rsplit("/", 1)[-1].rsplit("#", 1)[-1].removesuffix(".gguf") for spec in specs]
    conditions = []
    for spec, tail in zip(specs, tails, strict=True):
        base = tail if tails.count(tail) == 1 else spec.name
        each = itertools.product(dict.fromkeys(temperatures), dict.fromkeys(systems), dict.fromkeys(shots))
        for temperature, system, given in each:
            names = {
                f"t={temperature:g}": temperature > 0,
                f"system={hashlib.sha256(system.encode()).hexdigest()[:6]}": system,
                style: style != "chat",
                f"shots={given}": given is not None,
            }
            conditions.append(
                Condition(
                    name=" ".join([base, *(part for part, particular in names.items() if particular)]),
                    model=spec.name,
                    decoding=dataclasses.replace(decoding, temperature=temperature),
                    system=system,
                    style=_STYLES[style],
                    shots=given,
                )
            )
    return conditions


def usual_style(items: Sequence[Item]) -> str:
    """How items are asked unless told: with their options where they have some and are no cloze, else openly."""
    return "choice" if any(item.options and not item.stem for item in items) else "chat"


def items_as_shown(items: Sequence[Item], known: Iterable[Item], conditions: Sequence[Condition]) -> list[Item]:
    """The items with their options in the order that a run shows them: as it has them, or shuffled by their ids."""
    before = {item.id: item for item in known}
    if not any(c.style == "choice" for c in conditions) and not any(item.options for item in before.values()):
        return list(items)
    ordered = []
    for item in items:
        old = before.get(item.id)
        if old is not None and set(old.options) == set(item.options):
            ordered.append(dataclasses.replace(item, options=old.options))
        elif any(c.style == "choice" for c in conditions):
            ordered.append(dataclasses.replace(item, options=tuple(order_by_hash(item.options, "options", item.id))))
        else:
            ordered.append(item)
    return ordered


def estimate_run(
    run: RunLike,
    items: Sequence[Item],
    conditions: Sequence[Condition],
    *,
    draws: int = 1,
    prices: Mapping[str, Price] | None = None,
) -> list[Estimate]:
    """Price a run before it is made: only the calls that the run folder does not hold yet. Asks nothing."""
    prices = read_prices() if prices is None else prices
    done: dict[str, set[tuple[str, int]]] = {}
    if is_run(run):
        with open_ledger(run) as ledger:
            done = {c.name: ledger.answered_draws(c.name) for c in conditions}
    rows = []
    for condition in conditions:
        missing = [(i, d) for d in range(draws) for i in items if (i.id, d) not in done.get(condition.name, set())]
        texts = (llm.messages_for(item, condition)[0] for item, _ in missing)
        tokens_in = sum(
            CHAT_OVERHEAD_TOKENS + sum(len(m["content"].encode()) for m in messages) // BYTES_PER_TOKEN
            for messages in texts
        )
        tokens_out = len(missing) * condition.decoding.max_tokens
        price = price_of(condition.model, prices)
        rows.append(
            Estimate(
                condition=condition.name,
                model=condition.model,
                calls=len(missing),
                already=len(items) * draws - len(missing),
                tokens_in=tokens_in,
                tokens_out_most=tokens_out,
                money_usd_most=price.cost(tokens_in, tokens_out) if price else None,
            )
        )
    return rows


def ask_run(
    run: RunLike,
    items: Sequence[Item],
    conditions: Sequence[Condition],
    *,
    draws: int = 1,
    bench: str = "",
    watch: Callable[[AskProgress], None] | None = None,
    **calls: Unpack[llm.CallOptions],
) -> Spent:
    """Ask every condition every item, `draws` times each, through the run's ledger.

    Everything that can be checked is checked before the folder is touched: names, keys, prices for a money budget,
    items that a style cannot ask. Items are asked across conditions, so that a run that stops early is paired. With
    the engine of a cluster its workers ask, and this process alone writes the ledger.
    """
    if not items or not conditions or draws < 1:
        raise InputError(
            f"There is nothing to ask: {len(items)} items, {len(conditions)} conditions, {draws} draws.",
            remedy="Give a benchmark with items, at least one --model and --draws of 1 or more.",
        )
    names = [c.model for c in conditions]
    llm.check_models(names, calls)
    longest = max(len(llm.messages_for(i, c)[0][-1]["content"]) + len(c.system) for i in items for c in conditions)
    if calls.get("context_tokens") is None:  # two characters a token is cautious for any language's own tokenizer
        most = max(c.decoding.max_tokens for c in conditions)
        calls["context_tokens"] = -(-(longest // 2 + 64 + most) // 256) * 256
    with open_ledger(run, mode="write") as ledger:
        items = items_as_shown(items, ledger.items(), conditions)
        ledger.add_items(items)
        ledger.add_conditions(conditions)
        if bench:
            ledger.set_note("bench", {"path": bench})

        async def work(asker: llm.Asker, opened: Mapping[str, llm.Model]) -> None:
            await _ask_all(asker, ledger, items, conditions, draws, opened, watch)

        llm.with_models(ledger, names, work, calls)
        return ledger.spent()


def _is_cut(item: Item, style: str, answer: Answer) -> bool:
    """Whether an answer that was cut off is no use: shown options, it may have chosen already."""
    return not (style == "choice" and item.options and grade_reply(item, answer, style) != "truncated")


def _options_confidence(item: Item, answer: Answer) -> dict[str, float]:
    """The chosen option's share of the options' probability, and theirs of all, as confidences by source."""
    chosen = read_choice(item, answer.text)
    if chosen is None:
        return {}
    mass = option_mass(item.options, item.options.index(chosen), answer.tokens, answer.alternatives)
    return {} if mass is None else {OPTIONS_SOURCE: mass.confidence, OPTIONS_SHARE_SOURCE: mass.share}


def _jobs(
    items: Sequence[Item],
    conditions: Sequence[Condition],
    draws: int,
    models: Mapping[str, llm.Model],
    done: Mapping[str, Collection[tuple[str, int]]],
) -> Iterator[llm.Job]:
    """What is not asked yet, all draws of some items before the next: a local model has their prompts in memory."""
    order = itertools.chain.from_iterable(
        itertools.product(range(draws), items[i : i + BLOCK], conditions) for i in range(0, len(items), BLOCK)
    )
    for draw, item, condition in order:
        if (item.id, draw) not in done[condition.name]:
            messages, decoding = llm.messages_for(item, condition)
            yield llm.Job(
                model=models[condition.model],
                messages=messages,
                decoding=decoding,
                draw=draw,
                item=item.id,
                condition=condition.name,
                cut=None if condition.style in ("cloze", "raw") else functools.partial(_is_cut, item, condition.style),
                confidences=functools.partial(_options_confidence, item) if decoding.top_logprobs else None,
            )


async def _ask_all(
    asker: llm.Asker,
    ledger: Ledger,
    items: Sequence[Item],
    conditions: Sequence[Condition],
    draws: int,
    models: Mapping[str, llm.Model],
    watch: Callable[[AskProgress], None] | None,
) -> None:
    done = {c.name: ledger.answered_draws(c.name) for c in conditions}
    total = len(items) * len(conditions) * draws
    wanted = {item.id for item in items}
    before = sum(1 for pairs in done.values() for item, draw in pairs if item in wanted and draw < draws)
    started = time.monotonic()

    def tell() -> None:
        if watch is not None:
            tally = asker.tally
            came = before + tally.answered + tally.reused + tally.failed
            watch(progress_of(asker, total=total, done=came, answered=tally.answered, started=started))

    async def tell_often() -> None:
        while True:
            tell()
            await asyncio.sleep(0.2)

    ticker = asyncio.create_task(tell_often())
    try:
        await asker.ask_all(_jobs(items, conditions, draws, models, done))
        if len(asker.sentinels):
            asker.tally.server_notes.append(str(asker.sentinels))
    finally:
        ticker.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await ticker
        tell()
