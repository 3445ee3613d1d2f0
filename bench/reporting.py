"""What every benchmark's command line shares: how much, where, and its report."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

__all__ = ["reported", "say"]

P = TypeVar("P")


def reported(
    doc: str | None,
    plans: tuple[P, P],
    sections: Callable[[Path, P], Iterator[str]],
    *,
    folder: Path = Path("build"),
    disk: str = "on the disk to measure",
) -> int:
    """Run a benchmark in a new folder and print its report; return 0.

    ``plans``: the whole, and the quick one. ``folder``: the new one lies in it, unless
    another is named. ``disk``: what is said of it.
    """
    options = argparse.ArgumentParser(description=doc)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--folder", type=Path, default=folder, help=disk)
    given = options.parse_args()
    whole, quick = plans
    given.folder.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix="bench-", dir=given.folder.resolve()))
    try:
        for section in sections(made, quick if given.quick else whole):
            print(section, flush=True)
            print(flush=True)
    finally:
        shutil.rmtree(made)
    return 0


def say(began: float, what: str) -> None:
    """Say on the error stream how far the benchmark is."""
    print(f"[{time.monotonic() - began:5.0f} s] {what}", file=sys.stderr, flush=True)
