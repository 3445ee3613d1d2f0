"""The host's answers: as callables, or as methods of a class of its own."""

from __future__ import annotations

from recovering import SESSION, the
from tenure import (
    First,
    HolderAnswer,
    OwnerRef,
    RecoveryEnvironment,
    Resumed,
    recover,
)
from worlds import World


class Host(RecoveryEnvironment):
    """Has its answers as methods."""

    def holder(self, owner: OwnerRef, process: str | None) -> HolderAnswer:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Answer for every process but that of one owner."""
        return "cannot_tell" if owner != SESSION or process is None else "gone"


def test_methods_of_a_subclass_are_asked(world: World) -> None:
    world.ledger.claim(SESSION, "manager/1", "host", first=First("m1", "human"))
    assert the(recover(world.open("p2"), Host()), Resumed).owner == SESSION


def test_what_a_subclass_does_not_have_is_as_it_was_given() -> None:
    host = Host(current_model=lambda _owner: "m-2")
    assert host.answers(SESSION).model == "m-2"
    assert host.answers(SESSION).parent is None
