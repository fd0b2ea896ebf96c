"""Split texts into the terms that they are found by: the tokenizer of both engines.

Decides where words begin and end, which spellings are one word, and which words of a question are
stop words. An engine stores and looks up the terms unchanged, so FTS5 and PostgreSQL give the same
results.

    HTTPServer             http server httpserver
    max_retries            max retries maxretries      (maxRetries and max-retries too)
    src/routes/todos.ts    src routes todos ts todos.ts
    --dry-run              dry run dryrun ..dryrun
    python3                python python3
    ENT-232                ent 232 ent232
    Python 3.11            python 3 11 3.11
    Café, Straße           cafe strasse
    東京都                  東京 京都

The whole of a compound name follows its parts. It costs one rare term, ranks the exact name above
its separate parts, and makes the three spellings of `max_retries` one name.

The index holds the stems of a text's terms; a search looks up the `query_stems` of a question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from itertools import chain, groupby, pairwise
from math import inf

FTS5_TOKENIZE = "ascii tokenchars '.'"
"""The FTS5 `tokenize` option that keeps every term whole. (`unicode61` splits at vowel signs.)"""

LONGEST_TERM = 40
"""A longer run (a digest, base64) is one term, cut here: pasting it again finds it, and encoded
bytes do not fill the index."""

MOST_QUERY_TERMS = 64

# A chunk is a word or a compound name: ASCII letters, digits and underscores, hyphens and dots
# between them, two hyphens in front. Non-ASCII characters are accepted here; `_kind` sorts them
# later.
_CHUNK = re.compile(
    r"(?:(?<![^\0-,./:-@[-^`{-\x7f])--(?=[a-z]))?"
    r"[^\0-/:-@[-^`{-\x7f]+(?:[-.][^\0-/:-@[-^`{-\x7f]+)*"
)
_NUMBER = r"[0-9]+(?:\.[0-9]+)+"
_NUMBERED = r"([a-z]{3,})[0-9]{1,3}"
"""A word with a number behind it is also found without: `python3`, `sha256`."""

_CODE = r"[A-Z]{4,}|(?=[A-Za-z]*[0-9])[A-Za-z0-9]*[A-Za-z][A-Za-z0-9]*"
"""A single word that is a name: ENOENT, a hash, TS2345."""

FLAG = ".."
"""Stands before the whole of a command-line flag, in place of the hyphens that no engine keeps."""
_HUMP = "(?<=[^A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])(?![A-Z]s$)"
_LETTERS = r"[^\W_]+"
_PILE = r"[^\w\s]{16,}"
_APART = "[\u2013\u2014\u2018\u2019\u201c\u201d\u2022\u2190-\u2199\u2500-\u25ff\u2713\u2717]+"
"""Non-ASCII signs that often stand next to words, and never inside one."""

_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalnum())
_BETWEEN_LETTERS = bytes.maketrans(_NO_LETTERS, b" " * len(_NO_LETTERS))
_UTF8 = ("utf-8", "surrogatepass")
_SIGNS = bytes((*range(45), 47, *range(58, 65), *range(91, 95), 96, *range(123, 128)))
_BETWEEN_WORDS = bytes.maketrans(_SIGNS, b" " * len(_SIGNS))
"""Replace signs between words by spaces; hyphens, underscores and dots may be part of a word."""


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """Compile at first use: a hook starts cold."""
    return re.compile(text)


def split_terms(text: str) -> list[str]:
    """Return the terms of a text in order, with repetitions."""
    return list(chain.from_iterable(map(_TERMS_OF_CHUNK.__getitem__, _CHUNK.findall(text))))


def split_lower_words(text: str) -> list[str]:
    """Return the words of a text in lower case, unstemmed: for comparing, not for searching."""
    small = text.casefold()
    if small.isascii():
        return small.encode().translate(_BETWEEN_LETTERS).decode().split()
    return _pattern(_LETTERS).findall(small)


def stem_text(text: str) -> str:
    """Return the stems of all terms of a text, joined by spaces, as the index stores them.

    Equal to `" ".join(stem_all(split_terms(text)))`, at a fifth of the cost for a text of known
    words.
    """
    return "".join(map(_STEMS_OF_WORD.__getitem__, split_bytes(text)))[1:]


def strip_signs(text: str) -> str:
    """Replace the common non-ASCII signs between words by spaces."""
    return _pattern(_APART).sub(" ", text)


def split_bytes(text: str) -> list[bytes]:
    """Split a text at spaces and signs, in UTF-8."""
    return text.encode(*_UTF8).translate(_BETWEEN_WORDS).split()


class _StemsOfWord(dict[bytes, str]):
    """Cache: the stems of a word, with a space before each."""

    def __missing__(self, word: bytes) -> str:
        text = word.decode() if word.isascii() else word.decode(*_UTF8)
        if word.isascii():
            found = self._of_ascii(text)
        elif len(parts := _pattern(_APART).split(text)) > 1:
            found = "".join([self[part.encode(*_UTF8)] for part in parts])
        else:
            found = _stem_spaced(split_terms(text))
        if len(word) <= LONGEST_TERM:
            if len(self) >= 50_000:
                self.clear()
            self[word] = found
        return found

    def _of_ascii(self, text: str) -> str:
        """Return the stems of an ASCII word; most parts of a compound name are known."""
        if text.isalnum():
            if text.isdigit():
                return " " + text[:LONGEST_TERM]
            if text.isalpha() and (text.islower() or text[1:].islower()):
                return " " + stem(text[:LONGEST_TERM].lower())
            return _stem_spaced(_split_run(text))
        if "." in text:
            text = text.strip(".")
            if text.isalnum():
                return self[text.encode()]
        if "-" in text and ("--" in text or "-" in (text[0], text[-1])):
            return _stem_spaced(split_terms(text))
        if "." in text:
            if ".." in text or "-." in text or ".-" in text:
                return _stem_spaced(split_terms(text))
            pieces = text.split(".")
            # A term with a dot is its own stem.
            found = [self[piece.encode()] for piece in pieces]
            return "".join(found + [" " + one for one in _join_dotted(text, pieces)])
        pieces = text.replace("-", " ").replace("_", " ").split()
        whole = "".join(pieces).casefold()
        found = [self[piece.encode()] for piece in pieces]
        if len(pieces) > 1 and len(whole) <= LONGEST_TERM:
            found.append(" " + stem(whole))
        return "".join(found)


def _stem_spaced(words: Iterable[str]) -> str:
    """Return the stems of terms, with a space before each."""
    return "".join([" " + stem(word) for word in words])


_STEMS_OF_WORD = _StemsOfWord()


class _TermsOfChunk(dict[str, list[str]]):
    """Cache: the terms of a chunk. Most chunks repeat; short ones are kept, up to a limit."""

    def __missing__(self, chunk: str) -> list[str]:
        found = _split(chunk) if chunk.isascii() else _split_scripts(chunk)
        if len(chunk) <= LONGEST_TERM:
            if len(self) >= 20_000:
                self.clear()
            self[chunk] = found
        return found


_TERMS_OF_CHUNK = _TermsOfChunk()


def _split(chunk: str) -> list[str]:
    """Split a chunk of a script that separates words."""
    small = chunk.casefold()
    if small[1:] == chunk[1:] and small.isalnum():
        return _split_number(small)
    if "." in chunk:
        return _split_dotted(chunk)
    found = []
    # `str.translate` takes three times as long.
    runs = chunk.replace("-", " ").replace("_", " ").split()
    for run in runs:
        found += _split_run(run)
    whole = "".join(runs).casefold()
    if len(runs) > 1 and len(whole) <= LONGEST_TERM:
        found.append(whole)
    if chunk.startswith("--") and len(whole) < LONGEST_TERM - 1:
        found.append(FLAG + whole)
    return found


def _split_run(run: str) -> list[str]:
    """Split letters and digits, and return the whole behind its parts."""
    small = run.casefold()
    parts = _humps(run) if len(run) <= LONGEST_TERM else []
    return [*(part.casefold() for part in parts), small] if len(parts) > 1 else _split_number(small)


def _split_number(word: str) -> list[str]:
    numbered = _pattern(_NUMBERED).fullmatch(word) if word[-1:].isdigit() else None
    return [numbered[1], word] if numbered else [word[:LONGEST_TERM]]


def _split_dotted(chunk: str) -> list[str]:
    """Split a name with dots: a file, a host, an attribute. Its whole follows the parts."""
    pieces = chunk.split(".")
    return [
        *(term for piece in pieces if piece for term in _split(piece)),
        *_join_dotted(chunk, pieces),
    ]


def _join_dotted(chunk: str, pieces: list[str]) -> list[str]:
    """Return the numbers with dots in a name, and its whole."""
    whole = chunk.replace("-", "").replace("_", "").casefold()
    numbers = [] if whole.replace(".", "").isalpha() else _pattern(_NUMBER).findall(chunk)
    found = [number[:LONGEST_TERM].rstrip(".") for number in numbers]
    if pieces[-1][:1].isalpha() and len(whole) <= LONGEST_TERM and ".." not in whole.strip("."):
        found.append(whole.strip("."))
    return found


def find_names(text: str) -> dict[str, list[str]]:
    """Return the names in a text, each with its terms, the whole last: a file, a symbol, a flag, a
    ticket, a hash, an error code. Plain words are no names, nor is a sentence without spaces."""
    return {
        chunk: found
        for chunk in _CHUNK.findall(text)
        if (len(found := _TERMS_OF_CHUNK[chunk]) > 1 or _pattern(_CODE).fullmatch(chunk))
        and (chunk.isascii() or 10 * len(found[-1]) >= 7 * len(chunk))
    }


def _humps(run: str) -> list[str]:
    """Split camel case: `maxRetries`, `HTTPServer`. `IDs` is one part, and so are encoded bytes."""
    if run == run.lower():
        return [run]
    if run.isascii():
        parts = _pattern(_HUMP).split(run)
        return [run] if len(parts) > 5 and len(run) < 3 * (len(parts) - 1) else parts
    cuts = [
        at
        for at in range(1, len(run))
        if run[at].isupper()
        and (not run[at - 1].isupper() or (run[at + 1 : at + 2].islower() and run[at + 1 :] != "s"))
    ]
    if len(cuts) > 4 and len(run) < 3 * len(cuts):
        return [run]
    return [run[start:end] for start, end in pairwise([0, *cuts, len(run)])]


_WORD, _UNSPACED, _ACCENT, _OUTSIDE = range(4)
_FIRST_HANGUL, _LAST_HANGUL = "\uac00", "\ud7a3"
_UNSPACED_SCRIPTS = (
    *("CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "BOPOMOFO", "HANGUL"),
    *("THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"),
)


@lru_cache(maxsize=65536)
def _kind(char: str) -> int:
    """Classify a character: in a word, of a script without spaces, an accent, or outside."""
    if char in "-_.":
        return _WORD
    from unicodedata import category, name

    general = category(char)
    if general in ("Cf", "Me") or "\ufe00" <= char <= "\ufe0f":
        return _ACCENT  # invisible joiners and emoji variation selectors
    if general == "Mn" and char < "\u0700":
        return _ACCENT  # Latin, Greek, Cyrillic, Hebrew, Arabic; later scripts spell with marks
    if not char.isalnum() and general not in ("Mn", "Mc"):
        return _OUTSIDE
    return _UNSPACED if name(char, "").startswith(_UNSPACED_SCRIPTS) else _WORD


_PLAIN_LETTERS = str.maketrans(
    {"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ı": "i"}
    | {"æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe"}
)


def _fold(chunk: str) -> str:
    """Unify spellings: width, ligatures, accents, invisible joiners."""
    from unicodedata import normalize

    # Normalising sorts piled accents in quadratic time, and no word has so many.
    apart = normalize("NFKD", _pattern(_PILE).sub(" ", chunk))
    bare = "".join([char for char in apart if _kind(char) != _ACCENT])
    return normalize("NFC", bare).translate(_PLAIN_LETTERS)


def _split_scripts(chunk: str) -> list[str]:
    """Split a non-ASCII chunk: words, and character pairs of scripts without spaces."""
    found: list[str] = []
    for kind, characters in groupby(_fold(chunk), _kind):
        run = "".join(characters)
        if kind == _WORD:
            found += _split(run)
        elif kind == _UNSPACED:
            found += _pairs(run)
    return found


def _pairs(run: str) -> list[str]:
    if len(run) < 2:
        return [run]
    if _FIRST_HANGUL <= run[0] <= _LAST_HANGUL:
        from .inflection import split_korean

        return split_korean(run)
    return list(map("".join, pairwise(run)))


_NOT_INFLECTED = ("embed", "during", "morning", "evening", "nothing", "something")


@lru_cache(maxsize=20_000)
def stem(term: str) -> str:
    """Strip the ending: English inflection, Russian cases.

    The stem need not be a word (`caching`, `cached` and `cache` all become `cach`), only equal for
    related words. Other languages keep their terms, except for a plural `s`.
    """
    if len(term) < 4:
        return term
    if term.isascii():
        return _english_stem(term) if term.isalpha() else term
    if not "\u0430" <= term[0] <= "\u045f":
        return term
    from .inflection import stem_russian

    return stem_russian(term)


def _english_stem(word: str) -> str:
    if word[-1] not in "sdgytne":  # no ending to strip
        return word
    if word[-1] == "s":
        word = _singular(word)
    if word.endswith(("ed", "ing")):
        word = _uninflected(word)
    if word.endswith("ly") and len(word) > 6:
        word = word[:-2]
    elif word.endswith("ment") and len(word) > 9:
        word = word[:-4]
    elif word.endswith(("tion", "sion")) and len(word) > 7:
        word = word[:-3]
    if word.endswith("ie") and len(word) > 4:
        return word[:-2] + "y"
    return word[:-1] if word.endswith("e") and len(word) > 3 and not _short(word[:-1]) else word


def _singular(word: str) -> str:
    if word.endswith(("ss", "us", "is", "news")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("sses", "xes", "ches", "shes", "zzes")) else word[:-1]


def _uninflected(word: str) -> str:
    """Strip -ed or -ing from a verb and restore a dropped -e (`coded` becomes `code`)."""
    if word in _NOT_INFLECTED:
        return word
    if word.endswith("ied") and len(word) > 4:
        return word[:-3] + "y"
    base = word.removesuffix("ing") if word.endswith("ing") else word.removesuffix("ed")
    if base == word or word.endswith("eed") or len(base) < 3 or not any(map(base.count, "aeiouy")):
        return word
    if base[-1] == base[-2] and base[-1] not in "aeioulsz":
        return base[:-1]
    return base + "e" if _short(base) else base


def _short(word: str) -> bool:
    """Check for one syllable that ends in a single consonant: `cod`, `plan`, not `cach`, `fix`."""
    onset = word[:-2]
    return (
        bool(onset)
        and word[-1] not in "aeiouwxy"
        and word[-2] in "aeiouy"
        and not any(map(onset.count, "aeiou"))
    )


def stem_all(words: Iterable[str]) -> list[str]:
    """Stem each term."""
    return list(map(stem, words))


def query_terms(query: str) -> list[str]:
    """Return the distinct terms of a question, without stop words if others are left."""
    asked = dict.fromkeys(split_terms(query))
    silent = _set_of(_STOP_WORDS)
    telling = [term for term in asked if term not in silent]
    if not query.isascii():
        from .inflection import is_question_word

        telling = [term for term in telling if term.isascii() or not is_question_word(term)]
    return (telling or list(asked))[:MOST_QUERY_TERMS]


def is_content_word(term: str) -> bool:
    """Check whether a term is a content word, not a stop word."""
    return term not in _set_of(_STOP_WORDS)


def query_stems(query: str) -> list[str]:
    """Return the distinct stems to look up for a question."""
    return list(dict.fromkeys(map(stem, query_terms(query))))


def pick_rarest(
    stems: Iterable[str], holding: Mapping[str, int], enough: int, least: int = 1, most: float = inf
) -> list[str]:
    """Return the rarest stems, until they promise `enough` candidates: at least `least` of them,
    then none that more than `most` entries hold."""
    chosen: list[str] = []
    promised = 0
    for stem in sorted(stems, key=holding.__getitem__):
        if len(chosen) >= least and (promised >= enough or holding[stem] > most):
            break
        chosen.append(stem)
        promised += holding[stem]
    return chosen


# English (with the rests of don't, it's and we'll), German, French, Spanish, Russian; without
# accents, as terms are. Words that also name a thing in English or code are left out: die, war,
# sin, may, go.
_STOP_WORDS = """
    a about after all also am an and any are as at be because been before being but by can
    could d did do does doing don for from had has have he her here him his how i if in into
    is it its just ll m me more most my no not of on or our out over please s she should so
    some such t than that the their them then there these they this those to too up us ve very
    was we were what when where which who whom whose why will with would you your
    aber als am auch auf aus bei das dass dem den der des dich dir du ein eine einem einen
    einer eines er es euch fur haben hatte ich ihr im ist kann mein mich mir mit nach nicht
    noch nur oder sein sich sie sind uber und uns unter vom von wann warum welche welcher
    welches wenn wer werden wie wir wird wo wurde zu zum zur
    au aux avec ce ces cet cette dans de du elle elles en est et etait etre il ils je
    l la le les leur lui ma mais mes mon ne nos notre nous ont ou par pas pour pourquoi qu
    quand que quel quelle qui sa ses sont sur ta te tes ton tu un une vos votre vous
    al como con cual cuando del donde el ella ellos era eres es esa ese eso esta estan este
    esto fue hay la las lo los mas mi muy nos para pero por porque que quien se ser si su sus
    tu un una unas uno unos y ya yo
    а без бы был была были было быть в вам вас во вот все вы где для до его ее если есть еще
    же за зачем и из или им их к как какая какие каким каких какого какое какои каком когда кто
    куда ли между мне может можно мои мы на над надо нас не него нет ни но нужно о об он она они
    оно от откуда перед по под после поэтому потому почему при с сколько со так там теперь то тои
    только ты у уже чем через что чтобы эта эти это этот эту я
"""


@cache
def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())
