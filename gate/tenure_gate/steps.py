"""What one call of the gate asks of ledger and guard, one step at a time.

The rules of the gate are generators: they yield a step, and are given what came of it,
or what it raised. Who performs the steps, and in what kind of code, is no matter to
them; `performing` is the one for a synchronous ledger and guard.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from tenure_gate.guard import InterruptTarget
from tenure_ledger.events import StripVerdict
from tenure_ledger.values import Authority, Origin, OwnerRef

__all__ = [
    "Accept",
    "Admit",
    "Ask",
    "Deliver",
    "GiveVerdicts",
    "Look",
    "ReadBody",
    "Settle",
    "Start",
    "Step",
    "Steps",
    "Strip",
]

_Result = TypeVar("_Result")


class Look(NamedTuple):
    """Return the owner's `State` at its durable head."""

    owner: OwnerRef


class ReadBody(NamedTuple):
    """Return a stored body."""

    owner: OwnerRef
    digest: str


class Accept(NamedTuple):
    """Take in what a person sent."""

    owner: OwnerRef
    key: str


class Admit(NamedTuple):
    """Admit what a person sent to the live term."""

    authority: Authority
    key: str
    origin: Origin


class Strip(NamedTuple):
    """Keep leftovers out for ever: key, verdict, cut; at the version judged at."""

    owner: OwnerRef
    strips: Sequence[tuple[str, StripVerdict, int]]
    version: int


class Ask(NamedTuple):
    """Have the host stop this; return the outcome to settle, raise what is none."""

    target: InterruptTarget


class Settle(NamedTuple):
    """Put the outcome of an interrupt on record."""

    target: InterruptTarget
    outcome: str


class Start(NamedTuple):
    """Start the acting request."""

    authority: Authority
    key: str


class Deliver(NamedTuple):
    """Give the acting request the notices that wait."""

    by: Authority | OwnerRef
    key: str


class GiveVerdicts(NamedTuple):
    """Put verdicts on record, by key."""

    authority: Authority
    verdicts: Mapping[str, str]


Step: TypeAlias = (
    Look
    | ReadBody
    | Accept
    | Admit
    | Strip
    | Ask
    | Settle
    | Start
    | Deliver
    | GiveVerdicts
)
Steps: TypeAlias = Generator[Step, Any, _Result]
"""Yields steps, is sent what each docstring says is returned, and ends in a result."""
