"""Screens of `init`, `plugin` and `notices`, and the dialogue of `init`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence

import recollect

from ...text.display import escape_invisible, format_count, format_line
from ...types.reports import Initialised
from . import imports, style, terminal
from .style import lines


def _render_init(done: Initialised) -> str:
    made = "created" if done.created else "exists:" if done.exists else "would create"
    kept = f"the memory is kept: {done.database}" if done.exists else "no memory is here"
    changed = any(change.pending and change.before for change in done.changes)
    return lines(
        render_warning(done),
        "" if done.checked or done.removing else f"{made} {done.database}",
        (f"not used (inside this project): {path}" for path in done.below),
        [] if done.declined else _render_plan(done),
        _render_outcome(done),
        f"backups: {style.shorten_home(done.backups)}" if done.applied and changed else "",
        kept if done.removing else _render_next(done),
    )


def _render_outcome(done: Initialised) -> list[str]:
    """Return why agents' settings were not written, and how to write them."""
    waiting = [change for change in done.changes if change.pending and not done.applied]
    found = []
    if not done.changes and done.removing:
        found.append("no agent found in your home: nothing to remove")
    elif not (done.changes or done.unstarted):
        found.append("you have started no agent yet. Connect one: recollect init NAME")
    if waiting and done.declined:
        found.append("no agent settings were changed")
    elif waiting and not done.checked:
        found += ["", *map(render_diff, waiting), ""] if done.diff else []
        shown = "" if done.diff else "; see every line: --diff"
        found.append(f"no agent settings were written. Write them: the same with --yes{shown}")
    elif waiting and not done.removing:
        found.append("connect what is missing or stale: recollect init")
    return found


def _render_next(done: Initialised) -> str:
    """Return the next steps: for the agents, past conversations, and the memory."""
    from ...agents.settings.plan_io import NEXT_STEPS

    agents = dict.fromkeys(change.agent for change in done.changes if change.pending)
    finish = style.hints(*((one, NEXT_STEPS[one]) for one in agents))
    past = f"{format_count(done.past, 'past conversation')} of this project"
    names = " ".join(done.unstarted)
    unstarted = f"installed, never started: {names}. Connect: recollect init {names}"
    steps = (("recollect", "show the state"), ('recollect learn "…"', "save a memory"))
    return lines(
        ["to finish:", *finish] if done.applied and finish else "",
        imports.render_import(done.imported) if done.imported else "",
        f"{past}. Import: recollect import" if done.past and not done.imported else "",
        style.fill(unstarted, "  ", "") if names else "",
        *(_render_former(place, number) for place, number in done.former.items()),
        "" if done.checked or done.imported else ["next:", *style.hints(*steps)],
    )


def _render_former(place: str, number: int) -> str:
    """Return how to import the conversations of a directory that the project was in before."""
    where = style.shorten_home(format_line(place))
    home, below, rest = where.partition("~/")
    typed = f"~/{shlex.quote(rest)}" if below and not home else shlex.quote(place)
    past = format_count(number, "conversation")
    return (
        f"{past} of {where} seem to be of this project. Import them:\n"
        f"  recollect import --from {typed}"
    )


def _render_plugin(done: recollect.WrittenPlugin) -> str:
    return lines(f"wrote {done.path}", (f"  {name}" for name in done.files), render_warning(done))


_PLANNED = {"missing": "add", "stale": "update", "current": "is there"}
_WHAT = {
    "mcp": "MCP server",
    "hooks and mcp": "hooks, MCP server",
    "hooks and status line": "hooks, status line",
}


def _render_plan(done: Initialised) -> list[str]:
    """Return a line for each settings file: agent, entries, state, path."""
    rows = [_describe_change(change, done) for change in done.changes if not change.error]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    found = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return found + [
        f"BAD  {one.agent}: {style.shorten_home(one.path)}: {escape_invisible(one.error)}"
        for one in done.changes
        if one.error
    ]


def _describe_change(
    change: recollect.SettingsChange, done: Initialised
) -> tuple[str, str, str, str]:
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
        print(style.finish(lines(render_warning(done))), flush=True)


def render_warning(done: Initialised | recollect.WrittenPlugin) -> list[str]:
    """Return the lines of a warning about the installed program; none without a warning."""
    first, *more = escape_invisible(done.warning).splitlines() or [""]
    found = style.fill(f"warning: {first}", "  ", "") if first else []
    return [*found, *(part for line in more for part in style.fill(line, "  "))]


def _ask(done: Initialised, run: Callable[[Mapping[str, object]], Initialised]) -> Initialised:
    """Show the plan, ask, and run what the user agreed to."""
    waiting = [change for change in done.changes if change.pending]
    more: dict[str, object] = {}
    if waiting:
        for_all = any(not change.path.startswith(f"{done.root}/") for change in waiting)
        intro = [] if done.removing else style.fill(_ADDED.format(_FOR_ALL if for_all else ""))
        print(style.finish(lines(intro, _render_plan(done))))
        _print_warning(done)
        if chosen := _choose_agents(waiting):
            more |= {"yes": True, "agent": chosen}
    number = format_count(done.past, "past conversation")
    if done.past and terminal.agrees(f"Import {number} of this project? [y/N] "):
        more["import_"] = True
    declined = bool(waiting) and "yes" not in more
    # The first run may have created the store.
    last = run(more)._replace(created=done.created) if more else done
    return last._replace(declined=declined, unstarted=done.unstarted)


_ADDED = (
    "Hooks add relevant memories to a session and save the rules you state. The MCP server gives "
    "the agent tools to search and save. {}Everything else in these files stays as it is:"
)
_FOR_ALL = "Both work in every project; `enabled = false` in recollect.toml switches one off. "


def _choose_agents(waiting: Sequence[recollect.SettingsChange]) -> list[str]:
    """Ask which agents' files to write, and show the changed lines on request."""
    agents = list(dict.fromkeys(change.agent for change in waiting))
    several = f"   or names, such as: {' '.join(agents[:2])}" if len(agents) > 1 else ""
    print(f"y: all   d: show every line{several}")
    question = f"Write {format_count(len(waiting), 'file')}? A backup of each is kept. [y/N] "
    while True:
        answer = (terminal.read_answer(question) or "").lower().replace(",", " ").split()
        if answer in (["d"], ["diff"]):
            print(style.finish(lines(map(render_diff, waiting))))
            continue
        if answer in (["y"], ["yes"]):
            return agents
        unknown = [word for word in answer if word not in (*agents, "n", "no")]
        if not unknown:
            return [agent for agent in agents if agent in answer]
        print(f"not an agent: {' '.join(unknown)}. One or more of: {' '.join(agents)}")


def render_diff(change: recollect.SettingsChange) -> str:
    """Return the planned change of a file as a unified diff."""
    new = f"{change.path} ({change.agent}, {change.what})"
    return style.render_diff(change.before, change.after, f"{change.path} (now)", new)


SCREENS: dict[str, Callable[..., str]] = {
    "init": _render_init,
    "plugin": _render_plugin,
    "notices": lambda found: lines(found) or "you have seen every notice",
}
