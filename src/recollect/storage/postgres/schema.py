"""The schema on PostgreSQL: migrations, row-level security, pgvector, and the server's health.

Policies stand here and not in the migrations: they are made again after each upgrade, so that a
table that a later migration adds is never without them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...errors import StoreError
from ...text import seals
from .. import migrations
from ..database import EngineHealth, Row, Tx
from . import sql
from .pool import MIGRATION_LOCK, limited_wait, load_driver
from .statements import READ_SCHEMA, SCHEMA, SIGNED

if TYPE_CHECKING:
    import psycopg

MEMBER_GROUP = "recollect_member"
"""The role that is granted to each person's role."""

# The index of 150,000 vectors is built in so much memory; a larger one takes many times as long.
# Parallel workers would need it as shared memory, of which a container has 64 MB by default.
_BUILD_IN_MEMORY = """
SELECT set_config('max_parallel_maintenance_workers', '0', true),
  set_config('maintenance_work_mem', greatest(262144, setting::bigint)::text || 'kB', true)
FROM pg_settings WHERE name = 'maintenance_work_mem'
"""

# The array is computed once for a statement, and comparing texts is leakproof: indexes are used.
_READABLE = "= ANY (ARRAY(SELECT m.space FROM recollect.memberships m))"
_WRITABLE = "= ANY (ARRAY(SELECT m.space FROM recollect.memberships m WHERE m.writes))"

_SECURE = f"""
DO $do$
DECLARE name TEXT; held RECORD; columns TEXT;
BEGIN
  FOR name IN
    SELECT c.relname FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'space' AND NOT a.attisdropped
    WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind IN ('r', 'p')
      AND c.relname <> 'members'
  LOOP
    FOR held IN SELECT p.polname FROM pg_policy p
      WHERE p.polrelid = ('recollect.' || name)::regclass
    LOOP
      EXECUTE format('DROP POLICY %I ON recollect.%I', held.polname, name);
    END LOOP;
    EXECUTE format('ALTER TABLE recollect.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE recollect.%I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY reads ON recollect.%I FOR SELECT USING (space {_READABLE})',
      name);
    EXECUTE format('CREATE POLICY adds ON recollect.%I FOR INSERT WITH CHECK (space {_WRITABLE})',
      name);
    EXECUTE format('CREATE POLICY changes ON recollect.%I FOR UPDATE USING (space {_WRITABLE}) '
      'WITH CHECK (space {_WRITABLE})', name);
    EXECUTE format('CREATE POLICY removes ON recollect.%I FOR DELETE USING (space {_WRITABLE})',
      name);
  END LOOP;
  FOR held IN SELECT p.polname FROM pg_policy p WHERE p.polrelid = 'recollect.spaces'::regclass LOOP
    EXECUTE format('DROP POLICY %I ON recollect.spaces', held.polname);
  END LOOP;
  -- The owner of the tables makes shared spaces; a member only private ones, whose ids are
  -- random: that an id is taken tells nothing of another team's.
  ALTER TABLE recollect.spaces NO FORCE ROW LEVEL SECURITY;
  ALTER TABLE recollect.members ENABLE ROW LEVEL SECURITY;
  -- A function of a member in a condition must not see the rows of others first. PostgreSQL 18 does
  -- not keep the barrier around UNION ALL.
  CREATE OR REPLACE VIEW recollect.memberships WITH (security_barrier = true) AS
    SELECT space, writes FROM recollect.members WHERE role = current_user::text
    UNION SELECT id, true FROM recollect.spaces WHERE owner = current_user::text;
  -- The planner's samples are of all teams, and a member can derive them from the estimates of
  -- EXPLAIN. Of texts, only random ids, hashes and words of Recollect's own are sampled: without, a
  -- filter or a list of 100 ids reads all rows. Earlier samples are deleted, by a function of
  -- PostgreSQL 18.
  FOR held IN
    SELECT c.relname, a.attname, c.relkind = 'p' AS parted, wanted.sampled
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid,
    LATERAL (SELECT a.attname IN ('space', 'kind', 'status', 'layer', 'label', 'type', 'relation',
        'id', 'root', 'memory', 'target') AND (c.relname, a.attname) <> ('sessions', 'id')
      OR (c.relname, a.attname) IN (('entries', 'source'), ('facets', 'name'),
        ('links', 'source'), ('messages', 'key'))
      AS sampled) wanted
    WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0
      AND NOT a.attisdropped AND format_type(a.atttypid, NULL) IN ('text', 'bytea', 'vector')
      AND (a.attstattarget IS NOT DISTINCT FROM 0) = wanted.sampled
  LOOP
    EXECUTE format('ALTER TABLE recollect.%I ALTER COLUMN %I SET STATISTICS %s', held.relname,
      held.attname, CASE WHEN held.sampled THEN -1 ELSE 0 END);
    IF NOT held.sampled AND to_regproc('pg_clear_attribute_stats') IS NOT NULL THEN
      EXECUTE 'SELECT pg_clear_attribute_stats(''recollect'', $1, $2, $3)'
        USING held.relname::text, held.attname::text, held.parted;
    END IF;
  END LOOP;
  -- Names of sessions, keys of writes, and commands and paths that were shown tell too much. The
  -- planner is told only how many there are, by a function of PostgreSQL 18; earlier versions read
  -- the space for a list of 100, and 15 does so with samples, too.
  IF to_regproc('pg_restore_attribute_stats') IS NOT NULL THEN
    FOR held IN VALUES ('sessions', 'id', -1), ('writes', 'key', -1), ('injections', 'ref', -0.1)
    LOOP
      PERFORM pg_restore_attribute_stats('schemaname', 'recollect', 'relname', held.column1,
        'attname', held.column2, 'inherited', false, 'null_frac', 0::real, 'avg_width', 24,
        'n_distinct', held.column3::real);
    END LOOP;
  END IF;
  CREATE POLICY reads ON recollect.spaces FOR SELECT USING (id {_READABLE});
  CREATE POLICY adds ON recollect.spaces FOR INSERT WITH CHECK (
    owner = current_user::text AND name = '' AND id ~ '^(project|user)-[0-9a-z]{{12}}$');
  CREATE SCHEMA IF NOT EXISTS {READ_SCHEMA};
  FOREACH name IN ARRAY ARRAY{list(SIGNED)!r} LOOP
    SELECT string_agg(CASE a.attname WHEN 'label' THEN
      'CASE WHEN label = ''user'' AND author <> current_user::text THEN ''teammate'' '
      'ELSE label END AS label' WHEN 'author' THEN
      'CASE WHEN author = current_user::text THEN '''' ELSE author END AS author'
      WHEN 'seal' THEN format('CASE WHEN seal = recollect.seal_of(%I) THEN NULL '
      'ELSE ''altered'' END AS seal', name)
      ELSE quote_ident(a.attname) END, ', ' ORDER BY a.attnum)
    INTO columns
    FROM pg_attribute a WHERE a.attrelid = ('recollect.' || name)::regclass
      AND a.attnum > 0 AND NOT a.attisdropped;
    EXECUTE format('DROP VIEW IF EXISTS {READ_SCHEMA}.%I', name);
    EXECUTE format('CREATE VIEW {READ_SCHEMA}.%I WITH (security_invoker = true) AS '
      'SELECT %s FROM recollect.%I', name, columns, name);
  END LOOP;
  IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '{MEMBER_GROUP}') THEN
    GRANT USAGE ON SCHEMA recollect, {READ_SCHEMA} TO {MEMBER_GROUP};
    FOR name IN
      SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'recollect'::regnamespace
        AND c.relkind IN ('r', 'p') AND NOT c.relispartition
        AND c.relname NOT IN ('members', 'migrations', 'spaces')
    LOOP
      EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.%I TO {MEMBER_GROUP}',
        name);
    END LOOP;
    GRANT SELECT, INSERT ON recollect.spaces TO {MEMBER_GROUP};
    GRANT SELECT ON recollect.migrations, recollect.memberships TO {MEMBER_GROUP};
    -- UPDATE is what SELECT … FOR UPDATE asks for; the policies of the tables bind views too.
    GRANT SELECT, UPDATE ON ALL TABLES IN SCHEMA {READ_SCHEMA} TO {MEMBER_GROUP};
    GRANT USAGE ON ALL SEQUENCES IN SCHEMA recollect TO {MEMBER_GROUP};
  END IF;
END $do$
"""


def read_version(connection: psycopg.Connection[Row]) -> int:
    """Return the number of migrations that were run; 0 without tables."""
    found = connection.execute("SELECT to_regclass('recollect.migrations') IS NOT NULL").fetchone()
    return _version(connection) if found and found[0] else 0


def _version(connection: psycopg.Connection[Row]) -> int:
    row = connection.execute(
        "SELECT coalesce(max(version), 0) FROM recollect.migrations"
    ).fetchone()
    return int(row[0]) if row else 0


def run_migrations(connection: psycopg.Connection[Row], wait: float, place: str) -> int:
    """Run all pending files in one transaction; a second process finds them done."""
    with limited_wait(connection, wait, place):
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        connection.execute(f"SET LOCAL search_path TO {SCHEMA}, public")
        connection.execute(_BUILD_IN_MEMORY)
        connection.execute(
            "CREATE TABLE IF NOT EXISTS migrations "
            "(version BIGINT PRIMARY KEY, name TEXT NOT NULL, at BIGINT NOT NULL)"
        )
        version = _version(connection)
        for number, script in enumerate(
            migrations.pending_scripts(version, "postgres"), start=version + 1
        ):
            connection.execute(script)
            connection.execute(
                "INSERT INTO migrations (version, name, at) VALUES (%s, %s, %s)",
                (number, migrations.MIGRATIONS[number - 1], time.time_ns() // 1000),
            )
        connection.execute(sql.USE_PGVECTOR)
        if uses_pgvector(connection):
            connection.execute(sql.NEAREST_INDEX.format(dims=sql.DIMS))
        connection.execute(_SECURE)
        return max(version, migrations.LATEST)


def upgrade(
    connection: psycopg.Connection[Row],
    version: int,
    wait: float,
    place: str,
    report: Callable[[int], object],
) -> None:
    """Make the tables, or upgrade those of an earlier version, which is reported; raise StoreError
    for a role that may not."""
    if version:
        report(0)
    try:
        run_migrations(connection, wait, place)
    except load_driver().errors.InsufficientPrivilege as error:
        raise StoreError(
            f"the tables are of an earlier version (schema {version}), which this role may not "
            "change"
            if version
            else "there are no tables yet, and this role may not make them",
            where=place,
            hint="run `recollect server setup --apply` once as the role that owns them",
        ) from error
    if version:
        report(1)


def vacuum(connection: psycopg.Connection[Row]) -> bool:
    """Free the space of deleted rows, and let the planner's statistics, which hold samples of
    texts, be collected again; return False if this role does not own the tables."""
    tables = connection.execute(
        "SELECT string_agg(oid::regclass::text, ', ') FROM pg_class "
        "WHERE relnamespace = 'recollect'::regnamespace AND relkind IN ('r', 'p') "
        "AND NOT relispartition AND pg_has_role(relowner, 'USAGE')"
    ).fetchone()
    if not tables or not tables[0]:
        return False
    connection.execute(f"VACUUM (ANALYZE) {tables[0]}")
    return True


def uses_pgvector(connection: psycopg.Connection[Row]) -> bool:
    """Check whether the tables use pgvector, and this connection finds its type."""
    row = connection.execute(
        "SELECT count(*) FROM pg_attribute WHERE attrelid = 'recollect.vectors'::regclass "
        "AND attname = 'direction' AND atttypid = to_regtype('vector')"
    ).fetchone()
    return bool(row and row[0])


_REPAIR = "take them from a backup of the server"


def _find_altered(tx: Tx) -> list[str]:
    """Return a sentence for each table with rows of this space that were changed from outside."""
    found: list[str] = []
    for table in seals.COLUMNS:
        key = "address" if table == "documents" else "id"
        rows = tx.run(f"SELECT {key} FROM {table} WHERE space = :space AND {tx.altered(table)}")
        found += seals.describe_altered(table, [row[0] for row in rows], _REPAIR)
    rows = tx.run(
        "SELECT session || '/messages/' || seq FROM messages WHERE space = :space "
        "AND digest <> encode(sha256(convert_to(body, 'UTF8')), 'hex') "
        """AND body <> '{"role":"' || role || '","content":"[forgotten]"}'"""
    )
    return found + seals.describe_altered("messages", [row[0] for row in rows], _REPAIR)


def read_health(tx: Tx, place: str, deep: bool) -> EngineHealth:
    """Return the state of a server, and what could lose writes or widen rights; with `deep`, rows
    of this space that were changed from outside."""
    problems = []
    for name in ("fsync", "full_page_writes", "synchronous_commit"):
        row = tx.one("SELECT current_setting(:name)", {"name": name})
        if not row or row[0] not in ("on", "remote_apply", "remote_write"):
            problems.append(f"{name} is {row[0] if row else '?'}: a crash can lose writes")
    pgvector = tx.one(
        "SELECT extnamespace::regnamespace::text, to_regtype('vector') IS NOT NULL, "
        "quote_ident(current_database()) FROM pg_extension WHERE extname = 'vector'"
    )
    if pgvector and not pgvector[1]:
        problems.append(
            f"pgvector lies in the schema {pgvector[0]}, which is not searched: an administrator "
            f'should run `ALTER DATABASE {pgvector[2]} SET search_path TO "$user", public, '
            f"{pgvector[0]}`"
        )
    elif pgvector and not tx.finds_nearest:
        problems.append(
            "pgvector came after the tables: the role that owns them should run "
            "`recollect rebuild --missing`"
        )
    compiles = tx.one(
        "SELECT quote_ident(current_database()) WHERE current_setting('jit')::boolean "
        "AND pg_jit_available()"
    )
    if compiles:
        problems.append(
            "the server compiles statements, which takes seconds, and a pooler hides that "
            "Recollect does without: an administrator should run "
            f"`ALTER DATABASE {compiles[0]} SET jit TO off`"
        )
    if tx.one("SELECT 1 WHERE has_schema_privilege('public', 'public', 'CREATE')"):
        problems.append(
            "every role may create functions in the schema public, which could run in another "
            "person's statement: an administrator should run "
            "`REVOKE CREATE ON SCHEMA public FROM PUBLIC`"
        )
    role = tx.one("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user")
    if role and role[0]:
        problems.append(
            "connected as a role that row-level security does not bind: use a plain role"
        )
    if deep:
        problems += _find_altered(tx)
    version = tx.one("SELECT current_setting('server_version')") or ("?",)
    size = tx.one("SELECT pg_database_size(current_database())") or (0,)
    return EngineHealth(
        engine="postgres",
        version=str(version[0]),
        place=place,
        durability="write-ahead log, synchronous_commit=on",
        size=int(size[0]),
        problems=tuple(problems),
    )
