"""Build the prompts for a model, and check its answers.

A model only picks: it names messages and repeats sentences of them, or it names statements. Its own
words are never stored, so that an injected prompt cannot make it state something. Answers are
parsed leniently (fences, words around the JSON) and validated strictly: invalid parts are dropped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from ..episodes import session_observations, tasks
from ..errors import InvalidInput
from ..fast_typing import NamedTuple
from ..text import addresses, messages, tokens
from ..types.records import Json, Stored
from .statements import Evidence, PageStatement

KINDS = {
    "rule": "policy",
    "preference": "preference",
    "decision": "decision",
    "fact": "fact",
    "pitfall": "pitfall",
}
"""Kinds that a model may name, with the kinds of memories."""

SHORTEST_QUOTE, LONGEST_QUOTE = 12, 400
MOST_STATEMENTS, MOST_SKILLS, MOST_STEPS = 40, 5, 10
LONGEST_SYNOPSIS = 300
PLACEHOLDERS = {
    "stage_one_system.md": (),
    "stage_one_input.md": ("thread_id", "response_items_json"),
    "consolidation.md": ("raw_memories", "rollout_summaries"),
    "read_path.md": ("memory_summary",),
}
"""The prompt files, with the placeholders that each must contain."""


class PickedSentences(NamedTuple):
    """The sentences that a model picked out of one chunk; `dropped` counts those that failed the
    check."""

    synopsis: str
    slug: str
    evidence: tuple[Evidence, ...]
    dropped: int


class Curated(NamedTuple):
    """A model's choice of statements: ordered keys, keys to leave out, and skills as names with the
    keys of their steps."""

    order: tuple[str, ...] = ()
    drop: frozenset[str] = frozenset()
    skills: tuple[tuple[str, tuple[str, ...]], ...] = ()


def fill(template: str, values: Mapping[str, str]) -> str:
    """Fill the placeholders of a template; filled text is not searched for placeholders."""
    return re.sub(
        r"\{\{(\w+)\}\}", lambda found: values.get(found[1], found[0]), template, flags=re.ASCII
    )


# ---------------------------------------------------------------- phase 1


def chunks(stored: Sequence[Stored], budget: int) -> list[list[dict[str, Json]]]:
    """Split a whole session into lists of messages within a limit of tokens; a long message is
    continued in the next list."""
    found: list[list[dict[str, Json]]] = [[]]
    room = budget
    for item in _items(stored, max(budget // 2, 200)):
        price = tokens.estimate_tokens(len(json.dumps(item)))
        if found[-1] and price > room:
            found.append([])
            room = budget
        found[-1].append(item)
        room -= price
    return [one for one in found if one]


def _items(stored: Sequence[Stored], longest: int) -> Iterator[dict[str, Json]]:
    for one in stored:
        text = messages.plain_text(one.message)
        calls = [f"{call.name} {call.arguments}" for call in one.message.calls]
        whole = "\n".join(filter(None, [text, *calls]))
        step = int(longest * tokens.DEFAULT_RATIO)
        for part, start in enumerate(range(0, len(whole), step), start=1):
            item: dict[str, Json] = {"message": one.seq, "role": one.message.role}
            if part > 1:
                item["part"] = part
            yield {**item, "text": whole[start : start + step]}


def items_json(items: Sequence[Mapping[str, Json]]) -> str:
    """Return messages as JSON without < and >, so that they cannot close a tag of the prompt."""
    return json.dumps(items, ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e")


def parse_answer(text: str) -> dict[str, Json]:
    """Return the JSON object in a model's answer; raise InvalidInput without one."""
    decoder = json.JSONDecoder()
    for found in re.finditer(r"\{", text[:200_000]):
        try:
            value, _ = decoder.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and set(value) & {"statements", "synopsis", "order", "drop"}:
            return value
        if found.start() > 20_000:
            break
    raise InvalidInput("the model's answer holds no JSON object of the expected form")


def read_picks(answer: Mapping[str, Json], stored: Mapping[int, Stored]) -> PickedSentences:
    """Validate the sentences that a model picked. A quote must be in its message, character for
    character except for spaces; its label is that of the quoted words."""
    given = answer.get("statements", [])
    if not isinstance(given, list):
        raise InvalidInput("the model's answer: statements is not a list")
    kept: dict[str, Evidence] = {}
    for one in given[:MOST_STATEMENTS]:
        if evidence := _pick(one, stored):
            kept.setdefault(evidence.subject, evidence)
    return PickedSentences(
        _text(answer, "synopsis")[:LONGEST_SYNOPSIS],
        slug_of(_text(answer, "slug")),
        tuple(kept.values()),
        len(given) - len(kept),
    )


def _text(answer: Mapping[str, Json], name: str) -> str:
    value = answer.get(name, "")
    return " ".join(value.split()) if isinstance(value, str) else ""


def _pick(one: Json, stored: Mapping[int, Stored]) -> Evidence | None:
    if not isinstance(one, dict) or one.get("kind") not in KINDS:
        return None
    seq, quote = one.get("message"), one.get("quote")
    if type(seq) is not int or not isinstance(quote, str) or seq not in stored:
        return None
    message = stored[seq]
    quote = " ".join(quote.split())
    if not SHORTEST_QUOTE <= len(quote) <= LONGEST_QUOTE:
        return None
    label = _label_of_quote(quote, message)
    if label not in ("user", "agent"):
        return None
    body = {"kind": one["kind"], "quote": quote, "role": message.message.role}
    subject = messages.text_digest(f"{label}\n{quote.casefold()}")[:24]
    return Evidence("quote", subject, message.message.at, body, ((seq, seq),), label)


def _label_of_quote(quote: str, stored: Stored) -> str:
    """Return the label of a quote, user or agent; empty if the message does not contain it."""
    role = stored.message.role
    if role == "user" and stored.origin == "user":
        if quote in " ".join(tasks.typed_words(messages.typed_text(stored.message)).split()):
            return "user"
        return "tool"
    if role == "assistant" and stored.origin == "agent":
        text = " ".join(messages.strip_injected(messages.plain_text(stored.message), role).split())
        return "agent" if quote in text else ""
    return ""


def with_proof(one: Evidence, stored: Sequence[Stored]) -> Evidence:
    """Return a quote of an agent with the evidence that followed it in the session, if any; a
    session that read the web or foreign servers has none."""
    if one.label != "agent":
        return one
    proof = session_observations.evidence_after(stored, one.spans[0][0])
    return one._replace(body={**one.body, "evidence": proof}) if proof else one


def slug_of(text: str) -> str:
    """Return a short name for a session from a text; empty without words."""
    words = " ".join(text.split()[:8])
    return addresses.slugify(words)[:60].strip("-") if any(map(str.isalnum, words)) else ""


# ---------------------------------------------------------------- phase 2


def fit_statements(statements: Sequence[PageStatement], budget: int) -> list[PageStatement]:
    """Return the first statements that fit into a budget of tokens."""
    kept, used = [], 0
    for one in statements:
        used += tokens.estimate_tokens(len(one.line) + 40)
        if used > budget:
            break
        kept.append(one)
    return kept


def raw_memories(statements: Sequence[PageStatement], previous: str) -> str:
    """Return the statements with ids and the previous MEMORY.md, as JSON."""
    listed = [
        {"id": f"s{number}", "section": one.section, "text": one.line}
        for number, one in enumerate(statements, start=1)
    ]
    return items_json([{"previous": previous}, *listed])


def read_curation(answer: Mapping[str, Json], statements: Sequence[PageStatement]) -> Curated:
    """Validate a model's choice of statements. The user's own are never dropped, and the steps of a
    skill must be commands that worked."""
    keys = {f"s{number}": one for number, one in enumerate(statements, start=1)}

    def known(value: Json) -> list[PageStatement]:
        named = value if isinstance(value, list) else []
        return [keys[one] for one in named if isinstance(one, str) and one in keys]

    if not any(isinstance(answer.get(name), list) for name in ("order", "drop", "skills")):
        raise InvalidInput("the model's answer names no order, drop or skills")
    skills = []
    given = answer.get("skills")
    for one in given[:MOST_SKILLS] if isinstance(given, list) else ():
        steps = known(one.get("steps"))[:MOST_STEPS] if isinstance(one, dict) else []
        steps = [step for step in steps if step.key.startswith("command:")]
        name = one.get("name") if isinstance(one, dict) else ""
        if len(steps) > 1 and isinstance(name, str) and re.fullmatch(_SLUG, name):
            skills.append((name, tuple(step.key for step in steps)))
    return Curated(
        tuple(dict.fromkeys(one.key for one in known(answer.get("order")))),
        frozenset(one.key for one in known(answer.get("drop")) if one.label != "user"),
        tuple(skills),
    )


_SLUG = r"(?a)[a-z0-9]+(?:-[a-z0-9]+){0,6}"


def apply_curation(statements: Sequence[PageStatement], curated: Curated) -> list[PageStatement]:
    """Return the statements in a model's order; those that it does not name are last, and the
    user's own stay first."""
    place = {key: number for number, key in enumerate(curated.order)}
    kept = [one for one in statements if one.key not in curated.drop]
    last = len(place)
    return sorted(kept, key=lambda one: (one.label != "user", place.get(one.key, last)))
