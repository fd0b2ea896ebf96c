"""Operations on the store and the agent connections (init, stats, rebuild, backup, adopt, doctor),
on settings, and on the PostgreSQL server of a team."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from .. import config, nested_stores
from ..agents import operations_transcripts as agents_operations_transcripts
from ..agents import steps_hooks as agents_steps_hooks
from ..autonomous import operations as autonomous_operations
from ..briefing import steps_follow_up as briefing_steps_follow_up
from ..context import Context, new_id
from ..errors import InvalidInput, NotFound, StoreError
from ..fast_typing import NamedTuple
from ..index import steps as index_steps
from ..lessons import steps_schedule as lessons_steps_schedule
from ..memory import operations as memory_operations
from ..project import find_project, mark_project, user_directory
from ..recall import operations as recall_operations
from ..recall import steps_reindex as recall_steps_reindex
from ..review import operations as review_operations
from ..secrets import redaction
from ..storage.database import ServerMember, ServerStatement
from ..text import display
from ..types import records, reports, trust
from ..types.reports import ConfigPaths, SettingChanged, SettingValue
from ..undo import sql as undo_sql
from ..undo import steps as undo_steps
from . import steps


def initialise(
    context: Context,
    agent: Sequence[str] = (),
    scope: str = "user",
    yes: bool = False,
    check: bool = False,
    remove: bool = False,
    diff: bool = False,
    import_: bool = False,
) -> reports.Initialised:
    """Set up the memory of this project and connect your agents.

    agent: only these agents: claude-code, codex, gemini, opencode, copilot, cursor; by default all
        that you have started before
    scope: user (your own settings, for all projects) or project (the repository's)
    yes: write the agents' settings without asking; a backup of each file is kept
    check: change nothing, report whether all agents are connected
    remove: remove our entries from the agents' settings; the memory stays
    diff: change nothing, show every line that would be written
    import_: also import this project's past conversations

    Example: recollect init
    Example: recollect init --yes --import
    Example: recollect init claude-code codex --yes
    """
    from ..agents import connections

    writes, sets_up = yes and not (check or diff), not (check or diff or remove)
    place = (context.project, context.environment, agent, scope, remove)
    changes = connections.connect_agents(*place, "")
    # Fail on a refused store before any agent's settings are written.
    created = sets_up and _make_project(context)
    if writes:
        changes = connections.connect_agents(*place, display.format_time(context.clock()))
    read = agents_operations_transcripts.import_transcripts
    unstarted = connections.find_unstarted_agents(context.project, context.environment)
    return reports.Initialised(
        root=context.project.root,
        database=context.project.database,
        created=created,
        changes=changes,
        applied=writes,
        checked=check,
        below=nested_stores.find_below(find_project(context.project.root)),
        past=agents_operations_transcripts.count_unread(context) if sets_up and not import_ else 0,
        former=agents_operations_transcripts.find_former_places(context) if sets_up else {},
        unstarted=() if agent or remove else unstarted,
        imported=read(context) if sets_up and import_ else None,
        removing=remove,
        diff=diff,
        exists=os.path.exists(context.project.database),
        backups=connections.find_backup_folder(context.environment),
        warning=connections.warn_of_install() if changes and not remove else "",
    )


def _make_project(context: Context) -> bool:
    created = not os.path.exists(context.project.database)
    if context.settings.mode != "incognito":
        mark_project(context.project)
    context.project_space.write(lambda tx: tx.one("SELECT 1"))
    return created


def stats(context: Context) -> steps.Stats:
    """Count memories, sessions and documents by kind, layer and status.

    Example: recollect stats --json
    """
    memory_operations.write_recalls(context)
    now = context.clock()
    found = steps.collect_stats((context.project_space, context.user_space), now)
    consolidation = context.project_space.read(
        lambda tx: lessons_steps_schedule.describe_last_run(tx, now)
    )
    in_time = context.project_space.read(briefing_steps_follow_up.count_moments)
    autonomous = autonomous_operations.describe(context)
    return found._replace(consolidation=consolidation, in_time=in_time, autonomous=autonomous)


def rebuild(context: Context, missing: bool = False) -> steps.RebuildResult:
    """Rebuild the search index: words, then vectors.

    Nothing else changes, and searching works meanwhile.

    missing: only index records without an index, such as those of a migrated store, and make
        missing vectors

    Example: recollect rebuild
    Example: recollect rebuild --missing
    """
    spaces, again = context.present_spaces(), recall_steps_reindex.rebuild_index
    for space in spaces:
        space.use_new_features()
    if missing:
        indexed = recall_operations.reindex_outdated(context)
    else:
        indexed = recall_operations.reindex_spaces(context, spaces, again)
    made = recall_operations.make_vectors(context)
    embedder = context.embedder()
    return steps.RebuildResult(indexed, made, embedder.id if embedder else "")


def backup(context: Context, path: str) -> steps.BackedUp:
    """Back up the project's store to a new file, safely while others write.

    path: the new file; an existing one is never overwritten

    Example: recollect backup ~/memory-copy.db
    """
    target = os.path.abspath(os.path.expanduser(path))
    return steps.BackedUp(target, context.project_space.backup(target))


def adopt(context: Context, trust: bool = False) -> steps.Adopted:
    """Adopt a store that was made elsewhere, such as a backup.

    trust: the store is your own, and its memories stay in use; without it they are quarantined
        until you confirm them

    Example: recollect adopt
    Example: recollect adopt --trust
    """
    return steps.adopt_store(context.project_space, context.project.database, trust, context.origin)


def doctor(context: Context) -> steps.Diagnosis:
    """Check the store and the agent connections.

    Example: recollect doctor
    """
    spaces = {"project": context.project_space, "user": context.user_space}
    from ..agents import connections

    checks = steps.check_spaces(spaces, new_id("check"), context.clock(), context.replica)
    checks.append(records.Check("mode", True, context.settings.mode))
    checks += [
        records.Check("settings", True, line, waits=True) for line in _describe_ignored(context)
    ]
    runs = agents_steps_hooks.read_known_runs(context)
    checks += connections.check_agents(context.project, context.environment, runs)
    for check in (_check_search, _check_consolidation, _check_autonomous, _check_review):
        try:
            checks += filter(None, [check(context)])
        except StoreError:
            continue  # the check of the store reports it
    checks += [
        records.Check("stores below", False, f"not used, as it belongs to this project: {path}")
        for path in nested_stores.find_below(context.project)
    ]
    return steps.Diagnosis(all(check.ok or check.waits for check in checks), tuple(checks))


def _describe_ignored(context: Context) -> list[str]:
    """Return a line for each setting of the repository that has no effect."""
    found = config.find_ignored(context.project.root)
    return [
        f"{where}: {name} = {_show_value(config.find_setting(name, where), value)} has no effect, "
        f"as a repository can only reduce. Yours: recollect config set {name} VALUE"
        for name, (value, where) in found.items()
    ]


def _check_search(context: Context) -> records.Check:
    """Check whether search by meaning works."""
    try:
        spaces = context.present_spaces()
        coverage = [space.read(index_steps.measure_coverage) for space in spaces]
        unindexed = sum(space.read(recall_steps_reindex.count_unindexed) for space in spaces)
    except StoreError as error:
        return records.Check("meaning", False, str(error))
    return steps.check_embedder(context.embedder(), coverage, unindexed)


def _check_consolidation(context: Context) -> records.Check:
    """Check whether consolidation runs."""
    now = context.clock()
    return context.project_space.read(lambda tx: lessons_steps_schedule.check_schedule(tx, now))


def _check_autonomous(context: Context) -> records.Check | None:
    """Check whether autonomous memory works, where it is switched on or has run."""
    state = autonomous_operations.describe(context)
    return records.Check("autonomous memory", "failed: " not in state, state) if state else None


def _check_review(context: Context) -> records.Check:
    """Report how many items wait for review; this check never fails."""
    waiting = review_operations.count_review(context)
    text = f"{display.format_count(waiting, 'item')} waiting; answer: recollect review"
    return records.Check("review", True, text if waiting else "nothing waits")


# ---------------------------------------------------------------- settings


def get_setting(context: Context, name: str) -> SettingValue:
    """Show the effective value of a setting, and which file or variable set it.

    name: the name of the setting

    Example: recollect config get briefing_budget
    """
    (found,) = _read_values(context, [config.find_setting(name)])
    return found


def list_settings(context: Context) -> tuple[SettingValue, ...]:
    """List all settings with their effective values and sources.

    Example: recollect config list
    """
    return _read_values(context, config.SETTINGS)


def set_setting(context: Context, name: str, value: str, scope: str = "user") -> SettingChanged:
    """Write a setting to your own configuration, or to the repository's.

    name: the name of the setting
    value: its value
    scope: user (your own file, for all projects) or project (recollect.toml in the repository,
        which may only switch off or lower)

    Example: recollect config set briefing_budget 400
    Example: recollect config set capture false --scope project
    """
    setting = config.find_setting(name)
    if scope == "project" and setting.project == "no":
        raise InvalidInput(
            f"a repository cannot set {name}", where="scope", hint="leave --scope project out"
        )
    parsed = config.parse_value(setting, value, "config set")
    if scope == "project" and config.is_raised(setting, parsed):
        raise InvalidInput(
            f"a repository can only reduce {name}, and the default is "
            f"{_show_value(setting, setting.default)}",
            where="scope",
            hint="leave --scope project out",
        )
    return _write_setting(context, setting, parsed, scope)


def unset_setting(context: Context, name: str, scope: str = "user") -> SettingChanged:
    """Remove a setting from your own configuration, or from the repository's.

    name: the name of the setting
    scope: user (your own file) or project (recollect.toml in the repository)

    Example: recollect config unset briefing_budget
    """
    return _write_setting(context, config.find_setting(name), None, scope)


def _write_setting(
    context: Context, setting: config.Setting, value: config.Value | None, scope: str
) -> SettingChanged:
    hint = "run `recollect config set` at a terminal"
    trust.require_person(context.origin, "change the settings", where=setting.name, hint=hint)
    if scope not in ("user", "project"):
        raise InvalidInput(f"unknown scope {scope!r}", where="scope", hint="user or project")
    paths = find_paths(context)
    path = paths.user if scope == "user" else paths.project
    before = config.read_setting(path, setting.name)
    config.write_setting(path, setting.name, value, is_private=scope == "user")
    if before != value:
        _record_setting(context, setting, path, before, value)
    (now,) = _read_values(context, [setting])
    shown = "" if value is None else _show_value(setting, value)
    return SettingChanged(setting.name, shown, path, now.value, now.source)


def _record_setting(
    context: Context,
    setting: config.Setting,
    path: str,
    before: config.Value | None,
    value: config.Value | None,
) -> None:
    """Record how to undo a change of a setting: in the user's space for the user's own file."""
    is_private = path == find_paths(context).user
    is_here = context.project_space.present() and not is_private
    space = context.writable(context.project_space if is_here else context.user_space)
    body = {
        "what": f"removed the setting {setting.name}" if value is None else f"set {setting.name}",
        "text": "",
        "origin": context.origin,
        "path": path,
        "name": setting.name,
        "before": before,
        "after": value,
        "is_private": is_private,
    }
    is_secret = setting.is_secret or json.loads(redaction.redact_json(body).text) != body
    if is_secret:
        body |= {"before": None, "after": None}
    safe = redaction.redact_json({**body, "is_secret": is_secret}).text
    now, id = context.clock(), new_id("u")
    space.write(lambda tx: undo_sql.insert(tx, id, undo_steps.SETTING, safe, now))


def find_paths(context: Context) -> ConfigPaths:
    """Show the files that settings are read from.

    Example: recollect config path
    """
    return ConfigPaths(
        user=os.path.join(user_directory(context.environment), config.USER_FILE),
        project=os.path.join(context.project.root, config.PROJECT_FILE),
    )


def _read_values(context: Context, settings: Sequence[config.Setting]) -> tuple[SettingValue, ...]:
    user = user_directory(context.environment)
    found = config.collect_settings(context.project.root, user, context.environment)
    ignored = config.find_ignored(context.project.root)
    values = []
    for setting in settings:
        value, source = found.get(setting.name, (setting.default, "default"))
        rejected = ignored.get(setting.name)
        values.append(
            SettingValue(
                name=setting.name,
                value=_show_value(setting, value),
                # A value that a repository may not set has no effect: the default holds.
                source="default" if rejected and source == "project" else source,
                help=setting.help,
                ignored=_show_value(setting, rejected[0]) if rejected else "",
            )
        )
    return tuple(values)


def _show_value(setting: config.Setting, value: object) -> str:
    """Return a value as it is typed; keys and passwords are not shown."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = display.hide_password(str(value))
    if setting.is_secret and text:
        return "(set, not shown)"
    if "://" in text and "@" in text:
        lead, _, place = text.rpartition("@")
        return f"{lead.partition('://')[0]}://…@{place}"
    return text


# ---------------------------------------------------------------- a server that a team shares


class ServerSetup(NamedTuple):
    """The statements that set up a server, and whether those of the owner were run."""

    statements: tuple[ServerStatement, ...]
    applied: bool


def server_setup(
    context: Context, owner: str = "", member: Sequence[str] = (), apply: bool = False
) -> ServerSetup:
    """Set up a PostgreSQL server for a team. Shows the SQL first.

    owner: the role that owns the tables, for the SQL that is shown (by default the one that the
        address names)
    member: the role of a person (repeat for several)
    apply: make the tables and the members' rights; run it as the role that owns the tables

    Example: recollect server setup --member alice --member bob
    Example: recollect server setup --member alice --apply
    """
    if apply:
        _require_person(context, "setup")
    done = context.project_space.server().setup(owner, member, apply)
    return ServerSetup(done, apply)


def server_grant(context: Context, role: str, space: str, read_only: bool = False) -> ServerMember:
    """Give a role access to a shared space. Run it as the role that owns the tables.

    role: the role that the person connects with
    space: the name of the space; members set RECOLLECT_SPACE to it
    read_only: the role may not write

    Example: recollect server grant alice our-product
    """
    _require_person(context, "grant")
    _check_name("role", role)
    _check_name("space", space)
    context.project_space.server().grant(role, space, not read_only)
    return ServerMember(space, role, not read_only)


def server_revoke(context: Context, role: str, space: str) -> bool:
    """End the membership of a role in a space. Run it as the role that owns the tables.

    role: the role that the person connects with
    space: the name of the space

    Example: recollect server revoke alice our-product
    """
    _require_person(context, "revoke")
    server = context.project_space.server()
    if not server.revoke(role, space):
        known = any(member.space == space for member in server.members())
        problem = f"{role} was not granted {space}" if known else f"there is no space {space}"
        raise NotFound(problem, where=space, hint="`recollect server members` lists the members")
    return True


def server_members(context: Context) -> tuple[ServerMember, ...]:
    """List the members of each space; only the owner of the tables sees all.

    Example: recollect server members
    """
    return tuple(context.project_space.server().members())


def _require_person(context: Context, command: str) -> None:
    """Raise Refused for an agent: a membership opens another project's space."""
    hint = f"run `recollect server {command}` yourself"
    trust.require_person(context.origin, "change the members of a server", hint=hint)


def _check_name(field: str, name: str) -> None:
    if not name.strip() or "\0" in name:
        raise InvalidInput(f"the {field} is empty", where=field)
