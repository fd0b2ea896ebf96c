"""Stem words of other languages, so that their forms share one term.

Stems Russian words, strips the particles of Korean nouns, and lists question words of Chinese,
Japanese and Korean. Loaded with the first word that needs it. `terms` splits the words first and
removes accents (so `й` is `и` here, and `ё` is `е`).
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise

# ---------------------------------------------------------------- Russian

_VOWELS = "аеиоуыэюяь"
_ADJECTIVE = "(?:ыи|ая|ое|ые|ого|ому|ыми|ым|ых|ую|ои|ом)"
_ENDINGS = """
    ами ями ого его ому ему ыми ими иях ах ях ам ям ов ев еи ои ыи ии ая яя ое ее ые ие ых их ым
    им ом ем ую юю ию ью ия ть ет ут ют ит ат ят а я о е ы и у ю ь
"""


def stem_russian(word: str) -> str:
    """Strip endings: cases, persons, derivations between verb, noun and adjective (`сохранение`,
    `сохранить`; `файловый`), and fleeting vowels (`ошибок`, `ошибка`; `выбирать`, `выбрать`)."""
    verb = len(word) > 5 and word.endswith(("ся", "сь"))
    if verb:
        word = word[:-2]
    made = re.search(_DERIVATIONS, word)
    if made and made.start() > 2:
        word = word[: made.start()]
    else:
        word = _without_ending(word, 2 if verb else 3)
    if len(word) > 5 and word.endswith(("ал", "ил", "ыл", "ял")):
        word = word[:-1]
    bare = word.rstrip(_VOWELS)
    if len(bare) > 2:
        word = bare[:-1] if bare.endswith("нн") else bare
    if len(word) > 4 and word.endswith(("бир", "дир")):
        return word[:-2] + "р"
    return _without_fleeting(word)


def _without_fleeting(word: str) -> str:
    """Unify fleeting vowels: `ошибок` and `ошибка` with `ошибиться`, `столбец` with `столбца`,
    `загружать` with `загрузить`."""
    if len(word) > 5 and word.endswith(("ок", "ек")):
        word = word[:-2] + ("ик" if word[-3] in _VOWELS else "к")
    if len(word) > 5 and word[-1] == "к" and word[-2] not in _VOWELS:
        return word[:-1]
    if len(word) > 4 and word[-1] == "ж":
        return word[:-1] + "з"
    return word[:-2] + "ц" if len(word) > 4 and word.endswith("ец") else word


_DERIVATIONS = (
    "(?:"
    "(?:[ое]в)?[аея]ни(?:е|я|ю|ем|и|ях|ям|ями)"
    "|[ое]ва(?:ть|л|ла|ло|ли)"
    f"|[аея]нн{_ADJECTIVE}"
    "|(?<=....)[ае]н[аоы]?"
    f"|[аяеу]ем{_ADJECTIVE}"
    f"|(?<=[бвгджзклмпрстфхцчшщ])(?:н|ск)(?:{_ADJECTIVE}|о)"
    f"|[ое]в{_ADJECTIVE}"
    ")$"
)


def _without_ending(word: str, least: int) -> str:
    for size in (3, 2, 1):
        if len(word) - size >= least and word[-size:] in _set_of(_ENDINGS):
            return word[:-size]
    return word


# ---------------------------------------------------------------- Korean

_PARTICLES = """
    으로부터 에서부터 까지는 에서는 에서도 으로는 으로도 에게서 이라는 이라고
    에는 에도 에만 에서 에게 까지 부터 으로 로는 로도 처럼 보다 마다 조차 이나 이랑 하고 에
    은 는 이 가 을 를 의 로 와 과 도 만 나 랑
"""


def split_korean(run: str) -> list[str]:
    """Return the syllable pairs of a word without its particles. A single remaining syllable is a
    term too (`큐가`, `큐에는`), and a possible word of two syllables is also kept whole."""
    bare = strip_particles(run)
    if len(bare) == 1:
        return [run, bare] if len(run) == 2 else [bare]
    return list(map("".join, pairwise(bare)))


def strip_particles(run: str) -> str:
    """Strip the particles of a Korean noun; other words stay unchanged."""
    for size in (4, 3, 2, 1):
        if len(run) > size and run[-size:] in _set_of(_PARTICLES):
            return run[:-size]
    return run


# ---------------------------------------------------------------- question words

_ONLY_ASK = "的了吗呢么什怎哪谁们吧是有在这那个我你他她它几多为会要能可以之何里"
"""Characters of Chinese and Japanese that carry no content together."""

_ASKING = """
    多少 多久 多大 如何 么时 时候 应该 何で 何が 何を は何
    습니 니다 니까 나요 까요 가요 인가 되나 하나 했나 었나 았나 는지 어떻 떻게 무엇 엇을 엇이 어디
    디에 어떤 무슨 언제 누가 얼마 마나 뭐가 해야 됩니 합니 입니 하는 되는 있나 있는
    왜 뭐 몇 이 그 수 것
"""


def is_question_word(term: str) -> bool:
    """Check whether a CJK term only phrases a question: ですか, 为什么, 어떻게."""
    if all("\u3041" <= char <= "\u309f" for char in term):
        return True
    return all(char in _ONLY_ASK for char in term) or term in _set_of(_ASKING)


@cache
def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())
