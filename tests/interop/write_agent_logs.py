"""Have Inspect run two simulated agents with real tools on many tasks, with planted faults, and print what was planted.

The model is Inspect's mock model: it plays a script. The tools are real: a search over a folder of documents, a shell
of a few programs that runs in that folder, a tool that writes files and one that deletes them. Beside the faults stand
things that look like faults and are none: a file read again after it was changed, a second search in other words, a
call that only confirms. The faults were planted by the author of the rules.

    python write_agent_logs.py FOLDER TASKS RUNS
"""

import json
import random
import re
import shlex
import subprocess
import sys
from pathlib import Path

import inspect_ai
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, solver, use_tools
from inspect_ai.tool import ToolError, tool

FAULTS = ("failed call", "repeated call", "loop", "unused result", "budget hit", "refusal", "gave up")
RATE = {"careful": 0.15, "hasty": 0.45}  # of runs with a fault
MODEL = "mockllm/model"
MESSAGES = 24
ENDINGS = (
    "I was unable to determine the number, so I am giving up.",
    "I could not complete the task with these tools.",
    "This is impossible; I stop here.",
)
CITIES = ("Arlen", "Brumal", "Cestia", "Dorvik", "Elanor", "Fenwick", "Garrow", "Hollin")
CROPS = ("barley", "saffron", "cotton", "millet", "sorghum", "rapeseed", "tobacco", "lentils")


def population(task):
    return 10_000 + 137 * task


def write_corpus(folder, tasks):
    folder.mkdir(parents=True, exist_ok=True)
    for k in range(tasks):
        city, crop = f"{CITIES[k % 8]}-{k}", CROPS[(k // 8) % 8]
        text = f"{city} counted {population(k)} inhabitants. Its farmers grow {crop}.\n"
        (folder / f"doc{k}.txt").write_text(text)
        (folder / f"aside{k}.txt").write_text(f"Quarry {k} ships granite, {900_000 + k} tonnes yearly.\n")


def make_tools(folder):
    @tool
    def search():
        async def execute(query: str) -> str:
            """Search the documents.

            Args:
                query: The words that a document must hold.
            """
            words = query.lower().split()
            texts = [p.read_text() for p in sorted(folder.glob("*.txt"))]
            found = [t.strip() for t in texts if all(w in t.lower() for w in words)]
            return "\n".join(found[:3]) or "no document matches"

        return execute

    @tool
    def shell():
        async def execute(command: str) -> str:
            """Run a program in the folder of documents.

            Args:
                command: The program with its arguments.
            """
            words = shlex.split(command)
            if words[0] not in ("cat", "ls", "wc", "grep"):
                raise ToolError(f"{words[0]}: command not found")
            done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=10, check=False)
            if done.returncode:
                raise ToolError(done.stderr.strip() or f"exit status {done.returncode}")
            return done.stdout

        return execute

    @tool
    def write_file():
        async def execute(name: str, text: str) -> str:
            """Write a file.

            Args:
                name: The file's name.
                text: Its text.
            """
            (folder / Path(name).name).write_text(text)
            return f"Wrote {len(text)} characters to {name}"

        return execute

    @tool
    def delete_file():
        async def execute(name: str) -> str:
            """Delete a file.

            Args:
                name: The file's name.
            """
            (folder / Path(name).name).unlink(missing_ok=True)
            return f"Deleted {name}"

        return execute

    return [search(), shell(), write_file(), delete_file()]


def call(tool_name, /, **arguments):
    return {"tool": tool_name, "arguments": arguments}


def script(agent, task, run):
    """What an agent does in one run of a task, and the faults in it."""
    rng = random.Random(f"{agent} {task} {run}")
    city, value = f"{CITIES[task % 8]}-{task}".lower(), population(task)
    look = call("search", query=f"{city} counted")
    check = call("shell", command=f"cat doc{task}.txt")
    answer = f"{value} inhabitants" if rng.random() < (0.85 if agent == "careful" else 0.7) else f"about {value} people"
    note = f"note-{agent}-{task}-{run}.md"
    acts, faults = [look], []
    if rng.random() < 0.3:  # a second search in other words
        acts.append(call("search", query=f"{city} inhabitants counted"))
    if rng.random() < 0.3:  # a file that changes between two looks at it
        acts += [call("write_file", name=note, text=f"{city}: draft"), call("shell", command=f"cat {note}"),
                 call("write_file", name=note, text=f"{city}: {value} counted"),
                 call("shell", command=f"cat {note}")]  # fmt: skip
    if rng.random() < 0.2:
        acts.append(call("delete_file", name=note))
    if rng.random() >= RATE[agent]:
        return [*acts, check, answer], faults
    fault = rng.choice(FAULTS)
    faults.append(fault)
    if fault == "failed call":
        wrong = rng.choice([f"cat missing{task}.txt", f"python count.py {task}", f"grep zzz doc{task}.txt"])
        acts += [call("shell", command=wrong), check, answer]
    elif fault == "repeated call":
        acts += [look, answer] if rng.random() < 0.5 else [check, look, answer]
    elif fault == "loop":
        turn = [check] if rng.random() < 0.5 else [look, check]
        acts = [*turn * rng.choice((3, 4, 5)), answer]
    elif fault == "unused result":
        acts += [call("search", query=f"quarry {task} granite"), check, answer]
    elif fault == "budget hit":
        acts = [call("search", query=f"{city} attempt {k}") for k in range(40)]
    elif fault == "refusal":
        acts = [rng.choice(["I'm sorry, but I can't help with that.", "I cannot assist with counting people."])]
    else:
        acts += [rng.choice(ENDINGS)]
    return acts, faults


@solver
def label_run(agent):
    async def solve(state, generate):
        state.user_prompt.text += f" [{agent} {state.sample_id} {state.epoch}]"
        return state

    return solve


def play(messages, tools, tool_choice, config):
    """The next act of the run that the prompt names."""
    text = next(m.text for m in messages if m.role == "user")
    agent, task, run = re.search(r"\[(\w+) t(\d+) (\d+)\]", text).groups()
    acts, _ = script(agent, int(task), int(run))
    act = acts[min(sum(m.role == "assistant" for m in messages), len(acts) - 1)]
    if isinstance(act, str):
        output = ModelOutput.from_content(MODEL, act)
    else:
        output = ModelOutput.for_tool_call(MODEL, act["tool"], act["arguments"], content="Let me look.")
    output.usage = ModelUsage(input_tokens=40, output_tokens=10, total_tokens=50)
    return output


def main(folder, tasks, runs):
    folder, tasks, runs = Path(folder), int(tasks), int(runs)
    write_corpus(folder / "corpus", tasks)
    planted = []
    for agent in RATE:
        samples = [Sample(id=f"t{k}", input=f"How many inhabitants does {CITIES[k % 8]}-{k} have?",
                          target=f"{population(k)} inhabitants") for k in range(tasks)]  # fmt: skip
        task = inspect_ai.Task(
            dataset=MemoryDataset(samples),
            solver=[label_run(agent), use_tools(make_tools(folder / "corpus")), generate()],
            scorer=includes(),
            epochs=runs,
            message_limit=MESSAGES,
            name="counting",
        )
        model = get_model(MODEL, custom_outputs=play, memoize=False)
        [log] = inspect_ai.eval(
            task, model=model, log_dir=str(folder / agent), display="none", log_realtime=False, max_samples=1
        )
        if log.status != "success":
            raise RuntimeError(str(log.error)[:500])
        (folder / f"{agent}.eval").write_bytes(Path(log.location.removeprefix("file://")).read_bytes())
        for k in range(tasks):
            for run in range(1, runs + 1):
                planted += [[agent, f"t{k}", run, fault] for fault in script(agent, k, run)[1]]
    print(json.dumps(planted))


if __name__ == "__main__":
    main(*sys.argv[1:])
