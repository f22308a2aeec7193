"""Run the contestants on the worlds, two at a time, going on where the last run stopped; then write the page.

    python benchmarks/truth/run.py                       # everything: 2,000 replicates for Richter, 200 for the others
    python benchmarks/truth/run.py --fast                # a world or two of each family, fewer replicates
    python benchmarks/truth/run.py --contestants richter,t_test --worlds equal-400
    python benchmarks/truth/run.py --replay 20           # 20 tables of each world again: are the claims the same?
    python benchmarks/truth/run.py --collect             # add up what has run, write the page

Records go to soak/truth/ (of a fast run to soak/truth-fast/), environments to .venv-truth/. What the page is made of,
results.json, is committed beside this file: rows that did not run again stay.
"""

import argparse
import ast
import contextlib
import fcntl
import functools
import json
import os
import queue
import subprocess
import sys
import threading
import time
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import make
import page
import score

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ROUNDS = (10, 50, 200, 500, 1000, 2000)
REPLICATES = {score.OURS: 2000}
OTHERS = 200
SECONDS = {score.OURS: 6000}  # of its own time in one world; then it has what it has
OTHERS_SECONDS = 40
PATIENCE_S = 120
BATCH = 10
DIED = "it died or hung"
FAST = ("equal-60", "equal-400", "medium-400", "epochs-equal-30x30", "passages-equal-12x25", "passages-effect-60x10",
        "partial-equal-60", "stars-effect-400", "judge-kind-50", "judge-noisy-200", "missing-equal-800",
        "shuffled-equal-1000", "best-of-12-none", "peeking-equal-20", "peeking-effect-20", "calibrated-uniform-400",
        "too-sure-400", "severe-equal-2000", "severe-graver-2000", "tails-bodies-31400",
        "crossed-equal-10x20", "uneven-equal-400", "missing-wrong-equal-800", "costs-equal-spread-300",
        "costs-unequal-300", "page-equal-300", "requirement-at-limit-400")  # fmt: skip


def contestants() -> dict[str, dict[str, Any]]:
    """Each contestant's file: what it requires, its ways, and how many replicates it gets; the file is not imported."""
    found = {}
    for path in sorted((HERE / "contestants").glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        told: dict[str, Any] = {"ways": ("default",), "path": path, "about": ast.get_docstring(tree) or ""}
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
                if name in ("requires", "ways", "replicates", "sequential"):
                    told[name] = ast.literal_eval(node.value)
        told.setdefault("replicates", REPLICATES.get(path.stem, OTHERS))
        found[path.stem] = told
    return found


INSTALLING = threading.Lock()  # two workers may want the same environment


def python_of(name: str, requires: str) -> str:
    """The interpreter of a contestant's own environment, made where it is missing; Richter's is this one."""
    if requires == ".":
        return sys.executable
    folder = ROOT / ".venv-truth" / name
    stamp = folder / ".requires"
    with INSTALLING:
        if not stamp.exists() or stamp.read_text(encoding="utf-8") != requires:
            print(f"{name}: installing {requires}", flush=True)
            venv.create(folder, with_pip=True, clear=True)
            pip = [str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, *requires.split()], check=True)
            stamp.write_text(requires, encoding="utf-8")
    return str(folder / "bin" / "python")


class Child:
    """A contestant's process, kept over many tables; one that dies or hangs is started again."""

    def __init__(self, name: str, told: dict[str, Any]) -> None:
        self.name, self.told = name, told
        self.process: subprocess.Popen[str] | None = None

    def ask(self, questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The records of some tables, up to the first at which the process died or hung."""
        if self.process is None:
            command = [python_of(self.name, self.told["requires"]), str(HERE / "play.py"), str(self.told["path"])]
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"},
            )  # fmt: skip
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        found: list[dict[str, Any]] = []
        patience = threading.Timer(PATIENCE_S * len(questions), self.process.kill)
        patience.start()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write("".join(json.dumps(question) + "\n" for question in questions))
            self.process.stdin.flush()
        while len(found) < len(questions) and (line := self.process.stdout.readline()):
            found.append(json.loads(line))
        patience.cancel()
        if len(found) < len(questions):
            self.close()
            found.append({"replicate": questions[len(found)]["replicate"], "crashed": DIED, "seconds": 0.0})
        return found

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@contextlib.contextmanager
def one_writer(path: Path) -> Iterator[None]:
    """Nobody else, in this run or another, writes these files meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@functools.cache
def code_state() -> str:
    """The last commit that changed the package."""
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%h", "--", "src"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def compact(record: dict[str, Any]) -> dict[str, Any]:
    """Claims as short rows."""
    if "claims" in record:
        rows = [[c[k] for k in ("claim", "verdict", "estimate", "low", "high")] for c in record["claims"]]
        record = record | {"claims": [[round(x, 6) if isinstance(x, float) else x for x in row] for row in rows]}
    return record


def play_until(child: Child, spec: dict[str, Any], way: int, target: int, folder: Path, end: float) -> int:
    """Bring one contestant's file for one world up to `target` replicates; how many were added."""
    path = folder / child.name / f"{spec['name']}.{way}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    have = score.read(path)
    if have and {"same", "absent"} & have[0].keys():
        return 0
    world = {key: spec[key] for key in ("question", "measure", "margin") if key in spec}
    of_code = {"state": code_state()} if child.name == score.OURS else {}
    added, spent = 0, sum(r["seconds"] for r in have)
    with path.open("a", encoding="utf-8") as out:
        while time.monotonic() < end and spent < SECONDS.get(child.name, OTHERS_SECONDS):
            start = len(have) + added
            batch = range(start, min(start + (BATCH if start else 1), target))  # the first says whether it takes part
            tables = [make.table(spec, replicate).to_dict(as_series=False) for replicate in batch]
            asked = [{"world": world, "way": child.told["ways"][way], "replicate": r, "table": t}
                     for r, t in zip(batch, tables, strict=True)]  # fmt: skip
            records = [compact(record) | of_code for record in child.ask(asked)] if asked else []
            if records and records[-1].get("crashed") == DIED:  # once more: it may have been killed from outside
                records[-1:] = [compact(record) | of_code for record in child.ask(asked[len(records) - 1 :])]
            out.writelines(json.dumps(record) + "\n" for record in records)
            out.flush()
            added, spent = added + len(records), spent + sum(r.get("seconds", 0.0) for r in records)
            if not records or {"same", "absent"} & records[0].keys():
                break
    return added


def _told(record: dict[str, Any]) -> str:
    """What a contestant said of a table; as text, in which a missing limit is like another."""
    return json.dumps({key: value for key, value in record.items() if key not in ("seconds", "state")})


def replay(told: dict[str, Any], specs: list[dict[str, Any]], folder: Path, tables: int) -> None:
    """Play the first tables of Richter's records again on the present code; what differs is written beside them."""
    path = folder / "replayed.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    child = Child(score.OURS, told)
    for spec in specs:
        before = score.read(folder / child.name / f"{spec['name']}.0.jsonl")[:tables]
        world = {key: spec[key] for key in ("question", "measure", "margin") if key in spec}
        asked = [{"world": world, "way": told["ways"][0], "replicate": r["replicate"],
                  "table": make.table(spec, r["replicate"]).to_dict(as_series=False)} for r in before]  # fmt: skip
        after = [compact(record) for record in child.ask(asked)] if asked else []
        differ = [a["replicate"] for a, b in zip(before, after, strict=True) if _told(a) != _told(b)]
        found[spec["name"]] = {"state": code_state(), "tables": len(before), "differ": len(differ)}
        if differ:
            print(f"{spec['name']}: {len(differ)} of {len(before)} tables differ, first {differ[0]}", flush=True)
        path.write_text(json.dumps(found, indent=1), encoding="utf-8")
    child.close()


def campaign(chosen: dict[str, dict[str, Any]], specs: list[dict[str, Any]], folder: Path, workers: int, end: float,
             most: dict[str, int]) -> None:  # fmt: skip
    """All tasks, every contestant on every world before more replicates of any."""
    tasks: queue.Queue[tuple[str, int, int]] = queue.Queue()
    for target in ROUNDS:
        for name in chosen:
            before = max((r for r in (0, *ROUNDS) if r < target), default=0)
            if before < most[name]:
                for part in range(2):
                    tasks.put((name, min(target, most[name]), part))

    def work() -> None:
        while time.monotonic() < end:
            try:
                name, target, part = tasks.get_nowait()
            except queue.Empty:
                return
            child, start, added = Child(name, chosen[name]), time.monotonic(), 0
            with one_writer(folder / name / f".{part}.lock"):
                for spec in specs[part::2]:
                    for way in range(len(chosen[name]["ways"])):
                        added += play_until(child, spec, way, target, folder, end)
            child.close()
            if added:
                print(f"{name}: to {target}, {added} tables in {time.monotonic() - start:.0f} s", flush=True)

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--contestants", default="", help="names, by commas")
    parser.add_argument("--worlds", default="", help="names, by commas")
    parser.add_argument("--fast", action="store_true", help="a part of the worlds, 100 replicates, 25 for others")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=0, help="stop after so long")
    parser.add_argument("--tables", type=int, default=10**9, help="at most so many of each world")
    parser.add_argument("--collect", action="store_true", help="run nothing")
    parser.add_argument("--replay", type=int, default=0, help="so many of Richter's tables again, against the records")
    args = parser.parse_args()
    everyone = contestants()
    chosen = {n: c for n, c in everyone.items() if not args.contestants or n in args.contestants.split(",")}
    names = args.worlds.split(",") if args.worlds else list(FAST) if args.fast else make.names()
    folder = ROOT / "soak" / ("truth-fast" if args.fast else "truth")
    minutes = args.minutes or (10 if args.fast else 0)
    end = time.monotonic() + 60 * minutes if minutes else float("inf")
    most = {
        n: min(c["replicates"], args.tables, (100 if n == score.OURS else 25) if args.fast else 10**9)
        for n, c in chosen.items()
    }
    if args.replay:
        replay(everyone[score.OURS], [make.world(n) for n in names], folder, args.replay)
        return
    if not args.collect:
        campaign(chosen, [make.world(n) for n in names], folder, args.workers, end, most)
        if args.contestants or args.worlds or (args.minutes and not args.fast):
            return  # a part: recorded, and added up by --collect
    specs = list(make.specs())
    rows = score.collected(folder, everyone, specs)
    if not args.fast:
        rows = score.merged(json.loads((HERE / "results.json").read_text(encoding="utf-8")), rows)
    if args.fast:
        print(page.open_list(rows, specs) or "No world is open.")
        if any(name not in page.REASONS for name, _ in page.open_worlds(rows, specs)):
            sys.exit("A world is open that was not: find out why, and say it in reasons.json.")
        return
    (HERE / "results.json").write_text("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n", encoding="utf-8")
    page.write(rows, specs, everyone)


if __name__ == "__main__":
    main()
