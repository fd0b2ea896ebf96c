"""Parse the hand-written parts of CONTINUITY.md; `work.notes` renders the page."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple


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
