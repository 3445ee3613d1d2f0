"""Folds are total: no stored history, however wrong, stops a reader (rule 4).

A duplicate changes nothing, a contradiction stops the fold of that one stream with both
versions shown, and a resolution goes on either way.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from driving_walk import walk
from event_strategies import events, histories, record, unknowns
from tenure import Event, OwnerRef, Unknown
from tenure_ledger import events as e
from tenure_ledger.folds.stream import State, evolve, fold
from worlds import World

STREAM = "owner:session:s1"
SESSION, OTHER = OwnerRef("session", "s1"), OwnerRef("session", "s2")
ALWAYS = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=80,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
FEW = settings(ALWAYS, max_examples=40)
LONGER = settings(ALWAYS, derandomize=False, max_examples=5_000)

KINDS_MIN = 30
"""Kinds of events on the walks of the ledger itself; a few only the gate writes."""

MOVES_ITS_VERSION = (e.ReplayBarred,)
"""Said again, it holds from the later version on; it changes nothing else."""


def folded(*history: Event | Unknown) -> State:
    return fold(STREAM, record(STREAM, *history))


def add(state: State, event: Event | Unknown) -> State:
    """Append one event to what was folded."""
    one = record(STREAM, event)[0]
    version = state.version + 1
    return evolve(state, one._replace(version=version, position=version))


def content(state: State) -> tuple[object, ...]:
    """Return all that decisions read, without where the stream stands."""
    return (
        state.ownership,
        state.executions,
        state.recovery,
        state.effects,
        state.notices,
        state.relay,
        state.agent,
    )


def never_raises(history: list[Event | Unknown]) -> None:
    state = State(STREAM)
    for version, event in enumerate(history, 1):
        state = add(state, event)
        assert state.version == version
    whole = folded(*history)
    assert content(whole) == content(state)
    assert (whole.version, whole.too_new) == (state.version, state.too_new)
    assert whole.quarantine == state.quarantine


mixed = st.lists(st.one_of(events(), events(), events(), unknowns()), max_size=30)


@ALWAYS
@given(st.one_of(mixed, histories(30)))
def test_no_history_makes_a_fold_raise(history: list[Event | Unknown]) -> None:
    never_raises(history)


@pytest.mark.prove
@LONGER
@given(st.one_of(mixed, histories(60)))
def test_no_history_makes_a_fold_raise_for_long(history: list[Event | Unknown]) -> None:
    never_raises(history)


@ALWAYS
@given(histories(12), unknowns(), events())
def test_an_unknown_event_makes_a_stream_read_only_unless_it_is_ignorable(
    history: list[Event], strange: Unknown, event: Event
) -> None:
    before = folded(*history)
    after = add(before, strange)
    assert content(after) == content(before)
    assert after.too_new == (0 if strange.ignorable else after.version)
    if after.too_new:
        assert content(add(after, event)) == content(before)


def duplicate_is_a_no_op(once: State, event: Event) -> None:
    """Append the event that was taken up just now again."""
    again = add(once, event)
    assert again.quarantine is None
    if isinstance(event, MOVES_ITS_VERSION):
        assert again.executions == once.executions
        assert again.ownership.status == once.ownership.status
        assert again.ownership.generation == once.ownership.generation
    else:
        assert content(again) == content(once), event


@ALWAYS
@given(histories(20))
def test_an_identical_duplicate_is_a_no_op_in_any_history(history: list[Event]) -> None:
    state = State(STREAM)
    for event in history:
        state = add(state, event)
        if state.quarantine is None:
            duplicate_is_a_no_op(state, event)


def test_an_identical_duplicate_is_a_no_op_in_what_the_ledger_writes(
    tmp_path: Path,
) -> None:
    kinds: set[type[Event]] = set()
    for seed in range(28):
        drive = walk(seed, 120, tmp_path)
        for stream, history in drive.recorded.items():
            state = State(stream)
            for recorded in history:
                assert isinstance(recorded.event, Event)
                state = add(state, recorded.event)
                duplicate_is_a_no_op(state, recorded.event)
                kinds.add(type(recorded.event))
    assert len(kinds) >= KINDS_MIN, sorted(kind.__name__ for kind in kinds)


@ALWAYS
@given(histories(20))
def test_a_contradiction_stops_the_fold_before_it_and_shows_both_versions(
    history: list[Event],
) -> None:
    state = State(STREAM)
    for event in history:
        before, state = state, add(state, event)
        if before.quarantine is None and state.quarantine is not None:
            assert state.quarantine.version == state.version
            assert 0 <= state.quarantine.against < state.version
            assert state.quarantine.event == event
            assert content(state) == content(before)
        elif before.quarantine is not None and state.quarantine is not None:
            accepted = isinstance(event, e.SubmissionAccepted)
            resolved = isinstance(event, e.QuarantineResolved)
            assert accepted or resolved or content(state) == content(before)


@pytest.mark.parametrize("later", [True, False])
def test_a_resolution_goes_on_either_way_and_comes_to_an_end(*, later: bool) -> None:
    resolved = 0

    @ALWAYS
    @given(histories(20))
    def resolve(history: list[Event]) -> None:
        nonlocal resolved
        state = folded(*history)
        for _ in range(len(history) + 1):
            stopped = state.quarantine
            if stopped is None:
                break
            keep, drop = stopped.version, stopped.against
            if not later:
                keep, drop = drop, keep
            resolution = e.QuarantineResolved(
                author="a person", generation=1, keep=keep, drop=drop
            )
            state = add(state, resolution)
            now = state.quarantine
            assert now is None or now.version > stopped.version
            resolved += 1
        assert state.quarantine is None

    resolve()
    assert resolved > 25


def plant(world: World, history: list[Event]) -> None:
    """Write the history and read every owner after each event."""
    ledger = world.open("p2")
    for event in history:
        world.append(SESSION, event)
        ledger.owner(SESSION)
    fresh = world.open("p3")
    shells = [one._shell for one in (ledger, fresh)]  # pyright: ignore[reportPrivateUsage]
    cached, anew = (shell.state(STREAM) for shell in shells)
    assert cached == anew == fold(STREAM, fresh.history(SESSION))
    assert fresh.owner(SESSION) == ledger.owner(SESSION)
    held = fresh.claim(OTHER, agent_id="b1", author="host")
    fresh.admit(held, "m1", origin="human")
    assert fresh.owner(OTHER).status == "live"
    assert fresh.verify().ok


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_wrong_history_is_shown_and_every_other_owner_goes_on(
    kind: str, tmp_path: Path
) -> None:
    numbers = iter(range(10_000))

    @settings(FEW, max_examples=40 if kind == "memory" else 8)
    @given(histories(15))
    def check(history: list[Event]) -> None:
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        world = World(kind, folder)
        try:
            plant(world, history)
        finally:
            world.close()

    check()
