"""Addresses: what they name, that they come back the same, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.text import addresses as text_addresses
from recollect.text.addresses import Address, check_key, check_slug, parse_address, slugify

RECORDS = {"m": "memory", "e": "episode", "p": "procedure"}
law = settings(deadline=None, max_examples=200)

letters = "abcxyz019ABCäßжध字"
names = st.from_regex(rf"[{letters}_:-][{letters}_:.-]{{0,20}}", fullmatch=True).filter(
    lambda name: name == name.strip()
)
slugs = st.from_regex(r"[a-z0-9ж字]{1,8}(-[a-z0-9ж字]{1,8}){0,3}", fullmatch=True)
ids = st.builds(
    "{}-{}".format, st.sampled_from("mep"), st.from_regex(r"[0-9a-z]{1,12}", fullmatch=True)
)
spans = st.tuples(st.integers(1, 10**14), st.integers(0, 10**14))
addresses = st.one_of(
    st.sampled_from(
        [
            Address("root"),
            Address("root", path="MEMORY.md"),
            Address("notes"),
            Address("continuity"),
        ]
    ),
    slugs.map(lambda slug: Address("root", path=f"skills/{slug}/SKILL.md")),
    names.map(lambda name: Address("session", name)),
    st.builds(lambda name, span: Address("messages", name, "", span[0], sum(span)), names, spans),
    st.builds(
        lambda slug, path: Address("task", slug, "/".join(path)), slugs, st.lists(names, max_size=4)
    ),
    st.builds(
        lambda kind, name: Address(kind, name),
        st.sampled_from(["scratch", "ledger", "handoff"]),
        names,
    ),
    ids.map(lambda name: Address(RECORDS[name[0]], name)),
)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("memory://root", Address("root")),
        ("memory://root/MEMORY.md", Address("root", path="MEMORY.md")),
        (
            "memory://root/skills/add-route/SKILL.md",
            Address("root", path="skills/add-route/SKILL.md"),
        ),
        ("memory://notes", Address("notes")),
        ("memory://continuity", Address("continuity")),
        ("memory://session/s-1", Address("session", "s-1")),
        ("memory://session/0e1a.b_c:d/messages/3-17", Address("messages", "0e1a.b_c:d", "", 3, 17)),
        ("memory://task/add-oauth", Address("task", "add-oauth")),
        ("memory://task/add-oauth/plan.md", Address("task", "add-oauth", "plan.md")),
        (
            "memory://task/add-oauth/reports/1/done.md",
            Address("task", "add-oauth", "reports/1/done.md"),
        ),
        ("memory://scratch/build:notes", Address("scratch", "build:notes")),
        ("memory://scratch/заметка", Address("scratch", "заметка")),
        ("memory://scratch/हिन्दी", Address("scratch", "हिन्दी")),
        ("memory://ledger/backend", Address("ledger", "backend")),
        ("memory://handoff/h-1", Address("handoff", "h-1")),
        ("memory://m-4k9w2c7q8r1t", Address("memory", "m-4k9w2c7q8r1t")),
        ("memory://e-4k9w2c7q8r1t", Address("episode", "e-4k9w2c7q8r1t")),
        ("memory://p-4k9w2c7q8r1t", Address("procedure", "p-4k9w2c7q8r1t")),
    ],
)
def test_an_address_names_its_record_and_comes_back_the_same(text: str, address: Address) -> None:
    assert parse_address(text) == address
    assert text_addresses.format_address(address) == text


@law
@given(addresses)
def test_every_address_survives_being_written_and_read(address: Address) -> None:
    assert parse_address(text_addresses.format_address(address)) == address


@law
@given(
    st.one_of(
        st.text(),
        st.text().map("memory://".__add__),
        st.text("%2e5cfa./:-_ab\\\0", max_size=30).map("memory://scratch/".__add__),
    )
)
def test_any_text_is_an_address_that_comes_back_or_is_refused(text: str) -> None:
    try:
        address = parse_address(text)
    except InvalidInput:
        return
    assert parse_address(text_addresses.format_address(address)) == address
    assert "/../" not in f"/{address.name}/{address.path}/"
    assert not {"\\", "%", "\0"} & set(address.name + address.path)


def test_the_scheme_may_be_in_capitals_and_one_message_needs_no_range() -> None:
    assert parse_address("MEMORY://notes") == Address("notes")
    assert parse_address("memory://session/s-1/messages/5") == Address("messages", "s-1", "", 5, 5)


def test_the_beginning_of_an_id_is_an_address() -> None:
    assert parse_address("memory://m-4k9") == Address("memory", "m-4k9")


def test_a_client_may_escape_letters_beyond_ascii_and_decompose_accents() -> None:
    assert parse_address("memory://scratch/caf%C3%A9") == Address("scratch", "café")
    assert parse_address("memory://scratch/cafe\u0301") == Address("scratch", "café")
    assert check_key("cafe\u0301") == "café"


TRAVERSALS = [
    *("..", ".", "...", "../x", "x/..", "./x", "x/.", "x/../y", "../../etc/passwd", "..//x", "//x"),
    *("/etc/passwd", "/", "x/", "x//y", "~", "~/x", "..;/x", "x/..;", "\\", "..\\x", "x\\..\\y"),
    *("C:\\x", "\\\\host\\share", "c:/x/..", "file:///etc/passwd", "http://x", "x?y", "x#y", "x y"),
    *("%2e%2e", "%2E%2E", "%2e", "x%2fy", "x%2Fy", "..%2f", "%2e%2e%2f", "%5c", "..%5c..", "x%00"),
    *("%252e%252e", "%252f", "%25252e", "%25", "%", "%2", "%zz", "%u002e", "%u2215", "%%32%65"),
    *("%c0%ae%c0%ae", "%c0%af", "%e0%80%af", "%f0%80%80%af", "%c1%9c", "%fc%80%80%80%80%af"),
    *("%ed%a0%80", "%ff", "%80", "%ef%bc%8e%ef%bc%8e", "%ef%bc%8f", "%e2%80%ae", "%c2%a0x", "% 2e"),
    *("．．", "．．／x", "x／y", "x∕y", "x⁄y", "․․", "‥", "…", "x＼y", "﹨", "x\u200b", "\ufeffx"),
    *(
        "\x00",
        "x\x00",
        "x\x00.md",
        "x\ny",
        "x\r\ny",
        "\tx",
        "x\x1b[31m",
        "x\x7f",
        "x\x85",
        "x\u2028y",
    ),
    *("\u202ex", "\ud800", "\udc2e\udc2e", "😀", "x*", "x|y", "x<y", "x>y", 'x"y', "x'y", "x`y`"),
    *("$HOME", "${x}", "$(x)", "x;y", "x&y", "x,y", "x=y", "x@y", "x!", "(x)", "[x]", "{x}", "x+y"),
    *(".hidden", ".git", ".ssh/id_rsa", "x/.env", "x" * 201, "é" * 201, "\u0301" * 300),
]
PLACES = ["scratch", "session", "ledger", "handoff", "task/add-oauth"]
UNKNOWN = [
    *("", "memory:", "memory:/", "memory:/root", "memory://", "memory:///root", "memory", "notes"),
    *("m-1", "http://root", "file://root", "memory://nowhere", "memory://Root", "memory://root/x"),
    *("memory://root/memory.md", "memory://root/MEMORY.md/x", "memory://root/skills"),
    *(
        "memory://root/skills/x",
        "memory://root/skills/X/SKILL.md",
        "memory://root/skills//SKILL.md",
    ),
    *("memory://root/skills/a/b/SKILL.md", "memory://root/skills/../SKILL.md", "memory://notes/x"),
    *(
        "memory://session",
        "memory://session/",
        "memory://session/x/y",
        "memory://session/x/messages",
    ),
    *("memory://session/x/messages/", "memory://session/x/messages/0-1"),
    *("memory://session/x/messages/2-1", "memory://session/x/messages/1-2-3"),
    *("memory://session/x/messages/01-2", "memory://session/x/messages/-1"),
    *("memory://session/x/messages/1-", "memory://session/x/messages/a-b"),
    *("memory://session/x/messages/١-٢", "memory://session/x/messages/1-" + "9" * 16),
    *("memory://task", "memory://task/", "memory://task/Add OAuth", "memory://task/Add"),
    *("memory://task/a_b", "memory://task/a--b", "memory://task/-a", "memory://task/a-"),
    *("memory://scratch", "memory://scratch/a/b", "memory://ledger", "memory://handoff"),
    *(
        "memory://x-1",
        "memory://m-",
        "memory://m",
        "memory://m-A1",
        "memory://m-1-2",
        "memory://m-é",
    ),
    *("memory://user@root", "memory://root:80", "memory://m-1/x", "memory://" + "x/" * 2000),
]
HOSTILE = UNKNOWN + [f"memory://{place}/{payload}" for place in PLACES for payload in TRAVERSALS]


def test_hundreds_of_hostile_addresses_are_refused_with_a_message_fit_for_a_terminal() -> None:
    accepted, unfit = [], []
    for text in HOSTILE:
        try:
            accepted.append((text, parse_address(text)))
        except InvalidInput as refused:
            if not refused.message or not str(refused).replace("\n", "").isprintable():
                unfit.append(text)
    assert len(HOSTILE) > 300
    assert accepted == []
    assert unfit == []


@pytest.mark.parametrize("payload", [text for text in TRAVERSALS if text != "é" * 201])
def test_a_key_is_no_path(payload: str) -> None:
    with pytest.raises(InvalidInput):
        check_key(payload)


@pytest.mark.parametrize(
    "key", ["a", "session_progress", "build:2", "v1.2", "-x", "été", "任务", "x" * 200]
)
def test_a_key_is_a_name(key: str) -> None:
    assert check_key(key) == key


def test_an_empty_key_is_refused() -> None:
    with pytest.raises(InvalidInput, match="must not be empty"):
        check_key("")


@pytest.mark.parametrize(
    "address",
    [
        Address("nowhere"),
        Address("scratch", ".."),
        Address("scratch", "a/b"),
        Address("notes", "x"),
        Address("messages", "s", "", 2, 1),
        Address("messages", "s", "x", 1, 2),
        Address("memory", "e-1"),
        Address("task", "", "x"),
        Address("root", path="../x"),
        Address("notes", first=1),
    ],
)
def test_parts_that_make_no_address_are_not_written(address: Address) -> None:
    with pytest.raises(InvalidInput):
        text_addresses.format_address(address)


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Add OAuth 2 (Google)", "add-oauth-2-google"),
        ("  --Fix: the `HTTPServer`!  ", "fix-the-httpserver"),
        ("Café für Straße", "cafe-fur-strasse"),
        ("Добавить тесты", "добавить-тесты"),
        ("添加测试", "添加测试"),
        ("हिन्दी में", "हिन्दी-में"),
        ("../../etc/passwd", "etc-passwd"),
        ("a" * 100, "a" * 64),
        ("words " * 30, "-".join(["words"] * 10)),
    ],
)
def test_a_title_makes_a_slug(title: str, slug: str) -> None:
    assert slugify(title) == slug
    assert check_slug(slug) == slug


@law
@given(st.text())
def test_a_slug_of_any_title_is_a_slug_and_its_own_slug(title: str) -> None:
    try:
        slug = slugify(title)
    except InvalidInput:
        return
    assert check_slug(slug) == slug == slugify(slug)
    assert parse_address(f"memory://task/{slug}") == Address("task", slug)


@pytest.mark.parametrize("title", ["", "!!!", "🚀", "\u0301"])
def test_a_title_without_letters_makes_no_slug(title: str) -> None:
    with pytest.raises(InvalidInput):
        slugify(title)


@pytest.mark.parametrize(
    "slug", ["", "A", "a_b", "a b", "a--b", "-a", "a-", "a/b", "..", "a" * 65, "straße"]
)
def test_what_is_not_kebab_case_is_no_slug(slug: str) -> None:
    with pytest.raises(InvalidInput):
        check_slug(slug)
