"""Continuity."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple


@cache
def bullet_pattern() -> re.Pattern[str]:
    return re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")


class HandWritten(NamedTuple):
    """What a person wrote into CONTINUITY.md: what is going on, lines without an id in the two
    lists, and sections of their own."""

    doing: str = ""
    relevant: tuple[str, ...] = ()
    avoid: tuple[str, ...] = ()
    more: tuple[str, ...] = ()


NOW, RELEVANT = "Right now", "Relevant Memories (Auto-Retrieved)"


AVOID = "Mistakes to Avoid (From Learnings)"


def parse_continuity(text: str) -> HandWritten:
    """What a person wrote into CONTINUITY.md; lines with an id are ours and are found anew."""
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
