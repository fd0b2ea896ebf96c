"""The summary of autonomous memory at the start of a session, as far as it fits.

`autonomous` writes it into the store with the names of what each line says; the start block leaves
these out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..fast_typing import NamedTuple
from ..text.tokens import count_tokens
from ..types.records import Json

ADDRESS = "memory://root"
REASON = "memory_summary.md says it"


class InjectedSummary(NamedTuple):
    """The block, and the names under which the start block would show the same."""

    text: str = ""
    refs: frozenset[str] = frozenset()
    tokens: int = 0


NO_SUMMARY = InjectedSummary()


def fit_summary(
    fields: Mapping[str, Json],
    limit: int,
    is_said: Callable[[str], str],
    wrap: Callable[[str, str], str],
) -> InjectedSummary:
    """Return the summary as a block within a limit of tokens. A line that `is_said` finds in an
    instruction file is left out; a heading without lines too. `wrap` makes a block of a text."""
    frame = [str(fields["head"]), str(fields["tail"])]
    used = count_tokens(wrap("memory_summary", "\n".join(frame)))
    refs: set[str] = set()
    kept: list[str] = []
    heading = ""
    for line, names in fields["lines"]:
        if line.endswith(":") and not line.startswith(("-", ">")):
            heading = str(line)
            continue
        if is_said(_bare(line)):
            continue
        lines = [heading, line] if heading else [line]
        price = count_tokens("\n".join(lines) + "\n")
        if used + price <= limit:
            kept += lines
            used += price
            heading = ""
            refs.update(map(str, names))
    if not kept:
        return NO_SUMMARY
    text = wrap("memory_summary", "\n".join(filter(None, (frame[0], *kept, frame[1]))))
    return InjectedSummary(text, frozenset(refs), used)


def _bare(line: str) -> str:
    """Return a line without its bullet and id."""
    text = line.removeprefix("- ")
    return text.partition("] ")[2] if text.startswith("[") else text
