"""How values look outside: as JSON for programs, as text that is safe on a terminal.

Stored text is data: control sequences, direction overrides and invisible characters are shown,
never obeyed. It does not know commands or colours.
"""

from __future__ import annotations

import re
from typing import Any

from ..types import FOREVER

TIMES = frozenset(
    {
        "at",
        "created",
        "last_active",
        "first_seen",
        "last_confirmed",
        "last_reinforced",
        "last_recalled",
        "valid_from",
        "valid_to",
        "updated",
        "since",
        "until",
    }
)
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)


def visible(text: str) -> str:
    """The text with everything that could steer a terminal or hide from the eye made visible."""
    return _HIDDEN.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", text.replace("\r\n", "\n"))


def one_line(text: str, width: int = 0) -> str:
    """The text on one line, cut with an ellipsis when it is wider than `width`."""
    line = visible(" ".join(text.split()))
    return line if not width or len(line) <= width else line[: max(width - 1, 1)] + "…"


def moment(us: int) -> str:
    """A time as people and programs read it; empty for never and for still."""
    if us <= 0 or us >= FOREVER:
        return ""
    from datetime import UTC, datetime

    found = datetime.fromtimestamp(us // 1_000_000, UTC)
    fraction = f".{us % 1_000_000:06d}" if us % 1_000_000 else ""
    return f"{found:%Y-%m-%dT%H:%M:%S}{fraction}Z"


def plain(value: Any, name: str = "") -> Any:
    """The value as plain JSON: nouns become objects, their times ISO texts."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        found = {field: plain(item, field) for field, item in zip(value._fields, value, strict=True)}
        if "address" not in found and hasattr(value, "address"):
            found["address"] = value.address
        return found
    if isinstance(value, dict):
        return {str(key): plain(item, str(key)) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        listed = [plain(item) for item in value]
        more = getattr(value, "__dict__", None)
        return {"hits": listed, **{key: plain(item) for key, item in more.items()}} if more else listed
    if name in TIMES and isinstance(value, int) and not isinstance(value, bool):
        return moment(value) or None
    return value
