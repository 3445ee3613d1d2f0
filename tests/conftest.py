"""What every test folder shares: the stores, and the tests that run on request only."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

import pytest
from hypothesis import settings

import postgres
import schemas
from tenure_projections.live import LiveTables
from workers import pytest_xdist_make_scheduler
from worlds import STORES, World

__all__ = ["pytest_xdist_make_scheduler"]  # a hook: handed on to pytest

# What runs on PostgreSQL too, whatever is asked for: the contract of stores, every test
# named after a scenario, what takes a `place`, and what reads or writes in a way of its
# own. The rest decides and folds, the same on every store: TENURE_TEST_STORES=postgres
# runs it there.
SCENARIO = re.compile(r"test_[si]\d+_")
ON_POSTGRES = (
    "tests/ledger/test_stores_*.py",
    "tests/*/test_scenario_*.py",
    "tests/projections/*.py",
    "tests/ledger/test_freshness.py",
    "tests/ledger/test_hostile.py",
    "tests/ledger/test_open_store.py",
    "tests/ledger/test_postgres_*.py",
    "tests/ledger/test_properties_found.py",
    "tests/ledger/test_race.py",
    "tests/ledger/test_tables_hook.py",
    "tests/ledger/test_threads.py",
    "tests/ledger/test_verify.py",
    "tests/gate/test_beginnings.py",
    "tests/gate/test_gate_hostile.py",
)

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
    module: object = request.node.getparent(pytest.Module).obj
    bare = getattr(module, "BARE", False)
    opened = World(request.param, tmp_path, bare=bare)
    yield opened
    opened.close()


@pytest.fixture(params=STORES[1:])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Give the URL of an empty ledger that other processes can open too."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/relay.db"
        return
    url = schemas.lend(LiveTables.specs)
    # A process that is killed takes nothing from the server: see `World`.
    yield f"{url}&durability=normal"
    schemas.give_back(url)


def pytest_configure() -> None:
    postgres.announce()


def pytest_unconfigure() -> None:
    postgres.stop()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tenure")
    for name, why in ON_REQUEST.items():
        group.addoption(
            f"--{name}", action="store_true", help=f"run what is marked {name}: {why}"
        )


def runs(item: pytest.Item, asked: Sequence[str], seeded: set[str]) -> bool:
    """Say whether the test runs on its store in this run.

    Of several seeds, or tables, one runs on PostgreSQL: ``seeded`` has the tests that
    had theirs.
    """
    callspec = getattr(item, "callspec", None)
    given: dict[str, object] = {} if callspec is None else callspec.params
    stores = [value for value in given.values() if value in STORES]
    if asked:
        return all(store in asked for store in stores)
    path = PurePath(item.path)
    if "postgres" not in stores:
        return True
    if given.keys() & {"seed", "table"}:
        test = item.nodeid.partition("[")[0]
        if test in seeded:
            return False
        seeded.add(test)
    if "place" in given or SCENARIO.match(item.name):
        return True
    return any(path.match(one) for one in ON_POSTGRES)


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    asked = os.environ.get("TENURE_TEST_STORES", "").split()
    seeded: set[str] = set()
    here = [item for item in items if runs(item, asked, seeded)]
    kept = {id(item) for item in here}
    config.hook.pytest_deselected(items=[one for one in items if id(one) not in kept])
    items[:] = here
    for name, why in ON_REQUEST.items():
        if config.getoption(f"--{name}"):
            continue
        for item in items:
            if item.get_closest_marker(name):
                item.add_marker(pytest.mark.skip(reason=why))
