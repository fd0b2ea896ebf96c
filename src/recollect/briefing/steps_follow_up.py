"""Follow up what was shown in a session, once its calls are in the archive."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ..actions import call_results, command_forms
from ..archive import sql as archive_sql
from ..fast_typing import NamedTuple
from ..secrets import redaction
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..text import messages
from . import follow_up, sql

MOST_MESSAGES = 5_000
MOMENTS = ("start", "turn", "command", "edit", "failure")
_KEY = "moments:"


class InTime(NamedTuple):
    """How often memory could have spoken at a moment, how often it did, and what came of that."""

    moment: str
    chances: int
    shown: int
    followed: int
    ignored: int


def judge_session(tx: Tx, session: str, root: str, now: int) -> int:
    """Judge what was shown in a session, and note how many chances there were; return the count.

    root: the top of the working tree, to know files by
    """
    acts = _acts(tx, session, root)
    shown = [
        follow_up.ShownRef(id, moment, _keyed(ref), at)
        for id, moment, ref, at in sql.unjudged(tx, session)
    ]
    outcomes = follow_up.judge(shown, acts)
    if outcomes:
        sql.judge(tx, outcomes)
    chances = redaction.redact_json(dict(acts.chances)).text
    storage_sql.set_value(tx, f"{_KEY}{session}", chances, now)
    return len(outcomes)


def in_time(tx: Tx) -> tuple[InTime, ...]:
    """Return how often memory came in time, moment by moment."""
    chances = dict.fromkeys(MOMENTS, 0)
    for value in sql.values_below(tx, _KEY):
        for moment, count in json.loads(value).items():
            if moment in chances:
                chances[moment] += int(count)
    counted = {one.moment: one for one in sql.counts(tx)}
    return tuple(
        InTime(moment, max(chances[moment], one.shown), one.shown, one.followed, one.ignored)
        for moment in MOMENTS
        if (one := counted.get(moment, sql.Counted(moment, 0, 0, 0))).shown or chances[moment]
    )


def _acts(tx: Tx, session: str, root: str) -> follow_up.SessionActs:
    placed = list(_messages(tx, session))
    forms: list[tuple[int, str]] = []
    files: list[tuple[int, str]] = []
    count = dict.fromkeys(MOMENTS, 0)
    count["start"] = 1
    count["turn"] = sum(one.message.role == "user" and bool(one.message.content) for one in placed)
    edited: set[str] = set()
    for attempt in call_results.list_attempts(placed):
        if attempt.script:
            count["command"] += 1
            forms += [(attempt.at, one.key) for one in command_forms.forms_of(attempt.script)]
        new = set(attempt.writes) - edited
        count["edit"] += bool(new)
        edited |= new
        count["failure"] += attempt.state == "failed"
        named = (*attempt.reads, *attempt.writes)
        files += [(attempt.at, path.removeprefix(f"{root}/")) for path in named]
    return follow_up.SessionActs(tuple(forms), tuple(files), tuple(count.items()))


def _keyed(ref: str) -> str:
    """Return a logged name with the key of its command: wordings of one command are the same."""
    if not ref.startswith(follow_up.COMMAND):
        return ref
    line = ref.removeprefix(follow_up.COMMAND)
    forms = command_forms.forms_of(line)
    return f"{follow_up.COMMAND}{forms[0].key if forms else line}"


def _messages(tx: Tx, session: str) -> Iterator[messages.NumberedMessage]:
    for row in archive_sql.messages(tx, session, 0, 2**62, MOST_MESSAGES):
        message = messages.message_from_body(json.loads(row.body))
        yield messages.NumberedMessage(row.seq, message._replace(at=row.at))
