"""Render CONTINUITY.md, and parse its hand-written parts.

The page refers to memories by id and never repeats them; lines that a person added stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from ..text.display import quote_data

LONGEST_TITLE = 120


@cache
def bullet_pattern() -> re.Pattern[str]:
    return re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")


class HandWritten(NamedTuple):
    """The hand-written parts of CONTINUITY.md: the current work, lines without an id in the two
    lists, and additional sections."""

    doing: str = ""
    relevant: tuple[str, ...] = ()
    avoid: tuple[str, ...] = ()
    more: tuple[str, ...] = ()


NOW, RELEVANT = "Right now", "Relevant Memories (Auto-Retrieved)"
AVOID = "Mistakes to Avoid (From Learnings)"


def parse_continuity(text: str) -> HandWritten:
    """Parse the hand-written parts of CONTINUITY.md; lines with an id are generated again."""
    doing, more = "", []
    lists: dict[str, list[str]] = {RELEVANT: [], AVOID: []}
    for part in re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]:
        heading, _, body = part[3:].partition("\n")
        lines = [line.strip() for line in body.splitlines() if line.strip()]
        if heading.strip() == NOW:
            doing = " ".join(lines).removeprefix("nothing")
        elif heading.strip() in lists:
            own = (bullet_pattern().sub("", line) for line in lines)
            lists[heading.strip()] += [line for line in own if not line.startswith("[")]
        else:
            more.append(part.strip())
    return HandWritten(doing, tuple(lists[RELEVANT]), tuple(lists[AVOID]), tuple(more))


class Reference(NamedTuple):
    """A record by its id and title; `by` is its author if not the user: such a title is quoted."""

    id: str
    title: str
    by: str = ""


def render_continuity(
    doing: str,
    relevant: Iterable[Reference] = (),
    avoid: Iterable[Reference] = (),
    by_hand: HandWritten = HandWritten(),  # noqa: B008 - it cannot change
) -> str:
    """Render CONTINUITY.md: the current work, and relevant records by id, each once."""
    mistakes = {one.id: one for one in avoid}
    memories = {one.id: one for one in relevant if one.id not in mistakes}
    parts = [f"# Continuity\n\n## {NOW}\n{' '.join(doing.split()) or 'nothing'}"]
    for heading, listed, own in (
        (RELEVANT, memories, by_hand.relevant),
        (AVOID, mistakes, by_hand.avoid),
    ):
        lines = [f"- [{one.id}] {_render_reference(one)}".rstrip() for one in listed.values()]
        lines += [f"- {line}" for line in own]
        if lines:
            parts.append("\n".join((f"## {heading}", *lines)))
    return "\n\n".join((*parts, *by_hand.more)) + "\n"


def _render_reference(one: Reference) -> str:
    title = " ".join(one.title.split())
    title = title if len(title) <= LONGEST_TITLE else title[: LONGEST_TITLE - 1].rstrip() + "…"
    return f"by {one.by}: {quote_data(title)}" if one.by else title


def find_references(text: str) -> tuple[str, ...]:
    """Return the ids that a CONTINUITY.md refers to."""
    found = re.findall(r"^- \[([^\]\n]+)\]", text, re.MULTILINE)
    return tuple(dict.fromkeys(found))
