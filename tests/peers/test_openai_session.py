"""The tests of the OpenAI Agents SDK's SQLite session, against ours."""

from __future__ import annotations

import pytest

from tests.peers.loading import loaded

pytestmark = pytest.mark.anyio
INSIDE = "looks at the tables, locks and connections of its own database"

globals().update(
    loaded(
        "openai_agents_session.py",
        {
            "SessionSettings, SQLiteSession, TResponseInputItem": "SessionSettings, TResponseInputItem\nfrom tests.peers.openai_sessions import SQLiteSession",
            "from tests.test_responses import": "from tests.peers.openai_sessions import",
            "@pytest.mark.asyncio\n": "",
        },
        {
            "test_await_mutation_cancellation_hides_later_failure_without_loop_error": "a helper of its own",
            "test_sqlite_session_close_closes_worker_thread_connections": INSIDE,
            "test_sqlite_session_closed_rejects_empty_add_items": INSIDE,
            "test_sqlite_session_pop_item_skips_corrupt_most_recent": INSIDE,
            "test_sqlite_session_pop_item_returns_none_after_dropping_only_corrupt_rows": INSIDE,
            "test_sqlite_session_get_items_limit_skips_corrupt_newest_rows": INSIDE,
            "test_sqlite_session_get_items_session_settings_limit_skips_corrupt_rows": INSIDE,
            "test_sqlite_session_file_lock_is_shared_across_instances": INSIDE,
            "test_sqlite_session_failed_add_items_releases_write_lock": INSIDE,
            "test_sqlite_session_failed_clear_session_rolls_back": INSIDE,
            "test_sqlite_session_failed_pop_item_releases_write_lock": INSIDE,
            "test_sqlite_session_rollback_failure_evicts_connection": INSIDE,
            "test_sqlite_session_close_retries_quarantined_connection": INSIDE,
            "test_sqlite_session_post_commit_cancellation_propagates_after_known_outcome": INSIDE,
        },
    )
)
