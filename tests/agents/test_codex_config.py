"""Codex rewrites its `config.toml`: our entry is found by its name in every notation."""

from __future__ import annotations

import tomllib
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.codex.hooks import FORWARDED_VARIABLES, make_server_editor
from recollect.errors import InvalidInput
from recollect.types.records import Json
from tests.agents.reading import SAMPLES

SERVER = make_server_editor()
HERE = ("/opt/recollect/bin/recollect",)
MOVED = ("/home/dev/.local/bin/recollect",)
REWRITTEN = {path.name: path for path in SAMPLES.glob("codex-*.config-*.toml")}
MARKS = ("# >>> recollect", "# <<< recollect")


def without_ours(text: str) -> dict[str, Json]:
    data = tomllib.loads(text)
    servers = data.get("mcp_servers", {})
    servers.pop("recollect", None)
    if not servers:
        data.pop("mcp_servers", None)
    return data


def check_all(text: str, own: dict[str, Json], foreign: str = "") -> None:
    """The entry is recognised, pointed elsewhere without losing a key, and removed."""
    assert tomllib.loads(text)["mcp_servers"]["recollect"] == own
    assert SERVER.status(text, HERE) == "current"
    assert SERVER.install(text, HERE) == text
    assert SERVER.status(text, MOVED) == "stale"
    moved = tomllib.loads(SERVER.install(text, MOVED))
    expected = tomllib.loads(text)
    expected["mcp_servers"]["recollect"] = {**own, "command": MOVED[0]}
    assert moved == expected
    left = SERVER.remove(text)
    assert "recollect" not in tomllib.loads(left).get("mcp_servers", {})
    assert without_ours(left) == without_ours(text)
    for mark in MARKS:
        assert left.count(mark) == foreign.count(mark)
    assert SERVER.remove(left) == left
    assert SERVER.status(left, HERE) == "missing"
    assert SERVER.remove(SERVER.install(left, MOVED)) == left


@pytest.mark.parametrize("name", sorted(REWRITTEN))
def test_our_entry_is_changed_and_removed_after_codex_rewrote_the_file(name: str) -> None:
    text = REWRITTEN[name].read_text()
    own = deepcopy(tomllib.loads(text)["mcp_servers"]["recollect"])
    assert own["command"] == HERE[0]
    check_all(text, own)


OWN: dict[str, Json] = {"command": HERE[0], "args": ["mcp"]}
WITH_ENV: dict[str, Json] = {**OWN, "env": {"A": "1"}}
FORMS: list[tuple[str, str, dict[str, Json]]] = [
    # At the head of the file, as a table somewhere in it, and what the entry is.
    ("", f'[mcp_servers.recollect]\ncommand = "{HERE[0]}"\nargs = ["mcp"]\n', OWN),
    ("", f'\n[ mcp_servers . "recollect" ] # x\nargs = [\n "mcp", # ]\n]\ncommand = \'{HERE[0]}\'\n', OWN),
    ("", f'\n["mcp_servers".recollect]\n# a\ncommand = """{HERE[0]}"""\nargs = ["mcp"]\n\n[mcp_servers.recollect.env]\nA = "1"\n', WITH_ENV),
    ("", f'\n[mcp_servers.recollect.env]\nA = "1"\n\n[mcp_servers.recollect]\ncommand = "{HERE[0]}"\nargs = ["mcp"]\n', WITH_ENV),
    (f'mcp_servers.recollect.command = "{HERE[0]}"\nmcp_servers."recollect".args = ["mcp"]\n', "", OWN),
    (f'mcp_servers.recollect = {{ command = "{HERE[0]}", args = ["mcp"], env.A = "1" }} # x\n', "", WITH_ENV),
    (f'mcp_servers = {{ recollect = {{ command = "{HERE[0]}", args = ["mcp"] }}, o = {{ command = "}}" }} }}\n', "", OWN),
    (f'mcp_servers = {{ o = {{ a = [{{ recollect = 1 }}] }}, recollect.command = "{HERE[0]}", recollect.args = ["mcp"] }}\n', "", OWN),
    (f'mcp_servers = {{ recollect = {{ args = ["mcp"], command = "{HERE[0]}" }} }}\n', "", OWN),
    ("", f'[mcp_servers ]\nrecollect = {{ command = "{HERE[0]}", args = ["mcp"], env = {{ A = "1" }} }}\n"o t" = {{ command = "y" }}\n', WITH_ENV),
    ("", f'\n{MARKS[0]}\n[mcp_servers.recollect]\ncommand = "{HERE[0]}"\nargs = ["mcp"]\n{MARKS[1]}\n', OWN),
    ("", f'\n{MARKS[0]}\n[mcp_servers.recollect]\ncommand = "{HERE[0]}"\nargs = ["mcp"]\n\n[x]\ny = 1979-05-27 07:32:00\n{MARKS[1]}\n', OWN),
]  # fmt: skip
FOREIGN = [
    "# a comment of the user\n",
    '\n[tui]\nx = "# <<< recollect"\n',
    '\n[projects."/w/[p]"] # [mcp_servers.recollect]\ntrust_level = "trusted"\n',
    "\n[hooks.state]\n\n[hooks.state.\"/h/hooks.json:stop:0:0\"]\ntrusted_hash = 'x'\n",
    '\n[[hooks.Stop]]\nmatcher = """\n[mcp_servers.recollect]\n\\"""#\n# >>> recollect\n""""\n',
    '\n[a.mcp_servers.recollect]\nk = [[1, 2], [\'[\', "]\\""]]\n',
    "\n[recollect]\nmcp_servers = { recollect = {} }\n",
]


@given(
    st.sampled_from(FORMS),
    st.permutations(FOREIGN),
    st.integers(0, len(FOREIGN)),
    st.sampled_from(["\n", "\r\n"]),
)
def test_our_entry_is_found_in_every_notation_and_place(
    form: tuple[str, str, dict[str, Json]], foreign: list[str], place: int, line_end: str
) -> None:
    head, table, own = form
    text = "".join(['model = "m"\n', head, *foreign[:place], table, *foreign[place:]])
    check_all(text.replace("\n", line_end), own, "".join(foreign))


@pytest.mark.parametrize("lead", ["", "\n", "\n\n"])
@pytest.mark.parametrize(
    "before", ["a = 1", "a = 1\n", "a = 1\r\n", "a = 1\n\n", "[t]\nb = 2\n# end"]
)
def test_an_untouched_file_is_restored_byte_for_byte(before: str, lead: str) -> None:
    text = before + lead
    new = SERVER.install(text, HERE)
    assert not any(mark in new for mark in MARKS)
    assert SERVER.remove(new) == text
    block = new[new.index("[mcp_servers.recollect]") :]
    old = f"{text}\n{MARKS[0]}\n{block}{MARKS[1]}\n"
    assert SERVER.status(old, HERE) == "current"
    assert SERVER.remove(old) == text
    assert SERVER.install(old, MOVED) == SERVER.install(text, MOVED)


@pytest.mark.parametrize(
    "text",
    [
        "mcp_servers = {}",
        "mcp_servers = { }\n[t]\n",
        'a = 1\nmcp_servers = {other = {command = "x"}} # c\n',
        'mcp_servers = { other = {command = "x"}, third.command = "y" }\n',
        'mcp_servers.other.command = "x"\n',
        '[mcp_servers]\nother = { command = "x" }\n',
    ],
)
def test_our_entry_is_added_to_an_inline_table_of_servers(text: str) -> None:
    new = SERVER.install(text, HERE)
    check_all(new, {**OWN, "env_vars": list(FORWARDED_VARIABLES)})
    assert SERVER.remove(new) == text


def test_a_mark_that_codex_left_behind_is_removed() -> None:
    """`codex mcp remove recollect` takes our table and leaves the end mark of older versions."""
    text = f"a = 1\n\n[tui]\nx = 1\n{MARKS[1]}\n"
    assert SERVER.status(text, HERE) == "missing"
    assert SERVER.remove(text) == "a = 1\n\n[tui]\nx = 1\n"


@pytest.mark.parametrize(
    "text", ["a = ", "mcp_servers = 1", "mcp_servers = [1]", "[[mcp_servers]]\n"]
)
def test_a_file_without_a_place_for_our_entry_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        SERVER.install(text, HERE)
