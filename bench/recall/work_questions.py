"""Questions about real coding sessions, made from transcripts that are given by path.

No model and no person takes part: a question names something that stands in few messages, and the
messages are the gold. The classes:

    identifier   a file, symbol, ticket, hash, error code or flag that stands in one kind of place
                 only: in the user's words, the assistant's, a call or a result
    outcome      a command that was run once; the gold is its result
    change       a command that was run again, or a value that was edited: the newer comes first
    decision     words of a sentence that decides or explains, or the gist of a marked statement
    quote        six words in a row
    nothing      names of other projects, and everyday questions: nothing here answers them
"""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from recollect.agents import registry
from recollect.agents.transcripts.reader_io import TranscriptEntry
from recollect.errors import RecollectError
from recollect.text import messages
from recollect.types.records import Message, ToolCall

from ..transcripts import files

PARTS = ("shared", "held")
MOST_GOLD = 3
_PER_CELL = {"shared": 14, "held": 8}
_PER_CLASS = {"shared": 64, "held": 32}

NAMES: Mapping[str, str] = {
    "file": r"(?<![\w.-])[A-Za-z_][\w-]{2,}\.(?:go|tsx?|jsx?|py|json|md|ya?ml|toml|sh|sql|rs|css)"
    r"(?![\w-]|\.\w)",
    "symbol": r"(?<![\w.-])(?:[A-Z]?[a-z]+(?:[A-Z][a-z0-9]+)+|[a-z]{3,}(?:_[a-z0-9]+)+)(?![\w.-])",
    "ticket": r"(?<![\w-])(?!UTF|SHA|ISO|RFC|AES|RSA|CVE|MD)[A-Z]{2,6}-\d{1,5}(?![\w-])",
    "hash": r"(?<![\w-])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,12}(?![\w-])",
    "error": r"(?<![\w-])(?:TS\d{4}|SC\d{4}|E[A-Z]{5,}|ERR_[A-Z_]+|[A-Z]{1,2}\d{3,4}|SIG[A-Z]{3,})"
    r"(?![\w-])",
    "flag": r"(?<![\w-])--[a-z][a-z0-9]+(?:-[a-z0-9]+)*(?![\w-])",
}
_DECIDES = re.compile(
    r"\b(?:decided|let's (?:go|use)|instead of|root cause|the (?:problem|issue|fix|reason) (?:is|was)|"
    r"because|we should|i'll use)\b",
    re.IGNORECASE,
)
_EVERYDAY = (
    "what is the capital of Mongolia",
    "how long do eggs need to boil",
    "who won the chess tournament in Reykjavik",
    "what did my grandmother plant in the garden",
    "which violin concerto did we hear in Vienna",
    "how much did the dentist charge for the crown",
    "where did we park the camper van in Norway",
    "what is the recipe for rhubarb crumble",
    "when does the kindergarten open on Fridays",
    "which vaccine does the puppy still need",
    "how tall is the lighthouse on the island",
    "what colour did we paint the bathroom ceiling",
    "who is the landlord's plumber",
    "which horse won the derby",
    "how many grams of saffron for the paella",
    "what was the name of the sommelier",
)


class Turn(NamedTuple):
    """A message of a transcript, with its id and its texts by place."""

    id: str
    session: str
    message: Message
    places: tuple[tuple[str, str], ...]
    """The place (user, assistant, call, result) and its text."""


class WorkQuestion(NamedTuple):
    """A question with its gold; `stale` holds the older values of something that changed."""

    part: str
    folder: str
    kind: str
    place: str
    text: str
    gold: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()

    @property
    def group(self) -> str:
        return f"{self.kind}, {self.place}" if self.place else self.kind


def part_of(path: Path) -> str:
    """The part of a transcript: a third is held aside, chosen by the id in its name."""
    ids = re.findall(r"[0-9a-f]{8}-[0-9a-f-]{27}", path.name)
    digest = sha256((ids[-1] if ids else path.name).encode()).digest()
    return "held" if digest[0] % 3 == 0 else "shared"


def read_turns(folder: Path, part: str) -> list[Turn]:
    """The messages of all transcripts below a folder that belong to a part."""
    found = []
    for name in files(str(folder)):
        path = Path(name)
        if part_of(path) != part or path.name == "manifest.jsonl":
            continue
        try:
            reader = registry.load_transcripts(registry.detect_transcript(name))
            items = [i.message for i in reader.read(name) if isinstance(i, TranscriptEntry)]
        except RecollectError:
            continue
        for number, message in enumerate(items):
            found.append(Turn(f"{path.stem}#{number}", path.stem, message, _places(message)))
    return found


def _places(message: Message) -> tuple[tuple[str, str], ...]:
    words = messages.plain_text(message)
    place = {"tool": "result", "assistant": "assistant"}.get(message.role, "user")
    found = [(place, words)] if words else []
    if message.calls:
        asked = "\n".join(messages.arguments_text(call.arguments) for call in message.calls)
        found.append(("call", asked))
    return tuple(found)


def build(folders: Sequence[Path], marked: Sequence[Path]) -> Iterator[WorkQuestion]:
    """Make the questions of all folders and parts."""
    for part in PARTS:
        turns = {folder.name: read_turns(folder, part) for folder in folders}
        names = {name: _find_names(held) for name, held in turns.items()}
        draw = random.Random(f"work {part}")
        found: list[WorkQuestion] = []
        for folder, held in turns.items():
            found += _identifiers(part, folder, names[folder])
            found += _commands(part, folder, held)
            found += _edits(part, folder, held)
            found += _sentences(part, folder, held, draw)
            found += _quotes(part, folder, held, draw)
            foreign = [other for name, other in names.items() if name != folder]
            found += _nothing(part, folder, held, foreign, draw)
            for file in marked:
                if file.stem == folder:
                    found += _marked(part, folder, held, file)
        yield from _limited(found, part, draw)


def _limited(
    found: Iterable[WorkQuestion], part: str, draw: random.Random
) -> Iterator[WorkQuestion]:
    groups: dict[tuple[str, str], list[WorkQuestion]] = defaultdict(list)
    for question in found:
        groups[question.kind, question.place].append(question)
    for (_, place), asked in sorted(groups.items()):
        most = (_PER_CELL if place in ("user", "assistant", "call", "result") else _PER_CLASS)[part]
        yield from sorted(draw.sample(asked, min(most, len(asked))))


def _find_names(turns: Sequence[Turn]) -> dict[tuple[str, str], dict[str, set[str]]]:
    """For each kind and name, the messages in which it stands, by place."""
    found: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for turn in turns:
        for place, text in turn.places:
            for kind, pattern in NAMES.items():
                for name in set(re.findall(pattern, text)):
                    found[kind, name][place].add(turn.id)
    return found


def _identifiers(
    part: str, folder: str, names: Mapping[tuple[str, str], Mapping[str, set[str]]]
) -> Iterator[WorkQuestion]:
    for (kind, name), by_place in sorted(names.items()):
        for place, held in by_place.items():
            if len(by_place) == 1 and len(held) <= MOST_GOLD:
                yield WorkQuestion(part, folder, kind, place, name, tuple(sorted(held)))


def _shell_line(call: ToolCall) -> str:
    given = messages.parse_arguments(call.arguments) or {}
    line = given.get("command", given.get("cmd", ""))
    return line if isinstance(line, str) else ""


def _commands(part: str, folder: str, turns: Sequence[Turn]) -> Iterator[WorkQuestion]:
    """Commands that ran once, and those that ran again in one session with another result."""
    results = {(turn.session, turn.message.call_id): turn for turn in turns if turn.message.call_id}
    runs: dict[str, list[tuple[str, Turn]]] = defaultdict(list)
    for turn in turns:
        for call in turn.message.calls:
            line = _shell_line(call)
            result = results.get((turn.session, call.id))
            if result and "\n" not in line and 3 <= len(line.split()) <= 12 and len(line) <= 100:
                runs[line].append((turn.session, result))
    forms = ("{}", "what did `{}` print?", "did {} work?")
    for number, (line, ran) in enumerate(sorted(runs.items())):
        asked = forms[number % 3].format(line)
        ids = [result.id for _, result in ran]
        texts = [messages.plain_text(result.message) for _, result in ran]
        if len(ran) == 1 and len(texts[0]) > 40:
            yield WorkQuestion(part, folder, "outcome", "", asked, (ids[0],))
        elif 2 <= len(ran) <= 4 and len({one for one, _ in ran}) == 1 and len(set(texts)) > 1:
            if texts[-1] != texts[0]:
                yield WorkQuestion(part, folder, "change", "rerun", asked, (ids[-1],), (ids[0],))


def _edits(part: str, folder: str, turns: Sequence[Turn]) -> Iterator[WorkQuestion]:
    """Lines in which one value was replaced: the edit is newer than a read of the old line."""
    for place, turn in enumerate(turns):
        for call in turn.message.calls:
            given = messages.parse_arguments(call.arguments) or {}
            old, new = given.get("old_string"), given.get("new_string")
            if not isinstance(old, str) or not isinstance(new, str) or "\n" in (old + new).strip():
                continue
            one, other = old.split(), new.split()
            differ = [(a, b) for a, b in zip(one, other, strict=False) if a != b]
            if len(one) != len(other) or len(differ) != 1 or not 3 <= len(one) <= 14:
                continue
            earlier = [
                before.id
                for before in turns[:place]
                if before.session == turn.session
                and before.message.role == "tool"
                and old.strip() in messages.plain_text(before.message)
            ]
            about = [word for word in re.findall(r"[A-Za-z_]{3,}", old) if word not in differ[0][0]]
            if earlier and len(about) >= 2:
                asked = " ".join(dict.fromkeys(about))
                yield WorkQuestion(
                    part, folder, "change", "edit", asked, (turn.id,), tuple(earlier)
                )


def _sentences(
    part: str, folder: str, turns: Sequence[Turn], draw: random.Random
) -> Iterator[WorkQuestion]:
    said: dict[str, set[str]] = defaultdict(set)
    for turn in turns:
        if turn.message.role == "assistant":
            for sentence in re.split(r"(?<=[.!?])\s+|\n+", messages.plain_text(turn.message)):
                if 8 <= len(sentence.split()) <= 30 and _DECIDES.search(sentence):
                    said[sentence].add(turn.id)
    for sentence, held in sorted(said.items()):
        words = list(dict.fromkeys(re.findall(r"[A-Za-z][\w.-]{3,}\w", sentence)))
        if len(words) >= 6 and len(held) <= MOST_GOLD:
            asked = " ".join(draw.sample(words, 5))
            yield WorkQuestion(
                part, folder, "decision", "sentence", f"why {asked}?", tuple(sorted(held))
            )


def _marked(part: str, folder: str, turns: Sequence[Turn], file: Path) -> Iterator[WorkQuestion]:
    """Statements of users that a person marked; the question is the gist in other words."""
    for line in file.read_text("utf-8").splitlines():
        row = json.loads(line)
        gold = tuple(
            turn.id
            for turn in turns
            if turn.message.role == "user"
            and turn.session.startswith(f"{row['session']:03d}-")
            and row["quote"] in " ".join(messages.plain_text(turn.message).split())
        )
        if gold:
            yield WorkQuestion(part, folder, "decision", "marked", row["gist"], gold)


def _quotes(
    part: str, folder: str, turns: Sequence[Turn], draw: random.Random
) -> Iterator[WorkQuestion]:
    texts = {turn.id: " ".join(" ".join(text for _, text in turn.places).split()) for turn in turns}
    last = {turn.session: int(turn.id.rpartition("#")[2]) for turn in turns}
    early = [turn for turn in turns if int(turn.id.rpartition("#")[2]) < 0.6 * last[turn.session]]
    for turn in draw.sample(early, min(len(early), 400)):
        words = " ".join(text for place, text in turn.places if place != "call").split()
        starts = [
            at
            for at in range(len(words) - 5)
            if sum(word.isalpha() and len(word) > 1 for word in words[at : at + 6]) >= 5
        ]
        if starts:
            at = draw.choice(starts)
            quote = " ".join(words[at : at + 6])
            gold = tuple(sorted(id for id, text in texts.items() if quote in text))
            if gold and len(gold) <= MOST_GOLD:
                yield WorkQuestion(part, folder, "quote", "", quote, gold)


def _nothing(
    part: str,
    folder: str,
    turns: Sequence[Turn],
    foreign: Sequence[Mapping[tuple[str, str], object]],
    draw: random.Random,
) -> Iterator[WorkQuestion]:
    here = "\n".join(text for turn in turns for _, text in turn.places).casefold()
    names = sorted({name for held in foreign for kind, name in held if kind != "flag"})
    absent = [name for name in names if name.casefold() not in here]
    for name in draw.sample(absent, min(24, len(absent))):
        yield WorkQuestion(part, folder, "nothing", "name", name)
    for asked in _EVERYDAY:
        yield WorkQuestion(part, folder, "nothing", "everyday", asked)
