"""Cluster texts that belong together: tasks of one sort, notes that say the same.

Two texts are compared only if they share something rare (a word, a file), and each with few others:
the work grows like n log n, for any number of common words. A cluster is a star: every member is
similar to its centre, so that no chain of small similarities joins unrelated texts. The default
similarity compares words and files, never a single shared keyword, and with word vectors also the
meaning of the words that differ.

Only the words that two texts do *not* share are compared by meaning: a shared keyword would make
every pair similar ("user login", "billing login"). The meaning of several words is the sum of their
vectors.
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
"""The vector of each word, in the form of `index.vectors`."""

MEANING_WINDOW = 500
"""The nearest are searched among this many to twice as many neighbouring texts."""

NEAREST_MEANINGS = 4
_FAR = 0.4
"""The share of differing signs at a cosine of 0.3."""

_REMEMBERED = 200_000


class WordMeanings:
    """Compares words by their vectors. The product of two words is cached."""

    def __init__(self, vectors: WordVectors) -> None:
        self._vectors = {word: vector for word, vector in vectors.items() if has_direction(vector)}
        self._sums = {word: sum(vector) for word, vector in self._vectors.items()}
        self._products: dict[tuple[str, str], int] = {}

    def alike(self, one: Iterable[str], other: Iterable[str]) -> float:
        """Return the cosine of two sets of words; 0 if either has no known word."""
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
        """Yield for each set of words the nearest ones around it: candidates to compare."""
        signs = [self._signs(words) for words in things]
        most = _FAR * len(next(iter(self._vectors.values()), b""))
        for place, own in enumerate(signs):
            start = max(place // MEANING_WINDOW - 1, 0) * MEANING_WINDOW
            around = enumerate(
                signs[start : place + MEANING_WINDOW - place % MEANING_WINDOW], start
            )
            # Counting the differing signs takes a tenth of a microsecond a pair.
            found = [(far, at) for at, sign in around if (far := (own ^ sign).bit_count()) < most]
            nearest = nsmallest(NEAREST_MEANINGS + 1, found) if own else []
            yield [at for _, at in nearest if at != place]

    def _signs(self, words: Iterable[str]) -> int:
        """Return the signs of the summed vector; 0 without a known word."""
        rows = [self._vectors[word] for word in self._known(words)]
        zero = ZERO * len(rows)
        sums = map(sum, zip(*rows, strict=True))
        return int("".join(["1" if total > zero else "0" for total in sums]) or "0", 2)


def has_direction(vector: bytes) -> bool:
    """Check for a vector other than zero, which an unknown word has."""
    return vector.count(ZERO) < len(vector)


Similarity = Callable[[int, int], float]
"""The similarity of two texts, from 0 to 1, by their indexes."""

THRESHOLD = 0.5
MOST_KEYS = 8
"""A text is looked up by this many of its rarest words and files."""

NEIGHBOURS = 6
"""A text is compared with this many others that share a word or file."""

MOST_ROUNDS = 6
WORDS_SHARE = 0.65
"""The weight of words if both texts have files; files have the rest."""

LEAST_WORDS = 0.3
"""Tasks with less similar words are never of one sort, whatever their files."""

SAME_PLACE = 0.6
"""From this similarity of files on, one shared word is enough."""

SAME_MEANING, SAME_MEANING_HERE = 0.5, 0.4
"""The cosine from which differing words mean the same: without anything else in common, and with a
shared word or place. Tried on 70 goals of 14 sorts and 20 others with a word of theirs: of 3,865
pairs of different sorts none came as far, of 140 pairs of one sort 21."""

MOST_COMPARED = 8
"""At most this many differing words are compared by meaning: many words together mean about the
same everywhere (a cosine of 0.25 and up to 0.5 between unrelated texts of sixteen words and more).
"""

_TASK_WORDS = """
    add adjust allow another apply build change check clean complete continue convert create debug
    define delete develop do enable ensure extend feature finish fix follow following get handle
    implement improve include integrate introduce investigate issue know let like look make
    modify move need new ok patch please plan post prepare problem propose provide put refactor
    remove rename replace resolve run see set setup small solve start support take task tell
    think try update upgrade use want work write
"""


class TextFeatures(NamedTuple):
    """The features of a text: the stems of its content words, and its files."""

    words: frozenset[str]
    files: frozenset[str] = frozenset()


class Cluster(NamedTuple):
    """A centre, all members (including the centre) in order, and their mean similarity."""

    centre: int
    members: tuple[int, ...]
    cohesion: float


def extract_features(text: str, files: Iterable[str] = ()) -> TextFeatures:
    """Return the features of a goal or statement and its files."""
    told = query_terms(text)
    # `client-side` is two words here: the compound would count a third time.
    wholes = {a + b for a, b in pairwise(told)}
    words = frozenset(stem_all(word for word in told if word not in wholes))
    return TextFeatures(words - _task_words(), frozenset(files))


def words_by_stem(texts: Iterable[str]) -> dict[str, str]:
    """Map each stem to one of its words: only real words have vectors. Numbers are left out: they
    all mean nearly the same."""
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
    """Return the similarity function of these texts; `meaning` compares differing words."""
    counts = Counter(word for item in features for word in item.words)
    usual = 8 + len(features) / 50
    # In a small set a common word is the topic of the set; in a large one it is unspecific.
    weight = {word: 1 / (1 + log2(max(count / usual, 1))) for word, count in counts.items()}
    # `fsum`, because the order of a set differs in every process.
    lengths = [sqrt(fsum(weight[word] ** 2 for word in item.words)) or 1.0 for item in features]
    places = [_places(item.files) for item in features]

    def similarity(one: int, other: int) -> float:
        ours, theirs = features[one].words, features[other].words
        shared = ours & theirs
        if meaning is None and not shared:
            return 0.0
        files = _share_files(places[one], places[other])
        here = (files or 0.0) >= SAME_PLACE
        # One common keyword means nothing, unless the files are in the same place.
        telling = here or len(shared) >= 2 or shared == ours | theirs
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
    """Return the similarity of two texts."""
    return make_similarity((one, other), meaning)(0, 1)


def _blended(words: float, files: float | None) -> float:
    if words < LEAST_WORDS:
        return 0.0
    if files is None:
        return min(words, 1.0)
    return min(WORDS_SHARE * words + (1 - WORDS_SHARE) * files, 1.0)


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
    """Return how much the files have in common: paths, folders, names; None without files."""
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
    """Return the clusters of two or more, in the order of their first members; `meaning` knows the
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
    """Return the texts that may mean the same without sharing a word."""
    found = meaning.nearest([features[place].words for place in places])
    return {place: [places[at] for at in near] for place, near in zip(places, found, strict=True)}


def find_neighbours(
    places: Sequence[int],
    keys: Sequence[Sequence[str]],
    like: Similarity,
    threshold: float,
    near_too: Mapping[int, Iterable[int]] = {},
) -> dict[int, dict[int, float]]:
    """Return the similar pairs among those that share a key and are close in the order of keys;
    `near_too` adds other candidates.

    Sorting by keys brings those together that share most.
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
    """Return the rarest shared words and files of each text, the rarest first."""
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
    """Merge stars: each centre takes in its neighbours, the centre with most neighbours first."""
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
