"""S5: an orphaned run that nobody is allowed to adopt."""

from __future__ import annotations

from threading import Thread

import pytest

from tenure import (
    Evidence,
    FencedOut,
    Ledger,
    OwnerEnded,
    OwnerMoved,
    OwnerRef,
    TermRetired,
)
from tenure_ledger.events import (
    CheckpointCleared,
    CheckpointSaved,
    GenerationAdvanced,
    OwnershipClaimed,
)
from worlds import World

S = OwnerRef("session", "ses_1")


def import_orphan(world: World) -> None:
    """An owner row with agent NULL at generation 0, and a checkpoint."""
    world.append(
        S,
        OwnershipClaimed(author="import", generation=0),
        CheckpointSaved(
            author="import",
            generation=0,
            keys=(),
            revision=1,
            mode="reaction_loop",
            payload="d" * 64,
        ),
    )


def test_s5_step_1_the_imported_orphan_is_shown_as_it_is(world: World) -> None:
    import_orphan(world)
    seen = world.ledger.owner(S)
    assert (seen.status, seen.generation, seen.agent_id) == ("imported", 0, None)
    assert (seen.incarnation, world.ledger.verify().ok) == (None, True)


@pytest.mark.parametrize("way", ["claim", "take_over"])
def test_s5_step_2_an_orphan_is_adopted_by_one_documented_path(
    world: World, way: str
) -> None:
    import_orphan(world)
    ledger = world.ledger
    if way == "claim":
        one = ledger.claim(S, agent_id="new", author="host")
    else:
        one = ledger.take_over(S, agent_id="new", author="host")
    assert (one.generation, one.agent_id) == (1, "new")
    events = [at.event for at in ledger.history(S)]
    (grant,) = [event for event in events if isinstance(event, GenerationAdvanced)]
    assert (grant.reason, grant.author) == ("adopted", "host")
    # Nobody's checkpoint is not the new agent's to resume.
    assert any(isinstance(event, CheckpointCleared) for event in events)
    ledger.admit(one, "m1", origin="human")
    assert ledger.verify().ok


def test_s5_step_2_succeed_says_which_path_it_is(world: World) -> None:
    import_orphan(world)
    with pytest.raises(OwnerEnded, match="claim"):
        world.ledger.succeed(S, agent_id="new", author="host")


def test_s5_step_2_a_terminal_owner_is_adopted_by_claim(ledger: Ledger) -> None:
    one = ledger.claim(S, agent_id="a", author="host")
    ledger.terminate(one, "crashed", "gone")
    with pytest.raises(OwnerEnded, match="claim"):
        ledger.take_over(S, agent_id="b", author="host")
    two = ledger.claim(S, agent_id="b", author="host")
    assert (two.generation, ledger.owner(S).status) == (2, "live")


def test_s5_step_3_a_long_admission_fails_once_with_holder_and_generation(
    ledger: Ledger,
) -> None:
    mine = ledger.claim(S, agent_id="a", author="host")
    other = "b"
    for turn in range(2, 8):
        seen = Evidence.gone(ledger.owner(S))
        holder = ledger.take_over(S, agent_id=other, author="host", evidence=seen)
        head = ledger.head()
        with pytest.raises(FencedOut) as late:
            ledger.admit(mine, f"m{turn}", origin="human")
        assert isinstance(late.value, TermRetired)
        assert (late.value.holder, late.value.generation) == (other, turn)
        assert ledger.head() == head
        # Retryable: whoever holds it now admits the same message.
        ledger.admit(holder, f"m{turn}", origin="human")
        mine, other = holder, "a" if other == "b" else "b"


def test_s5_step_3_of_two_adopters_at_once_one_wins_and_one_is_told(
    world: World,
) -> None:
    import_orphan(world)
    outcomes: dict[str, object] = {}

    def adopt(agent_id: str) -> None:
        try:
            outcomes[agent_id] = world.ledger.claim(S, agent_id, "host").generation
        except Exception as refused:  # noqa: BLE001  what came is asserted below
            outcomes[agent_id] = type(refused).__name__

    threads = [Thread(target=adopt, args=(f"agent/{n}",)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, outcomes.values())) == ["1", *["OwnerIsLive"] * 5]
    assert world.ledger.owner(S).generation == 1


def test_s5_step_4_who_is_no_longer_owner_reads_it_and_is_told_so(
    ledger: Ledger,
) -> None:
    mine = ledger.claim(S, agent_id="a", author="host")
    seen = Evidence.gone(ledger.owner(S))
    ledger.take_over(S, agent_id="b", author="host", evidence=seen)
    with pytest.raises(FencedOut, match="b holds it at generation 2"):
        ledger.check(mine)
    view = ledger.owner(S)
    assert (view.agent_id, view.generation) == ("b", 2)
    assert view.incarnation != mine.incarnation
    with pytest.raises(OwnerMoved):
        ledger.take_over(S, agent_id="a", author="host", evidence=seen)
