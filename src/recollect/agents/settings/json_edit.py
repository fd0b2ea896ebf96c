"""Insert into and remove from JSON texts by splicing; all other bytes stay the same.

JSON with comments and trailing commas is accepted (several agents allow them). An insertion is one
piece of text at one position; removing it restores the file. Containers that become empty follow
two rules, so that the original text comes back:

- a container that we created has its first member on the line of its bracket:
  `"hooks": {"Stop": …`. When it becomes empty it is removed.
- what we add to an existing empty container begins on a new line. When it becomes empty again the
  container stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from ...errors import InvalidInput
from ...types.records import Json

_DEEPEST = 100
_BLANK = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_BARE = re.compile(r"true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")


class JsonNode(NamedTuple):
    """A value with its position in the text."""

    value: Json
    start: int
    end: int
    children: tuple[JsonChild, ...] = ()


class JsonChild(NamedTuple):
    """A member of an object or an element of an array.

    `begin` is the position of the key, or of the element; `comma` is -1 if no comma follows.
    """

    key: str
    begin: int
    node: JsonNode
    comma: int


def parse(text: str, into: Collection[str] | None = None) -> JsonNode:
    """Return the value with all positions; InvalidInput with line and column on a syntax error.

    `into` names the members whose inner positions are needed. All others are decoded by `json`: an
    agent may keep megabytes of history in the same file.
    """
    node = _parse_value(text, _skip_blank(text, 0), 0, into)
    end = _skip_blank(text, node.end)
    if end != len(text):
        raise _syntax_error(text, end, "text after the end")
    return node


def _find_member(node: JsonNode, key: str) -> JsonNode | None:
    """Return the member with a key; the last one if the key is repeated."""
    return next((c.node for c in reversed(node.children) if c.key == key), None)


def add_member(text: str, path: Sequence[str], value: str) -> str:
    """Add a new member, creating the objects on its path."""
    return _insert(text, path, value, in_array=False)


def append_element(text: str, path: Sequence[str], value: str) -> str:
    """Append an element to the array at the path, creating it if necessary."""
    return _insert(text, path, value, in_array=True)


def remove_path(text: str, path: Sequence[str | int]) -> str:
    """Remove a member or element and the containers we created for it; "" if nothing is left."""
    node = parse(text, [step for step in path[:1] if isinstance(step, str)])
    chain = [node]
    places = []
    for step in path:
        place = next(
            index
            for index, c in reversed(list(enumerate(node.children)))
            if (c.key if isinstance(step, str) else index) == step
        )
        places.append(place)
        node = node.children[place].node
        chain.append(node)
    while places:
        parent, place = chain[len(places) - 1], places.pop()
        if len(parent.children) > 1:
            return _remove_child(text, parent, place)
        if not _is_own_container(text, parent, root=not places):
            return _empty_container(text, parent)
    return ""


def render_value(value: Json) -> str:
    """Return a value on one line."""
    return json.dumps(value, ensure_ascii=False)


def _insert(text: str, path: Sequence[str], value: str, *, in_array: bool) -> str:
    if not text.strip():
        return _wrap_in_objects(path, value, in_array) + "\n"
    node = parse(text, path[:1])
    for depth, key in enumerate(path):
        if not isinstance(node.value, dict):
            where = ".".join(path[:depth]) or "the file"
            raise InvalidInput(f"{where} is not a JSON object", where=where)
        below = _find_member(node, key)
        if below is None:
            inner = _wrap_in_objects(path[depth + 1 :], value, in_array)
            return _add_child(text, node, f"{json.dumps(key)}: {inner}", depth)
        node = below
    if not in_array or not isinstance(node.value, list):
        raise InvalidInput(f"{'.'.join(path)} is taken or not a list", where=".".join(path))
    return _add_child(text, node, value, len(path))


def _wrap_in_objects(path: Sequence[str], value: str, in_array: bool) -> str:
    if in_array:
        value = f"[{value}]"
    for key in reversed(path):
        value = f"{{{json.dumps(key)}: {value}}}"
    return value


def _add_child(text: str, node: JsonNode, member: str, depth: int) -> str:
    if not node.children:
        inside = text[node.start + 1 : node.end - 1]
        # Spaces alone would look like indentation afterwards: a blank line marks them.
        lead = "\n\n" if inside and not inside.strip(" \t") else "\n"
        piece = f"{lead}{'  ' * (depth + 1)}{member}\n"
        return text[: node.start + 1] + piece + text[node.start + 1 :]
    last = node.children[-1]
    before = node.children[-2].comma + 1 if len(node.children) > 1 else node.start + 1
    gap = text[before : last.begin]
    # Repeat the spacing before the last member, but not a comment there.
    spacing = gap or " " if not gap.strip() else "\n" + "  " * (depth + 1)
    end = last.node.end
    return f"{text[:end]},{spacing}{member}{text[end:]}"


def _remove_child(text: str, parent: JsonNode, place: int) -> str:
    """Return the text without one of several children and without one comma."""
    own = parent.children[place]
    if place:
        comma = parent.children[place - 1].comma
        if not text[comma + 1 : own.begin].strip():
            return text[:comma] + text[own.node.end :]
        return text[:comma] + text[comma + 1 : own.begin] + text[own.node.end :]
    following = parent.children[1].begin
    if not text[own.comma + 1 : following].strip() and own.comma == own.node.end:
        return text[: own.begin] + text[following:]
    return text[: own.begin] + text[own.node.end : own.comma] + text[own.comma + 1 :]


def _is_own_container(text: str, parent: JsonNode, *, root: bool) -> bool:
    """Check whether we created the container of an only child, also after reformatting."""
    only = parent.children[0]
    if only.begin == parent.start + 1:
        return True
    if text.startswith("\n\n", parent.start + 1):
        return False
    after = text[only.node.end : parent.end - 1]
    return not root and after.startswith("\n") and len(after) > 1 and not after[1:].strip(" \t")


def _empty_container(text: str, parent: JsonNode) -> str:
    only = parent.children[0]
    end = only.comma + 1 if only.comma >= 0 else only.node.end
    end += text.startswith("\n", end)
    start = parent.start + 1
    kept = text[start : only.begin]
    return text[:start] + (kept if kept.strip() else "") + text[end:]


def _parse_value(text: str, at: int, depth: int, into: Collection[str] | None = None) -> JsonNode:
    if depth > _DEEPEST:
        raise _syntax_error(text, at, "nested too deeply")
    opening = text[at : at + 1]
    if opening in ("{", "["):
        return _parse_container(text, at, depth, into, is_object=opening == "{")
    match = _STRING.match(text, at) or _BARE.match(text, at)
    if not match:
        raise _syntax_error(text, at, "missing or malformed value")
    return JsonNode(_parse_literal(text, match), at, match.end())


def _parse_opaque(text: str, at: int) -> JsonNode:
    """Parse a value without inner positions; JSON with comments falls back to our parser."""
    try:
        value, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return _parse_value(text, at, 1)
    return JsonNode(value, at, end)


def _reject_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_reject_constant)


def _parse_container(
    text: str, start: int, depth: int, into: Collection[str] | None = None, *, is_object: bool
) -> JsonNode:
    closing = "}" if is_object else "]"
    children: list[JsonChild] = []
    at = _skip_blank(text, start + 1)
    while text[at : at + 1] != closing:
        begin, key = at, ""
        if is_object:
            match = _STRING.match(text, at)
            if not match:
                raise _syntax_error(text, at, "missing key in double quotes")
            key = _parse_literal(text, match)
            at = _skip_blank(text, match.end())
            if text[at : at + 1] != ":":
                raise _syntax_error(text, at, "missing colon")
            at = _skip_blank(text, at + 1)
        wanted = into is None or not is_object or key in into
        node = _parse_value(text, at, depth + 1) if wanted else _parse_opaque(text, at)
        at = _skip_blank(text, node.end)
        comma = at if text[at : at + 1] == "," else -1
        children.append(JsonChild(key, begin, node, comma))
        if comma >= 0:
            at = _skip_blank(text, at + 1)
        elif text[at : at + 1] != closing:
            raise _syntax_error(text, at, f"missing comma or {closing}")
    value: Json = {c.key: c.node.value for c in children} if is_object else []
    if not is_object:
        value.extend(c.node.value for c in children)
    return JsonNode(value, start, at + 1, tuple(children))


def _parse_literal(text: str, match: re.Match[str]) -> Json:
    try:
        return json.loads(match[0])
    except ValueError as error:
        raise _syntax_error(text, match.start(), "malformed string or number") from error


def _skip_blank(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _syntax_error(text: str, at: int, what: str) -> InvalidInput:
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    return InvalidInput(
        f"not valid JSON: {what}",
        where=f"line {line}, column {column}",
        hint="Fix the file and try again. It was not changed.",
    )
