"""Judge the effect of the items that were shown: the command was run, the file was opened, the
failing command was avoided.

Only tool calls of the session count. The absence of an error proves nothing: a warning must not
confirm itself. A rule that names no command and no file is not judged.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from ..actions import call_results, command_forms
from ..archive import sql as archive_sql
from ..fast_typing import NamedTuple
from ..injections import sql as injections_sql
from ..injections.sql import FOLLOWED, IGNORED, Injection, MomentCounts
from ..secrets import redaction
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..text import messages
from . import sql, wording
from .rendering import Item

COMMAND, AVOID, FILE = "command:", "avoid:", "file:"
MOST_MESSAGES = 5_000
TRIES, FEW_TRIES = 5, 3
"""After so many tries without effect an item leaves the start block; a command that worked in only
one session leaves it after FEW_TRIES."""

MOMENTS = ("start", "turn", "command", "edit", "failure")
_KEY = "moments:"
_TOTAL = _KEY
"""The key of the sum over old sessions."""

MOST_APART = 100
"""The number of newest sessions with their own row of chances, so that resuming one does not count
its chances twice; older rows are added up."""


class SessionActs(NamedTuple):
    """The actions of an agent in a session: forms of commands and files by time, and the number of
    chances to show something at each moment."""

    forms: tuple[tuple[int, str], ...] = ()
    files: tuple[tuple[int, str], ...] = ()
    chances: tuple[tuple[str, int], ...] = ()
    lines: tuple[str, ...] = ()
    """The commands as they are shown."""


def refs_of(item: Item) -> list[str]:
    """Return the refs that an item is logged with: its own, and one for each command and file."""
    if item.kind == "command":
        return [wording.command_ref(form) for form in item.forms]
    if item.kind == "advice":
        return [item.address, *map(wording.command_ref, item.forms[1:])]
    own = item.address if item.kind in _BY_ADDRESS else item.id
    named = [wording.command_ref(form) for form in item.forms]
    return [own, *named, *(f"file:{path}" for path in item.files)]


_BY_ADDRESS = ("message", "conclusion", "resolution", "place")


# ---------------------------------------------------------------- judging


def judge_session(tx: Tx, session: str, root: str, now: int) -> int:
    """Judge the items shown in a session and store its chances; return the number of judged items.

    root: the top of the working tree; paths are relative to it
    """
    acts = _load_acts(tx, session, root)
    shown = [
        one._replace(ref=_normalise_ref(one.ref))
        for one in injections_sql.list_items(tx, session)
        if not one.outcome
    ]
    outcomes = judge(shown, acts)
    if outcomes:
        injections_sql.set_outcomes(tx, outcomes)
    _restore_used(tx, session, acts, now)
    chances = redaction.redact_json(dict(acts.chances)).text
    storage_sql.set_value(tx, f"{_KEY}{session}", chances, now)
    _merge_old_chances(tx, now)
    return len(outcomes)


def _merge_old_chances(tx: Tx, now: int) -> None:
    """Add the chances of the oldest sessions to the total, so that the number of rows is
    bounded."""
    apart = [one for one in sql.list_values(tx, _KEY) if one[0] != _TOTAL]
    if len(apart) <= MOST_APART:
        return
    old = apart[MOST_APART // 2 :]
    total = _add_up([storage_sql.get_value(tx, _TOTAL) or "{}", *(value for _, value in old)])
    storage_sql.set_value(tx, _TOTAL, redaction.redact_json(total).text, now)
    sql.remove_values(tx, [key for key, _ in old])


def _add_up(values: Iterable[str]) -> dict[str, int]:
    chances = dict.fromkeys(MOMENTS, 0)
    for value in values:
        for moment, count in json.loads(value).items():
            if moment in chances:
                chances[moment] += int(count)
    return chances


def _restore_used(tx: Tx, session: str, acts: SessionActs, now: int) -> None:
    """Return unused commands that were run now to the start block: log them as followed."""
    refs = list(dict.fromkeys(f"{COMMAND}{line}" for line in acts.lines))
    tried = injections_sql.list_outcomes(tx, refs) if refs else {}
    rows = [
        Injection(
            id=f"i-{session}-{place}-{now}",
            session=session,
            moment=injections_sql.USED,
            block="B",
            ref=ref,
            tokens=0,
            at=now,
            outcome=FOLLOWED,
        )
        for place, ref in enumerate(refs)
        if is_idle(tried.get(ref, ()), FEW_TRIES)
    ]
    injections_sql.insert(tx, rows)


def is_idle(outcomes: Sequence[str], tries: int = TRIES) -> bool:
    """Check whether the latest tries, newest first, had no effect."""
    return len(outcomes) >= tries and FOLLOWED not in outcomes[:tries]


def count_moments(tx: Tx) -> tuple[MomentCounts, ...]:
    """Return the counts of chances, shown and followed items for each moment that had a chance."""
    chances = _add_up(value for _, value in sql.list_values(tx, _KEY))
    counted = {one.moment: one for one in injections_sql.count_by_moment(tx)}
    every = [counted.get(moment, MomentCounts(moment)) for moment in MOMENTS]
    found = (one._replace(chances=max(chances[one.moment], one.shown)) for one in every)
    return tuple(one for one in found if one.chances)


def _load_acts(tx: Tx, session: str, root: str) -> SessionActs:
    placed = list(_messages(tx, session))
    forms: list[tuple[int, str]] = []
    files: list[tuple[int, str]] = []
    lines: list[str] = []
    count = dict.fromkeys(MOMENTS, 0)
    count["start"] = 1
    count["turn"] = sum(one.message.role == "user" and bool(one.message.content) for one in placed)
    edited: set[str] = set()
    for attempt in call_results.list_attempts(placed):
        if attempt.script:
            count["command"] += 1
            found = command_forms.forms_of(attempt.script)
            forms += [(attempt.at, one.key) for one in found]
            lines += [line for one in found for line in (one.key, one.wording)]
        new = set(attempt.writes) - edited
        count["edit"] += bool(new)
        edited |= new
        count["failure"] += attempt.state == "failed"
        named = (*attempt.reads, *attempt.writes)
        files += [(attempt.at, path.removeprefix(f"{root}/")) for path in named]
    return SessionActs(tuple(forms), tuple(files), tuple(count.items()), tuple(lines))


def _normalise_ref(ref: str) -> str:
    """Return a ref with the canonical form of its command."""
    kind, colon, line = ref.partition(":")
    if f"{kind}:" not in (COMMAND, AVOID):
        return ref
    forms = command_forms.forms_of(line)
    return f"{kind}{colon}{forms[0].key if forms else line}"


def _messages(tx: Tx, session: str) -> Iterator[messages.NumberedMessage]:
    for row in archive_sql.messages(tx, session, 0, 2**62, MOST_MESSAGES):
        message = messages.message_from_body(json.loads(row.body))
        yield messages.NumberedMessage(row.seq, message._replace(at=row.at))


def judge(shown: Sequence[Injection], acts: SessionActs) -> list[tuple[str, str]]:
    """Return the outcome of each row that can be judged."""
    judged = ((one.id, _outcome(one, acts)) for one in shown)
    return [(id, outcome) for id, outcome in judged if outcome]


def _outcome(one: Injection, acts: SessionActs) -> str:
    """Return followed if the shown command was run, the failing one avoided or the file opened;
    ignored if others were; empty if nothing comparable was done."""
    ran = [name for at, name in acts.forms if one.moment == "start" or at > one.at]
    if one.ref.startswith(COMMAND):
        done = one.ref.removeprefix(COMMAND) in ran
        return FOLLOWED if done else IGNORED if ran else ""
    if one.ref.startswith(AVOID):
        again = one.ref.removeprefix(AVOID) in ran
        return IGNORED if again else FOLLOWED if ran else ""
    if one.ref.startswith(FILE):
        path = one.ref.removeprefix(FILE)
        after = [name for at, name in acts.files if one.moment == "start" or at >= one.at]
        return FOLLOWED if path in after else IGNORED if after else ""
    return ""
