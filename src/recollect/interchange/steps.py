"""Copy the rows of a space to another one or to JSON lines, verified by a digest.

The digest of a table is the sum of the digests of its rows, so that it does not depend on their
order, which differs between engines.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import sha256

from ..archive import attachments
from ..errors import InvalidInput, Refused, StoreCorrupt
from ..fast_typing import NamedTuple
from ..secrets import redaction
from ..storage import sql as storage_sql
from ..storage.database import Database, Row, Tx
from ..text import addresses, messages
from ..types.records import (
    KINDS,
    LAYERS,
    ORIGINS,
    PRIORITIES,
    ROLES,
    STATUSES,
    STATUSES_IN_USE,
    Json,
)
from ..undo import sql as undo_sql
from . import sql

FORM = 1
_WHOLE = 2**256


class SpaceDigest(NamedTuple):
    """The number of rows of a space, and the digest of each table."""

    rows: int
    tables: Mapping[str, str]


Columns = Mapping[str, list[str]]


def exported_columns(known: Columns) -> dict[str, list[str]]:
    """Return the columns of every exported table, without those that the target fills in itself.

    PostgreSQL signs each row with the role that writes it. Another person's statements keep their
    label, `teammate`.
    """
    return {
        table: [name for name in columns if name not in ("space", "seal", "author")]
        for table, columns in known.items()
    }


def digest_space(tx: Tx, known: Columns) -> SpaceDigest:
    """Return the digest of all rows of a space."""
    rows, tables = 0, {}
    for table, columns in known.items():
        total = 0
        for page in sql.pages(tx, table, columns):
            rows += len(page)
            total += sum(row_number(row) for row in page)
        tables[table] = f"{total % _WHOLE:064x}"
    return SpaceDigest(rows, tables)


def row_number(row: Sequence[Json]) -> int:
    """Return the digest of a row as a number."""
    text = json.dumps(list(row), ensure_ascii=False, separators=(",", ":"))
    return int.from_bytes(sha256(text.encode("utf-8", "surrogatepass")).digest(), "big")


def copy_space(source: Database, target: Database, columns: Columns, now: int) -> SpaceDigest:
    """Copy all rows of a space to an empty one in one transaction: all of it, or nothing. Return
    the digest, which is the same for both."""

    def copy(origin: Tx, into: Tx) -> SpaceDigest:
        if not is_empty(into):
            raise Refused("the target holds memory already", hint="name an empty one")
        for table in sql.KEYS:
            for page in sql.pages(origin, table, columns[table]):
                sql.insert_rows(into, table, columns[table], page)
        before, after = digest_space(origin, columns), digest_space(into, columns)
        if before != after:
            wrong = [name for name in before.tables if before.tables[name] != after.tables[name]]
            raise StoreCorrupt(
                f"the copy is not equal to the store in {', '.join(wrong)}: nothing was copied",
                hint="run `recollect doctor`, then try again with an empty target",
            )
        storage_sql.recount_memories(into)
        sql.request_index(into, now)
        return after

    return target.write(lambda into: source.read(lambda origin: copy(origin, into)))


def is_empty(tx: Tx) -> bool:
    """Check whether a space holds no memory, session or document."""
    return not any(sql.count_rows(tx, table) for table in ("memories", "sessions", "documents"))


def export_lines(tx: Tx, columns: Columns, local: bool) -> Iterator[str]:
    """Yield the JSON lines of a space: a header, each row, and the digest of all of them."""
    yield _line({"recollect": FORM, "tables": columns})
    rows = total = 0
    for table in sql.KEYS:
        if table in sql.LOCAL and not local:
            continue
        for page in sql.pages(tx, table, columns[table]):
            for row in page:
                rows += 1
                total += row_number((table, *row))
                yield _line({"table": table, "row": list(row)})
    yield _line({"rows": rows, "sha256": f"{total % _WHOLE:064x}"})


def _line(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


def parse_lines(
    lines: Iterator[str], known: Columns, texts: Columns
) -> tuple[int, dict[str, list[Row]]]:
    """Check the lines of an export; return the number of rows, and the rows by table, redacted and
    in the order of our columns. `texts` are the columns that hold text."""
    header = _parse(next(lines, ""), 1)
    if header.get("recollect") != FORM:
        raise InvalidInput("this file is not an export of Recollect", where="line 1")
    given = header.get("tables")
    if not isinstance(given, dict) or not all(map(_is_names, given.values())):
        raise InvalidInput("the list of tables cannot be read", where="line 1")
    found: dict[str, list[Row]] = {}
    rows = total = 0
    for number, line in enumerate(lines, start=2):
        value = _parse(line, number)
        if "sha256" in value:
            if value.get("rows") != rows or value["sha256"] != f"{total % _WHOLE:064x}":
                raise InvalidInput("the export was changed or cut", where=f"line {number}")
            return rows, found
        table, row = value.get("table", ""), value.get("row", [])
        if not isinstance(table, str) or table not in known or table not in given:
            raise InvalidInput(f"there is no table {table!r}", where=f"line {number}")
        if not isinstance(row, list) or len(row) != len(given[table]):
            raise InvalidInput(f"a row of {table} has other columns", where=f"line {number}")
        rows += 1
        total += row_number((table, *row))
        values = dict(zip(given[table], row, strict=True))
        _check_row(table, values, texts.get(table, ()), number)
        if table != "attachments" or _is_clean_attachment(values, number):
            found.setdefault(table, []).append(_clean_row(table, values, known[table]))
    raise InvalidInput("the export ends before its last line", where=f"after {rows} rows")


def _is_names(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


_LISTS = {"scope", "tags", "examples", "citations", "evidence", "sources"}
_OBJECTS = {"memories": "detail", "memory_revisions": "detail", "documents": "fields"}
_BODIES = ("messages", "episodes", "procedures")
_WORDS: Mapping[str, Collection[str]] = {
    "origin": ORIGINS, "label": ORIGINS, "role": ROLES, "priority": PRIORITIES, "layer": LAYERS,
}  # fmt: skip
_IDS = {"memories": "m-", "memory_revisions": "m-", "episodes": "e-", "procedures": "p-"}


def _check_row(table: str, row: Mapping[str, Json], texts: Collection[str], number: int) -> None:
    """Raise InvalidInput for a row that Recollect cannot have written: SQLite would store it, but
    it could not be read."""
    for name, value in row.items():
        # The engine checks which columns may be NULL.
        if value is not None and not _is_valid(table, name, value, name in texts):
            raise InvalidInput(
                f"{table}.{name} cannot be {str(value)[:40]!r}", where=f"line {number}"
            )


def _is_valid(table: str, name: str, value: Json, is_text: bool) -> bool:
    if not is_text and (table, name) not in sql.BINARY:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and -(2**63) <= value < 2**63
    if not isinstance(value, str) or not _is_text(value):
        return False
    if name == "id" and table in _IDS:
        return re.fullmatch(rf"{_IDS[table]}[0-9a-z]{{1,40}}", value) is not None
    if name in ("kind", "status") and table in ("memories", "memory_revisions"):
        return value in (KINDS if name == "kind" else STATUSES)
    if name in _WORDS:
        return value in _WORDS[name]
    if name in _LISTS:
        return isinstance(_parse_json(value), list)
    if _OBJECTS.get(table) == name or (name == "body" and table in _BODIES):
        return isinstance(_parse_json(value), dict)
    return True


def _is_text(value: str) -> bool:
    return "\0" not in value and value == value.encode("utf-8", "replace").decode()


def _parse_json(value: str) -> Json:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


OWN = ("tombstones", "undos", "observations", "findings", *sql.LOCAL)
"""Tables of another person that would have an effect here: tombstones, undo records and counts."""

_PARENTS = {
    "messages": ("sessions", "session"),
    "windows": ("sessions", "session"),
    "memory_revisions": ("memories", "id"),
    "memory_aliases": ("memories", "id"),
    "claims": ("memories", "memory"),
}
"""Tables with parts of a record: its table, and the column that names it."""


def merge_rows(tx: Tx, found: Mapping[str, list[Row]], columns: Columns, trust: bool) -> int:
    """Add new records with all their parts; return the number of rows. An existing record is
    extended if the other one is a continuation of it, otherwise it stays unchanged. Records that
    were forgotten here are left out. Without `trust` all of them wait for review."""
    new, tombstones = 0, sql.load_tombstones(tx)
    added: dict[str, set[str]] = {"sessions": set(), "memories": set()}
    for table, names in columns.items():
        rows = [dict(zip(names, row, strict=True)) for row in found.get(table, ())]
        if not trust:
            rows = [] if table in OWN else [_quarantine_row(table, row) for row in rows]
        if table in _PARENTS:
            parent, column = _PARENTS[table]
            rows = [row for row in rows if row[column] in added[parent]]
        rows = [row for row in rows if not _is_forgotten(table, row, tombstones)]
        if table == "links" and not trust:
            rows = [row for row in rows if {row["source"], row["target"]} <= added["memories"]]
        if table == "memories" and trust:
            _remove_outdated(tx, rows, found, columns)
        if table == "sessions" and trust:
            added[table] |= _continue_sessions(tx, rows, found, columns)
        for row in rows:
            if sql.insert_rows(tx, table, list(row), [tuple(row.values())]):
                new += 1
                if table in added:
                    added[table].add(str(row["id"]))
    return new


def _is_forgotten(table: str, row: Mapping[str, Json], tombstones: sql.Tombstones) -> bool:
    """Check whether a memory or document was forgotten here."""
    if table in ("memories", "memory_revisions"):
        return row["id"] in tombstones.refs or row["digest"] in tombstones.digests
    if table == "documents":
        address = str(row["address"]).removeprefix(addresses.SCHEME)
        return (
            address in tombstones.refs
            or messages.text_digest(str(row["text"])) in tombstones.digests
        )
    return False


def _quarantine_row(table: str, row: Mapping[str, Json]) -> dict[str, Json]:
    """Return a row labelled as imported. The origin of a message stays: it is part of its hash."""
    changed = dict(row)
    if "label" in row:
        changed["label"] = "import"
    if "origin" in row and table not in ("messages", "sessions"):
        changed["origin"] = "import"
    if row.get("status") in STATUSES_IN_USE and table != "sessions":
        changed["status"] = "quarantined"
    return changed


def _continue_sessions(
    tx: Tx, rows: Sequence[Mapping[str, Json]], found: Mapping[str, list[Row]], columns: Columns
) -> set[str]:
    """Extend our sessions with the later messages of another copy; return their ids."""
    names = columns["messages"]
    session, seq, hash = (names.index(name) for name in ("session", "seq", "hash"))
    hashes = {(row[session], row[seq]): row[hash] for row in found.get("messages", ())}
    added = set()
    for row in rows:
        key, changed = (row["id"],), {name: row[name] for name in row if name != "id"}
        ours = undo_sql.read_columns(tx, "sessions", key, ("next_seq", "head"))
        if not ours or ours["next_seq"] >= row["next_seq"]:
            continue
        if hashes.get((row["id"], ours["next_seq"] - 1)) == ours["head"]:
            undo_sql.set_columns(tx, "sessions", key, changed)
            added.add(str(row["id"]))
    return added


def _remove_outdated(
    tx: Tx, rows: Sequence[Mapping[str, Json]], found: Mapping[str, list[Row]], columns: Columns
) -> None:
    """Remove our open revision of memories that were only revised in the other copy since."""
    names = columns["memory_revisions"]
    id, revision, digest = (names.index(name) for name in ("id", "revision", "digest"))
    earlier = {(row[id], row[revision]): row[digest] for row in found.get("memory_revisions", ())}
    for row in rows:
        ours = undo_sql.read_columns(tx, "memories", (row["id"],), ("revision", "digest"))
        if not ours or ours["revision"] >= row["revision"]:
            continue
        if earlier.get((row["id"], ours["revision"])) == ours["digest"]:
            undo_sql.remove(tx, "memories", (row["id"],))


def _parse(line: str, number: int) -> dict[str, Json]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else error
        raise InvalidInput(f"not JSON: {reason}", where=f"line {number}") from error
    if not isinstance(value, dict):
        raise InvalidInput("not a JSON object", where=f"line {number}")
    return value


def _is_clean_attachment(row: Mapping[str, Json], number: int) -> bool:
    """Check that an attachment matches its hash; return whether it is free of secrets."""
    try:
        data = b64decode(str(row.get("data", "")), validate=True)
    except ValueError as error:
        raise InvalidInput(f"not base64: {error}", where=f"line {number}") from error
    if sha256(data).hexdigest() != row.get("sha256"):
        raise InvalidInput("an attachment was changed", where=f"line {number}")
    return attachments.redact_bytes(data)[0] == data


def _clean_row(table: str, row: Mapping[str, Json], columns: Sequence[str]) -> Row:
    return tuple(
        row.get(name, "") if (table, name) in sql.BINARY else _clean(row.get(name, ""))
        for name in columns
    )


def _clean(value: Json) -> Json:
    """Redact a text of a loaded file."""
    if not isinstance(value, str):
        return value
    parsed = _parse_json(value) if value[:1] in ("{", "[") else None
    if parsed is None:
        return redaction.redact(value)
    clean = redaction.redact_json(parsed)
    return clean.text if clean.found else value
