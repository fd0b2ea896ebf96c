"""Plan a consolidation: which lessons to make from episodes and memories. Nothing is written here.

The plan says which similar tasks become a pattern, which resolved errors become pitfalls, and which
existing memories gain evidence instead. `lessons.duplicates` compares memories with each other,
`memory.lifecycle` decides which have faded. A source is never deleted, a derived memory is as
trusted as its least trusted source, and a session that says the same twice counts once. `validate`
checks a plan before it is applied.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Sequence

from ..episodes.records import Episode, ErrorSeen
from ..index.clusters import (
    THRESHOLD,
    TextFeatures,
    WordMeanings,
    WordVectors,
    compare_features,
    extract_features,
    find_clusters,
    words_by_stem,
)
from ..memory.lifecycle import FADED, find_weak
from ..types.records import FOREVER, STATUSES_IN_USE, Memory
from ..types.trust import least_trusted
from .duplicates import find_contradictions, find_merges, find_promotions
from .plan_rules import (
    LEAST_CONFIDENCE,
    MOST_DEPTH,
    Hide,
    Learn,
    LessonPlan,
    NotPlanned,
    Reinforce,
    Step,
    depth_of,
    ref,
    validate,
)
from .wording import Lesson, pattern_lesson, pitfall_lesson, signature

__all__ = ["EVIDENCE", "plan", "validate", "vocabulary"]

FEWEST = 2
MOST_CONFIDENCE = 0.97
EVIDENCE = {"success": 0.6, "partial": 0.42, "unknown": 0.42, "failure": 0.2}
"""The confidence that one independent episode gives to a pattern, by its outcome."""

Links = Collection[tuple[str, str, str]]
"""Existing links: source, relation, target."""


def plan(
    episodes: Iterable[Episode],
    memories: Iterable[Memory],
    now: int,
    vectors: WordVectors | None = None,
    links: Links = (),
    new: Container[str] | None = None,
) -> LessonPlan:
    """Return a plan, which does not depend on the order of episodes and memories.

    vectors: those of the words in `vocabulary`; without them, words and files decide
    new: the episodes to learn from; the others only support them (default: all are new)
    """
    ordered = sorted(episodes, key=lambda episode: (episode.at, episode.id))
    fresh = frozenset(one.id for one in ordered if new is None or one.id in new)
    memories = list(memories)
    known = sorted(filter(_in_use, memories), key=lambda memory: memory.id)
    left_out = [
        NotPlanned((one.id,), f"{depth_of(one)} derivations away from a session")
        for one in ordered
        if _is_too_deep(one) and one.id in fresh
    ]
    # Faded lessons are included: new evidence restores them instead of making a duplicate.
    lessons = sorted(filter(_is_lesson, memories), key=_in_use_first)
    steps: list[Step] = [*_pitfalls(ordered, fresh, lessons, left_out)]
    meaning = WordMeanings(vectors) if vectors else None
    steps += _patterns(ordered, fresh, lessons, left_out, meaning)
    touched = {step.memory for step in steps if isinstance(step, Reinforce)}
    for promoted in find_promotions(known, touched):
        steps.append(promoted)
        touched.update((promoted.memory, *promoted.others))
    for merged in find_merges(known, touched):
        steps.append(merged)
        touched.update((merged.keep, *merged.others))
    linked = {
        frozenset((ref(one), ref(other))) for one, name, other in links if name == "contradicts"
    }
    gone = {other for step in steps for other in getattr(step, "others", ())}
    steps += find_contradictions(known, gone, lambda one, other: frozenset((one, other)) in linked)
    weak = (one for one in find_weak(known, now) if one.id not in touched)
    steps += [Hide(one.id, one.reason) for one in weak]
    return LessonPlan(tuple(steps), tuple(left_out))


def vocabulary(episodes: Iterable[Episode]) -> dict[str, str]:
    """Return the words of the goals for which `plan` needs vectors, as they are written, by
    stem."""
    return words_by_stem(episode.goal for episode in episodes)


def _in_use(memory: Memory) -> bool:
    return memory.valid_to == FOREVER and memory.status in STATUSES_IN_USE


def _is_lesson(memory: Memory) -> bool:
    is_hidden = memory.valid_to == FOREVER and memory.status == "hidden"
    return memory.kind in ("pitfall", "pattern") and (is_hidden or _in_use(memory))


def _in_use_first(memory: Memory) -> tuple[bool, str]:
    """Return a sort key: of two memories that say the same, the one in use comes first."""
    return not _in_use(memory), memory.id


def _is_too_deep(episode: Episode) -> bool:
    return depth_of(episode) >= MOST_DEPTH


def _is_talk(episode: Episode) -> bool:
    """Check whether an episode only answered a question, without any action."""
    return episode.outcome == "unknown" and not (episode.actions or episode.files)


def _source_session(episode: Episode) -> str:
    """Return the session of an episode, or else a key for it: a session counts once as evidence."""
    return episode.session or episode.task_id or episode.id


def _confidence(support: Iterable[Episode], before: float = 0.0) -> float:
    """Return the confidence of a lesson: each independent episode raises it."""
    best: dict[str, float] = {}
    for episode in support:
        session = _source_session(episode)
        best[session] = max(best.get(session, 0.0), EVIDENCE[episode.outcome])
    if not best:
        return before
    doubt = 1.0 - before
    for part in best.values():
        doubt *= 1.0 - part
    return max(before, round(min(1.0 - doubt, MOST_CONFIDENCE), 4))


def evidence_of(memory: Memory) -> set[str]:
    """Return the ids of the records that a memory was made from or that support it."""
    return {ref(one) for one in (*memory.evidence, *memory.sources)}


def _more_evidence(
    memory: Memory, episodes: Sequence[Episode], why: str, left_out: list[NotPlanned]
) -> Iterator[Reinforce]:
    """Return a step with the evidence that a memory does not have yet. Only evidence as trusted as
    the memory raises its confidence."""
    known = evidence_of(memory)
    new = [episode for episode in episodes if episode.id not in known]
    sources = tuple(dict.fromkeys(episode.id for episode in new))
    if new and not _in_use(memory) and FADED not in memory.detail:
        left_out.append(NotPlanned(sources, f"{memory.id} says so, and it was hidden"))
    elif new:
        trusted = [one for one in new if least_trusted((one.label, memory.label)) == memory.label]
        confidence = _confidence(trusted, memory.confidence)
        # Evidence from before the memory faded does not restore it, even if it is read only now.
        revives = bool(trusted) and (
            _in_use(memory) or any(one.at > memory.last_reinforced for one in trusted)
        )
        yield Reinforce(memory.id, sources, confidence, why, revives)


# ---------------------------------------------------------------- pitfalls

Case = tuple[Episode, ErrorSeen]


def _pitfalls(
    episodes: Sequence[Episode],
    fresh: Container[str],
    memories: Sequence[Memory],
    left_out: list[NotPlanned],
) -> Iterator[Learn | Reinforce]:
    """Return a new pitfall, or evidence for a known one, for every error that two sessions
    resolved."""
    seen: dict[str, list[Case]] = {}
    for episode in episodes:
        for error in () if _is_too_deep(episode) else episode.resolved:
            mark = signature(error.type, error.message, error.resolution)
            seen.setdefault(mark, []).append((episode, error))
    known: dict[str, Memory] = {}
    for memory in memories:
        if memory.kind == "pitfall":
            parts = (memory.detail.get(name, "") for name in ("what_fails", "why", "prevention"))
            known.setdefault(signature(*map(str, parts)), memory)
    for mark, cases in seen.items():
        with_error = [episode for episode, _ in cases]
        sources = tuple(dict.fromkeys(episode.id for episode in with_error))
        if not any(source in fresh for source in sources):
            continue
        if mark in known:
            yield from _more_evidence(known[mark], with_error, "the error came up again", left_out)
        elif len(set(map(_source_session, with_error))) < FEWEST:
            left_out.append(
                NotPlanned(sources, f"an error ({cases[0][1].type}) seen in one session")
            )
        else:
            yield _pitfall(cases, sources)


def _pitfall(cases: Sequence[Case], sources: tuple[str, ...]) -> Learn:
    lesson = pitfall_lesson([error for _, error in cases])
    # The error was resolved, even if the task failed.
    episodes = [episode._replace(outcome="success") for episode, _ in cases]
    counted = {"source": list(sources), "count": len(cases), "depth": _depth(episodes)}
    return Learn(
        kind="pitfall",
        text=lesson.text,
        subject=lesson.subject,
        detail={**lesson.detail, **counted},
        examples=(),
        confidence=_confidence(episodes),
        label=least_trusted(episode.label for episode in episodes),
        sources=sources,
        reason=f"an error that was resolved, seen {len(cases)} times",
    )


def _depth(episodes: Iterable[Episode]) -> int:
    """Return the number of derivations between events and a memory made of these."""
    return 1 + max(map(depth_of, episodes), default=0)


# ---------------------------------------------------------------- patterns


def _patterns(
    episodes: Sequence[Episode],
    fresh: Container[str],
    memories: Sequence[Memory],
    left_out: list[NotPlanned],
    meaning: WordMeanings | None,
) -> Iterator[Learn | Reinforce]:
    """Return a new pattern, or evidence for a known one, for every group of similar tasks."""
    nothing = TextFeatures(frozenset())
    features = [
        nothing
        if _is_too_deep(one) or _is_talk(one)
        else extract_features(one.goal, one.artifacts or one.files)
        for one in episodes
    ]
    known = _KnownPatterns(memories, meaning)
    supported: dict[str, list[Episode]] = {}
    for cluster in find_clusters(features, meaning=meaning):
        members = [episodes[place] for place in cluster.members]
        if not any(one.id in fresh for one in members):
            continue
        same = known.find_similar(members, features[cluster.centre])
        if same is not None:
            supported.setdefault(same.id, []).extend(members)
            continue
        centre, confidence = episodes[cluster.centre], _confidence(members)
        lesson = pattern_lesson(centre, members)
        if lesson and confidence >= LEAST_CONFIDENCE:
            yield _pattern(lesson, centre.goal, members, cluster.cohesion, confidence)
        else:
            reason = (
                f"similar tasks, but a confidence of only {confidence:.2f}"
                if lesson
                else "similar tasks that share neither files nor errors"
            )
            left_out.append(NotPlanned(tuple(one.id for one in members), reason))
    for memory in memories:
        if memory.id in supported:
            more = supported[memory.id]
            yield from _more_evidence(memory, more, "similar tasks", left_out)


class _KnownPatterns:
    """The known patterns, found by their evidence or by a rare word."""

    def __init__(self, memories: Sequence[Memory], meaning: WordMeanings | None) -> None:
        self._meaning = meaning
        self._patterns = [memory for memory in memories if memory.kind == "pattern"]
        self._features = [
            extract_features(f"{memory.subject} {memory.detail.get('goal', '')}", memory.examples)
            for memory in self._patterns
        ]
        self._by_episode: dict[str, list[int]] = {}
        self._by_word: dict[str, list[int]] = {}
        for place, memory in enumerate(self._patterns):
            for episode in evidence_of(memory):
                self._by_episode.setdefault(episode, []).append(place)
            for word in self._features[place].words:
                self._by_word.setdefault(word, []).append(place)

    def find_similar(self, members: Sequence[Episode], centre: TextFeatures) -> Memory | None:
        """Return the pattern that has half of these episodes as evidence, or else the most similar
        one."""
        votes = Counter(at for one in members for at in self._by_episode.get(one.id, ()))
        place, count = max(votes.items(), key=lambda vote: (vote[1], -vote[0]), default=(0, 0))
        if 2 * count >= len(members):
            return self._patterns[place]
        words = sorted(centre.words, key=lambda word: (len(self._by_word.get(word, ())), word))
        near = {at for word in words[:4] for at in self._by_word.get(word, ())[:20]}
        scores = {
            at: compare_features(self._features[at], centre, self._meaning) for at in sorted(near)
        }
        best = max(scores, key=scores.__getitem__, default=0)
        return self._patterns[best] if scores.get(best, 0.0) >= THRESHOLD else None


def _pattern(
    lesson: Lesson, goal: str, members: Sequence[Episode], cohesion: float, confidence: float
) -> Learn:
    good = sum(episode.outcome == "success" for episode in members)
    return Learn(
        kind="pattern",
        text=lesson.text,
        subject=lesson.subject,
        detail={**lesson.detail, "goal": goal, "depth": _depth(members)},
        examples=lesson.examples,
        confidence=confidence,
        label=least_trusted(episode.label for episode in members),
        sources=tuple(episode.id for episode in members),
        reason=f"{len(members)} similar tasks (similarity {cohesion:.2f}), "
        f"{good} of them successful",
    )
