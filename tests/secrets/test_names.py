"""Names that hold a secret, and names that only look like it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents.registry import make_session_id
from recollect.errors import Refused
from recollect.secrets.redaction import check_name, check_path, holds_secret, redact_name
from tests.builders.secret_samples import HEX, TOKENS, fake, uuid

AMBIGUOUS = ("mailgun", "openai-legacy")
"""Behind a letter these are `monkey-…` and `task-…`."""


@pytest.mark.parametrize("kind", TOKENS)
@pytest.mark.parametrize("front", ["", "x-", "x_", "x.", "x:", "claude-code."])
def test_a_token_in_a_name_is_found(kind: str, front: str) -> None:
    assert holds_secret(front + TOKENS[kind])


@pytest.mark.parametrize("kind", [kind for kind in TOKENS if kind not in AMBIGUOUS])
@pytest.mark.parametrize("front", ["k", "9", "notes"])
def test_a_token_is_found_behind_letters_too(kind: str, front: str) -> None:
    assert holds_secret(front + TOKENS[kind])
    assert TOKENS[kind] not in make_session_id("codex", front + TOKENS[kind])


@pytest.mark.parametrize(
    "name",
    [
        "",
        "s-1",
        uuid(),
        f"claude-code.{uuid()}",
        f"task-{fake(HEX, 40)}",
        f"latest_{fake(HEX, 32)}",
        f"cachekey-{fake(HEX, 32)}",
        f"myapi-{uuid()}",
        f"v1-{fake(HEX, 64)}",
        f"store_session_{fake(HEX, 24)}",
        f"ses_{fake(HEX, 26)}",
        "webhooks",
        "user-preferences-for-the-theme",
        "Überprüfung:der.Anmeldung",
    ],
)
def test_an_ordinary_name_stays_as_it_is(name: str) -> None:
    assert check_name(name, "name") == redact_name(name) == name


def test_parts_of_an_address_are_looked_at_one_by_one() -> None:
    address = "memory://task/webhooks/reports/implementation-of-0auth2.md"
    assert check_path(address) == address
    with pytest.raises(Refused, match="holds a secret"):
        check_path(f"memory://task/x/{TOKENS['gitlab']}.md")


def test_a_refusal_does_not_repeat_the_secret() -> None:
    for front in ("", "x"):
        with pytest.raises(Refused, match="this key holds a secret") as refusal:
            check_name(front + TOKENS["github-classic"], "key")
        assert TOKENS["github-classic"] not in str(refusal.value)


@given(st.text(max_size=300), st.text(max_size=300))
def test_names_of_sessions_are_safe_and_tell_sessions_apart(one: str, other: str) -> None:
    first, second = make_session_id("codex", one), make_session_id("codex", other)
    assert not holds_secret(first)
    assert (first == second) == (one == other)
