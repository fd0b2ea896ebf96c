"""Extract claims about the code from memories, and judge whether they still hold.

A claim names a file, a line, a symbol, a command or a configuration key. `extract_claims` finds the
claims in a text and its citations; `judge_claim` decides the state of one, from an observation of
the working tree (`working_tree_io`).

    file         the file or directory exists; a file has the same content
    line         the line is still somewhere in the file
    symbol       the definition is the same, except for comments and layout
    declaration  the place and signature are the same; the body may differ
    command      the target of `make` or `just`, or the script of package.json, is the same
    key          the value at a key of a configuration file is the same

Precision comes before recall, and a claim that the tree does not confirm when it is learned is
dropped: a reader checks an unmarked memory, but trusts a wrong mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from ..fast_typing import NamedTuple
from ..types.records import Json

STATES = ("missing", "moved", "changed", "fresh", "unverifiable")
"""From the most to the least important for a memory."""

MOST_CLAIMS = 24
"""At most this many are kept for one memory."""

MENTION = "word"
"""The sign of a symbol that is mentioned but not defined."""


class Claim(NamedTuple):
    """A claim as found; a `given` one was cited by the writer."""

    path: str
    symbol: str = ""
    line: int = 0
    kind: str = "file"
    given: bool = False


class PinnedClaim(NamedTuple):
    """A claim as observed when it was confirmed and when it was last checked.

    `blob` is the git hash of the file's content, `sign` a hash of the claimed part, `committed` the
    commit at that time. `stamp` belongs to the last check: while the file has the same stamp,
    `state` and `moved_to` still hold.
    """

    path: str
    symbol: str
    line: int
    kind: str
    blob: str = ""
    sign: str = ""
    committed: str = ""
    state: str = "unverifiable"
    moved_to: str = ""
    stamp: str = ""

    @property
    def target(self) -> tuple[str, str, int, str]:
        """Return the claimed path, symbol, line and kind."""
        return self.path, self.symbol, self.line, self.kind


class Observation(NamedTuple):
    """A claimed file as it is now: `blob` is the hash of its content, `sign` that of the claimed
    part, empty if the part was not found."""

    exists: bool
    blob: str = ""
    sign: str = ""
    moved_to: str = ""


class Freshness(NamedTuple):
    """The state of a memory's claims; `moved_to` names a new path."""

    state: str
    moved_to: str = ""


FRESH = Freshness("fresh")


def judge_claim(known: PinnedClaim, seen: Observation) -> str:
    """Return the state of a claim."""
    if not known.blob:
        return "unverifiable"
    if seen.exists and seen.blob == known.blob:
        return "fresh"
    if seen.exists and not known.symbol:
        return "fresh" if known.sign and seen.sign == known.sign else "changed"
    if seen.exists and seen.sign and (seen.sign != MENTION or known.sign == MENTION):
        return "fresh" if seen.sign == known.sign else "changed"
    return "moved" if seen.moved_to else "missing"


def pick_worse(one: Freshness, other: Freshness) -> Freshness:
    """Return the state that decides for a memory: the more important one."""
    return min(one, other, key=lambda fresh: (STATES.index(fresh.state), fresh.moved_to))


def find_moves(places: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the new path of each old one, if all its claims moved to the same place."""
    went: dict[str, set[str]] = {}
    for path, moved_to in places:
        went.setdefault(path, set()).add(moved_to)
    new = {path: min(to) for path, to in went.items() if len(to) == 1}
    return {path: to for path, to in new.items() if _pattern("plain path").fullmatch(to)}


def replace_paths(text: str, moves: Mapping[str, str]) -> str:
    """Replace each moved path in a text, written in full or by its last parts."""
    named: dict[str, str] = {}
    for old, new in moves.items():
        parts = old.split("/")
        ends = ["/".join(parts[at:]) for at in range(len(parts))]
        end = next((end for end in ends if _names(end).search(text)), "")
        if end and not f"/{new}".endswith(f"/{end}"):
            named[end] = new
    if not named:
        return text
    return _names(*named).sub(lambda found: found[1] + named[found[2]], text)


def _names(*paths: str) -> re.Pattern[str]:
    listed = "|".join(map(re.escape, sorted(paths, key=len, reverse=True)))
    return re.compile(rf"(?<![\w/.@~$-])((?:\./)?)({listed})(?![\w/-]|\.\w)")


def describe_state(state: str, moved_to: str = "") -> str:
    """Return the freshness mark of a briefing; empty for a memory without claims."""
    if state == "moved" and _pattern("plain path").fullmatch(moved_to):
        return f"moved to {moved_to}"
    return {"changed": "changed: verify", "unverifiable": "unverified"}.get(state, state)


# ---------------------------------------------------------------- extraction

_ENDINGS = """
    py pyi ts tsx js jsx mjs cjs go rs java kt kts rb php c h cc cpp hpp cs swift scala sh bash zsh
    fish sql md mdx rst txt json jsonc yaml yml toml ini cfg conf lock html css scss vue svelte
    proto graphql tf gradle xml ex exs erl hs lua pl pm jl dart zig nim el clj ipynb env mk
"""
_FILES = "Makefile makefile GNUmakefile Dockerfile Justfile justfile Gemfile Rakefile Procfile"
_FOLDERS = """
    src lib tests docs apps cmd pkg internal packages scripts bin examples tools evals migrations
"""
_PRODUCTS = """
    node next vue nuxt express three d3 chart react angular ember backbone day moment p5 discord
    alpine nest deno
"""
"""Product names that look like a JavaScript file."""

_NPM_WORDS = """
    install i ci add remove update publish link init audit exec dlx create pack version login
    outdated list ls why info view run x
"""
"""Commands of npm itself, not scripts of a project."""

_KEY_FILES = {
    "tool": "pyproject.toml",
    "project": "pyproject.toml",
    "build-system": "pyproject.toml",
    "compilerOptions": "tsconfig.json",
}
_PARSED = (".json", ".toml")
LONGEST_CITATION = 500


_CUES = (
    *("class ", "function ", "method ", "struct ", "interface ", "trait ", "enum ", "constant "),
    *("component ", "hook ", "module "),
)
"""Words before the name of a symbol."""

_MARKS = ("`", "/", "()", "file", *_CUES)
"""Each claim has one of these, or a dot inside a word."""

_IN_CODE = (
    *("make ", "just ", "npm ", "yarn ", "bun "),
    *("tool.", "project.", "build-system.", "scripts.", "engines.", "compilerOptions."),
    "dependencies.",
)
"""Every command or key in backticks contains one of these."""

_DECLARING = (
    *("takes ", "accepts ", "expects ", "defined", "declared", "located", "lives in"),
    *("extends", "inherits from", "subclass", "signature"),
)
"""Every match of the pattern `declares` contains one of these."""


def _any_of(listed: str) -> str:
    return "|".join(listed.split())


_SOURCES = {
    # It begins with a set of characters, which `re` looks for fast.
    "sentence": r"\s(?:(?<=[.!?]\s)\s*(?=[A-Z`])|(?<=\n)\n*)",
    "code": r"`([^`\n]{1,200})`",
    "url": r"\b[a-zA-Z][\w+.-]{1,20}://\S+|\bwww\.\S+|(?<!\S)[^\s@]+@\w+\.\w+",
    "path": r"(?<![\w/.@:~$-])(?:\./)?((?:[\w@.+-]+/)*"
    rf"(?:[\w@+-][\w@.+-]*\.(?:{_any_of(_ENDINGS)})|{_any_of(_FILES)}))"
    r"(?::([0-9]{1,6})|#L([0-9]{1,6}))?(?![\w/-])",
    "ending": rf"\.(?:{_any_of(_ENDINGS)})(?![\w/-])",
    "plain path": r"[\w@./+-]{1,200}",
    "folder": rf"(?<![\w/.@:~$-])(?:\./)?((?:{_any_of(_FOLDERS)})(?:/[\w@.+-]*[\w@+-])+/?|"
    r"(?:[\w@.+-]+/){2,}|[\w@+-]{3,}/)(?![\w/.*-])",
    "call": r"(?<![\w.:/-])([A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)*)\(\)",
    "cue": rf"\b(?:{'|'.join(_CUES)})([A-Za-z_]\w*(?:\.\w+)*)\b",
    "dotted": r"\.\w",
    "name": r"[A-Za-z_$][\w$]*(?:(?:\.|::|#)[A-Za-z_$][\w$]*)*",
    "located": r"([^\s`:]+\.\w{1,10}|[^\s:]+/[^\s:#]+)(?:::|#(?!L\d))([A-Za-z_$][\w$.]*)(?:\(\))?",
    "line": r"(.+?)(?::|#L)([0-9]{1,9})",
    "declares": r"\b(?:takes|accepts|expects) (?:async )?\(|"
    r"\bis (?:\w+ )?(?:defined|declared|located)\b|"
    r"\b(?:lives in|extends|inherits from|subclass(?:es)? of|signature)\b",
    "command": r"(?:cd ([\w./-]+) *&& *)?(?:(make|just)(?: -\S+)* ([A-Za-z_][\w.-]*)|"
    r"(?:npm|pnpm|yarn|bun)(?: run| run-script)? ([a-z][\w:.-]*))(?: .*)?",
    "key": r"((?:tool|project|build-system|scripts|engines|compilerOptions|dependencies)"
    r"(?:\.[A-Za-z_][\w-]*)+)",
}


_UTF8 = ("utf-8", "surrogatepass")
_SIGNS = bytes(code for code in range(128) if not re.match(r"[\w/.@:~$#*+-]", chr(code)))
_CUT = bytes.maketrans(_SIGNS, b" " * len(_SIGNS))
"""Replace by spaces the signs that are in no path, and do not stand beside one that is none: the
patterns `path` and `folder` try every character of a word."""


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(_SOURCES[name])


def extract_claims(text: str, citations: Sequence[Json] = ()) -> list[Claim]:
    """Return the claims of a memory: cited ones first, then those found in the text."""
    found = [
        claim for citation in citations if (claim := _cited(citation)) and _is_printable(claim)
    ]
    may_claim = _may_claim(text)
    if not found and not may_claim:
        return []
    sentences = _pattern("sentence").split(text) if may_claim else []
    paths = [find_paths(sentence) for sentence in sentences]
    files = {claim.path for inside in paths for claim in inside}
    only = min(files) if len(files) == 1 else ""
    for sentence, inside in zip(sentences, paths, strict=True):
        # `Response.json` may be a method: a name with a folder is certainly a file.
        sure = [claim.path for claim in inside if "/" in claim.path] or [
            claim.path for claim in inside
        ]
        found += [*_symbols(sentence, sure[0] if sure else only), *inside]
    united: dict[tuple[str, str, int], Claim] = {}
    for claim in found:
        # The text decides whether all of a symbol or its declaration is claimed; a citation cannot.
        place = claim.path, claim.symbol, claim.line
        if place in united:
            claim = claim._replace(given=united[place].given)
        united[place] = claim
    return list(united.values())[:MOST_CLAIMS]


def may_name_file(text: str) -> bool:
    """Check whether a text may name a file. Without one, only a search of the whole tree could
    confirm its claims. This takes a tenth of the time of extracting them."""
    return (
        "/" in text
        or "file" in text
        or ("." in text and _pattern("ending").search(text) is not None)
        or ("`" in text and any(map(text.__contains__, _IN_CODE)))
    )


def _is_printable(claim: Claim) -> bool:
    """Check a cited claim: no path and no symbol holds a control character."""
    return (claim.path + claim.symbol).isprintable()


def _may_claim(text: str) -> bool:
    """Check whether a text has a mark that every claim has. Most sentences have none, and this is
    cheaper than the patterns."""
    return any(map(text.__contains__, _MARKS)) or _pattern("dotted").search(text) is not None


def _cited(citation: Json) -> Claim | None:
    """Parse a citation: `path`, `path:line`, `path#symbol`, or an object with these fields."""
    if isinstance(citation, str) and 0 < len(citation.strip()) <= LONGEST_CITATION:
        return _located(citation.strip())._replace(given=True)
    if not isinstance(citation, Mapping):
        return None
    path = str(citation.get("path") or citation.get("file") or "").strip()
    symbol = str(citation.get("symbol") or "").strip().removesuffix("()")
    line = citation.get("line")
    number = line if isinstance(line, int) and line > 0 else 0
    if not path and not symbol:
        return None
    if not symbol and not number:
        return _cited(path)
    return Claim(path, symbol, number, _kind_of(symbol, number), given=True)


def _kind_of(symbol: str, line: int) -> str:
    return "symbol" if symbol else ("line" if line else "file")


def _located(text: str) -> Claim:
    """Parse `path`, `path:12`, `path#L12`, `path::symbol` or `path#symbol`."""
    if symbol := _pattern("located").fullmatch(text):
        return Claim(symbol[1], symbol[2], 0, "symbol")
    if line := _pattern("line").fullmatch(text):
        return Claim(line[1], "", int(line[2]), "line")
    return Claim(text)


def find_paths(sentence: str) -> list[Claim]:
    """Return the files, lines and folders in a sentence or text, in order."""
    has_url = any(map(sentence.__contains__, ("://", "www.", "@")))
    bare = _pattern("url").sub(" ", sentence) if has_url else sentence
    # Substring checks first: they are cheaper than a pattern, and rule out most words.
    words = bare.encode(*_UTF8).translate(_CUT).decode(*_UTF8).split()
    named = [word for word in words if "/" in word or "." in word[:-1] or "file" in word]
    return [claim for word in named for claim in _paths_in_word(word)]


def _paths_in_word(word: str) -> list[Claim]:
    found: dict[int, Claim] = {}
    for match in _pattern("folder").finditer(word) if "/" in word else ():
        found[match.start()] = Claim(match[1].rstrip("/"))
    for match in _pattern("path").finditer(word) if "." in word or "file" in word else ():
        stem, _, ending = match[1].rpartition(".")
        if ending != "js" or stem.lower() not in _PRODUCTS.split():
            line = int(match[2] or match[3] or 0)
            found[match.start()] = Claim(match[1], "", line, _kind_of("", line))
    return [found[at] for at in sorted(found)]


def _symbols(sentence: str, home: str) -> list[Claim]:
    """Return the symbols, commands and keys in a sentence; `home` is the file it is about."""
    found: list[Claim] = []
    prose = sentence
    if "`" in sentence:
        pieces = _pattern("code").split(sentence)  # in turns prose, and code without its marks
        for code in pieces[1::2]:
            found += _in_code(code.strip(), home)
        prose = " ".join(pieces[::2])
    if "()" in prose:
        found += [Claim(home, match[1], 0, "symbol") for match in _pattern("call").finditer(prose)]
    if any(map(prose.__contains__, _CUES)):
        found += [
            Claim(home, match[1], 0, "symbol")
            for match in _pattern("cue").finditer(prose)
            if _is_spelled_like_code(match[1])
        ]
    declares = found and any(map(sentence.__contains__, _DECLARING))
    if declares and _pattern("declares").search(sentence):
        return [
            claim._replace(kind="declaration") if claim.kind == "symbol" else claim
            for claim in found
        ]
    return found


def _in_code(code: str, home: str) -> Iterator[Claim]:
    """Yield the claims of code in backticks."""
    name = code.removesuffix("()")
    if command := _pattern("command").fullmatch(code):
        yield from _commanded(command)
    elif key := _pattern("key").fullmatch(code):
        file = _KEY_FILES.get(key[1].split(".")[0], "package.json")
        yield Claim(home if home.endswith(_PARSED) else file, key[1], 0, "key")
    elif (
        ("::" in code or "#" in code)
        and (located := _pattern("located").fullmatch(code))
        and _is_path(located[1])
    ):
        yield Claim(located[1], located[2], 0, "symbol")
    elif not _pattern("name").fullmatch(name) or (_is_path(code) and home in ("", code)):
        return
    elif home or name != code or _is_spelled_like_code(name):
        # A plain word is a symbol only next to the file that might define it.
        yield Claim(home, name, 0, "symbol")


def _commanded(command: re.Match[str]) -> Iterator[Claim]:
    folder = f"{command[1].rstrip('/')}/" if command[1] else ""
    if command[2]:
        file = "Makefile" if command[2] == "make" else "justfile"
        yield Claim(folder + file, command[3], 0, "command")
    elif command[4] not in _NPM_WORDS.split():
        yield Claim(f"{folder}package.json", f"scripts.{command[4]}", 0, "command")


def _is_path(text: str) -> bool:
    return bool(_pattern("path").fullmatch(text) or _pattern("folder").fullmatch(text))


def _is_spelled_like_code(name: str) -> bool:
    """Check for a name that is not a plain word: `max_retries`, `HTTPServer`, `maxRetries`,
    `Client.send`."""
    humped = any(map(str.isupper, name[1:])) and not name.isupper()
    return humped or "_" in name.strip("_") or "." in name or "::" in name
