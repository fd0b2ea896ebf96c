"""The SQL of links: typed connections that can be followed from both ends."""

from __future__ import annotations

from ..storage.database import Row, Tx, batches
from ..types.records import FOREVER, Link, SafeText

_COLUMNS = "source, relation, target, reason, origin, valid_from"


def put(tx: Tx, link: Link, reason: SafeText, now: int) -> None:
    """Make a link, or open it again."""
    tx.run(
        f"INSERT INTO links (space, {_COLUMNS}, label, sources, valid_to) VALUES (:space, :source, "
        f":relation, :target, :reason, :origin, :now, :origin, '[]', {FOREVER}) "
        "ON CONFLICT (space, source, relation, target) DO UPDATE SET "
        "reason = excluded.reason, valid_to = excluded.valid_to",
        {**link._asdict(), "reason": reason, "now": now},
    )


def end(tx: Tx, source: str, relation: str, target: str, now: int) -> bool:
    """End a link; return False if it does not exist."""
    row = tx.one(
        "UPDATE links SET valid_to = :now WHERE space = :space AND source = :source "
        f"AND relation = :relation AND target = :target AND valid_to = {FOREVER} RETURNING source",
        {"source": source, "relation": relation, "target": target, "now": now},
    )
    return row is not None


def find_touching(tx: Tx, refs: list[str], relation: str = "") -> list[Link]:
    """Return the open links that begin or end at one of the records."""
    chosen = "AND relation = :relation " if relation else ""
    select = f"SELECT {_COLUMNS} FROM links WHERE space = :space AND valid_to = {FOREVER} {chosen}"
    found: set[Row] = set()  # a link may begin in one batch and end in another
    for names, params in batches("ref", refs):
        # Two lookups by index: with an OR of both ends, or an ORDER BY, SQLite reads all links.
        for end in ("source", "target"):
            found.update(
                tx.run(f"{select}AND {end} IN ({names})", {**params, "relation": relation})
            )
    return [Link(*row) for row in sorted(found)]


def list_open(tx: Tx, relation: str) -> list[Link]:
    """Return all open links of a relation."""
    rows = tx.run(
        f"SELECT {_COLUMNS} FROM links WHERE space = :space AND valid_to = {FOREVER} "
        "AND relation = :relation ORDER BY source, target",
        {"relation": relation},
    )
    return [Link(*row) for row in rows]
