"""Find the definition of a name in a text.

Python, JSON and TOML are parsed; everything else (TypeScript, Go, Rust, C, YAML, Makefiles, …) is
read by the shape of its lines: a definition is a line that introduces the name, and the lines
indented below it. A name may be qualified (`Client.send`, `Client::send`, `tool.ruff.line-length`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from .claims import MENTION

if TYPE_CHECKING:
    import ast

LONGEST_HEAD = 40
"""Search at most this many lines for the end of a signature."""

LONGEST_LINE = 1_000
"""A longer line is generated, and defines nothing of interest."""

_SEPARATOR = re.compile(r"\.|::|#|->")


class Definition(NamedTuple):
    """The head of a definition (signature, bases, value) and its whole, without layout."""

    head: str
    whole: str


def find_definition(text: str, path: str, name: str) -> Definition | None:
    """Return the definition of a name in the text of a file; None without one."""
    parts = [part for part in _SEPARATOR.split(name.removesuffix("()")) if part]
    if not parts:
        return None
    suffix = path.rpartition(".")[2].lower()
    if suffix in ("py", "pyi"):
        known = _python(text)
        if known is not None:
            return known.get(".".join(parts))
    if suffix in ("json", "toml"):
        tree = _tree(text, suffix)
        if tree is not None:
            return _value(tree, name.split("."))
    lines = text.splitlines()
    shapes = _CONFIGURED if suffix in _CONFIG_FILES or "." not in path else _CODED
    place = _place(lines, (0, len(lines)), parts, shapes)
    if place is None:
        return None
    end = _block_end(lines, place, len(lines))
    return Definition(_plain(_head(lines, place, end)), _plain(lines[place:end]))


def is_mentioned(text: str, name: str) -> bool:
    """Check whether the last part of a name occurs in the text as a whole word."""
    last = _SEPARATOR.split(name.removesuffix("()"))[-1]
    return bool(last) and re.search(rf"(?<![\w$]){re.escape(last)}(?![\w$])", text) is not None


def hash_text(text: str) -> str:
    """Return a short hash of a text, to see that it changed."""
    found: str = _find_sha1()(text.encode("utf-8", "replace")).hexdigest()
    return found[:16]


@cache
def _find_sha1() -> Callable[[bytes], Any]:
    from hashlib import sha1  # only here: it loads OpenSSL, and most memories name no file

    return sha1


def sign_symbol(text: str, path: str, symbol: str, kind: str) -> str:
    """Return the hash of a definition; MENTION where a name is only mentioned, empty without it."""
    found = find_definition(text, path, symbol)
    if found:
        return hash_text(found.head if kind == "declaration" else f"{found.head}\n{found.whole}")
    parsed = path.endswith((".py", ".pyi", ".json", ".toml")) or kind in ("command", "key")
    return MENTION if not parsed and is_mentioned(text, symbol) else ""


# ---------------------------------------------------------------- Python


@lru_cache(maxsize=16)
def _python(text: str) -> dict[str, Definition] | None:
    """Return all definitions of a module by qualified name; None for invalid Python."""
    import ast

    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found: dict[str, Definition] = {}
    todo: list[tuple[Sequence[ast.AST], str]] = [(module.body, "")]
    while todo:
        body, prefix = todo.pop()
        for node in body:
            for name, defined in _defined(node):
                found[prefix + name] = defined
                if isinstance(node, ast.ClassDef):
                    todo.append((node.body, f"{prefix}{name}."))
            if isinstance(node, (ast.If, ast.Try, ast.With, ast.ExceptHandler)):
                # Names bound in an `if` or a `try` belong to the module too.
                for field in ("body", "orelse", "finalbody", "handlers"):
                    todo.append((getattr(node, field, []), prefix))
    return found


def _defined(node: ast.AST) -> list[tuple[str, Definition]]:
    import ast

    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        kind = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
        return [(node.name, Definition(f"{kind}({ast.unparse(node.args)})", _unparsed(node)))]
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(map(ast.unparse, node.bases))
        return [(node.name, Definition(f"class ({bases})", _unparsed(node)))]
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        value = ast.unparse(node.value) if node.value else ""
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        return [(name, Definition(value, value)) for name in names]
    return []


def _unparsed(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    """Return the code of a definition without comments, layout and docstring."""
    import ast

    first = node.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return "\n".join(map(ast.unparse, [*node.decorator_list, *node.body[documented:]]))


# ---------------------------------------------------------------- JSON, TOML


def _tree(text: str, suffix: str) -> Any:
    """Parse the file; None if it is invalid."""
    try:
        if suffix == "json":
            import json

            return json.loads(text)
        import tomllib

        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return None


def _value(tree: Any, parts: Sequence[str]) -> Definition | None:
    for part in parts:
        if not isinstance(tree, dict) or part not in tree:
            return None
        tree = tree[part]
    shown = repr(tree)
    return Definition(shown, shown)


# ---------------------------------------------------------------- by lines

_INTRODUCED = (
    "class|struct|interface|trait|enum|union|record|object|protocol|extension|module|namespace|"
    "package|mod|type|typedef|function|func|fun|fn|def|defp|defmodule|sub|proc|macro|macro_rules!|"
    "const|let|var|val|static|alias|service|message|rpc|table|view|procedure|resource|variable|"
    "fragment|constexpr|method|actor|contract|event|#define|#[ \t]*define"
)
_CODED = (
    # func (s *Server) Name, export default class Name, pub async fn name, impl<T> Show for Name
    rf"(?:^|[\s(])(?:(?:{_INTRODUCED})\*?(?:<[^>\n]*>)?[ \t]+(?:\([^)\n]*\)[ \t]*)?[\"']?|"
    r"impl\b[^{\n]*?[ \t>])NAME(?![\w$])",
    # public static void name(, async name<T>(, Foo::name(
    r"^[ \t]*(?:[\w$<>\[\],.?*&:@~]+[ \t]+)*[*&]?(?:[\w<>]+::)?(?:get |set |\*|#)?NAME"
    r"[ \t]*(?:<[^>\n]*>)?[ \t]*\(",
    # name = …, name: T = …, name := …
    r"^[ \t]*(?:[\w$]+[ \t]+)*[\"']?NAME[\"']?[ \t]*(?::[^=\n]+)?:?=(?![=>])",
)
_CONFIGURED = (
    # name = value, target: prerequisites, key: value, [section]
    r"^[ \t]*(?:-[ \t]+|export[ \t]+)?@?[\"']?NAME[\"']?(?:[ \t][^:=\n]*)?(?::(?!:)|[?:+]?=)",
    r"^[ \t]*\[+[ \t]*[\"']?NAME[\"']?[ \t]*\]+",
)
_CONFIG_FILES = frozenset(
    ("json", "toml", "yaml", "yml", "ini", "cfg", "conf", "env", "properties", "mk", "editorconfig")
)
_INTRODUCES = re.compile(rf"(?:^|[\s(])(?:{_INTRODUCED})[\s(*<]|^[ \t]*impl\b")
_PASSES_FUNCTION = re.compile(r"=>\s*\{?$|\bfunction\b[^{]*\{$")
_COMMENT = ("//", "/*", "*", "--", ";", "<!--")
_NOT_DEFINING = re.compile(
    r"[ \t]*(?:import|from|using|use|require|return|throw|await|new|yield|else|if|for|while|switch|"
    r"case|assert|print|delete|typeof|go|defer|raise|echo)\b"
)
_HEAD_ENDS = ("{", ":", ";", "=>", "=", "}", "->", "do", "[", "then")
_CLOSERS = ("}", ")", "]", "end", "{", "where")


def _place(
    lines: Sequence[str], span: tuple[int, int], parts: Sequence[str], shapes: Sequence[str]
) -> int | None:
    """Return the line that introduces the last part inside the definitions of the others."""
    name, rest = parts[0], parts[1:]
    places = _introduced(lines, span, name, shapes)
    if not rest:
        return places[0] if places else None
    for place in places:
        inside = (place + 1, _block_end(lines, place, span[1]))
        found = _place(lines, inside, rest, shapes)
        if found is not None:
            return found
    # A Go method or a C++ member is outside its type, and names it.
    for place in _introduced(lines, span, rest[-1], shapes) if len(rest) == 1 else ():
        if is_mentioned(lines[place].partition(rest[-1])[0], name):
            return place
    return None


def _introduced(
    lines: Sequence[str], span: tuple[int, int], name: str, shapes: Sequence[str]
) -> list[int]:
    """Return the lines that introduce a name, by the most specific pattern that matches."""
    likely = [
        at
        for at in range(*span)
        if name in lines[at]
        and len(lines[at]) <= LONGEST_LINE
        and not lines[at].lstrip().startswith(_COMMENT)
        and not _NOT_DEFINING.match(lines[at])
    ]
    for shape in shapes:
        pattern = _compiled(shape, name)
        found = [at for at in likely if pattern.search(lines[at])]
        found = [at for at in found if not _is_call(lines, at, span[1], name)]
        if found:
            return found
    return []


@lru_cache(maxsize=256)
def _compiled(shape: str, name: str) -> re.Pattern[str]:
    return re.compile(shape.replace("NAME", re.escape(name)))


def _is_call(lines: Sequence[str], at: int, end: int, name: str) -> bool:
    """Check whether `name(` is a call: no block follows, or its arguments contain a function."""
    line = lines[at]
    before, _, after = line.partition(name)
    if not after.lstrip().startswith(("(", "<")) or _INTRODUCES.search(before):
        return False
    head = " ".join(line.strip() for line in _head(lines, at, end))
    if _PASSES_FUNCTION.search(head.partition(name)[2]):
        return True
    opened = head.endswith(("{", ":", "}")) or lines[at + 1 : at + 2] == ["{"]
    return not opened


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _head(lines: Sequence[str], start: int, end: int) -> Sequence[str]:
    """Return the lines up to the one that opens the body or ends the statement."""
    for at in range(start, min(end, start + LONGEST_HEAD)):
        line = lines[at].rstrip()
        if line.endswith(_HEAD_ENDS) or (at == start and line.count("(") == line.count(")")):
            return lines[start : at + 1]
    return lines[start : start + 1]


def _block_end(lines: Sequence[str], start: int, end: int) -> int:
    """Return the end of a block: all lines indented more, and the one that closes it."""
    own = _indent(lines[start])
    last = start
    for at in range(start + 1, end):
        line = lines[at]
        if not line.strip():
            continue
        closes = _indent(line) == own and line.lstrip().startswith(_CLOSERS)
        if _indent(line) <= own and not closes:
            break
        last = at
    return last + 1


def _plain(lines: Sequence[str]) -> str:
    return " ".join(" ".join(lines).split())
