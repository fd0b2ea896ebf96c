"""Replay recorded conversations of agents, in a project and a home that are thrown away.

A recording is one JSON object a line, in the order in which the agent did things: `{"hook": …}`
is a payload that it gives to its hooks, `{"transcript": …}` a record that it appends to its
transcript. `$PROJECT`, `$TRANSCRIPT`, `$NOW` and `$KEY` stand for what differs from run to run.
The hooks are those that `recollect init` writes into the agent's settings, started by a shell, as
the agent does it. What they start is waited for, so that nothing is left running.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from .. import open as open_memory
from ..client import Recollect

RECORDINGS = os.path.join(os.path.dirname(__file__), "recordings")
"""One file for each agent, named after it."""

KEY = "AKIA" + "Q3J5K7M2N4P6R8T1"
"""Looks like a secret, and is none."""

_TRANSCRIPTS = {
    "claude-code": ".claude/projects/demo/5b0c2f6e-7a41-4d0f-9c53-2f1e6a8d9b10.jsonl",
    "codex": ".codex/sessions/rollout-019a1de2-326c-7201-abe0-b8c049ba2d21.jsonl",
}
_FILES = {
    ".git/HEAD": "ref: refs/heads/main\n",
    "Makefile": "redis-test:\n\tdocker run --rm -d -p 6380:6379 redis:7\n",
    "docker-compose.yml": 'services:\n  redis:\n    image: redis:7\n    ports: ["6379:6379"]\n',
    "docs/testing.md": "Run `make redis-test`, then `pytest`.\n",
    "src/generated/client.ts": "// receive an order\n",
}
_INHERITED = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH")
"""Nothing that leads an agent or us to the user's own files."""


class Heard(NamedTuple):
    """One event of an agent, and what the hooks answered: to the model, and to the person."""

    agent: str
    event: str
    payload: Mapping[str, Any]
    context: str = ""
    notice: str = ""


class Sandbox:
    """A project with a memory, and a home with agents that are connected to it."""

    def __init__(self, folder: str, recordings: str = RECORDINGS) -> None:
        self._recordings = recordings
        # Links are resolved: an agent names its working directory so.
        folder = os.path.realpath(folder)
        self.project = os.path.join(folder, "project")
        self._home = os.path.join(folder, "home")
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        place = {"HOME": self._home, "RECOLLECT_HOME": os.path.join(folder, "data")}
        self._environment = {**inherited, **place}
        for name, text in _FILES.items():
            _write(os.path.join(self.project, name), text)
        for name in ("objects", "refs"):
            # With these it is a repository, and not a part of one around it.
            os.makedirs(os.path.join(self.project, ".git", name))
        with self.open() as memory:
            changes = memory.agents.init(agent=tuple(_TRANSCRIPTS), yes=True).changes
        self._hooks = {c.agent: json.loads(c.after)["hooks"] for c in changes if c.what == "hooks"}

    def open(self) -> Recollect:
        """Open the memory of the project."""
        return open_memory(self.project, environment=self._environment, origin="user")

    def replay(self, agent: str) -> Iterator[Heard]:
        """Do what the agent did; yield each event after its hooks have answered."""
        transcript = os.path.join(self._home, _TRANSCRIPTS[agent])
        with open(os.path.join(self._recordings, f"{agent}.jsonl"), encoding="utf-8") as file:
            for line in file:
                for name, value in (
                    ("$PROJECT", self.project),
                    ("$TRANSCRIPT", transcript),
                    ("$NOW", datetime.now(UTC).isoformat(timespec="milliseconds")),
                    ("$KEY", KEY),
                ):
                    line = line.replace(name, json.dumps(value)[1:-1])
                step = json.loads(line)
                if "transcript" in step:
                    _write(transcript, json.dumps(step["transcript"]) + "\n")
                else:
                    yield self._fire(agent, step["hook"])

    def _fire(self, agent: str, payload: Mapping[str, Any]) -> Heard:
        event = payload["hook_event_name"]
        about = payload.get("tool_name") or payload.get("source") or ""
        heard = Heard(agent, event, payload)
        for group in self._hooks[agent].get(event, ()):
            if re.fullmatch(group.get("matcher") or ".*", about):
                for handler in group["hooks"]:
                    heard = _answered(heard, self._run(handler["command"], payload))
        return heard

    def _run(self, command: str, payload: Mapping[str, Any]) -> str:
        """Run a hook; return its answer after everything that it started has ended too."""
        reader, writer = os.pipe()
        with os.fdopen(reader, "rb") as ended:
            try:
                done = subprocess.run(
                    ["/bin/sh", "-c", command],
                    input=json.dumps(payload),
                    stdout=subprocess.PIPE,
                    encoding="utf-8",
                    cwd=self.project,
                    env=self._environment,
                    pass_fds=(writer,),
                )
            finally:
                os.close(writer)
                # Returns when every process that has inherited the other end is gone.
                ended.read()
        return done.stdout


def _answered(heard: Heard, answer: str) -> Heard:
    if not answer.startswith("{"):
        return heard._replace(context=heard.context + answer)
    reply = json.loads(answer)
    context = reply.get("hookSpecificOutput", {}).get("additionalContext", "")
    return heard._replace(
        context=heard.context + context, notice=heard.notice + reply.get("systemMessage", "")
    )


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "a", encoding="utf-8") as file:
        file.write(text)
