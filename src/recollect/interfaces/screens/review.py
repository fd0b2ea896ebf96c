"""`recollect review` at a terminal: one item a screen, one key an answer.

The last answer is written with the next one, or at the end; until then `u` cancels it without a
trace.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import NamedTuple, TypedDict

from ...briefing import instruction_files_io
from ...client import Recollect
from ...errors import RecollectError
from ...review import operations as review_operations
from ...text import display
from ...types.reports import ReviewEvidence, ReviewItem
from . import style
from .style import can_redraw, paint, terminal_width, wrap
from .terminal import Keyboard, one_key_input

_GROUP_KEYS = {"K": "keep", "H": "hide"}
_MOST_LISTED = 12
_LABEL = 10


class _Answer(NamedTuple):
    """A possible answer: its key, its name in the past tense, and its effect."""

    key: str
    done: str
    help: str


ANSWERS = {
    "keep": _Answer("k", "kept", "use it as your own word; hide the other side of a contradiction"),
    "edit": _Answer("e", "edited", "change the text, then use it"),
    "scope": _Answer("s", "scoped", "use it for some files only"),
    "both": _Answer("b", "both kept", "no contradiction: use both"),
    "hide": _Answer("h", "hidden", "out of use; recollect restore ID takes it back"),
    "later": _Answer("l", "left for later", "leave it in the queue"),
}


class ReviewFilters(TypedDict, total=False):
    """The filters of `review`."""

    id: str
    kind: str
    from_: str
    reason: str
    limit: int


def converse(memory: Recollect, filters: ReviewFilters) -> None:
    """Show the queue item by item, and read an answer to each."""
    items = memory.memories.review(**filters)
    if not items:
        print("nothing waits for review")
        return
    with one_key_input() as keyboard:
        session = ReviewScreen(memory, filters, list(items), keyboard)
        # A closed terminal ends the program like `q`: the last answer is written.
        before = {one: signal.signal(one, _exit) for one in (signal.SIGHUP, signal.SIGTERM)}
        try:
            session.run()
        finally:
            session.write_pending()
            for one, handler in before.items():
                signal.signal(one, handler)
    print(session.summary())


def _exit(number: int, _: object) -> None:
    raise SystemExit(128 + number)


class GivenAnswer(NamedTuple):
    """An answer to an item, with its new text or scope."""

    item: ReviewItem
    answer: str
    text: str = ""
    scope: tuple[str, ...] = ()


class Pending(NamedTuple):
    """Answers that are not written yet, and the queue before them."""

    answers: tuple[GivenAnswer, ...] = ()
    before: tuple[ReviewItem, ...] = ()


class ReviewScreen:
    """The queue at a terminal: the remaining items, and the answer that can still be undone."""

    def __init__(
        self,
        memory: Recollect,
        filters: ReviewFilters,
        items: list[ReviewItem],
        keyboard: Keyboard,
    ) -> None:
        self._memory, self._filters, self._keyboard = memory, filters, keyboard
        self._left = items
        self._total = max(review_operations.count_review(memory.context), len(items))
        self._filtered = any(filters.values())
        self._skipped: set[str] = set()
        self._pending = Pending()
        self._counts: dict[str, int] = {}
        self._note = ""
        self._written = ("", "", "")
        """The instruction file of the last answer, its text before it and after it."""

    def run(self) -> None:
        """Ask about each item until none is left or the person quits."""
        while True:
            if not self._left and not self._load_more():
                if not self._ask_last():
                    return
                continue
            self._show(self._left[0])
            key = self._keyboard.read_key()
            if key in ("q", ""):
                return
            self._handle(key, self._left[0])

    def _load_more(self) -> bool:
        """Load the rest of the queue, after writing the pending answers."""
        if self._pending.answers and len(self._skipped) + self._answered() >= self._total:
            return False
        self.write_pending()
        found = self._memory.memories.review(**self._filters)
        self._left = [item for item in found if item.id not in self._skipped]
        return bool(self._left)

    def _answered(self) -> int:
        waiting = sum(one.answer != "later" for one in self._pending.answers)
        return sum(self._counts.values()) + waiting

    def _ask_last(self) -> bool:
        """Offer to undo the last answer; return whether it was undone."""
        if not self._pending.answers:
            return False
        self._clear()
        print(f"{self._last_answer()}\nThat was the last item.  u undo, any other key ends")
        return self._keyboard.read_key() == "u" and self._undo()

    def _show(self, item: ReviewItem) -> None:
        self._clear()
        width = min(terminal_width(), style.WIDEST)
        at = self._answered() + len(self._skipped) + 1
        of = f" of {max(self._total, at)}" if not self._filtered else f", {len(self._left)} left"
        head = f"Review {at}{of}   {self._last_answer()}".rstrip()
        lines = [display.format_line(head, width), *render_item(item, width), ""]
        print(style.finish("\n".join(lines)))
        if self._note:
            print("\n".join(style.wrap(self._note, width)))
            self._note = ""
        keys = [f"{ANSWERS[one].key} {one}" for one in ANSWERS if one in item.answers]
        keys[1:1] = ["w file"] if "keep" in item.answers else []
        print("  ".join([*keys, "u undo", "q quit", "? more"]), flush=True)

    def _last_answer(self) -> str:
        """Return the last answer in a few words, while it can be undone."""
        if not self._pending.answers:
            return ""
        first, *more = self._pending.answers
        which = f"“{display.format_line(first.item.text, 40)}”"
        which = f"{len(more) + 1} items" if more else which
        return f"{ANSWERS[first.answer].done}: {which} (u undoes)"

    def _handle(self, key: str, item: ReviewItem) -> None:
        if key == "u":
            if not self._undo():
                self._note = "There is nothing to undo: earlier answers are written."
        elif key == "w" and "keep" in item.answers:
            self._write_rule(item)
        elif key in _GROUP_KEYS:
            self._answer_group(item, _GROUP_KEYS[key])
        elif answer := next((one for one in item.answers if ANSWERS[one].key == key), ""):
            self._answer(item, answer)
        else:
            self._note = self._help(item)

    def _answer(self, item: ReviewItem, answer: str) -> None:
        text = ""
        scope: tuple[str, ...] = ()
        if answer == "edit":
            text = self._keyboard.read_line("text: ", " ".join(item.text.split()))
            if not text or text == item.text:
                self._note = "The text is the same: k keeps it." if text else ""
                return
        if answer == "scope":
            typed = self._keyboard.read_line(
                "path globs, such as src/api/**: ", " ".join(item.scope)
            )
            scope = tuple(typed.split())
            if not scope:
                return
        self._set_pending([GivenAnswer(item, answer, text, scope)])

    def _write_rule(self, item: ReviewItem) -> None:
        """Keep an item and write it into an instruction file, after showing the diff."""
        paths = instruction_files_io.find_rule_files(self._memory.context.top)
        path = paths[0]
        self._clear()
        if len(paths) > 1:
            names = [os.path.basename(one) for one in paths]
            print(f"1 {names[0]}   2 {names[1]}", flush=True)
            key = self._keyboard.read_key()
            if key not in ("1", "2"):
                return
            path = paths[int(key) - 1]
        before = instruction_files_io.read_rule_file(path)
        after = instruction_files_io.add_rule(before, item.text)
        if before == after:
            self._note = f"{os.path.basename(path)} has this rule already: k keeps it."
            return
        name = os.path.basename(path)
        print(style.finish(style.render_diff(before, after, name, f"{name} (with the rule)")))
        print("\nKeep the rule and write this? Agents are not shown it twice. y/N", flush=True)
        if self._keyboard.read_key() not in ("y", "Y"):
            return
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(after)
        self._set_pending([GivenAnswer(item, "keep")])
        self._written = (path, before, after)

    def _answer_group(self, item: ReviewItem, answer: str) -> None:
        """Give one answer to all items with the same reasons and kind."""
        group = [one for one in self._left if (one.reasons, one.kind) == (item.reasons, item.kind)]
        width = min(terminal_width(), style.WIDEST)
        self._clear()
        for one in group[:_MOST_LISTED]:
            print(display.format_line(f"  {one.id}  {one.text}", width))
        if len(group) > _MOST_LISTED:
            print(f"  and {len(group) - _MOST_LISTED} more")
        what = f"{display.format_count(len(group), 'item')} ({', '.join(item.reasons)} {item.kind})"
        print(f"{answer} all {what}? y/N", flush=True)
        if self._keyboard.read_key() in ("y", "Y"):
            self._set_pending([GivenAnswer(one, answer) for one in group])

    def _set_pending(self, answers: list[GivenAnswer]) -> None:
        self.write_pending()
        self._pending = Pending(tuple(answers), tuple(self._left))
        gone = {one.item.id for one in answers}
        self._left = [item for item in self._left if item.id not in gone]
        self._skipped |= {one.item.id for one in answers if one.answer == "later"}

    def _undo(self) -> bool:
        if not self._pending.answers:
            return False
        path, before, after = self._written
        if path and instruction_files_io.read_rule_file(path) == after:
            with open(path, "w", encoding="utf-8", newline="\n") as file:
                file.write(before)
        self._left = list(self._pending.before)
        self._skipped -= {one.item.id for one in self._pending.answers}
        self._pending = Pending()
        return True

    def write_pending(self) -> None:
        """Write the last answer; if it is refused, its item stays in the queue."""
        pending, self._pending = self._pending, Pending()
        self._written = ("", "", "")
        for item, answer, text, scope in pending.answers:
            if answer == "later":
                continue
            try:
                self._memory.memories.answer(item.id, answer, text=text, scope=scope)
                self._counts[answer] = self._counts.get(answer, 0) + 1
            except RecollectError as error:
                self._skipped.add(item.id)
                self._note = f"Not answered: {item.id}: {error}"

    def summary(self) -> str:
        """Return the counts of answered and waiting items."""
        done = [f"{number} {ANSWERS[answer].done}" for answer, number in self._counts.items()]
        waiting = review_operations.count_review(self._memory.context)
        still = f"{display.format_count(waiting, 'item')} still waiting"
        counts = ", ".join([*done, still if waiting else "nothing waits"])
        return style.lines(display.escape_invisible(self._note), counts)

    def _help(self, item: ReviewItem) -> str:
        lines = [f"{one.key}  {one.help}" for name, one in ANSWERS.items() if name in item.answers]
        lines += ["w  keep it, and write it into AGENTS.md or CLAUDE.md (shown as a diff first)"]
        lines += ["K H  keep or hide all that wait as this kind for this reason", "u  undo"]
        return "\n".join(lines)

    def _clear(self) -> None:
        print("\033[2J\033[H" if can_redraw(sys.stdout) else f"{'-' * 20}\n", end="")


# ---------------------------------------------------------------- one item


def render_item(item: ReviewItem, width: int) -> list[str]:
    """Return the lines of one item: what it says, why it waits, where it comes from."""
    trust = f"from {item.trust}" if item.trust != "user" else "yours"
    if item.trust != "user" and any(one.role == "user" for one in item.evidence):
        trust = "from your message"
    about = f"{item.kind}, {', '.join(item.reasons)}, {trust}, {style.day(item.at)}"
    lines = [paint("faint", line) for line in wrap(f"{about}  {item.id}", width)] + [""]
    lines += ["  " + paint("title", line) for line in wrap(item.text, width - 2)]
    lines.append("")
    lines += _field("why", item.why, width)
    if item.scope:
        lines += _field("applies to", [", ".join(item.scope)], width)
    for one in item.against:
        statement = f"{one.text} ({one.kind}, {style.day(one.at)}, {one.id})"
        lines += _field("against", [statement], width)
    for passage in item.evidence:
        lines += _passage(passage, width)
    if not item.evidence:
        lines += _field("from", ["no conversation that is kept here"], width)
    return lines


def _field(name: str, texts: Sequence[str], width: int) -> list[str]:
    lines = [line for text in texts for line in wrap(text, width - _LABEL - 2)]
    heads = [name, *[""] * (len(lines) - 1)]
    return [f"{head:<{_LABEL}}  {line}" for head, line in zip(heads, lines, strict=True)]


def _passage(passage: ReviewEvidence, width: int) -> list[str]:
    who = {"user": "you", "assistant": "the agent"}.get(passage.role, passage.role or "an episode")
    place = style.shorten_place(passage.address.removeprefix("memory://"))
    lines = _field("from", [f"{who}, {style.day(passage.at)}, {place}"], width)
    for text, look in (
        (passage.before, "faint"),
        (passage.quote, "title"),
        (passage.after, "faint"),
    ):
        lines += [
            f"{'':<{_LABEL}}  > {paint(look, line)}" for line in wrap(text, width - _LABEL - 4)
        ]
    return lines
