"""Erase a text in the files that Recollect renders and logs."""

from __future__ import annotations

import os
import re
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence

_LARGEST = 64 * 1024 * 1024
_STREAM = re.compile(rb"stream\r?\n")
_INFLATED = 64 * 1024 * 1024


def hold_text(texts: Sequence[str]) -> Callable[[bytes], bool]:
    """Return a check for bytes that contain a text: as UTF-8, as UTF-16, or as UTF-8 in a deflated
    stream of a PDF, a gzip file or a ZIP member."""
    plain = [text.encode() for text in texts]
    forms = [text.encode(code) for text in texts for code in ("utf-8", "utf-16-le", "utf-16-be")]

    def check(data: bytes) -> bool:
        return any(form in data for form in forms) or any(
            text in piece for piece in _inflate(data) for text in plain
        )

    return check


_LEAST_ENCODED = 12


def encode_base64(text: str) -> list[str]:
    """Return what base64 makes of a text inside longer bytes, for each of the three places that it
    can start at; without the ends, which depend on its neighbours."""
    raw = text.encode()
    found = []
    for before in range(3):
        whole = b64encode(bytes(before) + raw).decode().rstrip("=")
        sure = whole[2 * before - (before > 1) : (before + len(raw)) * 8 // 6]
        found.append(sure)
    return [one for one in found if len(one) >= _LEAST_ENCODED]


def _inflate(data: bytes) -> Iterator[bytes]:
    """Yield what is deflated in a file."""
    starts = [(match.end(), zlib.MAX_WBITS) for match in _STREAM.finditer(data)]
    if data[:2] == b"\x1f\x8b":
        starts.append((0, zlib.MAX_WBITS | 16))
    at = data.find(b"PK\3\4")
    while at >= 0:
        name, more = (int.from_bytes(data[at + i : at + i + 2], "little") for i in (26, 28))
        starts.append((at + 30 + name + more, -zlib.MAX_WBITS))
        at = data.find(b"PK\3\4", at + 4)
    for start, bits in starts:
        try:
            yield zlib.decompressobj(bits).decompress(data[start:], _INFLATED)
        except zlib.error:
            continue  # not deflated


def erase_texts(folders: Iterable[str], texts: Sequence[str], mark: str, apply: bool) -> list[str]:
    """Replace texts in all files of these folders but databases; return the changed files."""
    wanted = [text.encode() for text in texts]
    changed = []
    for folder in folders:
        for place, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(place, name)
                if ".db" in name or os.path.islink(path) or os.path.getsize(path) > _LARGEST:
                    continue
                with open(path, "rb") as file:
                    before = file.read()
                after = before
                for text in wanted:
                    after = after.replace(text, mark.encode())
                if after != before:
                    changed.append(path)
                    if apply:
                        _replace(path, after)
    return changed


def _replace(path: str, content: bytes) -> None:
    """Write a file in place of another, with its permissions."""
    beside = f"{path}.{os.urandom(4).hex()}.new"
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, os.stat(path).st_mode & 0o777)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)
