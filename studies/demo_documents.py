"""One audit of a folder of documents with the built-in small model as testee: how long it takes, and what it claims.

The generator, the judges and the model beside SmolLM2 are simulated on loopback: SmolLM2 can neither write questions
nor judge. The documents are simulated too, so that SmolLM2 cannot know the answers.

    python studies/demo_documents.py [--budget 1500] [--questions 60]
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from helpers.document_world import SimulatedWorld, write_documents
from richter.store import run_used


def main():
    """Run the audit, and print the time, the calls and the claims of each kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=int, default=1500, help="calls")
    parser.add_argument("--questions", type=int, default=60)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place, SimulatedWorld() as world:
        folder, found = write_documents(Path(place) / "mills", 80), Path(place) / "found.json"
        words = ["audit", folder, "--model", "smollm2", "--model", world.name("simulated-weak"), "--nll", "smollm2"]
        words += ["--generator", world.name("simulated-generator"), "--questions", given.questions]
        words += ["--judges", f"{world.name('simulated-judge-a')},{world.name('simulated-judge-b')}"]
        words += ["--budget", f"{given.budget}calls", "--draws", 4, "--search-calls", 100, "--json", found]
        start = time.perf_counter()
        done = subprocess.run([sys.executable, "-m", "richter", *map(str, words)], stdout=subprocess.DEVNULL)
        minutes = (time.perf_counter() - start) / 60
        document = json.loads(found.read_text())
        used = run_used(folder.with_name("mills.audit"))
    print(f"exit status {done.returncode} after {minutes:.1f} minutes, {used.calls:,} of {given.budget:,} calls")
    sections = Counter(claim["section"] for claim in document["claims"])
    for name, number in sections.items():
        verdicts = Counter(claim["verdict"] for claim in document["claims"] if claim["section"] == name)
        print(f"  {name}: {number} claims, {', '.join(f'{n} {verdict}' for verdict, n in verdicts.items())}")
    print(f"  sections measured: {', '.join(name for name, what in document['sections'].items() if what)}")


if __name__ == "__main__":
    main()
