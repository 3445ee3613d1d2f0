"""What is said of a copy of a ledger: a backup that was restored and not told so."""

from __future__ import annotations

from tenure_ledger.errors import StoreUnavailable

__all__ = ["of_a_copy"]


def of_a_copy(name: str) -> StoreUnavailable:
    """Return the fault of who would write to a copy as if it were the ledger."""
    return StoreUnavailable(
        f"{name} is a copy of a ledger, a restored backup or one that was moved: what "
        "it lacks may have given out generations that it would give out again. Nothing "
        "was written; reading goes on. If it is the ledger from now on, run `tenure "
        "restored --ledger URL` (on a server as a role that owns its tables)."
    )
