"""No regular expression of the package explodes: hostile text cannot hang a hook.

The patterns are found by reading the source: the first argument of each call that compiles or uses
one, if its value is known when the module is loaded. Each is run over long hostile texts in a
process of its own, and interrupted when it uses more processor time than any reasonable one could.
RECOLLECT_TEST_PATTERN_SIZE sets the length of the texts: with 20,000 characters, patterns that are
only ever matched at the start of a line show quadratic time when they are searched for.
"""

from __future__ import annotations

import ast
import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import recollect

PACKAGE = Path(recollect.__file__).parent
CALLS = {
    *("compile", "search", "match", "fullmatch", "sub", "split", "findall", "finditer"),
    *("compile_pattern", "contains", "_pattern", "bounded_pattern", "_matches"),
}
SIZE, SECONDS = int(os.environ.get("RECOLLECT_TEST_PATTERN_SIZE", "3000")), 3
PIECES = (
    *'a0 -/"\\\n=',
    *("a ", "a_", "0.", "\\n", "\n ", "a=", "](", "key=", "curl -u ", "http://", "<a>"),
)


def patterns() -> dict[str, str]:
    """Return each pattern of the package, and the module it is in."""
    found: dict[str, str] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(("recollect", *path.relative_to(PACKAGE).with_suffix("").parts))
        if name.endswith("__main__"):
            continue
        module = importlib.import_module(name.removesuffix(".__init__"))
        for pattern in _patterns_in(ast.parse(path.read_text(encoding="utf-8")), vars(module)):
            found.setdefault(pattern, name)
        for value in vars(module).values():
            if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
                found.setdefault(value.pattern, name)
    return found


def _patterns_in(tree: ast.Module, names: dict[str, Any]) -> Iterator[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if name not in CALLS:
            continue
        try:
            value = eval(compile(ast.Expression(node.args[0]), "?", "eval"), {**names})  # noqa: S307
        except Exception:  # noqa: BLE001 - a value that is known when it runs only
            continue
        if isinstance(value, str):
            yield value


def all_patterns() -> dict[str, str]:
    from recollect.secrets import commands, formats, rules

    found = patterns()
    for _, _, pattern in commands.CONTEXTS:
        found[pattern] = "commands.CONTEXTS"
    for pattern in commands.COMMANDS.values():
        found[pattern] = "commands.COMMANDS"
    for prefix, _, body in formats.token_prefixes():
        found[rules.bounded_pattern(prefix, body).pattern] = "formats.PREFIXED"
    return found


def run() -> int:
    """Run every pattern over every text; print how many there are, and those that are too slow."""
    import signal

    def stop(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGVTALRM, stop)
    texts = [piece * (SIZE // len(piece)) for piece in PIECES]
    slow, found = 0, all_patterns()
    print(len(found), len({where for where in found.values() if where.startswith("recollect.")}))
    for pattern, where in found.items():
        try:
            compiled = re.compile(pattern, re.ASCII if "\\u" not in pattern else 0)
        except re.error:
            continue  # no pattern: a word that is searched for in another way
        for text in texts:
            signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
            try:
                for _ in compiled.finditer(text):
                    pass
            except TimeoutError:
                print(f"{where}: {pattern[:100]!r} on {text[:8]!r}…")
                slow += 1
                break
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return slow


def test_no_pattern_explodes() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys; from tests.security.test_patterns import run; "
         "sys.exit(min(run(), 100))"],
        capture_output=True, text=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    patterns, modules = map(int, done.stdout.split()[:2])
    assert patterns > 300
    assert modules > 30
