"""Forget a record or a text: erase it permanently.

The text is erased in every table, in the search index and in every file that Recollect manages; a
tombstone with digests only stays. Automatic backups are removed and created again; copies that a
person made elsewhere are not known here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import partial

from ..archive import sql as archive_sql
from ..archive import steps_sessions as archive_steps_sessions
from ..autonomous import files_io as autonomous_files_io
from ..autonomous import steps as autonomous_steps
from ..context import Context, new_id
from ..errors import InvalidInput, NotFound
from ..fast_typing import NamedTuple
from ..index import sql as index_sql
from ..memory import operations as memory_operations
from ..memory import steps_revisions as memory_steps_revisions
from ..project import user_directory
from ..recall import steps_reindex as recall_steps_reindex
from ..secrets import redaction
from ..storage.database import TABLES, Database, Tx
from ..text import addresses, display, messages
from ..types import trust
from ..types.records import Memory
from . import operations_repair, sql, steps_erase

SHORTEST = 6
"""Characters. A shorter text is erased in its own record only: others contain it by chance."""


_LAST = 2**62
"""The end of a span that is a whole session."""


class Receipt(NamedTuple):
    """The result of an erasure: the record, the number of rows by table, the files, and the limits
    of the promise."""

    id: str
    target: str
    rows: dict[str, int]
    files: tuple[str, ...]
    backups: int
    digests: tuple[str, ...]
    notes: tuple[str, ...]
    applied: bool = True
    examples: tuple[str, ...] = ()
    """Some of the records that would be erased, each with its first line and the reason; empty
    afterwards."""


def forget(context: Context, target: str = "", text: str = "", yes: bool = False) -> Receipt:
    """Erase a record or a text everywhere, for good. It is not learned again.

    `hide` takes a memory out of use and can be undone. This cannot. Without --yes it only counts.

    target: a memory, a session, messages (memory://session/ID/messages/3-5) or a document
    text: every record and file that contains this text
    yes: erase; without it, show what would be erased

    Example: recollect forget m-4k9w2c --yes
    Example: recollect forget --text "the customer's name" --yes
    """
    trust.require_person(context.origin, "erase memory", hint="run `recollect forget` yourself")
    if bool(target) == bool(text):
        raise InvalidInput("name a record, or give --text", where="target")
    if text and len(text) < SHORTEST:
        raise InvalidInput(f"the text is shorter than {SHORTEST} characters", where="text")
    memory_operations.write_recalls(context)
    spaces = context.present_spaces()
    notes: list[str] = []
    erased = _Erasure(context, target, apply=yes)
    for space in spaces:
        space.write(lambda tx: erased.plan(tx)) if yes else space.read(lambda tx: erased.plan(tx))
    if text:
        erased.texts.append(text)
    elif not (erased.memories or erased.spans or erased.documents):
        hint = "see `recollect list` and `recollect session list`; to erase a text: --text TEXT"
        raise NotFound("there is no such record", where=target, hint=hint)
    for space in spaces:
        erased.sessions.clear()
        erased.gone.clear()
        (space.write if yes else space.read)(erased.run)
    if erased.outputs:
        notes += _remove_outputs(context)
    if text and not yes and not erased.rows:
        notes += _find_in_other_case(spaces, text)
    receipt_id = new_id("receipt")
    needles = erased.needles()
    folders = (os.path.dirname(context.project.database), user_directory(context.environment))
    files = operations_repair.erase_texts(folders, needles, messages.FORGOTTEN, apply=yes)
    backups = 0
    if yes:
        for space in spaces:
            removed, warnings = operations_repair.clean_traces(context, space)
            backups += removed
            notes += warnings
    return Receipt(
        id=receipt_id,
        target=target or ("a text" if yes else repr(text)),
        rows=erased.rows,
        files=tuple(files),
        backups=backups,
        digests=tuple(erased.digests()),
        notes=tuple(notes),
        applied=yes,
        examples=tuple(erased.examples.values()),
    )


# ---------------------------------------------------------------- forget


class _Erasure:
    """Collects the records and texts of a target in each space, then erases them."""

    def __init__(self, context: Context, target: str, apply: bool) -> None:
        self.target = target.removeprefix(addresses.SCHEME)
        self.apply = apply
        self.now = context.clock()
        self.texts: list[str] = []
        self.spans: list[tuple[str, int, int]] = []
        self.documents: list[str] = []
        self.memories: list[str] = []
        self.rows: dict[str, int] = {}
        self.erased_texts: list[str] = []
        self.sessions: dict[str, dict[int, str]] = {}
        """The texts of erased messages, by session and number."""
        self.whole: set[str] = set()
        self.gone: list[str] = []
        self.columns: dict[str, list[str]] = context.load_repair().list_columns_of(
            tuple(TABLES), "TEXT"
        )
        self.outputs = False
        self.examples: dict[str, str] = {}
        self.counted: set[str] = set()
        """Records that were counted already: each text is searched in several forms."""

    def needles(self) -> list[str]:
        """Return the texts to search for, also as they are written in JSON and in base64."""
        long = [text for text in self.texts if len(text) >= SHORTEST]
        escaped = [json.dumps(text, ensure_ascii=False)[1:-1] for text in long]
        encoded = [form for text in long for form in operations_repair.encode_base64(text)]
        return sorted(dict.fromkeys((*long, *escaped, *encoded)), key=len, reverse=True)

    def digests(self) -> list[str]:
        return list(
            dict.fromkeys(messages.text_digest(text) for text in (*self.texts, *self.erased_texts))
        )

    def plan(self, tx: Tx) -> None:
        """Find the record in a space, and its texts."""
        if not self.target:
            return
        memory = memory_steps_revisions.find(tx, self.target)
        if memory is not None:
            self._plan_memory(tx, memory)
            return
        if self._plan_session(tx):
            return
        address = addresses.SCHEME + self.target
        if texts := sql.load_document_texts(tx, address):
            self.documents.append(address)
            self.texts += texts

    def _plan_session(self, tx: Tx) -> bool:
        """Find a session or messages of it by the address, or a prefix of the id."""
        place = addresses.Address("session", self.target)
        if "/" in self.target:
            place = addresses.parse_address(addresses.SCHEME + self.target)
        if place.kind not in ("session", "messages"):
            return False
        session = archive_steps_sessions.resolve_session_id(tx, place.name)
        if archive_sql.get(tx, session) is None:
            return False
        is_whole = place.kind == "session"
        self.spans.append((session, 1, _LAST) if is_whole else (session, place.first, place.last))
        return True

    def _plan_memory(self, tx: Tx, memory: Memory) -> None:
        self.memories.append(memory.id)
        self.texts += sql.load_texts(tx, memory.id)
        for address in memory.evidence:
            if not address.startswith(addresses.SCHEME):
                continue
            place = addresses.parse_address(address)
            if place.kind == "messages":
                self.spans.append((place.name, place.first, place.last))

    def run(self, tx: Tx) -> None:
        """Erase in one space, or count."""
        why = f"{self.memories[0]} came from it" if self.memories else _NAMED
        for session, first, last in self.spans:
            for row in archive_sql.messages(tx, session, first, last, 10**9):
                if row.body != messages.forgotten_body(row.role):
                    self._erase_message(tx, session, row.seq, why)
            if last == _LAST:
                self.whole |= {f"session/{session}", *sql.list_episodes(tx, session)}
                self.sessions.setdefault(session, {})
            if last == _LAST and self.apply:
                # The row stays, so that an import does not bring the messages back.
                archive_sql.update_details(tx, session, {**_ERASED_NAME, **_ERASED_PLACE})
        for memory in self.memories:
            self._erase_memory(tx, memory, _NAMED)
        for address in self.documents:
            self._erase_document(tx, address)
        holds = operations_repair.make_text_check(
            [text for text in self.texts if len(text) >= SHORTEST]
        )
        for digest in sql.find_attachments(tx, holds) if self.texts else ():
            self._count("attachments")
            for session, seq in sql.find_messages(tx, digest):
                self._erase_message(tx, session, seq, "a file of it contains the text")
        for text in self.needles():
            for session, seq in sql.find_messages(tx, text):
                self._erase_message(tx, session, seq, _CONTAINS)
            for memory in sql.find_memories(tx, text):
                self._erase_memory(tx, memory, _CONTAINS)
            if self.apply:
                self._erase_text(tx, text)
        self._erase_derived(tx)
        if self.apply:
            archive_sql.recount_begun(tx, self.now)
            sql.insert_tombstones(tx, self.digests(), self.target or "text", self.now)

    def _count(self, table: str, number: int = 1) -> None:
        if number:
            self.rows[table] = self.rows.get(table, 0) + number

    def _count_record(self, table: str, ref: str) -> None:
        self._count(table, ref not in self.counted)
        self.counted.add(ref)

    def _erase_message(self, tx: Tx, session: str, seq: int, why: str) -> None:
        ref = f"session/{session}/messages/{seq}"
        self._count_record("messages", ref)
        texts = self.sessions.setdefault(session, {})
        if seq in texts:
            return
        if self.apply:
            body = sql.erase_message(tx, session, seq)
            index_sql.remove_entry(tx, "message", session, seq)
            stored = archive_sql.get(tx, session)
            if stored and body and steps_erase.is_named_after(stored.name, body):
                archive_sql.update_details(tx, session, _ERASED_NAME)
        else:
            body = next((row.body for row in archive_sql.messages(tx, session, seq, seq)), "")
        message = messages.message_from_body(json.loads(body)) if body else None
        texts[seq] = messages.plain_text(message) if message else ""
        self._add_example(ref, texts[seq], why)

    def _add_example(self, ref: str, text: str, why: str) -> None:
        if not self.apply and len(self.examples) < _MOST_EXAMPLES:
            self.examples.setdefault(ref, f"{ref}  {display.format_line(text, 80)}  ({why})")

    def _erase_derived(self, tx: Tx) -> None:
        """Erase the records derived only from erased ones, and the lessons that may quote them."""
        touched = [f"session/{session}" for session in self.sessions]
        touched += [id for session in self.sessions for id in sql.list_episodes(tx, session)]
        queue = [*touched, *self.gone]
        erased = steps_erase.Erased(self.sessions, self.whole, self.gone, bool(self.memories))
        while queue:
            for row in sql.find_derived(tx, queue.pop(0)):
                memory = str(row[0])
                if memory in self.gone:
                    continue
                if why := steps_erase.find_reason(tx, row, erased, touched):
                    self._erase_memory(tx, memory, why, bury=why != steps_erase.LESSON)
                    queue.append(memory)
        for session in self.sessions if self.apply else ():
            for table, number in sql.delete_derived(tx, session).items():
                self._count(table, number)
                # The pages of autonomous memory are made from all extractions: write them again.
                self.outputs |= table == "documents"

    def _erase_memory(self, tx: Tx, memory: str, why: str, bury: bool = True) -> None:
        texts = sql.load_texts(tx, memory)
        self.erased_texts += texts if bury else ()
        self.gone.append(memory)
        if texts:
            self._count_record("memories", memory)
            self._add_example(memory, texts[0], why)
        if self.apply:
            sql.remove_index(tx, "memory", memory)
            sql.delete_memory(tx, memory)

    def _erase_document(self, tx: Tx, address: str) -> None:
        if texts := sql.load_document_texts(tx, address):
            self._count_record("documents", address)
            self._add_example(address, texts[-1], _NAMED)
        if self.apply:
            sql.delete_document(tx, address)

    def _erase_text(self, tx: Tx, text: str) -> None:
        sql.remove_entries(tx, text)
        for table in sql.DROPPED:
            self._count(table, sql.drop(tx, table, text))
        for table, columns in self.columns.items():
            keys = TABLES[table]
            number, changed = sql.rewrite(tx, table, text, keys, columns)
            self._count(table, number)
            for key in changed if table in sql.REWRITTEN else ():
                recall_steps_reindex.reindex_record(tx, table.removesuffix("s"), key)


_MOST_EXAMPLES = 10
_NAMED, _CONTAINS = "you named it", "contains the text"


def _find_in_other_case(spaces: Sequence[Database], text: str) -> list[str]:
    """Return a note with the records that contain a text in another case."""
    look = partial(steps_erase.find_in_other_case, text=text)
    if not (found := [ref for space in spaces for ref in space.read(look)]):
        return []
    contain = "1 record contains" if len(found) == 1 else f"{len(found)} records contain"
    return [f"{contain} it with other upper and lower case: {', '.join(found[:_MOST_EXAMPLES])}"]


_ERASED_NAME = {"name": redaction.redact(messages.FORGOTTEN)}
_ERASED_PLACE = dict.fromkeys(("cwd", "branch"), redaction.redact(""))
"""The columns of an erased session."""


def _remove_outputs(context: Context) -> list[str]:
    """Remove the pages of autonomous memory, which may paraphrase the erased text, and queue them
    to be made again."""
    types = (autonomous_steps.ROOT, "skill")
    now = context.clock()

    def remove(tx: Tx) -> int:
        removed = sql.delete_documents(tx, types)
        if removed:
            autonomous_steps.queue_summary(tx, now)
        return removed

    if not context.project_space.write(remove):
        return []
    if context.settings.mode != "incognito":
        autonomous_files_io.remove_outputs(context.project.folder)
    return ["MEMORY.md and its summary were removed: they are made again of what is left"]
