"""What the readers share about messages: their origin, token counts, names, and our own text.

The provider formats themselves are decoded by `providers.formats`. This module adds what a
transcript knows beside them. Nothing here trusts a type: what an agent wrote may be anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from ...actions import echo
from ...capture.sentences import untyped
from ...errors import InvalidInput
from ...providers import formats
from ...secrets import redaction
from ...text.messages import plain_text, strip_injected_message
from ...types.records import Json, Message
from .reader_io import TranscriptEntry

if TYPE_CHECKING:
    from .reader_io import TranscriptItem


IMPORT_ORIGIN = "import"

_PATHS = {"user": "user", "assistant": "agent"}

LEFT_OUT = "[an answer of recollect, left out]"


def as_dict(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def as_list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def as_text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def as_number(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def make_title(text: str) -> str:
    """A session's name from its first prompt: the first line that says something.

    "Implement the following plan:" says nothing by itself: the heading below it is the name, or
    what follows is told too.
    """
    lines = (line.strip() for line in text.splitlines() if line.strip(" \t`"))
    line = next(lines, "")
    below = next(lines, "") if line.endswith(":") else ""
    if below.startswith("#"):
        line = below.lstrip("# ") or line
    elif below:
        line = f"{line} {below}"
    if len(line) > 80:
        line = redaction.redact(line)  # what is left of a token that was cut looks like none
    return line if len(line) <= 80 else line[:79].rstrip() + "…"


def decode_record(record: Mapping[str, Json], form: str) -> list[Message]:
    """The messages in a provider's record; ValueError if it cannot be understood."""
    read = formats.from_record if form != "auto" else formats.from_wire
    try:
        return read(record, form)
    except InvalidInput as error:
        raise ValueError(error.message) from error


def make_entries(
    session: str, messages: Iterable[Message], origin: str = "", decoded: bool = False
) -> Iterator[TranscriptItem]:
    """The messages that say something of their own, with who said it; what was `decoded` holds
    nothing else any more.

    The origin is the path a message came in on: what a person typed is theirs, unless every
    word of it was pasted. `IMPORT` is for files that come with a repository or from anywhere:
    whoever wrote them can write any role into them.
    """
    for given in messages:
        message = given if decoded else strip_injected_message(given)
        if not message or not (message.content or message.calls or message.role == "tool"):
            continue
        path = origin or _PATHS.get(message.role, "tool")
        if message.role == "tool" and path != IMPORT_ORIGIN:
            path = "tool"
        if path != "user":
            yield TranscriptEntry(session, message, path)
            continue
        text = plain_text(message)
        spans = untyped(message)
        yield TranscriptEntry(
            session, message, "user" if _has_typed_text(text, spans) else "tool", spans
        )


def _has_typed_text(text: str, spans: Iterable[tuple[int, int]]) -> bool:
    position = 0
    for start, end in spans:
        if text[position:start].strip():
            return True
        position = end
    return bool(text[position:].strip())


def drop_own_answers(messages: list[Message], state: dict[str, Json]) -> list[Message]:
    """Results of our own tools are left out: memory must not feed on itself.

    The ids of our open calls travel in the reader's state.
    """
    open_calls = state.setdefault("own_calls", [])
    kept = []
    for message in messages:
        if message.calls:
            open_calls += [call.id for call in message.calls if echo.is_own_call(call)]
        if message.role == "tool" and message.call_id in open_calls:
            open_calls.remove(message.call_id)
            message = message._replace(content=LEFT_OUT, extra=None)
        kept.append(message)
    return kept


_COUNTS = {
    "input_tokens": ("input_tokens", "prompt_tokens", "inputTokens", "input"),
    "output_tokens": ("output_tokens", "completion_tokens", "outputTokens", "output"),
    "cache_read_tokens": (
        "cache_read_input_tokens",
        "cached_input_tokens",
        "cacheReadTokens",
        "cached",
    ),
    "cache_write_tokens": (
        "cache_creation_input_tokens",
        "cache_write_input_tokens",
        "cacheWriteTokens",
    ),
    "reasoning_tokens": ("reasoning_output_tokens", "reasoningTokens", "thoughts", "reasoning"),
}


def normalise_usage(raw: Json) -> dict[str, int]:
    """Token counts under our names. `input_tokens` is the whole prompt, cached parts included."""
    counts = as_dict(raw)
    if not counts:
        return {}
    usage: dict[str, int] = {}
    for name, keys in _COUNTS.items():
        for key in keys:
            if key in counts:
                usage[name] = as_number(counts[key])
                break
    if "cache_read_input_tokens" in counts or "cache_creation_input_tokens" in counts:
        # Anthropic counts the cached parts of a prompt beside the rest of it.
        cached = usage.get("cache_read_tokens", 0) + usage.get("cache_write_tokens", 0)
        usage["input_tokens"] = usage.get("input_tokens", 0) + cached
    return {name: count for name, count in usage.items() if count > 0}


def subtract_usage(now: Mapping[str, int], before: Mapping[str, Json]) -> dict[str, int]:
    """What a request's count grew by since it was last seen: requests are counted once."""
    grown = {name: count - as_number(before.get(name)) for name, count in now.items()}
    return {name: count for name, count in grown.items() if count > 0}


def first_text(record: Mapping[str, Json], *keys: str) -> str:
    """The first of the keys that holds a text."""
    return next((value for key in keys if isinstance(value := record.get(key), str) and value), "")
