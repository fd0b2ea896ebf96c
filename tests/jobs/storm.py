"""`python -m tests.jobs.storm [--jobs N] [--workers N] [--kills N] [--stops N] [--postgres URL]`

Workers that are killed (kill -9) and stopped past their lease work off a queue; in the end each job
has had exactly one effect. The defaults take some minutes; the suite runs a small storm.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import recollect
from recollect.documents import sql as documents_sql
from recollect.errors import Conflict
from recollect.jobs import sql as jobs_sql
from recollect.secrets import redaction
from recollect.storage.database import Tx

ROOT = Path(__file__).parents[2]
KIND, EFFECT = "storm", "storm effect"
LEASE = 700_000

OPEN = ("pending", "running")


class Storm(NamedTuple):
    """How many jobs and workers, and how often a worker is killed and stopped."""

    jobs: int
    workers: int
    kills: int
    stops: int


class Outcome(NamedTuple):
    """How many effects each job had, what became of the jobs, and how often leases were lost."""

    effects: Counter[str]
    statuses: dict[str, int]
    kills: int
    stops: int
    takeovers: int


def now() -> int:
    return time.time_ns() // 1000


def work(project: str, owner: str) -> None:
    """Be one worker: claim a job, think about it, write its effect and finish it."""
    chance = random.Random(owner)
    with recollect.open(project) as memory:
        space = memory.context.project_space
        while True:
            moment = now()
            job = space.write(
                lambda tx, moment=moment: jobs_sql.claim_job(  # type: ignore[misc]
                    tx, (KIND,), owner, moment, LEASE, tries=10_000
                )
            )
            if job is None:
                if not space.read(lambda tx: sum(map(open_jobs(tx).get, OPEN, (0, 0)))):
                    return
                time.sleep(0.05)
                continue
            time.sleep(chance.uniform(0.0, 0.02))
            try:
                space.write(lambda tx, job=job: effect(tx, job))  # type: ignore[misc]
            except Conflict:
                continue  # another worker took over


def open_jobs(tx: Tx) -> dict[str, int]:
    return dict.fromkeys(OPEN, 0) | jobs_sql.count_jobs(tx, (KIND,))


def effect(tx: Tx, job: jobs_sql.Job) -> None:
    """Write one effect and finish the job, under its lease."""
    jobs_sql.hold_lease(tx, job)
    safe = redaction.redact
    id = f"{job.subject}-{job.attempt}-{os.urandom(4).hex()}"
    row = documents_sql.EventRow(
        id, EFFECT, safe(job.subject), safe(""), safe(""), safe("done"), safe("{}"), now()
    )
    documents_sql.append_event(tx, row)
    jobs_sql.complete_job(tx, job, now())


def unleash(project: Path, environment: dict[str, str], storm: Storm) -> Outcome:
    """Run a storm to its end."""
    chance = random.Random(7)
    with recollect.open(project, environment=environment) as memory:
        space = memory.context.project_space

        def queue(tx: Tx) -> None:
            for number in range(storm.jobs):
                jobs_sql.enqueue_job(tx, KIND, f"{number:05}", 1, now())

        space.write(queue)
        blows = ["kill"] * storm.kills + ["stop"] * storm.stops
        chance.shuffle(blows)
        share = storm.jobs * 0.9 / max(len(blows), 1)
        workers = [_start(project, environment) for _ in range(storm.workers)]
        stopped: list[tuple[int, subprocess.Popen[bytes]]] = []
        struck: Counter[str] = Counter()
        while True:
            counts = space.read(open_jobs)
            due = [pair for pair in stopped if pair[0] <= now()]
            for pair in due:
                pair[1].send_signal(signal.SIGCONT)
                stopped.remove(pair)
            if not counts["pending"] and not counts["running"]:
                break
            free = [one for one in workers if one.poll() is None]
            free = [one for one in free if one not in [held for _, held in stopped]]
            if blows and counts.get("done", 0) >= (sum(struck.values()) * share) and len(free) > 1:
                victim, blow = chance.choice(free), blows.pop()
                struck[blow] += 1
                if blow == "stop":
                    victim.send_signal(signal.SIGSTOP)
                    stopped.append((now() + LEASE * 3 // 2, victim))
                else:
                    victim.kill()
                    victim.wait()
                    workers = [one for one in workers if one is not victim]
                    workers.append(_start(project, environment))
            if not any(one.poll() is None for one in workers):
                workers.append(_start(project, environment))
            time.sleep(0.01)
        for _, paused in stopped:
            paused.send_signal(signal.SIGCONT)
        for worker in workers:
            worker.wait()
        found = space.read(lambda tx: documents_sql.list_events(tx, EFFECT, 10 * storm.jobs))
        held_jobs = space.read(lambda tx: jobs_sql.list_jobs(tx, "", KIND, storm.jobs + 1))
        return Outcome(
            Counter(row.trace for row in found),
            space.read(lambda tx: jobs_sql.count_jobs(tx, (KIND,))),
            struck["kill"],
            struck["stop"],
            sum(job.attempt - 1 for job in held_jobs),
        )


def _start(project: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "tests.jobs.storm", "--work", str(project), os.urandom(6).hex()]
    return subprocess.Popen(words, cwd=ROOT, env=environment)


def main() -> int:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--work", nargs=2)
    for name, default in (("jobs", 1000), ("workers", 8), ("kills", 100), ("stops", 50)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--postgres", default="")
    args = parser.parse_args()
    if args.work:
        work(*args.work)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        project.mkdir()
        environment = {**os.environ, "RECOLLECT_HOME": f"{folder}/home", "HOME": folder}
        environment["RECOLLECT_LOCK_WAIT"] = "600"
        if args.postgres:
            environment["RECOLLECT_DATABASE"] = args.postgres
        storm = Storm(args.jobs, args.workers, args.kills, args.stops)
        outcome = unleash(project, environment, storm)
    twice = sum(count > 1 for count in outcome.effects.values())
    print(
        f"{outcome.kills} kills, {outcome.stops} stops, {outcome.takeovers} takeovers: "
        f"{sum(outcome.effects.values())} effects of {storm.jobs} jobs, {twice} twice, "
        f"{storm.jobs - len(outcome.effects)} lost"
    )
    return 0 if outcome.effects == Counter(f"{n:05}" for n in range(storm.jobs)) else 1


if __name__ == "__main__":
    sys.exit(main())
