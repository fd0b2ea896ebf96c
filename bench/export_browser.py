"""Looks at an exported session with a real browser, by hand: `python -m bench.export_browser DIR`.

Writes a session with hostile text and 10 MB of tool output, opens it in headless Chromium, checks
what the browser made of it, and leaves screenshots (light, dark, found) and a print in DIR.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from tempfile import TemporaryDirectory

import recollect
from recollect.archive import export_formats
from recollect.types.records import Message, ToolCall

from .foundation import opened

EVIL = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


def talk(memory: recollect.Recollect) -> int:
    """A session; gives the length of its text."""
    line = "\x1b[32mok\x1b[0m  tests/test_a.py::test_b <0.01s> a && b -> c\n"
    output = line * (10_000_000 // len(line))
    thinking = ({"type": "reasoning", "text": "First the tests."}, {"type": "text", "text": "Ok."})
    messages = [
        Message("system", "You are careful."),
        Message("user", f"Please run the tests and say what {EVIL} does. \x1b[31mred\x1b[0m"),
        Message("assistant", thinking, (ToolCall("c1", "Bash", '{"command": "make test"}'),)),
        Message("tool", output, call_id="c1"),
        Message("assistant", "", (ToolCall("c2", "Read", '{"file_path": "src/a.py"}'),)),
        Message("tool", "no such file", call_id="c2", is_error=True),
        Message("assistant", "All tests pass.\n\n    but src/a.py is missing"),
        Message("user", "続けてください 👨‍👩‍👧 needle"),
    ]
    for message in messages:
        memory.record("s-1", message, name="Tests, and <b>hostile</b> text")
    return len(output)


def browse(browser: str, page: str, *options: str) -> str:
    done = subprocess.run(
        [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
         "--window-size=1000,1200", "--virtual-time-budget=8000", *options, page],
        capture_output=True, text=True, check=True, timeout=240,
    )  # fmt: skip
    return done.stdout


def main() -> int:
    folder = sys.argv[1] if len(sys.argv) > 1 else "export-check"
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        print("no chromium on the PATH", file=sys.stderr)
        return 2
    os.makedirs(folder, exist_ok=True)
    page = os.path.abspath(f"{folder}/session.html")
    with TemporaryDirectory() as place, opened(place) as memory:
        size = talk(memory)
        done = memory.sessions.export(page, "s-1", replace=True)
    print(f"text {size:,} bytes, page {done.bytes:,} bytes: {done.bytes / size:.2f} times")
    dom = browse(browser, f"file://{page}", "--dump-dom")
    with open(page, encoding="utf-8") as file:
        text = file.read()
    # The same page, as if a reader had typed into the search box; its policy still holds.
    [script] = re.findall("<script>(.*?)</script>", text[-5_000:], re.S)
    typed = script + "find.value='needle';search();"
    found = text.replace(script, typed)
    found = found.replace(export_formats._csp_hash(script), export_formats._csp_hash(typed))
    with open(f"{folder}/found.html", "w", encoding="utf-8") as file:
        file.write(found)
    searched = browse(browser, f"file://{os.path.abspath(folder)}/found.html", "--dump-dom")
    checks = {
        "under twice the text": done.bytes < 2 * size,
        "the title is the session's": "<title>Tests, and &lt;b&gt;hostile&lt;/b&gt; text" in dom,
        "no script of the text ran": "owned</title>" not in dom,
        "one script, no image": (dom.count("<script"), dom.count("<img")) == (1, 0),
        "eight messages": dom.count("<article") == 8,
        "the search hides the rest": searched.count('hidden=""') == 7,
        "the search says how many": "1 of 8" in searched,
    }
    for name, holds in checks.items():
        print(f"{'ok ' if holds else 'BAD'} {name}")
    for name, *options in (
        ("light",), ("dark", "--force-dark-mode", "--blink-settings=preferredColorScheme=0"),
    ):  # fmt: skip
        browse(browser, f"file://{page}", f"--screenshot={folder}/{name}.png", *options)
    browse(
        browser, f"file://{os.path.abspath(folder)}/found.html", f"--screenshot={folder}/found.png"
    )
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
