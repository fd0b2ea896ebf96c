"""What the review queue looks like: one item with its evidence, or the queue as a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...text import display
from ...types.review import ReviewAnswer, ReviewEvidence, ReviewItem
from .style import paint, render_table, wrap

_LABEL = 10
DONE = {
    "keep": "kept",
    "edit": "edited",
    "scope": "scoped",
    "both": "both kept",
    "hide": "hidden",
    "later": "left for later",
}


def render_item(item: ReviewItem, width: int) -> list[str]:
    """Return the lines of one item: what it says, why it waits, where it comes from."""
    trust = f"from {item.trust}" if item.trust != "user" else "yours"
    about = f"{item.kind}, {', '.join(item.reasons)}, {trust}, {display.format_time(item.at)[:10]}"
    lines = [paint("faint", f"{about}  {item.id}"), ""]
    lines += ["  " + paint("title", line) for line in wrap(item.text, width - 2)]
    lines.append("")
    lines += _field("why", item.why, width)
    if item.scope:
        lines += _field("applies to", [", ".join(item.scope)], width)
    for one in item.against:
        said = f"{one.text} ({one.kind}, {display.format_time(one.at)[:10]}, {one.id})"
        lines += _field("against", [said], width)
    for passage in item.evidence:
        lines += _passage(passage, width)
    if not item.evidence:
        lines += _field("from", ["no conversation that is kept here"], width)
    return lines


def _field(name: str, texts: Sequence[str], width: int) -> list[str]:
    lines = [line for text in texts for line in wrap(text, width - _LABEL - 2)]
    heads = [name, *[""] * (len(lines) - 1)]
    return [f"{head:<{_LABEL}}  {line}" for head, line in zip(heads, lines, strict=True)]


def _passage(passage: ReviewEvidence, width: int) -> list[str]:
    who = {"user": "you", "assistant": "the agent"}.get(passage.role, passage.role or "an episode")
    lines = _field(
        "from", [f"{who}, {display.format_time(passage.at)[:10]}, {passage.address}"], width
    )
    for text, style in (
        (passage.before, "faint"),
        (passage.quote, "title"),
        (passage.after, "faint"),
    ):
        lines += [
            f"{'':<{_LABEL}}  > {paint(style, line)}" for line in wrap(text, width - _LABEL - 4)
        ]
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
