"""What writers do while a rebuild is under way is never taken for a difference."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from eventsourcing.persistence import StoredEvent

from meddling import Meddled
from projected import right_tables, stored_tables
from tenure import (
    Contended,
    Evidence,
    First,
    Ledger,
    OwnerRef,
    RuntimeRestartReactionLoopState,
    StoreUnavailable,
)
from tenure_ledger.rows import Column, Conflict, Doubtful, RowChange
from worlds import STORES

A, B = OwnerRef("session", "ses_a"), OwnerRef("session", "ses_b")
LOOP = RuntimeRestartReactionLoopState(consecutive_batches=2)
X = "agent x"


@pytest.fixture(params=STORES)
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Meddled]:
    opened = Meddled(request.param, tmp_path)
    yield opened
    opened.close()


def put(desk: Meddled, *changes: RowChange) -> None:
    """Change rows behind the ledger's back."""
    with desk.store.write(10.0) as unit:
        unit.add((), None, (), changes)
        unit.commit()


def hold_right(desk: Meddled) -> None:
    """Hold that every row is what the events make."""
    assert stored_tables(desk.store) == right_tables(desk.store)
    found = desk.ledger.rebuild(check=True)
    assert [one.differences for one in found] == [()] * 10


def prepare(desk: Meddled) -> None:
    """A is held by the agent, with a checkpoint; B is there and nobody holds it."""
    one = desk.other.claim(A, X, "host", first=First("m1", "human"))
    desk.other.save_checkpoint(one, LOOP)
    two = desk.other.claim(B, "agent b", "host")
    desk.other.retire(two, "accepted")


def move(ledger: Ledger) -> None:
    """Let the agent leave A and take B, with a checkpoint there."""
    one = ledger.take_over(A, X, "host", Evidence.gone(ledger.owner(A)))
    ledger.retire(one, "continue", "go on")
    two = ledger.succeed(B, X, "host", first=First("m2", "human"))
    ledger.save_checkpoint(two, LOOP)


def act_in_the_middle(
    desk: Meddled, act: Callable[[Ledger], object]
) -> list[list[object]]:
    """Rebuild; act once everything is folded and nothing is compared."""
    done: list[int] = []

    def progress(events: int, count: int) -> None:
        if events == count and not done:
            done.append(events)
            act(desk.other)

    found = desk.ledger.rebuild(check=True, progress=progress)
    assert done
    return [[*one.differences] for one in found if one.differing]


def test_an_agent_that_moves_while_the_events_are_folded_is_no_difference(
    desk: Meddled,
) -> None:
    prepare(desk)
    assert act_in_the_middle(desk, move) == []
    hold_right(desk)


def test_an_owner_that_comes_or_is_deleted_meanwhile_is_no_difference(
    desk: Meddled,
) -> None:
    prepare(desk)

    def act(ledger: Ledger) -> None:
        ledger.delete_conversation(A, "host")
        ledger.claim(OwnerRef("session", "new"), X, "host")

    assert act_in_the_middle(desk, act) == []
    hold_right(desk)


def checkpoint(owner: OwnerRef) -> tuple[Column, ...]:
    """Return a checkpoint of the agent that no event makes."""
    key = (owner.recovery_class, owner.owner_id)
    return (X, "reaction_loop", "{}", 0, 0, *key, None, 9)


def test_a_row_that_becomes_another_owners_before_the_unit_is_not_deleted(
    desk: Meddled,
) -> None:
    prepare(desk)
    one = desk.other.take_over(A, X, "host", Evidence.gone(desk.other.owner(A)))
    desk.other.clear_checkpoint(one)
    put(desk, RowChange("runtime_restart_checkpoints", (X,), checkpoint(A)))
    desk.before_the_unit(move)
    found = desk.ledger.rebuild("runtime_restart_checkpoints")
    assert [each.differing for each in found] == [1]
    (row,) = desk.ledger.rows("runtime_restart_checkpoints")
    assert row["recovery_owner_id"] == B.owner_id
    hold_right(desk)


OWNERS = "recovery_owners"


def spoil_owners(desk: Meddled) -> None:
    """Make every row of the owners wrong."""
    rows = stored_tables(desk.store)[OWNERS]
    put(
        desk,
        *(
            RowChange(OWNERS, key, (*key, 7, None, *row[4:]))
            for key, row in rows.items()
        ),
    )


def test_rows_whose_streams_move_on_before_the_unit_are_right_after_it(
    desk: Meddled,
) -> None:
    prepare(desk)
    spoil_owners(desk)
    desk.before_the_unit(move)
    (found,) = desk.ledger.rebuild(OWNERS)
    assert found.differing == 2
    assert [row["agent_id"] for row in desk.ledger.rows(OWNERS)] == [None, X]
    hold_right(desk)


def idle(_: Ledger) -> None:
    """Do nothing."""


@pytest.mark.parametrize("act", [idle, move])
def test_the_unit_expects_the_streams_of_its_rows_where_they_were_folded(
    desk: Meddled, act: Callable[[Ledger], object]
) -> None:
    prepare(desk)
    desk.other.accept(OwnerRef("session", "right"), "m1", "inbox")
    spoil_owners(desk)
    desk.before_the_unit(act)
    desk.ledger.rebuild(OWNERS)
    heads = {stream: len(desk.store.tail(stream, 1)) for stream in (A.stream, B.stream)}
    assert desk.expected == heads


def test_the_unit_expects_both_streams_of_a_row_that_moves_before_it(
    desk: Meddled,
) -> None:
    prepare(desk)
    table = "runtime_restart_checkpoints"
    ((key, row),) = stored_tables(desk.store)[table].items()
    put(desk, RowChange(table, key, (*row[:-1], "wrong")))
    desk.before_the_unit(move)
    desk.ledger.rebuild(table)
    heads = {stream: len(desk.store.tail(stream, 1)) for stream in (A.stream, B.stream)}
    assert desk.expected == heads
    hold_right(desk)


def test_an_owner_that_ends_before_the_unit_is_right_after_it(desk: Meddled) -> None:
    prepare(desk)
    spoil_owners(desk)
    desk.before_the_unit(lambda ledger: ledger.delete_conversation(A, "host"))
    (found,) = desk.ledger.rebuild(OWNERS)
    assert found.differing == 2
    hold_right(desk)


def test_a_row_of_a_stream_that_becomes_too_new_before_the_unit_is_left_alone(
    desk: Meddled,
) -> None:
    prepare(desk)
    spoil_owners(desk)
    spoilt = stored_tables(desk.store)[OWNERS]

    def newer(_: Ledger) -> None:
        history = desk.store.tail(A.stream, 0)
        state = b'{"previous_hash": "%s"}' % history[-1].hash.hex().encode()
        event = StoredEvent(A.stream, len(history) + 1, "moon-noted.v7", state)
        desk.store.recorder.insert_events([event])

    desk.before_the_unit(newer)
    desk.ledger.rebuild(OWNERS)
    first, second = sorted(spoilt)
    stored = stored_tables(desk.store)[OWNERS]
    assert stored[first] == spoilt[first]
    assert stored[second] == right_tables(desk.store)[OWNERS][second]


def test_many_events_before_the_unit_are_caught_up_with(desk: Meddled) -> None:
    prepare(desk)
    (key,) = stored_tables(desk.store)["chat_executions"]
    put(desk, RowChange("chat_executions", key, None), RowChange(OWNERS, *wrong(desk)))
    ahead: list[int] = []

    def write(ledger: Ledger) -> None:
        one = ledger.take_over(A, X, "host", Evidence.gone(ledger.owner(A)))
        ledger.start(one, "m1")
        for number in range(1100):
            ledger.accept(A, f"n{number}", "inbox")
        ahead.append(ledger.head().position)

    desk.after_comparing(write)
    found = desk.ledger.rebuild()
    assert [one.table for one in found if one.differing] == [OWNERS, "chat_executions"]
    assert ahead[0] - found[0].position > 1100
    hold_right(desk)


def wrong(desk: Meddled) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
    """Return a key of the owners with a row that is wrong."""
    key, row = min(stored_tables(desk.store)[OWNERS].items())
    return key, (*row[:2], 99, *row[3:])


def test_a_unit_whose_commit_is_in_doubt_is_tried_again(desk: Meddled) -> None:
    prepare(desk)
    spoil_owners(desk)
    desk.lose(Doubtful("?"), Conflict("!"))
    (found,) = desk.ledger.rebuild(OWNERS)
    assert found.differing == 2
    assert desk.lost == 2
    hold_right(desk)


@pytest.mark.parametrize(
    ("loss", "fault"), [(Conflict, Contended), (Doubtful, StoreUnavailable)]
)
@pytest.mark.parametrize("kind", STORES)
def test_a_rebuild_that_cannot_be_confirmed_says_so_at_the_deadline(
    kind: str, tmp_path: Path, loss: type[Exception], fault: type[Exception]
) -> None:
    desk = Meddled(kind, tmp_path, deadline_seconds=0.05)
    prepare(desk)
    spoil_owners(desk)
    desk.lose(*[loss("!")] * 100_000)
    with pytest.raises(fault, match="again"):
        desk.ledger.rebuild(OWNERS)
    assert desk.lost > 1
    desk.lose()
    desk.ledger.rebuild(OWNERS)
    hold_right(desk)
    desk.close()
