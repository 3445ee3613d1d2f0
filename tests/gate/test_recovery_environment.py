"""The host's answers: as callables, or as methods of a class of its own."""

from __future__ import annotations

from typing import Any

import pytest

from recovering import KID, PAYLOADS, SESSION, begin, environment, restart, the
from tenure import (
    First,
    HolderAnswer,
    InvalidInput,
    OwnerRef,
    RecoveryEnvironment,
    Resumed,
    recover,
)
from tenure_ledger.decisions.recovering.command import Answers
from worlds import World


class Host(RecoveryEnvironment):
    """Has its answers as methods."""

    def holder(self, owner: OwnerRef, process: str | None) -> HolderAnswer:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Answer for every process but that of one owner."""
        return "cannot_tell" if owner != SESSION or process is None else "gone"


def test_methods_of_a_subclass_are_asked(world: World) -> None:
    world.ledger.claim(SESSION, "manager/1", "host", first=First("m1", "human"))
    assert the(recover(world.open("p2"), Host()), Resumed).owner == SESSION


class Plain(RecoveryEnvironment):
    """Has its answers as functions of the class."""

    @staticmethod
    def holder(owner: OwnerRef, process: str | None) -> HolderAnswer:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Answer for every process but that of one owner."""
        return "cannot_tell" if owner != SESSION or process is None else "gone"

    @classmethod
    def current_model(cls, owner: OwnerRef) -> str | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Answer with a name."""
        return f"{cls.__name__} of {owner}"


def test_functions_of_a_subclass_are_asked(world: World) -> None:
    world.ledger.claim(SESSION, "manager/1", "host", first=First("m1", "human"))
    assert the(recover(world.open("p2"), Plain()), Resumed).owner == SESSION
    assert Plain().answers(SESSION).model == "Plain of session ses_1"


def test_none_means_that_it_was_not_asked(world: World) -> None:
    world.ledger.claim(SESSION, "manager/1", "host", first=First("m1", "human"))
    told = environment(
        conversation_exists=lambda _: None,
        identity=lambda _: None,
        current_grants=lambda _: None,
        current_model=lambda _: None,
    )
    assert told.answers(SESSION) == Answers()
    assert the(recover(world.open("p2"), told), Resumed).owner == SESSION


def test_a_slip_of_the_host_is_told_and_closes_nobody(world: World) -> None:
    held = begin(world.ledger)
    kid = world.ledger.spawn(held, KID, "kid/1", author="host", grants={"read"})
    world.ledger.admit(kid, "t1", "assistant_run")
    world.ledger.start(kid, "t1")
    for one in (held, kid):
        world.ledger.save_checkpoint(one, PAYLOADS["reaction_loop"])
    slip = environment(current_grants=lambda _: "read")
    with world.writes() as lines:
        report = recover(world.open("p2"), slip)
    assert lines == []
    assert [type(one.error) for one in report.failed] == [InvalidInput]
    assert [one.owner for one in report.failed] == [SESSION]
    (left,) = report.skipped
    assert (left.owner, left.why) == (KID, "parent_failed")
    back = restart(world, current_grants=lambda _: ["read"])
    assert [one.owner for one in back.resumed] == [SESSION, KID]


def test_only_takes_several_owners(world: World) -> None:
    wrong: list[Any] = [SESSION, 5, "ses_1", [5]]
    for only in wrong:
        with pytest.raises(InvalidInput):
            recover(world.ledger, only=only)


def test_what_a_subclass_does_not_have_is_as_it_was_given() -> None:
    host = Host(current_model=lambda _owner: "m-2")
    assert host.answers(SESSION).model == "m-2"
    assert host.answers(SESSION).parent is None
