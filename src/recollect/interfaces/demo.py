"""`recollect demo`: the main job in one command, on a throw-away store, with the real operations.

Two conversations about one repository; the second profits from the first.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from tempfile import TemporaryDirectory
from typing import Any

from .. import open as open_memory
from ..app import Recollect
from ..core import render
from .screen import colours, columns

_FIRST = (
    ("user", "The integration tests hang on my machine. Can you find out why?"),
    ("assistant", "They wait for Redis on port 6380; the compose file starts it on 6379."),
    ("user", "Right. And never edit files under src/generated, they are built from the schema."),
)
_LEARNED: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "Integration tests hang when Redis is not on port 6380: start it with `make redis-test`.",
        {"kind": "solution", "tags": ("tests", "redis"), "evidence": ("1", "2")},
    ),
    (
        "Never edit files under src/generated; change the schema and run `make generate`.",
        {"kind": "policy", "scope": ("src/generated/**",), "evidence": ("3",)},
    ),
    ("Prefers small commits with a test in each.", {"kind": "preference", "layer": "user"}),
)
_QUESTIONS = (
    "the test suite hangs, what do I do about redis?",
    "may I fix the typo in src/generated/client.ts?",
)


def tell(arguments: Sequence[str]) -> int:
    """Tell the story; gives the exit status."""
    if set(arguments) - {"--json"}:
        print("usage: recollect demo [--json]\n\nTell a short story of two conversations.")
        return 0 if set(arguments) & {"-h", "--help"} else 2
    as_json = "--json" in arguments
    with TemporaryDirectory(prefix="recollect-demo-") as folder:
        environment = {"RECOLLECT_HOME": f"{folder}/home"}
        with open_memory(folder, environment=environment, origin="user") as memory:
            story = _tell(memory, _Quiet() if as_json else _Page())
    if as_json:
        print(render.as_json(story))
    return 0


class _Page:
    """Prints the story, in colour where a person looks."""

    def __init__(self) -> None:
        self._colour = colours(sys.stdout)
        self._width = min(columns(), 88)

    def title(self, text: str) -> None:
        print(f"\n\033[1m{text}\033[0m" if self._colour else f"\n{text}")

    def say(self, text: str, mark: str = "  ") -> None:
        print(
            textwrap.fill(
                render.visible(text), self._width, initial_indent=mark, subsequent_indent=" " * 5
            )
        )

    def note(self, text: str) -> None:
        line = textwrap.indent(textwrap.fill(text, self._width - 5), " " * 5)
        print(f"\033[2m{line}\033[0m" if self._colour else line)


class _Quiet(_Page):
    def title(self, text: str) -> None: ...

    def say(self, text: str, mark: str = "  ") -> None: ...

    def note(self, text: str) -> None: ...


def _tell(memory: Recollect, page: _Page) -> dict[str, Any]:
    page.title("Monday. A conversation with a coding agent:")
    for role, text in _FIRST:
        memory.record("monday", text, role=role)
        page.say(text, f"  {role}: ")
    page.title("Recollect keeps every message, and what is worth knowing later:")
    for text, fields in _LEARNED:
        places = fields.pop("evidence", ())
        fields["evidence"] = [f"memory://session/monday/messages/{at}-{at}" for at in places]
        learned = memory.learn(text, **fields)
        page.say(learned.memory.text, f"  + {learned.memory.kind}: ")
    secret = memory.record("monday", "the staging key is AKIA" + "Q3J5K7M2N4P6R8T1")
    if secret.redacted:
        page.note(f"A key that slipped into the chat never reached the disk: {secret.redacted[0]}.")
    page.title("Thursday. Another conversation, another agent, an empty context:")
    answers = {}
    for question in _QUESTIONS:
        memory.record("thursday", question)
        page.say(question, "  user: ")
        hits = memory.recall(question, limit=1, kind=["policy", "solution"])
        answers[question] = hits
        for hit in hits:
            page.say(hit.text, "  recalled: ")
            shown = memory.show(hit.id).memory
            where = shown.evidence[0] if shown and shown.evidence else hit.address
            page.note(f"{hit.kind}, {hit.tokens} tokens, from {where}")
    proof = memory.verify(archive=True)
    page.title(
        f"The archive is intact: {proof.messages} messages in {proof.sessions} conversations."
    )
    page.note(
        "This ran on a throw-away store that is gone now. To begin for real, in your project:"
    )
    page.say("recollect init         connects your agents: they remember by themselves", "     ")
    page.say('recollect learn "…"    and later: recollect recall "…"', "     ")
    return {
        "recalled": {question: list(hits) for question, hits in answers.items()},
        "proof": proof,
    }
