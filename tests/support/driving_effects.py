"""The steps about snapshots, approvals and tool calls."""

from __future__ import annotations

import reference_effects as effects
from driving import Drive
from driving_choices import (
    ARGUMENTS,
    KEYS,
    PAYLOADS,
    authority,
    idle,
    inbox,
    message,
    said,
    some,
    somebody,
)
from driving_words import Chooser
from reference import Request
from tenure import arguments_digest

__all__ = [
    "clear_checkpoint",
    "close_approval",
    "complete_tool_call",
    "decide_approval",
    "late_result",
    "mark_output_started",
    "request_approval",
    "save_checkpoint",
    "tool_call",
]


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
    if idle(choose, inbox(drive, by)):
        return None
    name = message(drive.reference.at(by.owner), choose)
    plan = effects.mark_output_started(drive.reference, by, name)
    return drive.ask(choose, plan, said("mark_output_started", by, name))


def request_approval(drive: Drive, choose: Chooser) -> object:
    """Ask a person about a call."""
    by, call_id = authority(drive, choose), choose(("c1", "c2"))
    digest = arguments_digest(choose(ARGUMENTS))
    policy, timeout = choose(("v1",) * 5 + ("v2",)), choose((None, 5.0, 5.0, 30.0))
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


def close_approval(drive: Drive, choose: Chooser) -> object:
    """Give a request up."""
    by = authority(drive, choose)
    own = drive.reference.at(by.owner)
    if idle(choose, own.requests):
        return None
    name = choose([*own.requests, *own.requests, *own.requests, "none"])
    reason = choose(("expired", "expired", "void"))
    plan = effects.close_approval(drive.reference, by, name, reason)
    return drive.ask(choose, plan, said("close_approval", by, name, reason))


def tool_call(drive: Drive, choose: Chooser) -> object:
    """Intend or begin a call."""
    by, call_id = authority(drive, choose), choose(("c1", "c2", "c3"))
    if idle(choose, inbox(drive, by)):
        return None
    own = drive.reference.at(by.owner)
    name, arguments = message(own, choose), choose(ARGUMENTS)
    good = [one.call_id for one in own.requests.values() if usable(one)]
    repeat = choose((True, False, False))
    if good:
        call_id = choose((call_id, *good * 4))
    elif own.calls and repeat:
        name, call_id = choose(list(own.calls))
    tool, digest = choose(("write",) * 7 + ("read",)), arguments_digest(arguments)
    if choose((True, False, False)) and not good:
        plan = effects.intend_tool_call(
            drive.reference, by, name, call_id, tool, digest
        )
        call = said("intend_tool_call", by, name, call_id, tool, arguments)
        return drive.ask(choose, plan, call)
    mine = [at for at, one in own.requests.items() if one.call_id == call_id]
    approved = [at for at in mine if usable(own.requests[at])]
    approval = choose((*mine, *approved * 9, None, None, "none"))
    plan = effects.begin_tool_call(
        drive.reference, by, name, call_id, tool, digest, approval
    )
    call = said("begin_tool_call", by, name, call_id, tool, arguments, approval)
    return drive.ask(choose, plan, call)


def usable(one: Request) -> bool:
    """Say whether a call can still be made under this approval."""
    return one.decision == "approved" and not (one.consumed or one.closed)


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
