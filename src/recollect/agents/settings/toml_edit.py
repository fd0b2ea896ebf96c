"""Add, change and remove entries of TOML texts by splicing; all other bytes stay the same.

An entry is found by its full key in every notation: below a table header, with dotted or quoted
keys, in an inline table. Texts must be valid TOML: check them with `tomllib` first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from ...errors import InvalidInput
from ...types.records import Json
from .json_edit import render_value

Key = tuple[str, ...]

_NAME = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_KEY = re.compile(rf"{_NAME}(?:[ \t]*\.[ \t]*{_NAME})*")
_HEADER = re.compile(rf"\[\[?[ \t]*({_KEY.pattern})[ \t]*\]\]?")
_ASSIGN = re.compile(rf"({_KEY.pattern})[ \t]*=[ \t]*")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}' r"|'''.*?'{3,5}" r'|"(?:[^"\\\n]|\\.)*"' r"|'[^'\n]*'", re.DOTALL
)
_BARE = re.compile(r"[^,\]}#\n]*[^,\]}#\s]")  # a date may have a space in it
_BLANK = re.compile(r"(?:\s+|#[^\n]*)*")
_LINE_END = re.compile(r"[^\n]*\n?")
_BLANK_LINE = re.compile(r"\n(\r?\n)\Z")
_LAST_BREAK = re.compile(r"(\r?\n)\Z")


class TomlEntry(NamedTuple):
    """A table with its header, a key with its value, or a member of an inline table.

    `begin` to `end` is all of it; `value` to `stop` is its value, empty for a table.
    """

    key: Key
    begin: int
    end: int
    value: int
    stop: int

    @property
    def is_table(self) -> bool:
        return self.value == self.stop


def parse_entries(text: str) -> list[TomlEntry]:
    """Return every entry in the order of the text; a table extends to its last key."""
    found: list[TomlEntry] = []
    table: Key = ()
    header = -1
    at = _skip_blank(text, 0)
    while at < len(text):
        begin = text.rfind("\n", 0, at) + 1
        if match := _HEADER.match(text, at):
            table, header, at = _parse_key(match[1]), len(found), match.end()
            found.append(TomlEntry(table, begin, _line_end(text, at), at, at))
        else:
            match = _match(_ASSIGN, text, at)
            key, slot = (*table, *_parse_key(match[1])), len(found)
            at = _parse_value(text, match.end(), key, found)
            end = _line_end(text, at)
            found.insert(slot, TomlEntry(key, begin, end, match.end(), at))
            if header >= 0:
                found[header] = found[header]._replace(end=end)
        at = _skip_blank(text, at)
    return found


def remove_entries(text: str, own: Key) -> str:
    """Return the text without any entry of this key or below it."""
    while entry := next((one for one in parse_entries(text) if one.key[: len(own)] == own), None):
        begin = entry.begin
        # The line break before a table belongs to it: see `add_table`.
        lead = _LAST_BREAK if entry.end == len(text) else _BLANK_LINE
        if entry.is_table and (match := lead.search(text, 0, begin)):
            begin = match.start(1)
        text = text[:begin] + text[entry.end :]
    return text


def add_table(text: str, own: Key, members: Mapping[str, Json]) -> str:
    """Return the text with a new table at its end, or inside its parent's inline table.

    `remove_entries` restores the text exactly.
    """
    inner = [f"{name} = {render_value(value)}" for name, value in members.items()]
    for entry in parse_entries(text):
        if entry.key == own[:-1] and text.startswith("{", entry.value):
            at = entry.value + 1
            comma = "" if text.startswith("}", _skip_blank(text, at)) else ","
            return f"{text[:at]}{own[-1]} = {{{', '.join(inner)}}}{comma}{text[at:]}"
    # The table always begins with a line break: the last line may have none.
    lead = "\n" if text else ""
    return "\n".join([f"{text}{lead}[{'.'.join(own)}]", *inner, ""])


def change_values(text: str, own: Key, members: Mapping[str, Json]) -> str:
    """Return the text with new values for those of the members that the table has."""
    for entry in reversed(parse_entries(text)):
        if entry.key[:-1] == own and entry.key[-1] in members:
            text = text[: entry.value] + render_value(members[entry.key[-1]]) + text[entry.stop :]
    return text


def _parse_value(text: str, at: int, key: Key, found: list[TomlEntry]) -> int:
    """Return the end of a value; add the members of inline tables to `found`."""
    if text[at] == "{":
        return _parse_inline_table(text, at, key, found)
    if text[at] == "[":
        at = _skip_blank(text, at + 1)
        while text[at] != "]":
            at = _skip_blank(text, _parse_value(text, at, (), []))
            at = _skip_blank(text, at + 1) if text[at] == "," else at
        return at + 1
    return _match(_STRING if text[at] in "\"'" else _BARE, text, at).end()


def _parse_inline_table(text: str, at: int, table: Key, found: list[TomlEntry]) -> int:
    comma = 0  # position after the last comma
    begin = at + 1
    at = _skip_blank(text, begin)
    while text[at] != "}":
        match = _match(_ASSIGN, text, at)
        key, slot = (*table, *_parse_key(match[1])), len(found)
        stop = _parse_value(text, match.end(), key, found)
        at = _skip_blank(text, stop)
        if text[at] == ",":
            end = comma = at + 1
        else:
            # The last member includes the comma before it: no trailing comma may stay.
            begin, end = (comma - 1 if comma else begin), stop
        found.insert(slot, TomlEntry(key, begin, end, match.end(), stop))
        begin = comma
        at = _skip_blank(text, comma) if text[at] == "," else at
    return at + 1


def _parse_key(written: str) -> Key:
    """Return the names of a dotted key without their quotes."""
    import tomllib

    names: list[str] = []
    inside: Json = tomllib.loads(f"{written} = 0")
    while isinstance(inside, dict):
        ((name, inside),) = inside.items()
        names.append(name)
    return tuple(names)


def _skip_blank(text: str, at: int) -> int:
    """Return the position after white space and comments."""
    return _match(_BLANK, text, at).end()


def _line_end(text: str, at: int) -> int:
    return _match(_LINE_END, text, at).end()


def _match(pattern: re.Pattern[str], text: str, at: int) -> re.Match[str]:
    match = pattern.match(text, at)
    if match is None:
        line = text.count("\n", 0, at) + 1
        raise InvalidInput(
            f"cannot parse line {line} of the TOML file",
            hint="Write it in a simpler notation and try again. It was not changed.",
        )
    return match
