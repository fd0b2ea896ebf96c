"""Secrets that are encoded, escaped or in pieces: the search sees a normalised view of the text."""

from __future__ import annotations

import base64
import random
import string

import pytest

from recollect.secrets.redaction import redact_and_report
from tests.builders.secret_samples import TOKENS

ONE_LINE = {kind: token for kind, token in TOKENS.items() if "\n" not in token}
ENCODED = {
    "base 64": lambda token: base64.b64encode(token.encode()).decode(),
    "base 64 for addresses": lambda token: base64.urlsafe_b64encode(token.encode()).decode(),
    "base 64 twice": lambda token: base64.b64encode(base64.b64encode(token.encode())).decode(),
    "base 64 of a file": lambda token: base64.b64encode(
        f"[default]\nregion = eu\nkey = {token}\n".encode()
    ).decode(),
    "hexadecimal": lambda token: token.encode().hex(),
    "\\x": lambda token: "".join(f"\\x{ord(sign):02x}" for sign in token),
    "\\u": lambda token: "".join(f"\\u{ord(sign):04x}" for sign in token),
    "\\x at the start": lambda token: f"\\x{ord(token[0]):02x}{token[1:]}",
    "octal": lambda token: "".join(f"\\{ord(sign):03o}" for sign in token),
    "percent": lambda token: "".join(f"%{ord(sign):02X}" for sign in token),
    "HTML": lambda token: "".join(f"&#{ord(sign)};" for sign in token),
    "HTML, hexadecimal": lambda token: "".join(f"&#x{ord(sign):x};" for sign in token),
}
JOINED = {
    "plus": '"{}" + "{}" + "{}"',
    "plus at line ends": '"{}" +\n    "{}" +\n    "{}"',
    "plus at line starts": "'{}'\n    + '{}'\n    + '{}'",
    "adjacent literals": "('{}'\n     '{}'\n     '{}')",
    "dots": "'{}' . '{}' . '{}'",
    "two dots": "'{}' .. '{}' .. '{}'",
    "pipes": "'{}' || '{}' || '{}'",
    "continued lines": '"{}" \\\n  "{}" \\\n  "{}"',
    "a joined list": "''.join(['{}', '{}', '{}'])",
    "an escaped text": '\\"{}\\" + \\"{}\\" + \\"{}\\"',
    "zero width": "{}\u200b{}\u200b{}",
}


@pytest.mark.parametrize("encode", ENCODED.values(), ids=ENCODED)
@pytest.mark.parametrize("kind", ONE_LINE)
def test_an_encoded_token_is_removed_and_the_text_around_it_stays(kind: str, encode) -> None:  # type: ignore[no-untyped-def]
    clean = redact_and_report(f"before it: {encode(ONE_LINE[kind])} and after")
    assert clean.found
    assert clean.text.startswith("before it: ")
    assert clean.text.endswith(" and after")
    assert encode(ONE_LINE[kind])[4:] not in clean.text


@pytest.mark.parametrize("form", JOINED.values(), ids=JOINED)
@pytest.mark.parametrize("kind", ONE_LINE)
def test_a_token_in_pieces_is_removed_whole(kind: str, form: str) -> None:
    token = ONE_LINE[kind]
    clean = redact_and_report(f"x = {form.format(token[:5], token[5:14], token[14:])};")
    assert clean.found
    assert token[14:] not in clean.text


def test_base64_in_lines_is_removed_whole() -> None:
    told = f"a line of text that is long enough to be broken, and then {TOKENS['github-classic']}"
    lines = base64.encodebytes(told.encode()).decode()
    clean = redact_and_report(f"data:\n{lines}end")
    assert clean.text == "data:\n[REDACTED:github-token]\nend"


@pytest.mark.parametrize(
    "text",
    [
        base64.b64encode(b"just some words about nothing in particular").decode(),
        "".join(f"\\x{ord(sign):02x}" for sign in "hello world, how are you"),
        '"the first part of it" + "and the second part"',
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "%D0%9F%D1%80%D0%B8%D0%B2%D0%B5%D1%82%20%D0%BC%D0%B8%D1%80",
        "/usr/lib/python3/dist-packages/some_package_name/another_module_name.py",
        "import { configureNetworkInterfacesForEveryone } from './network-configuration-v2'",
    ],
)
def test_encoded_text_without_a_secret_stays(text: str) -> None:
    assert redact_and_report(text).text == text


@pytest.mark.parametrize("line_end", ["\n", "\\n", "\\r\\n"])
def test_a_putty_key_is_found_with_escaped_line_ends(line_end: str) -> None:
    chance = random.Random(5)
    lines = ["".join(chance.choices(string.ascii_letters + string.digits, k=64)) for _ in range(4)]
    text = line_end.join(["Comment: mine", "Private-Lines: 4", *lines, "done"])
    clean = redact_and_report(text)
    assert clean.found == ("private-key",)
    assert not any(line in clean.text for line in lines)
