"""Convert an agent's records to our messages: origin, token counts, titles, own output removed.

`providers.formats` decodes the provider formats; this module adds the metadata of transcripts.
Types are always checked: a transcript may contain anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ...actions import echo
from ...capture.sentences import find_untyped
from ...errors import InvalidInput
from ...fast_typing import TYPE_CHECKING
from ...providers import formats
from ...secrets import redaction
from ...text.messages import plain_text, strip_injected_message
from ...types.records import Json, Message
from .reader_io import TranscriptEntry

if TYPE_CHECKING:
    from .reader_io import TranscriptItem

IMPORT_ORIGIN = "import"
_ORIGINS = {"user": "user", "assistant": "agent"}
_REQUESTS_KEPT = 16
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
    """Return the name of a session from its first prompt: the first line with content.

    A line that ends with a colon ("Implement the following plan:") is no title by itself: the
    heading below replaces it, any other line is appended.
    """
    lines = (line.strip() for line in text.splitlines() if line.strip(" \t`"))
    line = next(lines, "")
    below = next(lines, "") if line.endswith(":") else ""
    if below.startswith("#"):
        line = below.lstrip("# ") or line
    elif below:
        line = f"{line} {below}"
    if len(line) > 80:
        line = redaction.redact(line)  # first: a truncated token is not recognised any more
    return line if len(line) <= 80 else line[:79].rstrip() + "…"


def decode_record(record: Mapping[str, Json], form: str) -> list[Message]:
    """Return the messages of a provider's record; ValueError if it cannot be decoded."""
    read = formats.from_record if form != "auto" else formats.from_wire
    try:
        return read(record, form)
    except InvalidInput as error:
        raise ValueError(error.message) from error


def make_entries(
    session: str, messages: Iterable[Message], origin: str = "", decoded: bool = False
) -> Iterator[TranscriptItem]:
    """Yield the messages that have content, each with its origin.

    A prompt has the origin `user` unless all of it was pasted. `IMPORT_ORIGIN` is for files that
    come with a repository or from elsewhere: they can claim any role. `decoded` messages have our
    injected text removed already.
    """
    for given in messages:
        message = given if decoded else strip_injected_message(given)
        if not message or not (message.content or message.calls or message.role == "tool"):
            continue
        source = origin or _ORIGINS.get(message.role, "tool")
        if message.role == "tool" and source != IMPORT_ORIGIN:
            source = "tool"
        if source != "user":
            yield TranscriptEntry(session, message, source)
            continue
        spans = find_untyped(message)
        typed = _has_typed_text(plain_text(message), spans)
        yield TranscriptEntry(session, message, "user" if typed else "tool", spans)


def _has_typed_text(text: str, spans: Iterable[tuple[int, int]]) -> bool:
    position = 0
    for start, end in spans:
        if text[position:start].strip():
            return True
        position = end
    return bool(text[position:].strip())


def drop_own_answers(messages: list[Message], state: dict[str, Json]) -> list[Message]:
    """Replace results of our own tools: memory must not learn from its own answers.

    The ids of our open calls are kept in the reader's state.
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
    """Return token counts under our names; `input_tokens` includes the cached parts."""
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
        # Anthropic counts the cached parts of a prompt separately.
        cached = usage.get("cache_read_tokens", 0) + usage.get("cache_write_tokens", 0)
        usage["input_tokens"] = usage.get("input_tokens", 0) + cached
    return {name: count for name, count in usage.items() if count > 0}


def subtract_usage(now: Mapping[str, int], before: Mapping[str, Json]) -> dict[str, int]:
    """Return the increase of a request's counts, so that each request is counted once."""
    grown = {name: count - as_number(before.get(name)) for name, count in now.items()}
    return {name: count for name, count in grown.items() if count > 0}


class RequestUsage:
    """Counts the tokens of each request once: several lines of a transcript belong to one request,
    and each repeats the count so far."""

    def __init__(self) -> None:
        self._counted: tuple[str, Json] = ("", None)

    def count(self, requests: dict[str, Json], request: str, counted: Json) -> dict[str, int]:
        """Return the tokens that a line adds to its request.

        requests: the counts of the latest requests by id, kept in the reader's state
        counted: the count so far, as the line has it
        """
        if request and (request, counted) == self._counted:
            return {}
        self._counted = request, counted
        now = normalise_usage(counted)
        if not request:
            return now
        before = requests.pop(request, {})
        requests[request] = {**before, **now}
        for stale in list(requests)[:-_REQUESTS_KEPT]:
            del requests[stale]
        return subtract_usage(now, before)

    def give_back(self, requests: dict[str, Json], request: str, usage: Mapping[str, int]) -> None:
        """Subtract the tokens of a line without a message: the next line of the request repeats
        them."""
        self._counted = ("", None)
        counted = requests.get(request, {})
        for name, count in usage.items():
            counted[name] = counted.get(name, count) - count


def first_text(record: Mapping[str, Json], *keys: str) -> str:
    """Return the value of the first key that holds a text; "" if none does."""
    return next((value for key in keys if isinstance(value := record.get(key), str) and value), "")
