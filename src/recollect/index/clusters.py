"""Which things belong together: tasks of one sort, notes that say the same.

Two things are compared only if they share something rare (a word, a file), and each with few of
those: the work grows like n log n, whatever the number of common words. A cluster is a star: every
member is like its centre, so that no chain of small likenesses joins strangers. The likeness may
be given; the one here looks at words and files, never at a single shared keyword, and where there
are vectors of the words, at what the words that differ mean. It does not know what the things are.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from math import fsum, log2, sqrt
from typing import NamedTuple

from ..text.terms import query_terms, stems
from .word_meaning import Meaning

Similarity = Callable[[int, int], float]
"""How alike two things are, from 0 to 1, by their places."""

THRESHOLD = 0.5
MOST_KEYS = 8
"""By how many of its rarest words and files a thing is looked up."""

NEIGHBOURS = 6
"""With how many others that share a word or file a thing is compared."""

MOST_ROUNDS = 6
WORDS_SHARE = 0.65
"""What words weigh where both things have files; the files have the rest."""

LEAST_SAID = 0.3
"""Whatever the files have in common: tasks that speak of other things are not of one sort."""

SAME_PLACE = 0.6
"""From here on files have so much in common that one shared word is enough."""

SAME_MEANING, SAME_MEANING_HERE = 0.5, 0.4
"""From which cosine on the words that differ mean the same: where nothing else is in common, and
where a word or the place is. Tried on 70 goals of 14 sorts and 20 others with a word of theirs: of
3,865 pairs of different sorts none came as far, of 140 pairs of one sort 21."""

MOST_COMPARED = 8
"""Up to so many words that differ are compared by meaning: what many words mean together is about
the same everywhere (a cosine of 0.25 and up to 0.5 between strangers of sixteen words and more)."""

_TASK_WORDS = """
    add adjust allow another apply build change check clean complete continue convert create debug
    define delete develop do enable ensure extend feature finish fix follow following get handle
    implement improve include integrate introduce investigate issue know let like look make
    modify move need new ok patch please plan post prepare problem propose provide put refactor
    remove rename replace resolve run see set setup small solve start support take task tell
    think try update upgrade use want work write
"""


class Features(NamedTuple):
    """What a thing is recognised by: the stems of its telling words, and its files."""

    words: frozenset[str]
    files: frozenset[str] = frozenset()


class Cluster(NamedTuple):
    """A centre, all members (the centre among them) in their order, and how alike they are."""

    centre: int
    members: tuple[int, ...]
    cohesion: float


def features_of(text: str, files: Iterable[str] = ()) -> Features:
    """The features of a goal or statement and of the files that go with it."""
    told = query_terms(text)
    # `client-side` is two words here: the whole would count a third time.
    wholes = {a + b for a, b in pairwise(told)}
    words = frozenset(stems(word for word in told if word not in wholes))
    return Features(words - _task_words(), frozenset(files))


def spoken(texts: Iterable[str]) -> dict[str, str]:
    """For each word that features know, one way in which it was said: real words have vectors.
    All numbers mean nearly the same, and say nothing."""
    found: dict[str, str] = {}
    for text in texts:
        told = [word for word in query_terms(text) if not word.isdecimal()]
        for stem, word in zip(stems(told), told, strict=True):
            found[stem] = min(word, found.get(stem, word))
    return {stem: word for stem, word in found.items() if stem not in _task_words()}


@cache
def _task_words() -> frozenset[str]:
    return frozenset(stems(_TASK_WORDS.split()))


# ---------------------------------------------------------------- likeness


def similarity_of(features: Sequence[Features], meaning: Meaning | None = None) -> Similarity:
    """The likeness of these things; `meaning` tells of words that differ."""
    counts = Counter(word for item in features for word in item.words)
    usual = 8 + len(features) / 50
    # In a small set a common word is what the set is about; in a large one it says little.
    weight = {word: 1 / (1 + log2(max(count / usual, 1))) for word, count in counts.items()}
    # `fsum`, because the order of a set is another one in every process.
    lengths = [sqrt(fsum(weight[word] ** 2 for word in item.words)) or 1.0 for item in features]
    places = [_places(item.files) for item in features]

    def similarity(one: int, other: int) -> float:
        ours, theirs = features[one].words, features[other].words
        shared = ours & theirs
        if meaning is None and not shared:
            return 0.0
        files = _share_files(places[one], places[other])
        here = (files or 0.0) >= SAME_PLACE
        # One keyword in common says nothing, unless the work was in the same place.
        telling = here if len(shared) < 2 and shared != ours | theirs else True
        common = fsum(weight[word] ** 2 for word in shared) if telling else 0.0
        words = common / (lengths[one] * lengths[other])
        if meaning is None or words >= THRESHOLD:
            return _blended(words, files)
        rest = ours - shared, theirs - shared
        same = meaning.alike(*rest) if max(map(len, rest)) <= MOST_COMPARED else 0.0
        if same >= (SAME_MEANING_HERE if shared or here else SAME_MEANING):
            words = max(words, (1 + same) / 2)
        return _blended(words, files)

    return similarity


def alike(one: Features, other: Features, meaning: Meaning | None = None) -> float:
    """The likeness of two things that stand alone."""
    return similarity_of((one, other), meaning)(0, 1)


def _blended(meaning: float, files: float | None) -> float:
    if meaning < LEAST_SAID:
        return 0.0
    if files is None:
        return min(meaning, 1.0)
    return min(WORDS_SHARE * meaning + (1 - WORDS_SHARE) * files, 1.0)


class _Places(NamedTuple):
    files: frozenset[str]
    folders: frozenset[str]
    names: frozenset[str]
    areas: frozenset[str]


def _places(files: frozenset[str]) -> _Places:
    folders = frozenset(path.rpartition("/")[0] for path in files if "/" in path)
    return _Places(
        files,
        folders,
        frozenset(path.rpartition("/")[2] for path in files),
        frozenset(folder.rpartition("/")[0] for folder in folders if "/" in folder),
    )


def _share_files(one: _Places, other: _Places) -> float | None:
    """How much the files have in common: themselves, folders, names; None where there are none."""
    if not one.files or not other.files:
        return None
    worth = (1.0, 0.7, 0.5, 0.4)
    pairs = zip(one, other, worth, strict=True)
    return max(share * len(a & b) / max(min(len(a), len(b)), 1) for a, b, share in pairs)


# ---------------------------------------------------------------- clusters


def clusters(
    features: Sequence[Features],
    similarity: Similarity | None = None,
    meaning: Meaning | None = None,
    threshold: float = THRESHOLD,
) -> list[Cluster]:
    """The clusters of two or more, those with the first members first; `meaning` is that of the
    features' words."""
    like = similarity or similarity_of(features, meaning)
    keys = lookup_keys(features)
    stars = {place: [place] for place in range(len(features))}
    for _ in range(MOST_ROUNDS):
        centres = sorted(stars)
        near = _near_in_meaning(centres, features, meaning) if meaning else {}
        edges = neighbours(centres, keys, like, threshold, near)
        joined = _joined(stars, edges, like, threshold)
        if len(joined) == len(stars):
            break
        stars = joined
    found = [
        Cluster(centre, tuple(sorted(members)), _cohesion(centre, members, like))
        for centre, members in stars.items()
        if len(members) > 1
    ]
    return sorted(found, key=lambda cluster: cluster.members)


def _near_in_meaning(
    places: Sequence[int], features: Sequence[Features], meaning: Meaning
) -> dict[int, list[int]]:
    """Those that may mean the same although they share no word."""
    found = meaning.nearest([features[place].words for place in places])
    return {place: [places[at] for at in near] for place, near in zip(places, found, strict=True)}


def neighbours(
    places: Sequence[int],
    keys: Sequence[Sequence[str]],
    like: Similarity,
    threshold: float,
    near_too: Mapping[int, Iterable[int]] = {},
) -> dict[int, dict[int, float]]:
    """Who is like whom among these places, as far as they share a key and stand close together;
    `near_too` are others to compare with.

    The places are put in the order of their keys, so that those who share most stand close.
    """
    near: dict[str, deque[int]] = {}
    edges: dict[int, dict[int, float]] = {place: {} for place in places}
    for place in sorted(places, key=lambda one: (keys[one], one)):
        seen = {other for key in keys[place] for other in near.get(key, ())}
        seen.update(near_too.get(place, ()))
        for other in sorted(seen):
            likeness = like(other, place)
            if likeness >= threshold:
                edges[place][other] = edges[other][place] = likeness
        for key in keys[place]:
            near.setdefault(key, deque(maxlen=NEIGHBOURS)).append(place)
    return edges


def lookup_keys(features: Sequence[Features]) -> list[tuple[str, ...]]:
    """The rarest words and files of each thing that others have too, the rarest first."""
    given = [[*item.words, *(f"/{path}" for path in item.files)] for item in features]
    counts = Counter(key for keys in given for key in keys)
    return [
        tuple(sorted((k for k in keys if counts[k] > 1), key=lambda k: (counts[k], k))[:MOST_KEYS])
        for keys in given
    ]


def _joined(
    stars: dict[int, list[int]],
    edges: dict[int, dict[int, float]],
    like: Similarity,
    threshold: float,
) -> dict[int, list[int]]:
    """The stars after each centre took in those around it, the ones with most around first."""
    taken: set[int] = set()
    joined: dict[int, list[int]] = {}
    for centre in sorted(stars, key=lambda one: (-len(edges[one]), -len(stars[one]), one)):
        if centre in taken:
            continue
        taken.add(centre)
        joined[centre] = list(stars[centre])
        for other in sorted(set(edges[centre]) - taken):
            staying = [one for one in stars[other] if like(centre, one) < threshold]
            if other in staying:
                continue
            taken.add(other)
            joined[centre] += [one for one in stars[other] if one not in staying]
            for one in staying:
                joined[one] = [one]
                taken.add(one)
    return joined


def _cohesion(centre: int, members: Sequence[int], like: Similarity) -> float:
    others = [like(centre, one) for one in members if one != centre]
    return sum(others) / len(others)
