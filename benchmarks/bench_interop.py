"""Import an Inspect log of 10,000 samples: seconds, memory, and the ratio to Inspect's own streamed reading.

The log is one that Inspect wrote with its mock model, its few samples repeated under other ids. Each way runs in a
process of its own; seconds are CPU time, memory is the largest resident set. Peer: inspect_ai `read_eval_log_samples`.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SAMPLES = 10_000

WRITE = """
import json, sys, zipfile
from pathlib import Path
import inspect_ai
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match
folder, number = Path(sys.argv[1]), int(sys.argv[2])
samples = [Sample(id=f"seed{i}", input=f"Which word is it, {i}?", target="yes") for i in range(10)]
outputs = [ModelOutput.from_content("mockllm/model", "yes" if i % 3 else "no") for i in range(10)]
for output in outputs:  # else Inspect counts tokens itself, with a tokenizer that it downloads
    output.usage = ModelUsage(input_tokens=20, output_tokens=1, total_tokens=21)
task = inspect_ai.Task(dataset=MemoryDataset(samples), scorer=match(), name="words")
model = get_model("mockllm/model", custom_outputs=outputs)
[log] = inspect_ai.eval(task, model=model, log_dir=str(folder), display="none", log_realtime=False)
assert log.status == "success", log.error
with zipfile.ZipFile(log.location) as archive:
    bodies = [json.loads(archive.read(n)) for n in archive.namelist() if n.startswith("samples/")]
    header = json.loads(archive.read("header.json"))
    start = json.loads(archive.read("_journal/start.json"))
    [seed, *_] = json.loads(archive.read("summaries.json"))
ids = [f"q{i}" for i in range(number)]
for part in (header, start):
    part["eval"]["dataset"] |= {"samples": number, "sample_ids": ids}
header["results"] = (header.get("results") or {}) | {"total_samples": number, "completed_samples": number}
with zipfile.ZipFile(folder / "large.eval", "w", compression=zipfile.ZIP_ZSTANDARD) as archive:
    archive.writestr("_journal/start.json", json.dumps(start))
    for i, name in enumerate(ids):
        body = bodies[i % len(bodies)] | {"id": name, "uuid": f"u{i}"}
        archive.writestr(f"samples/{name}_epoch_1.json", json.dumps(body))
    archive.writestr("summaries.json", json.dumps([seed | {"id": n, "uuid": f"u{i}"} for i, n in enumerate(ids)]))
    archive.writestr("header.json", json.dumps(header))
print(sum(len(json.dumps(b)) for b in bodies) / len(bodies))
"""
PEER = """
import resource, sys, time
from inspect_ai.log import read_eval_log_samples
started = time.process_time()
count = sum(1 for _ in read_eval_log_samples(sys.argv[1], all_samples_required=False))
print(count, time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
READ = """
import resource, sys, time
from richter.interop import read_logs
started = time.process_time()
count = len(read_logs([sys.argv[1]]).rows)
print(count, time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
IMPORT = """
import resource, sys, time
from richter.cli import main
started = time.process_time()
try:
    main(["import", sys.argv[1], "-o", sys.argv[2], "--json", sys.argv[2] + ".json"])
except SystemExit:
    pass
print(time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def run(script: str, *arguments: str) -> list[float]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE, text=True, check=True, env=environment
    )
    return [float(word) for word in done.stdout.splitlines()[-1].split()]


def main() -> None:
    try:
        import inspect_ai  # noqa: F401  (only whether it is there)
    except ImportError:
        print("inspect_ai is not installed: it writes the log and is the peer")
        return
    for number in (1_000, SAMPLES):
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder), number, peer=number < SAMPLES or "--full" in sys.argv)


def measure(folder: Path, number: int, *, peer: bool) -> None:
    [size] = run(WRITE, str(folder), str(number))
    log = folder / "large.eval"
    print(f"{number:,} samples of {size / 1000:.1f} kB, {log.stat().st_size / 1e6:.0f} MB packed")
    count, seconds, memory = run(READ, str(log))
    print(f"  read_logs              {seconds:7.2f} s  {memory:6.0f} MB  {count:,.0f} samples")
    whole, peak = run(IMPORT, str(log), str(folder / "run"))
    kept = json.loads((folder / "run.json").read_text())["items"]
    print(f"  richter import         {whole:7.2f} s  {peak:6.0f} MB  {kept:,} items in the run")
    if not peer:
        print("  read_eval_log_samples  minutes: run with --full")
        return
    found, theirs, resident = run(PEER, str(log))
    print(f"  read_eval_log_samples  {theirs:7.2f} s  {resident:6.0f} MB  {found:,.0f} samples")
    print(f"  ratio: {theirs / seconds:.1f} (reading), {theirs / whole:.1f} (reading and keeping as a run)")


if __name__ == "__main__":
    main()
