"""Print results as text: the dispatch by command, tables, and the screens of the store itself.

Each screen is a function of an operation's result that returns plain lines, fit for a pipe.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from types import ModuleType

from ...fast_typing import TYPE_CHECKING
from ...text import display
from ...types import reports
from . import overview, style

if TYPE_CHECKING:
    from ...maintenance.operations import ServerSetup
    from ...maintenance.steps import Adopted, Diagnosis, Stats
    from ...storage.database import ServerMember, ServerStatement
    from ...types.reports import ConfigPaths, Reverted, SettingChanged, SettingValue

_MODULES = {
    **dict.fromkeys(("session", "record"), "sessions"),
    **dict.fromkeys(("init", "plugin", "notices"), "agents"),
    **dict.fromkeys(("memory", "jobs"), "autonomous"),
    "review": "review",
    **dict.fromkeys(("stats", "backup", "adopt", "doctor", "server", "undo", "config"), "results"),
    **dict.fromkeys(("status", "lessons", "seen", "sizes", "pause", "resume"), "overview"),
    **dict.fromkeys(("forget", "blame", "retract", "scrub", "recover"), "store"),
    **dict.fromkeys(("import", "export", "load", "migrate"), "store"),
    **dict.fromkeys(
        (
            *("episode", "learnings", "consolidate", "procedure", "pattern", "link", "links"),
            *("notes", "continuity", "task", "ledger", "handoff", "promote", "audit", "event"),
        ),
        "work",
    ),
}
"""The module with the screen of a command, by its first word; all others are in `memories`."""


_EXACT = frozenset(
    {
        *(
            "scratch retrieve",
            "todo",
            "procedure export",
            "procedure show",
            "pattern show",
            "ledger",
        ),
        *("episode show", "notes show", "continuity", "task log", "session prepare", "plugin"),
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


def render_redacted(types: Sequence[str]) -> list[str]:
    """Return a line with the types of secrets that were redacted, each once; none without."""
    return [f"  redacted: {', '.join(dict.fromkeys(types))}"] if types else []


def _render_stats(stats: Stats) -> str:
    memories = display.format_count(stats.memories, "memory", "memories")
    lines = [f"{memories}, about {display.format_count(stats.tokens, 'token')}"]
    for name in ("by_kind", "by_layer", "by_status"):
        found = getattr(stats, name)
        if found:
            counts = ", ".join(f"{key} {found[key]}" for key in sorted(found))
            lines.append(f"  {name[3:]:<7} {counts}")
    if stats.by_age:
        ages = ", ".join(f"{name} {number}" for name, number in stats.by_age.items())
        lines.append(f"  age     {ages}")
        lines.append(f"  never recalled {stats.never_recalled}, stale claims {stats.stale}")
    messages = display.format_count(stats.messages, "message")
    lines.append(f"{messages} in {display.format_count(stats.sessions, 'session')}")
    if stats.documents:
        counts = ", ".join(f"{key} {number}" for key, number in sorted(stats.documents.items()))
        lines.append(f"documents: {counts}")
    if stats.embedded or stats.unembedded:
        missing = f", {stats.unembedded} missing" if stats.unembedded else ""
        vectors = display.format_count(stats.embedded, "vector")
        lines.append(f"search by meaning: {vectors}{missing}")
    for one in stats.in_time:
        judged = one.followed + one.ignored
        result = f", followed {one.followed} of {judged}" if judged else ""
        lines.append(f"in time, {one.moment}: {one.shown} shown at {one.chances} chances{result}")
    if stats.consolidation:
        lines.append(f"consolidation: {stats.consolidation}")
    if stats.autonomous:
        lines.append(f"autonomous memory: {stats.autonomous}")
    project = overview.format_size(stats.project_bytes)
    user = overview.format_size(stats.user_bytes)
    lines.append(f"on disk: project {project}, user {user}")
    return "\n".join(lines)


def _render_adopted(done: Adopted) -> str:
    content = f"{done.memories} memories, {done.sessions} sessions"
    if done.trusted:
        return f"adopted {done.path} ({content})"
    return (
        f"adopted {done.path} in quarantine ({content})\n"
        "review: recollect list --status quarantined   confirm one: recollect confirm ID"
    )


def _render_diagnosis(diagnosis: Diagnosis) -> str:
    lines = []
    for check in diagnosis.checks:
        first, *more = display.escape_invisible(check.detail).splitlines() or [""]
        mark = (
            ("good", "ok  ") if check.ok else ("warn", "TODO") if check.waits else ("bad", "BAD ")
        )
        lines.append(f"{style.paint(*mark)} {check.name}: {first}")
        lines += [f"       {line}" for line in more]
    failed = sum(not (check.ok or check.waits) for check in diagnosis.checks)
    waiting = sum(check.waits for check in diagnosis.checks)
    if waiting:
        lines.append(f"{display.format_count(waiting, 'agent')} wait for your approval (TODO)")
    lines.append(f"{failed} of the checks failed" if failed else "no problems found")
    return "\n".join(lines)


def _render_server_setup(done: ServerSetup) -> str:
    first = [one for one in done.statements if "recollect_member" not in one.sql]
    rest = [one for one in done.statements if one not in first]
    if done.applied:
        lines = ["The tables and the members' rights are in place. These statements were run:"]
    else:
        lines = [
            "-- Nothing was run. An administrator runs this part, connected to the database:",
            *_list_statements(first),
            "-- `recollect server setup --apply` runs the rest, as the owner of the tables:",
        ]
    return "\n".join(
        [*lines, *_list_statements(rest), "-- next: recollect server grant ROLE SPACE"]
    )


def _list_statements(statements: Sequence[ServerStatement]) -> list[str]:
    """Return statements as lines to paste, each below its purpose: a long line is wrapped."""
    lines: list[str] = []
    for purpose, some in groupby(statements, key=lambda one: one.purpose):
        lines += [f"-- {purpose}", *(one.sql for one in some)]
    return lines


def _render_members(found: Sequence[ServerMember]) -> str:
    if not found:
        return "no memberships\nadd one: recollect server grant ROLE SPACE"
    width = max(len(one.space) for one in found)
    return "\n".join(
        f"{one.space:<{width}}  {one.role}{'' if one.writes else ' (read-only)'}" for one in found
    )


def _render_grant(done: ServerMember) -> str:
    may = "reads and writes" if done.writes else "reads"
    return f"{done.role} {may} {done.space}\nthey set: RECOLLECT_SPACE={done.space}"


# ---------------------------------------------------------------- settings


def _render_setting(setting: SettingValue) -> str:
    value = setting.value if setting.value else "(empty)"
    return value if not style.page().is_terminal else f"{value}  ({setting.source})"


def _render_settings(settings: Sequence[SettingValue]) -> str:
    rows = ((one.name, one.value or "-", one.source, one.help) for one in settings)
    table = style.render_table(("SETTING", "VALUE", "FROM", "MEANING"), rows, styles=("id",))
    hints = style.hints(
        ("recollect config set NAME VALUE", "change one"),
        ("recollect config edit", "change them in your editor"),
    )
    return "\n".join([table, "", *hints])


def _render_changed_setting(done: SettingChanged) -> str:
    what = f"set {done.name} = {done.value}" if done.value else f"removed {done.name}"
    lines = [f"{what} in {done.path}"]
    if done.value and done.value != done.effective:
        lines.append(f"in effect: {done.effective} ({done.source} wins)")
    elif not done.value:
        lines.append(f"in effect: {done.effective or '(empty)'} ({done.source})")
    return "\n".join(lines)


def _render_paths(paths: ConfigPaths) -> str:
    return f"user     {paths.user}\nproject  {paths.project}"


# ---------------------------------------------------------------- undo


def _render_reverted(done: Reverted) -> str:
    if not done.what:
        return "nothing was changed"
    text = f": {display.format_line(done.text, 160)}" if done.text else ""
    if not done.applied:
        when = display.format_time(done.at)[:16].replace("T", " ")
        return "\n".join(style.fill(f"the last change ({when}): {done.what}{text}"))
    redo = f"\nredo it: {done.redo}" if done.redo else ""
    return "\n".join(style.fill(f"undone: {done.what}{text}")) + redo


def run_undo(
    values: Mapping[str, object], run: Callable[[Mapping[str, object]], Reverted]
) -> Reverted:
    """Show the last change, and undo it when the person agrees.

    `run` runs the command with some of its arguments replaced.
    """
    from . import terminal

    if values.get("print") or not terminal.is_attended():
        return run({})
    planned = run({"print": True})
    print(style.finish(_render_reverted(planned)))
    if not terminal.agrees("Undo it? [Y/n] ", default=True):
        return reports.Reverted("", "", 0, False)
    return run({})


SCREENS: dict[str, Callable[..., str]] = {
    "server setup": _render_server_setup,
    "server members": _render_members,
    "server grant": _render_grant,
    "server revoke": lambda done: "revoked" if done else "there was no such membership",
    "stats": _render_stats,
    "backup": lambda done: f"wrote {done.path} ({overview.format_size(done.bytes)})",
    "adopt": _render_adopted,
    "doctor": _render_diagnosis,
    "undo": _render_reverted,
    "config get": _render_setting,
    "config set": _render_changed_setting,
    "config unset": _render_changed_setting,
    "config list": _render_settings,
    "config path": _render_paths,
}
