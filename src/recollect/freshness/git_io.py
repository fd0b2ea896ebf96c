"""Query git: history and files for claims, and the state of the working tree.

Each query is one process, for any number of names. Without git, a repository, or an answer in time,
the result is empty. It runs no hook, pager or external program of a repository's configuration, and
takes no lock.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..project import current_branch, first_line, worktree_root

TIMEOUT = 10.0
MOST_HOMES = 60
"""A name that seems to be defined in more files than this is not searched."""

MOST_COMMITS = 2_000
"""Renames are followed one by one for this many commits."""

_SAFE = (
    *("-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "-c", "diff.renameLimit=2000"),
    *("-c", "grep.lineNumber=false", "-c", "grep.column=false", "-c", "grep.fullName=false"),
    *("-c", "color.ui=false", "-c", "log.showSignature=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("--no-pager", "--literal-pathspecs"),
)
"""Options for plain output, and against programs that a repository's configuration could name."""

_HASH = re.compile(r"[0-9a-f]{7,64}")
_NAME = re.compile(r"[^\W\d]\w*", re.ASCII)
_INTRODUCED = (
    "class|struct|interface|trait|enum|union|record|object|protocol|module|namespace|mod|type|"
    "typedef|function|func|fun|fn|def|defp|defmodule|sub|macro|const|let|var|val|static|impl|define"
)


class Git:
    """The repository that contains a directory, if any."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._files: list[tuple[str, str]] | None = None

    def resolved(self, names: Sequence[str]) -> list[str]:
        """Return the full hash of each commit; empty for an unknown one."""
        asked = "".join(f"{name}\n" for name in names)
        lines = self._run(("cat-file", "--batch-check"), asked).splitlines()
        found = [line.split()[0].decode() if b" commit " in line else "" for line in lines]
        return found if len(found) == len(names) else [""] * len(names)

    def files(self) -> list[tuple[str, str]]:
        """Return every file below the root with its blob in the index, empty if untracked."""
        if self._files is None:
            listed = self._run(("ls-files", "-c", "-o", "-s", "-z", "--exclude-standard"))
            found = []
            for entry in listed.decode("utf-8", "replace").split("\0"):
                entered, tab, path = entry.rpartition("\t")
                if path:
                    found.append((path, entered.split()[1] if tab else ""))
            self._files = found
        return self._files

    def renames(self, commits: Iterable[str]) -> dict[str, str]:
        """Return the current name of each file that was renamed since these commits."""
        asked = sorted(filter(_HASH.fullmatch, commits))
        head, *known = self.resolved(["HEAD", *asked])
        pairs = "".join(f"{head} {commit}\n" for commit in known if commit) if head else ""
        if not pairs:
            return {}
        options = (
            "-r",
            "-M",
            "-z",
            "--diff-filter=R",
            "--name-status",
            "--no-commit-id",
            "--relative",
        )
        return _renamed(self._run(("diff-tree", "--stdin", *options), pairs))

    def renames_step_by_step(self) -> dict[str, str]:
        """Return the renames of the last commits one by one: this finds renames with edits in
        between."""
        options = ("-M", "-z", "--diff-filter=R", "--name-status", "--format=", "--relative")
        return _renamed(self._run(("log", f"-n{MOST_COMMITS}", *options, "HEAD")))

    def commits(self) -> list[tuple[str, int, str, tuple[str, ...]]]:
        """Return the last commits, newest first: hash, time in seconds, subject, files."""
        form = "--format=%x01%H%x02%ct%x02%s"
        listed = self._run(("log", f"-n{MOST_COMMITS}", "--no-merges", "--name-only", form))
        found = []
        for entry in listed.decode("utf-8", "replace").split("\x01")[1:]:
            head, *names = entry.split("\n")
            digest, at, subject = head.split("\x02", 2)
            found.append((digest, int(at), subject, tuple(filter(None, names))))
        return found

    def defining(self, names: Iterable[str]) -> dict[str, set[str]]:
        """Return the files that seem to define each name; none if there are too many."""
        wanted = [name for name in names if _NAME.fullmatch(name)]
        found: dict[str, set[str]] = {name: set() for name in names}
        if not wanted:
            return found
        any_of = "|".join(wanted)
        shapes = (
            rf"(^|[^A-Za-z0-9_])({_INTRODUCED})[[:space:]*]+(\([^)]*\)[[:space:]]*)?({any_of})",
            rf"^[[:space:]]*({any_of})[[:space:]]*(:[^=]*)?=([^=]|$)",
            rf"[A-Za-z_>*&][[:space:]]+[*&]?({any_of})[[:space:]]*\(",
        )
        patterns = [word for shape in shapes for word in ("-e", shape)]
        lines = self._run(("grep", "-I", "-E", "-z", "--no-color", "--untracked", *patterns))
        word = re.compile(rf"\b(?:{any_of})\b")
        for line in lines.decode("utf-8", "replace").split("\n"):
            path, _, text = line.partition("\0")
            for name in set(word.findall(text)):
                found[name].add(path)
        return {name: paths if len(paths) <= MOST_HOMES else set() for name, paths in found.items()}

    def texts(self, places: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
        """Return the content of each path at each commit, where it exists."""
        asked = sorted(
            (commit, path)
            for commit, path in places
            if _HASH.fullmatch(commit) and "\n" not in path
        )
        if not asked:
            return {}
        answer = self._run(
            ("cat-file", "--batch"), "".join(f"{commit}:./{path}\n" for commit, path in asked)
        )
        found: dict[tuple[str, str], str] = {}
        at = 0
        for place in asked:
            end = answer.find(b"\n", at)
            head = answer[at:end].rsplit(b" ", 2)
            at = end + 1
            if end >= 0 and len(head) == 3 and head[1] == b"blob":
                size = int(head[2])
                found[place] = answer[at : at + size].decode("utf-8", "replace")
                at += size + 1
        return found

    def _run(self, arguments: Sequence[str], asked: str = "") -> bytes:
        if not worktree_root(self.root):
            return b""  # no process is needed
        return _run_git(self.root, arguments, TIMEOUT, asked)


def _run_git(folder: str, arguments: Sequence[str], timeout: float, asked: str = "") -> bytes:
    """Return git's output; empty if git is missing, fails or times out."""
    try:
        done = subprocess.run(
            ("git", *_SAFE, *arguments),
            cwd=folder,
            env=_environment(os.environ),
            input=asked.encode("utf-8", "surrogateescape"),
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return done.stdout


# ---------------------------------------------------------------- without a process


def read_head(root: str) -> str:
    """Return the hash of the commit checked out at the top of a working tree; empty if it cannot be
    read directly (no repository, no commit, refs in another format)."""
    folder = _git_folder(root)
    head = first_line(os.path.join(folder, "HEAD")) if folder else ""
    if not head.startswith("ref: "):
        return head if _HASH.fullmatch(head) else ""
    name = head.removeprefix("ref: ").strip()
    common = first_line(os.path.join(folder, "commondir"))
    shared = os.path.normpath(os.path.join(folder, common)) if common else folder
    if ".." in name.split("/"):
        return ""
    for place in (folder, shared):
        found = first_line(os.path.join(place, *name.split("/")))
        if _HASH.fullmatch(found):
            return found
    return _packed_ref(os.path.join(shared, "packed-refs"), name)


def _packed_ref(path: str, name: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                found, _, ref = line.rstrip("\n").partition(" ")
                if ref == name and _HASH.fullmatch(found):
                    return found
    except OSError:
        pass
    return ""


def _git_folder(root: str) -> str:
    """Return the git directory of a working tree's top; empty without one."""
    entry = os.path.join(root, ".git")
    if os.path.isdir(entry):
        return entry
    line = first_line(entry)
    if not line.startswith("gitdir:"):
        return ""
    return os.path.normpath(os.path.join(root, line.removeprefix("gitdir:").strip()))


def list_tracked(root: str) -> list[str] | None:
    """Return the paths in the index at the top of a working tree; None if git must be asked (an
    index of version 4, split, or sparse; or none)."""
    folder = _git_folder(root)
    try:
        with open(os.path.join(folder, "index"), "rb") as file:
            data = file.read()
    except OSError:
        return None
    if data[:4] != b"DIRC" or int.from_bytes(data[4:8], "big") not in (2, 3):
        return None
    if any(mark in data[-4096:] for mark in (b"link\0", b"sdir\0")) or _uses_sha256(folder):
        return None
    found: list[str] = []
    at = 12
    for _ in range(int.from_bytes(data[8:12], "big")):
        flags = int.from_bytes(data[at + 60 : at + 62], "big")
        start = at + (64 if flags & 0x4000 else 62)
        end = data.find(b"\0", start)
        if end < 0:
            return None
        found.append(data[start:end].decode("utf-8", "replace"))
        at += (end - at + 8) // 8 * 8  # padded to eight bytes, with at least one zero
    return found


def _uses_sha256(folder: str) -> bool:
    try:
        with open(os.path.join(folder, "config"), encoding="utf-8", errors="replace") as file:
            return "sha256" in file.read(65_536).lower()
    except OSError:
        return False


def _environment(given: Mapping[str, str]) -> dict[str, str]:
    """Remove git's own variables: inside a git hook they point to another index or tree."""
    kept = {name: value for name, value in given.items() if not name.startswith("GIT_")}
    return {**kept, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}


def _renamed(answer: bytes) -> dict[str, str]:
    """Parse a `--name-status -z` answer into old and new paths; the first (newest) rename wins."""
    found: dict[str, str] = {}
    fields = answer.decode("utf-8", "replace").split("\0")
    at = 0
    while at + 2 < len(fields):
        if re.fullmatch(r"\s*R[0-9]*", fields[at]):
            found.setdefault(fields[at + 1], fields[at + 2])
            at += 3
        else:
            at += 1
    return found


STATE_COMMITS, STATE_LINES = 5, 20
STATE_TIMEOUT = 5.0
"""Seconds. A slow disk must not delay a prompt."""


class GitState(NamedTuple):
    """Branch, status and last commits, newest first."""

    branch: str = ""
    commits: tuple[str, ...] = ()
    status: tuple[str, ...] = ()


def read_git_state(path: str) -> GitState:
    """Return the state of the working tree at a path."""
    commits = _lines(path, "log", f"-{STATE_COMMITS}", "--format=%h %s")
    status = _lines(path, "status", "--short", "--untracked-files=normal")
    return GitState(current_branch(path), tuple(commits), tuple(status[:STATE_LINES]))


def read_identity(path: str) -> frozenset[str]:
    """Return the remotes and first commits of a repository, which identify its clones."""
    remotes = _lines(path, "config", "--get-regexp", r"^remote\..*\.url$")
    urls = (line.partition(" ")[2] for line in remotes)
    # `git@host:a/b.git` and `https://host/a/b` are one.
    names = (re.sub(r"^\w+://|^[^/]*@|\.git/?$", "", url).replace(":", "/") for url in urls)
    return frozenset((*names, *_lines(path, "rev-list", "--max-parents=0", "HEAD")))


def _lines(path: str, *arguments: str) -> list[str]:
    answer = _run_git(path, arguments, STATE_TIMEOUT)
    return answer.decode("utf-8", "replace").splitlines()
