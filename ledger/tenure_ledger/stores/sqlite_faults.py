"""What SQLite's result codes mean for a ledger, said once.

Codes decide, never the text of a message. Whether anything was written is known in
every case but one: an input or output error while COMMIT runs (see `at_commit`).
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from tenure_ledger.errors import (
    Contended,
    Corrupt,
    Fault,
    InvalidInput,
    Refused,
    StoreFull,
    StoreUnavailable,
)
from tenure_ledger.rows import Doubtful
from tenure_ledger.stores.known_tables import REMEDY

__all__ = [
    "at_commit",
    "contended",
    "exists",
    "is_busy",
    "is_code",
    "moved",
    "translate",
]

_PATH_BYTES_MAX = 500
"""SQLite takes 512 with what it adds for its own files beside the ledger's."""
_NAME_BYTES_MAX = 240
"""Most file systems take 255, again with what SQLite adds."""

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)


def translate(error: sqlite3.Error, path: str) -> Fault | Refused:
    """Return what the caller is told; nothing of this unit was written."""
    code = _primary(error)
    if code in _BUSY:
        return contended(path)
    if code is None:
        return StoreUnavailable(
            f"SQLite refused a call on {path} ({error}); nothing was written. If the "
            "store was closed, open another."
        )
    if code == sqlite3.SQLITE_READONLY:
        return _read_only(error, path)
    if code == sqlite3.SQLITE_CANTOPEN or _is_folder(path):
        shown = path if len(path) <= 2 * _PATH_BYTES_MAX else f"{path[:99]}..."
        return StoreUnavailable(f"Cannot open {shown}: {_why_not(path)}")
    if code == sqlite3.SQLITE_FULL or is_code(error, "SQLITE_IOERR_SHMSIZE"):
        return StoreFull(
            f"No room left for {path}; nothing was written. Free some space and call "
            "again."
        )
    if code == sqlite3.SQLITE_NOTADB:
        return Corrupt(
            f"{path} is not a SQLite database, or its first page is damaged: give "
            "another path, or restore a backup."
        )
    if code == sqlite3.SQLITE_ERROR:
        return Corrupt(
            f"A table of {path} is not as it was made ({error}); nothing was written. "
            f"{REMEDY}"
        )
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FORMAT):
        return Corrupt(
            f"{path} is damaged, or another program changed its tables ({error}): "
            "nothing was written. Restore a backup and compare it with a kept head."
        )
    if code == sqlite3.SQLITE_TOOBIG:
        return InvalidInput(f"A value is larger than SQLite can store ({error}).")
    return StoreUnavailable(
        f"SQLite failed on {path} ({_name(error)}: {error}); nothing was written. "
        "Check the disk, then call again."
    )


def at_commit(error: sqlite3.Error, path: str) -> Fault | Refused | Doubtful:
    """Return what a failed COMMIT means.

    After an input or output error the frame that commits may lie on the disk, and the
    next process that recovers the log would take it for committed.
    """
    if _primary(error) == sqlite3.SQLITE_IOERR:
        return Doubtful(f"COMMIT on {path} failed ({_name(error)}: {error}).")
    return translate(error, path)


def contended(path: str) -> Contended:
    """Return the fault of a writer whose turn did not come in time."""
    return Contended(
        f"Other writers held {path} until the deadline; nothing was written. Call "
        "again, or look for a process that keeps a transaction open."
    )


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether waiting may help."""
    return _primary(error) in _BUSY


def is_code(error: sqlite3.Error, *names: str) -> bool:
    """Return whether the error has one of these extended result codes."""
    return _name(error) in names


def exists(path: str) -> bool:
    """Say whether there is such a file; a path that cannot be looked at has none."""
    # Path.exists raises OSError for a name that is too long, or a closed folder.
    return os.path.exists(path)  # noqa: PTH110  see above


def _is_folder(path: str) -> bool:
    return os.path.isdir(path)  # noqa: PTH112  as in `exists`


def _primary(error: sqlite3.Error) -> int | None:
    # Errors that the module raises itself (a closed connection) carry no code.
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _name(error: sqlite3.Error) -> str:
    name: str = getattr(error, "sqlite_errorname", type(error).__name__)
    return name


def _read_only(error: sqlite3.Error, path: str) -> StoreUnavailable:
    if is_code(error, "SQLITE_READONLY_DBMOVED"):
        return moved(path)
    return StoreUnavailable(
        f"{path} is read-only for this process; nothing was written. Writing needs "
        "permission on the file and on its folder."
    )


def moved(path: str) -> StoreUnavailable:
    """Return the fault of a file that was moved or replaced while it was open."""
    return StoreUnavailable(
        f"{path} was moved, deleted or replaced while it was open; nothing was "
        "written. Stop every process that uses it, put the right file in place, then "
        "open the ledger again."
    )


def _why_not(path: str) -> str:
    folder = Path(path).parent
    if _is_folder(path):
        return "it is a folder. Give the path of a file."
    longest = max(len(os.fsencode(part)) for part in Path(path).parts)
    if len(os.fsencode(path)) > _PATH_BYTES_MAX or longest > _NAME_BYTES_MAX:
        return (
            f"it is too long. Give a path of at most {_PATH_BYTES_MAX} bytes, each "
            f"name in it of at most {_NAME_BYTES_MAX}."
        )
    if not _is_folder(str(folder)):
        return f"there is no folder {folder}. Make it first."
    return f"this process needs permission on the file and on its folder {folder}."
