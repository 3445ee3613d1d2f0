"""What the public methods give back besides authorities and versions."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NamedTuple

from tenure_ledger.bodies import Json
from tenure_ledger.folds.effects import Approval, Call
from tenure_ledger.folds.executions import Execution
from tenure_ledger.folds.ownership import Cut, Status, Terminal
from tenure_ledger.folds.recovery import Checkpoint
from tenure_ledger.folds.stream import State
from tenure_ledger.values import OwnerRef

__all__ = [
    "OwnerStatus",
    "OwnerView",
    "ToolCall",
    "ToolCallState",
    "call_state",
    "owner_view",
]

OwnerStatus = Status | Literal["quarantined", "too_new"]
ToolCallState = Literal["fresh", "intended", "completed", "unknown"]


class OwnerView(NamedTuple):
    """Who holds an owner, seen at one version of its stream."""

    ref: OwnerRef
    status: OwnerStatus
    version: int
    """Version of the stream's last event; 0: nothing is on record."""
    generation: int
    incarnation: str | None
    """The live holding; None when nobody holds the owner."""
    agent_id: str | None
    process: str | None
    lease_until: datetime | None
    granted: int
    """Version of the event that gave the latest holding; 0: none."""
    parent: OwnerRef | None
    grants: tuple[tuple[str, datetime | None], ...]
    children: tuple[OwnerRef, ...]
    cut: Cut | None
    terminal: Terminal | None
    checkpoint: Checkpoint | None
    """The live restart snapshot; ``body(ref, checkpoint.payload)`` reads it."""
    waiting: tuple[str, ...]
    """Messages that were accepted and neither started nor settled, in stream order."""
    open_executions: tuple[Execution, ...]
    """Accepted or admitted to the live term, and neither settled nor stripped, in the
    order in which the stream came to know them."""
    open_calls: tuple[Call, ...]
    """Tool calls without a result that the live term may still record."""
    open_approvals: tuple[Approval, ...]
    """Requests that nobody denied, used or closed."""
    positions: tuple[int, ...]
    """Of a quarantine: both versions; of a stream that is too new: the first."""


def owner_view(ref: OwnerRef, state: State) -> OwnerView:
    """Return the view of an owner's state."""
    own = state.ownership
    holding = own.holding if own.live else None
    status: OwnerStatus = own.status
    positions: tuple[int, ...] = ()
    if state.quarantine is not None:
        status = "quarantined"
        positions = (state.quarantine.against, state.quarantine.version)
    if state.too_new:
        status, positions = "too_new", (state.too_new,)
    listed = [] if own.status == "deleted" else state.executions.listed()
    waiting = [one for one in listed if one.accepted]
    waiting.sort(key=lambda one: one.accepted)
    children = sorted(own.children.values(), key=lambda child: child.version)
    return OwnerView(
        ref=ref,
        status=status,
        version=state.version,
        generation=own.generation,
        incarnation=holding.incarnation if holding else None,
        agent_id=own.agent_id,
        process=holding.process if holding else None,
        lease_until=holding.lease_until if holding else None,
        granted=own.holding.granted if own.holding else 0,
        parent=own.parent,
        grants=tuple(sorted(own.grants.items(), key=lambda pair: pair[0])),
        children=tuple(child.ref for child in children),
        cut=own.cut,
        terminal=own.terminal,
        checkpoint=state.recovery.checkpoint,
        waiting=tuple(one.key for one in waiting if not one.started),
        open_executions=tuple(listed),
        open_calls=tuple(one for one in state.effects.listed_calls() if not one.late),
        open_approvals=state.effects.listed_approvals(),
        positions=positions,
    )


class ToolCall(NamedTuple):
    """A tool call, and whether to run it.

    ``fresh``: run it, with ``idempotency_key``; answered once. ``completed``: here is
    ``result`` (``late``: it came after its holding ended). ``unknown``: it may have
    run; do not run it. ``intended``: on record, not dispatched.
    """

    owner: OwnerRef
    message_id: str
    call_id: str
    tool: str
    state: ToolCallState
    idempotency_key: str
    result: Json = None
    late: bool = False


def call_state(call: Call, *, fresh: bool) -> ToolCallState:
    """Return what a caller is told about this call."""
    if fresh:
        return "fresh"
    if call.completed or call.late:
        return "completed"
    if call.closed and call.outcome == "never_started":
        return "intended"
    return "unknown" if call.dispatched else "intended"
