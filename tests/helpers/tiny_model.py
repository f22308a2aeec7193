"""A sentence-transformers model of one small layer with random weights, made here: nothing is fetched."""

from pathlib import Path

import pytest


def make_tiny_model(folder: Path) -> Path:
    """Save the model under `folder`; skip where the package is missing."""
    sentence_transformers = pytest.importorskip("sentence_transformers")
    transformers, torch = pytest.importorskip("transformers"), pytest.importorskip("torch")
    letters = [chr(c) for c in range(33, 127)]
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{c}" for c in letters)]
    (folder / "vocab.txt").write_text("\n".join(words))
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
    )
    transformers.BertModel(config).save_pretrained(folder / "bert")
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder / "bert")
    modules = pytest.importorskip("sentence_transformers.sentence_transformer.modules")
    layers = [modules.Transformer(str(folder / "bert")), modules.Pooling(16)]
    sentence_transformers.SentenceTransformer(modules=layers, device="cpu").save(str(folder / "tiny"))
    return folder / "tiny"
