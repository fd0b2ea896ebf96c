"""Results as text for people: one function an operation, plain lines that can be piped."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence

from ...fast_typing import Any
from ...text import display
from ...types.records import Document, Hit, Learned, Memory, Recalled, Recorded, Session, Stored


def terminal_width() -> int:
    """How many columns the terminal has; 100 when there is none."""
    try:
        return os.get_terminal_size().columns or 100
    except OSError:
        return 100


def can_redraw(stream: Any) -> bool:
    """Whether a person looks at it, at a terminal where lines can be written over."""
    return bool(stream and stream.isatty() and os.environ.get("TERM") != "dumb")


def wants_colour(stream: Any) -> bool:
    """Whether colour is wanted there: `NO_COLOR` says that it is not."""
    return can_redraw(stream) and not os.environ.get("NO_COLOR")


def show(command: str, result: Any) -> str:
    """The result of a command as text."""
    shown = _OWN_SCREENS.get(command)
    if shown is None and command.startswith("session "):
        from .sessions import SCREENS

        shown = SCREENS[command]
    if shown is None:
        from . import memories as screens_memories

        shown = screens_memories.SCREENS.get(command)
    if shown is None:
        from . import work

        shown = work.SCREENS[command]
    return display.escape_invisible(shown(result))


def render_table(heads: Sequence[str], rows: Iterable[Sequence[str]], whole: bool = False) -> str:
    """Aligned columns; the last one is cut to the terminal's width, and whole in a pipe or where it
    is what is asked for."""
    cells = [list(heads), *([display.format_line(cell) for cell in row] for row in rows)]
    widths = [
        max(map(display.cell_width, column)) for column in list(zip(*cells, strict=True))[:-1]
    ]
    cut = sys.stdout.isatty() and not whole
    room = max(terminal_width() - sum(widths) - 2 * len(widths), 30) if cut else 0
    lines = []
    for row in cells:
        start = "".join(
            cell + " " * (width - display.cell_width(cell) + 2)
            for cell, width in zip(row, widths, strict=False)
        )
        lines.append((start + display.format_line(row[-1], room)).rstrip())
    return "\n".join(lines)


def render_learned(learned: Learned) -> str:
    memory = learned.memory
    lines = [f"{learned.action} {learned.id} ({memory.kind}, {memory.layer}, {memory.status})"]
    lines += [f"  {note}" for note in learned.notes]
    lines += _redacted(learned.redacted)
    if memory.reinforcement > 1:
        lines.append(f"  reinforced {display.format_count(memory.reinforcement, 'time')}")
    return "\n".join(lines)


def _redacted(types: Sequence[str]) -> list[str]:
    """Which types of secrets were taken out, each named once."""
    return [f"  redacted before it was kept: {', '.join(dict.fromkeys(types))}"] if types else []


def _recalled(recalled: Recalled) -> str:
    if not recalled:
        return "\n".join(["nothing found", *recalled.notes])
    lines = [render_hit(hit) for hit in recalled]
    if recalled.left_out:
        lines.append(f"({recalled.left_out} more; {recalled.tokens} tokens shown)")
    return "\n".join([*lines, *(f"({note})" for note in recalled.notes)])


def render_hit(hit: Hit) -> str:
    """One hit: what it says, and where it is from."""
    origin = f"{hit.role}, " if hit.role else ""
    mark = "" if hit.status == "active" else f", {hit.status}"
    mark += "" if hit.role or hit.trust in ("user", "system") else f", by {hit.trust}"
    mark += f", {display.format_line(hit.freshness)}" if hit.freshness else ""
    mark += f", newer: {hit.outdated_by}" if hit.outdated_by else ""
    against = hit.why.partition("contradicts ")[2]
    mark += f", contradicted by {against}" if against else ""
    day = display.format_time(hit.at)[:10]
    head = f"{hit.score:.3f}  {hit.kind}  {hit.address}  ({origin}{day}{mark})"
    lines = [line for line in display.escape_invisible(hit.text).splitlines() if line.strip()]
    lines += [f"beside, {said.role}: {display.format_line(said.text, 200)}" for said in hit.around]
    # Only who asks for them is told the signs, each with what it added.
    lines += [f"why: {hit.why}"] if " +" in hit.why else []
    # What was said in a conversation, or stated by anybody but the user, is a quotation.
    lead = "       " if hit.trust in ("user", "system") and not hit.role else "     > "
    return "\n".join([head, *(lead + line for line in lines)])


def render_memory(memory: Memory) -> list[str]:
    lines = [
        f"{memory.kind}  {memory.address}  ({memory.layer}, {memory.status})",
        "  " + display.escape_invisible(memory.text).replace("\n", "\n  "),
        f"  priority {memory.priority}, confidence {memory.confidence:.2f}, from {memory.origin}, "
        f"trusted as {memory.label}",
        f"  first seen {display.format_time(memory.first_seen)[:10]}, last confirmed "
        f"{display.format_time(memory.last_confirmed)[:10]}, "
        f"reinforced {display.format_count(memory.reinforcement, 'time')}, "
        f"recalled {display.format_count(memory.recalls, 'time')}",
    ]
    for name in ("subject", "owner", "reason"):
        if getattr(memory, name):
            lines.append(f"  {name}: {display.format_line(getattr(memory, name))}")
    for name in ("scope", "tags", "examples", "evidence"):
        if getattr(memory, name):
            lines.append(f"  {name}: {display.format_line(', '.join(getattr(memory, name)))}")
    if memory.citations:
        places = ", ".join(str(item.get("path", item)) for item in memory.citations)
        lines.append(f"  citations: {display.format_line(places)}")
    lines += [
        f"  {display.format_line(name)}: {display.format_line(str(value))}"
        for name, value in memory.detail.items()
    ]
    return lines


def render_claim(item: Any) -> str:
    """What a memory says of the code, and what became of it."""
    place = f"{item.path} {item.symbol}".strip()
    return f"{place}: {item.state}" + (f" to {item.moved_to}" if item.moved_to else "")


def _shown(shown: Any) -> str:
    if shown.memory:
        lines = render_memory(shown.memory)
        lines += [f"  code: {render_claim(item)}" for item in shown.claims]
        if len(shown.versions) > 1:
            lines.append("  versions:")
            lines += [
                f"    {item.revision}. {display.format_line(item.text)}" for item in shown.versions
            ]
        return "\n".join(lines)
    if shown.session:
        return _conversation(shown)
    if shown.document:
        return _document(shown.document)
    from . import work

    kind = "episode" if shown.episode else "procedure"
    return work.SCREENS[f"{kind} show"](getattr(shown, kind))


def _conversation(shown: Any) -> str:
    """A session with some of its messages: a line each, or to the last word."""
    messages, place = shown.messages, f"{shown.session.address}/messages"
    lines = [_session_line(shown.session)]
    lines += map(_whole_message if shown.whole else _message_line, messages)
    if messages and messages[0].seq > 1 and not shown.whole:
        lines.append(f"(earlier ones: {place}/1-{messages[0].seq - 1})")
    if shown.left_out:
        after = messages[-1].seq + 1
        lines.append(f"({shown.left_out} more: {place}/{after}-{after + shown.left_out - 1})")
    cut = next((one.seq for one in messages if _message_line(one).endswith("…")), 0)
    if cut and not shown.whole:
        lines.append(f"(to the last word: recollect show {place}/{cut})")
    return "\n".join(lines)


def _session_line(session: Session) -> str:
    name = f" {display.format_line(session.name)}" if session.name else ""
    return (
        f"session {session.id}{name}: {display.format_count(session.messages, 'message')}, "
        f"{session.status}, last active "
        f"{display.format_time(session.last_active)[:16]}"
    )


def _message_line(stored: Stored) -> str:
    message = stored.message
    calls = "".join(f" [{call.name}]" for call in message.calls)
    text = display.format_line(render_content(message), 300)
    return f"{stored.seq:>5}  {message.role}{calls}: {text}"


def _whole_message(stored: Stored) -> str:
    message = stored.message
    calls = "".join(f" [{call.name}]" for call in message.calls)
    said = display.escape_invisible(render_content(message)).replace("\n", "\n       ")
    time = display.format_time(message.at)[:16]
    return f"{stored.seq:>5}  {message.role}{calls}, {time}:\n       {said}"


def render_content(message: Any) -> str:
    """The text of a message's content."""
    from ...text.messages import searchable_text

    return searchable_text(message)


def _document(document: Document) -> str:
    return display.escape_invisible(document.text)


def _recorded(recorded: Recorded) -> str:
    done = "recorded" if recorded.new else "was there already:"
    return "\n".join([f"{done} {recorded.address}", *_redacted(recorded.redacted)])


def _memories(memories: Sequence[Memory]) -> str:
    if not memories:
        return 'nothing is remembered here; keep something with: recollect learn "…"'
    rows = ((item.id, item.kind, item.layer, item.status, item.text) for item in memories)
    return render_table(("ID", "KIND", "LAYER", "STATUS", "TEXT"), rows)


def _sessions(sessions: Sequence[Session]) -> str:
    if not sessions:
        return "no sessions yet; `recollect import` reads those of your agents"
    short = _short_ids([item.id for item in sessions]) if sys.stdout.isatty() else {}
    rows = (
        (
            short.get(item.id, item.id),
            item.status,
            str(item.messages),
            display.format_time(item.last_active)[:16],
            item.name,
        )
        for item in sessions
        if not short or item.id in short
    )
    shown = render_table(("ID", "STATUS", "MESSAGES", "LAST ACTIVE", "NAME"), rows)
    others = len(sessions) - len(short) if short else 0
    hidden = f"\n({display.format_count(others, 'session')} of subagents; --json lists them)"
    return shown + (hidden if others else "")


def _short_ids(ids: Sequence[str]) -> dict[str, str]:
    """For people at a terminal: so much of agents' long ids as tells them apart, like a commit's;
    without those of subagents, which have their conversation's id in front."""
    own = [id for id in ids if not any(id.startswith(f"{one}.") for one in ids)]
    short = [_short(id) for id in own]
    return {
        id: start if short.count(start) == 1 else id for id, start in zip(own, short, strict=True)
    }


def _short(id: str) -> str:
    """`codex.019efedf-a8dc-…` is `codex.019efedf`; other names are whole."""
    agent, dot, rest = id.partition(".")
    digits = rest.partition("-")[0]
    is_hex = len(digits) == 8 and all(digit in "0123456789abcdef" for digit in digits)
    return f"{agent}.{digits}" if dot and is_hex else id


def _documents(documents: Sequence[Document]) -> str:
    if not documents:
        return "nothing found"
    rows = (
        (item.title, display.format_time(item.valid_from)[:16], item.text) for item in documents
    )
    return render_table(("NAME", "STORED", "TEXT"), rows)


def _stats(stats: Any) -> str:
    held = display.format_count(stats.memories, "memory", "memories")
    lines = [f"{held}, about {display.format_count(stats.tokens, 'token')}"]
    for name in ("by_kind", "by_layer", "by_status"):
        found = getattr(stats, name)
        if found:
            lines.append(
                f"  {name[3:]:<7} " + ", ".join(f"{key} {found[key]}" for key in sorted(found))
            )
    if stats.by_age:
        ages = ", ".join(f"{name} {number}" for name, number in stats.by_age.items())
        lines.append(f"  age     {ages}")
        lines.append(
            f"  never recalled {stats.never_recalled}, saying something stale {stats.stale}"
        )
    said = display.format_count(stats.messages, "message")
    lines.append(f"{said} in {display.format_count(stats.sessions, 'session')}")
    if stats.documents:
        kept = ", ".join(f"{key} {number}" for key, number in sorted(stats.documents.items()))
        lines.append(f"documents: {kept}")
    if stats.embedded or stats.unembedded:
        lag = f", {stats.unembedded} to be made" if stats.unembedded else ""
        lines.append(f"meaning: {display.format_count(stats.embedded, 'vector')}{lag}")
    if stats.consolidation:
        lines.append(f"consolidation: {stats.consolidation}")
    lines.append(f"on disk: project {_size(stats.project_bytes)}, user {_size(stats.user_bytes)}")
    return "\n".join(lines)


def _size(number: int) -> str:
    for unit in ("bytes", "KB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}"
        number //= 1000
    return f"{number} GB"


def _adopted(done: Any) -> str:
    held = f"{done.memories} memories, {done.sessions} sessions"
    if done.trusted:
        return f"yours now: {done.path} ({held})"
    return (
        f"yours now, in quarantine: {done.path} ({held})\n"
        "recollect list --status quarantined   then, one by one: recollect confirm ID"
    )


def _diagnosis(diagnosis: Any) -> str:
    lines = []
    for check in diagnosis.checks:
        first, *more = display.escape_invisible(check.detail).splitlines() or [""]
        lines.append(f"{'ok  ' if check.ok else 'BAD '} {check.name}: {first}")
        lines += [f"       {line}" for line in more]
    lines.append("all is well" if diagnosis.ok else "something needs your attention")
    return "\n".join(lines)


def _of_agents(command: str, result: Any) -> str:
    from .agents import SCREENS

    return SCREENS[command](result)


_RECALLS = "`recollect recall` searches everything that is kept"

_OWN_SCREENS: dict[str, Callable[[Any], str]] = {
    "init": lambda done: _of_agents("init", done),
    "learn": render_learned,
    "recall": _recalled,
    "show": _shown,
    "list": _memories,
    "record": _recorded,
    "session list": _sessions,
    "session show": _shown,
    "plugin": lambda done: _of_agents("plugin", done),
    "import": lambda done: _of_agents("import", done),
    "capture list": lambda done: _of_agents("capture list", done),
    "capture undo": lambda done: _of_agents("capture undo", done),
    "scratch store": lambda document: f"stored {document.address}",
    "scratch retrieve": _document,
    "scratch search": lambda found: (
        _documents(found) if found else f"no note was found; {_RECALLS}"
    ),
    "scratch list": _documents,
    "scratch delete": lambda document: f"deleted {document.address}",
    "stats": _stats,
    "backup": lambda done: f"wrote {done.path} ({_size(done.bytes)})",
    "adopt": _adopted,
    "doctor": _diagnosis,
}
