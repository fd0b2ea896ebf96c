"""What came of what was shown, read from the calls of the session."""

from __future__ import annotations

import json

import recollect
from recollect.briefing import sql as briefing_sql
from recollect.briefing import steps_follow_up as briefing_steps_follow_up
from recollect.briefing.steps_follow_up import SessionActs, judge
from recollect.injections import sql as injections_sql
from recollect.injections.sql import FOLLOWED, IGNORED, Injection
from recollect.storage.database import Tx

Mem = recollect.Recollect


def _shown(id: str, moment: str, ref: str, at: int) -> Injection:
    return Injection(id=id, session="s-1", moment=moment, block="B", ref=ref, tokens=0, at=at)


def test_a_shown_command_was_run_or_others_were_in_its_place() -> None:
    acts = SessionActs(forms=((10, "pnpm test"), (30, "npm test")), files=((20, "src/a.py"),))
    shown = [
        _shown("i-1", "start", "command:pnpm test", 50),
        _shown("i-2", "start", "command:pnpm lint", 0),
        _shown("i-3", "command", "avoid:npm test", 20),
        _shown("i-4", "command", "avoid:npm test", 5),
        _shown("i-5", "edit", "file:src/a.py", 15),
        _shown("i-6", "edit", "file:src/b.py", 15),
        _shown("i-7", "edit", "file:src/a.py", 25),
        _shown("i-9", "command", "avoid:yarn test", 5),
        _shown("i-8", "start", "m-1", 0),
    ]
    assert judge(shown, acts) == [
        ("i-1", FOLLOWED),
        ("i-2", IGNORED),
        ("i-3", IGNORED),
        ("i-4", IGNORED),
        ("i-5", FOLLOWED),
        ("i-6", IGNORED),
        ("i-9", FOLLOWED),
    ]


def test_a_session_without_commands_says_nothing_about_shown_commands() -> None:
    assert judge([_shown("i-1", "start", "command:pnpm test", 0)], SessionActs()) == []


def test_five_tries_without_effect_and_no_fewer_make_a_line_idle() -> None:
    assert not briefing_steps_follow_up.is_idle([IGNORED] * 4)
    assert briefing_steps_follow_up.is_idle([IGNORED] * 5)
    assert not briefing_steps_follow_up.is_idle([IGNORED] * 4 + [FOLLOWED])
    assert briefing_steps_follow_up.is_idle([IGNORED] * 5 + [FOLLOWED])


def test_stats_tell_how_often_memory_came_in_time(mem: Mem) -> None:
    given = {"name": "Bash", "arguments": json.dumps({"command": "pnpm test"})}
    call = {"id": "c1", "type": "function", "function": given}
    mem.record("s-1", "please run the tests")
    mem.record("s-1", {"role": "assistant", "content": "", "tool_calls": [call]})
    mem.record("s-1", {"role": "tool", "content": "all passed", "tool_call_id": "c1"})
    space = mem.context.project_space

    def work(tx: Tx) -> None:
        injections_sql.insert(tx, [_shown("i-1", "start", "command:pnpm test", 1)])
        assert briefing_steps_follow_up.judge_session(tx, "s-1", "/p", 2) == 1

    space.write(work)
    told = {one.moment: one for one in mem.store.stats().in_time}
    assert (told["start"].shown, told["start"].followed) == (1, 1)
    assert told["turn"].chances == 1
    assert told["command"].chances == 1


def test_the_chances_of_many_sessions_are_summed_up_in_a_bounded_number_of_values(mem: Mem) -> None:
    mem.record("s-1", "please run the tests")
    sessions = 2 * briefing_steps_follow_up.MOST_APART

    def judge_all(tx: Tx) -> int:
        for number in range(sessions):
            briefing_steps_follow_up.judge_session(tx, f"n-{number}", "", number)
        return len(briefing_sql.list_values(tx, "moments:"))

    assert mem.context.project_space.write(judge_all) <= briefing_steps_follow_up.MOST_APART + 1
    told = {one.moment: one.chances for one in mem.store.stats().in_time}
    assert told["start"] == sessions
