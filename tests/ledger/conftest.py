"""What the tests of the ledger share besides the world."""

from __future__ import annotations

import pytest

from tenure import Ledger
from worlds import World


@pytest.fixture
def ledger(world: World) -> Ledger:
    """Give the world's own ledger, where a test needs no more of it."""
    return world.ledger
