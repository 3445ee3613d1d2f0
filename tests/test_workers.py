"""What is dear to set up is set up once, by the one worker that has all its tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from workers import TOGETHER, scope_of

# Not what costs time and is not asked here.
PLAIN = [f"-pno:{name}" for name in ("cacheprovider", "hypothesispytest", "pytest_cov")]
ROOT = Path(__file__).resolve().parents[1]
TEST = """
import os, pytest
@pytest.mark.parametrize("number", range(8))
def test_worker(number):
    with open(__name__.rpartition(".")[2] + ".log", "a") as log:
        log.write(os.environ["PYTEST_XDIST_WORKER"] + "\\n")
"""


@pytest.mark.parametrize("file", TOGETHER)
def test_the_files_that_stay_whole_are_there(file: str) -> None:
    assert (ROOT / file).is_file()


def test_every_other_test_goes_alone() -> None:
    alone = "tests/gate/test_cli.py::test_it[a::b]"
    assert scope_of(alone) == alone


@pytest.mark.parametrize(
    ("file", "workers"), [(TOGETHER[0], 1), ("tests/test_apart.py", 2)]
)
def test_a_file_that_stays_whole_runs_on_one_worker(
    file: str, workers: int, tmp_path: Path
) -> None:
    test = tmp_path / file
    test.parent.mkdir(parents=True)
    test.write_text(TEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    options = ["-n", "2", "--dist", "loadgroup", "-p", "workers"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *PLAIN, file],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests" / "support")},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    ran = (tmp_path / f"{test.stem}.log").read_text().split()
    assert len(ran) == 8
    # Each worker is given something to begin with.
    assert len({*ran}) == workers
