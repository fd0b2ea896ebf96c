"""The sets: what is kept, what is asked, and which items hold the evidence.

It decides how the public files are read. FOLDER holds `locomo/locomo10.json`,
`longmemeval/longmemeval_oracle.json` with `longmemeval/real_s_samples/*.json`, and
`coding_sessions/*.json`; none of them is part of the project.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple


class Item(NamedTuple):
    """One turn that a memory is asked to keep. `at` is in microseconds, 0 if unknown."""

    id: str
    text: str
    session: str
    role: str
    at: int


class Query(NamedTuple):
    """One question. `fresh` and `stale` hold the new and the old value of a changed fact."""

    id: str
    text: str
    turns: frozenset[str]
    sessions: frozenset[str]
    stale: frozenset[str] = frozenset()
    fresh: frozenset[str] = frozenset()


class Haystack(NamedTuple):
    """One index to build, and the questions asked of it."""

    items: list[Item]
    queries: list[Query]


_FORMATS = ("%Y/%m/%d (%a) %H:%M", "%I:%M %p on %d %B, %Y")


def _moment(text: str) -> datetime:
    for form in _FORMATS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return datetime.fromisoformat(text)


def _microseconds(text: str) -> int:
    return round(_moment(text).timestamp() * 1_000_000) if text else 0


def locomo(data: Path) -> Iterator[Haystack]:
    """LoCoMo, without its adversarial questions: conversations over months."""
    for talk in json.loads((data / "locomo/locomo10.json").read_text("utf-8")):
        name, turns = talk["sample_id"], talk["conversation"]
        items = []
        for key, said in turns.items():
            if not isinstance(said, list):
                continue
            at = _microseconds(turns.get(f"{key}_date_time", ""))
            for turn in said:
                text = f"{turn['speaker']}: {turn.get('text', '')}"
                if turn.get("blip_caption"):
                    text += f" [shares a photo: {turn['blip_caption']}]"
                place = f"{name}/{turn['dia_id']}"
                items.append(Item(place, text, f"{name}/{key}", turn["speaker"], at))
        session_of = {item.id: item.session for item in items}
        queries = []
        for number, asked in enumerate(talk["qa"]):
            gold = {f"{name}/{turn}" for turn in _evidence(asked)} & session_of.keys()
            if asked["category"] != 5 and gold:
                sessions = frozenset(session_of[turn] for turn in gold)
                question = str(asked["question"])
                queries.append(Query(f"{name}/q{number}", question, frozenset(gold), sessions))
        yield Haystack(items, queries)


def _evidence(asked: Mapping[str, Any]) -> set[str]:
    """`D8:6; D9:17`, `D30:05` and `D:11:26` all occur."""
    found = [re.findall(r"D:?(\d+):(\d+)", text) for text in asked.get("evidence", [])]
    return {f"D{int(session)}:{int(turn)}" for pairs in found for session, turn in pairs}


class _Told(NamedTuple):
    """A session of LongMemEval with its date."""

    id: str
    date: str
    turns: list[dict[str, Any]]


def _told(row: Mapping[str, Any]) -> list[_Told]:
    dates = row.get("haystack_dates") or [""] * len(row["haystack_sessions"])
    parts = zip(row["haystack_session_ids"], dates, row["haystack_sessions"], strict=True)
    return [_Told(*part) for part in parts]


def _longmemeval(data: Path) -> tuple[list[dict[str, Any]], dict[str, _Told], dict[str, _Told]]:
    """The questions that have an answer, all evidence sessions, and sessions that are none's."""
    folder = data / "longmemeval"
    rows = json.loads((folder / "longmemeval_oracle.json").read_text("utf-8"))
    evidence: dict[str, _Told] = {}
    for row in rows:
        for told in _told(row):
            evidence.setdefault(told.id, told)
    fillers: dict[str, _Told] = {}
    for file in sorted((folder / "real_s_samples").glob("*.json")):
        held = json.loads(file.read_text("utf-8"))
        for row in held if isinstance(held, list) else [held]:
            for told in _told(row):
                if not told.id.startswith("answer_") and told.turns:
                    fillers[told.id] = told
    asked = [row for row in rows if not row["question_id"].endswith("_abs")]
    return asked, evidence, fillers


def longmemeval_pool(data: Path) -> Iterator[Haystack]:
    """Every session there is in one index, all questions asked of it."""
    asked, evidence, fillers = _longmemeval(data)
    yield _chats(list({**fillers, **evidence}.values()), asked)


def longmemeval_rebuilt(data: Path, sessions: int = 48) -> Iterator[Haystack]:
    """For each question its evidence among other sessions, dated inside its own period.

    The published histories are not at hand; the others are drawn with a fixed seed, half from
    real histories, half from other questions' evidence.
    """
    asked, evidence, fillers = _longmemeval(data)
    every = {**fillers, **evidence}
    for row in asked:
        rng = random.Random(f"0/{row['question_id']}")
        own = set(row["haystack_session_ids"])
        kin = {name.rsplit("_", 1)[0] for name in own}
        others = [n for n in evidence if n not in own and n.rsplit("_", 1)[0] not in kin]
        need = max(0, sessions - len(own))
        picked = rng.sample(sorted(fillers), min(len(fillers), need // 2))
        picked += rng.sample(sorted(others), need - len(picked))
        end = _moment(row["question_date"])
        start = min(_moment(row["haystack_dates"][0]), end)
        start = min([*map(_moment, row["haystack_dates"]), start]) - timedelta(days=30)
        told = _told(row)
        for name in picked:
            when = start + (end - start) * rng.random()
            told.append(_Told(name, when.strftime(_FORMATS[0]), every[name].turns))
        told.sort(key=lambda session: _moment(session.date))
        yield _chats(told, [row])


def _chats(told: Sequence[_Told], rows: Sequence[Mapping[str, Any]]) -> Haystack:
    items: list[Item] = []
    marked: dict[str, list[str]] = {}
    for session in told:
        at = _microseconds(session.date)
        for number, turn in enumerate(session.turns):
            if turn["role"] in ("user", "assistant") and turn["content"].strip():
                place = f"{session.id}#{number}"
                items.append(Item(place, turn["content"], session.id, turn["role"], at))
                if turn.get("has_answer"):
                    marked.setdefault(session.id, []).append(place)
    return Haystack(items, [_chat_question(row, marked) for row in rows])


def _chat_question(row: Mapping[str, Any], marked: Mapping[str, list[str]]) -> Query:
    gold = frozenset(row["answer_session_ids"])
    turns = frozenset(turn for name in gold for turn in marked.get(name, []))
    query = Query(row["question_id"], row["question"], turns, gold)
    if row["question_type"] != "knowledge-update":
        return query
    dated = sorted((_moment(told.date), told.id) for told in _told(row) if told.id in gold)
    stale, fresh = marked.get(dated[0][1], []), marked.get(dated[-1][1], [])
    return query._replace(stale=frozenset(stale), fresh=frozenset(fresh))


def coding_sessions(data: Path) -> Iterator[Haystack]:
    """Sessions of coding agents, a haystack a repository. The question is a commit's message,
    the evidence the sessions that it came from."""
    for file in sorted((data / "coding_sessions").glob("*.json")):
        held = json.loads(file.read_text("utf-8"))
        items = [
            Item(i["id"], i["text"], i["session"], i["role"], _microseconds(i["time"]))
            for i in held["items"]
        ]
        queries = [
            Query(q["id"], q["text"], frozenset(), frozenset(q["sessions"]))
            for q in held["queries"]
        ]
        yield Haystack(items, queries)


SETS: Mapping[str, tuple[Callable[[Path], Iterator[Haystack]], tuple[str, ...]]] = {
    "locomo": (locomo, ("turn recall@10",)),
    "longmemeval rebuilt": (longmemeval_rebuilt, ("turn recall@10", "fresh")),
    "longmemeval pool": (longmemeval_pool, ("session recall@5",)),
    "coding sessions": (coding_sessions, ("session recall@5", "session recall@1")),
}
"""Each set, and the measures that are reported of it."""
