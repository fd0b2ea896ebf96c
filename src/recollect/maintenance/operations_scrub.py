"""Remove secrets from what is stored already, after the rules of redaction improved."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial

from ..archive import sql as archive_sql
from ..context import Context
from ..fast_typing import NamedTuple
from ..recall import steps_reindex as recall_steps_reindex
from ..secrets import redaction
from ..storage.database import Tx
from ..text import messages
from ..types import trust
from ..types.records import Json
from . import operations_erase, sql_erase


class Scrubbed(NamedTuple):
    """The number of records with secrets that were removed, by table, and the types found."""

    records: dict[str, int]
    found: dict[str, int]


def scrub(context: Context, yes: bool = False) -> Scrubbed:
    """Remove secrets from stored records, by the current rules.

    Text is scanned before it is stored; this scans it again after the rules improved. Without
    --yes it only counts.

    yes: remove them; without it, show what would be removed

    Example: recollect scrub
    Example: recollect scrub --yes
    """
    if yes:
        trust.require_person(context.origin, "rewrite what is stored", hint="run `recollect scrub`")
    records: dict[str, int] = {}
    found: dict[str, int] = {}
    for space in context.present_spaces():
        for table, (key, columns) in _SCRUBBED.items():
            after = tuple(-1 if name in ("seq", "revision") else "" for name in key.split(", "))
            while True:
                look = partial(
                    sql_erase.load_scrubbable, table=table, key=key, columns=columns, after=after
                )
                rows = space.read(look)
                if not rows:
                    break
                bad = [one for row in rows if (one := _find_secrets(row, key, columns, found))]
                if bad:
                    records[table] = records.get(table, 0) + len(bad)
                if bad and yes:
                    space.write(partial(_write_scrubbed, table=table, bad=bad))
                after = tuple(rows[-1][: len(key.split(", "))])
        if yes and records:
            operations_erase.clean_traces(context, space)
    return Scrubbed(records, found)


_SCRUBBED: dict[str, tuple[str, tuple[str, ...]]] = {
    "messages": ("session, seq", ("body",)),
    "memories": (
        "id",
        ("text", "subject", "detail", "examples", "citations", "evidence", "reason", "tags"),
    ),
    "memory_revisions": (
        "id, revision",
        ("text", "subject", "detail", "examples", "citations", "evidence", "reason", "tags"),
    ),
    "documents": ("address, revision", ("title", "text", "fields")),
    "episodes": ("id", ("goal", "outcome", "body", "synopsis")),
    "procedures": ("id", ("name", "description", "body")),
    "sessions": ("id", ("name",)),
    "windows": ("session", ("state", "summary")),
    "events": ("id", ("payload",)),
    "observations": ("kind, subject, session", ("body",)),
    "findings": ("kind, subject", ("body",)),
    "undos": ("id", ("body",)),
}
"""Tables with text: their key, and the columns that are scanned."""

_PAGE = 500
_Found = tuple[dict[str, object], dict[str, redaction.Redacted]]


def _find_secrets(
    row: Sequence[Json], key: str, columns: Sequence[str], found: dict[str, int]
) -> _Found | None:
    """Return the key of a row and its columns with secrets; None without any."""
    keys = key.split(", ")
    changed: dict[str, redaction.Redacted] = {}
    for name, value in zip(columns, row[len(keys) :], strict=True):
        clean = _scrub_value(str(value))
        if clean.found:
            changed[name] = clean
            for type_ in clean.found:
                found[type_] = found.get(type_, 0) + 1
    return (dict(zip(keys, row, strict=False)), changed) if changed else None


def _scrub_value(value: str) -> redaction.Redacted:
    """Scrub a column: JSON by its values, other text as it is."""
    if value[:1] in ("{", "["):
        try:
            return redaction.redact_json(json.loads(value))
        except ValueError:
            pass  # text that begins with a bracket
    return redaction.redact_and_report(value)


def _chain_again(tx: Tx, session: str) -> None:
    """Compute the digests and the hash chain of a session again: its messages were changed."""
    head, at = "", 1
    while rows := archive_sql.messages(tx, session, at, 2**62, _PAGE):
        for row in rows:
            digest = row.digest
            if row.body != messages.forgotten_body(row.role):
                digest = messages.body_digest(row.body)
            head = messages.chain_hash(head, row.seq, row.role, row.origin, row.at, digest)
            if head != row.hash:
                sql_erase.set_hashes(tx, session, row.seq, digest, head)
        at = rows[-1].seq + 1
    sql_erase.set_head(tx, session, head)


def _write_scrubbed(tx: Tx, table: str, bad: Sequence[_Found]) -> None:
    for keys, changed in bad:
        values = {name: clean.text for name, clean in changed.items()}
        sql_erase.set_scrubbed(tx, table, keys, values)
        source = {"memories": "memory", "memory_revisions": "memory"}.get(
            table, table.removesuffix("s")
        )
        if source in ("memory", "message", "document", "episode", "procedure"):
            ref, *number = keys.values()
            seq = int(str(number[0])) if number and source != "document" else 0
            recall_steps_reindex.reindex_record(tx, source, str(ref), seq)
    if table == "messages":
        for session in dict.fromkeys(str(keys["session"]) for keys, _ in bad):
            _chain_again(tx, session)
