"""A real PostgreSQL server for tests: a data folder of its own, a loopback port, a user who is not root."""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self

PASSWORD = "quake/7:kept out@of#sight"
QUOTED = "quake%2F7%3Akept%20out%40of%23sight"


def find_programs() -> Path | None:
    """The folder with `initdb` and `postgres`; Debian keeps them out of the PATH."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if found := shutil.which("initdb"):
        folders.insert(0, Path(found).resolve().parent)
    return next((f for f in folders if (f / "initdb").exists() and (f / "postgres").exists()), None)


class PostgresServer:
    """`url()` names a run in it. `stop` and `start` restart it; `stop(at_once=True)` is a crash."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._folder = Path(tempfile.mkdtemp(prefix="richter-pg-"))
        self._as: dict = {}
        if os.getuid() == 0:  # the server refuses to run as root
            names = {entry.pw_name: entry for entry in pwd.getpwall()}
            user = names.get("postgres") or names["nobody"]
            os.chown(self._folder, user.pw_uid, user.pw_gid)
            self._as = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._process: subprocess.Popen | None = None

    def __enter__(self) -> Self:
        secret = self._folder / "password"
        secret.write_text(PASSWORD)
        self.own(secret)
        subprocess.run(
            [
                *(self._programs / "initdb", "-D", self._folder / "data", "-U", "richter", "-E", "UTF8"),
                *("--locale=C", "-A", "scram-sha-256", "--pwfile", secret, "--no-sync"),
            ],
            check=True,
            capture_output=True,
            cwd=self._folder,
            **self._as,
        )
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(at_once=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    def folder(self, name: str) -> Path:
        """A folder beside the server's data, to be given to the server with `own`."""
        path = self._folder / name
        path.mkdir(exist_ok=True)
        return path

    def own(self, path: Path) -> None:
        if self._as:
            os.chown(path, self._as["user"], self._as["group"])

    def start(self) -> None:
        log = (self._folder / "log").open("ab")
        self._process = subprocess.Popen(
            [
                *(self._programs / "postgres", "-D", self._folder / "data", "-p", str(self.port)),
                *("-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={self._folder}"),
                *("-c", "max_connections=60", "-c", "shared_buffers=32MB"),
                *("-c", "fsync=off"),  # a server that is killed loses nothing by it, only a machine would
            ],
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            cwd=self._folder,
            **self._as,
        )
        log.close()
        for _ in range(600):
            ready = self._folder / "data" / "postmaster.pid"
            with contextlib.suppress(OSError, IndexError):
                if ready.read_text().splitlines()[7].strip() == "ready":
                    return
            assert self._process.poll() is None, (self._folder / "log").read_text()[-2000:]
            time.sleep(0.05)
        raise TimeoutError("PostgreSQL did not start")

    def stop(self, *, at_once: bool = False) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT if at_once else signal.SIGINT)
            self._process.wait(30)
            self._process = None

    def url(self, run: str = "", *, user: str = "richter", password: str = QUOTED, database: str = "postgres") -> str:
        return f"postgresql://{user}:{password}@127.0.0.1:{self.port}/{database}" + (f"#{run}" if run else "")
