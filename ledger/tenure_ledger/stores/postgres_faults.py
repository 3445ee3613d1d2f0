"""What PostgreSQL's error codes mean for a ledger, said once.

Codes decide, never the text of a message. Whether anything was written is known in
every case but one: the connection was lost after the whole transaction was sent.
"""

from __future__ import annotations

from tenure_ledger.errors import (
    Contended,
    Corrupt,
    Fault,
    InvalidInput,
    Refused,
    SchemaMissing,
    StoreFull,
    StoreUnavailable,
)
from tenure_ledger.rows import Conflict, Doubtful, Interrupted, RowRefused
from tenure_ledger.stores.postgres_columns import ALTERED
from tenure_ledger.stores.postgres_wire import ConnectionLost, Replaced, ServerError

__all__ = [
    "MOVED",
    "at_write",
    "model_missing",
    "not_granted",
    "replaced",
    "schema_missing",
    "translate",
    "unreachable",
]

MOVED = "TN001"
"""Raised by our function `moved`: a stream is not at the version that was seen."""

_CONFLICTS = frozenset({MOVED, "40001", "40P01"})
_UNIQUE = "23505"
_LEDGER_OWN = frozenset({"stored_events", "commands", "payloads"})
_MISSING = frozenset({"42P01", "42703", "42883", "3F000"})
_ALTERED = frozenset({"42P10", "42804", "42809", "428C9", "2BP01"})
"""No such key, another type, no table, a value that only the server makes, and what
something else hangs on."""
_DEPENDED_ON = "2BP01"
_TOO_LARGE = frozenset({"54000", "22026", "22001"})


def translate(error: ServerError | ConnectionLost, name: str) -> Fault | Refused:
    """Return what the caller is told; nothing of this transaction was written."""
    if isinstance(error, ConnectionLost):
        return unreachable(error, name)
    if isinstance(error, Replaced):
        return replaced(name)
    code, kind = error.code, error.code[:2]
    if code == "55P03":
        return Contended(
            f"Other writers held rows of {name} until the deadline; nothing was "
            "written. Call again, or look for a transaction that is kept open."
        )
    if code in _MISSING or code in _ALTERED:
        return _not_as_made(error, name)
    if code == "53100":
        return StoreFull(
            f"The server of {name} has no room left; nothing was written. Free some "
            "space and call again."
        )
    if code == "42501":
        return not_granted(name, str(error))
    if code == "25006":
        return StoreUnavailable(
            f"{name} only reads ({error}); nothing was written. Name the primary, and "
            "a role that may write (its default_transaction_read_only is off)."
        )
    if kind == "22" or code in _TOO_LARGE:
        return InvalidInput(f"PostgreSQL cannot store a value ({error}).")
    if kind == "XX":
        return Corrupt(
            f"The server found damage in {name} ({error}); nothing was written. "
            "Restore a backup."
        )
    return StoreUnavailable(
        f"The server refused a statement on {name} ({code}: {error}); nothing was "
        "written."
    )


def at_write(
    error: ServerError | ConnectionLost, name: str, *, committing: bool
) -> Exception:
    """Return what a failed transaction means to its unit.

    ``committing``: its commit was sent with it.
    """
    if isinstance(error, ConnectionLost) or error.fatal:
        if committing:
            return Doubtful(f"The connection to {name} was lost in a commit ({error}).")
        return Interrupted(str(unreachable(error, name)))
    if error.code in _CONFLICTS:
        return Conflict(f"Somebody else wrote to {name} first ({error}).")
    if error.code[:2] == "23":
        if error.table not in _LEDGER_OWN:
            return _row_refused(error, name)
        if error.code == _UNIQUE:
            return Conflict(f"Somebody else wrote to {name} first ({error}).")
    return translate(error, name)


def unreachable(error: Exception, name: str) -> StoreUnavailable:
    """Return the fault of a server that does not answer."""
    return StoreUnavailable(
        f"No answer from {name} ({error}); nothing was written. See that the server "
        "runs, and lets this role in from here (database, password, sslmode), then "
        "call again."
    )


def replaced(name: str) -> StoreUnavailable:
    """Return the fault of a ledger that is not the one that was opened."""
    return StoreUnavailable(
        f"{name} was dropped or replaced while it was open, by a copy or by another "
        "ledger; nothing was written. See that it is the right one, and open the "
        "ledger again."
    )


def not_granted(name: str, why: str) -> StoreUnavailable:
    """Return the fault of a role that lacks a right."""
    return StoreUnavailable(
        f"The role may not do this in {name} ({why}); nothing was written. "
        "`tenure migrate --print-sql` ends with the grants that a writer needs."
    )


def schema_missing(name: str, why: str) -> SchemaMissing:
    """Return the fault of tables that are not there and cannot be made here."""
    return SchemaMissing(
        f"{name} lacks tables of the ledger ({why}); nothing was written. As a role "
        "that may create them, in a schema that is there and its own or in a database "
        "where it may make one, run `tenure migrate --ledger URL`; or have `tenure "
        "migrate --ledger URL --print-sql` run by whoever may."
    )


def model_missing(name: str, why: str) -> SchemaMissing:
    """Return the fault of a read model's tables that cannot be made here."""
    return SchemaMissing(
        f"{name} lacks tables of a read model ({why}); nothing was written. As a role "
        "that may create them follow the model once, by `ledger.follower(model)."
        "run_once()`, and grant SELECT, INSERT, UPDATE and DELETE on them, on "
        "followers and on parked_streams to this role."
    )


def _not_as_made(error: ServerError, name: str) -> Fault:
    if error.code in _MISSING:
        return schema_missing(name, str(error))
    if error.code == _DEPENDED_ON:
        return StoreUnavailable(
            f"A table of {name} is to be made anew, and something of yours hangs on it "
            f"({error}); nothing was written. Drop that (a view?), and make it again."
        )
    return Corrupt(ALTERED.format(f"{name}: {error}"))


def _row_refused(error: ServerError, name: str) -> RowRefused:
    return RowRefused(
        f"A table of {name} refused a row ({error}); nothing was written. The "
        "table does not agree with the ledger: make it anew with `tenure rebuild`."
    )
