"""The steps of a gate: it strips leftovers and delivers notices."""

from __future__ import annotations

import reference_gating as gating
from driving import Drive
from driving_choices import KEYS, authority, message, said, somebody
from driving_words import Chooser
from tenure import Authority, OwnerRef
from tenure_ledger import events as e

__all__ = ["deliver", "strip"]


def strip(drive: Drive, choose: Chooser) -> object:
    """Strip a leftover, mostly one that is one, at the version that is read."""
    own = somebody(drive, choose)
    new = [name for name in KEYS if name not in own.messages]
    left = [
        m.key
        for m in own.messages.values()
        if m.open and not (m.accepted or m.started or own.running(m.key))
    ]
    name = choose([*left * 6, *new, choose(KEYS)])
    seen = drive.ledgers[0].owner(own.ref)
    cut = seen.cut.version if seen.cut else 0
    if not cut and choose((True, True, True, False)):
        return None
    right = "stale_admitted" if name in own.messages else "stale_unadmitted"
    verdict = choose((right,) * 9 + ("stale_admitted",))
    version = seen.version - choose((0,) * 9 + (1,))
    if version < 0:
        return None
    plan = gating.strip(drive.reference, own.ref, name, verdict, version, cut=bool(cut))
    call = said("strip_requests", own.ref, ((name, verdict, cut),), "gate", version)
    outcome = drive.ask(choose, plan, call)
    for one in drive.recorded.get(own.ref.stream, []):
        if isinstance(one.event, e.StaleRequestStripped):
            own.interrupts.setdefault(one.event.interrupt_id, None)
    return outcome


def deliver(drive: Drive, choose: Chooser) -> object:
    """Deliver what waits to a message, as its holder or as the gate."""
    held = authority(drive, choose)
    options: tuple[Authority | OwnerRef, ...] = (held, held, held.owner)
    by = choose(options)
    name = message(drive.reference.at(held.owner), choose)
    plan = gating.deliver(drive.reference, by, name)
    return drive.ask(choose, plan, said("deliver_notices", by, name))
