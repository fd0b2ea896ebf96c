"""The recall bench reads the public files as they are and measures what it says."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from bench.recall import __main__ as bench
from bench.recall.datasets import SETS, Haystack, Query
from bench.recall.in_memory import InMemory
from bench.recall.measures import difference, mean, measured
from bench.recall.product import Product


def chat(text: str, *, answer: bool = False) -> list[dict[str, object]]:
    asked = {"role": "user", "content": text, "has_answer": answer}
    return [
        asked,
        {"role": "assistant", "content": f"I see: {text}"},
        {"role": "user", "content": " "},
    ]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The three sets, as small as they can be."""
    talk = {
        "speaker_a": "Ann",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "I painted a sunrise."},
            {"speaker": "Bob", "dia_id": "D1:2", "text": "Look!", "blip_caption": "a red boat"},
        ],
        "session_2_date_time": "9:00 am on 2 June, 2023",
        "session_2": [{"speaker": "Ann", "dia_id": "D2:1", "text": "My dog is ill."}],
    }
    questions = [
        {"question": "What did Ann paint?", "category": 1, "evidence": ["D1:1; D:2:01"]},
        {"question": "What never was?", "category": 5, "evidence": ["D1:1"]},
        {"question": "What is not there?", "category": 2, "evidence": ["D9:9"]},
    ]
    write(
        tmp_path / "locomo/locomo10.json",
        [{"sample_id": "c1", "conversation": talk, "qa": questions}],
    )
    row = {
        "question_id": "q1",
        "question": "Where do I keep my old sneakers?",
        "question_type": "knowledge-update",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_session_ids": ["answer_s_2", "answer_s_1"],
        "haystack_dates": ["2023/05/25 (Thu) 05:00", "2023/05/21 (Sun) 05:00"],
        "haystack_sessions": [
            chat("I keep my old sneakers in a rack.", answer=True),
            chat("I keep my old sneakers under my bed.", answer=True),
        ],
        "answer_session_ids": ["answer_s_1", "answer_s_2"],
    }
    others = {
        **row,
        "question_id": "q2_abs",
        "haystack_session_ids": [f"answer_x{n}_1" for n in range(40)],
        "haystack_dates": ["2023/05/20 (Sat) 02:21"] * 40,
        "haystack_sessions": [chat(f"Tell me about subject number {n}.") for n in range(40)],
    }
    write(tmp_path / "longmemeval/longmemeval_oracle.json", [row, others])
    filler = {
        "haystack_session_ids": [f"f{n}" for n in range(30)],
        "haystack_sessions": [chat(f"The weather in town {n} is fine.") for n in range(30)],
    }
    write(tmp_path / "longmemeval/real_s_samples/one.json", filler)
    item = {"text": "harden npm publish", "session": "s1", "role": "user"}
    write(
        tmp_path / "coding_sessions/repo.json",
        {
            "items": [
                {**item, "id": "i1", "time": "2026-06-18T08:15:33.653Z"},
                {**item, "id": "i2", "time": "", "text": "write docs", "session": "s2"},
            ],
            "queries": [{"id": "k1", "text": "fix: harden publish", "sessions": ["s1"]}],
        },
    )
    return tmp_path


def write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), "utf-8")


def test_locomo_is_read_with_its_evidence_and_without_its_traps(data: Path) -> None:
    (stack,) = SETS["locomo"][0](data)
    assert [item.text for item in stack.items] == [
        "Ann: I painted a sunrise.",
        "Bob: Look! [shares a photo: a red boat]",
        "Ann: My dog is ill.",
    ]
    (query,) = stack.queries
    assert query.turns == {"c1/D1:1", "c1/D2:1"}
    assert query.sessions == {"c1/session_1", "c1/session_2"}
    assert stack.items[0].at < stack.items[2].at


def test_a_rebuilt_history_has_its_evidence_among_others_in_the_order_of_time(data: Path) -> None:
    (stack,) = SETS["longmemeval rebuilt"][0](data)
    sessions = list(dict.fromkeys(item.session for item in stack.items))
    assert len(sessions) == 48
    assert {"answer_s_1", "answer_s_2"} < set(sessions)
    assert len([name for name in sessions if name.startswith("f")]) == 23
    assert [item.at for item in stack.items] == sorted(item.at for item in stack.items)
    (query,) = stack.queries
    assert query.fresh == {"answer_s_2#0"}
    assert query.stale == {"answer_s_1#0"}
    assert not any(item.text.isspace() for item in stack.items)


def test_the_pool_holds_every_session(data: Path) -> None:
    (stack,) = SETS["longmemeval pool"][0](data)
    assert len({item.session for item in stack.items}) == 72
    assert [query.id for query in stack.queries] == ["q1"]


def test_measures_count_what_is_found() -> None:
    query = Query("q", "?", frozenset("ab"), frozenset("st"), frozenset("a"), frozenset("b"))
    session_of = {"a": "s", "b": "t", **{str(n): f"other {n}" for n in range(20)}}
    found = measured(query, ["b", *map(str, range(9)), "a"], session_of)
    first = {"session recall@5": 0.5, "session recall@1": 0.5}
    assert found == {**first, "turn recall@10": 0.5, "fresh": 1.0}
    assert measured(query, ["a", "b"], session_of)["fresh"] == 0.0
    assert measured(query, ["1"], session_of)["fresh"] == 0.0
    assert "turn recall@10" not in measured(query._replace(turns=frozenset()), [], session_of)


def test_a_difference_comes_with_its_interval() -> None:
    ours = {str(n): {"m": 1.0} for n in range(50)}
    theirs = {str(n): {"m": float(n % 2)} for n in range(50)}
    found = difference(ours, theirs, "m")
    assert found.mean == 0.5
    assert 0.3 < found.low < 0.5 < found.high < 0.7
    assert difference(ours, ours, "m") == (0.0, 0.0, 0.0)
    assert mean({"1": {"m": 0.5}, "2": {}}, "m") == 0.5


def test_recollect_finds_the_newer_of_two_values(data: Path) -> None:
    (stack,) = SETS["longmemeval rebuilt"][0](data)
    memory = InMemory()
    memory.add(stack.items)
    found = memory.search(stack.queries[0].text, 10)
    assert found[:2] == ["answer_s_2#0", "answer_s_1#0"]


def test_nonsense_finds_nothing(data: Path) -> None:
    (stack,) = SETS["longmemeval pool"][0](data)
    memory = InMemory()
    memory.add(stack.items)
    assert memory.search("xyzzy qwrtp", 10) == []


def test_the_product_keeps_every_turn_under_its_session_and_date(data: Path) -> None:
    for name in SETS:
        for stack in SETS[name][0](data):
            memory = Product()
            memory.add(stack.items)
            for item in stack.items:
                found = memory.search(item.text, 200)
                same = {other.id for other in stack.items if other.text == item.text}
                assert same.intersection(found), item
            memory.close()


def test_the_product_is_asked_a_moment_after_the_newest_turn(data: Path) -> None:
    (stack,) = SETS["locomo"][0](data)
    memory = Product()
    memory.add(stack.items)
    shown = memory.opened.recall("dog", since="yesterday")
    memory.close()
    assert [hit.text for hit in shown] == ["Ann: My dog is ill."]
    assert shown[0].at == stack.items[2].at


def test_nonsense_finds_nothing_in_the_product(data: Path) -> None:
    (stack,) = SETS["longmemeval pool"][0](data)
    memory = Product()
    memory.add(stack.items)
    assert memory.search("xyzzy qwrtp", 10) == []
    memory.close()


def test_a_sample_holds_so_many_questions_and_the_same_ones_again(data: Path) -> None:
    def stacks() -> list[Haystack]:
        names = ("locomo", "longmemeval pool", "coding sessions")
        return [stack for name in names for stack in SETS[name][0](data)]

    chosen = bench.sampled(stacks(), 2, seed=3)
    assert sum(len(stack.queries) for stack in chosen) == 2
    assert all(stack.queries and stack.items for stack in chosen)
    assert chosen == bench.sampled(stacks(), 2, seed=3)
    assert len({str(bench.sampled(stacks(), 1, seed)) for seed in range(9)}) > 1
    assert bench.sampled(stacks(), 99, seed=3) == stacks()


def test_only_one_column_is_asked_for(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["bench.recall", "--data", str(data), "--only", "Recollect", "--sample", "1"]
    monkeypatch.setattr(sys, "argv", [*arguments, "coding sessions"])
    assert bench.main() == 0
    assert capsys.readouterr().out.splitlines()[2] == (
        "| coding sessions, session recall@5 | 1 | 1.000 | – |"
    )


def test_the_table_has_a_line_for_each_measure(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["bench.recall", "--data", str(data)])
    assert bench.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == [
        "| locomo, turn recall@10",
        "| longmemeval rebuilt, turn recall@10",
        "| longmemeval rebuilt, fresh",
        "| longmemeval pool, session recall@5",
        "| coding sessions, session recall@5",
        "| coding sessions, session recall@1",
    ]


def test_an_unknown_set_is_refused(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["bench.recall", "--data", str(data), "nothing"])
    with pytest.raises(SystemExit):
        bench.main()
