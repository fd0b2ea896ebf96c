"""Identify the caller of a command: the user at a terminal, or an agent.

Without a terminal it is an agent. A terminal is the user's, unless an agent opened it: agents set a
variable for the commands they run, and are among the parent processes even if it was unset. The
limits are in docs/decisions/0008-origin-of-calls.md.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping

from ..fast_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..client import Recollect
    from .commands import Arguments

VARIABLES = (
    *("CLAUDECODE", "GEMINI_CLI", "OPENCODE", "CURSOR_AGENT", "COPILOT_CLI", "CLINE_ACTIVE"),
    *("CODEX_CI", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID"),
    *("GOOSE_TERMINAL", "AI_AGENT"),
)
"""Variables that agents set for the commands they run, some of them at their own terminal."""

_AGENTS = frozenset(
    {
        *("claude", "codex", "gemini", "opencode", "cursor-agent", "copilot", "aider", "goose"),
        *("goosed", "amp", "auggie", "clio", "cline", "crush", "droid", "kiro-cli", "openhands"),
        *("plandex", "qwen"),
        *("claude-code", "gemini-cli", "opencode-ai", "qwen-code"),  # as packages are called
    }
)
"""Names of agents' programs, scripts and packages. Editors with an agent (cursor, windsurf, zed)
are not listed: users type in their terminals, too."""

_INTERPRETERS = frozenset(
    {"node", "bun", "deno", "python", "perl", "ruby", "sh", "bash", "dash", "zsh"}
)
_RELAYS = frozenset({"script", "expect", "unbuffer", "socat"})
"""Programs that open a terminal for another program. Without a terminal of their own, no user types
into them. Terminal servers (tmux, sshd, an editor's) have none either, and are not listed."""

_MOST_PARENTS = 64


class Caller(NamedTuple):
    """An origin; for an agent at a terminal, the sign it was recognised by."""

    origin: str
    sign: str = ""

    def explain(self) -> str:
        """Return why the caller counts as an agent, and what a person can do."""
        return f"this terminal counts as an agent's: {self.sign}. Use a terminal of your own"


class Process(NamedTuple):
    """A running process; `marks` are the variables in its environment that agents set."""

    pid: int
    parent: int
    name: str
    words: tuple[str, ...]
    has_terminal: bool
    marks: tuple[str, ...]


def identify_caller(environment: Mapping[str, str]) -> Caller:
    """Return the caller of the command that this process runs."""
    if not all(stream and stream.isatty() for stream in (sys.stdin, sys.stdout)):
        return Caller("agent")
    for name in VARIABLES:
        if environment.get(name):
            return Caller("agent", f"{name} is set")
    for process in _parents():
        if sign := find_agent_sign(process):
            return Caller("agent", f"its parent process {process.pid} {sign}")
    return Caller("user")


def open_as_caller(given: Arguments) -> tuple[Recollect, Caller]:
    """Open the memory that the options of a command name, with the origin of its caller."""
    from ..client import Recollect
    from ..opening import open_context

    caller = identify_caller(os.environ)
    context = open_context(given.project or None, given.variables, given.incognito, caller.origin)
    return Recollect(context), caller


def find_agent_sign(process: Process) -> str:
    """Return why a process belongs to an agent, or ""."""
    if process.marks:
        return f"has {process.marks[0]} set"
    program = _program_of(process)
    if name := _agent_name(process):
        return f"is {name}"
    if program in _RELAYS and not process.has_terminal:
        return f"is {program} without a terminal"
    return ""


_HEADLESS_WORDS = frozenset({"-p", "--print", "--prompt", "exec", "run"})
"""Words that start an agent for one prompt: `claude -p`, `codex exec`, `opencode run`."""


def is_headless(environment: Mapping[str, str]) -> bool:
    """Check whether the agent that started this process shows no notices to a person."""
    entry = environment.get("CLAUDE_CODE_ENTRYPOINT", "")
    if entry:
        return entry.startswith("sdk")
    for process in _parents():
        if _agent_name(process):
            return not _HEADLESS_WORDS.isdisjoint(process.words[1:])
    return False


def _agent_name(process: Process) -> str:
    """Return the agent's name if a process runs its program, script or package, or ""."""
    program = _program_of(process)
    names = (process.name, program, *_script_names(program, process.words))
    return next((name for name in names if name in _AGENTS), "")


def _program_of(process: Process) -> str:
    return os.path.basename(process.words[0]) if process.words else process.name


def _script_names(program: str, words: tuple[str, ...]) -> Iterator[str]:
    """Yield the names of the script that an interpreter runs, and of its package."""
    if program.rstrip("0123456789.") not in _INTERPRETERS:
        return
    script, option = "", ""
    for script in words[1:]:
        if not script.startswith("-"):
            break
        option = script
    if option == "-e" or (option.endswith("c") and not option.startswith("--")):
        return  # the word is code: `sh -c "…"`, `node -e "…"`
    yield os.path.basename(script).partition(".")[0]
    _, inside, package = script.rpartition("/node_modules/")
    if inside:
        yield from package.split("/")


def _parents() -> Iterator[Process]:
    """Yield the parent processes, nearest first, as far as they are visible."""
    find_process = _read_proc if os.path.isdir("/proc/self") else _make_ps_lookup()
    pid = os.getppid()
    for _ in range(_MOST_PARENTS):
        process = find_process(pid) if pid > 0 else None
        if process is None:
            return
        yield process
        pid = process.parent


def _read_proc(pid: int) -> Process | None:
    """Read a process from /proc; its environment is the one at its start."""
    stat = _read(f"/proc/{pid}/stat")
    head, _, tail = stat.rpartition(")")
    if not tail:
        return None
    fields = tail.split()  # state, parent, process group, session, terminal, …
    words = _read(f"/proc/{pid}/cmdline").rstrip("\0").split("\0")
    variables = dict(item.partition("=")[::2] for item in _read(f"/proc/{pid}/environ").split("\0"))
    marks = tuple(name for name in VARIABLES if variables.get(name))
    name = head.partition("(")[2]
    _, parent, _, _, terminal, *_ = fields
    return Process(pid, int(parent), name, tuple(words), has_terminal=terminal != "0", marks=marks)


def _read(path: str) -> str:
    """Read a file of /proc; "" if the process has ended or belongs to another user."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _make_ps_lookup() -> Callable[[int], Process | None]:
    """Return a function that looks up processes with `ps`, where there is no /proc (macOS)."""
    listed = {}
    for line in _run_ps("-axww", "-o", "pid=,ppid=,tty=,command="):
        pid, parent, terminal, *words = line.split()
        listed[int(pid)] = (int(parent), terminal.strip("?-") != "", tuple(words))

    def find_process(pid: int) -> Process | None:
        if pid not in listed:
            return None
        parent, has_terminal, words = listed[pid]
        printed = "".join(_run_ps("-wwE", "-o", "command=", "-p", str(pid)))
        marks = tuple(name for name in VARIABLES if f" {name}=" in printed)
        return Process(pid, parent, "", words, has_terminal=has_terminal, marks=marks)

    return find_process


def _run_ps(*options: str) -> list[str]:
    from subprocess import SubprocessError, run

    try:
        done = run(["ps", *options], capture_output=True, text=True, errors="replace", check=True)
    except (OSError, SubprocessError):
        return []
    return done.stdout.splitlines()
