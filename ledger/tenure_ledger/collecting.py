"""Work that makes very many objects, and no cycles among them."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["collecting_later"]


@contextmanager
def collecting_later() -> Generator[None]:
    """Let the garbage collector wait until the end of this.

    Reading a long stream makes very many objects and no cycles among them; looking at
    them again and again costs a fifth of the time.
    """
    collecting = gc.isenabled()
    try:
        gc.disable()
        yield
    finally:
        if collecting:
            gc.enable()
