"""Episodes out of real transcripts, and how consolidation grows with what it is given.

    python -m bench.episodes TRANSCRIPTS          counts, and what every error came to
    python -m bench.episodes TRANSCRIPTS pairs    each resolved error with the call that failed and
                                                  the one that worked, to be checked by hand

Nothing of the transcripts is kept.
"""

from __future__ import annotations

import os
import sys
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from math import log2
from random import Random
from time import perf_counter

from recollect.actions.call_results import list_attempts
from recollect.agents import registry
from recollect.agents.transcripts.reader_io import SessionDetails, TranscriptEntry
from recollect.episodes.records import Episode, ErrorSeen, build
from recollect.episodes.resolutions import fixes
from recollect.episodes.tasks import task_spans
from recollect.errors import RecollectError
from recollect.index.clusters import extract_features, find_clusters
from recollect.lessons.plan import plan, validate
from recollect.text.messages import NumberedMessage, plain_text

from .yardstick import Notes, Ratio, line, wall

NOW = 1_790_000_000_000_000


def sessions(root: str) -> Iterator[tuple[str, str, str, list[NumberedMessage]]]:
    """Every session below a folder: its agent, id, working directory and messages."""
    for folder, _, names in sorted(os.walk(root)):
        for name in sorted(names):
            path = os.path.join(folder, name)
            try:
                host = registry.detect_transcript(path)
                items = list(registry.load_transcripts(host).read(path))
            except RecollectError as error:
                print(f"not read: {name}: {error.message}", file=sys.stderr)
                continue
            told: dict[str, list[NumberedMessage]] = {}
            places: dict[str, str] = {}
            for item in items:
                if isinstance(item, SessionDetails) and item.cwd:
                    places[item.session] = item.cwd
                elif isinstance(item, TranscriptEntry):
                    messages = told.setdefault(item.session, [])
                    messages.append(NumberedMessage(len(messages) + 1, item.message))
            for session, messages in told.items():
                yield host, session, places.get(session, ""), messages


def pairs(root: str) -> int:
    """Print every error with what resolved it; 1 if there is none."""
    count = 0
    for host, session, _, messages in sessions(root):
        for span in task_spans(messages):
            for fix in fixes(list_attempts(span.messages)):
                count += 1
                print(
                    f"{count} {host} {session} #{fix.failed.asked} -> #{fix.worked.asked} "
                    f"{fix.trouble.type}: {fix.trouble.message}\n    -> {fix.resolution}"
                )
    return 0 if count else 1


def survey(root: str) -> int:
    """Print what was found; 1 if a call or a session with something said was not accounted for."""
    counts: Counter[str] = Counter()
    lost = 0
    seconds = 0.0
    for host, session, cwd, messages in sessions(root):
        began = perf_counter()
        built = build(messages, session, host, cwd)
        seconds += perf_counter() - began
        calls = sum(len(placed.message.calls) for placed in messages)
        told = sum(len(episode.actions) for episode in built)
        counts["sessions"] += 1
        asked = any(plain_text(placed.message).strip() for placed in messages if _users(placed))
        counts["sessions in which the user said something"] += asked
        counts["sessions with an episode"] += bool(built)
        lost += asked and not built
        counts["messages"] += len(messages)
        counts["calls"] += calls
        counts["calls in no episode"] += max(calls - told, 0)
        lost += max(calls - told, 0)
        counts["episodes"] += len(built)
        for attempt in list_attempts(messages):
            counts[f"calls that ended as {attempt.state}"] += 1
        for episode in built:
            counts[f"outcome {episode.outcome}"] += 1
            counts["errors"] += len(episode.errors)
            counts["errors that were resolved"] += len(episode.resolved)
    for name in sorted(counts):
        print(f"{name}: {counts[name]:,}")
    print(f"seconds: {seconds:.2f}")
    return 1 if lost else 0


def _users(placed: NumberedMessage) -> bool:
    return placed.message.role == "user"


# ---------------------------------------------------------------- growth


def made_up(count: int, seed: int = 7) -> list[Episode]:
    """Episodes of about count / 5 sorts of tasks; each sort has words and folders of its own."""
    chance, notes = Random(seed), Notes(seed)
    sorts = [notes.words(6) for _ in range(max(count // 5, 1))]
    episodes = []
    for number in range(count):
        words = chance.choice(sorts)
        goal = " ".join(
            ["implement", *chance.sample(words, 4), chance.choice(("api", "page", "job"))]
        )
        fixed = ErrorSeen("usage", f"unknown flag --{words[0]}", f"ran it without --{words[0]}")
        episodes.append(
            Episode(
                id=f"e-{number:06}",
                at=NOW + number,
                goal=goal,
                outcome="success",
                session=f"s-{number}",
                artifacts=(f"src/{words[0]}/{words[1]}.ts", f"tests/{words[0]}.ts"),
                errors=(fixed,) if number % 10 == 0 else (),
                label="agent",
            )
        )
    return episodes


def growth(count: int, times: int = 10) -> Ratio:
    """A plan over many episodes, against what n log n allows after one over a tenth of them."""
    small, large = made_up(count // times), made_up(count)
    fewer = min(wall(lambda: plan(small, [], NOW)) for _ in range(3))
    more = min(wall(lambda: plan(large, [], NOW)) for _ in range(2))
    allowed = fewer * times * log2(count) / log2(count / times)
    name = f"consolidation plan over {count:,} episodes, against n log n"
    return line(name, more, allowed, "s", ("at most", 2.0))


def memory_of_clusters(count: int) -> Ratio:
    """The most memory that clustering holds, against the size of what it is given."""
    features = [extract_features(one.goal, one.artifacts) for one in made_up(count)]
    tracemalloc.start()
    again = [extract_features(one.goal, one.artifacts) for one in made_up(count)]
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    find_clusters(features)
    peak = tracemalloc.get_traced_memory()[1] - held
    tracemalloc.stop()
    del again
    name = f"memory of clustering {count:,} episodes"
    return line(name, peak / 1e6, held / 1e6, "MB", ("at most", 3.0))


def lawful(count: int) -> Ratio:
    """Checking a plan, against making it."""
    episodes = made_up(count)
    found = plan(episodes, [], NOW)
    checking = wall(lambda: validate(found, episodes, []))
    making = wall(lambda: plan(episodes, [], NOW))
    return line(
        f"validating a plan of {len(found.steps):,} steps", checking, making, "s", ("at most", 0.5)
    )


def measures() -> Iterator[Ratio]:
    """The measurements that need no data."""
    yield growth(10_000)
    yield memory_of_clusters(10_000)
    yield lawful(5_000)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit((pairs if "pairs" in sys.argv[2:] else survey)(sys.argv[1]))
