"""What it costs to settle what a restart left, beside raw commits.

    python bench/recovery.py            1,000 to 100,000 candidates, several minutes
    python bench/recovery.py --quick    1,000 and 10,000, under a minute

Raw commits are made between the candidates of the same run: read the ratios first.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from by_hand import raw
from clones import copy_owners, owner_id
from figures import table

from tenure import (
    Authority,
    First,
    Ledger,
    OwnerRef,
    RuntimeRestartQueuedSubmission,
    RuntimeRestartReactionLoopState,
    RuntimeRestartScheduledWorkContext,
    RuntimeRestartToolApprovalWait,
    arguments_digest,
    open_ledger,
    recover_each,
)
from tenure_ledger.process import process_name

TARGET = 3.0
WHOLE, QUICK = (1_000, 10_000, 100_000), (1_000, 10_000)
RAW_COMMITS = 1_000
"""So many in each run, evenly between the candidates."""
CHECKED_MAX = 1_000
"""Up to so many owners the copies are verified, and their tables proved."""


def main() -> int:
    """Run the benchmark and print its report."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true")
    options.add_argument(
        "--folder", type=Path, default=Path("build"), help="on the disk to measure"
    )
    options.add_argument("--settle", type=Path, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.settle is not None:
        print(json.dumps(_settle(given.settle, given.folder)))
        return 0
    given.folder.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="bench-", dir=given.folder))
    try:
        sizes = QUICK if given.quick else WHOLE
        print(_report({size: _measure(folder, size) for size in sizes}), flush=True)
    finally:
        shutil.rmtree(folder)
    return 0


def _measure(folder: Path, size: int) -> dict[str, float]:
    """Settle so many candidates in a process of its own, and return its figures."""
    path = folder / f"restart-{size}.db"
    with open_ledger(f"sqlite:///{path}", process=_gone()) as ledger:
        made = _leave(ledger)
    copy_owners(path, made, size)
    if size <= CHECKED_MAX:
        with open_ledger(f"sqlite:///{path}") as ledger:
            sound = ledger.verify().ok
            if not sound or any(one.differing for one in ledger.rebuild(check=True)):
                raise SystemExit("the copies are no ledger's")
    command = [sys.executable, __file__, "--settle", path, "--folder", folder]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    path.unlink()
    found: dict[str, float] = json.loads(ran.stdout)
    return found


def _gone() -> str:
    """Return the name of a process of this machine that is gone."""
    return process_name().rpartition("start=")[0] + "start=1"


def _leave(ledger: Ledger) -> int:
    """Leave one candidate of each kind; return how many they are."""
    loop = RuntimeRestartReactionLoopState(consecutive_batches=3)
    numbers = iter(range(100))

    def begin(*, start: bool = True) -> Authority:
        name = owner_id(next(numbers))
        owner = OwnerRef("session", name)
        held = ledger.claim(
            owner, f"manager/{name}", "host", first=First("m1", "human")
        )
        if start:
            ledger.start(held, "m1")
        return held

    held = begin()  # between two calls
    ledger.save_checkpoint(held, loop)
    call = ledger.begin_tool_call(held, "m1", "c1", "mail", {"to": "anna"})
    ledger.complete_tool_call(held, call, {"sent": True})
    ledger.begin_tool_call(held, "m1", "c2", "mail", {"to": "bert"})
    held, digest = begin(), arguments_digest({"amount": 12})
    ledger.intend_tool_call(held, "m1", "c1", "pay", {"amount": 12})
    ledger.request_approval(held, "c1", "pay", digest, "v1")
    wait = RuntimeRestartToolApprovalWait(
        wait_started_at_ms=0, dispatched_before_restart=False
    )
    ledger.save_checkpoint(held, wait)
    queued = RuntimeRestartQueuedSubmission(submission_key="m1")
    ledger.save_checkpoint(begin(start=False), queued)
    job = RuntimeRestartScheduledWorkContext(job_id="job", attempt=1, version=1)
    ledger.save_checkpoint(begin(), job)
    held = begin()  # somebody may have seen its answer, and a message waits
    ledger.save_checkpoint(held, loop)
    ledger.mark_output_started(held, "m1")
    ledger.accept(held.owner, "m2", "inbox", human=True)
    begin()  # started, without a checkpoint
    return next(numbers)


def _settle(path: Path, folder: Path) -> dict[str, float]:
    """Recover, with raw commits in between; return the figures."""
    with ExitStack() as opened:
        ledger = opened.enter_context(open_ledger(f"sqlite:///{path}"))
        commit = raw(folder / f"raw-{path.stem}.db", opened)
        count = len(ledger.unfinished())
        each = max(1, count // RAW_COMMITS)
        gc.collect()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        events = ledger.head().count
        counts = Counter[str]()
        wall = cpu = raws = raw_wall = 0.0
        began, worked = time.perf_counter(), time.thread_time()
        first = None
        for result in recover_each(ledger):
            wall += time.perf_counter() - began
            cpu += time.thread_time() - worked
            first = wall if first is None else first
            counts[type(result).__name__] += 1
            settled = counts["Resumed"] + counts["Closed"]
            if type(result).__name__ != "SuccessionDue" and settled % each == 0:
                raw_wall += commit().wall
                raws += 1
            began, worked = time.perf_counter(), time.thread_time()
        wall += time.perf_counter() - began
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        if counts["Resumed"] + counts["Closed"] != count:
            raise SystemExit(f"not every candidate was settled: {counts}")
        return {
            "count": count,
            "seconds": wall,
            "cpu": cpu,
            "first": first or 0.0,
            "raw": raw_wall / raws,
            "grown": grown * 1024,
            "events": (ledger.head().count - events) / count,
        }


def _report(found: dict[int, dict[str, float]]) -> str:
    lines: list[tuple[object, ...]] = []
    for size, one in found.items():
        each = one["seconds"] / size
        lines.append(
            (
                f"{size:,}",
                f"{each / one['raw']:.2f}",
                f"{each * 1e6:.0f}",
                f"{one['cpu'] / size * 1e6:.0f}",
                f"{one['raw'] * 1e6:.0f}",
                f"{one['seconds']:.2f}",
                f"{one['first'] * 1e3:.0f}",
                f"{one['grown'] / 1e6:.0f}",
                f"{one['grown'] / size / 1e3:.1f}",
            )
        )
    head = (
        *("candidates", "settled / raw commit", "us each", "of it CPU us"),
        *("raw us", "whole run s", "first after ms", "memory grown MB", "kB each"),
    )
    events = next(iter(found.values()))["events"]
    return "\n".join(
        [
            "## Settling what a restart left, SQLite FULL",
            "",
            (
                "One candidate of each kind in turn: a reaction loop, an approval "
                "wait, a queued submission, a job (resumed), one whose output had "
                f"begun, one without checkpoint (closed); {events:.1f} events each. "
                "Raw is one hand-written transaction of one event with its rows. "
                f"Target: settled / raw <= {TARGET:.0f}, linear, memory bounded."
            ),
            "",
            table(head, lines),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
