"""What became of each message: accepted, admitted, started, settled, stripped.

An absorbed key shares admission, start and settle of the execution that absorbed it, so
these facts are written to every record they concern: each record is whole by itself.
`admitting` and `progress` are the folds. Source of the rules: design sections 4 to 6.
"""

from __future__ import annotations

from datetime import datetime

from immutables import Map
from msgspec.structs import replace

from tenure_ledger.events import SettleOutcome, StripVerdict
from tenure_ledger.folds.judgement import Value
from tenure_ledger.folds.ownership import Ownership
from tenure_ledger.values import Origin

__all__ = [
    "HUMAN",
    "AtWork",
    "Execution",
    "Executions",
    "conflicting",
    "known_as",
    "live",
    "sharing",
    "updated",
]

HUMAN: frozenset[str] = frozenset({"human", "human_successor_root"})


class Execution(Value, frozen=True):
    """One message of one owner. Numbers are versions in the owner's stream; 0: not."""

    key: str
    accepted: int = 0
    since: int = 0
    """What a bar must lie above to cover it: the version at which this life of it
    began. A later term that admits it anew begins another life."""
    admitted: int = 0
    """The latest admission."""
    term: int = 0
    """The term of the latest admission (`Ownership.term`)."""
    generation: int = 0
    incarnation: str | None = None
    """The holding of the latest admission."""
    started: int = 0
    output: int = 0
    """The marker that output for a person is starting."""
    settled: int = 0
    outcome: SettleOutcome | None = None
    stripped: int = 0
    verdict: StripVerdict | None = None
    late: int = 0
    origin: Origin | None = None
    sender: str | None = None
    digest: str | None = None
    human: bool = False
    """A person sent it: vouched for, or of a human origin."""
    absorbed: tuple[str, ...] = ()
    absorbed_by: str | None = None
    into: str | None = None
    """The running execution that took it in."""
    known_at: datetime | None = None
    """When the ledger first heard of it."""
    admitted_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    """When it was settled or stripped, whichever came first."""

    @property
    def open(self) -> bool:
        """Say whether it is neither settled nor stripped."""
        return not (self.settled or self.stripped)

    @property
    def known(self) -> int:
        """The latest admission, else the acceptance."""
        return self.admitted or self.accepted


class AtWork(Value, frozen=True):
    """The message that a term works on: started last, else the first admitted."""

    term: int = 0
    key: str | None = None
    started: bool = False


class Executions(Value, frozen=True):
    """Every execution of an owner."""

    by_key: Map[str, Execution] = Map()
    open: Map[str, int] = Map()
    """Keys that are accepted or admitted to the latest term, and open."""
    last_started: Execution | None = None
    """The execution that was started last, as it was then."""
    taken: Map[str, tuple[str, ...]] = Map()
    """Running execution -> the messages that it took in."""
    at_work: AtWork = AtWork()

    def listed(self) -> list[Execution]:
        """Return the open ones in the order in which the stream came to know them."""
        order = sorted(self.open.items(), key=lambda pair: (pair[1], pair[0]))
        return [self.by_key[key] for key, _ in order]


def live(own: Ownership, known: Execution) -> bool:
    """Say whether it is admitted to the live term."""
    return own.running and known.admitted > 0 and known.term == own.term


def conflicting(first: str | None, second: str | None) -> bool:
    """Say whether two digests differ; one that is not given conflicts with none."""
    return first is not None and second is not None and first != second


def known_as(state: Executions, key: str) -> Execution:
    """Return what is known of the key: nothing yet, if need be."""
    return state.by_key.get(key) or Execution(key)


def updated(state: Executions, known: Execution) -> Executions:
    """Put one execution in the place of what was known of it."""
    return replace(state, by_key=state.by_key.set(known.key, known))


def sharing(state: Executions, known: Execution) -> list[Execution]:
    """Return the execution and all open ones that it absorbed."""
    if not known.absorbed:
        return [known]
    shared = [state.by_key.get(key) for key in known.absorbed]
    return [
        known,
        *(one for one in shared if one and one.open and one.absorbed_by == known.key),
    ]
