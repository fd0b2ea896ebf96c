"""The seal of a record: a digest over its texts, so that a change from outside is noticed.

Every row that Recollect writes is sealed (SQLite: `storage.sqlite_health`; PostgreSQL: triggers of
the migration `0018_sealed`, which make another digest of the same columns). A bad disk, another
program or a manual edit changes the text but not the seal. It is not a signature: code that knows
this module can make a seal.
"""

from __future__ import annotations

from _operator import itemgetter
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from ..errors import StoreCorrupt
from ..fast_typing import TYPE_CHECKING
from ..types.records import STATUSES

if TYPE_CHECKING:
    import hashlib

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
"""The sealed columns of each table. The status is left out, because it changes often."""

NUMBERS = (
    *("confidence", "reinforcement", "successes", "failures", "recalls", "first_seen"),
    *("last_confirmed", "last_reinforced", "last_recalled", "valid_from", "valid_to"),
)
"""The numbers of a memory, which are not sealed either."""


_NAMED = 5
_UTF8 = ("utf-8", "surrogatepass")


def unknown_status(table: str) -> str:
    """Return the SQL condition of a memory with an unknown status: such a row was altered."""
    if table not in ("memories", "memory_revisions"):
        return "1 = 0"
    return f"status NOT IN ({', '.join([repr(name) for name in STATUSES])})"


def seal_form(table: str) -> str:
    """Return the SQL of the seal that a row should have; NULL for one that is not UTF-8, or holds a
    blob in place of a text, which no column has."""
    names = COLUMNS[table]
    sizes = ", ".join([f"octet_length({name})" for name in names])
    # Joined in SQL: passing each column takes three times as long.
    joined = f"CAST(concat_ws(char(10), concat_ws(',', {sizes}), {', '.join(names)}) AS BLOB)"
    return f"CASE WHEN {holds_blob(table)} THEN NULL ELSE digest({joined}) END"


def holds_blob(table: str) -> str:
    """Return the condition of a row with a blob among its sealed columns."""
    return f"'blob' IN ({', '.join([f'typeof({name})' for name in COLUMNS[table]])})"


def holds_wrong(table: str) -> str:
    """Return the condition of a row with a value that its column cannot have, beside the seal."""
    found = unknown_status(table)
    if table in ("memories", "memory_revisions"):
        types = ", ".join([f"typeof({name})" for name in NUMBERS])
        found += f" OR 'text' IN ({types}) OR 'blob' IN ({types})"
    return found


@cache
def altered_form(table: str) -> str:
    """Return the SQL condition of a row that Recollect did not write so."""
    return f"(seal IS NOT {seal_form(table)} OR {holds_wrong(table)})"


def make_seal(*values: object) -> str:
    """Return the seal of the values of a record, in the order of its columns. A blob with the bytes
    of a text has another one: no column holds blobs."""
    texts = list(map(str, values))
    whole = "\n".join(texts)
    if whole.isascii():  # encoded at once, in half the time
        sizes = ",".join(map(_NUMERALS.__getitem__, map(len, texts)))
        return _digest(f"{sizes}\n{whole}".encode())
    parts = [text.encode(*_UTF8) for text in texts]
    return _digest(b"\n".join((",".join(map(str, map(len, parts))).encode(), *parts)))


_MANY = 20
_OWN = ("id", "root", "text", "digest")


def seal_rows(table: str, names: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Return the seals of new rows of a table, whose columns have these names."""
    if table == "memories" and len(rows) >= _MANY:
        return _seal_memories(names, rows)
    sealed = _pick_sealed(table, tuple(names))
    return [make_seal(*sealed(row)) for row in rows]


@cache
def _pick_sealed(
    table: str, names: tuple[str, ...]
) -> Callable[[Sequence[object]], tuple[object, ...]]:
    """Return a function that picks the sealed values of a row whose columns have these names."""
    return itemgetter(*map(names.index, COLUMNS[table]))


def _seal_memories(names: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Return the seals of many memories. The memories of one call share most values; these are
    joined once, which halves the time."""
    own: Callable[[Sequence[object]], tuple[str, ...]] = itemgetter(*map(names.index, _OWN))
    common = itemgetter(*[names.index(name) for name in _MEMORY if name not in _OWN])
    forms: dict[tuple[object, ...], str] = {}
    found = []
    blake2b = _find_blake2b()
    for row in rows:
        shared = common(row)
        form = forms.get(shared)
        if form is None:
            form = forms[shared] = _make_form(dict(zip(names, row, strict=True)))
        values = own(row)
        is_ascii = "".join(values).isascii()
        sizes = map(len, values if is_ascii else [value.encode(*_UTF8) for value in values])
        whole = form % (*sizes, *values)
        found.append(blake2b(whole.encode(*_UTF8), digest_size=16).hexdigest())
    return found


def _make_form(record: Mapping[str, object]) -> str:
    """Return the joined text of `make_seal` as a format, with placeholders for `_OWN` values."""
    texts = {name: str(record[name]) for name in _MEMORY}
    sizes = [
        "%d" if name in _OWN else str(len(text.encode(*_UTF8))) for name, text in texts.items()
    ]
    whole = ["%s" if name in _OWN else text.replace("%", "%%") for name, text in texts.items()]
    return "\n".join([",".join(sizes), *whole])


def digest_utf8(joined: bytes) -> str | None:
    """Return the seal of the values of a record that are joined with their sizes, as `make_seal`
    does it; None if they are not UTF-8."""
    if not joined.isascii():
        try:
            joined.decode()
        except UnicodeDecodeError:
            return None
    return _find_blake2b()(joined, digest_size=16).hexdigest()


def _digest(joined: bytes) -> str:
    return _find_blake2b()(joined, digest_size=16).hexdigest()


class _Numerals(dict[int, str]):
    """Cache: small numbers as text."""

    def __missing__(self, number: int) -> str:
        text = str(number)
        if number < 1000:
            self[number] = text
        return text


_NUMERALS = _Numerals()


@cache
def _find_blake2b() -> type[hashlib.blake2b]:
    """Return blake2b without hashlib, which would load OpenSSL and cost a hook milliseconds."""
    from _blake2 import blake2b

    return blake2b


@cache
def find_sha256() -> Callable[[bytes], hashlib._Hash]:
    """Return sha256 without hashlib, which would load OpenSSL and cost a hook milliseconds. Once:
    an import that fails searches the path each time."""
    try:
        from _sha2 import sha256  # type: ignore[import-not-found]
    except ImportError:
        try:
            from _sha256 import sha256  # type: ignore[import-not-found]  # before Python 3.12
        except ImportError:
            from hashlib import sha256
    found: Callable[[bytes], hashlib._Hash] = sha256
    return found


def describe_altered(table: str, names: Sequence[str], repair: str) -> list[str]:
    """Return a sentence about the rows of a table that were changed outside Recollect, if any."""
    if not names:
        return []
    what = "1 record was" if len(names) == 1 else f"{len(names)} records were"
    kept = "set aside" if table in ("memories", "memory_revisions", "messages") else "not trusted"
    more = ", …" if len(names) > _NAMED else ""
    return [
        f"{table}: {what} changed by something else than Recollect, and {kept}: "
        f"{', '.join(names[:_NAMED])}{more}; {repair}"
    ]


def altered_error(id: str) -> StoreCorrupt:
    """Return the error for a record that was not changed by Recollect."""
    return StoreCorrupt(
        "this record was changed by something else than Recollect, and is not used",
        where=f"memory://{id}",
        hint="`recollect recover` takes it from a backup; `recollect doctor` names all of them",
    )
