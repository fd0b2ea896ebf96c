"""The scrubber both ways, and its speed: `python -m bench.secrets CORPUS [TEXT …]`.

CORPUS has a JSON object a line (gzip or plain) with `rule`, `label` and `text`. The label speaks of
the rule alone: 1 for a text that the rule finds, 0 for one that it does not, which may hold a
secret of another rule. So recall is counted twice, over all texts and without those that hold no
secret at all (names of buckets and users, public ids, masks); and each text with label 0 that was
changed is printed, for a person to judge. Each TEXT is a file of ordinary text; whatever is taken
out of it is printed as well.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import recollect
from recollect.secrets.redaction import redact_and_report
from recollect.secrets.search import find_secrets

from .yardstick import Notes, Ratio, line, own_time, paired, table

NO_SECRETS = re.compile(
    r"np\.(?:s3|arn|gcs|reactapp\.1|shopify\.1|google\.1|linkedin\.1)\b|gcp-service-account"
)
"""Rules that find names and addresses, not secrets."""

MASKED = re.compile(r"([ax0#])\1{5}|-p (?:[$%]|PASSWORD)|\{datastore")
HOSTILE = ("<private>", "-----BEGIN PRIVATE" + " KEY-----", "a", "password:", 'key="', "curl ")


def rows(path: str) -> Iterator[dict[str, Any]]:
    data = Path(path).read_bytes()
    text = gzip.decompress(data) if path.endswith(".gz") else data
    yield from map(json.loads, text.splitlines())


def recall(corpus: list[dict[str, Any]]) -> None:
    found: Counter[str] = Counter()
    total: Counter[str] = Counter()
    missed = []
    for row in corpus:
        if row["label"] == 1:
            holds_one = not NO_SECRETS.match(row["rule"]) and not MASKED.search(row["text"])
            family = re.split(r"[.\-]\d|[.:-](?=[^.]*$)", row["rule"])[0]
            hit = bool(redact_and_report(row["text"]).found)
            for group in (family, "all", *(["with a secret"] if holds_one else [])):
                total[group] += 1
                found[group] += hit
            if holds_one and not hit:
                missed.append(row)
    for group, count in sorted(total.items(), key=lambda item: item[1]):
        print(f"{group:32} {found[group]:4} of {count:4}  {found[group] / count:.3f}")
    for row in missed:
        print(f"  missed {row['rule']}: {row['text'][:100]!r}")


def false_positives(corpus: list[dict[str, Any]]) -> None:
    harmless = [row for row in corpus if row["label"] == 0]
    changed = [(row, redact_and_report(row["text"])) for row in harmless]
    changed = [(row, clean) for row, clean in changed if clean.found]
    print(f"\nlabel 0, and something taken out: {len(changed)} of {len(harmless)}; to be judged:")
    for row, clean in changed:
        print(f"  {row['rule']}: {clean.text[:140]!r}")


def ordinary(path: str) -> None:
    text = Path(path).read_text(errors="replace")
    taken = find_secrets(text)
    per = 10_000 * len(taken) / (text.count("\n") + 1)
    print(f"\n{path}: {len(taken)} taken out, {per:.2f} in 10,000 lines")
    for start, end, type_ in taken:
        print(f"  {type_}: {text[max(0, start - 40) : start]!r} {text[start:end][:60]!r}")


def speed() -> list[Ratio]:
    """Text without secrets, against one search for one word without regard to case."""
    notes = Notes()
    # Not the rules themselves: they name every program and word that the search looks for.
    paths = sorted(Path(recollect.__file__).parent.rglob("*.py"))
    code = [path.read_text() for path in paths if path.parent.name != "secrets"]
    texts = {
        "prose": "\n".join(notes.note() for _ in range(12_000))[:1_000_000],
        "code": "\n".join(code)[:1_000_000],
    }
    word = re.compile(r"(?i)\bpassword\b")

    def timed(work: Callable[[], object], size: int) -> Callable[[], float]:
        return lambda: 1e9 * own_time(work) / size

    lines = []
    for name, text in texts.items():
        ours, theirs = paired(
            timed(lambda text=text: redact_and_report(text), len(text)),  # type: ignore[misc]
            timed(lambda text=text: word.findall(text), len(text)),  # type: ignore[misc]
            pairs=7,
        )
        lines.append(line(f"scrub clean {name}", ours, theirs, "ms/MB", ("at most", 4.0)))
    return lines


def growth() -> None:
    """Four times the text has to take about four times the time, whatever it says."""
    for piece in HOSTILE:
        short, long = ((piece * (size // len(piece))) for size in (100_000, 400_000))
        few, many = paired(
            lambda text=short: own_time(lambda: redact_and_report(text)),  # type: ignore[misc]
            lambda text=long: own_time(lambda: redact_and_report(text)),  # type: ignore[misc]
            pairs=3,
        )
        print(f"{piece[:24]!r:28} x4 takes {many / few:5.1f} times as long")


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    corpus = list(rows(sys.argv[1]))
    recall(corpus)
    false_positives(corpus)
    for path in sys.argv[2:]:
        ordinary(path)
    lines = speed()
    print(f"\n{table(lines)}\n")
    growth()
    return 0 if all(item.holds for item in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
