"""`recollect demo`: what memory does for two agents, shown with the real hooks.

A recorded session of Claude Code, then one of Codex, are replayed in a project that is thrown
away. Everything that is shown as captured, told or found is what the program answered.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from tempfile import TemporaryDirectory
from typing import Any

from ..client import Recollect
from ..text import display
from ..text.messages import said
from .replay import Heard, Sandbox
from .screens.terminal import colours, columns

AGENTS = {"claude-code": "Claude Code", "codex": "Codex"}
"""In the order of their sessions."""

_QUESTION = "why do the integration tests hang?"
_TRIMMED = "ConnectionError localhost:6380"
_MARK = "[REDACTED:"
_MARGIN = " " * 14


def tell(arguments: Sequence[str]) -> int:
    """Tell the story; gives the exit status."""
    if set(arguments) - {"--json"}:
        print("usage: recollect demo [--json]\n\nReplay two recorded sessions of agents.")
        return 0 if set(arguments) & {"-h", "--help"} else 2
    as_json = "--json" in arguments
    with TemporaryDirectory(prefix="recollect-demo-") as folder:
        story = play(Sandbox(folder), Silence() if as_json else Page())
    if as_json:
        print(display.as_json(story))
    return 0


class Page:
    """Prints the story, in colour where a person looks."""

    def __init__(self) -> None:
        self._colour = colours(sys.stdout)
        self._width = min(columns(), 88)

    def title(self, text: str) -> None:
        text = textwrap.fill(text, self._width)
        self._print(f"\033[1m{text}\033[0m" if self._colour else text, before="\n")

    def say(self, who: str, text: str) -> None:
        """Print what somebody said, line by line, under their name."""
        for line in text.splitlines():
            self._print(self._fill(line, f"  {who:<12}", _MARGIN))
            who = ""

    def note(self, text: str, indent: str = "  ") -> None:
        line = self._fill(text, indent, indent)
        self._print(f"\033[2m{line}\033[0m" if self._colour else line)

    def _fill(self, text: str, first: str, others: str) -> str:
        return textwrap.fill(
            display.visible(text),
            self._width,
            initial_indent=first,
            subsequent_indent=others,
            break_on_hyphens=False,
        )

    def _print(self, text: str, before: str = "") -> None:
        print(f"{before}{text}")


class Silence(Page):
    """Prints nothing."""

    def _print(self, text: str, before: str = "") -> None: ...


def play(sandbox: Sandbox, page: Page) -> dict[str, Any]:
    """Replay the sessions, print what happens; return what hooks and searches answered."""
    first, second = AGENTS
    page.title(f"1. A session with {AGENTS[first]}; its hooks run Recollect:")
    heard = _converse(sandbox, first, page)
    with sandbox.open() as memory:
        page.title("2. What Recollect kept of it:")
        captured = _show_kept(memory, page)
    page.title(f"3. The next session, with {AGENTS[second]}:")
    heard += _converse(sandbox, second, page, contexts=True)
    with sandbox.open() as memory:
        page.title("4. Search, over both sessions:")
        found = _search(memory, page, first)
        proof = memory.verify(archive=True)
    told = display.counted(proof.messages, "message")
    page.title(f"The archive is intact: {told} in {display.counted(proof.sessions, 'session')}.")
    page.note(
        "The sessions are recordings; what Recollect kept, added and found was made in this run, "
        "on a store that is gone now. To begin in your own project: recollect init"
    )
    events = [item._replace(payload={}) for item in heard]
    return {"hooks": events, "captured": captured, **found, "proof": proof}


def _converse(sandbox: Sandbox, agent: str, page: Page, contexts: bool = False) -> list[Heard]:
    heard = []
    for item in sandbox.replay(agent):
        heard.append(item)
        _show_event(item, page)
        if item.context:
            page.say("to model:", item.context)
        elif contexts and item.event in ("SessionStart", "UserPromptSubmit"):
            page.note(f"({item.event}: nothing was added for the model)")
        if item.notice:
            page.say("to you:", item.notice)
    return heard


def _show_event(heard: Heard, page: Page) -> None:
    """Print what happened, in the words of the hook's payload."""
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


def _show_kept(memory: Recollect, page: Page) -> list[Any]:
    captured = list(memory.list())[::-1]
    for item in captured:
        page.say(f"{item.kind}:", item.text)
    if not captured:
        page.note("No memory was captured.")
    for episode in reversed(memory.episodes.list()):
        actions = display.counted(len(episode.episode.get("action_log", ())), "action")
        page.say("episode:", f"{episode.outcome}, {actions}: {display.one_line(episode.goal, 60)}")
    for session in memory.sessions.list():
        page.say("session:", f"{session.id}, {display.counted(session.messages, 'message')}")
        for stored in memory.sessions.recent(session.id, session.messages):
            text = said(stored.message)
            if _MARK in text:
                at = text.index(_MARK)
                page.say("redacted:", f"…{text[max(at - 40, 0) : at + 30]}…")
    return captured


def _search(memory: Recollect, page: Page, agent: str) -> dict[str, Any]:
    hits = memory.recall(_QUESTION, limit=3)
    page.note(f"recollect recall {_QUESTION!r}")
    _show_hits(hits, page)
    session = next(item for item in memory.sessions.list() if item.agent == agent)
    trimmed = memory.sessions.trim(session.id)
    left = sum(last - first + 1 for first, last in trimmed.dropped)
    page.note(
        f"recollect session trim: {display.counted(left, 'message')} of {session.messages} left "
        f"the window, {trimmed.before} → {trimmed.after} tokens. They are still found:"
    )
    gone = [
        hit
        for hit in memory.recall(_TRIMMED, session=session.id)
        if any(first <= _number(hit.address) <= last for first, last in trimmed.dropped)
    ]
    page.note(f"recollect recall {_TRIMMED!r}")
    _show_hits(gone[:1], page)
    return {"recalled": list(hits), "trimmed": trimmed, "recalled_after_trim": gone[:1]}


def _show_hits(hits: Sequence[Any], page: Page) -> None:
    for hit in hits:
        page.say(f"{hit.score:.2f}", display.one_line(hit.text, 150))
        page.say("", hit.address)
    if not hits:
        page.note("Nothing was found.")


def _number(address: str) -> int:
    """Return the number of a message, 0 if the address is of something else."""
    last = address.rpartition("-")[2]
    return int(last) if "/messages/" in address and last.isdecimal() else 0
