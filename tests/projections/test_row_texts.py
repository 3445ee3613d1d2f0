"""Times in rows are text whose order is the order of time, whoever gave them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given, settings
from hypothesis import strategies as st

from tenure_projections.tables.shape import milliseconds, moment

ALWAYS = settings(derandomize=True, database=None, deadline=None, max_examples=300)

zones = st.one_of(
    st.just(UTC),
    st.integers(-14 * 60, 14 * 60).map(lambda m: timezone(timedelta(minutes=m))),
)
times = st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=zones)  # noqa: DTZ001  the zone is drawn
whole_seconds = times.map(lambda at: at.replace(microsecond=0))


@ALWAYS
@given(st.one_of(times, whole_seconds))
def test_a_time_is_iso_text_in_utc_with_six_digits(at: datetime) -> None:
    there = at.astimezone(UTC)
    clock = f"{there.hour:02}:{there.minute:02}:{there.second:02}"
    assert moment(at) == f"{there.date()}T{clock}.{there.microsecond:06}Z"


@ALWAYS
@given(times, times)
def test_the_order_of_texts_is_the_order_of_times(one: datetime, two: datetime) -> None:
    first, second = moment(one), moment(two)
    assert first is not None
    assert second is not None
    assert (first < second) == (one < two)
    assert (first == second) == (one == two)


def test_no_time_is_no_text() -> None:
    assert moment(None) is None


@ALWAYS
@given(times)
def test_milliseconds_are_cut_not_rounded(at: datetime) -> None:
    whole = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds(at))
    assert timedelta(0) <= at - whole < timedelta(milliseconds=1)
