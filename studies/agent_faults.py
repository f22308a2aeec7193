"""Plant faults of seven kinds in logs that Inspect writes of scripted agents, and count what rules find.

    python studies/agent_faults.py                        # 40 tasks x 5 runs x 2 agents for each set of words
    python studies/agent_faults.py --words first --show   # what is missed, and what is found that was not planted

Agents are scripts behind Inspect's mock model; their tools are real: a shell in a folder of its own, a search over
files, a page reader, an editor and a job queue. The generator and its words (agent_fault_words.toml) were written
before their author read the rules. Runs without faults hold what rules may mistake for one: log files full of errors, a
check that fails until the code is mended, and a job that is asked for its state again and again.
"""

import argparse
import contextvars
import dataclasses
import json
import random
import shutil
import subprocess
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
from inspect_ai import Epochs, Task
from inspect_ai import eval as run_task
from inspect_ai.dataset import Sample
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ModelOutput,
    ModelUsage,
    execute_tools,
    get_model,
)
from inspect_ai.scorer import Score, Target, accuracy, scorer
from inspect_ai.solver import Generate, TaskState, solver
from inspect_ai.tool import ToolCall, ToolError, tool

from richter.tables import read_tables

WORDS: dict[str, dict[str, list[str]]] = tomllib.loads(Path(__file__).with_name(
    "agent_fault_words.toml").read_text())  # fmt: skip
KINDS = ("failed call", "repeated call", "unused result", "loop", "budget hit", "refusal", "gave up")
SHARES = {"careful": 0.35, "hasty": 0.6}  # of runs that get a fault, by agent
# what comes with a fault: finding it beside the planted one is no false alarm
IMPLIED = {
    "failed call": {"unused result"},
    "repeated call": {"unused result"},
    "loop": {"repeated call", "unused result"},
    "budget hit": {"unused result", "failed call"},
    "refusal": {"unused result"},
    "gave up": {"unused result"},
}
Rng = random.Random


@dataclasses.dataclass(kw_only=True)
class Turn:
    """One message of the agent: its text, its calls, and which fault is planted in it."""

    text: str = ""
    calls: list[tuple[str, dict[str, Any]]] = dataclasses.field(default_factory=list)
    fault: str = ""
    service_error: str = ""  # what the next call answers
    stop: str = "stop"
    limit: str = ""  # the limit that ends the run before this message


@dataclasses.dataclass(frozen=True)
class Planted:
    kind: str
    first: int
    last: int


@dataclasses.dataclass
class World:
    folder: Path
    turns: list[Turn]
    service_error: str = ""
    polls: int = 0


HERE: contextvars.ContextVar[World] = contextvars.ContextVar("world")


# -- tasks: what a faultless agent does ----------------------------------------------------------------------------
def fill_folder(folder: Path, task: int) -> None:
    """The files of a task."""
    rng = random.Random(task)
    for name in ("ledgers", "docs", "src", "logs"):
        (folder / name).mkdir()
    for year in (2021, 2022, 2023):
        rows = [f"{customer},{rng.randint(100, 9999) / 10:.2f},{rng.choice(['paid', 'open'])}" for customer in NAMES]
        (folder / f"ledgers/{year}.csv").write_text("customer,amount,state\n" + "\n".join(rows) + "\n")
    for k, topic in enumerate(TOPICS):
        (folder / f"docs/page_{k:02d}.txt").write_text(
            f"{topic}\nThe {topic.lower()} was set to {rng.randint(10, 900)} units in {rng.randint(1990, 2020)}.\n"
            "Errors and failures are handled by the support desk; see the notes on refusals of access.\n"
        )
    (folder / "src/rates.py").write_text("RATES = {1: 0.05, 2: 0.11, 3: 0.17, 4: 0.0}\n")
    (folder / "src/check.py").write_text(
        "from rates import RATES\nbad = [z for z, r in RATES.items() if not r]\n"
        "print(f'zone {bad[0]}: expected a rate, got 0.0' if bad else 'every zone has a rate')\n"
    )
    lines = [rng.choice(["INFO started", "ERROR 500 upstream failed", "WARN timeout, retrying", "INFO done"])
             for _ in range(30)]  # fmt: skip
    (folder / "logs/app.log").write_text("\n".join(f"10:{k:02d} {line}" for k, line in enumerate(lines)) + "\n")


NAMES = ["Abel", "Brandt", "Castro", "Dufour", "Eklund", "Ferrari", "Goto", "Hansen", "Ito", "Jansen"]
TOPICS = ["Reservoir level", "Turbine speed", "Intake pressure", "Gate opening", "Sluice width", "Boiler load",
          "Pump capacity", "Grid frequency", "Cable length", "Dam height"]  # fmt: skip
THOUGHTS = ["", "", "", "Let me look at the files first.", "I can't see the amount here, so I open the file itself.",
            "That page did not have it. Trying another one.", "Next, the details.", "Checking this before I answer.",
            "I don't know which file it is yet."]  # fmt: skip
CLEAN = ["{v}", "The answer is {v}.", "I found it: {v}.", "It is {v}, as the file says.", "**{v}**",
         "I cannot rule out later changes, but the file says {v}.", "Done. Result: {v}",
         "One source was not available at first; the file itself gives {v}."]  # fmt: skip


def faultless(task: int, rng: Rng, folder: Path) -> tuple[str, list[Turn], str]:
    """The prompt, the messages of an agent that does it right, and the value to report."""
    return (ledger_task, page_task, code_task, queue_task)[task % 4](task, rng, folder)


def ledger_task(task: int, rng: Rng, folder: Path) -> tuple[str, list[Turn], str]:
    name, year = NAMES[task // 4], 2021 + task % 3
    row = next(r for r in (folder / f"ledgers/{year}.csv").read_text().splitlines() if r.startswith(name))
    turns = [
        Turn(text=rng.choice(THOUGHTS), calls=[("bash", {"cmd": "ls ledgers"})]),
        Turn(text=rng.choice(THOUGHTS), calls=[("bash", {"cmd": f"grep -n {name} ledgers/{year}.csv"})]),
    ]
    return f"Which amount stands for customer {name} in the ledger of {year}?", turns, row.split(",")[1]


def page_task(task: int, rng: Rng, folder: Path) -> tuple[str, list[Turn], str]:
    k = task // 4
    value = (folder / f"docs/page_{k:02d}.txt").read_text().split("set to ")[1].split()[0]
    turns = [
        Turn(text=rng.choice(THOUGHTS), calls=[("search", {"query": TOPICS[k].lower(), "limit": 3})]),
        Turn(text=rng.choice(THOUGHTS), calls=[("open_page", {"page": f"page_{k:02d}"})]),
    ]
    return f"To how many units was the {TOPICS[k].lower()} set?", turns, value


def code_task(task: int, rng: Rng, folder: Path) -> tuple[str, list[Turn], str]:
    rate = round(0.19 + task / 1000, 3)
    fixed = f"RATES = {{1: 0.05, 2: 0.11, 3: 0.17, 4: {rate}}}\n"
    turns = [
        Turn(text=rng.choice(THOUGHTS), calls=[("bash", {"cmd": "cat src/rates.py"})]),
        Turn(calls=[("bash", {"cmd": "python3 src/check.py"})]),
        Turn(text="Zone 4 has no rate.", calls=[("write_file", {"path": "src/rates.py", "text": fixed})]),
        Turn(calls=[("bash", {"cmd": "python3 src/check.py"})]),
    ]
    return f"Set the missing rate of src/rates.py to {rate}, then report it. src/check.py checks it.", turns, str(rate)


def queue_task(task: int, rng: Rng, folder: Path) -> tuple[str, list[Turn], str]:
    count = sum("ERROR" in line for line in (folder / "logs/app.log").read_text().splitlines())
    turns = [Turn(calls=[("job_status", {"job": f"j{task}"})]) for _ in range(3)]
    turns += [Turn(text=rng.choice(THOUGHTS), calls=[("bash", {"cmd": "grep ERROR logs/app.log"})]),
              Turn(calls=[("bash", {"cmd": "grep -c ERROR logs/app.log"})])]  # fmt: skip
    return f"Once job j{task} is done, count the lines with ERROR in logs/app.log.", turns, str(count)


# -- faults --------------------------------------------------------------------------------------------------------
def plant(kind: str, turns: list[Turn], rng: Rng, words: dict[str, list[str]]) -> list[Turn]:
    """The messages of an agent with one fault more; the answer is the last of them."""
    return PLANTERS[kind](turns, rng, words)


def _insert(turns: list[Turn], new: list[Turn], at: int) -> list[Turn]:
    return [*turns[:at], *new, *turns[at:]]


def failed_call(turns: list[Turn], rng: Rng, words: dict[str, list[str]]) -> list[Turn]:
    name, page = rng.choice(NAMES), rng.randint(40, 99)
    new = rng.choice([
        Turn(calls=[("bash", {"cmd": f"cat ledgers/20{rng.randint(30, 60)}.csv"})]),
        Turn(calls=[("open_page", {"page": f"page_{page}"})]),
        Turn(calls=[("bash", {"cmd": f"python3 src/{name.lower()}.py"})]),
        Turn(calls=[("bash", {"cmd": f"python3 -c 'print({{}}[\"{name}\"])'"})]),
        Turn(calls=[("bash", {"cmd": f"lookup-{name.lower()} --all"})]),
        Turn(calls=[("fetch_record", {"customer": name})]),
        Turn(calls=[("open_page", {"document": f"page_{page % 10:02d}"})]),
        Turn(calls=[("search", {"query": name.lower(), "limit": 3})], service_error=rng.choice(words["errors"])),
        Turn(calls=[("search", {"query": name.lower(), "limit": 3})], service_error=rng.choice(words["errors"])),
        Turn(calls=[("search", {"query": name.lower(), "limit": 3})], service_error=rng.choice(words["errors"])),
    ])  # fmt: skip
    new.fault, new.text = "failed call", rng.choice(THOUGHTS)
    return _insert(turns, [new], rng.randrange(len(turns)))


def repeated_call(turns: list[Turn], rng: Rng, words: dict[str, list[str]]) -> list[Turn]:
    reads = ("bash", "search", "open_page")
    at = rng.choice([k for k, turn in enumerate(turns) if turn.calls and turn.calls[0][0] in reads and not turn.fault
                     and "check.py" not in str(turn.calls)])  # fmt: skip
    name, arguments = turns[at].calls[0]
    again = dict(reversed(arguments.items())) if rng.random() < 0.3 else dict(arguments)
    new = Turn(text=rng.choice(THOUGHTS), calls=[(name, again)], fault="repeated call")
    is_edited = any(
        name == "write_file" for turn in turns for name, _ in turn.calls
    )  # reading a new text is no repetition
    return _insert(turns, [new], at + 1 if is_edited else rng.choice([at + 1, len(turns) - 1]))


def unused_result(turns: list[Turn], rng: Rng, words: dict[str, list[str]]) -> list[Turn]:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("open_page", {"page": f"page_{rng.randint(0, 9):02d}"}),
        ("bash", {"cmd": "head -4 ledgers/2022.csv"}),
        ("search", {"query": rng.choice(TOPICS).lower(), "limit": 2}),
    ]
    used = {json.dumps(call) for turn in turns for call in turn.calls}
    new = Turn(calls=[rng.choice([call for call in calls if json.dumps(call) not in used])], fault="unused result")
    return _insert(turns, [new], rng.randrange(len(turns)))


def loop(turns: list[Turn], rng: Rng, words: dict[str, list[str]]) -> list[Turn]:
    name = rng.choice(NAMES)
    cycle: list[tuple[str, dict[str, Any]]] = rng.choice([
        [("bash", {"cmd": f"grep -rn {name} logs"})],
        [("search", {"query": f"{name} balance", "limit": 3})],
        [("bash", {"cmd": "ls"}), ("bash", {"cmd": "ls docs"})],
        [("search", {"query": "balance sheet", "limit": 5}), ("open_page", {"page": "page_03"})],
        [("bash", {"cmd": "ls logs"}), ("bash", {"cmd": "tail -2 logs/app.log"}), ("bash", {"cmd": "pwd"})],
    ])  # fmt: skip
    vary = rng.random() < 0.2
    new = []
    for turn in range(rng.randint(4, 6)):
        for tool_name, arguments in cycle:
            said = rng.choice(["", "", "Let me check once more.", "Trying again."])
            changed = {
                k: v + " " * turn if vary and isinstance(v, str) and k != "page" else v for k, v in arguments.items()
            }
            new.append(Turn(text=said, calls=[(tool_name, changed)], fault="loop"))
    return _insert(turns, new, rng.randrange(len(turns)))


def budget(turns: list[Turn], rng: Rng, words: dict[str, list[str]]) -> list[Turn]:
    kind = rng.choice(["messages", "tokens", "cut", "words"])
    looping = [k + 1 for k, turn in enumerate(turns) if turn.fault == "loop"]
    at = rng.randint(max([1, *looping[-1:]]), len(turns) - 1)  # a loop is not cut
    if kind == "cut":
        cut = Turn(
            text="To answer this I first list what the file contains, which is", fault="budget hit", stop="max_tokens"
        )
        return [*turns[:-1], cut]
    if kind == "words":
        end = Turn(
            calls=[("bash", {"cmd": "wc -l logs/app.log"})],
            service_error=rng.choice(words["budget"]),
            fault="budget hit",
        )
        return [*turns[:at], end, Turn(text="So far: the files are listed, the value is not read yet.")]
    return [*turns[:at], Turn(limit=kind, fault="budget hit")]


def _ends(kind: str, pool: str) -> Callable[[list[Turn], Rng, dict[str, list[str]]], list[Turn]]:
    def end(turns: list[Turn], rng: Rng, words: dict[str, list[str]]) -> list[Turn]:
        kept = turns[: rng.randint(0, min(1, len(turns) - 1))] if kind == "refusal" else turns[:-1]
        return [*(t for t in kept if t.fault != "loop"), Turn(text=rng.choice(words[pool]), fault=kind)]

    return end


PLANTERS: dict[str, Callable[[list[Turn], Rng, dict[str, list[str]]], list[Turn]]] = {
    "failed call": failed_call, "repeated call": repeated_call, "unused result": unused_result, "loop": loop,
    "budget hit": budget, "refusal": _ends("refusal", "refusals"), "gave up": _ends("gave up", "give_ups"),
}  # fmt: skip
ENDINGS = ("budget hit", "refusal", "gave up")


def script(task: int, epoch: int, agent: str, seed: int, words: dict[str, list[str]], folder: Path) -> list[Turn]:
    """The messages of one run, faults and answer included."""
    rng = random.Random(f"{seed} {task} {epoch} {agent}")
    _, turns, value = faultless(task, rng, folder)
    turns = [*turns, Turn(text=rng.choice(CLEAN).format(v=value))]
    if rng.random() >= SHARES[agent]:
        return turns
    kinds = rng.sample(KINDS, rng.choice([1, 1, 2]))
    kinds = [k for k in kinds if k not in ENDINGS][:1] + [k for k in kinds if k in ENDINGS][:1]
    for kind in kinds:  # endings last; a refusal drops what came before it
        turns = plant(kind, turns, rng, words)
    return turns


def planted_in(turns: list[Turn]) -> list[Planted]:
    """Kind and place of every fault, the place as numbers of the agent's steps."""
    spans: dict[str, tuple[int, int]] = {}
    position = 0
    for turn in turns:
        steps = len(turn.calls) + bool(turn.text)
        if turn.fault:
            first = spans.get(turn.fault, (position, 0))[0]
            spans[turn.fault] = (
                first if steps else position - 1,
                position + max(steps, 1) - 1,
            )  # no step: cut before it
        position += steps
    return [Planted(kind, *span) for kind, span in spans.items()]


# -- tools ---------------------------------------------------------------------------------------------------------
def _fail_as_planned(world: World, as_text: bool) -> str | None:
    message, world.service_error = world.service_error, ""
    if message and not as_text:
        raise ToolError(message)
    return json.dumps({"status": "error", "message": message}) if message else None


@tool
def bash() -> Any:
    async def execute(cmd: str) -> str:
        """Run a command.

        Args:
            cmd: The command.
        """
        world = HERE.get()
        _fail_as_planned(world, as_text=False)
        done = subprocess.run(["bash", "-c", cmd], cwd=world.folder, capture_output=True, text=True, timeout=20)
        return done.stderr + done.stdout

    return execute


@tool
def search() -> Any:
    async def execute(query: str, limit: int) -> str:
        """Search the pages.

        Args:
            query: What to look for.
            limit: How many hits to give.
        """
        world = HERE.get()
        if (failure := _fail_as_planned(world, as_text=len(world.service_error) % 2 == 0)) is not None:
            return failure
        words = query.lower().split()
        hits = [
            (sum(w in p.read_text().lower() for w in words), p) for p in sorted((world.folder / "docs").glob("*.txt"))
        ]
        best = sorted((h for h in hits if h[0]), key=lambda h: -h[0])[:limit]
        return "\n".join(f"[{p.stem}] {p.read_text().splitlines()[0]}" for _, p in best) or "0 hits"

    return execute


@tool
def open_page() -> Any:
    async def execute(page: str) -> str:
        """Read a page.

        Args:
            page: Its name.
        """
        path = HERE.get().folder / "docs" / f"{page}.txt"
        if not path.exists():
            raise ToolError(f"there is no page {page}")
        return path.read_text()

    return execute


@tool
def write_file() -> Any:
    async def execute(path: str, text: str) -> str:
        """Write a file.

        Args:
            path: Where.
            text: What.
        """
        (HERE.get().folder / path).write_text(text)
        return f"wrote {len(text)} characters to {path}"

    return execute


@tool
def job_status() -> Any:
    async def execute(job: str) -> str:
        """Say how far a job is.

        Args:
            job: Its id.
        """
        world = HERE.get()
        world.polls += 1
        return f"{job}: {('running, 40%', 'running, 80%', 'done')[min(world.polls, 3) - 1]}"

    return execute


# -- Inspect -------------------------------------------------------------------------------------------------------
def _reply(*_: Any) -> ModelOutput:
    turn = HERE.get().turns.pop(0)
    HERE.get().service_error = turn.service_error
    calls = [ToolCall(id=f"c{random.getrandbits(48):x}", function=name, arguments=arguments)
             for name, arguments in turn.calls]  # fmt: skip
    message = ChatMessageAssistant(content=turn.text, tool_calls=calls or None)
    choice = ChatCompletionChoice(message=message, stop_reason=turn.stop)  # type: ignore[arg-type]
    usage = ModelUsage(input_tokens=200, output_tokens=40, total_tokens=240)
    return ModelOutput(model="mockllm", choices=[choice], usage=usage)


@scorer(metrics=[accuracy()])
def _value_given() -> Any:
    async def score(state: TaskState, target: Target) -> Score:
        return Score(value="C" if target.text in state.output.completion else "I", answer=state.output.completion)

    return score


def write_logs(
    folder: Path, words: str, *, seed: int, tasks: int = 40, epochs: int = 5
) -> dict[tuple[str, str, int], list[Planted]]:
    """One log per agent in `folder`; what is planted, by agent, task and epoch."""
    truth: dict[tuple[str, str, int], list[Planted]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for agent in SHARES:
            model = get_model(f"mockllm/{agent}", custom_outputs=_reply, memoize=False)
            task = _agent_task(agent, words, seed, tasks, epochs, Path(scratch), truth)
            logs = run_task(task, model=model, log_dir=scratch, log_format="json", display="none", max_samples=8)
            shutil.copy(logs[0].location, folder / f"{agent}.json")
    return truth


def _agent_task(agent: str, words: str, seed: int, tasks: int, epochs: int, scratch: Path,
                truth: dict[tuple[str, str, int], list[Planted]]) -> Task:  # fmt: skip
    samples = []
    for task in range(tasks):
        example = scratch / f"{agent}-{task}"
        example.mkdir()
        fill_folder(example, task)
        prompt, _, value = faultless(task, random.Random(0), example)
        samples.append(Sample(id=f"t{task}", input=prompt, target=value))

    @solver
    def act() -> Any:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            with tempfile.TemporaryDirectory(dir=scratch) as name:
                task = int(str(state.sample_id)[1:])
                fill_folder(Path(name), task)
                turns = script(task, state.epoch, agent, seed, WORDS[words], Path(name))
                truth[agent, f"t{task}", state.epoch] = planted_in(turns)
                HERE.set(World(Path(name), list(turns)))
                return await _act(state, turns)

        return solve

    return Task(dataset=samples, solver=act(), scorer=_value_given(), epochs=Epochs(epochs, "mean"), name="office")


async def _act(state: TaskState, turns: list[Turn]) -> TaskState:
    state.tools = [bash(), search(), open_page(), write_file(), job_status()]
    for turn in turns:
        if turn.limit == "messages":
            state.message_limit = len(state.messages)
        elif turn.limit == "tokens":
            state.token_limit = 1
        state.output = await get_model().generate(state.messages, tools=state.tools)
        state.messages.append(state.output.message)
        if state.output.message.tool_calls:
            state.messages.extend((await execute_tools(state.messages, state.tools)).messages)
    return state


# -- counting ------------------------------------------------------------------------------------------------------
Key = tuple[str, str, int]


@dataclasses.dataclass
class Tally:
    """Planted faults, those found in their run or at their step, and findings that nothing planted explains."""

    planted: Counter[str] = dataclasses.field(default_factory=Counter)
    found: Counter[str] = dataclasses.field(default_factory=Counter)
    placed: Counter[str] = dataclasses.field(default_factory=Counter)
    findings: Counter[str] = dataclasses.field(default_factory=Counter)
    false: Counter[str] = dataclasses.field(default_factory=Counter)
    missed_runs: list[tuple[Key, str]] = dataclasses.field(default_factory=list)
    false_runs: list[tuple[Key, str]] = dataclasses.field(default_factory=list)


def count(truth: Mapping[Key, list[Planted]], found: Mapping[Key, list[tuple[str, int]]]) -> Tally:
    """What rules found of what is planted; a finding counts once for a run and kind."""
    tally = Tally()
    for key, planted in truth.items():
        places: dict[str, list[int]] = {}
        for rule, step in found.get(key, []):
            places.setdefault(rule, []).append(step)
        for fault in planted:
            tally.planted[fault.kind] += 1
            tally.found[fault.kind] += fault.kind in places
            tally.placed[fault.kind] += any(fault.first <= step <= fault.last for step in places.get(fault.kind, []))
            if fault.kind not in places:
                tally.missed_runs.append((key, fault.kind))
        kinds = {fault.kind for fault in planted}
        implied = set().union(*(IMPLIED.get(kind, set()) for kind in kinds)) - kinds
        for rule in places.keys() - implied:
            tally.findings[rule] += 1
            if rule not in kinds:
                tally.false[rule] += 1
                tally.false_runs.append((key, rule))
    return tally


def measure(words: str, *, seed: int, tasks: int = 40, epochs: int = 5, show: bool = False) -> Tally:
    """Write the logs of one set of words, read them with Richter, and count."""
    with tempfile.TemporaryDirectory() as name:
        truth = write_logs(Path(name), words, seed=seed, tasks=tasks, epochs=epochs)
        dataset = read_tables(*(f"{agent}={Path(name) / agent}.json" for agent in SHARES))
    found: dict[Key, list[tuple[str, int]]] = {}
    for agent, item, draw, place, rule in dataset.faults.select(
        "condition", "item", "draw", "place", "rule"
    ).iter_rows():
        found.setdefault((agent, item, draw + 1), []).append((rule, place - 1))
    tally = count(truth, found)
    if show:
        for title, runs in (("missed", tally.missed_runs), ("not planted", tally.false_runs)):
            for key, kind in runs:
                _show_run(f"{title}: {kind}", key, dataset.steps)
    return tally


def _show_run(title: str, key: Key, steps: pl.DataFrame) -> None:
    agent, item, run = key
    print(f"\n{title} in {agent} {item} run {run}")
    own = steps.filter(pl.col("condition") == agent, pl.col("item") == item, pl.col("draw") == run - 1)
    for step in own.to_dicts():
        outcome = step["error"] or step["result"]
        print("  ", step["place"], step["tool"] or step["role"], step["arguments"], outcome[:99])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", choices=WORDS, action="append")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tasks", type=int, default=40)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--write", type=Path, help="only write the logs and planted.json into this folder")
    chosen = parser.parse_args()
    if chosen.write:
        truth = write_logs(chosen.write, (chosen.words or ["first"])[0], seed=chosen.seed, tasks=chosen.tasks,
                           epochs=chosen.epochs)  # fmt: skip
        rows = [[*key, fault.kind] for key, planted in truth.items() for fault in planted]
        (chosen.write / "planted.json").write_text(json.dumps(rows))
        return
    for k, words in enumerate(chosen.words or WORDS):
        tally = measure(words, seed=chosen.seed + k, tasks=chosen.tasks, epochs=chosen.epochs, show=chosen.show)
        found, planted, placed = tally.found.total(), tally.planted.total(), tally.placed.total()
        print(f"\n{words}: {found} of {planted} found ({placed} at their step), "
              f"{tally.false.total()} of {tally.findings.total()} findings not planted")  # fmt: skip
        for kind in KINDS:
            print(f"  {kind:14} {tally.found[kind]:3} of {tally.planted[kind]:3}, at its step {tally.placed[kind]:3}, "
                  f"not planted {tally.false[kind]}")  # fmt: skip


if __name__ == "__main__":
    main()
