"""Results of episodes, consolidation, procedures, links and work memory, as text for people."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from ..core import render
from . import text


def _kept(kept: Any) -> str:
    line = f"{kept.action} {kept.id}"
    if kept.redacted:
        line += f"\n  redacted before it was kept: {', '.join(kept.redacted)}"
    return line


def _built(built: Any) -> str:
    return (
        f"read {built.sessions} sessions: {built.episodes} episodes, "
        f"{built.created} new, {built.updated} changed"
    )


def _episodes(found: Sequence[Any]) -> str:
    if not found:
        return "no episodes yet; `recollect episode build` reads them out of conversations"
    rows = (
        (item.id, render.moment(item.at)[:16], item.outcome, item.status, item.goal)
        for item in found
    )
    return text.table(("ID", "WHEN", "OUTCOME", "STATUS", "GOAL"), rows)


def _episode(shown: Any) -> str:
    head = f"episode  {shown.address}  ({shown.outcome}, {shown.status}, trusted as {shown.label})"
    body = json.dumps(shown.episode, ensure_ascii=False, indent=2)
    return f"{head}\n{render.visible(body)}"


def _replay(replay: Any) -> str:
    lines = [f"{replay.id}: {render.one_line(replay.goal)} ({replay.outcome})"]
    for step in replay.steps:
        told = " ".join(filter(None, (step.action, step.target, step.result)))
        lines.append(f"  {step.t:>7.0f} s  {render.one_line(told, 140)}")
        if step.error:
            lines.append(f"             {render.one_line(step.error, 140)}")
    for error in replay.errors:
        end = f"resolved: {error.resolution}" if error.resolution else "never resolved"
        lines.append(f"  error    {render.one_line(f'{error.type}: {error.message}', 140)}")
        lines.append(f"           {render.one_line(end, 140)}")
    lines += [f"  {file.state:<14} {render.one_line(file.path)}" for file in replay.files]
    return "\n".join(lines)


def _consolidated(done: Any) -> str:
    if done.note:
        return str(done.note)
    lines = []
    for line in done.lines:
        lines.append(f"{line.sign} {line.what}  {render.one_line(line.text, 160)}")
        lines.append(f"    because: {render.one_line(line.reason, 140)}")
    for one in done.left_out:
        named = ", ".join(one.sources[:3]) + (", …" if len(one.sources) > 3 else "")
        lines.append(f"  left out  {named}: {render.one_line(one.reason, 140)}")
    if not done.lines:
        lines.append("nothing to consolidate")
    elif done.applied:
        lines.append(f"{len(done.lines)} changes; `recollect consolidate undo` takes them back")
    else:
        lines.append(f"{len(done.lines)} changes would be made; nothing was changed")
    return "\n".join(lines)


def _undone(done: Any) -> str:
    return f"took back {done.undo}: {done.restored} restored, {done.removed} removed"


def _procedure(shown: Any) -> str:
    from ..core.skills import to_skill_md

    head = (
        f"procedure  {shown.address}  ({shown.status}, version {shown.revision}, "
        f"{shown.successes} times it worked, {shown.failures} times it did not)"
    )
    return f"{head}\n{render.visible(to_skill_md(shown.procedure))}".rstrip()


def _procedures(found: Sequence[Any]) -> str:
    if not found:
        return "no procedures yet; begin with: recollect procedure learn"
    rows = (
        (item.name, item.status, f"{item.successes}/{item.failures}", item.description)
        for item in found
    )
    return text.table(("NAME", "STATUS", "WORKED/FAILED", "DESCRIPTION"), rows)


def _counted(shown: Any) -> str:
    return (
        f"{shown.name} ({shown.status}, version {shown.revision}): "
        f"worked {shown.successes} times, failed {shown.failures} times"
    )


def _exported(done: Any) -> str:
    return f"wrote {done.path}" if done.path else render.visible(done.text).rstrip()


def _link(link: Any) -> str:
    return f"{link.source} {link.relation} {link.target}"


def _links(linked: Any) -> str:
    if linked.graph:
        return str(render.visible(linked.graph)).rstrip()
    if not linked.reached:
        return "nothing is linked to it"
    return "\n".join(
        f"{'  ' * one.depth}{one.relation} {one.id}  {render.one_line(linked.labels[one.id], 100)}"
        for one in linked.reached
    )


SHOWN: dict[str, Callable[[Any], str]] = {
    "episode record": _kept,
    "episode build": _built,
    "episode list": _episodes,
    "episode show": _episode,
    "episode replay": _replay,
    "consolidate": _consolidated,
    "consolidate undo": _undone,
    "procedure learn": _counted,
    "procedure list": _procedures,
    "procedure show": _procedure,
    "procedure use": _counted,
    "procedure revise": _counted,
    "procedure accept": _counted,
    "procedure export": _exported,
    "procedure load": _counted,
    "link": _link,
    "links": _links,
}
