"""Read statements from the files of other memory systems.

Each reader yields `ForeignStatement`s; `LOSS` describes the data that is not kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping

from ..fast_typing import NamedTuple
from ..types.records import KINDS, RELATIONS, Json

LOSS = {
    "mcp-memory": "relations become facts; the entity type is a tag",
    "mem0": "user and agent ids become tags; scores and embeddings are not kept",
    "claude-mem": "observations only; session summaries and vectors are not kept",
    "basic-memory": "observations and relations only; other prose is not kept",
    "rules": "headings become subjects; prose without a rule and code blocks are not kept",
    "clio": "revisions, trust, counts, files in messages; notes, tasks, episodes, procedures",
    "loki": "revisions, trust, counts and times; notes, tasks and sessions",
    "repo": "revisions, trust, counts and times; episodes, procedures, handoffs and sessions",
    "markdown": "all but text, kind and scope of memories, and skills",
}
"""The data that each format loses when it is written or read."""


class ForeignStatement(NamedTuple):
    """One statement of a foreign file."""

    text: str
    kind: str = "fact"
    subject: str = ""
    tags: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    citations: tuple[str, ...] = ()
    confidence: float = 0.8
    reason: str = ""
    id: str = ""
    """Its id in that file, for links."""
    scope: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    """Relation and id of other statements. A statement without a text has only links."""
    episodes: tuple[str, ...] = ()
    """Ids of the episodes that it was derived from."""


def detect(name: str, text: str) -> str:
    """Return the format of a file by its name and beginning; empty for an unknown one."""
    lower = name.lower().replace("\\", "/")
    if text.startswith('{"recollect":'):
        return "recollect"
    if lower.endswith("ltm.json"):
        return "clio"
    if "/semantic/" in lower or "/learnings/" in lower:
        return "loki"
    if "/memories/repo/" in lower or lower.startswith("memories/repo/"):
        return "repo"
    if lower.endswith((".jsonl", ".json")):
        return _detect_json(text)
    if lower.endswith((".md", ".mdc", ".markdown")):
        return "basic-memory" if re.search(r"(?m)^permalink:", text[:2000]) else "rules"
    return ""


def describe_unreadable(name: str, text: str, why: str = "") -> str:
    """Return file, line and reason for a file that is not read."""
    lines = text.splitlines() if name.endswith(".jsonl") else [text]
    for number, line in enumerate(lines if name.endswith((".json", ".jsonl")) else (), 1):
        try:
            json.loads(line or "null")
        except json.JSONDecodeError as error:
            return f"{name}:{number + error.lineno - 1}: not valid JSON: {error.msg}"
        except (ValueError, RecursionError) as error:  # a file that exhausts the parser
            return f"{name}:{number}: {error}"
    return f"{name}: {why or 'unknown format'}"


def _detect_json(text: str) -> str:
    if re.search(r'"type"\s*:\s*"(?:entity|relation)"', text[:4000]):
        return "mcp-memory"
    if re.search(r'"observations"\s*:', text[:4000]):
        return "claude-mem"
    return "mem0" if re.search(r'"memory"\s*:', text[:4000]) else ""


def read(form: str, name: str, text: str) -> Iterator[ForeignStatement]:
    """Yield the statements of a file; raise ValueError for an export, which is read as a whole."""
    if form == "recollect":
        is_export = detect(name, text) == form
        raise ValueError("load an export by its path" if is_export else "not an export")
    yield from _READERS[form](name, text)


def _read_mcp_memory(name: str, text: str) -> Iterator[ForeignStatement]:
    for line in filter(None, map(str.strip, text.splitlines())):
        one = json.loads(line)
        if one.get("type") == "entity":
            kind = str(one.get("entityType", ""))
            for observation in one.get("observations", ()):
                subject = str(one.get("name", ""))
                tags = (kind,) if kind else ()
                yield ForeignStatement(f"{subject}: {observation}", subject=subject, tags=tags)
        elif one.get("type") == "relation":
            words = (one.get("from"), one.get("relationType"), one.get("to"))
            yield ForeignStatement(" ".join(map(str, words)), subject=str(one.get("from", "")))


def _read_mem0(name: str, text: str) -> Iterator[ForeignStatement]:
    value = json.loads(text)
    rows: Json = value
    if isinstance(value, dict):
        rows = value.get("results") or value.get("memories") or []
    for one in rows:
        ids = [f"{key}:{one[key]}" for key in ("user_id", "agent_id") if one.get(key)]
        content = str(one.get("memory") or one.get("text") or "")
        if content:
            yield ForeignStatement(content, tags=(*map(str, one.get("categories") or ()), *ids))


_CLAUDE_MEM = {"bugfix": "solution", "decision": "decision", "discovery": "fact"}


def _read_claude_mem(name: str, text: str) -> Iterator[ForeignStatement]:
    for one in json.loads(text).get("observations", ()):
        facts = one.get("facts") or ()
        facts = json.loads(facts) if isinstance(facts, str) else facts
        kind = _CLAUDE_MEM.get(str(one.get("type", "")), "fact")
        texts = facts or [one.get("narrative") or one.get("text") or one.get("title") or ""]
        for fact in filter(None, map(str, texts)):
            yield ForeignStatement(fact, kind, subject=str(one.get("title") or ""))


_BULLET = re.compile(r"^\s{0,6}(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?(\S.*)$")
_OBSERVED = re.compile(r"^\[([\w -]{1,40})\]\s+(.*)$")
_RELATED = re.compile(r"^([\w -]{1,60})\s+\[\[([^\]]{1,200})\]\]")
_TAG = re.compile(r"(?<=\s)#([\w-]{1,40})")


def _list_bullets(text: str) -> Iterator[tuple[str, str]]:
    """Yield heading and text of the list items outside of code blocks."""
    heading, fenced, item = "", False, ""
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
            continue
        if fenced:
            continue
        bullet = _BULLET.match(line)
        if bullet or not line.strip() or line.startswith("#"):
            if item:
                yield heading, item
            item = bullet[1].strip() if bullet else ""
        elif item and line.startswith(" "):
            item = f"{item} {line.strip()}"
        if line.startswith("#"):
            heading = line.strip("# \t")
    if item:
        yield heading, item


def _read_basic_memory(name: str, text: str) -> Iterator[ForeignStatement]:
    title = re.search(r"(?m)^title:\s*(.+)$", text[:2000])
    subject = title[1].strip("'\" ") if title else name
    for _, item in _list_bullets(text):
        tags = tuple(_TAG.findall(item))
        content = _TAG.sub("", item).strip()
        if observed := _OBSERVED.match(content):
            tags = (observed[1].strip(), *tags)
            yield ForeignStatement(f"{subject}: {observed[2].strip()}", subject=subject, tags=tags)
        elif related := _RELATED.match(content):
            yield ForeignStatement(f"{subject} {related[1].strip()} {related[2]}", subject=subject)


_RULE = re.compile(r"(?i)\b(?:always|never|must|do not|don't|only|avoid|use|prefer|run)\b")


def _read_rules(name: str, text: str) -> Iterator[ForeignStatement]:
    """Yield the list items and rules of CLAUDE.md, AGENTS.md, Codex memories and MEMORY.md."""
    about = re.match(r"(?s)---\n(.*?)\n---\n", text)
    if about and (kind := re.search(r"(?m)^type:\s*(\w+)\s*$", about[1])):
        yield from _read_memory_file(about[1], kind[1], text[about.end() :])
        return
    body = text[about.end() :] if about else text
    for heading, item in _list_bullets(body):
        content = item.replace("**", "")
        if len(content) < 8 or content.startswith("@"):
            continue
        if heading in KINDS:  # our own MEMORY.md
            where = re.search(r" \(for ([^()]+)\)$", item)
            scope = tuple(where[1].split(", ")) if where else ()
            yield ForeignStatement(item[: where.start()] if where else item, heading, scope=scope)
        else:
            yield ForeignStatement(
                content, "policy" if _RULE.search(content) else "fact", subject=heading[:120]
            )
    for heading, line in _list_prose(body):
        if _RULE_ONLY.search(line):
            yield ForeignStatement(line.replace("**", ""), "policy", subject=heading[:120])


_RULE_ONLY = re.compile(r"(?i)^(?:always|never|do not|don't|only|avoid|prefer)\b|\bmust\b")
_FILE_KINDS = {"user": "preference", "feedback": "policy", "reference": "reference"}


def _read_memory_file(about: str, type: str, text: str) -> Iterator[ForeignStatement]:
    """Yield the one statement of a Claude Code memory file: prose under name and description."""
    content, _, why = text.strip().partition("**Why:**")
    named = re.search(r"(?m)^(?:name|description):\s*(.+)$", about)
    subject = named[1].strip("'\" ") if named else ""
    content = " ".join(content.replace("**", "").split())
    if content:
        reason = " ".join(why.replace("**", "").split())
        kind = _FILE_KINDS.get(type, "fact")
        yield ForeignStatement(content[:2000], kind, subject=subject[:120], reason=reason[:1000])


def _list_prose(text: str) -> Iterator[tuple[str, str]]:
    """Yield heading and text of the lines that are neither list items, code nor headings."""
    heading, fenced = "", False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif line.startswith("#") and not fenced:
            heading = line.strip("# \t")
        elif line[:1].strip() and not fenced and not _BULLET.match(line) and line[0] not in ">|<":
            yield heading, line.strip()


CLIO = {
    "discoveries": "fact",
    "problem_solutions": "solution",
    "code_patterns": "pattern",
    "workflows": "workflow",
    "failures": "pitfall",
    "context_rules": "policy",
}
"""The lists of ltm.json, and the kind of their entries."""


def _read_clio(name: str, text: str) -> Iterator[ForeignStatement]:
    for kind, entries in json.loads(text).get("patterns", {}).items():
        for one in entries if kind in CLIO else ():
            yield _make_statement(one, CLIO[kind])


def _make_statement(one: Json, kind: str) -> ForeignStatement:
    """Return the statement of an entry; its fields have different names in each format."""
    if isinstance(one, str):
        return ForeignStatement(one, kind)
    return ForeignStatement(
        text=_entry_text(one),
        kind=str(one["kind"]) if one.get("kind") in KINDS else kind,
        subject=str(one.get("subject") or one.get("category") or "")[:120],
        examples=tuple(map(str, one.get("examples") or ())),
        citations=tuple(map(str, one.get("citations") or ())),
        confidence=min(1.0, max(0.0, float(one.get("confidence") or 0.8))),
        reason=str(one.get("reason") or one.get("why") or ""),
        id=str(one.get("id") or ""),
        tags=tuple(map(str, one.get("tags") or ())),
        scope=tuple(map(str, one.get("scope") or ())),
        links=_read_links(one.get("links")),
        episodes=tuple(map(str, one.get("source_episodes") or ())),
    )


def _entry_text(one: Mapping[str, Json]) -> str:
    """Return the text of an entry: one text, or its parts joined."""
    if isinstance(one.get("sequence"), list):
        return " → ".join(map(str, one["sequence"]))
    for first, second in _PAIRS:
        before, after = _first(one, first), _first(one, second)
        if before and after:
            return f"{before}: {after}"
    return _first(one, _TEXTS)


_PAIRS = (
    (("error", "problem", "message"), ("solution", "fix", "resolution")),
    (("what_broke", "what_fails", "mistake"), ("prevention",)),
    (("condition",), ("action", "rule")),
)
"""The two parts of a solution, a failure and a rule of a context."""


def _read_links(given: Json) -> tuple[tuple[str, str], ...]:
    """Return relation and target of the links of an entry; unknown relations are left out."""
    links = [one for one in given or () if isinstance(one, dict)]
    pairs = [(str(one.get("relation", "")), str(one.get("to", ""))) for one in links]
    return tuple(pair for pair in pairs if pair[0] in RELATIONS and pair[1])


_TEXTS = (
    *("fact", "text", "pattern", "what_fails", "what_broke", "rule", "statement", "description"),
    *("lesson", "learning", "content", "mistake", "error", "message", "name", "title"),
)


def _first(one: Mapping[str, Json], names: Iterable[str]) -> str:
    return next((str(one[name]) for name in names if one.get(name)), "")


_LOKI = {"patterns": "pattern", "anti-patterns": "pitfall", "facts": "fact", "links": ""}


def _read_loki(name: str, text: str) -> Iterator[ForeignStatement]:
    stem = name.replace("\\", "/").rpartition("/")[2].removesuffix(".json")
    kind = _LOKI.get(stem, "pitfall")
    value = json.loads(text)
    if isinstance(value, dict):
        lists = [one for one in value.values() if isinstance(one, list)]
        value = lists[0] if lists else [value]
    for one in value:
        if not kind:
            yield ForeignStatement("", id=str(one.get("from", "")), links=_read_links([one]))
            continue
        statement = _make_statement(one, kind)
        if statement.text:
            yield statement


def _read_repo(name: str, text: str) -> Iterator[ForeignStatement]:
    """Yield the facts of /memories/repo: JSON objects with the five fields, or Markdown."""
    if name.endswith(".json"):
        value = json.loads(text)
        for one in value if isinstance(value, list) else [value]:
            yield _make_statement(one, "fact")
    else:
        yield from _read_rules(name, text)


_READERS = {
    "mcp-memory": _read_mcp_memory,
    "mem0": _read_mem0,
    "claude-mem": _read_claude_mem,
    "basic-memory": _read_basic_memory,
    "rules": _read_rules,
    "clio": _read_clio,
    "loki": _read_loki,
    "repo": _read_repo,
}
READABLE = ("recollect", *_READERS)
