"""Records for tests: the examples of the formats we read, talks with tool calls, memories."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from recollect import Recollect
from recollect.episodes.records import Action, Episode, ErrorSeen, build
from recollect.lessons.plan_rules import Learn, LessonPlan, Step
from recollect.text.messages import NumberedMessage
from recollect.types.records import FOREVER, KINDS, Memory, Message, ToolCall

DAY = 86_400_000_000
NOW = 1_790_000_000_000_000

FORMATS = Path(__file__).parent.parent / "fixtures" / "formats"


def example(name: str) -> Any:
    """An example of a format, as its description gives it."""
    return json.loads((FORMATS / name).read_text(encoding="utf-8"))


EPISODE = example("episode.json")


def episode(id: str, goal: str, **fields: Any) -> Episode:
    """A successful episode of a session of its own."""
    given = {"at": NOW, "outcome": "success", "session": f"s-{id}", "label": "agent", **fields}
    return Episode(id=id, goal=goal, **given)


def error(type: str, message: str, resolution: str = "") -> ErrorSeen:
    return ErrorSeen(type, message, resolution)


def passed(target: str) -> Action:
    return Action(action="run_test", target=target, result="pass")


def memory(id: str = "m-1", kind: str = "fact", text: str = "", **fields: Any) -> Memory:
    """A memory as it stands after it was learned."""
    values: dict[str, Any] = dict.fromkeys(Memory._fields, ())
    values |= dict.fromkeys(("subject", "reason", "owner", "digest"), "")
    values |= {"id": id, "root": id, "revision": 1, "kind": kind, "text": text, "detail": {}}
    values |= {"confidence": 0.8, "category": "project", "layer": "project", "status": "active"}
    values |= {"priority": KINDS[kind].priority, "origin": "user", "label": "user"}
    values |= dict.fromkeys(("successes", "failures", "recalls", "last_recalled"), 0)
    values |= {"reinforcement": 1, "valid_to": FOREVER, **times(NOW), **fields}
    return Memory(**values)


def times(at: int) -> dict[str, Any]:
    """Return the times of a memory that was learned at a moment, and not touched since."""
    return dict.fromkeys(("first_seen", "last_confirmed", "last_reinforced", "valid_from"), at)


class Talk:
    """A session that is written down turn by turn, a second apart."""

    def __init__(self) -> None:
        self.messages: list[NumberedMessage] = []

    def add(self, message: Message) -> Talk:
        seq = len(self.messages) + 1
        at = message.at or NOW + seq * 1_000_000
        self.messages.append(NumberedMessage(seq, message._replace(at=at)))
        return self

    def user(self, words: str) -> Talk:
        return self.add(Message("user", words))

    def agent(self, words: str) -> Talk:
        return self.add(Message("assistant", words))

    def host(self, words: str) -> Talk:
        return self.add(Message("system", words, name="host"))

    def call(
        self,
        name: str,
        arguments: dict[str, Any] | str,
        output: str | None = "",
        error: bool = False,
    ) -> Talk:
        """A call and its result; an output of None leaves it unanswered."""
        id = f"call-{len(self.messages)}"
        given = arguments if isinstance(arguments, str) else json.dumps(arguments)
        self.add(Message("assistant", "", (ToolCall(id, name, given),)))
        if output is not None:
            self.add(Message("tool", output, call_id=id, is_error=error))
        return self

    def shell(self, command: str, output: str = "", status: int = 0) -> Talk:
        """A shell call as Claude Code writes it down."""
        text = f"Exit code {status}\n{output}" if status else output
        return self.call("Bash", {"command": command}, text, bool(status))

    def edit(self, path: str, old: str = "a", new: str = "b") -> Talk:
        given = {"file_path": path, "old_string": old, "new_string": new}
        return self.call("Edit", given, f"The file {path} has been updated.")


def only(talk: Talk, session: str = "", agent: str = "", cwd: str = "") -> Episode:
    """The one episode of a session."""
    [episode] = build(talk.messages, session, agent, cwd)
    return episode


ENDPOINTS = [
    "Implement POST /api/todos endpoint",
    "Add GET /api/users endpoint",
    "Create DELETE /api/orders endpoint",
    "Implement PUT /api/items endpoint with validation",
    "Add PATCH /api/todos endpoint",
]


def endpoint_episodes(count: int = 5, **fields: Any) -> list[Episode]:
    return [
        episode(
            f"e-{at}",
            goal,
            artifacts=(f"src/routes/r{at}.ts", f"tests/r{at}.test.ts"),
            actions=(passed("npm test"),),
            **fields,
        )
        for at, goal in enumerate(ENDPOINTS[:count], 1)
    ]


def kept(id: str, step: Learn) -> Memory:
    """The memory that a step makes when it is applied."""
    return memory(
        id,
        step.kind,
        step.text,
        subject=step.subject,
        detail=step.detail,
        examples=step.examples,
        confidence=step.confidence,
        label=step.label,
        sources=step.sources,
        evidence=step.sources,
    )


def of_kind(found: LessonPlan, kind: type[Step]) -> list[Any]:
    return [step for step in found.steps if isinstance(step, kind)]


def shown_memory(mem: Recollect, address: str) -> Memory:
    """Return the memory that `show` finds at an address."""
    memory = mem.show(address).memory
    assert memory is not None
    return memory
