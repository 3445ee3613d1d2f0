"""What every test folder shares: the stores, and the tests that run on request only."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from worlds import STORES, World

ON_REQUEST = {
    "prove": "needs minutes, root or a browser: `make prove` runs it",
    "wheel": "builds and installs the distribution: `make check` runs it",
}

# A deadline on each example would measure the machine. The parent is Hypothesis's own
# choice: its `ci` profile, which is not random, where CI is set.
settings.register_profile("tenure", parent=settings(), deadline=None)
settings.load_profile("tenure")


@pytest.fixture(params=STORES)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """Give an empty ledger on each store."""
    opened = World(request.param, tmp_path)
    yield opened
    opened.close()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tenure")
    for name, why in ON_REQUEST.items():
        group.addoption(
            f"--{name}", action="store_true", help=f"run what is marked {name}: {why}"
        )


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    for name, why in ON_REQUEST.items():
        if config.getoption(f"--{name}"):
            continue
        for item in items:
            if item.get_closest_marker(name):
                item.add_marker(pytest.mark.skip(reason=why))
