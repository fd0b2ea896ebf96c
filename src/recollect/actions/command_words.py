"""Words of shell commands: the purpose, effect and danger that they indicate.

Programs that are ignored are listed by name; the purpose of others follows from their words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

_LOOKING = (
    "ag awk basename bat cat cmp column comm command cut date df diff dig dirname du egrep exa fd"
    " fgrep file find fold fx grep head hexdump host hostname id jq less ll locate ls lsof man md5"
    " md5sum more nl nslookup od pgrep ping printenv ps pwd readlink realpath rev rg sed sha1sum"
    " sha256sum shasum sort stat strings tac tail top tr tree type uname uniq uptime wc whereis"
    " which who whoami xxd yq test [ [["
)
_QUIET = (
    # they keep the shell and its files
    "git gh glab . : alias break builtin cd chmod chown clear continue cp declare dirs echo eval"
    " exit export false fg hash history jobs kill killall let ln local mkdir mkfifo mktemp mv"
    " pkill popd printf pushd read return rm rmdir seq set shift shopt sleep source sync tar tee"
    " touch trap true tput ulimit umask unalias unset unzip wait xargs yes zip gzip gunzip truncate"
    # they talk to other machines or to people
    " aws az code curl cursor emacs ftp gcloud gpg nano nc open osascript pbcopy pbpaste rsync scp"
    " security sftp ssh ssh-add ssh-keygen telnet vi vim wget xdg-open"
    # agents, and ourselves
    " aider claude codex copilot gemini opencode recollect"
)
_NOISE = (
    "cd echo printf true sleep export set source . pwd pushd popd wait watch tee xargs cut tr uniq"
    " mktemp date for do done then fi if while"
)
WRAPPERS = (
    "sudo doas time nohup command exec env nice ionice timeout gtimeout stdbuf xvfb-run"
    " caffeinate corepack setsid unbuffer rtk"
)
RUNNERS = "npx bunx pnpx uvx"
"""Programs that start the tool named in their arguments."""

INTERPRETERS = "python python3 python2 py node ruby perl php bash sh zsh tsx ts-node Rscript lua"

_CHECKING = (
    "test tests lint check build typecheck type-check compile vet clippy tsc pytest jest vitest"
    " mypy pyright ruff eslint biome golangci-lint prettier rspec phpunit mocha tox nox ctest"
    " rubocop flake8 shellcheck verify validate unittest"
)
_CHANGING = (
    "install add remove uninstall update upgrade tidy generate mkdir rm mv cp ln chmod chown fmt"
    " format fix migrate init create checkout switch merge rebase pull fetch reset restore"
    " apply kill pkill start stop restart login config enable disable sync --fix --write -w unset"
    " use rename i ci get download"
)
_LOOKS = (
    "ls list show info version env doc docs help status logs log ps inspect get describe view tree"
    " why outdated search which where diff history tasks images explain print whoami doctor freeze"
    " metadata config events top stats"
)
_DANGEROUS = (
    "push publish deploy deployment release upload destroy delete drop reset purge prune wipe"
    " login logout auth token tokens secret secrets credential credentials password passwd trust"
    " apply promote rollback sudo doas dlx uvx --force --no-verify --privileged -y --yes"
)
_DANGEROUS_STARTS = ("--dangerously", "--allow-", "--unsafe", "--no-check", "--insecure")
_PURPOSES = {
    "test": "test tests spec specs e2e unit integration coverage jest playwright cypress mocha"
    " tox nox",
    "lint": "lint vet clippy rubocop flake8 biome ruff credo linter",
    "format": "fmt format prettier black formatter",
    "typecheck": "typecheck tsc mypy pyright types",
    "check": "check verify validate ci precommit pre-commit",
    "build": "build compile bundle assemble make webpack",
    "migrate": "migrate migration migrations alembic",
    "generate": "generate gen codegen",
    "install": "install setup bootstrap deps tidy restore",
    "run": "run dev start serve up watch preview server",
}
_ENDINGS = (
    ("test", ("test", "tests", "spec", "unit")),
    ("lint", ("lint",)),
    ("format", ("fmt", "format")),
    ("typecheck", ("typecheck",)),
    ("check", ("check",)),
    ("build", ("build",)),
    ("migrate", ("migrate",)),
    ("generate", ("gen",)),
)
TEMPORARY = ("/tmp", "/private", "/var/", "/dev/", "$TMP", "${TMP")


@cache
def word_set(words: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(words.split())


def is_quiet(program: str) -> bool:
    """Check whether a program only looks, moves files or talks to a remote, and is ignored."""
    return program in word_set(_QUIET) or program in word_set(_LOOKING)


def only_looks(program: str) -> bool:
    """Check whether a program reads and changes nothing."""
    return program in word_set(_LOOKING)


def is_noise(program: str) -> bool:
    """Check whether a program only serves the others of its line: `cd`, `echo`, `sleep`."""
    return program in word_set(_NOISE)


def makes_changes(words: Sequence[str]) -> bool:
    """Check whether a command does more than look: it installs, moves, fixes, starts, …"""
    parts = (part for word in words[:5] for part in (word, *word.split(":")))
    return not word_set(_CHANGING).isdisjoint(parts)


def is_check(words: Sequence[str]) -> bool:
    """Check whether a command tests, lints or builds: `go test`, `npm run lint:fix`, `tsc`."""
    named = {part for word in words[:5] if word[:1] != "-" for part in word.split(":")}
    return not only_looks(words[0]) and not word_set(_CHECKING).isdisjoint(named)


def is_looking(word: str) -> bool:
    """Check whether a subcommand only looks: `docker ps`, `go env`."""
    return word in word_set(_LOOKS)


def purpose_of(words: Sequence[str]) -> str:
    """Return the purpose that the words of a command name; the last one counts."""
    for word in reversed(words):
        for part in (word, *re.split(r"[:_./@-]+", word)):
            if found := purpose_of_part(part.lower()):
                return found
    return ""


@cache
def purpose_of_part(part: str) -> str:
    """Return the purpose that one part of a word names."""
    for purpose, words in _PURPOSES.items():
        if part in word_set(words):
            return purpose
    for purpose, endings in _ENDINGS:
        if len(part) > 4 and part.endswith(endings):
            return purpose
    return ""


def is_dangerous(words: Sequence[str]) -> bool:
    """Check whether only the user may suggest a command."""
    programs = {"curl", "wget", "ssh", "scp", "rsync", "chmod", "chown", "sudo", "doas", "gpg"}
    return not programs.isdisjoint(words) or any(map(is_dangerous_word, words))


def parts_of(form: str, folder: str) -> tuple[str, ...]:
    """Return the folders that a command may apply to: the one that it is run in, and those of words
    that name a part of a project: `--filter @acme/web`, `-C apps/api`, `api:generate`."""
    found = {folder: None} if folder else {}
    for word in form.split()[1:]:
        name = word.removeprefix("./").strip("/")
        if word.startswith("-") or not name:
            continue
        name = name.rpartition("/")[2] if name.startswith("@") else name.partition(":")[0]
        if not purpose_of_part(name) and len(name) > 1:
            found[name] = None
    return tuple(found)


def is_dangerous_word(word: str) -> bool:
    """Check whether a word fetches code, unlocks, pushes, deploys or destroys."""
    return (
        word in word_set(_DANGEROUS)
        or word.startswith(_DANGEROUS_STARTS)
        or bool(re.search(r"@(?:latest|\d)", word))
        or (word[:1] != "-" and not word_set(_DANGEROUS).isdisjoint(re.split(r"[:_./-]", word)))
    )


def suggests_danger(text: str) -> bool:
    """Check whether a text names a command that fetches code, touches credentials or permissions,
    pushes or deploys."""
    return re.search(_DANGEROUS_TEXT, text) is not None


_DANGEROUS_TEXT = r"""(?ix)
        \b(?:curl|wget|iwr|invoke-webrequest)\b[^\n]*\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b
        |\b(?:ba|z)?sh\s+-c\s+["']?\$\((?:curl|wget)|\beval\b[^\n]*\b(?:curl|wget)\b
        |\bsudo\b|`\ as\ root\b|\bch(?:mod|own)\s+(?:-\w+\s+)*(?:[0-7]{3,4}|\+?[a-z]*s|\w+:)
        |\bgit\s+push\b|--force\b|--no-verify\b|--dangerously
        |\b(?:npm|pnpm|yarn|cargo|twine|poetry|gem)\s+(?:publish|upload)\b
        |\b(?:kubectl|helm)\s+(?:apply|delete|upgrade|install)\b|\bterraform\s+(?:apply|destroy)\b
        |\b(?:vercel|netlify|fly|flyctl|heroku|wrangler|gcloud|aws|az|ansible-playbook)\s+\w
        |\bdeploy\b|\b(?:gh|glab)\s+(?:pr\s+merge|release|secret)\b
        |\[REDACTED:|\bssh(?:-\w+)?\s|\bscp\s|\brsync\s|\bid_(?:rsa|ed25519)\b|(?<!\w)\.env\b
        |`[^`\n]*\b(?:password|passwd|secret|credential|api[_ -]?key|access[_ -]?token)s?\b[^`\n]*`
        |\b(?:docker|npm|gh|glab|doctl|auth)\s+(?:auth\s+)?log(?:in|out)\b|\brm\s+-\w*[rf]"""


def is_lasting(text: str) -> bool:
    """Check whether a word means the same in the next session: no temporary or absolute path."""
    return not (text.startswith(("/", "~")) or any(mark in text for mark in (*TEMPORARY, "$", "*")))


def is_name(text: str) -> bool:
    """Check whether a word is a name rather than a path, a pattern or a number."""
    return bool(re.fullmatch(r":?@?[A-Za-z][\w:+-]*(?:/[\w-]+)?", text)) and (
        "/" not in text or text.startswith("@")
    )


NARROWING = r"(?i)pattern|filter|grep|name|match|only|run|path|tests?$|^-[kt]$"
"""Match options that select the target of one run."""
