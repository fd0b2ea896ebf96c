"""Import transcripts into the memory of one project: read them, learn from them, make vectors, and
count the results. What takes long is left to a background process, if there is one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from ..archive import steps_sessions as archive_steps_sessions
from ..capture import operations as capture_operations
from ..context import Context
from ..errors import Unavailable
from ..fast_typing import TYPE_CHECKING, NamedTuple
from ..index import steps as index_steps
from ..lessons import operations as lessons_operations
from ..lessons import steps_observed as lessons_steps_observed
from ..recall import operations as recall_operations
from ..review import operations as review_operations
from ..storage.database import Tx
from ..types import reports
from ..types.records import Learned
from . import operations_import, steps_hooks

if TYPE_CHECKING:
    from .transcripts.reader_io import Transcript

_RULES = ("policy", "preference")
_DECISIONS = ("decision", "architecture")
FEW_VECTORS = 256
"""An import computes up to this many vectors itself; more are left to a background process, if
there is one. Computing a part first does not help: with those of the newest 512, the first hit of a
question was less often the final one than with none (docs/what-was-tried.md)."""

FEW_MESSAGES = 1_000
"""From up to this many new messages an import learns commands, fixes and episodes itself, in a
tenth of a second; more are left to a background process, if there is one."""


def read(
    context: Context,
    found: Iterable[Transcript],
    foreign: frozenset[str] = frozenset(),
    note_sessions: bool = False,
) -> list[reports.ImportedTranscript]:
    """Import the new messages of transcripts into the archive, and capture the statements of the
    user.

    foreign: the paths of untrusted ones, outside an agent's own folder
    note_sessions: note the sessions for `capture.operations.learn_from_imported`
    """
    options = operations_import.ImportOptions(
        context.settings.capture,
        context.clock,
        context.progress,
        foreign,
        partial(capture_operations.keep, context),
        note_sessions,
    )
    return operations_import.import_files(context.project_space, found, options)


class ImportedProject(NamedTuple):
    """The result of importing transcripts into the memory of one project."""

    transcripts: list[reports.ImportedTranscript]
    results: reports.ImportResults
    vectors_left: int
    lessons_left: int


class _KnownLessons(NamedTuple):
    """The commands that work and the errors with a fix that the project knows."""

    commands: frozenset[str]
    fixes: frozenset[str]


def import_into(
    context: Context, found: Sequence[Transcript], foreign: frozenset[str]
) -> ImportedProject:
    """Read transcripts into a project's memory, learn from them, and compute the vectors of new
    records, which are too many for the first recall."""
    before, waited = _load_lessons(context), review_operations.count_review(context)
    folder = _mark_unlearned(context) if found else ""  # it may be broken off
    done = read(context, found, foreign, note_sessions=context.settings.capture)
    repeated = capture_operations.learn_from_imported(context)
    is_left = bool(folder) and sum(one.messages for one in done) > FEW_MESSAGES
    after, episodes = before, 0
    if is_left:
        _mark_unlearned(context)
    else:
        learn = partial(lessons_operations.learn_from_finished_work, context)
        settled = steps_hooks.learn_imported(folder, learn) if folder else learn()
        after, episodes = _load_lessons(context), settled.built.created
    vectors_left = _make_vectors(context)
    if context.start_background and (is_left or vectors_left):
        context.start_background(context.project.root)
    # A statement of several conversations is one memory.
    statements = [*(one for item in done for one in item.captured), *repeated]
    captured = list({one.id: one for one in statements}.values())
    results = reports.ImportResults(
        conversations=_count_conversations(done),
        rules=_count_kinds(captured, _RULES),
        decisions=_count_kinds(captured, _DECISIONS),
        facts=_count_kinds(captured, (), (*_RULES, *_DECISIONS)),
        commands=len(after.commands - before.commands),
        fixes=len(after.fixes - before.fixes),
        episodes=episodes,
        quarantined=sum(one.memory.status == "quarantined" for one in captured),
        waiting=max(review_operations.count_review(context) - waited, 0),
        unfinished=context.project_space.read(
            lambda tx: archive_steps_sessions.count_unfinished(tx, context.clock())
        ),
    )
    trusted = [one for one in done if not one.foreign]
    return ImportedProject(
        transcripts=done,
        results=results,
        vectors_left=vectors_left,
        lessons_left=_count_conversations(trusted) if is_left else 0,
    )


def _mark_unlearned(context: Context) -> str:
    """Mark that a background process has to learn from new messages; return the folder of the mark,
    empty if no such process can be started."""
    if not (context.start_background and context.settings.consolidate):
        return ""
    folder = steps_hooks.make_requests_folder(context)
    steps_hooks.mark_unlearned(folder)
    return folder


def _make_vectors(context: Context) -> int:
    """Compute the vectors of new records, if they are few; return how many are left to a background
    process."""
    embedder, start = context.embedder(), context.start_background
    if embedder is None:
        return 0
    # The first batch shows whether an embeddings server can be reached.
    if start is None or not embedder.local or _count_unembedded(context) <= FEW_VECTORS:
        try:
            recall_operations.make_vectors(context, FEW_VECTORS if start else 0)
        except Unavailable:
            return 0  # search by words works, and `doctor` reports the embedder
    return _count_unembedded(context) if start else 0


def _count_unembedded(context: Context) -> int:
    spaces = context.present_spaces()
    return sum(space.read(index_steps.measure_coverage).unembedded for space in spaces)


def _load_lessons(context: Context) -> _KnownLessons:
    if not context.project_space.present():
        return _KnownLessons(frozenset(), frozenset())
    now = context.clock()

    def load(tx: Tx) -> _KnownLessons:
        commands = lessons_steps_observed.known_commands(tx, now=now)
        return _KnownLessons(
            frozenset(one.form for one in commands if one.sessions_succeeded),
            frozenset(one.signature for one in lessons_steps_observed.known_resolutions(tx)),
        )

    return context.project_space.read(load)


def _count_conversations(done: Sequence[reports.ImportedTranscript]) -> int:
    """Count the sessions with new messages, without those of subagents."""
    found = {session for item in done if item.messages for session in item.sessions}
    return sum(session.rpartition(".")[0] not in found for session in found)


def _count_kinds(
    captured: Sequence[Learned], kinds: Sequence[str], without: Sequence[str] = ()
) -> int:
    """Count active statements of these kinds or, if none are given, of all kinds but `without`."""
    return sum(
        one.memory.status == "active"
        and (one.memory.kind in kinds if kinds else one.memory.kind not in without)
        for one in captured
    )
