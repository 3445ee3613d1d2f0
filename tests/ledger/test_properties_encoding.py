"""What is stored is read back equal; names, digests, travelling values are stable."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from event_strategies import any_event, any_id, any_name, owners
from tenure import Authority, Event, Evidence, First, Head, InvalidInput, Json, OwnerRef
from tenure_ledger.bodies import body_digest, body_value, encode_body
from tenure_ledger.codec import EVENTS, decode, encode
from tenure_ledger.decisions import (
    admission,
    bars,
    calls,
    executions,
    ownership,
    relay,
    takeover,
)
from tenure_ledger.decisions.work import Body, Command
from tenure_ledger.rows import EventRow, row_hash
from tenure_ledger.sealing import command_digest
from tenure_ledger.values import agent_stream

ALWAYS = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=80,
    suppress_health_check=[HealthCheck.too_slow],
)
FEW = settings(ALWAYS, max_examples=20)

SESSION = OwnerRef("session", "ses_1")
ONE = Authority(SESSION, 3, "0f2c", "manager/ses_1/1")
ARGUMENTS = Body("d" * 64, b"{}")

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**63, -(2**63), 10**1000])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"]), max_size=9),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@pytest.mark.parametrize("topic", sorted(EVENTS))
def test_every_event_is_read_back_equal(topic: str) -> None:
    @FEW
    @given(any_event(EVENTS[topic]), any_id)
    def check(event: object, stream: str) -> None:
        assert isinstance(event, EVENTS[topic])
        state = encode(event)
        row = EventRow(7, stream, 1, topic, state, row_hash(stream, 1, topic, state))
        recorded = decode(row)
        assert recorded.event == event
        assert type(recorded.event) is type(event)
        assert isinstance(recorded.event, Event)
        assert encode(recorded.event) == state
        assert recorded[:4] == (7, stream, 1, row.hash)

    check()


@ALWAYS
@given(owners, owners, any_id)
def test_different_owners_and_agents_have_different_streams(
    one: OwnerRef, two: OwnerRef, agent: str
) -> None:
    assert (one.stream == two.stream) == (one == two)
    assert OwnerRef.of_stream(one.stream) == one
    assert OwnerRef.of_stream(agent_stream(agent)) is None
    assert agent_stream(agent) != one.stream


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (OwnerRef("session", "a:b"), OwnerRef("session.a", "b")),
        (OwnerRef("session", ":"), OwnerRef("session", "::")),
        (OwnerRef("agent", "x"), OwnerRef("owner", "agent:x")),
        (OwnerRef("session", "e\u0301"), OwnerRef("session", "\u00e9")),
    ],
)
def test_ids_that_look_alike_have_streams_of_their_own(
    one: OwnerRef, two: OwnerRef
) -> None:
    assert one.stream != two.stream
    assert OwnerRef.of_stream(one.stream) == one
    assert OwnerRef.of_stream(two.stream) == two


@ALWAYS
@given(owners, st.integers(1, 2**63 - 1), any_id, st.none() | any_id)
def test_an_authority_travels_as_json(
    owner: OwnerRef, generation: int, incarnation: str, agent: str | None
) -> None:
    authority = Authority(owner, generation, incarnation, agent)
    assert Authority.from_json(authority.to_json()) == authority
    assert Authority.from_json(authority.to_json().encode()) == authority
    assert "\n" not in authority.to_json()


@ALWAYS
@given(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1), st.binary(min_size=32))
def test_a_head_travels_as_json(position: int, count: int, digest: bytes) -> None:
    head = Head(position, count, digest[:32].hex())
    assert Head.from_json(head.to_json()) == head


@ALWAYS
@given(
    st.one_of(
        st.text(),
        json_values.map(json.dumps),
        st.dictionaries(
            st.sampled_from(["owner", "generation", "incarnation", "agent_id", "x"]),
            json_values | st.just({"recovery_class": "session", "owner_id": "s"}),
        ).map(json.dumps),
        st.dictionaries(
            st.sampled_from(["position", "count", "digest", "x"]), json_values
        ).map(json.dumps),
    )
)
def test_other_text_is_no_authority_and_no_head_but_a_typed_refusal(text: str) -> None:
    is_read_or_refused(text)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"owner":' * 50_000, "[]", "1"])
def test_deep_or_short_json_is_no_authority_and_no_head(text: str) -> None:
    is_read_or_refused(text)


def is_read_or_refused(text: str) -> None:
    for kind in (Authority, Head):
        try:
            found = kind.from_json(text)
        except InvalidInput:
            continue
        assert kind.from_json(found.to_json()) == found


@ALWAYS
@given(
    st.sampled_from(["gone", "alive", "cannot_tell"]),
    any_id,
    st.integers(0, 2**63 - 1),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
)
def test_evidence_is_stored_as_it_was_given(
    kind: str, incarnation: str, version: int, detail: str
) -> None:
    fields = {
        "kind": kind,
        "incarnation": incarnation,
        "version": version,
        "detail": detail,
    }
    topic = "generation-advanced.v1"
    event = EVENTS[topic].model_validate(
        {"author": "host", "generation": 2, "reason": "takeover", "evidence": fields}
    )
    state = encode(event)
    row = EventRow(1, "s", 1, topic, state, row_hash("s", 1, topic, state))
    found = decode(row).event
    assert getattr(found, "evidence", None) == Evidence(**fields)  # type: ignore[arg-type]


def same(one: Json, two: Json) -> bool:
    """Say whether they are equal and of equal types: 1, 1.0 and true are three."""
    if type(one) is not type(two):
        return False
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        return one.keys() == two.keys() and all(same(one[at], two[at]) for at in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(same, one, two))
    return one == two and str(one) == str(two)


@ALWAYS
@given(json_values)
def test_a_body_is_read_back_equal(value: Json) -> None:
    data = encode_body("value", value)
    assert same(body_value(data), value)
    assert body_digest(encode_body("value", body_value(data))) == body_digest(data)


@ALWAYS
@given(st.dictionaries(st.text("abc", max_size=3), json_values, max_size=4))
def test_the_order_of_an_objects_keys_changes_no_digest(value: dict[str, Json]) -> None:
    other = dict(reversed(value.items()))
    assert encode_body("value", other) == encode_body("value", value)


@ALWAYS
@given(
    json_values,
    st.sampled_from(
        [float("nan"), float("inf"), b"bytes", (1,), {1: 2}, {1}, "\ud83d", object()]
    ),
    st.sampled_from(["alone", "in a list", "in an object"]),
)
def test_what_json_does_not_give_back_is_refused_before_it_is_stored(
    good: Json, bad: object, place: str
) -> None:
    places = {"alone": bad, "in a list": [good, bad], "in an object": {"at": bad}}
    with pytest.raises(InvalidInput):
        encode_body("value", places[place])


@ALWAYS
@given(any_name, any_id)
def test_every_valid_id_and_name_makes_an_owner(name: str, text: str) -> None:
    owner = OwnerRef(name, text)
    assert (owner.recovery_class, owner.owner_id) == (name, text)


PINNED: list[tuple[Command, str]] = [
    (
        ownership.Claim(SESSION, "a", "host", First("m1", "human", digest="d1"), 60.0),
        "46ec31acb6ae5fe9e8d3b0a35b1ed8109dca58b31944e1b341fa7924f4e76abd",
    ),
    (
        ownership.Succeed(SESSION, "a", "host"),
        "8325f157b8040080aa0736d09ec388175b7ba7da54246ff06f8131cb51e8ee71",
    ),
    (
        takeover.TakeOver(
            SESSION, "a", "host", Evidence("gone", "h1", 4), override=True
        ),
        "a16243c8a2228d9f28f431032cdbe838a44806ed95876f57bafab129001b146b",
    ),
    (
        ownership.Advance(ONE, "migration"),
        "1be11111927f8276d6a0e3db4ca09629b9f4e21e37ff6c0d6402024e1ea69ee8",
    ),
    (
        relay.Retire(ONE, "continue", finishes=("m1",)),
        "71eb3d073b162ed29d754b6e5ff2cc01ec9a47b9e119a2e45e54bead39673927",
    ),
    (
        admission.Accept(SESSION, "m\u00e9\n", "router", human=True),
        "5bf230c1327d036eef76cfefd574075781b267cf726deae0e5679a82da3ed717",
    ),
    (
        admission.Admit(ONE, "m1", "human", absorbed=("m2", "m3")),
        "5ae0d23a3e04f0885dc5ae00b9fa6531217d0ad6af58021a11fd3eb9c3a94f3f",
    ),
    (
        executions.Settle(ONE, "m1", "completed"),
        "6ac7fb7b3cb0beb827f2d3b1a55e6986b4545014ab67414fc486df85d64bc8fb",
    ),
    (
        bars.BarReplay(SESSION, "user_cancelled", "a person", ("m1",)),
        "66088aee6b9f277d136f8a553ce2e9b746863de8ab9a91d9d56d9754ca09e3e4",
    ),
    (
        calls.BeginToolCall(ONE, "m1", "c1", "write", ARGUMENTS),
        "df9925517f969c5d93800b7220bd024eea811316457eda09e3b76a82bf53bb92",
    ),
]
"""A digest that changes would turn every retry of an old command into another one."""


@pytest.mark.parametrize(
    ("command", "digest"), PINNED, ids=lambda value: str(value)[:20]
)
def test_a_commands_digest_is_the_same_in_every_release(
    command: Command, digest: str
) -> None:
    assert command_digest(command).hex() == digest


def test_a_commands_digest_tells_what_differs_and_nothing_else() -> None:
    first = First("m1", "human", digest="d1")
    claim = ownership.Claim(SESSION, "a", "host", first)
    assert command_digest(claim) == command_digest(claim._replace())
    others: list[Command] = [
        claim._replace(owner=OwnerRef("session", "ses_2")),
        claim._replace(agent_id="b"),
        claim._replace(first=None),
        claim._replace(lease_seconds=60.0),
        ownership.Succeed(SESSION, "a", "host", first),
    ]
    digests = {command_digest(other) for other in others}
    assert len(digests) == len(others)
    assert command_digest(claim) not in digests


def test_a_renewed_authority_is_the_same_command() -> None:
    renewed = Authority(SESSION, 9, ONE.incarnation, ONE.agent_id)
    another = Authority(SESSION, 3, "another", ONE.agent_id)
    start = executions.Start(ONE, "m1")
    assert command_digest(start) == command_digest(start._replace(authority=renewed))
    assert command_digest(start) != command_digest(start._replace(authority=another))
