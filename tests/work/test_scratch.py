"""Scratch: store, retrieve, search, list, delete by a name."""

from __future__ import annotations

import pytest

import recollect

Mem = recollect.Recollect


def test_what_is_stored_is_retrieved(mem: Mem) -> None:
    mem.store("auth_bug", "token refresh returns inside the eval")
    assert mem.retrieve("auth_bug").text == "token refresh returns inside the eval"
    mem.store("auth_bug", "fixed in the refresh function")
    document = mem.retrieve("auth_bug")
    assert (document.text, document.revision) == ("fixed in the refresh function", 2)


def test_search_finds_values_and_forgets_replaced_and_deleted_ones(mem: Mem) -> None:
    mem.store("one", "the token is refreshed twice")
    mem.store("two", "nothing of interest")
    assert [document.title for document in mem.search("tokens refreshed")] == ["one"]
    mem.store("one", "replaced by other words")
    assert mem.search("token") == ()
    mem.delete("one")
    assert mem.search("replaced") == ()
    assert [document.title for document in mem.scratch()] == ["two"]


def test_a_deleted_name_can_be_used_again(mem: Mem) -> None:
    mem.store("note", "first")
    mem.delete("note")
    with pytest.raises(recollect.NotFound, match="nothing is stored"):
        mem.retrieve("note")
    mem.store("note", "second")
    assert mem.retrieve("note").text == "second"


def test_a_key_makes_storing_idempotent(mem: Mem) -> None:
    mem.store("note", "first", key="k")
    mem.store("note", "second", key="other")
    assert mem.store("note", "first", key="k").text == "second"
    assert mem.retrieve("note").revision == 2


def test_a_key_with_another_content_is_a_conflict(mem: Mem) -> None:
    mem.store("note", "first", key="k")
    with pytest.raises(recollect.Conflict, match="another content"):
        mem.store("note", "second", key="k")
    assert mem.retrieve("note").text == "first"


def test_a_key_that_was_used_elsewhere_is_another_key(mem: Mem) -> None:
    mem.learn("a fact", key="k")
    mem.record("s-1", "hello", key="k")
    assert mem.store("note", "first", key="k").text == "first"
    assert mem.store("other", "second", key="k").text == "second"


def test_a_deleted_text_is_stored_again_with_its_key(mem: Mem) -> None:
    mem.store("note", "first", key="k")
    mem.delete("note")
    assert mem.store("note", "first", key="k").text == "first"


def test_a_name_that_holds_a_secret_is_refused(mem: Mem) -> None:
    with pytest.raises(recollect.Refused, match="REDACTED:aws-key"):
        mem.store("AKIA" + "Q3J5K7M2N4P6R7T2", "text")
    assert mem.scratch() == ()


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "/etc/passwd", "a\x00b", "%2e%2e"])
def test_a_name_is_not_a_path(mem: Mem, name: str) -> None:
    with pytest.raises(recollect.InvalidInput):
        mem.store(name, "text")
    with pytest.raises(recollect.RecollectError):
        mem.retrieve(name)


def test_recall_finds_scratch_too(mem: Mem) -> None:
    mem.store("idea", "use a trie for the router")
    (hit,) = mem.recall("trie router")
    assert hit.address == "memory://scratch/idea"
    document = mem.show(hit.address).document
    assert document is not None
    assert document.text == "use a trie for the router"
