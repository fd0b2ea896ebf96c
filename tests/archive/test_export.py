"""Exported sessions: text stays text, in one self-contained file."""

from __future__ import annotations

import json
import re
import stat
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect.archive import export_formats
from recollect.types.records import Message, Session, Stored, ToolCall

Mem = recollect.Recollect
EVIL = (
    "<script>document.title='owned'</script><img src=x onerror=alert(1)> \x1b[31mred\x1b[0m "
    "</pre></details></article>&lt; ]]> \u202egnp.exe <!-- "
)
OURS = {
    "html", "head", "meta", "title", "style", "body", "header", "h1", "p", "nav", "div", "input",
    "output", "button", "main", "article", "h2", "a", "time", "details", "summary", "code", "pre",
    "script",
}  # fmt: skip
VOID = {"meta", "input"}


class Page(HTMLParser):
    """The parsed page: its elements, their nesting and their text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.counts: dict[str, int] = {}
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.pieces: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.attributes += attributes
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.pieces.append(data)


def safe(page: Page) -> None:
    assert page.open == []
    assert set(page.counts) <= OURS
    assert (page.counts["script"], page.counts["style"]) == (1, 1)
    for name, value in page.attributes:
        assert not name.startswith("on")
        assert name not in ("src", "srcset", "style", "action")
        assert name != "href" or re.fullmatch(r"#m\d+", value or "")


def session(name: str = "", **more: str) -> Session:
    return Session("s-1", name, "", "", "", "active", 1, 1, 0, 1, "", {}, "")._replace(**more)  # type: ignore[arg-type]


@given(st.lists(st.text(), min_size=5, max_size=5), st.booleans())
def test_no_text_becomes_markup_at_any_position(texts: list[str], error: bool) -> None:
    name, said, thought, output, argument = (text + EVIL for text in texts)
    blocks = ({"type": "reasoning", "text": thought}, {"type": "text", "text": said})
    calls = (ToolCall(EVIL, EVIL, json.dumps({EVIL: argument})), ToolCall("2", EVIL, argument))
    messages = [
        Message("assistant", blocks, calls, name=EVIL, model=EVIL),
        Message("tool", output, call_id=EVIL, is_error=error),
        Message("user", said),
    ]
    stored = [Stored("s-1", seq, message, "user", "", "") for seq, message in enumerate(messages)]
    page = Page("".join(export_formats.render_html(session(name, agent=EVIL, branch=EVIL), stored)))
    safe(page)
    assert page.counts["article"] == 3
    assert page.counts["details"] == 4
    text = "".join(page.pieces)
    assert text.count("<script>document.title='owned'</script>") >= 9
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_the_page_loads_nothing_and_lets_only_its_own_script_run(mem: Mem, tmp_path: Path) -> None:
    mem.record("s-1", "see https://example.org/x.png")
    done = mem.sessions.export(str(tmp_path / "s.html"))
    text = Path(done.path).read_text(encoding="utf-8")
    safe(Page(text))
    outside = text.replace("see https://example.org/x.png", "")
    assert not re.search(r"https?:|//[a-z]|url\(|@import", outside)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; style-src 'sha256-")
    for tag in ("script", "style"):
        [body] = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.S)
        assert export_formats._csp_hash(body) in policy[1]
    assert "prefers-color-scheme:dark" in text
    assert "@media print" in text
    assert "beforeprint" in text


def test_ten_megabytes_of_tool_output_stay_under_twice_their_size(mem: Mem, tmp_path: Path) -> None:
    line = "\x1b[32mok\x1b[0m  tests/test_a.py::test_b <0.01s> a && b -> c\n"
    output = line * (10_000_000 // len(line))
    mem.record("s-1", "run <script>alert('x')</script>")
    mem.record("s-1", Message("assistant", "", (ToolCall("c1", "Bash", '{"command": "make"}'),)))
    mem.record("s-1", Message("tool", output, call_id="c1"))
    for form in ("html", "md"):
        done = mem.sessions.export(str(tmp_path / f"big.{form}"))
        assert done.bytes < 2 * len(output)
    page = Page((tmp_path / "big.html").read_text(encoding="utf-8"))
    safe(page)
    text = "".join(page.pieces)
    assert text.count("ok  tests/test_a.py::test_b <0.01s> a && b -> c") >= output.count("\n")
    assert "run <script>alert('x')</script>" in text


def test_an_export_is_private_and_overwrites_nothing_unasked(mem: Mem, tmp_path: Path) -> None:
    mem.record("s-1", "hello")
    path = tmp_path / "s.md"
    mem.sessions.export(str(path), "s-1")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(recollect.Conflict):
        mem.sessions.export(str(path), "s-1")
    mem.record("s-1", "again")
    mem.sessions.export(str(path), "s-1", replace=True)
    assert "again" in path.read_text(encoding="utf-8")
    for wrong in ("s.pdf", "none"):
        with pytest.raises(recollect.InvalidInput):
            mem.sessions.export(str(tmp_path / wrong), "s-1")
    with pytest.raises(recollect.NotFound):
        mem.sessions.export(str(tmp_path / "x.html"), "nobody")
    assert [item.name for item in tmp_path.iterdir() if item.name.startswith(("x", "n"))] == []


def test_markdown_keeps_the_text_and_escapes_html() -> None:
    said = "Use `a<b>` here: <b>bold</b>\n```html\n<p>\n```\n<script>x</script>\n~~~\nopen <i>"
    messages = [
        Message("user", said),
        Message("assistant", "", (ToolCall("1", "Bash", '{"command": "cat ```` x"}'),)),
        Message("tool", "<script>y</script>\n```\n", call_id="1"),
    ]
    stored = [
        Stored("s-1", seq, message, "user", "", "") for seq, message in enumerate(messages, 1)
    ]
    text = "".join(export_formats.render_markdown(session("A <b> name"), stored))
    assert "# A \\<b> name" in text
    assert "Use `a<b>` here: \\<b>bold\\</b>" in text
    assert "```html\n<p>\n```" in text
    assert "\\<script>x\\</script>" in text
    assert "open <i>\n~~~\n" in text
    assert "`````text\ncommand: cat ```` x\n`````" in text
    assert "*Result of Bash:*\n\n````text\n<script>y</script>\n```\n\n````" in text


def test_jsonl_holds_every_message_with_its_hashes(mem: Mem, tmp_path: Path) -> None:
    mem.record("s-1", "line \u2028 end")
    mem.sessions.export(str(tmp_path / "s.jsonl"), "s-1")
    about, *lines = (tmp_path / "s.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(about)["id"] == "s-1"
    [message] = map(json.loads, lines)
    stored = mem.sessions.show("s-1").messages[0]
    assert message["content"] == "line \u2028 end"
    assert (message["digest"], message["hash"]) == (stored.digest, stored.hash)


def test_joined_emoji_and_persian_stay_whole() -> None:
    for text in ("👨‍👩‍👧 family", "می‌خواهم"):
        assert export_formats.make_visible(text + "\n") == text + "\n"
