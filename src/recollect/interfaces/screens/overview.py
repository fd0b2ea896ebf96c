"""Screens of the overview: status, lessons, what agents were shown, sizes, pauses."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence

from ...fast_typing import TYPE_CHECKING
from ...text import display
from . import style

if TYPE_CHECKING:
    from ...client import Recollect
    from ...types.records import Check
    from ...types.reports import (
        LearnedCommand,
        Lessons,
        Paused,
        Seen,
        SeenItem,
        SizePart,
        Sizes,
        Status,
    )

_LABEL = 11
_PLURALS = {"policy": "policies", "architecture": "architecture"}


def format_size(number: int) -> str:
    """Return a number of bytes with its unit."""
    for unit in ("bytes", "KB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}"
        number //= 1000
    return f"{number} GB"


# ---------------------------------------------------------------- status


def _render_status(status: Status) -> str:
    lines = [style.paint("title", display.format_line(f"Memory of {status.root}"))]
    if status.paused:
        where = "in all projects" if status.paused == "all" else "in this project"
        lines.append(style.paint("warn", f"PAUSED {where}: agents are shown nothing"))
    if status.mode != "normal":
        lines.append(style.paint("warn", f"mode {status.mode}"))
    if not status.exists:
        lines.append("There is no memory of this project yet.")
    lines += ["", *_render_agents(status)]
    total = sum(status.by_kind.values())
    kinds = ", ".join(
        display.format_count(number, kind, _PLURALS.get(kind, ""))
        for kind, number in status.by_kind.items()
    )
    known = display.format_count(total, "memory", "memories")
    lines += _field("memories", f"{known}: {kinds}" if total else "none yet")
    if status.commands or status.fixes:
        learned = display.format_count(status.commands, "command")
        fixes = display.format_count(status.fixes, "fix", "fixes")
        lines += _field("learned", f"{learned} that worked, {fixes} of errors (recollect lessons)")
    if status.waiting:
        number = display.format_count(status.waiting, "item")
        waits = f"{number} {'waits' if status.waiting == 1 else 'wait'} for your answer"
        lines += _field("review", waits, "warn")
    for place, memory in enumerate(status.captures):
        when = f" ({style.ago(memory.first_seen, status.at)})"
        room = style.text_width() - _LABEL - 2 - len(when)
        told = display.format_line(memory.text, max(room, 20)) + when
        lines += _field("captured" if not place else "", told)
    messages = display.format_count(status.messages, "message")
    sessions = display.format_count(status.sessions, "conversation")
    lines += _field("archive", f"{messages} in {sessions}" if status.messages else "empty")
    for place, told in enumerate(status.background):
        lines += _field("background" if not place else "", told)
    if status.start_tokens:
        items = display.format_count(status.start_items, "item")
        price = f"{status.start_tokens} tokens, {items}, once a session"
        lines += _field("start block", price)
    else:
        lines += _field("start block", "empty: nothing is known that a session should begin with")
    lines += _field("store", status.database, "faint")
    if status.next:
        lines += ["", style.paint("title", "next"), *style.hints(*status.next)]
    lines += ["", style.paint("faint", "all commands: recollect help")]
    return "\n".join(lines)


def _render_agents(status: Status) -> list[str]:
    agents = [check for check in status.agents if check.name.startswith("agent ")]
    if not agents:
        return _field("agents", "no agent found in your home", "warn")
    lines: list[str] = []
    for names, check in _group_by_state(agents):
        name = ", ".join(names)
        state, *more = display.escape_invisible(check.detail).splitlines() or [""]
        # Seconds and durations are for `doctor`.
        state = re.sub(r"(\d)T(\d\d:\d\d):\d\d.*", r"\1 \2", state)
        if state.endswith("not used yet"):
            state += ": start a new session"
        colour = "bad" if not check.ok else "good" if state.startswith("connected") else "warn"
        lines += _field("" if lines else "agents", f"{name}: {state}", colour)
        lines += [line for text in more[:2] if not check.ok for line in _field("", f"  {text}")]
    return lines


def _group_by_state(agents: Sequence[Check]) -> list[tuple[list[str], Check]]:
    """Return the agents with the same state together, each group with one of their checks."""
    found: dict[tuple[bool, str], tuple[list[str], Check]] = {}
    for check in agents:
        names, _ = found.setdefault((check.ok, check.detail), ([], check))
        names.append(check.name.removeprefix("agent "))
    return list(found.values())


def _field(label: str, text: str, colour: str = "") -> list[str]:
    width = style.text_width() - _LABEL - 2
    lines = style.wrap(text, max(width, 20)) or [""]
    heads = [label, *[""] * (len(lines) - 1)]
    return [
        f"{style.paint('faint', head) if head else ''}{' ' * (_LABEL - len(head))}  "
        f"{style.paint(colour, line)}"
        for head, line in zip(heads, lines, strict=True)
    ]


def _render_lessons(lessons: Lessons) -> str:
    if not (lessons.commands or lessons.fixes):
        if lessons.more:
            return "a limit of 0 shows nothing: leave -n out"
        return (
            "nothing yet: in no conversation that was read an agent ran a command of the project "
            "that worked, or resolved an error. Read past ones: recollect import"
        )
    lines = []
    if lessons.commands:
        rows = (
            (one.purpose or "-", str(one.sessions), _day(one.last), _command_in(one))
            for one in lessons.commands
        )
        head = ("FOR", "SESSIONS", "LAST", "COMMAND THAT WORKED")
        lines.append(style.render_table(head, rows, styles=("", "", "", "id")))
        for one in lessons.commands:
            if one.left_out:
                told = f"not told at the start: {one.command} ({one.left_out})"
                lines += [style.paint("faint", line) for line in style.fill(told, "    ", "  ")]
        lines.append("")
    if lessons.fixes:
        lines.append(style.paint("title", "fixes, told when the error comes up again"))
    for fix in lessons.fixes:
        often = "once" if fix.sessions < 2 else f"in {fix.sessions} sessions"
        lines.append("  " + display.format_line(fix.error, style.text_width() - 2))
        lines += style.fill(f"went away {often}, {_day(fix.last)}, {fix.fix}", "      ")
    if lessons.more:
        lines.append(f"({lessons.more} more: recollect lessons -n 1000)")
    return "\n".join(lines).rstrip()


def _command_in(command: LearnedCommand) -> str:
    return f"{command.command}  ({command.folder}/)" if command.folder else command.command


def _day(at: int) -> str:
    return display.format_time(at)[:10]


# ---------------------------------------------------------------- what agents were shown

_MOMENTS = {
    "start": "at the start",
    "turn": "with a prompt",
    "command": "before a command",
    "edit": "before an edit",
    "failure": "after a failure",
}
_KEYS = "abcdefghijklmnoprstuvwxyz"
"""The keys that stop an item; q quits."""


def render_seen(seen: Seen, keys: Mapping[int, str] | None = None) -> str:
    """Return what a session was shown, by moment; `keys` are those that stop an item."""
    if not seen.items:
        return "\n".join(
            style.fill(
                "no agent was shown anything here yet. Start a new session in a connected one; "
                "`recollect init` connects more."
            )
        )
    count = display.format_count(len(seen.items), "item")
    lines = [
        style.paint("title", f"session {seen.session}"),
        f"{count} shown, {display.format_count(seen.tokens, 'token')}",
    ]
    last = ("", 0)
    for place, item in enumerate(seen.items):
        if (item.moment, item.at) != last:
            last = (item.moment, item.at)
            clock = display.format_time(item.at)[:16].replace("T", " ")
            moment = _MOMENTS.get(item.moment, item.moment)
            lines += ["", style.paint("title", moment) + style.paint("faint", f"  {clock}")]
        lines += _render_seen_item(item, (keys or {}).get(place, ""))
    if seen.others:
        more = ", ".join(seen.others[:5])
        lines += ["", *style.fill(f"other sessions with this beginning: {more}")]
    return "\n".join(lines)


def _render_seen_item(item: SeenItem, key: str) -> list[str]:
    lead = f"  {style.paint('id', key)} " if key else "    "
    mark = f" ({item.status} now)" if item.status in ("hidden", "proposed") else ""
    text = display.format_line(f"{item.kind}: {item.text}", style.text_width() - 4 - len(mark))
    about = [item.why, *([item.outcome] if item.outcome else [])]
    about += [style.short_id(item.id)] if item.id else []
    return [lead + text + style.paint("faint", mark)] + [
        style.paint("faint", line) for line in style.fill(" · ".join(about), "      ")
    ]


def converse_seen(memory: Recollect, session: str) -> bool:
    """Show what a session was shown; a key stops an item, q quits."""
    from ...maintenance.operations_overview import shorten_ids
    from . import terminal

    stopped: list[str] = []
    seen = memory.agents.seen(session)
    ids = [item.id for item in seen.items if item.id]
    style.use_page(style.page()._replace(short=shorten_ids(memory.context, ids)))
    with terminal.one_key_input() as keys:
        while True:
            offered = _offer_keys(seen)
            print(style.finish(render_seen(seen, offered)))
            if not offered:
                break
            print("\nA letter stops that item (it is hidden; recollect undo). q quits.", flush=True)
            key = keys.read_key()
            place = next((place for place, one in offered.items() if one == key), None)
            if place is None:
                break
            item = memory.memories.hide(seen.items[place].id)
            stopped.append(item.id)
            seen = memory.agents.seen(seen.session)
            print("\033[2J\033[H" if style.can_redraw(sys.stdout) else "", end="")
    if stopped:
        print(f"hidden: {', '.join(stopped)}. Undo: recollect undo")
    return True


def _offer_keys(seen: Seen) -> dict[int, str]:
    """Return a key for each memory that is still shown, once each."""
    first: dict[str, int] = {}
    for place, item in enumerate(seen.items):
        if item.id and item.status != "hidden":
            first.setdefault(item.id, place)
    return dict(zip(first.values(), _KEYS, strict=False))


# ---------------------------------------------------------------- sizes, pauses


def _render_sizes(sizes: Sizes) -> str:
    lines = [style.paint("title", display.format_line(sizes.place))]
    if sizes.is_shared:
        lines.append("The figures are those of the whole database, of all who share it.")
    if sizes.project:
        total = sum(part.bytes for part in sizes.project)
        lines += ["", style.paint("title", f"project: {format_size(total)}")]
        lines += _render_parts(sizes.project, total)
    if sizes.user:
        lines += ["", f"your own memory, across projects: {format_size(_total(sizes.user))}"]
    if not sizes.project and not sizes.user:
        return "\n".join([*lines, "nothing is stored yet"])
    lines += ["", style.paint("title", "how to reduce it")]
    for part in [part for part in sizes.project if "`" in part.less][:4]:
        lines += style.fill(f"{part.name}: {part.less}", "    ", "  ")
    return "\n".join(lines)


def _total(parts: Sequence[SizePart]) -> int:
    return sum(part.bytes for part in parts)


_LONGEST_BAR = 16


def _render_parts(parts: Sequence[SizePart], total: int) -> list[str]:
    widest = max(part.bytes for part in parts)
    is_wide = style.text_width() >= 96
    lines = []
    for part in parts:
        bar = "█" * max(round(_LONGEST_BAR * part.bytes / max(widest, 1)), 1)
        share = f"{100 * part.bytes / max(total, 1):3.0f} %"
        gap = " " * (_LONGEST_BAR - len(bar) + 2)
        holds = gap + style.paint("faint", part.holds) if is_wide else ""
        size = format_size(part.bytes)
        lines.append(f"  {part.name:<18} {size:>9} {share}  {style.paint('id', bar)}{holds}")
    return lines


def _render_paused(done: Paused) -> str:
    where = "all projects" if done.scope == "all" else "this project"
    end = "recollect resume --all" if done.scope == "all" else "recollect resume"
    if done.paused:
        state = "paused" if done.changed else "already paused"
        return f"{state} for {where}: agents are shown nothing, and nothing is saved. End: {end}"
    if not done.changed:
        state = f"{where} was not paused"
    else:
        state = f"resumed for {where}: the hooks work again"
    if done.still == "all":
        return f"{state}\nstill paused for all projects. End: recollect resume --all"
    if done.still:
        return f"{state}\nstill paused for this project. End: recollect resume"
    return state


SCREENS: dict[str, Callable[..., str]] = {
    "status": _render_status,
    "lessons": _render_lessons,
    "seen": render_seen,
    "sizes": _render_sizes,
    "pause": _render_paused,
    "resume": _render_paused,
    "stats plot": lambda done: f"wrote {done.path}",
    "eval plot": lambda done: f"wrote {done.path}",
}
