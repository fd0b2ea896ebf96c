"""Recollect's ranking over an index in memory: what `recall` decides, without a store.

It builds what an engine would answer (counts of terms, the nearest vectors) and leaves every
decision to `recall.ranking`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from heapq import nlargest

from recollect.index import steps_nearest
from recollect.index import vectors as index_vectors
from recollect.recall import judgement, questions, ranking
from recollect.text import dates, terms

from .baselines import EMBEDDER, Retriever
from .datasets import Item


class InMemory(Retriever):
    """Terms in a dictionary, vectors in one block."""

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._places: list[int] = []
        self._lengths: list[int] = []
        self._holding: dict[str, dict[int, int]] = {}
        self._vectors: list[bytes] = []
        self._signs = b""

    def add(self, items: Sequence[Item]) -> None:
        place_in: Counter[str] = Counter(item.session for item in self._items)
        for item in items:
            found = terms.stem_all(terms.split_terms(item.text))
            number = len(self._items)
            for term, count in Counter(found).items():
                self._holding.setdefault(term, {})[number] = count
            self._items.append(item)
            self._lengths.append(len(found))
            self._places.append(place_in[item.session])
            self._vectors.append(EMBEDDER.vector(item.text))
            place_in[item.session] += 1
        self._signs = index_vectors.pack_signs(self._vectors)

    def search(self, question: str, count: int) -> list[str]:
        asked = {terms.stem(word): word for word in reversed(questions.subject_terms(question))}
        searched = [term for term in reversed(asked) if term in self._holding]
        total, vector = len(self._items), EMBEDDER.vector(question)
        asking = ranking.RankingQuestion(
            tuple(
                questions.term_weight(
                    total, len(self._holding[term]), EMBEDDER.static.rarity(asked[term])
                )
                for term in searched
            ),
            sum(self._lengths) / total,
            questions.asked_speaker(question),
            dates.find_period(question, max(item.at for item in self._items)),
            questions.find_names(searched),
            asks=bool(questions.question_stems(question)),
        )
        by_words = self._by_words(searched)
        vectors = [self._vectors[number] for number in by_words]
        cosines = dict(
            zip(by_words, index_vectors.cosine_similarities(vector, vectors), strict=True)
        )
        candidates = [self._candidate(n, searched, cosine) for n, cosine in cosines.items()]
        if judgement.needs_meaning(asking, candidates, total):
            for number, cosine in self._by_meaning(vector):
                if number not in cosines:
                    candidates.append(self._candidate(number, searched, cosine))
        candidates = [
            one for one in candidates if any(one.counts) or one.cosine >= ranking.LEAST_MEANING
        ]
        found = judgement.lift_newest(
            asking, candidates, ranking.score_candidates(asking, candidates)
        )
        ranked = zip(found, candidates, strict=True)
        best = sorted(ranked, key=lambda one: (-one[0], -one[1].at))[:count]
        return [self._items[candidate.address[1]].id for _, candidate in best]

    def _by_words(self, searched: Sequence[str]) -> list[int]:
        """What an engine's own bm25 would give."""
        plain = ranking.RankingQuestion(
            tuple(
                questions.term_weight(len(self._items), len(self._holding[t]), 1.0)
                for t in searched
            ),
            sum(self._lengths) / len(self._items),
        )
        holding = {number for term in searched for number in self._holding[term]}
        candidates = [self._candidate(number, searched, 0.0) for number in holding]
        gained = map(sum, ranking.bm25_gains(plain, candidates))
        found = dict(zip(holding, gained, strict=True))
        return nlargest(ranking.BY_WORDS, sorted(found), key=lambda number: found[number])

    def _by_meaning(self, asked: bytes) -> list[tuple[int, float]]:
        looked_at = index_vectors.pick_best(
            index_vectors.score_blocks(asked, [self._signs]),
            steps_nearest.SIGNED * ranking.BY_MEANING,
        )
        found = index_vectors.cosine_similarities(
            asked, [self._vectors[number] for number in looked_at]
        )
        ranked = sorted(zip(looked_at, found, strict=True), key=lambda one: -one[1])
        return ranked[: ranking.BY_MEANING]

    def _candidate(
        self, number: int, searched: Sequence[str], cosine: float
    ) -> ranking.RankingCandidate:
        item = self._items[number]
        return ranking.RankingCandidate(
            (item.session, number),
            tuple(self._holding[term].get(number, 0) for term in searched),
            self._lengths[number],
            cosine,
            item.at,
            item.session,
            self._places[number],
            item.role,
            digest=blake2b(item.text.encode(), digest_size=8).hexdigest(),
        )
