"""What a recovery run asks of the ledger about one owner, and what a host answered.

Source: design sections 5 and 7, seed 000 section 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tenure_ledger.attribution import Attribution
from tenure_ledger.errors import InvalidInput
from tenure_ledger.folds.effects import CallKey
from tenure_ledger.folds.stream import State
from tenure_ledger.payloads import RuntimeRestartReactionLoopState, call_id_of
from tenure_ledger.snapshots import RestartSnapshot, Unreadable
from tenure_ledger.values import (
    Evidence,
    OwnerRef,
    check_flag,
    check_id,
    check_optional_id,
    check_owner,
    kind_of,
    set_plain,
)

__all__ = ["STATUS", "Answers", "Identity", "SettleRecovery", "kept_calls"]

STATUS = "Closed during restart recovery without reporting a result."
"""Verbatim from seed 000 section 5.1."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What an agent is to its host; None: not said."""

    agent_type: str | None = None
    tenant: str | None = None

    def __post_init__(self) -> None:
        set_plain(
            self,
            agent_type=check_optional_id("agent_type", self.agent_type),
            tenant=check_optional_id("tenant", self.tenant),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What only the host knows of one owner; what it was not asked counts as well."""

    conversation_exists: bool = True
    parent: tuple[OwnerRef | None] | None = None
    """The parent in the host's session tree, ``(None,)`` a root; None: not asked."""
    identity: Identity | None = None
    grants: tuple[str, ...] | None = None
    """What the owner may do now; None: not asked."""
    model: str | None = None
    """The model that it would run on now; None: not asked."""

    def __post_init__(self) -> None:
        check_flag("conversation_exists", self.conversation_exists)
        for parent in self.parent or ():
            if parent is not None:
                check_owner(parent)
        if not isinstance(self.identity, Identity | None):
            msg = f"identity must be an Identity, not {kind_of(self.identity)}"
            raise InvalidInput(msg)
        grants = self.grants
        if isinstance(grants, str):
            msg = "grants must be several ids, not str"
            raise InvalidInput(msg)
        if grants is not None:
            grants = tuple(sorted({check_id("grants", name) for name in grants}))
        model = check_optional_id("model", self.model)
        set_plain(self, grants=grants, model=model)


class SettleRecovery(NamedTuple):
    """Settle what a restart left of one owner: verdict and claim in one step.

    Not fenced, and conditional on what was seen: ``evidence`` names holding and
    version, ``generation`` the owner's generation then.
    """

    owner: OwnerRef
    author: str
    evidence: Evidence
    generation: int
    payload: str | None = None
    """Digest of the checkpoint's body that ``snapshot`` was read from."""
    snapshot: RestartSnapshot | Unreadable | None = None
    answers: Answers = Answers()


def kept_calls(state: State, command: SettleRecovery) -> frozenset[CallKey]:
    """Return the calls whose output the live checkpoint holds, not yet in the history.

    Each is of the message that the plan says it is of.
    """
    snapshot = command.snapshot
    loop = snapshot.payload if isinstance(snapshot, RestartSnapshot) else None
    checkpoint = state.recovery.checkpoint
    if checkpoint is None or not isinstance(loop, RuntimeRestartReactionLoopState):
        return frozenset()
    outputs = loop.completed_unpersisted_tool_outputs
    items = (*outputs, *loop.pending_tool_calls)
    attribution = Attribution(state, checkpoint, items)
    found = ((attribution.of_item(item), call_id_of(item)) for item in outputs)
    return frozenset((key, call_id) for key, call_id in found if key is not None)
