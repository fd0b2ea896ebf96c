"""Screens of the overview: status, lessons, what agents were shown, sizes, pauses."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence

import recollect

from ...fast_typing import TYPE_CHECKING
from ...text.display import escape_invisible, format_count, format_line
from . import style
from .style import lines, paint

if TYPE_CHECKING:
    from ...types.reports import LearnedCommand

_LABEL = 11
_PLURALS = {"policy": "policies", "architecture": "architecture"}


# ---------------------------------------------------------------- status


def _render_status(status: recollect.Status) -> str:
    where = "in all projects" if status.paused == "all" else "in this project"
    kinds = ", ".join(
        format_count(number, kind, _PLURALS.get(kind, ""))
        for kind, number in status.by_kind.items()
    )
    known = format_count(sum(status.by_kind.values()), "memory", "memories")
    learned = f"{format_count(status.commands, 'command')} that worked, "
    learned += f"{format_count(status.fixes, 'fix', 'fixes')} of errors (recollect lessons)"
    waits = format_count(status.waiting, "item waits", "items wait") + " for your answer"
    captures = [_describe_capture(memory, status.at) for memory in status.captures]
    archive = f"{format_count(status.messages, 'message')} in "
    archive += format_count(status.sessions, "conversation")
    items = format_count(status.start_items, "item")
    start = f"{status.start_tokens} tokens, {items}, once a session"
    if status.start_left_out:
        start += f"; {status.start_left_out} did not fit (recollect briefing --explain)"
    nothing = "empty: nothing is known that a session should begin with"
    return lines(
        paint("title", format_line(f"Memory of {status.root}")),
        paint("warn", f"PAUSED {where}: agents are shown nothing") if status.paused else "",
        paint("warn", f"mode {status.mode}") if status.mode != "normal" else "",
        "" if status.exists else "There is no memory of this project yet.",
        [""],
        _render_agents(status),
        _field("memories", [f"{known}: {kinds}" if kinds else "none yet"]),
        _field("learned", [learned] if status.commands or status.fixes else []),
        _field("review", [waits] if status.waiting else [], "warn"),
        _field("captured", captures),
        _field("archive", [archive if status.messages else "empty"]),
        _field("background", status.background),
        _field("start block", [start if status.start_tokens else nothing]),
        _field("store", [status.database], "faint"),
        ["", paint("title", "next"), *style.hints(*status.next)] if status.next else "",
        ["", paint("faint", "all commands: recollect help")],
    )


def _describe_capture(memory: recollect.Memory, now: int) -> str:
    when = f" ({_ago(memory.first_seen, now)})"
    room = style.text_width() - _LABEL - 2 - len(when)
    return format_line(memory.text, max(room, 20)) + when


def _ago(at: int, now: int) -> str:
    """Return how long ago a time was, in words; the day when that was more than a month ago."""
    seconds = max(now - at, 0) // 1_000_000
    if seconds >= 31 * 86_400:
        return style.day(at)
    for size, noun in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{format_count(seconds // size, noun)} ago"
    return "just now"


def _render_agents(status: recollect.Status) -> list[str]:
    agents = [check for check in status.agents if check.name.startswith("agent ")]
    if not agents:
        return _field("agents", ["no agent found in your home"], "warn")
    groups: dict[tuple[bool, str], list[str]] = {}
    for check in agents:
        groups.setdefault((check.ok, check.detail), []).append(check.name.removeprefix("agent "))
    found: list[str] = []
    for (is_ok, detail), names in groups.items():
        state, *more = escape_invisible(detail).splitlines() or [""]
        # Seconds and durations are for `doctor`.
        state = re.sub(r"(\d)T(\d\d:\d\d):\d\d.*", r"\1 \2", state)
        if state.endswith("not used yet"):
            state += ": start a new session"
        colour = "bad" if not is_ok else "good" if state.startswith("connected") else "warn"
        found += _field("" if found else "agents", [f"{', '.join(names)}: {state}"], colour)
        found += [] if is_ok else _field("", [f"  {text}" for text in more[:2]])
    return found


def _field(label: str, texts: Sequence[str], colour: str = "") -> list[str]:
    """Return texts behind a label, wrapped; nothing without a text."""
    width = max(style.text_width() - _LABEL - 2, 20)
    wrapped = [line for text in texts for line in style.wrap(text, width) or [""]]
    heads = [label, *[""] * len(wrapped)]
    return [
        f"{paint('faint', head)}{' ' * (_LABEL - len(head))}  {paint(colour, line)}"
        for head, line in zip(heads, wrapped, strict=False)
    ]


def _render_lessons(lessons: recollect.Lessons) -> str:
    if not (lessons.commands or lessons.fixes):
        if lessons.more:
            return "a limit of 0 shows nothing: leave -n out"
        if lessons.untrusted:
            number = format_count(lessons.untrusted, "conversation")
            return (
                f"nothing yet. {number} imported from outside an agent's own folder: commands and "
                "fixes are not learned from untrusted files.\n"
                "Copy your transcripts to the agent's own folder before you import them. "
                "Statements in untrusted files: recollect review --reason quarantined"
            )
        if lessons.unfinished:
            unfinished = format_count(lessons.unfinished, "conversation")
            return (
                f"nothing yet. {unfinished} may still be going on: commands and fixes are learned "
                "when a conversation ends or is silent for an hour."
            )
        return (
            "nothing yet: no agent has run a command of the project that worked, or resolved an "
            "error, in a conversation that was read. Read past ones: recollect import"
        )
    rows = [
        (one.purpose or "-", str(one.sessions), style.day(one.last), _command_in(one))
        for one in lessons.commands
    ]
    heads = ("FOR", "SESSIONS", "LAST", "COMMAND THAT WORKED")
    table = style.render_table(heads, rows, styles=("", "", "", "id")) if rows else ""
    not_shown = [
        paint("faint", line)
        for one in lessons.commands
        if one.left_out
        for line in style.fill(
            f"not in the start block: {one.command} ({one.left_out})", "    ", "  "
        )
    ]
    fixes: list[str] = []
    for fix in lessons.fixes:
        often = "once" if fix.sessions < 2 else f"in {fix.sessions} sessions"
        fixes.append("  " + format_line(fix.error, style.text_width() - 2))
        named = f" ({fix.id})" if fix.id else ""
        summary = f"went away {often}, {style.day(fix.last)}, {fix.fix}{named}"
        fixes += style.fill(summary, "      ")
    title = paint("title", "fixes, shown when the error occurs again")
    example = f"command:{lessons.commands[0].command}" if rows else lessons.fixes[0].id
    return lines(
        [table, *not_shown, ""] if rows else "",
        [title, *fixes] if fixes else "",
        paint("faint", f"a wrong one: recollect hide '{example}'"),
        f"({lessons.more} more: recollect lessons -n 1000)" if lessons.more else "",
    ).rstrip()


def _command_in(command: LearnedCommand) -> str:
    """Return a command with the folder that it was run in and the argument that it was given."""
    places = [f"in {command.folder}/"] if command.folder else []
    if command.below:
        command = command._replace(command=f"{command.command} ./{command.below}/…")
    elif command.with_argument:
        places.append("with an argument")
    return f"{command.command}  ({', '.join(places)})" if places else command.command


# ---------------------------------------------------------------- what agents were shown

_MOMENTS = {
    "start": "at the start",
    "turn": "with a prompt",
    "command": "before a command",
    "edit": "before an edit",
    "failure": "after a failure",
}
_KEYS = "abcdefghijklmnoprstuvwxyz"
"""The keys that hide an item; q quits."""


def render_seen(seen: recollect.Seen, keys: Mapping[int, str] | None = None) -> str:
    """Return what a session was shown, by moment; `keys` are those that hide an item."""
    if not seen.items:
        return lines(
            style.fill(
                "no agent was shown anything here yet. Start a new session in a connected one; "
                "`recollect init` connects more."
            )
        )
    shown: list[str] = []
    last = ("", 0)
    for place, item in enumerate(seen.items):
        if (item.moment, item.at) != last:
            last = (item.moment, item.at)
            moment = paint("title", _MOMENTS.get(item.moment, item.moment))
            shown += ["", moment + paint("faint", f"  {style.clock(item.at)}")]
        shown += _render_seen_item(item, (keys or {}).get(place, ""))
    others = style.fill(f"other sessions with this beginning: {', '.join(seen.others[:5])}")
    return lines(
        paint("title", f"session {seen.session}"),
        f"{format_count(len(seen.items), 'item')} shown, {format_count(seen.tokens, 'token')}",
        shown,
        ["", *others] if seen.others else "",
    )


def _render_seen_item(item: recollect.SeenItem, key: str) -> list[str]:
    lead = f"  {paint('id', key)} " if key else "    "
    mark = f" ({item.status} now)" if item.status in ("hidden", "proposed") else ""
    text = format_line(f"{item.kind}: {item.text}", style.text_width() - 4 - len(mark))
    about = [item.why, *([item.outcome] if item.outcome else [])]
    about += [style.short_id(item.id)] if item.id.startswith("m-") else []
    return [lead + text + paint("faint", mark)] + [
        paint("faint", line) for line in style.fill(" · ".join(about), "      ")
    ]


def converse_seen(memory: recollect.Recollect, session: str) -> bool:
    """Show what a session was shown; a key hides an item, q quits."""
    from ...maintenance.operations_overview import shorten_ids
    from . import terminal

    hidden: list[str] = []
    seen = memory.agents.seen(session)
    ids = [item.id for item in seen.items if item.id.startswith("m-")]
    style.use_page(style.page()._replace(short=shorten_ids(memory.context, ids)))
    with terminal.one_key_input() as keys:
        while True:
            offered = _offer_keys(seen)
            print(style.finish(render_seen(seen, offered)))
            if not offered:
                break
            print("\nA letter hides that item (undo: recollect undo). q quits.", flush=True)
            key = keys.read_key()
            place = next((place for place, one in offered.items() if one == key), None)
            if place is None:
                break
            item = memory.memories.hide(seen.items[place].id)
            hidden.append(item.id)
            seen = memory.agents.seen(seen.session)
            print("\033[2J\033[H" if style.can_redraw(sys.stdout) else "", end="")
    if hidden:
        print(f"hidden: {', '.join(hidden)}. Undo: recollect undo")
    return True


def _offer_keys(seen: recollect.Seen) -> dict[int, str]:
    """Return a key for each memory that is still shown, once each."""
    first: dict[str, int] = {}
    for place, item in enumerate(seen.items):
        if item.id and item.status != "hidden":
            first.setdefault(item.id, place)
    return dict(zip(first.values(), _KEYS, strict=False))


# ---------------------------------------------------------------- sizes, pauses


def _render_sizes(sizes: recollect.Sizes) -> str:
    shared = "These figures are for the whole database, with all its members."
    head = [paint("title", format_line(sizes.place)), *([shared] if sizes.is_shared else [])]
    if not (sizes.project or sizes.user):
        return lines(head, "nothing is stored yet")
    project, user = (sum(part.bytes for part in parts) for parts in (sizes.project, sizes.user))
    own = f"your own memory, across projects: {style.format_size(user)}"
    title = paint("title", f"project: {style.format_size(project)}")
    reducible = [part for part in sizes.project if "`" in part.less][:4]
    return lines(
        head,
        ["", title, *_render_parts(sizes.project, project)] if sizes.project else "",
        ["", own] if sizes.user else "",
        ["", paint("title", "how to reduce it")],
        *(style.fill(f"{part.name}: {part.less}", "    ", "  ") for part in reducible),
    )


_LONGEST_BAR = 16


def _render_parts(parts: Sequence[recollect.SizePart], total: int) -> list[str]:
    widest = max(part.bytes for part in parts)
    is_wide = style.text_width() >= 96
    lines = []
    for part in parts:
        bar = "█" * max(round(_LONGEST_BAR * part.bytes / max(widest, 1)), 1)
        share = f"{100 * part.bytes / max(total, 1):3.0f} %"
        gap = " " * (_LONGEST_BAR - len(bar) + 2)
        holds = gap + paint("faint", part.holds) if is_wide else ""
        size = style.format_size(part.bytes)
        lines.append(f"  {part.name:<18} {size:>9} {share}  {paint('id', bar)}{holds}")
    return lines


def _render_paused(done: recollect.Paused) -> str:
    where, end = _PAUSES[done.scope]
    if done.paused:
        state = "paused" if done.changed else "already paused"
        return f"{state} for {where}: agents are shown nothing, and nothing is saved. End: {end}"
    if not done.changed:
        state = f"{where} was not paused"
    else:
        state = f"resumed for {where}: the hooks work again"
    where, end = _PAUSES.get(done.still, ("", ""))
    return lines(state, f"still paused for {where}. End: {end}" if where else "")


_PAUSES = {
    "all": ("all projects", "recollect resume --all"),
    "project": ("this project", "recollect resume"),
}
"""The projects that a pause of this scope covers, and the command that ends it."""


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
