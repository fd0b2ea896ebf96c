"""Connect agents to this program, and check the connections for `doctor`."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence

from ..errors import InvalidInput
from ..project import Project, make_folder, user_directory
from ..types.records import Check
from ..types.reports import SettingsChange
from . import registry
from .events import TOO_LATE, HookRun
from .settings import plan_io
from .settings.entries import Command, HookApproval

_RECENT = 50


def find_own_command() -> tuple[str, ...]:
    """Return the command that starts this program, with an absolute path: PATH may differ.

    It should stay the same across releases: agents ask to approve a changed command again.
    """
    program = os.path.abspath(sys.argv[0]) if sys.argv and sys.argv[0] else ""
    if os.path.basename(program) == "recollect" and os.access(program, os.X_OK):
        return (program,)
    beside = os.path.join(os.path.dirname(sys.executable), "recollect")
    if os.access(beside, os.X_OK):
        return (beside,)
    return (sys.executable, "-P", "-m", "recollect")


_TOOL_ENVIRONMENT_FILES = ("pipx_metadata.json", "uv-receipt.toml")
"""Files in the lasting virtual environments that pipx and uv make for one program."""


def _may_be_deleted() -> bool:
    """Check whether this program is in a virtual environment that is not a tool's own."""
    lasting = any(
        os.path.exists(os.path.join(sys.prefix, name)) for name in _TOOL_ENVIRONMENT_FILES
    )
    return sys.prefix != sys.base_prefix and not lasting


def choose_command(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the command for agents' settings: this program, or a launcher if it may be deleted."""
    if _may_be_deleted():
        return (_find_launcher(environment),)
    return find_own_command()


def write_launcher(environment: Mapping[str, str]) -> None:
    """Point the launcher at this program, if agents start the launcher."""
    if _may_be_deleted():
        _write_script(_find_launcher(environment), find_own_command())


def warn_of_install() -> str:
    """Return a warning if this program is in a virtual environment that may be deleted, or ""."""
    if not _may_be_deleted():
        return ""
    return (
        f"{find_own_command()[0]} is in a virtual environment. If that is deleted, your agents "
        "go on without memory until you install Recollect again and run: recollect init\n"
        "To install it for good: `pipx install .` or `uv tool install .` in Recollect's source"
    )


def connect_agents(
    project: Project,
    environment: Mapping[str, str],
    agents: Sequence[str],
    scope: str,
    remove: bool,
    stamp: str,
) -> tuple[SettingsChange, ...]:
    """Return the planned changes of agents' settings; with a stamp for the backups, apply them."""
    if scope not in ("user", "project"):
        raise InvalidInput(
            f"unknown scope {scope!r}",
            where="scope",
            hint="user or project; for another directory use --project",
        )
    places = locate_settings(project, environment, scope)
    wanted = (agents,) if isinstance(agents, str) else tuple(agents)
    changes = plan_io.cancel_partial(
        plan_io.plan_changes(
            wanted or plan_io.detect_agents(places),
            places,
            choose_command(environment),
            remove=remove,
        )
    )
    if stamp:
        if not remove:
            write_launcher(environment)
        plan_io.apply_changes(changes, find_backup_folder(environment), stamp.replace(":", ""))
        # In the home an empty folder shows that the agent is installed; keep it there.
        if remove and scope == "project":
            plan_io.drop_empty_folders(changes, project.root)
    return tuple(changes)


def find_unstarted_agents(project: Project, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the agents that are installed and were never started."""
    return plan_io.find_unstarted_agents(locate_settings(project, environment, "user"))


def find_backup_folder(environment: Mapping[str, str]) -> str:
    """Return the folder for backups of agents' settings."""
    return os.path.join(user_directory(environment), "backups", "agents")


def locate_settings(
    project: Project, environment: Mapping[str, str], scope: str
) -> plan_io.SettingsPlaces:
    """Return where agents keep their settings for one scope."""
    home = environment.get("HOME") or os.path.expanduser("~")
    return plan_io.SettingsPlaces(home, project.root, environment, scope)


def check_agents(
    project: Project, environment: Mapping[str, str], runs: Sequence[HookRun]
) -> list[Check]:
    """Check each installed agent: connected, approved, used, failed hooks among the last runs."""
    places = [locate_settings(project, environment, scope) for scope in ("user", "project")]
    if os.path.realpath(places[0].home) == os.path.realpath(project.root):
        del places[1]  # in the home itself both scopes are the same files
    command, installed = choose_command(environment), plan_io.detect_agents(places[0])
    found = []
    connected = False
    for agent in registry.AGENTS_WITH_HOOKS:
        changes = [
            change
            for where in places
            for change in plan_io.plan_changes((agent,), where, command, remove=False)
        ]
        states = {change.state for change in changes}
        recent = [run for run in runs if run.host == agent][-_RECENT:]
        if agent in installed or recent or states != {"missing"}:
            found.append(_check_agent(agent, changes, recent, _load_approvals(agent, places)))
        connected = connected or "current" in states
    return found + (_check_program(environment) if connected else [])


def _check_program(environment: Mapping[str, str]) -> list[Check]:
    """Check that the program that agents start exists, and warn if it may be deleted."""
    launcher = _find_launcher(environment)
    program = _read_program(launcher)
    if _may_be_deleted() and not os.access(program, os.X_OK):
        gone = f"agents start {launcher}, but its target is missing: {program or '(none)'}"
        return [Check("program", False, f"{gone}\nfix it: recollect init --yes")]
    warning = warn_of_install()
    return [Check("program", True, warning, waits=True)] if warning else []


def _load_approvals(agent: str, places: Sequence[plan_io.SettingsPlaces]) -> list[HookApproval]:
    """Return the approvals of our hooks in both scopes, where the agent keeps them."""
    found = []
    for where in places:
        try:
            found.append(plan_io.load_approval(agent, where))
        except InvalidInput:
            continue  # an unreadable file is reported already
    return [approval for approval in found if approval]


def _check_agent(
    agent: str,
    places: list[SettingsChange],
    runs: list[HookRun],
    approvals: list[HookApproval],
) -> Check:
    """Return one line about the state, and one more for each thing to do."""
    state = [_describe_connection(places, bool(runs))]
    if approvals and all(approval.complete for approval in approvals):
        state.append("hooks approved")
    if runs:
        spent = sorted(run.milliseconds for run in runs)[len(runs) // 2]
        state += [f"last used {runs[-1].at[:19]}", f"{spent} ms per hook"]
    elif not state[0].startswith("not connected"):
        state.append("not used yet")
    # Hooks that run are approved, even when the agent's file does not list them.
    missing = [one for one in approvals if not one.complete and not (runs and not one.approved)]
    waiting = [
        f"needs approval: {one.approved} of {one.wanted} hooks are approved: {one.step}"
        for one in missing
    ]
    broken = [f"{change.path}: {change.error}" for change in places if change.error]
    if any(change.state == "stale" for change in places):
        broken.append("its settings are from another version or installation: run recollect init")
    failures, is_failing = _describe_failures(runs)
    ok = not (waiting or broken or is_failing)
    lines = [", ".join(state), *waiting, *failures, *broken]
    return Check(
        f"agent {agent}", ok, "\n".join(lines), waits=bool(waiting) and not (broken or is_failing)
    )


_TOO_MANY_LATE = 0.1
"""Share of the recent hooks that may be late without a warning: a busy machine delays some."""


def _describe_failures(runs: list[HookRun]) -> tuple[list[str], bool]:
    """Return lines on recent hooks that failed or ran out of time, and whether they still fail."""
    if not runs:
        return [], False
    late = [run for run in runs if run.outcome == TOO_LATE]
    failed = [run for run in runs if run.outcome not in ("ok", TOO_LATE)]
    lines = []
    if late:
        lines.append(
            f"{len(late)} of the last {len(runs)} hooks ran out of time: their answers did not "
            "reach the agent (a busy machine, a slow disk, or a store that is locked)"
        )
    if failed:
        kinds = ", ".join(sorted({run.outcome for run in failed}))
        lines.append(f"{len(failed)} of the last {len(runs)} hooks failed: {kinds}")
    # Only the last run counts: an earlier failure may be fixed.
    is_failing = runs[-1].outcome != "ok" or len(late) > _TOO_MANY_LATE * len(runs)
    return lines, is_failing


_PARTS = {
    "hooks and mcp": ("hooks", "mcp"),
    "hooks and status line": ("hooks",),
    "plugin": ("hooks",),
}


def _describe_connection(places: list[SettingsChange], used: bool) -> str:
    """Return whether hooks and MCP server are in an agent's settings, in either scope."""
    states: dict[str, set[str]] = {}
    for change in places:
        for part in _PARTS.get(change.what, (change.what,)):
            states.setdefault(part, set()).add(change.state)
    connected = [part for part, found in states.items() if found & {"current", "stale"}]
    if len(connected) == len(states):
        return "connected"
    if connected:
        missing = ", ".join(part for part in states if part not in connected)
        return f"connected ({', '.join(connected)}; no {missing}: run recollect init)"
    # Its hooks came from elsewhere, or from settings that were removed since.
    if used:
        return "not in its settings (connected by a plugin, or removed)"
    return "not connected (recollect init)"


# ---------------------------------------------------------------- the launcher
# A small script that agents start instead of a program in a virtual environment. Its path stays the
# same when the environment is replaced, so settings and approvals stay valid. If the program is
# missing, a hook ends without an error and the agent goes on without memory.

_FIRST_LINES = "#!/bin/sh\n# Start Recollect for coding agents. Written by `recollect init`.\n"
_PROGRAM = "program="
_SEARCH = """\
[ -x "$program" ] || program=$(PATH="$PATH:$HOME/.local/bin" command -v recollect)
if [ -x "$program" ] && ! [ "$program" -ef "$0" ]; then exec "$program" "$@"; fi
if [ "$1" = hook ]; then cat > /dev/null; exit 0; fi
echo "recollect is not installed where it was. Install it, then run: recollect init" >&2
exit 127
"""
"""The part of the script that searches PATH if the program is missing, or exits."""


def _find_launcher(environment: Mapping[str, str]) -> str:
    """Return the path of the script."""
    return os.path.join(user_directory(environment), "bin", "recollect")


def _write_script(path: str, command: Command) -> None:
    """Write the script for a program, unless it is there already."""
    text = _render_script(command)
    if _read_text(path) == text:
        return
    make_folder(os.path.dirname(os.path.dirname(path)))
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    plan_io.write_atomically(path, text, 0o700)


def _render_script(command: Command) -> str:
    program, *words = command
    first = f"{_PROGRAM}{shlex.quote(program)}\n"
    # With further words the program is a Python interpreter, which PATH would not find.
    run = f'[ -x "$program" ] && exec "$program" {shlex.join(words)} "$@"\n' if words else ""
    return _FIRST_LINES + first + run + _SEARCH


def _read_program(path: str) -> str:
    """Return the program that the script starts, or "" if there is none."""
    lines = _read_text(path).splitlines()
    found = next((line for line in lines if line.startswith(_PROGRAM)), "")
    return shlex.split(found.removeprefix(_PROGRAM))[0] if found else ""


def _read_text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return ""
