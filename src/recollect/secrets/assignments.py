"""Find values under a secret's name: `API_KEY=…`, `"password": "…"`, `--token …`.

Knows how names and values are joined: assignments, pairs, options, defaults of variables.
`secrets.rules` decides which names and values count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import rules

Span = tuple[int, int, str]
"""Start, end, type."""

Places = dict[str, list[int]]
"""Each hint in a text, and where it occurs, in order."""

NAME_ENDS = (
    *("pass", "pwd", "secret", "token", "key", "cred"),
    *("auth", "salt", "_pat", "login", "kennwort"),
)
"""The last word of a name that announces a secret, without `_NAME_REST`."""

_NAME_REST = (
    r"(?:w(?:or)?[dt]|phrase|code|ential|e(?= ))?s?"
    r"(?:[_-]?\d{1,2}|(?:[_-][a-z0-9]{1,16}){0,2})(?![a-z0-9])"
)

SECRET_TYPES = {
    "password": "password",
    "secret": "secret",
    "token": "token",
    "key": "api-key",
    "hint": "secret",
}
"""The type of a secret that was found by its name alone."""


_NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.-"
_LITERAL = (
    r"(?:[bruf@]{0,2}(?P<quote>[\"'`])(?P<quoted>(?:\\.|(?!(?P=quote))[^\\\n]){0,2048})"
    r"|(?P<escape>\\+[\"'`])(?P<escaped>(?:(?!(?P=escape))\\*[^\\\n]){0,2048})"
)
_VALUE = (
    _LITERAL
    + r"|(?P<bare>(?:[^\s\"'`,;&<>()\[\]{}|\\]|[,;&](?![\s\"'`]|[\w ]{1,30}=|$)){4,512}+)(?![(\[]))"
)
_ASSIGNED = (
    r"(?P<close>\\*[\"'`])?(?:\[\d{0,4}\]|\])?(?:"
    r"(?:[ \t]{1,4}(?:string|String|str|text)(?=[ \t]{0,4}=[ \t]{0,4}[\"`]))?"
    r"[ \t]{0,30}(?P<op>:{1,3}=|=>|->|[=!]==?|(?:\?\??|\|\||[.+])?=|:(?!:))"
    r"(?:[ \t]{0,4}[A-Za-z][\w.\[\]<>?| ]{0,40}?=(?![=>]))?"
    r"|(?P<comma>[ \t]{0,4},(?P<named>[^\n()\"'`]{0,60}?\bdefault ?=)?)"
    r"|(?P<pair>[\"']?,?\s{1,40}\\*[\"']?value\\*[\"']?\s{0,4}[:=]|\s{0,4}\{\s{1,9}default\s{0,9}=)"
    r"|(?P<says>(?: for [^\n\"'`]{0,40}(?:[\"'`][^\n\"'`]{1,40}[\"'`])?)?"
    r" (?:is|ist|lautet|est):?(?=\s))"
    r"|(?P<element>(?:[ \t][^<>\n]{0,80})?>\s{0,60})"
    r"|(?P<space>(?=[ \t]))"
    r")(?:[ \t]{0,30}|\s{0,60}(?=\\*[\"']))" + _VALUE
)
"""What joins a name to its value, and the value: `op` (key = value, "key": value), `comma`
(getenv("KEY", "value")), `pair` (name: KEY, value: value), `says` (the key is value), `element`
(<key>value</key>), `space` (--key value)."""

_DEFAULT = (
    r"(?:\\*[\"'`])?[)}\]]{0,2}(?:"
    r"\s{0,30}(?:\|\||\?\?|\?:|or\b(?=[^`\n]{0,6}[\"'])|\|[ \t]?d(?:efault)?\()"
    r"|(?<=\})[ \t]?//|(?<=\))[ \t]?\{|\.unwrap_or(?:_else)?\((?:\|_?\|)?"
    r")\s{0,30}" + _LITERAL + ")"
)
"""Text between a variable and its default literal."""

_EXPANDED = (
    r"\$\{([\w.]{1,100}+)(?::[-=]?|[-=])(?![-=?+/])"
    r"(?:\\*[\"']([^\"'`{}$\n\\]{4,512})\\*[\"']|([^\s\"'`{}$\\]{4,512}))\}"
)
_SOURCE = r"^(?:pass|env|file|fd):|^stdin$"
"""The sources that OpenSSL reads a password from."""

_TAKES_OPTIONS = (
    r"login\s+\S+\s+$|\s--?\w[^\n]*$"
    r"|\b(?:wget|mysql\w*|mariadb|psql|keytool|jarsigner|gpg2?|svn|java|clickhouse-client)\s[^\n|;]*$"
)
"""Text before an option: another option, or a program that takes a literal password."""

_ANSIBLE = "ansible_"
_READS_VARIABLE = r"(?i)(?:(?<!set)env[\w.]*|default|orelse|fetch|config)\(\s*\\*[\"']$"


def find_assigned(text: str, lower: str, places: Places) -> Iterator[Span]:
    """Find values under a secret's name: `API_KEY=…`, `"password": "…"`, `--token …`."""
    rest, joined = rules.compile_pattern(_NAME_REST).match, rules.compile_pattern(_ASSIGNED).match
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
                seen = match.end("bare")  # an unquoted value is checked once; -1 for a quoted one
                yield from _value_under(text, at, match)
    if "${" in text:
        yield from _expanded(text)


def _value_under(text: str, at: int, match: re.Match[str]) -> Iterator[Span]:
    before, name = _name_at(text, at, match.start())
    kind = rules.classify_name(name)
    if kind == "hint":  # perhaps two words: "secret key"
        kind = rules.classify_name(" ".join([*before.split(" ")[-2:-1], name])) or kind
    if kind and _takes_value(match, kind, name, before):
        group = match.lastgroup or "bare"
        value = match[group] if group != "bare" else match[group].rstrip(".:")
        loose = _takes_bare(match, name, before)
        kind = _kind_of_default(kind, name) if match["comma"] and loose else kind
        if rules.is_secret(kind, value, quoted=group != "bare", loose=loose):
            yield match.start(group), match.start(group) + len(value), SECRET_TYPES[kind]


def _name_at(text: str, at: int, end: int) -> tuple[str, str]:
    """Return the text before a name, and the name, which ends at `end`."""
    around = text[max(0, at - 120) : at]
    before = around.rstrip(_NAME_CHARACTERS)
    return before, around[len(before) :] + text[at:end]


def _default_of(text: str, at: int, match: re.Match[str]) -> Iterator[Span]:
    """Find the default literal of a variable: `process.env.DB_PASSWORD || "…"`."""
    name = _name_at(text, at, match.start())[1].rpartition(".")[2]
    kind = _kind_of_default(rules.classify_name(name), name)
    group = match.lastgroup or ""
    if kind and rules.is_secret(kind, match[group], quoted=True, loose=name.isupper()):
        yield *match.span(group), SECRET_TYPES[kind]


def _expanded(text: str) -> Iterator[Span]:
    """Find the default of a shell variable or Spring property: `${DB_PASSWORD:-…}`."""
    for match in rules.compile_pattern(_EXPANDED).finditer(text):
        kind = _kind_of_default(rules.classify_name(match[1]), match[1])
        group = match.lastindex or 0
        if (
            kind
            and not rules.contains(r"^[\d:]+$", match[group])  # a substring: ${X:0:10}
            and rules.is_secret(kind, match[group], quoted=True, loose=True)
        ):
            yield *match.span(group), SECRET_TYPES[kind]


def _kind_of_default(kind: str, name: str) -> str:
    """Return the kind for a default, a literal: a secret key need not look random."""
    return "secret" if kind == "key" and "secret" in rules.split_name(name) else kind


def _takes_value(match: re.Match[str], kind: str, name: str, before: str) -> bool:
    """Check whether the text between name and value assigns the value to the name."""
    quote = match["quote"] or match["escape"]
    if before.endswith("${"):  # a shell variable with its default
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
    # In "Password: " the quote after the name closes the string that contains the name.
    return match["close"] is not None or quote[-1] != before[-1:]


def _takes_bare(match: re.Match[str], name: str, before: str) -> bool:
    """Check whether unquoted literals occur here, so that a plain word is not a variable."""
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
