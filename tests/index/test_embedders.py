"""Embedders: the model inside the package, and servers that speak one of two shapes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInput, Unavailable
from recollect.index import vectors as index_vectors
from recollect.index.embedders_io import MODEL_HEADER, HttpEmbedder, StaticEmbedder, StaticModel
from recollect.index.model.words import split_pieces, split_words
from recollect.types.records import Embedder

STATIC = StaticEmbedder()


def likeness(one: str, other: str) -> float:
    first, second = STATIC.embed([one, other])
    return index_vectors.cosine_similarities(first, [second])[0]


@pytest.mark.parametrize(
    ("question", "near", "far"),
    [
        ("how do we roll back a deploy", "revert the release to production", "the cat sat there"),
        ("which database do we use", "PostgreSQL stores the tables", "the button is too blue"),
        ("my dog is ill", "the vet saw our puppy", "run the linter before each commit"),
        ("fix the flaky test", "tests fail now and then", "bake the bread for an hour"),
        ("maxRetries of httpClient", "how often the HTTP client tries again", "a walk in spring"),
    ],
)
def test_what_means_the_same_is_nearer_than_what_does_not(
    question: str, near: str, far: str
) -> None:
    assert likeness(question, near) > likeness(question, far) + 0.05


@pytest.mark.parametrize(
    ("question", "near", "far"),
    [
        ("我们用的是哪个数据库？", "PostgreSQL stores the tables", "the button is too blue"),
        ("数据库为什么慢？", "这张表没有索引，所以查询很慢", "按钮的颜色太蓝了"),
        ("データベースを選んだ理由は？", "PostgreSQL を選びました", "ボタンの色が青すぎる"),
        ("데이터베이스가 왜 느린가요?", "쿼리에 인덱스가 없습니다", "버튼이 너무 파랗다"),
        ("Почему падает сборка?", "The build failed in the compiler", "a walk in spring"),
        ("Где настраивали мониторинги?", "мониторинг настроен", "прогулка весной"),
    ],
)
def test_meaning_reaches_into_other_languages(question: str, near: str, far: str) -> None:
    assert likeness(question, near) > likeness(question, far) + 0.1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("今天的天气很好", "缓存什么时候失效"),
        ("今日はいい天気です", "キャッシュはいつ消えますか"),
        ("오늘은 날씨가 좋습니다", "캐시는 언제 비워지나요"),
        ("сегодня хорошая погода", "когда сбрасывается кэш"),
    ],
)
def test_unrelated_texts_of_another_language_are_not_alike(one: str, other: str) -> None:
    assert likeness(one, other) < 0.25


def test_case_accents_and_punctuation_change_nothing() -> None:
    plain, other = STATIC.embed(["cafe in paris", "Café, in PARIS!"])
    assert plain == other


def test_a_text_without_words_has_the_vector_zero_and_is_like_nothing() -> None:
    empty, signs = STATIC.embed(["", "?! … --"])
    assert empty == signs == bytes([index_vectors.ZERO]) * STATIC.dims
    assert index_vectors.cosine_similarities(empty, STATIC.embed(["anything"])) == [0.0]


def test_a_long_text_is_known_by_how_it_begins() -> None:
    start = "the invoice service retries failed payments " * 50
    one, other = STATIC.embed([start, start + "bananas are yellow " * 500])
    assert one == other


@pytest.mark.parametrize("text", ["兆" * 300, "회의실예약시스템구축 " * 40, "回调、" * 130])
def test_many_pieces_of_another_script_are_added_exactly(text: str) -> None:
    whole = STATIC._model
    numbers = whole._numbers(text)
    assert len(numbers) > 256
    sums = [0] * whole.dims
    for number in numbers:
        sums = [total + part for total, part in zip(sums, whole._add([number]), strict=True)]
    offset = index_vectors.ZERO * len(numbers)
    assert whole.vector(text) == index_vectors.quantise([total - offset for total in sums])


def test_common_words_tell_less_than_rare_ones() -> None:
    assert STATIC.rarity("the") < STATIC.rarity("house") < STATIC.rarity("postgres") <= 1.0
    assert STATIC.rarity("frobnicator") == 1.0


def test_the_id_names_the_model_and_its_size() -> None:
    embedder: Embedder = STATIC
    assert embedder.id.startswith("static-256-")
    assert embedder.dims == 256


@given(st.lists(st.text(max_size=80), max_size=4))
def test_every_text_gets_one_vector_of_the_same_length(texts: list[str]) -> None:
    vectors = STATIC.embed(texts)
    assert [len(vector) for vector in vectors] == [STATIC.dims] * len(texts)
    for vector in vectors:
        assert index_vectors.cosine_similarities(vector, [vector])[0] == pytest.approx(
            1.0, abs=0.03
        ) or (vector == bytes([index_vectors.ZERO]) * STATIC.dims)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HTTPServer", ["http", "server"]),
        ("max_retries", ["max", "retries"]),
        ("getX of IDs", ["get", "x", "of", "ids"]),
        ("Python3.11", ["python", "3", "11"]),
        ("東京 검색을 ошибка", ["東京", "검색을", "ошибка"]),
        ("字" * 90, ["字" * 40, "字" * 40, "字" * 10]),
        ("naïve", ["naive"]),
        ("x" * 41, []),
    ],
)
def test_a_text_is_cut_into_words(text: str, expected: list[str]) -> None:
    assert split_words(text) == expected


def test_an_unknown_word_falls_into_the_longest_known_pieces() -> None:
    numbers = {"re": 1, "##collect": 2, "##co": 3}
    assert split_pieces("recollect", lambda piece: numbers.get(piece, -1)) == (1, 2)
    assert split_pieces("relax", lambda piece: numbers.get(piece, -1)) == ()


def test_a_damaged_model_is_unavailable_not_wrong(tmp_path: Path) -> None:
    for name, content in (
        ("missing", None),
        ("empty", b""),
        ("other", b"GIF89a" * 20),
        ("short", MODEL_HEADER.pack(b"RCSTATIC", 1, 1000, 256, 0)),
    ):
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(Unavailable) as caught:
            StaticModel(str(path))
        assert caught.value.where == str(path)


def test_one_question_needs_no_numpy_and_no_slow_import() -> None:
    program = (
        "import sys\nfrom recollect.index.embedders_io import StaticEmbedder\n"
        "StaticEmbedder().embed(['what is it'])\n"
        "slow = {'numpy', 'json', 'urllib.request', 'pathlib', 'dataclasses', 'inspect'}\n"
        "print(sorted(slow & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


Answer = Callable[[dict[str, Any]], tuple[int, Any]]


@contextmanager
def serving(answer: Answer) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server of embeddings on this machine, and what it was sent."""
    seen: list[dict[str, Any]] = []

    class Page(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append({"path": self.path, "key": self.headers["Authorization"], **body})
            status, reply = answer(body)
            content = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Page) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", seen
        finally:
            server.shutdown()
            thread.join()


def directions(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), 1.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0] for text in texts]


def test_an_openai_server_is_understood_in_any_order() -> None:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        rows = [{"index": n, "embedding": v} for n, v in enumerate(directions(body["input"]))]
        return 200, {"data": rows[::-1]}

    with serving(answer) as (url, seen):
        embedder = HttpEmbedder(f"{url}/v1/embeddings", "small", 8, key="secret")
        short, long = embedder.embed(["a", "a long text"])
    assert (
        index_vectors.cosine_similarities(short, [short, long])[0]
        > index_vectors.cosine_similarities(short, [long])[0]
    )
    assert seen[0]["path"] == "/v1/embeddings"
    assert seen[0]["key"] == "Bearer secret"
    assert seen[0]["model"] == "small"
    assert embedder.id == "http-small-8"


def test_an_ollama_server_is_understood_and_asked_in_batches() -> None:
    with serving(lambda body: (200, {"embeddings": directions(body["input"])})) as (url, seen):
        found = HttpEmbedder(f"{url}/api/embed", "small", 8).embed([str(n) for n in range(130)])
    assert len(found) == 130
    assert [len(body["input"]) for body in seen] == [64, 64, 2]
    assert seen[0]["key"] is None


@pytest.mark.parametrize(
    ("status", "reply", "said"),
    [
        (500, {"error": "model not loaded"}, "model not loaded"),
        (200, b"<html>", "Expecting value"),
        (200, {"nothing": 1}, "holds none"),
        (200, [], "holds none"),
        (200, {"data": "text"}, "holds none"),
        (200, {"embeddings": []}, "0 came for 1"),
        (200, {"embeddings": [[1.0, 2.0]]}, "one has 2 dimensions where 8"),
        (200, {"embeddings": ["text"]}, "no dimensions"),
        (200, {"embeddings": [[None] * 8]}, "not a number"),
        (200, b'{"embeddings": [[NaN, 1, 1, 1, 1, 1, 1, 1]]}', "not a number"),
    ],
)
def test_a_server_that_answers_wrongly_is_unavailable(status: int, reply: Any, said: str) -> None:
    with serving(lambda body: (status, reply)) as (url, _):
        with pytest.raises(Unavailable, match=said) as caught:
            HttpEmbedder(f"{url}/api/embed", "small", 8).embed(["text"])
        assert "dimensions" in caught.value.hint


def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        HttpEmbedder("http://127.0.0.1:1/api/embed", "small", 8).embed(["text"])


def test_an_address_that_is_none_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        HttpEmbedder("no address", "small", 8).embed(["text"])


@pytest.mark.parametrize("dims", [0, -8, 12])
def test_a_number_of_dimensions_that_cannot_be_is_refused(dims: int) -> None:
    with pytest.raises(InvalidInput):
        HttpEmbedder("http://127.0.0.1:1/api/embed", "small", dims)
