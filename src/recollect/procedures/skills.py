"""Convert procedures from and to `SKILL.md`, and patterns from and to JSON.

A skill is written by the Agent Skills convention (frontmatter with name and description, then
Markdown), and read with or without it. Four sections are parsed; all others are kept as they are,
in their order. The counts of a procedure are stored in the frontmatter's `metadata`; the caller
decides whether to trust them.

Other programs write the JSON of patterns too: reading and writing again loses nothing. In the store
a pattern is a memory; JSON fields that a memory lacks are kept in its detail.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..errors import InvalidInput
from ..text.addresses import SCHEME, check_slug, slugify
from ..text.frontmatter import YamlValue, read_frontmatter, split_frontmatter, write_frontmatter
from ..types import json_records
from ..types.records import RELATIONS, Json, Memory

LONGEST_DESCRIPTION, LONGEST_COMPATIBILITY = 1024, 500
CONVENTION = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")

PREREQUISITES, STEPS = "Prerequisites", "Steps"
ERRORS, EXIT = "Common Errors & Fixes", "Exit Criteria"
SECTIONS = (PREREQUISITES, STEPS, ERRORS, EXIT)

_KNOWN = {name.casefold(): name for name in SECTIONS} | {"common errors and fixes": ERRORS}
_COUNTS = {"recollect-successes": "successes", "recollect-failures": "failures"}


class KnownError(NamedTuple):
    """A known error and its fix."""

    error: str
    fix: str = ""


class Section(NamedTuple):
    """A section of a skill; an empty body marks the position of one of the four parsed sections."""

    heading: str
    body: str = ""


class Procedure(NamedTuple):
    """A named procedure with its success counts.

    `sections` are all sections of the file in their order, if there are others than the four in
    their usual order. `extra` are the other fields of the frontmatter.
    """

    name: str
    description: str
    title: str = ""
    intro: str = ""
    prerequisites: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    errors: tuple[KnownError, ...] = ()
    exit_criteria: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    successes: int = 0
    failures: int = 0
    extra: Mapping[str, YamlValue] = {}


def build_procedure(name: str, description: str, parts: Mapping[str, Sequence[str]]) -> Procedure:
    """Build a procedure from its parts; an error is given as `error: fix`."""
    given: dict[str, Json] = {field: tuple(words) for field, words in parts.items()}
    pairs = (words.partition(": ") for words in given.get("errors", ()))
    errors = tuple(KnownError(error.strip(), fix.strip()) for error, _, fix in pairs)
    return Procedure(name, description, **{**given, "errors": errors})


def replace_parts(
    procedure: Procedure, description: str, parts: Mapping[str, Sequence[str]]
) -> Procedure:
    """Return the procedure with the given parts replaced."""
    given = {field: words for field, words in parts.items() if words}
    new = build_procedure(procedure.name, description or procedure.description, given)
    fields = {field: getattr(new, field) for field in given}
    return procedure._replace(description=new.description, **fields)


# ---------------------------------------------------------------- writing


def to_skill_md(procedure: Procedure) -> str:
    """Render a procedure as `SKILL.md`; InvalidInput if the convention forbids it."""
    _check_name(procedure.name)
    if not 0 < len(procedure.description.strip()) <= LONGEST_DESCRIPTION:
        raise InvalidInput(
            f"a skill's description has 1 to {LONGEST_DESCRIPTION} characters, "
            f"not {len(procedure.description.strip())}",
            where=f"skill {procedure.name}",
            hint="Say in a sentence or two what the skill does and when to use it.",
        )
    parts = [write_frontmatter(_frontmatter_fields(procedure))]
    parts += [f"# {procedure.title}"] if procedure.title else []
    parts += [procedure.intro] if procedure.intro else []
    for heading, body in _ordered_sections(procedure):
        parts.append(f"## {heading}\n{body}" if body else f"## {heading}")
    return "\n\n".join(parts) + "\n"


def describe_extensions(procedure: Procedure) -> str:
    """Describe the fields that a strict reader could reject; empty if there are none.

    They belong to some agent (such as whether its model may use the skill unasked), so dropping one
    could do harm.
    """
    own = [key for key in procedure.extra if key not in CONVENTION]
    compatibility = procedure.extra.get("compatibility", "")
    if not isinstance(compatibility, str) or len(compatibility) > LONGEST_COMPATIBILITY:
        own.append("compatibility (a text of at most 500 characters)")
    return f"not of the Agent Skills convention, kept as it was: {', '.join(own)}" if own else ""


def _frontmatter_fields(procedure: Procedure) -> dict[str, YamlValue]:
    given = procedure.extra.get("metadata", {})
    metadata = dict(given) if isinstance(given, Mapping) else {}
    for key, count in _COUNTS.items():
        if getattr(procedure, count):
            metadata[key] = str(getattr(procedure, count))
    fields: dict[str, YamlValue] = {
        "name": procedure.name,
        "description": procedure.description.strip(),
    }
    fields |= {key: value for key, value in procedure.extra.items() if key != "metadata"}
    return fields | ({"metadata": metadata} if metadata else {})


def _ordered_sections(procedure: Procedure) -> Iterator[tuple[str, str]]:
    lists = {
        PREREQUISITES: _render_list(procedure.prerequisites),
        STEPS: _render_list(procedure.steps, numbered=True),
        ERRORS: _render_list([_render_error(error) for error in procedure.errors]),
        EXIT: _render_list(procedure.exit_criteria),
    }
    for heading, body in procedure.sections:
        name = _KNOWN.get(heading.casefold(), "")
        yield heading, body or lists.pop(name, "")
    yield from ((name, body) for name, body in lists.items() if body)


def _render_list(items: Sequence[str], numbered: bool = False) -> str:
    """Render a list; continuation lines of an item are indented."""
    rendered = []
    for number, item in enumerate(items, 1):
        mark = f"{number}. " if numbered else "- "
        first, *rest = item.split("\n")
        rendered += [mark + first, *(" " * len(mark) + line if line else "" for line in rest)]
    return "\n".join(rendered)


def _render_error(known: KnownError) -> str:
    error = known.error
    if ": " in error or error.startswith("**"):
        error = f"**{error.replace('**', '*')}**"
    return f"{error}: {known.fix}" if known.fix else error


# ---------------------------------------------------------------- reading


def from_skill_md(text: str) -> Procedure:
    """Parse a `SKILL.md`; InvalidInput names the wrong line."""
    lines, body = split_frontmatter(text)
    fields = read_frontmatter(lines) if lines is not None else {}
    title, intro, sections = _split_sections(body)
    bare = title.removeprefix("Skill:").strip()
    name = _read_field(fields, "name") or slugify(bare or "skill")
    procedure = Procedure(_check_name(name), _read_field(fields, "description"), title, intro)
    procedure = _fill_sections(procedure, sections)
    if not procedure.description:
        first = "; ".join(step.split("\n")[0] for step in procedure.steps[:3])
        described = f"{bare or name}: {first}" if first else bare or name
        procedure = procedure._replace(description=described[:LONGEST_DESCRIPTION])
    return _add_metadata(procedure, fields)


def _check_name(name: str) -> str:
    try:
        return check_slug(name)
    except InvalidInput as error:
        better = f"For example {slugify(name)}." if any(map(str.isalnum, name)) else ""
        raise InvalidInput(error.message, where=f"the skill's name {name!r}", hint=better) from None


def _read_field(fields: Mapping[str, YamlValue], key: str) -> str:
    value = fields.get(key, "")
    if not isinstance(value, str):
        raise InvalidInput(f"the frontmatter: {key} is one text", where=key)
    return value.strip()


def _add_metadata(procedure: Procedure, fields: Mapping[str, YamlValue]) -> Procedure:
    """Return the procedure with its counts and the other fields of the frontmatter."""
    extra = {key: value for key, value in fields.items() if key not in ("name", "description")}
    metadata = extra.get("metadata")
    if not isinstance(metadata, Mapping):
        return procedure._replace(extra=extra)
    counted = {key: int(metadata[key]) for key in _COUNTS if _is_count(metadata, key)}
    extra["metadata"] = {key: text for key, text in metadata.items() if key not in counted}
    if counted and not extra["metadata"]:
        del extra["metadata"]
    successes, failures = (counted.get(key, 0) for key in _COUNTS)
    return procedure._replace(extra=extra, successes=successes, failures=failures)


def _is_count(metadata: Mapping[str, str], key: str) -> bool:
    return re.fullmatch(r"[1-9][0-9]{0,8}", metadata.get(key, "")) is not None


def _split_sections(body: str) -> tuple[str, str, list[Section]]:
    """Split a body into its title, the text before the first section, and the sections."""
    title = ""
    chapters: list[tuple[str, list[str]]] = [("", [])]
    fence = ""
    for line in body.split("\n"):
        mark = re.match(_FENCE, line)
        if mark and not fence:
            fence = mark[1]
        elif fence:
            fence = "" if line.strip() == fence[0] * max(len(line.strip()), len(fence)) else fence
        elif line.startswith("## ") and line[3:].strip():
            chapters.append((line[3:].strip(), []))
            continue
        elif (
            line.startswith("# ")
            and not title
            and len(chapters) == 1
            and not "".join(chapters[0][1])
        ):
            title = line[2:].strip()
            continue
        chapters[-1][1].append(line)
    sections = [Section(heading, "\n".join(lines).rstrip()) for heading, lines in chapters]
    return title, sections[0].body.strip("\n"), sections[1:]


_FENCE = r"\s{0,3}(?:[-*+] |\d+[.)] )?(`{3,}|~{3,})"


def _fill_sections(procedure: Procedure, sections: Sequence[Section]) -> Procedure:
    """Return the procedure with the four sections as lists, and the others in their order."""
    lists: dict[str, tuple[str, ...]] = {}
    kept: list[Section] = []
    for section in sections:
        name = _KNOWN.get(section.heading.casefold(), "")
        items = _parse_items(section.body) if name and name not in lists else None
        if items is None:
            kept.append(section)
        else:
            lists[name] = items
            kept.append(Section(section.heading))
    usual = [Section(name) for name in SECTIONS if lists.get(name)]
    return procedure._replace(
        prerequisites=lists.get(PREREQUISITES, ()),
        steps=lists.get(STEPS, ()),
        errors=tuple(map(_parse_error, lists.get(ERRORS, ()))),
        exit_criteria=lists.get(EXIT, ()),
        sections=() if kept == usual else tuple(kept),
    )


def _parse_items(body: str) -> tuple[str, ...] | None:
    """Parse a list; None if there is other text, which would be lost."""
    items: list[list[str]] = []
    width = 0
    for line in body.strip("\n").split("\n") if body.strip() else []:
        if mark := re.match(_ITEM, line):
            if mark[1] and int(mark[1]) not in (1, len(items) + 1):
                return None
            width = mark.end()
            items.append([line[width:]])
        elif not items or (line.strip() and not line.startswith(" ")):
            return None
        else:
            items[-1].append(line[min(width, len(line) - len(line.lstrip(" "))) :])
    return tuple("\n".join(lines).rstrip() for lines in items)


_ITEM = r"(?:[-*+]|(\d{1,4})[.)])\s+(?=\S)"


def _parse_error(item: str) -> KnownError:
    """Parse `error: fix`; an error with a colon in it is in bold."""
    if bold := re.match(r"\*\*(.+?)\*\*(?:: |$)", item):
        return KnownError(bold[1], item[bold.end() :])
    error, _, fix = item.partition(": ")
    return KnownError(error, fix)


# ---------------------------------------------------------------- patterns


class PatternLink(NamedTuple):
    """A link to another record, by the id in its source file."""

    to: str = ""
    relation: str = ""
    extra: Mapping[str, Json] = {}


class Pattern(NamedTuple):
    """A rule that was found to hold: its conditions, the right and the wrong approach."""

    id: str = ""
    pattern: str = ""
    category: str = ""
    conditions: tuple[str, ...] = ()
    correct_approach: str = ""
    incorrect_approach: str = ""
    confidence: float = 0.8
    source_episodes: tuple[str, ...] = ()
    usage_count: int = 0
    last_used: int = 0
    links: tuple[PatternLink, ...] = ()
    extra: Mapping[str, Json] = {}


_LINK = json_records.RecordFormat(PatternLink, relation=json_records.choice_value(RELATIONS))
PATTERN = json_records.RecordFormat(
    Pattern,
    last_used=json_records.time_value(),
    links=json_records.records_value(_LINK, "links"),
)


def pattern_from_json(given: Json) -> Pattern:
    """Parse a pattern from a JSON object; InvalidInput names the wrong field."""
    pattern = PATTERN.load(given)
    if not pattern.pattern.strip():
        raise InvalidInput("the pattern is empty", where="pattern.pattern")
    return pattern


def pattern_from_memory(memory: Memory, linked: Iterable[PatternLink] = ()) -> Pattern:
    """Convert a memory to a pattern: as loaded, with later changes."""
    if isinstance(memory.detail.get("pattern"), str):
        given = PATTERN.load(memory.detail)
        return given._replace(
            pattern=memory.text,
            confidence=memory.confidence,
            usage_count=given.usage_count + memory.recalls,
            last_used=max(given.last_used, memory.last_recalled),
        )
    detail = memory.detail
    return Pattern(
        id=memory.id,
        pattern=memory.text,
        conditions=_texts(detail.get("conditions")),
        correct_approach=str(detail.get("correct_approach", "")),
        incorrect_approach=str(detail.get("incorrect_approach", "")),
        confidence=memory.confidence,
        source_episodes=tuple(
            dict.fromkeys(one.removeprefix(SCHEME) for one in (*memory.sources, *memory.evidence))
        ),
        usage_count=memory.recalls,
        last_used=memory.last_recalled,
        links=tuple(linked),
    )


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list | tuple) else ()
