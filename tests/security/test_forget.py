"""Forgetting erases a text in every table and file, on both engines, and it is not learned again."""

from __future__ import annotations

import json
import random
import string
import subprocess
import sys
import zlib
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

import recollect
from recollect.context import Context
from recollect.maintenance import operations_repair
from recollect.storage import backup
from recollect.text.display import format_time
from tests.conftest import Clock
from tests.faults.tiers import choose

_SCAN = """
import pathlib, sys
pieces = [piece.encode() for piece in sys.argv[2:]]
forms = [form for piece in pieces for form in (piece, piece.decode().encode('utf-16-le'))]
for path in pathlib.Path(sys.argv[1]).rglob('*'):
    if path.is_file():
        data = path.read_bytes().lower()
        print(*[f'{path}: {form}' for form in forms if form in data], sep='\\n', end='')
"""


def sentinel(number: int) -> str:
    chosen = random.Random(number)
    return "".join(chosen.choices(string.ascii_lowercase, k=24))


def files_with(folder: Path, *texts: str) -> str:
    """Scan all files from another process (SQLite's locks): the texts, and each 8 letters of them."""
    pieces = [text[at : at + 8] for text in texts for at in range(0, len(text) - 7, 4)]
    pieces += [form.lower() for text in texts for form in operations_repair.encode_base64(text)]
    done = subprocess.run(
        [sys.executable, "-c", _SCAN, str(folder), *pieces], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows_with(url: str, text: str) -> list[str]:
    found = []
    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "SELECT table_name, column_name, data_type FROM information_schema.columns "
            "WHERE table_schema = 'recollect' AND data_type IN ('text', 'bytea')"
        ).fetchall()
        assert tables
        for table, column, type in tables:
            text_of = f'"{column}"' if type == "text" else f"encode(\"{column}\", 'escape')"
            held = connection.execute(
                f'SELECT 1 FROM recollect."{table}" WHERE strpos(lower({text_of}), %s) > 0 LIMIT 1',
                (text,),
            ).fetchone()
            found += [f"{table}.{column}"] if held else []
    return found


def overwrite_pages(url: str) -> Path:
    """Do what the guarantees tell an administrator; return the folder of the database's files."""
    text = (Path(__file__).parents[2] / "docs" / "guarantees.md").read_text()
    statements = text.split("## Forgotten on PostgreSQL")[1].split("```sql\n")[1].split("```")[0]
    admin = url.replace("tester:tester@", "postgres:@", 1)
    with psycopg.connect(admin, autocommit=True) as connection:
        for statement in filter(str.strip, statements.split(";")):
            connection.execute(statement)
        row = connection.execute(
            "SELECT current_setting('data_directory') || '/base/' || oid FROM pg_database "
            "WHERE datname = current_database()"
        ).fetchone()
    assert row
    return Path(row[0])


def _job(memory: recollect.Recollect, text: str) -> None:
    context: Context = memory.context
    context.project_space.write(
        lambda tx: tx.run(
            "INSERT INTO jobs VALUES (:space, 'j1', 'extract', 's', :text, 'ready', '', 0, 0, 0, "
            "0, 0, '', 0, 0)",
            {"text": f'{{"about": "{text}"}}'},
        )
    )


FORMS: dict[str, Callable[[recollect.Recollect, str], object]] = {
    "memory": lambda mem, text: mem.learn(f"the partner is called {text} and pays late"),
    "tag": lambda mem, text: mem.learn("invoices are sent on Fridays", tags=[text]),
    "message": lambda mem, text: mem.record("s1", f"our partner {text} called again"),
    "document": lambda mem, text: mem.scratch.store("plan", f"first ask {text}, then wait"),
    "job": _job,
    "blob": lambda mem, text: mem.record("s2", "filler words " * 20_000 + text),
    "base64": lambda mem, text: mem.record("s3", _attached(f"a,b\n1,{text}\n".encode())),
    "file": lambda mem, text: mem.record("s3", _attached(b"1,2\n" * 300 + text.encode())),
    "deflated": lambda mem, text: mem.record(
        "s4",
        _attached(
            b"%PDF-1.4\nstream\n" + zlib.compress(f"pay {text} now".encode()) + b"\nendstream" * 90
        ),
    ),
}


def _attached(data: bytes) -> dict[str, object]:
    """Return a message with a file."""
    source = {"type": "base64", "media_type": "application/pdf", "data": b64encode(data).decode()}
    return {"role": "user", "content": [{"type": "document", "source": source}]}


@pytest.mark.parametrize("form", FORMS)
def test_a_forgotten_text_is_in_no_row_and_no_file(
    mem: recollect.Recollect, engine: str, environment: dict[str, str], tmp_path: Path, form: str
) -> None:
    text = sentinel(len(form) * 31)
    mem.learn("the port is 5433")
    FORMS[form](mem, text)
    if form == "deflated":
        kept = mem.context.project_space.read(lambda tx: tx.run("SELECT data FROM attachments"))
        assert len(kept) == 1
    mem.notes.set(objective=f"write to {text}")
    if engine == "sqlite":
        assert files_with(tmp_path, text)
        backup.rotate_backups(mem.project.database)
    assert not mem.memories.forget(text=text).applied
    receipt = mem.memories.forget(text=text, yes=True)
    assert receipt.applied
    assert sum(receipt.rows.values()) >= 2
    if engine == "sqlite":
        assert files_with(tmp_path, text) == ""
        assert receipt.backups == 1
        assert [c.detail for c in mem.store.doctor().checks if not c.ok and "store" in c.name] == []
    else:
        assert rows_with(environment["RECOLLECT_DATABASE"], text) == []
        assert "write-ahead log" in receipt.notes[0]
    assert not any(text in hit.text for hit in mem.recall(text))
    assert mem.verify(archive=True)
    assert "the port is 5433" in {one.text for one in mem.list()}


def test_a_forgotten_session_leaves_nothing_that_was_made_of_it(
    project: Path, environment: dict[str, str], engine: str, tmp_path: Path, clock: Clock
) -> None:
    """Not its summary, checkpoint, episode, lessons, nor what autonomous memory extracted."""
    text = sentinel(77)
    given = {**environment, "RECOLLECT_MEMORIES_ENABLED": "true"}
    with recollect.open(project, clock=clock, environment=given, origin="user") as mem:
        mem.learn("the port is 5433")
        for session in ("gone", "kept"):
            word = text if session == "gone" else "harmless"
            _work_session(mem, session, word)
            clock.advance(days=1)
        mem.episodes.build()
        mem.lessons.consolidate()
        mem.autonomous.rebuild()
        assert len([one for one in mem.episodes.list() if text in str(one)]) == 2
        assert _rows(mem, "documents", "address", "memory://extraction/gone")
        assert mem.memories.forget("memory://session/gone", yes=True).rows["messages"] > 20
        if engine == "sqlite":
            assert files_with(tmp_path, text) == ""
        else:
            assert rows_with(environment["RECOLLECT_DATABASE"], text) == []
        assert mem.autonomous.rebuild()
        mem.episodes.build()
        mem.lessons.consolidate()
        assert not any(text in str(one) for one in mem.episodes.list())
        assert any("harmless" in str(one) for one in mem.episodes.list())
        assert mem.verify(archive=True)


SENTINELS = choose(3, 100)


def test_many_texts_in_all_forms_are_forgotten(
    mem: recollect.Recollect, engine: str, environment: dict[str, str], tmp_path: Path
) -> None:
    texts = [sentinel(1000 + number) for number in range(SENTINELS)]
    for text in texts:
        for form, plant in FORMS.items():
            if form != "job":
                plant(mem, text)
        mem.episodes.record(f"call {text}", "success")
        mem.procedures.learn(f"call-{text}", f"how to call {text}", steps=[f"dial {text}"])
        mem.scratch.store(f"about-{text}", "a plan")
        mem.record(f"session-{text}", "a harmless message")
        mem.learn("reports are kept", scope=[f"src/{text}/**"], subject=text)
        mem.tasks.start(f"Deliver to {text}", phases=["design"])
        mem.handoffs.give("qa", f"all for {text}", sender="eng")
    mem.store.rebuild()
    for text in texts:
        assert mem.memories.forget(text=text, yes=True).rows["messages"] >= 5
    if engine == "sqlite":
        assert files_with(tmp_path, *texts) == ""
    else:
        assert [
            found for text in texts for found in rows_with(environment["RECOLLECT_DATABASE"], text)
        ] == []
        assert files_with(overwrite_pages(environment["RECOLLECT_DATABASE"]), *texts) == ""
    assert mem.verify(archive=True)
    assert [hit for text in texts for hit in mem.recall(text) if text in hit.text] == []


def _work_session(mem: recollect.Recollect, session: str, word: str) -> None:
    """Record some work, with a window that was trimmed."""
    mem.record(session, f"Please add the customer {word} to src/{word}.py and run the tests")
    for number in range(12):
        run = json.dumps({"command": f"pytest tests/test_{word}.py -k case{number}"})
        id = f"{session}{number}"
        call = {"id": id, "type": "function", "function": {"name": "Bash", "arguments": run}}
        said = f"case {number} of {word}"
        mem.record(session, {"role": "assistant", "content": said, "tool_calls": [call]})
        result = f"1 passed for {word} " + "out " * 200
        mem.record(session, {"role": "tool", "tool_call_id": id, "content": result})
    mem.record(session, f"We decided that {word} is always written in small letters", role="user")
    mem.record(session, f"Done: {word} is in src/{word}.py", role="assistant")
    mem.sessions.trim(session, to=800)
    mem.sessions.end(session)


def _rows(mem: recollect.Recollect, table: str, column: str, value: str) -> int:
    return len(
        mem.context.project_space.read(
            lambda tx: tx.run(
                f"SELECT 1 FROM {table} WHERE space = :space AND {column} = :value",
                {"value": value},
            )
        )
    )


def test_a_forgotten_memory_goes_with_its_history_and_its_message(mem: recollect.Recollect) -> None:
    told = mem.record("s1", "the staging password hint is grandma's cat")
    kept = mem.learn("the staging hint is grandma's cat", evidence=[told.address])
    mem.memories.correct(kept.id, "the staging hint is grandma's dog")
    mem.memories.forget(kept.id, yes=True)
    with pytest.raises(recollect.NotFound):
        mem.show(kept.id)
    assert [stored.message.content for stored in mem.sessions.show("s1").messages] == [
        "[forgotten]"
    ]
    again = mem.learn("the staging hint is grandma's dog")
    assert again.action == "skipped"
    assert "forgotten" in again.notes[0]
    (again,) = mem.learn_many([{"text": "the staging hint is grandma's dog"}])
    assert again.action == "skipped"
    assert mem.list() == ()


def test_a_forgotten_document_goes_with_its_history_and_its_file(
    mem: recollect.Recollect, project: Path
) -> None:
    first, second = f"Ship the {sentinel(71)}", f"Ship the {sentinel(72)}"
    mem.notes.set(objective=first, phase="plan")
    mem.notes.set(objective=second, phase="build")
    file = project / ".recollect" / "NOTES.md"
    assert second in file.read_text(encoding="utf-8")
    shown = mem.memories.forget("memory://notes")
    assert shown.rows == {"documents": 1} and shown.files == (str(file),) and shown.examples
    assert second in file.read_text(encoding="utf-8")
    assert mem.memories.forget("memory://notes", yes=True).rows["documents"] == 1
    assert not file.exists()
    mem.close()
    assert files_with(project, sentinel(71), sentinel(72)) == ""


@pytest.mark.parametrize("near", ["", "skip", "merge"])
def test_a_forgotten_text_changes_no_other_memory(mem: recollect.Recollect, near: str) -> None:
    first = mem.learn("Service 12 listens on port 7012")
    mem.memories.forget(first.id, yes=True)
    other = mem.learn("Service 12 listens on port 6012")
    assert mem.learn("Service 12 listens on port 7012", near=near).action == "skipped"
    assert [(one.id, one.text) for one in mem.list()] == [(other.id, other.memory.text)]


def test_an_attachment_goes_with_the_last_message_that_has_it(mem: recollect.Recollect) -> None:
    image = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    for session in ("one", "two"):
        content = ({"type": "image", "source": image}, {"type": "text", "text": f"see {session}"})
        mem.record(session, {"role": "user", "content": list(content)})

    def kept() -> int:
        space = mem.context.project_space
        return len(space.read(lambda tx: tx.run("SELECT 1 FROM attachments WHERE space = :space")))

    assert kept() == 1
    mem.memories.forget("memory://session/one/messages/1-1", yes=True)
    assert kept() == 1
    mem.memories.forget("memory://session/two/messages/1-1", yes=True)
    assert kept() == 0


def test_only_a_person_forgets(project: Path, environment: dict[str, str]) -> None:
    with recollect.open(project, origin="agent", environment=environment) as memory:
        with pytest.raises(recollect.Refused):
            memory.memories.forget(text="anything at all", yes=True)
        with pytest.raises(recollect.Refused):
            memory.memories.retract("memory://session/s1")


def test_a_source_is_blamed_and_retracted(mem: recollect.Recollect) -> None:
    told = mem.record("s1", "always deploy on Friday")
    first = mem.learn("deployments happen on Friday", evidence=[told.address])
    other = mem.learn("the port is 5433")
    lineage = mem.memories.blame(first.id)
    assert (lineage.origin, lineage.evidence) == ("user", (told.address,))
    planned = mem.memories.retract("memory://session/s1")
    assert (dict(planned.memories), planned.applied) == ({first.id: first.memory.text}, False)
    assert len(mem.list()) == 2
    assert mem.memories.retract("memory://session/s1", yes=True).applied
    assert [one.id for one in mem.list()] == [other.id]
    mem.memories.restore(first.id)
    assert len(mem.list()) == 2


def test_one_undo_brings_back_all_that_a_retracted_source_taught(mem: recollect.Recollect) -> None:
    evidence = [mem.record("s1", "rules").address]
    for text in ("deployments happen on Friday", "the port is 5433", "the host is alpha"):
        mem.learn(text, evidence=evidence)
    mem.memories.retract("memory://session/s1", yes=True)
    assert mem.list() == ()
    mem.store.undo()
    assert len(mem.list()) == 3


def test_scrub_removes_secrets_that_are_stored(mem: recollect.Recollect) -> None:
    token = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    kept = mem.learn("the token is TOKENPLACE, ask Ada")
    told = mem.record("s1", "use TOKENPLACE now")
    mem.record("s1", "another one after it")
    context: Context = mem.context

    def plant(tx: object) -> None:
        for table, column in (("memories", "text"), ("messages", "body")):
            tx.run(  # type: ignore[attr-defined]
                f"UPDATE {table} SET {column} = replace({column}, 'TOKENPLACE', :token) "
                "WHERE space = :space",
                {"token": token},
            )

    context.project_space.write(plant)
    counted = mem.store.scrub()
    assert counted.records == {"messages": 1, "memories": 1}
    assert token in str(mem.show(kept.id))
    mem.store.scrub(yes=True)
    assert mem.store.scrub().records == {}
    assert "[REDACTED:github-token]" in str(mem.show(kept.id))
    assert "[REDACTED:github-token]" in str(mem.sessions.show("s1").messages[0])
    assert told.seq == 1
    assert mem.verify(archive=True).messages == 2


def _import(mem: recollect.Recollect, tmp_path: Path, session: str, text: str) -> None:
    folder = tmp_path / "claude" / "projects" / "p"
    folder.mkdir(parents=True, exist_ok=True)
    said = [("user", f"Deploy {text} to the staging server"), ("assistant", f"{text} is deployed")]
    rows = [
        json.dumps(
            {
                "type": role, "uuid": f"{session}-{number}", "parentUuid": None,
                "sessionId": session, "cwd": f"/home/{text}", "gitBranch": f"feature-{text}",
                "timestamp": f"2026-03-01T10:00:0{number}.000Z",
                "message": {"role": role, "content": [{"type": "text", "text": words}]},
            }
        )
        for number, (role, words) in enumerate(said)
    ]  # fmt: skip
    (folder / f"{session}.jsonl").write_text("\n".join(rows) + "\n")
    mem.import_transcripts(str(folder / f"{session}.jsonl"))


def test_a_forgotten_session_has_no_name_and_an_import_does_not_bring_it_back(
    mem: recollect.Recollect, tmp_path: Path
) -> None:
    text, session = sentinel(5), "cacf6cfb-1111-4222-8333-444455556666"
    _import(mem, tmp_path, session, text)
    (there,) = mem.sessions.list()
    assert text in there.name
    mem.memories.forget(f"session/{there.id[:20]}", yes=True)
    for _ in range(2):
        assert text not in str(mem.sessions.list())
        assert text not in str(mem.sessions.show(there.id))
        assert not mem.episodes.list()
        assert mem.memories.forget(f"session/{there.id}").rows == {}
        transcript = tmp_path / "claude" / "projects" / "p" / f"{session}.jsonl"
        transcript.write_text(transcript.read_text() + "\n")
        mem.context.project_space.write(lambda tx: tx.run("DELETE FROM cursors"))
        mem.import_transcripts(str(transcript))
        mem.episodes.build()


def test_the_name_of_a_session_goes_with_the_message_it_was_made_of(
    mem: recollect.Recollect, tmp_path: Path
) -> None:
    text = sentinel(6)
    _import(mem, tmp_path, "cacf6cfb-1111", text)
    (there,) = mem.sessions.list()
    mem.memories.forget(f"session/{there.id}/messages/2", yes=True)
    assert mem.sessions.list()[0].name == there.name
    mem.memories.forget(f"session/{there.id}/messages/1", yes=True)
    assert mem.sessions.list()[0].name == "[forgotten]"


@pytest.mark.parametrize(
    "address",
    ["session/a.cacf", "memory://session/a.cacf", "session/a.cacf/messages/1-2", "a.cacf"],
)
def test_what_screens_print_of_a_session_is_enough_to_forget_it(
    mem: recollect.Recollect, address: str
) -> None:
    for number in range(2):
        mem.record("a.cacf6cfb-1111", f"message {number}")
    assert mem.memories.forget(address, yes=True).rows["messages"] == 2
    mem.record("a.cacf7777", "another session")
    with pytest.raises(recollect.InvalidInput, match="several records") as refused:
        mem.memories.forget(address, yes=True)
    assert refused.value.hint == "a.cacf6cfb-1111, a.cacf7777"


def test_the_count_before_is_the_count_after(mem: recollect.Recollect) -> None:
    id = mem.learn("the vault opens at dawn").id
    mem.record("s1", "the vault opens at dawn")
    planned = mem.memories.forget(id)
    assert planned.rows == {"memories": 1, "messages": 1}
    done = mem.memories.forget(id, yes=True)
    assert {name: done.rows[name] for name in planned.rows} == planned.rows


def test_forgetting_what_is_not_there_names_the_lists(mem: recollect.Recollect) -> None:
    mem.record("s1", "hello")
    for address in ("session/none", "none", "m-4k9w2c"):
        with pytest.raises(recollect.NotFound) as refused:
            mem.memories.forget(address)
        assert "recollect session list" in refused.value.hint


def test_learning_a_forgotten_text_says_that_nothing_was_saved(mem: recollect.Recollect) -> None:
    from recollect.interfaces.screens import memories

    mem.memories.forget(mem.learn("the hint is grandma's cat").id, yes=True)
    again = mem.learn("the hint is grandma's cat")
    day = format_time(mem.context.clock())[:10]
    said = (
        f"nothing was saved: this was forgotten on {day}. "
        "To save it again, at a terminal: recollect learn --again TEXT"
    )
    assert (again.id, again.action, again.notes) == ("", "skipped", (said,))
    assert memories.SCREENS["learn"](again) == f"not saved\n  {said}"


def test_the_preview_lists_what_would_be_erased_or_says_that_nothing_holds_the_text(
    mem: recollect.Recollect,
) -> None:
    from recollect.interfaces.screens import results

    id = mem.learn("the SecretWord opens the door").id
    mem.record("s1", "never say SecretWord aloud")
    said = results.SCREENS["forget"](mem.memories.forget(text="SecretWord"))
    assert f"{id}  the SecretWord opens the door" in said
    assert "session/s1/messages/1  never say SecretWord aloud" in said
    other = results.SCREENS["forget"](mem.memories.forget(text="secretword"))
    assert other == (
        "nothing holds 'secretword'\n"
        f"2 records contain it with other upper and lower case: {id}, session/s1/messages/1"
    )
    nothing = results.SCREENS["forget"](mem.memories.forget(text="unheard of"))
    assert nothing == "nothing holds 'unheard of'"
