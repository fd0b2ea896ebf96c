"""`python -m bench.capture DATA`: precision and recall of capture on marked messages.

DATA holds the transcripts that `capture_marks.jsonl` refers to, in the folders `cli`, `cipher-box`
and `transcripts`. The marks say where, in 300 messages drawn at random, a person stated something
that a later session needs; texts are not part of the project. It prints, for the half that the
rules were made on and for the half that was kept apart, how many statements were captured and how
many of the marked ones are among them, and fails below .85 precision or .5 recall over both.

`python -m bench.capture --review REVIEW PATH…`: everything that is captured from other messages.

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
LEAST_MARKED_PRECISION, LEAST_RECALL = 0.85, 0.5


class Line(NamedTuple):
    """One capture with the judgement on it."""

    mark: str
    rule: str
    kind: str
    source: str
    text: str


class Score(NamedTuple):
    """Counts over marked messages: statements captured, right ones, marked ones, found ones, and
    captured ones that are only proposed."""

    captured: int = 0
    right: int = 0
    marked: int = 0
    found: int = 0
    proposed: int = 0

    def plus(self, other: Score) -> Score:
        return Score(*map(sum, zip(self, other, strict=True)))


def main() -> int:
    if len(sys.argv) == 2 and not sys.argv[1].startswith("-"):
        return _score(sys.argv[1])
    if len(sys.argv) < 4 or sys.argv[1] != "--review":
        print(__doc__, file=sys.stderr)
        return 2
    review, *paths = sys.argv[2:]
    return _review(review, paths)


def _score(data: str) -> int:
    """Score capture on the marked messages."""
    halves = {"tune": Score(), "held": Score()}
    with open(os.path.join(os.path.dirname(__file__), "capture_marks.jsonl")) as file:
        for line in file:
            mark = json.loads(line)
            text = _message(os.path.join(data, mark["file"]), mark)
            halves[mark["half"]] = halves[mark["half"]].plus(_score_of(text, mark["marks"]))
    halves["both"] = halves["tune"].plus(halves["held"])
    print(f"{'half':<6}{'captured':>9}{'proposed':>9}{'right':>7}{'marked':>8}{'found':>7}", end="")
    print(f"{'precision':>11}{'recall':>8}")
    for name, score in halves.items():
        precision, recall = _shares(score)
        print(f"{name:<6}{score.captured:>9}{score.proposed:>9}{score.right:>7}", end="")
        print(f"{score.marked:>8}{score.found:>7}{precision:>11.2f}{recall:>8.2f}")
    precision, recall = _shares(halves["both"])
    return 0 if precision >= LEAST_MARKED_PRECISION and recall >= LEAST_RECALL else 1


def _shares(score: Score) -> tuple[float, float]:
    active = score.captured - score.proposed
    return score.right / max(active, 1), score.found / max(score.marked, 1)


def _score_of(text: str, marks: list[tuple[int, int, str]]) -> Score:
    """Count a capture as right when half of it, or half of the marked statement, is common to both.
    What is only proposed is not right, and a statement that is only proposed is not found."""
    captured = capture(text)
    active = [one.span for one in captured if not one.doubt]
    pairs = [
        (number, span)
        for number, (start, end, _) in enumerate(marks)
        for span in active
        if 2 * (min(end, span[1]) - max(start, span[0])) >= min(end - start, span[1] - span[0])
    ]
    return Score(
        captured=len(captured),
        right=len({span for _, span in pairs}),
        marked=len(marks),
        found=len({number for number, _ in pairs}),
        proposed=len(captured) - len(active),
    )


def _message(path: str, mark: dict[str, Any]) -> str:
    """Read a message: by its line in a transcript of JSON lines, else by its number."""
    if "line" not in mark:
        entries = registry.load_transcripts(registry.detect_transcript(path)).read(path)
        users = (
            plain_text(item.message)
            for item in entries
            if isinstance(item, TranscriptEntry) and item.message.role == "user"
        )
        typed: list[str] = [text for text in users if text.strip()]
        return typed[int(mark["message"])]
    with open(path, encoding="utf-8", errors="replace") as file:
        row = json.loads(file.read().split("\n")[mark["line"]])
    body = row.get("payload") or row.get("data") or row.get("message")
    content = body if isinstance(body, str) else body.get("content") or body.get("message") or ""
    if isinstance(content, str):
        return content
    texts = ("text", "input_text", "output_text")
    return "\n".join(str(part.get("text", "")) for part in content if part.get("type") in texts)


def _review(review: str, paths: list[str]) -> int:
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
