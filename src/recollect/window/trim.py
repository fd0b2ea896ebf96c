"""Plan which messages to drop from a window whose prompt is too long.

One plan serves all stages. The state of a window is a few values, and the prompt is a pure function
of that state and the archive (`state.view_messages`): closing and reopening a session, or preparing
it twice, gives the same bytes, and between trims a prompt only grows at its end. Everything that
can change the beginning of a prompt (the pointer, the summary, the elision horizon) changes in
`plan_trim` and nowhere else.

    view   =  system prompt, summary, recovery note, pinned anchors, units from the pointer on
    always kept  =  all of that but the units; the anchors are the newest user message and, if
                    that is short, the newest one that is not
    newest unit  =  the model's last turn with its results: never elided, preferred to later
                    messages that are not anchors, and dropped only if it is too long even when
                    cut to head and tail
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..text.messages import PlacedMessage
from ..text.tokens import DEFAULT_RATIO, PRIMING, TokenMeasure, count_message, count_prompt
from .state import (
    Budget,
    WindowState,
    fit_lengths,
    group_visible,
    preface,
    show_units,
    split_visible,
    view_messages,
)
from .summary import SUMMARY_SHARES, render_summary
from .thread_facts import (
    LONGEST_REQUEST,
    Fact,
    Facts,
    clip,
    extract_facts,
    merge_facts,
    standing_facts,
)
from .units import (
    Unit,
    find_anchors,
    find_late_calls,
    find_newest,
    find_system_end,
    find_waiting,
    unit_tokens,
)


class TrimPlan(NamedTuple):
    """A planned trim; if unchanged, `state` is the old one and nothing is dropped or elided."""

    state: WindowState
    changed: bool = False
    dropped: tuple[tuple[int, int], ...] = ()
    elided: tuple[int, ...] = ()
    kept: int = 0
    before: int = 0
    after: int = 0
    target: int = 0

    @property
    def fits(self) -> bool:
        """Return False if even the messages that are always kept are above the target."""
        return self.after <= self.target


# ---------------------------------------------------------------- the plan


def plan_trim(
    state: WindowState,
    messages: Sequence[PlacedMessage],
    budget: Budget,
    measure: TokenMeasure = DEFAULT_RATIO,
    note: str = "",
) -> TrimPlan:
    """Plan a trim; if the prompt is within its budget, the plan changes nothing.

    note: a text that is shown after the summary until the next trim
    """
    prompt = view_messages(state, messages)
    before = count_prompt(prompt, measure)
    system_to = state.system_to if state.window_from > 1 else find_system_end(messages)
    system, rest = split_visible(state._replace(system_to=system_to), messages)
    count = len(prompt) - len(system) - len(preface(state.summary, state.note))
    unchanged = TrimPlan(state, kept=count, before=before, after=before, target=budget.target)
    if before <= budget.trigger:
        return unchanged
    target = min(budget.target, before - 1) if budget.forced else budget.target
    late = {*state.waiting, *find_late_calls(rest)}
    old, state = state, state._replace(waiting=tuple(sorted(late)))
    units = group_visible(state, messages, rest)
    anchors = find_anchors(units)
    fixed = PRIMING + sum(
        count_message(message, measure)
        for message in (
            *(placed.message for placed in system),
            *preface("", note),
            *(unit.members[0].message for unit in units if unit.head in anchors),
        )
    )
    window = _TrimmedWindow(state, rest, units, anchors, measure, budget.summary)
    window.fit(target - fixed, max(target, budget.limit) - fixed)
    elided = window.newly_elided()
    kept = all(unit.head in anchors for unit in units[: window.first])
    if kept and not elided and window.state.skipped == old.skipped:
        return unchanged
    return TrimPlan(
        state=window.state._replace(system_to=system_to, note=note),
        changed=True,
        dropped=window.dropped(),
        elided=elided,
        kept=window.kept(),
        before=before,
        after=fixed + window.size,
        target=budget.target,
    )


class _TrimmedWindow:
    """A window being trimmed: its first unit, the facts and summary of dropped messages, the elided
    and cut ones. `fit` decides; the other methods report."""

    def __init__(
        self,
        state: WindowState,
        rest: Sequence[PlacedMessage],
        units: Sequence[Unit],
        anchors: Mapping[int, str],
        measure: TokenMeasure,
        longest_summary: int,
    ) -> None:
        self.state = self._old = state
        self._rest = rest
        self._units = units
        self._anchors = anchors
        self._measure = measure
        self._longest_summary = longest_summary
        self._gone: dict[int, PlacedMessage] = {}
        self._skipped = frozenset(state.skipped)
        # Messages pinned by an earlier trim are before the pointer, and are not dropped again.
        self.first = self._from = sum(1 for unit in units if unit.head < state.window_from)
        task = tuple(Fact(seq, 0, "", clip(text, LONGEST_REQUEST)) for seq, text in anchors.items())
        standing = standing_facts(extract_facts(rest))
        self._facts = merge_facts(merge_facts(state.facts, standing), Facts(task=task[-1:]))
        self._start_at_first()

    def fit(self, room: int, limit: int) -> None:
        """Elide, then drop, oldest first, until the window costs at most `room` tokens.

        The newest unit stays whole if it alone is within `limit`; otherwise it is cut.
        """
        newest = find_newest(self._units)
        last = max((member.seq for unit in self._units for member in unit.members), default=0)
        start = self.state.elided_to
        end = max(start, self._units[newest].head - 1 if newest < len(self._units) else last)
        self.state = self.state._replace(elided_to=end)
        sizes = self._sizes()
        self._drop(newest, sizes, room)
        if self.size > room and not self._keep_newest(newest, room, limit):
            self._drop(len(self._units), sizes, room)
        if self.size <= room:
            self._elide_least(start, room)
        shown = {member.seq for unit in self._units[self.first :] for member in unit.members}
        cuts = tuple((seq, length) for seq, length in self.state.cuts if seq in shown)
        self.state = self.state._replace(cuts=cuts)

    def _sizes(self) -> list[int]:
        """Return the tokens of each unit as shown now; 0 for anchors and dropped units."""
        shown = show_units(self.state, self._units[self.first :])
        free, measure = {*self._anchors, *self._skipped}, self._measure
        sizes = [0 if unit.head in free else unit_tokens(unit, measure) for unit in shown]
        return [0] * self.first + sizes

    def _drop(self, end: int, sizes: Sequence[int], room: int) -> None:
        """Advance to the oldest unit that still fits; the summary grows with every drop."""
        left = sum(sizes[self.first :])
        while self.first < end and left + self._summary_tokens > room:
            while self.first < end and left + self._summary_tokens > room:
                left -= sizes[self.first]
                self.first += 1
            self._start_at_first()
        self.size = left + self._summary_tokens

    def _keep_newest(self, newest: int, room: int, limit: int) -> bool:
        """Keep the newest unit; return False if it cannot be made short enough.

        Messages that came after it are left out before it is cut. If it is too long even then, it
        is cut, and they stay if there is room.
        """
        if newest == len(self._units) or self.size <= limit:
            return newest < len(self._units)
        with_later = dict(vars(self))  # no attribute is changed in place, so this is a copy
        for unit in self._units[newest + 1 :]:
            if unit.head not in self._anchors:
                self._skipped |= {member.seq for member in unit.members}
                self._start_at_first()
                self.size = sum(self._sizes()) + self._summary_tokens
                if self.size <= limit:
                    return True
        for attempt in (with_later, dict(vars(self))):
            vars(self).update(attempt)
            if self._cut(newest, room, limit):
                return True
        vars(self).update(with_later)
        return False

    def _cut(self, newest: int, room: int, limit: int) -> bool:
        """Cut the newest unit to the room that the others leave; return False if it stays too long.

        Even beside a long system prompt it gets a third of the free tokens.
        """
        others = self.size - self._sizes()[newest]
        free = max(room - others, (limit - others) // 3)
        cuts = dict(self.state.cuts)
        unit = self._units[newest]
        lengths = fit_lengths(unit, free, self._measure, self.state.session, cuts)
        if lengths is None:
            return False
        self.state = self.state._replace(cuts=tuple(sorted({**cuts, **lengths}.items())))
        self.size = others + self._sizes()[newest]
        return True

    def _elide_least(self, start: int, room: int) -> None:
        """Move the horizon back to the first position at which the window still fits."""
        seqs = (member.seq for unit in self._units[self.first :] for member in unit.members)
        places = sorted({start, *(seq for seq in seqs if start < seq <= self.state.elided_to)})
        low, high = 0, len(places) - 1
        while low < high:
            middle = (low + high) // 2
            self._elide(places[middle])
            low, high = (low, middle) if self.size <= room else (middle + 1, high)
        self._elide(places[low])

    def _elide(self, horizon: int) -> None:
        self.state = self.state._replace(elided_to=horizon)
        self.size = sum(self._sizes()) + self._summary_tokens

    def _start_at_first(self) -> None:
        """Start the window at the first unit: extract the facts of earlier messages, and pin the
        anchors."""
        first = self.first
        pointer = self._find_pointer(first) if first > self._from else self._old.window_from
        # A late result is after the pointer, and is dropped with its call.
        late = {member.seq for unit in self._units[:first] for member in unit.members}
        leaving = [
            placed
            for placed in self._rest
            if (placed.seq < pointer or placed.seq in late or placed.seq in self._skipped)
            and placed.seq not in self._anchors
            and placed.seq not in self._gone
        ]
        if leaving:
            staying = [unit for unit in self._units if unit.head in self._anchors]
            around = [m for u in (*staying, *self._units[first : first + 1]) for m in u.members]
            self._facts = merge_facts(self._facts, extract_facts(leaving, around))
            self._gone = {**self._gone, **{placed.seq: placed for placed in leaving}}
        summary = self._render_summary()
        self.state = self.state._replace(
            window_from=pointer,
            pinned=tuple(unit.head for unit in self._units[:first] if unit.head in self._anchors),
            facts=self._facts,
            summary=summary,
            skipped=tuple(sorted(seq for seq in self._skipped if seq >= pointer)),
            waiting=find_waiting(self._old.waiting, self._rest, self._units[first:], pointer),
        )

    def _render_summary(self) -> str:
        """Render the summary in the longest form that is within its limit, else the shortest."""
        for share in SUMMARY_SHARES:
            summary = render_summary(self._facts, self.state.session, share)
            self._summary_tokens = sum(
                count_message(m, self._measure) for m in preface(summary, "")
            )
            if not self._longest_summary or self._summary_tokens <= self._longest_summary:
                break
        return summary

    def _find_pointer(self, first: int) -> int:
        if first < len(self._units):
            return self._units[first].head
        # Calls without a result yet are not a unit, and stay.
        spoken = {m.seq for u in self._units for m in u.members if m.message.role != "tool"}
        last = max(spoken, default=0)
        waiting = (p.seq for p in self._rest if p.seq > last and p.message.role == "assistant")
        return next(waiting, max((placed.seq for placed in self._rest), default=0) + 1)

    def dropped(self) -> tuple[tuple[int, int], ...]:
        """Return the numbers of all dropped messages, as ranges."""
        ranges: list[tuple[int, int]] = []
        joined = False
        for placed in self._rest:
            gone = placed.seq in self._gone
            if gone:
                first = ranges.pop()[0] if joined else placed.seq
                ranges.append((first, placed.seq))
            joined = gone
        return tuple(ranges)

    def newly_elided(self) -> tuple[int, ...]:
        """Return the numbers of messages that this trim elides or cuts."""
        earlier, now = (show_units(s, self._units[self.first :]) for s in (self._old, self.state))
        return tuple(
            member.seq
            for was_unit, unit in zip(earlier, now, strict=True)
            for was, member in zip(was_unit.members, unit.members, strict=True)
            if was != member
        )

    def kept(self) -> int:
        """Count the messages that are still shown, whole or as a stub."""
        units = [unit for unit in self._units[self.first :] if unit.head not in self._skipped]
        units += [unit for unit in self._units[: self.first] if unit.head in self._anchors]
        return sum(len(unit.members) for unit in units)
