"""The state of hooks: answered events, requests to read transcripts, the log of runs, notices, and
pauses.

A hook must be quick: it writes a request (a small file) and starts a background process that reads
the transcript. Of these processes at most two stay: one works, one waits for the lock; the others
exit. The waiting one reads the requests after those were written, so none is lost. The locks are
files of their own: locking the database's file would drop SQLite's locks.

The log has one line a run, without any text of the conversation. It is a file, not a table, because
it must record stores that cannot be opened. Notices of runs without a terminal are saved and shown
at the next start in a terminal. A pause is a file for one project, or for all; a hook only checks
whether the two files exist. All files are in the user's directory, per project: a repository could
contain forged ones, or links in their place.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence

from ..errors import RecollectError
from ..fast_typing import TYPE_CHECKING, Any, NamedTuple
from ..project import find_project, make_folder, private_folder, user_directory, write_private
from ..review import sql as review_sql
from ..storage import sql as storage_sql
from ..text import display
from .events import Event, HookRun

if TYPE_CHECKING:
    from ..context import Context
    from ..storage.database import Tx
    from ..types.records import SafeText

DUPLICATE_WINDOW = 10_000_000
"""Microseconds in which the same event of the same session counts as a duplicate."""

_PRIME = 2**61 - 1


class Request(NamedTuple):
    """A transcript to catch up with; without a path, all of this agent's in the project."""

    host: str
    session: str = ""
    path: str = ""
    ended: bool = False
    checkpoint: bool = False


def compaction_instructions(session: str, is_kept: bool = True) -> str:
    """Return the instructions for the summary that the agent writes at a compaction.

    is_kept: whether the conversation is stored in the archive
    """
    where = f" at memory://session/{session}" if session else ""
    kept = (
        f"The whole conversation is kept in memory{where}, so details that can be looked up there "
        "may be left out. "
    )
    return (
        "Keep in the summary: the current task and where it stands, the user's requirements in "
        "their own words, decisions with their reasons, files changed, commands that failed and "
        f"what fixed them, and what is still open. {kept if is_kept else ''}Memory itself is given "
        "again after the compaction and need not be repeated."
    )


class Answer(NamedTuple):
    """The answer to a hook: context for the model and a notice for the user. `work`: start a
    background process that reads transcripts; `trouble`: the error that prevented a write."""

    context: str = ""
    notice: str = ""
    work: bool = False
    trouble: Exception | None = None


def event_mark(event: Event) -> storage_sql.EventMark:
    """Return the mark by which a repeated event is recognised: two installations of our hooks may
    get the same event."""
    # Both: several prompts may have one turn, and the same prompt may be sent in another turn.
    content = f"{event.source}:{event.turn}:{event.prompt}:{event.call_id}"
    return storage_sql.EventMark(_subject(event), _hash_text(content), DUPLICATE_WINDOW)


def _hash_text(text: str) -> str:
    """Return a hash of a text, without importing `hashlib`."""
    return f"{int.from_bytes(text.encode('utf-8', 'replace'), 'big') % _PRIME:x}"


def was_answered(tx: Tx, event: Event) -> bool:
    """Check whether an earlier event of this name was answered in the session."""
    return storage_sql.get_value(tx, _subject(event)) is not None


def _subject(event: Event) -> str:
    return f"hook:{event.session}:{event.name}"


_REVIEW_NOTICE, _DAY = "review notice", 86_400_000_000


def count_review(txs: Sequence[Tx], now: int) -> int:
    """Return how many items wait for review; 0 if the user saw a notice today."""
    if not txs:
        return 0
    was_shown = storage_sql.get_value(txs[0], _REVIEW_NOTICE) == str(now // _DAY)
    txs[0].settle()  # usually it was shown, and nothing has to be counted
    return 0 if was_shown else review_sql.count_items(txs[0])


def review_notice(count: int, now: int) -> tuple[str, dict[str, SafeText]]:
    """Return the notice about the review queue, and the state to store when it is shown."""
    if not count:
        return "", {}
    from ..secrets import redaction

    noun = "memory waits" if count == 1 else "memories wait"
    notice = f"Recollect: {count} {noun} for review. Run: recollect review"
    return notice, {_REVIEW_NOTICE: redaction.redact(str(now // _DAY))}


def make_requests_folder(context: Context) -> str:
    """Return the folder of requests, creating its parent. It is not in the project: files of a
    repository must not be read as requests."""
    folder = requests_folder(context)
    make_folder(os.path.dirname(folder))
    return folder


def requests_folder(context: Context) -> str:
    """Return the folder of requests, which may not exist."""
    folder = private_folder(user_directory(context.environment), context.project.root)
    return os.path.join(folder, "catch-up")


def write_request(folder: str, request: Request) -> None:
    """Write a request; equal requests share one file."""
    text = json.dumps(request)
    name = _hash_text(text)
    partial = os.path.join(folder, f"{name}.{os.getpid()}.partial")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(partial, os.path.join(folder, f"{name}.json"))


_SWEPT, _SWEEP_MARGIN = "swept", 3_600.0
_LOOK_AGAIN = 0.02
"""Seconds between two looks at whether another process is done."""


def mark_sweep(folder: str) -> float:
    """Record that the transcripts of all agents are searched now; return the modification time, in
    seconds, from which on to search.

    That is an hour before the last search, because an agent may write late. The first search goes
    back a day: older conversations are left to `import`.
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
    afterwards: Callable[[bool], object] = lambda has_ended: None,
) -> int:
    """Process queued requests under a lock; return the count. `afterwards` is called once at the
    end, with whether a conversation has ended."""
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
            has_ended = False
            for request in _requests(folder):
                work(request)
                has_ended = has_ended or request.ended or not request.session
                done += 1
            afterwards(has_ended)
    return done


def _requests(folder: str) -> Iterator[Request]:
    """Yield the requests. Each is deleted before it is processed, so that an equal one that is
    written meanwhile is not lost."""
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


_UNLEARNED = "unlearned"
UNLEARNED_NOTICE = (
    "Recollect: not all commands and fixes of imported conversations are learned yet; the "
    "background does it now"
)


def mark_unlearned(folder: str) -> None:
    """Note that imported conversations wait for a process that learns from them."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    write_private(os.path.join(folder, _UNLEARNED), "")


def is_unlearned(folder: str) -> bool:
    """Check whether imported conversations wait for a process that learns from them."""
    return os.path.exists(os.path.join(folder, _UNLEARNED))


def learn_imported(folder: str, learn: Callable[[], Any]) -> Any:
    """Run `learn`, then remove the mark; one that another import left meanwhile stays."""
    path = os.path.join(folder, _UNLEARNED)
    before = os.stat(path) if os.path.exists(path) else None
    learned = learn()
    if before and os.path.exists(path) and os.path.samestat(before, os.stat(path)):
        os.unlink(path)
    return learned


def finish_imported(folder: str, learn: Callable[[], object]) -> None:
    """Learn from imported conversations, or wait until the process that does so has done it."""
    import fcntl
    from time import sleep

    while is_unlearned(folder):
        with open(os.path.join(folder, "working"), "a") as working:
            try:
                fcntl.flock(working, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                sleep(_LOOK_AGAIN)
                continue
            learn_imported(folder, learn)


# ---------------------------------------------------------------- the log, and notices

MAX_BYTES = 64 * 1024

_LOG = os.path.join("log", "hook.log")
_NOTICES = "notices.txt"
_MOST_NOTICES = 16 * 1024


def append_run(cwd: str, environment: Mapping[str, str], run: HookRun) -> None:
    """Append a line to the log, which is rotated at `MAX_BYTES`."""
    folder = _find_folder(cwd, environment, is_known=run.outcome != "ok")
    path = os.path.join(folder, _LOG)
    make_folder(folder)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        words = (display.format_line(str(value), 60).replace(" ", "_") or "-" for value in run)
        os.write(handle, (" ".join(words) + "\n").encode())
        if os.fstat(handle).st_size > MAX_BYTES:
            os.replace(path, f"{path}.1")
    finally:
        os.close(handle)


def _find_folder(cwd: str, environment: Mapping[str, str], is_known: bool = False) -> str:
    """Return the user's folder for a project, or the user's directory without a project.

    is_known: also for a project that has no store, which may be why a hook failed there
    """
    folder = user_directory(environment)
    try:
        project = find_project(cwd or ".")
        if is_known or os.path.isdir(project.folder):
            folder = private_folder(folder, project.root)
    except (RecollectError, OSError):
        pass  # the directory is gone or not readable
    return folder


def keep_notice(cwd: str, environment: Mapping[str, str], notice: str) -> None:
    """Save a notice that no person saw; too many saved ones are dropped."""
    folder = _find_folder(cwd, environment)
    make_folder(folder)
    path = os.path.join(folder, _NOTICES)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        if os.fstat(handle).st_size > _MOST_NOTICES:
            os.ftruncate(handle, 0)
        os.write(handle, f"{notice}\n".encode())
    finally:
        os.close(handle)


def find_notices(cwd: str, environment: Mapping[str, str]) -> str:
    """Return the path of the saved notices, or "" if there are none."""
    path = os.path.join(_find_folder(cwd, environment), _NOTICES)
    return path if os.path.exists(path) else ""


def read_notices(path: str, remove: bool = False) -> list[str]:
    """Return the saved notices, each once. With `remove`, rename the file first, so that of two
    readers only one gets them."""
    claimed = f"{path}.{os.getpid()}"
    try:
        if remove:
            os.replace(path, claimed)
        with open(claimed if remove else path, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
        if remove:
            os.unlink(claimed)
    except FileNotFoundError:
        return []
    return list(dict.fromkeys(filter(None, lines)))


def read_known_runs(context: Context) -> list[HookRun]:
    """Return the runs in this project, and those outside of any project."""
    user = user_directory(context.environment)
    return read_runs((private_folder(user, context.project.root), user))


def read_runs(folders: tuple[str, ...]) -> list[HookRun]:
    """Return the runs in the logs of these folders, oldest first."""
    found = []
    for folder in folders:
        for name in (f"{_LOG}.1", _LOG):
            try:
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    lines = file.read().splitlines()
            except OSError:
                continue
            found += [run for line in lines if (run := _parse_line(line))]
    return sorted(found)


def _parse_line(line: str) -> HookRun | None:
    words = line.split(" ")
    if len(words) != 5 or not words[3].isdigit():
        return None
    at, host, event, milliseconds, outcome = words
    return HookRun(at=at, host=host, event=event, milliseconds=int(milliseconds), outcome=outcome)


# ---------------------------------------------------------------- pauses

_PAUSE = "paused"


def find_pause(environment: Mapping[str, str], root: str) -> str:
    """Return the scope of the pause: `all`, `project`, or "" if hooks are not paused."""
    if os.path.exists(_pause_path(environment, "")):
        return "all"
    return "project" if os.path.exists(_pause_path(environment, root)) else ""


def set_pause(environment: Mapping[str, str], root: str, since: str) -> None:
    """Pause the hooks of a project; of all projects without a root."""
    path = _pause_path(environment, root)
    make_folder(os.path.dirname(path))
    write_private(path, f"{since}\n")


def end_pause(environment: Mapping[str, str], root: str) -> bool:
    """End the pause of a project, or of all; return whether there was one."""
    try:
        os.unlink(_pause_path(environment, root))
    except FileNotFoundError:
        return False
    return True


def _pause_path(environment: Mapping[str, str], root: str) -> str:
    user = user_directory(environment)
    return os.path.join(private_folder(user, root) if root else user, _PAUSE)
