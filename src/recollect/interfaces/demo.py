"""`recollect demo`: replay two scripted agent sessions with the real hooks in a temporary project.

A session of Claude Code comes first, then one of Codex. The prompts, answers and tool calls are a
script in the agents' own formats; everything captured, added or found is the real output of this
run.

A recording has one JSON object a line, in the order of the session: `{"hook": …}` is a payload for
the hooks, `{"transcript": …}` a record that the agent appends to its transcript. `$PROJECT`,
`$TRANSCRIPT`, `$NOW` and `$KEY` are replaced. The hooks are those that `recollect init` writes into
the agent's settings, started by a shell. The replay waits for processes they start.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from tempfile import TemporaryDirectory
from typing import NamedTuple

from .. import open as open_memory
from ..client import Recollect
from ..lessons.steps_observed import known_commands
from ..text import display
from ..text.addresses import parse_address
from ..text.messages import plain_text
from ..types.records import Hit, Json, Memory
from .commands import Arguments
from .screens import style

RECORDINGS = os.path.join(os.path.dirname(__file__), "recordings")
"""One file per agent, with its name; project.json holds the files of the project."""

FAKE_SECRET = "AKIA" + "Q3J5K7M2N4P6R8T1"
_TRANSCRIPTS = {
    "claude-code": ".claude/projects/demo/5b0c2f6e-7a41-4d0f-9c53-2f1e6a8d9b10.jsonl",
    "codex": ".codex/sessions/rollout-019a1de2-326c-7201-abe0-b8c049ba2d21.jsonl",
}

_INHERITED = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH")
"""Variables for child processes; none leads to the user's own files."""


class ReplayedEvent(NamedTuple):
    """An event of an agent with the hooks' context for the model and notice for the user."""

    agent: str
    event: str
    payload: Mapping[str, Json]
    context: str = ""
    notice: str = ""


class Sandbox:
    """A temporary project with a memory, and a home with agents connected to it."""

    def __init__(self, folder: str, recordings: str = RECORDINGS) -> None:
        self._recordings = recordings
        # Agents report their working directory with links resolved.
        folder = os.path.realpath(folder)
        self.project = os.path.join(folder, "project")
        self._home = os.path.join(folder, "home")
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        place = {"HOME": self._home, "RECOLLECT_HOME": os.path.join(folder, "data")}
        self._environment = {**inherited, **place}
        with open(os.path.join(RECORDINGS, "project.json"), encoding="utf-8") as file:
            for name, text in json.load(file).items():
                _write(os.path.join(self.project, name), text)
        for name in ("objects", "refs"):
            # These folders make it a repository of its own.
            os.makedirs(os.path.join(self.project, ".git", name))
        with self.open() as memory:
            changes = memory.agents.init(agent=tuple(_TRANSCRIPTS), yes=True).changes
        self._hooks = {
            c.agent: json.loads(c.after)["hooks"] for c in changes if c.what.startswith("hooks")
        }

    def open(self) -> Recollect:
        """Open the memory of the project."""
        return open_memory(self.project, environment=self._environment, origin="user")

    def replay(self, agent: str) -> Iterator[ReplayedEvent]:
        """Replay a recording; yield each event with the answers of its hooks."""
        transcript = os.path.join(self._home, _TRANSCRIPTS[agent])
        with open(os.path.join(self._recordings, f"{agent}.jsonl"), encoding="utf-8") as file:
            for line in file:
                for name, value in (
                    ("$PROJECT", self.project),
                    ("$TRANSCRIPT", transcript),
                    ("$NOW", datetime.now(UTC).isoformat(timespec="milliseconds")),
                    ("$KEY", FAKE_SECRET),
                ):
                    line = line.replace(name, json.dumps(value)[1:-1])
                step = json.loads(line)
                if "transcript" in step:
                    _write(transcript, json.dumps(step["transcript"]) + "\n")
                else:
                    yield self._fire(agent, step["hook"])

    def _fire(self, agent: str, payload: Mapping[str, Json]) -> ReplayedEvent:
        event = payload["hook_event_name"]
        about = payload.get("tool_name") or payload.get("source") or ""
        context = notice = ""
        for group in self._hooks[agent].get(event, ()):
            for handler in group["hooks"]:
                if not re.fullmatch(group.get("matcher") or ".*", about):
                    continue
                answer = self._run(handler["command"], payload)
                reply = json.loads(answer) if answer.startswith("{") else {}
                added = reply.get("hookSpecificOutput", {}).get("additionalContext", "")
                context += added if reply else answer
                notice += reply.get("systemMessage", "")
        return ReplayedEvent(agent, event, payload, context, notice)

    def _run(self, command: str, payload: Mapping[str, Json]) -> str:
        """Run a hook; wait for all processes that it started, and return its answer."""
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
                # Returns when every process that inherited the other end has ended.
                ended.read()
        return done.stdout


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "a", encoding="utf-8") as file:
        file.write(text)


AGENTS = {"claude-code": "Claude Code", "codex": "Codex"}
"""The agents in the order of their sessions."""

_QUESTION = "why do the tests wait for Redis?"
_TRIMMED = "ConnectionError localhost:6380"
_MARK = "[REDACTED:"
_MARGIN = " " * 14


def run_demo(given: Arguments, short: bool = False) -> int:
    """Replay two recorded agent sessions and show what memory adds.

    short: only what you say, and what the next agent is given

    Example: recollect demo
    Example: recollect demo --short
    """
    with TemporaryDirectory(prefix="recollect-demo-") as folder:
        if given.json:
            print(display.format_json(play_sessions(Sandbox(folder), SilentPage())))
        elif short:
            play_short(Sandbox(folder), DemoPage())
        else:
            play_sessions(Sandbox(folder), DemoPage())
    return 0


class DemoPage:
    """Prints the demo, in colour at a terminal."""

    def __init__(self) -> None:
        self._width = min(style.terminal_width(), 88)

    def title(self, text: str) -> None:
        self._print("\n" + style.paint("title", textwrap.fill(text, self._width)))

    def say(self, who: str, text: str) -> None:
        """Print text with the speaker's name before the first line."""
        for line in text.splitlines():
            lead = f"  {who:<12}"
            filled = self._fill(line, lead, _MARGIN)
            self._print(style.paint("id", lead) + filled.removeprefix(lead) if who else filled)
            who = ""

    def note(self, text: str, indent: str = "  ") -> None:
        self._print(style.paint("faint", self._fill(text, indent, indent)))

    def _fill(self, text: str, first: str, others: str) -> str:
        return textwrap.fill(
            display.escape_invisible(text),
            self._width,
            initial_indent=first,
            subsequent_indent=others,
            break_on_hyphens=False,
        )

    def _print(self, text: str) -> None:
        print(style.finish(text))


class SilentPage(DemoPage):
    """Prints nothing."""

    def _print(self, text: str) -> None: ...


def play_sessions(sandbox: Sandbox, page: DemoPage) -> dict[str, object]:
    """Replay the sessions and print them; return the output of hooks and searches."""
    first, second = AGENTS
    page.title(f"1. A session with {AGENTS[first]}; its hooks run Recollect:")
    heard = _replay_session(sandbox, first, page)
    with sandbox.open() as memory:
        page.title("2. What Recollect saved:")
        captured = _show_saved(memory, page)
    page.title(f"3. The next session, with {AGENTS[second]}:")
    heard += _replay_session(sandbox, second, page, contexts=True)
    with sandbox.open() as memory:
        page.title("4. Search, over both sessions:")
        found = _search(memory, page, first)
        proof = memory.verify(archive=True)
    messages = display.format_count(proof.messages, "message")
    sessions = display.format_count(proof.sessions, "session")
    page.title(f"The archive is intact: {messages} in {sessions}.")
    page.note(
        "What you, the agents and their tools say is a script. What Recollect saved, added and "
        "found is the output of this run, with the hooks of init; its store is deleted now. "
        "Start in your own project: recollect init"
    )
    events = [item._replace(payload={}) for item in heard]
    return {"hooks": events, "captured": captured, **found, "proof": proof}


def play_short(sandbox: Sandbox, page: DemoPage) -> None:
    """Replay the sessions; print what the user said, and what the hooks answered."""
    first, second = AGENTS
    page.title(f"You work with {AGENTS[first]}:")
    for item in sandbox.replay(first):
        if item.event == "UserPromptSubmit":
            page.say("you:", item.payload["prompt"])
        if item.notice:
            page.say("to you:", re.sub(r" \(recollect [^)]*\)", "", item.notice))
    page.title(f"The next session, with {AGENTS[second]}, begins with what was learned:")
    for item in sandbox.replay(second):
        if item.event == "UserPromptSubmit":
            page.say("you:", item.payload["prompt"])
        if item.context:
            page.say("to model:", item.context)
        if item.event == "Stop":
            page.say("agent:", item.payload["last_assistant_message"])


def _replay_session(
    sandbox: Sandbox, agent: str, page: DemoPage, contexts: bool = False
) -> list[ReplayedEvent]:
    heard = []
    for item in sandbox.replay(agent):
        heard.append(item)
        _show_event(item, page)
        if item.context:
            page.say("to model:", item.context)
        elif contexts and item.event in ("SessionStart", "UserPromptSubmit"):
            page.note(f"({item.event}: nothing added for the model)")
        if item.notice:
            page.say("to you:", item.notice)
    return heard


def _show_event(heard: ReplayedEvent, page: DemoPage) -> None:
    """Print an event from the hook's payload."""
    given = heard.payload
    if heard.event == "UserPromptSubmit":
        page.say("you:", given["prompt"])
    elif heard.event in ("PostToolUse", "PostToolUseFailure"):
        about = given["tool_input"]
        about = str(about.get("command") or about.get("file_path") or "")
        files = [line.partition(": ")[2] for line in about.splitlines() if " File: " in line]
        failed = " (failed)" if given.get("error") else ""
        about = " ".join(files) or about.removeprefix(f"{given['cwd']}/")
        page.note(f"{given['tool_name']} {about}{failed}", _MARGIN)
    elif heard.event == "Stop":
        page.say("agent:", given["last_assistant_message"])


def _show_saved(memory: Recollect, page: DemoPage) -> list[Memory]:
    captured = list(memory.list())[::-1]
    for item in captured:
        waits = f" ({item.status}: not used until you keep it)"
        page.say(f"{item.kind}:", item.text + (waits if item.status != "active" else ""))
    if not captured:
        page.note("no memory captured")
    now = memory.context.clock()
    for known in memory.context.project_space.read(lambda tx: known_commands(tx, now=now)):
        if not known.retired:
            page.say("command:", f"{known.form} worked")
    for episode in reversed(memory.episodes.list()):
        actions = display.format_count(len(episode.episode.get("action_log", ())), "action")
        page.say(
            "episode:", f"{episode.outcome}, {actions}: {display.format_line(episode.goal, 60)}"
        )
    for session in memory.sessions.list():
        page.say("session:", f"{session.id}, {display.format_count(session.messages, 'message')}")
        for stored in memory.sessions.recent(session.id, session.messages):
            text = plain_text(stored.message)
            if _MARK in text:
                at = text.index(_MARK)
                page.say("redacted:", f"…{text[max(at - 40, 0) : at + 30]}…")
    return captured


def _search(memory: Recollect, page: DemoPage, agent: str) -> dict[str, object]:
    hits = memory.recall(_QUESTION, limit=3)
    page.note(f"recollect recall {_QUESTION!r}")
    _show_hits(hits, page)
    session = next(item for item in memory.sessions.list() if item.agent == agent)
    trimmed = memory.sessions.trim(session.id)
    left = sum(last - first + 1 for first, last in trimmed.dropped)
    page.note(
        f"recollect session trim: {display.format_count(left, 'message')} of {session.messages} "
        f"left the window, {trimmed.before} → {trimmed.after} tokens. They are still found:"
    )
    gone = [
        hit
        for hit in memory.recall(_TRIMMED, session=session.id)
        if any(first <= parse_address(hit.address).last <= last for first, last in trimmed.dropped)
    ]
    page.note(f"recollect recall {_TRIMMED!r}")
    _show_hits(gone[:1], page)
    return {"recalled": list(hits), "trimmed": trimmed, "recalled_after_trim": gone[:1]}


def _show_hits(hits: Sequence[Hit], page: DemoPage) -> None:
    for hit in hits:
        page.say(f"{hit.score:.2f}", display.format_line(hit.text, 150))
        page.note(style.shorten_place(hit.address.removeprefix("memory://")), _MARGIN)
    if not hits:
        page.note("nothing found")
