"""Copy the rows of a space to another one or to JSON lines, with a digest that proves it.

The digest of a table is the sum of the digests of its rows: the order of rows, which differs
between engines, does not matter.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256

from ..archive import attachments
from ..errors import InvalidInput
from ..fast_typing import NamedTuple
from ..secrets import redaction
from ..storage.database import Database, Row, Tx
from ..types.records import Json
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


def copy_space(
    source: Database, target: Database, columns: Columns, now: int
) -> tuple[SpaceDigest, SpaceDigest]:
    """Copy all rows of a space to an empty one; return the digests of both."""

    def copy(origin: Tx) -> None:
        for table in sql.KEYS:
            for page in sql.pages(origin, table, columns[table]):
                target.write(
                    partial(sql.insert_rows, table=table, columns=columns[table], rows=page)
                )

    before = source.read(lambda tx: digest_space(tx, columns))
    source.read(copy)
    after = target.read(lambda tx: digest_space(tx, columns))
    target.write(lambda tx: sql.request_index(tx, now))
    return before, after


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


def import_lines(
    lines: Iterator[str], known: Columns, write: Callable[[str, list[str], list[Row]], int]
) -> tuple[int, int]:
    """Check the lines of an export and write its rows; return how many were read and were new."""
    header = _parse(next(lines, ""), 1)
    if header.get("recollect") != FORM:
        raise InvalidInput("this file is not an export of Recollect", where="line 1")
    given = header.get("tables", {})
    batch: dict[str, list[Row]] = {}
    rows = new = total = 0
    for number, line in enumerate(lines, start=2):
        value = _parse(line, number)
        if "sha256" in value:
            if value["rows"] != rows or value["sha256"] != f"{total % _WHOLE:064x}":
                raise InvalidInput("the export was changed or cut", where=f"line {number}")
            for table, page in batch.items():
                new += write(table, known[table], page)
            return rows, new
        table, row = value.get("table", ""), value.get("row", [])
        if table not in known or len(row) != len(given.get(table, ())):
            raise InvalidInput(f"there is no table {table!r}", where=f"line {number}")
        rows += 1
        total += row_number((table, *row))
        held = dict(zip(given[table], row, strict=True))
        if table != "attachments" or _is_clean_attachment(held, number):
            batch.setdefault(table, []).append(_clean_row(table, held, known[table]))
    raise InvalidInput("the export ends before its last line", where=f"after {rows} rows")


def _parse(line: str, number: int) -> dict[str, Json]:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise InvalidInput(f"not JSON: {error}", where=f"line {number}") from error
    if not isinstance(value, dict):
        raise InvalidInput("not a JSON object", where=f"line {number}")
    return value


def _is_clean_attachment(held: Mapping[str, Json], number: int) -> bool:
    """Check whether bytes are those that their hash names, and hold no secret."""
    try:
        data = b64decode(str(held.get("data", "")), validate=True)
    except ValueError as error:
        raise InvalidInput(f"not base64: {error}", where=f"line {number}") from error
    if sha256(data).hexdigest() != held.get("sha256"):
        raise InvalidInput("an attachment was changed", where=f"line {number}")
    return attachments.redact_bytes(data)[0] == data


def _clean_row(table: str, held: Mapping[str, Json], columns: Sequence[str]) -> Row:
    return tuple(
        held.get(name, "") if (table, name) in sql.BINARY else _clean(held.get(name, ""))
        for name in columns
    )


def _clean(value: Json) -> Json:
    """Redact a text of a loaded file."""
    if not isinstance(value, str):
        return value
    if value[:1] in ("{", "["):
        try:
            parsed = json.loads(value)
        except ValueError:
            parsed = None
        if parsed is not None:
            clean = redaction.redact_json(parsed)
            return clean.text if clean.found else value
    return redaction.redact(value)
