"""Render the thread summary, and the two texts around a trim: checkpoint and recovery note.

The same facts give the same bytes, and no clock time is ever in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..actions.tool_calls import describe_target, is_failed
from ..text.messages import (
    CONTINUATION_PROMPT,
    MEMORY_TAG,
    SUMMARY_TAG,
    PlacedMessage,
    range_address,
)
from .thread_facts import LONGEST_REQUEST, Fact, Facts, clip, open_blockers, todos

MOST_COMMITS = 15
MOST_TODOS = 20


def render_summary(facts: Facts, session: str) -> str:
    """Render the summary for the model; empty if nothing was dropped."""
    if not facts.span[1]:
        return ""
    sections = [
        _render_section(
            "Current task", (clip(fact.text, LONGEST_REQUEST) for fact in facts.task), inline=True
        ),
        _render_section("Active discussion", map(_render_exchange, facts.exchanges)),
        _render_section("Recent user requests", _list_requests(facts)),
        _render_section("Git commits", list_commits(facts)),
        _render_section("Files created or modified", (fact.text for fact in facts.written)),
        _render_section("Files read", _list_only_read(facts)),
        _render_section("Key decisions", (fact.text for fact in facts.decisions)),
        _render_section("Open", _list_open(facts)),
        _render_section("Tool usage", _list_usage(facts)),
        f"Where the rest is: {range_address(session, *facts.span)}",
    ]
    body = "\n\n".join(section for section in sections if section)
    return f"<{SUMMARY_TAG}>\n{body}\n</{SUMMARY_TAG}>"


MOST_READ = 10


def list_commits(facts: Facts, most: int = MOST_COMMITS) -> list[str]:
    """Return the commits, newest first: those made, then those only listed."""
    made = {fact.key: fact.text for fact in reversed(facts.commits)}
    listed = {fact.key: fact.text for fact in reversed(facts.listed) if fact.key not in made}
    return [*made.values(), *listed.values()][:most]


def _render_section(title: str, lines: Iterable[str], inline: bool = False) -> str:
    listed = [line for line in lines if line]
    if not listed:
        return ""
    return f"{title}: {listed[0]}" if inline else "\n".join((f"{title}:", *_bullets(listed)))


def _bullets(lines: Iterable[str]) -> list[str]:
    return [f"- {line}" for line in lines]


def _render_exchange(fact: Fact) -> str:
    return f"Agent asked: {fact.key}\n  User replied: {fact.text}"


def _list_requests(facts: Facts) -> list[str]:
    first = facts.original[0] if facts.original else None
    last = [fact for fact in facts.requests if first is None or fact.at != first.at]
    marked = [f"[original] {first.text}"] if first else []
    return marked + [fact.text for fact in last]


def _list_only_read(facts: Facts) -> list[str]:
    written = {fact.key for fact in facts.written}
    return [fact.text for fact in facts.read if fact.key not in written][-MOST_READ:]


def _list_open(facts: Facts) -> list[str]:
    lines = [f"phase: {fact.text}" for fact in facts.phase]
    lines += [f"constraint: {fact.text}" for fact in facts.constraints]
    lines += [f"blocker: {text}" for text in open_blockers(facts)]
    return lines + todo_lines(facts)


def todo_lines(facts: Facts) -> list[str]:
    """Return the open todos, and the number of those done."""
    listed = list(todos(facts))
    waiting = [f"[{status}] {text}" for status, text in listed if status != "done"]
    done = len(listed) - len(waiting)
    lines = waiting[:MOST_TODOS]
    if len(waiting) > MOST_TODOS:
        lines.append(f"{len(waiting) - MOST_TODOS} more todos")
    return [*lines, f"{done} of {len(listed)} todos done"] if done else lines


def _list_usage(facts: Facts) -> list[str]:
    ranked = sorted(facts.tools, key=lambda used: (-used[1], used[0]))
    return [f"{name}: {count} calls" for name, count in ranked]


# ---------------------------------------------------------------- around a trim


def render_recovery(
    facts: Facts, commits_now: Sequence[str] = (), status: Sequence[str] = (), most: int = 5
) -> str:
    """Render the note that follows the summary after an aggressive trim.

    `commits_now` and `status` are lines of git, newest commit first; without them the commits that
    the session has seen are used.
    """
    sections = [
        CONTINUATION_PROMPT,
        _render_section(
            "Current task", (clip(fact.text, LONGEST_REQUEST) for fact in facts.task), inline=True
        ),
        _render_section("Todo", todo_lines(facts)),
        _render_section(
            "Recent commits",
            [clip(line, 120) for line in commits_now or list_commits(facts)][:most],
        ),
        _render_section("Working tree", [clip(line, 120) for line in status][:20]),
        "More, in this order: the memories already in this prompt; recall_sessions for what was "
        "said; retrieve session_progress; git log.",
    ]
    body = "\n\n".join(section for section in sections if section)
    return f'<{MEMORY_TAG} type="recovery">\n{body}\n</{MEMORY_TAG}>'


def render_checkpoint(
    facts: Facts,
    calls: Sequence[str],
    iteration: int,
    commits_now: Sequence[str] = (),
    status: Sequence[str] = (),
) -> str:
    """Render the `session_progress` document that is written before a trim."""
    task = facts.task[0].text if facts.task else "not said"
    git = [clip(line, 120) for line in (*(commits_now or list_commits(facts, 5)), *status)]
    parts = [
        "# Session progress",
        f"Current task: {clip(task, LONGEST_REQUEST)}",
        f"Iteration: {iteration}",
        _render_chapter("Todo", todo_lines(facts)),
        _render_chapter("Blockers", open_blockers(facts)),
        _render_chapter("Recent tool calls", calls),
        _render_chapter("Files touched", [fact.text for fact in facts.written]),
        _render_chapter("Git", git),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _render_chapter(title: str, lines: Sequence[str]) -> str:
    return "\n".join((f"## {title}", *_bullets(lines))) if lines else ""


def recent_calls(messages: Iterable[PlacedMessage], most: int = 10) -> list[str]:
    """Describe the last tool calls, oldest first."""
    placed = list(messages)
    broken = {
        one.message.call_id
        for one in placed
        if one.message.role == "tool" and is_failed(one.message)
    }
    lines = [
        clip(f"{call.name} {describe_target(call)}", 120)
        + (" (failed)" if call.id in broken else "")
        for one in placed
        for call in one.message.calls
    ]
    return lines[-most:]
