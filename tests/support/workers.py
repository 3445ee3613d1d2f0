"""Which tests share a worker, where pytest-xdist runs several.

`--dist loadgroup` should see to that by the mark ``xdist_group``; with pytest 9.2 the
mark of pytest-xdist 3.8 reaches no scheduler, and nothing says so. So the files are
named here.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

__all__ = ["TOGETHER", "pytest_xdist_make_scheduler", "scope_of"]

TOGETHER = (
    "tests/ledger/test_postgres_backup.py",
    "tests/ledger/test_postgres_failover.py",
    "tests/ledger/test_postgres_server.py",
    "tests/projections/test_byte_for_byte.py",
)
"""Files whose tests have something dear in common: a server, or a long history."""


def scope_of(nodeid: str) -> str:
    """Return what a test is given to a worker with: its file's tests, or itself."""
    file = nodeid.partition("::")[0]
    return file if file in TOGETHER else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Hand out tests one by one, and these files whole."""
    if config.getoption("dist") != "loadgroup":
        return None
    scheduler: Any = import_module("xdist.scheduler").LoadGroupScheduling(config, log)
    scheduler._split_scope = scope_of
    return scheduler
