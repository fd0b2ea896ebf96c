"""The screens of settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import recollect

from . import style
from .style import lines


def _render_setting(setting: recollect.SettingValue) -> str:
    value = setting.value if setting.value else "(empty)"
    return value if not style.page().is_terminal else f"{value}  ({setting.source})"


def _render_settings(settings: Sequence[recollect.SettingValue]) -> str:
    rows = ((one.name, one.value or "-", one.source, one.help) for one in settings)
    table = style.render_table(("SETTING", "VALUE", "FROM", "MEANING"), rows, styles=("id",))
    hints = style.hints(
        ("recollect config set NAME VALUE", "change one"),
        ("recollect config edit", "change them in your editor"),
    )
    ignored = [
        style.paint("warn", f"{one.name} = {one.ignored} in recollect.toml has no effect: ")
        + "a repository can only reduce"
        for one in settings
        if one.ignored
    ]
    return lines(table, ["", *ignored] if ignored else [], ["", *hints])


def _render_changed_setting(done: recollect.SettingChanged) -> str:
    what = f"set {done.name} = {done.value}" if done.value else f"removed {done.name}"
    effect = ""
    if done.value != done.effective and done.value:
        effect = f"in effect: {done.effective} ({done.source} wins)"
    elif not done.value:
        effect = f"in effect: {done.effective or '(empty)'} ({done.source})"
    return lines(f"{what} in {done.path}", effect)


SCREENS: dict[str, Callable[..., str]] = {
    "config get": _render_setting,
    "config set": _render_changed_setting,
    "config unset": _render_changed_setting,
    "config list": _render_settings,
    "config path": lambda paths: f"user     {paths.user}\nproject  {paths.project}",
}
