"""What the review queue looks like: one item with its evidence, or the queue as a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...text import display
from ...types.review import ReviewAnswer, ReviewEvidence, ReviewItem
from .results import render_table

WIDEST = 100
_LABEL = 10
DONE = {
    "keep": "kept",
    "edit": "edited",
    "scope": "scoped",
    "both": "both kept",
    "hide": "hidden",
    "later": "left for later",
}


class Painter:
    """Styles text where the terminal shows colour."""

    def __init__(self, colour: bool) -> None:
        self._colour = colour

    def bold(self, text: str) -> str:
        return f"\033[1m{text}\033[0m" if self._colour else text

    def dim(self, text: str) -> str:
        return f"\033[2m{text}\033[0m" if self._colour else text


PLAIN = Painter(colour=False)


def wrap(text: str, width: int) -> list[str]:
    """Return lines of at most so many columns; long words and East Asian text are cut anywhere."""
    lines: list[str] = []
    for paragraph in display.escape_invisible(text).splitlines():
        line = ""
        for word in paragraph.split():
            while display.cell_width(word) > width:
                room = width - display.cell_width(line) - bool(line)
                cut = _fitting(word, room if room > 0 else width)
                lines.append(f"{line} {word[:cut]}".strip() if room > 0 else line)
                word, line = (word[cut:] if room > 0 else word), ""
            joined = f"{line} {word}".strip()
            if display.cell_width(joined) > width:
                lines.append(line)
                joined = word
            line = joined
        lines.append(line)
    return [line for line in lines if line]


def _fitting(word: str, room: int) -> int:
    """Return how many characters of a word fit, at least one."""
    used = 0
    for place, character in enumerate(word):
        used += display.cell_width(character)
        if used > room:
            return max(place, 1)
    return len(word)


def render_item(item: ReviewItem, width: int, paint: Painter = PLAIN) -> list[str]:
    """Return the lines of one item: what it says, why it waits, where it comes from."""
    trust = f"from {item.trust}" if item.trust != "user" else "yours"
    about = f"{item.kind}, {', '.join(item.reasons)}, {trust}, {display.format_time(item.at)[:10]}"
    lines = [paint.dim(f"{about}  {item.id}"), ""]
    lines += [f"  {paint.bold(line)}" for line in wrap(item.text, width - 2)]
    lines.append("")
    lines += _field("why", item.why, width)
    if item.scope:
        lines += _field("applies to", [", ".join(item.scope)], width)
    for one in item.against:
        said = f"{one.text} ({one.kind}, {display.format_time(one.at)[:10]}, {one.id})"
        lines += _field("against", [said], width)
    for passage in item.evidence:
        lines += _passage(passage, width, paint)
    if not item.evidence:
        lines += _field("from", ["no conversation that is kept here"], width)
    return lines


def _field(name: str, texts: Sequence[str], width: int) -> list[str]:
    lines = [line for text in texts for line in wrap(text, width - _LABEL - 2)]
    heads = [name, *[""] * (len(lines) - 1)]
    return [f"{head:<{_LABEL}}  {line}" for head, line in zip(heads, lines, strict=True)]


def _passage(passage: ReviewEvidence, width: int, paint: Painter) -> list[str]:
    who = {"user": "you", "assistant": "the agent"}.get(passage.role, passage.role or "an episode")
    lines = _field(
        "from", [f"{who}, {display.format_time(passage.at)[:10]}, {passage.address}"], width
    )
    for text, style in (
        (passage.before, paint.dim),
        (passage.quote, paint.bold),
        (passage.after, paint.dim),
    ):
        lines += [f"{'':<{_LABEL}}  > {style(line)}" for line in wrap(text, width - _LABEL - 4)]
    return lines


# ---------------------------------------------------------------- without a terminal


def render_queue(items: Sequence[ReviewItem]) -> str:
    """Return the queue as a table."""
    if not items:
        return "nothing waits for review"
    rows = ((item.id, ", ".join(item.reasons), item.kind, item.text) for item in items)
    return "\n".join(
        [
            render_table(("ID", "WAITS AS", "KIND", "TEXT"), rows),
            f"{display.format_count(len(items), 'item')}. Answer them one by one at a terminal: "
            "recollect review",
            "or one by its id: recollect review ID keep|hide",
        ]
    )


def render_answers(answers: Sequence[ReviewAnswer]) -> str:
    """Return what answers did."""
    return "\n".join(map(_answered, answers)) or "nothing waits for review"


def _answered(one: ReviewAnswer) -> str:
    text = display.format_line(one.text, 100)
    if one.error:
        return f"not answered {one.id}: {display.format_line(one.error)}"
    also = f"; hidden: {', '.join(one.hidden)}" if one.hidden else ""
    return f"{DONE[one.answer]} {one.id} ({one.status}): {text}{also}"


SCREENS: dict[str, Callable[..., str]] = {"review": render_queue, "review answer": render_answers}
