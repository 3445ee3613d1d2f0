"""Folds and decisions are total: no stored history and no command makes them raise."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any, TypeVar, cast, get_args

import pytest

from nonsense import (
    CHILD,
    NOW,
    OTHER,
    S,
    Sample,
    build,
    either,
    history,
    pick,
    plausible,
    recorded,
    state_of,
)
from tenure import Authority, Boundary, Event, Evidence, First, OwnerRef, Unknown
from tenure_ledger.bodies import encode_body
from tenure_ledger.decisions import (
    admission,
    approvals,
    bars,
    calls,
    checkpoints,
    children,
    executions,
    gating,
    late,
    ownership,
    relay,
    restored,
    takeover,
    upkeep,
)
from tenure_ledger.decisions.decide import DECISIONS, decide, reach
from tenure_ledger.decisions.recovering import command as recovering
from tenure_ledger.decisions.recovering import reaping
from tenure_ledger.decisions.work import Body, Context, Decided
from tenure_ledger.errors import Rejection
from tenure_ledger.events import ConversationDeleted, QuarantineResolved
from tenure_ledger.folds.stream import State, fold
from tenure_ledger.snapshots import Unreadable, read_payload
from tenure_ledger.values import ReplayReason
from tenure_ledger.views import owner_view

T = TypeVar("T")
History = list[Event | Unknown]

AUTHORITIES = build(
    Authority,
    pick([S, S, S, CHILD]),
    pick(range(1, 4)),
    pick(["e1", "e2", "e3"]),
    pick([None, "a", "b"]),
)
KEYS = pick(["m1", "m2", "m3"])
SOME_KEYS = pick([(), ("m1",), ("m2",), ("m1", "m2"), ("m3", "m2")])
AGENTS = pick(["a", "b", "c"])
ANY_AGENT = pick([None, "a", "b", "c"])
OWNERS = pick([S, S, CHILD])
DIGESTS = pick([None, None, "d1", "d2"])
BODIES = pick([Body("d1", b"1"), Body("d2", b"2")])
ORIGINS = pick(["human", "continue_relay", "tool_probe"])
FIRSTS = either(pick([None]), build(First, KEYS, ORIGINS, pick([None]), DIGESTS))
EVIDENCE = either(
    pick([None]),
    build(
        Evidence,
        pick(["gone", "alive", "cannot_tell"]),
        pick(["e1", "e2", "e3"]),
        pick(range(31)),
    ),
)
GONE = build(Evidence, pick(["gone"]), pick(["e1", "e2", "e3", None]), pick([50]))
LOOP = {"consecutive_batches": 1, "completed_unpersisted_tool_outputs": ["c1"]}
SNAPSHOTS = pick(
    [
        None,
        Unreadable("partial", "half of it"),
        Unreadable("invalid", "of another"),
        read_payload("reaction_loop", encode_body("it", {"payload": LOOP})),
    ]
)
ANSWERS = pick(
    [
        recovering.Answers(),
        recovering.Answers(conversation_exists=False),
        recovering.Answers(grants=("read",), model="m", parent=(None,)),
        recovering.Answers(identity=recovering.Identity("coder"), parent=(CHILD,)),
    ]
)
GRANTS = pick([(), ("read",), ("read", "write")])
LEASE = pick([None, 60.0])
CALLS = pick(["c1", "c2", "c3"])
TOOLS = pick(["shell", "read"])
REQUESTS = pick(["r1", "r2", "r3"])
A = pick(["author"])
CHILDREN = pick([CHILD, OTHER, S])
HOST_OUTCOMES = pick(get_args(executions.HostOutcome))
REVISIONS = pick([None, 0, 1, 2])
STRIPS = (
    gating.Strip("m9", "stale_unadmitted", 3),
    gating.Strip("m1", "stale_admitted", 3),
    gating.Strip("m2", "stale_unadmitted", 0),
)

COMMANDS: dict[type, Sample[Any]] = {
    ownership.Claim: build(ownership.Claim, OWNERS, AGENTS, A, FIRSTS, LEASE),
    ownership.Succeed: build(ownership.Succeed, OWNERS, AGENTS, A, FIRSTS, LEASE),
    takeover.TakeOver: build(
        takeover.TakeOver,
        OWNERS,
        ANY_AGENT,
        A,
        EVIDENCE,
        pick([True, False]),
        FIRSTS,
        LEASE,
    ),
    ownership.Advance: build(
        ownership.Advance,
        AUTHORITIES,
        pick(["lease_renewal", "migration"]),
        ANY_AGENT,
        LEASE,
    ),
    children.Spawn: build(
        children.Spawn, AUTHORITIES, CHILDREN, ANY_AGENT, GRANTS, A, LEASE
    ),
    children.GrantMore: build(
        children.GrantMore,
        AUTHORITIES,
        CHILDREN,
        GRANTS,
        pick([None, NOW + timedelta(days=1)]),
    ),
    children.Revoke: build(
        children.Revoke, AUTHORITIES, CHILDREN, either(pick([None]), GRANTS)
    ),
    admission.Accept: build(
        admission.Accept, OWNERS, KEYS, A, pick([None]), DIGESTS, pick([True, False])
    ),
    admission.Admit: build(
        admission.Admit, AUTHORITIES, KEYS, ORIGINS, pick([None]), DIGESTS, SOME_KEYS
    ),
    executions.Start: build(
        executions.Start, AUTHORITIES, KEYS, either(pick([None]), KEYS)
    ),
    executions.Settle: build(executions.Settle, AUTHORITIES, KEYS, HOST_OUTCOMES),
    relay.Retire: build(
        relay.Retire,
        AUTHORITIES,
        pick(["accepted", "continue"]),
        either(pick([None]), BODIES),
        pick([None, Boundary("m1")]),
        SOME_KEYS,
    ),
    relay.Terminate: build(
        relay.Terminate, AUTHORITIES, pick(["done", "closed"]), pick([""])
    ),
    relay.RewriteHistory: build(
        relay.RewriteHistory, AUTHORITIES, pick(range(4)), pick([None]), pick([None])
    ),
    relay.SettleInterrupt: build(
        relay.SettleInterrupt, OWNERS, pick(["i1", "i2"]), pick(["ok"]), A
    ),
    checkpoints.SaveCheckpoint: build(
        checkpoints.SaveCheckpoint,
        AUTHORITIES,
        pick(["reaction_loop"]),
        BODIES,
        either(pick([None]), SOME_KEYS),
        REVISIONS,
    ),
    checkpoints.ClearCheckpoint: build(
        checkpoints.ClearCheckpoint, AUTHORITIES, pick(["done"]), REVISIONS
    ),
    checkpoints.MarkOutput: build(checkpoints.MarkOutput, AUTHORITIES, KEYS),
    bars.BarReplay: build(
        bars.BarReplay,
        OWNERS,
        pick(get_args(ReplayReason)),
        A,
        either(pick([None]), SOME_KEYS),
    ),
    approvals.RequestApproval: build(
        approvals.RequestApproval,
        AUTHORITIES,
        CALLS,
        TOOLS,
        pick(["d1"]),
        pick(["p1"]),
        LEASE,
    ),
    approvals.DecideApproval: build(
        approvals.DecideApproval,
        OWNERS,
        REQUESTS,
        pick(["approved", "denied"]),
        A,
    ),
    approvals.CloseApproval: build(
        approvals.CloseApproval, AUTHORITIES, REQUESTS, pick(["expired", "void"])
    ),
    calls.IntendToolCall: build(
        calls.IntendToolCall, AUTHORITIES, KEYS, CALLS, TOOLS, BODIES
    ),
    calls.BeginToolCall: build(
        calls.BeginToolCall,
        AUTHORITIES,
        KEYS,
        CALLS,
        TOOLS,
        BODIES,
        either(pick([None]), REQUESTS),
    ),
    calls.CompleteToolCall: build(
        calls.CompleteToolCall, AUTHORITIES, KEYS, CALLS, BODIES
    ),
    late.LateFact: build(
        late.LateFact, OWNERS, A, KEYS, either(pick([None]), CALLS), BODIES
    ),
    gating.StripRequests: build(
        gating.StripRequests,
        OWNERS,
        pick([(), (STRIPS[0],), (STRIPS[1],), STRIPS[1:]]),
        A,
        pick([50, 50, 12, 3]),
    ),
    gating.DeliverNotices: either(
        build(gating.DeliverNotices, OWNERS, KEYS, A, pick([None])),
        build(gating.DeliverNotices, pick([S]), KEYS, A, AUTHORITIES),
    ),
    gating.GiveVerdicts: build(
        gating.GiveVerdicts,
        AUTHORITIES,
        pick([(("m1", "current"),), (("m1", "queued"), ("m2", "history"))]),
    ),
    recovering.SettleRecovery: build(
        recovering.SettleRecovery,
        pick([S]),
        A,
        GONE,
        pick(range(1, 4)),
        either(pick([None]), DIGESTS),
        SNAPSHOTS,
        ANSWERS,
    ),
    reaping.Reap: build(reaping.Reap, pick([S]), A, GONE),
    upkeep.DeleteConversation: build(upkeep.DeleteConversation, OWNERS, A),
    restored.RaiseFloor: build(restored.RaiseFloor, A, pick([None, 1, 4, 9])),
    upkeep.ResolveQuarantine: build(
        upkeep.ResolveQuarantine, OWNERS, pick(range(6)), A
    ),
}

GOING_ON = (QuarantineResolved, ConversationDeleted)
"""What ends a quarantine, and may begin the next."""
SEEDS = range(100)


@pytest.mark.parametrize("seed", range(8))
def test_no_stored_history_makes_a_fold_raise(seed: int) -> None:
    chance = Random(seed)  # noqa: S311  a test that can be run again
    statuses: set[str] = set()
    for _ in range(100):
        events = history(chance, 40)
        for stream in (S.stream, "agent:a"):
            state = fold(stream, recorded(stream, events))
            assert state.version == len(events)
            assert state == state_of(stream, events)
            view = owner_view(S, state)
            statuses.add(view.status)
            if view.status == "quarantined":
                earlier, later = view.positions
                assert 0 <= earlier < later <= len(events)
                if not any(isinstance(event, GOING_ON) for event in events):
                    stop_is_where_it_was(stream, events, state)
    # Sometimes: the histories do lead everywhere.
    assert statuses >= {"quarantined", "too_new"}


def stop_is_where_it_was(stream: str, events: History, state: State) -> None:
    """What follows a quarantine is held, and what it stopped before stands."""
    assert state.quarantine is not None
    version, against = state.quarantine.version, state.quarantine.against
    then = state_of(stream, events[:version])
    assert then.quarantine is not None
    assert (then.quarantine.version, then.quarantine.against) == (version, against)
    assert then.ownership == state.ownership


@pytest.mark.parametrize("kind", DECISIONS, ids=lambda kind: kind.__name__)
def test_every_decision_is_under_test(kind: type) -> None:
    assert kind in COMMANDS


@pytest.mark.parametrize("kind", COMMANDS, ids=lambda kind: kind.__name__)
def test_no_command_on_any_history_makes_a_decision_raise(kind: type) -> None:
    decided = 0
    for seed in SEEDS:
        chance = Random(seed)  # noqa: S311  a test that can be run again
        last = "retirement-cut.v1" if kind is ownership.Succeed else None
        states = {S.stream: plausible(chance, S.stream, 50, last)}
        if kind is upkeep.ResolveQuarantine or chance.random() < 0.1:
            states[S.stream] = state_of(S.stream, history(chance, 12))
        command = with_the_live_authority(chance, states, COMMANDS[kind](chance))
        while wanted := reach(states, command):
            for stream in sorted(wanted):
                if chance.random() < 0.2:
                    states[stream] = state_of(stream, history(chance, 12))
                elif chance.random() < 0.4:
                    states[stream] = State(stream)
                else:
                    states[stream] = plausible(chance, stream, 30)
        context = Context(NOW, "p2", "fresh")
        answer = decide(states, command, context)
        assert decide(states, command, context) == answer
        if isinstance(answer, Rejection):
            assert answer.error().code == answer.kind.code
            assert answer.text
        else:
            decided += 1
            assert_it_continues(seed, states, answer)
    # Sometimes: it is not refused.
    assert decided > 0, kind


def with_the_live_authority(chance: Random, states: dict[str, State], command: T) -> T:
    """Let the holder itself ask, mostly: else a fence is all that is ever seen."""
    own = states[S.stream].ownership
    replace: Callable[..., T] | None = getattr(command, "_replace", None)
    if replace is None or not own.holding or chance.random() < 0.2:
        return command
    holding = own.holding
    if isinstance(command, recovering.SettleRecovery | reaping.Reap):
        return cast("T", seen(command, states[S.stream]))
    if not hasattr(command, "authority"):
        return command
    held = Authority(S, max(own.generation, 1), holding.incarnation, holding.agent_id)
    return replace(authority=held)


def seen(command: recovering.SettleRecovery | reaping.Reap, state: State) -> Any:  # noqa: ANN401  the same kind
    """Let what was seen be what is there."""
    own, checkpoint = state.ownership, state.recovery.checkpoint
    incarnation = own.holding.incarnation if own.live and own.holding else None
    evidence = Evidence("gone", incarnation, state.version)
    if isinstance(command, reaping.Reap):
        return command._replace(evidence=evidence)
    payload = checkpoint.payload if checkpoint else None
    return command._replace(
        evidence=evidence, generation=own.generation, payload=payload
    )


def assert_it_continues(seed: int, states: dict[str, State], answer: Decided) -> None:
    """What a decision appends stands: versions go on, and nothing is quarantined."""
    versions = {stream: state.version for stream, state in states.items()}
    for draft in answer.drafts:
        versions[draft.stream] += 1
        assert draft.version == versions[draft.stream]
    for stream, after in answer.states.items():
        assert after.version == versions[stream]
        if states[stream].quarantine is None:
            assert after.quarantine is None, (seed, stream, after.quarantine)


def test_an_owner_of_no_history_is_absent() -> None:
    assert owner_view(OwnerRef("session", "x"), State("owner:session:x")).version == 0
