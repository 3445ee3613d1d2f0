"""The steps that move owners."""

from __future__ import annotations

from datetime import timedelta

import reference_ownership as ownership
from driving import Drive
from driving_choices import (
    BROWSER,
    GRANTS,
    HELPER,
    KEYS,
    anybody,
    authority,
    first,
    free,
    idle,
    in_state,
    lease,
    said,
    seldom,
    some,
    somebody,
    somebodys_child,
)
from driving_words import Chooser
from reference import Owner, Plan
from tenure import Evidence
from tenure_ledger.values import EvidenceKind

__all__ = [
    "advance",
    "claim",
    "delete_conversation",
    "grant",
    "resolve_quarantine",
    "restart",
    "retire",
    "revoke",
    "spawn",
    "succeed",
    "take_over",
    "terminate",
]


def claim(drive: Drive, choose: Chooser) -> object:
    """Claim what nobody holds, or what somebody does."""
    ref = choose((in_state(drive, choose, "terminal").ref, anybody(drive, choose)))
    agent, one = free(drive, choose), first(drive, drive.reference.at(ref), choose)
    options = {"first": one, "lease_seconds": lease(choose)}
    plan = ownership.claim(drive.reference, ref, agent, one)
    return drive.ask(choose, plan, said("claim", ref, agent, "host", **options))


def succeed(drive: Drive, choose: Chooser) -> object:
    """Begin the next term."""
    ref = in_state(drive, choose, "cut").ref
    if idle(choose, [ref] * (drive.reference.at(ref).status == "cut")):
        return None
    agent, one = free(drive, choose), first(drive, drive.reference.at(ref), choose)
    plan = ownership.succeed(drive.reference, ref, agent, one)
    return drive.ask(choose, plan, said("succeed", ref, agent, "host", first=one))


def evidence(own: Owner, choose: Chooser) -> Evidence | None:
    """Choose what is known of the holder, mostly fresh and good."""
    kinds: tuple[EvidenceKind, ...] = ("gone", "alive", "cannot_tell")
    kind = choose(kinds[:1] * 4 + kinds)
    holding = choose((own.incarnation, own.incarnation, own.incarnation, "another"))
    seen = max(0, own.version - choose((0, 0, 0, 0, 0, 0, 1, 3, -1)))
    said_of = Evidence(kind, holding or "nobody", seen, "looked")
    return choose((said_of, said_of, said_of, said_of, None))


def take_over(drive: Drive, choose: Chooser) -> object:
    """Take over with evidence of every kind, or without."""
    own = choose((somebody(drive, choose), in_state(drive, choose, "revoked")))
    agent = choose((free(drive, choose), own.agent, own.agent, None))
    proof, one = evidence(own, choose), first(drive, own, choose)
    override = choose((False, False, True))
    plan = ownership.take_over(
        drive.reference, own.ref, agent, proof, one, override=override
    )
    if not plan.refused and override and proof and proof.kind != "gone":
        drive.seen["override"] += 1
    if plan.refused and own.status == "live" and proof and override:
        drive.seen[f"refused in spite of override: {min(plan.refused)}"] += 1
    if not plan.refused and own.status == "revoked":
        drive.seen["thing taken without evidence"] += 1
    call = said(
        "take_over", own.ref, agent, "host", proof, override=override, first=one
    )
    return drive.ask(choose, plan, call)


def restart(drive: Drive, choose: Chooser) -> object:
    """Take over by the owner's own agent, with evidence that its last run is gone."""
    own = in_state(drive, choose, "live")
    if own.incarnation is None:
        return None
    proof = Evidence("gone", own.incarnation, own.version)
    plan = ownership.take_over(
        drive.reference, own.ref, own.agent, proof, None, override=False
    )
    call = said("take_over", own.ref, own.agent, "host", proof)
    return drive.ask(choose, plan, call)


def advance(drive: Drive, choose: Chooser) -> object:
    """Renew or migrate."""
    by = authority(drive, choose)
    reason = choose(("lease_renewal", "migration"))
    agent = choose((None, None, free(drive, choose)))
    plan = ownership.advance(drive.reference, by, reason, agent)
    call = said("advance", by, reason, agent, lease_seconds=lease(choose))
    return drive.ask(choose, plan, call)


def spawn(drive: Drive, choose: Chooser) -> object:
    """Spawn a sub-agent or a used thing."""
    by, child = authority(drive, choose), somebodys_child(drive, choose)
    thing = child.recovery_class == "browser"
    agent = choose((None if thing else free(drive, choose),) * 5 + (None, "a1"))
    grants = choose(GRANTS)
    plan = ownership.spawn(drive.reference, by, child, agent, grants)
    call = said("spawn", by, child, agent, grants=grants, author="host")
    return drive.ask(choose, plan, call)


def grant(drive: Drive, choose: Chooser) -> object:
    """Grant a child more."""
    by, names = authority(drive, choose), choose(GRANTS[1:])
    mine = list(drive.reference.at(by.owner).children)
    if idle(choose, mine):
        return None
    child = choose([*mine * 4, somebodys_child(drive, choose)])
    later = drive.world.now + timedelta(seconds=choose((5, 50, 5000)))
    until = choose((None, later))
    plan = ownership.grant(drive.reference, by, child, names, until)
    return drive.ask(choose, plan, said("grant", by, child, names, until))


def revoke(drive: Drive, choose: Chooser) -> object:
    """Take grants back."""
    by, names = authority(drive, choose), choose((None, *GRANTS[1:]))
    mine = list(drive.reference.at(by.owner).children)
    if idle(choose, mine):
        return None
    child = choose([*mine * 4, somebodys_child(drive, choose)])
    held = tuple(drive.reference.at(child).grants)
    plan = ownership.revoke(
        drive.reference, by, child, held if names is None else names
    )
    return drive.ask(choose, plan, said("revoke", by, child, names))


def retire(drive: Drive, choose: Chooser) -> object:
    """Retire, with or without a hand-over and finished executions."""
    by = authority(drive, choose)
    own = drive.reference.at(by.owner)
    running = [m.key for m in own.messages.values() if own.running(m.key) and m.started]
    finishes = some(choose, [*running * 4, *KEYS])
    plan = ownership.retire(drive.reference, by, finishes)
    options = {"handover": choose((None, "Next: B.")), "finishes": finishes}
    call = said("retire", by, choose(("accepted", "continue")), **options)
    return drive.ask(choose, plan, call)


def terminate(drive: Drive, choose: Chooser) -> object:
    """Terminate, in one of two ways."""
    if seldom(choose):
        return None
    by, kind = authority(drive, choose), choose(("done", "failed"))
    plan = ownership.terminate(drive.reference, by, kind, "Ended.")
    return drive.ask(choose, plan, said("terminate", by, kind, "Ended."))


def delete_conversation(drive: Drive, choose: Chooser) -> object:
    """Delete, seldom."""
    if seldom(choose):
        return None
    ref = choose((anybody(drive, choose), HELPER, BROWSER))
    plan = ownership.delete_conversation(drive.reference, ref)
    return drive.ask(choose, plan, said("delete_conversation", ref, "a person"))


def resolve_quarantine(drive: Drive, choose: Chooser) -> object:
    """Ask to end a quarantine that there never is."""
    if seldom(choose):
        return None
    own = drive.reference.at(anybody(drive, choose))
    call = said("resolve_quarantine", own.ref, choose((0, 1, 2)), "host")
    return drive.ask(choose, Plan(frozenset({"not_found"}), writes=False), call)
