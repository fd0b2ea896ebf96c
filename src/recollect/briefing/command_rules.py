"""Match a shell command with the user's rules.

A rule is shown before a command if it forbids the command, says how to run it, or what to do before
it. A rule that only mentions a program is not shown: it would appear before every call. Nor is a
rule that asks for exactly the form that is run. In doubt nothing is shown: a false alarm costs
trust. The check runs before every command and mostly finds nothing, so the watched programs are one
string, and substring searches come before parsing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ..actions import runners
from ..fast_typing import NamedTuple

LONGEST_RULE = 400


class NamedCommand(NamedTuple):
    """A command that a rule mentions: its first words and its flags.

    `is_flag_asked`: the rule asks for the flags, and applies to commands without them
    `branch`: the rule is about pushing to this branch
    `is_banned`: the words are a forbidden program or package
    """

    words: tuple[str, ...]
    flags: tuple[str, ...] = ()
    is_flag_asked: bool = False
    branch: str = ""
    is_banned: bool = False


def named_commands(text: str) -> list[NamedCommand]:
    """Return the commands that a rule forbids, says how to run, or asks to do something before."""
    text = _shorten(text)
    small = text.casefold()
    found = [*_banned(text)]
    # Most statements need none of the patterns: each takes a millisecond to compile.
    if "commit" in small or "push" in small:
        found += _git_steps(text)
    if "`" in small or "before" in small:
        found += _mentioned(text)
    return [one for one in found if one.words]


def _shorten(text: str) -> str:
    return text[:LONGEST_RULE].replace("’", "'")


def _mentioned(text: str) -> Iterable[NamedCommand]:
    for span in re.finditer(_MENTIONED, text):
        named = _parse(span["code"] or span["before"])
        if len(named.words) > 1 or span["moment"]:
            yield named


def _parse(command: str) -> NamedCommand:
    """Split a command into words and flags. The case of flags matters: -s is not -S."""
    words = [word.strip(",;:`").removesuffix(".") or word for word in command.split()]
    plain = tuple(word.casefold() for word in words if word[0] != "-")
    return NamedCommand(plain, tuple(word for word in words if word[0] == "-" and word.strip("-")))


def _banned(text: str) -> Iterable[NamedCommand]:
    small = text.casefold()
    if not any(map(small.__contains__, _BANNING)):
        return
    for ban in re.finditer(_FORBIDDEN, text):
        if ban["without"] and re.search(_NOT, text[: ban.start()]):
            continue  # "Never deploy without make check" asks for it.
        named = _parse(ban["code"] or ban["free"])
        if ban["free"]:
            program, *behind = named.words
            is_prose = bool(behind) and behind[0] in _PROSE
            is_order = ban["order"] and not ban["verb"]
            if program in _VERBS and (is_prose or is_order):
                continue
            named = named._replace(words=named.words[:1] if is_prose else named.words)
        yield named._replace(is_banned=True)
        if ban["also"]:
            yield _parse(ban["also"])._replace(is_banned=True)


def _git_steps(text: str) -> Iterable[NamedCommand]:
    for pattern in _GIT_STEPS:
        for step in re.finditer(pattern, text):
            groups = step.groupdict()
            flag = "--force" if groups.get("force") else groups.get("flag") or ""
            branch = (groups.get("branch") or "").casefold()
            yield NamedCommand(
                words=("git", (groups.get("verb") or "commit").casefold()),
                flags=(flag,) if flag else (),
                is_flag_asked=bool(flag) and bool(groups.get("without")) == bool(groups.get("not")),
                branch="" if branch in _REMOTES else branch,
            )


def named_programs(text: str) -> list[str]:
    """Return the words that select the shell lines to check against a rule: programs, subcommands
    of git, packages."""
    keys = (one.words[one.words[0] == "git" and len(one.words) > 1] for one in named_commands(text))
    return [word for word in dict.fromkeys(keys) if re.fullmatch(_PROGRAM, word)]


def applies(text: str, command: Sequence[str]) -> bool:
    """Check whether a rule is to be shown before a command, which is given by its words."""
    named = named_commands(text)
    spelled = _variants(text, command)
    banned = [one.words for one in named if one.is_banned]
    asked = [_parse(one) for one in re.findall(_ASKED_FOR, text)]
    if any(
        len(one.words) > 1 and one.words not in banned and _is_run(one, words)
        for one in asked
        for words in spelled
    ):
        return False
    return any(_is_run(one, words) for one in named for words in spelled)


def forbids(text: str, command: Sequence[str]) -> bool:
    """Check whether a rule says that a command is not to be used."""
    bans = any(one.is_banned for one in named_commands(text)) and applies(text, command)
    return bans and any(
        one.is_banned and _is_run(one, words)
        for one in named_commands(text)
        for words in _variants(text, command)
    )


def bans_program(text: str) -> bool:
    """Check whether a text says that a program is not to be used."""
    return any(one.words and one.is_banned for one in _banned(_shorten(text)))


def _variants(text: str, command: Sequence[str]) -> list[list[str]]:
    """Return the words of a command as a rule may name it: as it is written, without the folder of
    its program, and without the runner in front, unless the rule names the runner, too."""
    words = list(command)
    while words[:1] == ["git"] and words[1:2] and words[1] in ("-c", "-C", "--no-pager"):
        del words[1 : 2 if words[1] == "--no-pager" else 3]
    found = [words]
    folder, _, program = words[0].rpartition("/") if words else ("", "", "")
    if folder.rpartition("/")[2] in ("bin", ".bin"):
        words = [program, *words[1:]]
        found.append(words)
    said = f" {re.sub(_WRITTEN, ' ', text.casefold())} "
    for front, inner in runners.inner_commands(words):
        runner = re.sub(r"\bpython[\d.]+", "python", " ".join(words[:front]).casefold())
        if f" {runner} " not in said:
            found.append(inner)
    return found


def _is_run(named: NamedCommand, words: Sequence[str]) -> bool:
    """Check whether a command, given by its words, is the named one."""
    plain = [word.casefold() for word in words if word[:1] != "-"]
    if named.is_banned and _MANAGERS.intersection(plain[:2]) and _INSTALLS.intersection(plain[1:4]):
        packages = [re.sub(r"(?<=\w)[=<>~!@\[].*", "", word) for word in plain[2:]]
        if named.words[0] in packages and not named.flags:
            return True
    if tuple(plain[: len(named.words)]) != named.words:
        return False
    if named.branch and named.words[1] == "push":
        pushed = {word.rpartition(":")[2].lstrip("+") for word in plain[3:]}
        if pushed and not pushed & {named.branch, f"refs/heads/{named.branch}", "head"}:
            return False
    return all(_has_flag(flag, words) for flag in named.flags) != named.is_flag_asked


def _has_flag(flag: str, words: Sequence[str]) -> bool:
    """Check for a flag in its long or short form: `-sm` has --signoff, `-fr` has -rf."""
    if any(word.split("=")[0] == flag for word in words):
        return True
    if flag[:2] != "--" and _LONG.get(flag, "") in words:
        return True
    short = next((one for one, long in _LONG.items() if long == flag), flag)
    # Letters behind -m in the same word are the commit message.
    letters = "".join(word[1:].partition("m")[0] for word in words if word[:1] == "-" != word[1:2])
    return short[:2] != "--" and len(short) <= 4 and set(short[1:]) <= set(letters)


_LONG = {"-s": "--signoff", "-S": "--gpg-sign", "-n": "--no-verify", "-a": "--all", "-f": "--force"}
_INSTALLS = frozenset(("install", "add", "i"))
_MANAGERS = frozenset(
    ("pip", "pip3", "pipx", "uv", "poetry", "pdm", "conda", "npm", "pnpm", "yarn", "bun", "cargo",
     "gem", "bundle", "composer", "brew", "apt", "apt-get", "dnf", "apk")
)  # fmt: skip
_REMOTES = frozenset(("origin", "upstream", "remote", "github", "gitlab"))
_VERBS = frozenset(
    ("go", "make", "find", "test", "sort", "kill", "watch", "read", "cut", "join", "split", "time",
     "touch", "wait", "set", "type", "open", "start", "patch", "install", "diff", "link", "look")
)  # fmt: skip
"""Programs that are English verbs too: “don't make it bigger”."""

_PROSE = frozenset(
    ("in", "here", "for", "anymore", "any", "to", "on", "with", "without", "at", "use", "but", "or",
     "and", "because", "directly", "again", "ever", "unless", "when", "as", "it", "if", "until",
     "by", "library", "package", "please")
)  # fmt: skip
"""Words that are never a subcommand: “npm in this repository”."""


# ---------------------------------------------------------------- before every command

LONGEST_LINE = 20_000
_BREAKS = str.maketrans("/;&|()'\"`\n\t=<>~@[", " " * 17)


def write_watched(watched: Mapping[str, Sequence[str]]) -> str:
    """Return the watched programs as one string: a line each, with the ids of its rules."""
    return "".join(f"\n{name} {' '.join(ids)}" for name, ids in sorted(watched.items()))


def find_watched(watched: str, line: str) -> list[str]:
    """Return the watched programs that a shell line names."""
    words = dict.fromkeys(line[:LONGEST_LINE].casefold().translate(_BREAKS).split())
    return [word for word in words if f"\n{word} " in watched]


def find_rule_ids(watched: str, line: str) -> list[str]:
    """Return the ids of the rules that name a program of a shell line."""
    found: dict[str, None] = {}
    for word in find_watched(watched, line):
        row = watched.partition(f"\n{word} ")[2].partition("\n")[0]
        found.update(dict.fromkeys(row.split()))
    return list(found)


_WRITTEN = r"[`,;:()\s]+|\.(?=\s|$)"
_NOT = r"(?i:\b(?:never|don'?t|do\s+not|must\s+not|mustn't|should\s+not|shouldn't|avoid|stop|no)\b)"
_BANNING = (
    *("no", "never", "don", "mustn", "shouldn", "avoid", "stop", "without", "instead", "rather"),
    "prefer",
)
"""A statement that holds none of these forbids nothing."""
_WORD = r"[\w./][\w./:-]*(?![\w./:'-])"
_FLAG = r"--?[A-Za-z][\w-]*"
_FORBIDDEN = rf"""(?xi)
        (?:(?P<order>{_NOT}(?<!\bno)|\b(?P<without>without)|\bnot(?=\s+(?:us(?:e|ing)|run|call)))
        |\b(?:instead\s+of|rather\s+than|prefer\s+\S+\s+(?:over|to))
        |(?:^|[.,;:!?(–—-]\s*|\b(?:and|but)\s+|\buse\s+\S+\s+)(?:not|no)\b)
        \s+(?:ever\s+)?(?P<verb>(?:us(?:e|ing)|run(?:ning)?|call(?:ing)?
        |execut(?:e|ing)|do(?:ing)?|with)\b\s*)?(?:(?:the|an?|any|plain|bare)\s+)?
        (?:`(?P<code>[^`\n]+)`|(?P<free>{_WORD}(?:\s+(?!n?or\s){_WORD})?(?:\s+\.(?=\s|$))?
        (?:\s+(?:with\s+)?`?{_FLAG}`?)*))(?:\s+n?or\s+`?(?P<also>{_WORD}))?"""
_WHAT = r"""(?:\s+(?:(?:your|my|our|the|any|all|these)\s+)?
        (?:changes?|code|work|anything|everything|it|directly|straight)\b){0,2}"""
_TO = r"""\s+(?:to|into|on|onto)\s+(?:(?:the|an?|any)\s+)?`?(?:(?:origin|upstream)[/ ])?
        (?P<branch>main|master|trunk|develop|origin|upstream|remote|github|gitlab
        |[\w./-]+(?=`|\s+branch))\b"""
_END = r"(?=\s*(?:$|[.,;:!?)\n—–]|-\s))"
_GIVE = r"(?:us(?:e|ing)|pass(?:ing)?|add(?:ing)?)"
_NO_STEP = rf"{_NOT}\s+(?:ever\s+)?(?:git\s+)?"
_GIT_STEPS = (
    # The moment: "before you commit". "When we push a new version" is another one.
    rf"""(?xi)\b(?:before|when(?:ever)?|(?:each|every)\s+time)\s+(?:(?:you|we|i)\s+)?
        (?:(?:every|each|any|an?|the)\s+)?(?:git\s+)?(?P<verb>commit|push)(?:t?ing|es|s)?\b{_WHAT}
        (?:{_TO}|{_END}|(?=\s+(?:and|or|so|please|always|never|run|check|ensure|use|because|here
        |make\s+sure|in\s+this|to\s+(?:keep|avoid|make|be|ensure|catch))\b))""",
    # A flag: "commit with --signoff", "never use --force when you push".
    rf"""(?xi)(?P<not>{_NO_STEP})?\b(?P<verb>commit|push)(?:t?ing)?{_WHAT}
        \s+(?:with|using|(?P<without>without))\s+(?:the\s+)?`?(?P<flag>{_FLAG})""",
    rf"""(?xi)(?:(?P<not>{_NO_STEP})(?:{_GIVE}\s+)?|\b{_GIVE}\s+)`?(?P<flag>{_FLAG})`?
        \s+(?:(?:when|for|on|with|to|in)\s+)(?:(?:you|we|i|git|every|each|all|the|an?)\s+)*
        (?P<verb>commit|push)""",
    # A prohibition: "don't commit unless I ask", "never push to main".
    rf"""(?xi){_NO_STEP}(?P<verb>commit|push)(?:t?ing)?\b{_WHAT}(?:{_TO}|{_END}
        |\s+(?:unless|until|before|if|when|for\s+me|yourself|without(?!\s+(?:the\s+)?`?-))\b)""",
    rf"(?xi)(?P<not>{_NO_STEP})(?P<force>force)[-\s](?P<verb>push)(?:ing)?\b(?:{_WHAT}{_TO})?",
    # The wording of a commit message, not its later use.
    r"""(?xi)\b(?:writ(?:e|ing)|keep|prefix|start|begin|end|format)\s+(?:\w+\s+){0,2}commit\s+messages?\b
        |\b(?:put|add|mention|includ|us|referenc|no|never|belong|go)(?:e|es|s|ting|ing)?\s
        [^.;\n]{1,40}\s(?:in|to|into|from|for|of)\s+(?:(?:the|your|our|my|any|git)\s+)?commit\s+messages?\b
        |\bcommit\s+messages?(?:\s+(?:must|should|need|always|never|follow|starts?|begins?|ends?|uses?
        |(?:are|is)\s+(?:written\s+)?in|in\s+(?:the\s+)?(?:imperative|present|english|german))\b|:)
        |\b(?:use|follow|write|prefer|keep)\s+(?:(?!the|these|those)\w+\s+){0,2}commits\b""",
)
_MENTIONED = rf"""(?xi)
        (?P<moment>\bbefore\s+(?:(?:running|calling|you\s+run|every|each)\s+)?)?
        (?<!use\ )(?<!run\ )(?<!with\ )(?<!using\ )(?<!prefer\ )(?<!call\ )
        `(?P<code>[^`\n]{{2,120}})`
        |\bbefore\s+(?:running\s+|you\s+run\s+)?(?P<before>{_WORD}\s+{_WORD})"""
_ASKED_FOR = r"(?i)\b(?:use|run|with|using|prefer|call) `([^`\n]{2,120})`"
_PROGRAM = r"(?a)[\w./:+-]{2,40}"
