"""The one question is answered for what it asks about; anything else is refused."""

from __future__ import annotations

from typing import Any, cast

import pytest

from gates import S, relayed
from tenure import (
    ChatExecutionKey,
    First,
    InvalidInput,
    JournalSnapshot,
    is_admitted_successor_request,
)
from worlds import World


@pytest.fixture
def journal(world: World) -> JournalSnapshot:
    relayed(world.ledger)
    return JournalSnapshot.of(world.ledger.fresh_state(S))


def test_what_was_admitted_above_the_cut_is_the_successors(
    journal: JournalSnapshot,
) -> None:
    cut = journal.cut_version
    assert is_admitted_successor_request(cut, "m2", journal)
    assert not is_admitted_successor_request(cut, "m1", journal)
    assert is_admitted_successor_request(0, "m1", journal)
    assert not is_admitted_successor_request(cut, "nobody knows it", journal)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (ChatExecutionKey("ses_1", "m2"), "physical_user_message_id, .*ChatExecutionK"),
        (First("m2", "human"), "message_id of a First, not a First"),
        (b"m2", "as text: .*, not a bytes"),
        (None, "not a NoneType"),
        ("", "is empty"),
    ],
)
def test_what_is_no_message_id_is_no_no(
    journal: JournalSnapshot, wrong: object, told: str
) -> None:
    with pytest.raises(InvalidInput, match=told):
        is_admitted_successor_request(journal.cut_version, cast("Any", wrong), journal)


@pytest.mark.parametrize("wrong", ["cut", "1", None, -1, True, 2.0])
def test_what_is_no_version_is_no_no(journal: JournalSnapshot, wrong: object) -> None:
    version = cast("Any", journal.cut if wrong == "cut" else wrong)
    with pytest.raises(InvalidInput, match=r"pass journal.cut_version, or a Cut's"):
        is_admitted_successor_request(version, "m2", journal)


@pytest.mark.parametrize("wrong", ["state", None, {}])
def test_what_is_no_journal_is_no_no(world: World, wrong: object) -> None:
    given = cast("Any", world.ledger.fresh_state(S) if wrong == "state" else wrong)
    with pytest.raises(InvalidInput, match=r"pass JournalSnapshot.of\("):
        is_admitted_successor_request(0, "m2", given)
