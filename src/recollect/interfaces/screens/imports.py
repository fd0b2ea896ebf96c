"""The screen of `import`, and its dialogue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import recollect

from ...text.display import format_count, format_line
from . import style, terminal
from .style import lines

_DIFFERING = "in an agent's own folder differ from an untrusted copy; both are kept"
_UNLEARNED = "commands, fixes and episodes follow in the background"
_LEARNED_LATER = "their commands and fixes are learned when they end or are silent for an hour"
_MOST_LISTED, _MOST_CAPTURES = 20, 8
"""Limits, so that the result of an import fits a screen."""


def render_import(done: recollect.Imported) -> str:
    """Return what an import read, learned and skipped, and the next steps."""
    read = [item for item in done.transcripts if not item.error]
    failed = {one.path: one.error for one in done.transcripts if one.error} | {**done.passed_over}
    unread = [f"  not read: {format_line(path)}: {format_line(failed[path])}" for path in failed]
    differing = sum(item.differing for item in read)
    left = format_count(done.vectors_left, "record")
    vectors = f"{left}: found by words now; search by meaning follows in the background "
    return lines(
        _render_results(done, len(read)),
        # With new messages the skipped records are expected: they are about the agent's program.
        "" if done.messages else _render_counts("skipped", (item.skipped for item in read)),
        _render_counts("DAMAGED", (item.damaged for item in read)),
        _list_some(unread),
        f"{vectors}(progress: recollect doctor)" if done.vectors_left else "",
        _render_captured(done),
        f"{format_count(differing, 'message')} {_DIFFERING}" if differing else "",
        _render_foreign_files(done),
        _render_other_projects(done.others),
        _render_next_steps(done),
    )


def _list_some(
    found: Sequence[str], most: int = _MOST_LISTED, rest: str = "; --json lists all"
) -> list[str]:
    """Return the first lines, and the number of those that are left out."""
    left = len(found) - most
    return [*found[:most], *([f"  and {left} more{rest}"] if left > 0 else [])]


def _render_captured(done: recollect.Imported) -> list[str]:
    found, sources = [], set()
    for learned in {one.id: one for one in done.captured}.values():
        memory = learned.memory
        sources.add("the imported" if memory.origin == "import" else "your")
        status = f"{memory.status} " if memory.status != "active" else ""
        lead = f"  {style.short_id(learned.id)}  {status}{memory.kind}: "
        found.append(lead + format_line(memory.text, style.text_width() - len(lead)))
    head = [f"stated in {' and '.join(sorted(sources))} messages ({len(found)}):"] if found else []
    return head + _list_some(found, _MOST_CAPTURES, ": recollect capture list")


def _render_results(done: recollect.Imported, read: int) -> str:
    """Return one line on what was read and learned."""
    results = done.results
    if not read and "path" in style.page().given:
        return "no transcripts of this project found there"
    if not read:
        return (
            "no transcripts found for this project\n"
            "all projects: recollect import --all   a file or folder: recollect import PATH\n"
            "moved here from another directory: recollect import --from DIRECTORY"
        )
    if not done.messages:
        return f"nothing new in {format_count(read, 'transcript')}"
    found = (
        (results.rules, "rule of yours", "rules of yours"),
        (results.decisions, "decision", "decisions"),
        (results.facts, "fact of yours", "facts of yours"),
        (results.commands, "command", "commands"),
        (results.fixes, "fix", "fixes"),
        (results.episodes, "episode", "episodes"),
        (results.waiting, "item to review", "items to review"),
    )
    counts = ", ".join(format_count(number, *nouns) for number, *nouns in found if number)
    later = _UNLEARNED if done.lessons_left else ""
    if results.unfinished and not (results.episodes or later):
        unfinished = format_count(results.unfinished, "conversation")
        later = f"{unfinished} may still be going on: {_LEARNED_LATER}"
    told = "; ".join(filter(None, (counts, later)))
    known = f", {done.known} already known" if done.known else ""
    messages = f"{format_count(done.messages, 'new message')}{known}"
    conversations = format_count(results.conversations, "conversation")
    return f"Read {conversations} ({messages}): {told or 'nothing learned'}"


def _render_foreign_files(done: recollect.Imported) -> str:
    """Return the untrusted files, and how to accept their statements."""
    foreign = [format_line(one.path) for one in done.transcripts if one.foreign and one.messages]
    if not foreign:
        return ""
    more = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
    number = format_count(done.results.quarantined, "statement")
    accept = f"  {number} quarantined. Accept: recollect review --reason quarantined"
    return lines(
        f"imported as untrusted (not in an agent's own folder): {', '.join(foreign[:3])}{more}",
        "  found by recall only; nothing is learned from it",
        accept if done.results.quarantined else "",
    )


def _render_other_projects(others: Mapping[str, int]) -> list[str]:
    if not others:
        return []
    number = format_count(sum(others.values()), "conversation")
    head = f"{number} of {format_count(len(others), 'other project')}, not read:"
    found = [f"  {number:>4}  {format_line(root)}" for root, number in others.items()]
    end = "  read each into its own project's memory: recollect import --all"
    return [head, *_list_some(found), end]


def _render_next_steps(done: recollect.Imported) -> list[str]:
    if not done.messages:
        return []
    steps = [("recollect briefing", "what your agents begin with")]
    if all(one.foreign for one in done.transcripts if one.messages):
        steps = [("recollect recall WORDS", "search them"), ("recollect session list", "list them")]
    if done.results.commands or done.results.fixes or done.lessons_left:
        steps.append(("recollect lessons", "the commands and fixes that were found"))
    if done.results.waiting:
        steps.append(("recollect review", "answer each item that waits"))
    if done.captured:
        steps.append(("recollect rm ID", "take a statement out of use"))
    return ["next:", *style.hints(*steps)]


def run_import(
    values: Mapping[str, object], run: Callable[[Mapping[str, object]], recollect.Imported]
) -> recollect.Imported:
    """Run `import`, then ask a person about conversations of other projects.

    `run` runs the command with some of its arguments replaced.
    """
    done = run({})
    if values.get("path") or not done.others or not terminal.is_attended():
        return done
    print(lines(_render_other_projects(done.others)[:-1]))
    done = done._replace(others={})
    if not terminal.agrees("Import them too, each into its own project's memory? [y/N] "):
        return done
    print(render_import(done))
    return run({"all": True})


def _render_counts(title: str, counts: Iterable[Mapping[str, int]]) -> str:
    total = sum(map(Counter, counts), Counter[str]())
    reasons = ", ".join(f"{format_line(name)} {number}" for name, number in total.most_common(6))
    records = format_count(total.total(), "record")
    return f"  {title}: {records} ({reasons})" if total else ""


SCREENS: dict[str, Callable[..., str]] = {"import": render_import}
