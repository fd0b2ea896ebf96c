"""`python -m bench.windows FOLDER`: how a model sees the tool result that it just asked for.

Replays real transcripts message by message and prepares a prompt after every tool result, with
windows of 8,000 to 128,000 tokens (or those named after FOLDER). The newest result is whole, cut to
head and tail, or hidden; none may be hidden, no prompt longer than the window takes, and every
request of a trimmed prompt must be what the providers' own libraries declare (`invalid`).
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence

import recollect
from recollect.agents import registry
from recollect.agents.transcripts.reader_io import TranscriptEntry
from recollect.archive import steps as archive_steps
from recollect.archive.operations import build_session
from recollect.errors import RecollectError
from recollect.types.records import Message
from recollect.window.steps import Prompt

from .transcripts import files

CONTEXTS = (8_000, 32_000, 64_000, 128_000)
COLUMNS = ("prompts", "trimmed", "whole", "cut", "hidden", "too long", "invalid")
SESSION = "replayed"


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    contexts = tuple(map(int, sys.argv[2:])) or CONTEXTS
    totals = {context: Counter[str]() for context in contexts}
    for path in files(sys.argv[1]):
        try:
            host = registry.load_transcripts(registry.detect_transcript(path))
            messages = [
                item.message for item in host.read(path) if isinstance(item, TranscriptEntry)
            ]
        except RecollectError as error:
            print(f"{path}: {error}", file=sys.stderr)
            continue
        for context in contexts:
            totals[context].update(replay(messages, context))
    print(f"{'window':>8}" + "".join(f"{name:>10}" for name in COLUMNS))
    for context, total in totals.items():
        print(f"{context:>8}" + "".join(f"{total[name]:>10}" for name in COLUMNS))
    wrong = ("hidden", "too long", "invalid")
    return 1 if any(total[name] for total in totals.values() for name in wrong) else 0


def replay(messages: Sequence[Message], context: int) -> Iterator[str]:
    """Record the messages one by one; yield how each result is shown right after it came."""
    called: set[str] = set()
    with recollect.open(incognito=True, environment={}) as memory:
        for message in messages:
            ready = [archive_steps.prepare(archive_steps.Incoming(message), 1)]
            new = build_session(memory.context, SESSION)
            memory.context.project_space.write(
                lambda tx, new=new, ready=ready: archive_steps.record(tx, new, ready, 1)  # type: ignore[misc]
            )
            called.update(call.id for call in message.calls)
            # A result whose call the transcript does not have reaches no model.
            if message.role == "tool" and message.call_id in called:
                prompt = memory.prepare(SESSION, context)
                [newest] = memory.sessions.recent(SESSION, 1)
                yield from ("prompts", *["trimmed"] * prompt.trimmed)
                yield from ("too long",) * (not prompt.fits)
                yield _shown(prompt.messages, newest.message)
                if prompt.trimmed:
                    yield from ("invalid",) * (not _is_valid(prompt))


def _is_valid(prompt: Prompt) -> bool:
    """Check the requests of a prompt against the providers' own types."""
    from pydantic import ValidationError

    from tests.providers.test_official_types import check_request

    try:
        for form in ("anthropic", "chat", "responses"):
            check_request(form, prompt.request(form))
    except (ValidationError, AssertionError) as error:
        print(str(error)[:300], file=sys.stderr)
        return False
    return True


def _shown(prompt: Sequence[Message], newest: Message) -> str:
    shown = next((m for m in prompt if m.call_id == newest.call_id), None)
    if shown is None:
        return "hidden"
    if _without_bytes(shown) == _without_bytes(newest):
        return "whole"
    return "cut" if "characters left out: memory://" in str(shown.content) else "hidden"


def _without_bytes(message: Message) -> object:
    """Return the content without the bytes of its images, which only a prompt carries."""
    if isinstance(message.content, str):
        return message.content
    return [{key: one for key, one in part.items() if key != "data"} for part in message.content]


if __name__ == "__main__":
    sys.exit(main())
