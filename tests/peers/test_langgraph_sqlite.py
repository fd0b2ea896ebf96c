"""The tests of LangGraph's SQLite store, against ours."""

from __future__ import annotations

from tests.peers.loading import loaded

globals().update(
    loaded(
        "langgraph_sqlite_store.py",
        {
            "from langgraph.store.sqlite import SqliteStore": "from tests.peers.langgraph_stores import SqliteStore",
            """from langgraph.store.sqlite.base import (
    NS_MATCH_FUNCTION,
    BaseSqliteStore,
    SqliteIndexConfig,
    _escape_glob_literal,
    _namespace_match_pattern,
)""": "SqliteIndexConfig = dict",
        },
        {
            "test_vector_store_initialization": "looks for tables of its own in the database",
            "test_nonnull_migrations": "its migrations",
            "test_escape_glob_literal": "its SQL",
            "test_namespace_match_pattern": "its SQL",
            "test_list_namespaces_prefix_uses_indexable_condition": "its SQL",
            "test_sql_injection_vulnerability": "refuses keys that its SQL could not hold",
        },
    )
)
