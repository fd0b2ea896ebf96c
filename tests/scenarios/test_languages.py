"""The same facts, asked for in five languages: none is found worse than in English.

`fixtures/languages` holds a parallel set: what was said in a project, a question about it in
other words, and things said beside that share words with them.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import recollect
from recollect import Message
from tests.conftest import START

FIXTURES = Path(__file__).parent.parent / "fixtures" / "languages"
MINUTE = 60_000_000


class Said:
    """Everything of one language in one project, three messages a session, well mixed."""

    def __init__(self, language: str, folder: str, **settings: str) -> None:
        held = json.loads((FIXTURES / f"{language}.json").read_text("utf-8"))
        self.facts = [(said, asked) for said, asked in held["facts"]]
        texts = [said for said, _ in self.facts] + held["others"]
        variables = {"RECOLLECT_HOME": f"{folder}/home", "PATH": "", **settings}
        now = START + len(texts) * MINUTE
        self.memory = recollect.open(
            folder, environment=variables, clock=lambda: now, origin="user"
        )
        for place in range(len(texts)):
            text = texts[place * 29 % len(texts)]
            role = "assistant" if place % 2 else "user"
            message = Message(role, text, at=START + place * MINUTE)
            self.memory.record(f"s-{place // 3}", message)
        self.memory.store.rebuild(missing=True)

    def ranks(self) -> list[int]:
        """At which place each question finds its fact; 99 for nowhere."""
        found = []
        for said, asked in self.facts:
            hits = [hit.text for hit in self.memory.recall(asked, limit=10, budget=100_000)]
            found.append(hits.index(said) + 1 if said in hits else 99)
        return found


@cache
def ranks(language: str, embedder: str) -> list[int]:
    with TemporaryDirectory() as folder:
        said = Said(language, folder, RECOLLECT_EMBEDDER=embedder)
        found = said.ranks()
        said.memory.close()
    return found


def rate(language: str, depth: int, embedder: str = "static") -> float:
    found = ranks(language, embedder)
    return sum(rank <= depth for rank in found) / len(found)


@pytest.mark.parametrize("language", ["en", "zh", "ja", "ko", "ru"])
def test_the_sets_are_parallel(language: str) -> None:
    held = json.loads((FIXTURES / f"{language}.json").read_text("utf-8"))
    assert len(held["facts"]) == 42
    assert len(held["others"]) == 24
    texts = [text for fact in held["facts"] for text in fact] + held["others"]
    assert len(set(texts)) == len(texts)


def test_english_finds_nearly_everything() -> None:
    assert rate("en", 5) >= 0.95


@pytest.mark.parametrize("language", ["zh", "ja", "ko", "ru"])
@pytest.mark.parametrize("depth", [1, 5, 10])
def test_a_question_finds_what_was_said_as_well_as_in_english(language: str, depth: int) -> None:
    """One question in 42 may fall on the other side of a place: English finds all of them at
    five, one by knowing that PostgreSQL is a database."""
    assert rate(language, depth) >= rate("en", depth) - 1 / 42 - 1e-9


@pytest.mark.parametrize("language", ["zh", "ja", "ko", "ru"])
def test_words_alone_find_as_much_as_in_english(language: str) -> None:
    assert rate(language, 5, "off") >= rate("en", 5, "off")
