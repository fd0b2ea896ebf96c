"""What a person typed into Codex. Its extension for editors and its desktop program put before it
what is open, selected and attached."""

from __future__ import annotations

_ASKED = "## My request for Codex:"


def parted(text: str) -> tuple[str, str]:
    """What was typed, and what the program put before it. The last mark counts: what is selected
    or attached may hold one too."""
    added, mark, typed = text.rpartition(_ASKED)
    starts_a_line = not added or added.endswith("\n")
    return (typed.strip(), added.strip()) if mark and starts_a_line else (text, "")
