"""A session as one HTML file that needs nothing else: no network, no fonts, no libraries.

Everything that was said is escaped, and a content policy lets only this page's own script and
style run, so that text stays text even if escaping ever failed. Tool calls are folded, a search
narrows the page, it follows the reader's light or dark, and it prints with all folds open. It
does not know files.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator
from hashlib import sha256

from ..text.display import moment
from ..text.messages import parsed_arguments
from ..types.records import Message, Session, Stored, ToolCall
from .export_text import facts_of, shown, title_of, words_of

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


def page(session: Session, messages: Iterable[Stored]) -> Iterator[str]:
    """The page, piece by piece."""
    yield _head(session)
    names: dict[str, str] = {}
    for stored in messages:
        names.update((call.id, call.name) for call in stored.message.calls)
        yield _article(stored, names)
    yield f"</main>\n<script>{_SCRIPT}</script>\n</body>\n</html>\n"


def escaped(text: str) -> str:
    """Text between tags. (Quotes mean nothing there, and there are many.)"""
    return shown(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _allowed(source: str) -> str:
    return f"'sha256-{b64encode(sha256(source.encode()).digest()).decode()}'"


def _head(session: Session) -> str:
    title = escaped(title_of(session))
    policy = (
        f"default-src 'none'; style-src {_allowed(_STYLE)}; script-src {_allowed(_SCRIPT)}; "
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
<p>{escaped(" · ".join(facts_of(session)))}</p>
</header>
<nav><div>
<input id="find" type="search" placeholder="Search this session" aria-label="Search this session">
<output id="count"></output>
<button id="open" type="button">Open or close all</button>
</div></nav>
<main>
"""


def _article(stored: Stored, names: dict[str, str]) -> str:
    message = stored.message
    at = moment(message.at)
    number = f'<a href="#m{stored.seq}">{stored.seq}</a>'
    time = f' · <time datetime="{at}">{at[:16].replace("T", " ")}</time>' if at else ""
    said, thought = words_of(message)
    parts = [f'<article id="m{stored.seq}" class="{message.role}">']
    parts.append(f"<h2>{number} · {message.role}{time}</h2>")
    if thought:
        parts.append(_fold("Reasoning", "", thought))
    if message.role == "tool":
        parts.append(_result(message, said, names))
    elif said:
        parts.append(f'<div class="said">{escaped(said)}</div>')
    parts += [_call(call) for call in message.calls]
    return "\n".join([*parts, "</article>\n"])


def _result(message: Message, said: str, names: dict[str, str]) -> str:
    name = names.get(message.call_id, "tool")
    kind = "error" if message.is_error else "result"
    what = f"{'Error' if message.is_error else 'Result'} of {name}, {len(said):,} characters"
    return _fold(what, said[:200], said, kind)


def _call(call: ToolCall) -> str:
    arguments = parsed_arguments(call.arguments)
    if arguments is None:
        return _fold(call.name, call.arguments[:200], call.arguments, "call")
    lines = [
        f"{key}: {value if isinstance(value, str) else _json(value)}"
        for key, value in arguments.items()
    ]
    first = next((value for value in arguments.values() if isinstance(value, str)), "")
    return _fold(call.name, first[:200], "\n".join(lines), "call")


def _json(value: object) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)


def _fold(what: str, teaser: str, text: str, kind: str = "reasoning") -> str:
    line = " ".join(shown(teaser).split())[:120]
    hint = f" <code>{escaped(line)}</code>" if line else ""
    return (
        f'<details class="{kind}"><summary>{escaped(what)}{hint}</summary>\n'
        f"<pre>{escaped(text)}</pre></details>"
    )
