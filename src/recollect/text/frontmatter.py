"""Read and write the YAML frontmatter of a Markdown file.

Supports the subset that such files use: `key: value`, plain or quoted; values over several lines
(`|`, `>`, or indented); one level of nested keys; lists. Every value is text. Anything else is
refused with its line, because guessing at YAML is how `no` becomes false.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..errors import InvalidInput

YamlValue = str | tuple[str, ...] | Mapping[str, str]

FENCE = "---"
_HINT = "Frontmatter is `key: value` lines; put a value with special characters in double quotes."


class SplitMarkdown(NamedTuple):
    """A Markdown file in two parts: the frontmatter lines (None without any) and the body."""

    lines: tuple[str, ...] | None
    body: str


def split_frontmatter(text: str) -> SplitMarkdown:
    """Split a Markdown file into frontmatter and body."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if not text.startswith(f"{FENCE}\n"):
        return SplitMarkdown(None, text)
    lines = text.split("\n")
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == FENCE:
            return SplitMarkdown(tuple(lines[1:number]), "\n".join(lines[number + 1 :]))
    raise InvalidInput("the frontmatter is not closed with ---", where="line 1")


# ---------------------------------------------------------------- reading


class _Line(NamedTuple):
    number: int
    indent: int
    text: str


def read_frontmatter(lines: Sequence[str]) -> dict[str, YamlValue]:
    """Parse the keys and values in the lines after the fence."""
    rows = []
    for number, line in enumerate(lines, 2):
        body = line.lstrip(" ")
        if body.startswith("\t"):
            raise _refusal("a tab in the indentation", number)
        rows.append(_Line(number, len(line) - len(body), body.rstrip()))
    found: dict[str, YamlValue] = {}
    while rows:
        row = rows.pop(0)
        if not row.text or row.text.startswith("#"):
            continue
        if row.indent:
            raise _refusal("this line is indented without a key above it", row.number)
        key, rest = _keyed(row)
        if key in found:
            raise _refusal(f"{key} is given twice", row.number)
        block = []
        while rows and (rows[0].indent or not rows[0].text or _is_item(rows[0], rest)):
            block.append(rows.pop(0))
        found[key] = _value(row, rest, block)
    return found


def _is_item(row: _Line, rest: str) -> bool:
    """Check whether an unindented line is an item of the current key's list."""
    return not rest and row.text.startswith("- ")


def _keyed(row: _Line) -> tuple[str, str]:
    found = re.match(_KEY, row.text)
    if not found:
        raise _refusal("this is not `key: value`", row.number)
    return found[1], _uncommented(found[2] or "")


_KEY = r"(\w[\w.-]*):(?:\s+(.*))?$"


def _uncommented(rest: str) -> str:
    return "" if rest.startswith("#") else rest.strip()


def _value(row: _Line, rest: str, block: list[_Line]) -> YamlValue:
    inner = [one for one in block if one.text and not one.text.startswith("#")]
    if rest in ("|", "|-", "|+", ">", ">-", ">+"):
        return _block(rest, block)
    if rest.startswith("["):
        if inner:
            raise _refusal("a list in brackets must end on its line", row.number)
        return _flow(rest, row.number)
    if not rest and inner and inner[0].text.startswith("- "):
        return tuple(_item(one) for one in inner)
    if not rest and inner and re.match(_KEY, inner[0].text):
        return _nested(inner)
    if not rest:
        return _folded([_scalar(one.text, one.number, plain=True) for one in inner])
    if rest[0] in "\"'" and inner:
        raise _refusal("a quoted value must end on its line", row.number)
    parts = [_scalar(rest, row.number)]
    return _folded([*parts, *(_scalar(one.text, one.number, plain=True) for one in inner)])


def _folded(parts: Sequence[str]) -> str:
    return " ".join(part for part in parts if part)


def _block(mark: str, block: list[_Line]) -> str:
    """Parse a block value: verbatim after `|`, folded after `>`."""
    while block and not block[-1].text:
        block.pop()
    if not block:
        return ""
    edge = next(row.indent for row in block if row.text)
    for row in block:
        if row.text and row.indent < edge:
            raise _refusal("it is indented less than the line before it", row.number)
    lines = [" " * (row.indent - edge) + row.text if row.text else "" for row in block]
    if mark[0] == "|":
        return "\n".join(lines)
    paragraphs: list[list[str]] = [[]]
    for line in lines:
        if line:
            paragraphs[-1].append(line)
        else:
            paragraphs.append([])
    return "\n".join(" ".join(part) for part in paragraphs)


def _item(row: _Line) -> str:
    if not row.text.startswith("- "):
        raise _refusal("this line is not an item of the list above it", row.number)
    return _scalar(_uncommented(row.text[2:].strip()), row.number)


def _nested(rows: Sequence[_Line]) -> dict[str, str]:
    edge = rows[0].indent
    found: dict[str, str] = {}
    for row in rows:
        if row.indent != edge:
            raise _refusal("only one level of nested keys is understood", row.number)
        key, rest = _keyed(row)
        if key in found:
            raise _refusal(f"{key} is given twice", row.number)
        found[key] = _scalar(rest, row.number) if rest else ""
    return found


def _flow(rest: str, number: int) -> tuple[str, ...]:
    found = re.fullmatch(r"\[(.*)\]\s*(?:#.*)?", rest)
    if not found:
        raise _refusal("the list in brackets is not closed", number)
    inner = found[1].strip()
    parts = re.findall(_COMMAS, inner) if inner else []
    return tuple(_scalar(part.strip(), number) for part in parts)


_COMMAS = r"""(?:"(?:\\.|[^"\\])*"|'[^']*'|[^,"'])+"""


def _scalar(text: str, number: int, plain: bool = False) -> str:
    """Parse one scalar; a `plain` one continues the line before it."""
    if not plain and text[:1] == '"':
        return _double(text, number)
    if not plain and text[:1] == "'":
        found = re.fullmatch(r"'((?:[^']|'')*)'\s*(?:#.*)?", text)
        if not found:
            raise _refusal("the quotes are not closed", number)
        return found[1].replace("''", "'")
    text = re.split(r"\s#", text, maxsplit=1)[0].rstrip()
    if not plain and text[:1] in tuple("[]{}&*!|>%@`,?"):
        raise _refusal(f"a value must not begin with {text[0]}", number)
    if ": " in text or text.endswith(":") or text.startswith("- "):
        raise _refusal("a value with a colon in it needs quotes", number)
    return text


_ESCAPES = dict(zip("ntrbf0ea", "\n\t\r\b\f\0\x1b\a", strict=True))


def _double(text: str, number: int) -> str:
    found = re.fullmatch(r'"((?:\\.|[^"\\])*)"\s*(?:#.*)?', text)
    if not found:
        raise _refusal("the quotes are not closed", number)

    def unescaped(match: re.Match[str]) -> str:
        code = match[1]
        if len(code) > 1:
            return chr(int(code[1:], 16))
        return _ESCAPES.get(code, code)

    pattern = r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)"
    return re.sub(pattern, unescaped, found[1])


def _refusal(problem: str, number: int) -> InvalidInput:
    return InvalidInput(f"the frontmatter: {problem}", where=f"line {number}", hint=_HINT)


# ---------------------------------------------------------------- writing


def write_frontmatter(fields: Mapping[str, YamlValue]) -> str:
    """Format fields as frontmatter with fences; `read_frontmatter` is the inverse."""
    return "\n".join((FENCE, *_written(fields), FENCE))


def _written(fields: Mapping[str, YamlValue]) -> Iterator[str]:
    for key, value in fields.items():
        if isinstance(value, str):
            yield f"{key}: {quote_yaml(value)}"
        elif isinstance(value, tuple):
            yield f"{key}:" if value else f"{key}: []"
            yield from (f"  - {quote_yaml(item)}" for item in value)
        else:
            yield f"{key}:"
            yield from (f"  {name}: {quote_yaml(inner)}" for name, inner in value.items())


_SAFE = r"[A-Za-z][A-Za-z0-9 ,.;()/_+-]*[A-Za-z0-9.)]"
"""Matches values that every YAML reader reads as text."""

_OTHERWISE = frozenset(("true", "false", "yes", "no", "on", "off", "null", "y", "n"))


def quote_yaml(value: str) -> str:
    """Format a value as YAML: bare if unambiguous, otherwise in double quotes."""
    if re.fullmatch(_SAFE, value) and FENCE not in value and value.lower() not in _OTHERWISE:
        return value
    out = []
    for char in value.replace("\\", "\\\\").replace('"', '\\"'):
        bare = char.isprintable() and char not in "\u0085\u2028\u2029\ufeff"
        code = ord(char)
        out.append(char if bare else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
    # Some readers end the frontmatter at the first three hyphens, anywhere in a line.
    return '"' + "".join(out).replace(FENCE, "-\\x2d-") + '"'
