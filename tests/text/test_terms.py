"""Which terms a text is found by, and that FTS5 keeps each of them whole."""

from __future__ import annotations

import os
import subprocess
import sys

import apsw
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recollect.text.terms import (
    FLAG,
    FTS5_TOKENIZE,
    LONGEST_TERM,
    MOST_QUERY_TERMS,
    query_stems,
    query_terms,
    split_terms,
    stem,
    stem_all,
    stem_text,
)

any_text = st.text(st.characters(), max_size=200)
"""Every code point: lone surrogates, NUL, marks, emoji, scripts of all kinds."""

identifiers = st.from_regex(r"[A-Za-z][A-Za-z0-9]{0,12}", fullmatch=True)
law = settings(deadline=None, max_examples=200)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("HTTPServer", "http server httpserver"),
        ("maxRetries", "max retries maxretries"),
        ("max_retries", "max retries maxretries"),
        ("max-retries", "max retries maxretries"),
        ("MAX_RETRIES", "max retries maxretries"),
        ("__init__", "init"),
        ("--dry-run", "dry run dryrun ..dryrun"),
        ("a --force b--c -x", "a force ..force b c x"),
        ("ENT-232 deadbeef1234 TS2345", "ent 232 ent232 deadbeef1234 ts2345"),
        ("src/routes/todos.ts", "src routes todos ts todos.ts"),
        ("fix_it-now.test.go", "fix it now fixitnow test go fixitnow.test.go"),
        ("HTTP2Server", "http2 server http2server"),
        ("the IDs of APIs", "the ids of apis"),
        ("utf8 v2 K8s sha256sum", "utf utf8 v2 k8s sha256sum"),
        ("my-cipherBox", "my cipher box cipherbox mycipherbox"),
        ("Python 3.11", "python 3 11 3.11"),
        ("python3.11", "python python3 11 3.11"),
        ("v1.2.3-beta", "v1 2 3 beta 3beta 1.2.3"),
        ("127.0.0.1", "127 0 0 1 127.0.0.1"),
        ("It ended. Then", "it ended then"),
        ("foo.bar(baz)", "foo bar foo.bar baz"),
        ("don't", "don t"),
        ("“don’t”", "don t"),
        ("Café", "cafe"),
        ("cafe\u0301", "cafe"),
        ("Straße Müller", "strasse muller"),
        ("Łódź, Ørsted, Æther", "lodz orsted aether"),
        ("İstanbul ısı", "istanbul isi"),
        ("naïve-bayes", "naive bayes naivebayes"),
        ("ｆｕｌｌ ﬁne", "full fine"),
        ("東京都", "東京 京都"),
        ("猫", "猫"),
        ("猫。", "猫"),
        ("Python3を使う", "python python3 を使 使う"),
        ("ｶﾞｷﾞ ガギ", "ガギ ガギ"),
        ("한국어", "한국 국어"),
        ("สวัส", "สว วั ัส"),
        ("हिन्दी में", "हिन्दी में"),
        ("שָׁלוֹם كِتَاب", "שלום كتاب"),
        ("Ошибка ёлка", "ошибка елка"),
        ("ПолучитьДанные", "получить данные получитьданные"),
        ("ship it 🚀 ❤️ 1️⃣", "ship it 1"),
        ("soft\u00adhyphen", "softhyphen"),
        ("a—b…c", "a b c"),
        ("\x00 \ud800 \ufffe", ""),
    ],
)
def test_a_text_is_found_by_these_terms(text: str, found: str) -> None:
    assert split_terms(text) == found.split()


def test_terms_keep_the_order_of_the_text_and_repeat_with_it() -> None:
    assert split_terms("b a b") == ["b", "a", "b"]


def test_an_exact_name_is_one_rare_term_beside_its_parts() -> None:
    assert set(split_terms("max_retries")) - set(split_terms("max of all retries")) == {
        "maxretries"
    }


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a" * 64, ["a" * 40]),
        ("é" * 64, ["e" * 40]),
        ("x_" + "b1" * 32, ["x", "b1" * 20]),
        ("1." * 40 + "1", ["1"] * 41 + ["1." * 19 + "1"]),
        ("_".join(["eleven"] * 7), ["eleven"] * 7),
    ],
)
def test_a_run_longer_than_a_term_is_cut_and_a_longer_compound_has_no_whole(
    text: str, found: list[str]
) -> None:
    assert split_terms(text) == found


def test_encoded_bytes_are_one_term_and_no_crumbs() -> None:
    assert len(split_terms("aGVsbG8gd29ybGQhIFRoaXMgaXMgYmFzZTY0IGRh")) == 1


@law
@given(any_text)
@example("\u0130\u0149\u01f0\u0390\u03b0\u1e96\ufb03\ufdfa\u3300\u2474\u2488½")
@example("\U0001f469\u200d\U0001f4bb e\u0301\u0301\u0301 \u0301 \u093f \u3099")
def test_whatever_the_text_each_term_is_short_storable_and_finds_itself(text: str) -> None:
    for term in split_terms(text):
        assert 0 < len(term) <= LONGEST_TERM
        assert term.split() == [term]
        assert term.encode().decode() == term
        assert term in split_terms(term.replace(FLAG, "--"))
        assert "\0" not in term


@law
@given(
    st.lists(st.one_of(identifiers, st.text(max_size=20)), max_size=8),
    st.sampled_from([" ", "/", ", ", "\n", "(", "::", "—"]),
)
def test_a_text_is_found_by_each_of_its_words(words: list[str], separator: str) -> None:
    found = set(split_terms(separator.join(words)))
    for word in words:
        plain = word if "." not in word else word.replace(".", " ")
        assert set(split_terms(plain)) <= found


@law
@given(st.lists(identifiers, min_size=1, max_size=5), st.sampled_from(["_", "-"]))
def test_a_compound_is_found_by_its_words_and_as_a_whole(words: list[str], joint: str) -> None:
    found = set(split_terms(joint.join(words)))
    assert all(set(split_terms(word)) <= found for word in words)
    whole = "".join(words).lower()
    assert len(whole) > LONGEST_TERM or whole in found


@law
@given(st.text(st.characters(categories=["Ll"], max_codepoint=0x17F), min_size=1, max_size=30))
def test_capitals_do_not_matter(word: str) -> None:
    assert (
        split_terms(word)[-1:]
        == split_terms(word.upper())[-1:]
        == split_terms(word.capitalize())[-1:]
    )


@law
@given(st.text(st.characters(max_codepoint=127)))
def test_plain_text_has_the_same_terms_beside_an_accent(text: str) -> None:
    assert split_terms(f"{text} é") == [*split_terms(text), "e"]


@law
@given(any_text)
@example("東京都 हिन्दी สวัสดี 3.11 Ωmega ꭰ ǅ 𝔘𝔫𝔦 ﷺ")
def test_fts5_stores_each_term_as_one_token(text: str) -> None:
    found = split_terms(text)
    assert _tokens(" ".join(found)) == found


@law
@given(st.lists(identifiers))
def test_fts5_stores_each_stem_as_one_token(words: list[str]) -> None:
    found = stem_all(split_terms(" ".join(words)))
    assert _tokens(" ".join(found)) == found


def _tokens(text: str) -> list[str]:
    """What FTS5 makes of a text, in order."""
    db = apsw.Connection(":memory:")
    db.execute(f'CREATE VIRTUAL TABLE words USING fts5(terms, tokenize = "{FTS5_TOKENIZE}")')
    db.execute("CREATE VIRTUAL TABLE seen USING fts5vocab(words, instance)")
    db.execute("INSERT INTO words VALUES (?)", (text,))
    return [row[0] for row in db.execute("SELECT term FROM seen ORDER BY offset")]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("\u0316\u0301" * 500_000, id="accents"),
        pytest.param("a" + "\u0951\u0952" * 500_000, id="vowel-signs"),
        pytest.param("か" + "\u3099\u0323" * 500_000, id="kana-marks"),
        pytest.param("A" * 1_000_000, id="capitals"),
        pytest.param("Aa" * 500_000, id="humps"),
        pytest.param("é" * 1_000_000, id="one-word"),
        pytest.param("_" * 1_000_000, id="underscores"),
        pytest.param("a-" * 500_000, id="hyphens"),
        pytest.param("1." * 500_000, id="number"),
        pytest.param("東京都" * 333_333, id="unspaced"),
        pytest.param("\x00\ud800🚀" * 333_333, id="nothing"),
    ],
)
def test_a_megabyte_of_anything_is_taken_apart(text: str) -> None:
    """In linear time: what is quadratic would not come back from here."""
    assert all(len(term) <= LONGEST_TERM for term in split_terms(text))


@pytest.mark.parametrize(
    "family",
    [
        "cache caches cached caching",
        "code codes coded coding",
        "plan plans planned planning",
        "query queries queried querying",
        "cookie cookies",
        "class classes",
        "fix fixes fixed fixing",
        "deploy deploys deployed deploying deployment deployments",
        "migrate migrates migrated migrating migration migrations",
        "connect connected connection connections",
        "embed embeds embedded embedding embeddings",
        "exceed exceeds exceeded exceeding",
        "exact exactly",
        "сервер сервера серверу сервером серверов серверами",
        "база базы базу базе базой",
        "новый новая новое новые нового новых",
        "ошибка ошибки ошибку ошибкой",
    ],
)
def test_forms_of_a_word_share_a_stem(family: str) -> None:
    assert len({stem(term) for term in split_terms(family)}) == 1


@pytest.mark.parametrize(
    "words",
    [
        "plan plane",
        "cod code",
        "new news",
        "us use",
        "state statement",
        "act action",
        "app apply",
        "string stre",
        "status stat",
        "redis red",
        "bus buss",
        "3.11 3",
        "k8s k",
        "базар база",
    ],
)
def test_different_words_keep_different_stems(words: str) -> None:
    one, other = words.split()
    assert stem(one) != stem(other)


@law
@given(any_text)
def test_each_term_has_one_stem_that_is_not_longer(text: str) -> None:
    found = split_terms(text)
    assert len(stem_all(found)) == len(found)
    assert stem_all(found) == [stem(term) for term in found]
    assert all(0 < len(stem(term)) <= len(term) for term in found)


def test_a_question_is_looked_up_by_its_distinct_stems() -> None:
    assert query_stems("Deploys of the deployed HTTPServer?") == [
        "deploy",
        "http",
        "server",
        "httpserver",
    ]


@pytest.mark.parametrize("asked", ["deploy", "deploys", "deploying", "deployment"])
@pytest.mark.parametrize("text", ["we deploy", "it deploys", "deploying it", "after deployment"])
def test_any_form_finds_any_other_through_its_stem(asked: str, text: str) -> None:
    db = apsw.Connection(":memory:")
    db.execute(f'CREATE VIRTUAL TABLE words USING fts5(stems, tokenize = "{FTS5_TOKENIZE}")')
    db.execute("INSERT INTO words VALUES (?)", (" ".join(stem_all(split_terms(text))),))
    wanted = " OR ".join(f'"{word}"' for word in query_stems(asked))
    assert db.execute("SELECT count(*) FROM words(?)", (wanted,)).get == 1


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("What did we decide about the HTTPServer?", "decide http server httpserver"),
        ("Wo ist die Datei für den Server?", "die datei server"),
        ("Où est le fichier de configuration ?", "fichier configuration"),
        ("¿Dónde está el archivo?", "archivo"),
        ("Где мой файл конфигурации?", "фаил конфигурации"),
        ("to be or not to be", "to be or not"),
        ("error, Error, ERROR!", "error"),
        ("???", ""),
        ("", ""),
    ],
)
def test_a_question_is_asked_with_the_words_that_say_something(question: str, left: str) -> None:
    assert query_terms(question) == left.split()


def test_a_pasted_log_asks_with_its_first_terms_only() -> None:
    asked = query_terms(" ".join(f"{number}word" for number in range(1000)))
    assert asked == [f"{number}word" for number in range(MOST_QUERY_TERMS)]


@law
@given(any_text)
def test_a_question_with_any_term_asks_for_something_once(text: str) -> None:
    asked = query_terms(text)
    assert len(asked) == len(set(asked)) <= MOST_QUERY_TERMS
    assert bool(asked) == bool(split_terms(text))
    assert set(asked) <= set(split_terms(text))


def test_plain_text_needs_no_unicode_tables() -> None:
    """Imports decide what a hook costs."""
    module = sys.modules["recollect.text.terms"].__file__
    script = (
        "import runpy, sys; found = runpy.run_path(sys.argv[1]);"
        "found['query_stems']('HTTPServer 3.11 retries'); print('unicodedata' in sys.modules);"
        "found['split_terms']('é'); print('unicodedata' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", script, str(module)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.stdout.split() == ["False", "True"]


@law
@given(
    st.lists(
        st.one_of(any_text, identifiers, st.sampled_from(".-_ 3.1.4 a.b. -x- Iron")), max_size=8
    )
)
@example(["say", "v1.2.3", "-beta.", "HTTPServer", "IDs", "a1.b2", "..", "x-.y"])
@example(["no.dots.1a", " ", "10.0", ".5", "CafeBar.rest-of.2.x"])
def test_the_stems_of_a_text_are_those_of_its_terms(parts: list[str]) -> None:
    for text in ("".join(parts), " ".join(parts)):
        assert stem_text(text) == " ".join(stem_all(split_terms(text)))
        assert stem_text(text) == " ".join(stem_all(split_terms(text))), "and again from memory"
