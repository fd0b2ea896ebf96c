"""Values under a name that announces a secret: `API_KEY=…`, `"password": "…"`, `--token …`.

Knows how names and values are joined: by assignment, in pairs, as options, as the default of a
variable. What a name announces and which values are secrets is asked of `secrets.rules`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import rules
from .word_scan import NAME_ENDS, NAME_REST, Places

Span = tuple[int, int, str]
"""Start, end, type."""

SECRET_TYPES = {
    "password": "password",
    "secret": "secret",
    "token": "token",
    "key": "api-key",
    "hint": "secret",
}
"""What a secret is called that was found by its name alone."""


_NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.-"
_LITERAL = (
    r"(?:[bruf]{0,2}(?P<quote>[\"'`])(?P<quoted>(?:\\.|(?!(?P=quote))[^\\\n]){0,2048})"
    r"|(?P<escape>\\+[\"'`])(?P<escaped>(?:(?!(?P=escape))\\*[^\\\n]){0,2048})"
)
_VALUE = (
    _LITERAL
    + r"|(?P<bare>(?:[^\s\"'`,;&<>()\[\]{}|\\]|[,;&](?![\s\"'`]|[\w ]{1,30}=|$)){4,512}+)(?![(\[]))"
)
_ASSIGNED = (
    r"(?P<close>\\*[\"'`])?\]?(?:"
    r"[ \t]{0,30}(?P<op>:=|=>|->|[=!]==?|=|:(?!:))"
    r"(?:[ \t]{0,4}[A-Za-z][\w.\[\]<>?| ]{0,40}?=(?![=>]))?"
    r"|(?P<comma>[ \t]{0,4},(?P<named>[^\n()\"'`]{0,60}?\bdefault ?=)?)"
    r"|(?P<pair>[\"']?,?\s{1,40}\\*[\"']?value\\*[\"']?\s{0,4}[:=]|\s{0,4}\{\s{1,9}default\s{0,9}=)"
    r"|(?P<says>(?: for [^\n\"'`]{0,40}(?:[\"'`][^\n\"'`]{1,40}[\"'`])?)?"
    r" (?:is|ist|lautet|est):?(?=\s))"
    r"|(?P<element>(?:[ \t][^<>\n]{0,80})?>)"
    r"|(?P<space>(?=[ \t]))"
    r")(?:[ \t]{0,30}|\s{0,60}(?=\\*[\"']))" + _VALUE
)

_DEFAULT = (
    r"(?:\\*[\"'`])?[)}\]]{0,2}(?:"
    r"\s{0,30}(?:\|\||\?\?|\?:|or\b(?=[^`\n]{0,6}[\"'])|\|[ \t]?d(?:efault)?\()"
    r"|(?<=\})[ \t]?//|(?<=\))[ \t]?\{|\.unwrap_or(?:_else)?\((?:\|_?\|)?"
    r")\s{0,30}" + _LITERAL + ")"
)
"""What stands between a variable and the literal that stands in for it."""

_EXPANDED = (
    r"\$\{([\w.]{1,100}+)(?::[-=]?|[-=])(?![-=?+/])"
    r"(?:\\*[\"']([^\"'`{}$\n\\]{4,512})\\*[\"']|([^\s\"'`{}$\\]{4,512}))\}"
)
_SOURCE = r"^(?:pass|env|file|fd):|^stdin$"
"""Where OpenSSL takes a password from."""

_TAKES_OPTIONS = (
    r"login\s+\S+\s+$|\s--?\w[^\n]*$"
    r"|\b(?:wget|mysql\w*|mariadb|psql|keytool|jarsigner|gpg2?|svn|java|clickhouse-client)\s[^\n|;]*$"
)
"""Before an option: another one, or a program that takes a password as it stands."""

_ANSIBLE = "ansible_"
_READS_VARIABLE = r"(?i)(?:(?<!set)env[\w.]*|default|orelse|fetch|config)\(\s*\\*[\"']$"


def find_assigned(text: str, lower: str, places: Places) -> Iterator[Span]:
    """Values under a name that announces a secret: `API_KEY=…`, `"password": "…"`, `--token …`."""
    rest, joined = rules.compile_pattern(NAME_REST).match, rules.compile_pattern(_ASSIGNED).match
    defaulted = rules.compile_pattern(_DEFAULT).match
    for hint in NAME_ENDS:
        seen = 0
        for at in places.get(hint, ()):
            end = rest(lower, at + len(hint))
            if not end:
                continue
            if default := defaulted(text, end.end()):
                yield from _default_of(text, at, default)
            elif at >= seen and (match := joined(text, end.end())):
                seen = match.end("bare")  # a value without quotes is looked at once
                yield from _value_under(text, at, match)
    if "${" in text:
        yield from _expanded(text)


def _value_under(text: str, at: int, match: re.Match[str]) -> Iterator[Span]:
    before, name = _name_at(text, at, match.start())
    kind = rules.classify_name(name)
    if kind == "hint":  # perhaps of two words: "secret key"
        kind = rules.classify_name(" ".join([*before.split(" ")[-2:-1], name])) or kind
    if kind and _takes_value(match, kind, name, before):
        group = match.lastgroup or "bare"
        value = match[group] if group != "bare" else match[group].rstrip(".:")
        loose = _takes_bare(match, name, before)
        kind = _kind_of_default(kind, name) if match["comma"] and loose else kind
        if rules.is_secret(kind, value, quoted=group != "bare", loose=loose):
            yield match.start(group), match.start(group) + len(value), SECRET_TYPES[kind]


def _name_at(text: str, at: int, end: int) -> tuple[str, str]:
    """Return the text before a name, and the name: all of it that stands before `at`."""
    around = text[max(0, at - 120) : at]
    before = around.rstrip(_NAME_CHARACTERS)
    return before, around[len(before) :] + text[at:end]


def _default_of(text: str, at: int, match: re.Match[str]) -> Iterator[Span]:
    """The literal that stands in for a variable: `process.env.DB_PASSWORD || "…"`."""
    name = _name_at(text, at, match.start())[1].rpartition(".")[2]
    kind = _kind_of_default(rules.classify_name(name), name)
    group = match.lastgroup or ""
    if kind and rules.is_secret(kind, match[group], quoted=True, loose=name.isupper()):
        yield *match.span(group), SECRET_TYPES[kind]


def _expanded(text: str) -> Iterator[Span]:
    """The default of a variable of the shell, or of a Spring property: `${DB_PASSWORD:-…}`."""
    for match in rules.compile_pattern(_EXPANDED).finditer(text):
        kind = _kind_of_default(rules.classify_name(match[1]), match[1])
        group = match.lastindex or 0
        if (
            kind
            and not rules.contains(r"^[\d:]+$", match[group])  # a part of the value: ${X:0:10}
            and rules.is_secret(kind, match[group], quoted=True, loose=True)
        ):
            yield *match.span(group), SECRET_TYPES[kind]


def _kind_of_default(kind: str, name: str) -> str:
    """A default is a literal, so that a secret key needs not look random."""
    return "secret" if kind == "key" and "secret" in rules.split_name(name) else kind


def _takes_value(match: re.Match[str], kind: str, name: str, before: str) -> bool:
    """Whether what stands between name and value gives the value to the name."""
    quote = match["quote"] or match["escape"]
    if before.endswith("${"):  # a variable of the shell, with what to do when it is empty
        return False
    if match["comma"]:
        if not (match["close"] and quote):
            return False
        return bool(
            match["named"]
            or (name.isupper() and re.search(r"\(\s*\\*[\"']$", before))
            or rules.contains(_READS_VARIABLE, before)
        )
    if match["says"]:
        return kind == "password" or rules.is_random(match["bare"] or match["quoted"] or "", 16)
    if match["element"]:
        return before.endswith("<")
    if match["space"] is not None:
        if name.endswith("pass") and rules.contains(
            _SOURCE, match["bare"] or match["quoted"] or ""
        ):
            return False
        return bool(
            name.startswith("-")
            or re.search(r"login\s+\S+\s+$", before)
            or (quote and name.endswith("PASSWORD"))
            or (quote and name == "password" and before.rstrip(" \t")[-1:] in ("", "\n"))
            or (match["bare"] and rules.is_random(match["bare"], 20))
            # The seed of one-time passwords is base 32.
            or (rules.contains(r"^[A-Z2-7]{16,64}$", match["bare"] or "") and kind == "secret")
        )
    if not quote:
        tells_outcome = match["op"] == ":" and name.lower().endswith("pass")  # of a test
        return not tells_outcome or name.startswith(_ANSIBLE)
    # In "Password: " the quote behind the name closes the string that the name stands in.
    return match["close"] is not None or quote[-1] != before[-1:]


def _takes_bare(match: re.Match[str], name: str, before: str) -> bool:
    """Whether literals stand here without quotes, so that a plain word is not a variable."""
    op = match["op"]
    if match["comma"]:
        return rules.contains(_READS_VARIABLE, before)
    if match["space"] is not None:
        return rules.contains(_TAKES_OPTIONS, before)
    if match["element"]:
        return True
    if match["says"]:
        ends = rules.compile_pattern(r"[ \t]*(?:[.!]?[ \t]*(?:\n|\Z))").match(
            match.string, match.end()
        )
        return match["says"].endswith(":") and ends is not None
    if op in ("==", "!=", "===", "!=="):
        return match["bare"] is None
    if re.search(r"(?:^|\n)[ \t]*user(?:name)? ?[:=] ?[\w.@-]+[ \t]*\n[ \t]*$", before):
        return True
    if name.startswith(_ANSIBLE if op == ":" else (_ANSIBLE, "--")):
        return True
    if op == ":":
        return name.isupper()
    if op != "=" or match.end("op") != match.start("bare"):
        return False
    line_ends = match.string[match.end() : match.end() + 1] in ("", "\n", "\r")
    return (
        name.isupper()
        or before[-1:] in (";", "?", "&")
        or (before[-1:] in ("", "\n") and line_ends)
        or re.search(r"\b(?:user|uid|host|server|username)=\S+ $|\s-o [\w=,./-]*,$", before)
        is not None
    )
