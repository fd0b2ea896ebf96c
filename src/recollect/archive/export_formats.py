"""Render a session for export: lossless JSON lines, Markdown, or one self-contained HTML page.

Exported text stays text. Markdown escapes HTML tags outside of code. The HTML page escapes
everything, and its content security policy allows only its own script and style, so that text
stays text even if escaping failed. The page loads nothing from the network; tool calls are folded,
a search box filters it, it follows light or dark mode, and it prints with all folds open.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256

from ..text.display import escape_invisible, format_time, strip_terminal_escapes
from ..text.messages import (
    arguments_text,
    block_text,
    blocks_of,
    body_from_message,
    parse_arguments,
)
from ..types.records import Json, Message, Session, Stored, ToolCall
from . import attachments

_JOINERS = re.compile("([\u200c\u200d])")

_CODE = re.compile(r"(`+[^`]*`+)")

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")


def make_visible(text: str) -> str:
    """Strip terminal escapes and make invisible and control characters visible."""
    if text.isprintable():
        return text
    if "\x1b" in text:
        text = strip_terminal_escapes(text, "")
    # Emoji and Persian need the zero-width joiners.
    return "".join(
        piece if piece in ("\u200c", "\u200d") else escape_invisible(piece)
        for piece in _JOINERS.split(text)
    )


def session_title(session: Session) -> str:
    """Return the name of a session, or its id."""
    return make_visible(" ".join(session.name.split())) or session.id


def session_facts(session: Session) -> list[str]:
    """Return the facts for a session's header: id, size, dates, agent, branch, tokens."""
    days = dict.fromkeys((format_time(session.created)[:10], format_time(session.last_active)[:10]))
    facts = [f"session {session.id}", f"{session.messages} messages", " to ".join(days)]
    facts += [make_visible(text) for text in (session.agent, session.branch) if text]
    if session.usage:
        spent = session.usage
        facts.append(
            f"{spent.get('input_tokens', 0):,} tokens in, {spent.get('output_tokens', 0):,} out"
        )
    return facts


def split_reasoning(message: Message) -> tuple[str, str]:
    """Split a message into its text and its reasoning."""
    texts: list[str] = []
    reasoning: list[str] = []
    for block in blocks_of(message.content):
        if text := block_text(block):
            (reasoning if block.get("type") == "reasoning" else texts).append(text)
    return "\n".join(texts), "\n".join(reasoning)


# ---------------------------------------------------------------- JSON lines


def render_jsonl(
    session: Session,
    messages: Iterable[Stored],
    load: Callable[[Sequence[str]], Mapping[str, bytes]] | None = None,
) -> Iterator[str]:
    """Yield the session and then every message with its hashes, one JSON object a line.

    `load` returns the bytes of attachments by hash; each is written once, in base64, with the first
    message that names it.
    """
    written: set[str] = set()
    about = {"recollect": "session", "id": session.id, "name": session.name}
    about |= {"agent": session.agent, "created": format_time(session.created)}
    yield _json_line(about)
    for stored in messages:
        place = {"seq": stored.seq, "at": format_time(stored.message.at), "origin": stored.origin}
        proof: dict[str, Json] = {"digest": stored.digest, "hash": stored.hash}
        new = sorted(attachments.references(stored.message) - written) if load else []
        if load and new:
            written.update(new)
            held = load(new).items()
            proof["attachments"] = {name: b64encode(data).decode() for name, data in held}
        yield _json_line({**place, **body_from_message(stored.message), **proof})


def _json_line(value: object) -> str:
    # Some line readers treat U+2028 and U+2029 as line ends.
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    text = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return text.encode("utf-8", "backslashreplace").decode() + "\n"


# ---------------------------------------------------------------- Markdown


def render_markdown(session: Session, messages: Iterable[Stored]) -> Iterator[str]:
    """Yield the session as Markdown, with tool calls and results in code fences."""
    facts = " · ".join(session_facts(session))
    yield f"# {_escape_tags(session_title(session))}\n\n{_escape_tags(facts)}\n"
    names: dict[str, str] = {}
    for stored in messages:
        message = stored.message
        names.update((call.id, call.name) for call in message.calls)
        text, reasoning = split_reasoning(message)
        yield f"\n## {stored.seq} · {message.role} · {format_time(message.at)[:19]}\n"
        if reasoning:
            yield f"\n*Reasoning:*\n\n{_block_quote(_escape_tags(make_visible(reasoning)))}\n"
        if message.role == "tool":
            name = _escape_tags(make_visible(names.get(message.call_id, "tool")))
            yield f"\n*{'Error' if message.is_error else 'Result'} of {name}:*\n{_code_fence(text)}"
        elif text:
            yield f"\n{_escape_tags(make_visible(text))}\n"
        for call in message.calls:
            given = arguments_text(call.arguments)
            yield f"\n*Call of {_escape_tags(make_visible(call.name))}:*\n{_code_fence(given)}"


def _code_fence(text: str) -> str:
    text = make_visible(text)
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"\n{fence}text\n{text}\n{fence}\n"


def _block_quote(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.split("\n"))


def _escape_tags(text: str) -> str:
    """Escape HTML tags outside of code in Markdown."""
    if "<" not in text:
        return text
    lines = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
        elif mark:
            fence = mark[1]
        else:
            parts = _CODE.split(line)
            parts[::2] = [part.replace("<", "\\<") for part in parts[::2]]
            line = "".join(parts)
        lines.append(line)
    # An unclosed fence would swallow the rest of the page.
    return "\n".join([*lines, fence] if fence else lines)


# ---------------------------------------------------------------- HTML

_STYLE = """
:root{color-scheme:light dark;--ground:#fff;--ink:#1c1d1f;--faint:#63666b;--line:#dcdfe3;
--user:#eef4ff;--tool:#f6f7f8;--accent:#1f5fbf;--error:#b3261e}
@media(prefers-color-scheme:dark){:root{--ground:#16181b;--ink:#e4e6e9;--faint:#9aa0a6;
--line:#33373c;--user:#1b2738;--tool:#1d2024;--accent:#8ab4f8;--error:#f2857c}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.55 system-ui,sans-serif}
header,main{max-width:56rem;margin:0 auto;padding:1rem}
header h1{font-size:1.4rem;margin:.5rem 0 0}
header p{color:var(--faint);margin:.2rem 0}
nav{position:sticky;top:0;z-index:1;background:var(--ground);border-bottom:1px solid var(--line)}
nav div{max-width:56rem;margin:0 auto;padding:.5rem 1rem;display:flex;gap:.6rem;align-items:center}
input{flex:1;min-width:6rem;font:inherit;padding:.3rem .6rem;border:1px solid var(--line);
border-radius:.4rem;background:var(--ground);color:var(--ink)}
button{font:inherit;padding:.3rem .7rem;border:1px solid var(--line);border-radius:.4rem;
background:var(--tool);color:var(--ink);cursor:pointer}
output{color:var(--faint);white-space:nowrap}
article{padding:.6rem .9rem;margin:.5rem 0;border:1px solid var(--line);border-radius:.5rem;
content-visibility:auto;contain-intrinsic-size:auto 6rem}
article.user{background:var(--user)}
article.tool{background:var(--tool);margin-left:1.5rem}
article:target{outline:2px solid var(--accent)}
h2{font-size:.8rem;font-weight:600;margin:0 0 .3rem;color:var(--faint)}
h2 a{color:inherit}
.error summary{color:var(--error)}
.said,pre{white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:plaintext;margin:0}
pre{font:.85rem/1.45 ui-monospace,monospace;max-height:32rem;overflow:auto;padding:.5rem 0}
summary{cursor:pointer;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;font-size:.9rem}
summary code{color:var(--faint)}
details+details,.said+details,details+.said{margin-top:.4rem}
@media print{nav{display:none}body{font-size:11pt;--ground:#fff;--ink:#000}
article{content-visibility:visible;break-inside:auto;border-width:0 0 1px;border-radius:0}
h2,summary{break-after:avoid}pre{max-height:none;overflow:visible}}
"""

_SCRIPT = """
const find=document.getElementById('find'),count=document.getElementById('count');
const items=[...document.querySelectorAll('article')];
const folds=[...document.querySelectorAll('details')];
let timer,before=[];
function search(){const words=find.value.toLowerCase().split(/\\s+/).filter(Boolean);let hits=0;
for(const item of items){const text=words.length?item.textContent.toLowerCase():'';
const hit=words.every(word=>text.includes(word));item.hidden=!hit;hits+=hit}
for(const fold of folds){const text=words.length?fold.textContent.toLowerCase():'';
fold.open=words.length>0&&words.some(word=>text.includes(word))}
count.textContent=words.length?hits+' of '+items.length:''}
find.addEventListener('input',()=>{clearTimeout(timer);timer=setTimeout(search,150)});
document.getElementById('open').addEventListener('click',()=>{
const open=folds.some(fold=>!fold.open);for(const fold of folds)fold.open=open});
addEventListener('beforeprint',()=>{before=folds.filter(fold=>!fold.open);
for(const fold of before)fold.open=true});
addEventListener('afterprint',()=>{for(const fold of before)fold.open=false});
"""


def render_html(session: Session, messages: Iterable[Stored]) -> Iterator[str]:
    """Yield the session as one HTML page, piece by piece."""
    yield _render_head(session)
    names: dict[str, str] = {}
    for stored in messages:
        names.update((call.id, call.name) for call in stored.message.calls)
        yield _render_message(stored, names)
    yield f"</main>\n<script>{_SCRIPT}</script>\n</body>\n</html>\n"


def escape_html(text: str) -> str:
    """Escape text between tags; quotes need no escaping there, and there are many."""
    return make_visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _csp_hash(source: str) -> str:
    return f"'sha256-{b64encode(sha256(source.encode()).digest()).decode()}'"


def _render_head(session: Session) -> str:
    title = escape_html(session_title(session))
    policy = (
        f"default-src 'none'; style-src {_csp_hash(_STYLE)}; script-src {_csp_hash(_SCRIPT)}; "
        "base-uri 'none'; form-action 'none'"
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{_STYLE}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<p>{escape_html(" · ".join(session_facts(session)))}</p>
</header>
<nav><div>
<input id="find" type="search" placeholder="Search this session" aria-label="Search this session">
<output id="count"></output>
<button id="open" type="button">Open or close all</button>
</div></nav>
<main>
"""


def _render_message(stored: Stored, names: dict[str, str]) -> str:
    message = stored.message
    at = format_time(message.at)
    number = f'<a href="#m{stored.seq}">{stored.seq}</a>'
    time = f' · <time datetime="{at}">{at[:16].replace("T", " ")}</time>' if at else ""
    text, reasoning = split_reasoning(message)
    parts = [f'<article id="m{stored.seq}" class="{message.role}">']
    parts.append(f"<h2>{number} · {message.role}{time}</h2>")
    if reasoning:
        parts.append(_render_fold("Reasoning", "", reasoning))
    if message.role == "tool":
        parts.append(_render_result(message, text, names))
    elif text:
        parts.append(f'<div class="said">{escape_html(text)}</div>')
    parts += [_render_call(call) for call in message.calls]
    return "\n".join([*parts, "</article>\n"])


def _render_result(message: Message, text: str, names: dict[str, str]) -> str:
    name = names.get(message.call_id, "tool")
    kind = "error" if message.is_error else "result"
    what = f"{'Error' if message.is_error else 'Result'} of {name}, {len(text):,} characters"
    return _render_fold(what, text[:200], text, kind)


def _render_call(call: ToolCall) -> str:
    arguments = parse_arguments(call.arguments)
    if arguments is None:
        return _render_fold(call.name, call.arguments[:200], call.arguments, "call")
    lines = [
        f"{key}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for key, value in arguments.items()
    ]
    first = next((value for value in arguments.values() if isinstance(value, str)), "")
    return _render_fold(call.name, first[:200], "\n".join(lines), "call")


def _render_fold(what: str, teaser: str, text: str, kind: str = "reasoning") -> str:
    line = " ".join(make_visible(teaser).split())[:120]
    hint = f" <code>{escape_html(line)}</code>" if line else ""
    return (
        f'<details class="{kind}"><summary>{escape_html(what)}{hint}</summary>\n'
        f"<pre>{escape_html(text)}</pre></details>"
    )
