"""The seven assertions: whether what is on record may be resumed at all.

Pure. The first that fails decides; the names are those of seed 000 section 3, the order
is that of design section 7.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Literal, NamedTuple, get_args

from tenure_ledger.decisions.children import ancestors
from tenure_ledger.decisions.lineage import hangs_on, line
from tenure_ledger.decisions.recovering.command import Answers
from tenure_ledger.decisions.work import States
from tenure_ledger.folds.ownership import Ownership
from tenure_ledger.folds.recovery import Checkpoint
from tenure_ledger.folds.stream import State
from tenure_ledger.snapshots import RestartSnapshot, Unreadable
from tenure_ledger.values import OwnerRef, agent_stream

__all__ = [
    "ASSERTIONS",
    "CHECKS",
    "Assertion",
    "Case",
    "Failure",
    "allowed_grants",
    "failed_assertion",
]

Assertion = Literal[
    "partial_recovery_descriptor",
    "invalid_recovery_descriptor",
    "missing_conversation",
    "invalid_structural_owner_identity",
    "recovery_identity_mismatch",
    "invalid_durable_owner_identity",
    "invalid_inherited_execution_authority",
]
"""In the order in which they are asked."""


class Failure(NamedTuple):
    """An assertion that does not hold, and what was found."""

    assertion: Assertion
    detail: str


class Case(NamedTuple):
    """All that the assertions look at."""

    states: States
    """The owner, its ancestors and its agent."""
    owner: OwnerRef
    snapshot: RestartSnapshot | Unreadable | None
    """Of the live checkpoint; None: it has none."""
    answers: Answers
    now: datetime

    @property
    def state(self) -> State:
        """The owner's own state."""
        return self.states[self.owner.stream]

    def state_of(self, owner: OwnerRef) -> State | None:
        """Return the state of one of them; None: it is not among them."""
        return self.states.get(owner.stream)

    @property
    def checkpoint(self) -> Checkpoint | None:
        """The owner's live checkpoint."""
        return self.state.recovery.checkpoint


def failed_assertion(case: Case) -> Failure | None:
    """Return the first assertion that fails, None when all hold.

    Without a checkpoint nothing is asked of its descriptor, its identity or of what it
    needs; the owner itself is asked all the same.
    """
    for name in ASSERTIONS:
        found = CHECKS[name](case)
        if found is not None:
            return Failure(name, found)
    return None


def allowed_grants(case: Case) -> tuple[str, ...] | None:
    """Return what the owner may do now; None: everything.

    The narrower of what is on record for it and each ancestor, neither revoked nor
    run out, and of what the host says; a root has everything on record.
    """
    below = [one.ownership for one in ancestors(case.states, case.owner)]
    limited = [own for own in below if own.parent is not None]
    granted = case.answers.grants
    if not limited:
        return granted
    names = limited[0].grants.keys()
    return tuple(
        name
        for name in sorted(names)
        if all(own.granted(name, case.now) for own in limited)
        and (granted is None or name in granted)
    )


def _partial(case: Case) -> str | None:
    return _unreadable(case, "partial")


def _invalid(case: Case) -> str | None:
    return _unreadable(case, "invalid")


def _unreadable(case: Case, kind: str) -> str | None:
    read = case.snapshot
    if isinstance(read, Unreadable) and read.kind == kind:
        return read.detail
    return None


def _conversation(case: Case) -> str | None:
    if case.answers.conversation_exists:
        return None
    return f"the host has no conversation of {case.owner} any more"


def _structure(case: Case) -> str | None:
    """Look at the way up: each parent knows its child, and what it hangs on is open."""
    recorded = case.state.ownership.parent
    told = case.answers.parent
    if told is not None and told[0] != recorded:
        return f"its parent is {recorded} on record and {told[0]} for the host"
    child, top = case.owner, recorded
    on = hangs_on(case.owner, case.state_of)
    _, *way = line(case.owner, case.state_of)
    for at, above in way:
        if above is None or child.stream not in above.ownership.children:
            return f"{at} spawned no {child}"
        if above is on and not above.ownership.open:
            what = "parent" if at == recorded else "parent's user"
            return f"its {what} {at} is {_ended(above.ownership)}"
        child, top = at, above.ownership.parent
    return None if top is None else f"{top} is above itself"


def _ended(own: Ownership) -> str:
    if own.status == "cut":
        return "closed by a recovery"
    return f"{own.status} since version {own.ended}"


def _identity(case: Case) -> str | None:
    checkpoint = case.checkpoint
    if checkpoint is None or not isinstance(case.snapshot, RestartSnapshot):
        return None
    config, answered = case.snapshot.config, case.answers.identity
    if answered is None:
        return None
    pairs = {
        "agent type": (config.agent_type, answered.agent_type),
        "tenant": (config.tenant, answered.tenant),
    }
    for what, (was, now) in pairs.items():
        if None not in {was, now} and was != now:
            return f"its {what} was {was} and is {now}"
    return None


def _durable(case: Case) -> str | None:
    own, checkpoint = case.state.ownership, case.checkpoint
    holding = own.holding
    if checkpoint is not None and (
        holding is None
        or checkpoint.incarnation != holding.incarnation
        or checkpoint.generation != own.generation
    ):
        return (
            f"the checkpoint is of generation {checkpoint.generation}, the owner is at "
            f"{own.generation}"
        )
    if own.agent_id is None:
        return None
    bound = case.states[agent_stream(own.agent_id)].agent.owner
    if bound != case.owner:
        return f"its agent {own.agent_id} is bound to {bound}"
    return None


def _authority(case: Case) -> str | None:
    checkpoint = case.checkpoint
    if checkpoint is None or not isinstance(case.snapshot, RestartSnapshot):
        return None
    named = case.snapshot.config.grants
    needed = checkpoint.grants if named is None else named
    allowed = allowed_grants(case)
    missing = sorted(set(needed).difference(allowed or ()))
    if allowed is None or not missing:
        return None
    return f"it may not {', '.join(missing)} any more"


CHECKS: Mapping[Assertion, Callable[[Case], str | None]] = {
    "partial_recovery_descriptor": _partial,
    "invalid_recovery_descriptor": _invalid,
    "missing_conversation": _conversation,
    "invalid_structural_owner_identity": _structure,
    "recovery_identity_mismatch": _identity,
    "invalid_durable_owner_identity": _durable,
    "invalid_inherited_execution_authority": _authority,
}
"""Each returns what it found, None when it holds."""
ASSERTIONS: tuple[Assertion, ...] = get_args(Assertion)
