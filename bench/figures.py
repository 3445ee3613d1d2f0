"""Samples of one contender, and the tables of the report."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

__all__ = ["Figures", "median", "table"]


class Figures:
    """The times of one contender, in seconds."""

    def __init__(self) -> None:
        self._seconds: list[float] = []

    def add(self, seconds: float) -> None:
        """Take one more sample."""
        self._seconds.append(seconds)

    def _quantile(self, share: float) -> float:
        ordered = sorted(self._seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    @property
    def p50(self) -> float:
        """The time that half of the samples do not exceed."""
        return self._quantile(0.5)

    @property
    def p99(self) -> float:
        """The time that 99 of 100 samples do not exceed."""
        return self._quantile(0.99)


def median(values: Sequence[float]) -> float:
    """Return the median of some figures."""
    return statistics.median(values)


def table(head: Sequence[str], lines: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table."""
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in rows)
