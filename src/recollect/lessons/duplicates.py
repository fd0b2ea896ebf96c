"""Compare memories: find notes to promote because they recur, memories to merge because they say
the same, and memories that contradict each other.

Two memories are merged only if one says all that the other says: the same words, or a few more.
Another value, another name or a negation prevents it. Only memories of one kind, place, scope and
label are merged, so that no memory gains or loses trust or files.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence

from ..index.clusters import TextFeatures, choose_keys, find_neighbours
from ..memory.similarity import contradicts, find_relation, jaccard, split_words
from ..text import globs
from ..text.terms import query_terms, stem_all
from ..types.records import ORIGINS, Memory
from .plan_rules import Connect, Merge, Promote

FEWEST_OWNERS = 2
SAME, RELATED = 0.85, 0.4
_RECURRING = ("fact", "reference", "solution")
_LAYERS_BELOW = ("session", "task")
_Note = tuple[str, object, tuple[str, ...]]


def make_statement(memory: Memory) -> tuple[str, str]:
    """Return a memory as `memory.similarity` compares it."""
    return memory.subject, memory.text


def list_content_stems(memory: Memory) -> tuple[str, ...]:
    """Return the stems of a memory's content words, in their order."""
    return tuple(stem_all(query_terms(f"{memory.subject} {memory.text}")))


def rank_key(memory: Memory) -> tuple[int, float, int, str]:
    """Return a sort key: of memories that say the same, keep the most trusted, then the most
    confident, then the oldest."""
    return ORIGINS.index(memory.label), -memory.confidence, memory.first_seen, memory.id


def unite(memories: Sequence[Memory]) -> Memory:
    """Return the first of memories that say the same, with the sources and counts of all."""

    def all_of(field: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one for memory in memories for one in getattr(memory, field)))

    return memories[0]._replace(
        confidence=max(one.confidence for one in memories),
        sources=all_of("sources"),
        evidence=all_of("evidence"),
        examples=all_of("examples"),
        reinforcement=sum(one.reinforcement for one in memories),
        successes=sum(one.successes for one in memories),
        failures=sum(one.failures for one in memories),
    )


# ---------------------------------------------------------------- recurring notes


def find_promotions(memories: Sequence[Memory], taken: Container[str]) -> Iterator[Promote]:
    """Return notes of two or more sessions or tasks that the project does not have yet."""
    groups: dict[tuple[str, _Note], list[Memory]] = {}
    above = set()
    for memory in memories:
        if memory.kind not in _RECURRING:
            continue
        if memory.layer not in _LAYERS_BELOW:
            above.add((memory.kind, globs.scope_key(memory.scope), list_content_stems(memory)))
        elif memory.id not in taken:
            note: _Note = (memory.kind, globs.scope_key(memory.scope), list_content_stems(memory))
            groups.setdefault((memory.label, note), []).append(memory)
    for (_, note), group in groups.items():
        owners = {(memory.layer, memory.owner) for memory in group}
        if len(owners) >= FEWEST_OWNERS and note[-1] and note not in above:
            group.sort(key=rank_key)
            others = tuple(memory.id for memory in group[1:])
            reason = f"noted in {len(owners)} sessions or tasks"
            yield Promote(group[0].id, "project", others, reason)


# ---------------------------------------------------------------- duplicates


def find_merges(memories: Sequence[Memory], taken: Container[str]) -> Iterator[Merge]:
    """Return groups of memories that say the same, each with the one to keep."""
    free = [one for one in memories if one.id not in taken and one.kind != "policy"]
    same: dict[str, list[Memory]] = {memory.id: [] for memory in free}
    for one, other in _pairs(free, SAME):
        if _place(one) == _place(other) and restates(one, other):
            same[one.id].append(other)
            same[other.id].append(one)
    gone: set[str] = set()
    for keep in sorted(free, key=rank_key):
        others = [one for one in sorted(same[keep.id], key=rank_key) if one.id not in gone]
        if keep.id in gone or not others:
            continue
        names = tuple(one.id for one in others)
        gone.update((keep.id, *names))
        yield Merge(keep.id, names, f"{1 + len(names)} memories say the same")


def _place(memory: Memory) -> tuple[object, ...]:
    return memory.kind, memory.layer, memory.owner, globs.scope_key(memory.scope), memory.label


def restates(one: Memory, other: Memory) -> bool:
    """Check whether two memories say the same, or one says the same in more words."""
    first, second = list_content_stems(one), list_content_stems(other)
    if first == second:
        return find_relation(make_statement(one), make_statement(other)) in ("", "near")
    shorter, longer = sorted((first, second), key=len)
    if not _is_subsequence(shorter, longer):
        return False
    more = set(longer) - set(shorter)
    if any(map(str.isdigit, "".join(more))):
        return False
    return find_relation(make_statement(one), make_statement(other)) == "near"


def _is_subsequence(shorter: Sequence[str], longer: Sequence[str]) -> bool:
    """Check whether all words of one are in the other, in the same order."""
    rest = iter(longer)
    return all(word in rest for word in shorter)


# ---------------------------------------------------------------- contradictions


def find_contradictions(
    memories: Sequence[Memory],
    taken: Container[str],
    linked: Callable[[str, str], bool],
) -> Iterator[Connect]:
    """Return pairs that contradict each other about the same files and are not linked yet."""
    for one, other in _pairs([memory for memory in memories if memory.id not in taken], RELATED):
        if linked(one.id, other.id) or not contradicts(make_statement(one), make_statement(other)):
            continue
        if not globs.are_disjoint(one.scope, other.scope):
            yield Connect(one.id, other.id, "they say the opposite")


def _pairs(memories: Sequence[Memory], least_shared: float) -> Iterator[tuple[Memory, Memory]]:
    """Return pairs of memories that share most of their words."""
    words = [split_words(*make_statement(memory)) for memory in memories]
    keys = choose_keys([TextFeatures(frozenset(stem_all(one))) for one in words])

    def shared(one: int, other: int) -> float:
        return jaccard(words[one], words[other])

    edges = find_neighbours(range(len(memories)), keys, shared, least_shared)
    for place, others in edges.items():
        for other in sorted(others):
            if place < other:
                yield memories[place], memories[other]
