"""Prompts: trimmed when too long, and the same after every reopening."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import context
from recollect.archive import sql as archive_sql
from recollect.freshness import git_io
from recollect.interfaces.screens.results import show
from recollect.window import operations as window_operations
from recollect.window import sql as window_sql
from recollect.window import steps as window_steps
from recollect.window.operations import compact
from recollect.window.state import view_messages
from tests.conftest import Clock

Mem = recollect.Recollect
TASK = "Please move the session store from Redis to PostgreSQL and keep every test green."


def call(id: str, name: str, **arguments: str) -> dict[str, object]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": id, "type": "function", "function": function}],
    }


def result(id: str, text: str) -> dict[str, object]:
    return {"role": "tool", "tool_call_id": id, "content": text}


def talk(mem: Mem, turns: int, start: int = 0, session: str = "s-1") -> None:
    """Record turns of a working session: a request, a read, its result, an answer."""
    for n in range(start, start + turns):
        mem.record(session, f"Request {n}: {TASK} Part {n}, marker word{n}.")
        mem.record(session, call(f"c{n}", "Read", file_path=f"src/part{n}.py"))
        mem.record(session, result(f"c{n}", f"content of part {n} " * 40))
        mem.record(session, {"role": "assistant", "content": f"Part {n} is done."})


def texts(prompt: window_steps.Prompt) -> str:
    return json.dumps(prompt.request("openai"), ensure_ascii=False)


def test_a_short_session_is_sent_whole(mem: Mem) -> None:
    talk(mem, 2)
    prompt = mem.prepare("s-1", 200_000, max_output=8_000)
    assert (len(prompt.messages), prompt.trimmed, prompt.fits) == (8, False, True)
    assert prompt.messages == tuple(
        item.message._replace(at=m.at, key=m.key)
        for item, m in zip(mem.sessions.recent("s-1"), prompt.messages, strict=True)
    )
    assert mem.sessions.show("s-1").session.window_from == 1  # type: ignore[union-attr]


def test_the_prompt_is_ready_to_be_sent_in_the_providers_form(mem: Mem) -> None:
    talk(mem, 1)
    prompt = mem.prepare("s-1", 200_000, system="You are careful.")
    openai = prompt.request("openai")["messages"]
    assert openai[0] == {"role": "system", "content": "You are careful."}
    assert [item["role"] for item in openai] == ["system", "user", "assistant", "tool", "assistant"]
    anthropic = prompt.request("anthropic")
    assert "You are careful." in json.dumps(anthropic["system"])
    assert anthropic["messages"][1]["content"][0]["type"] == "tool_use"


def test_a_window_is_trimmed_before_it_gets_too_long(mem: Mem) -> None:
    talk(mem, 20)
    prompt = mem.prepare("s-1", 6_000, max_output=500)
    assert prompt.trimmed
    assert prompt.fits
    assert prompt.tokens <= 3_000
    assert "<thread_summary>" in texts(prompt)
    assert "Request 19" in str(prompt.messages[-4].content)
    session = mem.sessions.show("s-1").session
    assert session is not None
    assert session.window_from > 1
    assert session.summary.startswith("<thread_summary>")
    assert session.messages == 80


def test_preparing_twice_and_after_reopening_gives_the_same_bytes(
    project: Path, environment: dict[str, str], clock: Clock
) -> None:
    def opened() -> Mem:
        return recollect.open(project, clock=clock, environment=environment, origin="user")

    with opened() as mem:
        talk(mem, 20)
        first = texts(mem.prepare("s-1", 6_000, system="Be brief."))
        assert texts(mem.prepare("s-1", 6_000, system="Be brief.")) == first
        refused = texts(mem.sessions.overflow("s-1"))
    with opened() as mem:
        assert texts(mem.prepare("s-1", 6_000, system="Be brief.")) == refused
    assert refused != first


def test_the_newest_result_is_whole_while_the_model_takes_it(mem: Mem) -> None:
    talk(mem, 12)
    text = "".join(f"line {n} of the log\n" for n in range(350))
    mem.record("s-1", call("log", "Bash", command="cat log"))
    mem.record("s-1", result("log", text))
    prompt = mem.prepare("s-1", 6_000)
    assert prompt.trimmed and prompt.fits
    assert prompt.messages[-1].content == text


def test_a_newest_result_that_no_window_takes_is_cut_and_its_address_gives_it_whole(
    project: Path, environment: dict[str, str], clock: Clock
) -> None:
    text = "".join(f"line {n} of the log\n" for n in range(3_000))
    with recollect.open(project, clock=clock, environment=environment, origin="user") as mem:
        mem.record("s-1", TASK)
        mem.record("s-1", call("log", "Bash", command="cat log"))
        mem.record("s-1", result("log", text))
        prompt = mem.prepare("s-1", 6_000)
        cut = str(prompt.messages[-1].content)
        assert (
            prompt.fits and cut.startswith("line 0 of") and cut.endswith("line 2999 of the log\n")
        )
        [address] = re.findall(r"memory://\S+\d", cut)
        assert mem.show(address).messages[0].message.content == text
        first = texts(prompt)
    with recollect.open(project, clock=clock, environment=environment, origin="user") as mem:
        assert texts(mem.prepare("s-1", 6_000)) == first
        mem.record("s-1", {"role": "assistant", "content": "The log is long."})
        mem.record("s-1", "And now?")
        assert mem.prepare("s-1", 6_000).messages[: len(prompt.messages)] == prompt.messages


def test_the_beginning_of_a_prompt_stays_byte_identical_until_the_next_trim(mem: Mem) -> None:
    talk(mem, 16)
    before = mem.prepare("s-1", 6_000)
    trims = 0
    for n in range(16, 34):
        talk(mem, 1, n)
        after = mem.prepare("s-1", 6_000)
        if after.trimmed:
            trims += 1
        else:
            assert after.messages[: len(before.messages)] == before.messages
        before = after
    assert 1 <= trims <= 6


def test_the_first_refusal_keeps_more_than_the_second_and_the_second_more_than_the_third(
    mem: Mem,
) -> None:
    talk(mem, 12)
    mem.record("s-1", f"And now: {TASK}")
    talk_after = [mem.prepare("s-1", 40_000)]
    talk_after += [mem.sessions.overflow("s-1", attempt) for attempt in (1, 2, 3)]
    sizes = [prompt.tokens for prompt in talk_after]
    counts = [len(prompt.messages) for prompt in talk_after]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 4
    assert counts[1] > counts[2] > counts[3]
    assert all(f"And now: {TASK}" in texts(prompt) for prompt in talk_after)
    with pytest.raises(recollect.Overflow, match="refused as too long 3 times"):
        mem.sessions.overflow("s-1", 4)


def test_when_nothing_can_be_trimmed_the_context_was_not_the_problem(mem: Mem) -> None:
    mem.record("s-1", TASK)
    mem.prepare("s-1", 10_000)
    with pytest.raises(recollect.Overflow, match="the context was not the problem"):
        mem.sessions.overflow("s-1")
    with pytest.raises(recollect.InvalidInput, match="context_window"):
        mem.record("s-2", TASK)
        mem.sessions.overflow("s-2")


def test_a_refusal_is_answered_also_in_another_process(
    project: Path, environment: dict[str, str], clock: Clock
) -> None:
    sizes = []
    for attempt in (0, 1, 2, 3):
        with recollect.open(project, clock=clock, environment=environment) as mem:
            if not attempt:
                talk(mem, 12)
                sizes.append(mem.prepare("s-1", 40_000).tokens)
            else:
                sizes.append(mem.sessions.overflow("s-1", attempt, context_window=40_000).tokens)
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 4


def test_after_a_refusal_the_prompt_says_where_the_work_stands(mem: Mem, project: Path) -> None:
    talk(mem, 10)
    mem.prepare("s-1", 20_000)
    prompt = mem.sessions.overflow("s-1", 2)
    [note] = [m for m in prompt.messages if "recollect-memory" in str(m.content)]
    text = str(note.content)
    assert "Older conversation history has been summarized. Continue." in text
    assert f"Current task: Request 9: {TASK}" in text
    assert "recall_sessions" in text
    assert "session_progress" in text
    assert "Request 0" not in text


def test_a_trim_writes_a_checkpoint_that_is_retrieved_by_name(mem: Mem) -> None:
    with pytest.raises(recollect.NotFound):
        mem.scratch.retrieve("session_progress")
    talk(mem, 20)
    mem.prepare("s-1", 6_000)
    progress = mem.scratch.retrieve("session_progress").text
    assert "Iteration: 1" in progress
    assert f"Current task: Request 19: {TASK}"[:200] in progress
    assert "Read src/part19.py" in progress
    assert "memory://session/s-1/messages/1-80" in progress
    talk(mem, 20, 0, "s-2")
    mem.prepare("s-2", 6_000)
    assert "session/s-2/" in mem.scratch.retrieve("session_progress").text
    assert mem.scratch.retrieve("session_progress:s-1").text == progress


def test_the_checkpoint_holds_commits_and_status_of_git(
    project: Path, environment: dict[str, str], clock: Clock
) -> None:
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@x", "-C", str(project)]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    (project / "kept.py").write_text("x = 1\n")
    subprocess.run([*git, "add", "kept.py"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "Keep x"], check=True)
    (project / "new.py").write_text("y = 2\n")
    with recollect.open(project, clock=clock, environment=environment) as mem:
        talk(mem, 10)
        mem.prepare("s-1", 20_000)
        prompt = mem.sessions.overflow("s-1")
        progress = mem.scratch.retrieve("session_progress").text
    for text in (progress, texts(prompt)):
        assert "Keep x" in text
        assert "?? new.py" in text


def test_checkpoint_and_pointer_are_kept_together_or_not_at_all(
    mem: Mem, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(mem, 20)

    def refuse(*_: object) -> None:
        raise recollect.Refused("the disk is gone")

    monkeypatch.setattr(window_sql, "put", refuse)
    with pytest.raises(recollect.Refused):
        mem.prepare("s-1", 6_000)
    with pytest.raises(recollect.NotFound):
        mem.scratch.retrieve("session_progress")
    assert mem.sessions.show("s-1").session.window_from == 1  # type: ignore[union-attr]


def test_a_window_moved_by_another_process_is_loaded_again(
    mem: Mem, project: Path, environment: dict[str, str], clock: Clock
) -> None:
    talk(mem, 20)
    planned: list[int] = []

    def decide(loaded: window_steps.LoadedWindow) -> object:
        if not planned:
            with recollect.open(project, clock=clock, environment=environment) as other:
                other.prepare("s-1", 6_000)
        planned.append(loaded.state.window_from)
        return window_steps.plan_before_sending(loaded)

    request = context.PromptRequest(6_000)
    loaded, plan = compact(mem.context, "s-1", request, decide)  # type: ignore[arg-type]
    assert planned[0] == 1
    assert planned[1] > 1
    assert not plan.changed
    assert view_messages(loaded.state, loaded.messages) == list(mem.prepare("s-1", 6_000).messages)


def test_the_ratio_is_learned_for_each_model_from_real_usage(mem: Mem) -> None:
    def answer(model: str, tokens: int) -> dict[str, object]:
        return {
            "role": "assistant", "content": "Done.", "model": model,
            "usage": {"prompt_tokens": tokens, "completion_tokens": 3},
        }  # fmt: skip

    talk(mem, 4)
    chars = sum(len(str(m.content)) for m in mem.prepare("s-1", 90_000, model="one").messages)
    before = mem.prepare("s-1", 90_000, model="one").tokens
    mem.record("s-1", answer("one-2026", chars // 4))
    after = mem.prepare("s-1", 90_000, model="one").tokens
    assert after < before
    assert mem.prepare("s-1", 90_000, model="two").tokens > before
    mem.record("s-1", {"role": "assistant", "content": "nothing", "usage": {"prompt_tokens": 1}})
    usage = mem.sessions.show("s-1").session.usage  # type: ignore[union-attr]
    assert usage["requests"] == 2
    assert usage["input_tokens"] == chars // 4 + 1
    assert usage["output_tokens"] == 3


def test_the_ratio_is_learned_once_for_an_answer(mem: Mem) -> None:
    mem.record("s-1", TASK)
    mem.prepare("s-1", 90_000)
    reply = {"role": "assistant", "content": "ok", "model": "m", "usage": {"input_tokens": 16}}
    mem.record("s-1", reply, key="a")
    learned = mem.prepare("s-1", 90_000).tokens
    mem.context.sent.clear()
    mem.record("s-1", reply, key="a")
    mem.record("s-1", reply, key="b")
    mem.prepare("s-1", 90_000)
    mem.record("s-1", reply, key="a")
    messages = len(mem.sessions.recent("s-1"))
    assert messages == 3
    assert mem.prepare("s-1", 90_000, model="m").tokens > learned


def test_an_exact_counter_can_be_plugged_in(mem: Mem) -> None:
    mem.record("s-1", "one two three")
    mem.counter = lambda text: len(text.split())
    assert mem.prepare("s-1", 1_000).tokens == 3 + 3 + 3


def test_tools_may_be_definitions_or_a_number(mem: Mem) -> None:
    mem.record("s-1", TASK)
    tools = [{"name": "ls", "description": "list files " * 50}]
    free = mem.prepare("s-1", 10_000).limit
    assert mem.prepare("s-1", 10_000, tools=500).limit == free - 500
    assert mem.prepare("s-1", 10_000, tools="500").limit == free - 500
    assert mem.prepare("s-1", 10_000, tools=tools).limit < free - 200


@pytest.mark.parametrize("about", [{"max_output": -1}, {"max_output": 10_000}, {"max_prompt": "x"}])
def test_limits_that_make_no_sense_are_refused(mem: Mem, about: dict[str, int]) -> None:
    mem.record("s-1", TASK)
    with pytest.raises(recollect.InvalidInput):
        mem.prepare("s-1", 10_000, **about)  # type: ignore[arg-type]
    with pytest.raises(recollect.InvalidInput):
        mem.prepare("s-1", 0)
    with pytest.raises(recollect.NotFound):
        mem.prepare("nobody", 10_000)


def test_a_duplicate_call_id_is_refused_however_long_ago_the_first_was(mem: Mem) -> None:
    talk(mem, 20)
    mem.prepare("s-1", 6_000)
    with pytest.raises(recollect.InvalidInput, match="'c0' is used twice"):
        mem.record("s-1", call("c0", "Read", file_path="x"))
    assert mem.sessions.show("s-1").session.messages == 80  # type: ignore[union-attr]
    mem.record("s-2", call("c0", "Read", file_path="x"))


def test_a_late_tool_result_joins_its_call(mem: Mem) -> None:
    mem.record("s-1", TASK)
    mem.record("s-1", call("slow", "Bash", command="make"))
    assert [m.role for m in mem.prepare("s-1", 50_000).messages] == ["user"]
    mem.record("s-1", "Are you still there? It takes a long time already, I think.")
    mem.record("s-1", result("slow", "built"))
    roles = [m.role for m in mem.prepare("s-1", 50_000).messages]
    assert roles == ["user", "assistant", "tool", "user"]


def test_recent_is_the_newest_messages_whatever_the_window_is(mem: Mem) -> None:
    talk(mem, 20)
    mem.prepare("s-1", 6_000)
    assert [item.seq for item in mem.sessions.recent("s-1")] == list(range(61, 81))
    assert [item.seq for item in mem.sessions.recent("s-1", 2)] == [79, 80]
    with pytest.raises(recollect.InvalidInput):
        mem.sessions.recent("s-1", 0)


def test_a_trim_by_hand_halves_the_window_and_loses_nothing(mem: Mem) -> None:
    talk(mem, 10)
    done = mem.sessions.trim("s-1")
    assert done.changed
    assert done.after <= done.before // 2
    [(first, last)] = done.dropped
    shown = mem.show(f"memory://session/s-1/messages/{first}-{last}")
    assert len(shown.messages) == last - first + 1
    small = mem.sessions.trim("s-1", 1)
    assert small.after < done.after
    assert not mem.sessions.trim("s-1", 1).changed


def test_a_trim_by_hand_never_makes_a_window_longer(mem: Mem) -> None:
    for _ in range(3):
        mem.record("s-1", "hello")
        mem.record("s-1", {"role": "assistant", "content": "hi"})
        done = mem.sessions.trim("s-1", 1)
        assert (done.changed, done.after) == (False, done.before)
    assert "nothing to trim" in show("session trim", done)


def test_a_session_that_was_never_prepared_is_caught_up_in_portions(
    mem: Mem, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(mem, 20)
    whole = mem.sessions.show("s-1").session
    monkeypatch.setattr(window_steps, "_SMALLEST_PORTION", 9)
    loads: list[int] = []
    load = archive_sql.messages

    def counted(*given: Any) -> list[archive_sql.MessageRow]:
        rows = load(*given)
        loads.append(len(rows))
        return rows

    monkeypatch.setattr(archive_sql, "messages", counted)
    prompt = mem.prepare("s-1", 1_500)
    assert whole is not None
    assert max(loads) < 2 * 500 + 2
    assert prompt.fits
    summary = str(prompt.messages[0].content)
    assert "[original] Request 0" in summary
    assert "Read: " in summary
    assert int(summary.split("Read: ")[1].split()[0]) >= 15


def test_a_secret_in_a_commit_message_is_not_shown(
    mem: Mem, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "AKIA" + "Q3J5K7M2N4P6R8T1"
    monkeypatch.setattr(
        window_operations,
        "read_git_state",
        lambda _: git_io.GitState(commits=(f"abc1234 add {secret}",)),
    )
    talk(mem, 10)
    mem.prepare("s-1", 20_000)
    assert secret not in texts(mem.sessions.overflow("s-1"))
    assert secret not in mem.scratch.retrieve("session_progress").text


def test_a_second_trim_replaces_the_summary_that_the_session_shows(mem: Mem) -> None:
    talk(mem, 20)
    mem.sessions.trim("s-1")
    first = mem.sessions.show("s-1").session
    mem.sessions.trim("s-1")
    second = mem.sessions.show("s-1").session
    assert first and second and first.window_from < second.window_from
    assert first.summary != second.summary
    assert f"messages/1-{second.window_from - 1}" in second.summary
