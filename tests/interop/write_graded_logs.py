"""Have Inspect, lm-eval or promptfoo grade the same answers by their own scorers, and write their logs.

A script of its own: `write_graded_logs.py inspect|lm_eval|promptfoo FOLDER`. lm-eval and promptfoo are run where they
are installed (lm-eval in the Python that runs this; promptfoo as the command in PROMPTFOO).
"""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

FACTS = (
    ("Peru", "Lima"), ("Norway", "Oslo"), ("Kenya", "Nairobi"), ("Cuba", "Havana"), ("Japan", "Tokyo"),
    ("Chile", "Santiago"), ("Egypt", "Cairo"), ("Ghana", "Accra"), ("Nepal", "Kathmandu"), ("Fiji", "Suva"),
)  # fmt: skip
SHAPES = (
    "{a}", "{a}.", "It is {a}", "It is {a}.", "The capital is {a}, I think.", "{a} is the capital.", " {a}", "{a}\n",
    "**{a}**", '"{a}"', "{u}", "{l}", "I do not know.", "", "Not {a}", "({a})", "{a}!", "Answer: {a}", "{a} or {b}",
)  # fmt: skip
LETTERS = "ABCD"
CHOICES = (
    "ANSWER: {x}", "answer: {x}", "I think so.\n\nANSWER: {x}", "ANSWER: {x}\n", "ANSWER: {x}.",
    "ANSWER: {y}\n\nANSWER: {x}",     "**ANSWER: {x}**",
    "Since it is so, ANSWER: {x}", "ANSWER:{x}", "ANSWER: {x}\nbecause", "I cannot tell.",
)  # fmt: skip


def cases(n=400, seed=0):
    """Question, reference, answer: a seeded mix of right and wrong capitals in many shapes."""
    rng = random.Random(seed)
    for k in range(n):
        country, capital = rng.choice(FACTS)
        said, other = (rng.choice(FACTS)[1] if rng.random() < 0.4 else capital), rng.choice(FACTS)[1]
        text = rng.choice(SHAPES).format(a=said, b=other, u=said.upper(), l=said.lower())
        yield f"q{k}", f"What is the capital of {country}? ({k})", capital, text


def choices(n=400, seed=1):
    rng = random.Random(seed)
    for k in range(n):
        names = rng.sample([c for _, c in FACTS], 4)
        right, said, other = rng.choice(LETTERS), rng.choice(LETTERS), rng.choice(LETTERS)
        yield f"c{k}", f"Which is it? ({k})", names, right, rng.choice(CHOICES).format(x=said, y=other)


def inspect(folder):
    import inspect_ai
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import choice, includes, match
    from inspect_ai.solver import generate, multiple_choice

    def run(name, samples, texts, solver, scorer):
        outputs = [ModelOutput.from_content("mockllm/model", text) for text in texts]
        for output in outputs:  # else the mock model fetches a tokenizer to count with
            output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        task = inspect_ai.Task(dataset=MemoryDataset(samples), solver=solver, scorer=scorer, name=name)
        model = get_model("mockllm/model", custom_outputs=outputs)
        inspect_ai.eval(
            task, model=model, log_dir=f"{folder}/{name}", display="none", log_realtime=False, max_connections=1,
            max_samples=1,
        )  # fmt: skip

    plain = list(cases(200))  # each of 19 shapes ten times
    samples = [Sample(id=i, input=q, target=r) for i, q, r, _ in plain]
    for name, scorer in (("match", match()), ("includes", includes())):
        run(name, samples, [t for *_, t in plain], [generate()], scorer)
    picked = list(choices(200))
    samples = [Sample(id=i, input=q, choices=names, target=r) for i, q, names, r, _ in picked]
    run("choice", samples, [t for *_, t in picked], [multiple_choice()], choice())


def lm_eval(folder):
    import lm_eval
    from lm_eval.api.model import LM
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    rows = list(cases())
    folder = Path(folder)
    (folder / "task").mkdir(parents=True, exist_ok=True)
    data = folder / "task" / "rows.json"
    data.write_text("\n".join(json.dumps({"question": q, "answer": r}) for _, q, r, _ in rows))
    (folder / "task" / "capitals.yaml").write_text(
        f"task: capitals\ndataset_path: json\ndataset_kwargs:\n  data_files:\n    test: {data}\ntest_split: test\n"
        "output_type: generate_until\ndoc_to_text: '{{question}}'\ndoc_to_target: '{{answer}}'\n"
        "generation_kwargs:\n  until: ['<end>']\n"
        "metric_list:\n  - metric: exact_match\n    aggregation: mean\n    higher_is_better: true\n"
    )
    said = {q: t for _, q, _, t in rows}

    class Fixed(LM):
        def generate_until(self, requests, **_):
            return [said[r.args[0]] for r in requests]

        def loglikelihood(self, requests, **_):
            raise NotImplementedError

        def loglikelihood_rolling(self, requests, **_):
            raise NotImplementedError

    manager = TaskManager(include_path=str(folder / "task"), include_defaults=False)
    found = lm_eval.simple_evaluate(model=Fixed(), tasks=["capitals"], task_manager=manager, log_samples=True)
    tracker = EvaluationTracker(output_path=str(folder / "out"))
    samples = found.pop("samples")
    found["config"]["model"], found["model_name"] = "fixed", "fixed"
    tracker.general_config_tracker.model_name_sanitized = "fixed"
    tracker.general_config_tracker.model_name = "fixed"
    tracker.general_config_tracker.model_source = "fixed"
    tracker.save_results_aggregated(results=found, samples=samples)
    for name, own in samples.items():
        tracker.save_results_samples(task_name=name, samples=own)


def promptfoo(folder):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rows = list(cases())
    (folder / "said.json").write_text(json.dumps({q: t for _, q, _, t in rows}))
    (folder / "provider.js").write_text(
        "const said = require('./said.json');\n"
        "module.exports = class { id() { return 'fixed'; } async callApi(p) { return { output: said[p] }; } };\n"
    )
    tests = [{"vars": {"question": q}, "assert": [{"type": "equals", "value": r}]} for _, q, r, _ in rows]
    config = {"prompts": ["{{question}}"], "providers": ["file://provider.js"], "tests": tests}
    (folder / "promptfooconfig.json").write_text(json.dumps(config))
    quiet = {
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "PROMPTFOO_CONFIG_DIR": str(folder / "own"),
    }
    command = [
        *os.environ["PROMPTFOO"].split(),
        "eval",
        "-c",
        "promptfooconfig.json",
        "-o",
        "results.json",
        "--no-cache",
    ]
    subprocess.run(command, cwd=folder, env={**os.environ, **quiet}, check=False, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    {"inspect": inspect, "lm_eval": lm_eval, "promptfoo": promptfoo}[sys.argv[1]](sys.argv[2])
