"""Screens of search hits (a screenful at a terminal, all with scores in a pipe), of a task, and of
the evaluation of recall."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import recollect

from ...recall import judgement
from ...text import terms
from ...text.display import escape_invisible, format_count, format_line
from ...types.records import Hit
from . import style
from .style import day, lines, paint, render_table


def render_recalled(recalled: recollect.Recalled) -> str:
    """Return the hits of a search, best first: at most a screenful at a terminal."""
    known = [f"known to work: {line}" for line in recalled.commands]
    known += [f"error resolved before: {line}" for line in recalled.fixes]
    if not recalled:
        return lines(known or _why_empty(recalled), recalled.notes)
    page = style.page()
    hits = list(recalled) if page.whole else drop_noise(recalled)
    weak, equal = len(recalled) - len(hits), len(hits)
    hits = _merge_equal(hits) if page.is_terminal else hits
    equal -= len(hits)
    blocks = [_render_short_hit(hit) if page.is_terminal else render_hit(hit) for hit in hits]
    if page.is_terminal and page.height and not page.whole:
        blocks = _fit(blocks, page.height - 3)
    more = len(recalled) - len(blocks) - equal + recalled.left_out
    gap = [""] if page.is_terminal else []
    is_weak = max(hit.score for hit in recalled) < judgement.PROBABLY_WRONG
    return lines(
        [*known, *gap] if known else "no good match; the nearest:" if is_weak else "",
        ("\n\n" if page.is_terminal else "\n").join(blocks),
        [*gap, _render_more(recalled, more, weak)] if more else "",
        paint("faint", f"({equal} with the same text not repeated)") if equal else "",
        (f"({note})" for note in recalled.notes if "more did" not in note),
    )


def _merge_equal(hits: Sequence[Hit]) -> list[Hit]:
    """Return one hit for each text, at the rank of the best; a memory is preferred to a message.

    Of hits with the same score a memory comes first: the message that it came from is longer.
    """
    found: dict[str, Hit] = {}
    for hit in sorted(hits, key=lambda hit: (-round(hit.score, 2), bool(hit.role))):
        text = " ".join(hit.text.split())
        if text not in found or (found[text].role and not hit.role):
            found[text] = hit  # keeps the place of the first
    return list(found.values())


def _why_empty(recalled: recollect.Recalled) -> str:
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
    """Return the hits without weak ones that share no word with the question (`NOISE`)."""
    best = max(hit.score for hit in hits)
    wanted = set(terms.query_stems(style.page().query))
    if not wanted:
        return list(hits)
    return [hit for hit in hits if hit.score >= NOISE * best or wanted & _stems_of(hit.text)]


def _stems_of(text: str) -> set[str]:
    return set(terms.stem_text(text).split())


def _highlight(text: str) -> str:
    """Return a text with the words of the question highlighted."""
    page = style.page()
    wanted = set(terms.query_stems(page.query)) if page.colour else set()
    if not wanted:
        return text
    return " ".join(
        paint("match" if wanted & _stems_of(word) else "", word) for word in text.split(" ")
    )


def _clip(text: str, indent: str, most: int) -> list[str]:
    """Return at most `most` wrapped lines, the last one with an ellipsis if more follow."""
    width = style.text_width() - len(indent)
    wrapped = style.wrap(text, width)
    if len(wrapped) > most:
        rest = " ".join(wrapped[most - 1 :])
        wrapped = [*wrapped[: most - 1], format_line(rest, width)]
    return [f"{indent}{_highlight(line)}" for line in wrapped]


def _fit(blocks: Sequence[str], height: int) -> list[str]:
    """Return the first blocks that fit into a screen, at least one."""
    used, taken = 0, 0
    for block in blocks:
        used += block.count("\n") + 2
        if taken and used > height:
            break
        taken += 1
    return list(blocks[:taken])


def _render_more(recalled: recollect.Recalled, more: int, weak: int) -> str:
    """Return how many hits are not shown, and the options that show all of them."""
    kind = format_count(more, "weaker one") if weak == more else f"{more} more"
    options = f"-n {len(recalled) + recalled.left_out}"
    options += f" --budget {recalled.budget_for_all}" if recalled.budget_for_all else ""
    return paint("faint", f"({kind}; show them: {options})")


def _render_short_hit(hit: Hit) -> str:
    """Return a hit for a screen: a title, two lines of text, where it is from, and why."""
    role = "message" if hit.role else hit.kind
    name = hit.id if hit.id.startswith("m-") else hit.address.removeprefix("memory://")
    state = f"  {style.status(hit.status)}" if hit.status != "active" else ""
    about = " · ".join([_describe_source(hit), *_describe_marks(hit), _describe_match(hit)])
    return lines(
        f"{paint('title', role)}  {paint('id', style.shorten_place(name))}{state}",
        _clip(" ".join(hit.text.split()), "  ", 2),
        (f"    {one.role}: {format_line(one.text, style.text_width() - 20)}" for one in hit.around),
        _clip(f"→ {' '.join(hit.outcome.text.split())}", "    ", 2) if hit.outcome else "",
        (paint("faint", line) for line in style.fill(about, "  ")),
        f"  score: {hit.why}" if " +" in hit.why else "",
    )


_TRUST = {
    "user": "you",
    "teammate": "a teammate",
    "system": "recollect",
    "agent": "an agent",
    "tool": "a tool",
    "file": "a file",
    "web": "a web page",
    "import": "an import",
}


def _describe_source(hit: Hit) -> str:
    who = {"user": "you", "assistant": "the agent", "tool": "a tool"}
    if hit.trust == "import" or (hit.trust == "teammate" and hit.role == "user"):
        who = {}  # the words of another person
    source = who.get(hit.role, "") or _TRUST.get(hit.trust, hit.trust)
    return f"from {source}, {day(hit.at)}"


def _describe_marks(hit: Hit) -> list[str]:
    marks = [format_line(hit.freshness)] if hit.freshness else []
    marks += [f"newer: {hit.outdated_by}"] if hit.outdated_by else []
    against = hit.why.partition("contradicts ")[2]
    if hit.alike:
        where = style.shorten_place(hit.alike[0].removeprefix("memory://"))
        marks.append(f"{len(hit.alike)} more like it, the last one {where}")
    return marks + ([f"contradicted by {against}"] if against else [])


def _describe_match(hit: Hit) -> str:
    """Return why a hit was found: the words that it shares with the question, or its meaning."""
    found = _stems_of(hit.text)
    words = [word for word in terms.query_terms(style.page().query) if terms.stem(word) in found]
    # The terms of `flake8` are itself and `flake`.
    parts = {word.rstrip("0123456789") for word in words if word[-1:].isdigit()}
    shared = [word for word in dict.fromkeys(words) if word not in parts][:5]
    return f"has {', '.join(shared)}" if shared else "similar in meaning"


def render_hit(hit: Hit) -> str:
    """Return one hit for a pipe: score, kind, address, marks, then the whole text."""
    role = f"{hit.role}, " if hit.role else ""
    marks = "" if hit.status == "active" else f", {hit.status}"
    others = ("import", "teammate")
    is_plain = hit.trust in ("user", "system") or (hit.role and hit.trust not in others)
    marks += "" if is_plain else f", by {hit.trust}"
    marks += "".join(f", {mark}" for mark in _describe_marks(hit))
    head = f"{hit.score:.3f}  {hit.kind}  {hit.address}  ({role}{day(hit.at)}{marks})"
    shown = _split_lines(hit.text)
    shown += [f"next to it, {one.role}: {format_line(one.text, 200)}" for one in hit.around]
    if hit.outcome:
        shown.append(f"what came of it: {hit.outcome.address}")
        shown += [f"  {line}" for line in _split_lines(hit.outcome.text)]
    # The parts of the score are present only when they were asked for.
    shown += [f"why: {hit.why}"] if " +" in hit.why else []
    # Messages and statements of agents, tools and files are shown as quotations.
    lead = "       " if hit.trust in ("user", "system") and not hit.role else "     > "
    return lines(head, (lead + line for line in shown))


def _split_lines(text: str) -> list[str]:
    return [line for line in escape_invisible(text).splitlines() if line.strip()]


def render_task(task: recollect.TaskBriefing) -> str:
    """Return what is known about a task before it starts."""
    parts = (("Relevant", task.patterns), ("Avoid", task.avoid), ("Skills", task.skills))
    found = [[title, *map(render_hit, hits)] for title, hits in parts if hits]
    return lines(f"phase: {task.phase}", *(found or [["no relevant memories"]]))


_FIGURES = (
    "RECALL@5, RECALL@10: the share of the answers among the first five and ten hits. MRR@10: one "
    "divided by the place of the first answer. 1.000 is best."
)


def render_evaluation(done: recollect.Evaluation) -> str:
    """Return how often recall found the answers, and the questions it missed."""
    questions = format_count(done.questions, "question")
    is_sample = done.questions < done.possible
    if is_sample:
        questions = f"a sample of {done.questions} of {format_count(done.possible, 'question')}"
    heads = ("SOURCE", "SEARCHED BY", "QUESTIONS", "RECALL@5", "RECALL@10", "MRR@10")
    three_digits, figures = "{:.3f}".format, attrgetter("recall_5", "recall_10", "mrr")
    rows = [
        (one.source, one.by, str(one.questions), *map(three_digits, figures(one)))
        for one in done.lines
    ]
    missed = [
        f"  {one.source}: {format_line(one.question, 100)} ({', '.join(one.answers)})"
        for one in done.missed
    ]
    return lines(
        f"{questions} from {format_count(done.sessions, 'session')}"
        + (" (--all asks every one)" if is_sample else ""),
        done.notes,
        render_table(heads, rows) if rows else "",
        style.fill(_FIGURES) if rows else "",
        f"{format_count(done.unanswered, 'question')} without an answer among the first ten hits "
        "(--missed 5 shows five)"
        if done.unanswered and not done.missed
        else "",
        ["not found among the first ten:", *missed] if missed else "",
    )
