"""Settings: later wins, a repository can only reduce, and nothing malformed is ever silent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import recollect
from recollect import config


def load(tmp_path: Path, project: str = "", user: str = "", **variables: str) -> config.Settings:
    for folder, name, text in (("p", "recollect.toml", project), ("u", "config.toml", user)):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / name).write_text(text, encoding="utf-8")
    return config.load_settings(str(tmp_path / "p"), str(tmp_path / "u"), variables)


def test_without_files_the_defaults_hold(tmp_path: Path) -> None:
    assert config.load_settings(str(tmp_path), str(tmp_path), {}) == config.Settings()
    defaults = {setting.name: setting.default for setting in config.SETTINGS}
    assert config.Settings()._asdict() == defaults
    assert len(config.SETTINGS) <= 35


def test_later_wins(tmp_path: Path) -> None:
    assert load(tmp_path, "recall_limit = 5").recall_limit == 5
    assert load(tmp_path, "recall_limit = 5", "recall_limit = 30").recall_limit == 30
    settings = load(tmp_path, "recall_limit = 5", "recall_limit = 30", RECOLLECT_RECALL_LIMIT="7")
    assert settings.recall_limit == 7


def test_a_repository_can_lower_a_limit_but_not_raise_it(tmp_path: Path) -> None:
    assert load(tmp_path, "recall_budget = 100").recall_budget == 100
    assert load(tmp_path, "recall_budget = 999999").recall_budget == 2000


def test_a_repository_can_opt_out(tmp_path: Path) -> None:
    assert load(tmp_path, "enabled = false").enabled is False
    assert load(tmp_path, 'mode = "incognito"').mode == "incognito"


@pytest.mark.parametrize(
    "line", ['database = "postgresql://evil/db"', 'space = "theirs"', "lock_wait = 600.0"]
)
def test_a_repository_cannot_name_places(tmp_path: Path, line: str) -> None:
    with pytest.raises(recollect.ConfigError, match="a repository cannot set") as caught:
        load(tmp_path, f"# a comment\n{line}\n")
    assert "recollect.toml:2" in caught.value.where


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("mode = ", "not valid TOML"),
        ('mode = "quiet"', "must be one of normal, no-ltm, incognito"),
        ('enabled = "no"', "must be true or false"),
        ("recall_limit = -3", "must not be negative"),
        ("recall_limit = 2.5", "must be a whole number"),
        ("incognitto = true", "there is no setting"),
        ("[nested]\nkey = 1", "there is no setting"),
    ],
)
def test_a_malformed_file_is_an_error_that_names_the_place(
    tmp_path: Path, text: str, says: str
) -> None:
    for where in ("project", "user"):
        with pytest.raises(recollect.ConfigError, match=says) as caught:
            load(tmp_path, **{where: text})
        assert ".toml" in caught.value.where


def test_a_file_that_is_not_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "recollect.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(recollect.ConfigError, match="not valid TOML"):
        config.load_settings(str(tmp_path), str(tmp_path), {})


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("RECOLLECT_ENABLED", "perhaps"),
        ("RECOLLECT_RECALL_LIMIT", "many"),
        ("RECOLLECT_MODE", "x"),
        ("RECOLLECT_LOCK_WAIT", "nan"),
        ("RECOLLECT_LOCK_WAIT", "inf"),
        ("RECOLLECT_LOCK_WAIT", "-inf"),
        ("RECOLLECT_RECALL_LIMIT", "9" * 20),
    ],
)
def test_a_wrong_variable_is_an_error_that_names_it(
    tmp_path: Path, variable: str, value: str
) -> None:
    with pytest.raises(recollect.ConfigError) as caught:
        load(tmp_path, **{variable: value})
    assert caught.value.where == variable


def test_a_file_that_never_ends_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "endless").mkdir()
    (tmp_path / "endless" / "recollect.toml").symlink_to("/dev/zero")
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "recollect.toml")
    (tmp_path / "large").mkdir()
    (tmp_path / "large" / "recollect.toml").write_text("# " + "x" * 1_000_000)
    (tmp_path / "folder" / "recollect.toml").mkdir(parents=True)
    for name in ("endless", "pipe", "large", "folder"):
        with pytest.raises(recollect.ConfigError, match="is not a file of at most") as caught:
            config.load_settings(str(tmp_path / name), str(tmp_path), {})
        assert caught.value.where == str(tmp_path / name / "recollect.toml")


def test_a_project_that_opted_out_is_left_alone(project: Path, tmp_path: Path) -> None:
    (project / "recollect.toml").write_text("enabled = false\n")
    with pytest.raises(recollect.Refused, match="switched off"):
        recollect.open(project, environment={"RECOLLECT_HOME": str(tmp_path)})


def test_every_setting_is_in_the_reference() -> None:
    page = (Path(__file__).parent.parent / "docs" / "reference" / "settings.md").read_text()
    for setting in config.SETTINGS:
        assert f"`{setting.name}`" in page
        assert f"`{setting.variable}`" in page
        assert setting.help in page
