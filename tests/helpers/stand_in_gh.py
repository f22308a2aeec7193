"""A stand-in for `gh`, run as a program: answers from a folder as GitHub would, and notes what it is asked."""

import json
import shutil
import sys
import urllib.parse
from pathlib import Path


def refuse(status: int, reason: str) -> int:
    """The exit status after a message as `gh` has it."""
    sys.stderr.write(f"gh: {reason} (HTTP {status})\n")
    return 1


def main(folder: Path, arguments: list[str]) -> int:
    """Answer one call; the exit status."""
    with (folder / "asked").open("a") as asked:
        asked.write(" ".join(arguments) + "\n")
    state = json.loads((folder / "gh.json").read_text())

    def option(name: str) -> str:
        return arguments[arguments.index(name) + 1]

    if arguments[:2] == ["run", "list"]:
        print(*state["runs"], sep="\n")
    elif arguments[:2] == ["run", "download"]:
        kept = folder / "artifacts" / arguments[2] / "baseline.parquet"
        if not kept.exists():
            return refuse(404, "no artifact matches")
        shutil.copy(kept, option("--dir"))
    elif arguments[:2] == ["api", "graphql"] or arguments[:2] == ["pr", "comment"]:
        if not state["may_comment"] and arguments[0] == "pr":
            return refuse(403, "Resource not accessible by integration")
        if arguments[0] == "pr":
            shutil.copy(option("--body-file"), folder / "comment")
    elif "/contents/" in arguments[-1]:
        path, _, commit = arguments[-1].partition("/contents/")[2].partition("?ref=")
        if not state["may_read"]:
            return refuse(403, "Resource not accessible by integration")
        file = folder / "commits" / commit / urllib.parse.unquote(path)
        if not file.exists():
            return refuse(404, "Not Found")
        sys.stdout.write(file.read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
