"""What a request is told by the notices that were given to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from tenure_ledger.folds.notices import LATE_RESULT, Notice
from tenure_ledger.values import OwnerRef

__all__ = ["told_texts"]


def told_texts(told: Sequence[Notice]) -> list[str]:
    """Return their texts; what was known before the telling replaces "unknown".

    A result that came late, but before the notice that does not know it was given to
    the request, is told alone. One that comes later is told besides: what a view has
    told once stands in every view of that request (design section 6).
    """
    late = {
        (notice.about, fact.key, fact.call_id): notice.version
        for notice in told
        if notice.event_type == LATE_RESULT
        for fact in notice.facts
    }
    return [_without(notice, late).text for notice in told] if late else _texts(told)


def _texts(told: Sequence[Notice]) -> list[str]:
    return [notice.text for notice in told]


def _without(
    notice: Notice, late: Mapping[tuple[OwnerRef, str | None, str | None], int]
) -> Notice:
    kept = tuple(
        fact
        for fact in notice.facts
        if fact.kind != "outcome_unknown"
        or late.get((notice.about, fact.key, fact.call_id), notice.delivered)
        >= notice.delivered
    )
    return replace(notice, facts=kept)
