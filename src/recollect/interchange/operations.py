"""Export and import memory: JSON lines, the layouts of other systems, another engine."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ..agents import operations_transcripts
from ..archive import sql as archive_sql
from ..context import Context, new_id
from ..documents import user_files_io
from ..episodes import steps as episodes_steps
from ..errors import InvalidInput, NotFound, RecollectError, Refused
from ..fast_typing import NamedTuple
from ..maintenance import operations_erase
from ..memory import operations as memory_operations
from ..memory import sql as memory_sql
from ..memory import steps as memory_steps
from ..memory import steps_learn as memory_steps_learn
from ..memory import steps_neighbours as memory_steps_neighbours
from ..recall import operations as recall_operations
from ..secrets import redaction
from ..storage import sql as storage_sql
from ..storage.database import Database, Tx
from ..text import addresses, display
from ..types.records import Learned
from ..types.trust import require_person
from . import formats, sql, steps, steps_layouts


class Exported(NamedTuple):
    """The files that were written, the number of records, and what was left out."""

    files: tuple[str, ...]
    records: int
    loss: str = ""


class Loaded(NamedTuple):
    """The result of loading a file: its format, the number of statements, and of new ones."""

    form: str
    read: int
    new: int
    status: str
    loss: str = ""
    problems: tuple[str, ...] = ()


class Migrated(NamedTuple):
    """A store that was copied to another engine; the digests of both are equal."""

    target: str
    rows: int
    digest: str
    loss: str = ""


def export_memory(
    context: Context, path: str, form: str = "jsonl", layer: str = "project", local: bool = False
) -> Exported:
    """Export this project's memory to a file, or to the layout of another system.

    A colleague loads the file with `recollect load`; nothing in it is used before they accept it.

    path: the new file for jsonl, or the folder for another form
    form: jsonl (everything), clio, loki, repo (/memories/repo) or markdown (MEMORY.md)
    layer: project or user
    local: include data of this machine only (import positions, jobs, usage counts)

    Example: recollect export memory.jsonl
    Example: recollect export . --form repo
    """
    space = context.space_of(layer)
    if form == "jsonl":
        rows, altered = space.read(
            lambda tx: (
                user_files_io.write_lines(path, steps.export_lines(tx, _columns(context), local)),
                sql.count_altered(tx),
            )
        )
        loss = "" if local else "left out: data of this machine only (--local adds it)"
        return Exported(
            (os.path.abspath(path),),
            rows - 2,
            "; ".join(filter(None, [loss, _describe_altered(altered)])),
        )
    if form not in steps_layouts.WRITERS:
        raise InvalidInput(
            f"{form!r} is not a form",
            where="form",
            hint=f"jsonl, {', '.join(steps_layouts.WRITERS)}",
        )
    records = space.read(lambda tx: steps_layouts.load_records(tx, form == "clio"))
    files = steps_layouts.WRITERS[form](records, display.format_time(context.clock()))
    written = user_files_io.write_files(path, files)
    return Exported(written, len(records.memories), f"not kept in this form: {formats.LOSS[form]}")


_UNREADABLE = (
    *(ValueError, TypeError, AttributeError, KeyError, RecursionError),
    *(InvalidInput, OSError),
)
"""What a file that is none of its format raises."""


def load_memory(context: Context, path: str, form: str = "", trust: bool = False) -> Loaded:
    """Load memory from a file or folder of Recollect or of another system.

    Reads exports of Recollect, the reference MCP memory server (JSONL), mem0, claude-mem,
    basic-memory, Claude Code and Codex memory files, CLAUDE.md and AGENTS.md, .clio/, .loki/,
    /memories/repo with NOTES.md and plans/, and MEMORY.md with skills/. What was loaded waits in
    `recollect review` until you accept it.

    path: the file, or a folder with such files
    form: recollect, mcp-memory, mem0, claude-mem, basic-memory, rules, clio, loki or repo; found by
        name and content
    trust: the content is your own; use it immediately

    Example: recollect load memory.jsonl
    Example: recollect load AGENTS.md --trust
    Example: recollect load ~/.codex/memories
    """
    if trust:
        require_person(context.origin, "trust a file", hint="load it without --trust")
    memory_operations.among("form", (form,), ("", *formats.READABLE))
    whole = os.path.abspath(os.path.expanduser(path))
    if not os.path.exists(whole):
        raise NotFound("there is no such file or folder", where=whole)
    if os.path.isfile(whole) and form in ("", "recollect") and user_files_io.is_export(whole):
        return _load_export(context, whole, trust)
    found: list[formats.ForeignStatement] = []
    records: list[steps_layouts.ForeignRecord] = []
    problems: list[str] = []
    seen = ""
    for name in user_files_io.list_memory_files(whole):
        text = ""
        try:
            text = user_files_io.read_memory_file(name)
            if not form and (record := steps_layouts.read_record(name, text)):
                records.append(record)
                continue
            chosen = form or formats.detect(name, text)
            if not chosen:
                problems.append(formats.describe_unreadable(name, text))
                continue
            found += formats.read(chosen, name, text)
            seen = chosen
        except _UNREADABLE as error:
            problems.append(formats.describe_unreadable(name, text, str(error)))
    if problems and not (found or records) and os.path.isfile(whole):
        where, _, why = problems[0].partition(": ")
        raise InvalidInput(why, where=where, hint="`recollect load --help` lists the formats")
    new = _learn_all(context, found, trust, problems)
    new += sum(_save_record(context, record, trust, problems) for record in records)
    read = sum(bool(one.text) for one in found) + sum(one.what != "index" for one in records)
    return Loaded(
        form=seen or ", ".join(sorted({one.what for one in records})),
        read=read,
        new=new,
        status="active" if trust else "quarantined",
        loss=f"not kept as it was: {formats.LOSS[seen]}" if seen in formats.LOSS else "",
        problems=tuple(problems),
    )


def _save_record(
    context: Context, record: steps_layouts.ForeignRecord, trust: bool, problems: list[str]
) -> bool:
    """Save a record of another layout; return whether it is new. Errors are added to `problems`."""
    origin, now = "user" if trust else "import", context.clock()
    try:
        if record.what == "session":
            done = operations_transcripts.import_transcripts(context, [record.value], "clio")
            return done.messages > 0
        return context.project_space.write(
            lambda tx: steps_layouts.save(tx, record, origin, now, new_id)
        )
    except (RecollectError, AttributeError, TypeError) as error:
        problems.append(f"{record.what} {record.name}: {error}")
        return False


def migrate(context: Context, to: str, layer: str = "project") -> Migrated:
    """Copy a store to another engine, row by row, and prove that both are equal.

    The store that is read stays as it is. Afterwards set `database` in your own configuration (or
    RECOLLECT_DATABASE) to the new one.

    to: postgresql://… or sqlite
    layer: project or user

    Example: recollect migrate postgresql://localhost/recollect
    """
    require_person(context.origin, "move a store", hint="run `recollect migrate` yourself")
    source = context.space_of(layer)
    both = context.open_engine("" if to == "sqlite" else to)
    target = both[layer == "user"]
    try:
        return _copy_verified(context, source, target, to)
    finally:
        for space in both:
            space.close()


def _copy_verified(context: Context, source: Database, target: Database, to: str) -> Migrated:
    place = _place(target)
    if place == _place(source):
        raise InvalidInput("the store is already there", where=to)
    if target.present() and not target.read(steps.is_empty):
        raise Refused("the target is not empty", where=to, hint="name an empty one")
    after = steps.copy_space(source, target, _columns(context), context.clock())
    digest = f"{sum(int(value, 16) for value in after.tables.values()) % 2**256:064x}"
    return Migrated(place, after.rows, digest, _describe_altered(source.read(sql.count_altered)))


def _describe_altered(count: int) -> str:
    if not count:
        return ""
    what = "1 record that was" if count == 1 else f"{count} records that were"
    return f"left out: {what} changed outside Recollect (see `recollect doctor`)"


def _columns(context: Context) -> dict[str, list[str]]:
    return steps.exported_columns(context.load_repair().list_columns_of(tuple(sql.KEYS)))


def _place(space: Database) -> str:
    return space.health().place


def _load_export(context: Context, path: str, trust: bool) -> Loaded:
    """Load the rows of an export; without `trust` they are quarantined as another person's."""
    space, columns, now = context.project_space, _columns(context), context.clock()
    texts = context.load_repair().list_columns_of(tuple(sql.KEYS), "TEXT")

    def load(tx: Tx) -> tuple[int, int, list[str]]:
        with user_files_io.open_text(path) as lines:
            try:
                read, rows = steps.parse_lines(iter(lines), columns, texts)
            except InvalidInput as error:
                error.where = f"{path}, {error.where}"
                error.hint = error.hint or "nothing was loaded"
                raise
        new = steps.merge_rows(tx, rows, columns, trust)
        archive_sql.recount_begun(tx, now)
        storage_sql.recount_memories(tx)
        sql.request_index(tx, now)
        return read, new, sql.find_forgotten(tx, sorted(sql.load_tombstones(tx).digests))

    read, new, forgotten = space.write(load)
    recall_operations.reindex_outdated(context)
    status = "as exported" if trust else "quarantined"
    left_out = "" if trust else "left out: the other person's tombstones, undo records and counts"
    for id in forgotten:
        operations_erase.forget(context, id, yes=True)
    notes = (f"forgotten on the other machine, and erased here too: {', '.join(forgotten)}",)
    return Loaded("recollect", read, new, status, left_out, notes if forgotten else ())


def _learn_all(
    context: Context, found: list[formats.ForeignStatement], trust: bool, problems: list[str]
) -> int:
    """Learn statements in one transaction; return the number of new ones. Refused statements are
    added to `problems`."""
    origin = "user" if trust else "import"
    now = context.clock()
    ready: list[memory_steps.PreparedMemory] = []
    texts: list[str] = []
    for statement in _dedupe(found):
        draft = memory_steps.Draft(
            text=statement.text,
            kind=statement.kind,
            subject=statement.subject,
            tags=statement.tags,
            examples=statement.examples,
            citations=tuple({"path": one} for one in statement.citations),
            confidence=statement.confidence,
            reason=statement.reason,
            scope=statement.scope,
        )
        try:
            ready.append(memory_steps.prepare(draft, origin, now, new_id("m"), origin))
            texts.append(statement.text)
        except (InvalidInput, Refused) as error:
            problems.append(f"{statement.text[:60]!r}: {error}")

    def learn(tx: Tx) -> int:
        done = memory_steps_learn.learn_all(tx, ready, now, {})
        _link_all(tx, found, dict(zip(texts, done, strict=True)), now)
        return sum(one.action == "created" for one in done)

    return context.project_space.write(learn)


def _link_all(
    tx: Tx, found: list[formats.ForeignStatement], done: dict[str, Learned], now: int
) -> None:
    """Store the links of a file between the memories learned from it; ids of the file such as
    sem-001 become addresses of these memories."""
    here = {one.id: done[one.text] for one in found if one.id and one.text in done}
    for name, learned in here.items():
        if addresses.is_loaded_memory(name):
            memory_sql.put_alias(tx, redaction.redact_name(name), learned.memory)
    for one in found:
        targets = [(relation, here[to].id) for relation, to in one.links if to in here]
        targets += [("derived_from", episodes_steps.address_id(name)) for name in one.episodes]
        for relation, target in targets if one.id in here else ():
            memory_steps_neighbours.link(tx, here[one.id].id, relation, [target], "loaded", now)


def _dedupe(found: list[formats.ForeignStatement]) -> Iterator[formats.ForeignStatement]:
    seen: set[str] = set()
    for one in found:
        if one.text and one.text not in seen:
            seen.add(one.text)
            yield one
