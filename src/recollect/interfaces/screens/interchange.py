"""Screens of `export`, `load` and `migrate`."""

from __future__ import annotations

from collections.abc import Callable

import recollect

from ...text.display import format_count
from .style import lines


def _render_exported(done: recollect.Exported) -> str:
    more = len(done.files) - 5
    return lines(
        (f"wrote {path}" for path in done.files[:5]),
        f"… and {more} more files" if more > 0 else "",
        f"{format_count(done.records, 'record')} exported",
        done.loss,
    )


def _render_loaded(done: recollect.Loaded) -> str:
    waits = done.status == "quarantined" and done.new
    new = f"{done.new} new ({done.status})" if done.new else "none of them new"
    return lines(
        f"{format_count(done.read, 'record')} read, {new}; form: {done.form or 'none known'}",
        "accept them: recollect review" if waits else "",
        done.loss,
        (f"left out: {one}" for one in done.problems),
    )


def _render_migrated(done: recollect.Migrated) -> str:
    to_server = "set `database` in your own configuration, or RECOLLECT_DATABASE"
    to_files = "remove `database` from your configuration, and RECOLLECT_DATABASE"
    return lines(
        f"copied {done.rows} rows to {done.target}, equal by hash {done.digest[:16]}",
        done.loss,
        f"use it: {to_server if '://' in done.target else to_files}",
    )


SCREENS: dict[str, Callable[..., str]] = {
    "export": _render_exported,
    "load": _render_loaded,
    "migrate": _render_migrated,
}
