"""Merge the observations of several sessions about one subject: commands, error fixes, places.

Observations come newest first. A finding is JSON; the records below are read out of it again. They
are computed from tool calls and exit statuses alone, except `Conclusion`, which quotes an agent.
Commands that fetch code, touch credentials or a remote are never observed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from ..actions import command_words
from ..episodes import command_tally, session_errors
from ..fast_typing import NamedTuple
from ..text import messages
from ..types.records import Json
from .command_wording import choose_wording, most_common

DAY = 24 * 3_600_000_000
HALF_LIFE = 45 * DAY
UNUSED = 30 * DAY
DAYS_WITHOUT = 3
"""A command leaves the start block after 30 days of work without it: days on which no command
worked do not count. If other commands of its purpose worked on `DAYS_WITHOUT` days, 30 calendar
days are enough."""

MOST_FAILURES = 2
"""A command that failed in so many sessions in a row is retired."""

MOST_REMEDIES = 3
MOST_TOGETHER = 4
CONFIRMED = 2
"""The number of sessions that confirm a finding."""

COMMON = ("install", "format")
"""Purposes of commands that are the same in every project: one success is not worth showing."""

MOST_SHARE = 0.75
"""The share of sessions that counts as most of them."""

PASSED_OVER = 8
"""A command that worked in one session is left out after so many later sessions without it."""

PROPOSED = 3
"""The number of sessions with the same commands before a commit that proposes a procedure."""

Bodies = Sequence[Mapping[str, Json]]


class MergedFinding(NamedTuple):
    """The merged observations of several sessions: their number, the newest time, the JSON."""

    sessions: int
    at: int
    body: Mapping[str, Json]


class KnownCommand(NamedTuple):
    """A command in canonical form, with how often it worked. Times are microseconds."""

    form: str
    purpose: str
    """test, lint, format, typecheck, build, run, migrate, generate, install, deploy, or empty."""
    sessions_succeeded: int
    sessions_failed: int
    last_success: int
    replaces: tuple[str, ...] = ()
    """Forms that fail and that this one replaced."""
    retired: str | None = None
    """Why it is not shown at the start of a session; None if it may be."""
    folder: str = ""
    """The folder below the project's root that it was always run in."""
    below: str = ""
    """The folder of the paths that it had as arguments in most sessions."""
    with_argument: bool = False
    """It was never run without a path or another argument that the form leaves out."""
    script: str = ""
    """The script of a manifest that it runs."""
    parts: tuple[str, ...] = ()
    """Names or paths of the folders that it applies to: `web` of `pnpm --filter web test`."""


class CommandAdvice(NamedTuple):
    """A command that failed in several sessions, and the form that worked since."""

    form: str
    better: str
    sessions_failed: int
    sessions_succeeded: int
    last: int
    broken: str = ""
    """The wording that failed, as it was run."""


class KnownResolution(NamedTuple):
    """An earlier error and its resolution."""

    signature: str
    """The normalised line of the output that identifies the error."""
    command: str
    remedy: session_errors.Remedy
    sessions: int
    last: int
    confirmed: bool
    """Two sessions or more resolved it this way."""


class KnownPlace(NamedTuple):
    """Files that are changed together with a file."""

    files: tuple[str, ...]
    sessions: int
    of: int = 0
    """The number of sessions that changed the file."""


class Conclusion(NamedTuple):
    """The outcome that an agent reported at the end of an episode, with the evidence after it."""

    text: str
    session: str
    at: int
    evidence: str


def merge_observations(kind: str, bodies: Bodies, times: Sequence[int]) -> MergedFinding | None:
    """Merge the observations of a subject, newest first, into one finding; None if nothing is
    confirmed."""
    if not bodies:
        return None
    merge = {"command": _merge_commands, "error": _merge_errors, "place": _merge_places}.get(
        kind, _keep_latest
    )
    return merge(bodies, times)


def observed_after(kind: str, body: Mapping[str, Json], mark: int) -> Mapping[str, Json] | None:
    """Return the part of a finding that was observed after a time; None without one."""
    if not mark:
        return body
    if kind == "command":
        good = [at for at in body["ok"] if at > mark]
        bad = [at for at in body.get("failed_at", ()) if at > mark]
        in_a_row = min(int(body["in_a_row"]), len(bad))
        kept = {**body, "ok": good, "failed": len(bad), "in_a_row": in_a_row}
        return kept if good or bad else None
    if kind == "error":
        remedies = [_remedy_after(one, mark) for one in body["remedies"]]
        known = [one for one in remedies if one["sessions"]]
        return {**body, "remedies": known} if known else None
    if kind == "place":
        counts = [(one[0], sum(at > mark for at in one[2])) for one in body["files"] if one[2:]]
        often = [one for one in counts if one[1] >= CONFIRMED]
        return {**body, "files": often} if often else None
    return body


def _remedy_after(remedy: Mapping[str, Json], mark: int) -> dict[str, Json]:
    times = [at for at in remedy.get("times", ()) if at > mark]
    return {**remedy, "sessions": len(times), "last": max(times, default=0)}


# ---------------------------------------------------------------- commands


def _merge_commands(bodies: Bodies, times: Sequence[int]) -> MergedFinding | None:
    good = [body for body in bodies if body["ok"]]
    bad = [body for body in bodies if not body["ok"]]
    in_a_row = next((at for at, body in enumerate(bodies) if body["ok"]), len(bodies))
    last = max((body["last_ok"] for body in good), default=0)
    folders = {body.get("folder", "") for body in good}
    whole = [one for one in good if not one.get("aimed")]
    typical = whole if len(whole) >= CONFIRMED else good
    wording = choose_wording(bodies, typical)
    body: dict[str, Json] = {
        "wording": wording,
        "purpose": most_common([str(one["purpose"]) for one in bodies]),
        "ok": [one["last_ok"] for one in good],
        "failed": len(bad),
        "failed_at": [one["last_failed"] for one in bad],
        "in_a_row": in_a_row,
        "last_failed": max(one["last_failed"] for one in bodies),
    }
    if len(folders) == 1:
        body["folder"] = next(iter(folders))
    given = [str(one["below"]) for one in good if one.get("below")]
    if typical is good and len(given) >= MOST_SHARE * len(good):
        body["below"] = command_tally.common_folder(f"{path}/" for path in given)
    if good and all(one.get("aimed") for one in good):
        body["aimed"] = True
    if good and not any(wording in one.get("ran", (wording,)) for one in whole):
        body["with_argument"] = True
    if broken := [name for one in bad for name in one.get("broken", ())]:
        body["broken"] = most_common(broken)
    better = [str(one["replaced_by"]) for one in bodies if one.get("replaced_by")]
    if better:
        body["replaced_by"] = most_common(better)
    if script := next((one["script"] for one in bodies if one.get("script")), ""):
        body["script"] = script
    return MergedFinding(len(good), last or times[0], body)


def score(body: Mapping[str, Json], now: int) -> float:
    """Return how well a command is proven: each session counts, older ones for less."""
    proven = sum(0.5 ** (max(now - at, 0) / HALF_LIFE) for at in body["ok"])
    return float(proven) * (1.0 if body["purpose"] else 0.5)


def read_command(
    form: str,
    body: Mapping[str, Json],
    now: int,
    scripts: Sequence[str] | None,
    others: Sequence[int] = (),
    days: Mapping[str, Collection[int]] = {},
) -> KnownCommand:
    """Return a command as the briefing shows it.

    scripts: the scripts that the manifests have now; None if unknown
    others: the times at which the best command worked, one for each session
    days: the days on which commands worked, by their purpose
    """
    good: Sequence[int] = body["ok"]
    last = max(good, default=0)
    script = str(body.get("script", ""))
    retired = None
    passed_over = sum(at > last for at in others)
    if body["in_a_row"] >= MOST_FAILURES:
        retired = f"failed in the last {body['in_a_row']} sessions"
    elif not good:
        retired = "never succeeded"
    elif script and scripts is not None and script not in scripts:
        retired = f"the script {script} is gone"
    elif now - last > UNUSED and _is_out_of_use(last, str(body["purpose"]), days):
        retired = f"not used for {(now - last) // DAY} days while other commands were"
    elif len(good) < CONFIRMED:
        retired = _why_single_left_out(body, script, passed_over)
    return KnownCommand(
        form=str(body["wording"]) or form,
        purpose=str(body["purpose"]),
        sessions_succeeded=len(good),
        sessions_failed=int(body["failed"]),
        last_success=last,
        retired=retired,
        folder=str(body.get("folder", "")),
        below=str(body.get("below", "")),
        with_argument=bool(body.get("with_argument")),
        script=script,
        parts=command_words.parts_of(form, str(body.get("folder", ""))),
    )


def _is_out_of_use(last: int, purpose: str, days: Mapping[str, Collection[int]]) -> bool:
    """Check whether other commands were used on enough days since a command last worked."""
    later = {name: {day for day in some if day > last // DAY} for name, some in days.items()}
    every = set().union(*later.values())
    return len(later.get(purpose, ())) >= DAYS_WITHOUT or len(every) * DAY >= UNUSED


def _why_single_left_out(body: Mapping[str, Json], script: str, passed_over: int) -> str | None:
    """Return why a command that worked in one session is not shown; None if it may be."""
    if not (body["purpose"] or script):
        return "seen once, with an unknown purpose"
    if body["purpose"] in COMMON and not script:
        return "seen once, and every project has such a command"
    if body.get("aimed") and not body.get("below"):
        return "seen once, for one target only"
    if passed_over >= PASSED_OVER:
        return f"seen once, and not in {passed_over} sessions since"
    return None


def find_advice(
    form: str, body: Mapping[str, Json], better: str, other: Mapping[str, Json]
) -> CommandAdvice | None:
    """Return the form to run in place of one that failed in several sessions and has not worked
    since; None if the other form did not succeed after the first failure."""
    last_good = max(body["ok"], default=0)
    since = [at for at in other["ok"] if at >= body["last_failed"] - HALF_LIFE]
    if body["failed"] < CONFIRMED or last_good > body["last_failed"] or not since:
        return None
    return CommandAdvice(
        form=form,
        better=str(other["wording"]) or better,
        sessions_failed=int(body["failed"]),
        sessions_succeeded=len(other["ok"]),
        last=max(other["ok"]),
        broken=str(body.get("broken", "")),
    )


# ---------------------------------------------------------------- ids


def fix_ref(signature: str) -> str:
    """Return the id of the fixes of an error."""
    return f"fix:{messages.text_digest(signature.lower())[:6]}"


def lesson_refs(ref: str) -> tuple[str, ...]:
    """Return the possible ids of the command or fix that was shown as `ref`, to hide it by.

    `avoid:…` names a command, `resolution:COMMAND:ERROR` a fix. The command may hold colons too, so
    the error is one of the suffixes; the longest comes first.
    """
    kind, _, name = ref.partition(":")
    if kind == "avoid":
        return (f"command:{name}",)
    if kind != "resolution":
        return (ref,)
    parts = name.split(":")
    return tuple(fix_ref(":".join(parts[place:])) for place in range(1, len(parts)))


# ---------------------------------------------------------------- errors


def _merge_errors(bodies: Bodies, times: Sequence[int]) -> MergedFinding | None:
    groups: list[tuple[session_errors.Remedy, list[int]]] = []
    for body, at in zip(bodies, times, strict=True):
        remedy = session_errors.remedy_from_json(body["remedy"])
        for place, (known, seen) in enumerate(groups):
            if common := session_errors.common_remedy(known, remedy):
                groups[place] = (common, [*seen, at])
                break
        else:
            groups.append((remedy, [at]))
    groups.sort(key=lambda group: (-len(group[1]), -max(group[1])))
    names = Counter(name for body in bodies for name in body["commands"])
    remedies = [
        {"remedy": remedy._asdict(), "sessions": len(seen), "last": max(seen), "times": seen}
        for remedy, seen in groups[:MOST_REMEDIES]
    ]
    body = {"line": bodies[0]["line"], "commands": list(names), "remedies": remedies}
    return MergedFinding(len(bodies), times[0], body)


def read_resolutions(body: Mapping[str, Json], commands: Sequence[str]) -> list[KnownResolution]:
    """Return the remedies of an error, if one of these commands had it."""
    # An interpreter without a script ran code given on its command line: other code the next time.
    inline = command_words.word_set(f"{command_words.INTERPRETERS} bun deno")
    asked = set(map(with_module, commands))
    known = dict.fromkeys(map(with_module, body["commands"]))
    shared = [name for name in known if name in asked and name not in inline]
    if not shared:
        return []
    return [
        KnownResolution(
            signature=str(body["line"]),
            command=shared[-1],
            remedy=session_errors.remedy_from_json(one["remedy"]),
            sessions=int(one["sessions"]),
            last=int(one["last"]),
            confirmed=one["sessions"] >= CONFIRMED,
        )
        for one in body["remedies"]
        if session_errors.is_clear(one["remedy"])
    ]


def with_module(command: str) -> str:
    """Return the command of an error with the `-m` that early versions left out: `python pytest`.
    The file of a script has a dot or a slash."""
    program, _, name = command.partition(" ")
    is_module = program.startswith("python") and re.fullmatch(r"\w+", name)
    return f"{program} -m {name}" if is_module else command


# ---------------------------------------------------------------- places and conclusions


def _merge_places(bodies: Bodies, times: Sequence[int]) -> MergedFinding | None:
    seen: dict[str, list[int]] = {}
    for one, at in zip(bodies, times, strict=True):
        for name in one["files"]:
            seen.setdefault(str(name), []).append(at)
    ordered = sorted(seen.items(), key=lambda found: -len(found[1]))
    often = [
        (name, len(at), at)
        for name, at in ordered
        if len(at) >= CONFIRMED and len(at) >= MOST_SHARE * len(bodies)
    ]
    body = {"files": often[:MOST_TOGETHER], "of": len(bodies)}
    return MergedFinding(len(bodies), times[0], body) if often else None


def read_places(body: Mapping[str, Json]) -> list[KnownPlace]:
    """Return the files that were changed together, each with the number of sessions."""
    total = int(body.get("of", 0))
    return [KnownPlace((name,), count, total) for name, count, *_ in body["files"]]


def _keep_latest(bodies: Bodies, times: Sequence[int]) -> MergedFinding | None:
    return MergedFinding(len(bodies), times[0], bodies[0])


def read_conclusion(body: Mapping[str, Json], at: int) -> Conclusion:
    """Return the outcome that an agent reported."""
    return Conclusion(str(body["text"]), str(body["session"]), at, str(body["evidence"]))
