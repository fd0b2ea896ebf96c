"""Sentences like those that engineers write: with paths, symbols, versions and error texts.

They are generated, so that the bench needs no data; or read from the text files of a folder, line
by line.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from random import Random

from recollect.memory import hygiene

_PARTS = [
    "api",
    "auth",
    "billing",
    "cache",
    "checkout",
    "client",
    "config",
    "consumer",
    "crawler",
    "dashboard",
    "database",
    "deploy",
    "diff",
    "editor",
    "email",
    "events",
    "export",
    "feed",
    "gateway",
    "graph",
    "import",
    "index",
    "ingest",
    "inventory",
    "invoice",
    "jobs",
    "ledger",
    "limits",
    "locale",
    "login",
    "mailer",
    "metrics",
    "migrations",
    "notify",
    "orders",
    "parser",
    "payments",
    "permissions",
    "pipeline",
    "plugins",
    "profile",
    "proxy",
    "queue",
    "ranking",
    "refunds",
    "registry",
    "render",
    "replay",
    "report",
    "retry",
    "router",
    "scheduler",
    "schema",
    "search",
    "session",
    "settings",
    "shipping",
    "signup",
    "storage",
    "stream",
    "sync",
    "tasks",
    "telemetry",
    "template",
    "tenant",
    "tokens",
    "upload",
    "users",
    "vault",
    "webhook",
    "worker",
]
_VERBS = [
    "retries",
    "drops",
    "caches",
    "validates",
    "rewrites",
    "batches",
    "locks",
    "refreshes",
    "signs",
    "rejects",
    "merges",
    "streams",
    "throttles",
    "serialises",
    "rolls-back",
    "re-queues",
    "normalises",
    "deduplicates",
    "encrypts",
    "truncates",
]
_THINGS = [
    "requests",
    "rows",
    "cookies",
    "tokens",
    "events",
    "invoices",
    "uploads",
    "sessions",
    "migrations",
    "replicas",
    "messages",
    "headers",
    "timestamps",
    "payloads",
    "thumbnails",
    "retries",
    "webhooks",
    "locks",
    "transactions",
    "exports",
]
_ERRORS = (
    "TimeoutError: pool exhausted after {n}s",
    "KeyError: '{a}_{b}'",
    "ECONNREFUSED 127.0.0.1:{p}",
    'duplicate key value violates unique constraint "{a}_{b}_key"',
    "TypeError: cannot read properties of undefined (reading '{b}')",
    "panic: runtime error: index out of range [{n}] with length {n}",
    "OSError: [Errno 28] No space left on device",
    "413 Request Entity Too Large",
)
_SHAPES = (
    "`src/{a}/{b}.py` {v} {t} before the {c} service answers",
    "{A} {v} {t}; the limit is {n} per minute in staging",
    "When `{a}_{b}()` fails with {e}, restart the {c} worker first",
    "The {a} tests need Postgres {n} on port {p} and a seeded {b} schema",
    "Never call `{A}{B}.{v0}` from the {c} handler: it {v} {t} twice",
    "We moved {t} of the {a} module from packages/{b}/index.ts to services/{c}/main.go",
    "Deploys of {a} wait for the {b} migration; use `make {c}-release` from the main branch",
    "The {a} dashboard shows {t} late because {b} {v} them in the {c} queue",
    "Use {n} workers for {a}; with more, {e} comes up in {b}",
    "{A} and {B} share the {c} table: an {a} change needs a review of {b}",
)


class Sentences:
    """A source of sentences; `read` ones come first, then generated ones."""

    def __init__(self, folder: str = "", seed: int = 1) -> None:
        self._rng = Random(seed)
        self._read = _lines(folder) if folder else iter(())
        self._asked = [_plain_words(line) for line in islice(_lines(folder), 5_000)]
        self._asked = [words for words in self._asked if len(words) > _ASKED]

    def next(self) -> str:
        """Return a sentence that memory keeps."""
        while hygiene.find_refusal(
            text := next(self._read, "") or self._generate(), "fact", "project"
        ):
            pass
        return text

    def _generate(self) -> str:
        pick = self._rng.choice
        a, b, c = pick(_PARTS), pick(_PARTS), pick(_PARTS)
        verb = pick(_VERBS)
        words = {
            "a": a, "b": b, "c": c, "A": a.title(), "B": b.title(), "v": verb,
            "v0": verb.rstrip("s").replace("-", "_"), "t": pick(_THINGS),
            "n": self._rng.randrange(2, 500), "p": self._rng.randrange(1024, 60_000),
        }  # fmt: skip
        return pick(_SHAPES).format(e=pick(_ERRORS).format(**words), **words)

    def question(self) -> str:
        """Return a question that words answer: some words of a sentence that was read."""
        pick = self._rng.choice
        if self._asked:
            words = pick(self._asked)
            start = self._rng.randrange(len(words) - _ASKED)
            return f"how does {' '.join(words[start : start + _ASKED])}"
        return f"how does {pick(_PARTS)} {pick(_PARTS)} handle {pick(_THINGS)} for {pick(_PARTS)}"


UNANSWERED = (
    "purchases returned by unhappy customers",
    "why is the website slow at night",
    "who may see what in the product",
    "moving data to the new place safely",
    "sending letters to people who forgot to pay",
    "keeping secrets out of sight",
)
"""Questions whose words are in no sentence: only their meaning can find anything."""


_ASKED = 5


def _plain_words(line: str) -> list[str]:
    return [word for word in line.split() if word.strip(".,").isalpha()]


def _lines(folder: str) -> Iterator[str]:
    for place, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            with open(os.path.join(place, name), encoding="utf-8", errors="replace") as file:
                for line in file:
                    if 20 <= len(line.strip()) <= 2_000:
                        yield line.strip()
