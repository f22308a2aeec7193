"""Run the contestants on the worlds, two at a time, going on where the last run stopped; then write the page.

    python benchmarks/truth/run.py                       # everything: 2,000 replicates for Richter, 200 for the others
    python benchmarks/truth/run.py --fast                # a world or two of each family, fewer replicates
    python benchmarks/truth/run.py --contestants richter,t_test --worlds equal-400
    python benchmarks/truth/run.py --collect             # add up what has run, write the page

Records go to soak/truth/ (of a fast run to soak/truth-fast/), environments to .venv-truth/. What the page is made of,
results.json, is committed beside this file.
"""

import argparse
import ast
import contextlib
import fcntl
import json
import os
import queue
import select
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
SECONDS = {score.OURS: 600}  # of its own time in one world; then it has what it has
OTHERS_SECONDS = 20
PATIENCE_S = 120
FAST = ("equal-60", "equal-400", "medium-400", "epochs-equal-30x30", "passages-equal-12x25", "passages-effect-60x10",
        "partial-equal-60", "stars-effect-400", "judge-kind-50", "judge-noisy-200", "missing-equal-800",
        "shuffled-equal-1000", "best-of-12-none", "peeking-equal-20", "peeking-effect-20", "calibrated-uniform-400",
        "too-sure-400", "severe-equal-2000", "severe-graver-2000", "tails-bodies-31400")  # fmt: skip


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


def python_of(name: str, requires: str) -> str:
    """The interpreter of a contestant's own environment, made where it is missing; Richter's is this one."""
    if requires == ".":
        return sys.executable
    folder = ROOT / ".venv-truth" / name
    stamp = folder / ".requires"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != requires:
        print(f"{name}: installing {requires}", flush=True)
        venv.create(folder, with_pip=True, clear=True)
        pip = [str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", *requires.split()]
        subprocess.run(pip, check=True)
        stamp.write_text(requires, encoding="utf-8")
    return str(folder / "bin" / "python")


class Child:
    """A contestant's process, kept over many tables; one that dies or hangs is started again."""

    def __init__(self, name: str, told: dict[str, Any]) -> None:
        self.name, self.told = name, told
        self.process: subprocess.Popen[str] | None = None

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """The record of one table."""
        if self.process is None:
            command = [python_of(self.name, self.told["requires"]), str(HERE / "play.py"), str(self.told["path"])]
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"},
            )  # fmt: skip
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
            ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE_S)
            line = self.process.stdout.readline() if ready else ""
        except BrokenPipeError:
            line, ready = "", [1]
        if not line:
            self.close()
            fault = "the process died" if ready else f"no answer in {PATIENCE_S} s"
            return {"replicate": question["replicate"], "crashed": fault, "seconds": 0.0 if ready else PATIENCE_S}
        found: dict[str, Any] = json.loads(line)
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
    world = {key: spec[key] for key in ("question", "measure") if key in spec}
    added, spent = 0, sum(r["seconds"] for r in have)
    with path.open("a", encoding="utf-8") as out:
        for replicate in range(len(have), target):
            if time.monotonic() > end or spent > SECONDS.get(child.name, OTHERS_SECONDS):
                break
            table = make.table(spec, replicate).to_dict(as_series=False)
            question = {"world": world, "replicate": replicate, "way": child.told["ways"][way], "table": table}
            record = compact(child.ask(question))
            out.write(json.dumps(record) + "\n")
            out.flush()
            added, spent = added + 1, spent + record.get("seconds", 0.0)
            if {"same", "absent"} & record.keys():
                break
    return added


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
    parser.add_argument("--collect", action="store_true", help="run nothing")
    args = parser.parse_args()
    everyone = contestants()
    chosen = {n: c for n, c in everyone.items() if not args.contestants or n in args.contestants.split(",")}
    names = args.worlds.split(",") if args.worlds else list(FAST) if args.fast else make.names()
    folder = ROOT / "soak" / ("truth-fast" if args.fast else "truth")
    minutes = args.minutes or (10 if args.fast else 0)
    end = time.monotonic() + 60 * minutes if minutes else float("inf")
    most = {
        n: min(c["replicates"], (100 if n == score.OURS else 25) if args.fast else 10**9) for n, c in chosen.items()
    }
    if not args.collect:
        campaign(chosen, [make.world(n) for n in names], folder, args.workers, end, most)
        if args.contestants or args.worlds or (args.minutes and not args.fast):
            return  # a part: recorded, and added up by --collect
    specs = list(make.specs())
    rows = score.collected(folder, everyone, specs)
    if args.fast:
        print(page.open_list(rows, specs) or "no world is open")
        return
    (HERE / "results.json").write_text("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n", encoding="utf-8")
    page.write(rows, specs, everyone)


if __name__ == "__main__":
    main()
