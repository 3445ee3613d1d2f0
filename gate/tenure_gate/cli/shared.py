"""What the commands share: which ledger, whether there is one, how lines are told."""

from __future__ import annotations

import argparse

from tenure_ledger.errors import InvalidInput
from tenure_ledger.stores import MemoryStore, open_store
from tenure_ledger.values import OwnerRef

__all__ = ["check_there", "ledger_option", "one_line", "owner_name"]


def ledger_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the ledger."""
    parser.add_argument(
        "--ledger", metavar="URL", help="default: the environment's TENURE_URL"
    )


def check_there(url: str | None) -> None:
    """Raise `InvalidInput` rather than make a new ledger where there is none."""
    store = open_store(url)
    try:
        if isinstance(store, MemoryStore) or store.exists():
            return
        raise InvalidInput(f"there is no ledger at {store.path}")
    finally:
        store.close()


def owner_name(owner: OwnerRef) -> str:
    """Return the owner as ``--only`` takes it."""
    return f"{owner.recovery_class}:{owner.owner_id}"


def one_line(text: str) -> str:
    """Return the text; what would move the cursor of a terminal as what it is."""
    return text if text.isprintable() else repr(text)[1:-1]
