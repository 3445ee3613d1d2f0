"""What the gate reads of one owner: a look at its stream's state, never a copy.

A snapshot is made once for each call; every verdict of that call is judged by it, with
one look-up (design section 6).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from msgspec import Struct

from tenure_ledger.decisions.live import waiting_notices
from tenure_ledger.folds.executions import Execution
from tenure_ledger.folds.notices import Notice
from tenure_ledger.folds.ownership import Cut, Holding
from tenure_ledger.folds.relay import Interrupt
from tenure_ledger.folds.stream import State

__all__ = ["JournalSnapshot"]


class JournalSnapshot(Struct, frozen=True, gc=False, eq=False):
    """One owner's record at one version of its stream, to read only."""

    state: State
    executions: Mapping[str, Execution]
    """Every message that the owner knows, by its id."""
    cut_version: int
    """Version of the latest cut; 0: there is none."""
    ended: int
    """Version of the cut or terminal event that ended a term last; 0: none has."""
    live_term: int
    """Number of the term of the live holding; 0: nobody holds the owner."""

    @classmethod
    def of(cls, state: State) -> Self:
        """Return the look at this state."""
        own = state.ownership
        cut = own.cut.version if own.cut is not None else 0
        ended = max(cut, max(own.ends, default=0))
        term = own.term if own.live else 0
        return cls(state, state.executions.by_key, cut, ended, term)

    @property
    def version(self) -> int:
        """Version of the stream's last event; 0: nothing is on record."""
        return self.state.version

    @property
    def cut(self) -> Cut | None:
        """The latest cut."""
        return self.state.ownership.cut

    @property
    def cuts(self) -> Mapping[int, Cut]:
        """Every cut, by its version."""
        return self.state.ownership.cuts

    @property
    def generation(self) -> int:
        """The owner's generation now."""
        return self.state.ownership.generation

    @property
    def holding(self) -> Holding | None:
        """The live holding; None: nobody holds the owner."""
        return self.state.ownership.holding if self.live_term else None

    def execution(self, key: str) -> Execution | None:
        """Return what became of a message; None: the owner does not know it."""
        return self.executions.get(key)

    def live(self, known: Execution) -> bool:
        """Say whether it is an execution of the live term, settled or not."""
        if known.stripped or not known.admitted:
            return False
        return known.term == self.live_term

    def lead(self, key: str) -> str:
        """Return the execution that this message is, or is part of."""
        known = self.executions.get(key)
        return key if known is None else known.absorbed_by or key

    def delivered_to(self, key: str) -> list[Notice]:
        """Return the notices that every view of this request carries, oldest first."""
        lead = self.lead(key)
        return [one for one in self.state.notices.listed() if one.key == lead]

    def undelivered(self) -> list[Notice]:
        """Return the notices that wait for a request, oldest first.

        One that was given to a request which ended with its term waits again.
        """
        return waiting_notices(self.state)

    def open_interrupts(self) -> list[Interrupt]:
        """Return the clean-ups without a final answer, oldest first."""
        relay = self.state.relay
        order = sorted(relay.open_interrupts.items(), key=lambda at: (at[1], at[0]))
        return [relay.interrupts[at] for at, _ in order]

    def __repr__(self) -> str:
        return f"JournalSnapshot({self.state.stream!r}, version={self.version})"
