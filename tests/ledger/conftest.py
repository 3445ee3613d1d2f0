"""What the tests of the ledger share besides the world."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import schemas
from stored import OWNERS, AnyStore
from tenure import Ledger
from tenure_ledger.stores import open_store
from worlds import STORES, World


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AnyStore]:
    """Give an empty store of each kind, with one table beside the events."""
    urls = {"memory": "memory://", "sqlite": f"sqlite:///{tmp_path}/relay.db"}
    url = urls.get(request.param) or schemas.lend([OWNERS])
    opened = open_store(url, [OWNERS])
    assert isinstance(opened, AnyStore)
    yield opened
    opened.close()
    schemas.give_back(url)


@pytest.fixture
def ledger(world: World) -> Ledger:
    """Give the world's own ledger, where a test needs no more of it."""
    return world.ledger
