"""Try a batch until it is committed, and nobody was in its way.

Each attempt begins with what is committed: of one that failed nothing is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import monotonic
from typing import TypeVar

from tenure_ledger.errors import Contended, Fault, OutcomeUnknown
from tenure_ledger.rows import (
    Conflict,
    Doubtful,
    Interrupted,
    RowChange,
    RowRefused,
    Unit,
)
from tenure_projections.followers.batch import error_text

__all__ = ["Attempt", "Moved", "Turns", "add"]

T = TypeVar("T")

Attempt = Callable[[float, dict[int, str] | None], T]
"""Takes the time left, and by position the events whose rows a table refused, and how;
None: it is not known that one did."""


class Moved(Exception):  # noqa: N818  never leaves `Turns`
    """Another who follows under this name was faster: look again."""


class _EventRefused(Exception):  # noqa: N818  never leaves `Turns`
    """A table refused a row; of which event is known when they go one by one."""

    def __init__(self, position: int | None, problem: RowRefused) -> None:
        super().__init__(position)
        self.position = position
        self.text = error_text(problem)


class Turns:
    """The attempts of one read model, one after the other."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.doubtful = False
        """A commit was sent and its outcome is not known."""

    def commit(
        self, unit: Unit, changes: Iterable[RowChange], bad: dict[int, str] | None
    ) -> None:
        """Add the last row changes of a batch, its position among them, and commit."""
        # So a commit after a doubtful one writes, and proves durable what was found
        # (design section 12).
        if bad is None:
            add(unit, changes, None)
        else:
            unit.add((), None, (), changes)
        unit.commit()
        self.doubtful = False

    def settle(self, attempt: Attempt[T], deadline_seconds: float) -> T:
        """Return the outcome of the first attempt that nobody was in the way of."""
        until = monotonic() + deadline_seconds
        bad: dict[int, str] | None = None
        while True:
            try:
                return attempt(max(0.0, until - monotonic()), bad)
            except _EventRefused as refused:
                bad = bad or {}
                if refused.position is not None:
                    bad[refused.position] = refused.text
                continue
            except Doubtful as problem:
                self.doubtful = True
                why: Exception = problem
            except (Moved, Conflict, Interrupted) as problem:
                why = problem
            except Fault as problem:
                if self.doubtful:
                    raise self._unknown(problem) from problem
                raise
            if monotonic() >= until:
                raise self._over(why)

    def _over(self, why: Exception) -> Exception:
        """Return what the caller is told at the deadline."""
        if self.doubtful:
            return self._unknown(why)
        if isinstance(why, Interrupted):
            return why
        msg = f"others moved {self.name} until the deadline: call again"
        return Contended(msg)

    def _unknown(self, why: Exception) -> OutcomeUnknown:
        msg = (
            f"a commit of {self.name} was sent and not confirmed ({why}): call again, "
            "and what is stored is found and not handled twice"
        )
        return OutcomeUnknown(msg, self.name)


def add(unit: Unit, changes: Iterable[RowChange], position: int | None) -> None:
    """Add the rows of the event at this position, or of a whole batch."""
    try:
        unit.add((), None, (), changes)
    except RowRefused as problem:
        raise _EventRefused(position, problem) from problem
