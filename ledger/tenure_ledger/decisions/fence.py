"""Who may write now: the fence, and why an owner's stream takes nothing at all.

Source of the rules: design section 2 (authority), section 4 (unfenced writes).
"""

from __future__ import annotations

from tenure_ledger.errors import (
    Deleted,
    FencedOut,
    InvalidInput,
    OwnerEnded,
    Quarantined,
    Rejection,
    TermRetired,
    TooNew,
    UnknownOwner,
    refuse,
)
from tenure_ledger.folds.stream import State
from tenure_ledger.values import RESTORED, Authority, OwnerRef

__all__ = [
    "blocked",
    "blocked_or_unclaimed",
    "fence",
    "newer",
    "stopped",
    "unclaimed",
    "unfenced",
]


def blocked(state: State, owner: OwnerRef) -> Rejection | None:
    """Return why no command at all may act on this owner, if so."""
    if owner == RESTORED:
        return refuse(InvalidInput, f"{owner} is the ledger's own: use another owner")
    return stopped(state, owner)


def blocked_or_unclaimed(state: State, owner: OwnerRef) -> Rejection | None:
    """Return why nobody may come after a holder of this owner, if so."""
    refusal = blocked(state, owner)
    if refusal is None and state.ownership.status == "absent":
        refusal = unclaimed(owner)
    return refusal


def stopped(state: State, owner: OwnerRef) -> Rejection | None:
    """Return why nothing can be decided on this stream, if so."""
    if state.too_new:
        return newer(state, owner)
    if state.quarantine is not None:
        later, earlier = state.quarantine.version, state.quarantine.against
        return refuse(
            Quarantined,
            f"events {earlier} and {later} of {owner} contradict each other: "
            "say with resolve_quarantine which one stands",
            positions=(earlier, later),
        )
    if state.ownership.status == "deleted":
        return refuse(
            Deleted,
            f"{owner} was deleted at version {state.ownership.ended}: use a new id",
            version=state.ownership.ended,
        )
    return None


def newer(state: State, owner: OwnerRef) -> Rejection:
    """Refuse because the stream holds an event that this version cannot read."""
    return refuse(
        TooNew,
        f"{owner} holds an event of a newer version at {state.too_new}: "
        "upgrade this process",
        version=state.too_new,
    )


def unclaimed(owner: OwnerRef) -> Rejection:
    """Refuse because the owner never had a holder."""
    return refuse(UnknownOwner, f"nobody ever claimed {owner}: claim it first")


def unfenced(state: State, owner: OwnerRef) -> Rejection | None:
    """Return why what needs no authority may not be written now, if so."""
    refusal = blocked(state, owner)
    if refusal is None and not state.version:
        refusal = refuse(
            UnknownOwner,
            f"nothing is on record for {owner}: check the id, or claim it first",
        )
    return refusal


def fence(state: State, authority: Authority) -> Rejection | None:
    """Return why this authority may not write now, None if it may (section 2)."""
    owner = authority.owner
    refusal = blocked(state, owner)
    if refusal is not None:
        return refusal
    own = state.ownership
    holding = own.holding
    if own.status == "absent" or holding is None:
        return unclaimed(owner)
    if own.status in {"terminal", "imported"}:
        return refuse(
            OwnerEnded,
            f"{owner} ended at version {own.ended}: stop; claim starts it again",
            version=own.ended,
            generation=own.generation,
        )
    if (
        own.live
        and authority.incarnation == holding.incarnation
        and authority.generation <= own.generation
    ):
        return None
    holder = holding.agent_id if own.live else None
    now = f"{holder} holds it at" if holder else "it stands at"
    if authority.incarnation in own.retired or own.status == "cut":
        at = own.retired.get(authority.incarnation, own.ended)
        return refuse(
            TermRetired,
            f"your term of {owner} ended by the cut at version {at}; {now} "
            f"generation {own.generation}: stop working"
            + ("" if holder else "; succeed begins the next term"),
            holder=holder,
            generation=own.generation,
            cut=at,
        )
    return refuse(
        FencedOut,
        f"your holding of {owner} (generation {authority.generation}) ended; {now} "
        f"generation {own.generation}: stop working",
        holder=holder,
        generation=own.generation,
        granted=holding.granted,
    )
