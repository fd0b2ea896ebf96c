"""Screens of the review queue: one item with its evidence, or the queue as a table."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from ...text import display
from ...types.reports import ReviewAnswer, ReviewEvidence, ReviewItem
from . import style
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
    if item.trust != "user" and any(one.role == "user" for one in item.evidence):
        trust = "from your message"
    about = f"{item.kind}, {', '.join(item.reasons)}, {trust}, {display.format_time(item.at)[:10]}"
    lines = [paint("faint", line) for line in wrap(f"{about}  {item.id}", width)] + [""]
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
    place = style.shorten_place(passage.address.removeprefix("memory://"))
    lines = _field("from", [f"{who}, {display.format_time(passage.at)[:10]}, {place}"], width)
    for text, look in (
        (passage.before, "faint"),
        (passage.quote, "title"),
        (passage.after, "faint"),
    ):
        lines += [
            f"{'':<{_LABEL}}  > {paint(look, line)}" for line in wrap(text, width - _LABEL - 4)
        ]
    return lines


# ---------------------------------------------------------------- instruction files

RULE_FILES = ("AGENTS.md", "CLAUDE.md")
"""The files that a kept rule can be written into; agents load them by themselves."""
_HEADING = "## Rules"


def find_rule_files(top: str) -> list[str]:
    """Return the paths of the instruction files of a project; the first name if there is none."""
    paths = [os.path.join(top, name) for name in RULE_FILES]
    found = [path for path in paths if os.path.isfile(path) and not os.path.islink(path)]
    return found or paths[:1]


def read_rule_file(path: str) -> str:
    """Return the text of an instruction file; empty without one."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def add_rule(text: str, rule: str) -> str:
    """Return the text of an instruction file with a rule at the end of its section of rules."""
    lines = text.rstrip("\n").split("\n") if text.strip() else []
    entry = f"- {display.format_line(rule)}"
    if entry in lines:
        return text
    if _HEADING not in lines:
        return "\n".join([*lines, *([""] if lines else []), _HEADING, "", entry, ""])
    start = lines.index(_HEADING)
    after = [at for at, line in enumerate(lines) if at > start and line.startswith("#")]
    end = after[0] if after else len(lines)
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    gap = [""] if end == start + 1 else []
    return "\n".join([*lines[:end], *gap, entry, *lines[end:], ""])


# ---------------------------------------------------------------- without a terminal


def render_queue(items: Sequence[ReviewItem]) -> str:
    """Return the queue as a table."""
    if not items:
        return style.render_none("nothing waits for review", "item")
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
    """Return the result of each answer."""
    return "\n".join(map(_answered, answers)) or "nothing waits for review"


def _answered(one: ReviewAnswer) -> str:
    text = display.format_line(one.text, 100)
    if one.error:
        return f"not answered {one.id}: {display.format_line(one.error)}"
    also = f"; hidden: {', '.join(one.hidden)}" if one.hidden else ""
    return f"{DONE[one.answer]} {one.id} ({one.status}): {text}{also}"


SCREENS: dict[str, Callable[..., str]] = {"review": render_queue, "review answer": render_answers}
