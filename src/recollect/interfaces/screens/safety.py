"""Screens of what erases, repairs, exports and loads memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...fast_typing import TYPE_CHECKING
from ...text import display

if TYPE_CHECKING:
    from ...interchange.operations import Exported, Loaded, Migrated
    from ...maintenance.operations import Recovered
    from ...maintenance.operations_erase import Receipt
    from ...maintenance.operations_scrub import Scrubbed
    from ...maintenance.operations_undo import Lineage, Retracted


def _counts(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(numbers.items())) or "nothing"


def _render_receipt(done: Receipt) -> str:
    if not done.applied:
        lines = [f"would erase: {_counts(done.rows)}"]
        lines += [f"  and in {path}" for path in done.files]
        return "\n".join([*lines, "nothing was changed; this cannot be undone: add --yes"])
    lines = [f"erased {done.target}: {_counts(done.rows)}  (receipt {done.id})"]
    lines += [f"  and in {path}" for path in done.files]
    if done.backups:
        lines.append(f"{display.format_count(done.backups, 'backup')} removed, one made anew")
    lines.append("Copies that you made elsewhere are not known here. It is not learned again.")
    return "\n".join([*lines, *done.notes])


def _render_lineage(found: Lineage) -> str:
    lines = [f"{found.id}  {found.text}"]
    lines.append(f"came in as {found.origin}, trusted as {found.label}; revision {found.revisions}")
    for title, refs in (("from", found.evidence), ("source", found.sources)):
        lines += [f"  {title}: {ref}" for ref in refs]
    lines += [f"  used for: {ref}" for ref in found.derived]
    if not (found.evidence or found.sources):
        lines.append("  no source is recorded: it was said directly")
    return "\n".join(lines)


def _render_retracted(done: Retracted) -> str:
    if not done.memories:
        return f"nothing in use came from {done.source}"
    lines = [f"hidden, as it came from {done.source}:", *(f"  {id}" for id in done.memories)]
    return "\n".join([*lines, "take one back: recollect restore ID"])


def _render_scrubbed(done: Scrubbed) -> str:
    if not done.records:
        return "no secrets found in what is stored"
    return f"secrets in {_counts(done.records)}: {_counts(done.found)}"


def _render_recovered(done: Recovered) -> str:
    if not done.kept:
        return f"{done.path}: no damage found, nothing was changed"
    lines = [*(f"damage: {one.splitlines()[0]}" for one in done.problems)]
    lines.append(f"saved: {_counts(done.saved)}")
    if done.gaps:
        lines.append(f"gaps: {_counts(done.gaps)}")
    if done.restored:
        lines.append(f"taken from backups: {_counts(done.restored)}")
    if done.backup:
        lines.append(f"read from: {done.backup}")
    return "\n".join([*lines, f"the damaged files are kept in {done.kept}"])


def _render_exported(done: Exported) -> str:
    lines = [f"wrote {path}" for path in done.files[:5]]
    if len(done.files) > 5:
        lines.append(f"… and {len(done.files) - 5} more files")
    lines.append(f"{display.format_count(done.records, 'record')} exported")
    return "\n".join([*lines, *([f"loss: {done.loss}"] if done.loss else [])])


def _render_loaded(done: Loaded) -> str:
    lines = [f"{done.form or 'nothing'}: {done.read} read, {done.new} new ({done.status})"]
    if done.status == "quarantined" and done.new:
        lines.append("accept them: recollect review")
    lines += [f"loss: {done.loss}"] if done.loss else []
    return "\n".join([*lines, *(f"left out: {one}" for one in done.problems)])


def _render_migrated(done: Migrated) -> str:
    lines = [f"copied {done.rows} rows to {done.target}, equal by hash {done.digest[:16]}"]
    lines += [done.loss] if done.loss else []
    if "://" in done.target:
        lines.append("use it: set `database` in your own configuration, or RECOLLECT_DATABASE")
    else:
        lines.append("use it: remove `database` from your configuration, and RECOLLECT_DATABASE")
    return "\n".join(lines)


SCREENS: dict[str, Callable[..., str]] = {
    "forget": _render_receipt,
    "blame": _render_lineage,
    "retract": _render_retracted,
    "scrub": _render_scrubbed,
    "recover": _render_recovered,
    "export": _render_exported,
    "load": _render_loaded,
    "migrate": _render_migrated,
}
