"""Call every function of every `sql*.py` with made-up arguments, and collect its statements."""

from __future__ import annotations

import importlib
import inspect
import types
import typing
from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import recollect
from recollect.archive.attachments import Attachment
from recollect.storage.database import Database, Tx
from recollect.types.records import SafeText

PACKAGE = Path(recollect.__file__).parent


class Statement(NamedTuple):
    """One SQL statement, its parameters, and the function that ran it."""

    function: str
    sql: str
    params: Mapping[str, Any]


class _Rollback(Exception):
    """Ends a transaction without a change."""


class RecordingTx:
    """A transaction that writes down each statement before it runs it."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self.statements: list[tuple[str, Mapping[str, Any]]] = []
        self._run = tx.run
        tx.run = self._note  # type: ignore[method-assign]

    def _note(self, sql: str, params: Mapping[str, Any] | None = None) -> Any:
        self.statements.append((sql, {"space": self._tx.space, **(params or {})}))
        return self._run(sql, params)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    def run(self, sql: str, params: Mapping[str, Any] | None = None) -> Any:
        return self._note(sql, params)

    def run_batched(self, sql: str, params: Mapping[str, Any] | None = None) -> Any:
        return self._note(sql, params)

    def one(self, sql: str, params: Mapping[str, Any] | None = None) -> Any:
        rows = self._note(sql, params)
        return rows[0] if rows else None

    def many(self, sql: str, rows: Any) -> None:
        for row in rows:
            self.statements.append((sql, {"space": self._tx.space, **row}))


def modules() -> list[str]:
    """Return the dotted names of all modules with statements of a capability."""
    found = sorted(PACKAGE.rglob("sql*.py"))
    return [
        ".".join(("recollect", *path.relative_to(PACKAGE).with_suffix("").parts))
        for path in found
        if not path.name.startswith("sqlite") and path.parent.name != "postgres"
    ]


def functions() -> Iterator[tuple[str, Any]]:
    """Yield name and function of everything that takes a transaction."""
    for name in modules():
        module = importlib.import_module(name)
        assert module.__doc__  # runs a module that is loaded at its first use
        for attribute, value in vars(module).items():
            if not inspect.isfunction(value) or value.__module__ != name:
                continue
            if attribute.startswith("_"):
                continue
            if next(iter(inspect.signature(value).parameters), "") == "tx":
                yield f"{name.removeprefix('recollect.')}.{attribute}", value


KNOWN: Mapping[str, Any] = {
    "table": "memories",
    "source": "memory",
    "filters": {"status": ("active",), "kind": ("fact",), "since": (1,)},
    "where": {"kind": "fact"},
    "changes": {"status": "active"},
    "held": {"status": "active"},
    "key": "k",
    "names": ["status"],
    "block": None,
}
"""Values that a parameter's type does not tell."""

OF_FUNCTION: Mapping[tuple[str, str], Any] = {
    ("interchange.sql.insert_rows", "table"): "sessions",
    ("interchange.sql.insert_rows", "columns"): ["id", "name"],
    ("interchange.sql.insert_rows", "rows"): [("s-1", "x")],
    ("interchange.sql.pages", "columns"): ["id", "text"],
    ("maintenance.sql.drop", "table"): "jobs",
    ("maintenance.sql.load_scrubbable", "after"): ("m-1",),
    ("maintenance.sql.load_scrubbable", "columns"): ["text"],
    ("maintenance.sql.rewrite", "table"): "episodes",
    ("maintenance.sql.set_scrubbed", "key"): ("m-1",),
    ("maintenance.sql.set_scrubbed", "values"): {"text": "x"},
    ("memory.sql.insert", "free"): False,
    ("undo.sql.count_after", "table"): "findings",
    ("undo.sql.read_open", "column"): "source",
    ("undo.sql.read_open", "table"): "links",
    ("undo.sql.set_columns", "values"): {"status": "active"},
}
"""Values of a parameter of one function: names of tables and columns that go together."""


def make_value(name: str, hint: Any, function: str) -> Any:
    """Return an argument of a type."""
    if (function, name) in OF_FUNCTION:
        return OF_FUNCTION[function, name]
    if function.startswith("undo.sql") and name == "key":
        return ["m-1"]
    if name in KNOWN and KNOWN[name] is not None and hint not in (int, bool):
        return KNOWN[name]
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint in (str, SafeText) or hint is Any:
        return SafeText("x")
    if hint is bool:
        return True
    if hint in (int, float):
        return 3
    if hint is bytes:
        return bytes([129]) * 8
    if origin in (typing.Union, types.UnionType):
        return make_value(name, args[0], function)
    if origin is tuple:
        kinds = [kind for kind in args if kind is not Ellipsis]
        return tuple(make_value(name, kind, function) for kind in kinds)
    if origin in (dict, Mapping) or (origin and issubclass(origin, Mapping)):
        return {make_value(name, args[0], function): make_value(name, args[1], function)}
    if origin in (set, frozenset):
        return origin([make_value(name, args[0], function)])
    if origin and issubclass(origin, Sequence):
        return [make_value(name, args[0], function)]
    if origin and issubclass(origin, typing.Iterable):
        return [make_value(name, args[0], function)]
    if isinstance(hint, type) and hasattr(hint, "_fields"):
        if hint.__name__ == "VectorBlock":
            return hint(1, array("q", [1]), b"x")
        hints = typing.get_type_hints(hint)
        return hint(*(make_value("", hints[field], function) for field in hint._fields))
    if origin is array or hint is array:
        return array("q", [1])
    return "x"


def collect(database: Database) -> list[Statement]:
    """Return the statements of all functions, each as it runs on this engine."""
    found: list[Statement] = []
    for name, function in functions():
        # `archive.sql` imports it for the type checker only.
        hints = typing.get_type_hints(function, localns={"Attachment": Attachment})
        parameters = list(inspect.signature(function).parameters.values())[1:]

        def work(tx: Tx) -> None:
            recording = RecordingTx(tx)
            try:
                arguments = [
                    make_value(one.name, hints.get(one.name, str), name)  # noqa: B023
                    for one in parameters  # noqa: B023
                ]
                result = function(recording, *arguments)  # noqa: B023
                if inspect.isgenerator(result):
                    list(result)
            except Exception:  # noqa: BLE001 - a made-up argument may be refused later
                pass
            found.extend(Statement(name, sql, params) for sql, params in recording.statements)  # noqa: B023
            raise _Rollback

        try:
            database.write(work)
        except _Rollback:
            pass
    return found
