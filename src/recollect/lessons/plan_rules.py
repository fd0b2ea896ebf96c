"""The steps of a consolidation plan as records, and the rules that every plan must keep.

A plan is data: it can be shown, checked, applied in one transaction and undone. It is checked
against the episodes and memories it was made from. A plan that breaks a rule is refused as a whole,
with an error that names the step and the rule.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..episodes.records import Episode
from ..errors import InvalidInput
from ..text import globs
from ..types.records import FOREVER, LAYERS, STATUSES_IN_USE, Json, Memory
from ..types.trust import least_trusted


class Learn(NamedTuple):
    """A new memory derived from episodes: a pattern or a pitfall. `sources` are episode ids."""

    kind: str
    text: str
    subject: str
    detail: Mapping[str, Json]
    examples: tuple[str, ...]
    confidence: float
    label: str
    sources: tuple[str, ...]
    reason: str


class Reinforce(NamedTuple):
    """More evidence for an existing memory, whose label stays. `sources` are episode ids.

    `revives`: some evidence is new and as trusted as the memory. It is reinforced, and restored if
    it was hidden.
    """

    memory: str
    sources: tuple[str, ...]
    confidence: float
    reason: str
    revives: bool = False


class Promote(NamedTuple):
    """Move a recurring note up to a layer; it supersedes the `others` that say the same, and has
    the sources of all."""

    memory: str
    layer: str
    others: tuple[str, ...]
    reason: str


class Merge(NamedTuple):
    """Keep one of several memories that say the same, with the sources and counts of all
    (`duplicates.unite`)."""

    keep: str
    others: tuple[str, ...]
    reason: str


class Hide(NamedTuple):
    """Hide a faded memory."""

    memory: str
    reason: str


class Connect(NamedTuple):
    """Link two memories that contradict each other."""

    source: str
    target: str
    reason: str


class NotPlanned(NamedTuple):
    """Why nothing is planned for some records. `sources` are ids of episodes or memories."""

    sources: tuple[str, ...]
    reason: str


Step = Learn | Reinforce | Promote | Merge | Hide | Connect


class LessonPlan(NamedTuple):
    """The steps in the order in which they are applied."""

    steps: tuple[Step, ...] = ()
    left_out: tuple[NotPlanned, ...] = ()


def ref(address: str) -> str:
    """Return the id of a record, whether it is referred to by its id or its address."""
    return address.removeprefix("memory://")


FEWEST = 2

LEAST_CONFIDENCE = 0.8

MOST_DEPTH = 2
"""The most derivations between a session and a memory."""


def depth_of(episode: Episode) -> int:
    """Return the number of derivations behind an episode; 0 if it is read out of a session."""
    depth = episode.extra.get("depth", 0)
    return depth if isinstance(depth, int) else 0


def validate(plan: LessonPlan, episodes: Iterable[Episode], memories: Iterable[Memory]) -> None:
    """Raise InvalidInput if a step of the plan breaks a rule."""
    by_id = {episode.id: episode for episode in episodes}
    known = {memory.id: memory for memory in memories}
    for number, step in enumerate(plan.steps, 1):
        if problem := next(_problems(step, by_id, known), ""):
            raise _refusal(number, step, problem)
    used: dict[str, int] = {}
    for number, step in enumerate(plan.steps, 1):
        for name in _changed(step):
            if name in used:
                raise _refusal(number, step, f"{name} is changed by step {used[name]} already")
            used[name] = number


def _refusal(number: int, step: Step, problem: str) -> InvalidInput:
    kind = type(step).__name__.lower()
    return InvalidInput(
        f"the plan cannot be applied: {problem}",
        where=f"step {number} ({kind})",
        hint="Nothing was changed. Make a new plan from the stored records.",
    )


def memories_of(step: Step) -> tuple[str, ...]:
    """Return the memories that a step names."""
    match step:
        case Learn():
            return ()
        case Reinforce() | Hide():
            return (step.memory,)
        case Promote():
            return (step.memory, *step.others)
        case Merge():
            return (step.keep, *step.others)
        case Connect():
            return (step.source, step.target)


def _changed(step: Step) -> tuple[str, ...]:
    """Return the records that a step changes: two steps must not change the same one."""
    if isinstance(step, Learn):
        return (f"{step.kind} “{step.text}”",)
    named = memories_of(step)
    return (" contradicts ".join(named),) if isinstance(step, Connect) else named


def _problems(
    step: Step, episodes: Mapping[str, Episode], known: Mapping[str, Memory]
) -> Iterator[str]:
    if not step.reason.strip():
        yield "it has no reason"
    statuses = (*STATUSES_IN_USE, "hidden") if isinstance(step, Reinforce) else STATUSES_IN_USE
    if problems := [*_find_problems(memories_of(step), known, statuses)]:
        yield from problems
        return
    group = [known[name] for name in memories_of(step)]
    match step:
        case Learn():
            yield from _learn(step, episodes)
        case Reinforce():
            yield from _reinforce(step, episodes, group[0])
        case Promote():
            yield from _promote(step, group)
        case Merge():
            yield from _merge(step, group)


def _learn(step: Learn, episodes: Mapping[str, Episode]) -> Iterator[str]:
    if problem := _source_problem(step.sources, episodes):
        yield problem
        return
    sources = [episodes[source] for source in step.sources]
    if not step.text.strip():
        yield "its text is empty"
    if not 0.0 <= step.confidence <= 1.0:
        yield f"a confidence of {step.confidence} is not from 0 to 1"
    if step.label != least_trusted(episode.label for episode in sources):
        yield f"the label {step.label!r} is not that of the least trusted source"
    if 1 + max(map(depth_of, sources)) > MOST_DEPTH:
        yield f"it is more than {MOST_DEPTH} derivations away from a session"
    if step.kind == "pattern":
        if len(set(step.sources)) < FEWEST:
            yield f"a pattern needs {FEWEST} episodes"
        if step.confidence < LEAST_CONFIDENCE:
            yield f"a confidence of {step.confidence} is not enough for a pattern"
    elif step.kind == "pitfall":
        resolved = {error.resolution for episode in sources for error in episode.resolved}
        if step.detail.get("prevention") not in resolved:
            yield "no source has an error that was resolved in this way"
    else:
        yield f"a {step.kind} is not derived from episodes"


def _source_problem(sources: Collection[str], episodes: Mapping[str, Episode]) -> str:
    missing = [source for source in sources if source not in episodes]
    if missing:
        return f"its source {missing[0]} is not an episode"
    return "" if sources else "it has no source"


def _reinforce(step: Reinforce, episodes: Mapping[str, Episode], memory: Memory) -> Iterator[str]:
    if problem := _source_problem(step.sources, episodes):
        yield problem
        return
    if not memory.confidence <= step.confidence <= 1.0:
        yield "confidence only rises"
    labels = (episodes[source].label for source in step.sources)
    trusted = any(least_trusted((label, memory.label)) == memory.label for label in labels)
    if (step.confidence > memory.confidence or step.revives) and not trusted:
        yield "less trusted evidence neither raises the confidence nor restores the memory"


def _promote(step: Promote, group: list[Memory]) -> Iterator[str]:
    if len({(memory.layer, memory.owner) for memory in group}) < FEWEST:
        yield "it does not recur"
    if any(LAYERS.index(step.layer) <= LAYERS.index(memory.layer) for memory in group):
        yield f"{step.layer} is not above the layer it is in"
    yield from _same_trust_and_files(group)


def _merge(step: Merge, group: list[Memory]) -> Iterator[str]:
    if not step.others:
        yield "nothing is merged into it"
    if len({(memory.kind, memory.layer, memory.owner) for memory in group}) > 1:
        yield "they are not of one kind and place"
    yield from _same_trust_and_files(group)


def _same_trust_and_files(group: list[Memory]) -> Iterator[str]:
    if len({memory.label for memory in group}) > 1:
        yield "they are not equally trusted"
    if any(not globs.same_scopes(memory.scope, group[0].scope) for memory in group):
        yield "they apply to different files"


def _find_problems(
    names: Sequence[str], known: Mapping[str, Memory], statuses: Collection[str]
) -> Iterator[str]:
    """Return the problems with the memories that a step names."""
    if len(set(names)) < len(names):
        yield "a memory is named twice"
    for name in names:
        if name not in known:
            yield f"there is no memory {name}"
        elif known[name].valid_to != FOREVER or known[name].status not in statuses:
            yield f"the memory {name} is not in use any more"
