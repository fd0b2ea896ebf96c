"""Read printed output: errors of programs, commits of git.

An error is the most informative line and a type in a few words, from the output of compilers, test
runners, shells and agents' own tools. `actions.call_results` decides whether a call failed. Commits
are read from the output of git.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import takewhile

from ..fast_typing import NamedTuple

LONGEST_MESSAGE = 300
HEAD_CHARS, TAIL_CHARS = 4_000, 4_000
"""Characters read at the beginning and end of an output: errors are at either end."""

LONGEST_SIGNATURE = 100

LONG_WORD = 8

MOST_SIGNATURES = 3

TOOL_MISUSE = ("edit mismatch", "tool parameters", "too large")
"""Error types of misused agent tools: they say nothing about the project."""

TRANSIENT = ("unavailable", "rate limit")
"""Error types that go away by themselves: the action before is not a resolution."""

WRONG_CALL = frozenset(
    ("usage", "command not found", "not found", "permission denied", "unsupported version")
)
"""Error types of a wrong command line: another one can resolve them."""


_REFUSED = r"(?i)connection refused|ECONNREFUSED|is the (?:docker daemon|server) running"


def is_unreachable(output: str) -> bool:
    """Check whether a program failed because a service that it needs does not run."""
    return bool(re.search(_REFUSED, output))


class ErrorSignature(NamedTuple):
    """An error: its type in a few words, and the most informative line of the output."""

    type: str
    message: str


def find_error(output: str, words: Sequence[str]) -> ErrorSignature:
    """Return the error in an output. `words` are those of the command, or the tool's name."""
    lines = list(output_lines(output))
    for misuse in TOOL_MISUSE:
        # The complaint of an agent's own tool comes first; the rest is its input.
        if lines and _pattern(misuse).search(lines[0]):
            return ErrorSignature(misuse, _shown(lines[0]))
    weights = [_weight(line) for line in lines]
    best = weights.index(max(weights)) if any(weights) else len(lines) - 1
    message = _shown(lines[best]) if lines else "no output"
    return ErrorSignature(_type_of(message, "\n".join(lines[:20]), words), message)


class ErrorLine(NamedTuple):
    """A normalised line that identifies an error, its first occurrence as printed, and the files
    in which lines of this form report it."""

    signature: str
    text: str = ""
    files: tuple[str, ...] = ()


def signatures(output: str) -> tuple[str, ...]:
    """Return the normalised lines that identify an error, best first."""
    return tuple(one.signature for one in error_lines(output))


def error_lines(output: str) -> list[ErrorLine]:
    """Return the lines that identify an error, best first, with the files they name.

    Paths, numbers, addresses and ids are replaced by placeholders. Lines that occur in any failure
    are left out, and lines outside of failed tests, if the test runner marks these.
    """
    lines = [_pattern("task").sub("", line) for line in output_lines(output)]
    marked = any(map(_pattern("mark").match, lines))
    weighed: dict[str, tuple[int, str]] = {}
    files: dict[str, dict[str, None]] = {}
    for at, line in enumerate(lines):
        weight = 0 if _pattern("beside").match(line) else _weight(line)
        if marked and not _reports_test(lines, at):
            weight = 0
        if weight > 1:
            name = normalised(line)
            weighed.setdefault(name, (-weight, line))
            if file := _reported_in(lines, at):
                files.setdefault(name, {})[file] = None
    kept = sorted(filter(_is_specific, weighed), key=lambda name: weighed[name][0])
    return [
        ErrorLine(name, weighed[name][1], tuple(files.get(name, ())))
        for name in kept[:MOST_SIGNATURES]
    ]


def _reports_test(lines: Sequence[str], at: int) -> bool:
    """Check whether a line of a failed test reports its failure: a verdict, or a line with a place
    that has an error word or is the last one of its test. Those before it are its log."""
    if _pattern("verdict").match(lines[at]):
        return True
    place = _pattern("place").match
    others = ("--- ", "=== ", "FAIL")
    own = takewhile(lambda line: not line.lstrip().startswith(others), lines[at + 1 :])
    return bool(place(lines[at])) and (is_error_line(lines[at]) or not any(map(place, own)))


def _reported_in(lines: Sequence[str], at: int) -> str:
    """Return the file that a line reports an error in: on the line, on the next (`--> a.rs:1:2`),
    or above an indented line."""
    if found := _pattern("place").match(lines[at]):
        return found["file"]
    for line in lines[at + 1 : at + 3]:
        if found := _pattern("arrow").match(line):
            return found["file"]
    if lines[at][:1].isspace():
        above = next((line for line in reversed(lines[:at]) if not line[:1].isspace()), "")
        found = _pattern("place").match(above) or _pattern("only a path").fullmatch(above)
        return found["file"] if found else ""
    return ""


def _is_specific(line: str) -> bool:
    """Check whether a normalised line says more than that something failed."""
    line = _pattern("only a place").sub(" ", line)
    words = _pattern("word").findall(_pattern("any failure").sub(" ", line))
    return len(words) > 1 or any(len(word) >= LONG_WORD for word in words)


def normalised(line: str) -> str:
    """Return a line of an error without the parts that change with each occurrence."""
    line = _pattern("task").sub("", line)
    for name in ("url", "path", "id", "number"):
        line = _pattern(name).sub(f"<{name}>", line)
    return " ".join(line.split())[:LONGEST_SIGNATURE].strip(" .:")


def _shown(line: str) -> str:
    line = " ".join(line.split())
    return line if len(line) <= LONGEST_MESSAGE else line[: LONGEST_MESSAGE - 1] + "…"


def output_lines(output: str) -> Iterator[str]:
    """Yield the lines of an output, without colours and the tool's wrapping."""
    text = (
        output
        if len(output) <= HEAD_CHARS + TAIL_CHARS
        else f"{output[:HEAD_CHARS]}\n{output[-TAIL_CHARS:]}"
    )
    for line in _pattern("wrapping").sub("", text).splitlines():
        if line.strip() and not _pattern("frame").fullmatch(line):
            yield line


def is_error_line(line: str) -> bool:
    """Check whether a line contains an error word."""
    return bool(_pattern("error").search(line))


@lru_cache(maxsize=2)
def _join_lines(output: str) -> str:
    """Return the lines of an output as one cached text: several checks read it in turn."""
    return "\n".join(output_lines(output))


def reports_failure(output: str) -> bool:
    """Check for the words with which test runners and compilers report failure."""
    return bool(_pattern("bad end").search(_join_lines(output)))


def never_began(output: str) -> bool:
    """Check for the words of a shell or a package manager that could not start a command."""
    lines = _join_lines(output)
    lowered = lines.lower()
    return any(part in lowered for part in _NO_START) and bool(_pattern("no start").search(lines))


_NO_START = ("not found", "err_pnpm_", "could not find", "recognized")
"""Every match of the pattern `no start` contains one of these; searching them first is faster."""


def ran_nothing(output: str) -> bool:
    """Check whether a test runner says that it found no tests."""
    return bool(_pattern("no tests").search(_join_lines(output)))


def _weight(line: str) -> int:
    """Score how informative a line is about the error."""
    placed = bool(_pattern("place").match(line))
    if len(line) > 2_000 or not (placed or is_error_line(line)):
        return 0
    if _pattern("generic").search(line):
        return 1
    return (
        3
        + (placed and is_error_line(line))
        + bool(_pattern("verdict").match(line))
        + 2 * bool(_pattern("exception").search(line))
        + 3 * bool(_pattern("shell").match(line))
    )


def _type_of(message: str, output: str, words: Sequence[str]) -> str:
    named = {part.lower() for word in words for part in word.split(":")}
    # A test that timed out has failed; its runner has not timed out.
    waits = bool(named & _KINDS["test failure"]) and not _pattern("ran out").search(output)
    for text in (message, output):
        for name in _TYPES:
            if _pattern(name).search(text) and not (name == "timeout" and waits):
                return name
    found = _pattern("exception").search(message)
    if found and found[1] not in ("Error", "Exception"):
        return str(found[1])
    for name, kinds in _KINDS.items():
        if named & kinds:
            return name
    program = next((word for word in words if word[:1].isalnum()), "it")
    return f"{program} failed"


_KINDS = {
    "lint": {"lint", "format", "fmt", "eslint", "biome", "ruff", "prettier", "golangci-lint"},
    "test failure": {"test", "tests", "pytest", "jest", "vitest", "unittest", "rspec", "mocha"},
    "build": {"build", "compile", "make", "tsc", "webpack", "vite"},
    "check": {"check", "typecheck", "mypy", "pyright", "vet", "verify", "validate"},
}
_TYPES = {
    "edit mismatch": r"[Ss]tring to replace not found|\b0 occurrences found|has not been read"
    r"|old_?[Ss]tr\w* .*not found"
    r"|been modified since|[Ff]ound \d+ matches|not (?:found|unique) in (?:the )?file"
    r"|[Ff]ailed to find (?:expected|context)|apply_patch verification failed"
    r"|[Cc]ould not find the string|did not conform to the edit format|SEARCH.*failed to match",
    "tool parameters": r"InputValidationError|[Ii]nvalid (?:arguments|parameters|tool)\b"
    r"|parameter .* (?:missing|expected)|Agent type .* not found|Unknown JSON field",
    "too large": r"exceeds? maximum allowed|too large to",
    "unsupported version": r"UNSUPPORTED_ENGINE|EBADENGINE|requires (?:Node|Python|a newer)",
    "TypeScript compilation": r"\berror TS\d+",
    "command not found": r"command not found|: not found$|not recognized as|spawn \S+ ENOENT",
    "usage": r"(?:[Uu]nknown|[Uu]nrecognized|[Uu]nexpected|[Ii]nvalid|no such) (?:flag|option"
    r"|arguments?|(?:sub)?command|token|revision)\b|^[Uu]sage:|failed to parse jq"
    r"|none of the others can be|no matches found:|requires an argument",
    "merge conflict": r"\bCONFLICT\b|merge conflict",
    "permission denied": r"[Pp]ermission denied|EACCES|Operation not permitted|HTTP 403",
    "missing module": r"ModuleNotFoundError|Cannot find (?:module|package)|could not import"
    r"|no required module provides|No module named",
    "compilation": r"\berror\[E\d+\]|could not compile|\bundefined: |declared and not used"
    r"|cannot use .* as |\[build failed\]|undeclared name",
    "not found": r"No such file|does not exist|ENOENT|[Ff]ile not found|HTTP 404|404 Not Found"
    r"|not in this registry",
    "timeout": r"\b[Tt]imed? ?out\b|deadline exceeded",
    "unavailable": r"temporarily unavailable|[Ss]ervice Unavailable|[Oo]verloaded|ECONNRESET"
    r"|[Tt]ry again later|Could not resolve host|Another git process|\.lock.: File exists",
    "rate limit": r"rate limit|\b429\b|Too Many Requests",
}
_WORDS = {
    "wrapping": r"\x1b\[[0-9;?]*[A-Za-z]|</?(?:tool_use_error|error|output|stdout|stderr)>",
    "frame": r"\s*(?:(?:Exit code|Process exited with code|Chunk ID:|Wall time:|Exit Code:"
    r"|Original token count:).*|Output:|Stdout:|Stderr:|<.*exit code \d+>|[-=━═─_*~^ {}()\[\],;]+)",
    "error": r"(?i)error|fail|fatal|exception|panic|not found|no matches|no such|cannot|can't"
    r"|unable|denied|undefined|invalid|unexpected|unknown|unrecognized|missing|refused|×|✗|✖|✘"
    r"|does not|isn't|must|expected|timed out|issues? found|would have|unsupported|conflict",
    "exception": r"\b((?:[A-Z]\w*)?(?:Error|Exception))\b(?: \[\w+\])?(?:: |\(|$)",
    "place": r"\s*(?:[│|] *)?(?P<file>[\w/.@-]*\w\.\w{1,5})(?::\d+(?::\d+)?:? |\(\d+,\d+\):)",
    "arrow": r"\s*--> (?P<file>[\w/.@-]*\w\.\w{1,5}):\d+",
    "only a path": r"(?P<file>[\w/.@-]*/[\w.@-]*\w\.\w{1,5}):?\s*",
    "mark": r"\s*--- FAIL\b",
    "beside": r"\s*(?:=== |--- (?:PASS|SKIP)|PASS\b|ok\s|hint:|warning:|func |(?:\d+\s*)?\||return "
    r"|throw |.*[;{]$|[\w.]+\(.*\)[;,]?$)",
    "word": r"[A-Za-z][\w-]{2,}",
    "any failure": r"(?i)<\w+>|\b(?:errors?|fail(?:ed|ing|ure)?|exit(?:ed)?|status|code|with"
    r"|tests?|suites?|files?|passed|total|undefined|expected|actual|received|got|want|command|the"
    r"|and|for|task)\b",
    # Only the path says which file or module is missing, and every project has such paths.
    "only a place": r"(?i)(?:^\w+: |\berror: )?(?:cannot|can't|could not) (?:find|open|resolve) "
    r"(?:the )?(?:module|file)s? ['\"]?<path>['\"]?|<path>['\"]?: no such file or directory",
    "task": r"^\s*\[[\w:.-]+\]\s+",
    "url": r"\w+://[^\s'\"]+",
    "path": r"(?:[\w.@~-]*/)+[\w.@\[\]-]*(?::\d+)*|\b[\w-]+\.[A-Za-z]\w{0,4}:\d+(?::\d+)?",
    "id": r"\b(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b(?:-[0-9a-f]{4,12})*",
    # A number behind a capital is the code of an error: TS2345, E0308; before a dot and a name it
    # belongs to a module: psycopg2.Error.
    "number": r"(?<![A-Z0-9])(?!(?<=[a-z])\d+\.[A-Za-z_])"
    r"\d[\d.,]*(?:[a-z]{1,2}\d+)*(?:ms|s|m|h)?\b",
    "verdict": r"\s*(?:--- FAIL|FAILED|FAIL:|✗|✘|×|✖ |E  +\w)",
    "shell": r"\s*(?:/bin/)?(?:zsh|bash|sh):",
    "ran out": r"[Cc]ommand timed out|deadline exceeded",
    "generic": r"task failed|exited with|^\s*FAIL\b(?!:)|^\s*Found \d|\b0 (?:errors?|fail)"
    r"|^\s*\d+ errors?|^\s*at |^\s*\[?(?:warn|WARN|INFO|DEBUG)\b|^(?:npm|pnpm|yarn) \w+ code"
    r"|A complete log|^\$ |^> |^\s*Usage:|^\s*File \"|ELIFECYCLE|RUN_FIRST_FAIL|^For more info"
    r"|^error: script |^\s*\"error\"|Command failed with|Test failed\. See above|\d problems? \("
    r"|^\s*(?:\d+ \||//)|Error:\s+(?:Not equal|Should|Expected|Received)|Error Trace:"
    r"|failed with \d+ errors?|CategoryInfo|FullyQualifiedErrorId"
    # Lines in which a program reports that another one failed.
    r"|^\s*g?make(?:\[\d+\])?: (?:\*\*\* \[|Target)|^ninja: build stopped|^husky - "
    r"|^\s*✖ [\w./@-]+(?: -\S*)*:?\s*$|due to \d+ previous errors?",
    "no start": r"(?mi)^(?:\S+: ){1,3}(?:command )?not found$|^[^\n]{0,80}: command not found\b"
    r"|\bCommand \"[^\"\n]{1,80}\" not found|\bERR_PNPM_\w+|could not find `?Cargo\.toml"
    r"|\bis not recognized as an internal or external command",
    "no tests": r"(?mi)^\W*no tests? (?:were )?found\b|\bcollected 0 items\b"
    r"|^error: no tests found",
    "bad end": r"(?m)^(?:--- )?FAIL\b|^FAILED\b|^=+ .*\b[1-9]\d* (?:failed|errors?)\b"
    r"|^\s*[1-9]\d* fail(?:ed|ing)?\b|\bTests?:?\s+[1-9]\d* failed|^error(?:\[\w+\])?: "
    r"|\berror TS\d+|exited with code [1-9]|ERROR task failed|^Found [1-9]\d* errors?"
    r"|✖ [1-9]\d* problems? \([1-9]|npm ERR!|^make(?:\[\d\])?: \*\*\*|\bBUILD FAILED"
    r"|^Traceback \(most recent|^panic: |could not compile|\[(?:build|setup) failed\]"
    r"|^[1-9]\d* errors? |ELIFECYCLE|^\W*\d+\) \[\w+\] ›|^\s*[1-9]\d* did not run"
    r"|^\S+\.\w{1,5}:\d+(?::\d+)?:? (?:error\b|syntax error|undefined: |cannot use |declared )",
    "made commit": r"(?m)^\s*\[[^\[\]\n]+ ([0-9a-f]{7,40})\] (\S.*)$",
    "commit on a line": r"(?m)^[*|/\\_ ]*([0-9a-f]{7,40}) (?:\([^()\n]*\) )?(\S.*)$",
    "commit heading": r"[*|/\\_ ]*commit ([0-9a-f]{40})(?: \(.*\))?$",
}


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """Return a pattern by its name, compiled at first use."""
    return re.compile(_TYPES.get(name) or _WORDS[name], re.MULTILINE if name in _TYPES else 0)


_MAKES = frozenset({"commit", "merge", "cherry-pick", "revert", "rebase", "am", "pull"})
_LISTS = frozenset({"log", "show", "whatchanged"})


class GitCommit(NamedTuple):
    """A commit: its hash as printed, its subject, and whether it was just made."""

    hash: str
    subject: str
    made: bool


def find_commits(commands: Iterable[Sequence[str]], output: str) -> list[GitCommit]:
    """Return the commits that these git commands made or listed, newest first."""
    made: dict[str, GitCommit] = {}
    listed: dict[str, GitCommit] = {}
    for command in commands:
        name, options = command[0], command[1:]
        if name in _MAKES:
            for found in _pattern("made commit").finditer(output):
                made[found[1][:7]] = GitCommit(found[1], found[2].strip(), True)
        elif name in _LISTS:
            for commit in _listed(output, any(map(_is_one_line, options))):
                listed.setdefault(commit.hash[:7], commit)
    newest_first = [made[key] for key in reversed(made)]
    return newest_first + [commit for key, commit in listed.items() if key not in made]


def _is_one_line(option: str) -> bool:
    form = option.partition("=")[2].strip("'\"").removeprefix("format:")
    if option.startswith(("--pretty=", "--format=")):
        return form == "oneline" or form.startswith(("%h ", "%H "))
    return option == "--oneline"


def _listed(output: str, one_line: bool) -> Iterator[GitCommit]:
    digest = ""
    for line in output.split("\n"):
        if found := _pattern("commit heading").match(line):
            digest = found[1]
        elif digest and line.lstrip("*|/\\_ ") and "    " in line[:12]:
            yield GitCommit(digest, line.lstrip("*|/\\_ ").strip(), False)
            digest = ""
    if one_line:
        for found in _pattern("commit on a line").finditer(output):
            yield GitCommit(found[1], found[2].strip(), False)
