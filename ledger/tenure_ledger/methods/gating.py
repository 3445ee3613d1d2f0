"""What a relay gate of one's own writes (design section 6).

`NarrativeTransform` calls these. They record what a gate found, and refuse what the
ledger knows better; what to strip, and what to show, they do not say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TypeVar, cast

from tenure_ledger.decisions import gating
from tenure_ledger.errors import InvalidInput
from tenure_ledger.events import StripVerdict
from tenure_ledger.folds.stream import State
from tenure_ledger.methods.base import Methods, several
from tenure_ledger.values import (
    IDS_MAX,
    Authority,
    OwnerRef,
    check_authority,
    check_choice,
    check_id,
    check_integer,
    check_name,
    check_owner,
)

__all__ = ["GatingMethods"]

V = TypeVar("V")


class GatingMethods(Methods):
    """How a gate keeps leftovers out and hands notices over."""

    def fresh_state(self, owner: OwnerRef) -> State:
        """Return all that is on record of an owner, at the durable head.

        What a gate judges by: a "no" is never said from a lagging memory. It is read
        again only when somebody has committed.
        """
        return self._shell.fresh(check_owner(owner).stream)

    def strip_requests(
        self,
        owner: OwnerRef,
        strips: Iterable[tuple[str, StripVerdict, int]],
        author: str,
        version: int,
        *,
        command_id: str | None = None,
    ) -> int:
        """Keep leftovers out for ever, all or none; return the version.

        ``strips`` are ``(message_id, verdict, cut)``: the verdict is
        ``stale_admitted`` or ``stale_unadmitted``, ``cut`` the version of the latest
        cut; ``version`` that of the stream at which they were judged. An open execution
        is settled ``stripped`` with it, and an interrupt is opened for each. One that
        is stripped already, or was admitted to the live term meanwhile, is left as it
        is: the first in the stream stands. Raises `OwnerMoved` when something else was
        written since (judge again), `InvalidInput` for what is no leftover, and while
        nobody holds the owner `TermRetired`, `OwnerEnded`, `FencedOut` or
        `UnknownOwner`.
        """
        command = gating.StripRequests(
            check_owner(owner),
            _strips(strips),
            check_id("author", author),
            check_integer("version", version, 0),
        )
        return self._version(command, command_id)

    def deliver_notices(
        self,
        authority_or_owner: Authority | OwnerRef,
        message_id: str,
        author: str = "gate",
        *,
        command_id: str | None = None,
    ) -> int:
        """Give every notice that waits to this request; return the version.

        The request is open and of the live term. A notice is done when it is completed,
        and waits again when it ends otherwise. With an authority its holder delivers,
        with an owner ``author`` does, unfenced. Raises `NotAdmitted`, `AlreadyDecided`,
        `UnknownOwner`, and for an authority that is not live `FencedOut`,
        `TermRetired` or `OwnerEnded`.
        """
        authority = None
        if isinstance(authority_or_owner, OwnerRef):
            owner = authority_or_owner
        else:
            authority = check_authority(authority_or_owner)
            owner = authority.owner
        command = gating.DeliverNotices(
            owner,
            check_id("message_id", message_id),
            check_id("author", author),
            authority,
        )
        return self._version(command, command_id)

    def record_verdicts(
        self,
        authority: Authority,
        verdicts: Mapping[str, str],
        *,
        command_id: str | None = None,
    ) -> int:
        """Put a gate's verdicts on record, by message id; return the version.

        For an audit: nothing reads them. One that is the same as the last on record for
        its message, by the same cut, adds nothing. Raises `FencedOut`.
        """
        command = gating.GiveVerdicts(check_authority(authority), _verdicts(verdicts))
        return self._version(command, command_id)


def _strips(
    strips: Iterable[tuple[str, StripVerdict, int]],
) -> tuple[gating.Strip, ...]:
    found: dict[str, gating.Strip] = {}
    for one in several("strips", "tuples", strips):
        strip = _strip(one)
        if found.setdefault(strip.key, strip) != strip:
            msg = f"{strip.key} is in strips twice, with two verdicts: give it once"
            raise InvalidInput(msg)
    return tuple(_some("strips", found).values())


def _strip(given: object) -> gating.Strip:
    parts = cast("tuple[object, ...]", given) if isinstance(given, tuple) else ()
    match parts:
        case (key, verdict, cut):
            return gating.Strip(
                check_id("message_id", key),
                check_choice("verdict", verdict, StripVerdict),
                check_integer("cut", cut, 0),
            )
        case _:
            msg = "a strip must be a tuple (message_id, verdict, cut)"
            raise InvalidInput(msg)


def _verdicts(verdicts: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    if not isinstance(verdicts, Mapping):
        msg = f"verdicts must be a mapping, not {type(verdicts).__name__}"
        raise InvalidInput(msg)
    found = {
        check_id("message_id", key): check_name("verdict", verdict)
        for key, verdict in islice(verdicts.items(), IDS_MAX + 1)
    }
    return tuple(_some("verdicts", found).items())


def _some(what: str, found: dict[str, V]) -> dict[str, V]:
    if not 0 < len(found) <= IDS_MAX:
        msg = f"{what} must be 1 to {IDS_MAX}"
        raise InvalidInput(msg)
    return found
