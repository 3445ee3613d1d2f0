"""Stores: where a ledger lives, chosen by a URL."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote

from tenure_ledger.errors import InvalidInput, StoreUnavailable
from tenure_ledger.rows import Fill, TableSpec
from tenure_ledger.stores.memory import MemoryStore
from tenure_ledger.stores.sqlite import SQLiteStore
from tenure_ledger.stores.sqlite_connect import Durability

if TYPE_CHECKING:
    from tenure_ledger.stores.postgres import PostgresStore

__all__ = ["MemoryStore", "SQLiteStore", "open_store"]

_FORMS = (
    "sqlite:///relative.db, sqlite:////absolute/path.db (with ?durability=normal to "
    "trade the last commits before a power cut for speed), "
    "postgresql://user@host/database, or memory://"
)


def open_store(
    url: str | None, tables: Sequence[TableSpec] = (), fill: Fill | None = None
) -> MemoryStore | SQLiteStore | PostgresStore:
    """Return the store that ``url`` names; no file is touched before its first use.

    None means the environment variable ``TENURE_URL``. In a path, ``%3F`` and the like
    stand for the characters that a URL cannot hold. ``memory://`` is a new, empty
    ledger each time. ``fill`` gives the rows of ``tables`` that are new in a ledger
    that has events. Raises InvalidInput, and StoreUnavailable for a relative path
    where the working folder is gone.
    """
    if url is None:
        url = os.environ.get("TENURE_URL")
        if not url:
            raise InvalidInput(
                "No URL (in a shell: --ledger URL), and TENURE_URL is not set: give "
                f"{_FORMS}."
            )
    if not isinstance(url, str):
        kind = type(url).__name__
        raise InvalidInput(f"The URL must be text, not {kind}: give {_FORMS}.")
    scheme, separator, rest = url.partition("://")
    place, _, query = rest.partition("?")
    if not separator:
        shown = "What was given" if "@" in url or "password" in url else f"{url!r:.200}"
        raise InvalidInput(f"{shown} is not a URL: give {_FORMS}.")
    if scheme == "sqlite":
        path, durability = _path(url, place), _durability(query)
        try:
            return SQLiteStore(path, durability=durability, tables=tables, fill=fill)
        except OSError as error:
            raise StoreUnavailable(
                f"{path} is relative, and the folder that this process runs in is gone "
                f"({error}): give an absolute path, sqlite:////absolute/path.db."
            ) from error
    if scheme == "memory":
        if rest:
            raise InvalidInput("memory:// takes no name and no options.")
        return MemoryStore(tables=tables)
    if scheme in ("postgresql", "postgres"):
        return _postgres(url, tables, fill)
    raise InvalidInput(f"There is no store for {scheme}://: give {_FORMS}.")


def _postgres(
    url: str, tables: Sequence[TableSpec], fill: Fill | None
) -> PostgresStore:
    try:
        # Only who keeps a ledger there needs the driver.
        from tenure_ledger.stores.postgres import (  # noqa: PLC0415
            PostgresStore,
        )
    except ImportError as error:
        raise InvalidInput(
            f"PostgreSQL needs its driver ({error}): pip install 'tenure[postgres]'."
        ) from error
    return PostgresStore(url, tables=tables, fill=fill)


def _path(url: str, place: str) -> str:
    # As Python names files: bytes that are no UTF-8 become lone surrogates.
    path = unquote(place[1:], errors="surrogateescape")
    if not place.startswith("/") or path in ("", "/") or "\0" in path:
        raise InvalidInput(f"{url!r} names no file: give {_FORMS}.")
    if ":memory:" in path:
        raise InvalidInput("A ledger in memory is memory://.")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise InvalidInput(
            f"{url!r:.200} holds half a surrogate pair, which no file's name can hold: "
            "decode it before."
        ) from None
    return path


def _durability(query: str) -> Durability:
    options = dict(parse_qsl(query, keep_blank_values=True))
    durability = options.pop("durability", "full")
    if not options:
        if durability == "full":
            return "full"
        if durability == "normal":
            return "normal"
    raise InvalidInput(
        f"Unknown options {query!r}: a SQLite URL takes durability=full or "
        "durability=normal."
    )
