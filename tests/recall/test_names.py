"""Names are found whole wherever they stand, outcomes before calls, and scores tell what is weak."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pytest

import recollect
from recollect.archive import steps as archive_steps
from recollect.archive.operations import build_session
from recollect.recall import questions
from recollect.recall.judgement import PROBABLY_WRONG
from recollect.types.records import Message

Mem = recollect.Recollect


def run(mem: Mem, id: str, command: str, output: str, session: str = "s") -> None:
    """Record a call of the shell, and its result."""
    call = {"id": id, "function": {"name": "bash", "arguments": json.dumps({"command": command})}}
    mem.record(session, {"role": "assistant", "content": None, "tool_calls": [call]})
    mem.record(session, {"role": "tool", "tool_call_id": id, "content": output})


def say(mem: Mem, texts: Sequence[str]) -> None:
    """Record what a user says, all at once."""
    said = [
        archive_steps.prepare(archive_steps.Incoming(Message("user", text)), 1) for text in texts
    ]
    new = build_session(mem.context, "talk")
    mem.context.project_space.write(lambda tx: archive_steps.record(tx, new, said, 1))


@pytest.fixture
def work(mem: Mem) -> Mem:
    """A session whose names stand in tool output, among much that shares their parts."""
    for number in range(40):
        mem.record(
            "talk", f"we looked at the store and the test of part {number}, ENT-{number + 90}"
        )
    listing = "\n".join(f"pkg/part_{number}/main.go" for number in range(300))
    run(mem, "c1", "ls -R", f"{listing}\npkg/checkpoint_store_test.go\n{listing}")
    run(mem, "c2", "git log -3", f"a1b2c3d4 ENT-232 mend parseManifestHeader\n{listing}")
    run(mem, "c3", "gofmt --simplify-all .", "error TS2345 in line 7")
    return mem


@pytest.mark.parametrize(
    ("name", "seq"),
    [
        ("checkpoint_store_test.go", 2),
        ("ENT-232", 4),
        ("a1b2c3d4", 4),
        ("parseManifestHeader", 4),
        ("TS2345", 6),
        ("--simplify-all", 5),
    ],
)
def test_a_name_is_found_first_wherever_it_stands(work: Mem, name: str, seq: int) -> None:
    first = work.recall(name)[0]
    assert first.id == f"s:{seq}"
    assert first.score > 0.8


def test_a_name_in_a_long_text_is_found_behind_many_short_ones_with_its_parts(mem: Mem) -> None:
    texts = [f"the response is message number {number}" for number in range(300)]
    say(mem, texts)
    listing = "\n".join(f"func part{number}() error" for number in range(900))
    run(mem, "c1", "cat event.go", f"{listing}\nResponseMessage string\n{listing}")
    assert mem.recall("ResponseMessage")[0].id == "s:2"


def test_of_many_with_a_name_in_another_spelling_the_one_that_spells_it_is_first(mem: Mem) -> None:
    texts = [f"the endpoint number {number} of the endpoints" for number in range(300)]
    say(mem, texts)
    listing = "\n".join(f"GET /part/{number}" for number in range(900))
    run(mem, "c1", "cat api.md", f"{listing}\n# API ENDPOINTS\n{listing}")
    assert mem.recall("ENDPOINTS")[0].id == "s:2"
    mem.record("other", "the type SentShare has sentShares and more, sentShares above all")
    mem.record("other", "grep for the word sentShare in the web client, and for two others")
    assert mem.recall("sentShare")[0].id == "other:2"


def test_a_name_that_a_file_has_is_before_the_same_word_in_another_spelling(mem: Mem) -> None:
    run(mem, "c1", "ls docs", "README.md\nENVIRONMENTS.md\nRELEASES.md\n", session="a")
    run(mem, "c2", "cat notes", "the environments\nare listed\nelsewhere\n", session="b")
    assert [hit.id for hit in mem.recall("ENVIRONMENTS")] == ["a:2", "b:2"]
    assert [hit.id for hit in mem.recall("environments")] == ["b:2", "a:2"]


def test_parts_of_a_found_name_are_dropped(work: Mem) -> None:
    assert [hit.id for hit in work.recall("ENT-232")] == ["s:4"]


def test_a_name_that_stands_nowhere_has_weak_hits_only(work: Mem) -> None:
    assert all(hit.score < PROBABLY_WRONG for hit in work.recall("ENT-777"))
    assert all(hit.score < PROBABLY_WRONG for hit in work.recall("checkpointReaderFactory.tsx"))


def test_a_quote_comes_before_scattered_words(mem: Mem) -> None:
    for number in range(30):
        mem.record("a", f"store the lock before the file, the file before the lock {number}")
    mem.record("b", "A long answer. " * 60 + "we hold the lock before the file is renamed, always")
    assert mem.recall("hold the lock before the file")[0].session == "b"
    assert mem.sessions.search("hold the lock before the file")[0].session == "b"
    mem.record("c", "A long answer. " * 60 + "it is kept when the file lock is before all others")
    assert mem.recall("when the file lock is before")[0].session == "c"


def test_the_result_of_a_command_comes_before_the_call(mem: Mem) -> None:
    run(mem, "c1", "make lint", "2 problems in a.py")
    mem.record("s", "thanks")
    first, second = mem.recall("did make lint work?")[:2]
    assert (first.role, second.role) == ("tool", "assistant")
    assert "2 problems" in first.text


def test_of_a_command_that_ran_again_the_newest_result_comes_first(mem: Mem) -> None:
    run(mem, "c1", "make lint", "2 problems in a.py")
    run(mem, "c2", "make lint", "all fine")
    assert "all fine" in mem.recall("make lint")[0].text


def test_asking_again_does_not_change_a_score(mem: Mem) -> None:
    mem.learn("the staging database listens on port 5433")
    mem.learn("the production database listens on port 5432")
    scores = [[hit.score for hit in mem.recall("which port has the database")] for _ in range(4)]
    assert all(again == pytest.approx(scores[0]) for again in scores)


def test_an_explanation_adds_up(work: Mem) -> None:
    for hit in work.recall("what is in checkpoint_store_test.go?", explain=True):
        total, amounts = re.fullmatch(r"([0-9.]+) = (.*)", hit.why).groups()  # type: ignore[union-attr]
        parts = [float(number) for number in re.findall(r"[+-][0-9]+\.[0-9]{3}", amounts)]
        assert sum(parts) == pytest.approx(float(total), abs=0.0005)
        assert float(total) == pytest.approx(hit.score, abs=0.0006)
        assert "word for word" not in amounts
    asked = work.recall("what is in checkpoint_store_test.go?", explain=True)
    assert "holds names of the question" in asked[0].why


def test_an_empty_result_says_so(mem: Mem) -> None:
    run(mem, "c1", "rm tests/fixtures/large.bin", "")
    found = mem.recall("did rm tests/fixtures/large.bin work?")
    assert [hit.text for hit in found if hit.role == "tool"] == ["(no output)"]


def test_what_an_agent_only_announces_is_behind_what_it_ran(mem: Mem) -> None:
    said = "All tests pass. Now let me run lint:"
    for number in range(3):
        mem.record(f"s{number}", {"role": "assistant", "content": said})
        run(mem, f"c{number}", "mise run lint", "0 issues", session=f"s{number}")
    texts = [hit.text for hit in mem.recall("what happened when lint was run", limit=9)]
    assert "0 issues" in texts[:2] and said not in texts[:2]


def test_an_edit_comes_before_the_older_text_that_it_replaced(mem: Mem) -> None:
    old, new = "timeout = 30 # seconds for uploads", "timeout = 90 # seconds for uploads"
    run(mem, "c1", "cat limits.py", f"{old}\n")
    given = {"file_path": "limits.py", "old_string": old, "new_string": new}
    call = {"id": "c2", "function": {"name": "Edit", "arguments": json.dumps(given)}}
    mem.record("s", {"role": "assistant", "content": None, "tool_calls": [call]})
    mem.record("s", {"role": "tool", "tool_call_id": "c2", "content": "done"})
    ids = [hit.id for hit in mem.recall("timeout seconds uploads")]
    assert ids.index("s:3") < ids.index("s:2")


def test_the_reply_comes_before_the_request_that_asks_the_same(mem: Mem) -> None:
    asked = "The upload tests hang on my machine. Can you find out why?"
    answer = "They wait for minio on port 9001, which compose does not start."
    mem.record("s", asked)
    run(mem, "c1", "pytest tests/upload", "1 failed, timeout")
    mem.record("s", {"role": "assistant", "content": answer})
    mem.record("s", "Thanks, now bump the version")
    mem.record("s", {"role": "assistant", "content": "Done, it is 1.2 now."})
    assert [hit.text for hit in mem.recall("why do the upload tests hang?")][:2] == [answer, asked]


def test_an_answer_comes_before_calls_output_and_announcements(mem: Mem) -> None:
    answer = "The wrapper script exists because hooks of both settings files run twice."
    mem.record("s", {"role": "assistant", "content": "Let me look at the wrapper script of hooks:"})
    run(mem, "c1", "cat hooks/wrapper", "#!/bin/sh\nset -e\nexec entire hooks $@ # wrapper")
    mem.record("s", {"role": "assistant", "content": answer})
    texts = [hit.text for hit in mem.recall("why is there a wrapper script for hooks?")]
    assert texts[0] == answer and "Let me look at the wrapper script of hooks:" not in texts


def test_the_same_output_is_shown_once(mem: Mem) -> None:
    for number in range(4):
        run(mem, f"c{number}", f"make lint  # run {number}", "0 lint issues in 12 files")
    texts = [hit.text for hit in mem.recall("lint issues in files")]
    assert texts.count("0 lint issues in 12 files") == 1
    whole = mem.recall("lint issues in files", kind=["tool"])
    assert len(whole) == 4, "a filter leaves nothing out"


def test_a_snippet_is_cut_where_most_words_of_the_question_stand(mem: Mem) -> None:
    filler = "a token here. " + "nothing else in this line. " * 60
    mem.record("s", f"{filler} The refresh token expires after nine minutes. {filler}")
    (hit,) = mem.recall("when does the refresh token expire")
    assert "refresh token expires after nine minutes" in hit.text and len(hit.text) < 700


def test_a_long_memory_with_a_name_is_found_among_many_with_its_parts(mem: Mem) -> None:
    texts = [f"read the manifest header {n}" for n in range(70)]
    texts += [f"nothing {n} of this kind" for n in range(200)]
    mem.learn_many([{"text": text} for text in texts])
    mem.learn("parseManifestHeader is old. " + " ".join(f"word{n}" for n in range(250)))
    assert mem.recall("parseManifestHeader")[0].text.startswith("parseManifestHeader is old")


@pytest.mark.parametrize("query", ["lint", "push lint", "how do I lint before a push?"])
def test_the_users_own_rule_with_all_words_is_before_old_logs(mem: Mem, query: str) -> None:
    log = "[lint:go] $ lint [lint:shell] lint before push\n[lint] finished, lint push ok\n"
    for number in range(4):
        mem.record(f"s{number}", f"the CI log of push {number}:\n{log * (number + 1)}")
        run(mem, f"c{number}", "make lint", f"{number} lint problems\n{log * 3}", f"s{number}")
    rule = mem.learn("Always run the linter (make lint) before you push to main", kind="policy")
    assert mem.recall(query)[0].id == rule.id


def test_a_rule_that_lacks_a_word_of_the_question_is_not_lifted(mem: Mem) -> None:
    run(mem, "c1", "make lint", "lint push: 3 problems in parser.py")
    rule = mem.learn("Always lint before you push", kind="policy")
    assert mem.recall("lint push parser.py problems")[0].id != rule.id


def test_a_notice_of_the_agent_ranks_as_output() -> None:
    notice = Message("system", "The build of the gateway ended. It took nine minutes.", name="host")
    assert questions.read_form(notice, writes=False) == "output"
    summary = notice._replace(name="compact_summary")
    assert questions.read_form(summary, writes=False) == "prose"


def test_the_short_id_that_a_briefing_prints_finds_the_memory(mem: Mem) -> None:
    kept = mem.learn("Integration tests need Redis on port 6380")
    mem.learn("the id of a memory begins with the letter m")
    for asked in (kept.id, kept.id[:7], f"memory://{kept.id}", f" {kept.id[:7]} "):
        (hit,) = mem.recall(asked)
        assert (hit.id, hit.score, hit.text) == (kept.id, 1.0, kept.memory.text)


def test_an_unknown_id_is_searched_for_like_other_words(mem: Mem) -> None:
    mem.learn("the ticket m-2nje is about the login page")
    assert [hit.text for hit in mem.recall("m-2nje")] == [
        "the ticket m-2nje is about the login page"
    ]
