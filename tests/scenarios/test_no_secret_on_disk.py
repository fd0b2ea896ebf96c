"""No secret reaches the disk, whichever field of whichever way in it stands in.

Each field gets a token of its own; afterwards all bytes of all files are searched for each token,
so that a leak names the field that it came in by. The token is of small letters and digits: it is
a good slug, key, session id and file name, and nothing on the way changes it.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterator
from hashlib import sha256
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from anthropic.lib.tools import ToolError

import recollect
from recollect.agents import registry
from recollect.agents.events import NAMES as EVENT_NAMES
from recollect.agents.operations import catch_up
from recollect.agents.operations_events import answer_event
from recollect.frameworks.anthropic_memory import MemoryTool
from recollect.frameworks.claude_sessions import MemorySessionStore
from recollect.frameworks.langgraph_store import MemoryStore
from recollect.frameworks.openai_session import MemorySession
from recollect.interfaces import commands
from recollect.operation_table import OPERATIONS
from recollect.secrets import redaction
from recollect.types.records import KINDS
from tests.conftest import Clock
from tests.freshness.test_freshness import git
from tests.lessons import test_observed
from tests.lessons.test_observed import MISSING, good
from tests.scenarios.poison import WRITERS

SAMPLES = Path(__file__).parent.parent / "fixtures" / "samples"
FORMATS = Path(__file__).parent.parent / "fixtures" / "formats"
HOOKS = {
    "claude-code": "claude-code-2.1.325.hook-stdin.jsonl",
    "codex": "codex-0.166.0.hook-stdin.jsonl",
}
TRANSCRIPTS = {
    "claude-code": "claude-code-2.1.325.subagent-compact.jsonl",
    "codex": "codex-0.166.0.rollout.jsonl",
}
Planted = dict[str, str]
"""Each token that was planted, and where."""


@pytest.fixture
def engine() -> str:
    return "sqlite"


@pytest.fixture
def planted() -> Planted:
    return {}


def token(place: str, planted: Planted) -> str:
    made = "da" + "pi" + sha256(place.encode()).hexdigest()[:32]
    planted[made] = place
    return made


def leaked(folder: Path, planted: Planted) -> list[str]:
    """The places whose tokens are somewhere in the files below a folder."""
    paths = [Path(place) / name for place, _, names in os.walk(folder) for name in names]
    on_disk = b"\n".join(path.read_bytes() for path in paths)
    assert b"SQLite format 3" in on_disk
    return sorted(place for made, place in planted.items() if made.encode() in on_disk)


def places(value: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Where in a JSON value texts stand; all items of a list are one place."""
    if isinstance(value, str):
        yield place
    for key, item in value.items() if isinstance(value, dict) else ():
        yield from places(item, (*place, key))
    for item in value if isinstance(value, list) else ():
        yield from places(item, (*place, "*"))


def with_text(value: Any, place: tuple[str, ...], change: Callable[[str], str]) -> Any:
    """The value with another text in a place."""
    if not place:
        return change(value) if isinstance(value, str) else value
    if isinstance(value, list) and place[0] == "*":
        return [with_text(item, place[1:], change) for item in value]
    if isinstance(value, dict) and place[0] in value:
        return {**value, place[0]: with_text(value[place[0]], place[1:], change)}
    return value


def ways(secret: str) -> tuple[Callable[[str], str], ...]:
    """In the place of what is there, and behind it."""
    return (lambda said: secret, lambda said: f"{said}-{secret}")


# ------------------------------------------------------------------------------------- hooks


@pytest.mark.parametrize("host", registry.AGENTS_WITH_HOOKS)
def test_no_field_of_a_hooks_payload(
    mem: recollect.Recollect, project: Path, tmp_path: Path, planted: Planted, host: str
) -> None:
    mem.learn("Sources are formatted", kind="policy", scope=["src/**"])
    lines = (SAMPLES / HOOKS.get(host, HOOKS["claude-code"])).read_text().splitlines()
    payloads = {item["hook_event_name"]: item for item in map(json.loads, lines)}
    if host not in HOOKS:
        every = {name: text for item in payloads.values() for name, text in item.items()}
        names = getattr(registry.load_hooks(host), "EVENTS", EVENT_NAMES)
        payloads = {name: {**every, "hook_event_name": name} for name in names}
        payloads |= {f"{name} of a person": _spoken(item) for name, item in payloads.items()}
    edit = {"file_path": str(project / "src" / "a.py")}
    for payload in payloads.values():
        if "tool_input" in payload:
            payload |= {"tool_name": "Edit", "tool_input": edit, "agent_id": "a20a61570bf35d2ba"}
    for event, payload in payloads.items():
        payload = {**payload, "cwd": str(project), "transcript_path": str(project / "t.jsonl")}
        for place in places(payload):
            name = f"{event}.{'.'.join(place)}"
            for number, way in enumerate(ways(token(name, planted))):
                new = {**payload, "session_id": f"s{len(planted)}-{number}"}
                answer_event(
                    mem.context, registry.load_hooks(host).parse(with_text(new, place, way), {})
                )
    assert not (found := leaked(tmp_path, planted)), "\n".join(found)
    catch_up(mem.context)
    mem.close()
    assert not (found := leaked(tmp_path, planted)), "\n".join(found)


def _spoken(payload: dict[str, Any]) -> dict[str, Any]:
    """The same of the conversation with a person, not of a subagent or a tool."""
    left_out = ("agent_id", "tool_input")
    return {name: value for name, value in payload.items() if name not in left_out}


def test_nothing_that_a_session_start_says_or_keeps(
    mem: recollect.Recollect, clock: Clock, project: Path, tmp_path: Path, planted: Planted
) -> None:
    """A start block is not searched for secrets: what it is made of was redacted when written."""

    def made(place: str) -> str:
        return token(place, planted)

    for kind in KINDS:
        mem.learn(f"Of the {kind}: never run `make {made(kind)}` here", kind=kind,
                  subject=made(f"{kind} subject"), examples=[made(f"{kind} example")])  # fmt: skip
    mem.notes.set(objective=f"Ship {made('objective')}", phase=made("phase"),
                  blockers=[made("blocker")], pending=[made("pending")])  # fmt: skip
    mem.tasks.start(f"Exporter {made('task')}", phases=[f"design {made('task phase')}"])
    mem.handoffs.give("claude", f"The parser {made('handoff')} is done", sender="codex")
    mem.procedures.learn("add-endpoint", f"Adds {made('procedure')}", steps=["write it"])
    mem.procedures.use("add-endpoint")
    failing = (f"make KEY={made('failing command')}", MISSING, True)
    for session in ("w-1", "w-2"):
        test_observed.work(
            mem, clock, session, failing, good(f"uv run make KEY={made('command')}"),
            good(f"cd src/{made('part')} && make lint"), goal=f"Get {made('goal')} back, please",
        )  # fmt: skip
    payload = {"hook_event_name": "SessionStart", "source": "startup", "cwd": str(project)}
    parsed = registry.load_hooks("claude-code").parse({**payload, "session_id": "s-1"}, {})
    said = answer_event(mem.context, parsed).context
    kept = mem.context.project_space.read(lambda tx: tx.run("SELECT value FROM state"))
    text = "\n".join((said, *(row[0] for row in kept)))
    for name in ("Objective: Ship", "Running task: Exporter", "Of the policy", "uv run make"):
        assert name in said
    assert "[REDACTED:databricks-token]" in said and redaction.is_safe(said)
    assert not [place for one, place in planted.items() if one in text]
    assert not (found := leaked(tmp_path, planted)), "\n".join(found)


def test_no_name_of_a_file_that_moved(
    mem: recollect.Recollect, project: Path, planted: Planted
) -> None:
    """The new place of code is not stored text: it comes from the working tree."""
    (project / "src").mkdir()
    (project / "src" / "tax.py").write_text("def tax_of(amount):\n    return amount * 0.19\n")
    git(project, "init", "--quiet")
    git(project, "add", "src")
    git(project, "commit", "--quiet", "-m", "first")
    mem.learn("`tax_of` in `src/tax.py` rounds down", kind="policy")
    moved = f"src/{token('moved', planted)}.py"
    git(project, "mv", "src/tax.py", moved)
    git(project, "commit", "--quiet", "-m", "second")
    payload = {"hook_event_name": "SessionStart", "source": "startup", "cwd": str(project)}
    parsed = registry.load_hooks("claude-code").parse({**payload, "session_id": "s-1"}, {})
    said = answer_event(mem.context, parsed).context
    kept = mem.context.project_space.read(lambda tx: tx.run("SELECT value FROM state"))
    text = "\n".join((said, *(row[0] for row in kept)))
    assert "rounds down (moved)" in said
    assert not [place for one, place in planted.items() if one in text]


def test_a_session_whose_id_holds_a_secret_is_the_same_to_a_hook_and_in_its_transcript(
    mem: recollect.Recollect, tmp_path: Path, planted: Planted
) -> None:
    given = {"session_id": token("id", planted), "hook_event_name": "UserPromptSubmit"}
    heard = registry.load_hooks("claude-code").parse(given, {}).session
    record = {"type": "user", "uuid": "u1", "sessionId": given["session_id"]}
    path = tmp_path / "transcript.jsonl"
    path.write_text(json.dumps({**record, "message": {"role": "user", "content": "hello"}}) + "\n")
    mem.import_transcripts(str(path), agent="claude-code")
    path.unlink()
    assert [session.id for session in mem.sessions.list()] == [heard]
    assert heard.startswith("claude-code.")


# ------------------------------------------------------------------------------- transcripts


@pytest.mark.parametrize("host", TRANSCRIPTS)
def test_no_field_of_a_transcript(
    mem: recollect.Recollect,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    planted: Planted,
    host: str,
) -> None:
    records = [json.loads(line) for line in (SAMPLES / TRANSCRIPTS[host]).read_text().splitlines()]
    elsewhere = tmp_path_factory.mktemp("transcripts")
    for place in dict.fromkeys(found for record in records for found in places(record)):
        for number, way in enumerate(ways(token(".".join(place), planted))):
            path = elsewhere / f"{len(planted)}-{number}.jsonl"
            lines = [json.dumps(with_text(record, place, way)) for record in records]
            path.write_text("\n".join(lines) + "\n")
            mem.import_transcripts(str(path), agent=host)
    mem.close()
    assert not (found := leaked(tmp_path, planted)), "\n".join(found)


@pytest.mark.parametrize("host", WRITERS)
def test_no_name_of_a_transcripts_file(
    mem: recollect.Recollect,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    planted: Planted,
    host: str,
) -> None:
    folder = tmp_path_factory.mktemp("transcripts") / token("folder", planted)
    folder.mkdir()
    written = WRITERS[host](folder)
    moved = written.with_name(token("file", planted) + written.suffix)
    moved.symlink_to(written)
    assert mem.import_transcripts(str(moved), agent=host).messages
    mem.close()
    assert not (found := leaked(tmp_path, planted)), "\n".join(found)


# -------------------------------------------------------------------------------- operations

NOT_KEPT = ("init", "plugin", "eval")
"""They write agents' settings, or nothing."""

NAMES = (
    "briefing: session",
    "learn: owner",
    "record: session",
    "session import: session",
    "episode record: session",
    "procedure learn: name",
    "ledger: agent",
    "handoff give: to",
    "scratch store: name",
    "event: session",
)
"""What is called by these is found by its name: a token in it is one also right behind a letter."""


def test_no_argument_of_an_operation(
    mem: recollect.Recollect,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    planted: Planted,
) -> None:
    folder = tmp_path_factory.mktemp("files")
    monkeypatch.chdir(folder)
    calls = _calls(mem, folder)
    for words in OPERATIONS:
        operation = commands.load_command(words)
        for parameter in operation.parameters:
            if words in NOT_KEPT or parameter.type not in ("str", "list", "json"):
                continue
            secret = token(f"{words}: {parameter.name}", planted)
            values = _values(parameter, secret, folder)
            behind = [f"x{secret}"] if f"{words}: {parameter.name}" in NAMES else []
            for value in (*values, *behind):
                for given in calls(operation):
                    try:
                        attrgetter(operation.name)(mem)(**{**given, parameter.name: value})
                    except recollect.RecollectError:
                        continue  # refused, or there is nothing of this name
    mem.close()
    assert not (found := leaked(tmp_path, planted)), "\n".join(found)


def _calls(
    memory: recollect.Recollect, folder: Path
) -> Callable[[commands.Command], Iterator[dict[str, Any]]]:
    """What each operation takes, besides what is planted: there is one of everything."""
    learned = memory.learn("The build uses make", subject="build").id
    other = memory.learn("The tests use pytest", subject="tests").id
    memory.record("s1", "hello there")
    memory.sessions.switch("s1")
    memory.tasks.start("Feature X", phases=["design"])
    memory.tasks.phase("feature-x", "design")
    memory.procedures.learn("add-endpoint", "Adds an endpoint", steps=["write it"])
    episode = memory.episodes.record("Fix the login", "success").id
    memory.scratch.store("note", "text")
    handoff = memory.handoffs.give("qa", "all of it", sender="eng").id
    (folder / "talk.json").write_text(json.dumps([{"role": "user", "content": "hi"}]))
    fitting: dict[str, Any] = {
        "id": learned,
        "source": learned,
        "target": other,
        "memory": learned,
        "relation": "related_to",
        "session": "s1",
        "verdict": "helped",
        "slug": "feature-x",
        "context_window": 10_000,
        "agent": "eng",
        "owner": "feature-x",
        "address": learned,
        "path": str(folder / "talk.json"),
        "name": "add-endpoint",
    }
    special: dict[str, list[dict[str, Any]]] = {
        "learn": [{}, {"layer": "session", "owner": "s1"}, {"layer": "task", "owner": "s1"}],
        "record": [{"message": "hello"}],
        "briefing": [{}, {"query": "how do we build"}],
        "episode record": [{"goal": "Fix the build"}],
        "episode show": [{"id": episode}],
        "ledger": [{"ledger": {"tasks_completed": 1}}, {}],
        "handoff give": [{"to": "qa", "done": "some of it"}],
        "handoff accept": [{"id": handoff}],
        "procedure learn": [{"steps": ["do it"]}],
        "task phase": [{"name": "design"}, {"name": "design", "report": "it is done"}],
        "event": [
            {"name": name, "task": "feature-x", "session": "s1"}
            for name in ("context start", "phase start", "phase end", "conversation end")
        ],
    }

    def calls(operation: commands.Command) -> Iterator[dict[str, Any]]:
        required = [item.name for item in operation.parameters if item.required]
        given = {name: fitting.get(name, "some words") for name in required}
        for more in special.get(operation.words, [{}]):
            yield {**given, **more}

    return calls


def _values(parameter: commands.Parameter, secret: str, folder: Path) -> Iterator[Any]:
    """The token in all ways that a parameter takes."""
    if parameter.type == "json":
        for path in sorted(FORMATS.glob("*.json")):
            given = json.loads(path.read_text())
            more = {"session": "s1", "owner": "x", "goal": "x", "slug": "x"}
            for place in places({**more, **given}):
                for way in ways(secret):
                    yield with_text({**more, **given}, place, way)
            yield {**given, secret: "x"}
    elif parameter.name == "path":
        for original in (folder / "talk.json", *FORMATS.iterdir()):
            copy = folder / f"{secret}{original.suffix}"
            copy.write_text(original.read_text())
            yield str(copy)
        yield str(folder / secret)
    else:
        texts = [secret, f"x-{secret}", f"see {secret} there", f"src/{secret}.py"]
        yield from ([text] for text in texts) if parameter.type == "list" else texts
        if parameter.name == "message":
            yield {"role": "user", "content": "hello", "name": secret, "id": secret}


# ---------------------------------------------------------------------------------- adapters


def test_no_name_that_a_framework_gives(
    mem: recollect.Recollect, tmp_path: Path, planted: Planted
) -> None:
    for front in ("", "x", "x-"):

        def made(name: str, front: str = front) -> str:
            return front + token(front + name, planted)

        for work in _adapters(mem, made):
            try:
                work()
            except (recollect.Refused, ToolError):
                continue
    mem.close()
    assert not (found := leaked(tmp_path, planted)), "\n".join(found)


def _adapters(memory: recollect.Recollect, made: Callable[[str], str]) -> list[Callable[[], Any]]:
    """Everything that a framework names, with a token in it."""
    store, files, turns = MemoryStore(memory), MemoryTool(memory), MemorySessionStore(memory)

    said: Any = {"role": "user", "content": "hello"}

    def mirrored(project: str, session: str, uuid: str) -> Any:
        entry: Any = {"type": "user", "uuid": uuid, "sessionId": session, "message": said}
        key: Any = {"project_key": project, "session_id": session}
        return asyncio.run(turns.append(key, [entry]))

    def created(path: str) -> Any:
        return files.call({"command": "create", "path": path, "file_text": "x"})

    return [
        lambda: store.put((made("namespace"),), "k", {"a": 1}),
        lambda: store.put(("n",), made("key"), {"a": 1}),
        lambda: asyncio.run(MemorySession(made("thread"), memory).add_items([said])),
        lambda: mirrored(made("project"), "s", "u1"),
        lambda: mirrored("p", made("session"), "u2"),
        lambda: mirrored("p", "s", made("uuid")),
        lambda: created(f"/memories/{made('file')}.md"),
        lambda: created(f"/memories/{made('folder')}/a.md"),
    ]
