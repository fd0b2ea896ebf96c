"""Change files of the user: one setting in a TOML file, or a text erased from rendered files."""

from __future__ import annotations

import json
import os
import re
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence

from ..errors import ConfigError
from ..project import make_folder, write_private

Value = bool | int | float | str


def write_setting(path: str, name: str, value: Value | None, is_private: bool) -> None:
    """Set a key at the top level of a file; None removes it."""
    lines = _read_lines(path)
    own = re.compile(rf'\s*"?{re.escape(name)}"?\s*=')
    table = next((at for at, line in enumerate(lines) if line.lstrip().startswith("[")), len(lines))
    places = [at for at, line in enumerate(lines[:table]) if own.match(line)]
    new = [] if value is None else [f"{name} = {_render(value)}"]
    if places:
        lines[places[0] : places[0] + 1] = new
    else:
        lines[table:table] = new
    text = "\n".join(lines) + "\n" if lines else ""
    _check(path, text)
    if is_private:
        make_folder(os.path.dirname(path))
        write_private(path, text)
        return
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def read_setting(path: str, name: str) -> Value | None:
    """Return the value of a key at the top level of a file; None without one."""
    import tomllib

    value = tomllib.loads("\n".join(_read_lines(path))).get(name)
    return value if isinstance(value, Value) else None


def _read_lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().splitlines()
    except FileNotFoundError:
        return []


def _render(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    # A JSON text is a basic string of TOML.
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _check(path: str, text: str) -> None:
    """Refuse a change that would leave an invalid file, such as one inside a multi-line text."""
    import tomllib

    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"the file cannot be changed safely: {error}",
            where=path,
            hint="edit it by hand: recollect config edit",
        ) from error


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
    """Return the base64 forms of a text inside longer bytes, one for each of the three alignments,
    without the ends, which depend on the neighbours."""
    raw = text.encode()
    found = []
    for before in range(3):
        whole = b64encode(bytes(before) + raw).decode().rstrip("=")
        sure = whole[2 * before - (before > 1) : (before + len(raw)) * 8 // 6]
        found.append(sure)
    return [one for one in found if len(one) >= _LEAST_ENCODED]


def _inflate(data: bytes) -> Iterator[bytes]:
    """Yield the deflated streams of a file, decompressed."""
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
