"""Convert procedures from and to `SKILL.md`.

Written by the Agent Skills convention (frontmatter with name and description, then Markdown), and
read with or without it. Four sections are parsed; all others are kept as they are, in their order.
The counts of a procedure are stored in the frontmatter's `metadata`; the caller decides whether to
trust them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..errors import InvalidInput
from ..text.addresses import check_slug, slugify
from ..text.frontmatter import YamlValue, read_frontmatter, split_frontmatter, write_frontmatter

LONGEST_DESCRIPTION, LONGEST_COMPATIBILITY = 1024, 500
CONVENTION = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")

PREREQUISITES, STEPS = "Prerequisites", "Steps"
ERRORS, EXIT = "Common Errors & Fixes", "Exit Criteria"
SECTIONS = (PREREQUISITES, STEPS, ERRORS, EXIT)

_KNOWN = {
    "prerequisites": PREREQUISITES,
    "steps": STEPS,
    "common errors & fixes": ERRORS,
    "common errors and fixes": ERRORS,
    "exit criteria": EXIT,
}
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
    errors = []
    for words in parts.get("errors", ()):
        error, _, fix = words.partition(": ")
        errors.append(KnownError(error.strip(), fix.strip()))
    return Procedure(
        name=name,
        description=description,
        prerequisites=tuple(parts.get("prerequisites", ())),
        steps=tuple(parts.get("steps", ())),
        errors=tuple(errors),
        exit_criteria=tuple(parts.get("exit_criteria", ())),
    )


def replace_parts(
    held: Procedure, description: str, parts: Mapping[str, Sequence[str]]
) -> Procedure:
    """Return the procedure with the given parts replaced."""
    given = {field: words for field, words in parts.items() if words}
    new = build_procedure(held.name, description or held.description, given)
    fields = {field: getattr(new, field) for field in given}
    return held._replace(description=new.description, **fields)


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
    if procedure.title:
        parts.append(f"# {procedure.title}")
    if procedure.intro:
        parts.append(procedure.intro)
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
        PREREQUISITES: _render_bullets(procedure.prerequisites),
        STEPS: _render_numbers(procedure.steps),
        ERRORS: _render_bullets([_render_error(error) for error in procedure.errors]),
        EXIT: _render_bullets(procedure.exit_criteria),
    }
    for heading, body in procedure.sections:
        name = _KNOWN.get(heading.casefold(), "")
        yield heading, body or lists.pop(name, "")
    yield from ((name, body) for name, body in lists.items() if body)


def _render_bullets(items: Sequence[str]) -> str:
    return "\n".join(f"- {_indent_rest(item, 2)}" for item in items)


def _render_numbers(items: Sequence[str]) -> str:
    marks = (f"{number}. " for number in range(1, len(items) + 1))
    return "\n".join(
        mark + _indent_rest(item, len(mark)) for mark, item in zip(marks, items, strict=True)
    )


def _indent_rest(item: str, width: int) -> str:
    """Indent the continuation lines of a list item."""
    first, *rest = item.split("\n")
    return "\n".join([first, *(" " * width + line if line else "" for line in rest)])


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
    rest = dict(metadata)
    successes, failures = (_pop_count(rest, key) for key in _COUNTS)
    extra["metadata"] = rest
    if not rest and metadata:
        del extra["metadata"]
    return procedure._replace(extra=extra, successes=successes, failures=failures)


def _pop_count(metadata: dict[str, str], key: str) -> int:
    """Pop a count from the metadata; a missing one is 0."""
    written = metadata.get(key, "")
    return int(metadata.pop(key)) if re.fullmatch(r"[1-9][0-9]{0,8}", written) else 0


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
