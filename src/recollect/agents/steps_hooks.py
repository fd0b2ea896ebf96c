"""State that hooks leave behind: events that were answered, and requests to read transcripts.

A hook has no time. It writes a request, a small file, and starts a process that reads the
transcript after the agent went on. However many are started, one works and one waits: the one
that waits begins after every request that was there when the others gave up. Locks are on files
of their own: locking the database's file would drop SQLite's locks.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence

from ..fast_typing import TYPE_CHECKING, NamedTuple
from ..project import make_folder, private_folder, user_directory
from ..review import sql as review_sql
from ..storage import sql as storage_sql
from ..storage.database import Tx
from .events import Event

if TYPE_CHECKING:
    from ..context import Context
    from ..types.records import SafeText

TWICE_WITHIN = 10_000_000
"""Microseconds in which the same event of the same session is the same event."""

_PRIME = 2**61 - 1


class Request(NamedTuple):
    """A transcript to catch up with; without a path, all of this agent's in the project."""

    host: str
    session: str = ""
    path: str = ""
    ended: bool = False
    checkpoint: bool = False


def compacting(session: str) -> str:
    """Return the instructions for the summary of a compaction."""
    where = f" at memory://session/{session}" if session else ""
    return (
        "Keep in the summary: the current task and where it stands, the user's requirements in "
        "their own words, decisions with their reasons, files changed, commands that failed and "
        "what fixed them, and what is still open. The whole conversation is kept in memory"
        f"{where}, so details that can be looked up there may be left out. Memory itself is given "
        "again after the compaction and need not be repeated."
    )


class Answer(NamedTuple):
    """The answer to a hook: context for the model and a notice for the user. `work`: a background
    process should read transcripts; `trouble`: the error that prevented a write."""

    context: str = ""
    notice: str = ""
    work: bool = False
    trouble: Exception | None = None


def mark_of(event: Event) -> storage_sql.EventMark:
    """Return the mark by which an answered event is recognised: two installations may get the same
    one."""
    said = f"{event.source}:{event.turn or event.prompt}:{event.call_id}"
    return storage_sql.EventMark(_subject(event), _remainder(said), TWICE_WITHIN)


def _remainder(text: str) -> str:
    """Return digits that tell texts apart, whatever stands in them: a hash function that needs no
    import."""
    return f"{int.from_bytes(text.encode('utf-8', 'replace'), 'big') % _PRIME:x}"


def was_heard(tx: Tx, event: Event) -> bool:
    """Check whether an event of this name was answered in the session before."""
    return storage_sql.get_value(tx, _subject(event)) is not None


def _subject(event: Event) -> str:
    return f"hook:{event.session}:{event.name}"


_REVIEW_NOTICE, _DAY = "review notice", 86_400_000_000


def count_review(txs: Sequence[Tx], now: int) -> int:
    """Return how much waits for the person's review; 0 if they were told today."""
    if not txs:
        return 0
    is_told = storage_sql.get_value(txs[0], _REVIEW_NOTICE) == str(now // _DAY)
    txs[0].settle()  # mostly they were
    return 0 if is_told else review_sql.count_items(txs[0])


def review_notice(count: int, now: int) -> tuple[str, dict[str, SafeText]]:
    """Return the notice about the review queue, and the value of state that records it."""
    if not count:
        return "", {}
    from ..secrets import redaction

    noun = "memory waits" if count == 1 else "memories wait"
    notice = f"Recollect: {count} {noun} for review. Run: recollect review"
    return notice, {_REVIEW_NOTICE: redaction.redact(str(now // _DAY))}


def requests_folder(context: Context) -> str:
    """Make and return the folder of requests. It is not in the project: what a repository brings
    along must not be read as requests."""
    folder = find_requests(context)
    make_folder(os.path.dirname(folder))
    return folder


def find_requests(context: Context) -> str:
    """Return the folder of requests, which may not exist."""
    folder = private_folder(user_directory(context.environment), context.project.root)
    return os.path.join(folder, "catch-up")


def ask(folder: str, request: Request) -> None:
    """Leave a request; the same one again is the same file."""
    text = json.dumps(request)
    name = _remainder(text)
    partial = os.path.join(folder, f"{name}.{os.getpid()}.partial")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(partial, os.path.join(folder, f"{name}.json"))


_SWEPT, _SWEEP_MARGIN = "swept", 3_600.0


def mark_sweep(folder: str) -> float:
    """Note that all agents' transcripts are looked through now; return since when, in seconds.

    An hour more than since the last time: an agent may write what it did before. Without a last
    time it is a day: older conversations are a matter of `import`.
    """
    path = os.path.join(folder, _SWEPT)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    try:
        last = os.stat(path).st_mtime - _SWEEP_MARGIN
    except FileNotFoundError:
        last = 0.0
    with open(path, "a"):
        os.utime(path)
    return last or os.stat(path).st_mtime - 24 * _SWEEP_MARGIN


def catch_up(
    folder: str,
    work: Callable[[Request], object],
    afterwards: Callable[[bool], object] = lambda over: None,
) -> int:
    """Process queued requests under a lock; return the count. `afterwards` runs once for all of
    them, also when no conversation is over."""
    import fcntl

    os.makedirs(folder, mode=0o700, exist_ok=True)
    done = 0
    with open(os.path.join(folder, "waiting"), "a") as waiting:
        try:
            fcntl.flock(waiting, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return 0
        with open(os.path.join(folder, "working"), "a") as working:
            fcntl.flock(working, fcntl.LOCK_EX)
            fcntl.flock(waiting, fcntl.LOCK_UN)
            over = False
            for request in _requests(folder):
                work(request)
                over = over or request.ended or not request.session
                done += 1
            afterwards(over)
    return done


def _requests(folder: str) -> Iterator[Request]:
    """Return each request once and delete it before it is processed: later ones are new."""
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if not name.endswith(".json"):
            continue
        try:
            with open(path, encoding="utf-8") as file:
                request = Request(*json.load(file))
        except (ValueError, TypeError):
            os.unlink(path)
            continue
        os.unlink(path)
        yield request
