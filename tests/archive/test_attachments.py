"""Attachments come back byte for byte in every provider's shape, and are stored once."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.archive import attachments
from recollect.archive import sql as archive_sql
from recollect.errors import InvalidInput
from recollect.providers import formats

PNG = b64encode(b"\x89PNG" + bytes(range(256)) * 8).decode()
PDF = b64encode(b"%PDF-1.7" + bytes(reversed(range(256))) * 8).decode()
URL = f"data:image/png;base64,{PNG}"

SHAPES: dict[str, list[dict[str, Any]]] = {
    "anthropic": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is wrong here?"},
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": PNG},
                },
                {
                    "type": "document",
                    "title": "report.pdf",
                    "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
                },
            ],
        }
    ],
    "chat": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is wrong here?"},
                {"type": "image_url", "image_url": {"url": URL, "detail": "low"}},
                {
                    "type": "file",
                    "file": {
                        "filename": "report.pdf",
                        "file_data": f"data:application/pdf;base64,{PDF}",
                    },
                },
                {"type": "input_audio", "input_audio": {"data": PDF, "format": "wav"}},
            ],
        }
    ],
    "responses": [
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "What is wrong here?"},
                {"type": "input_image", "image_url": URL, "detail": "auto"},
                {
                    "type": "input_file",
                    "filename": "report.pdf",
                    "file_data": f"data:application/pdf;base64,{PDF}",
                },
            ],
        }
    ],
}


@pytest.mark.parametrize("form", SHAPES)
def test_bytes_come_back_in_their_own_shape(mem: recollect.Recollect, form: str) -> None:
    for record in SHAPES[form]:
        mem.record("s", record)
    request = mem.prepare("s", 100_000).request(form)
    assert request["input" if form == "responses" else "messages"] == SHAPES[form]


@pytest.mark.parametrize("form", SHAPES)
def test_an_image_reaches_the_other_formats(mem: recollect.Recollect, form: str) -> None:
    mem.record("s", SHAPES["anthropic"][0])
    assert PNG in str(mem.prepare("s", 100_000).request(form))


@pytest.mark.parametrize("form", SHAPES)
def test_converting_without_a_store_loses_nothing(form: str) -> None:
    assert formats.to_wire(formats.from_wire(SHAPES[form], form), form) == SHAPES[form]


def test_the_archive_names_the_bytes_and_stores_them_once(mem: recollect.Recollect) -> None:
    for form in SHAPES:
        mem.record("s", SHAPES[form][0], key=form)
    held = mem.context.project_space.read(
        lambda tx: tx.run("SELECT sha256, media_type FROM attachments WHERE space = :space")
    )
    assert sorted(kind for _, kind in held) == ["application/pdf", "image/png"]
    bodies = mem.context.project_space.read(lambda tx: archive_sql.messages(tx, "s", 1, 9))
    assert not [row for row in bodies if PNG[:100] in row.body or PDF[:100] in row.body]
    assert mem.recall("what is wrong here")


def test_a_store_without_the_bytes_sends_a_line_instead(mem: recollect.Recollect) -> None:
    for form in SHAPES:
        mem.record(form, SHAPES[form][0])
    mem.context.project_space.write(
        lambda tx: tx.run("DELETE FROM attachments WHERE space = :space")
    )
    for form in SHAPES:
        text = str(mem.prepare(form, 100_000).request(form))
        assert "sha256" not in text.replace("sha256 ", "") and "bytes" in text


def test_an_attachment_that_is_too_large_is_refused(
    mem: recollect.Recollect,
) -> None:
    mem.context.settings = mem.settings._replace(attachment_limit=0)
    with pytest.raises(InvalidInput, match="more than 0 MB"):
        mem.record("s", SHAPES["chat"][0])
    assert not mem.sessions.list()


def test_a_message_without_bytes_is_left_alone() -> None:
    (message,) = formats.from_wire({"role": "user", "content": "data:image/png;base64, is a head"})
    assert attachments.detach(message) == (message, ())


@pytest.mark.parametrize("code", ["utf-8", "utf-16"])
def test_a_secret_in_a_text_file_is_not_stored(mem: recollect.Recollect, code: str) -> None:
    secret = "ghp_" + "x7Kp2mQ9" * 4 + "Ab1Z"
    text = f"# settings\nregion: eu\ntoken: {secret}\n" + "# more\n" * 200
    data = b64encode(text.encode(code)).decode()
    shapes: list[dict[str, Any]] = [
        {"type": "file", "file": {"filename": "a", "file_data": f"data:text/plain;base64,{data}"}},
        {"type": "image_url", "image_url": {"url": f"data:image/svg+xml;base64,{data}"}},
    ]
    for number, block in enumerate(shapes):
        done = mem.record("s", {"role": "user", "content": [block]}, key=str(number))
        assert done.redacted
    held = mem.context.project_space.read(
        lambda tx: tx.run("SELECT data FROM attachments WHERE space = :space")
    )
    (kept,) = {bytes(row[0]).decode(code) for row in held}
    assert secret not in kept and "region: eu" in kept
    assert str(mem.prepare("s", 100_000).request("chat")).count(b64encode(held[0][0]).decode()) == 2


@pytest.mark.parametrize("form", SHAPES)
def test_an_export_carries_the_bytes_to_another_store(
    mem: recollect.Recollect, form: str, tmp_path: Path
) -> None:
    for record in SHAPES[form]:
        mem.record("s", record)
    path, place = str(tmp_path / "s.jsonl"), tmp_path / "other"
    place.mkdir()
    mem.sessions.export(path, "s")
    with recollect.open(place, environment={"RECOLLECT_HOME": str(tmp_path)}) as other:
        other.sessions.import_file(path, session="copy")
        assert other.sessions.import_file(path, session="copy").messages == 0
        request = other.prepare("copy", 100_000).request(form)
    assert request["input" if form == "responses" else "messages"] == SHAPES[form]


def test_an_export_with_changed_bytes_is_refused(mem: recollect.Recollect, tmp_path: Path) -> None:
    mem.record("s", SHAPES["chat"][0])
    path = tmp_path / "s.jsonl"
    mem.sessions.export(str(path), "s")
    text = path.read_text("utf-8")
    data = next(iter(json.loads(text.splitlines()[1])["attachments"].values()))
    path.write_text(text.replace(data, "AAAA"), "utf-8")
    with pytest.raises(recollect.InvalidInput, match="changed after it was exported"):
        mem.sessions.import_file(str(path), session="forged")
