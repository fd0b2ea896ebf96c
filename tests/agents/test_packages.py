"""Installable packages: the committed files are those that are rendered, and hold no machine path."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.agents.released import harness
from tools.build_packages import EXTENSION, MARKETPLACE, PLUGIN, ROOT, render_files

FILES = render_files()


@pytest.mark.parametrize("name", FILES)
def test_committed_packages_are_those_that_are_rendered(name: str) -> None:
    text = (ROOT / name).read_text()
    assert text == FILES[name], "run: python tools/build_packages.py"
    assert not re.search(r"/(?:home|Users|root|work|tmp)/[a-z]", text)
    if name.endswith("scripts/recollect"):
        assert os.access(ROOT / name, os.X_OK)


def test_the_packages_hold_nothing_else() -> None:
    for folder in (PLUGIN, EXTENSION):
        found = {
            str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob("*") if path.is_file()
        }
        assert found == {name for name in FILES if name.startswith(folder)}


def test_manifests_name_files_of_the_package() -> None:
    (entry,) = json.loads(FILES[MARKETPLACE])["plugins"]
    assert (ROOT / entry["source"] / ".claude-plugin" / "plugin.json").is_file()
    codex = json.loads(FILES[f"{PLUGIN}/.codex-plugin/plugin.json"])
    assert (ROOT / PLUGIN / codex["hooks"]).is_file()
    assert (ROOT / PLUGIN / codex["skills"]).is_dir()
    for name, text in FILES.items():
        if name.endswith(".toml"):
            assert "!{recollect " in tomllib.loads(text)["prompt"]


def run(script: Path, words: list[str], home: Path, path: str) -> subprocess.CompletedProcess[str]:
    environment = {"HOME": str(home), "PATH": path}
    return subprocess.run(
        [str(script), *words], input="{}", capture_output=True, text=True, env=environment
    )


@pytest.mark.parametrize("package", [PLUGIN, EXTENSION])
@pytest.mark.parametrize("place", ["on the path", ".local/bin", ".local/share/recollect/bin"])
def test_the_script_finds_the_program_where_it_was_installed(
    tmp_path: Path, package: str, place: str
) -> None:
    folder = tmp_path / place
    folder.mkdir(parents=True)
    program = folder / "recollect"
    program.write_text('#!/bin/sh\necho "started with $*"\n')
    program.chmod(0o755)
    path = f"{folder}:/usr/bin:/bin" if place == "on the path" else "/usr/bin:/bin"
    done = run(ROOT / package / "scripts" / "recollect", ["hook"], tmp_path, path)
    assert (done.returncode, done.stdout) == (0, "started with hook\n")


def test_without_the_program_a_hook_does_nothing_and_the_server_says_why(tmp_path: Path) -> None:
    script = ROOT / PLUGIN / "scripts" / "recollect"
    # The script's own folder on the search path must not start it for ever.
    path = f"{script.parent}:/usr/bin:/bin"
    hook = run(script, ["hook"], tmp_path, path)
    assert (hook.returncode, hook.stdout, hook.stderr) == (0, "", "")
    server = run(script, ["mcp"], tmp_path, path)
    assert server.returncode == 127 and "pipx install" in server.stderr


def test_the_table_of_the_docs_names_the_versions_that_the_tests_install() -> None:
    header = next(
        line
        for line in (ROOT / "docs" / "how-to" / "agents.md").read_text().splitlines()
        if line.startswith("| | Claude Code ")
    )
    assert re.findall(r"\d+\.\d+\.\d+", header) == list(harness.TESTED.values())
