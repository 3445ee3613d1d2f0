"""The words of seed 000 that recovery speaks, letter by letter."""

from __future__ import annotations

from typing import get_args

from recovering import NINE, PAYLOADS, SESSION, begin, owner_row, restart, the
from tenure import NOTICE, Closed
from tenure_ledger.decisions.recovering.assertions import ASSERTIONS
from tenure_ledger.values import ReplayReason
from worlds import World

TOLD = (
    "This subtask stopped during a restart and did not report a result. Its work may "
    "be partly or fully done: check what it already produced before redoing anything, "
    "then redo or redelegate only what is actually missing."
)
CLOSED = "Closed during restart recovery without reporting a result."
SEVEN = (
    "partial_recovery_descriptor",
    "invalid_recovery_descriptor",
    "missing_conversation",
    "invalid_structural_owner_identity",
    "recovery_identity_mismatch",
    "invalid_durable_owner_identity",
    "invalid_inherited_execution_authority",
)


def test_the_names_are_those_of_the_paper() -> None:
    assert ASSERTIONS == SEVEN
    assert get_args(ReplayReason) == NINE
    assert NOTICE == TOLD


def test_what_is_closed_and_told_is_in_the_words_of_the_paper(world: World) -> None:
    held = begin(world.ledger)
    world.ledger.save_checkpoint(held, PAYLOADS["reaction_loop"])
    world.ledger.bar_replay(SESSION, "user_cancelled", "ann", ["m1"])
    assert the(restart(world), Closed).reasons == ("user_cancelled",)
    assert owner_row(world, SESSION)["terminal_status"] == CLOSED
    (notice,) = world.ledger.pending_notices(SESSION)
    first, second, *_ = notice.text.splitlines()
    assert first == TOLD
    assert second == "The user cancelled this. Do not redo it unless asked."
