"""One small adapter for each system, with the calls that its own documentation names.

Systems that need vectors are given those of Recollect's own model: nothing is downloaded, and the
same texts have the same vectors everywhere. An adapter runs in a process of its own, with the
interpreter that has its package; nothing but the model of Recollect is imported there.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any


class Adapter:
    """A store in a folder. `words` and `meaning` say which questions it can answer."""

    package = ""
    """The distribution whose version is told; empty for this one, and for what is
    no Python package."""
    words = meaning = True
    note = ""

    def __init__(self, folder: str) -> None:
        raise NotImplementedError

    def write(self, text: str) -> None:
        """Store one text; it must survive the end of the process."""
        raise NotImplementedError

    def write_many(self, texts: Sequence[str]) -> None:
        """Store many texts in the quickest way there is."""
        raise NotImplementedError

    def by_words(self, question: str) -> list[str]:
        """Return the ten best texts by words."""
        raise NotImplementedError

    def by_meaning(self, question: str) -> list[str]:
        """Return the ten best texts by meaning."""
        raise NotImplementedError

    def cpu(self) -> float:
        """Return the seconds of processor time spent so far, in this process and its servers."""
        return time.process_time()

    def close(self) -> None:
        """Close the store."""


def embed(texts: Sequence[str]) -> list[list[float]]:
    """Return the vectors of Recollect's own model."""
    global _MODEL
    if _MODEL is None:
        from recollect.index.embedders_io import StaticEmbedder

        _MODEL = StaticEmbedder()
    return [[float(part - 128) for part in vector] for vector in _MODEL.embed(list(texts))]


_MODEL: Any = None
DIMS = 256


class Recollect(Adapter):
    note = "words and meaning in one search; checks each statement for secrets and neighbours"

    def __init__(self, folder: str) -> None:
        import recollect

        os.makedirs(f"{folder}/project", exist_ok=True)
        variables = {"RECOLLECT_HOME": f"{folder}/home", "HOME": folder}
        self._memory = recollect.open(f"{folder}/project", environment=variables, origin="user")

    def write(self, text: str) -> None:
        self._memory.learn(text)

    def write_many(self, texts: Sequence[str]) -> None:
        self._memory.learn_many([{"text": text} for text in texts])
        self._memory.store.rebuild(missing=True)

    def by_words(self, question: str) -> list[str]:
        return [hit.text for hit in self._memory.recall(question, limit=10, budget=100_000)]

    by_meaning = by_words

    def close(self) -> None:
        self._memory.close()


class Engram(Adapter):
    package = "engram-core"
    meaning = False
    note = "SQLite with FTS5; meaning needs a model to download"

    def __init__(self, folder: str) -> None:
        from engram import Memory

        self._memory = Memory(db_path=f"{folder}/engram.db")

    def write(self, text: str) -> None:
        self._memory.store(text)

    def write_many(self, texts: Sequence[str]) -> None:
        for text in texts:  # it has no call for many
            self._memory.store(text)

    def by_words(self, question: str) -> list[str]:
        return [found.memory.content for found in self._memory.search(question, limit=10)]


class LangGraph(Adapter):
    package = "langgraph-checkpoint-sqlite"
    words = False
    note = "SqliteStore with sqlite-vec; no search by words"

    def __init__(self, folder: str) -> None:
        from langgraph.store.sqlite import SqliteStore

        self._open = ExitStack()
        index: Any = {"dims": DIMS, "embed": embed, "fields": ["text"]}
        place = f"{folder}/store.db"
        self._store = self._open.enter_context(SqliteStore.from_conn_string(place, index=index))
        self._store.setup()
        self._count = time.time_ns()

    def _name(self) -> str:
        self._count += 1
        return str(self._count)

    def write(self, text: str) -> None:
        self._store.put(("memory",), self._name(), {"text": text})

    def write_many(self, texts: Sequence[str]) -> None:
        from langgraph.store.base import PutOp

        for start in range(0, len(texts), 500):
            some = texts[start : start + 500]
            self._store.batch([PutOp(("memory",), self._name(), {"text": one}) for one in some])

    def by_meaning(self, question: str) -> list[str]:
        found = self._store.search(("memory",), query=question, limit=10)
        return [item.value["text"] for item in found]

    def close(self) -> None:
        self._open.close()


class LanceDb(Adapter):
    package = "lancedb"
    note = "columns in files; the word index covers new rows after optimize()"

    def __init__(self, folder: str) -> None:
        import lancedb
        import pyarrow as pa
        from lancedb.index import FTS

        base = lancedb.connect(f"{folder}/lance")
        vector = pa.list_(pa.float32(), DIMS)
        schema = pa.schema([("text", pa.string()), ("vector", vector)])
        self._table = base.create_table("memory", schema=schema, exist_ok=True)
        if not self._table.list_indices():
            self._table.create_index("text", config=FTS())

    def write(self, text: str) -> None:
        self.write_many([text], optimize=False)

    def write_many(self, texts: Sequence[str], optimize: bool = True) -> None:
        pairs = zip(texts, embed(texts), strict=True)
        self._table.add([{"text": text, "vector": vector} for text, vector in pairs])
        if optimize:
            self._table.optimize()

    def by_words(self, question: str) -> list[str]:
        found = self._table.search(question, query_type="fts").limit(10).to_list()
        return [row["text"] for row in found]

    def by_meaning(self, question: str) -> list[str]:
        return [row["text"] for row in self._table.search(embed([question])[0]).limit(10).to_list()]


class Chroma(Adapter):
    package = "chromadb"
    words = False
    note = "HNSW; words only as a filter for a substring"

    def __init__(self, folder: str) -> None:
        import chromadb

        quiet = chromadb.Settings(anonymized_telemetry=False)
        self._client = chromadb.PersistentClient(f"{folder}/chroma", settings=quiet)
        self._texts = self._client.get_or_create_collection("memory", embedding_function=None)
        self._count = time.time_ns()

    def write(self, text: str) -> None:
        self.write_many([text])

    def write_many(self, texts: Sequence[str]) -> None:
        most = self._client.get_max_batch_size()
        for start in range(0, len(texts), most):
            some = list(texts[start : start + most])
            ids = [str(self._count + number) for number in range(len(some))]
            self._count += len(some)
            vectors: Any = embed(some)
            self._texts.add(ids=ids, documents=some, embeddings=vectors)

    def by_meaning(self, question: str) -> list[str]:
        vectors: Any = embed([question])
        found = self._texts.query(query_embeddings=vectors, n_results=10)["documents"]
        return list(found[0]) if found else []


class Mem0(Adapter):
    package = "mem0ai"
    words = False
    note = "Qdrant in a folder; infer=False, so that no model is asked"

    def __init__(self, folder: str) -> None:
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": f"{folder}/mem0"}
        from langchain_core.embeddings import Embeddings
        from mem0 import Memory

        class Ours(Embeddings):
            def embed_query(self, text: str) -> list[float]:
                return embed([text])[0]

            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                return embed(texts)

        place = {"path": f"{folder}/qdrant", "on_disk": True, "embedding_model_dims": DIMS}
        model = {"model": Ours(), "embedding_dims": DIMS}
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": place},
                "embedder": {"provider": "langchain", "config": model},
                "llm": {"provider": "openai", "config": {"api_key": "none"}},
                "history_db_path": f"{folder}/history.db",
            }
        )

    def write(self, text: str) -> None:
        self._memory.add(text, user_id="me", infer=False)

    def write_many(self, texts: Sequence[str]) -> None:
        said = [{"role": "user", "content": text} for text in texts]
        self._memory.add(said, user_id="me", infer=False)

    def by_meaning(self, question: str) -> list[str]:
        found = self._memory.search(question, filters={"user_id": "me"}, top_k=10)
        return [item["memory"] for item in found["results"]]


class McpMemory(Adapter):
    meaning = False
    note = "a JSON file that is read and written whole; a question is one substring"

    def __init__(self, folder: str) -> None:
        place = {**os.environ, "MEMORY_FILE_PATH": f"{folder}/memory.jsonl"}
        program = os.environ["BENCH_MCP_MEMORY"]
        self._server = subprocess.Popen(
            ["node", program], env=place, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._count = 0
        start = {"protocolVersion": "2025-06-18", "capabilities": {}}
        self._ask("initialize", {**start, "clientInfo": {"name": "bench", "version": "1"}})

    def _ask(self, method: str, params: Mapping[str, Any]) -> Any:
        self._count += 1
        message = {"jsonrpc": "2.0", "id": self._count, "method": method, "params": params}
        assert self._server.stdin and self._server.stdout
        self._server.stdin.write(json.dumps(message) + "\n")
        self._server.stdin.flush()
        for line in self._server.stdout:
            answer = json.loads(line)
            if answer.get("id") == self._count:
                return answer["result"]
        raise EOFError("the server has ended")

    def write(self, text: str) -> None:
        self.write_many([text])

    def write_many(self, texts: Sequence[str]) -> None:
        base = time.time_ns()
        things = [
            {"name": f"{base + number}", "entityType": "fact", "observations": [text]}
            for number, text in enumerate(texts)
        ]
        self._ask("tools/call", {"name": "create_entities", "arguments": {"entities": things}})

    def by_words(self, question: str) -> list[str]:
        found = self._ask("tools/call", {"name": "search_nodes", "arguments": {"query": question}})
        things = json.loads(found["content"][0]["text"])["entities"]
        return [one["observations"][0] for one in things[:10]]

    def cpu(self) -> float:
        with open(f"/proc/{self._server.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return time.process_time() + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        self._server.terminate()
        self._server.wait()


ADAPTERS: Mapping[str, type[Adapter]] = {
    "Recollect": Recollect,
    "engram-core": Engram,
    "LangGraph SqliteStore": LangGraph,
    "LanceDB": LanceDb,
    "Chroma": Chroma,
    "mem0": Mem0,
    "MCP memory server": McpMemory,
}
