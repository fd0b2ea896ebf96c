"""Convert provider messages to our normal form and back.

Detects the wire format of a record, repairs legacy shapes, and raises an error for unknown ones: a
batch is converted completely or not at all. The formats are in `openai_chat`, `openai_responses`
and `anthropic`.

The conversion is lossless: `to_wire(from_wire(x), form) == x` for a well-formed `x`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ..errors import InvalidInput
from ..fast_typing import NamedTuple
from ..text.messages import CONTINUATION_PROMPT, refuse_duplicate_calls, strip_injected_message
from ..types.records import ROLES, Json, Message
from . import anthropic as providers_anthropic
from . import openai_chat, openai_responses
from .content_blocks import JSON_OBJECT

Decode = Callable[[Mapping[str, Json]], list[Message]]
Encode = Callable[[Sequence[Message]], list[dict[str, Json]]]
FORMATS: Mapping[str, tuple[Decode, Encode]] = {
    "chat": (openai_chat.decode, openai_chat.encode),
    "responses": (openai_responses.decode, openai_responses.encode),
    "anthropic": (providers_anthropic.decode, providers_anthropic.encode),
}
_ALIASES = {
    "openai": "chat",
    "openai-chat": "chat",
    "openai-responses": "responses",
}
_OTHER_ROLES = {
    "human": "user",
    "model": "assistant",
    "ai": "assistant",
    "bot": "assistant",
    "agent": "assistant",
    "gemini": "assistant",
}
_ANTHROPIC_BLOCKS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking"})
_RESPONSES_BLOCKS = frozenset({"input_text", "output_text", "input_image", "input_file"})


def from_wire(raw: Json, provider: str = "auto") -> list[Message]:
    """Return the messages in a provider's list, record, request or response.

    Raises InvalidInput naming the invalid record; then nothing is returned.
    """
    records = [_repair_record(given, at) for at, given in enumerate(_list_records(raw))]
    form = (
        resolve_format(provider)
        if provider != "auto"
        else _detect_format([record for record, _ in records])
    )
    messages: list[Message] = []
    for at, (record, unknown_role) in enumerate(records):
        messages += _decode_record(record, unknown_role, form, at)
    if messages and isinstance(raw, JSON_OBJECT) and not messages[-1].usage:
        model, usage = raw.get("model") or "", raw.get("usage")
        if model or usage:
            messages[-1] = messages[-1]._replace(model=model, usage=usage)
    return _strip_injections(messages)


def from_record(record: Mapping[str, Json], form: str) -> list[Message]:
    """Return the messages in one record of a known format, as in a transcript."""
    return _strip_injections(_decode_record(*_repair_record(record, 0), form, 0))


def _strip_injections(messages: Iterable[Message]) -> list[Message]:
    """Remove our own injections; raise InvalidInput for a repeated call id."""
    own = [mine for message in messages if (mine := strip_injected_message(message)) is not None]
    if sum([len(message.calls) for message in own]) > 1:
        refuse_duplicate_calls(own)
    return own


def _decode_record(
    record: Mapping[str, Json], unknown_role: str, form: str, at: int
) -> list[Message]:
    if "role" not in record and form != "responses":
        raise _invalid_record(
            at, record, f"it is not a message of the {form} format (it has no role)"
        )
    try:
        decoded = FORMATS[form][0](record)
    except InvalidInput as error:
        raise _invalid_record(at, record, error.message, error.hint) from None
    return [m._replace(name=unknown_role) for m in decoded] if unknown_role else decoded


def to_wire(messages: Iterable[Message], provider: str) -> list[dict[str, Json]]:
    """Return the messages as a list in the provider's format, with system messages in place."""
    _, encode = FORMATS[resolve_format(provider)]
    return encode(list(messages))


def to_request(messages: Iterable[Message], provider: str) -> dict[str, Json]:
    """Return the arguments of a request: `client.messages.create(**to_request(…))`."""
    form = resolve_format(provider)
    records = to_wire(messages, form)
    if form == "anthropic":
        return providers_anthropic.build_request(records, CONTINUATION_PROMPT)
    if form == "responses":
        openai_responses.complete_items(records)
        return {"input": records}
    return {"messages": openai_chat.build_request(records)}


def resolve_format(provider: str) -> str:
    """Return the wire format for a provider's name."""
    form = _ALIASES.get(provider, provider)
    if form not in FORMATS:
        known = ", ".join(("auto", *FORMATS, *_ALIASES))
        raise InvalidInput(f"the format {provider!r} is not known", hint=f"Use one of: {known}.")
    return form


# ---------------------------------------------------------------- finding the records


def _list_records(raw: Json) -> list[Json]:
    """Return the records of a list, one record, a request or a response."""
    if isinstance(raw, JSON_OBJECT):
        if raw.get("messages") is not None and "role" not in raw:
            return _prepend_system(raw.get("system"), raw["messages"])
        if raw.get("input") is not None and "role" not in raw and "type" not in raw:
            given = raw["input"]
            given = [{"role": "user", "content": given}] if isinstance(given, str) else given
            return _prepend_system(raw.get("instructions"), given)
        if isinstance(raw.get("output"), list) and "call_id" not in raw:
            return list(raw["output"])
        if isinstance(raw.get("choices"), list):
            return [choice.get("message") for choice in raw["choices"][:1]]
        return [raw]
    if isinstance(raw, (list, tuple)):
        return list(raw)
    raise InvalidInput(
        f"messages come as a list or an object, not as {type(raw).__name__}",
        hint="Pass the list of messages as the provider accepts it.",
    )


def _prepend_system(system: Json, records: Json) -> list[Json]:
    if not isinstance(records, (list, tuple)):
        raise InvalidInput(f"the messages are {type(records).__name__}, not a list")
    return [{"role": "system", "content": system}, *records] if system else list(records)


def _detect_format(records: Sequence[Mapping[str, Json]]) -> str:
    """Detect the format of a batch by features that only one format has."""
    anthropic = False
    for record in records:
        if "role" not in record:
            return "responses"
        if record.get("tool_calls") or "tool_call_id" in record:
            return "chat"
        content = record.get("content")
        for block in content if isinstance(content, list) else ():
            if not isinstance(block, JSON_OBJECT):
                continue
            if block.get("type") in _RESPONSES_BLOCKS:
                return "responses"
            if block.get("type") in _ANTHROPIC_BLOCKS or "source" in block:
                anthropic = True
        anthropic = anthropic or record.get("type") == "message"
    return "anthropic" if anthropic else "chat"


# ---------------------------------------------------------------- legacy shapes


def _repair_record(given: Json, at: int) -> tuple[Mapping[str, Json], str]:
    """Return a record with a known role, and content that is text, None or a list of blocks; and
    the original role if it is unknown."""
    if not isinstance(given, JSON_OBJECT):
        raise _invalid_record(at, given, "it is not an object")
    role, kind, unknown = given.get("role"), given.get("type"), ""
    if role in ROLES and "parts" not in given and _is_usual(given.get("content")):
        return given, unknown
    record = dict(given)
    if not isinstance(role, str) and isinstance(role, JSON_OBJECT):
        del record["role"]
        record |= {key: value for key, value in role.items() if value is not None}
        role, kind = record.get("role"), record.get("type")
    if role is None and isinstance(kind, str) and openai_responses.is_item(kind):
        record.pop("role", None)
        return record, unknown
    if not isinstance(role, str) or not role.strip():
        raise _invalid_record(at, given, "it has no role")
    if role not in ROLES and role != "function":
        known = _OTHER_ROLES.get(role.strip().lower(), "")
        unknown = "" if known else role
        # Never `user`: an unknown role must not gain the user's trust.
        record["role"] = known or "assistant"
    if "parts" in record and "content" not in record:
        record["content"] = record.pop("parts")
    if "content" in record:
        record["content"] = _repair_content(record["content"], at, given)
    return record, unknown


def _is_usual(content: Json) -> bool:
    """Check whether content has a current shape."""
    if content is None or isinstance(content, str):
        return True
    if not isinstance(content, list):
        return False
    for block in content:
        if not isinstance(block, dict) or not isinstance(block.get("type"), str):
            return False
    return True


def _repair_content(content: Json, at: int, record: Json) -> Json:
    if content is None or isinstance(content, str):
        return content
    if not isinstance(content, (list, tuple)):
        if not isinstance(content, JSON_OBJECT):
            raise _invalid_record(at, record, f"its content is {type(content).__name__}")
        content = [content]
    blocks = []
    for block in content:
        if isinstance(block, str):
            block = {"type": "text", "text": block}
        elif isinstance(block, JSON_OBJECT) and "type" not in block and "text" in block:
            block = {"type": "text", **block}
        if not isinstance(block, JSON_OBJECT) or not isinstance(block.get("type"), str):
            raise _invalid_record(at, record, "a block of its content has no type")
        blocks.append(block)
    return blocks


def _invalid_record(at: int, record: Json, why: str, hint: str = "") -> InvalidInput:
    look = repr(record)
    if len(look) > 120:
        look = look[:119] + "…"
    return InvalidInput(
        f"message {at} is invalid: {why}",
        where=f"messages[{at}] = {look}",
        hint=hint or "Nothing was imported. Correct this message, or leave it out.",
    )


_CACHED = ("cache_read_input_tokens", "cache_creation_input_tokens")
"""Anthropic counts cached tokens separately from `input_tokens`; others include them."""


class TokenUsage(NamedTuple):
    """The tokens of requests and responses."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


def read_usage(counted: Mapping[str, Json] | None) -> TokenUsage:
    """Return the tokens of one request from the provider's usage; zero without one."""
    if not counted:
        return TokenUsage()
    prompt = _number(counted, "input_tokens") or _number(counted, "prompt_tokens")
    prompt += sum(_number(counted, name) for name in _CACHED)
    answer = _number(counted, "output_tokens") or _number(counted, "completion_tokens")
    return TokenUsage(1, prompt, answer) if prompt or answer else TokenUsage()


def add_usage(total: Mapping[str, Json], more: TokenUsage) -> TokenUsage:
    """Add the tokens of one more request to a session's usage."""
    return TokenUsage(*(_number(total, name) + getattr(more, name) for name in TokenUsage._fields))


def _number(counted: Mapping[str, Json], name: str) -> int:
    value = counted.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
