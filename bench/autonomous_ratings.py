"""`python -m bench.autonomous_ratings`: have statements of MEMORY.md rated, and count the ratings.

    draw FILE DATA… [--seed N] [--most N]   draw statements by chance into FILE, with their messages
    enter FILE RATINGS ROUND                add a reader's ratings of a drawn FILE
    count [ROUND]                           count the ratings of a round (the last), and judge them

DATA are repositories of recorded sessions with a manifest.jsonl, which are not part of the project.
A fresh reader says of each drawn statement whether the messages below it support it and whether it
is of use to a new session. RATINGS holds a line for each:

    12. useful and true - why
    13. true but useless - why
    14. not supported - why

The project keeps `autonomous_ratings.jsonl`: for each statement a hash, its section, the verdict
and a short reason, without names of files or code of the recorded project. `count` fails when fewer
than four of five statements are useful and true, or when one is not supported.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import NamedTuple

import recollect
from bench import autonomous
from recollect.text.messages import plain_text

RATINGS = Path(__file__).with_name("autonomous_ratings.jsonl")
VERDICTS = {
    "useful and true": "useful",
    "true but useless": "useless",
    "not supported": "unsupported",
}
LEAST_USEFUL = 0.8
MOST_CITED, MOST_MESSAGES, LONGEST_MESSAGE, LONGEST_REASON = 3, 6, 500, 80
HEAD = """{count} statements of MEMORY.md, made by rules alone from recorded sessions of {names}.
For each: is it TRUE (the messages below it support it) and USEFUL to an agent or a person who
starts a new session in that repository? Lines that begin with > quote what was said. Dates are
shifted by the replay. At most three citations are shown, of long spans the first two and the last
four messages. Answer with a line for each:
NUMBER. useful and true | true but useless | not supported - why
"""


class Drawn(NamedTuple):
    """A statement with its repository and section, and the messages that it cites."""

    name: str
    section: str
    line: str
    messages: list[str]


class Rating(NamedTuple):
    """What a reader said about a statement; `id` is a hash of it without dates and ids."""

    round: int
    id: str
    section: str
    verdict: str
    reason: str


def main() -> int:
    args = _arguments()
    if args.what == "draw":
        return _draw(args)
    if args.what == "enter":
        return _enter(args)
    return _count(args)


def _arguments() -> Namespace:
    parser = ArgumentParser(
        "bench.autonomous_ratings",
        description=__doc__,
        formatter_class=RawDescriptionHelpFormatter,
    )
    what = parser.add_subparsers(dest="what", required=True)
    draw = what.add_parser("draw")
    draw.add_argument("file", type=Path)
    draw.add_argument("data", type=Path, nargs="+")
    draw.add_argument("--seed", type=int, default=1)
    draw.add_argument("--most", type=int, default=100)
    enter = what.add_parser("enter")
    enter.add_argument("file", type=Path)
    enter.add_argument("ratings", type=Path)
    enter.add_argument("round", type=int)
    what.add_parser("count").add_argument("round", type=int, nargs="?", default=0)
    return parser.parse_args()


# ---------------------------------------------------------------- draw


def _draw(args: Namespace) -> int:
    found = [one for data in args.data for one in _statements(data)]
    random = Random(args.seed)
    random.shuffle(found)
    chosen = found[: args.most]
    names = ", ".join(data.name for data in args.data)
    parts = [HEAD.format(count=len(chosen), names=names)]
    for number, one in enumerate(chosen, 1):
        told = "\n".join(f"    {message}" for message in one.messages)
        head = f"{number}. [{one.name}, section: {one.section}]"
        parts.append(f"{head}\n  {one.line}\n  supported by:\n{told}\n")
    args.file.write_text("\n".join(parts), "utf-8")
    print(f"drew {len(chosen)} of {len(found)} statements: {args.file}")
    return 0


def _statements(data: Path) -> Iterator[Drawn]:
    """Yield every statement that rules make of a repository, with the messages that it cites."""
    with tempfile.TemporaryDirectory(prefix=".autonomous-", dir=Path.home()) as folder:
        home = Path(folder).resolve()
        project = autonomous.build(data, home)
        autonomous.run(home, project, {})
        text = (project / ".recollect" / "MEMORY.md").read_text("utf-8")
        environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
        with recollect.open(project, environment=environment, origin="user") as memory:
            notes, section = autonomous.sources(text), ""
            for line in text.partition("\n## Sources")[0].splitlines():
                section = line[3:] if line.startswith("## ") else section
                if line.startswith(("- ", "> ")):
                    cited = [notes[mark] for mark in re.findall(r"\[\^(\d+)\]", line)]
                    shown = [
                        one for address in cited[:MOST_CITED] for one in _shown(memory, address)
                    ]
                    yield Drawn(data.name, section, re.sub(r"\[\^\d+\]", "", line).strip(), shown)


def _shown(memory: recollect.Recollect, address: str) -> Iterator[str]:
    found = memory.show(address)
    messages = list(found.messages)
    if len(messages) > MOST_MESSAGES:
        messages = [*messages[:2], *messages[-4:]]
    place = address.removeprefix("memory://session/")
    for one in messages:
        calls = " ".join(f"CALL {call.name} {call.arguments}" for call in one.message.calls)
        words = " ".join(f"{plain_text(one.message)[:LONGEST_MESSAGE]} {calls}".split())
        yield f"[{place}] {one.message.role}: {words[: 2 * LONGEST_MESSAGE]}"


# ---------------------------------------------------------------- enter and count


def statement_id(line: str) -> str:
    """Return a hash of a statement that stays the same when dates and ids of memories change."""
    bare = re.sub(r"\[(?:m-|session )[^\]]*\]|\d{4}-\d\d-\d\d", "", line)
    return sha256(" ".join(bare.split()).encode()).hexdigest()[:12]


def _enter(args: Namespace) -> int:
    drawn = re.findall(
        r"(?m)^(\d+)\. \[[^,\]]+, section: ([^\]]+)\]\n  (.+)$", args.file.read_text("utf-8")
    )
    answers = re.findall(
        rf"(?m)^(\d+)\. ({'|'.join(VERDICTS)})[^-\n]*- (.*)$", args.ratings.read_text("utf-8")
    )
    said = {int(number): (verdict, reason) for number, verdict, reason in answers}
    missing = [number for number, _, _ in drawn if int(number) not in said]
    if missing:
        print(f"no rating for {', '.join(missing)}", file=sys.stderr)
        return 1
    kept = [one for one in load() if one.round != args.round]
    for number, section, line in drawn:
        verdict, reason = said[int(number)]
        kept.append(
            Rating(args.round, statement_id(line), section, VERDICTS[verdict], _plain(reason))
        )
    rows = [json.dumps(one._asdict(), ensure_ascii=False) for one in kept]
    RATINGS.write_text("\n".join(rows) + "\n", "utf-8")
    return _report([one for one in kept if one.round == args.round])


def load() -> list[Rating]:
    """Return the ratings that the project keeps."""
    rows = RATINGS.read_text("utf-8").splitlines() if RATINGS.exists() else []
    return [Rating(**json.loads(row)) for row in rows]


def _plain(reason: str) -> str:
    """Return the first words of a reason; nothing when they name something of the project."""
    first = re.split(r"[;:(]", reason)[0].strip()
    return first if is_plain(first) else ""


def is_plain(reason: str) -> bool:
    """Check whether a reason is short and in words that any project could have."""
    return len(reason) <= LONGEST_REASON and not re.search(
        r"^[A-Z]|[`\"/_#@.]\w|[a-z][A-Z]|[A-Z]{2}|\d{3}|\w [A-Z]", reason
    )


def _count(args: Namespace) -> int:
    found = load()
    last = args.round or max((one.round for one in found), default=0)
    return _report([one for one in found if one.round == last])


def _report(ratings: list[Rating]) -> int:
    counts = Counter((one.section, one.verdict) for one in ratings)
    totals = Counter(one.verdict for one in ratings)
    verdicts = tuple(VERDICTS.values())
    print(f"| section | {' | '.join(verdicts)} |\n|---|{'---|' * len(verdicts)}")
    for section in sorted({one.section for one in ratings}):
        cells = " | ".join(str(counts[section, verdict]) for verdict in verdicts)
        print(f"| {section} | {cells} |")
    print(f"| all {len(ratings)} | {' | '.join(str(totals[verdict]) for verdict in verdicts)} |")
    enough = totals["useful"] >= LEAST_USEFUL * max(len(ratings), 1)
    return 0 if ratings and enough and not totals["unsupported"] else 1


if __name__ == "__main__":
    sys.exit(main())
