"""Print results as text: the dispatch by command, and the screens of the store.

Each screen is a function of an operation's result that returns plain lines, fit for a pipe.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from types import ModuleType

import recollect

from ...fast_typing import TYPE_CHECKING
from ...text.display import escape_invisible, format_count, format_line
from . import style
from .style import lines

if TYPE_CHECKING:
    from ...storage.database import ServerStatement

_MODULES = {
    **dict.fromkeys(("session", "record", "memory", "jobs"), "sessions"),
    **dict.fromkeys(("init", "plugin", "notices"), "agents"),
    **dict.fromkeys(("status", "lessons", "seen", "sizes", "pause", "resume"), "overview"),
    **dict.fromkeys(("stats", "backup", "adopt", "doctor", "server", "undo"), "results"),
    **dict.fromkeys(("forget", "blame", "retract", "scrub", "recover"), "results"),
    **dict.fromkeys(("export", "load", "migrate"), "interchange"),
    "config": "settings",
    "import": "imports",
    **dict.fromkeys(("episode", "learnings", "consolidate", "procedure", "pattern"), "work"),
    **dict.fromkeys(("link", "links", "notes", "continuity", "task", "ledger", "event"), "work"),
    **dict.fromkeys(("handoff", "promote", "audit"), "work"),
}
"""The module with the screen of a command, by its first word; all others are in `memories`."""

_EXACT = frozenset(
    {
        *("scratch retrieve", "todo", "procedure export", "procedure show", "pattern show"),
        *("ledger", "episode show", "notes show", "continuity", "task log", "session prepare"),
        "plugin",
    }
)
"""Commands that print a document, which is not wrapped."""


def show(command: str, result: object) -> str:
    """Return the result of a command as text, in colour on a page that has it."""
    text = load_screen(command)(result)
    return style.finish(text if command in _EXACT else style.wrap_long(text))


def load_screen(command: str) -> Callable[..., str]:
    """Return the screen of a command, loading its module."""
    first = command.partition(" ")[0]
    module = "overview" if command.endswith(" plot") else _MODULES.get(first, "memories")
    name = f"{__package__}.{module}"
    __import__(name)  # `importlib` would cost a command half a millisecond
    loaded: ModuleType = sys.modules[name]
    screens: dict[str, Callable[..., str]] = loaded.SCREENS
    return screens[command]


def _render_stats(stats: recollect.Stats) -> str:
    memories = format_count(stats.memories, "memory", "memories")
    groups = (("kind", stats.by_kind), ("layer", stats.by_layer), ("status", stats.by_status))
    ages = ", ".join(
        f"{name}: {number}" if name == "older" else f"up to {name}: {number}"
        for name, number in stats.by_age.items()
    )
    unused = f"never recalled {stats.never_recalled}, stale claims {stats.stale}"
    messages = format_count(stats.messages, "message")
    missing = f", {stats.unembedded} missing" if stats.unembedded else ""
    vectors = f"search by meaning: {format_count(stats.embedded, 'vector')}{missing}"
    unindexed = format_count(stats.unindexed, "record")
    in_time = []
    for one in stats.in_time:
        judged = one.followed + one.ignored
        result = f", followed {one.followed} of {judged}" if judged else ""
        in_time.append(f"in time, {one.moment}: {one.shown} shown at {one.chances} chances{result}")
    project, user = style.format_size(stats.project_bytes), style.format_size(stats.user_bytes)
    return lines(
        f"{memories}, about {format_count(stats.tokens, 'token')}",
        (f"  {name:<7} {_list_counts(found)}" for name, found in groups if found),
        [f"  age     {ages}", f"  {unused}"] if ages else "",
        f"{messages} in {format_count(stats.sessions, 'session')}",
        f"documents: {_list_counts(stats.documents)}" if stats.documents else "",
        vectors if stats.embedded or stats.unembedded else "",
        f"search: {unindexed} not indexed yet. Index now: recollect rebuild"
        if stats.unindexed
        else "",
        in_time,
        f"consolidation: {stats.consolidation}" if stats.consolidation else "",
        f"autonomous memory: {stats.autonomous}" if stats.autonomous else "",
        f"on disk: project {project}, user {user}",
    )


def _list_counts(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in sorted(numbers.items()))


def _render_adopted(done: recollect.Adopted) -> str:
    memories = format_count(done.memories, "memory", "memories")
    content = f"{memories}, {format_count(done.sessions, 'session')}"
    if done.trusted:
        return f"adopted {done.path} ({content})"
    return (
        f"adopted {done.path} in quarantine ({content})\n"
        "review: recollect list --status quarantined   confirm one: recollect confirm ID"
    )


def _render_diagnosis(diagnosis: recollect.Diagnosis) -> str:
    found = []
    for check in diagnosis.checks:
        first, *more = escape_invisible(check.detail).splitlines() or [""]
        not_ok = ("warn", "TODO") if check.waits else ("bad", "BAD ")
        ok = ("warn", "WARN") if check.waits else ("good", "ok  ")
        mark = style.paint(*(ok if check.ok else not_ok))
        found.append(f"{mark} {check.name}: {first}")
        found += [f"       {line}" for line in more]
    failed = sum(not (check.ok or check.waits) for check in diagnosis.checks)
    waiting = sum(check.waits and not check.ok for check in diagnosis.checks)
    return lines(
        found,
        f"{failed} of the checks failed" if failed else "no problems found",
        f"{format_count(waiting, 'agent waits', 'agents wait')} for your approval (TODO)"
        if waiting
        else "",
    )


def _render_server_setup(done: recollect.ServerSetup) -> str:
    first = [one for one in done.statements if "recollect_member" not in one.sql]
    rest = [one for one in done.statements if one not in first]
    if done.applied:
        head = ["The tables and the members' rights are in place. These statements were run:"]
    else:
        head = [
            "-- Nothing was run. An administrator runs this part, connected to the database:",
            *_list_statements(first),
            "-- `recollect server setup --apply` runs the rest, as the owner of the tables:",
        ]
    return lines(head, _list_statements(rest), "-- next: recollect server grant ROLE SPACE")


def _list_statements(statements: Sequence[ServerStatement]) -> list[str]:
    """Return statements as lines to paste, each below its purpose: a long line is wrapped."""
    found: list[str] = []
    for purpose, some in groupby(statements, key=lambda one: one.purpose):
        found += [f"-- {purpose}", *(one.sql for one in some)]
    return found


def _render_members(found: Sequence[recollect.ServerMember]) -> str:
    if not found:
        return "no memberships\nadd one: recollect server grant ROLE SPACE"
    width = max(len(one.space) for one in found)
    return lines(
        f"{one.space:<{width}}  {one.role}{'' if one.writes else ' (read-only)'}" for one in found
    )


def _render_grant(done: recollect.ServerMember) -> str:
    may = "reads and writes" if done.writes else "reads"
    return f"{done.role} {may} {done.space}\nthey set: RECOLLECT_SPACE={done.space}"


# ---------------------------------------------------------------- undo


def _render_reverted(done: recollect.Reverted) -> str:
    if not done.what:
        return "nothing was changed"
    state = "undone" if done.applied else f"the last change ({style.clock(done.at)})"
    text = f": {format_line(done.text, 160)}" if done.text else ""
    redo = f"redo it: {done.redo}" if done.redo and done.applied else ""
    return lines(style.fill(f"{state}: {done.what}{text}"), redo)


def run_undo(
    values: Mapping[str, object], run: Callable[[Mapping[str, object]], recollect.Reverted]
) -> recollect.Reverted:
    """Show the last change, and undo it when the person agrees.

    `run` runs the command with some of its arguments replaced.
    """
    from . import terminal

    if values.get("print") or not terminal.is_attended():
        return run({})
    planned = run({"print": True})
    print(style.finish(_render_reverted(planned)))
    if not terminal.agrees("Undo it? [Y/n] ", default=True):
        return recollect.Reverted("", "", 0, False)
    return run({})


# ---------------------------------------------------------------- erase, repair, export, load


_ROWS = {
    "cursors": "import positions",
    "memory_revisions": "revisions",
    "memory_aliases": "former ids",
    "undos": "undo steps",
}
"""Names of tables that a user would not understand."""


def _count_rows(numbers: Mapping[str, int]) -> str:
    """Return the numbers of rows by table, such as `1 memory, 2 links`."""
    found = []
    for name, number in sorted(numbers.items()):
        several = _ROWS.get(name, name)
        one = several.removesuffix("s")
        one = f"{one[:-2]}y" if several.endswith("ies") else one
        found.append(format_count(number, one, several))
    return ", ".join(found) or "nothing"


def _render_receipt(done: recollect.Receipt) -> str:
    files = [f"  and in {path}" for path in done.files]
    examples = [f"  {one}" for one in done.examples]
    if not done.applied and not done.rows and not files:
        return lines(f"nothing holds {done.target}", done.notes)
    if not done.applied:
        last = "nothing was changed; this cannot be undone: add --yes"
        return lines(f"would erase: {_count_rows(done.rows)}", examples, files, last)
    backups = f"{format_count(done.backups, 'backup')} removed, one made anew"
    return lines(
        f"erased {done.target}: {_count_rows(done.rows)}  ({done.id})",
        files,
        backups if done.backups else "",
        "Copies that you made elsewhere are not known here. It is not learned again.",
        done.notes,
    )


def _render_lineage(found: recollect.Lineage) -> str:
    sources = [f"  from: {ref}" for ref in found.evidence]
    sources += [f"  source: {ref}" for ref in found.sources]
    return lines(
        f"{found.id}  {found.text}",
        f"came in as {found.origin}, trusted as {found.label}; revision {found.revisions}",
        sources,
        (f"  used for: {ref}" for ref in found.derived),
        "" if sources else "  no source is recorded: it was said directly",
    )


def _render_retracted(done: recollect.Retracted) -> str:
    if not done.source:
        return "nothing was changed"
    if not done.memories:
        return f"nothing in use came from {done.source}"
    listed = [f"  {id}  {format_line(text)}" for id, text in done.memories.items()]
    if not done.applied:
        count = format_count(len(listed), "memory", "memories")
        return lines(f"would hide {count} from {done.source}:", listed, "hide: add --yes")
    undo = "undo: recollect undo   one of them: recollect restore ID"
    return lines(f"hidden, as it came from {done.source}:", listed, undo)


def run_retract(
    values: Mapping[str, object], run: Callable[[Mapping[str, object]], recollect.Retracted]
) -> recollect.Retracted:
    """Show what a source taught, and hide it when the person agrees.

    `run` runs the command with some of its arguments replaced.
    """
    from . import terminal

    planned = run({})
    if planned.applied or not planned.memories or not terminal.is_attended():
        return planned
    print(style.finish(_render_retracted(planned)))
    if not terminal.agrees("Hide them? [y/N] "):
        return recollect.Retracted("", {}, False)
    return run({"yes": True})


def _render_scrubbed(done: recollect.Scrubbed) -> str:
    if not done.records:
        return "no secrets found in what is stored"
    return f"secrets in {_count_rows(done.records)}: {_count_rows(done.found)}"


def _render_recovered(done: recollect.Recovered) -> str:
    if not done.kept:
        return f"{done.path}: no damage found, nothing was changed"
    return lines(
        (f"damage: {one.splitlines()[0]}" for one in done.problems),
        f"saved: {_count_rows(done.saved)}",
        f"gaps: {_count_rows(done.gaps)}" if done.gaps else "",
        f"taken from backups: {_count_rows(done.restored)}" if done.restored else "",
        f"read from: {done.backup}" if done.backup else "",
        f"the damaged files are kept in {done.kept}",
    )


SCREENS: dict[str, Callable[..., str]] = {
    "server setup": _render_server_setup,
    "server members": _render_members,
    "server grant": _render_grant,
    "server revoke": lambda done: "revoked",
    "stats": _render_stats,
    "backup": lambda done: f"wrote {done.path} ({style.format_size(done.bytes)})",
    "adopt": _render_adopted,
    "doctor": _render_diagnosis,
    "undo": _render_reverted,
    "forget": _render_receipt,
    "blame": _render_lineage,
    "retract": _render_retracted,
    "scrub": _render_scrubbed,
    "recover": _render_recovered,
}
