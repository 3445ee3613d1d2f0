"""Every public write method as a step: what it is called with, and its plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from driving import Drive
from driving_choices import (
    FOCUS,
    OLD,
)
from driving_effects import (
    clear_checkpoint,
    close_approval,
    complete_tool_call,
    decide_approval,
    late_result,
    mark_output_started,
    request_approval,
    save_checkpoint,
    tool_call,
)
from driving_gating import deliver, strip
from driving_messages import (
    accept,
    admit,
    bar_replay,
    history_rewritten,
    settle,
    settle_interrupt,
    start,
)
from driving_ownership import (
    advance,
    claim,
    delete_conversation,
    grant,
    resolve_quarantine,
    restart,
    retire,
    revoke,
    spawn,
    succeed,
    take_over,
    terminate,
)
from driving_words import Chooser
from tenure_ledger import events as e

__all__ = ["STEPS", "THEMES", "Step", "begin", "steps"]

Step = Callable[[Drive, Chooser], object]


def move_clock(drive: Drive, choose: Chooser) -> None:
    """Let time pass, jump, or go back."""
    drive.world.pass_seconds(choose((1, 20, 20, 3600, -1, -40, -86400)))
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
        restart,
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
        deliver,
        settle_interrupt,
        history_rewritten,
        bar_replay,
        save_checkpoint,
        clear_checkpoint,
        mark_output_started,
        request_approval,
        decide_approval,
        close_approval,
        tool_call,
        complete_tool_call,
        late_result,
        move_clock,
        again,
    )
}

THEMES: Sequence[Mapping[str, int]] = (
    {
        **dict.fromkeys(STEPS, 1),
        "claim": 2,
        "succeed": 3,
        "retire": 2,
        "take_over": 3,
        "spawn": 2,
        "accept": 2,
        "admit": 6,
        "start": 3,
        "settle": 3,
        "tool_call": 4,
        "complete_tool_call": 2,
        "request_approval": 3,
        "decide_approval": 4,
        "save_checkpoint": 2,
        "mark_output_started": 2,
        "bar_replay": 2,
        "again": 3,
        "move_clock": 2,
        "strip": 2,
    },
    {
        "claim": 2,
        "succeed": 4,
        "retire": 3,
        "accept": 3,
        "admit": 8,
        "start": 6,
        "settle": 2,
        "bar_replay": 4,
        "strip": 1,
        "deliver": 1,
        "again": 1,
    },
    {
        "claim": 2,
        "succeed": 3,
        "retire": 1,
        "accept": 1,
        "admit": 6,
        "start": 6,
        "mark_output_started": 2,
        "bar_replay": 3,
        "save_checkpoint": 4,
        "restart": 5,
        "again": 1,
    },
)
"""What a walk does how often: everything; the relay; restarts of one session."""


def steps(theme: int) -> list[Step]:
    """Return the steps of a walk to choose from, the frequent ones more than once."""
    often = THEMES[theme].items()
    return [STEPS[name] for name, number in often for _ in range(number)]


def begin(drive: Drive, choose: Chooser, theme: int = 0) -> None:
    """Choose what the walk is about; begin with a history of an older version."""
    drive.focus = 0 if theme else choose(range(len(FOCUS)))
    if OLD not in FOCUS[drive.focus]:
        return
    drive.append(OLD, e.OwnershipClaimed(author="import", generation=0))
    own = drive.reference.at(OLD)
    own.status, own.term = "imported", 1
    drive.check(drive.news(), OLD)
