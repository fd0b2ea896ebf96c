"""Render the thread summary, and the two texts around a trim: checkpoint and recovery note.

The same facts give the same bytes, and no clock time is ever in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..actions.tool_calls import describe_target, is_failed
from ..text.display import MEMORY_TAG, SUMMARY_TAG
from ..text.messages import CONTINUATION_PROMPT, PlacedMessage, range_address
from .thread_facts import CAPS, LONGEST_EXCHANGE, LONGEST_REQUEST, Fact, Facts, clip

MOST_COMMITS = 15
MOST_TODOS = 20


SUMMARY_SHARES = (1.0, 0.5, 0.25, 0.1)
"""The share of its lines, and of their characters, that each shorter form of a summary keeps."""

SHORTEST_LINE = 80
"""The minimum number of characters of a shortened line."""


def render_summary(facts: Facts, session: str, share: float = 1.0) -> str:
    """Render the summary for the model; empty if nothing was dropped.

    With a smaller share each list keeps the newest of its lines, at least one, and long lines are
    shortened.
    """
    if not facts.span[1]:
        return ""
    limit = max(int(LONGEST_REQUEST * share), SHORTEST_LINE)

    def shorten(lines: Iterable[str], most: int) -> list[str]:
        if share == 1.0:
            return list(lines)
        return [clip(line, limit) for line in lines][-max(int(most * share), 1) :]

    task = [clip(fact.text, LONGEST_REQUEST) for fact in facts.task]
    commits = shorten(reversed(list_commits(facts)), MOST_COMMITS)
    usage = shorten(reversed(_list_usage(facts)), MOST_USED)
    written = shorten((fact.text for fact in facts.written), CAPS["written"])
    sections = [
        _render_section("Current task", task, inline=True),
        _render_section("Active discussion", _list_exchanges(facts, share)),
        _render_section("Recent user requests", _list_requests(facts, share)),
        _render_section("Git commits", commits[::-1]),
        _render_section("Files created or modified", written),
        _render_section("Files read", shorten(_list_only_read(facts), MOST_READ)),
        _render_section("Key decisions", (fact.text for fact in facts.decisions)),
        _render_section("Open", _list_open(facts)),
        _render_section("Tool usage", usage[::-1]),
        f"Where the rest is: {range_address(session, *facts.span)}",
    ]
    body = "\n\n".join(section for section in sections if section)
    return f"<{SUMMARY_TAG}>\n{body}\n</{SUMMARY_TAG}>"


MOST_READ, MOST_USED = 10, 20


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


def _list_exchanges(facts: Facts, share: float) -> list[str]:
    limit = max(int(LONGEST_EXCHANGE * share), SHORTEST_LINE)
    return [
        f"Agent asked: {clip(fact.key, limit)}\n  User replied: {clip(fact.text, limit)}"
        for fact in facts.exchanges[-max(int(CAPS["exchanges"] * share), 1) :]
    ]


def _list_requests(facts: Facts, share: float) -> list[str]:
    limit = max(int(LONGEST_REQUEST * share), SHORTEST_LINE)
    first = facts.original[0] if facts.original else None
    last = [fact for fact in facts.requests if first is None or fact.at != first.at]
    marked = [f"[original] {clip(first.text, limit)}"] if first else []
    newest = last[-max(int(CAPS["requests"] * share), 1) :]
    return marked + [clip(fact.text, limit) for fact in newest]


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
    facts: Facts, commits_now: Sequence[str] = (), status: Sequence[str] = ()
) -> str:
    """Render the note that follows the summary after an aggressive trim.

    `commits_now` and `status` are lines of git, newest commit first; without them the commits that
    the session has seen are used.
    """
    task = [clip(fact.text, LONGEST_REQUEST) for fact in facts.task]
    commits = [clip(line, 120) for line in commits_now or list_commits(facts)][:5]
    sections = [
        CONTINUATION_PROMPT,
        _render_section("Current task", task, inline=True),
        _render_section("Todo", todo_lines(facts)),
        _render_section("Recent commits", commits),
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


def recent_calls(messages: Iterable[PlacedMessage]) -> list[str]:
    """Describe the last ten tool calls, oldest first."""
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
    return lines[-10:]


def open_blockers(facts: Facts) -> list[str]:
    """Return the blockers that no later message resolves."""
    resolved = {fact.key: fact for fact in facts.resolved}
    everything = resolved.get("*")
    return [
        fact.text
        for fact in facts.blocked
        if not _is_later(resolved.get(fact.key), fact) and not _is_later(everything, fact)
    ]


def todos(facts: Facts) -> Iterator[tuple[str, str]]:
    """Yield status and text of the current todo list, in the order it was written."""
    start = facts.todo_anew[0][:2] if facts.todo_anew else (0, 0)
    statuses = {fact.key: fact.text for fact in facts.todo_statuses if fact[:2] >= start}
    for fact in facts.todo_texts:
        status = statuses.get(fact.key, "pending")
        if fact[:2] >= start and status != "dropped":
            yield status, fact.text


def _is_later(candidate: Fact | None, than: Fact) -> bool:
    return candidate is not None and candidate[:2] > than[:2]
