"""Screens of `init` and `plugin`, and the dialogue of `init`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence

from ...fast_typing import TYPE_CHECKING
from ...text import display
from ...types.reports import Initialised
from . import store, style, terminal

if TYPE_CHECKING:
    from ...types.reports import SettingsChange, WrittenPlugin


def _render_init(done: Initialised) -> str:
    lines = render_warning(done)
    if not (done.checked or done.removing):
        made = "created" if done.created else "exists:" if done.exists else "would create"
        lines.append(f"{made} {done.database}")
    lines += [f"not used (inside this project): {path}" for path in done.below]
    waiting = [change for change in done.changes if change.pending and not done.applied]
    if not done.declined:
        lines += _render_plan(done)
    if not done.changes and done.removing:
        lines.append("no agent found in your home: nothing to remove")
    elif not (done.changes or done.unstarted):
        lines.append("you have started no agent yet. Connect one: recollect init NAME")
    if waiting and done.declined:
        lines.append("no agent settings were changed")
    elif waiting and not done.checked:
        if done.diff:
            lines += ["", *(render_diff(change) for change in waiting), ""]
        shown = "" if done.diff else "; see every line: --diff"
        lines.append(f"nothing was written. Write it: the same command with --yes{shown}")
    elif waiting and not done.removing:
        lines.append("connect what is missing or stale: recollect init")
    if done.applied and any(change.pending and change.before for change in done.changes):
        lines.append(f"backups: {style.shorten_home(done.backups)}")
    if done.removing:
        kept = f"the memory is kept: {done.database}" if done.exists else "no memory is here"
        lines.append(kept)
        return "\n".join(lines)
    if done.applied:
        from ...agents.settings.plan_io import NEXT_STEPS

        agents = dict.fromkeys(change.agent for change in done.changes if change.pending)
        lines += ["to finish:", *style.hints(*((one, NEXT_STEPS[one]) for one in agents))]
    if done.imported:
        lines.append(store.render_import(done.imported))
    elif done.past:
        past = display.format_count(done.past, "past conversation")
        lines.append(f"{past} of this project. Import: recollect import")
    if done.unstarted:
        names = " ".join(done.unstarted)
        lines += style.fill(
            f"installed, never started: {names}. Connect: recollect init {names}", "  ", ""
        )
    for place, number in done.former.items():
        past = display.format_count(number, "conversation")
        where = style.shorten_home(display.format_line(place))
        lines.append(f"{past} of {where} seem to be of this project. Import them:")
        home, below, rest = where.partition("~/")
        typed = f"~/{shlex.quote(rest)}" if below and not home else shlex.quote(place)
        lines.append(f"  recollect import --from {typed}")
    if not (done.checked or done.imported):
        steps = (("recollect", "show the state"), ('recollect learn "…"', "save a memory"))
        lines += ["next:", *style.hints(*steps)]
    return "\n".join(lines)


def _render_plugin(done: WrittenPlugin) -> str:
    files = (f"  {name}" for name in done.files)
    return "\n".join([f"wrote {done.path}", *files, *render_warning(done)])


_PLANNED = {"missing": "add", "stale": "update", "current": "is there"}
_WHAT = {
    "mcp": "MCP server",
    "hooks and mcp": "hooks, MCP server",
    "hooks and status line": "hooks, status line",
}


def _render_plan(done: Initialised) -> list[str]:
    """Return a line for each settings file: agent, what it gets, what happens to it, its path."""
    rows = [_describe_change(change, done) for change in done.changes if not change.error]
    widths = [max(map(len, column), default=0) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=False)).rstrip()
        for row in rows
    ]
    for change in done.changes:
        if change.error:
            why = display.escape_invisible(change.error)
            lines.append(f"BAD  {change.agent}: {style.shorten_home(change.path)}: {why}")
    return lines


def _describe_change(change: SettingsChange, done: Initialised) -> tuple[str, str, str, str]:
    if done.applied:
        state = ("removed" if done.removing else "written") if change.pending else change.state
    elif done.checked:
        state = change.state
    elif done.removing:
        state = "remove" if change.pending else "not there"
    else:
        state = _PLANNED.get(change.state, change.state)
    path = style.shorten_home(change.path)
    return change.agent, _WHAT.get(change.what, change.what), state, path


SCREENS: dict[str, Callable[..., str]] = {
    "init": _render_init,
    "plugin": _render_plugin,
    "notices": lambda lines: "\n".join(lines) or "you have seen every notice",
}


# ---------------------------------------------------------------- the dialogue of init


def run_init(
    values: Mapping[str, object], run: Callable[[Mapping[str, object]], Initialised]
) -> Initialised:
    """Run `init`: warn before anything is written, and ask unless --yes was given.

    `run` runs the command with some of its arguments replaced.
    """
    if values.get("yes"):
        _print_warning(run({"diff": True}))
        return run({})._replace(warning="")
    done = run({})
    if values.get("check") or values.get("diff") or not terminal.is_attended():
        return done
    return _ask(done, run)._replace(warning="")


def _print_warning(done: Initialised) -> None:
    if done.warning:
        print(style.finish("\n".join(render_warning(done))), flush=True)


def render_warning(done: Initialised | WrittenPlugin) -> list[str]:
    """Return the lines of a warning about the installed program; none without a warning."""
    first, *more = display.escape_invisible(done.warning).splitlines() or [""]
    lines = style.fill(f"warning: {first}", "  ", "") if first else []
    return [*lines, *(part for line in more for part in style.fill(line, "  "))]


def _ask(done: Initialised, run: Callable[[Mapping[str, object]], Initialised]) -> Initialised:
    """Show the plan, ask, and run what the user agreed to."""
    waiting = [change for change in done.changes if change.pending]
    more: dict[str, object] = {}
    if waiting:
        intro = [] if done.removing else style.fill(_ADDED)
        print(style.finish("\n".join([*intro, *_render_plan(done)])))
        _print_warning(done)
        chosen = _choose_agents(waiting)
        if chosen:
            more |= {"yes": True, "agent": chosen}
    number = display.format_count(done.past, "past conversation")
    if done.past and terminal.agrees(f"Import {number} of this project? [y/N] "):
        more["import_"] = True
    declined = bool(waiting) and "yes" not in more
    # The first run may have created the store.
    last = run(more)._replace(created=done.created) if more else done
    return last._replace(declined=declined, unstarted=done.unstarted)


_ADDED = (
    "Hooks add relevant memories to a session and save the rules you state. The MCP server gives "
    "the agent tools to search and save. Everything else in these files stays as it is:"
)


def _choose_agents(waiting: Sequence[SettingsChange]) -> list[str]:
    """Ask which agents' files to write, and show the changed lines on request."""
    agents = list(dict.fromkeys(change.agent for change in waiting))
    number = display.format_count(len(waiting), "file")
    several = f"   or names, such as: {' '.join(agents[:2])}" if len(agents) > 1 else ""
    print(f"y: all   d: show every line{several}")
    question = f"Write {number}? A backup of each is kept. [y/N] "
    while True:
        answer = (terminal.read_answer(question) or "").lower().replace(",", " ").split()
        if answer in (["d"], ["diff"]):
            print(style.finish("\n".join(render_diff(change) for change in waiting)))
            continue
        if answer in (["y"], ["yes"]):
            return agents
        unknown = [word for word in answer if word not in (*agents, "n", "no")]
        if not unknown:
            return [agent for agent in agents if agent in answer]
        print(f"not an agent: {' '.join(unknown)}. One or more of: {' '.join(agents)}")


def render_diff(change: SettingsChange) -> str:
    """Return the planned change of a file as a unified diff."""
    new = f"{change.path} ({change.agent}, {change.what})"
    return style.render_diff(change.before, change.after, f"{change.path} (now)", new)
