"""A rebuild proves that the tables are what the events make, or puts them right."""

from __future__ import annotations

from pathlib import Path
from shutil import copyfile

import pytest
from eventsourcing.persistence import StoredEvent

from damage import by_hand, damage, seen_in
from lives import Lives
from projected import right_tables, stored_tables
from remembering import remember
from tenure import First, InvalidInput, OwnerRef
from tenure_ledger import events as e
from tenure_ledger.codec import encode
from tenure_ledger.rows import RowChange
from tenure_projections.rebuild import DIFFERENCES_MAX
from tenure_projections.tables import TABLES
from tenure_projections.tables.shape import Table
from worlds import World

S = OwnerRef("session", "ses_1")
NAMES = [table.spec.name for table in TABLES]


def live(world: World) -> None:
    """Write rows into every table, all of them right."""
    lives = Lives(world)
    for _ in range(5):
        lives.life()
    world.ledger.rebuild()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the file of such a ledger, for all tests to copy."""
    world = World("sqlite", tmp_path_factory.mktemp("lived"))
    live(world)
    world.close()
    return Path(world.url.removeprefix("sqlite:///"))


@pytest.fixture
def lived(world: World, file: Path) -> World:
    """Give a ledger with rows in every table."""
    if world.kind == "sqlite":
        copyfile(file, world.url.removeprefix("sqlite:///"))
    else:
        live(world)
    return world


def test_an_empty_ledger_is_rebuilt_to_nothing(world: World) -> None:
    told: list[tuple[int, int]] = []
    found = world.ledger.rebuild(progress=lambda at, end: told.append((at, end)))
    assert [one.table for one in found] == NAMES
    for one in found:
        assert one[1:] == (0, 0, 0, 0, 0, ())
    assert told == [(0, 0)]


@pytest.mark.parametrize("seed", range(4))
def test_what_commands_wrote_is_right(world: World, seed: int) -> None:
    remember(world, seed, 120)
    found = world.ledger.rebuild(check=True)
    assert [one.differences for one in found] == [()] * len(TABLES)
    rows = stored_tables(world.store())
    assert [one.rows for one in found] == [len(rows[name]) for name in NAMES]


def test_it_tells_how_much_it_read(lived: World) -> None:
    head = lived.ledger.head()
    streams = {one.stream for one in lived.ledger.events()}
    for one in lived.ledger.rebuild(check=True):
        assert (one.position, one.events) == (head.position, head.count)
        assert one.streams == len(streams)


@pytest.mark.parametrize("table", TABLES, ids=NAMES)
def test_damage_is_found_row_by_row_and_put_right_once(
    lived: World, table: Table
) -> None:
    head, name = lived.ledger.head(), table.spec.name
    right = stored_tables(lived.store())
    wrong = damage(lived, table)
    spoilt = stored_tables(lived.store())
    for _ in range(2):
        (found,) = lived.ledger.rebuild(name, check=True)
        assert seen_in(found.differences) == wrong
        assert [one.key for one in found.differences] == sorted(wrong)
        assert {one.table for one in found.differences} == {name}
        assert found.differing == len(wrong) == 3
        assert stored_tables(lived.store()) == spoilt
    (found,) = lived.ledger.rebuild(name)
    assert seen_in(found.differences) == wrong
    assert stored_tables(lived.store()) == right
    (found,) = lived.ledger.rebuild(name)
    assert (found.differing, found.differences) == (0, ())
    assert lived.ledger.head() == head


def test_all_tables_are_put_right_at_once(lived: World) -> None:
    right = stored_tables(lived.store())
    wrong = {table.spec.name: damage(lived, table) for table in TABLES}
    found = lived.ledger.rebuild()
    assert {one.table: seen_in(one.differences) for one in found} == wrong
    assert stored_tables(lived.store()) == right


def test_one_table_is_rebuilt_alone(lived: World) -> None:
    for table in TABLES:
        damage(lived, table)
    spoilt, right = stored_tables(lived.store()), right_tables(lived.store())
    lived.ledger.rebuild("notices")
    stored = stored_tables(lived.store())
    assert stored.pop("notices") == right["notices"]
    del spoilt["notices"]
    assert stored == spoilt


def test_a_table_that_was_emptied_is_filled(lived: World) -> None:
    right = stored_tables(lived.store())
    for name in NAMES:
        by_hand(lived, *(RowChange(name, key, None) for key in right[name]))
    found = lived.ledger.rebuild()
    assert [one.differing for one in found] == [len(right[name]) for name in NAMES]
    assert all(one.before is None for each in found for one in each.differences)
    assert stored_tables(lived.store()) == right


def test_agents_that_were_swapped_by_hand_are_swapped_back(world: World) -> None:
    for number in range(3):
        world.ledger.claim(OwnerRef("session", f"s{number}"), f"a{number}", "host")
    right = stored_tables(world.store())["recovery_owners"]
    moved = {
        key: (*row[:3], f"a{(number + 1) % 3}", *row[4:])
        for number, (key, row) in enumerate(sorted(right.items()))
    }
    by_hand(world, *(RowChange("recovery_owners", key, None) for key in right))
    by_hand(world, *(RowChange("recovery_owners", *pair) for pair in moved.items()))
    (found,) = world.ledger.rebuild("recovery_owners")
    assert [one.before and one.before["agent_id"] for one in found.differences] == [
        "a1",
        "a2",
        "a0",
    ]
    assert stored_tables(world.store())["recovery_owners"] == right


def test_what_was_imported_is_put_in(world: World) -> None:
    world.append(
        S,
        e.OwnershipClaimed(author="import", generation=1, agent_id="a"),
        e.ExecutionAdmitted(author="import", generation=1, key="m1", origin="human"),
    )
    assert list(world.ledger.rows("recovery_owners")) == []
    found = world.ledger.rebuild()
    assert {one.table: one.differing for one in found if one.differing} == {
        "recovery_owners": 1,
        "chat_executions": 1,
    }
    assert stored_tables(world.store()) == right_tables(world.store())


def test_rows_of_a_stream_that_is_too_new_are_left_as_a_newer_version_wrote_them(
    world: World,
) -> None:
    world.ledger.claim(S, "a", "host", first=First("m1", "human"))
    world.append_unknown(S, ignorable=False)
    before = stored_tables(world.store())
    owners, executions = before["recovery_owners"], before["chat_executions"]
    ((owner, row),), ((key, done),) = owners.items(), executions.items()
    newer = (*row[:2], 9, "b", "m9", *row[5:])
    extra = (*key[:2], "m9", "moon", *done[4:])
    by_hand(
        world,
        RowChange("recovery_owners", owner, newer),
        RowChange("chat_executions", key, None),
        RowChange("chat_executions", extra[:3], extra),
    )
    found = world.ledger.rebuild()
    assert [each.table for each in found if each.differing] == ["stream_states"]
    stored = stored_tables(world.store())
    assert list(stored["recovery_owners"].values()) == [newer]
    assert list(stored["chat_executions"].values()) == [extra]
    (shown,) = world.ledger.rows("stream_states")
    assert (shown["state"], shown["version"]) == ("too_new", 4)
    assert [each.differing for each in world.ledger.rebuild(check=True)] == [0] * 10


def test_an_agent_that_two_histories_claim_is_shown_with_the_first_alone(
    world: World,
) -> None:
    claim = e.OwnershipClaimed(author="import", generation=1, agent_id="a")
    other = OwnerRef("session", "ses_2")
    for owner in (other, S):
        world.append(owner, claim)
    world.ledger.rebuild()
    assert [(row["owner_id"], row["agent_id"]) for row in _owners(world)] == [
        ("ses_1", "a"),
        ("ses_2", None),
    ]
    assert [one.differing for one in world.ledger.rebuild()] == [0] * 10


def test_a_snapshot_that_two_histories_claim_for_one_agent_is_one_row(
    world: World,
) -> None:
    for owner in (OwnerRef("session", "ses_2"), S):
        world.append(
            owner,
            e.OwnershipClaimed(author="import", generation=1, agent_id="a"),
            e.CheckpointSaved(
                author="import",
                generation=1,
                fenced=True,
                mode="reaction_loop",
                keys=(),
                revision=1,
                payload="0" * 64,
            ),
        )
    name = "runtime_restart_checkpoints"
    world.ledger.rebuild()
    (row,) = world.ledger.rows(name)
    assert (row["agent_id"], row["recovery_owner_id"]) == ("a", S.owner_id)
    assert [one.differing for one in world.ledger.rebuild()] == [0] * 10
    past = world.ledger.as_of(world.ledger.head().position)
    assert list(past.rows(name)) == [row]


def _owners(world: World) -> list[dict[str, object]]:
    return [{**row} for row in world.ledger.rows("recovery_owners")]


def test_more_rows_are_put_right_than_are_told(world: World) -> None:
    count = DIFFERENCES_MAX + 5
    event = e.SubmissionAccepted(author="import", generation=0, key="m")
    world.store().recorder.insert_events(
        [
            StoredEvent(
                S.stream,
                number,
                event.topic,
                encode(event.model_copy(update={"key": f"m{number:05}"})),
            )
            for number in range(1, count + 1)
        ]
    )
    told: list[tuple[int, int]] = []
    (found,) = world.ledger.rebuild(
        "chat_executions", progress=lambda at, end: told.append((at, end))
    )
    assert (found.rows, found.differing) == (count, count)
    assert len(found.differences) == DIFFERENCES_MAX
    assert told[-1] == (count, count)
    (found,) = world.ledger.rebuild("chat_executions", check=True)
    assert (found.rows, found.differing) == (count, 0)


def test_progress_is_told_in_events_whatever_positions_are(world: World) -> None:
    key = e.SubmissionAccepted(author="import", generation=0, key="m")
    states = [encode(key.model_copy(update={"key": f"m{at}"})) for at in range(10_000)]
    world.store().recorder.insert_events(
        [
            StoredEvent(S.stream, number, key.topic, state)
            for number, state in enumerate(states, 1)
        ]
    )
    world.ledger.accept(OwnerRef("session", "zz"), "m", "inbox")
    told: list[tuple[int, int]] = []
    world.ledger.rebuild("interrupts", progress=lambda at, end: told.append((at, end)))
    assert told == [(10_000, 10_001), (10_001, 10_001)]


@pytest.mark.parametrize("table", ["stored_events", "", "recovery_owners ", 7, b"x"])
def test_a_table_that_is_none_is_refused_and_the_tables_are_named(
    world: World, table: str
) -> None:
    with pytest.raises(InvalidInput, match=r"recovery_owners, .*stream_states"):
        world.ledger.rebuild(table)


def test_no_event_is_written_and_no_command(lived: World) -> None:
    before = lived.ledger.head()
    damage(lived, TABLES[0])
    lived.ledger.rebuild()
    assert lived.ledger.verify(before).head == before
    one = lived.ledger.claim(S, "a", "host")
    assert next(lived.ledger.events(before.position)) == lived.ledger.history(S)[-1]
    assert one.generation == 1
