"""What DBOS takes to recover as many workflows, beside `bench/recovery.py`.

A workflow has two steps; its process ends between them, without a word. The next one
launches DBOS, which resumes each: the second step runs, and the workflow completes. So
DBOS does the rest of the work too, of which `recover` only makes the plan.

Needs `pip install '.[peers]'`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["measured"]

_WAIT_SECONDS = 300.0


def measured(folder: Path, count: int) -> float:
    """Return the seconds from the launch until all are completed. SQLite."""
    url = f"sqlite:///{folder / 'dbos.db'}"
    for what in ("leave", "recover"):
        command = [sys.executable, __file__, what, url, str(count)]
        ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    seconds: float = json.loads(ran.stdout.splitlines()[-1])
    return seconds


def _run(what: str, url: str, count: int) -> None:
    """Leave so many workflows between their steps, or recover them; then end."""
    # An extra, and one that the type checkers may lack.
    dbos: Any = import_module("dbos")
    begun, completed = threading.Semaphore(0), threading.Semaphore(0)
    for_ever = threading.Event()
    leaving = what == "leave"
    dbos.DBOS(
        config={
            "name": "beside",
            "system_database_url": url,
            "log_level": "ERROR",
            "application_version": "1",
            "executor_id": "local",
        }
    )

    def first(number: int) -> str:
        return f"{number}: " + "x" * 250

    def second(number: int) -> int:
        return number

    one, two = dbos.DBOS.step()(first), dbos.DBOS.step()(second)

    def both(number: int) -> None:
        one(number)
        begun.release()
        if leaving:
            for_ever.wait()
        two(number)
        completed.release()

    work = dbos.DBOS.workflow()(both)

    began = time.perf_counter()
    dbos.DBOS.launch()
    if leaving:
        for number in range(count):
            with dbos.SetWorkflowID(f"wf-{number}"):
                dbos.DBOS.start_workflow(work, number)
    for _ in range(count):
        if not (begun if leaving else completed).acquire(timeout=_WAIT_SECONDS):
            print("DBOS did not get on", file=sys.stderr)
            os._exit(1)
    print(json.dumps(time.perf_counter() - began), flush=True)
    # As a process that is killed.
    os._exit(0)


if __name__ == "__main__":
    _run(sys.argv[1], sys.argv[2], int(sys.argv[3]))
