"""The scenes of the restart: `daemon` is killed, and what it left is settled."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

from tenure import (
    Authority,
    Closed,
    Failed,
    Ledger,
    NarrativeTransform,
    OwnerRef,
    RecoveryEnvironment,
    RecoveryReport,
    Resumed,
    SessionWideGuard,
    Skipped,
    SuccessionDue,
    recover,
)
from tenure_gate.demo import work
from tenure_gate.demo.carrying import carry_out
from tenure_gate.demo.telling import Telling

__all__ = ["BEFORE", "EXPECTED", "run"]

DAEMON = "tenure_gate.demo.daemon"
BEFORE = [OwnerRef("session", f"ses_{number}") for number in (1, 2, 3)]
"""The sessions of the scenes before."""


class Row(NamedTuple):
    """What is told of one owner."""

    owner: OwnerRef
    why: str
    """The mode of its checkpoint, the assertion that failed, or the reason."""
    what: str


_CLOSED = "closed; succeed is due"
_ENDED = "closed, for good"
EXPECTED = [
    Row(work.HOURLY, "cron_exec_timeout", _ENDED),
    Row(work.NIGHTLY, "scheduled_work", "resumed: RunJob"),
    Row(BEFORE[0], "accepted", "succeed is due"),
    Row(work.BARE, "no_checkpoint", _CLOSED),
    Row(BEFORE[1], "alive", "left alone"),
    Row(BEFORE[2], "alive", "left alone"),
    Row(work.ASKED, "tool_approval_wait", "resumed: AwaitApproval, GoOn"),
    Row(work.QUEUED, "queued_submission", "resumed: QueueSubmission"),
    Row(
        work.LOOP,
        "reaction_loop",
        "resumed: KeepOutput, TellCall, RunCall, GoOn",
    ),
    Row(work.SPOKEN, "visible_output_started", _CLOSED),
    Row(work.CANCELLED, "user_cancelled", _CLOSED),
    Row(work.DELETED, "missing_conversation", _CLOSED),
    Row(work.HELPER, "invalid_structural_owner_identity", _ENDED),
]
"""By class and id: no parent is behind its child here."""


def run(tell: Telling, ledger: Ledger, url: str) -> None:
    """Kill the daemon, recover, and go on where it is due."""
    gone = _kill(tell, ledger, url)
    if gone is None:
        return
    environment = RecoveryEnvironment(
        holder=lambda _, process: "gone" if process == gone else "alive",
        conversation_exists=lambda owner: owner != work.DELETED,
        current_model=lambda _: "large",
    )
    report = _recover(tell, ledger, environment)
    _see_the_notices(tell, ledger)
    found = {one.owner: one for one in report.resumed}
    if work.LOOP in found:
        carry_out(tell, ledger, found[work.LOOP])


def _kill(tell: Telling, ledger: Ledger, url: str) -> str | None:
    """Kill a daemon at work; return its process by its name on record."""
    tell.title("A daemon is killed at work")
    command = [sys.executable, "-P", "-m", DAEMON, url]
    with subprocess.Popen(  # noqa: S603  our own module
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        try:
            said = child.stdout.readline() if child.stdout else ""
        finally:
            child.kill()
    seen = ledger.owner(work.LOOP)
    tell.step(
        "SIGKILL",
        f"process {child.pid}, which held ten owners",
        why="Four have a checkpoint and may go on. Of one the answer has begun, with a "
        "message behind it; one was cancelled; of one the conversation is gone, and it "
        "has a helper; one has no checkpoint; one is a job whose time is over.",
        holds=said != "" and child.returncode != 0 and seen.process is not None,
    )
    return seen.process


def _recover(
    tell: Telling, ledger: Ledger, environment: RecoveryEnvironment
) -> RecoveryReport:
    tell.title("The next process recovers")
    before = ledger.head()
    preview = recover(ledger, environment, dry_run=True)
    tell.step(
        "a dry run",
        f"{len(preview.results)} results, {ledger.head().count - before.count} events",
        why="It judges as the run does, and writes nothing.",
        holds=ledger.head() == before,
    )
    report = recover(ledger, environment)
    tell.row("owner", "mode, assertion or reason", "what happened")
    rows = list(_rows(report))
    for at, row in enumerate(rows):
        told = at < len(EXPECTED) and row == EXPECTED[at] and _so(ledger, row)
        tell.row(str(row.owner).removeprefix("session "), row.why, row.what, holds=told)
    after = ledger.head()
    again = recover(ledger, environment)
    tell.step(
        "recover again",
        f"{ledger.head().count - after.count} new events",
        why="What was resumed is held by this process, which is alive; what was "
        "closed stays closed. Two runs at once cannot both win.",
        holds=ledger.head() == after
        and len(rows) == len(EXPECTED)
        and rows == list(_rows(preview))
        and {one.owner for one in report.resumed}
        < {one.owner for one in again.skipped},
    )
    return report


def _rows(report: RecoveryReport) -> Iterator[Row]:
    """Yield one row for each owner."""
    due = {one.owner: one for one in report.due}
    closed = {one.owner for one in report.closed}
    for result in (*report.results, *report.failed):
        match result:
            case Resumed(owner=owner, plan=plan):
                steps = ", ".join(type(step).__name__ for step in plan.steps)
                yield Row(owner, plan.mode or "-", f"resumed: {steps}")
            case Closed(owner=owner, assertion=assertion, reasons=reasons):
                why = assertion or ", ".join(reasons)
                yield Row(owner, why, _CLOSED if owner in due else _ENDED)
            case SuccessionDue(owner=owner, call=call, outcome=outcome):
                if owner not in closed:
                    yield Row(owner, outcome or "-", f"{call} is due")
            case Skipped(owner=owner, why=why):
                yield Row(owner, why, "left alone")
            case Failed(owner=owner, error=error):
                yield Row(owner, type(error).__name__, "broken")
            case _:
                yield Row(result.owner, result.why, "a leftover was cleared")


def _so(ledger: Ledger, row: Row) -> bool:
    """Say whether the ledger itself says what the row does."""
    seen = ledger.owner(row.owner)
    if row.what == _ENDED:
        return seen.status == "terminal" and seen.checkpoint is None
    if row.what.endswith("is due"):
        return seen.status == "cut" and seen.checkpoint is None
    # Resumed: one generation higher, and the checkpoint goes on with it.
    resumed = row.what.startswith("resumed")
    return seen.status == "live" and (
        not resumed or (seen.generation == 2 and seen.checkpoint is not None)  # noqa: PLR2004  once
    )


def _see_the_notices(tell: Telling, ledger: Ledger) -> None:
    """Begin the next terms, and look at what their models are shown."""
    tell.title("What the next model sees")
    held, shown = _next_term(ledger, work.SPOKEN)
    tell.step(
        "ses_7, its history",
        ", ".join(one["id"] for one in shown if "id" in one),
        why="The answer to msg_1 had begun, so it is not answered twice. msg_2 waited "
        "behind it, and was carried over. Before it stands the notice:",
        holds=[one.get("id") for one in shown] == ["msg_1", "answer_1", None, "msg_2"],
    )
    notice, waited = _notice(shown), len(ledger.pending_notices(work.SPOKEN))
    ledger.settle(held, "msg_2", "completed")
    tell.step(
        "",
        notice,
        why="It goes to the request that takes the work over, in each of its views, "
        "and is done when that is completed.",
        holds=notice.startswith("This subtask stopped during a restart")
        and "\nOutput to the user had started.\n" in notice
        and (waited, ledger.pending_notices(work.SPOKEN)) == (1, []),
    )
    ledger.accept(work.CANCELLED, "msg_2", "inbox", human=True)
    notice = _notice(_next_term(ledger, work.CANCELLED)[1])
    cancelled = "The user cancelled this. Do not redo it unless asked."
    tell.step(
        "ses_8, its notice",
        cancelled if cancelled in notice else notice,
        why="The same text, and under it, first, this line. What a person cancelled is "
        "never listed as work to be done.",
        holds=cancelled in notice and "message msg_1: started and not" not in notice,
    )


def _next_term(
    ledger: Ledger, session: OwnerRef
) -> tuple[Authority, list[dict[str, str]]]:
    """Succeed, and return what the model is given for what waited."""
    held = ledger.succeed(session, f"manager/{session.owner_id}/2", "host")
    messages = [
        {"role": "user", "id": "msg_1", "content": "Do A."},
        {"role": "assistant", "id": "answer_1", "content": "I will beg"},
        {"role": "user", "id": "msg_2", "content": "Then B."},
    ]
    gate = NarrativeTransform(ledger, SessionWideGuard(lambda _: None))
    view = gate.apply(session, messages, authority=held, acting="msg_2")
    return held, [*view.messages]


def _notice(shown: list[dict[str, str]]) -> str:
    """Return the text of the notice, which is no message of the host's."""
    return next((one["content"] for one in shown if "id" not in one), "")
