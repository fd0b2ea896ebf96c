"""Operations on the settings: get, set and list them, in their files."""

from __future__ import annotations

import json
import os
import re

from .. import config
from ..context import Context, new_id
from ..errors import ConfigError, InvalidInput
from ..project import make_folder, user_directory, write_private
from ..secrets import redaction
from ..types import trust
from ..types.reports import ConfigPaths, SettingChanged, SettingValue
from ..undo import sql as undo_sql
from ..undo import steps as undo_steps

Value = bool | int | float | str


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
    context: Context, setting: config.Setting, value: Value | None, scope: str
) -> SettingChanged:
    hint = "run `recollect config set` at a terminal"
    trust.require_person(context.origin, "change the settings", where=setting.name, hint=hint)
    if scope not in ("user", "project"):
        raise InvalidInput(f"unknown scope {scope!r}", where="scope", hint="user or project")
    paths = find_paths(context)
    path = paths.user if scope == "user" else paths.project
    before = read_setting(path, setting.name)
    write_setting(path, setting.name, value, is_private=scope == "user")
    if before != value:
        _record(context, setting.name, path, before, value)
    now = _value(context, setting)
    shown = "" if value is None else _show(setting, value)
    return SettingChanged(setting.name, shown, path, now.value, now.source)


def _record(
    context: Context,
    name: str,
    path: str,
    before: Value | None,
    value: Value | None,
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


# ---------------------------------------------------------------- files


def write_setting(path: str, name: str, value: Value | None, is_private: bool) -> None:
    """Set a key at the top level of a file; None removes it."""
    lines = _read_lines(path)
    own = re.compile(rf'\s*"?{re.escape(name)}"?\s*=')
    table = next((at for at, line in enumerate(lines) if line.lstrip().startswith("[")), len(lines))
    places = [at for at, line in enumerate(lines[:table]) if own.match(line)]
    new = [] if value is None else [f"{name} = {_render(value)}"]
    if places:
        lines[places[0] : places[0] + 1] = new
    else:
        lines[table:table] = new
    text = "\n".join(lines) + "\n" if lines else ""
    _check(path, text)
    if is_private:
        make_folder(os.path.dirname(path))
        write_private(path, text)
        return
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def read_setting(path: str, name: str) -> Value | None:
    """Return the value of a key at the top level of a file; None without one."""
    import tomllib

    value = tomllib.loads("\n".join(_read_lines(path))).get(name)
    return value if isinstance(value, Value) else None


def _read_lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().splitlines()
    except FileNotFoundError:
        return []


def _render(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    # A JSON text is a basic string of TOML.
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _check(path: str, text: str) -> None:
    """Refuse a change that would leave an invalid file, such as one inside a multi-line text."""
    import tomllib

    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"the file cannot be changed safely: {error}",
            where=path,
            hint="edit it by hand: recollect config edit",
        ) from error
