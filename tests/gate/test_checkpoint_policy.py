"""When a checkpoint is due: at each moment between two steps; in a stream by choice."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure import CheckpointPolicy, InvalidInput
from tenure_gate.recovery.policy import Moment

BETWEEN = [at for at in get_args(Moment) if at != "model_stream"]
amounts = st.integers(0, 10**9)


@given(
    moment=st.sampled_from(BETWEEN),
    seen=st.booleans(),
    passed=amounts,
    every=st.none() | amounts,
)
def test_between_two_steps_it_is_always_due(
    moment: Moment, *, seen: bool, passed: int, every: int | None
) -> None:
    policy = CheckpointPolicy(stream_seconds=None if every is None else every % 1000)
    assert policy.due(moment, seconds=passed, output_started=seen)


@given(amounts, amounts)
def test_in_a_stream_it_is_never_due_unless_the_host_chose_so(
    seconds: int, characters: int
) -> None:
    policy = CheckpointPolicy()
    assert not policy.due("model_stream", seconds=seconds, characters=characters)


@pytest.mark.parametrize(
    ("policy", "below", "reached"),
    [
        (CheckpointPolicy(stream_seconds=30), {"seconds": 29.9}, {"seconds": 30}),
        (
            CheckpointPolicy(stream_characters=4000),
            {"characters": 3999},
            {"characters": 4000},
        ),
        (
            CheckpointPolicy(stream_seconds=30, stream_characters=4000),
            {"seconds": 29, "characters": 3999},
            {"seconds": 1, "characters": 4000},
        ),
    ],
    ids=["by time", "by length", "by whichever comes first"],
)
def test_in_a_stream_it_is_due_by_what_the_host_chose_unless_it_may_be_seen(
    policy: CheckpointPolicy, below: dict[str, Any], reached: dict[str, Any]
) -> None:
    assert not policy.due("model_stream", **below)
    assert policy.due("model_stream", **reached)
    assert not policy.due("model_stream", **reached, output_started=True)


def test_a_policy_that_means_nothing_is_refused() -> None:
    wrong: list[dict[str, Any]] = [
        {"stream_seconds": -1},
        {"stream_seconds": "30"},
        {"stream_characters": 0},
        {"stream_characters": 1.5},
    ]
    for fields in wrong:
        with pytest.raises(InvalidInput):
            CheckpointPolicy(**fields)
    moment: Any = "now and then"
    with pytest.raises(InvalidInput):
        CheckpointPolicy().due(moment)
    odd: list[dict[str, Any]] = [
        {"seconds": "31"},
        {"seconds": float("nan")},
        {"characters": "1"},
        {"output_started": "no"},
    ]
    for fields in odd:
        with pytest.raises(InvalidInput):
            CheckpointPolicy(stream_seconds=30).due("model_stream", **fields)
