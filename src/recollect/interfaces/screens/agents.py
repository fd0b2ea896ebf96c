"""Screens of `init`, `plugin`, `notices` and `import`, and the dialogues of `init` and `import`."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import recollect

from ...text.display import escape_invisible, format_count, format_line
from ...types.reports import Initialised
from . import style, terminal
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
        render_import(done.imported) if done.imported else "",
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


# ---------------------------------------------------------------- import

_DIFFERING = "in an agent's own folder differ from an untrusted copy; both are kept"
_UNLEARNED = "commands, fixes and episodes follow in the background"
_MOST_LISTED, _MOST_CAPTURES = 20, 8
"""Limits, so that the result of an import fits a screen."""


def render_import(done: recollect.Imported) -> str:
    """Return what an import read, learned and skipped, and the next steps."""
    read = [item for item in done.transcripts if not item.error]
    failed = {one.path: one.error for one in done.transcripts if one.error} | {**done.passed_over}
    unread = [f"  not read: {format_line(path)}: {format_line(failed[path])}" for path in failed]
    differing = sum(item.differing for item in read)
    left = format_count(done.vectors_left, "record")
    vectors = f"{left}: found by words now; search by meaning follows in the background "
    return lines(
        _render_results(done, len(read)),
        # With new messages the skipped records are expected: they are about the agent's program.
        "" if done.messages else _render_counts("skipped", (item.skipped for item in read)),
        _render_counts("DAMAGED", (item.damaged for item in read)),
        _list_some(unread),
        f"{vectors}(progress: recollect doctor)" if done.vectors_left else "",
        _render_captured(done),
        f"{format_count(differing, 'message')} {_DIFFERING}" if differing else "",
        _render_foreign_files(done),
        _render_other_projects(done.others),
        _render_next_steps(done),
    )


def _list_some(
    found: Sequence[str], most: int = _MOST_LISTED, rest: str = "; --json lists all"
) -> list[str]:
    """Return the first lines, and the number of those that are left out."""
    left = len(found) - most
    return [*found[:most], *([f"  and {left} more{rest}"] if left > 0 else [])]


def _render_captured(done: recollect.Imported) -> list[str]:
    found, sources = [], set()
    for learned in {one.id: one for one in done.captured}.values():
        memory = learned.memory
        sources.add("the imported" if memory.origin == "import" else "your")
        status = f"{memory.status} " if memory.status != "active" else ""
        lead = f"  {style.short_id(learned.id)}  {status}{memory.kind}: "
        found.append(lead + format_line(memory.text, style.text_width() - len(lead)))
    head = [f"stated in {' and '.join(sorted(sources))} messages ({len(found)}):"] if found else []
    return head + _list_some(found, _MOST_CAPTURES, ": recollect capture list")


def _render_results(done: recollect.Imported, read: int) -> str:
    """Return one line on what was read and learned."""
    results = done.results
    if not read and "path" in style.page().given:
        return "no transcripts of this project found there"
    if not read:
        return (
            "no transcripts found for this project\n"
            "all projects: recollect import --all   a file or folder: recollect import PATH\n"
            "moved here from another directory: recollect import --from DIRECTORY"
        )
    if not done.messages:
        return f"nothing new in {format_count(read, 'transcript')}"
    found = (
        (results.rules, "rule of yours", "rules of yours"),
        (results.decisions, "decision", "decisions"),
        (results.facts, "fact of yours", "facts of yours"),
        (results.commands, "command", "commands"),
        (results.fixes, "fix", "fixes"),
        (results.episodes, "episode", "episodes"),
        (results.waiting, "item to review", "items to review"),
    )
    counts = ", ".join(format_count(number, *nouns) for number, *nouns in found if number)
    told = "; ".join(filter(None, (counts, _UNLEARNED if done.lessons_left else "")))
    known = f", {done.known} already known" if done.known else ""
    messages = f"{format_count(done.messages, 'new message')}{known}"
    conversations = format_count(results.conversations, "conversation")
    return f"Read {conversations} ({messages}): {told or 'nothing learned'}"


def _render_foreign_files(done: recollect.Imported) -> str:
    """Return the untrusted files, and how to accept their statements."""
    foreign = [format_line(one.path) for one in done.transcripts if one.foreign and one.messages]
    if not foreign:
        return ""
    more = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
    number = format_count(done.results.quarantined, "statement")
    accept = f"  {number} quarantined. Accept: recollect review --reason quarantined"
    return lines(
        f"imported as untrusted (not in an agent's own folder): {', '.join(foreign[:3])}{more}",
        "  found by recall only; nothing is learned from it",
        accept if done.results.quarantined else "",
    )


def _render_other_projects(others: Mapping[str, int]) -> list[str]:
    if not others:
        return []
    number = format_count(sum(others.values()), "conversation")
    head = f"{number} of {format_count(len(others), 'other project')}, not read:"
    found = [f"  {number:>4}  {format_line(root)}" for root, number in others.items()]
    end = "  read each into its own project's memory: recollect import --all"
    return [head, *_list_some(found), end]


def _render_next_steps(done: recollect.Imported) -> list[str]:
    if not done.messages:
        return []
    steps = [("recollect briefing", "what your agents begin with")]
    if all(one.foreign for one in done.transcripts if one.messages):
        steps = [("recollect recall WORDS", "search them"), ("recollect session list", "list them")]
    if done.results.commands or done.results.fixes or done.lessons_left:
        steps.append(("recollect lessons", "the commands and fixes that were found"))
    if done.results.waiting:
        steps.append(("recollect review", "answer each item that waits"))
    if done.captured:
        steps.append(("recollect rm ID", "take a statement out of use"))
    return ["next:", *style.hints(*steps)]


def run_import(
    values: Mapping[str, object], run: Callable[[Mapping[str, object]], recollect.Imported]
) -> recollect.Imported:
    """Run `import`, then ask a person about conversations of other projects.

    `run` runs the command with some of its arguments replaced.
    """
    done = run({})
    if values.get("path") or not done.others or not terminal.is_attended():
        return done
    print(lines(_render_other_projects(done.others)[:-1]))
    done = done._replace(others={})
    if not terminal.agrees("Import them too, each into its own project's memory? [y/N] "):
        return done
    print(render_import(done))
    return run({"all": True})


def _render_counts(title: str, counts: Iterable[Mapping[str, int]]) -> str:
    total = sum(map(Counter, counts), Counter[str]())
    reasons = ", ".join(f"{format_line(name)} {number}" for name, number in total.most_common(6))
    records = format_count(total.total(), "record")
    return f"  {title}: {records} ({reasons})" if total else ""


SCREENS: dict[str, Callable[..., str]] = {
    "init": _render_init,
    "plugin": _render_plugin,
    "notices": lambda found: lines(found) or "you have seen every notice",
    "import": render_import,
}
