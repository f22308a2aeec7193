"""Log-likelihoods of a cloze's options under a small Llama model (GGUF), for a whole base on one accelerator.

`prepare BASE OUT.json.gz` writes the first question of every paragraph: three wordings, the sentence without its
subject, the options. `score MODEL.gguf OUT.json.gz SCORES.npz` (torch, tokenizers) dequantises the weights (F32, Q4_1,
Q8_0) and gives, for each row and option, log P(option | wording) and log P(option | sentence without subject): first
wordings for all rows, the others for those answered wrongly, and the right option with its article added or left out
for those too. `check MODEL.gguf OUT.json.gz SCORES.npz --limit 100` compares with llama.cpp, which computes with
rounded activations.
"""

import argparse
import gzip
import json
import struct
from pathlib import Path

import numpy as np

WORDINGS = 3


def prepare(base_folder, out):
    from richter_audit.ascent._outcome import paragraph_items
    from richter_audit.ascent._settings import SearchSettings
    from richter_audit.bench import without_subject
    from richter_audit.knowledge import open_base

    base = open_base(base_folder)
    settings = SearchSettings(questions=1, phrasings=WORDINGS)
    shots, rows = {}, []
    asked = np.flatnonzero(base.askable)
    for start in range(0, len(asked), 5000):
        some = [int(row) for row in asked[start : start + 5000]]
        for row, paragraph in zip(some, base.paragraphs(some), strict=True):
            items = paragraph_items(row, paragraph, settings)
            if not items or not items[0].options:
                continue
            bare = without_subject(paragraph.questions[0], items[0], identity="p").stem
            codes = [shots.setdefault("\n".join(item.shots), len(shots)) for item in items]
            right = items[0].options.index(items[0].reference)
            relation = paragraph.questions[0].relation
            rows.append([row, codes, [item.stem for item in items], bare, list(items[0].options), right, relation])
    with gzip.open(out, "wt", compresslevel=9) as file:
        json.dump({"shots": list(shots), "rows": rows}, file, separators=(",", ":"), ensure_ascii=False)
    print(len(rows), "questions,", len(shots), "pairs of examples,", Path(out).stat().st_size // 2**20, "MiB")


def read_gguf(path):
    """The metadata of a GGUF file, and its tensors in single precision."""
    data = np.memmap(path, dtype=np.uint8, mode="r")
    at = 4

    def take(fmt):
        nonlocal at
        size = struct.calcsize("<" + fmt)
        at += size
        return struct.unpack("<" + fmt, data[at - size : at].tobytes())[0]

    def text():
        nonlocal at
        size = take("Q")
        at += size
        return data[at - size : at].tobytes().decode("utf-8", "replace")

    kinds = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}

    def value(kind):
        if kind == 8:
            return text()
        if kind == 9:
            inner, size = take("I"), take("Q")
            return [value(inner) for _ in range(size)]
        return take(kinds[kind])

    take("I")
    tensors, pairs = take("Q"), take("Q")
    meta = {}
    for _ in range(pairs):
        key = text()
        meta[key] = value(take("I"))
    heads = []
    for _ in range(tensors):
        name = text()
        shape = [take("Q") for _ in range(take("I"))][::-1]
        heads.append((name, shape, take("I"), take("Q")))
    start = (at + 31) // 32 * 32
    found = {}
    for name, shape, kind, offset in heads:
        size = int(np.prod(shape))
        if kind == 0:
            raw = data[start + offset : start + offset + 4 * size]
            found[name] = raw.view(np.float32).reshape(shape).copy()
            continue
        width = {3: 20, 8: 34}[kind]
        blocks = np.array(data[start + offset : start + offset + size // 32 * width]).reshape(-1, width)
        scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
        if kind == 8:
            own = blocks[:, 2:].view(np.int8).astype(np.float32) * scale
        else:
            least = blocks[:, 2:4].copy().view(np.float16).astype(np.float32)
            four = blocks[:, 4:]
            own = np.concatenate([four & 15, four >> 4], axis=1).astype(np.float32) * scale + least
        found[name] = own.reshape(shape)
    return meta, found


def tokenizer_of(meta):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    merges = [tuple(pair.split(" ")) for pair in meta["tokenizer.ggml.merges"]]
    vocabulary = {token: i for i, token in enumerate(meta["tokenizer.ggml.tokens"])}
    found = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, fuse_unk=False))
    found.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    found.decoder = decoders.ByteLevel()
    return found


class Scorer:
    """log P(option | text) by a Llama model, each pair once."""

    def __init__(self, path):
        import torch

        meta, weights = read_gguf(path)
        self.torch = torch
        torch.backends.cuda.matmul.allow_tf32 = True
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.w = {name: torch.from_numpy(w).to(self.device) for name, w in weights.items()}
        self.layers = meta["llama.block_count"]
        self.heads, self.keys = meta["llama.attention.head_count"], meta["llama.attention.head_count_kv"]
        self.width = meta["llama.embedding_length"] // self.heads
        self.eps, self.base = meta["llama.attention.layer_norm_rms_epsilon"], meta["llama.rope.freq_base"]
        self.tokens = tokenizer_of(meta)
        self.known = {}

    def rms(self, x, name):
        return self.torch.nn.functional.rms_norm(x, (x.shape[-1],), self.w[name], self.eps)

    def hidden(self, ids):
        torch, w, functional = self.torch, self.w, self.torch.nn.functional
        x = w["token_embd.weight"][ids]
        n, length = ids.shape
        half = self.width // 2
        angle = torch.arange(length, device=self.device, dtype=torch.float32)[:, None] * (
            self.base ** (-torch.arange(half, device=self.device, dtype=torch.float32) / half)
        )
        cos, sin = angle.cos(), angle.sin()

        def turn(q):  # llama.cpp's files hold q and k with neighbouring pairs, not halves
            a, b = q[..., 0::2], q[..., 1::2]
            return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)

        for i in range(self.layers):
            own = f"blk.{i}."
            h = self.rms(x, own + "attn_norm.weight")
            q = (h @ w[own + "attn_q.weight"].T).view(n, length, self.heads, self.width).transpose(1, 2)
            k = (h @ w[own + "attn_k.weight"].T).view(n, length, self.keys, self.width).transpose(1, 2)
            v = (h @ w[own + "attn_v.weight"].T).view(n, length, self.keys, self.width).transpose(1, 2)
            q, k = turn(q), turn(k)
            k, v = (t.repeat_interleave(self.heads // self.keys, dim=1) for t in (k, v))
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + y.transpose(1, 2).reshape(n, length, -1) @ w[own + "attn_output.weight"].T
            h = self.rms(x, own + "ffn_norm.weight")
            gate = functional.silu(h @ w[own + "ffn_gate.weight"].T) * (h @ w[own + "ffn_up.weight"].T)
            x = x + gate @ w[own + "ffn_down.weight"].T
        return self.rms(x, "output_norm.weight")

    def learn(self, pairs, tokens_a_batch=200_000):
        """Score pairs (text, option) that are not known yet."""
        torch = self.torch
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self.known]
        texts = list(dict.fromkeys(text for text, _ in new))
        options = list(dict.fromkeys(option for _, option in new))
        of_text = dict(zip(texts, (e.ids for e in self.tokens.encode_batch(texts)), strict=True))
        of_option = dict(zip(options, (e.ids for e in self.tokens.encode_batch(options)), strict=True))
        new.sort(key=lambda pair: len(of_text[pair[0]]) + len(of_option[pair[1]]))
        at = 0
        while at < len(new):
            length = len(of_text[new[at][0]]) + len(of_option[new[at][1]])
            some = new[at : at + max(1, tokens_a_batch // (length + 2))]
            at += len(some)
            rows = [of_text[text] + of_option[option] for text, option in some]
            length = max(map(len, rows))
            ids = torch.tensor([row + [0] * (length - len(row)) for row in rows], device=self.device)
            with torch.no_grad():
                hidden = self.hidden(ids)
                which, place, wanted = [], [], []
                for i, (text, option) in enumerate(some):
                    first, own = len(of_text[text]), of_option[option]
                    which += [i] * len(own)
                    place += range(first - 1, first - 1 + len(own))
                    wanted += own
                owner = torch.tensor(which, device=self.device)
                picked = hidden[owner, torch.tensor(place, device=self.device)]
                wanted = torch.tensor(wanted, device=self.device)
                score = torch.zeros(len(some), device=self.device)
                for part in range(0, len(picked), 20_000):
                    logits = picked[part : part + 20_000] @ self.w["token_embd.weight"].T
                    own = logits.log_softmax(-1).gather(1, wanted[part : part + 20_000, None])[:, 0]
                    score.index_add_(0, owner[part : part + 20_000], own)
            self.known.update(zip(some, score.tolist(), strict=True))


def article(option):
    """An option with its article added or left out; the same where that makes no sense."""
    if option.startswith("the "):
        return option[4:]
    return f"the {option}" if option[:1].isupper() and not option.isupper() and "/" not in option else option


def read_rows(path):
    with gzip.open(path, "rt") as file:
        held = json.load(file)
    return held["shots"], held["rows"]


def score(gguf, path, out, limit):
    import time

    shots, rows = read_rows(path)
    if limit:
        rows = [rows[i] for i in np.random.default_rng(0).choice(len(rows), limit, replace=False)]
    scorer, started = Scorer(gguf), time.monotonic()

    def text(row, wording):
        return f"{shots[row[1][wording]]}\n{row[2][wording]}"

    def bare(row):
        return f"{shots[row[1][0]]}\n{row[3]}"

    def get(pairs):
        scorer.learn(pairs)
        return np.array([scorer.known[pair] for pair in pairs], dtype=np.float32)

    count = max(len(row[4]) for row in rows)
    full = [row for row in rows if len(row[4]) == count]
    print(len(rows) - len(full), "rows with fewer options left out", flush=True)
    first = get([(text(row, 0), f" {o}") for row in full for o in row[4]]).reshape(-1, count)
    print("first wordings", first.shape, f"{time.monotonic() - started:.0f} s", flush=True)
    prior = get([(bare(row), f" {o}") for row in full for o in row[4]]).reshape(-1, count)
    print("without subject", f"{time.monotonic() - started:.0f} s", flush=True)
    right = np.array([row[5] for row in full])
    wrong = (first.argmax(1) != right) | ((first - prior).argmax(1) != right)
    chosen = np.flatnonzero(wrong)
    others = np.full((len(full), WORDINGS - 1, count), np.nan, dtype=np.float32)
    for wording in range(1, WORDINGS):
        able = [i for i in chosen if len(full[i][2]) > wording]
        pairs = [(text(full[i], wording), f" {o}") for i in able for o in full[i][4]]
        others[able, wording - 1] = get(pairs).reshape(-1, count)
        print("wording", wording, len(able), f"{time.monotonic() - started:.0f} s", flush=True)
    # the right option with its article added or left out, after the sentence and after the one without subject
    reworded = np.full((len(full), 2), np.nan, dtype=np.float32)
    able = [i for i in chosen if article(full[i][4][full[i][5]]) != full[i][4][full[i][5]]]
    new = [f" {article(full[i][4][full[i][5]])}" for i in able]
    reworded[able, 0] = get([(text(full[i], 0), o) for i, o in zip(able, new, strict=True)])
    reworded[able, 1] = get([(bare(full[i]), o) for i, o in zip(able, new, strict=True)])
    rows_of = np.array([row[0] for row in full])
    print("articles", len(able), f"{time.monotonic() - started:.0f} s", flush=True)
    np.savez_compressed(
        out,
        row=rows_of,
        right=right,
        first=first,
        prior=prior,
        others=others[chosen],
        chosen=chosen,
        reworded=reworded[chosen],
    )
    print("wrong", (first.argmax(1) != right).mean(), "corrected", ((first - prior).argmax(1) != right).mean())


def check(gguf, path, scores, limit):
    import asyncio

    from richter.records import Decoding
    from richter_audit.llm._local import LocalModel

    shots, rows = read_rows(path)
    kept = np.load(scores)
    first, prior = kept["first"], kept["prior"]
    model = LocalModel("checked", Path(gguf), slots=1, context_tokens=512)
    same = {"asked": 0, "corrected": 0}
    off = []

    async def ask(at):
        row = rows[at]
        held = tuple(f" {o}" for o in row[4])
        text, bare = f"{shots[row[1][0]]}\n{row[2][0]}", f"{shots[row[1][0]]}\n{row[3]}"
        message = [{"role": "text", "content": text}]
        answer = await model.ask(message, Decoding(max_tokens=64, choices=held), 0)
        corrected = await model.ask(message, Decoding(max_tokens=64, choices=held, prior=bare), 0)
        same["asked"] += answer.text.strip() == row[4][first[at].argmax()]
        same["corrected"] += corrected.text.strip() == row[4][(first - prior)[at].argmax()]
        off.append(np.abs(np.array(corrected.logprobs) - (first - prior)[at]))

    async def work():
        for at in np.random.default_rng(1).choice(len(rows), limit or 100, replace=False):
            await ask(int(at))
        await model.aclose()

    asyncio.run(work())
    print(same, "of", len(off), "- median difference of a corrected score", float(np.median(off)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["prepare", "score", "check"])
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--limit", type=int, default=0)
    options = parser.parse_args()
    if options.what == "prepare":
        prepare(*options.paths)
    else:
        {"score": score, "check": check}[options.what](*options.paths, options.limit)


if __name__ == "__main__":
    main()
