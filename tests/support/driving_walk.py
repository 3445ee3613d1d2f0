"""A walk of the ledger beside its reference: seeded, so the same on every machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TypeVar

from driving import Drive
from driving_steps import begin, steps
from driving_words import Chooser
from worlds import World

__all__ = ["chooser", "walk"]

T = TypeVar("T")


def chooser(seed: int) -> Chooser:
    """Return choices that are the same on every machine."""
    random = Random(seed)  # noqa: S311  a walk, not a secret

    def choose(options: Sequence[T]) -> T:
        return options[int(random.random() * len(options))]

    return choose


def walk(
    seed: int, length: int, folder: Path, seen: Counter[str] | None = None
) -> Drive:
    """Take a walk and check the whole ledger at its end."""
    choose = chooser(seed)
    drive = Drive(World("memory", folder), seen)
    theme = (0, 0, 1, 2)[seed % 4]
    begin(drive, choose, theme)
    for _ in range(length):
        choose(steps(theme))(drive, choose)
    drive.finish()
    drive.world.close()
    return drive
