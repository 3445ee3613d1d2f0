"""S19 and S22 after a real kill: what a child may do, and who its supervisor is now.

Right: authority is computed afresh and is never wider than now, whoever wakes the
child; parentage follows the session; below a supervisor that fails nothing stays open.
"""

from __future__ import annotations

import pytest

from crashes import held_in_recovery, killed_at_work, recovered, reopened
from recovering import CLOSED, KID, SESSION, STATUS, the
from tenure import (
    Closed,
    Identity,
    OwnerRef,
    RecoveryEnvironment,
    Resumed,
    SuccessionDue,
    recover,
)
from workshop import hand

C1, C2, D = (OwnerRef("subagent", name) for name in ("c1", "c2", "d"))
INHERITS = """
from datetime import UTC, datetime, timedelta
held = begin()
ledger.save_checkpoint(held, LOOP)
kid = ledger.spawn(held, KID, "kid/1", grants=["G"], author="manager/1")
ledger.admit(kid, "t1", {woken!r})
ledger.start(kid, "t1")
ledger.save_checkpoint(kid, LOOP, ExecutionConfig(agent_type="coder"))
"""
REVOKED = """
ledger.revoke(held, KID, ["G"])
"""
RAN_OUT = """
ledger.grant(held, KID, ["G"], until=datetime.now(UTC) + timedelta(minutes=1))
ledger.save_checkpoint(kid, LOOP, ExecutionConfig(agent_type="coder"))
"""
RETIRED = """
ledger.settle(held, "m1", "completed")
ledger.retire(held, "accepted")
"""
FAMILY = """
held = begin()
def spawn(parent, name):
    ref = OwnerRef("subagent", name)
    kid = ledger.spawn(parent, ref, "kid/" + name, author="host")
    ledger.admit(kid, "t1", "assistant_run")
    ledger.start(kid, "t1")
    ledger.save_checkpoint(kid, LOOP)
    return kid
one = spawn(held, "c1")
two = spawn(held, "c2")
three = spawn(one, "d")
"""


@pytest.mark.parametrize("woken", ["human", "assistant_run"])
@pytest.mark.parametrize("lost", [REVOKED, RAN_OUT])
def test_s19_what_it_may_not_do_any_more_is_not_back_after_the_restart(
    place: str, woken: str, lost: str
) -> None:
    killed_at_work(place, INHERITS.format(woken=woken) + lost)
    with reopened(place, after_seconds=120) as ledger:
        report = recovered(ledger)
        assert the(report, Resumed).owner == SESSION
        closed = the(report, Closed)
        assert closed.assertion == "invalid_inherited_execution_authority"
        assert ledger.owner(KID).status == "terminal"
        (notice,) = ledger.pending_notices(SESSION)
        assert (notice.about, notice.event_type) == (KID, CLOSED)


def test_s19_a_grant_is_of_the_owner_and_outlives_its_parents_term(place: str) -> None:
    """T1 retired with its child at work: what the session gave it still holds."""
    killed_at_work(place, INHERITS.format(woken="assistant_run") + RETIRED)
    with reopened(place) as ledger:
        report = recovered(ledger)
        assert the(report, SuccessionDue).owner == SESSION
        resumed = the(report, Resumed)
        assert (resumed.owner, resumed.grants) == (KID, ("G",))


def test_s19_step_5_an_agent_of_another_type_does_not_come_back(place: str) -> None:
    killed_at_work(place, INHERITS.format(woken="assistant_run"))
    with reopened(place) as ledger:
        other = RecoveryEnvironment(identity=lambda _: Identity("reviewer"))
        closed = the(recover(ledger, other), Closed)
        assert (closed.owner, closed.assertion) == (KID, "recovery_identity_mismatch")


def test_s19_what_the_host_takes_back_now_is_narrower_than_what_is_on_record(
    place: str,
) -> None:
    killed_at_work(place, INHERITS.format(woken="assistant_run"))
    with reopened(place) as ledger:
        narrow = RecoveryEnvironment(current_grants=lambda _: ["H"])
        closed = the(recover(ledger, narrow), Closed)
        assert closed.assertion == "invalid_inherited_execution_authority"


def test_s22_step_3_children_in_another_process_outlive_the_crash_of_their_parents(
    place: str,
) -> None:
    """T1 retires and is killed; C1 and D live elsewhere, and T2 reaches both."""
    child = """
    held = {}
    for _ in range(2):
        given = Authority.from_json(hear())
        held[given.owner.owner_id] = ledger.advance(given, "migration")
    say("moved")
    for name in ("c1", "d"):
        hear()
        ledger.settle(held[name], "t1", "completed")
        ledger.accept(S, "report of " + name, name)
        (asked,) = ledger.owner(held[name].owner).waiting
        ledger.admit(held[name], asked, "assistant_run")
        ledger.start(held[name], asked)
        say(name, "works on", asked)
    hear()
    """
    parent = (
        FAMILY
        + """
say(one.to_json())
say(three.to_json())
hear()
ledger.settle(held, "m1", "completed")
ledger.retire(held, "accepted")
say("retired")
hear()
"""
    )
    with hand(place, parent) as host, hand(place, child) as kids:
        for _ in range(2):
            kids.say(host.hear())
        assert kids.hear() == "moved"
        host.say()
        assert host.hear() == "retired"
        host.kill()
        with reopened(place) as ledger:
            report = recover(ledger)
            assert the(report, SuccessionDue).call == "succeed"
            assert the(report, Resumed).owner == C2
            assert {one.owner for one in report.skipped} == {C1, D}
            two = ledger.succeed(SESSION, "manager/2", "host")
            for owner in (C1, D):
                ledger.accept(owner, "t2", "manager/2")
                kids.say()
                assert kids.hear() == f"{owner.owner_id} works on t2"
            assert ledger.owner(C1).parent == SESSION
            assert ledger.owner(D).parent == C1
            for key in ledger.owner(SESSION).waiting:
                ledger.admit(two, key, "assistant_run")
            keys = [one.key for one in ledger.owner(SESSION).open_executions]
            assert keys == ["report of c1", "report of d"]


def test_s22_step_4_a_crashed_supervisor_and_all_below_it(place: str) -> None:
    """Step 4: T1 fails; C1, C2 and D are settled in the same pass."""
    save = 'ledger.save_checkpoint(held, LOOP, ExecutionConfig(grants=["pay"]))'
    killed_at_work(place, FAMILY + save)
    with reopened(place) as ledger:
        narrow = RecoveryEnvironment(current_grants=lambda _: ["read"])
        report = recover(ledger, narrow)
        assert [one.owner for one in report.closed] == [SESSION, C1, C2, D]
        assert [one.assertion for one in report.closed] == [
            "invalid_inherited_execution_authority",
            *["invalid_structural_owner_identity"] * 3,
        ]
        assert the(report, SuccessionDue).owner == SESSION
        for owner in (C1, C2, D):
            (row,) = ledger.rows("recovery_owners", owner)
            assert row["terminal_status"] == STATUS
        about = [one.about for one in ledger.pending_notices(SESSION)]
        assert about == [SESSION, C1, C2, D]
        held_in_recovery(ledger)
