"""Which things belong together: tasks of one sort, notes that say the same.

Two things are compared only if they share something rare (a word, a file), and each with few of
those: the work grows like n log n, whatever the number of common words. A cluster is a star: every
member is like its centre, so that no chain of small likenesses joins strangers. The likeness may
be given; the one here looks at words and files, never at a single shared keyword, and where there
are vectors of the words, at what the words that differ mean. It does not know what the things are.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from heapq import nsmallest
from itertools import pairwise
from math import fsum, log2, sqrt
from operator import mul
from typing import NamedTuple

from ..text.terms import query_terms, stem_all
from .vectors import ZERO

WordVectors = Mapping[str, bytes]

"""The vector of each word."""

MEANING_WINDOW = 500

"""Among so many to twice as many things that stand close together the nearest are looked for."""

NEAREST_MEANINGS = 4

_FAR = 0.4

"""This share of the signs differs where the cosine is 0.3."""

_REMEMBERED = 200_000


class WordMeanings:
    """What words mean. The product of two of them is worked out once."""

    def __init__(self, vectors: WordVectors) -> None:
        self._vectors = {word: vector for word, vector in vectors.items() if has_direction(vector)}
        self._sums = {word: sum(vector) for word, vector in self._vectors.items()}
        self._products: dict[tuple[str, str], int] = {}

    def alike(self, one: Iterable[str], other: Iterable[str]) -> float:
        """The cosine of what these and those words mean, 0 where either means nothing known."""
        ours, theirs = self._known(one), self._known(other)
        along = self._all(ours, theirs)
        if along <= 0:
            return 0.0
        return along / sqrt(self._all(ours, ours) * self._all(theirs, theirs))

    def _known(self, words: Iterable[str]) -> list[str]:
        return [word for word in words if word in self._vectors]

    def _all(self, ours: Sequence[str], theirs: Sequence[str]) -> int:
        product = self._product
        return sum([product(one, other) for one in ours for other in theirs])

    def _product(self, one: str, other: str) -> int:
        pair = (one, other) if one <= other else (other, one)
        found = self._products.get(pair)
        if found is None:
            if len(self._products) >= _REMEMBERED:
                self._products.clear()
            raw = sum(map(mul, self._vectors[one], self._vectors[other]))
            shift = ZERO * (self._sums[one] + self._sums[other])
            found = raw - shift + ZERO * ZERO * len(self._vectors[one])
            self._products[pair] = found
        return found

    def nearest(self, things: Sequence[Collection[str]]) -> Iterator[list[int]]:
        """For each thing, given by its words, the places of those around it that point most nearly
        its way: candidates, to be compared."""
        signs = [self._signs(words) for words in things]
        most = _FAR * len(next(iter(self._vectors.values()), b""))
        for place, own in enumerate(signs):
            start = max(place // MEANING_WINDOW - 1, 0) * MEANING_WINDOW
            around = enumerate(
                signs[start : place + MEANING_WINDOW - place % MEANING_WINDOW], start
            )
            # Signs that differ are counted: it takes a tenth of a microsecond a pair.
            found = [(far, at) for at, sign in around if (far := (own ^ sign).bit_count()) < most]
            nearest = nsmallest(NEAREST_MEANINGS + 1, found) if own else []
            yield [at for _, at in nearest if at != place]

    def _signs(self, words: Iterable[str]) -> int:
        """The sign of each component of what the words mean; 0 where they mean nothing known."""
        rows = [self._vectors[word] for word in self._known(words)]
        zero = ZERO * len(rows)
        sums = map(sum, zip(*rows, strict=True))
        return int("".join(["1" if total > zero else "0" for total in sums]) or "0", 2)


def has_direction(vector: bytes) -> bool:
    """Whether a vector points anywhere: that of a word nobody knows does not."""
    return vector.count(ZERO) < len(vector)


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

LEAST_WORDS = 0.3

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


class TextFeatures(NamedTuple):
    """What a thing is recognised by: the stems of its telling words, and its files."""

    words: frozenset[str]
    files: frozenset[str] = frozenset()


class Cluster(NamedTuple):
    """A centre, all members (the centre among them) in their order, and how alike they are."""

    centre: int
    members: tuple[int, ...]
    cohesion: float


def extract_features(text: str, files: Iterable[str] = ()) -> TextFeatures:
    """The features of a goal or statement and of the files that go with it."""
    told = query_terms(text)
    # `client-side` is two words here: the whole would count a third time.
    wholes = {a + b for a, b in pairwise(told)}
    words = frozenset(stem_all(word for word in told if word not in wholes))
    return TextFeatures(words - _task_words(), frozenset(files))


def words_by_stem(texts: Iterable[str]) -> dict[str, str]:
    """For each word that features know, one way in which it was said: real words have vectors.
    All numbers mean nearly the same, and say nothing."""
    found: dict[str, str] = {}
    for text in texts:
        told = [word for word in query_terms(text) if not word.isdecimal()]
        for stem, word in zip(stem_all(told), told, strict=True):
            found[stem] = min(word, found.get(stem, word))
    return {stem: word for stem, word in found.items() if stem not in _task_words()}


@cache
def _task_words() -> frozenset[str]:
    return frozenset(stem_all(_TASK_WORDS.split()))


# ---------------------------------------------------------------- likeness


def make_similarity(
    features: Sequence[TextFeatures], meaning: WordMeanings | None = None
) -> Similarity:
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


def compare_features(
    one: TextFeatures, other: TextFeatures, meaning: WordMeanings | None = None
) -> float:
    """The likeness of two things that stand alone."""
    return make_similarity((one, other), meaning)(0, 1)


def _blended(meaning: float, files: float | None) -> float:
    if meaning < LEAST_WORDS:
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


def find_clusters(
    features: Sequence[TextFeatures],
    similarity: Similarity | None = None,
    meaning: WordMeanings | None = None,
    threshold: float = THRESHOLD,
) -> list[Cluster]:
    """The clusters of two or more, those with the first members first; `meaning` is that of the
    features' words."""
    like = similarity or make_similarity(features, meaning)
    keys = choose_keys(features)
    stars = {place: [place] for place in range(len(features))}
    for _ in range(MOST_ROUNDS):
        centres = sorted(stars)
        near = _near_in_meaning(centres, features, meaning) if meaning else {}
        edges = find_neighbours(centres, keys, like, threshold, near)
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
    places: Sequence[int], features: Sequence[TextFeatures], meaning: WordMeanings
) -> dict[int, list[int]]:
    """Those that may mean the same although they share no word."""
    found = meaning.nearest([features[place].words for place in places])
    return {place: [places[at] for at in near] for place, near in zip(places, found, strict=True)}


def find_neighbours(
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


def choose_keys(features: Sequence[TextFeatures]) -> list[tuple[str, ...]]:
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
