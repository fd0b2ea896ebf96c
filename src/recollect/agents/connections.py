"""Connect agents to this program, and check the connections for `doctor`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from ..errors import InvalidInput
from ..project import Project, private_folder, user_directory
from ..types.agents import SettingsChange
from ..types.records import Check
from . import hook_log_io, registry
from .settings import plan_io
from .settings.entries import HookApproval

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


def describe_unstable_install() -> str:
    """Return a warning if this program is in a virtual environment that may be deleted, or ""."""
    lasting = any(
        os.path.exists(os.path.join(sys.prefix, name)) for name in _TOOL_ENVIRONMENT_FILES
    )
    if lasting or sys.prefix == sys.base_prefix:
        return ""
    return (
        f"agents start {find_own_command()[0]}, which is in a virtual environment ({sys.prefix})\n"
        "If it is deleted or moved, agents run without memory and report failed hooks.\n"
        "For a lasting path: `pipx install .` or `uv tool install .` in Recollect's source, "
        "then `recollect init`"
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
    there = locate_settings(project, environment, scope)
    wanted = (agents,) if isinstance(agents, str) else tuple(agents)
    changes = plan_io.plan_changes(
        wanted or plan_io.detect_agents(there), there, find_own_command(), remove=remove
    )
    if stamp:
        plan_io.apply_changes(changes, find_backup_folder(environment), stamp.replace(":", ""))
        # In the home an empty folder shows that the agent is installed; keep it there.
        if remove and scope == "project":
            plan_io.drop_empty_folders(changes, project.root)
    return tuple(changes)


def find_backup_folder(environment: Mapping[str, str]) -> str:
    """Return the folder for backups of agents' settings."""
    return os.path.join(user_directory(environment), "backups", "agents")


def get_next_step(agent: str) -> str:
    """Return what the user has to do before a change takes effect in an agent."""
    return plan_io.NEXT_STEPS[agent]


def locate_settings(
    project: Project, environment: Mapping[str, str], scope: str
) -> plan_io.SettingsPlaces:
    """Return where agents keep their settings for one scope."""
    home = environment.get("HOME") or os.path.expanduser("~")
    return plan_io.SettingsPlaces(home, project.root, environment, scope)


def check_agents(project: Project, environment: Mapping[str, str]) -> list[Check]:
    """Check each installed agent: connected, approved, used, failed hooks."""
    user = user_directory(environment)
    runs = hook_log_io.read_runs((private_folder(user, project.root), user))
    seen = {run.host for run in runs}
    found = []
    connected = False
    for agent in registry.AGENTS_WITH_HOOKS:
        places = [
            change
            for scope in ("user", "project")
            for change in plan_io.plan_changes(
                (agent,),
                locate_settings(project, environment, scope),
                find_own_command(),
                remove=False,
            )
        ]
        here = agent in plan_io.detect_agents(locate_settings(project, environment, "user"))
        if here or agent in seen or any(change.state != "missing" for change in places):
            recent = [run for run in runs if run.host == agent][-_RECENT:]
            approvals = _load_approvals(agent, project, environment)
            found.append(_check_agent(agent, places, recent, approvals))
        connected = connected or any(change.state == "current" for change in places)
    if connected and (warning := describe_unstable_install()):
        found.append(Check("program", True, warning))
    return found


def _load_approvals(
    agent: str, project: Project, environment: Mapping[str, str]
) -> list[HookApproval]:
    """Return the approvals of our hooks in both scopes, where the agent keeps them."""
    found = []
    for scope in ("user", "project"):
        try:
            found.append(plan_io.load_approval(agent, locate_settings(project, environment, scope)))
        except InvalidInput:
            continue  # an unreadable file is reported already
    return [approval for approval in found if approval]


def _check_agent(
    agent: str,
    places: list[SettingsChange],
    runs: list[hook_log_io.HookRun],
    approvals: list[HookApproval],
) -> Check:
    """Return one line about the state, and one more for each thing to do."""
    failed = [run for run in runs if run.outcome != "ok"]
    state = [_describe_connection(places, bool(runs))]
    if approvals and all(approval.complete for approval in approvals):
        state.append("hooks approved")
    if runs:
        spent = sorted(run.milliseconds for run in runs)[len(runs) // 2]
        state += [f"last used {runs[-1].at[:19]}", f"{spent} ms per hook"]
    elif not state[0].startswith("not connected"):
        state.append("not used yet")
    todo = []
    if any(change.state == "stale" for change in places):
        todo.append("its settings are from another version or installation: run recollect init")
    if failed:
        kinds = ", ".join(sorted({run.outcome for run in failed}))
        todo.append(f"{len(failed)} of the last {len(runs)} hooks failed: {kinds}")
    # Hooks that run are approved, even when the agent's file does not list them.
    missing = [one for one in approvals if not one.complete and not (runs and not one.approved)]
    todo += [f"{one.approved} of {one.wanted} hooks are approved: {one.step}" for one in missing]
    wrong = [f"{change.path}: {change.error}" for change in places if change.error]
    # Only the last run counts: an earlier failure may be fixed.
    ok = not (wrong or missing or (runs and runs[-1].outcome != "ok"))
    ok = ok and all(change.state != "stale" for change in places)
    return Check(f"agent {agent}", ok, "\n".join([", ".join(state), *todo, *wrong]))


_PARTS = {"hooks and mcp": ("hooks", "mcp"), "plugin": ("hooks",)}


def _describe_connection(places: list[SettingsChange], used: bool) -> str:
    """Return whether hooks and MCP server are in an agent's settings, in either scope."""
    states: dict[str, set[str]] = {}
    for change in places:
        for part in _PARTS.get(change.what, (change.what,)):
            states.setdefault(part, set()).add(change.state)
    there = [part for part, found in states.items() if found & {"current", "stale"}]
    if len(there) == len(states):
        return "connected"
    if there:
        missing = ", ".join(part for part in states if part not in there)
        return f"connected ({', '.join(there)}; no {missing}: run recollect init)"
    # Its hooks came from elsewhere, or from settings that were removed since.
    if used:
        return "not in its settings (connected by a plugin, or removed)"
    return "not connected (recollect init)"
