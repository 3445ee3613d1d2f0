"""Read models for the tests of followers; the first forgets nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tenure import Follower, Ledger, ModelRows, ModelTable, Recorded
from tenure_ledger import events as e

__all__ = [
    "Counts",
    "PoisonError",
    "Saw",
    "ends_of_commands",
    "forgot_nothing",
    "kept",
    "started",
]


class Saw:
    """Keeps every event that it was handed: a gap, a repeat, another order shows."""

    name = "saw"
    tables: Sequence[ModelTable] = (
        ModelTable(
            "saw",
            {"position": int, "stream": str, "version": int, "times": int, "nth": int},
            "position",
        ),
        ModelTable("seen", {"name": str, "events": int}, ("name",)),
    )

    def handle(self, recorded: Recorded, rows: ModelRows, /) -> None:
        """Keep the event, how often it came, and as the how manyth."""
        all_of_them = rows.get("seen", name="all") or {"name": "all", "events": 0}
        all_of_them["events"] += 1
        rows.put("seen", **all_of_them)
        before = rows.get("saw", position=recorded.position)
        rows.put(
            "saw",
            position=recorded.position,
            stream=recorded.stream,
            version=recorded.version,
            times=1 + (before["times"] if before else 0),
            nth=all_of_them["events"],
        )


class PoisonError(Exception):
    """What an event does to a model."""


class Counts:
    """Counts the events of each stream; ``rejects`` says which it cannot handle."""

    name = "counts"
    tables = (ModelTable("counts", {"stream": str, "n": int, "last": int}, "stream"),)

    def __init__(self, rejects: Callable[[Recorded], object] = lambda _: False) -> None:
        self.rejects = rejects
        self.handed: list[int] = []
        """The positions that it was handed, more than once where that happened."""

    def handle(self, recorded: Recorded, rows: ModelRows, /) -> None:
        """Count first, so that what an event leaves behind would show."""
        self.handed.append(recorded.position)
        stream = recorded.stream
        row = rows.get("counts", stream=stream) or {"stream": stream, "n": 0}
        rows.put("counts", stream=stream, n=row["n"] + 1, last=recorded.position)
        if self.rejects(recorded):
            raise PoisonError(f"{stream} {recorded.version}")


def started(key: str) -> Callable[[Recorded], bool]:
    """Say which event is the start of this message."""

    def is_it(recorded: Recorded) -> bool:
        event = recorded.event
        return isinstance(event, e.ExecutionStarted) and event.key == key

    return is_it


def forgot_nothing(ledger: Ledger, upto: int | None = None) -> int:
    """Hold that `Saw` has each event up to a position once, in order; count them."""
    model = ledger.follower(Saw())
    wanted = [
        {
            "position": one.position,
            "stream": one.stream,
            "version": one.version,
            "times": 1,
            "nth": nth,
        }
        for nth, one in enumerate(ledger.events(), 1)
        if upto is None or one.position <= upto
    ]
    assert list(model.rows("saw")) == wanted
    (all_of_them,) = list(model.rows("seen")) or [{"name": "all", "events": 0}]
    assert all_of_them == {"name": "all", "events": len(wanted)}
    return len(wanted)


def kept(follower: Follower, table: str = "counts") -> dict[str, Any]:
    """Return the first two columns of a model's table as a dict."""
    rows: Iterable[dict[str, Any]] = follower.rows(table)
    return dict(tuple(row.values())[:2] for row in rows)


def ends_of_commands(ledger: Ledger) -> set[int]:
    """Return the positions at which a command ends; 0 is one."""
    events = [one for one in ledger.events() if isinstance(one.event, e.Event)]
    return {0} | {
        one.position
        for one in events
        if isinstance(one.event, e.Event) and one.event.index == one.event.count - 1
    }
