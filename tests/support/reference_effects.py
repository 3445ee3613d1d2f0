"""The reference, fifth part: checkpoints, markers, approvals and tool calls."""

from __future__ import annotations

from datetime import timedelta

from reference import Call, Checkpoint, Owner, Plan, Reference, Request, no, run
from reference_messages import ENDED
from tenure import Approval, Authority, OwnerRef

__all__ = [
    "begin_tool_call",
    "clear_checkpoint",
    "close_approval",
    "complete_tool_call",
    "decide_approval",
    "intend_tool_call",
    "late_result",
    "mark_output_started",
    "request_approval",
    "save_checkpoint",
]


def _unsettled(own: Owner, key: str) -> str | None:
    if not own.running(key):
        return "not_admitted"
    return "already_decided" if own.messages[key].outcome else None


def save_checkpoint(
    world: Reference,
    authority: Authority,
    payload: object,
    keys: tuple[str, ...] | None,
    revision: int | None,
) -> Plan:
    """Replace the snapshot, never by an older one."""
    own = world.at(authority.owner)
    refused = world.fence(authority)
    if not refused and own.agent is None:
        refused = "invalid_input"
    for key in keys or ():
        refused = refused or _unsettled(own, key)
    if refused:
        return no(refused)
    before = own.checkpoint
    at = own.revision + 1 if revision is None else revision
    if before and (at, payload) == (before.revision, before.payload):
        keys = before.keys if keys is None else keys
        return Plan(writes=False) if keys == before.keys else no("stale_checkpoint")
    if at <= own.revision:
        return no("stale_checkpoint")
    live = [m for m in own.messages.values() if own.running(m.key) and m.open]
    if keys is None:
        keys = tuple(m.key for m in live)

    def then(_: object) -> None:
        own.checkpoint, own.revision = Checkpoint(at, payload, keys), at

    return Plan(then=then)


def clear_checkpoint(
    world: Reference, authority: Authority, revision: int | None
) -> Plan:
    """Drop the snapshot, if it is the one that was meant."""
    own = world.at(authority.owner)
    refused = world.fence(authority)
    if refused:
        return no(refused)
    if own.checkpoint is None:
        return Plan(writes=False)
    if revision not in {None, own.checkpoint.revision}:
        return no("stale_checkpoint")
    return Plan(then=run(lambda: setattr(own, "checkpoint", None)))


def mark_output_started(world: Reference, authority: Authority, key: str) -> Plan:
    """Say that output is about to start; so the work has begun, said or not."""
    own = world.at(authority.owner)
    refused = world.fence(authority)
    if refused or not own.running(key):
        return no(refused or "not_admitted")
    lead = own.lead(key)
    if lead.output:
        return Plan(writes=False)
    if own.messages[key].outcome:
        return no("already_decided")

    def then(version: object) -> None:
        assert isinstance(version, int)
        lead.output = True
        for one in own.group(lead):
            if not one.started:
                one.started, one.by = version - 1, own.incarnation

    return Plan(then=then)


def request_approval(
    world: Reference,
    authority: Authority,
    call_id: str,
    tool: str,
    arguments: object,
    policy: str,
    timeout: float | None,
) -> Plan:
    """Ask a person; the same question has the request that is open."""
    own = world.at(authority.owner)
    refused = world.fence(authority)
    if refused:
        return no(refused)
    known = _latest(own, call_id)
    if known and not (known.consumed or known.closed):
        same = (known.tool, known.arguments, known.policy) == (tool, arguments, policy)
        return Plan(writes=False) if same else no("key_reused")
    expires = None if timeout is None else world.now + timedelta(seconds=timeout)

    def then(outcome: object) -> None:
        assert isinstance(outcome, Approval)
        at_work = [m for m in own.messages.values() if own.running(m.key) and m.open]
        at_work = [m for m in at_work if m.started and m.lead is None]
        last = max(at_work, key=lambda m: m.started, default=None)
        working = last.key if last else None
        request = Request(call_id, tool, arguments, policy, expires, own.term, working)
        own.requests[outcome.request_id] = request

    return Plan(then=then)


def _latest(own: Owner, call_id: str) -> Request | None:
    found = [r for r in own.requests.values() if r.call_id == call_id]
    return found[-1] if found else None


def decide_approval(
    world: Reference, ref: OwnerRef, request_id: str, decision: str
) -> Plan:
    """Keep the first decision; after the time-out close it."""
    own = world.at(ref)
    if own.status == "deleted":
        return no("deleted")
    known = own.requests.get(request_id)
    if known is None:
        return no("not_found" if own.written else "unknown_owner")
    if known.decision or known.closed:
        return no("already_decided")
    late = known.expires is not None and world.now >= known.expires
    field = ("closed", "expired") if late else ("decision", decision)
    return Plan(then=run(lambda: setattr(known, *field)))


def close_approval(
    world: Reference, authority: Authority, request_id: str, reason: str
) -> Plan:
    """Give up a request that nobody decided, or one that is not to be used."""
    own = world.at(authority.owner)
    refused = world.fence(authority)
    if refused:
        return no(refused)
    known = own.requests.get(request_id)
    if known is None:
        return no("not_found")
    if known.closed == reason:
        return Plan(writes=False)
    void = known.decision == "approved" and reason == "void"
    if known.closed or known.consumed or (known.decision and not void):
        return no("already_decided")
    return Plan(then=run(lambda: setattr(known, "closed", reason)))


def _callable(own: Owner, key: str) -> str | None:
    refused = _unsettled(own, key)
    if refused:
        return refused
    barred = own.messages[key].covered or own.lead(key).covered
    return "not_admitted" if barred else None


def intend_tool_call(
    world: Reference,
    authority: Authority,
    key: str,
    call_id: str,
    tool: str,
    arguments: object,
) -> Plan:
    """Record a call without running it."""
    own = world.at(authority.owner)
    refused = world.fence(authority)
    known = own.calls.get((key, call_id))
    if known and not refused:
        same = (known.tool, known.arguments) == (tool, arguments)
        return Plan(writes=False) if same else no("key_reused")
    refused = refused or _callable(own, key)
    if refused:
        return no(refused)
    new = Call(tool, arguments)
    return Plan(then=run(lambda: own.calls.update({(key, call_id): new})))


def begin_tool_call(
    world: Reference,
    authority: Authority,
    key: str,
    call_id: str,
    tool: str,
    arguments: object,
    approval: str | None,
) -> Plan:
    """Say "run it" once."""
    own = world.at(authority.owner)
    refused = world.fence(authority)
    known = own.calls.get((key, call_id))
    if known and not refused:
        if (known.tool, known.arguments) != (tool, arguments):
            return no("key_reused")
        if known.dispatched or known.done or known.late:
            return Plan(writes=False)
    refused = refused or _callable(own, key)
    refused = refused or _approved(own, call_id, tool, arguments, approval)
    if known and known.closed:
        refused = refused or "not_admitted"
    if refused:
        return no(refused)

    lead = own.lead(key)

    def then(_: object) -> None:
        call = own.calls.setdefault((key, call_id), Call(tool, arguments))
        call.dispatched, call.by = True, own.incarnation
        if approval is not None:
            own.requests[approval].consumed = True
        if not lead.started:
            for one in own.group(lead):
                one.started, one.by = own.version + 1, own.incarnation

    return Plan(then=then)


def _approved(
    own: Owner, call_id: str, tool: str, arguments: object, approval: str | None
) -> str | None:
    known = own.requests.get(approval) if approval else _latest(own, call_id)
    if known and not approval and (known.consumed or known.term != own.term):
        return None
    if known is None:
        return "not_found" if approval else None
    if (known.call_id, known.tool, known.arguments) != (call_id, tool, arguments):
        return "key_reused"
    if known.consumed or known.closed or known.decision == "denied":
        return "already_decided"
    return None if known.decision and approval else "not_admitted"


def complete_tool_call(
    world: Reference, authority: Authority, key: str, call_id: str, result: object
) -> Plan:
    """Keep the first result; a late one is stored and refused all the same."""
    own = world.at(authority.owner)
    refused = world.fence(authority)
    known = own.calls.get((key, call_id))
    if known is None:
        return no(refused or "not_found")

    def late(_: object) -> None:
        known.late, known.result = True, result

    if refused:
        if refused not in ENDED or known.done or known.late:
            return no(refused)
        now = own.incarnation if own.status == "live" else None
        if now and not known.closed and known.by in {None, now}:
            return no(refused)  # the live holding runs it, or may do so yet
        return Plan(frozenset({refused}), late)
    if known.done or known.late:
        return Plan(writes=False) if known.result == result else no("already_decided")
    if known.closed:
        return Plan(then=late)
    if not known.dispatched:
        return no("not_admitted")

    def then(_: object) -> None:
        known.done, known.result = True, result

    return Plan(then=then)


def late_result(
    world: Reference, ref: OwnerRef, key: str, call_id: str | None, result: object
) -> Plan:
    """Store, once, what no live holding can report any more."""
    own = world.at(ref)
    if own.status == "deleted":
        return no("deleted")
    if not own.written:
        return no("unknown_owner")
    if call_id is None:
        return _late_message(own, key)
    call = own.calls.get((key, call_id))
    if call is None:
        return no("not_found")
    if call.late:
        return Plan(writes=False)
    if call.done:
        return no("already_decided")
    if not call.closed:
        return no("invalid_input")

    def then(_: object) -> None:
        call.late, call.result = True, result

    return Plan(then=then)


def _late_message(own: Owner, key: str) -> Plan:
    message = own.messages.get(key)
    if message is None:
        return no("not_found")
    if message.late:
        return Plan(writes=False)
    if message.outcome in {"completed", "failed"}:
        return no("already_decided")
    if not message.term:
        return no("not_admitted")
    if own.running(key) and message.open:
        return no("invalid_input")
    return Plan(then=run(lambda: setattr(message, "late", True)))
