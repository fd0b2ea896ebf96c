"""Decide whether a name announces a secret, and whether a value is one.

Decides by shape alone, for one name and one value at a time; `secrets.search` finds them in a text.
"""

from __future__ import annotations

import binascii
import re
from functools import cache, lru_cache


@cache
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile at first use: most texts need few patterns, and a hook starts cold."""
    return re.compile(pattern, re.ASCII)


@cache
def bounded_pattern(prefix: str, pattern: str) -> re.Pattern[str]:
    """Match a prefix and, as a group, what follows, without a letter or digit on either side. The
    letter of an escaped line end (`\\n`) is allowed."""
    return compile_pattern(rf"(?:(?<![^\W_])|(?<=\\[nrt])){re.escape(prefix)}({pattern})(?![^\W_])")


def contains(pattern: str, value: str) -> bool:
    return compile_pattern(pattern).search(value) is not None


def split_name(name: str) -> list[str]:
    """Split a name in camel, snake or kebab case into lower-case words without digits."""
    return [word.lower() for word in compile_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+").findall(name)]


def _set(several: str) -> frozenset[str]:
    return frozenset(several.split())


# ---------------------------------------------------------------------------------------------
# Names

_PUBLIC = _set("public pub publishable")
_HARMLESS_BEFORE = _PUBLIC | _set(
    "foreign primary partition sort cache idempotency dedupe page next"
    " continuation sync cancel cancellation eos bos pad unk cls sep mask stop special max min num"
    " total count input output prompt completion hashed fingerprint translation locale query row"
    " group context host known csrf xsrf authenticity"
)
_QUALIFIERS = _set(
    "api app access secret private auth authorization client encryption encrypt decrypt signing"
    " signature license account shared master service deploy consumer admin storage subscription"
    " webhook session developer integration ingest jwt hmac aes cookie security ssh rsa preshared"
    " nonce secure maps write personal user server in facebook twitter linkedin github google"
)
_ENDINGS = _set("value base b prod production dev test live staging default")
LONGEST_NAME = 100
_ANNOUNCING = _set("secret token password apikey")
_ABOUT = _set("id name hash digest fingerprint ref version arn url uri path file type")
_BEFORE_PASS = _set(
    "db user my smtp mail ftp ssh admin root redis mysql store auth key"
    " srcstore deststore srckey destkey"
)


@lru_cache(maxsize=4096)
def classify_name(name: str) -> str:
    """Classify the value of a name: password, secret, token, key, hint (perhaps), or nothing."""
    parts = split_name(name) if len(name) <= LONGEST_NAME and "[" not in name else []
    while parts and parts[-1] in _ENDINGS:
        parts.pop()
    if not parts:
        return ""
    last = parts[-1] if parts[-1].endswith("ss") else parts[-1].removesuffix("s")
    before = parts[-2] if len(parts) > 1 else ""
    if last.endswith(
        ("password", "passwd", "passphrase", "passwort", "kennwort", "passcode", "pwd")
    ):
        return "password"
    if last == "passe":  # mot de passe
        return "password"
    if last.endswith("pass"):
        return "password" if last == "pass" or last[:-4] in _BEFORE_PASS else ""
    if last.endswith(("secret", "credential")) or last == "cred":
        return "secret"
    if before in _HARMLESS_BEFORE or not _PUBLIC.isdisjoint(parts):
        return ""
    if last.endswith("token"):
        return "token" if parts[-1] != "tokens" else ""
    if last.endswith("key"):
        return _kind_of_key(last.removesuffix("key") or before, name)
    if last == "login" and before.endswith("sonar"):
        return "token"
    if last == "auth" and before == "rediscli":
        return "password"
    if last in ("auth", "salt", "pat"):
        return "hint"
    return "hint" if last not in _ABOUT and not _ANNOUNCING.isdisjoint(parts) else ""


def _kind_of_key(of: str, name: str) -> str:
    if of in _QUALIFIERS:
        return "key"
    if split_name(name)[-1].removesuffix("s") != "key":
        return ""  # a word with such an ending: monkey
    return "key" if of and name.isupper() else "hint"


# ---------------------------------------------------------------------------------------------
# Values

_FILLED_IN_LATER = (
    r"\$\{|\$\(|\{\{|\{%|<[^<>]{1,64}>|%\(\w+\)|%[sdv@](?!\w)|#\{\w|^\$\w+(?![\w$])|^%\w+%?$"
    r"|^\{[\w.]*\}$|\[REDACTED:|\[PRIVATE\]|(?i:x{4})|\*{3}|\.{3}|…|•|^\[.*\]$|^[\"']|[\"']\s?[+.]"
)
_EXAMPLE = _set("your change changeme changethis placeholder sample dummy replace insert here")
_CODE = (
    r"[\w$]+\(|^[A-Za-z_$][\w$]*(?:(?:\?\.|\.|::|->)[A-Za-z_$][\w$]*)+$|^[&*@!]?\w+\[|=>|^-"
    r"|^!(?:\d|vault\b)"
)
_PLACE = r"^(?:https?:|[.~]{0,2}/[\w.@-]+/)"
_SELF = _set("password passwd passphrase pass pwd secret token key credentials")
_PLAIN = _SELF | _set(
    "passwords passwort kennwort parola senha haslo heslo secrets tokens keys api credential test"
    " tests none null nil undefined true false yes no on off string str text bytes byte int integer"
    " number bool boolean float any object array list dict map type optional required default empty"
    " value values field input output user users username email name login auth new old current"
    " confirm this self my the a an of for and or is in not env var config settings data example"
    " foo bar baz hidden masked removed redacted omitted invalid missing wrong incorrect expired"
    " error bearer basic jwt hash hashed encrypted encoded plain salt random generated file path"
    " url id label enter show hide forgot reset update create change varchar char unknown prompt"
    " stdin see above below"
)
_TECHNICAL = _set(
    "sha md base utf aes argon pbkdf oauth rsa hmac uint varchar char ascii ipv bit bits min max"
    " length version"
)
_OF_SENTENCES = _set(
    "the an to in of for and or is are was be not no must should can cannot could will have has"
    " at on by from with it this that your you we if when then than please enter type choose"
    " repeat use set see ask same least required optional valid invalid wrong incorrect stored"
    " kept hashed encrypted characters letters digits length password passwords passwort"
)
_SWITCH = r"[a-z](?=[A-Z0-9])|[A-Z](?=[0-9])|[0-9](?=[A-Za-z])"


def is_filler(value: str) -> bool:
    """Check for a placeholder: a template, a mask, an ellipsis, our own mark."""
    return (
        len(set(value)) < (3 if len(value) < 8 else 5)
        or contains(_FILLED_IN_LATER, value)
        or not _EXAMPLE.isdisjoint(split_name(value))
        or (value.isupper() and not contains("[0-9]", value) and is_words(value))
    )


def is_words(value: str) -> bool:
    """Check for everyday words of forms, types and prompts only; digits only as in `sha256`."""
    if not value.isascii() and value.isalpha():
        return True
    parts = split_name(value)
    return _PLAIN.union(_TECHNICAL).issuperset(parts) and (
        not contains("[0-9]", value) or not _TECHNICAL.isdisjoint(parts)
    )


def is_random(value: str, least: int = 10) -> bool:
    """Check whether letters and digits alternate as in random text.

    Words joined by capitals, dashes or underscores, versions and dates switch less than once in six
    characters; hexadecimal, base 32 and base 64 switch more often.
    """
    if (
        len(value) < least
        or value.isdigit()
        or not contains("[0-9]", value)
        or contains(_PLACE, value)
    ):
        return False
    if len(set(compile_pattern(r"[^\w\s./:,-]").findall(value))) >= 4:
        return len(value) >= 16
    switches = len(compile_pattern(_SWITCH).findall(value))
    return (
        switches >= 3
        and not contains(r"\s", value)
        and (switches * 6 >= len(value) or contains(r"[^\W_]{24}", value))
    )


def is_token(body: str, type_: str = "") -> bool:
    """Check whether the text after an issuer's prefix is a token, not a mask or plain words."""
    if is_filler(body):
        return False
    # The key ids of AWS are base 32: one in thirty has no digit.
    return contains("[0-9]", body) or body.lower() != body != body.upper() or type_ == "aws-key"


def is_phrase(value: str) -> bool:
    """Check for words without grammar, as in a passphrase."""
    parts = compile_pattern(r"[A-Za-z]+").findall(value.lower())
    return 4 <= len(parts) <= 10 and _OF_SENTENCES.isdisjoint(parts)


def is_solid(value: str) -> bool:
    """Check for one long run of letters or digits that is not a word."""
    if contains(r"^(?:[a-z]{20,}|[A-Z]{20,}|[0-9]{16,})$", value):
        return True
    return contains(r"^[A-Za-z]{20,}$", value) and len(
        compile_pattern(_SWITCH).findall(value)
    ) * 6 > len(value)


def is_secret(kind: str, value: str, *, quoted: bool, loose: bool) -> bool:
    """Check whether a value under a name of this kind is a secret.

    `quoted`: it is a literal and cannot be a variable. `loose`: the place (an environment line, a
    connection string, an option of a command) takes unquoted literals.
    """
    if is_filler(value):
        return False
    if kind == "hint":
        longest = max(compile_pattern(r"[^\W_]+").findall(value), key=len, default="")
        return is_random(longest, 20) and contains("[g-zG-Z]", longest)
    if is_random(value):
        return True
    if not quoted and (contains(_CODE, value) or _refers(value)):
        return False
    if (quoted or loose) and is_solid(value):
        return kind == "secret" or not value.isdigit()
    if kind == "password":
        if contains(r"^[#.][a-z][a-z-]*$", value) or contains(_PLACE, value) or is_words(value):
            return False
        if contains(r"\s", value):  # a sentence, unless its words contain signs
            signs = contains(r"[A-Za-z][0-9@#$%^&*!]+[A-Za-z]", value)
            return quoted and len(value) < 64 and (signs or is_phrase(value))
        if quoted or loose:
            return len(value) >= 4
        return len(value) >= 6 and contains(r"[0-9!@#$%^&*?~+]", value)
    if kind == "secret" and quoted and len(value) >= 8 and not is_words(value):
        return not contains(r"\s" if loose else r"^[\w./:-]*$|\s", value)
    return kind == "token" and contains(r"^[a-z0-9]{6}\.[a-z0-9]{16}$", value)


def _refers(value: str) -> bool:
    """Check for a variable that holds a secret: `user_password`, `password2`."""
    return contains(r"^[A-Za-z_]+\d?$", value) and not _SELF.isdisjoint(split_name(value))


def is_secret_in(context: str, value: str) -> bool:
    """Check whether a value in one of the places of `commands.CONTEXTS` is a secret."""
    if context == "basic-auth":
        return is_basic(value)
    if context == "passphrase":
        return is_phrase(value)
    return is_random(value) if context == "webhook" else not is_filler(value)


def is_secret_argument(value: str) -> bool:
    """Check whether an argument of `commands.COMMANDS` is a password: not an example, a variable or
    a port."""
    return not (
        is_filler(value)
        or is_words(value)
        or _refers(value)
        or contains(r"^\d{1,5}(?::\d{1,5})*(?:/\w{1,4})?$|^[\d.]{7,15}:[\d:]+$", value)
    )


def is_basic(value: str) -> bool:
    """Check for a user name and a password, joined by a colon, in base 64."""
    try:
        decoded = binascii.a2b_base64(value + "=" * (-len(value) % 4))
    except binascii.Error:
        return False
    return b":" in decoded and decoded.isascii() and decoded.decode().isprintable()
