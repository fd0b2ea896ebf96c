"""Settings: one frozen object, from defaults, the project, the user and the environment.

The later source wins, except that a repository can only reduce: it may switch Recollect off and
lower a limit, never name a database. An invalid file is an error that names file, line and key; it
never silently falls back to the defaults.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

from .errors import ConfigError
from .fast_typing import Any, NamedTuple
from .project import make_folder, write_private

Value = bool | int | float | str
PROJECT_FILE = "recollect.toml"
USER_FILE = "config.toml"
_LARGEST_FILE = 1_000_000
_LARGEST_NUMBER = 1_000_000_000


class Settings(NamedTuple):
    """The effective settings, with their defaults."""

    enabled: bool = True
    mode: str = "normal"
    database: str = ""
    space: str = ""
    replica: str = ""
    briefing_budget: int = 800
    stale: str = "mark"
    capture: bool = True
    consolidate: bool = True
    recall_limit: int = 10
    recall_budget: int = 2000
    attachment_limit: int = 30
    embedder: str = "static"
    embedder_model: str = ""
    embedder_dims: int = 0
    embedder_key: str = ""
    lock_wait: float = 30.0
    memories_enabled: bool = False
    memories_max_rollout_age_days: int = 30
    memories_min_rollout_idle_hours: float = 12.0
    memories_max_rollouts_per_startup: int = 64
    memories_summary_injection_token_limit: int = 5000
    memories_daily_token_cap: int = 200_000
    memories_chunk_tokens: int = 24_000
    memories_answer_tokens: int = 4_000
    memories_concurrency: int = 1
    memories_lease_seconds: int = 120
    models_default: str = ""
    models_smol: str = ""
    models_key: str = ""
    models_timeout: float = 120.0


class Setting(NamedTuple):
    """One setting. `project` is the right of a repository: to `lower` it, to switch it `off`, or
    `no` right."""

    name: str
    project: str
    help: str
    choices: tuple[str, ...] = ()

    @property
    def default(self) -> Any:
        return Settings._field_defaults[self.name]

    @property
    def is_secret(self) -> bool:
        return self.name.endswith("_key")

    @property
    def variable(self) -> str:
        return "RECOLLECT_" + self.name.upper()


SETTINGS = (
    Setting("enabled", "off", "whether Recollect works here at all"),
    Setting(
        "mode",
        "off",
        "normal; no-ltm (no long-term memory is injected); incognito (nothing on disk)",
        ("normal", "no-ltm", "incognito"),
    ),
    Setting("database", "no", "a postgresql:// address; empty means SQLite files"),
    Setting("space", "no", "the name under which a team shares this project on PostgreSQL"),
    Setting("replica", "no", "the address of a standby of that server, which answers recalls"),
    Setting("capture", "off", "whether rules and preferences in your messages are saved"),
    Setting("consolidate", "off", "whether finished work becomes episodes and lessons by itself"),
    Setting("briefing_budget", "lower", "maximum number of tokens of a start block"),
    Setting(
        "stale",
        "no",
        "what a briefing does with memories whose code changed: mark or withhold them",
        ("mark", "withhold"),
    ),
    Setting("recall_limit", "lower", "maximum number of hits of a search"),
    Setting("recall_budget", "lower", "maximum number of tokens of a search"),
    Setting("attachment_limit", "lower", "the largest attachment that is kept, in megabytes"),
    Setting(
        "embedder",
        "no",
        "search by meaning: static (the model in the package), off (words only), or the "
        "address of an embeddings server, such as http://localhost:11434/api/embed",
    ),
    Setting("embedder_model", "no", "the model of the embeddings server"),
    Setting("embedder_dims", "no", "number of dimensions of its vectors"),
    Setting("embedder_key", "no", "bearer token for the embeddings server"),
    Setting("lock_wait", "no", "seconds to wait for other processes"),
    Setting("memories_enabled", "off", "whether past sessions are summarised in the background"),
    Setting("memories_max_rollout_age_days", "lower", "older sessions are not processed"),
    Setting("memories_min_rollout_idle_hours", "no", "sessions in use more recently are skipped"),
    Setting("memories_max_rollouts_per_startup", "lower", "sessions processed in one start"),
    Setting(
        "memories_summary_injection_token_limit", "lower", "tokens of memory_summary.md at start"
    ),
    Setting("memories_daily_token_cap", "lower", "tokens that models may cost in a day"),
    Setting("memories_chunk_tokens", "lower", "tokens of a session that a model reads"),
    Setting("memories_answer_tokens", "lower", "tokens that a model may answer with"),
    Setting("memories_concurrency", "lower", "sessions that are extracted at the same time"),
    Setting("memories_lease_seconds", "no", "seconds without a heartbeat until a job is retried"),
    Setting(
        "models_default",
        "no",
        "the model for extraction: anthropic:MODEL, openai:MODEL, http://HOST/v1 MODEL, or "
        "command:WORDS for a program that reads the prompt from standard input; empty means rules",
    ),
    Setting("models_smol", "no", "the model for consolidation; empty means models_default"),
    Setting("models_key", "no", "the key for the model's server, if no variable holds it"),
    Setting("models_timeout", "no", "seconds that a model may take for an answer"),
)
_BY_NAME = {setting.name: setting for setting in SETTINGS}


def load_settings(
    project_root: str, user_directory: str, environment: Mapping[str, str]
) -> Settings:
    """Return the effective settings of a project for this user on this machine."""
    found = collect_settings(project_root, user_directory, environment)
    return Settings(**{name: value for name, (value, _) in found.items()})


def collect_settings(
    project_root: str, user_directory: str, environment: Mapping[str, str]
) -> dict[str, tuple[Any, str]]:
    """Return the settings that are set, each with its source: project, user or environment."""
    values: dict[str, tuple[Any, str]] = {}
    project_file = os.path.join(project_root, PROJECT_FILE)
    for name, value, where in _read(project_file):
        setting = find_setting(name, where)
        checked = _check_value(setting, value, where)
        values[name] = (_restrict_to_project(setting, checked, where), "project")
    user_file = os.path.join(user_directory, USER_FILE)
    for name, value, where in _read(user_file):
        values[name] = (_check_value(find_setting(name, where), value, where), "user")
    for setting in SETTINGS:
        text = environment.get(setting.variable)
        if text is not None:
            values[setting.name] = (parse_value(setting, text, setting.variable), "environment")
    return values


def find_ignored(project_root: str) -> dict[str, tuple[Any, str]]:
    """Return the values in a repository's file that have no effect because they raise a limit,
    each with its place."""
    ignored = {}
    for name, value, where in _read(os.path.join(project_root, PROJECT_FILE)):
        setting = find_setting(name, where)
        if is_raised(setting, _check_value(setting, value, where)):
            ignored[name] = (value, where)
    return ignored


def is_raised(setting: Setting, value: Any) -> bool:
    """Check whether a value asks for more than a repository may."""
    return setting.project != "no" and _restrict_to_project(setting, value, "") != value


def _read(path: str) -> list[tuple[str, Any, str]]:
    """Return name, value and place of every setting in a file; a table's keys are `table_key`."""
    text = _read_text(path)
    found = _flatten(_parse(path, text), "") if text else []
    return [(name, value, f"{path}:{_line_of(text, name)}") for name, value in found]


def _read_text(path: str) -> str:
    """Return the text of a file; empty without one."""
    try:
        about = os.stat(path)
        if not stat.S_ISREG(about.st_mode) or about.st_size > _LARGEST_FILE:
            raise ConfigError(
                f"is not a file of at most {_LARGEST_FILE} bytes", where=path, hint="remove it"
            )
        with open(path, "rb") as file:
            return file.read(_LARGEST_FILE).decode("utf-8")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", where=path) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{_INVALID}: {error}", where=path, hint=_CORRECT) from error


_INVALID, _CORRECT = "is not valid TOML", "correct the line, or remove the file"


def _parse(path: str, text: str, problem: str = _INVALID, hint: str = _CORRECT) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{problem}: {error}", where=path, hint=hint) from error


def _flatten(tree: Mapping[str, Any], prefix: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in tree.items():
        name = f"{prefix}{_snake(key)}"
        if isinstance(value, Mapping):
            found.extend(_flatten(value, f"{name}_"))
        else:
            found.append((name, value))
    return found


def _snake(key: str) -> str:
    """Return a key such as `maxRolloutAgeDays` as `max_rollout_age_days`."""
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in key)


def _line_of(text: str, name: str) -> int:
    """Return the number of the line that sets a key or, in a table, its last part; else 0."""
    for number, line in enumerate(text.splitlines(), start=1):
        key = _snake(line.split("=", 1)[0].strip().strip('"')).replace(".", "_")
        if key and "=" in line and (key == name or name.endswith(f"_{key}")):
            return number
    return 0


def _check_value(setting: Setting, value: Any, where: str) -> Any:
    """Return the value of a setting; raise ConfigError for a wrong type or number."""
    expected = type(setting.default)
    if expected is float and type(value) is int:
        value = float(value)
    problem = ""
    if type(value) is not expected:
        problem = f"must be {_TYPE_NAMES[expected]}, not {value!r}"
    elif setting.choices and value not in setting.choices:
        problem = f"must be one of {', '.join(setting.choices)}, not {value!r}"
    elif isinstance(value, (int, float)) and value < 0:
        problem = f"must not be negative: {value!r}"
    # Written this way round so that nan fails too.
    elif isinstance(value, (int, float)) and not value <= _LARGEST_NUMBER:
        problem = f"must be a number up to {_LARGEST_NUMBER}: {value!r}"
    if problem:
        raise ConfigError(f"{setting.name} {problem}", where=where, hint=setting.help)
    return value


def find_setting(name: str, where: str = "") -> Setting:
    """Return a setting by its name; raise ConfigError for an unknown one.

    where: the place of the name in a file; empty for a typed name, which may have dots as in a
        table of a file
    """
    name = name if where else _snake(name).replace(".", "_")
    if name in _BY_NAME:
        return _BY_NAME[name]
    from difflib import get_close_matches

    near = get_close_matches(name, _BY_NAME, 1)
    raise ConfigError(
        f"there is no setting {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""),
        where=where,
        hint=f"known settings: {', '.join(sorted(_BY_NAME))}"
        if where
        else "`recollect config list` lists them",
    )


_TYPE_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
_BOOLEANS = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off"), False),
}


def _restrict_to_project(setting: Setting, value: Any, where: str) -> Any:
    """Return a repository's value, limited to the default; raise ConfigError for a setting that a
    repository cannot set."""
    if setting.project == "no":
        raise ConfigError(
            f"a repository cannot set {setting.name}",
            where=where,
            hint="set it in your own configuration or in the environment "
            f"({setting.variable}), and remove it here",
        )
    if setting.project == "lower":
        return min(value, setting.default)
    if isinstance(setting.default, bool):
        return value and setting.default
    return max(value, setting.default, key=("normal", "no-ltm", "incognito").index)


def parse_value(setting: Setting, text: str, where: str) -> Any:
    """Parse a value that was typed or is in an environment variable."""
    kind = type(setting.default)
    value: Any = text
    if kind is bool:
        value = _BOOLEANS.get(text.lower(), text)
    elif kind is not str:
        try:
            value = kind(text)
        except ValueError:
            pass  # `_check_value` raises with the expected type
    return _check_value(setting, value, where)


# ---------------------------------------------------------------- writing


def write_setting(path: str, name: str, value: Value | None, is_private: bool) -> None:
    """Set a key at the top level of a file; None removes it. Raise ConfigError if the result would
    be invalid, as inside a multi-line text."""
    import re
    from json import dumps

    lines = _read_text(path).splitlines()
    key = re.compile(rf'\s*"?{re.escape(name)}"?\s*=')
    table = next((at for at, line in enumerate(lines) if line.lstrip().startswith("[")), len(lines))
    place = next((at for at, line in enumerate(lines[:table]) if key.match(line)), None)
    # The JSON form of these values is valid TOML.
    new = [] if value is None else [f"{name} = {dumps(value, ensure_ascii=False)}"]
    if place is None:
        lines[table:table] = new
    else:
        lines[place : place + 1] = new
    text = "\n".join(lines) + "\n" if lines else ""
    unsafe = "the file cannot be changed safely"
    _parse(path, text, unsafe, hint="edit it by hand: recollect config edit")
    if is_private:
        make_folder(os.path.dirname(path))
        write_private(path, text)
        return
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def read_setting(path: str, name: str) -> Value | None:
    """Return the value of a key at the top level of a file; None without one."""
    value = _parse(path, _read_text(path)).get(name)
    return value if isinstance(value, Value) else None
