"""A session as text to keep: JSON lines that lose nothing, and Markdown to read.

Decides how messages look outside of Recollect, and how text from anywhere stays text. It does
not know files, nor how a page looks (`archive.export_html` does).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from ..text.display import moment, visible, without_escapes
from ..text.messages import arguments_text, block_text, blocks_of, body_of
from ..types.records import Message, Session, Stored

_JOINERS = re.compile("([\u200c\u200d])")
_CODE = re.compile(r"(`+[^`]*`+)")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")


def shown(text: str) -> str:
    """Text for the eye: a terminal's colours are gone, what would hide or steer is visible."""
    if text.isprintable():
        return text
    if "\x1b" in text:
        text = without_escapes(text, "")
    # The joiners of emoji and of Persian are part of what is read.
    return "".join(
        piece if piece in ("\u200c", "\u200d") else visible(piece) for piece in _JOINERS.split(text)
    )


def title_of(session: Session) -> str:
    """What a session is called."""
    return shown(" ".join(session.name.split())) or session.id


def facts_of(session: Session) -> list[str]:
    """What there is to say of a session as a whole, in a few words each."""
    days = dict.fromkeys((moment(session.created)[:10], moment(session.last_active)[:10]))
    facts = [f"session {session.id}", f"{session.messages} messages", " to ".join(days)]
    facts += [shown(text) for text in (session.agent, session.branch) if text]
    if session.usage:
        spent = session.usage
        facts.append(
            f"{spent.get('input_tokens', 0):,} tokens in, {spent.get('output_tokens', 0):,} out"
        )
    return facts


def words_of(message: Message) -> tuple[str, str]:
    """What a message says, and what was thought before it."""
    said: list[str] = []
    thought: list[str] = []
    for block in blocks_of(message.content):
        if text := block_text(block):
            (thought if block.get("type") == "reasoning" else said).append(text)
    return "\n".join(said), "\n".join(thought)


# ---------------------------------------------------------------- JSON lines


def jsonl(session: Session, messages: Iterable[Stored]) -> Iterator[str]:
    """The session and then every message, one JSON object a line, with the hashes."""
    about = {"recollect": "session", "id": session.id, "name": session.name}
    about |= {"agent": session.agent, "created": moment(session.created)}
    yield _line(about)
    for stored in messages:
        place = {"seq": stored.seq, "at": moment(stored.message.at), "origin": stored.origin}
        proof = {"digest": stored.digest, "hash": stored.hash}
        yield _line({**place, **body_of(stored.message), **proof})


def _line(value: object) -> str:
    # U+2028 and U+2029 are line ends to some readers of lines.
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    text = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return text.encode("utf-8", "backslashreplace").decode() + "\n"


# ---------------------------------------------------------------- Markdown


def markdown(session: Session, messages: Iterable[Stored]) -> Iterator[str]:
    """A page to read: what was said as Markdown, what tools said in fences."""
    yield f"# {_inert(title_of(session))}\n\n{_inert(' · '.join(facts_of(session)))}\n"
    names: dict[str, str] = {}
    for stored in messages:
        message = stored.message
        names.update((call.id, call.name) for call in message.calls)
        said, thought = words_of(message)
        yield f"\n## {stored.seq} · {message.role} · {moment(message.at)[:19]}\n"
        if thought:
            yield f"\n*Reasoning:*\n\n{_quoted(_inert(shown(thought)))}\n"
        if message.role == "tool":
            name = _inert(shown(names.get(message.call_id, "tool")))
            yield f"\n*{'Error' if message.is_error else 'Result'} of {name}:*\n{_fenced(said)}"
        elif said:
            yield f"\n{_inert(shown(said))}\n"
        for call in message.calls:
            given = arguments_text(call.arguments)
            yield f"\n*Call of {_inert(shown(call.name))}:*\n{_fenced(given)}"


def _fenced(text: str) -> str:
    text = shown(text)
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"\n{fence}text\n{text}\n{fence}\n"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.split("\n"))


def _inert(text: str) -> str:
    """Markdown in which no HTML lives: a tag outside of code is shown, not obeyed."""
    if "<" not in text:
        return text
    lines = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
        elif mark:
            fence = mark[1]
        else:
            parts = _CODE.split(line)
            parts[::2] = [part.replace("<", "\\<") for part in parts[::2]]
            line = "".join(parts)
        lines.append(line)
    # A fence that is never closed would swallow the rest of the page.
    return "\n".join([*lines, fence] if fence else lines)
