"""Parse, format and check `memory://` addresses.

    memory://root                             the summary that is injected
    memory://root/MEMORY.md                   the curated memory
    memory://root/skills/<slug>/SKILL.md      a skill
    memory://session/<id>                     a conversation
    memory://session/<id>/messages/<a>-<b>    some of its messages
    memory://task/<slug>[/<path>]             a task and its artifacts
    memory://scratch/<key>                    a value under its key
    memory://ledger/<agent>, memory://handoff/<id>, memory://notes, memory://continuity
    memory://m-…, memory://e-…, memory://p-…  a memory, an episode, a procedure
    memory://m-…@2                            the second revision of a memory
    memory://sem-…, memory://ep-…             a loaded pattern or episode, by the id in its file

Names are checked by an allow list: letters, digits, `_ - . :`, no leading dot. Path traversal
cannot be written with these in any encoding. Whether a record exists is not checked here.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import InvalidInput
from ..fast_typing import NamedTuple

SCHEME = "memory://"
LONGEST_NAME = 200
LONGEST_SLUG = 64
LONGEST_ADDRESS = 2000

_RECORDS = {"m": "memory", "e": "episode", "p": "procedure"}
_LOADED = {"sem": "memory", "ep": "episode"}
_SINGLE = ("root", "notes", "continuity")
_NAMED = ("session", "scratch", "ledger", "handoff")
_KNOWN_FORMS = (
    "One of: root, notes, continuity, session/<id>, task/<slug>, scratch/<key>, ledger/<agent>,"
    " handoff/<id>, or an id such as m-…"
)


class Address(NamedTuple):
    """A parsed address. `kind` is one of root, notes, continuity, session, messages, task,
    scratch, ledger, handoff, memory, episode, procedure; `first` and `last` are for messages.
    `revision` is that of a memory, 0 for the current one."""

    kind: str
    name: str = ""
    path: str = ""
    first: int = 0
    last: int = 0
    revision: int = 0


def parse_address(text: str) -> Address:
    """Parse an address; raise InvalidInput with the reason if it is malformed."""
    if text[: len(SCHEME)].lower() != SCHEME:
        raise _refusal("an address begins with memory://", text)
    if len(text) > LONGEST_ADDRESS:
        raise _refusal(f"an address has at most {LONGEST_ADDRESS} characters", text)
    rest, revision = split_revision(_unescaped(text[len(SCHEME) :], text))
    parts = rest.split("/")
    for part in parts:
        _check_name(part, "a part of an address", text)
    if revision and not (len(parts) == 1 and _is_id(rest) and rest.startswith("m-")):
        raise _refusal("only memories have numbered revisions, as in m-4k9w2c@2", text)
    match parts:
        case ["root", "MEMORY.md" as path]:
            return Address("root", path=path)
        case ["root", "skills", skill, "SKILL.md"]:
            return Address("root", path=f"skills/{check_slug(skill)}/SKILL.md")
        case ["session", session, "messages", span]:
            return Address("messages", session, "", *_span(span, text))
        case ["task", slug, *path]:
            return Address("task", check_slug(slug), "/".join(path))
        case [kind] if kind in _SINGLE:
            return Address(kind)
        case [kind, name] if kind in _NAMED:
            return Address(kind, name)
        case [record] if _is_id(record):
            return Address(_RECORDS[record[0]], record, revision=revision)
        case [record] if "-" in record and record.partition("-")[0] in _LOADED:
            return Address(_LOADED[record.partition("-")[0]], record)
    raise _refusal("there is no such address", text, _KNOWN_FORMS)


def format_address(address: Address) -> str:
    """Return the address as text; `parse_address` is the inverse."""
    kind, name, path, first, last, revision = address
    if kind == "messages":
        text = f"session/{name}/messages/{first}-{last}"
    elif kind in _RECORDS.values():
        text = f"{name}@{revision}" if revision else name
    else:
        text = "/".join(filter(None, (kind, name, path)))
    if parse_address(SCHEME + text) != address:
        raise _refusal("these parts do not make an address", repr(tuple(address)))
    return SCHEME + text


def split_revision(name: str) -> tuple[str, int]:
    """Split `m-4k9w2c@2` into the id and the number of the revision; 0 without one."""
    id, mark, number = name.rpartition("@")
    if not mark:
        return name, 0
    if not (number.isascii() and number.isdigit() and len(number) < 16 and number[0] != "0"):
        raise _refusal("a revision is named by its number, as in m-4k9w2c@2", name)
    return id, int(number)


def check_key(key: str) -> str:
    """Check a scratch key, session id or agent name: a name, not a path."""
    return _check_name(_composed(key), "a key", key)


def check_slug(slug: str) -> str:
    """Check the kebab-case name of a task or skill."""
    words = slug.split("-")
    good = all(word and all(map(_is_letter, word)) for word in words)
    if len(slug) > LONGEST_SLUG or slug != slug.casefold() or not good:
        raise _refusal(
            f"a slug is small letters and digits with single hyphens, at most {LONGEST_SLUG}", slug
        )
    return slug


def slugify(title: str) -> str:
    """Return the slug of a title: `Add OAuth 2 (Google)` becomes `add-oauth-2-google`."""
    from unicodedata import normalize

    bare = "".join(c for c in normalize("NFKD", title[:1000]) if not "\u0300" <= c <= "\u036f")
    small = normalize("NFC", bare).casefold()
    words = "".join(c if _is_letter(c) else " " for c in small).split()
    slug = "-".join(words)[: LONGEST_SLUG + 1]
    if len(slug) > LONGEST_SLUG:
        slug = slug.rpartition("-")[0] or slug[:LONGEST_SLUG]
    if not slug:
        raise _refusal("the title has no letters or digits to make a name from", title)
    return slug


def _unescaped(rest: str, text: str) -> str:
    """Decode percent escapes of non-ASCII letters. ASCII needs none: `%2e` is an attack."""
    if "%" not in rest:
        return _composed(rest)
    try:
        pieces = [piece.encode() for piece in rest.split("%")]
        escaped = [(bytes.fromhex(piece[:2].decode("ascii")), piece[2:]) for piece in pieces[1:]]
        if any(len(byte) != 1 or byte < b"\x80" for byte, _ in escaped):
            raise ValueError
        plain = pieces[0] + b"".join(byte + piece for byte, piece in escaped)
        return _composed(plain.decode())
    except ValueError:
        raise _refusal("an address may escape (%) letters beyond ASCII only", text) from None


def _composed(text: str) -> str:
    """Compose accents, so that both encodings of a letter are one name. Longer texts are refused
    anyway, and composing piled accents takes quadratic time."""
    if text.isascii() or len(text) > LONGEST_ADDRESS:
        return text
    from unicodedata import normalize

    return normalize("NFC", text)


def _check_name(name: str, what: str, text: str) -> str:
    if not name:
        raise _refusal(f"{what} must not be empty", text)
    if name.startswith("."):
        raise _refusal(f"{what} must not begin with a dot", text)
    if len(name) > LONGEST_NAME:
        raise _refusal(f"{what} has at most {LONGEST_NAME} characters", text)
    if not all(char in "_-.:" or _is_letter(char) for char in name):
        raise _refusal(f"{what} is letters, digits and _ - . : only", text)
    return name


def _is_letter(char: str) -> bool:
    """Check for a letter or digit; the vowel signs of Indic scripts are letters."""
    if char < "\u0900" or char.isalnum() or "\ufe00" <= char <= "\ufe0f":
        return char.isalnum()
    from unicodedata import category

    return category(char) in ("Mn", "Mc")


def _span(span: str, text: str) -> tuple[int, int]:
    numbers = span.split("-")
    good = all(n.isascii() and n.isdigit() and len(n) < 16 and n[0] != "0" for n in numbers)
    if len(numbers) > 2 or not good:
        raise _refusal("messages are named by their numbers, as in messages/10-20", text)
    first, last = int(numbers[0]), int(numbers[-1])
    if first > last:
        raise _refusal("the first message must not come after the last", text)
    return first, last


def _is_id(name: str) -> bool:
    """Check for an id or a prefix of one."""
    kind, hyphen, rest = name.partition("-")
    return (
        kind in _RECORDS
        and bool(hyphen)
        and name.isascii()
        and rest.isalnum()
        and rest == rest.lower()
    )


def is_loaded_memory(name: str) -> bool:
    """Check for the id of a memory in the file that it was loaded from: sem-001."""
    kind, _, rest = name.partition("-")
    return _LOADED.get(kind) == "memory" and rest.replace("-", "").isalnum() and name.isascii()


def read_memory_id(text: str) -> str:
    """Return the id, or beginning of one, if the text is nothing but that of a memory or its
    address; an empty string otherwise."""
    name = text.strip().removeprefix(SCHEME)
    return name if _is_id(name) and name.startswith("m-") else ""


def _refusal(problem: str, text: str, hint: str = "") -> InvalidInput:
    shown = text if len(text) <= 80 else text[:77] + "…"
    return InvalidInput(problem, where=shown if shown.isprintable() else ascii(shown), hint=hint)


def pick_unique_id(name: str, ids: Sequence[str]) -> str:
    """Return the only id found for a prefix, or an empty string; raise InvalidInput for several."""
    if len(ids) > 1:
        hint = ", ".join(ids[:5])
        raise InvalidInput(f"several records begin with {name!r}", where=name, hint=hint)
    return ids[0] if ids else ""
