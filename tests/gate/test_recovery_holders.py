"""Who is gone: never guessed across hosts, boots, process spaces or names."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from processes import other
from recovering import PAYLOADS, SESSION, environment, the
from tenure import (
    Closed,
    FencedOut,
    First,
    HolderAnswer,
    InvalidInput,
    Ledger,
    OwnerRef,
    RecoveryEnvironment,
    Resumed,
    Skipped,
    open_ledger,
    recover,
)
from tenure_gate.recovery.holders import holder_of_process
from tenure_ledger.process import process_name
from waiting import until
from workshop import hand
from worlds import World

NAMED = """
    from tenure_ledger.process import process_name
    say(process_name())
    hear()
"""
PRINTED = """
from tenure_ledger.process import process_name
print(process_name(), flush=True)
input()
"""
WORKER = """
    held = Authority.from_json(hear())
    held = ledger.advance(held, "migration")
    say(held.to_json())
    hear()
    ledger.settle(held, "m1", "completed")
    say("settled")
    hear()
"""
SPAWNER = """
    say(begin().to_json())
    hear()
"""


def asked(process: str | None) -> HolderAnswer:
    return holder_of_process(SESSION, process)


def with_part(name: str, part: str, value: str) -> str:
    """Return the process's name with one part changed."""
    parts = dict(one.split("=", 1) for one in name.split(";"))
    assert part in parts
    return ";".join(f"{key}={at}" for key, at in {**parts, part: value}.items())


def test_a_process_is_alive_until_it_is_killed(tmp_path: Path) -> None:
    with other(NAMED, tmp_path / "relay.db") as running:
        name = running.hear()
        assert asked(name) == "alive"
        running.kill()
    assert asked(name) == "gone"


def test_one_that_waits_to_be_collected_runs_no_more() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PRINTED], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        name = running.stdout.readline().decode().rstrip("\n")
        assert asked(name) == "alive"
        running.kill()
        until(lambda: asked(name) == "gone")
        # Nobody has waited for it yet: its number is still taken.
        assert running.returncode is None


def test_another_process_with_the_same_number_is_another_one() -> None:
    ours = process_name()
    assert asked(ours) == "alive"
    assert asked(with_part(ours, "start", "1")) == "gone"
    # A part that another release may add says nothing here.
    assert asked(f"{ours};slot=7") == "alive"


def test_two_process_spaces_under_one_host_name_cannot_tell(tmp_path: Path) -> None:
    """Two containers of one machine: the same host name, the same boot."""
    with other(NAMED, tmp_path / "relay.db") as running:
        name = running.hear()
        running.kill()
    elsewhere = with_part(name, "pidns", "pid:[4026532999]")
    assert asked(elsewhere) == "cannot_tell"
    assert asked(with_part(name, "pidns", "")) == "cannot_tell"
    assert asked(name) == "gone"


def test_another_host_cannot_be_told_and_another_boot_of_ours_can() -> None:
    ours = process_name()
    assert asked(with_part(ours, "host", "elsewhere")) == "cannot_tell"
    assert asked(with_part(ours, "boot", "before")) == "gone"
    assert asked(with_part(ours, "boot", "")) == "cannot_tell"


@pytest.mark.parametrize("name", [None, "", "p1", "pod-7", "host=x;pid=1", "host"])
def test_a_name_of_another_making_cannot_be_told(name: str | None) -> None:
    assert asked(name) == "cannot_tell"


@pytest.mark.parametrize("pid", ["0", "-1", "x", "٣", "", "99999999999999999999"])
def test_a_number_that_is_no_process_is_never_asked_about(pid: str) -> None:
    assert asked(with_part(process_name(), "pid", pid)) == "cannot_tell"


def test_a_worker_that_was_handed_the_authority_outlives_its_spawner(
    place: str,
) -> None:
    with hand(place, SPAWNER) as spawner, hand(place, WORKER) as worker:
        worker.say(spawner.hear())
        moved = worker.hear()
        spawner.kill()
        with open_ledger(place) as ledger:
            left = the(recover(ledger), Skipped)
            assert left[:2] == (SESSION, "alive")
            worker.say()
            assert worker.hear() == "settled"
            assert ledger.owner(SESSION).generation == 2
            assert ledger.owner(SESSION).open_executions == ()
        assert moved
        worker.kill()


def test_a_worker_that_died_is_recovered_while_its_spawner_lives(
    place: str,
) -> None:
    with hand(place, SPAWNER) as spawner, hand(place, WORKER) as worker:
        worker.say(spawner.hear())
        worker.hear()
        worker.kill()
        with open_ledger(place) as ledger:
            closed = the(recover(ledger), Closed)
            assert (closed.owner, closed.reasons) == (SESSION, ("no_checkpoint",))
        spawner.say()
        spawner.end()


def test_a_worker_that_did_not_say_so_proves_its_life_by_writing(
    world: World,
) -> None:
    """Its spawner's process is on record and gone; it writes after it was looked at."""
    held = world.ledger.claim(SESSION, "manager/1", "host", first=First("m1", "human"))

    def holder(_owner: OwnerRef, _process: str | None) -> HolderAnswer:
        world.ledger.start(held, "m1")
        return "gone"

    report = recover(world.open("p2"), RecoveryEnvironment(holder=holder))
    assert the(report, Skipped)[:2] == (SESSION, "alive")
    world.ledger.settle(held, "m1", "completed")


def test_a_worker_that_is_recovered_all_the_same_is_fenced_out(world: World) -> None:
    held = world.ledger.claim(SESSION, "manager/1", "host", first=First("m1", "human"))
    world.ledger.save_checkpoint(held, PAYLOADS["queued_submission"])
    gone = RecoveryEnvironment(holder=lambda _owner, _process: "gone")
    resumed = the(recover(world.open("p2"), gone), Resumed)
    with world.refuses(FencedOut):
        world.ledger.start(held, "m1")
    world.ledger.start(resumed.authority, "m1")


@pytest.mark.parametrize("answer", [None, "dead", True, b"gone"])
def test_an_answer_that_is_none_is_a_fault_of_that_owner(
    world: World, answer: object
) -> None:
    world.ledger.claim(SESSION, "manager/1", "host", first=First("m1", "human"))
    odd = RecoveryEnvironment(holder=lambda _owner, _process: answer)  # type: ignore[arg-type,return-value] # pyright: ignore[reportArgumentType]
    (failed,) = recover(world.open("p2"), odd).failed
    assert isinstance(failed.error, InvalidInput)


WRONG: list[dict[str, Callable[[OwnerRef], Any]]] = [
    {"conversation_exists": lambda _: "no"},
    {"parent": lambda _: "ses_2"},
    {"identity": lambda _: ("coder", "acme")},
    {"current_grants": lambda _: [7]},
    {"current_grants": lambda _: 7},
    {"current_model": lambda _: 7},
]


@pytest.mark.parametrize("answers", WRONG, ids="".join)
def test_a_wrong_answer_of_any_kind_is_a_fault_of_that_owner(
    world: World, answers: dict[str, Callable[[OwnerRef], Any]]
) -> None:
    world.ledger.claim(SESSION, "manager/1", "host", first=First("m1", "human"))
    with world.writes() as lines:
        (failed,) = recover(world.open("p2"), environment(**answers)).failed
    assert isinstance(failed.error, InvalidInput)
    assert lines == []


def test_what_is_no_environment_is_refused_before_anything_is_read(
    ledger: Ledger,
) -> None:
    with pytest.raises(InvalidInput):
        RecoveryEnvironment(holder=None)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidInput):
        RecoveryEnvironment(identity="me")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidInput):
        recover(ledger, "default")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError):
        recover("relay.db")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidInput):
        recover(ledger, only=["ses_1"])  # type: ignore[list-item] # pyright: ignore[reportArgumentType]


@pytest.fixture
def ledger(world: World) -> Ledger:
    """Give the world's own ledger."""
    return world.ledger
