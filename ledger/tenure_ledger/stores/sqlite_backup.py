"""Copy a ledger's file while others write, as a file that knows it is a copy."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from tenure_ledger.errors import InvalidInput, StoreUnavailable
from tenure_ledger.stores.sqlite_connect import Place, connect
from tenure_ledger.stores.sqlite_faults import translate
from tenure_ledger.stores.sqlite_schema import COPY_ID

__all__ = ["back_up"]


def back_up(place: Place, to: Path) -> None:
    """Write the copy and flush it to the disk; it has its name when it is whole.

    Raises InvalidInput where something has that name, and the faults of a store.
    """
    try:
        if to.exists():
            raise InvalidInput(f"{to} is there already: give a copy a name of its own.")
        begun = to.with_name(f"{to.name}.{os.getpid()}.part")
        try:
            _copy(place, begun)
            # A link, unlike a rename, takes nobody's place.
            os.link(begun, to)
            _flush(to.parent)
        finally:
            begun.unlink(missing_ok=True)
    except sqlite3.Error as error:
        raise translate(error, place.path) from error
    except OSError as error:
        raise StoreUnavailable(f"{to} cannot be written: {error}") from error


def _copy(place: Place, begun: Path) -> None:
    # SQLite says of a folder that is not there that the ledger cannot be opened.
    begun.touch(0o644, exist_ok=False)
    with closing(connect(place, "inspect")) as db:
        # One read transaction: what is committed meanwhile is not in it.
        db.execute("VACUUM INTO ?", (str(begun),))
    with closing(sqlite3.connect(begun, isolation_level=None)) as db:
        db.execute(f"PRAGMA application_id = {COPY_ID}")
    _flush(begun)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
