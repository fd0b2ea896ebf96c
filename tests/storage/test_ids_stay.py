"""Migration 0010: versions under new ids become revisions of the first one, and nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

import recollect
from recollect.index import sql as index_sql
from recollect.secrets.redaction import redact_json
from recollect.storage import migrations
from recollect.storage.database import Tx
from recollect.text import messages, terms
from recollect.types.records import FOREVER
from recollect.undo import sql as undo_sql
from tests.builders.old_postgres import old_store
from tests.builders.records import shown_memory
from tests.conftest import Clock

BEFORE = migrations.MIGRATIONS.index("0010_ids_stay")
DAY = 86_400_000_000
COLUMNS = [
    "id",
    "root",
    "revision",
    "kind",
    "text",
    "subject",
    "detail",
    "category",
    "scope",
    "tags",
    "examples",
    "citations",
    "evidence",
    "reason",
    "confidence",
    "priority",
    "layer",
    "owner",
    "status",
    "origin",
    "label",
    "sources",
    "reinforcement",
    "successes",
    "failures",
    "recalls",
    "first_seen",
    "last_confirmed",
    "last_reinforced",
    "last_recalled",
    "valid_from",
    "valid_to",
    "digest",
]


def put_version(tx: Tx, id: str, text: str, start: int, end: int, **more: object) -> None:
    """Write a version as the releases before this migration did, and index it."""
    row: dict[str, object] = {
        **dict.fromkeys(COLUMNS, "[]"), "id": id, "root": id, "revision": 1, "kind": "reference",
        "text": text, "subject": "", "detail": "{}", "category": "reference", "reason": "",
        "confidence": 0.8, "priority": "normal", "layer": "project", "owner": "",
        "status": "active" if end == FOREVER else "superseded", "origin": "user", "label": "user",
        "reinforcement": 1, "successes": 0, "failures": 0, "recalls": 0, "first_seen": start,
        "last_confirmed": start, "last_reinforced": start, "last_recalled": 0,
        "valid_from": start, "valid_to": end, "digest": messages.text_digest(text), **more,
    }  # fmt: skip
    names = ", ".join(COLUMNS)
    values = ", ".join(f":{name}" for name in COLUMNS)
    tx.run(f"INSERT INTO memories (space, {names}) VALUES (:space, {values})", row)
    entry = index_sql.IndexEntry(
        source="memory", ref=id, kind=str(row["kind"]), layer="project", owner="",
        status=str(row["status"]), label=str(row["label"]), seq=0, at=start, facets=(("scope", ""),),
    )  # fmt: skip
    index_sql.insert_entry(tx, entry, [terms.stem_text(text)])


def put_link(tx: Tx, source: str, relation: str, target: str, reason: str) -> None:
    tx.run(
        "INSERT INTO links (space, source, relation, target, reason, origin, label, sources, "
        f"valid_from, valid_to) VALUES (:space, :source, :relation, :target, :reason, 'user', "
        f"'user', '[]', 1, {FOREVER})",
        {"source": source, "relation": relation, "target": target, "reason": reason},
    )


def fill(tx: Tx, at: int) -> None:
    """A chain of three, one that was learned anew with another value, a forked one, hidden ones."""
    first, second = "Redis listens on port 6380", "Redis listens on port 6390"
    put_version(tx, "m-a", first, at, at + DAY, label="agent", origin="agent")
    put_version(tx, "m-b", first, at + DAY, at + 2 * DAY, root="m-a", revision=2)
    put_version(tx, "m-c", second, at + 2 * DAY, FOREVER, root="m-a", revision=3)
    put_link(tx, "m-b", "supersedes", "m-a", "a new version of it")
    put_link(tx, "m-c", "supersedes", "m-b", "a new version of it")
    put_version(tx, "m-p", "The shop runs on PostgreSQL 14", at, at + DAY)
    put_version(tx, "m-q", "The shop runs on PostgreSQL 16", at + DAY, at + 2 * DAY, root="m-p",
                revision=2)  # fmt: skip
    put_version(tx, "m-r", "The shop runs on PostgreSQL 16", at + 2 * DAY, FOREVER, root="m-p",
                revision=3, citations='[{"path":"db.py"}]')  # fmt: skip
    put_link(tx, "m-q", "supersedes", "m-p", "another value")
    put_link(tx, "m-r", "supersedes", "m-q", "a new version of it")
    put_version(tx, "m-f", "The door is green", at, at + DAY)
    put_version(tx, "m-g", "The door is blue", at + DAY, FOREVER, root="m-f", revision=2)
    put_version(tx, "m-h", "The door is grey", at + DAY, FOREVER, root="m-f", revision=2)
    put_version(tx, "m-z", "The attic is cold", at, FOREVER, status="archived")
    put_link(tx, "m-a", "contradicts", "m-z", "the old text did")
    put_link(tx, "m-c", "contradicts", "m-g", "the new text does")
    put_link(tx, "m-b", "related_to", "m-z", "by hand")
    for memory in ("m-a", "m-c"):
        tx.run(
            "INSERT INTO claims (space, memory, position, path, symbol, line, kind, blob, sign, "
            "committed, state, moved_to, stamp, checked) VALUES (:space, :memory, 0, :path, '', 0, "
            "'file', '', '', '', 'fresh', '', '', 1)",
            {"memory": memory, "path": f"{memory}.py"},
        )
    tx.run(
        "INSERT INTO injections (space, id, session, turn, block, ref, tokens, verdict, at) "
        "VALUES (:space, 'i-1', 's', 1, 'B', 'm-b', 9, 'helped', 1)"
    )
    tx.run(
        "INSERT INTO writes (space, key, operation, ref, at) "
        "VALUES (:space, 'learn k', 'learn', 'm-c', 1)"
    )
    body = redact_json({"memories": {"m-c": "active"}, "episodes": {}, "procedures": {}}).text
    undo_sql.insert(tx, "u-1", "clear", body, at)


def write_old(
    project: Path,
    environment: dict[str, str],
    at: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Write a store as the release before the migration did."""
    if url := environment.get("RECOLLECT_DATABASE"):
        with recollect.open(project, environment=environment, origin="user") as memory:
            space = memory.context.project_space.space
        with old_store(url, space, BEFORE) as old:
            fill(cast(Tx, old), at)
        return
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:BEFORE])
        patch.setattr(migrations, "LATEST", BEFORE)
        patch.setattr(
            migrations, "read_fresh", lambda: "\n".join(migrations.pending_scripts(0, "sqlite"))
        )
        with recollect.open(project, environment=environment, origin="user") as memory:
            memory.context.project_space.write(lambda tx: fill(tx, at))


@pytest.fixture
def postgres_ready(postgres_url: str) -> str:
    """An empty database: these tests make the tables of an earlier release."""
    return postgres_url


@pytest.fixture
def upgraded(
    project: Path, environment: dict[str, str], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> Iterator[recollect.Recollect]:
    """A store that the release before the migration wrote, opened by this one."""
    write_old(project, environment, clock.now - 10 * DAY, monkeypatch)
    with recollect.open(project, clock=clock, environment=environment, origin="user") as memory:
        yield memory


def rows(memory: recollect.Recollect, sql: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in memory.context.project_space.read(lambda tx: tx.run(sql))]


def test_every_id_that_was_printed_still_names_its_memory(upgraded: recollect.Recollect) -> None:
    for typed, means in {"m-a": "m-a", "m-b": "m-a", "m-c": "m-a", "m-p": "m-p", "m-q": "m-q",
                         "m-r": "m-q", "m-g": "m-g", "m-h": "m-h"}.items():  # fmt: skip
        assert shown_memory(upgraded, typed).id == means
        assert shown_memory(upgraded, f"memory://{typed}").id == means
    assert shown_memory(upgraded, "m-b").text == "Redis listens on port 6390"
    assert upgraded.memories.reinforce("m-b").id == "m-a"


def test_what_is_believed_is_as_before(upgraded: recollect.Recollect) -> None:
    assert {(one.id, one.text, one.status) for one in upgraded.list()} == {
        ("m-a", "Redis listens on port 6390", "active"),
        ("m-q", "The shop runs on PostgreSQL 16", "active"),
        ("m-g", "The door is blue", "active"),
        ("m-h", "The door is grey", "active"),
    }
    assert [(one.id, one.status) for one in upgraded.list(status="hidden")] == [("m-z", "hidden")]
    assert [hit.id for hit in upgraded.recall("redis port")] == ["m-a"]
    assert [hit.status for hit in upgraded.recall("attic cold")] == ["hidden"]


def test_versions_are_numbered_revisions_of_the_first_id(upgraded: recollect.Recollect) -> None:
    def told(id: str) -> list[tuple[str, int, str]]:
        return [(one.id, one.revision, one.change) for one in upgraded.memories.history(id)]

    assert told("m-c") == [("m-a", 1, "learn"), ("m-a", 2, "confirm"), ("m-a", 3, "correct")]
    assert told("m-r") == [("m-p", 1, "learn"), ("m-q", 2, "learn"), ("m-q", 3, "verify")]
    assert [one.text for one in upgraded.memories.history("m-g")] == [
        "The door is green", "The door is blue", "The door is grey",
    ]  # fmt: skip
    assert upgraded.memories.correct("m-c", "Redis listens on port 7000").revision == 4


def test_earlier_texts_are_found_at_their_time(upgraded: recollect.Recollect, clock: Clock) -> None:
    from recollect.text.display import format_time

    for days, text in ((9.5, "port 6380"), (8.5, "port 6380"), (7.5, "port 6390")):
        at = format_time(clock.now - int(days * DAY))
        assert [text in hit.text for hit in upgraded.recall("redis port", as_of=at)] == [True]
    (one,) = upgraded.recall("postgresql", as_of=format_time(clock.now - int(9.5 * DAY)))
    assert (one.id, one.outdated_by) == ("m-p", "memory://m-q")


def test_links_claims_and_logs_point_at_the_memory(upgraded: recollect.Recollect) -> None:
    assert set(rows(upgraded, "SELECT source, relation, target FROM links")) == {
        ("m-a", "contradicts", "m-g"), ("m-a", "related_to", "m-z"), ("m-q", "supersedes", "m-p"),
    }  # fmt: skip
    assert rows(upgraded, "SELECT memory, path FROM claims") == [("m-a", "m-c.py")]
    assert rows(upgraded, "SELECT ref FROM injections") == [("m-a",)]
    assert rows(upgraded, "SELECT ref FROM writes WHERE key = 'learn k'") == [("m-a",)]
    upgraded.memories.hide("m-a")
    assert upgraded.memories.undo_clear().returned == 1
    assert shown_memory(upgraded, "m-a").status == "active"


def test_nothing_more_is_found_after_the_index_is_made_again(upgraded: recollect.Recollect) -> None:
    before = set(rows(upgraded, "SELECT ref, seq, status FROM entries WHERE source = 'memory'"))
    assert ("m-a", 0, "active") in before
    assert {("m-a", 1, "superseded"), ("m-a", 2, "superseded")} < before
    upgraded.store.rebuild()
    after = rows(upgraded, "SELECT ref, seq, status FROM entries WHERE source = 'memory'")
    assert set(after) == before


def old_rows(
    project: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, sql: str
) -> list[tuple[object, ...]]:
    """Read a store of the release before the migration."""
    if url := environment.get("RECOLLECT_DATABASE"):
        with recollect.open(project, environment=environment, origin="user") as memory:
            space = memory.context.project_space.space
        with old_store(url, space, BEFORE) as old:
            return old.run(sql)
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:BEFORE])
        patch.setattr(migrations, "LATEST", BEFORE)
        with recollect.open(project, environment=environment, origin="user") as memory:
            return rows(memory, sql)


def test_an_upgrade_that_fails_midway_leaves_the_store_as_it_was(
    project: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_old(project, environment, 1, monkeypatch)
    whole = migrations.pending_scripts
    with monkeypatch.context() as broken:
        broken.setattr(
            migrations,
            "pending_scripts",
            lambda version, engine: [
                f"{script}\nSELECT nonsense FROM nowhere;" for script in whole(version, engine)
            ],
        )
        with (
            pytest.raises(recollect.StoreError, match="nowhere"),
            recollect.open(project, environment=environment, origin="user") as memory,
        ):
            memory.list()
    ids = old_rows(
        project, environment, monkeypatch, "SELECT id FROM memories WHERE root = 'm-a' ORDER BY id"
    )
    assert ids == [("m-a",), ("m-b",), ("m-c",)]
    hidden = "SELECT status FROM memories WHERE id = 'm-z'"
    assert old_rows(project, environment, monkeypatch, hidden) == [("archived",)]
    with recollect.open(project, environment=environment, origin="user") as memory:
        assert shown_memory(memory, "m-b").id == "m-a"
