"""Change one setting in a TOML file; comments and the order of lines stay."""

from __future__ import annotations

import json
import os
import re

from ..errors import ConfigError
from ..project import make_folder, write_private

Value = bool | int | float | str


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
