"""Repair a store: scrub secrets by improved rules, erase texts in files, overwrite the remains of
deleted rows, recover a damaged store."""

from __future__ import annotations

import json
import os
import re
import time
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from ..archive import sql as archive_sql
from ..context import Context
from ..errors import NotFound, RecollectError, Refused
from ..fast_typing import Any, NamedTuple
from ..recall import operations as recall_operations
from ..recall import steps_reindex as recall_steps_reindex
from ..secrets import redaction
from ..storage.database import TABLES, Database, Row, Tx
from ..text import messages
from ..types import trust
from . import sql


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
        for table, columns in _SCRUBBED.items():
            keys = TABLES[table]
            after: Row = tuple(-1 if name in ("seq", "revision") else "" for name in keys)
            look = partial(sql.load_scrubbable, table=table, columns=columns)
            while rows := space.read(partial(look, after=after)):
                bad = [one for row in rows if (one := _find_secrets(row, keys, columns, found))]
                if bad:
                    records[table] = records.get(table, 0) + len(bad)
                if bad and yes:
                    space.write(partial(_write_scrubbed, table=table, bad=bad))
                after = tuple(rows[-1][: len(keys)])
        if yes and records:
            clean_traces(context, space)
    return Scrubbed(records, found)


_SCRUBBED: dict[str, tuple[str, ...]] = {
    "messages": ("body",),
    "memories": sql.STATEMENTS,
    "memory_revisions": sql.STATEMENTS,
    "documents": ("title", "text", "fields"),
    "episodes": ("goal", "outcome", "body", "synopsis"),
    "procedures": ("name", "description", "body"),
    "sessions": ("name",),
    "windows": ("state", "summary"),
    "events": ("payload",),
    "observations": ("body",),
    "findings": ("body",),
    "undos": ("body",),
}
"""Tables with text, and the columns that are scanned."""

_PAGE = 500
_Found = tuple[Row, dict[str, redaction.Redacted]]


def _find_secrets(
    row: Row, keys: Sequence[str], columns: Sequence[str], found: dict[str, int]
) -> _Found | None:
    """Return the key of a row and its columns with secrets; None without any."""
    changed: dict[str, redaction.Redacted] = {}
    for name, value in zip(columns, row[len(keys) :], strict=True):
        clean = _scrub_value(str(value))
        if clean.found:
            changed[name] = clean
            for type_ in clean.found:
                found[type_] = found.get(type_, 0) + 1
    return (tuple(row[: len(keys)]), changed) if changed else None


def _scrub_value(value: str) -> redaction.Redacted:
    """Scrub a column: JSON by its values, other text as it is."""
    if value[:1] in ("{", "["):
        try:
            return redaction.redact_json(json.loads(value))
        except ValueError:
            pass  # text that begins with a bracket
    return redaction.redact_and_report(value)


def _rebuild_chain(tx: Tx, session: str) -> None:
    """Recompute the digests and the hash chain of a session whose messages were changed."""
    head, at = "", 1
    while rows := archive_sql.messages(tx, session, at, 2**62, _PAGE):
        for row in rows:
            digest = row.digest
            if row.body != messages.forgotten_body(row.role):
                digest = messages.body_digest(row.body)
            head = messages.chain_hash(head, row.seq, row.role, row.origin, row.at, digest)
            if head != row.hash:
                sql.set_hashes(tx, session, row.seq, digest, head)
        at = rows[-1].seq + 1
    sql.set_head(tx, session, head)


def _write_scrubbed(tx: Tx, table: str, bad: Sequence[_Found]) -> None:
    source = {"memories": "memory", "memory_revisions": "memory"}.get(
        table, table.removesuffix("s")
    )
    for key, changed in bad:
        sql.set_scrubbed(tx, table, key, {name: clean.text for name, clean in changed.items()})
        if source in ("memory", "message", "document", "episode", "procedure"):
            ref, *number = key
            seq = int(number[0]) if number and source != "document" else 0
            recall_steps_reindex.reindex_record(tx, source, str(ref), seq)
    if table == "messages":
        for session in dict.fromkeys(str(session) for (session, _), _ in bad):
            _rebuild_chain(tx, session)


def clean_traces(context: Context, space: Database) -> tuple[int, list[str]]:
    """Overwrite the remains of deleted rows, and recreate the automatic backups."""
    path = getattr(space, "path", "")
    if path:
        repair = context.load_repair()
        space.close()
        busy = repair.rewrite_store(path)
        removed = repair.remove_backups(path)
        if removed:
            repair.rotate_backups(path, interval=-1)
        warning = (
            "another process is using the store, so its file may still contain erased text: stop "
            "that process, and run the same command again"
        )
        return removed, [warning] if busy else []
    vacuum = getattr(space, "vacuum", None)
    if vacuum is None:
        return 0, []
    done = "vacuumed" if vacuum() else "deleted, which their owner's next VACUUM cleans up"
    return 0, [
        f"PostgreSQL: the rows are {done}; unused bytes of the server's files, its write-ahead "
        "log, replicas and backups keep the text until they are recycled. How an administrator "
        "overwrites the files now: docs/guarantees.md, Forgotten on PostgreSQL"
    ]


# ---------------------------------------------------------------- files

_LARGEST = 64 * 1024 * 1024
_STREAM = re.compile(rb"stream\r?\n")
_INFLATED = 64 * 1024 * 1024


def make_text_check(texts: Sequence[str]) -> Callable[[bytes], bool]:
    """Return a function that checks whether bytes contain a text: as UTF-8, as UTF-16, or as UTF-8
    in a deflated stream of a PDF, a gzip file or a ZIP member."""
    plain = [text.encode() for text in texts]
    forms = [text.encode(code) for text in texts for code in ("utf-8", "utf-16-le", "utf-16-be")]

    def check(data: bytes) -> bool:
        return any(form in data for form in forms) or any(
            text in piece for piece in _inflate(data) for text in plain
        )

    return check


_LEAST_ENCODED = 12


def encode_base64(text: str) -> list[str]:
    """Return the base64 forms of a text inside longer bytes, one for each of the three alignments,
    without the ends, which depend on the neighbours."""
    raw = text.encode()
    found = []
    for before in range(3):
        whole = b64encode(bytes(before) + raw).decode().rstrip("=")
        found.append(whole[2 * before - (before > 1) : (before + len(raw)) * 8 // 6])
    return [one for one in found if len(one) >= _LEAST_ENCODED]


def _inflate(data: bytes) -> Iterator[bytes]:
    """Yield the deflated streams of a file, decompressed."""
    starts = [(match.end(), zlib.MAX_WBITS) for match in _STREAM.finditer(data)]
    if data[:2] == b"\x1f\x8b":
        starts.append((0, zlib.MAX_WBITS | 16))
    at = data.find(b"PK\3\4")
    while at >= 0:
        name, more = (int.from_bytes(data[at + i : at + i + 2], "little") for i in (26, 28))
        starts.append((at + 30 + name + more, -zlib.MAX_WBITS))
        at = data.find(b"PK\3\4", at + 4)
    for start, bits in starts:
        try:
            yield zlib.decompressobj(bits).decompress(data[start:], _INFLATED)
        except zlib.error:
            continue  # not deflated


def erase_texts(folders: Iterable[str], texts: Sequence[str], mark: str, apply: bool) -> list[str]:
    """Replace texts in all files of these folders but databases, and remove those that held nothing
    else; return the changed files."""
    wanted = [text.encode() for text in texts]
    changed = []
    for folder in folders:
        for place, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(place, name)
                if ".db" in name or os.path.islink(path) or os.path.getsize(path) > _LARGEST:
                    continue
                with open(path, "rb") as file:
                    before = file.read()
                after = before
                for text in wanted:
                    after = after.replace(text, mark.encode())
                if after != before:
                    changed.append(path)
                    if apply:
                        _replace_file(path, after)
                        if after.strip() == mark.encode():
                            os.remove(path)
    return changed


def _replace_file(path: str, content: bytes) -> None:
    """Write a file in place of another, with its permissions."""
    temporary = f"{path}.{os.urandom(4).hex()}.new"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, os.stat(path).st_mode & 0o777)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


# ---------------------------------------------------------------- a damaged store


class Recovered(NamedTuple):
    """Rows by table: saved, missing (`gaps`), and restored from backups; `kept` is the folder with
    the damaged files."""

    path: str
    saved: dict[str, int]
    gaps: dict[str, int]
    restored: dict[str, int]
    kept: str
    backup: str = ""
    problems: tuple[str, ...] = ()


def recover(context: Context, backup: str = "", layer: str = "project") -> Recovered:
    """Repair a damaged store: keep what can be read, take the rest from backups.

    The damaged files are kept in a folder beside the store. A store without damage is left alone.

    backup: restore this copy instead; what was erased with `forget` stays erased
    layer: project or user

    Example: recollect recover
    Example: recollect recover --backup ~/memory-copy.db
    """
    hint = "run `recollect recover` yourself"
    trust.require_person(context.origin, "recover a store", hint=hint)
    space = context.space_of(layer)
    path = getattr(space, "path", "")
    if not path:
        raise Refused(
            "only SQLite stores can be recovered",
            hint="restore a PostgreSQL database with the tools of its server",
        )
    problems = _find_problems(space)
    repair = context.load_repair()
    rescued = [one for one in repair.list_backups(path) if "rescued-" in os.path.basename(one)]
    if not (problems or backup or rescued):
        return Recovered(path, {}, {}, {}, "")
    chosen = os.path.abspath(os.path.expanduser(backup)) if backup else ""
    if chosen and not os.path.exists(chosen):
        raise NotFound("there is no such backup", where=chosen)
    done = _replace_store(
        repair, space, path, chosen or ("" if problems else rescued[0]), bool(chosen)
    )
    for copy in rescued:
        os.rename(copy, os.path.join(done.kept, os.path.basename(copy)))
    recall_operations.reindex_outdated(context)
    return done._replace(problems=problems)


def _find_problems(space: Database) -> tuple[str, ...]:
    try:
        return space.health(deep=True).problems
    except RecollectError as error:
        return (str(error),)
    finally:
        space.close()


def _replace_store(repair: Any, space: Database, path: str, backup: str, alone: bool) -> Recovered:
    """Write a new store beside the damaged one, then replace that; `alone` uses only the backup."""
    target = f"{path}.recovering"
    if os.path.exists(target):
        os.unlink(target)  # a recovery was killed
    others = repair.list_backups(path)
    read_from = backup or path
    try:
        merged = [path] if backup and not alone else []
        found = repair.save_all_readable(read_from, target, others, merged)
    except NotFound:
        os.unlink(target)
        if backup or not others:
            raise
        read_from = others[0]
        found = repair.save_all_readable(read_from, target, others[1:])
    space.close()
    kept = os.path.join(os.path.dirname(path), "damaged", str(time.time_ns()))
    os.makedirs(kept, mode=0o700)
    for ending in ("", "-wal", "-shm", "-journal"):
        if os.path.exists(path + ending):
            os.rename(path + ending, os.path.join(kept, os.path.basename(path) + ending))
    os.rename(target, path)
    return Recovered(
        path=path,
        saved=dict(found.saved),
        gaps=dict(found.lost),
        restored=dict(found.restored),
        kept=kept,
        backup=read_from if read_from != path else "",
    )
