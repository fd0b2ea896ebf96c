"""Work that no tool call tells of: what an agent's own program wrote down beside the talk.

Aider edits files and commits without calling tools; its notices ("Applied edit to …") stand in
the session as messages of the host. It reads those and nothing else.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from ..text.messages import Placed, said


class Notice(NamedTuple):
    """An edit (of `text`), a failed edit, a commit (its hash), or tokens that were spent."""

    seq: int
    kind: str
    text: str
    tokens: int = 0


@cache
def _notice() -> re.Pattern[str]:
    return re.compile(
        r"^Applied edit to (?P<edit>.+)$|^Commit (?P<commit>[0-9a-f]{7,40}) "
        r"|^(?P<failed>The LLM did not conform to the edit format\..*"
        r"|\d+ SEARCH/REPLACE blocks? failed to match.*)$"
        r"|^Tokens: (?P<sent>[\d.]+k?) sent.* (?P<received>[\d.]+k?) received",
        re.MULTILINE,
    )


def notices(placed: Placed) -> list[Notice]:
    """What the notices in a message of the host tell."""
    if placed.message.role != "system" or placed.message.name != "host":
        return []
    found = []
    for match in _notice().finditer(said(placed.message)):
        if match["sent"]:
            spent = _count(match["sent"]) + _count(match["received"])
            found.append(Notice(placed.seq, "tokens", "", spent))
        else:
            kind = match.lastgroup or ""
            text = match[kind].strip()
            found.append(Notice(placed.seq, kind, text.replace("\\", "/")))
    return found


def _count(written: str) -> int:
    return round(float(written.rstrip("k")) * (1_000 if written.endswith("k") else 1))
