"""Every public write method as a step: what it is called with, and its plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import TypeVar, get_args

import reference_effects as effects
import reference_messages as messages
import reference_ownership as ownership
from driving import Chooser, Drive, Said
from reference import Message, Owner, Plan

from tenure import (
    Authority,
    Evidence,
    First,
    OwnerRef,
    RuntimeRestartQueuedSubmission,
    RuntimeRestartReactionLoopState,
    arguments_digest,
)
from tenure_ledger import events as e
from tenure_ledger.values import Origin, ReplayReason

__all__ = [
    "FOCUS",
    "STEPS",
    "WEIGHTED",
    "Step",
    "begin",
]

T = TypeVar("T")
Step = Callable[[Drive, Chooser], object]

SESSION, OTHER, OLD = (OwnerRef("session", name) for name in ("s1", "s2", "old"))
HELPER, NESTED = OwnerRef("subagent", "h1"), OwnerRef("subagent", "h2")
BROWSER, TAB = OwnerRef("browser", "b1"), OwnerRef("browser", "t1")
OWNERS = (SESSION, OTHER, HELPER, NESTED, BROWSER, TAB, OLD)
CHILDREN = frozenset({HELPER, NESTED, BROWSER, TAB, OTHER})
FOCUS = (
    (SESSION,),
    (SESSION, SESSION, HELPER),
    (SESSION, SESSION, BROWSER),
    (SESSION, SESSION, HELPER, BROWSER, TAB),
    (SESSION, OTHER, OLD),
    (HELPER, NESTED, SESSION),
    OWNERS,
)
"""A walk has one of these: its steps ask mostly about these owners."""
AGENTS = ("a1", "a2", "a3", "a4", "a5")
KEYS = ("m1", "m2", "m3", "m4", "m5", "m6")
DIGESTS = (None, None, None, "d1", "d2")
ORIGINS: tuple[Origin, ...] = get_args(Origin)
REASONS: tuple[ReplayReason, ...] = get_args(ReplayReason)
GRANTS = ((), ("read",), ("read", "write"), ("write",))
PAYLOADS = (
    RuntimeRestartReactionLoopState(consecutive_batches=1),
    RuntimeRestartReactionLoopState(consecutive_batches=2),
    RuntimeRestartQueuedSubmission.model_construct(),
)
ARGUMENTS = ({"path": "a"}, {"path": "a"}, {"path": "b"})


def anybody(drive: Drive, choose: Chooser) -> OwnerRef:
    """Choose an owner, seldom one that this walk is not about."""
    focus = FOCUS[drive.focus]
    return choose((*focus * (48 // len(focus)), *OWNERS))


def somebodys_child(drive: Drive, choose: Chooser) -> OwnerRef:
    """Choose an owner that may be spawned."""
    focus = [one for one in FOCUS[drive.focus] if one in CHILDREN]
    return choose((*focus * 8, HELPER, BROWSER))


def somebody(drive: Drive, choose: Chooser) -> Owner:
    """Choose an owner, mostly one that is held, and mostly a session."""
    owners = list(drive.reference.owners.values())
    live = [one for one in owners if one.status == "live"]
    known = [one for one in owners if one.written and one.status != "deleted"]
    any_one = drive.reference.at(anybody(drive, choose))
    return choose([*live * 12, *known, any_one])


def in_state(drive: Drive, choose: Chooser, *wanted: str) -> Owner:
    """Choose an owner, mostly one in one of these states."""
    owners = list(drive.reference.owners.values())
    found = [one for one in owners if one.status in wanted]
    return choose([*found * 6, somebody(drive, choose)])


def authority(drive: Drive, choose: Chooser) -> Authority:
    """Choose whose authority speaks: mostly a live one, else a zombie's or a forgery."""
    owners = drive.reference.owners
    held = {o.incarnation: o for o in owners.values() if o.status == "live"}
    live = [one for one in drive.authorities if one.incarnation in held]
    own = somebody(drive, choose)
    forged = Authority(own.ref, own.generation + 1, own.incarnation or "none", "a1")
    made_up = Authority(own.ref, max(own.generation, 1), "made up", "a1")
    old = drive.authorities[-8:]
    strange = choose((forged, made_up, *old * 3))
    one = choose(choose((live or [strange],) * 5 + ([strange],)))
    return choose((one, Authority.from_json(one.to_json())))


def some(choose: Chooser, options: Sequence[T]) -> tuple[T, ...]:
    """Choose up to two, none mostly."""
    first, second = choose((0, 0, 0, 1, 2)), choose(options)
    return tuple(dict.fromkeys([choose(options), second]))[:first]


def key(own: Owner, choose: Chooser) -> str:
    """Choose a message, mostly one that the live term runs; the first if there is none.

    Then the step has little to work on: `idle` says so.
    """
    running = [m.key for m in own.messages.values() if own.running(m.key) and m.open]
    return choose([*running * 8, *(KEYS if running else KEYS[:1])])


def free(drive: Drive, choose: Chooser) -> str:
    """Choose an agent, mostly one that holds nothing."""
    live = [o.agent for o in drive.reference.owners.values() if o.status == "live"]
    return choose([*[a for a in AGENTS if a not in live] * 4, *AGENTS])


def first(drive: Drive, own: Owner, choose: Chooser) -> First | None:
    """Choose a first request, or none."""
    del drive
    waiting = [m.key for m in own.waiting()]
    new = First(choose([*waiting, *KEYS]), choose(ORIGINS), digest=choose(DIGESTS))
    return choose((None, None, new))


def busy(drive: Drive, by: Authority) -> bool:
    """Say whether the authority's owner knows any message."""
    return bool(drive.reference.at(by.owner).messages)


def idle(choose: Chooser, options: object) -> bool:
    """Say that there is nothing for this step to work on, and skip it mostly."""
    return not options and choose((True,) * 7 + (False,))


def seldom(choose: Chooser) -> bool:
    """Say that a step which ends much is not made this time."""
    return choose((True, True, True, False))


def lease(choose: Chooser) -> float | None:
    """Choose a lease."""
    return choose((None, None, 60.0))


def said(method: str, *arguments: object, **options: object) -> Said:
    """Return the call."""
    return Said(method, arguments, options)


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
    if idle(choose, drive.reference.at(ref).status == "cut"):
        return None
    agent, one = free(drive, choose), first(drive, drive.reference.at(ref), choose)
    plan = ownership.succeed(drive.reference, ref, agent, one)
    return drive.ask(choose, plan, said("succeed", ref, agent, "host", first=one))


def evidence(drive: Drive, own: Owner, choose: Chooser) -> Evidence | None:
    """Choose what is known of the holder, mostly fresh and good."""
    version = drive.folded[own.ref.stream].version if own.written else 0
    kind = choose(("gone", "gone", "gone", "gone", "alive", "cannot_tell"))
    holding = choose((own.incarnation, own.incarnation, own.incarnation, "another"))
    seen = max(0, version - choose((0, 0, 0, 0, 1, 3)))
    said_of = Evidence(kind, holding or "nobody", seen, "looked")
    return choose((said_of, said_of, said_of, said_of, None))


def take_over(drive: Drive, choose: Chooser) -> object:
    """Take over with evidence of every kind, or without."""
    own = choose((somebody(drive, choose), in_state(drive, choose, "revoked")))
    agent = choose((free(drive, choose), own.agent, own.agent, None))
    proof, one = evidence(drive, own, choose), first(drive, own, choose)
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


def accept(drive: Drive, choose: Chooser) -> object:
    """Accept a message for any owner."""
    ref, name = anybody(drive, choose), choose(KEYS)
    digest, human = choose(DIGESTS), choose((True, False))
    plan = messages.accept_message(drive.reference, ref, name, digest, human=human)
    call = said("accept", ref, name, "router", None, digest, human)
    return drive.ask(choose, plan, call)


def admit(drive: Drive, choose: Chooser) -> object:
    """Admit a message, with what it absorbs."""
    by, origin, digest = authority(drive, choose), choose(ORIGINS), choose(DIGESTS)
    waiting = [m.key for m in drive.reference.at(by.owner).waiting()]
    name, absorbed = choose(KEYS), some(choose, [*waiting, *KEYS])
    plan = messages.admit_message(drive.reference, by, name, origin, digest, absorbed)
    call = said("admit", by, name, origin, None, digest, absorbed)
    return drive.ask(choose, plan, call)


def start(drive: Drive, choose: Chooser) -> object:
    """Start it, by itself or into a running one."""
    by = authority(drive, choose)
    if idle(choose, busy(drive, by)):
        return None
    own = drive.reference.at(by.owner)
    name = key(own, choose)
    running = [m.key for m in own.messages.values() if own.running(m.key) and m.started]
    into = choose((None, None, choose([*running, *KEYS[:2]])))
    plan = messages.start(drive.reference, by, name, into)
    return drive.ask(choose, plan, said("start", by, name, into))


def settle(drive: Drive, choose: Chooser) -> object:
    """Settle it in one of the host's ways."""
    by = authority(drive, choose)
    if idle(choose, busy(drive, by)):
        return None
    name = key(drive.reference.at(by.owner), choose)
    outcome = choose(("completed", "failed", "cancelled"))
    plan = messages.settle_message(drive.reference, by, name, outcome)
    return drive.ask(choose, plan, said("settle", by, name, outcome))


def strip(drive: Drive, choose: Chooser) -> object:
    """Strip a leftover as the gate does, after a cut, where no live term runs it."""
    own = somebody(drive, choose)
    left = [Message(name) for name in KEYS if name not in own.messages]
    left += [m for m in own.messages.values() if m.term and not m.accepted]
    left = [m for m in left if m.open and not m.started and not own.running(m.key)]
    if not own.cut or not left or seldom(choose) or own.status == "deleted":
        return None
    known = choose(left)
    shared = {"author": "gate", "generation": own.generation, "key": known.key}
    events: list[e.Event] = []
    if known.term:
        settled = e.ExecutionSettled.model_validate({**shared, "outcome": "stripped"})
        events.append(settled)
        known.outcome = "stripped"
    number = len(own.interrupts)
    asked = {"verdict": "stale_unadmitted", "cut": 1, "interrupt_id": f"i{number}"}
    events.append(e.StaleRequestStripped.model_validate({**shared, **asked}))
    own.messages[known.key] = known
    own.interrupts[f"i{number}"] = None
    known.stripped = True
    drive.last = None
    drive.world.append(own.ref, *events)
    return drive.check(drive.news(), own.ref)


def settle_interrupt(drive: Drive, choose: Chooser) -> object:
    """Give an interrupt up."""
    own = somebody(drive, choose)
    if idle(choose, own.interrupts):
        return None
    name = choose([*own.interrupts, *own.interrupts, "i9"])
    outcome = choose(("given up", "gone"))
    plan = messages.settle_interrupt(drive.reference, own.ref, name, outcome)
    call = said("settle_interrupt", own.ref, name, outcome, "a person")
    return drive.ask(choose, plan, call)


def history_rewritten(drive: Drive, choose: Chooser) -> object:
    """Rewrite the history."""
    by, generation = authority(drive, choose), choose((0, 1, 2, 3))
    floor = choose((None, "m1"))
    plan = messages.history_rewritten(drive.reference, by, generation, floor)
    call = said("history_rewritten", by, generation, floor)
    return drive.ask(choose, plan, call)


def bar_replay(drive: Drive, choose: Chooser) -> object:
    """Bar everything or something; the same again adds nothing."""
    ref, reason = somebody(drive, choose).ref, choose(REASONS)
    names = choose((None, None, *((name,) for name in KEYS), KEYS[:2]))
    plan = messages.bar(drive.reference, ref, reason, names)
    call = said("bar_replay", ref, reason, "a person", names)
    return drive.ask(choose, plan, call)


def save_checkpoint(drive: Drive, choose: Chooser) -> object:
    """Save a snapshot."""
    by, payload = authority(drive, choose), choose(PAYLOADS)
    own = drive.reference.at(by.owner)
    running = [m.key for m in own.messages.values() if own.running(m.key) and m.open]
    names = choose((None, None, (), some(choose, [*running * 3, *KEYS])))
    revision = choose((None, None, None, 0, 1, 2, 3))
    plan = effects.save_checkpoint(drive.reference, by, payload, names, revision)
    call = said("save_checkpoint", by, payload, keys=names, revision=revision)
    return drive.ask(choose, plan, call)


def clear_checkpoint(drive: Drive, choose: Chooser) -> object:
    """Clear the snapshot."""
    by, revision = authority(drive, choose), choose((None, None, 0, 1, 2))
    plan = effects.clear_checkpoint(drive.reference, by, revision)
    call = said("clear_checkpoint", by, revision=revision)
    return drive.ask(choose, plan, call)


def mark_output_started(drive: Drive, choose: Chooser) -> object:
    """Mark that output starts."""
    by = authority(drive, choose)
    if idle(choose, busy(drive, by)):
        return None
    name = key(drive.reference.at(by.owner), choose)
    plan = effects.mark_output_started(drive.reference, by, name)
    return drive.ask(choose, plan, said("mark_output_started", by, name))


def request_approval(drive: Drive, choose: Chooser) -> object:
    """Ask a person about a call."""
    by, call_id = authority(drive, choose), choose(("c1", "c2"))
    digest = arguments_digest(choose(ARGUMENTS))
    policy, timeout = choose(("v1", "v1", "v2")), choose((None, 30.0))
    plan = effects.request_approval(
        drive.reference, by, call_id, "write", digest, policy, timeout
    )
    call = said("request_approval", by, call_id, "write", digest, policy, timeout)
    return drive.ask(choose, plan, call)


def decide_approval(drive: Drive, choose: Chooser) -> object:
    """Decide it, first or too late."""
    own = somebody(drive, choose)
    if idle(choose, own.requests):
        return None
    name = choose([*own.requests, *own.requests, *own.requests, "none"])
    decision = choose(("approved", "approved", "denied"))
    plan = effects.decide_approval(drive.reference, own.ref, name, decision)
    call = said("decide_approval", own.ref, name, decision, "a person")
    return drive.ask(choose, plan, call)


def tool_call(drive: Drive, choose: Chooser) -> object:
    """Intend or begin a call."""
    by, call_id = authority(drive, choose), choose(("c1", "c2", "c3"))
    if idle(choose, busy(drive, by)):
        return None
    own = drive.reference.at(by.owner)
    name, arguments = key(own, choose), choose(ARGUMENTS)
    asked = [one.call_id for one in own.requests.values() if not one.consumed]
    call_id = choose((call_id, *asked[-1:] * 2))
    tool, digest = choose(("write", "write", "read")), arguments_digest(arguments)
    if choose((True, False, False)):
        plan = effects.intend_tool_call(
            drive.reference, by, name, call_id, tool, digest
        )
        call = said("intend_tool_call", by, name, call_id, tool, arguments)
        return drive.ask(choose, plan, call)
    mine = [at for at, one in own.requests.items() if one.call_id == call_id]
    approval = choose((*mine * 4, None, None, "none"))
    plan = effects.begin_tool_call(
        drive.reference, by, name, call_id, tool, digest, approval
    )
    call = said("begin_tool_call", by, name, call_id, tool, arguments, approval)
    return drive.ask(choose, plan, call)


def complete_tool_call(drive: Drive, choose: Chooser) -> object:
    """Complete a call, in time or late."""
    by = authority(drive, choose)
    own = drive.reference.at(by.owner)
    if idle(choose, own.calls):
        return None
    at = choose([*own.calls, *own.calls, *own.calls, ("m1", "c1")])
    result = choose(("good", "good", None))
    plan = effects.complete_tool_call(drive.reference, by, *at, result)
    return drive.ask(choose, plan, said("complete_tool_call", by, at, result))


def late_result(drive: Drive, choose: Chooser) -> object:
    """Store what became known after the end."""
    own = somebody(drive, choose)
    if idle(choose, own.calls) or idle(choose, own.messages):
        return None
    at = choose([*own.calls, *own.calls, choose([*own.messages, *KEYS])])
    name, call_id = (at, None) if isinstance(at, str) else at
    plan = effects.late_result(drive.reference, own.ref, name, call_id, "known")
    return drive.ask(choose, plan, said("late_result", own.ref, "host", at, "known"))


def move_clock(drive: Drive, choose: Chooser) -> None:
    """Let time pass, jump, or go back."""
    drive.world.pass_seconds(choose((1, 1, 20, 3600, -1, -40, -86400)))
    drive.reference.now = drive.world.now
    drive.last = None


def again(drive: Drive, choose: Chooser) -> None:
    """Say the last thing again."""
    drive.again(choose)


STEPS: Mapping[str, Step] = {
    step.__name__: step
    for step in (
        claim,
        succeed,
        take_over,
        advance,
        spawn,
        grant,
        revoke,
        retire,
        terminate,
        delete_conversation,
        resolve_quarantine,
        accept,
        admit,
        start,
        settle,
        strip,
        settle_interrupt,
        history_rewritten,
        bar_replay,
        save_checkpoint,
        clear_checkpoint,
        mark_output_started,
        request_approval,
        decide_approval,
        tool_call,
        complete_tool_call,
        late_result,
        move_clock,
        again,
    )
}

OFTEN = {"claim": 2, "succeed": 3, "accept": 2, "admit": 6, "start": 5, "settle": 2}
OFTEN |= {"take_over": 3, "spawn": 2, "tool_call": 4, "complete_tool_call": 2}
OFTEN |= {"request_approval": 2, "decide_approval": 2, "save_checkpoint": 2}
OFTEN |= {"mark_output_started": 2, "bar_replay": 2, "again": 3}
WEIGHTED = [step for name, step in STEPS.items() for _ in range(OFTEN.get(name, 1))]
"""The steps, those of the interesting states more than once."""


def begin(drive: Drive, choose: Chooser) -> None:
    """Choose what the walk is about; begin with a history of an older version."""
    drive.focus = choose(range(len(FOCUS)))
    if OLD not in FOCUS[drive.focus]:
        return
    drive.world.append(OLD, e.OwnershipClaimed(author="import", generation=0))
    own = drive.reference.at(OLD)
    own.status, own.term = "imported", 1
    drive.check(drive.news(), OLD)
