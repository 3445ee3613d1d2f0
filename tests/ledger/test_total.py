"""Folds and decisions are total: no stored history and no command makes them raise."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nonsense import CHILD, NOW, OTHER, S, histories, recorded, state_of
from tenure import Authority, Boundary, Event, Evidence, First, OwnerRef, Unknown
from tenure_ledger.decisions import (
    approvals,
    calls,
    checkpoints,
    children,
    executions,
    ownership,
    relay,
    upkeep,
)
from tenure_ledger.decisions.decide import DECISIONS, decide, reach
from tenure_ledger.decisions.work import Body, Context, Decided
from tenure_ledger.errors import Rejection
from tenure_ledger.folds.stream import State, fold
from tenure_ledger.values import ReplayReason
from tenure_ledger.views import owner_view

History = list[Event | Unknown]

AUTHORITIES = st.builds(
    Authority,
    st.sampled_from([S, S, S, CHILD]),
    st.integers(1, 3),
    st.sampled_from(["e1", "e2", "e3"]),
    st.sampled_from([None, "a", "b"]),
)
KEYS = st.sampled_from(["m1", "m2", "m3"])
SOME_KEYS = st.sampled_from([(), ("m1",), ("m2",), ("m1", "m2"), ("m3", "m2")])
AGENTS = st.sampled_from(["a", "b", "c"])
ANY_AGENT = st.sampled_from([None, "a", "b", "c"])
OWNERS = st.sampled_from([S, S, CHILD])
DIGESTS = st.sampled_from([None, None, "d1", "d2"])
BODIES = st.sampled_from([Body("d1", b"1"), Body("d2", b"2")])
ORIGINS = st.sampled_from(["human", "continue_relay", "tool_probe"])
FIRSTS = st.one_of(st.none(), st.builds(First, KEYS, ORIGINS, st.none(), DIGESTS))
EVIDENCE = st.one_of(
    st.none(),
    st.builds(
        Evidence,
        st.sampled_from(["gone", "alive", "cannot_tell"]),
        st.sampled_from(["e1", "e2", "e3"]),
        st.integers(0, 30),
    ),
)
GRANTS = st.sampled_from([(), ("read",), ("read", "write")])
LEASE = st.sampled_from([None, 60.0])
CALLS = st.sampled_from(["c1", "c2", "c3"])
TOOLS = st.sampled_from(["shell", "read"])
REQUESTS = st.sampled_from(["r1", "r2", "r3"])
A = st.just("author")
CHILDREN = st.sampled_from([CHILD, OTHER, S])
HOST_OUTCOMES = st.sampled_from(get_args(executions.HostOutcome))
REVISIONS = st.sampled_from([None, 0, 1, 2])

COMMANDS: dict[type, st.SearchStrategy[Any]] = {
    ownership.Claim: st.builds(ownership.Claim, OWNERS, AGENTS, A, FIRSTS, LEASE),
    ownership.Succeed: st.builds(ownership.Succeed, OWNERS, AGENTS, A, FIRSTS, LEASE),
    ownership.TakeOver: st.builds(
        ownership.TakeOver, OWNERS, ANY_AGENT, A, EVIDENCE, st.booleans(), FIRSTS, LEASE
    ),
    ownership.Advance: st.builds(
        ownership.Advance,
        AUTHORITIES,
        st.sampled_from(["lease_renewal", "migration"]),
        ANY_AGENT,
        LEASE,
    ),
    children.Spawn: st.builds(
        children.Spawn, AUTHORITIES, CHILDREN, ANY_AGENT, GRANTS, A, LEASE
    ),
    children.GrantMore: st.builds(
        children.GrantMore,
        AUTHORITIES,
        CHILDREN,
        GRANTS,
        st.sampled_from([None, NOW + timedelta(days=1)]),
    ),
    children.Revoke: st.builds(
        children.Revoke, AUTHORITIES, CHILDREN, st.one_of(st.none(), GRANTS)
    ),
    executions.Accept: st.builds(
        executions.Accept, OWNERS, KEYS, A, st.none(), DIGESTS, st.booleans()
    ),
    executions.Admit: st.builds(
        executions.Admit, AUTHORITIES, KEYS, ORIGINS, st.none(), DIGESTS, SOME_KEYS
    ),
    executions.Start: st.builds(
        executions.Start, AUTHORITIES, KEYS, st.one_of(st.none(), KEYS)
    ),
    executions.Settle: st.builds(executions.Settle, AUTHORITIES, KEYS, HOST_OUTCOMES),
    relay.Retire: st.builds(
        relay.Retire,
        AUTHORITIES,
        st.sampled_from(["accepted", "continue"]),
        st.one_of(st.none(), BODIES),
        st.sampled_from([None, Boundary("m1")]),
        SOME_KEYS,
    ),
    relay.Terminate: st.builds(
        relay.Terminate, AUTHORITIES, st.sampled_from(["done", "closed"]), st.just("")
    ),
    relay.RewriteHistory: st.builds(
        relay.RewriteHistory, AUTHORITIES, st.integers(0, 3), st.none(), st.none()
    ),
    relay.SettleInterrupt: st.builds(
        relay.SettleInterrupt, OWNERS, st.sampled_from(["i1", "i2"]), st.just("ok"), A
    ),
    checkpoints.SaveCheckpoint: st.builds(
        checkpoints.SaveCheckpoint,
        AUTHORITIES,
        st.just("reaction_loop"),
        BODIES,
        st.one_of(st.none(), SOME_KEYS),
        REVISIONS,
    ),
    checkpoints.ClearCheckpoint: st.builds(
        checkpoints.ClearCheckpoint, AUTHORITIES, st.just("done"), REVISIONS
    ),
    checkpoints.MarkOutput: st.builds(checkpoints.MarkOutput, AUTHORITIES, KEYS),
    checkpoints.BarReplay: st.builds(
        checkpoints.BarReplay,
        OWNERS,
        st.sampled_from(get_args(ReplayReason)),
        A,
        st.one_of(st.none(), SOME_KEYS),
    ),
    approvals.RequestApproval: st.builds(
        approvals.RequestApproval,
        AUTHORITIES,
        CALLS,
        TOOLS,
        st.just("d1"),
        st.just("p1"),
        LEASE,
    ),
    approvals.DecideApproval: st.builds(
        approvals.DecideApproval,
        OWNERS,
        REQUESTS,
        st.sampled_from(["approved", "denied"]),
        A,
    ),
    calls.IntendToolCall: st.builds(
        calls.IntendToolCall, AUTHORITIES, KEYS, CALLS, TOOLS, BODIES
    ),
    calls.BeginToolCall: st.builds(
        calls.BeginToolCall,
        AUTHORITIES,
        KEYS,
        CALLS,
        TOOLS,
        BODIES,
        st.one_of(st.none(), REQUESTS),
    ),
    calls.CompleteToolCall: st.builds(
        calls.CompleteToolCall, AUTHORITIES, KEYS, CALLS, BODIES
    ),
    calls.LateFact: st.builds(
        calls.LateFact, OWNERS, A, KEYS, st.one_of(st.none(), CALLS), BODIES
    ),
    upkeep.DeleteConversation: st.builds(upkeep.DeleteConversation, OWNERS, A),
    upkeep.ResolveQuarantine: st.builds(
        upkeep.ResolveQuarantine, OWNERS, st.integers(0, 25), A
    ),
}

SLOW = settings(max_examples=40, suppress_health_check=list(HealthCheck))


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(histories(40))
def test_no_stored_history_makes_a_fold_raise(history: History) -> None:
    for stream in (S.stream, "agent:a"):
        state = fold(stream, recorded(stream, history))
        assert state.version == len(history)
        assert state == state_of(stream, history)
        view = owner_view(S, state)
        assert view.version == len(history)
        if view.status == "quarantined":
            earlier, later = view.positions
            assert 0 <= earlier < later <= len(history)


@settings(max_examples=80, suppress_health_check=list(HealthCheck))
@given(histories(20), st.integers(0, 20))
def test_what_follows_a_quarantine_is_held_and_nothing_before_it_changes(
    history: History, keep: int
) -> None:
    state = state_of(S.stream, history)
    stopped = state.quarantine
    if stopped is None:
        return
    at_the_stop = state_of(S.stream, history[: stopped.version])
    assert at_the_stop.quarantine is not None
    assert at_the_stop.quarantine.against == stopped.against
    assert at_the_stop.ownership == state.ownership
    del keep


@pytest.mark.parametrize("kind", DECISIONS, ids=lambda kind: kind.__name__)
def test_every_decision_is_under_test(kind: type) -> None:
    assert kind in COMMANDS


@pytest.mark.parametrize("kind", COMMANDS, ids=lambda kind: kind.__name__)
@SLOW
@given(data=st.data())
def test_no_command_on_any_history_makes_a_decision_raise(
    kind: type, data: st.DataObject
) -> None:
    command = data.draw(COMMANDS[kind])
    states: dict[str, State] = {}
    while wanted := reach(states, command):
        for stream in sorted(wanted):
            states[stream] = state_of(stream, data.draw(histories(12)))
    context = Context(NOW, "p2", "fresh")
    answer = decide(states, command, context)
    assert isinstance(answer, Decided | Rejection)
    assert decide(states, command, context) == answer
    if isinstance(answer, Rejection):
        assert answer.error().code == answer.kind.code
        assert answer.text
        return
    assert_it_continues(states, answer)


def assert_it_continues(states: dict[str, State], answer: Decided) -> None:
    """What a decision appends stands: versions go on, and nothing is quarantined."""
    versions = {stream: state.version for stream, state in states.items()}
    for draft in answer.drafts:
        versions[draft.stream] += 1
        assert draft.version == versions[draft.stream]
    for stream, after in answer.states.items():
        assert after.version == versions[stream]
        if states[stream].quarantine is None:
            assert after.quarantine is None, (stream, after.quarantine)


def test_an_owner_of_no_history_is_absent() -> None:
    assert owner_view(OwnerRef("session", "x"), State("owner:session:x")).version == 0
