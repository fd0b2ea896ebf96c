"""`python -m bench.capture REVIEW PATH…`: everything that is captured from real user messages.

Each PATH is a transcript, a folder of them, or one of the JSON files of the recall bench (its user
turns). Every different capture becomes a line of the file REVIEW:

    ?  constraint  policy      gemini       We must focus on one issue at a time.

Put a mark in place of the question mark; your marks stay when the command runs again:

    +  it is what the rule says, and a person would want to find it again as it stands
    ~  it is what the rule says, but was meant for that conversation only
    -  it is not a rule, a preference or a correction of the user

It prints how much was read, how many captures are only proposed because they may be pasted text,
and for each rule how many were captured, judged, right (+ and ~) and lasting (+). It fails when
fewer than nine of ten judged are right.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from recollect.agents import registry
from recollect.agents.transcripts.reader_io import TranscriptEntry
from recollect.capture.sentences import capture
from recollect.errors import RecollectError
from recollect.memory import hygiene
from recollect.text.messages import plain_text

ENDINGS = (".jsonl", ".json", ".md", ".zst", ".db")
LEAST_PRECISION = 0.9


class Line(NamedTuple):
    """One capture with the judgement on it."""

    mark: str
    rule: str
    kind: str
    source: str
    text: str


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    review, *paths = sys.argv[1:]
    marks = {line.text: line.mark for line in _judged(review)}
    read: Counter[str] = Counter()
    different: set[str] = set()
    lines: dict[str, Line] = {}
    proposed = 0
    for path in paths:
        for source, text in user_messages(path):
            read[source] += 1
            different.add(text)
            for found in capture(text):
                shown = " ".join(found.text.split())
                if shown in lines or hygiene.find_refusal(found.text, found.kind, "project"):
                    continue
                mark = marks.get(shown, "?")
                lines[shown] = Line(mark, found.rule, found.kind, source, shown)
                proposed += bool(found.doubt)
    with open(review, "w", encoding="utf-8") as file:
        for line in sorted(lines.values(), key=lambda line: (line.source, line.rule, line.text)):
            file.write("{}  {:<11} {:<11} {:<12} {}\n".format(*line))
    print(f"different user messages: {len(different)}")
    print(f"proposed only: {proposed} of {len(lines)}")
    return _report(read, list(lines.values()))


def _judged(review: str) -> Iterator[Line]:
    if os.path.exists(review):
        with open(review, encoding="utf-8") as file:
            for line in file:
                yield Line(*line.rstrip("\n").split(maxsplit=4))


def _report(read: Counter[str], lines: list[Line]) -> int:
    told = ", ".join(f"{source} {count}" for source, count in sorted(read.items()))
    print(f"user messages: {read.total()} ({told})")
    print(f"{'rule':<12}{'captured':>9}{'judged':>8}{'right':>7}{'lasting':>9}{'precision':>11}")
    holds = True
    for rule in (*sorted({line.rule for line in lines}), "all"):
        own = [line for line in lines if rule in (line.rule, "all")]
        judged = [line for line in own if line.mark in "+~-"]
        right = sum(line.mark in "+~" for line in judged)
        lasting = sum(line.mark == "+" for line in judged)
        share = right / len(judged) if judged else 0.0
        print(f"{rule:<12}{len(own):>9}{len(judged):>8}{right:>7}{lasting:>9}{share:>11.2f}")
        holds = share >= LEAST_PRECISION
    return 0 if holds else 1


def user_messages(path: str) -> Iterator[tuple[str, str]]:
    """Who wrote the file, and what its user said."""
    for file in _files(path):
        with_turns = _turns(file)
        if with_turns is not None:
            yield from with_turns
            continue
        try:
            host = registry.detect_transcript(file)
            for item in registry.load_transcripts(host).read(file):
                # What a repository brings is not captured in use; here it is ground to test on.
                if (
                    isinstance(item, TranscriptEntry)
                    and item.message.role == "user"
                    and item.origin in ("user", "import")
                ):
                    yield host, plain_text(item.message)
        except RecollectError as error:
            print(f"{file}: {error}", file=sys.stderr)


def _files(path: str) -> Iterator[str]:
    if os.path.isfile(path):
        yield path
    for folder, _, names in sorted(os.walk(path)):
        yield from (
            os.path.join(folder, name)
            for name in sorted(names)
            if name.endswith(ENDINGS) and not name.startswith("MANIFEST")
        )


def _turns(path: str) -> Iterator[tuple[str, str]] | None:
    """The user turns of a file of the recall bench; None for any other file."""
    if not path.endswith(".json"):
        return None
    with open(path, encoding="utf-8") as file:
        try:
            data = json.load(file)
        except ValueError:
            return None
    if isinstance(data, dict) and isinstance(data.get("items"), list):
        return (("coding", item["text"]) for item in data["items"] if item.get("role") == "user")
    first: Any = data[0] if isinstance(data, list) and data else None
    if isinstance(first, dict) and "haystack_sessions" in first:
        return (
            ("longmemeval", turn["content"])
            for question in data
            for session in question["haystack_sessions"]
            for turn in session
            if turn["role"] == "user"
        )
    if isinstance(first, dict) and "conversation" in first:
        return (
            ("locomo", turn["text"])
            for sample in data
            for value in sample["conversation"].values()
            if isinstance(value, list)
            for turn in value
        )
    return None


if __name__ == "__main__":
    sys.exit(main())
