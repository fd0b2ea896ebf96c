"""Forms of one word meet in other languages too, and what only asks is not searched for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.text.terms import query_terms, split_terms, stem


@pytest.mark.parametrize(
    "family",
    [
        "сохранение сохранения сохранить сохранил сохраняются сохраняем сохранённый сохранены",
        "изменение изменения изменённых изменить изменили изменил",
        "удаление удалить удалён удалённый удаляются удалено",
        "настройка настройки настройку настроек",
        "ошибка ошибок ошибками",
        "файл файла файлов файловый файловых",
        "тест тесты тестов тестовая тестовой",
        "платёж платеже платежи платёжная",
        "столбец столбца столбцов",
        "ночь ночью ночная",
        "важный важная важно",
        "слияние слияния слиянием",
        "правило правила правил правилам",
        "создать создаёт создание создаётся",
        "кэширует кэширование кэшировать",
        "ищется ищутся",
        "выбирать выбрать выбирали выбрали",
        "проверка проверить проверяется",
        "загрузка загрузить загружать загружаемых",
        "установка установить установок",
    ],
)
def test_forms_of_a_russian_word_are_one_word(family: str) -> None:
    assert len({stem(split_terms(word)[0]) for word in family.split()}) == 1


@pytest.mark.parametrize("pair", ["токен тест", "строка сторона", "план планета", "файл фаза"])
def test_different_russian_words_stay_apart(pair: str) -> None:
    one, other = pair.split()
    assert stem(split_terms(one)[0]) != stem(split_terms(other)[0])


@given(st.text("абвгдежзиклмнопрстуфхцчшщыьэюя", min_size=4, max_size=20))
def test_a_russian_stem_begins_like_its_word_and_is_never_lost(word: str) -> None:
    found = stem(word)
    assert found[:2] == word[:2]
    assert len(found) <= len(word)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("검색을", "검색"),
        ("데이터베이스에서는", "데이 이터 터베 베이 이스"),
        ("큐가", "큐가 큐"),
        ("큐에는", "큐"),
        ("추가", "추가 추"),
        ("한국어", "한국 국어"),
        ("Redis로", "redis 로"),
    ],
)
def test_a_korean_word_is_found_without_its_particles(word: str, expected: str) -> None:
    assert " ".join(split_terms(word)) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("会话令牌在哪里？", "会话 话令 令牌 牌在"),
        ("这是什么？配置", "配置"),
        ("検索はどうですか", "検索 索は"),
        ("검색을 어떻게 하나요?", "검색"),
        ("Сколько запросов можно отправить?", "запросов отправить"),
    ],
)
def test_a_question_is_searched_for_what_it_is_about(question: str, expected: str) -> None:
    assert " ".join(query_terms(question)) == expected


@pytest.mark.parametrize("question", ["什么", "なぜですか", "어떻게", "почему"])
def test_a_question_of_nothing_but_asking_keeps_its_words(question: str) -> None:
    assert query_terms(question)
