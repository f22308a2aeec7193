"""A file out of a wheel: fetched once, checked always, never half there. pip is real; its index is a folder."""

import gzip
import hashlib
import os
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from richter.errors import MissingPart
from richter.store import fetch_wheel_member, fetch_wheel_members

PAYLOAD = b"a fact\n" * 1000


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A wheel in a folder that pip alone may look at, and an empty cache."""
    index = tmp_path / "index"
    index.mkdir()
    path = index / "richter_probe-1.2-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("richter_probe/data.db", PAYLOAD)
        archive.writestr(
            "richter_probe-1.2.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: richter-probe\nVersion: 1.2\nRequires-Dist: no-such-package-anywhere\n",
        )
        archive.writestr("richter_probe-1.2.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("richter_probe-1.2.dist-info/RECORD", "")
    for name in [n for n in os.environ if n.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    monkeypatch.setenv("RICHTER_CACHE", str(tmp_path / "cache"))
    return path


def fetch(wheel: Path | None, **changes: Any) -> Path:
    options: dict[str, Any] = {
        "wheel_sha256": sha(wheel.read_bytes()) if wheel else "",
        "member_sha256": sha(PAYLOAD),
    }
    return fetch_wheel_member("richter-probe", "1.2", "richter_probe/data.db", **{**options, **changes})


def leftovers(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_fetched_once_then_offline(wheel: Path, tmp_path: Path) -> None:
    path = fetch(wheel)
    assert path == tmp_path / "cache" / "richter-probe-1.2" / "data.db"
    assert path.read_bytes() == PAYLOAD
    expected = sha(wheel.read_bytes())
    wheel.unlink()
    assert fetch(None, wheel_sha256=expected) == path
    assert leftovers(tmp_path / "cache") == ["richter-probe-1.2/data.db"]


def test_a_damaged_cache_is_fetched_again(wheel: Path) -> None:
    path = fetch(wheel)
    path.write_bytes(PAYLOAD[:100])
    assert fetch(wheel).read_bytes() == PAYLOAD


@pytest.mark.parametrize("which", ["wheel_sha256", "member_sha256"])
def test_a_wrong_hash_is_refused_and_nothing_kept(wheel: Path, tmp_path: Path, which: str) -> None:
    with pytest.raises(MissingPart, match="SHA-256"):
        fetch(wheel, **{which: "0" * 64})
    assert leftovers(tmp_path / "cache") == []


def test_no_network_says_what_to_do(wheel: Path, tmp_path: Path) -> None:
    digest = sha(wheel.read_bytes())
    wheel.unlink()
    with pytest.raises(MissingPart, match=r"data\.db.*richter-probe 1\.2.*pip could not fetch it") as caught:
        fetch(None, wheel_sha256=digest)
    assert str(tmp_path / "cache" / "richter-probe-1.2" / "data.db") in caught.value.remedy
    assert "\n" not in str(caught.value)


def test_a_password_in_an_index_address_is_not_repeated(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = "import sys; print('ERROR: nothing at https://me:hunter2@index.example/simple'); sys.exit(1)"
    fake = wheel.parent / "python"
    fake.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{script}"\n')
    fake.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fake))
    with pytest.raises(MissingPart) as caught:
        fetch(wheel)
    assert "hunter2" not in str(caught.value)
    assert "https://index.example/simple" in str(caught.value)


def test_without_pip(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = wheel.parent / "python"
    fake.write_text("#!/bin/sh\necho 'python: No module named pip' >&2; exit 1\n")
    fake.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fake))
    with pytest.raises(MissingPart, match="ensurepip"):
        fetch(wheel)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["pip", "runpy", "json", "sitecustomize"])
def test_no_module_of_the_current_folder_is_run(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / f"{name}.py").write_text('open("owned", "w").close()\n')
    monkeypatch.chdir(work)
    monkeypatch.setenv("PYTHONPATH", ".")
    assert fetch(wheel).read_bytes() == PAYLOAD
    assert not (work / "owned").exists()


def test_members_may_be_kept_packed(wheel: Path, tmp_path: Path) -> None:
    """Checked by what they hold; a damaged one is fetched anew."""
    members = {"richter_probe/data.db": sha(PAYLOAD)}
    asked = {"wheel_sha256": sha(wheel.read_bytes()), "packed": True}
    (path,) = fetch_wheel_members("richter-probe", "1.2", members, **asked)
    assert path.name == "data.db.gz"
    assert gzip.decompress(path.read_bytes()) == PAYLOAD
    path.write_bytes(path.read_bytes()[:-9])
    (again,) = fetch_wheel_members("richter-probe", "1.2", members, **asked)
    assert gzip.decompress(again.read_bytes()) == PAYLOAD
    wheel.unlink()
    assert fetch_wheel_members("richter-probe", "1.2", members, **asked) == [path]  # and needs no index any more
