"""The caller of a command: real processes at real terminals, started by users and agents."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.interfaces import origin
from recollect.interfaces.origin import Process, find_agent_sign

Run = Callable[..., str]

# A terminal server as tmux, sshd or a desktop starts one: nobody's child, with a terminal to give
# away. The first process ends, and the second goes on when that is so (its pipe is at its end): it
# has none of the parents that this test has, an agent perhaps.
SERVER = """
import os, pty, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)  # a suite in the background ignores it
end, held = os.pipe()
if os.fork():
    os._exit(0)
os.close(held)
os.setsid()
os.read(end, 1)
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))
"""

RELAY = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"


@pytest.fixture
def at_terminal(project: Path, variables: dict[str, str]) -> Run:
    """Runs a shell command at a terminal of a terminal server; gives what was on the screen."""

    def run(command: str, **more: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", SERVER, "sh", "-c", command],
            cwd=project, env={**variables, "TERM": "dumb", **more},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        return done.stdout

    return run


LEARN = f"{shlex.quote(sys.executable)} -m recollect learn 'never deploy on Fridays' --kind policy"
ACTIVE, PROPOSED = "(policy, project, active)", "(policy, project, proposed)"


def script(command: str) -> str:
    return f"script -qec {shlex.quote(command)} /dev/null"


def python_pty(command: str) -> str:
    return f"{shlex.quote(sys.executable)} -c {shlex.quote(RELAY)} sh -c {shlex.quote(command)}"


needs_script = pytest.mark.skipif(
    sys.platform != "linux" or not shutil.which("script"), reason="util-linux has no `script` here"
)
RELAYS = [
    pytest.param(python_pty, id="python"),
    pytest.param(script, id="script", marks=needs_script),
]


def program(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return shlex.quote(str(path))


def test_a_command_at_a_terminal_has_the_origin_user(
    at_terminal: Run, project: Path, variables: dict[str, str]
) -> None:
    assert ACTIVE in at_terminal(LEARN)
    piped = subprocess.run(
        ["sh", "-c", LEARN.replace("Fridays", "Mondays")],
        cwd=project, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    assert PROPOSED in piped.stdout


@pytest.mark.parametrize("variable", ["GEMINI_CLI", "CODEX_THREAD_ID"])
def test_a_terminal_with_an_agents_variable_has_the_origin_agent(
    at_terminal: Run, variable: str
) -> None:
    assert PROPOSED in at_terminal(LEARN, **{variable: "1"})


@pytest.mark.parametrize("relay", RELAYS)
def test_a_person_may_record_what_they_type(at_terminal: Run, relay: Callable[[str], str]) -> None:
    assert ACTIVE in at_terminal(relay(LEARN))


@pytest.mark.parametrize("relay", RELAYS)
def test_an_agent_that_unsets_its_variable_is_recognised_by_its_name(
    at_terminal: Run, tmp_path: Path, relay: Callable[[str], str]
) -> None:
    inside = relay(f"env -u CLAUDECODE {LEARN}")
    agent = program(tmp_path / "bin" / "claude", f"#!/bin/sh\nCLAUDECODE=1 {inside}\n")
    assert PROPOSED in at_terminal(agent)


@pytest.mark.parametrize("relay", RELAYS)
def test_an_agent_of_any_name_is_recognised_by_its_variable(
    at_terminal: Run, tmp_path: Path, relay: Callable[[str], str]
) -> None:
    inside = relay(f"env -u AI_AGENT {LEARN}")
    agent = program(
        tmp_path / "bin" / "newcomer",
        f"#!/bin/sh\nAI_AGENT=1 sh -c {shlex.quote(inside + '; true')}\n",
    )
    assert PROPOSED in at_terminal(agent)


def test_an_agent_run_by_an_interpreter_is_recognised_by_its_package(
    at_terminal: Run, tmp_path: Path
) -> None:
    node = tmp_path / "bin" / "node"
    node.parent.mkdir()
    node.symlink_to(sys.executable)
    package = tmp_path / "lib/node_modules/@anthropic-ai/claude-code/cli.js"
    program(package, f"import os; os.system({LEARN!r})\n")
    assert PROPOSED in at_terminal(f"{node} {package}; true")


@needs_script
def test_a_relay_without_a_terminal_counts_as_an_agent(at_terminal: Run, tmp_path: Path) -> None:
    """`setsid -f` leaves no parent to be found, and no terminal to `script`."""
    loose = f"setsid -f {script(LEARN)}"
    agent = program(tmp_path / "bin" / "claude", f"#!/bin/sh\n{loose} | cat\n")
    assert PROPOSED in at_terminal(agent)


def test_a_refusal_at_a_terminal_names_the_sign_of_the_agent(
    at_terminal: Run, tmp_path: Path
) -> None:
    agent = program(tmp_path / "bin" / "codex", f"#!/bin/sh\n{LEARN} --layer user; true\n")
    said = at_terminal(agent)
    assert "only a person can write to the user layer" in said
    assert "this terminal counts as an agent's: its parent process" in said
    assert "is codex" in said


def test_a_terminal_of_an_agent_says_why_nobody_can_answer(at_terminal: Run) -> None:
    rule = LEARN if "policy" in LEARN else f"{LEARN} --kind policy"
    told = "this terminal counts as an agent's: CLAUDECODE is set. Use a terminal of your own"
    assert told in at_terminal(rule, CLAUDECODE="1")
    said = at_terminal(rule.partition(" learn")[0] + " review", CLAUDECODE="1")
    assert f"you cannot answer here: {told}" in " ".join(said.split())


def sign(*words: str, name: str = "", has_terminal: bool = True, mark: str = "") -> str:
    return find_agent_sign(Process(7, 1, name, words, has_terminal, (mark,) if mark else ()))


@pytest.mark.parametrize(
    "words",
    [
        ("claude",),
        ("/home/u/.local/bin/cursor-agent", "--resume"),
        ("node", "--no-warnings", "/usr/lib/node_modules/@google/gemini-cli/dist/index.js"),
        ("/usr/bin/python3.12", "/home/u/.local/bin/aider", "--yes"),
        ("python3", "-m", "openhands"),
        ("bun", "/opt/opencode.js"),
        ("/bin/sh", "/usr/local/bin/goose"),
    ],
)
def test_agents_are_recognised_by_their_command_line(words: tuple[str, ...]) -> None:
    assert sign(*words)


@pytest.mark.parametrize(
    "words",
    [
        ("-bash",),
        ("tmux: server",),
        ("sshd: u@pts/1",),
        ("/usr/share/code/code", "--type=ptyHost"),
        ("/opt/Cursor/cursor", "--no-sandbox"),
        ("/usr/bin/node", "/home/claude/.vscode-server/out/server-main.js"),
        ("vim", "claude"),
        ("zsh", "-c", "ls /home/codex"),
        ("python3", "manage.py", "gemini"),
        ("systemd", "--user"),
        (),
    ],
)
def test_editors_and_terminals_are_not_agents(words: tuple[str, ...]) -> None:
    assert not sign(*words, name="bash", has_terminal=False)


def test_other_signs_of_a_process() -> None:
    assert "CLAUDECODE" in sign("sh", mark="CLAUDECODE")
    assert "claude" in sign("/opt/versions/2.1.0", name="claude")
    assert "without a terminal" in sign("/usr/bin/script", "-qec", "x", has_terminal=False)
    assert not sign("/usr/bin/script", "-qec", "x", has_terminal=True)


@pytest.mark.skipif(not shutil.which("ps"), reason="there is no `ps` here")
def test_ps_is_used_where_there_is_no_proc(tmp_path: Path) -> None:
    agent = program(tmp_path / "bin" / "claude", "#!/bin/sh\nread line\n")
    with subprocess.Popen([shlex.split(agent)[0]], stdin=subprocess.PIPE) as running:
        look = origin._make_ps_lookup()
        found, parent, nobody = look(running.pid), look(os.getpid()), look(2**22 + 1)
        assert running.stdin
        running.stdin.close()
    assert found and found.parent == os.getpid() and find_agent_sign(found)
    assert parent and parent.parent == os.getppid()
    assert nobody is None
