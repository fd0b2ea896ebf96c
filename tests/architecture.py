"""The rules of the architecture as a checker: which layer may import which, where SQL may stand,
how long files and functions may be, that private names stay where they are, and where a broad
`except` is allowed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

EVERYBODYS = "nouns"
"""What all layers may import, as if it were of the standard library."""

LAYERS = {
    EVERYBODYS: set(),
    "types": set(),
    "errors": set(),
    "version": set(),
    "core": {"types", "errors"},
    "db": {"errors"},
    "store": {"types", "errors", "db.database"},
    "flows": {"core", "store", "types", "errors", "db.database", "hosts"},
    "places": {"errors"},
    "config": {"errors"},
    "gitstate": {"places"},
    "worktree": {"core", "types", "errors"},
    "embedding": {"core", "errors"},
    "embed": {"types", "errors", "embedding"},
    "hosts": {"types", "errors", "core"},
    "app": {
        "flows",
        "hosts",
        "version",
        "core",
        "types",
        "errors",
        "config",
        "places",
        "gitstate",
        "db.database",
        "worktree",
    },
    "opening": {"app", "config", "places", "db", "errors", "embed", "types"},
    "adapters": {"app", "types", "errors"},
    "interfaces": {"app", "core", "types", "errors", "hosts", "version", "__init__", "opening"},
    "__init__": {"app", "config", "errors", "places", "types", "version", "opening"},
    "__main__": {"interfaces"},
}
"""What each layer may import of ours, besides itself."""

IMPURE = {"time", "os", "random", "secrets", "socket", "subprocess", "pathlib", "apsw", "sqlite3"}
SQL = re.compile(
    r"\b(SELECT\s.+\sFROM|INSERT INTO|UPDATE\s\w+\sSET|DELETE FROM|CREATE TABLE|PRAGMA\s\w)", re.S
)
LONGEST_FILE, LONGEST_FUNCTION, MOST_PARAMETERS = 400, 60, 8
BROAD_EXCEPT_ALLOWED = {"interfaces/hooks.py"}


def violations(root: Path) -> list[str]:
    """Every breach of the rules below the package's root."""
    found: list[str] = []
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        found += [f"{name}: {problem}" for problem in _problems(name, text, tree)]
    return found


def _problems(name: str, text: str, tree: ast.Module) -> Iterator[str]:
    layer = name.split("/")[0].removesuffix(".py")
    if (lines := text.count("\n")) > LONGEST_FILE:
        yield f"{lines} lines, more than {LONGEST_FILE}"
    if layer not in LAYERS:
        yield f"{layer} is not a known layer"
        return
    for target, line in _imports(name, tree):
        if not _allowed(layer, target):
            yield f"line {line}: {layer} must not import {target}"
        if layer == "core" and target.split(".")[0] in IMPURE:
            yield f"line {line}: core must not import {target}"
    for node in ast.walk(tree):
        yield from _node_problems(name, layer, node)


def _allowed(layer: str, target: str) -> bool:
    if not target.startswith("recollect"):
        return True
    inner = target.removeprefix("recollect").lstrip(".") or "__init__"
    if inner == EVERYBODYS or inner.split(".")[0] == layer:
        return True
    return any(inner == may or inner.startswith(f"{may}.") for may in LAYERS[layer])


def _imports(name: str, tree: ast.Module) -> Iterator[tuple[str, int]]:
    package = ["recollect", *name.split("/")[:-1]]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            if node.module and module != "recollect":
                yield module, node.lineno
            else:
                for alias in node.names:
                    ours = module != "recollect" or alias.name in LAYERS
                    yield (f"{module}.{alias.name}" if ours else module), node.lineno


def _is_sql(value: object) -> bool:
    return isinstance(value, str) and SQL.search(value) is not None


def _node_problems(name: str, layer: str, node: ast.AST) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        length = (node.end_lineno or node.lineno) - node.lineno + 1
        if length > LONGEST_FUNCTION:
            yield f"line {node.lineno}: {node.name} has {length} lines"
        arguments = node.args
        number = len(arguments.posonlyargs + arguments.args + arguments.kwonlyargs)
        if number > MOST_PARAMETERS + 1:
            yield f"line {node.lineno}: {node.name} has {number} parameters"
    if isinstance(node, ast.ImportFrom) and node.level:
        for alias in node.names:
            if re.match(r"_(?!_)", alias.name):
                yield f"line {node.lineno}: {alias.name} is private to another module"
    if isinstance(node, ast.Constant) and layer not in ("store", "db") and _is_sql(node.value):
        yield f"line {node.lineno}: SQL outside store and db"
    if isinstance(node, ast.ExceptHandler) and name not in BROAD_EXCEPT_ALLOWED:
        caught = ast.unparse(node.type) if node.type else "everything"
        broad = caught in ("everything", "Exception", "BaseException")
        if broad and not any(isinstance(inner, ast.Raise) for inner in ast.walk(node)):
            yield f"line {node.lineno}: catches {caught} and does not raise"
