"""For tests of what a user may not do, also where they run as root."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

__all__ = ["NOBODY", "as_nobody", "without_privileges"]

NOBODY = 65534

# Python may lie where only its owner reads: what is imported late is imported now.
importlib.metadata.version("tenure")


def as_nobody() -> dict[str, Any]:
    """Return how to start a program that refuses root, as PostgreSQL does."""
    if os.geteuid() != 0:
        return {}
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []}


@contextmanager
def without_privileges() -> Generator[None]:
    """Be somebody to whom file permissions apply."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
