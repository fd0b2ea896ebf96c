"""Screens of hits: a few at a terminal, all of them with their scores in a pipe; of a task, and of
the evaluation of recall."""

from __future__ import annotations

from collections.abc import Sequence

from ...fast_typing import TYPE_CHECKING
from ...recall import judgement
from ...text import display
from . import style
from .style import render_table

if TYPE_CHECKING:
    from ...briefing.operations_views import TaskBriefing
    from ...recall.steps_evaluation import Evaluation
    from ...types.records import Hit, Recalled


def render_recalled(recalled: Recalled) -> str:
    """Return the hits of a search, best first: at most a screenful at a terminal."""
    known = [f"known to work: {line}" for line in recalled.commands]
    if not recalled:
        return "\n".join([*known, *([] if known else [_why_empty(recalled)]), *recalled.notes])
    page = style.page()
    hits = list(recalled) if page.whole else drop_noise(recalled)
    weak, equal = len(recalled) - len(hits), len(hits)
    hits = _merge_equal(hits) if page.is_terminal else hits
    equal -= len(hits)
    render = _render_short_hit if page.is_terminal else render_hit
    blocks = [render(hit) for hit in hits]
    if page.is_terminal and page.height and not page.whole:
        blocks = _fit(blocks, page.height - 3)
    more = len(recalled) - len(blocks) - equal + recalled.left_out
    lines = ["\n".join(blocks)] if not page.is_terminal else ["\n\n".join(blocks)]
    if more:
        lines += [""] if page.is_terminal else []
        lines.append(_render_more(more, weak))
    if equal and page.is_terminal:
        lines.append(style.paint("faint", f"({equal} with the same text not repeated)"))
    lines += [f"({note})" for note in recalled.notes if "more did" not in note]
    if not known and max(hit.score for hit in recalled) < judgement.WEAK:
        lines.insert(0, "no good match; the nearest:")
    return "\n".join([*known, *([""] if known and page.is_terminal else []), *lines])


def _merge_equal(hits: Sequence[Hit]) -> list[Hit]:
    """Return one hit for each text, in the place of the best: a memory, where there is one.

    Of hits with one score a memory comes first: the message that it came from is longer.
    """
    found: dict[str, Hit] = {}
    for hit in sorted(hits, key=lambda hit: (-round(hit.score, 2), bool(hit.role))):
        text = " ".join(hit.text.split())
        if text not in found or (found[text].role and not hit.role):
            found[text] = hit  # keeps the place of the first
    return list(found.values())


def _why_empty(recalled: Recalled) -> str:
    """Return why nothing is shown: no match at all, filters, or a budget that is too small."""
    given = style.page().given.keys()
    if recalled.left_out or any("did not fit" in note for note in recalled.notes):
        return "found, but too long for the budget. Show it: a larger --budget"
    filters = sorted(given - {"query", "limit", "budget", "explain", "around"})
    if filters:
        shown = ", ".join(f"--{name.replace('_', '-')}" for name in filters)
        return f"nothing found with {shown}. Search everything: leave it out"
    return "nothing found in your memories and conversations"


NOISE = 0.4
"""A hit that has none of the question's words and less than this share of the best score is left
out."""


def drop_noise(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits without the tail of noise."""
    best = max(hit.score for hit in hits)
    wanted = _wanted_stems()
    if not wanted:
        return list(hits)
    return [hit for hit in hits if hit.score >= NOISE * best or wanted & _stems_of(hit.text)]


def _wanted_stems() -> set[str]:
    from ...text import terms

    return set(terms.query_stems(style.page().query))


def _stems_of(text: str) -> set[str]:
    from ...text import terms

    return set(terms.stem_text(text).split())


def _fit(blocks: Sequence[str], height: int) -> list[str]:
    """Return the first blocks that fit into a screen, at least one."""
    used, taken = 0, 0
    for block in blocks:
        used += block.count("\n") + 2
        if taken and used > height:
            break
        taken += 1
    return list(blocks[:taken])


def _render_more(more: int, weak: int) -> str:
    kind = "weaker ones" if weak == more else "more"
    hint = "show them: -n 20" if "limit" not in style.page().given else "show them: a larger -n"
    return style.paint("faint", f"({more} {kind}; {hint})")


def _render_short_hit(hit: Hit) -> str:
    """Return a hit for a screen: a title, two lines of text, where it is from, and why."""
    role = "message" if hit.role else hit.kind
    name = hit.id if hit.id.startswith("m-") else hit.address.removeprefix("memory://")
    state = f"  {style.status(hit.status)}" if hit.status != "active" else ""
    title = f"{style.paint('title', role)}  {style.paint('id', style.shorten_place(name))}{state}"
    lines = [title, *style.clip(" ".join(hit.text.split()), "  ", 2)]
    lines += [
        f"    {one.role}: {display.format_line(one.text, style.text_width() - 20)}"
        for one in hit.around
    ]
    about = " · ".join([_describe_source(hit), *_describe_marks(hit), _describe_match(hit)])
    lines += [style.paint("faint", line) for line in style.fill(about, "  ")]
    lines += [f"  score: {hit.why}"] if " +" in hit.why else []
    return "\n".join(lines)


_TRUST = {
    "user": "you",
    "system": "recollect",
    "agent": "an agent",
    "tool": "a tool",
    "file": "a file",
    "web": "a web page",
    "import": "an import",
}


def _describe_source(hit: Hit) -> str:
    who = {"user": "you", "assistant": "the agent", "tool": "a tool"}
    said = who.get(hit.role, "") or _TRUST.get(hit.trust, hit.trust)
    return f"from {said}, {display.format_time(hit.at)[:10]}"


def _describe_marks(hit: Hit) -> list[str]:
    marks = [display.format_line(hit.freshness)] if hit.freshness else []
    marks += [f"newer: {hit.outdated_by}"] if hit.outdated_by else []
    against = hit.why.partition("contradicts ")[2]
    return marks + ([f"contradicted by {against}"] if against else [])


def _describe_match(hit: Hit) -> str:
    """Return in words why a hit was found: the words it shares, or its meaning."""
    from ...text import terms

    found = _stems_of(hit.text)
    words = [word for word in terms.query_terms(style.page().query) if terms.stem(word) in found]
    shared = list(dict.fromkeys(words))[:5]
    return f"has {', '.join(shared)}" if shared else "similar in meaning"


def render_hit(hit: Hit) -> str:
    """Return one hit for a pipe: score, kind, address, marks, then the whole text."""
    role = f"{hit.role}, " if hit.role else ""
    marks = "" if hit.status == "active" else f", {hit.status}"
    marks += "" if hit.role or hit.trust in ("user", "system") else f", by {hit.trust}"
    marks += "".join(f", {mark}" for mark in _describe_marks(hit))
    day = display.format_time(hit.at)[:10]
    head = f"{hit.score:.3f}  {hit.kind}  {hit.address}  ({role}{day}{marks})"
    lines = [line for line in display.escape_invisible(hit.text).splitlines() if line.strip()]
    lines += [f"next to it, {one.role}: {display.format_line(one.text, 200)}" for one in hit.around]
    # The parts of the score are present only when they were asked for.
    lines += [f"why: {hit.why}"] if " +" in hit.why else []
    # Messages and statements of agents, tools and files are shown as quotations.
    lead = "       " if hit.trust in ("user", "system") and not hit.role else "     > "
    return "\n".join([head, *(lead + line for line in lines)])


def render_task(task: TaskBriefing) -> str:
    """Return what is known about a task before it starts."""
    lines = [f"phase: {task.phase}"]
    for title, hits in (
        ("Relevant", task.patterns),
        ("Avoid", task.avoid),
        ("Skills", task.skills),
    ):
        if hits:
            lines += [title, *(render_hit(hit) for hit in hits)]
    return "\n".join(lines) if len(lines) > 1 else f"phase: {task.phase}\nno relevant memories"


def render_evaluation(done: Evaluation) -> str:
    """Return how often recall found the answers, and the questions it missed."""
    questions = display.format_count(done.questions, "question")
    lines = [f"{questions} from {display.format_count(done.sessions, 'session')}", *done.notes]
    rows = (
        (
            line.source,
            line.by,
            str(line.questions),
            f"{line.recall_5:.3f}",
            f"{line.recall_10:.3f}",
            f"{line.mrr:.3f}",
        )
        for line in done.lines
    )
    if done.lines:
        heads = ("SOURCE", "SEARCHED BY", "QUESTIONS", "RECALL@5", "RECALL@10", "MRR@10")
        lines.append(render_table(heads, rows))
    if done.missed:
        lines.append("not found among the first ten:")
        lines += [
            f"  {one.source}: {display.format_line(one.question, 100)} ({', '.join(one.answers)})"
            for one in done.missed
        ]
    return "\n".join(lines)
