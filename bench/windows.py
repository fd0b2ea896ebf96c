"""`python -m bench.windows FOLDER`: how a model sees the tool result that it just asked for.

Replays real transcripts message by message and prepares a prompt after every tool result, with
windows of 32,000 and 128,000 tokens. The newest result is whole, cut to head and tail, or hidden;
none may be hidden, and no prompt longer than the window takes.
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

from .transcripts import files

CONTEXTS = (32_000, 128_000)
COLUMNS = ("prompts", "trimmed", "whole", "cut", "hidden", "too long")
SESSION = "replayed"


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    totals = {context: Counter[str]() for context in CONTEXTS}
    for path in files(sys.argv[1]):
        try:
            host = registry.load_transcripts(registry.detect_transcript(path))
            messages = [
                item.message for item in host.read(path) if isinstance(item, TranscriptEntry)
            ]
        except RecollectError as error:
            print(f"{path}: {error}", file=sys.stderr)
            continue
        for context in CONTEXTS:
            totals[context].update(replay(messages, context))
    print(f"{'window':>8}" + "".join(f"{name:>10}" for name in COLUMNS))
    for context, total in totals.items():
        print(f"{context:>8}" + "".join(f"{total[name]:>10}" for name in COLUMNS))
    return 1 if any(total["hidden"] + total["too long"] for total in totals.values()) else 0


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


def _shown(prompt: Sequence[Message], newest: Message) -> str:
    shown = next((m for m in prompt if m.call_id == newest.call_id), None)
    if shown is None:
        return "hidden"
    if shown.content == newest.content:
        return "whole"
    return "cut" if "characters left out: memory://" in str(shown.content) else "hidden"


if __name__ == "__main__":
    sys.exit(main())
