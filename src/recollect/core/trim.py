"""What the model sees of a session, and what goes when that is too much.

Decides: one plan for three stages. The state of a window is a handful of values; what is sent
is a pure function of that state and of the archive (`view`), so a session that is closed and
opened again, or prepared twice, gives the same bytes, and from turn to turn a prompt only grows
at its end. Everything that could change the beginning of a prompt — the pointer, the summary,
the horizon of elision — moves in `plan` and nowhere else.

It does not know where the state is kept, who asks, or what a provider answered.

    view   =  system prompt, summary, recovery note, pinned anchors, units from the pointer on
    always kept  =  all of that but the units; the anchors are the newest user message and, if
                    that is short, the newest one that is not
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..errors import InvalidInput, Overflow
from ..types import Json, Message
from .elide import elide
from .facts import (
    REQUEST,
    Fact,
    Facts,
    clip,
    extract,
    facts_body,
    facts_from_body,
    merge,
    open_part,
)
from .messages import Placed, said
from .summary import render
from .tokens import PRIMING, START, Measure, count_message, count_prompt
from .units import Unit, units_of

SHORT = 50
"""A user message below this many characters is not a task by itself ("yes", "go on")."""

SYSTEM_ROLES = ("system", "developer")
WHEN_FULL, AFTER = 0.75, 0.5
ATTEMPTS = (0.5, 0.25, 0.0)
"""What the reactive attempts leave of the rejected prompt; the last one leaves the minimum."""


class WindowState(NamedTuple):
    """Everything that is kept of a window. `system_to` is the last leading system message,
    `elided_to` the horizon up to which cheap things are stubs, `pinned` the anchors that stand
    before the pointer."""

    session: str
    window_from: int = 1
    system_to: int = 0
    elided_to: int = 0
    pinned: tuple[int, ...] = ()
    summary: str = ""
    note: str = ""
    facts: Facts = Facts()


class Limits(NamedTuple):
    """What a model accepts, in tokens. `prompt` is the largest prompt, if that is below the
    context window; tools, the reserve for the answer and a margin come out of it."""

    context: int
    prompt: int = 0
    tools: int = 0
    output: int = 0
    margin: int = 0

    @property
    def largest(self) -> int:
        return self.prompt or self.context

    @property
    def effective(self) -> int:
        return self.largest - self.tools - self.output - self.margin


class Budget(NamedTuple):
    """When to trim, and to what. A forced trim makes any prompt smaller than it is."""

    trigger: int
    target: int
    forced: bool = False


class Plan(NamedTuple):
    """What a trim does. Unchanged, `state` is the old one and nothing is dropped or elided."""

    state: WindowState
    changed: bool
    dropped: tuple[tuple[int, int], ...]
    elided: tuple[int, ...]
    kept: int
    before: int
    after: int
    target: int

    @property
    def fits(self) -> bool:
        """False when even what is always kept is above the target."""
        return self.after <= self.target


# ---------------------------------------------------------------- the three budgets


def proactive(limits: Limits) -> Budget:
    """Before each request: at three quarters of the context window, down to half a prompt."""
    trigger = int(limits.context * WHEN_FULL) - limits.tools
    return Budget(trigger, min(_half(limits), max(trigger, 0)))


def validation(limits: Limits) -> Budget:
    """Just before sending: above what really fits, down to half a prompt."""
    return Budget(_room(limits), _half(limits))


def reactive(limits: Limits, attempt: int, rejected: int) -> Budget:
    """After the provider refused a prompt of `rejected` tokens, by our count, for the first time.

    Attempts are counted from 1; each leaves less than the one before.
    """
    if not 1 <= attempt <= len(ATTEMPTS):
        raise Overflow(
            f"the prompt was refused as too long {len(ATTEMPTS)} times, the last time with only "
            "the system prompt, the summary and the current request in it",
            hint="Shorten the system prompt or the request, or use a model with a larger window.",
        )
    share = ATTEMPTS[attempt - 1]
    return Budget(0, min(_room(limits), int(share * min(limits.largest, rejected))), forced=True)


def _half(limits: Limits) -> int:
    """Half of the largest prompt, of which the tools are a part; half the room, if that is more."""
    return max(int(limits.largest * AFTER) - limits.tools, _room(limits) // 2)


def _room(limits: Limits) -> int:
    if limits.effective <= 0:
        raise InvalidInput(
            f"tools ({limits.tools}), output reserve ({limits.output}) and margin "
            f"({limits.margin}) leave nothing of a prompt of {limits.largest} tokens",
            hint="Offer fewer tools, or lower the output reserve.",
        )
    return limits.effective


# ---------------------------------------------------------------- what is sent


def view(state: WindowState, messages: Sequence[Placed]) -> list[Message]:
    """The prompt: needs the system prompt, the pinned messages and all from the pointer on."""
    system, rest = _visible(state, messages)
    shown = elide(units_of(rest), state.elided_to, state.session)
    return [
        *(placed.message for placed in system),
        *_preface(state.summary, state.note),
        *(member.message for unit in shown for member in unit.members),
    ]


def _visible(state: WindowState, messages: Sequence[Placed]) -> tuple[list[Placed], list[Placed]]:
    system = [placed for placed in messages if placed.seq <= state.system_to]
    rest = [
        placed
        for placed in messages
        if placed.seq > state.system_to
        and (placed.seq >= state.window_from or placed.seq in state.pinned)
    ]
    return system, rest


def _preface(summary: str, note: str) -> list[Message]:
    return [Message("system", text) for text in (summary, note) if text]


# ---------------------------------------------------------------- the plan


def plan(
    state: WindowState,
    messages: Sequence[Placed],
    budget: Budget,
    measure: Measure = START,
    note: str = "",
) -> Plan:
    """The state after this trim; the old one when the prompt is within its budget.

    `note` is shown after the summary until the next trim.
    """
    prompt = view(state, messages)
    before = count_prompt(prompt, measure)
    system_to = _system_to(state, messages)
    system, rest = _visible(state._replace(system_to=system_to), messages)
    spoken = len(prompt) - len(system) - len(_preface(state.summary, state.note))
    unchanged = Plan(state, False, (), (), spoken, before, before, budget.target)
    if before <= budget.trigger:
        return unchanged
    target = min(budget.target, before - 1) if budget.forced else budget.target
    units = units_of(rest)
    anchors = _anchors(units)
    horizon = max(state.elided_to, _horizon(units, anchors, target // 2, measure))
    shown = elide(units, horizon, state.session)
    fixed = PRIMING + sum(
        count_message(message, measure)
        for message in (
            *(placed.message for placed in system),
            *_preface("", note),
            *(unit.members[0].message for unit in units if unit.head in anchors),
        )
    )
    sizes = [0 if unit.head in anchors else _size(unit, measure) for unit in shown]
    cut = _Cut(state, rest, units, anchors)
    first, summary_size = cut.find(sizes, target - fixed, measure)
    elided = _newly_elided(state, units, shown, first)
    if not elided and all(unit.head in anchors for unit in units[:first]):
        return unchanged
    return Plan(
        state=cut.state._replace(system_to=system_to, elided_to=horizon, note=note),
        changed=True,
        dropped=cut.dropped(),
        elided=elided,
        kept=sum(len(u.members) for at, u in enumerate(units) if at >= first or u.head in anchors),
        before=before,
        after=fixed + sum(sizes[first:]) + summary_size,
        target=budget.target,
    )


class _Cut:
    """Where the window will begin, with the facts and the summary that follow from it."""

    def __init__(
        self,
        state: WindowState,
        rest: Sequence[Placed],
        units: Sequence[Unit],
        anchors: Mapping[int, str],
    ) -> None:
        self.state = self._old = state
        self._rest = rest
        self._units = units
        self._anchors = anchors
        self._gone: dict[int, Placed] = {}
        # Messages pinned by an earlier trim stand before the pointer: never part of the walk.
        self._first = sum(1 for unit in units if unit.head < state.window_from)
        task = tuple(Fact(seq, 0, "", clip(text, REQUEST)) for seq, text in anchors.items())
        standing = open_part(extract(rest))
        self._facts = merge(merge(state.facts, standing), Facts(task=task[-1:]))

    def find(self, sizes: Sequence[int], room: int, measure: Measure) -> tuple[int, int]:
        """Walk to the oldest unit that still fits; the summary grows with what is left behind."""
        left = sum(sizes[self._first :])
        first = self._first
        while True:
            self._leave(first)
            summary = render(self.state.facts, self.state.session)
            size = count_message(Message("system", summary), measure) if summary else 0
            if left + size <= room or first == len(sizes):
                self.state = self.state._replace(summary=summary)
                return first, size
            while first < len(sizes) and left + size > room:
                left -= sizes[first]
                first += 1

    def _leave(self, first: int) -> None:
        """Let the window begin at a unit: what is before it becomes facts, anchors are pinned."""
        pointer = self._pointer(first) if first > self._first else self._old.window_from
        # A result that came late stands behind the pointer, and leaves with its call.
        late = {member.seq for unit in self._units[:first] for member in unit.members}
        leaving = [
            placed
            for placed in self._rest
            if (placed.seq < pointer or placed.seq in late)
            and placed.seq not in self._anchors
            and placed.seq not in self._gone
        ]
        if leaving:
            staying = [unit for unit in self._units if unit.head in self._anchors]
            around = [m for u in (*staying, *self._units[first : first + 1]) for m in u.members]
            self._facts = merge(self._facts, extract(leaving, around))
            self._gone.update((placed.seq, placed) for placed in leaving)
        self.state = self._old._replace(
            window_from=pointer,
            pinned=tuple(unit.head for unit in self._units[:first] if unit.head in self._anchors),
            facts=self._facts,
        )

    def _pointer(self, first: int) -> int:
        if first < len(self._units):
            return self._units[first].head
        # Calls that still wait for their result are no unit yet; their time may come.
        spoken = {m.seq for u in self._units for m in u.members if m.message.role != "tool"}
        last = max(spoken, default=0)
        waiting = (p.seq for p in self._rest if p.seq > last and p.message.role == "assistant")
        return next(waiting, max((placed.seq for placed in self._rest), default=0) + 1)

    def dropped(self) -> tuple[tuple[int, int], ...]:
        """The numbers of all that the window has left behind, as ranges."""
        ranges: list[tuple[int, int]] = []
        joined = False
        for placed in self._rest:
            gone = placed.seq in self._gone
            if gone and joined:
                ranges[-1] = (ranges[-1][0], placed.seq)
            elif gone:
                ranges.append((placed.seq, placed.seq))
            joined = gone
        return tuple(ranges)


def _system_to(state: WindowState, messages: Sequence[Placed]) -> int:
    """The end of the system prompt: the system messages before anybody else speaks."""
    last = state.system_to
    if state.window_from > 1:
        return last
    for placed in messages:
        if placed.message.role not in SYSTEM_ROLES:
            break
        last = placed.seq
    return last


def _anchors(units: Sequence[Unit]) -> dict[int, str]:
    """The user messages that are always kept, by number, the current task last."""
    newest: dict[int, str] = {}
    for unit in reversed(units):
        message = unit.members[0].message
        if message.role != "user":
            continue
        text = said(message).strip()
        if not newest or len(text) >= SHORT:
            newest[unit.head] = text
        if len(text) >= SHORT:
            break
    return newest


def _horizon(units: Sequence[Unit], anchors: Mapping[int, str], room: int, measure: Measure) -> int:
    """Up to where messages count as old: the newest, as far as they fit into `room`, do not."""
    last = max((member.seq for unit in units for member in unit.members), default=0)
    for unit in reversed(units):
        room -= 0 if unit.head in anchors else _size(unit, measure)
        if room < 0:
            return last
        last = unit.head - 1
    return last


def _size(unit: Unit, measure: Measure) -> int:
    return sum(count_message(member.message, measure) for member in unit.members)


def _newly_elided(
    state: WindowState, units: Sequence[Unit], shown: Sequence[Unit], first: int
) -> tuple[int, ...]:
    earlier = elide(units, state.elided_to, state.session)
    return tuple(
        now.seq
        for was_unit, now_unit in zip(earlier[first:], shown[first:], strict=True)
        for was, now in zip(was_unit.members, now_unit.members, strict=True)
        if was != now
    )


# ---------------------------------------------------------------- kept as JSON


def state_body(state: WindowState) -> dict[str, Json]:
    """The state as JSON."""
    return {**state._asdict(), "pinned": list(state.pinned), "facts": facts_body(state.facts)}


def state_from_body(body: Mapping[str, Json]) -> WindowState:
    """The state that `state_body` wrote down."""
    return WindowState(
        **{**body, "pinned": tuple(body["pinned"]), "facts": facts_from_body(body["facts"])}
    )
