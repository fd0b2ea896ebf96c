"""Export, load and migrate: nothing is lost that is not said to be, and nothing is trusted unasked."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.documents import user_files_io
from recollect.interchange import formats, steps_layouts
from recollect.interchange import operations as interchange_operations
from recollect.interchange import sql as interchange_sql
from recollect.interchange import steps as interchange_steps
from recollect.storage.database import Row, Tx

PICTURE = b"\x89PNG" + bytes(range(256)) * 4
URL = f"data:image/png;base64,{b64encode(PICTURE).decode()}"


def fill(memory: recollect.Recollect) -> None:
    memory.learn("Never edit generated files", kind="policy", scope=["src/gen/**"])
    kept = memory.learn("the port is 5433", kind="reference", tags=["network"])
    memory.memories.correct(kept.id, "the port is 5434")
    memory.learn("calls to the bank API fail on Sundays", kind="pitfall", reason="maintenance")
    memory.record("s1", 'a "quoted" line\nand another, with ünïcode 東京')
    memory.record("s1", "an answer", role="assistant")
    memory.record(
        "s1", {"role": "user", "content": [{"type": "image_url", "image_url": {"url": URL}}]}
    )
    memory.scratch.store("plan", "first this, then that")
    memory.notes.set(objective="ship the release")


def digest(memory: recollect.Recollect) -> interchange_steps.SpaceDigest:
    columns = interchange_operations._columns(memory.context)
    return memory.context.project_space.read(lambda tx: interchange_steps.digest_space(tx, columns))


def other(tmp_path: Path, name: str = "other") -> recollect.Recollect:
    place = tmp_path / name
    place.mkdir(exist_ok=True)
    return recollect.open(
        place, origin="user", environment={"RECOLLECT_HOME": str(tmp_path / f"{name}-home")}
    )


def test_an_export_of_everything_comes_back_equal(mem: recollect.Recollect, tmp_path: Path) -> None:
    fill(mem)
    done = mem.store.export(str(tmp_path / "all.jsonl"), local=True)
    assert (done.loss, len(done.files)) == ("", 1)
    with other(tmp_path) as copy:
        copy.store.load(done.files[0], trust=True)
        theirs, ours = digest(copy), digest(mem)
        assert {**theirs.tables, "state": ""} == {**ours.tables, "state": ""}
        assert [one.text for one in copy.list()] == [one.text for one in mem.list()]
        assert copy.recall("port")[0].text == "the port is 5434"
        assert URL in str(copy.prepare("s1", 100_000).request("chat"))
        assert copy.verify(archive=True) == mem.verify(archive=True)
        assert copy.store.load(done.files[0], trust=True).new == 0  # once more changes nothing
        assert copy.store.stats().by_kind == mem.store.stats().by_kind != {}


def test_a_colleague_must_accept_what_was_exported(
    mem: recollect.Recollect, tmp_path: Path
) -> None:
    fill(mem)
    path = mem.store.export(str(tmp_path / "for-ada.jsonl")).files[0]
    with other(tmp_path, "ada") as ada:
        done = ada.store.load(path)
        assert done.status == "quarantined"
        assert {one.label for one in ada.list(status="quarantined")} == {"import"}
        assert "generated files" not in ada.briefing("edit a file").text
        ada.memories.confirm(ada.list(status="quarantined")[0].id)
        assert len(ada.list(status="active")) == 1


@pytest.mark.parametrize("trust", [False, True])
def test_what_was_forgotten_does_not_come_back_with_a_file(
    mem: recollect.Recollect, tmp_path: Path, trust: bool
) -> None:
    kept = mem.learn("the partner is called Quandary")
    mem.memories.correct(kept.id, "the partner was called Quandary")
    mem.scratch.store("plan", "first call the partner Quandary")
    before = mem.store.export(str(tmp_path / "before.jsonl")).files[0]
    mem.memories.forget(kept.id, yes=True)
    mem.memories.forget("memory://scratch/plan", yes=True)
    mem.store.load(before, trust=trust)
    assert mem.list() == ()
    assert "Quandary" not in str(mem.scratch.list())
    assert not mem.recall("the partner Quandary")


def test_what_was_forgotten_on_one_machine_is_erased_on_the_other(
    mem: recollect.Recollect, tmp_path: Path
) -> None:
    kept = mem.learn("the partner is called Quandary")
    mem.learn("the port is 5433")
    path = mem.store.export(str(tmp_path / "one.jsonl")).files[0]
    with other(tmp_path) as laptop:
        laptop.store.load(path, trust=True)
        laptop.memories.forget(kept.id, yes=True)
        path = laptop.store.export(str(tmp_path / "two.jsonl")).files[0]
    assert mem.store.load(path).problems == ()  # a colleague's deletions do not act here
    assert len(mem.list(status="active")) == 2
    assert kept.id in mem.store.load(path, trust=True).problems[0]
    assert [one.text for one in mem.list(status="active")] == ["the port is 5433"]


def test_a_colleagues_export_waits_beside_what_is_there(
    mem: recollect.Recollect, tmp_path: Path
) -> None:
    fill(mem)
    path = mem.store.export(str(tmp_path / "for-ada.jsonl")).files[0]
    with other(tmp_path, "ada") as ada:
        own = ada.learn("Always answer in Portuguese", kind="preference")
        ada.learn("the port is 5434", kind="reference")  # she knows this one already
        ada.record("s1", "a session of hers with the same name")
        ada.record("s9", "another one")
        before = ada.briefing("edit a file").text
        done = ada.store.load(path)
        assert (done.status, done.new > 3) == ("quarantined", True)
        assert "tombstones" in done.loss
        assert ada.briefing("edit a file").text == before
        waiting = {one.text: one for one in ada.list(status="quarantined")}
        assert {*waiting} == {
            "Never edit generated files",
            "calls to the bank API fail on Sundays",
        }
        assert {one.label for one in waiting.values()} == {"import"}
        ada.memories.confirm(waiting["Never edit generated files"].id)
        assert "generated files" in str(ada.memories.for_file("src/gen/a.py"))
        assert ada.show(own.id).memory is not None
        assert ada.verify(archive=True).messages == 2
        assert ada.store.doctor().ok
        assert ada.store.load(path).new == 0


@pytest.mark.parametrize("change", ["cut", "edit"])
def test_an_export_that_was_changed_is_refused_whole(
    mem: recollect.Recollect, tmp_path: Path, change: str
) -> None:
    fill(mem)
    path = Path(mem.store.export(str(tmp_path / "all.jsonl")).files[0])
    text = path.read_text()
    path.write_text(text[:-80] if change == "cut" else text.replace("5434", "6666"))
    with other(tmp_path) as copy:
        with pytest.raises(recollect.InvalidInput):
            copy.store.load(str(path), trust=True)
        assert copy.list() == ()


def test_two_machines_merge_by_exports(tmp_path: Path) -> None:
    with other(tmp_path, "desk") as desk, other(tmp_path, "laptop") as laptop:
        desk.learn("the port is 5433")
        laptop.learn("the cache is Redis")
        desk.record("on-desk", "hello")
        path = desk.store.export(str(tmp_path / "desk.jsonl")).files[0]
        laptop.store.load(path, trust=True)
        assert {one.text for one in laptop.list()} == {"the port is 5433", "the cache is Redis"}
        assert laptop.recall("port")


def test_two_machines_carry_on_with_what_the_other_one_did(tmp_path: Path) -> None:
    with other(tmp_path, "desk") as desk, other(tmp_path, "laptop") as laptop:
        port = desk.learn("the port is 5433")
        cache = desk.learn("the cache is Redis")
        desk.record("work", "first on the desk")
        desk.record("talk", "only said once")
        laptop.store.load(desk.store.export(str(tmp_path / "1.jsonl")).files[0], trust=True)
        laptop.memories.correct(port.id, "the port is 5434")
        laptop.record("work", "then on the laptop")
        laptop.record("talk", "the laptop's own end")
        desk.record("talk", "another end")
        desk.memories.correct(cache.id, "the cache is Memcached")
        desk.store.load(laptop.store.export(str(tmp_path / "2.jsonl")).files[0], trust=True)
        assert {one.text for one in desk.list()} == {"the port is 5434", "the cache is Memcached"}
        assert [one.text for one in desk.memories.history(port.id)] == [
            "the port is 5433",
            "the port is 5434",
        ]
        said = [one.message.content for one in desk.sessions.show("work").messages]
        assert said == ["first on the desk", "then on the laptop"]
        assert desk.sessions.show("talk").messages[-1].message.content == "another end"
        assert desk.verify(archive=True).messages == 4
        assert desk.store.doctor().ok


def test_a_move_that_fails_leaves_the_target_empty(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert = interchange_sql.insert_rows

    def fail_late(tx: Tx, table: str, columns: list[str], rows: list[Row]) -> int:
        if table == "documents":
            raise recollect.StoreError("the server went away")
        return insert(tx, table, columns, rows)

    with other(tmp_path) as memory:
        fill(memory)
        with monkeypatch.context() as patch:
            patch.setattr(interchange_sql, "insert_rows", fail_late)
            with pytest.raises(recollect.StoreError, match="went away"):
                memory.store.migrate(postgres_url)
        assert memory.store.migrate(postgres_url).rows > 10  # once more, into the same target


def test_a_store_moves_to_postgresql_and_back_equal_by_hash(
    tmp_path: Path, postgres_url: str
) -> None:
    home = {"RECOLLECT_HOME": str(tmp_path / "home")}
    project = tmp_path / "project"
    project.mkdir()
    with recollect.open(project, origin="user", environment=home) as memory:
        fill(memory)
        there = memory.store.migrate(postgres_url)
        with pytest.raises(recollect.Refused, match="is not empty"):
            memory.store.migrate(postgres_url)
        database = Path(memory.project.database)
    on_server = {**home, "RECOLLECT_DATABASE": postgres_url}
    database.rename(tmp_path / "old.db")
    with recollect.open(project, origin="user", environment=on_server) as memory:
        assert "the port is 5434" in {one.text for one in memory.list()}
        (tagged,) = memory.list(tags=["network"], limit=1)
        assert tagged.text == "the port is 5434", "found before the first search makes the index"
        copied = memory.store.stats()
        assert copied.unindexed > 3 and not copied.embedded
        made = memory.store.rebuild(missing=True)
        assert made.indexed == copied.unindexed and made.embedded > 3
        searched = memory.store.stats()
        assert not searched.unindexed and not searched.unembedded
        assert memory.recall("bank API")
        memory.context.project_space.write(
            lambda tx: tx.run("DELETE FROM state WHERE space = :space AND key = 'words'")
        )
        back = memory.store.migrate("sqlite")
    assert there.digest != ""
    with recollect.open(project, origin="user", environment=home) as memory:
        assert "the port is 5434" in {one.text for one in memory.list()}
        assert memory.store.stats().by_kind == searched.by_kind != {}
        assert memory.verify(archive=True).messages == 3
        assert URL in str(memory.prepare("s1", 100_000).request("chat"))
    assert back.rows >= there.rows - 1


FOREIGN = {
    "mcp-memory": (
        "memory.jsonl",
        '{"type":"entity","name":"Ada","entityType":"person","observations":["likes tabs"]}\n'
        '{"type":"relation","from":"Ada","to":"Acme","relationType":"works_at"}\n',
        {"Ada: likes tabs", "Ada works_at Acme"},
    ),
    "mem0": (
        "mem0.json",
        json.dumps({"results": [{"id": "1", "memory": "Prefers short answers", "user_id": "ada"}]}),
        {"Prefers short answers"},
    ),
    "claude-mem": (
        "export.json",
        json.dumps({"observations": [{"title": "Cache", "facts": ["The cache is Redis"]}]}),
        {"The cache is Redis"},
    ),
    "basic-memory": (
        "coffee.md",
        "---\ntitle: Coffee\npermalink: coffee\n---\n- [method] Pour over works best #brewing\n"
        "- relates_to [[Tea]]\n",
        {"Coffee: Pour over works best", "Coffee relates_to Tea"},
    ),
    "rules": (
        "AGENTS.md",
        "# Rules\n\n- Always run `make test` before\n  committing\n- The API lives in src/api\n"
        "```\n- not this\n```\n",
        {"Always run `make test` before committing", "The API lives in src/api"},
    ),
    "prose": (
        "CLAUDE.md",
        "# Rules\n\nNever push to main.\nSome words about the team.\n```\nNever this\n```\n",
        {"Never push to main."},
    ),
    "memory file": (
        "memory/project_db.md",
        "---\nname: db\ndescription: the port\ntype: reference\n---\nThe database is on port 5433."
        "\n\n**Why:** the default port is taken.\n",
        {"The database is on port 5433."},
    ),
    "clio": (
        ".clio/ltm.json",
        json.dumps(
            {
                "patterns": {
                    "discoveries": [{"fact": "JSON goes through one module", "confidence": 0.9}],
                    "problem_solutions": [{"error": "error 400", "solution": "retry 20 times"}],
                    "failures": [
                        {"what_fails": "parallel migrations"},
                        {"what_broke": "the cache", "impact": "slow", "prevention": "keep it"},
                    ],
                    "workflows": [{"sequence": ["read", "edit", "test"], "count": 4}],
                    "context_rules": [
                        "answer in German",
                        {"condition": "in lib/", "action": "run perl -c"},
                    ],
                }
            }
        ),
        {
            "JSON goes through one module",
            "error 400: retry 20 times",
            "parallel migrations",
            "the cache: keep it",
            "read → edit → test",
            "answer in German",
            "in lib/: run perl -c",
        },
    ),
    "loki": (
        ".loki/memory/semantic/anti-patterns.json",
        json.dumps([{"pattern": "sleeping in tests", "confidence": 0.7}]),
        {"sleeping in tests"},
    ),
    "repo": (
        "memories/repo/one.json",
        json.dumps({"subject": "tests", "fact": "The tests need Redis", "citations": ["a.py"]}),
        {"The tests need Redis"},
    ),
}


def test_loaded_patterns_keep_their_ids_and_name_their_episodes(tmp_path: Path) -> None:
    folder = tmp_path / ".loki" / "memory" / "semantic"
    folder.mkdir(parents=True)

    def load(memory: recollect.Recollect, text: str, trust: bool = True) -> None:
        one = {"id": "sem-001", "pattern": text, "source_episodes": ["ep-2026-01-01-001"]}
        (folder / "patterns.json").write_text(json.dumps({"patterns": [one]}))
        memory.store.load(str(tmp_path / ".loki"), trust=trust)

    with other(tmp_path) as memory:
        load(memory, "Parse amounts with the money module")
        shown = memory.show("memory://sem-001").memory
        assert shown and shown.text == "Parse amounts with the money module"
        assert "derived_from" in {one.relation for one in memory.links.list(shown.id).reached}
        load(memory, "Amounts of strangers are floats", trust=False)
        again = memory.show("memory://sem-001").memory
        assert again and again.id == shown.id, "what waits for a person takes no id over"


@pytest.mark.parametrize("form", FOREIGN)
def test_files_of_other_systems_are_loaded_and_wait_for_a_person(form: str, tmp_path: Path) -> None:
    name, text, wanted = FOREIGN[form]
    path = tmp_path / "theirs" / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with other(tmp_path) as memory:
        done = memory.store.load(str(path))
        assert (done.form, done.problems) == (form if form in formats.LOSS else "rules", ())
        assert done.loss
        assert {one.text for one in memory.list(status="quarantined")} == wanted
        assert memory.list(status="active") == ()
        assert memory.store.load(str(path), trust=True).read == len(wanted)


def fill_work(memory: recollect.Recollect) -> None:
    memory.learn("Tabs, never spaces", kind="preference", subject="style")
    memory.procedures.learn("deploy-it", "Deploy the service", steps=["build", "push"])
    memory.episodes.record("Add the login", "success", files=["src/login.py"])
    memory.tasks.start("Ship the login", phases=["design", "build"])
    memory.tasks.decide("ship-the-login", "Use sessions", "cookies are simpler")
    memory.handoffs.give("qa", "the login page", sender="eng")
    memory.work.ledger("eng-1", {"tasks_completed": 3, "current_task": "login"})


def work_of(memory: recollect.Recollect) -> dict[str, Any]:
    """Return what a layout may keep, as a reader sees it."""
    pages = [page for task in memory.tasks.list() for page in task.pages]
    return {
        "memories": {(one.text, one.kind, one.scope) for one in memory.list(status="active")},
        "scratch": {(one.title, one.text) for one in memory.scratch.list()},
        "sessions": {
            stored.message.content
            for one in memory.sessions.list()
            for stored in memory.sessions.show(one.id).messages
            if isinstance(stored.message.content, str)
        },
        "skills": {(one.name, one.procedure.steps) for one in memory.procedures.list()},
        "episodes": {(one.goal, one.outcome) for one in memory.episodes.list()},
        "handoffs": {(one.handoff["to_agent"], str(one.handoff)) for one in memory.handoffs.list()},
        "ledger": _ledger_of(memory),
        "notes": memory.notes.show().text,
        "pages": {(page, _text_at(memory, page)) for page in pages},
    }


def _text_at(memory: recollect.Recollect, address: str) -> str:
    document = memory.show(address).document
    return document.text if document else ""


def _ledger_of(memory: recollect.Recollect) -> object:
    try:
        return memory.work.ledger("eng-1")["tasks_completed"]
    except recollect.NotFound:
        return None


KEPT = {
    "clio": {"memories", "scratch", "sessions"},
    "loki": {"memories", "skills", "episodes", "handoffs", "ledger"},
    "repo": {"memories", "notes", "pages"},
    "markdown": {"memories", "skills"},
}


@pytest.mark.parametrize("form", steps_layouts.WRITERS)
def test_a_layout_that_is_written_is_read_again(form: str, tmp_path: Path) -> None:
    with other(tmp_path, "one") as memory:
        fill(memory)
        fill_work(memory)
        wanted = work_of(memory)
        done = memory.store.export(str(tmp_path / "out"), form=form)
        assert done.loss
    with other(tmp_path, "two") as memory:
        assert memory.store.load(str(tmp_path / "out"), trust=True).problems == ()
        found = work_of(memory)
        kept = {part for part in wanted if found[part] == wanted[part]}
        if found["sessions"] >= wanted["sessions"]:
            kept.add("sessions")  # an image is described
        assert kept >= KEPT[form]
        assert memory.store.load(str(tmp_path / "out"), trust=True).new == 0  # nothing twice


def test_records_of_another_layout_are_not_trusted_and_overwrite_nothing(tmp_path: Path) -> None:
    with other(tmp_path, "one") as memory:
        fill(memory)
        fill_work(memory)
        for form in steps_layouts.WRITERS:
            memory.store.export(str(tmp_path / "out"), form=form)
    with other(tmp_path, "ada") as ada:
        ada.notes.set(objective="my own objective")
        ada.scratch.store("plan", "my own plan")
        done = ada.store.load(str(tmp_path / "out"))
        assert {line.split(":")[0] for line in done.problems} == {"notes NOTES", "scratch plan"}
        assert ada.scratch.retrieve("plan").text == "my own plan"
        assert "my own objective" in ada.notes.show().text
        assert ada.list(status="active") == ()
        assert {one.status for one in ada.procedures.list()} <= {"proposed", "quarantined"}
        shown = ada.briefing("ship the login and deploy it").text
        assert not [word for word in ("sessions", "Deploy", "Tabs", "login page") if word in shown]


def test_a_named_file_that_is_not_read_is_an_error_with_its_line(
    mem: recollect.Recollect, tmp_path: Path
) -> None:
    bad, text = tmp_path / "bad.jsonl", tmp_path / "notes.txt"
    bad.write_text('{"a": 1}\n{broken\n')
    text.write_text("hello")
    with pytest.raises(recollect.InvalidInput, match=r"not valid JSON.*bad\.jsonl:2\)"):
        mem.store.load(str(bad))
    with pytest.raises(recollect.InvalidInput, match=r"unknown format.*notes\.txt\)"):
        mem.store.load(str(text))


def test_a_wrong_form_or_layer_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    export = tmp_path / "all.jsonl"
    with other(tmp_path) as memory:
        fill(memory)
        memory.store.export(str(export))
        with pytest.raises(recollect.InvalidInput, match="'mem1' is not a form"):
            memory.store.load(str(export), form="mem1")
        rules = tmp_path / "AGENTS.md"
        rules.write_text("- Use tabs\n")
        with pytest.raises(recollect.InvalidInput, match="not an export"):
            memory.store.load(str(rules), form="recollect")
        (export.parent / "folder").mkdir()
        export.rename(export.parent / "folder" / "all.jsonl")
        (problem,) = memory.store.load(str(export.parent / "folder")).problems
        assert problem.endswith("load an export by its path")
        for change in (memory.store.export, memory.store.migrate):
            with pytest.raises(recollect.InvalidInput, match="'usr' is not a layer"):
                change(str(tmp_path / "new.jsonl"), layer="usr")


def test_a_broken_file_is_reported_and_the_others_are_loaded(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "bad.json").write_text('{"memory": ')
    (folder / "AGENTS.md").write_text("- Never push to main\n")
    with other(tmp_path) as memory:
        done = memory.store.load(str(folder))
        assert done.new == 1
        assert "bad.json" in done.problems[0]


@pytest.mark.parametrize(
    ("name", "kind"),
    [("failures", "pitfall"), ("context_rules", "policy"), ("discoveries", "fact")],
)
def test_kinds_are_known_by_the_names_of_other_systems(
    mem: recollect.Recollect, name: str, kind: str
) -> None:
    kept = mem.learn("Deleting the cache makes builds slow", kind=name)
    assert mem.show(kept.id).memory == mem.list(kind=name)[0]
    assert mem.list(kind=kind)[0].kind == kind
    assert mem.recall("deleting the cache", kind=[name])[0].kind == kind


HEADS: list[Any] = [
    {"recollect": 1},
    {"recollect": 1, "tables": []},
    {"recollect": 1, "tables": {"memories": None}},
    {"recollect": 1, "tables": {"memories": [["id"]]}},
    {"recollect": 1, "tables": {"memories": ["id"]}},
]
LINES: list[Any] = [
    {"table": "memories", "row": ["m-x"]}, {"table": ["memories"], "row": []},
    {"table": "memories", "row": "abc"}, {"table": "memories", "row": None}, {"sha256": "x"},
    {"rows": 0, "sha256": 5}, [], 5, None,
]  # fmt: skip
VALUES: list[Any] = [-1, 2**70, "\ud800", {"a": 1}, True, "../../x"]


def test_a_hostile_export_is_refused_and_breaks_nothing(tmp_path: Path) -> None:
    """SQLite stores any value in any column: a colleague's file must not make a store unreadable."""
    with other(tmp_path) as memory:
        fill(memory)
        path = memory.store.export(str(tmp_path / "good.jsonl")).files[0]
        with open(path) as file:
            head = json.loads(file.readline())
        files = [(one, line, "0" * 64) for one in HEADS for line in LINES]
        tables = ("memories", "memory_revisions", "messages", "sessions", "documents", "windows")
        for table, value in product((*tables, "links", "episodes", "procedures"), VALUES):
            row = [value] * len(head["tables"][table])
            total = interchange_steps.row_number((table, *row))
            files.append((head, {"table": table, "row": row}, f"{total:064x}"))
        for number, (one, line, digest) in enumerate(files):
            hostile = tmp_path / f"h{number}.jsonl"
            first, last = json.dumps(one, separators=(",", ":")), {"rows": 1, "sha256": digest}
            hostile.write_text(f"{first}\n{json.dumps(line)}\n{json.dumps(last)}\n")
            with suppress(recollect.RecollectError):
                memory.store.load(str(hostile))
        assert len(memory.list()) == 3
        assert memory.recall("port") and memory.briefing("port")
        assert memory.memories.review() == ()
        assert memory.sessions.show("s1").messages
        for form in steps_layouts.WRITERS:
            memory.store.export(str(tmp_path / "out"), form=form)


def test_a_layout_never_leaves_its_folder(tmp_path: Path) -> None:
    for name in ("../up.md", "/abs.md", "a/../../up.md", "nul\0.md"):
        with pytest.raises(recollect.Refused):
            user_files_io.write_files(str(tmp_path / "out"), {name: "x"})
    assert not list(tmp_path.rglob("*.md"))


def test_a_pipe_or_a_huge_file_does_not_keep_the_others_out(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "AGENTS.md").write_text("- Never push to main\n")
    os.mkfifo(folder / "pipe.json")
    with open(folder / "huge.json", "wb") as file:
        file.truncate(40 * 2**20)
    with other(tmp_path) as memory:
        done = memory.store.load(str(folder))
        assert done.new == 1
        assert "too large" in done.problems[0]
