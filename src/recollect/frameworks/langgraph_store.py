"""LangGraph's `BaseStore` over a project's memory: `pip install '.[langgraph]'`.

    import recollect
    from recollect.frameworks.langgraph_store import MemoryStore

    with recollect.open(origin="agent") as mem:
        store = MemoryStore(mem)
        store.put(("users", "ana"), "editor", {"text": "Ana writes in Helix"})
        store.search(("users",), query="which editor")

A search with a query needs no embeddings: the memory's own index matches words. With `index` the
given embeddings are used, as in LangGraph's other stores. A query sorts the items and does not
filter them: items that do not match come last, without a score. Expired items are never returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ..client import Recollect
from ..errors import missing_extra
from . import steps_folders
from .steps_folders import PutValue, StoredValue
from .storage import FrameworkStorage

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        IndexConfig,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        ensure_embeddings,
        get_text_at_path,
        tokenize_path,
        validate_op_namespace,
    )
except ModuleNotFoundError as error:
    raise missing_extra("langgraph", __name__) from error

FRAMEWORK = "langgraph"
_MINUTE = 60_000_000
Vector = Sequence[float]


class MemoryStore(BaseStore):
    """Items in namespaces. One call of `batch` reads first and then writes, all or nothing."""

    supports_ttl = True

    def __init__(
        self,
        memory: Recollect,
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        self._storage = FrameworkStorage(memory, FRAMEWORK)
        self.index_config = index
        self.ttl_config = ttl
        self.embeddings = ensure_embeddings(index.get("embed")) if index else None

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        given = list(ops)
        queries, texts = _collect_texts(given, self.index_config)
        if self.embeddings is None:
            return self._execute(given, {})
        vectors = dict(zip(texts, self.embeddings.embed_documents(texts), strict=True))
        vectors |= {query: self.embeddings.embed_query(query) for query in queries}
        return self._execute(given, vectors)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        given = list(ops)
        queries, texts = _collect_texts(given, self.index_config)
        vectors: dict[str, Vector] = {}
        if self.embeddings is not None:
            vectors |= zip(texts, await self.embeddings.aembed_documents(texts), strict=True)
            for query in queries:
                vectors[query] = await self.embeddings.aembed_query(query)
        return await self._storage.run(self._execute, given, vectors)

    def sweep_ttl(self) -> int:
        """Remove expired items and return their number."""
        return self._storage.write(steps_folders.remove_expired)

    def _execute(self, ops: Sequence[Op], vectors: Mapping[str, Vector]) -> list[Result]:
        """Answer all reads, then write; the last value of a key wins."""
        results: list[Result] = []
        puts: dict[tuple[tuple[str, ...], str], PutValue] = {}
        for op in ops:
            validate_op_namespace(op)
            answer: Result = None
            if isinstance(op, GetOp):
                answer = self._get_item(op)
            elif isinstance(op, SearchOp):
                answer = self._search(op, vectors)
            elif isinstance(op, ListNamespacesOp):
                answer = self._list_namespaces(op)
            elif isinstance(op, PutOp):
                puts[op.namespace, op.key] = self._put(op, vectors)
            else:
                raise TypeError(f"{type(op).__name__} is not an operation of a store")
            results.append(answer)
        if puts:
            self._storage.write(steps_folders.put_values, list(puts.values()))
        return results

    def _put(self, op: PutOp, vectors: Mapping[str, Vector]) -> PutValue:
        if op.value is None:
            return PutValue(op.namespace, op.key, None)
        texts = _texts(op, self.index_config)
        return PutValue(
            folder=op.namespace,
            key=op.key,
            value=op.value,
            words="\n".join([op.key, *texts]) if texts else "",
            vectors=[vectors[text] for text in texts if text in vectors],
            life=round((op.ttl or 0) * _MINUTE),
        )

    def _get_item(self, op: GetOp) -> Item | None:
        kept = self._storage.read(steps_folders.get_value, op.namespace, op.key)
        if kept is None:
            return None
        self._refresh([kept], op.refresh_ttl)
        return Item(**_item_fields(kept))

    def _search(self, op: SearchOp, vectors: Mapping[str, Vector]) -> list[SearchItem]:
        found = [
            item
            for item in self._storage.read(steps_folders.list_below, tuple(op.namespace_prefix))
            if all(
                _matches_filter(_get_path(item.value, path), want)
                for path, want in (op.filter or {}).items()
            )
        ]
        scores: Mapping[str, float] = {}
        if op.query and self.embeddings is not None:
            wanted = vectors[op.query]
            scores = {
                item.address: max(_cosine(wanted, vector) for vector in item.vectors)
                for item in found
                if item.vectors
            }
        elif op.query:
            scores = self._storage.read(steps_folders.find_matches, op.query)
        found.sort(key=lambda item: -scores.get(item.address, -2.0))
        page = found[op.offset : op.offset + op.limit]
        self._refresh(page, op.refresh_ttl)
        return [SearchItem(**_item_fields(item), score=scores.get(item.address)) for item in page]

    def _list_namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        named = {
            folder[: op.max_depth]
            for folder, _ in self._storage.list_folders()
            if all(_matches_condition(folder, condition) for condition in op.match_conditions or ())
        }
        return sorted(named)[op.offset : op.offset + op.limit]

    def _refresh(self, items: Sequence[StoredValue], wanted: bool) -> None:
        if addresses := [item.address for item in items if wanted and item.life]:
            self._storage.write(steps_folders.renew_values, addresses)


def _collect_texts(ops: Sequence[Op], index: IndexConfig | None) -> tuple[list[str], list[str]]:
    """Return the queries and texts that need embeddings."""
    if index is None:
        return [], []
    queries = {op.query for op in ops if isinstance(op, SearchOp) and op.query}
    texts = {text for op in ops if isinstance(op, PutOp) for text in _texts(op, index)}
    return sorted(queries), sorted(texts)


def _texts(op: PutOp, index: IndexConfig | None) -> list[str]:
    """Return the texts of a value that are indexed."""
    if op.value is None or op.index is False:
        return []
    paths = op.index or (index.get("fields") if index else None) or ["$"]
    found = [text for path in paths for text in _texts_at(op.value, path)]
    return list(dict.fromkeys(found))


def _texts_at(value: Any, path: str) -> list[str]:
    return get_text_at_path(value, path if path == "$" else tokenize_path(path))


def _item_fields(kept: StoredValue) -> dict[str, Any]:
    return {
        "namespace": kept.folder,
        "key": kept.key,
        "value": kept.value,
        "created_at": datetime.fromtimestamp(kept.created / 1e6, UTC),
        "updated_at": datetime.fromtimestamp(kept.updated / 1e6, UTC),
    }


def _get_path(value: Any, path: str) -> Any:
    """Return the value at a key or at a dotted path."""
    if path in value:
        return value[path]
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _matches_filter(value: Any, wanted: Any) -> bool:
    """Check whether a value equals a filter's value or satisfies its operators."""
    if not isinstance(wanted, Mapping):
        return bool(value == wanted)
    if any(key.startswith("$") for key in wanted):
        return all(_compare(value, operator, other) for operator, other in wanted.items())
    return isinstance(value, Mapping) and all(
        _matches_filter(value.get(key), inner) for key, inner in wanted.items()
    )


_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": lambda value, other: bool(value == other),
    "$ne": lambda value, other: bool(value != other),
    "$gt": lambda value, other: float(value) > float(other),
    "$gte": lambda value, other: float(value) >= float(other),
    "$lt": lambda value, other: float(value) < float(other),
    "$lte": lambda value, other: float(value) <= float(other),
}


def _compare(value: Any, operator: str, other: Any) -> bool:
    if operator not in _OPERATORS:
        raise ValueError(f"Unsupported operator: {operator}")
    try:
        return _OPERATORS[operator](value, other)
    except (TypeError, ValueError, OverflowError):
        # A value that is not a number is neither greater nor less.
        return False


def _matches_condition(folder: tuple[str, ...], condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if len(folder) < len(path):
        return False
    end = folder[: len(path)] if condition.match_type == "prefix" else folder[-len(path) :]
    return all(want in ("*", label) for want, label in zip(path, end, strict=True))


def _cosine(one: Vector, other: Vector) -> float:
    product = sum(a * b for a, b in zip(one, other, strict=True))
    lengths = sum(a * a for a in one) ** 0.5 * sum(b * b for b in other) ** 0.5
    return float(product / lengths) if lengths else 0.0
