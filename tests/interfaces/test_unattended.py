"""`init --yes` never asks, and warns of a virtual environment that agents would depend on."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

import recollect
from tests.interfaces.test_setup import files, home, past, variables

__all__ = ["home", "variables"]
Run = Callable[..., tuple[int, str]]
INIT = [sys.executable, "-m", "recollect", "init"]
QUESTION = b"[y/N]"


def at_terminal(
    words: list[str], project: Path, environment: dict[str, str], answer: str = ""
) -> tuple[int, str]:
    """Run a command at a terminal; a question that is not answered ends it."""
    primary, secondary = pty.openpty()
    process = subprocess.Popen(
        words, cwd=project, env=environment, stdin=secondary, stdout=secondary, stderr=secondary
    )
    os.close(secondary)
    os.write(primary, answer.encode())
    told = b""
    try:
        while chunk := os.read(primary, 4096):
            told += chunk
            if QUESTION in told and not answer:
                process.kill()
    except OSError:
        pass  # the other side is closed
    os.close(primary)
    return process.wait(), told.decode().replace("\r\n", "\n")


def without_input(words: list[str], project: Path, environment: dict[str, str]) -> tuple[int, str]:
    done = subprocess.run(
        words, cwd=project, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    return done.returncode, done.stdout


def with_closed_input(
    words: list[str], project: Path, environment: dict[str, str]
) -> tuple[int, str]:
    return without_input(["/bin/sh", "-c", 'exec "$@" <&-', "sh", *words], project, environment)


def with_silent_pipe(
    words: list[str], project: Path, environment: dict[str, str]
) -> tuple[int, str]:
    with subprocess.Popen(
        words, cwd=project, env=environment, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as process:  # fmt: skip
        assert process.stdout
        told = process.stdout.read()  # our end of the other pipe stays open, and silent
    return process.returncode, told


INPUTS = [at_terminal, without_input, with_closed_input, with_silent_pipe]


@pytest.mark.parametrize("run", INPUTS)
@pytest.mark.parametrize("more", [[], ["--import"], ["--agent", "cursor", "--agent", "codex"]])
def test_yes_does_not_ask(
    home: Path, project: Path, variables: dict[str, str], run: Run, more: list[str]
) -> None:
    past(home, project, 3)
    status, told = run([*INIT, "--yes", *more], project, variables)
    assert (status, "[y/N]" in told) == (0, False), told
    assert "recollect" in (home / ".cursor" / "mcp.json").read_text()
    kept = "--import" in more
    assert ("3 past conversations of this project. Import: recollect import" in told) != kept
    with recollect.open(project, environment=variables) as memory:
        assert memory.store.stats().messages == (3 if kept else 0)
    for words in (["--check", *more], ["--diff", *more], ["--remove", "--yes", *more]):
        status, told = run([*INIT, *words], project, variables)
        assert (status, "[y/N]" in told) == (0, False), told
    assert "recollect" not in (home / ".cursor" / "mcp.json").read_text()


@pytest.mark.parametrize("run", [without_input, with_closed_input, with_silent_pipe])
def test_without_a_terminal_nothing_is_asked_and_nothing_is_written(
    home: Path, project: Path, variables: dict[str, str], run: Run
) -> None:
    past(home, project, 1)
    before = files(home)
    status, told = run(INIT, project, variables)
    assert (status, "Write them: the same with --yes" in told) == (0, True), told
    assert files(home) == before


@pytest.mark.parametrize("run", INPUTS)
def test_a_foreign_store_is_refused_before_anything_is_written(
    home: Path, project: Path, variables: dict[str, str], tmp_path: Path, run: Run
) -> None:
    stranger = {**variables, "RECOLLECT_HOME": str(tmp_path / "stranger")}
    with recollect.open(project, environment=stranger) as memory:
        memory.agents.init(agent=["cursor"])
    before = files(home)
    status, told = run([*INIT, "--yes"], project, variables)
    assert (status != 0, "recollect adopt" in told, "[y/N]" in told) == (True, True, False), told
    assert files(home) == before


# ---------------------------------------------------------------- virtual environments


@pytest.fixture(scope="module")
def environment_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with a `recollect` in it."""
    folder = tmp_path_factory.mktemp("work") / ".venv"
    venv.create(folder, symlinks=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    known = [Path(recollect.__file__).parent.parent, *(Path(one) for one in sys.path if one)]
    (packages / "known.pth").write_text("\n".join(map(str, known)) + "\n")
    program = folder / "bin" / "recollect"
    program.write_text(f"#!{folder}/bin/python\nfrom recollect.__main__ import main\nmain()\n")
    program.chmod(0o755)
    return folder


@pytest.fixture
def program(environment_of_its_own: Path, tmp_path: Path) -> Path:
    # The name of the environment is part of what is said: each test has a copy of its own.
    folder = tmp_path / "work" / ".venv"
    shutil.copytree(environment_of_its_own, folder, symlinks=True)
    script = folder / "bin" / "recollect"
    script.write_text(script.read_text().replace(str(environment_of_its_own), str(folder)))
    return script


def flat(told: str) -> str:
    return " ".join(told.split())


def expected(program: Path) -> tuple[str, ...]:
    return (str(program), str(program.parent.parent), "pipx install", "uv tool install")


def says(told: str, program: Path) -> bool:
    """Check whether all parts of the warning are there, wherever its lines are broken."""
    return all("".join(part.split()) in "".join(told.split()) for part in expected(program))


def test_a_virtual_environment_is_warned_of_before_the_question(
    project: Path, variables: dict[str, str], program: Path
) -> None:
    words = [str(program), "init", "--agent", "cursor"]
    status, told = at_terminal(words, project, variables, answer="y\n")
    assert status == 0, told
    warning = told[: told.index(QUESTION.decode())]
    assert says(warning, program), told
    assert told.count("pipx install") == 1, "said once"


@pytest.mark.parametrize("run", INPUTS)
def test_yes_warns_before_it_writes(
    home: Path, project: Path, variables: dict[str, str], program: Path, run: Run
) -> None:
    # What cannot be written ends the command: whatever was said came before.
    words = [str(program), "init", "--agent", "cursor", "--yes"]
    blocked = Path(variables["RECOLLECT_HOME"]) / "backups"
    blocked.parent.mkdir()
    blocked.write_text("a file where a folder should be")
    status, told = run(words, project, variables)
    assert status != 0 and "recollect" not in (home / ".cursor" / "mcp.json").read_text()
    assert says(told, program), told
    blocked.unlink()
    status, told = run(words, project, variables)
    assert status == 0, told
    assert says(told, program), told
    assert flat(told).index("pipx install") < flat(told).index(" written ")
    assert flat(told).count("pipx install") == 1, "said once"


def test_check_doctor_and_json_also_warn(
    project: Path, variables: dict[str, str], program: Path
) -> None:
    agent = ["--agent", "cursor"]
    written = without_input([str(program), "init", "--yes", "--json", *agent], project, variables)
    told = json.loads(written[1])
    assert all(part in told["warning"] for part in expected(program))
    status, checked = without_input([str(program), "init", "--check", *agent], project, variables)
    assert status == 0 and says(checked, program), checked
    status, examined = without_input([str(program), "doctor"], project, variables)
    assert status == 0 and says(examined, program), examined
    folder = [str(project / "plugin"), "--json"]
    packaged = without_input([str(program), "plugin", *folder], project, variables)
    assert json.loads(packaged[1])["warning"] == told["warning"]
    removed = without_input([str(program), "init", "--remove", "--yes", *agent], project, variables)
    assert removed[0] == 0 and "pipx" not in removed[1]


def test_settings_survive_a_deleted_environment_and_follow_a_new_one(
    home: Path, project: Path, variables: dict[str, str], program: Path, tmp_path: Path
) -> None:
    words = ["init", "--agent", "cursor", "--yes"]
    without_input([str(program), *words], project, variables)
    before = (home / ".cursor" / "hooks.json").read_text()
    assert str(program.parent.parent) not in before
    line = json.loads(before)["hooks"]["stop"][0]["command"]
    folder = program.parent.parent
    folder.rename(tmp_path / "moved")
    alone = {**variables, "PATH": "/usr/bin:/bin"}
    hook = subprocess.run(line, shell=True, input="{}", capture_output=True, text=True, env=alone)
    assert (hook.returncode, hook.stdout, hook.stderr) == (0, "", "")
    served = line.removesuffix(" hook") + " mcp"
    server = subprocess.run(served, shell=True, capture_output=True, text=True, env=alone)
    assert server.returncode == 127 and "recollect init" in server.stderr
    (tmp_path / "moved").rename(folder.parent / "other")
    script = folder.parent / "other" / "bin" / "recollect"
    script.write_text(script.read_text().replace(str(folder), str(folder.parent / "other")))
    status, told = without_input([str(script), "doctor"], project, variables)
    assert status != 0 and "target is missing" in told and "recollect init --yes" in told, told
    without_input([str(script), *words], project, variables)
    assert (home / ".cursor" / "hooks.json").read_text() == before
    assert without_input([str(script), "doctor"], project, variables)[0] == 0


@pytest.mark.parametrize("mark", ["pipx_metadata.json", "uv-receipt.toml"])
def test_environments_of_pipx_and_uv_cause_no_warning(
    project: Path, variables: dict[str, str], program: Path, mark: str
) -> None:
    (program.parent.parent / mark).write_text("")
    for words in (["init", "--yes", "--agent", "cursor"], ["init", "--check"], ["doctor"]):
        told = without_input([str(program), *words], project, variables)[1]
        assert "virtual environment" not in told
    told = without_input([str(program), "init", "--json"], project, variables)[1]
    assert json.loads(told)["warning"] == ""


def test_no_warning_without_a_connected_agent(
    project: Path, variables: dict[str, str], program: Path, tmp_path: Path
) -> None:
    environment = {**variables, "HOME": str(tmp_path / "nobody")}
    for words in (["init", "--yes"], ["init"], ["doctor"]):
        told = without_input([str(program), *words], project, environment)[1]
        assert "virtual environment" not in told
