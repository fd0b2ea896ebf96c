"""Audit the memories, and decide which notes of a session or task become project memories.

An audit is a read-only report: groups of near-duplicates with the one to keep, contradictions,
stale citations (given by the caller), unused notes, facts that keep changing, and NOTES.md that
breaks its rules. `review_note` applies the checklist of promotion and stops at the first step that
fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache, lru_cache

from ..fast_typing import NamedTuple
from ..index.clusters import TextFeatures, choose_keys, extract_features, find_neighbours
from ..lessons.duplicates import RELATED, make_statement, rank_key
from ..memory import hygiene
from ..memory.lifecycle import DAY
from ..memory.similarity import NEAR, find_relation, is_near, jaccard, split_words
from ..text import display, globs
from ..text.terms import stem_all
from ..types.records import FOREVER, STATUSES_IN_USE, Memory
from .notes import Finding, lint_notes

UNUSED_DAYS = 30
CHANGING_REVISIONS = 3
CHANGING_DAYS = 14
LONG_RUN = 4
"""Two memories have the same wording if they share a run of this many words that is at least half
of one of them."""


class Duplicates(NamedTuple):
    """Near-duplicate memories: the one to keep, and the others."""

    keep: str
    others: tuple[str, ...]
    reason: str


class Problem(NamedTuple):
    """A memory and its problem."""

    id: str
    reason: str


class Audit(NamedTuple):
    """The findings of an audit."""

    duplicates: tuple[Duplicates, ...] = ()
    stale: tuple[Problem, ...] = ()
    unused: tuple[Problem, ...] = ()
    changing: tuple[Problem, ...] = ()
    drift: tuple[Finding, ...] = ()
    useless: tuple[Problem, ...] = ()
    """Memories that were injected often and never reported as helpful."""
    contradicting: tuple[Problem, ...] = ()

    @property
    def clean(self) -> bool:
        """Return True if nothing was found."""
        return not any(self)


def run_audit(
    memories: Sequence[Memory],
    now: int,
    stale: Mapping[str, Sequence[str]] | None = None,
    notes: str = "",
    shown: Mapping[str, int] | None = None,
    opposite: Sequence[tuple[str, str]] = (),
) -> Audit:
    """Audit the memories in use.

    `stale` maps ids to citations that no longer hold, `notes` is the text of NOTES.md, `shown`
    counts injections of memories that never helped, `opposite` are pairs that contradict each
    other.
    """
    used = sorted(
        (one for one in memories if one.valid_to == FOREVER and one.status in STATUSES_IN_USE),
        key=lambda one: one.id,
    )
    outdated = stale or {}
    return Audit(
        duplicates=tuple(_find_duplicates(used)),
        stale=tuple(
            Problem(one.id, "; ".join(outdated[one.id])) for one in used if outdated.get(one.id)
        ),
        unused=tuple(
            Problem(
                one.id, f"{one.layer} note, never recalled in {(now - one.first_seen) // DAY} days"
            )
            for one in used
            if _is_unused(one, now)
        ),
        changing=tuple(Problem(one.id, _describe_pace(one)) for one in used if _is_changing(one)),
        drift=tuple(lint_notes(notes)),
        useless=tuple(
            Problem(one.id, f"injected {shown[one.id]} times, never reported as helpful")
            for one in used
            if shown and one.id in shown
        ),
        contradicting=tuple(_find_contradictions(used, opposite)),
    )


def _find_contradictions(
    used: Sequence[Memory], pairs: Iterable[tuple[str, str]]
) -> Iterator[Problem]:
    texts = {one.id: one.text for one in used}
    for one, other in sorted({(min(pair), max(pair)) for pair in pairs}):
        if one in texts and other in texts:
            yield Problem(one, f'"{texts[one]}" contradicts {other} "{texts[other]}"')


def _find_duplicates(memories: Sequence[Memory]) -> list[Duplicates]:
    """Group near-duplicates. A different value, the opposite, or other files are no duplicate."""
    words = [split_words(*make_statement(one)) for one in memories]
    keys = choose_keys([TextFeatures(frozenset(stem_all(one))) for one in words])

    # Not for all: the runs of 300,000 memories would take a gigabyte.
    @lru_cache(maxsize=4096)
    def runs(place: int) -> _WordRuns:
        return _word_runs(memories[place])

    def shared(one: int, other: int) -> float:
        first, second = words[one], words[other]
        # Memories with such a run share at least a third of the words, without stop words.
        if 3 * len(first & second) < min(len(first), len(second)):
            return 0.0
        likeness = jaccard(first, second)
        return likeness if likeness >= NEAR or _may_share_run(runs(one), runs(other)) else 0.0

    edges = find_neighbours(range(len(memories)), keys, shared, RELATED)
    found: list[Duplicates] = []
    grouped: set[int] = set()
    compared: set[int] = set()  # with all their neighbours
    for place in sorted(edges, key=lambda one: rank_key(memories[one])):
        if place in grouped:
            continue
        others = [
            other
            for other in sorted(edges[place], key=lambda one: rank_key(memories[one]))
            if other not in grouped
            and other not in compared
            and globs.same_scopes(memories[place].scope, memories[other].scope)
            and is_near_duplicate(memories[place], memories[other])
        ]
        compared.add(place)
        if others:
            grouped.update((place, *others))
            reason = "nearly the same text; the first is the most trusted, confident or oldest"
            ids = tuple(memories[one].id for one in others)
            found.append(Duplicates(memories[place].id, ids, reason))
    return found


def is_near_duplicate(one: Memory, other: Memory) -> bool:
    """Check whether two memories share nearly all words, or a long run of words (such as a command)
    while the other words of one are contained in the other."""
    statements = make_statement(one), make_statement(other)
    # Check the relation last: it is the slowest test.
    if not (is_near(*statements) or _shares_long_run(one, other)):
        return False
    return find_relation(*statements) not in ("contradicts", "revises")


def _shares_long_run(one: Memory, other: Memory) -> bool:
    first, second = (_split_words(memory) for memory in (one, other))
    run = SequenceMatcher(None, first, second, autojunk=False).find_longest_match()
    if run.size < LONG_RUN or 2 * run.size < min(len(first), len(second)):
        return False
    around = [
        extract_features(" ".join((*words[:start], *words[start + run.size :]))).words
        for words, start in ((first, run.a), (second, run.b))
    ]
    return around[0] <= around[1] or around[1] <= around[0]


class _WordRuns(NamedTuple):
    """The runs of LONG_RUN words in a text, its number of words, and whether a run repeats."""

    runs: frozenset[tuple[str, ...]]
    words: int
    repeats: bool


def _word_runs(memory: Memory) -> _WordRuns:
    words = _split_words(memory)
    found = [tuple(words[at : at + LONG_RUN]) for at in range(len(words) - LONG_RUN + 1)]
    runs = frozenset(found)
    return _WordRuns(runs, len(words), len(runs) < len(found))


def _may_share_run(one: _WordRuns, other: _WordRuns) -> bool:
    """Check whether a shared run can be half of one text: n words have n - LONG_RUN + 1 runs."""
    shared = len(one.runs & other.runs)
    if not shared or one.repeats or other.repeats:
        return bool(shared)
    return 2 * (shared + LONG_RUN - 1) >= min(one.words, other.words)


def _split_words(memory: Memory) -> list[str]:
    return re.sub(r"[\W_]+", " ", f"{memory.subject} {memory.text}".casefold()).split()


def _is_unused(memory: Memory, now: int) -> bool:
    seen = max(memory.last_recalled, memory.last_confirmed, memory.last_reinforced)
    old = now - seen > UNUSED_DAYS * DAY
    return old and not memory.last_recalled and memory.kind not in ("policy", "preference")


def _is_changing(memory: Memory) -> bool:
    if memory.revision < CHANGING_REVISIONS:
        return False
    return _days_per_revision(memory) < CHANGING_DAYS


def _days_per_revision(memory: Memory) -> float:
    return (memory.valid_from - memory.first_seen) / DAY / (memory.revision - 1)


def _describe_pace(memory: Memory) -> str:
    days = round(_days_per_revision(memory))
    pace = f"a new one every {display.format_count(days, 'day')}" if days else "several in a day"
    return f"{memory.revision} versions, {pace}"


def render_audit(found: Audit) -> str:
    """Render the audit as a report."""
    if found.clean:
        return "# Audit\n\nNothing was found.\n"
    sections = (
        (
            "Near-duplicates",
            [f"keep {g.keep}, drop {', '.join(g.others)}: {g.reason}" for g in found.duplicates],
        ),
        ("Contradictions: one of each two should go", _render_problems(found.contradicting)),
        ("Stale citations", _render_problems(found.stale)),
        ("Pollution: unused notes", _render_problems(found.unused)),
        ("Pollution: facts that keep changing", _render_problems(found.changing)),
        ("Injected often, never useful", _render_problems(found.useless)),
        ("Pollution: NOTES drift", [f"line {f.first}: {f.rule}. {f.advice}" for f in found.drift]),
    )
    parts = [
        "\n".join((f"## {heading}", *(f"- {line}" for line in lines)))
        for heading, lines in sections
        if lines
    ]
    return "\n\n".join(("# Audit", *parts)) + "\n"


def _render_problems(problems: Sequence[Problem]) -> list[str]:
    return [f"{one.id}: {one.reason}" for one in problems]


# ---------------------------------------------------------------- promotion


_SOURCES = {
    "pointing": r"(?:it|this|that|they|these|those|he|she) "
    r"(?:is|are|was|were|has|have|does|do|can)\b",
    "moving": r"\b(?:currently|at the moment|right now|these days|latest version|so far|"
    r"as of (?:now|today)|will (?:soon|probably|likely) (?:change|move|be)|"
    r"(?:is|are) (?:still )?in flux)\b",
    "passing": r"\b(?:this (?:task|pr|ticket|sprint|change|branch|refactoring|session)|for now|"
    r"temporar(?:y|ily)|until (?:we|i|the|this|it|then)|as a stopgap|hotfix for|"
    r"current (?:task|plan|sprint|objective)|work in progress|wip|experiment(?:al)? branch|"
    r"not yet (?:done|finished|merged))\b",
}


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(_SOURCES[name], re.IGNORECASE)


class Verdict(NamedTuple):
    """`promote`, `defer` or `drop`, the step that decided, the reason, and the notes it is like."""

    decision: str
    step: str
    reason: str
    like: tuple[str, ...] = ()


def review_note(note: Memory, known: Sequence[Memory]) -> Verdict:
    """Apply the promotion checklist to a note; `known` are the memories promoted before."""
    refused = hygiene.find_refusal(note.text, note.kind, "project")
    if refused:
        return Verdict("drop", "classify", f"{refused.rule}; {refused.where}")
    passing = _pattern("passing").search(note.text)
    if passing and note.kind not in hygiene.NEVER_REFUSED:
        return Verdict("drop", "durable", f"“{passing[0]}” ties it to this task: it stays there")
    durable = Verdict("promote", "fields", f"durable {note.kind} with all five fields")
    return _check_durable(note) or _check_duplicate(note, known) or _check_complete(note) or durable


MOST_SENTENCES = 2
"""A longer fact is several facts, or a document."""


def _check_durable(note: Memory) -> Verdict | None:
    """Defer a note that cannot be understood alone, is likely to change, or is too long for a
    fact."""
    if note.kind in hygiene.NEVER_REFUSED:
        return None
    pointing = _pattern("pointing").match(note.text.strip())
    if pointing:
        return Verdict("defer", "durable", f"“{pointing[0]}” refers to something outside the note")
    moving = _pattern("moving").search(note.text)
    if moving:
        return Verdict("defer", "durable", f"“{moving[0]}”: it is likely to change")
    count = len(hygiene.split_sentences(note.text))
    if note.kind == "fact" and count > MOST_SENTENCES:
        return Verdict("defer", "short", f"a fact has one or two sentences, this one has {count}")
    return None


def _check_duplicate(note: Memory, known: Sequence[Memory]) -> Verdict | None:
    found: dict[str, list[str]] = {}
    mine = (note.subject, note.text)
    for one in known:
        name = find_relation((one.subject, one.text), mine)
        if one.text.strip() == note.text.strip():
            if globs.same_scopes(one.scope, note.scope):
                return Verdict("drop", "duplicate", "the same text is saved already", (one.id,))
            name = "elsewhere"
        elif name == "contradicts" and globs.are_disjoint(one.scope, note.scope):
            continue
        found.setdefault(name, []).append(one.id)
    for name, reason in (
        ("elsewhere", "it is saved for other files: skip it, merge it, or create it with a reason"),
        ("contradicts", "it contradicts a saved memory: decide which one holds"),
        ("near", "a near-duplicate is saved: skip it, merge it, or create it with a reason"),
    ):
        if name in found:
            return Verdict("defer", "duplicate", reason, tuple(found[name]))
    return None


def _check_complete(note: Memory) -> Verdict | None:
    fields = {
        "subject": note.subject.strip(),
        "fact": note.text.strip(),
        "citations": note.citations,
        "reason": note.reason.strip(),
        "category": note.category.strip(),
    }
    missing = [name for name, value in fields.items() if not value]
    return Verdict("defer", "fields", f"it still needs: {', '.join(missing)}") if missing else None
