"""Schemas for tests: made once, emptied and lent again, since making one takes long."""

from __future__ import annotations

import atexit
import os
from collections.abc import Sequence
from functools import cache
from typing import Any

import postgres
from tenure_ledger.rows import LEDGER_TABLES, TableSpec
from tenure_ledger.stores.postgres import PostgresStore

__all__ = ["give_back", "lend"]

_OWN = LEDGER_TABLES | {"_tenure"}
_LEFT = LEDGER_TABLES - {"kept_tables"}
_idle: dict[tuple[str, ...], list[str]] = {}
_lent: dict[str, tuple[tuple[str, ...], str]] = {}
"""By URL: the tables it has beside the ledger's, and what its columns are."""

_COLUMNS = """
SELECT relname::text,
    string_agg(attname || ' ' || atttypid, ',' ORDER BY attnum)
FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid AND attnum > 0
WHERE relnamespace = %s::regnamespace AND relkind = 'r'
GROUP BY relname ORDER BY relname
"""


def lend(tables: Sequence[TableSpec]) -> str:
    """Return the URL of an empty ledger with these tables, set up already."""
    names = tuple(sorted(spec.name for spec in tables))
    idle = _idle.setdefault(names, [])
    if idle:
        return idle.pop()
    url = postgres.new_url()
    store = PostgresStore(f"{url}&durability=normal", tables=tables)
    store.setup()
    store.close()
    _lent[url] = (names, repr(_columns(url)))
    return url


def give_back(url: str) -> None:
    """Empty the schema and keep it; what was changed by hand is dropped."""
    if url not in _lent:
        return
    names, columns = _lent[url]
    found = _columns(url)
    more = [name for name, _ in found if name not in _OWN and name not in names]
    if repr([one for one in found if one[0] not in more]) != columns:
        _database(os.getpid()).execute(f"DROP SCHEMA IF EXISTS {_schema(url)} CASCADE")
        del _lent[url]
        return
    script = ["SET session_replication_role = replica"]
    script += [f"DROP TABLE {_schema(url)}.{name}" for name in more]
    script += [_empty(_schema(url), name) for name in (*_LEFT, *names)]
    script.append(_unmoved(_schema(url)))
    _database(os.getpid()).execute("; ".join(script))
    _idle[names].append(url)


def _columns(url: str) -> list[tuple[Any, ...]]:
    found = _database(os.getpid()).execute(_COLUMNS, (_schema(url),)).fetchall()
    return list(found)


def _schema(url: str) -> str:
    return url.rpartition("schema=")[2]


@cache
def _database(_pid: int) -> Any:  # noqa: ANN401  psycopg's own, for any rows
    import psycopg  # noqa: PLC0415  only where a server is asked for

    database = psycopg.connect(postgres.server().url, autocommit=True)
    atexit.register(database.close)
    return database


def _empty(schema: str, table: str) -> str:
    return f"DELETE FROM {schema}.{table}"  # noqa: S608  names of our own


def _unmoved(schema: str) -> str:
    return f"UPDATE {schema}._tenure SET base = 0"  # noqa: S608  a name of our own
