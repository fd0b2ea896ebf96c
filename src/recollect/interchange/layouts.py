"""The layouts of other memory systems: which file holds what, both ways.

Statements are read by `formats`. Here are the other records (notes, scratch, tasks, ledgers,
handoffs, episodes, skills), and what is written for all of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from ..fast_typing import NamedTuple
from ..types.records import Json, Memory

ARTIFACTS = "plans/artifacts"


class Holdings(NamedTuple):
    """The records of a space that another layout can hold; texts by name."""

    memories: Sequence[Memory]
    notes: str = ""
    scratch: Mapping[str, str] = {}
    pages: Mapping[str, str] = {}
    """The pages of tasks, by `slug/page`."""
    ledgers: Mapping[str, Json] = {}
    handoffs: Mapping[str, Json] = {}
    episodes: Mapping[str, Json] = {}
    """By `day/id`."""
    skills: Mapping[str, str] = {}
    """The SKILL.md of procedures."""
    sessions: Mapping[str, Json] = {}


class ForeignRecord(NamedTuple):
    """A record of a file other than a statement. A page is named `slug/page`; the value of a
    session is the path of its file."""

    what: str
    name: str
    value: Json


_PLACES = (
    ("session", re.compile(r"(?:^|/)\.clio/sessions/([^/]+)\.json$")),
    ("scratch", re.compile(r"(?:^|/)\.clio/memory/([^/]+)\.(?:json|md)$")),
    ("index", re.compile(r"(?:^|/)(?:episodic|skills|ledgers|handoffs)/index\.json$")),
    ("episode", re.compile(r"(?:^|/)episodic/(?:[^/]+/)?([^/]+)\.json$")),
    ("ledger", re.compile(r"(?:^|/)ledgers/([^/]+)\.json$")),
    ("handoff", re.compile(r"(?:^|/)handoffs/([^/]+)\.json$")),
    ("skill", re.compile(r"(?:^|/)skills/([^/]+)(?:/SKILL)?\.md$")),
    ("page", re.compile(rf"(?:^|/){ARTIFACTS}/([^/]+/[^/]+(?:/[^/]+)?)\.md$")),
    ("notes", re.compile(r"(?:^|/)(NOTES)\.md$")),
)


def read_record(path: str, text: str) -> ForeignRecord | None:
    """Return the record of a file by its place; None for one that holds statements. Raise
    ValueError for JSON that cannot be parsed."""
    place = path.replace("\\", "/")
    for what, pattern in _PLACES:
        if found := pattern.search(place):
            name = found[1] if found.groups() else ""
            return ForeignRecord(what, name, _value(what, place, text))
    return None


def _value(what: str, place: str, text: str) -> Json:
    if what == "session":
        return place
    if not place.endswith(".json"):
        return text
    value = json.loads(text)
    if what == "scratch":
        told = value.get("content", value) if isinstance(value, dict) else value
        return told if isinstance(told, str) else json.dumps(told, ensure_ascii=False)
    return value


# ---------------------------------------------------------------- writing

CLIO = {
    "discoveries": "fact",
    "problem_solutions": "solution",
    "code_patterns": "pattern",
    "workflows": "workflow",
    "failures": "pitfall",
    "context_rules": "policy",
}
"""The lists of ltm.json, and the kind of their entries."""


def _dump(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _entry(one: Memory, text: str) -> dict[str, Json]:
    """Return an entry with its statement under the name that the layout uses."""
    return {
        "id": one.id,
        text: one.text,
        "kind": one.kind,
        "subject": one.subject,
        "confidence": one.confidence,
        "examples": list(one.examples),
        "citations": [str(cited.get("path", "")) for cited in one.citations],
        "reason": one.reason,
        "tags": list(one.tags),
        "scope": list(one.scope),
    }


def write_clio(held: Holdings, now: str) -> dict[str, str]:
    """Return the files of `.clio/`: ltm.json, the session store, and the sessions."""
    lists: dict[str, list[Json]] = {name: [] for name in CLIO}
    names = {kind: name for name, kind in CLIO.items()}
    for one in held.memories:
        lists[names.get(one.kind, "discoveries")].append(_entry(one, "fact"))
    value = {"patterns": lists, "metadata": {"last_updated": now, "version": "1.0"}}
    return {
        ".clio/ltm.json": _dump(value),
        **{
            f".clio/memory/{key}.json": _dump({"key": key, "content": text})
            for key, text in held.scratch.items()
        },
        **{f".clio/sessions/{name}.json": _dump(one) for name, one in held.sessions.items()},
    }


def write_loki(held: Holdings, now: str) -> dict[str, str]:
    """Return the files of `.loki/memory/`."""
    lists: dict[str, list[Json]] = {"patterns": [], "anti-patterns": [], "facts": []}
    for one in held.memories:
        stem = {"pattern": "patterns", "pitfall": "anti-patterns"}.get(one.kind, "facts")
        names = {"patterns": "pattern", "anti-patterns": "what_fails", "facts": "fact"}
        lists[stem].append(_entry(one, names[stem]))
    place = ".loki/memory"
    return {
        **{f"{place}/semantic/{stem}.json": _dump(rows) for stem, rows in lists.items()},
        **{f"{place}/episodic/{name}.json": _dump(one) for name, one in held.episodes.items()},
        **{f"{place}/ledgers/{name}.json": _dump(one) for name, one in held.ledgers.items()},
        **{f"{place}/handoffs/{name}.json": _dump(one) for name, one in held.handoffs.items()},
        **{f"{place}/skills/{name}.md": text for name, text in held.skills.items()},
    }


def write_repo(held: Holdings, now: str) -> dict[str, str]:
    """Return a file of /memories/repo for each memory, NOTES.md, and the pages of tasks."""
    files = {
        f"memories/repo/{one.id}.json": _dump(
            {**_entry(one, "fact"), "category": one.category or one.kind}
        )
        for one in held.memories
    }
    if held.notes:
        files["NOTES.md"] = held.notes
    return files | {f"{ARTIFACTS}/{name}": text for name, text in held.pages.items()}


def write_markdown(held: Holdings, now: str) -> dict[str, str]:
    """Return MEMORY.md, the memories as list items by kind, and the skills."""
    by_kind: dict[str, list[str]] = {}
    for one in held.memories:
        where = f" (for {', '.join(one.scope)})" if one.scope else ""
        by_kind.setdefault(one.kind, []).append(f"- {' '.join(one.text.split())}{where}")
    parts = [f"## {kind}\n\n" + "\n".join(lines) for kind, lines in sorted(by_kind.items())]
    return {
        "MEMORY.md": "# Memory\n\n" + "\n\n".join(parts) + "\n",
        **{f"skills/{name}/SKILL.md": text for name, text in held.skills.items()},
    }


WRITERS = {
    "clio": write_clio,
    "loki": write_loki,
    "repo": write_repo,
    "markdown": write_markdown,
}
