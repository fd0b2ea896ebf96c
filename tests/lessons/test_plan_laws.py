"""The laws of consolidation: every plan keeps them, and a plan that does not is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.episodes.records import Episode
from recollect.errors import InvalidInput
from recollect.lessons.duplicates import unite
from recollect.lessons.plan import plan, validate
from recollect.lessons.plan_rules import (
    LEAST_CONFIDENCE,
    Connect,
    Hide,
    Learn,
    LessonPlan,
    Merge,
    Promote,
    Reinforce,
    Step,
)
from recollect.memory.lifecycle import mark_faded
from recollect.types.records import ORIGINS, Memory
from recollect.types.trust import least_trusted
from tests.builders.records import (
    DAY,
    ENDPOINTS,
    NOW,
    endpoint_episodes,
    episode,
    error,
    kept,
    memory,
    of_kind,
)

law = settings(deadline=None, max_examples=120)

# ---------------------------------------------------------------- laws

goals = st.sampled_from(
    [*ENDPOINTS, "implement user login", "create billing export", "fix the parser", ""]
)
errors = st.sampled_from(
    [
        error("lint", "a.ts:1: x is unused", "edited a.ts"),
        error("lint", "b.ts:9: x is unused", "edited a.ts"),
        error("usage", "unknown flag --x"),
        error("edit mismatch", "not found in file", "read it again"),
    ]
)
labels = st.sampled_from(ORIGINS)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[Episode], list[Memory]]:
    told = [
        episode(
            f"e-{at}",
            draw(goals),
            at=NOW + draw(st.integers(0, 3)),
            label=draw(labels),
            session=draw(st.sampled_from(["", "s-1", "s-2", f"s-{at}"])),
            outcome=draw(st.sampled_from(["success", "failure", "unknown"])),
            errors=tuple(draw(st.lists(errors, max_size=2))),
            artifacts=tuple(
                draw(st.lists(st.sampled_from(["src/a.ts", "src/b.ts"]), max_size=2, unique=True))
            ),
            extra=draw(st.sampled_from([{}, {}, {"depth": 1}, {"depth": 2}])),
        )
        for at in range(draw(st.integers(0, 8)))
    ]
    statements = st.sampled_from(
        [
            "Use tabs",
            "use tabs!",
            "Never use tabs",
            "Handlers need explicit return types always here",
            "All handlers need explicit return types always here",
            "API endpoints live in src/routes",
        ]
    )
    known = [
        memory(
            f"m-{at}",
            draw(st.sampled_from(["fact", "pattern", "pitfall", "policy"])),
            draw(statements),
            label=draw(labels),
            layer=draw(st.sampled_from(["session", "task", "project"])),
            owner=draw(st.sampled_from(["", "s-1"])),
            status=draw(st.sampled_from(["active", "proposed", "hidden"])),
            confidence=draw(st.floats(0, 1)),
            sources=tuple(
                draw(st.lists(st.sampled_from(["e-0", "e-1", "x"]), max_size=2, unique=True))
            ),
            last_reinforced=NOW - draw(st.integers(0, 500)) * DAY,
        )
        for at in range(draw(st.integers(0, 8)))
    ]
    return told, known


@law
@given(worlds())
def test_every_plan_keeps_the_laws(world: tuple[list[Episode], list[Memory]]) -> None:
    told, known = world
    validate(plan(told, known, NOW), told, known)


@law
@given(worlds(), st.randoms(use_true_random=False))
def test_the_order_in_which_things_come_does_not_matter(
    world: tuple[list[Episode], list[Memory]], chance: Any
) -> None:
    told, known = world
    expected = plan(told, known, NOW)
    chance.shuffle(told)
    chance.shuffle(known)
    assert plan(told, known, NOW) == expected


def test_another_process_makes_the_same_plan() -> None:
    """The order of sets differs from process to process; a plan must not."""
    script = (
        "from tests.lessons.test_plan_laws import *\n"
        "told = [*endpoint_episodes(), episode('e-9', 'x', errors=(error('usage', 'no --x', 'ran y'),))]\n"
        "known = [memory('m-1', text='Always use tabs'), memory('m-2', text='Never use tabs')]\n"
        "print(plan(told, known, NOW))"
    )
    root = Path(__file__).parents[2]
    said = {
        subprocess.run(
            [sys.executable, "-c", script],
            cwd=root,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(said) == 1


@law
@given(worlds())
def test_nothing_derived_is_more_trusted_than_its_least_trusted_source(
    world: tuple[list[Episode], list[Memory]],
) -> None:
    told, known = world
    trust = {one.id: one.label for one in told} | {one.id: one.label for one in known}
    for step in plan(told, known, NOW).steps:
        if isinstance(step, Learn):
            assert step.label == least_trusted(trust[source] for source in step.sources)
            assert step.kind != "pattern" or step.confidence >= LEAST_CONFIDENCE
        elif isinstance(step, Merge):
            assert len({trust[name] for name in (step.keep, *step.others)}) == 1


def applied(found: LessonPlan, known: list[Memory]) -> list[Memory]:
    """The memories after a plan was applied."""
    by_id = {one.id: one for one in known}
    for at, step in enumerate(found.steps):
        if isinstance(step, Learn):
            by_id[f"n-{at}"] = kept(f"n-{at}", step)
        elif isinstance(step, Reinforce):
            old = by_id[step.memory]
            by_id[step.memory] = old._replace(
                evidence=(*old.evidence, *step.sources),
                confidence=step.confidence,
                last_reinforced=NOW if step.revives else old.last_reinforced,
                status="active" if step.revives else old.status,
            )
        elif isinstance(step, Hide):
            old = by_id[step.memory]
            by_id[old.id] = old._replace(status="hidden", detail=mark_faded(old.detail, NOW))
        elif isinstance(step, (Merge, Promote)):
            main = step.keep if isinstance(step, Merge) else step.memory
            sources = unite([by_id[name] for name in (main, *step.others)]).sources
            for other in step.others:
                by_id[other] = by_id[other]._replace(status="superseded")
            by_id[main] = by_id[main]._replace(
                sources=sources,
                last_reinforced=NOW,
                layer="project" if isinstance(step, Promote) else by_id[main].layer,
            )
    return list(by_id.values())


@law
@given(worlds())
def test_planning_again_after_applying_learns_nothing_twice(
    world: tuple[list[Episode], list[Memory]],
) -> None:
    told, known = world
    first = plan(told, known, NOW)
    again = plan(told, applied(first, known), NOW)
    assert of_kind(again, Learn) == []
    assert of_kind(again, Reinforce) == []


# ---------------------------------------------------------------- plans that break a law

GOOD = plan(endpoint_episodes(), [], NOW).steps[0]
assert isinstance(GOOD, Learn)
KNOWN = [
    memory("m-1", label="agent", sources=("x",)),
    memory("m-2", label="agent"),
    memory("m-3", label="agent", layer="session", owner="s-1"),
    memory("m-4", status="superseded"),
    memory("m-5", label="tool"),
    memory("m-6", label="tool", layer="session", owner="s-2"),
]
MERGE = Merge("m-1", ("m-2",), "same")


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        (GOOD._replace(sources=("e-1", "e-99")), "its source e-99 is not an episode"),
        (GOOD._replace(sources=()), "it has no source"),
        (GOOD._replace(sources=("e-1",)), "a pattern needs 2 episodes"),
        (GOOD._replace(confidence=0.5), "not enough for a pattern"),
        (GOOD._replace(confidence=1.5), "not from 0 to 1"),
        (GOOD._replace(label="user"), "not that of the least trusted source"),
        (GOOD._replace(reason=" "), "it has no reason"),
        (GOOD._replace(text=""), "its text is empty"),
        (GOOD._replace(kind="policy"), "a policy is not derived from episodes"),
        (GOOD._replace(kind="pitfall"), "no source has an error that was resolved in this way"),
        (Reinforce("m-9", ("e-1",), 0.9, "more"), "there is no memory m-9"),
        (Reinforce("m-4", ("e-1",), 0.9, "more"), "not in use any more"),
        (Reinforce("m-1", (), 0.9, "more"), "it has no source"),
        (Reinforce("m-1", ("e-99",), 0.9, "more"), "its source e-99 is not an episode"),
        (Reinforce("m-1", ("e-1",), 0.1, "less"), "confidence only rises"),
        (
            Reinforce("m-1", ("e-6",), 0.9, "more"),
            "less trusted evidence neither raises the confidence",
        ),
        (
            Reinforce("m-1", ("e-6",), 0.8, "more", revives=True),
            "less trusted evidence neither raises the confidence nor restores",
        ),
        (MERGE._replace(others=("m-1",)), "a memory is named twice"),
        (MERGE._replace(others=()), "nothing is merged into it"),
        (MERGE._replace(others=("m-3",)), "not of one kind and place"),
        (MERGE._replace(others=("m-5",)), "not equally trusted"),
        (Promote("m-3", "project", (), "again"), "it does not recur"),
        (Promote("m-1", "session", ("m-3",), "again"), "session is not above"),
        (Promote("m-3", "project", ("m-6",), "again"), "not equally trusted"),
        (Connect("m-1", "m-1", "x"), "a memory is named twice"),
        (Connect("m-1", "m-9", "x"), "there is no memory m-9"),
        (Hide("m-4", "weak"), "not in use any more"),
    ],
)
def test_a_plan_that_breaks_a_law_is_refused_with_the_step_and_the_law(
    step: Step, problem: str
) -> None:
    told = [*endpoint_episodes(), episode("e-6", "x", label="tool")]
    with pytest.raises(InvalidInput) as refused:
        validate(LessonPlan((step,)), told, KNOWN)
    assert problem in refused.value.message
    assert refused.value.where == f"step 1 ({type(step).__name__.lower()})"


def test_two_steps_must_not_change_the_same_memory() -> None:
    with pytest.raises(InvalidInput, match="m-2 is changed by step 1 already"):
        validate(LessonPlan((MERGE, Hide("m-2", "weak"))), [], KNOWN)
    with pytest.raises(InvalidInput, match="changed by step 1 already"):
        validate(LessonPlan((GOOD, GOOD)), endpoint_episodes(), [])
