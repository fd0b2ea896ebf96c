"""Scratch: store, retrieve, search, list, delete by a name."""

from __future__ import annotations

import pytest

import recollect

Mem = recollect.Recollect


def test_what_is_stored_is_retrieved(mem: Mem) -> None:
    mem.scratch.store("auth_bug", "token refresh returns inside the eval")
    assert mem.scratch.retrieve("auth_bug").text == "token refresh returns inside the eval"
    mem.scratch.store("auth_bug", "fixed in the refresh function")
    document = mem.scratch.retrieve("auth_bug")
    assert (document.text, document.revision) == ("fixed in the refresh function", 2)


def test_search_finds_values_and_forgets_replaced_and_deleted_ones(mem: Mem) -> None:
    mem.scratch.store("one", "the token is refreshed twice")
    mem.scratch.store("two", "nothing of interest")
    assert [document.title for document in mem.scratch.search("tokens refreshed")] == ["one"]
    mem.scratch.store("one", "replaced by other words")
    assert mem.scratch.search("token") == ()
    mem.scratch.delete("one")
    assert mem.scratch.search("replaced") == ()
    assert [document.title for document in mem.scratch.list()] == ["two"]


def test_a_deleted_name_can_be_used_again(mem: Mem) -> None:
    mem.scratch.store("note", "first")
    mem.scratch.delete("note")
    with pytest.raises(recollect.NotFound, match="nothing is stored"):
        mem.scratch.retrieve("note")
    mem.scratch.store("note", "second")
    assert mem.scratch.retrieve("note").text == "second"


def test_a_key_makes_storing_idempotent(mem: Mem) -> None:
    mem.scratch.store("note", "first", key="k")
    mem.scratch.store("note", "second", key="other")
    assert mem.scratch.store("note", "first", key="k").text == "second"
    assert mem.scratch.retrieve("note").revision == 2


def test_a_key_with_another_content_is_a_conflict(mem: Mem) -> None:
    mem.scratch.store("note", "first", key="k")
    with pytest.raises(recollect.Conflict, match="another content"):
        mem.scratch.store("note", "second", key="k")
    assert mem.scratch.retrieve("note").text == "first"


def test_a_key_that_was_used_elsewhere_is_another_key(mem: Mem) -> None:
    mem.learn("a fact", key="k")
    mem.record("s-1", "hello", key="k")
    assert mem.scratch.store("note", "first", key="k").text == "first"
    assert mem.scratch.store("other", "second", key="k").text == "second"


def test_a_deleted_text_is_stored_again_with_its_key(mem: Mem) -> None:
    mem.scratch.store("note", "first", key="k")
    mem.scratch.delete("note")
    assert mem.scratch.store("note", "first", key="k").text == "first"


def test_a_name_that_holds_a_secret_is_refused(mem: Mem) -> None:
    with pytest.raises(recollect.Refused, match="REDACTED:aws-key"):
        mem.scratch.store("AKIA" + "Q3J5K7M2N4P6R7T2", "text")
    assert mem.scratch.list() == ()


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "/etc/passwd", "a\x00b", "%2e%2e"])
def test_a_name_is_not_a_path(mem: Mem, name: str) -> None:
    with pytest.raises(recollect.InvalidInput):
        mem.scratch.store(name, "text")
    with pytest.raises(recollect.RecollectError):
        mem.scratch.retrieve(name)


def test_recall_finds_scratch_too(mem: Mem) -> None:
    mem.scratch.store("idea", "use a trie for the router")
    (hit,) = mem.recall("trie router")
    assert hit.address == "memory://scratch/idea"
    document = mem.show(hit.address).document
    assert document is not None
    assert document.text == "use a trie for the router"
