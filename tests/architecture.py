"""Check the rules of the architecture: which capability and which kind of module may import which.

`docs/architecture.md` says what the rules are for. The kind of a module follows from its name, the
level of a capability from `LEVELS`.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

LEVELS = (
    ("types", "errors", "fast_typing", "lazy", "version"),
    ("text",),
    ("secrets", "storage", "providers", "actions", "project"),
    ("config", "nested_stores"),
    ("context",),
    ("index",),
    ("documents", "injections", "jobs", "undo", "links"),
    ("archive", "freshness"),
    ("memory",),
    ("capture", "window"),
    ("episodes",),
    ("procedures",),
    ("recall", "review"),
    ("lessons",),
    ("work",),
    ("briefing",),
    ("autonomous",),
    ("agents",),
    ("maintenance",),
    ("interchange",),
    ("validation",),
    ("operation_table",),
    ("client",),
    ("opening",),
    ("frameworks", "interfaces"),
    ("__main__",),
)
"""A capability may import those on earlier lines, and itself."""

LEVEL = {name: level for level, names in enumerate(LEVELS) for name in names}
FREE = {"fast_typing", "errors", "version", "__init__"}
"""What every module may import. (`from .. import name` reads the package's `__init__`.)"""

MAY_CALL = {
    "pure": {"pure"},
    "io": {"io", "base", "pure"},
    "base": {"base", "pure"},
    "sql": {"sql", "base", "pure"},
    "steps": {"steps", "sql", "io", "base", "pure"},
    "operations": {"operations", "steps", "sql", "io", "base", "pure"},
    "edge": {"edge", "operations", "steps", "sql", "io", "base", "pure"},
}
"""Which kinds of module a kind may import."""

BASE = {"context", "config", "project", "nested_stores", "storage.database"}
"""What operations stand on: the context and the seam to the engines."""

EDGES = {"storage", "interfaces", "frameworks", "opening", "client", "operation_table",
         "validation", "__init__", "__main__"}  # fmt: skip
"""What talks to the outside and is of no other kind: connections, commands, servers."""

READS_FILES = {"agents"}
"""Where modules of no other kind may read files: the settings and transcripts of agents."""

IMPURE = {"time", "os", "random", "secrets", "socket", "subprocess", "pathlib", "apsw", "sqlite3"}
SQL = re.compile(
    r"\b(SELECT\s.+\sFROM|INSERT INTO|UPDATE\s\w+\sSET|DELETE FROM|CREATE TABLE|PRAGMA\s\w)", re.S
)
MOST_CODE_LINES, LONGEST_FUNCTION, MOST_PARAMETERS, MOST_MODULES = 300, 60, 8, 15
LONG_MODULE, MOST_LONG_MODULES = 270, 9
"""A module with more code lines than this is long; the package has at most so many long ones."""

BROAD_EXCEPT_ALLOWED = {"interfaces/hooks.py", "interfaces/mcp.py"}


def violations(root: Path) -> list[str]:
    """Return every breach of the rules below the package's root."""
    found: list[str] = []
    folders: Counter[str] = Counter()
    classes: dict[str, list[str]] = {}
    long: list[str] = []
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        if path.name != "__init__.py":
            folders[path.parent.relative_to(root).as_posix()] += 1
        problems, defined, lines = _read_module(name, text)
        found += problems
        long += [name] if lines > LONG_MODULE else []
        for one in defined:
            classes.setdefault(one, []).append(name)
    found += [
        f"{folder}: {count} modules, more than {MOST_MODULES}"
        for folder, count in folders.items()
        if count > MOST_MODULES
    ]
    if len(long) > MOST_LONG_MODULES:
        found.append(f"{len(long)} modules above {LONG_MODULE} lines of code: {', '.join(long)}")
    found += [
        f"class {name} is defined in {' and '.join(places)}"
        for name, places in classes.items()
        if len(places) > 1
    ]
    return found


@cache
def _read_module(name: str, text: str) -> tuple[list[str], list[str], int]:
    """Return the breaches, classes and code lines of a module: most are the same in every planted
    copy."""
    tree = ast.parse(text)
    problems = [f"{name}: {problem}" for problem in _problems(name, text, tree)]
    classes = [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return problems, classes, code_lines(text, tree)


def kind_of(name: str) -> str:
    """Return the kind of a module, given its path below the package or its dotted name."""
    parts = name.removesuffix(".py").replace("/", ".").split(".")
    last = parts[-1]
    for kind in ("operations", "steps", "sql"):
        if last == kind or last.startswith(f"{kind}_"):
            return kind
    if last.endswith("_io"):
        return "io"
    if parts[0] in BASE or ".".join(parts[:2]) in BASE:
        return "base"
    if parts[0] in READS_FILES:
        return "io"
    return "edge" if parts[0] in EDGES else "pure"


def code_lines(text: str, tree: ast.Module) -> int:
    """Count the lines of code, without blank lines, comments and docstrings."""
    documented: set[int] = set()
    for node in ast.walk(tree):
        constant = node.value if isinstance(node, ast.Expr) else None
        if isinstance(constant, ast.Constant) and isinstance(constant.value, str):
            documented.update(range(constant.lineno, (constant.end_lineno or 0) + 1))
    return sum(
        1
        for number, line in enumerate(text.split("\n"), 1)
        if line.strip() and number not in documented and not line.strip().startswith("#")
    )


def _problems(name: str, text: str, tree: ast.Module) -> Iterator[str]:
    capability = name.split("/")[0].removesuffix(".py")
    if (lines := code_lines(text, tree)) > MOST_CODE_LINES:
        yield f"{lines} lines of code, more than {MOST_CODE_LINES}"
    if capability == "__init__":
        return
    if capability not in LEVEL:
        yield f"{capability} has no level"
        return
    kind = kind_of(name)
    for target, line in _imports(name, tree):
        yield from _import_problems(capability, kind, target, line)
    for node in ast.walk(tree):
        yield from _node_problems(name, kind, node)


def _import_problems(capability: str, kind: str, target: str, line: int) -> Iterator[str]:
    if not target.startswith("recollect"):
        if kind == "pure" and target.split(".")[0] in IMPURE:
            yield f"line {line}: a pure module must not import {target}"
        return
    inner = target.removeprefix("recollect").lstrip(".") or "__init__"
    other = inner.split(".")[0]
    if other in FREE or other not in LEVEL:
        return
    if other != capability and LEVEL[other] >= LEVEL[capability]:
        yield f"line {line}: {capability} must not import {other} ({inner})"
    if "." in inner and other != "types" and kind_of(inner) not in MAY_CALL[kind]:
        yield f"line {line}: a module of kind {kind} must not import {inner}"


def _imports(name: str, tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield what a module imports, as the dotted names of modules or of what is in them."""
    package = ["recollect", *name.split("/")[:-1]]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            is_module = module.count(".") >= 2 or not module.startswith("recollect")
            for alias in node.names:
                yield (module if is_module else f"{module}.{alias.name}"), node.lineno


def _is_sql(value: object) -> bool:
    return isinstance(value, str) and SQL.search(value) is not None


def _node_problems(name: str, kind: str, node: ast.AST) -> Iterator[str]:
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
    outside = kind != "sql" and not name.startswith("storage/")
    if isinstance(node, ast.Constant) and outside and _is_sql(node.value):
        yield f"line {node.lineno}: SQL outside sql.py and storage"
    if isinstance(node, ast.ExceptHandler) and name not in BROAD_EXCEPT_ALLOWED:
        caught = ast.unparse(node.type) if node.type else "everything"
        broad = caught in ("everything", "Exception", "BaseException")
        if broad and not any(isinstance(inner, ast.Raise) for inner in ast.walk(node)):
            yield f"line {node.lineno}: catches {caught} and does not raise"
