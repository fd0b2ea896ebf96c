"""The seal of a record: a digest over its texts, so that a change from outside is noticed.

SQLite seals every row that Recollect writes (`storage.sqlite_health`). A bad disk, another program
or a careless hand changes the text but not the seal. It is not a signature: code that knows this
module can make a seal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import StoreCorrupt

_MEMORY = (
    *("id", "root", "revision", "kind", "text", "subject", "detail", "category", "scope", "tags"),
    *("examples", "citations", "evidence", "reason", "priority", "layer", "owner", "origin"),
    *("label", "sources", "digest", "change"),
)

COLUMNS: Mapping[str, Sequence[str]] = {
    "memories": _MEMORY,
    "memory_revisions": _MEMORY,
    "documents": (
        *("address", "revision", "type", "title", "text", "fields", "layer", "owner", "origin"),
        *("label", "sources"),
    ),
    "episodes": (
        *("id", "task", "session", "agent", "phase", "goal", "outcome", "body", "synopsis"),
        *("origin", "label", "sources"),
    ),
    "procedures": ("id", "root", "revision", "name", "description", "body", "origin", "label"),
}
"""The sealed columns of each table. The status is not: it changes often, and says nothing."""


def make_seal(*values: object) -> str:
    """Return the seal of the values of a record, in the order of its columns."""
    from _blake2 import blake2b  # hashlib would load OpenSSL, which costs a hook milliseconds

    parts = [str(value).encode("utf-8", "surrogatepass") for value in values]
    sizes = b",".join(b"%d" % len(part) for part in parts)
    return blake2b(b"\n".join((sizes, *parts)), digest_size=16).hexdigest()


def altered_error(id: str) -> StoreCorrupt:
    """Return the error for a record that was not changed by Recollect."""
    return StoreCorrupt(
        "this record was changed by something else than Recollect, and is not used",
        where=f"memory://{id}",
        hint="`recollect recover` takes it from a backup; `recollect doctor` names all of them",
    )
