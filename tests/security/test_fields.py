"""No secret of any kind is in the bytes of a store, whichever field it was written to.

Each field gets a secret of its own. Afterwards all bytes of all files are searched, also in another
case: a leak names the field.
"""

from __future__ import annotations

import os
import string
from collections.abc import Callable
from pathlib import Path

import pytest

import recollect
from tests.builders.secret_samples import ALNUM, BASE32, HEX, URL64, fake
from tests.faults.tiers import TIER

KINDS: dict[str, Callable[[int], str]] = {
    "aws-key": lambda seed: "AK" + "IA" + fake(BASE32, 16, seed),
    "google-key": lambda seed: "AI" + "za" + fake(URL64, 34, seed) + "Q",
    "digitalocean": lambda seed: "dop_" + "v1_" + fake(HEX, 64, seed),
    "github": lambda seed: "gh" + "p_" + fake(ALNUM, 36, seed),
    "gitlab": lambda seed: "gl" + "pat-" + fake(ALNUM, 20, seed),
    "npm": lambda seed: "np" + "m_" + fake(ALNUM, 36, seed),
    "slack": lambda seed: (
        "xox" + "b-" + fake(string.digits, 12, seed) + "-" + fake(ALNUM, 24, seed)
    ),
    "stripe": lambda seed: "sk_" + "live_" + fake(ALNUM, 24, seed),
    "anthropic": lambda seed: "sk-" + "ant-api03-" + fake(URL64, 93, seed) + "AA",
    "openai": lambda seed: "sk-" + "proj-" + fake(ALNUM, 48, seed),
    "jwt": lambda seed: ".".join(
        ("ey" + "JhbGciOiJIUzI1NiJ9", "ey" + "JzdWIiOiIxIn0", fake(URL64, 43, seed))
    ),
    "assignment": lambda seed: "password=" + fake(ALNUM, 20, seed),
}
CHOSEN = list(KINDS) if TIER != "fast" else ["github", "assignment"]

Write = Callable[[recollect.Recollect, str], object]


def _message(**parts: object) -> Callable[[recollect.Recollect, str], object]:
    """Return a write of a message in which `{}` stands for the secret, wherever it is."""

    def fill(value: object, secret: str) -> object:
        if isinstance(value, str):
            return value.replace("{}", secret)
        if isinstance(value, dict):
            return {key: fill(inner, secret) for key, inner in value.items()}
        return [fill(inner, secret) for inner in value] if isinstance(value, list) else value

    return lambda mem, secret: mem.record("s", fill(parts, secret))  # type: ignore[arg-type]


def _call(id: str, arguments: str) -> list[object]:
    return [{"id": id, "type": "function", "function": {"name": "Bash", "arguments": arguments}}]


FIELDS: dict[str, Write] = {
    "memory text": lambda mem, s: mem.learn(f"deploys use {s} for now"),
    "memory subject": lambda mem, s: mem.learn("deploys need a key", subject=f"key {s}"),
    "memory reason": lambda mem, s: mem.learn("builds need a key", reason=f"else {s} fails"),
    "memory tag": lambda mem, s: mem.learn("tests need a key", tags=[s]),
    "memory example": lambda mem, s: mem.learn("linters need a key", examples=[f"src/{s}.py"]),
    "memory scope": lambda mem, s: mem.learn("docs need a key", scope=[f"src/{s}/**"]),
    "memory detail": lambda mem, s: mem.learn("caches need a key", detail={"note": f"is {s}"}),
    "memory citation": lambda mem, s: mem.learn("logs need a key", citations=[f"{s}.py:3"]),
    "memory evidence": lambda mem, s: mem.learn("hosts need a key", evidence=[f"note {s}"]),
    "memory owner": lambda mem, s: mem.learn("runs need a key", layer="task", owner=f"t-{s}"),
    "memory key": lambda mem, s: mem.learn("queues need a key", key=f"k {s}"),
    "many texts": lambda mem, s: mem.learn_many([{"text": f"proxies use {s} here"}]),
    "pattern": lambda mem, s: mem.memories.add_pattern(f"use {s} in calls"),
    "discovery": lambda mem, s: mem.memories.add_discovery(f"found that {s} works"),
    "solution error": lambda mem, s: mem.memories.add_solution(f"401 for {s}", "log in again"),
    "solution": lambda mem, s: mem.memories.add_solution("403 from the host", f"send {s}"),
    "corrected text": lambda mem, s: mem.memories.correct(_any(mem), f"now it uses {s} instead"),
    "corrected reason": lambda mem, s: mem.memories.correct(_any(mem), f"v{len(s)}", f"as {s}"),
    "link reason": lambda mem, s: mem.links.add(
        _any(mem), "related_to", mem.learn("the other end").id, f"both use {s}"
    ),
    "user message": lambda mem, s: mem.record("s", f"please use {s} to log in"),
    "assistant message": lambda mem, s: mem.record("s", f"I used {s}", role="assistant"),
    "session id": lambda mem, s: mem.record(f"s-{s}", "hello"),
    "session agent": lambda mem, s: mem.record("new", "hello", agent=f"agent-{s}"),
    "message key": lambda mem, s: mem.record("s", "hello", key=f"k-{s}"),
    "session name": lambda mem, s: mem.sessions.rename("s", f"about {s}"),
    "text block": _message(role="user", content=[{"type": "text", "text": "see {} here"}]),
    "call arguments": _message(
        role="assistant", content="", tool_calls=_call("c1", '{"command": "login {}"}')
    ),
    "tool result": _message(role="tool", tool_call_id="c1", content="logged in with {}"),
    "call id": _message(role="assistant", content="", tool_calls=_call("c-{}", "{}")),
    "message name": _message(role="user", content="hi", name="n-{}"),
    "unknown part": _message(role="user", content="hi", annotations=[{"note": "was {}"}]),
    "attached file": _message(
        role="user", content=[{"type": "image_url", "image_url": {"url": "https://x.io/?k={}"}}]
    ),
    "episode goal": lambda mem, s: mem.episodes.record(f"rotate {s}", "success"),
    "episode error": lambda mem, s: mem.episodes.record(
        "log in", "failure", errors=[f"AuthError: {s} was refused => log in again"]
    ),
    "episode file": lambda mem, s: mem.episodes.record("save", "success", artifacts=[f"{s}.txt"]),
    "procedure name": lambda mem, s: mem.procedures.learn(f"p-{s}", "how", steps=["do it"]),
    "procedure": lambda mem, s: mem.procedures.learn("log-in", f"with {s}", steps=["do it"]),
    "procedure step": lambda mem, s: mem.procedures.learn("log-out", "how", steps=[f"drop {s}"]),
    "scratch name": lambda mem, s: mem.scratch.store(f"n-{s}", "text"),
    "scratch text": lambda mem, s: mem.scratch.store("note", f"try {s} tomorrow"),
    "objective": lambda mem, s: mem.notes.set(objective=f"replace {s}"),
    "blocker": lambda mem, s: mem.notes.set(blockers=[f"{s} expired"]),
    "pending": lambda mem, s: mem.notes.set(pending=[f"rotate {s}"]),
    "task title": lambda mem, s: mem.tasks.start(f"Rotate {s} soon", phases=["design"]),
    "task decision": lambda mem, s: mem.tasks.decide(_task(mem), f"keep {s}", reason=f"{s} works"),
    "phase report": lambda mem, s: mem.tasks.phase(_task(mem), "design", report=f"{s} is out"),
    "verified item": lambda mem, s: mem.tasks.verify(_task(mem), items=[f"{s} is refused"]),
    "handoff": lambda mem, s: mem.handoffs.give("qa", f"moved {s}", sender="eng"),
    "ledger": lambda mem, s: mem.work.ledger("eng", {"current_task": f"moving {s}"}),
}


def _any(mem: recollect.Recollect) -> str:
    return mem.learn("an innocent fact about the build").id


def _task(mem: recollect.Recollect) -> str:
    return str(mem.tasks.start(f"Task {len(mem.tasks.list())}", phases=["design"]).task["slug"])


def test_there_are_49_fields_and_12_kinds() -> None:
    assert (len(FIELDS), len(KINDS)) == (49, 12)


@pytest.mark.parametrize("kind", CHOSEN)
def test_no_secret_is_in_the_bytes_of_a_store(
    project: Path, tmp_path: Path, environment: dict[str, str], kind: str
) -> None:
    planted: dict[str, str] = {}
    refused: list[str] = []
    with recollect.open(project, environment=environment, origin="user") as mem:
        for seed, (field, write) in enumerate(FIELDS.items()):
            secret = KINDS[kind](seed)
            planted[field] = secret.removeprefix("password=")
            try:
                write(mem, secret)
            except (recollect.InvalidInput, recollect.Refused):
                refused.append(field)  # such a name is not allowed: nothing is stored
        mem.recall("key")
        mem.briefing("log in")
        mem.episodes.build()
    found = b"".join(
        (Path(place) / name).read_bytes() for place, _, names in os.walk(tmp_path) for name in names
    ).lower()
    assert b"sqlite format 3" in found
    assert len(refused) <= 6, refused
    assert [field for field, one in planted.items() if one.lower().encode() in found] == []


@pytest.fixture
def engine() -> str:
    return "sqlite"
