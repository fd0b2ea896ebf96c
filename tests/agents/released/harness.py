"""Run the released agents on a home of their own, against the model of `model_server`.

The programs are npm packages. `RECOLLECT_AGENTS` names the folder they were installed into
(`npm install --prefix FOLDER $(python -m tests.agents.released.harness)`); without it the tests are
skipped.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import recollect
from tests.agents.released.model_server import ModelRequest, ModelServer

VARIABLE = "RECOLLECT_AGENTS"
FOLDER = os.environ.get(VARIABLE, "")
"""Read at import: tests run without the variables of ours."""

PACKAGES = {
    "claude-code": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "gemini": "@google/gemini-cli",
    "opencode": "opencode-ai",
    "copilot": "@github/copilot",
}
TESTED = {
    "claude-code": "2.1.328",
    "codex": "0.169.0",
    "gemini": "0.61.0",
    "opencode": "1.18.33",
    "copilot": "1.0.102",
}
"""The versions of the table in docs/how-to/agents.md."""

PROGRAMS = {
    "claude-code": "claude",
    "codex": "codex",
    "gemini": "gemini",
    "opencode": "opencode",
    "copilot": "copilot",
}
PATIENCE = 180.0
"""Seconds after which a program hangs, however busy the machine is."""

_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "TERM", "SHELL")


def find_program(agent: str) -> str:
    """Return the path of an installed agent, or ""."""
    path = os.path.join(FOLDER, "node_modules", ".bin", PROGRAMS[agent]) if FOLDER else ""
    return path if path and os.access(path, os.X_OK) else ""


def why_missing(agent: str) -> str:
    """Return why an agent cannot be run, or ""."""
    if not FOLDER:
        return f"{VARIABLE} is not set: released agents are not run (tests/agents/released)"
    if not find_program(agent):
        return f"{agent} is not installed: npm install {PACKAGES[agent]} in ${VARIABLE}"
    return ""


class Finished(NamedTuple):
    """An ended program: its exit status and what it printed."""

    status: int
    out: str
    err: str
    requests: list[ModelRequest]

    @property
    def turns(self) -> list[ModelRequest]:
        return [one for one in self.requests if one.is_turn]


class Machine:
    """A home with agents, a project in git, and a model that they all use."""

    def __init__(self, folder: Path, model: ModelServer) -> None:
        self.model = model
        self.home = folder / "home"
        self.project = folder / "project"
        self.store = folder / "store"
        self.path = os.environ.get("PATH", "")
        for made in (self.home, self.project, self.store):
            made.mkdir()
        self.git("init", "-q", "-b", "main")
        (self.project / "README.md").write_text("A small project.\n")
        self.git("add", ".")
        self.git("-c", "user.email=a@b.c", "-c", "user.name=a", "commit", "-qm", "first")
        for agent in PROGRAMS:
            if find_program(agent):
                _PREPARE[agent](self)

    def git(self, *words: str, cwd: Path | None = None) -> None:
        subprocess.run(["git", *words], cwd=cwd or self.project, check=True, capture_output=True)

    def variables(self, agent: str = "") -> dict[str, str]:
        """Return the environment of an agent, or of the user's shell."""
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        kept |= {"HOME": str(self.home), "RECOLLECT_HOME": str(self.store), "PATH": self.path}
        return kept | dict(_environment(agent, self.model.port)) if agent else kept

    def recollect(self, *words: str) -> str:
        """Run our program as a script would, and return what it prints."""
        done = self._run_own(words)
        assert done.returncode == 0, f"recollect {' '.join(words)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def _run_own(self, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        program = Path(sys.executable).with_name("recollect")
        command = [str(program)] if program.exists() else [sys.executable, "-P", "-m", "recollect"]
        return subprocess.run(
            [*command, *words],
            cwd=self.project,
            env=self.variables(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )

    def recollect_status(self, *words: str) -> str:
        """Return what our program prints, whatever its exit status is."""
        return self._run_own(words).stdout

    def learn(self, text: str, kind: str, **more: Any) -> None:
        """Save a memory as the user does at a terminal."""
        with recollect.open(self.project, environment=self.variables(), origin="user") as memory:
            memory.learn(text, kind=kind, **more)

    def listed(self) -> list[str]:
        """Return the texts of the memories."""
        found = json.loads(self.recollect("list", "--json"))
        return [one["text"] for one in found]

    def run(
        self, agent: str, prompt: str, *more: str, resume: bool = False, cwd: Path | None = None
    ) -> Finished:
        """Run an agent on one prompt, without a terminal, until it ends; then what it left."""
        self.model.take()
        done = subprocess.run(
            [*self.command(agent, prompt, resume=resume), *more],
            cwd=cwd or self.project,
            env=self.variables(agent),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        self.settle()
        return Finished(done.returncode, done.stdout, done.stderr, self.model.take())

    def start(self, agent: str, prompt: str, cwd: Path | None = None) -> subprocess.Popen[bytes]:
        """Start an agent in a process group of its own."""
        return subprocess.Popen(
            self.command(agent, prompt),
            cwd=cwd or self.project,
            env=self.variables(agent),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def kill(self, agent: str, prompt: str) -> None:
        """Start an agent and kill it with all it started while the model answers."""
        self.model.take()
        child = self.start(agent, prompt)
        asked = self.model.wait_for_turns(2, PATIENCE)
        # What an agent has not written down yet is lost with it, for every reader.
        until = time.monotonic() + PATIENCE
        while not self._is_written(agent, prompt.encode()[:40]) and time.monotonic() < until:
            time.sleep(0.05)
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        assert asked, f"{agent} did not ask the model twice"

    def _is_written(self, agent: str, words: bytes) -> bool:
        """Check whether the transcript of an agent holds these words as a message, not only as the
        input of a hook."""
        kind = ".db" if agent == "opencode" else ".jsonl"
        return any(
            words in line and b'"hook.start"' not in line
            for path in self.home.rglob(f"*{kind}*")
            for line in path.read_bytes().split(b"\n")
        )

    def command(self, agent: str, prompt: str, resume: bool = False) -> list[str]:
        return [find_program(agent), *_words(agent, prompt, resume)]

    def settle(self) -> None:
        """Wait until the processes beside the agents have done what hooks asked for."""
        until = time.monotonic() + PATIENCE
        for folder in self.store.glob("projects/*/catch-up"):
            while time.monotonic() < until:
                with open(folder / "working", "a") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX)
                    if not list(folder.glob("*.json")):
                        break
                    fcntl.flock(lock, fcntl.LOCK_UN)
                # Requests without a worker: their hook was killed before it started one.
                self.recollect("hook", "--catch-up", str(self.project))

    def stop_daemons(self) -> None:
        """Stop the processes that an agent leaves running in this home: Codex keeps a server."""
        listed = subprocess.run(["ps", "-axo", "pid=,args="], capture_output=True, text=True)
        for process in listed.stdout.splitlines():
            number, _, command = process.strip().partition(" ")
            if str(self.home) in command:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(number), signal.SIGKILL)

    def hook_log(self) -> list[str]:
        """Return the lines of all hook logs of this machine."""
        return [
            line
            for path in sorted(self.store.rglob("hook.log*"))
            for line in path.read_text().splitlines()
        ]

    def failed_hooks(self) -> list[str]:
        return [line for line in self.hook_log() if not line.endswith(" ok")]


# ---------------------------------------------------------------- agents


def _environment(agent: str, port: int) -> dict[str, str]:
    address = f"http://127.0.0.1:{port}"
    quiet = {"NO_COLOR": "1", "CI": ""}
    return {
        "claude-code": {
            "ANTHROPIC_BASE_URL": address,
            "ANTHROPIC_API_KEY": "sk-ant-dummy-000",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            # As root it refuses to skip permissions unless it is told that it is in a sandbox.
            "IS_SANDBOX": "1",
        },
        "codex": {"MODEL_KEY": "dummy"},
        "gemini": {
            "GEMINI_API_KEY": "dummy",
            "GOOGLE_GEMINI_BASE_URL": address,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
        "opencode": {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
        "copilot": {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": f"{address}/v1",
            "COPILOT_MODEL": "gpt-4.1",
            "COPILOT_AUTO_UPDATE": "false",
            "XDG_CACHE_HOME": os.path.join(FOLDER, "cache"),
        },
    }[agent] | quiet


def _words(agent: str, prompt: str, resume: bool) -> Sequence[str]:
    if agent == "claude-code":
        again = ["--continue"] if resume else []
        return ["-p", prompt, *again, "--permission-mode", "bypassPermissions"]
    if agent == "codex":
        trust = ["--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"]
        return ["exec", *(["resume", "--last"] if resume else []), *trust, prompt]
    if agent == "gemini":
        return ["--yolo", *(["--resume", "latest"] if resume else []), "-p", prompt]
    if agent == "opencode":
        return ["run", "--auto", *(["--continue"] if resume else []), prompt]
    again = ["--continue"] if resume else []
    return ["-p", prompt, "--allow-all", *again]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _prepare_claude_code(machine: Machine) -> None:
    known = {"hasCompletedOnboarding": True, "theme": "dark", "projects": {}}
    known["customApiKeyResponses"] = {"approved": ["sk-ant-dummy-000"[-20:]], "rejected": []}
    _write(machine.home / ".claude.json", json.dumps(known, indent=2))
    _write(machine.home / ".claude" / "settings.json", '{\n  "cleanupPeriodDays": 20\n}\n')


def _prepare_codex(machine: Machine) -> None:
    lines = [
        'model = "gpt-5"',
        'model_provider = "loopback"',
        'approval_policy = "never"',
        'sandbox_mode = "danger-full-access"',
        "",
        "[model_providers.loopback]",
        'name = "loopback"',
        f'base_url = "http://127.0.0.1:{machine.model.port}/v1"',
        'env_key = "MODEL_KEY"',
        'wire_api = "responses"',
        "",
        f"[projects.{json.dumps(str(machine.project))}]",
        'trust_level = "trusted"',
    ]
    _write(machine.home / ".codex" / "config.toml", "\n".join(lines) + "\n")


def _prepare_gemini(machine: Machine) -> None:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    _write(machine.home / ".gemini" / "settings.json", json.dumps(settings, indent=2) + "\n")


def _prepare_opencode(machine: Machine) -> None:
    model = {"name": "loopback", "limit": {"context": 100_000, "output": 4_000}, "tool_call": True}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Loopback",
        "options": {"baseURL": f"http://127.0.0.1:{machine.model.port}/v1", "apiKey": "dummy"},
        "models": {"model": model},
    }
    settings = {
        "$schema": "https://opencode.ai/config.json",
        "autoupdate": False,
        "model": "loopback/model",
        "small_model": "loopback/model",
        "provider": {"loopback": provider},
    }
    path = machine.home / ".config" / "opencode" / "opencode.json"
    _write(path, json.dumps(settings, indent=2) + "\n")


def _prepare_copilot(machine: Machine) -> None:
    _write(machine.home / ".copilot" / "settings.json", '{\n  "banner": "never"\n}\n')


_PREPARE = {
    "claude-code": _prepare_claude_code,
    "codex": _prepare_codex,
    "gemini": _prepare_gemini,
    "opencode": _prepare_opencode,
    "copilot": _prepare_copilot,
}


if __name__ == "__main__":  # what npm installs: the tested versions, or the newest ones
    newest = sys.argv[1:] == ["latest"]
    versions = dict.fromkeys(PACKAGES, "latest") if newest else TESTED
    print(" ".join(f"{package}@{versions[agent]}" for agent, package in PACKAGES.items()))
