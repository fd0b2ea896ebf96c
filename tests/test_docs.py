"""The documentation runs: every Python block, every path of the concept map, every table."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from recollect.errors import EXIT_STATUS
from recollect.interfaces import commands as interfaces_commands
from recollect.interfaces import manual
from recollect.operation_table import OPERATIONS, SHORT_COMMANDS
from recollect.types.records import KINDS

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(language: str) -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for place, block in enumerate(re.findall(rf"```{language}\n(.*?)```", text, re.S)):
            found.append((f"{page.relative_to(ROOT)}#{place}", block))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_holds_no_unresolved_merge(page: Path) -> None:
    assert not re.search(r"(?m)^(?:<{7}|>{7})(?: |$)", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("place", "block"), blocks("python"), ids=lambda value: value[:40])
def test_a_python_block_runs(place: str, block: str, tmp_path: Path) -> None:
    environment = {
        "RECOLLECT_HOME": str(tmp_path / "home"),
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(ROOT / "src"),
    }
    project = tmp_path / "project"
    project.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", block], cwd=project, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{place}\n{done.stderr}"


def commands() -> list[str]:
    lines = [line for _, block in blocks("sh") for line in block.splitlines()]
    shown = [line.partition(" > ")[0] for line in lines if re.match(r"recollect( |$)", line)]
    return [line for line in shown if "--help" not in line]


@pytest.mark.parametrize("line", commands())
def test_a_shown_command_can_be_parsed(line: str) -> None:
    import shlex

    words = shlex.split(line, comments=True)[1:]
    if words and words[0] != "help":
        command, rest = manual.find_command(words)
        interfaces_commands.parse_arguments(interfaces_commands.load_command(command), rest)


def test_the_concept_map_names_every_module_and_none_that_is_gone() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = {path: set(ROOT.glob(path)) for path in re.findall(r"`(src/recollect/[\w/.*]+)`", text)}
    assert [path for path, found in named.items() if not found] == []
    every = (path for path in (ROOT / "src").rglob("*.py") if path.name != "__init__.py")
    assert set(every) - set().union(*named.values()) == set()


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_a_page_for_contributors_names_only_files_that_are_there(page: str) -> None:
    """Paths are of the repository, or below the package."""
    text = (ROOT / page).read_text(encoding="utf-8")
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    named = set(re.findall(r"`((?!\.venv)[\w.*-]+/[\w/.*-]*)`", text))
    assert len(named) > 20
    package = ROOT / "src" / "recollect"
    assert [one for one in named if not [*ROOT.glob(one), *package.glob(one)]] == []


def test_every_link_between_pages_leads_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_page_is_reached_from_the_readme() -> None:
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached:
            continue
        reached.add(page)
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            linked = (page.parent / target).resolve()
            waiting += [linked] if linked.suffix == ".md" else []
    assert set(PAGES) - reached == set()


def _normalised(text: str) -> list[str]:
    """Return the lines of a picture or block without ids, dates and wrapping."""
    text = re.sub(r"m-[0-9a-z]{5}\b", "m-ID", re.sub(r"\d{4}-\d\d-\d\d", "DATE", text))
    return " ".join(text.split()).split(". ")


def test_the_picture_of_the_readme_shows_what_the_program_prints() -> None:
    """`python tools/terminal_picture.py --readme` draws it anew; ids and dates change."""
    from html import unescape

    from tests.interfaces.screens import load_tool

    tool = load_tool()
    screen = tool.readme_screen()
    rows: dict[str, str] = {}
    picture = tool.README_PICTURE.read_text(encoding="utf-8")
    for y, text in re.findall(r'<text [^>]*y="(\d+)"[^>]*>([^<]*)<', picture):
        rows[y] = f"{rows.get(y, '')} {unescape(text)}"
    assert _normalised("\n".join(rows.values())) == _normalised(screen.text())
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```text\n(<recollect-memory>.*?)```", readme, re.S)
    whole = " ".join(_normalised(screen.text()))
    assert " ".join(_normalised(block)) in whole


def test_the_manual_page_is_the_one_that_is_installed() -> None:
    """`recollect help --man > docs/reference/recollect.1` writes it."""
    from recollect.interfaces import manual
    from recollect.version import __version__

    page = (ROOT / "docs" / "reference" / "recollect.1").read_text(encoding="utf-8")
    assert page == manual.render_manual(__version__)
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert '"docs/reference/recollect.1" = "share/man/man1/recollect.1"' in project


def test_the_error_table_is_complete() -> None:
    text = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    for code, status in EXIT_STATUS.items():
        assert re.search(rf"\| `{code}` \| `\w+` \| {status} \|", text), code


def test_the_kinds_table_is_true() -> None:
    text = (ROOT / "docs" / "concepts" / "memory.md").read_text(encoding="utf-8")
    for kind in KINDS.values():
        assert f"| {kind.name} | {kind.priority} | {kind.weight} | {kind.holds} |" in text


def test_the_command_reference_is_the_commands_own_help() -> None:
    """`python -m tests.command_reference` writes the page."""
    from tests.command_reference import page

    assert (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8") == page()
    assert set(SHORT_COMMANDS.values()) <= set(OPERATIONS)


def test_the_changelog_and_licence_are_there() -> None:
    assert "## Unreleased" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "MIT License" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_ci_runs_the_readme_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(re.findall(r"^python3 -m venv .*$", readme, re.M)) == 2
    assert "python -m pytest$" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_nobody_is_told_to_install_the_other_package_of_this_name() -> None:
    """On PyPI `recollect` is another project: this distribution is `recollect-memory`."""
    told = [*PAGES, *sorted((ROOT / "src").rglob("*.py"))]
    wrong = re.compile(
        r"\b(?:pipx?|uv)\b[^\n`&]*\b(?:install|add)\b[^\n`&]*\brecollect\b(?!-memory)"
    )
    assert [path.name for path in told if wrong.search(path.read_text(encoding="utf-8"))] == []
    assert wrong.search("pip install -U recollect") and wrong.search("pip install 'recollect[x]'")
    assert not wrong.search("pip install recollect-memory")
