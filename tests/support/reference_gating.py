"""The reference, sixth part: what must come of what a gate writes."""

from __future__ import annotations

from reference import Message, Plan, Reference, no, run
from reference_terms import settle
from tenure import Authority, OwnerRef

__all__ = ["deliver", "strip"]

NOBODY = {"absent": "unknown_owner", "cut": "term_retired", "revoked": "fenced_out"}


def strip(
    world: Reference, ref: OwnerRef, key: str, verdict: str, version: int, *, cut: bool
) -> Plan:
    """Strip a leftover for ever: nothing that a person sent, nothing that runs."""
    own = world.at(ref)
    if own.status == "deleted":
        return no("deleted")
    if not own.written:
        return no("unknown_owner")
    known = own.messages.get(key)
    if known and (known.stripped or own.running(key)):
        return Plan(writes=False)
    if own.status != "live":
        return no(NOBODY.get(own.status, "owner_ended"))
    if version != own.version:
        return no("owner_moved")
    used = known and (known.accepted or known.started or known.outcome)
    fits = verdict == ("stale_admitted" if known else "stale_unadmitted")
    if not cut or used or not fits:
        return no("invalid_input")

    def then() -> None:
        if known:
            settle(own, key, "stripped")
        own.messages.setdefault(key, Message(key)).stripped = True

    return Plan(then=run(then))


def deliver(world: Reference, by: Authority | OwnerRef, key: str) -> Plan:
    """Give what waits to a message of the live term."""
    ref = by if isinstance(by, OwnerRef) else by.owner
    own = world.at(ref)
    refused = None if isinstance(by, OwnerRef) else world.fence(by)
    if isinstance(by, OwnerRef) and own.status == "deleted":
        refused = "deleted"
    if isinstance(by, OwnerRef) and not own.written:
        refused = "unknown_owner"
    if not refused and not own.running(key):
        refused = "not_admitted"
    if not refused and own.messages[key].outcome:
        refused = "already_decided"
    return no(refused) if refused else Plan(writes=None)
