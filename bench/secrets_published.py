"""Recall on examples that other scanners publish: `python -m bench.secrets_published FOLDER …`.

Each FOLDER is a checkout of gitleaks (its rules carry examples: `tps` must be found, `fps` must
not) or of detect-secrets (`tests/plugins/keyword_test.py` has lines with the expected secret).
Nothing of them is part of this repository. Examples of gitleaks are Go expressions; those that are
generated from a regular expression are generated here the same way, with a fixed seed.

How an example is judged: it counts as a secret unless its rule looks for something that is none
(`NOT_SECRET`), or its value is a mask. Found means that the value was removed where it is known,
and that anything was removed where it is not. Counter-examples are those of one rule and may hold
a secret of another: each that was changed is printed, for a person to judge.
"""

from __future__ import annotations

import ast
import base64
import random
import re
import string
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from recollect.secrets.redaction import redact_and_report

NOT_SECRET = re.compile(r"client-?id|cloudflare-.*email|sumologic-access-id|kubernetes-secret-name")
MASKED = re.compile(r"(?i)([a-z0-9*#])\1{7}|EXAMPLEEXAMPLE")
_TEMPLATES_FILE = "cmd/generate/config/utils/generate.go"
_PART = re.compile(r"(?s)\b(tps|fps)\s*:?=\s*(.*?)(?=\n\t(?:tps|fps|return|\w+ :=)|\Z)")
_CALL = re.compile(r"[A-Za-z_][\w.]*")


class _Go:
    """Evaluate the string expressions of gitleaks' rules: literals, sums, and its helpers."""

    def __init__(self, text: str, templates: list[str], seed: int) -> None:
        self.text, self.at = text, 0
        self.templates, self.random = templates, random.Random(seed)

    def values(self) -> list[str]:
        """Return the values of one expression that is a text or a list of texts."""
        found = self._term()
        while self._peek() == "+":
            self.at += 1
            more = self._term()
            found = [left + right for left in found for right in more]
        return found

    def _peek(self) -> str:
        skip = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL).match(self.text, self.at)
        self.at = skip.end() if skip else self.at
        return self.text[self.at : self.at + 1]

    def _term(self) -> list[str]:
        sign = self._peek()
        if sign == "`":
            end = self.text.index("`", self.at + 1)
            found, self.at = self.text[self.at + 1 : end], end + 1
            return [found]
        if sign == '"':
            match = re.compile(r'"((?:\\.|[^"\\])*)"').match(self.text, self.at)
            assert match
            self.at = match.end()
            return [match[1].encode().decode("unicode_escape")]
        name = _CALL.match(self.text, self.at)
        if not name:
            raise ValueError(self.text[self.at : self.at + 40])
        self.at = name.end()
        if self._peek() != "(":
            raise ValueError(name[0])
        return self._called(name[0].rpartition(".")[2], self._arguments())

    def _arguments(self) -> list[list[str]]:
        found: list[list[str]] = []
        self.at += 1
        while self._peek() != ")":
            found.append(self.values())
            if self._peek() == ",":
                self.at += 1
        self.at += 1
        return found

    def _called(self, name: str, given: list[list[str]]) -> list[str]:
        first = given[0][0] if given else ""
        shapes = {
            "Numeric": "[0-9]",
            "Hex": "[a-f0-9]",
            "AlphaNumeric": "[a-z0-9]",
            "AlphaNumericExtendedShort": "[a-z0-9_-]",
            "AlphaNumericExtended": r"[a-z0-9=_\-]",
            "AlphaNumericExtendedLong": r"[a-z0-9\/=_\+\-]",
        }
        if name in shapes:
            return [f"{shapes[name]}{{{first}}}"]
        if name == "Hex8_4_4_4_12":
            return ["-".join(f"[0-9a-f]{{{size}}}" for size in (8, 4, 4, 4, 12))]
        if name in ("NewSecret", "newPlausibleSecret", "NewSecretWithEntropy"):
            return [self._sample(first)]
        if name == "GenerateSampleSecret":
            return [f'{first}_api_token = "{given[1][0]}"']
        if name == "GenerateSampleSecrets":
            return [
                template.replace("{i}", first).replace("{I}", first.upper()).replace("{s}", value)
                for template in self.templates
                for value in given[1]
            ]
        raise ValueError(name)

    def _sample(self, pattern: str) -> str:
        """Return a random text that a simple pattern matches."""
        import re._parser as parser  # type: ignore[import-not-found]

        return "".join(self._part(op, value) for op, value in parser.parse(pattern))

    def _part(self, op: object, value: object) -> str:
        name = str(op)
        if name == "LITERAL":
            return chr(value)  # type: ignore[arg-type]
        if name == "IN":
            return self.random.choice(self._members(value))
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            bounds: Any = value
            times = self.random.randint(bounds[0], min(int(bounds[1]), bounds[0] + 8))
            return "".join(self._part(*one) for _ in range(times) for one in bounds[2])
        if name == "SUBPATTERN":
            return "".join(self._part(*one) for one in value[-1])  # type: ignore[index]
        if name == "BRANCH":
            return "".join(self._part(*one) for one in self.random.choice(value[1]))  # type: ignore[index]
        if name == "ANY":
            return self.random.choice(string.ascii_letters)
        return ""

    def _members(self, items: object) -> list[str]:
        found: list[str] = []
        for op, value in items:  # type: ignore[attr-defined]
            if str(op) == "LITERAL":
                found.append(chr(value))
            elif str(op) == "RANGE":
                found += [chr(code) for code in range(value[0], value[1] + 1)]
            elif str(op) == "CATEGORY":
                found += string.ascii_letters + string.digits + "_"
        return found


def gitleaks(folder: Path) -> Iterator[tuple[str, str, str, bool]]:
    """Yield rule, example, value if known, and whether it must be found."""
    source = (folder / _TEMPLATES_FILE).read_text()
    body = source[source.index("samples := ") :]
    templates = [
        _Go(match[1], [], 0).values()[0]
        for match in re.finditer(r'(?m)^\s*"[^"]+":\s+(["`].*["`]),', body)
    ]
    skipped = 0
    for path in sorted((folder / "cmd/generate/config/rules").glob("*.go")):
        for number, rule in enumerate(re.split(r"(?m)^func ", path.read_text())[1:]):
            id = re.search(r'RuleID:\s+"([^"]+)"', rule)
            for part in re.finditer(
                r"(?s)\b(tps|fps)\s*:?=\s*(.*?)(?=\n\t(?:tps|fps|return|\w+ :=)|\Z)", rule
            ):
                text = re.sub(r"^append\(\s*tps\s*,|\[\]string\{", "(", part[2].strip(), count=1)
                go = _Go(text.removeprefix("("), templates, number)
                while go._peek() not in ("", ")", "}"):
                    try:
                        found = go.values()
                    except (ValueError, IndexError, AssertionError):
                        skipped += 1
                        break
                    for example in found:
                        yield (id[1] if id else path.stem), example, "", part[1] == "tps"
                    rest = re.compile(r"\s*(?:\.\.\.)?[),]*").match(go.text, go.at)
                    go.at = rest.end() if rest and rest.end() > go.at else len(go.text)
    print(f"gitleaks: {skipped} expressions not understood", file=sys.stderr)


_VALUES = {"COMMON_SECRET": "kX9#mP2vLq8zR4tW", "WHITES_SECRET": "staple battery horse correct"}
"""Its own values hold `{{` and `${`, the signs of a template, so that only the places are tested."""


def detect_secrets(folder: Path) -> Iterator[tuple[str, str, str, bool]]:
    """Yield the lines of the keyword plugin's tests, in the same form."""
    tree = ast.parse((folder / "tests/plugins/keyword_test.py").read_text())
    known: dict[str, Any] = {"base64": base64, "randint": lambda low, high: 7, "str": str}
    for node in tree.body:
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        name = node.targets[0].id
        try:
            value = eval(compile(ast.Expression(node.value), name, "eval"), {**known})  # noqa: S307
        except (NameError, TypeError):
            continue
        known[name] = _VALUES.get(name, value)
        for line, secret in value if name.endswith("_TEST_CASES") else ():
            yield f"keyword {name.lower()}", line, secret or "", secret is not None


def main() -> int:
    total: Counter[tuple[str, bool]] = Counter()
    found: Counter[tuple[str, bool]] = Counter()
    shown: list[str] = []
    for folder in map(Path, sys.argv[1:]):
        published = gitleaks if (folder / _TEMPLATES_FILE).exists() else detect_secrets
        for rule, text, value, positive in published(folder):
            if positive and (MASKED.search(text) or NOT_SECRET.search(rule)):
                continue
            clean = redact_and_report(text)
            hit = bool(clean.found) and (not value or value not in clean.text)
            total[rule, positive] += 1
            found[rule, positive] += hit
            if hit != positive and len([one for one in shown if one.startswith(rule)]) < 3:
                shown.append(f"{rule} {'missed' if positive else 'found'}: {text[:150]!r}")
    for positive, name in ((True, "recall"), (False, "found in counter-examples")):
        hits = sum(count for (_, kind), count in found.items() if kind == positive)
        all_ = sum(count for (_, kind), count in total.items() if kind == positive)
        print(f"{name}: {hits} of {all_}, {hits / max(all_, 1):.4f}")
    print("\n".join(shown))
    return 0


if __name__ == "__main__":
    sys.exit(main())
