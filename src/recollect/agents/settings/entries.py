"""Add our hooks and MCP server to the text of agents' settings files, and remove them.

Each agent's `hooks` module describes its entries; this module inserts, finds and removes them
without touching other entries. A file that we created and emptied is returned as "": delete it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ...errors import InvalidInput
from ...types.records import Json
from . import json_edit, toml_edit

SERVER = "recollect"

Command = Sequence[str]
"""The program with an absolute path and its first arguments, without `hook` or `mcp`."""


class SettingsEditor(NamedTuple):
    """Three functions of a file's text; `status` returns missing, stale or current."""

    install: Callable[[str, Command], str]
    remove: Callable[[str], str]
    status: Callable[[str, Command], str]


class SettingsFile(NamedTuple):
    """A settings file of an agent. `what` is hooks, mcp or plugin, or two of them with "and"."""

    path: str
    what: str
    scope: str
    editor: SettingsEditor


class HookApproval(NamedTuple):
    """The number of our hooks that the user approved; `step` is the next thing to do."""

    approved: int
    wanted: int
    step: str = ""

    @property
    def complete(self) -> bool:
        return self.approved >= self.wanted


class Hook(NamedTuple):
    """A hook to register: the timeout in the agent's own unit, and the matcher that limits it.

    `more` are further members of its handler.
    """

    timeout: int
    matcher: str = ""
    more: Mapping[str, Json] = {}


class HookFormat(NamedTuple):
    """How an agent lists hooks: those of each event, and how an entry is written.

    `lead` are the members of a handler before its command. Handlers are in groups with a matcher,
    unless the agent lists them without. `extras` are members that a new file needs next to the
    hooks.
    """

    events: Mapping[str, Hook]
    lead: Mapping[str, Json] = {"type": "command"}
    is_grouped: bool = True
    extras: Mapping[str, Json] = {}

    def make_entries(self, line: str) -> dict[str, dict[str, Json]]:
        """Return the entry of each event that runs a shell line."""
        made = {}
        for event, hook in self.events.items():
            handler = {**self.lead, "command": line, "timeout": hook.timeout, **hook.more}
            matcher = {"matcher": hook.matcher} if hook.matcher else {}
            made[event] = {**matcher, **({"hooks": [handler]} if self.is_grouped else handler)}
        return made


def server_entry(command: Command, *more: str) -> dict[str, Json]:
    """Return the usual entry of our MCP server."""
    return {"command": command[0], "args": [*command[1:], "mcp", *more]}


def list_files(
    user: str, project: str, *rows: tuple[str, SettingsEditor, str, str]
) -> tuple[SettingsFile, ...]:
    """Return the settings files in the folders of the user and of the project, given rows of their
    content, their editor, and their names in both folders."""
    return tuple(
        SettingsFile(os.path.join(folder, name), what, scope, editor)
        for what, editor, *names in rows
        for scope, folder, name in zip(("user", "project"), (user, project), names, strict=True)
    )


def render_hook_command(command: Command) -> str:
    """Return the hook command as a shell string, the only form that all agents accept."""
    import shlex

    return shlex.join([*command, "hook"])


def is_own_command(line: Json, last: Sequence[str] = ("hook",)) -> bool:
    """Check whether a shell string starts our hook, from any installation path."""
    import shlex

    if not isinstance(line, str) or "recollect" not in line:
        return False
    try:
        words = shlex.split(line)
    except ValueError:
        return False
    if len(words) <= len(last) or words[-len(last) :] != list(last):
        return False
    program = os.path.basename(words[-len(last) - 1]).lower()
    return program in ("recollect", "recollect.exe")


def make_json_editor(
    *,
    hooks: HookFormat | None = None,
    servers: str = "",
    server: Callable[[Command], dict[str, Json]] | None = None,
) -> SettingsEditor:
    """Return an editor of a JSON file: hooks under `hooks`, a server under `servers`, or both."""
    keys = ("hooks", servers)

    def install(text: str, command: Command) -> str:
        if status(text, command) == "current":
            return text
        text = remove(text)
        if hooks:
            text = _add_hooks(text, hooks, render_hook_command(command))
        if server:
            text = json_edit.add_member(
                text, (servers, SERVER), json_edit.render_value(server(command))
            )
        return text

    def remove(text: str) -> str:
        if not text.strip():
            return text
        # From last to first: removing an entry keeps the positions before it.
        for place in reversed(_find_own_paths(json_edit.parse(text, keys), bool(hooks), servers)):
            before, text = text, json_edit.remove_path(text, place)
            if not text or (hooks and _holds_only_extras(before, text, hooks)):
                return ""
        return text

    def status(text: str, command: Command) -> str:
        if not text.strip():
            return "missing"
        root = json_edit.parse(text, keys).value
        wanted: list[Json] = []
        current: list[Json] = []
        if hooks:
            line = render_hook_command(command)
            wanted = list(hooks.make_entries(line).items())
            current = [
                (event, group) for event, _, group, own in _walk_own_groups(root) for _ in own
            ]
        if server:
            wanted.append(server(command))
            entry = _as_dict(_as_dict(root).get(servers)).get(SERVER)
            current += [] if entry is None else [entry]
        if not current:
            return "missing"
        return "current" if _is_same(wanted, current) else "stale"

    return SettingsEditor(install, remove, status)


_STATUS_LINE = "statusLine"
_STATUS_LINE_WORDS = ("hook", "--status-line")


def add_status_line(editor: SettingsEditor) -> SettingsEditor:
    """Return an editor that also adds our status line to a file that has none."""

    def install(text: str, command: Command) -> str:
        if status(text, command) != "current":
            text = editor.install(remove(text), command)
        if _find_status_line(text) is not None:
            return text
        return json_edit.add_member(text, (_STATUS_LINE,), json_edit.render_value(line(command)))

    def remove(text: str) -> str:
        # Added last, removed first, so that the original file is restored.
        if _is_own_status_line(_find_status_line(text)):
            text = json_edit.remove_path(text, (_STATUS_LINE,))
        return editor.remove(text)

    def status(text: str, command: Command) -> str:
        # A status line that the user removed, or one of their own, is not missing.
        state, found = editor.status(text, command), _find_status_line(text)
        is_stale = _is_own_status_line(found) and found != line(command)
        return "stale" if state == "current" and is_stale else state

    def line(command: Command) -> dict[str, Json]:
        import shlex

        return {"type": "command", "command": shlex.join([*command, *_STATUS_LINE_WORDS])}

    return SettingsEditor(install, remove, status)


def _find_status_line(text: str) -> Json:
    return _as_dict(json_edit.parse(text, ()).value).get(_STATUS_LINE) if text.strip() else None


def _is_own_status_line(value: Json) -> bool:
    return is_own_command(_as_dict(value).get("command"), _STATUS_LINE_WORDS)


def _add_hooks(text: str, hooks: HookFormat, line: str) -> str:
    made = hooks.make_entries(line).items()
    groups = {event: json_edit.render_value(entry) for event, entry in made}
    if text.strip() and "hooks" in _as_dict(json_edit.parse(text, ("hooks",)).value):
        for event, group in groups.items():
            text = json_edit.append_element(text, ("hooks", event), group)
        return text
    new = not text.strip()
    line_end = "\r\n" if "\r\n" in text else "\n"
    members = f",{line_end}    ".join(
        f"{json_edit.render_value(event)}: [{group}]" for event, group in groups.items()
    )
    text = json_edit.add_member(text, ("hooks",), "{" + members + "}")
    for key, value in hooks.extras.items() if new else ():
        text = json_edit.add_member(text, (key,), json_edit.render_value(value))
    return text


def _holds_only_extras(before: str, after: str, hooks: HookFormat) -> bool:
    """Check whether a file that we created holds nothing but our extras now."""
    if not hooks.extras:
        return False
    began = json_edit.parse(before, ()).children[0]
    return began.key == "hooks" and json_edit.parse(after, ()).value == dict(hooks.extras)


def _find_own_paths(
    root: json_edit.JsonNode, hooks: bool, servers: str
) -> list[tuple[str | int, ...]]:
    """Return the paths of all our entries in the order of the file."""
    found: list[tuple[str | int, ...]] = []
    if servers and SERVER in _as_dict(_as_dict(root.value).get(servers)):
        found.append((servers, SERVER))
    for event, place, group, own in _walk_own_groups(root.value) if hooks else ():
        if len(own) == len(_handlers(group)):
            found.append(("hooks", event, place))
        else:
            found += [("hooks", event, place, "hooks", n) for n in own]
    return found


def find_own_handlers(text: str) -> list[tuple[str, int, int]]:
    """Return event, group index and index in the group of each of our handlers."""
    root = json_edit.parse(text, ("hooks",)).value if text.strip() else None
    return [(event, group, n) for event, group, _, own in _walk_own_groups(root) for n in own]


def _walk_own_groups(root: Json) -> Iterator[tuple[str, int, Json, list[int]]]:
    """Yield the groups with handlers of ours: event, index, the group, our indexes in it."""
    for event, groups in _as_dict(_as_dict(root).get("hooks")).items():
        for place, group in enumerate(groups if isinstance(groups, list) else ()):
            lines = [_as_dict(handler).get("command") for handler in _handlers(group)]
            if own := [n for n, line in enumerate(lines) if is_own_command(line)]:
                yield event, place, group, own


def _handlers(group: Json) -> list[Json]:
    """Return the handlers of a group; some agents list handlers without groups."""
    inside = _as_dict(group).get("hooks", [group])
    return inside if isinstance(inside, list) else []


def _is_same(wanted: list[Json], current: list[Json]) -> bool:
    return sorted(map(repr, wanted)) == sorted(map(repr, current))


def _as_dict(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


_OLD_MARK = re.compile(r"^# (?:>>>|<<<) recollect[ \t]*\r?(?:\n|\Z)", re.M)
"""Comments that earlier versions wrote around the table; Codex adds its own tables between them."""


def make_toml_editor(
    server: Callable[[Command], dict[str, Json]], servers: str, optional: Sequence[str] = ()
) -> SettingsEditor:
    """Return an editor of a TOML file: a server below `servers`, identified by its key.

    optional: members of a new entry that an entry of an earlier version may lack
    """
    own = (servers, SERVER)

    def install(text: str, command: Command) -> str:
        if status(text, command) == "current":
            return text
        # Other keys of our table stay: the agent stores the user's permissions there.
        changed = toml_edit.change_values(_drop_old_marks(text), own, server(command))
        if status(changed, command) != "current":
            changed = toml_edit.add_table(remove(text), own, server(command))
        return checked(text, changed, status(changed, command) == "current")

    def remove(text: str) -> str:
        _parse_toml(text)
        left = toml_edit.remove_entries(_drop_old_marks(text), own)
        return checked(text, left, entry(left) is None)

    def status(text: str, command: Command) -> str:
        found = entry(text)
        if found is None:
            return "missing"
        current = _as_dict(found)
        wanted = server(command).items()
        same = all(current.get(key) == value for key, value in wanted if key not in optional)
        return "current" if same else "stale"

    def entry(text: str) -> Json:
        return _as_dict(_parse_toml(text).get(servers)).get(SERVER)

    def checked(before: str, after: str, done: bool) -> str:
        if not done or _drop_server(_parse_toml(before), servers) != _drop_server(
            _parse_toml(after), servers
        ):
            raise InvalidInput(
                f"the entry of recollect in [{servers}] cannot be changed safely",
                hint=f"Edit [{servers}.{SERVER}] by hand. It was not changed.",
            )
        return after

    return SettingsEditor(install, remove, status)


def _drop_old_marks(text: str) -> str:
    data = _parse_toml(text)
    for match in reversed(list(_OLD_MARK.finditer(text))):
        left = text[: match.start()] + text[match.end() :]
        # A line of a multi-line string only looks like a comment.
        if _parse_toml(left) == data:
            text = left
    return text


def _parse_toml(text: str) -> dict[str, Json]:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(
            f"not valid TOML: {error}", hint="Fix the file and try again. It was not changed."
        ) from error


def _drop_server(data: dict[str, Json], servers: str) -> dict[str, Json]:
    """Return the data without our server, and without the table if that is empty then."""
    others = data.get(servers)
    if isinstance(others, dict):
        others = {name: value for name, value in others.items() if name != SERVER}
    return {**data, servers: others or None}
