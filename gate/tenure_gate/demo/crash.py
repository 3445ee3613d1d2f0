"""The scene in which a real process is killed while it writes (`writer`)."""

from __future__ import annotations

import subprocess
import sys
from itertools import islice

from tenure import Authority, Ledger, OwnerRef
from tenure_gate.demo.telling import Telling

__all__ = ["SESSION", "kill_a_writer", "read_what_is_left"]

SESSION = OwnerRef("session", "ses_3")
WRITER = "tenure_gate.demo.writer"
ACKNOWLEDGED_MIN = 20
"""So many messages are acknowledged before the process is killed."""


def kill_a_writer(tell: Telling, url: str, two: Authority) -> dict[str, int]:
    """Kill a child in the middle of its writing.

    Return what it acknowledged: message ids and the versions they were given.
    """
    tell.title("A process is killed")
    command = [sys.executable, "-P", "-m", WRITER, url, two.to_json()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:  # noqa: S603  our own module
        try:
            pipe = child.stdout or ()
            lines = list(islice(pipe, ACKNOWLEDGED_MIN))
        finally:
            child.kill()
        lines += pipe
    # The last line may have been cut in the middle: that is no acknowledgement.
    whole = [line.split() for line in lines if line.endswith("\n")]
    acknowledged = {name: int(version) for name, version in whole}
    tell.step(
        "SIGKILL",
        f"process {child.pid}, after {len(acknowledged)} acknowledged messages",
        why="It had been handed the authority of manager/2 as JSON, made the holding "
        "its own (migration: generation 3), started msg_3, and was accepting messages, "
        "each acknowledged over a pipe.",
        holds=len(acknowledged) >= ACKNOWLEDGED_MIN and child.returncode != 0,
    )
    return acknowledged


def read_what_is_left(
    tell: Telling, ledger: Ledger, acknowledged: dict[str, int]
) -> None:
    """Compare the file, opened anew, with what the killed process acknowledged."""
    tell.title("The file is opened again")
    stored = [name for name in ledger.owner(SESSION).waiting if name != "msg_4"]
    unsaid = len(stored) - len(acknowledged)
    tell.step(
        "read",
        f"{len(acknowledged)} acknowledged, {len(stored)} on record, in order",
        why="What is acknowledged is on the disk. At most one more is there: stored, "
        "but killed before it could say so.",
        holds=stored[: len(acknowledged)] == list(acknowledged) and unsaid in {0, 1},
    )
    before = ledger.head()
    again = {name: ledger.accept(SESSION, name, "inbox") for name in stored}
    tell.step(
        "accept them again",
        f"{ledger.head().count - before.count} new events",
        why="A sender that is not sure sends again, and is answered with the version "
        "of the first time.",
        holds=ledger.head() == before and acknowledged.items() <= again.items(),
    )
