"""Sometimes: the interesting cases are reached, and the walk has not quietly shrunk.

The same steps as in `test_properties_machine`, chosen by a seeded generator: a fixed
walk, so that a case which is not reached any more is seen at once.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from driving_walk import walk

WALKS = 80
STEPS = 170
STATES_MIN = 1400
"""Distinct states on the fixed walk, with room for an honest change."""

CASES = {
    "generations": """ takeover migration lease_renewal instance_restart succession
        reclaim adopted """,
    "cuts": "accepted continue forced",
    "what an end settles": """ completed retired cancelled closed_in_recovery
        outcome_unknown stripped never_started """,
}
NAMED = (
    *(case for cases in CASES.values() for case in cases.split()),
    # what is carried over
    "carried",
    "carried queue",
    # zombies
    "start: fenced_out",
    "start: term_retired",
    "save_checkpoint: term_retired",
    "settle: owner_ended",
    "late: settle: fenced_out",
    "late: settle: term_retired",
    "late: settle: owner_ended",
    "late: complete_tool_call: term_retired",
    "late_result: wrote",
    # evidence
    "take_over: owner_is_live",
    "take_over: owner_moved",
    "refused in spite of override: owner_is_live",
    "override",
    # a restart and what it carries or settles
    "restart notice",
    "checkpoint carried on",
    "checkpoint cleared by its end",
    "save_checkpoint: stale_checkpoint",
    # children and things
    "child-spawned",
    "authority-granted",
    "thing revoked",
    "thing taken without evidence",
    "bar on a descendant",
    "conversation-deleted",
    # messages
    "accept: key_reused",
    "accept: already_stripped",
    "admit: already_decided",
    "start: not_admitted",
    "interrupt-settled",
    # what a gate writes
    "strip_requests: wrote",
    "strip_requests: nothing new",
    "strip_requests: owner_moved",
    "strip_requests: invalid_input",
    "strip_requests: term_retired",
    "notice-delivered",
    "begin_tool_call: not_admitted",
    # calls and approvals
    "call fresh",
    "call unknown",
    "call completed",
    "approval-consumed",
    "approval expired",
    "approval void",
    "approval cut",
    # commands
    "first outcome again",
    "command id of another command",
    "authority not given to another process",
    "claim: agent_is_bound",
    "again: settle: same",
    "again: admit: same",
    "clock went back",
)


def test_every_interesting_case_is_reached_on_a_fixed_walk(tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    states: set[tuple[object, ...]] = set()
    for seed in range(WALKS):
        states |= walk(seed, STEPS, tmp_path, seen).shapes
    assert [case for case in NAMED if not seen[case]] == []
    assert len(states) >= STATES_MIN


@pytest.mark.prove
@pytest.mark.parametrize("start", range(1000, 9000, 1000))
def test_a_long_walk_finds_nothing(start: int, tmp_path: Path) -> None:
    for seed in range(start, start + 100):
        walk(seed, 400, tmp_path)
