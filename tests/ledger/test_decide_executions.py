"""Accept, admit, start, settle (design section 5, rule 1, and section 6)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scenes import JOB, ONE, SESSION, TWO
from tenure import (
    AlreadyDecided,
    AlreadyStripped,
    Authority,
    ChatExecutionKey,
    Execution,
    First,
    InvalidInput,
    KeyReused,
    Ledger,
    NotAdmitted,
)
from tenure_ledger import events as e
from worlds import World


def known(world: World, message_id: str) -> Execution:
    """Return what the ledger knows of a message of the session."""
    found = world.ledger.execution(ChatExecutionKey("ses_1", message_id))
    assert found is not None
    return found


def begin(world: World) -> Authority:
    """Claim the session."""
    return world.ledger.claim(SESSION, ONE, "host")


Ask = Callable[[Ledger, Authority], int]

SAME: dict[str, Ask] = {
    "accept": lambda on, _: on.accept(SESSION, "m1", "host", "ann", "d1", human=True),
    "admit": lambda on, by: on.admit(by, "m1", "human", "ann", "d1"),
    "start": lambda on, by: on.start(by, "m1"),
    "settle": lambda on, by: on.settle(by, "m1", "completed"),
}
"""In the order of a message's life."""


@pytest.mark.parametrize("ask", SAME)
def test_asked_again_adds_nothing_and_says_the_same(world: World, ask: str) -> None:
    held = begin(world)
    first = 0
    for name, one in SAME.items():
        first = one(world.ledger, held)
        if name == ask:
            break
    with world.writes() as lines:
        assert SAME[ask](world.ledger, held) == first
        assert SAME[ask](world.open("p2"), held) == first
    assert lines == []


def test_a_human_origin_is_accepted_as_well_as_admitted(world: World) -> None:
    held = begin(world)
    with world.writes() as lines:
        world.ledger.admit(held, "m1", "human", sender="ann")
        world.ledger.admit(held, "m2", "human_successor_root")
        world.ledger.admit(held, "m3", "continue_relay")
    assert lines == [
        "ses_1 SubmissionAccepted@1 m1",
        "ses_1 ExecutionAdmitted@1 m1",
        "ses_1 SubmissionAccepted@1 m2",
        "ses_1 ExecutionAdmitted@1 m2",
        "ses_1 ExecutionAdmitted@1 m3",
    ]
    assert [known(world, one).human for one in ("m1", "m2", "m3")] == [
        True,
        True,
        False,
    ]
    with world.writes() as lines:
        world.ledger.admit(held, "m3", "human")
    assert lines == ["ses_1 SubmissionAccepted@1 m3"]


def test_accepting_lets_nothing_pass(world: World) -> None:
    held = begin(world)
    world.ledger.accept(SESSION, "m1", "gateway", human=True)
    writes: list[Callable[[], object]] = [
        lambda: world.ledger.start(held, "m1"),
        lambda: world.ledger.settle(held, "m1", "completed"),
        lambda: world.ledger.mark_output_started(held, "m1"),
        lambda: world.ledger.begin_tool_call(held, "m1", "c1", "read", {}),
        lambda: world.ledger.retire(held, "continue", finishes=["m1"]),
    ]
    told = "m1 is no execution of the live term: admit it first"
    for write in writes:
        with world.refuses(NotAdmitted) as refusal:
            write()
        assert refusal.value.evidence["key"] == "m1"
        assert refusal.value.text.endswith(told)


@pytest.mark.parametrize("state", ["admitted in the last term", "unknown"])
def test_what_is_not_admitted_to_the_live_term_cannot_run(
    world: World, state: str
) -> None:
    held = world.ledger.claim(SESSION, ONE, "host", first=First("m1", "tool_probe"))
    cut = world.ledger.retire(held, "continue")
    held = world.ledger.succeed(SESSION, TWO, "host")
    key = "m1" if state != "unknown" else "m2"
    with world.refuses(NotAdmitted) as refusal:
        world.ledger.start(held, key)
    assert refusal.value.evidence == {"key": key, "generation": 2, "cut": cut}
    with world.refuses(NotAdmitted):
        world.ledger.settle(held, key, "completed")
    world.ledger.admit(held, key, "continue_relay")
    world.ledger.start(held, key)


def test_accept_of_a_known_key_returns_the_first_outcome_in_any_term(
    world: World,
) -> None:
    held = begin(world)
    first = world.ledger.accept(SESSION, "m1", "gateway", digest="d1")
    world.ledger.admit(held, "m1", "human")
    world.ledger.start(held, "m1")
    only_admitted = world.ledger.admit(held, "m2", "tool_probe")
    world.ledger.start(held, "m2")
    world.ledger.retire(held, "accepted")
    with world.writes() as lines:
        assert world.ledger.accept(SESSION, "m1", "gateway", digest="d1") == first
        assert world.ledger.accept(SESSION, "m1", "another") == first
        assert world.ledger.accept(SESSION, "m2", "gateway") == only_admitted
    assert lines == []


@pytest.mark.parametrize("end", ["started", "settled"])
@pytest.mark.parametrize("later", [False, True])
def test_what_was_started_or_settled_is_never_admitted_again(
    world: World, end: str, *, later: bool
) -> None:
    held = begin(world)
    world.ledger.admit(held, "m1", "human")
    at = world.ledger.start(held, "m1")
    if end == "settled":
        at = world.ledger.settle(held, "m1", "failed")
    if later:
        world.ledger.retire(held, "continue")
        held = world.ledger.succeed(SESSION, TWO, "host")
        at = known(world, "m1").settled
    with world.refuses(AlreadyDecided) as refusal:
        world.ledger.admit(held, "m1", "human")
    assert refusal.value.evidence["version"] == at
    first = {"started": "started", "settled": "failed"}[end]
    assert refusal.value.first == ("retired" if later and end == "started" else first)
    assert "new message id" in refusal.value.text


def test_the_first_settle_stands(world: World) -> None:
    held = begin(world)
    world.ledger.admit(held, "m1", "human")
    at = world.ledger.settle(held, "m1", "failed")
    for outcome in ("completed", "cancelled"):
        with world.refuses(AlreadyDecided) as refusal:
            world.ledger.settle(held, "m1", outcome)
        assert (refusal.value.first, refusal.value.evidence["version"]) == (
            "failed",
            at,
        )
    with world.refuses(AlreadyDecided):
        world.ledger.start(held, "m1")
    with world.refuses(InvalidInput):
        world.ledger.settle(held, "m1", "retired")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


DIGESTS = [
    ("a", "a", True),
    ("a", "b", False),
    ("a", None, True),
    (None, "b", True),
    (None, None, True),
]


@pytest.mark.parametrize(("first", "second", "same"), DIGESTS)
@pytest.mark.parametrize("start", ["accept", "admit"])
@pytest.mark.parametrize("again", ["accept", "admit"])
def test_a_key_with_other_content_is_refused(
    world: World,
    start: str,
    again: str,
    first: str | None,
    second: str | None,
    *,
    same: bool,
) -> None:
    held = begin(world)

    def tell(how: str, digest: str | None) -> None:
        if how == "accept":
            world.ledger.accept(SESSION, "m1", "host", digest=digest)
        else:
            world.ledger.admit(held, "m1", "human", digest=digest)

    tell(start, first)
    if same:
        tell(again, second)
        return
    with world.refuses(KeyReused) as refusal:
        tell(again, second)
    assert refusal.value.evidence["digest"] == first


def test_the_same_id_in_two_owners_is_two_keys(world: World) -> None:
    session = begin(world)
    job = world.ledger.claim(JOB, TWO, "host")
    world.ledger.admit(session, "m1", "human", digest="a")
    world.ledger.admit(job, "m1", "human", digest="b")
    world.ledger.settle(job, "m1", "completed")
    assert known(world, "m1").settled == 0
    at = ChatExecutionKey("job_1", "m1")
    assert world.ledger.execution(at) is None
    found = world.ledger.execution(at, recovery_class="job")
    assert found is not None
    assert found.outcome == "completed"


def test_a_stripped_key_stays_out_for_ever(world: World) -> None:
    held = begin(world)
    world.append(
        SESSION,
        e.StaleRequestStripped(
            author="gate",
            generation=1,
            key="m1",
            verdict="stale_unadmitted",
            cut=0,
            interrupt_id="i1",
        ),
    )
    writes: list[Callable[[], object]] = [
        lambda: world.ledger.accept(SESSION, "m1", "host"),
        lambda: world.ledger.admit(held, "m1", "human"),
        lambda: world.ledger.admit(held, "q", "human", absorbed=["m1"]),
    ]
    for write in writes:
        with world.refuses(AlreadyStripped) as refusal:
            write()
        assert refusal.value.evidence["verdict"] == "stale_unadmitted"
        assert "new id" in refusal.value.text
    with world.refuses(NotAdmitted) as kept_out:
        world.ledger.start(held, "m1")
    assert "stripped at version" in kept_out.value.text


def test_a_message_taken_into_a_running_one_is_settled_with_it(world: World) -> None:
    held = begin(world)
    for key in ("m1", "m2", "m3"):
        world.ledger.admit(held, key, "human")
    with world.refuses(NotAdmitted):
        world.ledger.start(held, "m2", into="m1")
    with world.refuses(NotAdmitted):
        world.ledger.start(held, "m2", into="never seen")
    with world.refuses(InvalidInput):
        world.ledger.start(held, "m2", into="m2")
    world.ledger.start(held, "m1")
    world.ledger.start(held, "m2", into="m1")
    world.ledger.start(held, "m3", into="m2")
    with world.writes() as lines:
        world.ledger.settle(held, "m1", "completed")
    assert sorted(lines) == [
        "ses_1 ExecutionSettled@1 m1 completed",
        "ses_1 ExecutionSettled@1 m2 completed",
        "ses_1 ExecutionSettled@1 m3 completed",
    ]
    world.ledger.admit(held, "m4", "human")
    with world.refuses(AlreadyDecided):
        world.ledger.start(held, "m4", into="m1")
