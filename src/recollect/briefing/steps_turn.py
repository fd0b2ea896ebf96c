"""Find the memories for a prompt: the user's own earlier words and rules first, then lessons, then
claims of agents. Most prompts get none.

Words find candidates; exact names and rare words decide (`briefing.matching`). Vectors are not
used: similar meaning alone is never enough.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from ..archive import sql as archive_sql
from ..fast_typing import NamedTuple
from ..freshness import steps as freshness_steps
from ..index import sql as index_sql
from ..memory import sql as memory_sql
from ..memory import steps_visible as memory_steps_visible
from ..procedures import sql as procedures_sql
from ..storage import database
from ..storage.database import IndexMatch, Tx
from ..text import messages, terms
from ..text.display import format_time as iso
from ..types.records import ORIGINS, UNTRUSTED_ORIGINS, Memory
from ..window import sql as window_sql
from . import matching, selection, steps_known, wording
from .rendering import Item, LeftOut
from .steps import Ask, skill_of

MOST_MATCHES = 60
MOST_SCORED = 1_000
"""If more entries than this hold a word of the prompt, only those that can match are scored."""

MOST_GROUPS = 40
"""Groups of words that are looked up together: pairs of nine rare words."""

MOST_PASSAGES = 1
MOST_MEMORIES = 1
LONGEST_TYPED = 4_000
"""Characters. A longer message of the user is mostly pasted or generated text."""

_SHOWN_ORIGINS = tuple(one for one in ORIGINS if one not in UNTRUSTED_ORIGINS)


class LoadedTurn(NamedTuple):
    """The new material that matches a prompt, best first: memories, whose claims are still to be
    checked against the code, and finished lines."""

    memories: tuple[tuple[Memory, matching.Passage], ...] = ()
    lines: tuple[Item, ...] = ()
    skills: tuple[Item, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    checks: freshness_steps.LoadedChecks | None = None


def load_turn(
    txs: Sequence[Tx],
    ask: Ask,
    words: matching.PromptWords,
    instructions: matching.Instructions,
    changed: freshness_steps.FindChanged,
    now: int,
) -> LoadedTurn:
    """Load the material that matches a prompt and was not shown in this context before."""
    if words.is_empty or not txs:
        return LoadedTurn()
    shown = window_sql.shown_ids(txs, ask.session) if ask.session else set()
    own = memory_steps_visible.find_memory_owners(txs, ask.session)
    memories: list[tuple[Memory, matching.Passage]] = []
    lines: list[tuple[float, Item]] = []
    refs: list[str] = []
    for tx in txs:
        stems = _stems_to_find(words)
        known = tx.frequencies(stems)
        match_text = partial(
            matching.match_sentence, words=words, holding=known.holding, passages=known.entries
        )
        needs = matching.find_needs(words, known.holding, known.entries)
        rare = [one for one in stems if matching.is_rare(known.holding[one], known.entries)]
        if words.stems:
            found, are_all = _find_memories(tx, rare, words, known, own, needs, ask.first)
            found = [
                one
                for one in found
                if needs.are_met(one.stems)
                or (are_all and one.label == "user")
                or (ask.first and _task_match(one, words))
            ]
            refs += [match.ref for match in found if tx is txs[0]]
            memories += _match_memories(tx, found, words, ask.first, match_text, are_all)
        if rare:
            best = partial(
                matching.best_passage, words=words, holding=known.holding, passages=known.entries
            )
            lines += _match_messages(tx, rare, ask, needs, best)
    skills = [item for tx in txs for item in find_skills(tx, words)] if ask.first else []
    left_out = steps_known.find_known(txs, ask.session, memories, shown, instructions)
    excluded = {one.id for one in left_out}
    kept = [one for one in memories if one[0].id not in excluded]
    kept.sort(key=lambda one: (_RANK[one[0].label], -one[1].score, one[0].text))
    kept_lines, dropped = steps_known.drop_repeated(txs, lines, shown, now)
    return LoadedTurn(
        memories=tuple(kept),
        lines=tuple(kept_lines),
        skills=tuple(skills[:1]),
        left_out=(*left_out, *dropped),
        # The claims of all found memories, not only of the kept ones: that saves a round trip.
        checks=freshness_steps.load_checks(
            txs[0], refs, changed, {memory.id for memory, _ in kept}
        ) if refs else None,
    )  # fmt: skip


_RANK = {"user": 0, "system": 1, "teammate": 2, "agent": 3}


def _stems_to_find(words: matching.PromptWords) -> list[str]:
    """Return the stems to look up: those of the prompt's words and of the parts of its names."""
    named = (terms.stem(term) for name in words.names for term in terms.query_terms(name))
    return list(dict.fromkeys((*words.stems, *named)))


def _find_memories(
    tx: Tx,
    rare: Sequence[str],
    words: matching.PromptWords,
    known: database.StemFrequencies,
    owners: Sequence[str],
    needs: matching.StemNeeds,
    is_first: bool,
) -> tuple[list[IndexMatch], bool]:
    """Return the memories with words of the prompt, and whether these are all of them."""
    seen = {"status": ("active",), "source": ("memory",), "label": _SHOWN_ORIGINS, "seen": owners}
    stems = list(dict.fromkeys((*rare, *words.stems)))
    most, are_all = MOST_MATCHES, True
    if not tx.is_remote and sum(known.holding[one] for one in stems) > MOST_SCORED:
        some = index_sql.find_some(tx, [[one] for one in stems], MOST_MATCHES, seen)
        if len(some) < MOST_MATCHES:
            return list({one.ref: one for one in some}.values()), True
        if not is_first:
            return _find_matching(tx, rare, needs, seen), False
        # At the first prompt a memory also matches by most of the prompt's words, and then holds
        # one of the rarest.
        by_rarity = sorted(words.stems, key=known.holding.__getitem__)
        likely = by_rarity[: len(words.stems) // 3 + 1]
        stems, are_all = list(dict.fromkeys((*rare, *likely))), False
        most *= 4
    found = index_sql.find_candidates(tx, stems, most, seen)
    if most > MOST_MATCHES:
        asked = frozenset(words.stems)
        found.sort(key=lambda one: -len(asked.intersection(one.stems.split())))
    return found[:MOST_MATCHES], are_all and len(found) < MOST_MATCHES


def _find_matching(
    tx: Tx, rare: Sequence[str], needs: matching.StemNeeds, filters: Mapping[str, Sequence[str]]
) -> list[IndexMatch]:
    """Return the entries that can match by a name or rare words: those with most of them."""
    groups = needs.as_groups()
    if tx.is_remote or len(groups) > MOST_GROUPS or not all(groups):
        return index_sql.find_candidates(tx, list(rare), MOST_MATCHES, filters, few=True)
    # Not scored: most entries with a rare word hold no other.
    found = index_sql.find_some(tx, groups, 4 * MOST_MATCHES, filters)
    records = {(one.ref, one.seq): one for one in found}.values()
    shared = {one.entry: len(needs.rare.intersection(one.stems.split())) for one in records}
    return sorted(records, key=lambda one: (-shared[one.entry], -one.entry))[:MOST_MATCHES]


def _match_memories(
    tx: Tx,
    found: Sequence[IndexMatch],
    words: matching.PromptWords,
    is_first: bool,
    match_text: partial[matching.Passage | None],
    are_all: bool,
) -> Iterator[tuple[Memory, matching.Passage]]:
    """Yield the memories that share a name or two rare words with the prompt; at the first prompt
    of a session, also those that share most of its words."""
    memories = memory_sql.get_many(tx, [match.ref for match in found])
    statements = {
        memory.id: frozenset(matching.content_stems(memory.text))
        for memory in memories.values()
        if are_all and memory.label == "user"
    }
    own_words = matching.shared_by_statements(words, statements)
    for match in found:
        memory = memories.get(match.ref)
        if memory is None or (memory.scope and memory.label != "user"):
            continue
        passage = match_text(memory.text) or own_words.get(memory.id)
        if passage is None and is_first:
            passage = _task_match(match, words)
        if passage is not None:
            yield memory, passage


def _task_match(match: IndexMatch, words: matching.PromptWords) -> matching.Passage | None:
    """Return a passage if an entry shares two words, and two thirds of the prompt's words."""
    stems = frozenset(match.stems.split())
    shared = [one for one in words.stems if one in stems]
    if len(shared) < 2 or 3 * len(shared) < 2 * len(words.stems):
        return None
    return matching.Passage("", f"shares most of the task: {', '.join(shared[:4])}", 1.0)


def _match_messages(
    tx: Tx,
    rare: Sequence[str],
    ask: Ask,
    needs: matching.StemNeeds,
    best: partial[matching.Passage | None],
) -> Iterator[tuple[float, Item]]:
    """Yield the best sentence of each message that the user typed in an earlier session, with its
    score."""
    filters = {"source": ("message",), "kind": ("user",), "label": ("user",)}
    found = _find_matching(tx, rare, needs, filters)
    found = [one for one in found if one.ref != ask.session and needs.are_met(one.stems)]
    rows = archive_sql.message_ranges(tx, [(one.ref, one.seq, one.seq) for one in found])
    held = {(row.session, row.seq): row for row in rows}
    for match in found:
        row = held.get((match.ref, match.seq))
        if row is None or row.label != "user":
            continue
        if not messages.is_unchanged(row.body, row.digest, row.role):
            continue
        text = messages.typed_text(messages.message_from_body(json.loads(row.body)))
        passage = best(text) if len(text) <= LONGEST_TYPED else None
        if passage is not None:
            yield passage.score, _passage_item(match, row.at, passage)


def _passage_item(match: IndexMatch, at: int, passage: matching.Passage) -> Item:
    short = wording.short_session(match.ref).rpartition(".")[2]
    return Item(
        id=f"{short}:{match.seq}",
        address=messages.range_address(match.ref, match.seq, match.seq),
        section="",
        kind="message",
        text=passage.text,
        label="user",
        date=iso(at)[:10],
        why=passage.why,
    )


def find_skills(tx: Tx, words: matching.PromptWords) -> list[Item]:
    """Return the proven skills that match the first prompt of a session."""
    found = []
    filters = {"status": ("active",), "source": ("procedure",), "label": _SHOWN_ORIGINS}
    for match in index_sql.find_candidates(tx, list(words.stems), MOST_MATCHES, filters):
        row = database.read_or_none(partial(procedures_sql.get, tx, match.ref))
        passage = _task_match(match, words)
        # The label is checked again: a row changed outside Recollect differs from its index entry.
        if row and row.label in _SHOWN_ORIGINS and passage is not None and row.successes:
            found.append(selection.skill_item(skill_of(row), "")._replace(why=passage.why))
    return found


def choose_items(
    loaded: LoadedTurn, fresh: Mapping[str, str], withhold: bool, start_items: Sequence[Item]
) -> tuple[list[Item], list[LeftOut]]:
    """Return the items for a prompt, in their order: a memory of the user, a passage, a memory of
    an agent if there is none of the user, a skill.

    fresh: the freshness of memories by id
    start_items: the items of a start block in the same answer, which are not repeated
    """
    in_start, texts = {item.id for item in start_items}, [item.text for item in start_items]
    passages: list[Item] = []
    left = list(loaded.left_out)
    own: list[Item] = []
    others: list[Item] = []
    for memory, passage in loaded.memories:
        state = fresh.get(memory.id, "")
        reason = ""
        if withhold and (stale := selection.why_stale(state)):
            reason = stale
        elif unproven := selection.why_unproven(memory, state):
            reason = unproven
        elif memory.id in in_start:
            reason = "it is in the start block"
        elif matching.is_alike(memory.text, texts):
            reason = "another line says nearly the same"
        elif len(own) + len(others) >= MOST_MEMORIES:
            reason = "another one fits better"
        if reason:
            left.append(LeftOut(memory.id, memory.address, reason))
            continue
        item = selection.memory_item(memory, "", state)._replace(why=passage.why)
        (own if memory.label == "user" else others).append(item)
        texts.append(item.text)
    for item in loaded.lines:
        if len(passages) >= MOST_PASSAGES:
            left.append(LeftOut(item.id, item.address, "another one fits better"))
        elif matching.is_alike(item.text, texts):
            left.append(LeftOut(item.id, item.address, "another line says nearly the same"))
        else:
            texts.append(item.text)
            passages.append(item)
    skills = [item for item in loaded.skills if item.id not in in_start]
    return [*own, *passages, *others, *skills], left
