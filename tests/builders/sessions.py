"""Generated sessions: turns, parallel and late results, errors, huge output, any script."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from recollect.text.messages import NumberedMessage
from recollect.types.records import Message, ToolCall

words = st.text(st.characters(codec="utf-8"), max_size=80) | st.sampled_from(
    [
        "yes",
        "ok, thanks",
        "続けてください",
        "Certainly, that is exactly what will happen next, word for word.",
    ]
)
tasks = st.text(st.characters(codec="utf-8"), min_size=50, max_size=120)
sizes = st.sampled_from([0, 10, 200, 3_000, 9_000])


@st.composite
def calls(draw: st.DrawFn, call_id: str) -> ToolCall:
    path = draw(st.sampled_from(["src/a.py", "src/b.py", "docs/c.md"]))
    name, arguments = draw(
        st.sampled_from(
            [
                ("Read", {"file_path": path}),
                ("Write", {"file_path": path, "content": "x"}),
                ("Bash", {"command": "git commit -m x"}),
                ("TodoWrite", {"todos": [{"content": path, "status": "pending"}]}),
                ("mcp__x__y", {}),
            ]
        )
    )
    return ToolCall(call_id, name, json.dumps(arguments))


@st.composite
def contents(draw: st.DrawFn) -> Any:
    """What a tool gave: text, or text in blocks among other things."""
    text = draw(st.sampled_from(["", "é", "output "])) * draw(sizes)
    if draw(st.integers(0, 2)):
        return text
    more = ({"type": "image", "url": "https://example.org/a.png"}, {"type": "text", "text": "end"})
    return ({"type": "text", "text": text}, *draw(st.sampled_from([(), more, more[::-1]])))


@st.composite
def turns(draw: st.DrawFn, at: int) -> tuple[list[Message], list[Message]]:
    """What one side says; the second list is what arrives later."""
    kind = draw(st.sampled_from(["user", "user", "assistant", "calls", "calls", "calls", "odd"]))
    if kind == "user":
        return [Message("user", draw(words | tasks))], []
    if kind == "assistant":
        return [Message("assistant", draw(words))], []
    if kind == "odd":
        odd = [
            Message("system", "the branch changed"),
            Message("tool", "nobody asked", call_id=f"orphan-{at}"),
            Message("assistant", "", (ToolCall(f"unanswered-{at}", "Bash"),)),
            Message("assistant", ({"type": "reasoning", "text": "r" * 400},)),
        ]
        return [draw(st.sampled_from(odd))], []
    made = tuple(draw(calls(f"{at}-{n}")) for n in range(draw(st.integers(1, 3))))
    reasoning: Any = (
        {"type": "reasoning", "text": "because " * 40},
        {"type": "text", "text": "so"},
    )
    said = Message("assistant", draw(st.sampled_from(["", "I look.", reasoning])), made)
    results = [
        Message(
            "tool",
            draw(contents()),
            call_id=call.id,
            is_error=draw(st.booleans()),
        )
        for call in made
    ]
    late = results[-1:] if draw(st.integers(0, 5)) == 0 else []
    if draw(st.booleans()):
        split = [Message("assistant", "", (call,)) for call in made]
        return [said._replace(calls=()), *split, *results[: len(results) - len(late)]], late
    return [said, *results[: len(results) - len(late)]], late


@st.composite
def sessions(draw: st.DrawFn, longest: int = 14) -> list[NumberedMessage]:
    """A session in the order of its archive."""
    messages = [Message("system", "You are careful.")] if draw(st.booleans()) else []
    waiting: list[Message] = []
    for at in range(draw(st.integers(1, longest))):
        now, later = draw(turns(at))
        messages += now
        if draw(st.booleans()):
            messages += waiting
            waiting = []
        waiting += later
    return number(messages + waiting)


def number(messages: list[Message]) -> list[NumberedMessage]:
    return [NumberedMessage(seq, message) for seq, message in enumerate(messages, 1)]


def call(name: str, call_id: str = "c", **arguments: Any) -> Message:
    """Return a message of the assistant with one tool call."""
    return Message("assistant", "", (ToolCall(call_id, name, json.dumps(arguments)),))


def result(call_id: str, text: Any, failed: bool = False) -> Message:
    """Return the result of a tool call."""
    return Message("tool", text, call_id=call_id, is_error=failed)


def ran(name: str, call_id: str, output: str, **arguments: Any) -> list[Message]:
    """Return a tool call and its result."""
    return [call(name, call_id, **arguments), result(call_id, output)]


def stub(why: str, seq: int) -> str:
    """Return the line that replaces a message of the session s1."""
    return f"[{why}: memory://session/s1/messages/{seq}-{seq}]"


def claude_code_folder(home: Path) -> Path:
    """Make a folder in which Claude Code itself keeps transcripts: what lies there is the user's."""
    folder = home / ".claude" / "projects" / "w"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
