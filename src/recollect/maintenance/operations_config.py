"""Operations on the settings: get, set, list, and where the files are."""

from __future__ import annotations

import json
import os

from .. import config
from ..context import Context, new_id
from ..errors import InvalidInput
from ..project import user_directory
from ..secrets import redaction
from ..types import trust
from ..types.reports import ConfigPaths, SettingChanged, SettingValue
from ..undo import sql as undo_sql
from ..undo import steps as undo_steps
from . import files_io


def get_setting(context: Context, name: str) -> SettingValue:
    """Show the effective value of a setting, and which file or variable set it.

    name: the name of the setting

    Example: recollect config get briefing_budget
    """
    return _value(context, config.find_setting(name, "recollect config"))


def list_settings(context: Context) -> tuple[SettingValue, ...]:
    """List all settings with their effective values and sources.

    Example: recollect config list
    """
    return tuple(_value(context, setting) for setting in config.SETTINGS)


def set_setting(context: Context, name: str, value: str, scope: str = "user") -> SettingChanged:
    """Write a setting to your own configuration, or to the repository's.

    name: the name of the setting
    value: its value
    scope: user (your own file, for all projects) or project (recollect.toml in the repository,
        which may only switch off or lower)

    Example: recollect config set briefing_budget 400
    Example: recollect config set capture false --scope project
    """
    setting = config.find_setting(name, "recollect config")
    if scope == "project" and setting.project == "no":
        raise InvalidInput(
            f"a repository cannot set {name}", where="scope", hint="leave --scope project out"
        )
    return _write(context, setting, config.parse_value(setting, value, "config set"), scope)


def unset_setting(context: Context, name: str, scope: str = "user") -> SettingChanged:
    """Remove a setting from your own configuration, or from the repository's.

    name: the name of the setting
    scope: user (your own file) or project (recollect.toml in the repository)

    Example: recollect config unset briefing_budget
    """
    return _write(context, config.find_setting(name, "recollect config"), None, scope)


def _write(
    context: Context, setting: config.Setting, value: files_io.Value | None, scope: str
) -> SettingChanged:
    hint = "run `recollect config set` at a terminal"
    trust.require_person(context.origin, "change the settings", where=setting.name, hint=hint)
    if scope not in ("user", "project"):
        raise InvalidInput(f"unknown scope {scope!r}", where="scope", hint="user or project")
    paths = find_paths(context)
    path = paths.user if scope == "user" else paths.project
    before = files_io.read_setting(path, setting.name)
    files_io.write_setting(path, setting.name, value, is_private=scope == "user")
    if before != value:
        _record(context, setting.name, path, before, value)
    now = _value(context, setting)
    shown = "" if value is None else _show(setting, value)
    return SettingChanged(setting.name, shown, path, now.value, now.source)


def _record(
    context: Context,
    name: str,
    path: str,
    before: files_io.Value | None,
    value: files_io.Value | None,
) -> None:
    """Record how to undo a change: one of the user's own file in the user's space."""
    is_private = path == find_paths(context).user
    is_here = context.project_space.present() and not is_private
    space = context.writable(context.project_space if is_here else context.user_space)
    body = {
        "what": f"removed the setting {name}" if value is None else f"set {name}",
        "text": "",
        "origin": context.origin,
        "path": path,
        "name": name,
        "before": before,
        "after": value,
        "is_private": is_private,
    }
    is_secret = json.loads(redaction.redact_json(body).text) != body
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


def _value(context: Context, setting: config.Setting) -> SettingValue:
    user = user_directory(context.environment)
    found = config.collect_settings(context.project.root, user, context.environment)
    value, source = found.get(setting.name, (setting.default, "default"))
    return SettingValue(setting.name, _show(setting, value), source, setting.help)


def _show(setting: config.Setting, value: object) -> str:
    """Return a value as it is typed; keys and passwords are not shown."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    if setting.name == "embedder_key" and text:
        return "(set, not shown)"
    if setting.name == "database" and "@" in text:
        lead, _, place = text.rpartition("@")
        return f"{lead.partition('://')[0]}://…@{place}"
    return text
