"""S6: two writers persisted the same decision, and now replay throws."""

from __future__ import annotations

import pytest

from tenure import Event, Evidence, Ledger, NotFound, OwnerRef, Quarantined
from tenure_ledger.events import ExecutionAdmitted, GenerationAdvanced
from worlds import World

S, OTHER = OwnerRef("session", "ses_1"), OwnerRef("session", "ses_2")


def takeover(agent_id: str) -> GenerationAdvanced:
    return GenerationAdvanced(
        author="import", generation=2, reason="takeover", agent_id=agent_id
    )


def admitted(digest: str) -> ExecutionAdmitted:
    return ExecutionAdmitted(
        author="a", generation=1, key="m1", origin="human", content_digest=digest
    )


def imported(world: World, owner: OwnerRef, *events: Event) -> list[int]:
    """Append events as an import or an older version would; return their versions."""
    version = len(world.ledger.history(owner))
    world.append(owner, *events)
    return [version + number for number, _ in enumerate(events, 1)]


def rebuilt(world: World) -> Ledger:
    """Another ledger on the same store, which folds everything from zero."""
    return world.open()


def prepare(world: World, *events: Event) -> list[int]:
    world.ledger.claim(S, agent_id="a", author="host")
    world.ledger.claim(OTHER, agent_id="b", author="host")
    return imported(world, S, *events)


@pytest.mark.parametrize(
    "event", [takeover("c"), admitted("d1")], ids=["takeover", "admission"]
)
def test_s6_step_2_an_identical_duplicate_is_a_no_op(
    world: World, event: Event
) -> None:
    prepare(world, event)
    once = rebuilt(world).owner(S)
    imported(world, S, event)
    twice = rebuilt(world).owner(S)
    assert twice == once._replace(version=once.version + 1)
    assert twice.status == "live"


@pytest.mark.parametrize(
    ("first", "second"),
    [(takeover("c"), takeover("d")), (admitted("d1"), admitted("d2"))],
    ids=["takeover", "admission"],
)
def test_s6_step_2_a_contradiction_is_shown_with_both_positions_and_no_exception(
    world: World, first: Event, second: Event
) -> None:
    earlier, later = prepare(world, first, second)
    for ledger in (world.ledger, rebuilt(world)):
        seen = ledger.owner(S)
        assert (seen.status, seen.positions) == ("quarantined", (earlier, later))
    assert world.ledger.verify().ok
    assert len(list(world.ledger.events())) == world.ledger.head().count


def test_s6_step_3_the_contradicting_stream_alone_is_refused(
    world: World,
) -> None:
    earlier, later = prepare(world, takeover("c"), takeover("d"))
    ledger = rebuilt(world)
    one = ledger.advance(
        ledger.take_over(OTHER, "b", "host", Evidence.gone(ledger.owner(OTHER))),
        "lease_renewal",
    )
    ledger.admit(one, "m1", origin="human")
    head = ledger.head()
    with pytest.raises(Quarantined) as refused:
        ledger.claim(S, agent_id="e", author="host")
    assert refused.value.evidence["positions"] == (earlier, later)
    with pytest.raises(Quarantined):
        ledger.bar_replay(S, "user_cancelled", author="host")
    assert ledger.head() == head
    ledger.accept(S, "m9", author="inbox")
    assert ledger.owner(S).waiting == ("m9",)


@pytest.mark.parametrize("keep_later", [False, True])
def test_s6_a_person_says_which_of_the_two_stands(
    world: World, *, keep_later: bool
) -> None:
    earlier, later = prepare(world, takeover("c"), takeover("d"))
    ledger = world.ledger
    ledger.accept(S, "m9", author="inbox")
    keep = later if keep_later else earlier
    at = ledger.resolve_quarantine(S, keep, author="ops")
    for again in (ledger, rebuilt(world)):
        seen = again.owner(S)
        assert (seen.status, seen.generation, seen.version) == ("live", 2, at)
        assert seen.agent_id == ("d" if keep_later else "c")
        assert seen.waiting == ("m9",)
    with pytest.raises(NotFound):
        ledger.resolve_quarantine(S, keep, author="ops")


def test_s6_step_1_a_generation_that_was_skipped_or_reused_is_a_contradiction(
    world: World,
) -> None:
    skipped = takeover("c").model_copy(update={"generation": 7})
    (later,) = prepare(world, skipped)
    assert world.ledger.owner(S).positions == (1, later)
    (reused,) = imported(
        world, OTHER, takeover("c").model_copy(update={"generation": 1})
    )
    assert world.ledger.owner(OTHER).positions == (1, reused)
