"""Screens of what goes into the store and out of it: import, export, load, erase, repair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from ...fast_typing import TYPE_CHECKING
from ...text import display
from . import style, terminal

if TYPE_CHECKING:
    from ...interchange.operations import Exported, Loaded, Migrated
    from ...maintenance.operations import Recovered
    from ...maintenance.operations_erase import Receipt
    from ...maintenance.operations_scrub import Scrubbed
    from ...maintenance.operations_undo import Lineage, Retracted
    from ...types.reports import Imported


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


# ---------------------------------------------------------------- import

_MOST_LISTED = 20
_MOST_CAPTURES = 8
"""So that the result of an import fits a screen."""


def render_import(done: Imported) -> str:
    """Return what an import read and learned, what it left out, and what to do next."""
    read = [item for item in done.transcripts if not item.error]
    lines = [_render_results(done, len(read))]
    if not done.messages:  # else they are records about the program, as expected
        lines += _render_counts("skipped", [item.skipped for item in read])
    lines += _render_counts("DAMAGED", [item.damaged for item in read])
    problems = {item.path: item.error for item in done.transcripts if item.error}
    problems.update(done.passed_over)
    for path, reason in list(problems.items())[:_MOST_LISTED]:
        lines.append(f"  not read: {display.format_line(path)}: {display.format_line(reason)}")
    if len(problems) > _MOST_LISTED:
        lines.append(f"  and {len(problems) - _MOST_LISTED} more; --json lists all")
    if done.vectors_left:
        number = display.format_count(done.vectors_left, "older record")
        lines.append(
            f"{number}: found by words now; search by meaning follows in the background "
            "(progress: recollect doctor)"
        )
    lines += _render_captured(done)
    lines += _render_foreign_files(done)
    lines += _render_other_projects(done.others)
    lines += _render_next_steps(done)
    return "\n".join(lines)


def _render_captured(done: Imported) -> list[str]:
    captured = list({one.id: one for one in done.captured}.values())
    if not captured:
        return []
    lines = [f"stated in your messages ({len(captured)}):"]
    for learned in captured[:_MOST_CAPTURES]:
        memory = learned.memory
        status = f"{memory.status} " if memory.status != "active" else ""
        lead = f"  {style.short_id(learned.id)}  {status}{memory.kind}: "
        lines.append(lead + display.format_line(memory.text, style.text_width() - len(lead)))
    if len(captured) > _MOST_CAPTURES:
        lines.append(f"  and {len(captured) - _MOST_CAPTURES} more: recollect capture list")
    return lines


def _render_results(done: Imported, read: int) -> str:
    """Return one line on what was read and learned."""
    results = done.results
    if not read:
        return (
            "no transcripts found for this project\n"
            "all projects: recollect import --all   a file or folder: recollect import PATH\n"
            "moved here from another directory: recollect import --from DIRECTORY"
        )
    if not done.messages:
        return f"nothing new in {display.format_count(read, 'transcript')}"
    found = [
        (results.rules, "rule of yours", "rules of yours"),
        (results.decisions, "decision", "decisions"),
        (results.facts, "fact of yours", "facts of yours"),
        (results.commands, "command", "commands"),
        (results.fixes, "fix", "fixes"),
        (results.episodes, "episode", "episodes"),
        (results.waiting, "item to review", "items to review"),
    ]
    counts = ", ".join(display.format_count(number, *nouns) for number, *nouns in found if number)
    known = f", {done.known} already known" if done.known else ""
    messages = f"{display.format_count(done.messages, 'new message')}{known}"
    conversations = display.format_count(results.conversations, "conversation")
    return f"Read {conversations} ({messages}): {counts or 'nothing learned'}"


def _render_foreign_files(done: Imported) -> list[str]:
    """Name the files that count as imports, and how to accept their statements."""
    foreign = [item for item in done.transcripts if item.foreign and item.messages]
    if not foreign:
        return []
    paths = ", ".join(display.format_line(item.path) for item in foreign[:3])
    more = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
    lines = [
        f"imported as untrusted (not in an agent's own folder): {paths}{more}",
        "  found by recall only; nothing is learned from it",
    ]
    if done.results.quarantined:
        number = display.format_count(done.results.quarantined, "statement")
        lines.append(f"  {number} quarantined. Accept: recollect review --reason quarantined")
    return lines


def _render_other_projects(others: Mapping[str, int]) -> list[str]:
    if not others:
        return []
    total = display.format_count(sum(others.values()), "conversation")
    lines = [f"{total} of {display.format_count(len(others), 'other project')}, not read:"]
    for root, number in list(others.items())[:_MOST_LISTED]:
        lines.append(f"  {number:>4}  {display.format_line(root)}")
    if len(others) > _MOST_LISTED:
        lines.append(f"  and {len(others) - _MOST_LISTED} more; --json lists all")
    lines.append("  read each into its own project's memory: recollect import --all")
    return lines


def _render_next_steps(done: Imported) -> list[str]:
    if not done.messages:
        return []
    steps = [("recollect briefing", "what your agents begin with")]
    if done.results.commands or done.results.fixes:
        steps.append(("recollect lessons", "the commands and fixes that were found"))
    if done.results.waiting:
        steps.append(("recollect review", "answer each item that waits"))
    if done.captured:
        steps.append(("recollect rm ID", "take a statement out of use"))
    return ["next:", *style.hints(*steps)]


def run_import(
    values: Mapping[str, object], run: Callable[[Mapping[str, object]], Imported]
) -> Imported:
    """Run `import`, then ask a person about conversations of other projects.

    `run` runs the command with some of its arguments replaced.
    """
    done = run({})
    if values.get("path") or not done.others or not terminal.is_attended():
        return done
    print("\n".join(_render_other_projects(done.others)[:-1]))
    done = done._replace(others={})
    if not terminal.agrees("Import them too, each into its own project's memory? [y/N] "):
        return done
    print(render_import(done))
    return run({"all": True})


def _render_counts(title: str, counts: Sequence[Mapping[str, int]]) -> list[str]:
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    if not total:
        return []
    reasons = ", ".join(
        f"{display.format_line(name)} {number}" for name, number in total.most_common(6)
    )
    return [f"  {title}: {display.format_count(total.total(), 'record')} ({reasons})"]


SCREENS: dict[str, Callable[..., str]] = {
    "forget": _render_receipt,
    "blame": _render_lineage,
    "retract": _render_retracted,
    "scrub": _render_scrubbed,
    "recover": _render_recovered,
    "export": _render_exported,
    "load": _render_loaded,
    "migrate": _render_migrated,
    "import": render_import,
}
