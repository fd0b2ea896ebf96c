"""Add and remove our entries in settings files; everything else stays byte for byte."""

from __future__ import annotations

import json
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.agents import registry
from recollect.agents.claude_code import hooks
from recollect.agents.codex import hooks as codex_hooks
from recollect.agents.cursor import hooks as cursor_hooks
from recollect.agents.gemini import hooks as gemini_hooks
from recollect.agents.opencode import hooks as opencode_hooks
from recollect.agents.settings import json_edit, plan_io
from recollect.agents.settings.entries import (
    SettingsEditor,
    add_status_line,
    is_own_command,
    render_hook_command,
)
from recollect.briefing import instruction_files_io
from recollect.errors import InvalidInput, Refused
from recollect.interfaces import origin
from recollect.types.records import Json

COMMAND = ("/opt/my tools/recollect",)
MODULE = ("/usr/bin/python3", "-m", "recollect")
CLAUDE_HOOKS = hooks.make_hook_editor()
CODEX_SERVER = codex_hooks.make_server_editor()
JSON_SETTINGS = {
    "claude hooks": CLAUDE_HOOKS,
    "claude hooks and status line": add_status_line(CLAUDE_HOOKS),
    "claude mcp": hooks.make_server_editor(),
    "codex hooks": codex_hooks.make_hook_editor(),
    "gemini": gemini_hooks.make_editor(),
    "cursor hooks": cursor_hooks.make_hook_editor(),
    "cursor mcp": cursor_hooks.make_server_editor(),
    "opencode mcp": opencode_hooks.make_server_editor(),
}

leaves = (
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", 'a "b"', "é", "//", "{"])
)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=6,
)
handlers = st.fixed_dictionaries(
    {"command": st.sampled_from(["x", "other hook", "recollect-ui hook"])}
)
groups = st.fixed_dictionaries({"hooks": st.lists(handlers, max_size=2)})
event_names = st.sampled_from(["SessionStart", "Stop", "stop", "BeforeAgent", "Other"])
foreign = st.fixed_dictionaries(
    {},
    optional={
        "a": values,
        "hooks": st.dictionaries(event_names, st.lists(groups, max_size=2), max_size=3),
        "mcpServers": st.dictionaries(st.sampled_from(["s", "t"]), values, max_size=2),
        "mcp": st.dictionaries(st.sampled_from(["s", "t"]), values, max_size=2),
        "version": st.just(1),
        "statusLine": st.just({"type": "command", "command": "my-line"}),
    },
)


def plain(value: Json) -> str:
    return json.dumps(value)


def pretty(value: Json) -> str:
    return json.dumps(value, indent=2) + "\n"


def tabs(value: Json) -> str:
    return json.dumps(value, indent="\t", ensure_ascii=False)


def minified(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"))


def commented(value: Json) -> str:
    text = (
        json.dumps(value, indent=2).replace("{\n", "{ // x, y\n").replace("[\n", "[ /* [1,] */\n")
    )
    return f"// settings\n{text}\n"


def loose(value: Json) -> str:
    return json.dumps(value, indent=4).replace("[]", "[ ]").replace("{}", "{\n}") + "\n\n"


def trailing_commas(value: Json) -> str:
    return json.dumps(value, indent=2).replace("\n}", ",\n}").replace("{,", "{") if value else "{}"


styles = st.sampled_from([plain, pretty, tabs, minified, commented, loose, trailing_commas])


@settings(max_examples=150, deadline=None)
@given(foreign, styles, st.sampled_from(sorted(JSON_SETTINGS)))
def test_installing_and_removing_gives_the_same_bytes_back(
    value: Json, style: object, name: str
) -> None:
    setting = JSON_SETTINGS[name]
    text = style(value)  # type: ignore[operator]
    installed = setting.install(text, COMMAND)
    assert setting.remove(installed) == text
    assert setting.status(installed, COMMAND) == "current"
    assert setting.install(installed, COMMAND) == installed
    upgraded = setting.install(installed, MODULE)
    assert setting.status(upgraded, COMMAND) == "stale"
    assert setting.remove(upgraded) == text
    kept = json_edit.parse(installed).value
    for key, before in value.items():
        if key not in ("hooks", "mcpServers", "mcp"):
            assert kept[key] == before


@pytest.mark.parametrize("name", sorted(JSON_SETTINGS))
def test_a_file_that_we_created_is_removed_with_our_entries(name: str) -> None:
    setting = JSON_SETTINGS[name]
    made = setting.install("", COMMAND)
    assert json.loads(made)
    assert setting.status(made, COMMAND) == "current"
    assert setting.status("", COMMAND) == "missing"
    assert setting.remove(made) == ""


@pytest.mark.parametrize("name", sorted(JSON_SETTINGS))
def test_our_entries_are_removed_from_a_file_that_the_agent_reformatted(name: str) -> None:
    setting = JSON_SETTINGS[name]
    installed = setting.install('{"theme": "dark"}', COMMAND)
    rewritten = json.dumps(json.loads(installed), indent=2)
    assert setting.status(rewritten, COMMAND) == "current"
    assert json.loads(setting.remove(rewritten)) == {"theme": "dark"}


FOREIGN_HOOK = {"hooks": {"Other": [{"hooks": [{"type": "command", "command": "lint"}]}]}}
FOREIGN_SERVERS = {"mcpServers": {"s": {"command": "s"}}, "mcp": {"s": {"command": ["s"]}}}


@pytest.mark.parametrize("name", sorted(JSON_SETTINGS))
@pytest.mark.parametrize("indent", [2, "\t"])
@pytest.mark.parametrize("others", [{}, FOREIGN_HOOK, FOREIGN_SERVERS])
def test_no_emptied_object_or_list_of_ours_is_left_behind(
    name: str, indent: int | str, others: dict[str, Json]
) -> None:
    """What we created for our entries is removed with them, also after the agent rewrote the file."""
    editor = JSON_SETTINGS[name]
    before = {"theme": "dark", **others}
    installed = editor.install(json.dumps(before), COMMAND)
    assert json.loads(editor.remove(installed)) == before
    rewritten = json.dumps(json.loads(installed), indent=indent)
    left = editor.remove(rewritten)
    assert json.loads(left) == before
    assert "{}" not in left and "[]" not in left


def test_a_status_line_is_added_where_there_is_none_and_never_replaced() -> None:
    editor = add_status_line(CLAUDE_HOOKS)
    added = editor.install('{"theme": "dark"}', COMMAND)
    line = "'/opt/my tools/recollect' hook --status-line"
    assert json.loads(added)["statusLine"] == {"type": "command", "command": line}
    assert editor.status(added, MODULE) == "stale"
    theirs = json.dumps({"statusLine": {"type": "command", "command": "my-line"}})
    connected = editor.install(theirs, COMMAND)
    assert json.loads(connected)["statusLine"]["command"] == "my-line"
    assert editor.status(connected, COMMAND) == "current"
    assert editor.remove(connected) == theirs


def test_a_removed_status_line_is_not_called_stale_and_comes_back_with_init() -> None:
    editor = add_status_line(CLAUDE_HOOKS)
    without = hooks.make_hook_editor().install('{"theme": "dark"}', COMMAND)
    assert editor.status(without, COMMAND) == "current"
    assert "statusLine" in json.loads(editor.install(without, COMMAND))


def test_an_empty_object_that_was_there_before_stays() -> None:
    for text in ('{"hooks": {}}', '{"hooks": {"Stop": []}, "theme": "dark"}'):
        assert CLAUDE_HOOKS.remove(CLAUDE_HOOKS.install(text, COMMAND)) == text


@pytest.mark.parametrize("name", sorted(JSON_SETTINGS))
@pytest.mark.parametrize(
    "text", ['{"a": ', "{'a': 1}", '{"a": 1} x', "[1", '{"a" 1}', "nope", "\x00"]
)
def test_a_file_that_cannot_be_read_is_refused(name: str, text: str) -> None:
    setting = JSON_SETTINGS[name]
    with pytest.raises(InvalidInput, match="JSON"):
        setting.install(text, COMMAND)
    with pytest.raises(InvalidInput, match="JSON"):
        setting.remove(text)


def test_a_syntax_error_has_its_line() -> None:
    with pytest.raises(InvalidInput) as caught:
        CLAUDE_HOOKS.install('{\n  "a": 1\n  "b": 2\n}', COMMAND)
    assert caught.value.where == "line 3, column 3"


@pytest.mark.parametrize("text", ["[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}'])
def test_a_file_with_another_structure_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        CLAUDE_HOOKS.install(text, COMMAND)


def test_unknown_groups_are_not_changed() -> None:
    odd = '[null, 5, {"hooks": null}, {"hooks": 5}, {"hooks": [null, {"command": 7}]}, {}]'
    text = f'{{"hooks": {{"Stop": {odd}}}}}'
    written = CLAUDE_HOOKS.install(text, COMMAND)
    assert CLAUDE_HOOKS.status(written, COMMAND) == "current"
    assert CLAUDE_HOOKS.remove(written) == text


@pytest.mark.parametrize(
    "history", ['[{"n": 1}, {"n": 2}]', "[1, /* two */ 2,]", '"a"', "{}", "[" * 120 + "]" * 120]
)
def test_opaque_members_are_parsed_with_the_same_result(history: str) -> None:
    text = f'{{"history": {history}, // more\n "hooks": {{"Stop": []}}}}'
    looked = json_edit.parse(text, ("hooks",))
    assert looked.value["hooks"] == {"Stop": []}
    assert text[looked.children[0].node.start : looked.children[0].node.end] == history
    if len(history) < 100:
        whole = json_edit.parse(text)
        assert (looked.value, looked.end) == (whole.value, whole.end)
        assert looked.children[1] == whole.children[1]


@pytest.mark.parametrize("value", ["NaN", "-Infinity", "[1 2]", "9" * 5_000, "{'a': 1}"])
def test_invalid_json_in_an_opaque_member_is_refused(value: str) -> None:
    with pytest.raises(InvalidInput):
        json_edit.parse(f'{{"history": {value}, "hooks": {{}}}}', ("hooks",))


def test_only_our_handler_is_removed_from_a_shared_group() -> None:
    ours = {"type": "command", "command": render_hook_command(COMMAND)}
    theirs = {"type": "command", "command": "lint"}
    text = pretty({"hooks": {"Stop": [{"hooks": [theirs, ours]}]}})
    assert json.loads(CLAUDE_HOOKS.remove(text)) == {"hooks": {"Stop": [{"hooks": [theirs]}]}}


def test_the_hook_command_is_one_shell_string_with_the_path_quoted() -> None:
    assert render_hook_command(COMMAND) == "'/opt/my tools/recollect' hook"
    installed = json.loads(CLAUDE_HOOKS.install("", COMMAND))
    handler = installed["hooks"]["SessionStart"][0]["hooks"][0]
    assert handler == {"type": "command", "command": render_hook_command(COMMAND), "timeout": 10}


@pytest.mark.parametrize(
    ("line", "ours"),
    [
        ("recollect hook", True),
        ('"/a b/recollect" hook', True),
        ("/usr/bin/python3 -m recollect hook", True),
        ("recollect mcp", False),
        ("other hook", False),
        ("recollect-like hook", False),
        ("echo recollect; other hook", False),
        ("unbalanced ' recollect hook", False),
        (None, False),
    ],
)
def test_our_command_is_recognised_for_any_installation_path(line: Json, ours: bool) -> None:
    assert is_own_command(line) is ours


def test_mcp_entries_start_the_server() -> None:
    claude = json.loads(JSON_SETTINGS["claude mcp"].install("", MODULE))["mcpServers"]["recollect"]
    assert claude == {"type": "stdio", "command": MODULE[0], "args": ["-m", "recollect", "mcp"]}
    local = json.loads(JSON_SETTINGS["opencode mcp"].install("", COMMAND))["mcp"]["recollect"]
    assert local["command"] == [*COMMAND, "mcp"]


# ---------------------------------------------------------------- TOML

tables = st.sampled_from(
    [
        "",
        'model = "gpt-5"',
        'model = "gpt-5"\n',
        "# only a comment",
        '[mcp_servers.other]\ncommand = "x"\n',
        '[mcp_servers]\nother = { command = "x" }\n\n',
        'text = """\n[mcp_servers.recollect]\n"""\n',
        '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\n',
        "\n\n",
    ]
)


@given(tables)
def test_toml_files_come_back_byte_for_byte(text: str) -> None:
    installed = CODEX_SERVER.install(text, MODULE)
    server = tomllib.loads(installed)["mcp_servers"]["recollect"]
    assert server.pop("env_vars")[0] == "RECOLLECT_HOME"
    assert server == {"command": MODULE[0], "args": ["-m", "recollect", "mcp"]}
    assert CODEX_SERVER.status(installed, MODULE) == "current"
    assert CODEX_SERVER.status(installed, COMMAND) == "stale"
    assert CODEX_SERVER.install(installed, MODULE) == installed
    assert CODEX_SERVER.remove(CODEX_SERVER.install(installed, COMMAND)) == text
    assert CODEX_SERVER.status(text, MODULE) == "missing"


# ---------------------------------------------------------------- OpenCode's plugin, places


def test_a_foreign_plugin_file_is_not_touched() -> None:
    plugin: SettingsEditor = opencode_hooks.make_plugin_editor()
    source = plugin.install("", COMMAND)
    assert json.dumps(render_hook_command(COMMAND)) in source and "@COMMAND@" not in source
    assert plugin.status(source, COMMAND) == "current"
    assert plugin.status(source, MODULE) == "stale"
    assert plugin.status("", COMMAND) == plugin.status("export {}", COMMAND) == "missing"
    assert plugin.remove(source) == ""
    with pytest.raises(Refused):
        plugin.install("export const Other = 1", COMMAND)


def test_no_table_lacks_an_agent() -> None:
    agents = set(registry.AGENTS_WITH_HOOKS)
    for table in (plan_io.NEXT_STEPS, plan_io.PROGRAMS, plan_io._HOME_FILES):
        assert set(table) == agents
    assert set(instruction_files_io._FILES) == agents
    assert {plan_io.PROGRAMS[agent] for agent in agents} <= origin._AGENTS


@pytest.mark.parametrize("host", registry.AGENTS_WITH_HOOKS)
def test_every_agent_lists_settings_files_of_the_user_and_the_project(host: str) -> None:
    places = registry.load_hooks(host).list_settings_files("/home/dev", "/w/p")
    assert {place.scope for place in places} == {"user", "project"}
    for place in places:
        root = "/home/dev/" if place.scope == "user" else "/w/p/"
        assert place.path.startswith(root)
    covered = {part for place in places for part in place.what.split(" and ")}
    assert covered - {"status line"} in ({"hooks", "mcp"}, {"plugin", "mcp"})


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR"),
        ("codex", "CODEX_HOME"),
        ("gemini", "GEMINI_CLI_HOME"),
        ("opencode", "XDG_CONFIG_HOME"),
    ],
)
def test_settings_in_a_moved_folder_are_used(host: str, name: str) -> None:
    moved = {name: "/elsewhere"}
    for place in registry.load_hooks(host).list_settings_files("/home/dev", "/w/p", moved):
        assert place.path.startswith("/elsewhere/" if place.scope == "user" else "/w/p/")


@pytest.mark.parametrize("name", JSON_SETTINGS)
def test_windows_line_ends_are_kept(name: str) -> None:
    text = '{\r\n  "a": 1\r\n}\r\n'
    setting = JSON_SETTINGS[name]
    installed = setting.install(text, COMMAND)
    assert installed.count("\n") == installed.count("\r\n")
    assert setting.remove(installed) == text
