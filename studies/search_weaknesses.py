"""Planted weaknesses in real folders, found through the command over HTTP on loopback; every model is simulated.

`python studies/search_weaknesses.py NAME=FOLDER [NAME=FOLDER ..] [--keep soak/weaknesses] [--seeds 3]` makes a base of
each folder, lets a simulated writer write one question for each of some paragraphs (one in eight with a bad key, which
its own second reading mostly finds), and searches for a simulated testee's errors by the default strategy and at
random. The testee fails where a weakness was planted: in two folders or chapters, wherever one of two words stands,
around two paragraphs in the space of the vectors, or (the null) anywhere alike. It wavers with the words, and replies
in many shapes. The readers of keys miss hard ones together, and the writer misses again what it missed before.

What is done stands in the file of results and is not done again. Prints for each kind: questions exported that are
sound and truly wrong, the stated share of bad keys beside the truth, calls per distinct true failure beside random's,
and the planted topics that a cluster holds.
"""

import argparse
import contextlib
import hashlib
import io
import json
import re
import shutil
import time
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
from search_fields import search as search_field
from simulated_server import SimulatedServer, uniform

from richter.cli import main as richter
from richter_audit.ascent import failing_questions, find_failing_groups
from richter_audit.ascent._survey import places_of
from richter_audit.knowledge import open_base

KINDS = ("documents", "word", "neighbours", "null")
BAD, HARD = 0.12, 0.2  # keys that are bad as written; of those, hard to see for every reader
SENSITIVITY = {"writer": (0.85, 0.5), "testee": (0.85, 0.5), "checker": (0.95, 0.7)}  # for easy and for hard ones
FALSE_FLAG, WAVER, WEAK, ELSEWHERE, ANYWHERE = 0.03, 0.08, 0.85, 0.08, 0.25
PORT = 18_342  # the same each time: the models' names are part of what is resumed


SHAPES = (
    lambda letter, text: f"Answer: {letter}",
    lambda letter, text: f"{letter}",
    lambda letter, text: f"{letter}. {text}",
    lambda letter, text: text,
    lambda letter, text: json.dumps({"answer": letter}),
    lambda letter, text: f"```json\n{json.dumps({'answer': text, 'confidence': 0.8})}\n```",
    lambda letter, text: f"The correct choice is {letter}. {text}, since the manual says so.",
    lambda letter, text: f"<think>It could be A or B. Let me see.</think>\nAnswer: {letter}",
    lambda letter, text: f"Let me go through them.\n\nSome of these are not words.\n\n**Answer: {letter}**",
    lambda letter, text: f"\\boxed{{\\text{{{letter}}}}}",
    lambda letter, text: f"Die richtige Antwort ist {letter}.",
)


class Simulated(SimulatedServer):
    """A simulated writer, checker and testee; it knows what is true of each question."""

    port = PORT

    def __init__(self):
        self.sound, self.right, self.chance, self.rows, self.field = {}, {}, None, {}, ""

    def reply(self, model, prompt):
        role = model.removeprefix("simulated-")
        if found := re.search(r"SOURCE-([0-9a-f]{16})\n(.*)\nSOURCE-\1", prompt, re.DOTALL):
            return self.write(found[2])
        if '"options":' in prompt:
            return self.read_key(role, json.loads(prompt.splitlines()[1]))
        if found := re.search(r"[Cc]ase ([0-9a-f]{8})", prompt):
            return self.answer(prompt, found[1])
        return prompt.rpartition(" ")[2]  # a sentinel's word

    def learn(self, text):
        """A paragraph's question, or None: its case, key, the wrong options, and the words before the right one."""
        case = hashlib.sha256(text.encode()).hexdigest()[:8]
        words = [w for w in dict.fromkeys(re.findall(r"\b[a-z]{6,}\b", text)) if text.count(w) == 1]
        if len(words) < 2:
            return None
        right, other = words[0], words[1]
        place = re.search(rf"\b{right}\b", text).start()
        before = " ".join(re.findall(r"\w+", text[:place])[-4:])
        made = [f"{right[::-1]}{k}" for k in "xyz"]
        bad = uniform("bad", case) < BAD
        kind = "" if not bad else "wrong key" if uniform("kind", case) < 0.6 else "several right"
        self.sound[case] = not bad
        self.right[case] = {right, other} if kind == "several right" else {right}
        if kind == "wrong key":
            return case, other, [right, *made[:2]], before
        return case, right, [other, *made[:2]] if kind else made, before

    def write(self, text):
        if (learnt := self.learn(text)) is None:
            return json.dumps({"questions": []})
        case, key, wrong, before = learnt
        question = {
            "question": f"In case {case}, which word follows “{before}”?",
            "reworded": f"Which word comes right after the words “{before}” of case {case}?",
            "answer": key,
            "wrong": wrong,
        }
        return json.dumps({"questions": [question]})

    def read_key(self, role, shown):
        case = re.search(r"[Cc]ase ([0-9a-f]{8})", shown["question"])[1]
        if case not in self.sound:
            self.learn(shown["text"])
        options = {line[3:]: line[0] for line in shown["options"].splitlines()}
        key = self.learn(shown["text"])[1]
        if key not in options:
            return self.read_planted(role, case, options)
        again = uniform("persists", role, case) < 0.5  # half of what a reader misses it misses each time
        luck = uniform("reads", role, case) if again else uniform("reads", role, case, shown["options"])
        if self.sound[case]:
            seen = {key} if luck >= FALSE_FLAG else {next(o for o in options if o != key)}
        else:
            sensitivity = SENSITIVITY[role][uniform("hard", case) < HARD]
            seen = self.right[case] if luck < sensitivity else {key}
        return json.dumps({"right": [options[text] for text in sorted(seen) if text in options], "given_away": False})

    def read_planted(self, role, case, options):
        """What a reader says of a question whose key was taken away: seen as often as a bad key, else an option."""
        right = self.right[case] & set(options)
        noticed = uniform("planted", role, case) < SENSITIVITY[role][uniform("planted hard", case) < HARD]
        seen = sorted(right) if noticed else sorted(options)[:1]
        return json.dumps({"right": [options[text] for text in seen], "given_away": False})

    def is_ignorant(self, case):
        """Whether the testee truly does not know the answer to a question."""
        return uniform(self.field, case) < self.chance[self.rows[case]]

    def answer(self, prompt, case):
        options = {line[3:]: line[0] for line in prompt.splitlines() if re.match(r"[A-D]\. ", line)}
        wrong = self.is_ignorant(case) != (uniform(self.field, "waver", prompt) < WAVER)
        fits = [text for text in options if (text in self.right[case]) != wrong]
        chosen = fits[int(uniform(self.field, "which", case) * len(fits))]
        if uniform(self.field, "hedge", prompt) < 0.03:
            other = next(letter for text, letter in options.items() if text != chosen)
            return f"It is either {options[chosen]} or {other}."
        return SHAPES[int(uniform("shape", prompt) * len(SHAPES))](options[chosen], chosen)


def plant_names(topic, names, askable, shares, rng):
    """Plant two names that so large shares of what can be asked about have, the second over the first."""
    counts = Counter(name for row in np.flatnonzero(askable) for name in names[row])
    fits = sorted(name for name, n in counts.items() if shares[0] <= n / askable.sum() <= shares[1])
    for number, name in enumerate(rng.choice(fits, 2, replace=False), 1):
        topic[[row for row, own in enumerate(names) if name in own]] = number


def plant(kind, base, askable, seed, texts):
    """The chance of error of each paragraph, and the planted topic of each (0: none)."""
    rng = np.random.default_rng([42, seed, KINDS.index(kind)])
    topic = np.zeros(len(base), dtype=int)
    if kind == "documents":
        paragraphs = base.paragraphs(list(range(len(base))))
        places = [{p.category, p.attributes.get("section", "").partition(" > ")[0]} - {""} for p in paragraphs]
        plant_names(topic, places, askable, (0.04, 0.13), rng)
    elif kind == "word":
        words = [set(re.findall(r"\b[a-z]{5,}\b", text.lower())) for text in texts]
        plant_names(topic, words, askable, (0.04, 0.12), rng)
    elif kind == "neighbours":
        vectors = np.asarray(base.vectors, dtype=np.float32)
        for number, row in enumerate(rng.choice(np.flatnonzero(askable), 2, replace=False), 1):
            near = vectors[askable] @ vectors[row]
            topic[(vectors @ vectors[row] >= np.quantile(near, 0.94)) & (topic == 0)] = number
    chance = np.where(topic > 0, WEAK, ELSEWHERE) if kind != "null" else np.full(len(base), ANYWHERE)
    return chance, topic


def command(*words):
    """What a command of Richter prints; it runs in this process, since a start costs more than a search."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            richter([str(word) for word in words])
    except SystemExit as end:
        if end.code:
            raise SystemExit(f"richter {' '.join(map(str, words))}: {printed.getvalue()}") from None
    return printed.getvalue()


def model(role):
    return f"http://127.0.0.1:{PORT}/v1#simulated-{role}"


def prepare(folder, kb, server, paragraphs):
    """The base of a folder with questions, and the paragraph of each case."""
    if not (kb / "base.json").exists():
        command("search", "--only", "base", folder, "-o", kb)
    base = open_base(kb)
    if not base.askable.any():
        command("search", "--only", "questions", kb, "--generator", model("writer"), "--per-paragraph", 1,
                "--limit", paragraphs, "--budget", "20000calls")  # fmt: skip
        base = open_base(kb)
    texts = [p.text for p in base.paragraphs(list(range(len(base))))]
    for text in texts:
        server.learn(text)
    return base, texts, {hashlib.sha256(text.encode()).hexdigest()[:8]: row for row, text in enumerate(texts)}


def search(run, kb, seed, calls, strategy):
    """The questions that failed in one search, and the calls that it took."""
    shutil.rmtree(run, ignore_errors=True)
    out = run.with_suffix(".run.json")
    command("search", run, "--model", model("testee"), "--kb", kb, "--budget", f"{calls}calls", "--seed", seed,
            "--strategy", strategy, "--retrieval", "exact", "--json", out)  # fmt: skip
    failing = failing_questions(run, confirmed=False)
    return [q.item.prompt for q in failing.questions], json.loads(out.read_text())["spent"]["calls"]


def show(run):
    """What `search show` says of a search."""
    out = run.with_suffix(".show.json")
    command("search", "show", run, "--json", out)
    return json.loads(out.read_text())


def case_of(prompt):
    return re.search(r"[Cc]ase ([0-9a-f]{8})", prompt)[1]


def one(name, kb, base, texts, server, kind, seed, options):
    """One search by the default strategy and one at random, the export, and what is true of all that."""
    askable = base.askable
    server.field, (server.chance, topic) = f"{name}{kind}{seed}", plant(kind, base, askable, seed, texts)
    row = {"folder": name, "kind": kind, "seed": seed, "askable": int(askable.sum())}
    for strategy in ("portfolio", "random"):
        run = options.keep / f"{name}-{kind}-{seed}-{strategy}"
        prompts, calls = search(run, kb, seed, options.calls, strategy)
        cases = {case_of(prompt) for prompt in prompts}
        true = {case for case in cases if server.sound[case] and server.is_ignorant(case)}
        row[strategy] = {"calls": calls, "wrong": len(cases), "true": len(true)}
    run = options.keep / f"{name}-{kind}-{seed}-portfolio"
    shown = show(run)
    wrong = [point for point in shown["map"]["points"] if point["fails"]]
    topics = [topic[server.rows[case_of(point["question"])]] for point in wrong]
    row["topics"], found = count_topics(topics, [point["cluster"] for point in wrong]), shown["clusters"]
    row["clusters"] = found["clusters"]
    out = run.with_suffix(".items.jsonl")
    shutil.rmtree(out.with_name(f"{out.name}.again"), ignore_errors=True)
    printed = command("search", "export", run, "-o", out, "--force", "--checker", model("checker"), "--budget",
                      "20000calls")  # fmt: skip
    row["printed"] = printed
    cases = [case_of(json.loads(line)["prompt"]) for line in out.read_text().splitlines()]
    bad = sum(not server.sound[case] for case in cases)
    known = sum(server.sound[case] and not server.is_ignorant(case) for case in cases)
    row |= {"exported": len(cases), "bad": bad, "known": known}
    if found := re.search(r"Expect ([\d.]+)% bad keys.*?95% CI ([\d.]+) to ([\d.]+)", " ".join(printed.split())):
        row["stated"] = [float(part) / 100 for part in found.groups()]
    return row


def count_topics(topics, clusters):
    """How many failing paragraphs of each planted topic lie in each cluster."""
    by_topic = defaultdict(Counter)
    for topic, cluster in zip(topics, clusters, strict=True):
        by_topic[str(topic)][str(cluster)] += 1
    return {topic: dict(own) for topic, own in by_topic.items()}


def topics_held(by_topic):
    """For each planted topic of a tenth of the failures: are half of its own in clusters of its own, and in how many.

    A cluster is a topic's own where at least half of its failing paragraphs are. Also the clusters of no topic.
    """
    size = Counter()
    for own in by_topic.values():
        size.update(own)
    size.pop("None", None)
    held, of_topics = [], set()
    for topic, own in by_topic.items():
        if topic != "0":
            mine = [c for c in own if c != "None" and 2 * own[c] >= size[c]]
            of_topics |= set(mine)
            if sum(own.values()) >= 0.1 * sum(sum(each.values()) for each in by_topic.values()):
                held.append((2 * sum(own[c] for c in mine) >= sum(own.values()), len(mine)))
    return held, len(size) - len(of_topics)


def print_clusters(rows):
    """By kind: the planted topics that clusters hold, into how many they are split, and the clusters of no topic."""
    for kind in KINDS:
        found = [topics_held(row["topics"]) for row in rows if row["kind"] == kind]
        held = [topic for topics, _ in found for topic in topics]
        counts = [row["clusters"] for row in rows if row["kind"] == kind]
        split = np.mean([n for _, n in held if n]) if held else float("nan")
        print(
            f"{kind:10} topics held {sum(whole for whole, _ in held)} of {len(held)}, clusters for each {split:.2f}, "
            f"clusters of no topic {sum(odd for _, odd in found)} in {len(found)} searches; "
            f"some told in {sum(n > 0 for n in counts)}, several in {sum(n > 1 for n in counts)}"
        )


def simulate(base, texts, kind, seed):
    """The clusters of one search without a server, by a testee that fails where the weakness was planted."""
    rows = np.flatnonzero(base.askable)
    chance, topic = plant(kind, base, base.askable, seed, texts)
    fails = (np.random.default_rng([77, seed, KINDS.index(kind)]).random(len(rows)) < chance[rows]).astype(float)
    vectors = np.asarray(base.vectors[rows], dtype=np.float32)
    codes = np.unique(np.asarray(base.categories[1])[rows], return_inverse=True)[1]
    found = search_field(vectors, codes, fails, "portfolio", seed, 220)
    asked = np.array([row for batch in found.batches for row in batch])
    failing, paragraphs = fails[asked] > 0, base.paragraphs(rows[asked].tolist())
    groups = find_failing_groups(
        failing,
        places=[places_of(paragraph) for paragraph in paragraphs],
        texts=[paragraph.text for paragraph in paragraphs],
        vectors=vectors[asked],
        centres=np.delete(np.asarray(base.vectors, dtype=np.float32), rows[asked], axis=0),
    ).groups
    cluster = {i: number for number, group in enumerate(groups) for i in group.members}
    wrong = np.flatnonzero(failing)
    counts = count_topics(topic[rows[asked[wrong]]].tolist(), [cluster.get(i) for i in wrong.tolist()])
    return {"kind": kind, "seed": seed, "clusters": len(groups), "topics": counts}


def print_results(rows):
    """The table, by folder and kind."""
    for row in sorted(rows, key=lambda r: (r["folder"], KINDS.index(r["kind"]), r["seed"])):
        sound = row["exported"] - row["bad"] - row["known"]
        each = {s: row[s]["calls"] / max(1, row[s]["true"]) for s in ("portfolio", "random")}
        print(
            f"{row['folder']:8} {row['kind']:10} {row['seed']}: {sound} of {row['exported']} sound and truly wrong "
            f"({row['bad']} bad keys, stated {row.get('stated')}), calls per true failure {each['portfolio']:.1f} "
            f"(random {each['random']:.1f}), {row['clusters']} clusters"
        )
    total, sound = sum(r["exported"] for r in rows), sum(r["exported"] - r["bad"] - r["known"] for r in rows)
    covered = [
        r for r in rows if "stated" in r and r["stated"][1] <= r["bad"] / max(1, r["exported"]) <= r["stated"][2]
    ]
    for name in ("portfolio", "random"):
        calls, true = (sum(row[name][what] for row in rows) for what in ("calls", "true"))
        print(f"{name}: {calls / max(1, true):.2f} calls for each of {true} true failures")
    print(f"sound and truly wrong: {sound} of {total} ({sound / max(1, total):.1%})")
    print(f"share of bad keys stated in {sum('stated' in r for r in rows)}, covered in {len(covered)} of {len(rows)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", metavar="NAME=FOLDER")
    parser.add_argument("--keep", type=Path, default=Path("soak") / "weaknesses")
    parser.add_argument("--paragraphs", type=int, default=600)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=430, help="begin no search after so long")
    parser.add_argument("--simulated", action="store_true", help="only clusters, of so many seeds without a server")
    options = parser.parse_args()
    options.keep.mkdir(parents=True, exist_ok=True)
    table, began = options.keep / "results.jsonl", time.monotonic()
    rows = [json.loads(line) for line in table.read_text().splitlines()] if table.exists() else []
    done = {(row["folder"], row["kind"], row["seed"]) for row in rows}
    simulated = []
    with Simulated() as server:
        for name, _, folder in (given.partition("=") for given in options.folders):
            kb = options.keep / f"{name}.kb"
            jobs = [(k, s) for s in range(options.first, options.first + options.seeds) for k in KINDS]
            jobs = [(kind, seed) for kind, seed in jobs if (name, kind, seed) not in done]
            if not jobs or time.monotonic() - began > options.seconds:
                continue
            base, texts, server.rows = prepare(folder, kb, server, options.paragraphs)
            if options.simulated:
                simulated += [simulate(base, texts, kind, seed) for kind, seed in jobs]
                continue
            for kind, seed in jobs:
                if time.monotonic() - began > options.seconds:
                    break
                row = one(name, kb, base, texts, server, kind, seed, options)
                rows.append(row)
                with table.open("a") as file:
                    file.write(json.dumps(row) + "\n")
    if not options.simulated:
        print_results(rows)
    print_clusters(simulated if options.simulated else rows)


if __name__ == "__main__":
    main()
