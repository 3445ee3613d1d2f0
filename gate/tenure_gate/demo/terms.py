"""The scene without a gate: what the ledger alone refuses, keeps and carries over."""

from __future__ import annotations

from collections.abc import Callable

from tenure import (
    Authority,
    ChatExecutionKey,
    Evidence,
    Execution,
    First,
    Head,
    Ledger,
    NotAdmitted,
    OwnerIsLive,
    Refused,
    TermRetired,
)
from tenure_gate.demo.crash import SESSION
from tenure_gate.demo.telling import Telling

__all__ = ["first_term", "second_term", "third_term", "verify"]

MAIL = {"to": "team@example.org", "text": "A is done"}


def first_term(tell: Telling, ledger: Ledger) -> Authority:
    """Work, and end the term by a cut."""
    tell.title("The ledger alone, without a gate: the first term")
    one = ledger.claim(SESSION, "manager/1", "host", first=First("msg_1", "human"))
    tell.step(
        "claim",
        f"manager/1 holds {SESSION}, generation {one.generation}",
        why="msg_1 is admitted in the same transaction. The authority that comes back "
        "proves this holding; every later write shows it.",
        holds=one.generation == 1 and _known(ledger, "msg_1").admitted > 0,
    )
    ledger.start(one, "msg_1")
    ledger.accept(SESSION, "msg_2", "inbox", human=True)
    refusal = _refusal(lambda: ledger.start(one, "msg_2"))
    tell.step(
        "accept msg_2",
        f"on record while msg_1 runs; to start it: {_said(refusal)}",
        why="Accepted means that it cannot get lost. It lets nothing pass: only an "
        "admission to the live term does.",
        holds=isinstance(refusal, NotAdmitted),
    )
    ledger.settle(one, "msg_1", "completed")
    ledger.admit(one, "msg_2", "human")
    ledger.start(one, "msg_2")
    tell.step(
        "settle, admit",
        f"msg_1 is {_known(ledger, 'msg_1').outcome}, msg_2 runs",
        why="The first outcome of an execution is final.",
        holds=_known(ledger, "msg_2").started > _known(ledger, "msg_1").settled > 0,
    )
    call = ledger.begin_tool_call(one, "msg_2", "call_1", "send_mail", MAIL)
    again = ledger.begin_tool_call(one, "msg_2", "call_1", "send_mail", MAIL)
    tell.step(
        "begin_tool_call",
        f"send_mail is {call.state}: run it; asked again: {again.state}",
        why="The dispatch is on the disk before the mail leaves, and the answer that "
        "lets it leave is given once.",
        holds=(call.state, again.state) == ("fresh", "unknown"),
    )
    for name in ("msg_3", "msg_4"):
        ledger.accept(SESSION, name, "inbox", human=True)
    ledger.retire(one, "continue", handover="Done: A. Next: B.")
    waiting = ledger.owner(SESSION).waiting
    tell.step(
        "retire",
        f"msg_2 is {_known(ledger, 'msg_2').outcome}; {', '.join(waiting)} wait",
        why="The cut ends what was started. What nobody started is kept for the next.",
        holds=waiting == ("msg_3", "msg_4"),
    )
    return one


def second_term(tell: Telling, ledger: Ledger, one: Authority) -> Authority:
    """Succeed, and meet what still comes from the first term."""
    tell.title("The second term")
    first = First("relay_1", "continue_relay")
    two = ledger.succeed(SESSION, "manager/2", "host", first=first)
    order = ("msg_3", "msg_4", "relay_1")
    versions = [_known(ledger, name).admitted for name in order]
    cut = ledger.owner(SESSION).cut
    tell.step(
        "succeed",
        f"generation {two.generation} admits {', '.join(order)}",
        why="What waited is carried over in its order, then comes the term's own first "
        "request. Being admitted after the cut is what makes it legitimate, not what "
        "it looks like.",
        holds=two.generation == one.generation + 1
        and cut is not None
        and cut.version < versions[0]
        and versions == sorted(set(versions)),
    )
    refusal = _refusal(lambda: ledger.admit(one, "retry_1", "assistant_run"))
    tell.step(
        "manager/1 admits",
        f"refused: {_said(refusal)}",
        why="A retry of the first term wakes up late. Its holding ended with the cut, "
        "so it cannot act, and nothing of it is stored.",
        holds=isinstance(refusal, TermRetired)
        and ledger.execution(ChatExecutionKey("ses_3", "retry_1")) is None,
    )
    sent = ("msg_2", "call_1")
    late = _refusal(lambda: ledger.complete_tool_call(one, sent, {"sent": True}))
    call = ledger.tool_call(SESSION, *sent)
    kept = f", kept at version {late.late}" if isinstance(late, TermRetired) else ""
    tell.step(
        "manager/1 reports",
        f"refused: {_said(late)}{kept}",
        why="The mail did go out, and manager/2 has to know. A late fact is kept; a "
        "late act is not.",
        holds=isinstance(late, TermRetired)
        and call is not None
        and (call.state, call.late, call.result) == ("completed", True, {"sent": True}),
    )
    return two


def third_term(tell: Telling, ledger: Ledger) -> None:
    """Take the session over from the process that was killed."""
    seen = ledger.owner(SESSION)
    refusal = _refusal(lambda: ledger.take_over(SESSION, "manager/3", "host"))
    evidence = Evidence.gone(seen, "killed, and waited for")
    three = ledger.take_over(SESSION, "manager/3", "host", evidence)
    tell.step(
        "take_over",
        f"without evidence: {_said(refusal)}; with it: generation {three.generation}",
        why="A silent holder may be alive. The evidence names the holding and the "
        "version that were looked at, and is on record.",
        holds=isinstance(refusal, OwnerIsLive)
        and three.generation == seen.generation + 1,
    )
    versions = [_known(ledger, name).admitted for name in seen.waiting]
    tell.step(
        "carried over",
        f"{len(versions)} messages, msg_4 first",
        why="All that was accepted and never started is admitted to this term, in its "
        "order, once.",
        holds=seen.waiting[0] == "msg_4"
        and versions == sorted(set(versions))
        and versions[0] > seen.version,
    )
    unfinished = [
        fact.key for notice in ledger.pending_notices(SESSION) for fact in notice.facts
    ]
    tell.step(
        "pending_notices",
        f"msg_3 is {_known(ledger, 'msg_3').outcome}, msg_2 too: both are listed",
        why="Nobody knows how far started work got, so it is not run again by itself: "
        "whoever goes on is told, once.",
        holds=set(unfinished) == {"msg_2", "msg_3"},
    )


def verify(tell: Telling, ledger: Ledger, head: Head) -> None:
    """Check every chain, and the ledger against a head kept before the kill."""
    found = ledger.verify(against=head)
    tell.step(
        "verify",
        f"{found.head.count} events, every one where it was",
        why="Each event carries the hash of the one before it in its stream, and the "
        "head that was kept before the kill is part of what stands now.",
        holds=found.ok and found.head.count > head.count,
    )


def _known(ledger: Ledger, message_id: str) -> Execution:
    known = ledger.execution(ChatExecutionKey(SESSION.owner_id, message_id))
    if known is None:
        msg = f"the ledger does not know {message_id}"
        raise LookupError(msg)
    return known


def _refusal(act: Callable[[], object]) -> Refused | None:
    try:
        act()
    except Refused as refusal:
        return refusal
    return None


def _said(refusal: Refused | None) -> str:
    return type(refusal).__name__ if refusal else "not refused"
