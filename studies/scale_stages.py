"""What 21 models on 10,000 questions cost, stage by stage: processor time, memory and money.

Every command is a process of its own. The models and the two judges are simulated by a server on loopback: the models
are right at known rates and give log-probabilities, the judges read the severity off the answer and err now and then,
and another model reads every answer for the tail.
Their prices are made up: 1 and 2 dollars per million tokens in and out.

    python studies/scale_stages.py --items 10000 [--conditions 21] [--minutes 11]

Writes soak/scale_stages/ITEMS.json and goes on where it stopped, within a command too where that resumes: after so many
minutes it interrupts what runs, and what this took counts. It prints the table of all sizes that are there, as
docs/validation/scale.md has it.
"""

import argparse
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import polars as pl
from aiohttp import web
from simulated_server import SimulatedServer, uniform

WORK = Path(__file__).parents[1] / "soak" / "scale_stages"
STAGES = ("ask", "judge", "severity", "tail", "calibration", "report")


class Models(SimulatedServer):
    port = 18_377  # a run that goes on finds its models where they were

    async def chat(self, request):
        body = await request.json()
        if "prompt" in body:
            return web.json_response(self.read(body["prompt"]))
        model, prompt = body["model"], body["messages"][-1]["content"]
        play = self.judge if '"reference"' in prompt else self.answer if "case " in prompt else self.repeat
        text, sure = play(model, prompt)
        choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        if body.get("logprobs"):
            choice["logprobs"] = {"content": [{"token": text, "logprob": sure}]}
        usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": len(text) // 4}
        return web.json_response({"choices": [choice], "usage": usage})

    @staticmethod
    def read(text):
        """How likely a text is: the last word's log-probability has an exponential tail, its place ends the text."""
        start = text.rfind("\n") + 1
        block = {"tokens": [text[:start], text[start:]], "text_offset": [0, start]}
        block["token_logprobs"] = [None, math.log(1 - uniform("nll", text))]
        usage = {"prompt_tokens": len(text) // 4, "completion_tokens": 0}
        return {"choices": [{"text": text, "logprobs": block, "finish_reason": "length"}], "usage": usage}

    @staticmethod
    def repeat(model, prompt):
        """Of a question that Richter asks to see that replies are not mixed up, the word that it wants."""
        return prompt.rpartition(" ")[2], 0.0

    @staticmethod
    def answer(model, prompt):
        """Wrong in a fifth and more of the questions."""
        number = int(re.search(r"case (\d+)", prompt)[1])
        skill, luck = int(model[1:]), uniform(model, number)
        hard = 0.5 * luck + 0.5 * uniform("hard", number)  # half of a question's difficulty is common to all
        if hard > 0.3 + 0.01 * skill:
            return f"{number + 1}", -0.05 - 0.3 * luck
        severity = min(4.0, 0.5 + 0.5 * int(-(1 + skill / 20) * math.log(1 - uniform("level", model, number))))
        return f"wrong by {severity:g}", -0.1 - 1.5 * luck

    @staticmethod
    def judge(model, prompt):
        asked = json.loads(prompt[prompt.index("{") : prompt.rindex("}") + 1])
        found = re.match(r"wrong by ([\d.]+)$", asked["answer"])
        severity = float(found[1]) if found else 0.0
        if severity and uniform(model, prompt) < 0.2:
            severity = max(0.5, severity - 0.5)
        return json.dumps({"reason": "simulated", "mechanism": "retrieval", "severity": severity}), 0.0


def richter(words, ends):
    """What one command used, and whether it came to its end before the time is up."""
    start = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-m", "richter", *map(str, words)], stdout=subprocess.DEVNULL)
    timer = threading.Timer(
        min(threading.TIMEOUT_MAX, max(1.0, ends - time.monotonic())), child.send_signal, [signal.SIGINT]
    )
    timer.start()
    _, status, usage = os.wait4(child.pid, 0)
    timer.cancel()
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, 3, 4, 130):
        raise SystemExit(f"richter {' '.join(map(str, words))}: status {code}")
    used = {
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "memory_mb": usage.ru_maxrss / 1024,
        "elapsed_s": time.perf_counter() - start,
    }
    return used, code != 130


def resumes(words):
    """Whether a command that was interrupted goes on where it stopped; what others did is done anew."""
    return words[0] == "audit" or words[1] == "score"


def spent(run):
    from richter.store import open_ledger

    with open_ledger(run) as ledger:
        used = ledger.spent()
        return used.money_usd, used.calls


def measure(n_items, n_conditions, ends):
    place = WORK / str(n_items)
    kept = WORK / f"{n_items}.json"
    rows = json.loads(kept.read_text())["stages"] if kept.exists() else {}
    if not rows:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
    run, bench = place / "run", place / "items.csv"
    numbers = range(n_items)
    columns = {
        "id": [f"q{k}" for k in numbers],
        "question": [f"Simulated case {k}: which number comes next?" for k in numbers],
        "reference": [str(k + 1) for k in numbers],
        "domain": [f"domain {k % 8}" for k in numbers],
        "tier": [k // 8 % 5 + 1 for k in numbers],
    }
    pl.DataFrame(columns).write_csv(bench)
    price = ("--price", "1,2")
    before = tuple(sum(row[name] for row in rows.values()) for name in ("money_usd", "calls"))
    with Models() as server:
        models = [w for k in range(1, n_conditions + 1) for w in ("--model", f"{server.url}#m{k:02d}")]
        judges = f"{server.url}#judge-a,{server.url}#judge-b"
        reader = ("--scorer", "nll", "--model", f"{server.url}#reader")
        commands = {
            "ask": [["audit", "--only", "ask", run, "--bench", bench, *models, "--logprobs", *price]],
            "judge": [["audit", "--only", "judge", run, "--judges", judges, *price]],
            "severity": [["severity", run]],
            "tail": [
                ["audit", run, *reader, *price, "-o", place / "nll.csv"],
                ["severity", "tail", place / "nll.csv", "--map", "score=nll", "--better", "lower"],
            ],
            "calibration": [["calibration", run]],
            "report": [["report", run, "-o", place / "report.html"]],
        }
        for stage in STAGES:
            row = rows.setdefault(stage, {"done": 0, "pieces": 0, "cpu_s": 0.0, "memory_mb": 0.0, "elapsed_s": 0.0})
            for words in commands[stage][row["done"] :]:
                used, is_done = richter(words, ends)
                if not is_done and not resumes(words):
                    return
                row["done"] += is_done
                row["pieces"] += 1
                row["memory_mb"] = max(row["memory_mb"], used["memory_mb"])
                row |= {name: row[name] + used[name] for name in ("cpu_s", "elapsed_s")}
                now = spent(run)
                row["money_usd"] = row.get("money_usd", 0.0) + now[0] - before[0]
                row["calls"] = row.get("calls", 0) + now[1] - before[1]
                before = now
                print(stage, json.dumps(row), flush=True)
                kept.write_text(json.dumps({"conditions": n_conditions, "stages": rows}, indent=1))
                if not is_done:
                    return


def table():
    found = {int(path.stem): json.loads(path.read_text()) for path in WORK.glob("*.json")}
    sizes = sorted(found)
    print("| stage | " + " | ".join(f"{found[n]['conditions']} x {n:,}" for n in sizes) + " |")
    print("|---|" + "---|" * len(sizes))
    for stage in STAGES:
        print(f"| {stage} | " + " | ".join(describe(found[n]["stages"].get(stage)) for n in sizes) + " |")


def describe(row):
    if row is None:
        return "not run"
    interrupted = f", in {row['pieces']} pieces" if row["pieces"] > row["done"] else ""
    paid = f", ${row['money_usd']:,.2f} for {row['calls']:,} calls" if row["calls"] else ""
    return f"{row['cpu_s']:,.1f} s, {row['memory_mb']:,.0f} MB{paid}{interrupted}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--conditions", type=int, default=21)
    parser.add_argument("--minutes", type=float, default=math.inf)
    given = parser.parse_args()
    measure(given.items, given.conditions, time.monotonic() + 60 * given.minutes)
    table()
