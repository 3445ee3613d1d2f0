"""The verdict table of design section 6, once more, straight from the log.

Written from the words of the table and from the events as they stand in the stream: it
shares no fold with the ledger and no line with the gate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tenure import Recorded
from tenure_ledger import events as e

__all__ = ["Known", "Log", "Request", "right_acting", "right_verdicts"]


class Known:
    """What one stream says of one message."""

    def __init__(self) -> None:
        self.accepted = 0
        self.admitted = 0
        self.started = 0
        self.settled = 0
        self.stripped: str | None = None
        self.lead: str | None = None
        """The execution that it is part of; None: it is one by itself."""


class Request(NamedTuple):
    """One request of a list."""

    key: str | None
    answered: bool
    human: bool


class Log:
    """One session's events, up to some version."""

    def __init__(self, history: Sequence[Recorded]) -> None:
        self.known: dict[str, Known] = {}
        self.cut = 0
        self.ended = 0
        self.live = False
        self.boundary: str | None = None
        self.absorbed: dict[str, tuple[str, ...]] = {}
        for one in history:
            self._take(one.version, one.event)

    def of(self, key: str) -> Known:
        return self.known.setdefault(key, Known())

    def shares(self, key: str) -> list[str]:
        """The message, and all that are part of its execution."""
        lead = self.of(key).lead or key
        rest = [at for at in self.absorbed.get(lead, ()) if self.of(at).lead == lead]
        return [lead, *rest]

    def running(self, key: str) -> bool:
        """It is an execution of the live term, settled or not."""
        known = self.known.get(key)
        if known is None or known.stripped or not self.live:
            return False
        return known.admitted > self.ended

    def _take(self, version: int, event: object) -> None:  # noqa: C901  a table
        match event:
            case e.SubmissionAccepted():
                known = self.of(event.key)
                known.accepted = known.accepted or version
            case e.ExecutionAdmitted():
                self.absorbed[event.key] = event.absorbed
                for key in (event.key, *event.absorbed):
                    known = self.of(key)
                    known.admitted = version
                    known.lead = None if key == event.key else event.key
            case e.ExecutionStarted():
                for key in self._open(event.key):
                    self.of(key).started = version
            case e.ExecutionSettled():
                for key in self._open(event.key):
                    self.of(key).settled = version
            case e.StaleRequestStripped():
                self.of(event.key).stripped = event.verdict
            case e.RetirementCut():
                self.cut = version
                self.boundary = event.boundary.message_id if event.boundary else None
                self._end(version)
            case e.OwnerTerminated():
                self._end(version)
            case e.OwnershipClaimed() | e.GenerationAdvanced():
                self.live = True
            case _:
                pass

    def _open(self, key: str) -> list[str]:
        known = self.of(key)
        if known.lead is not None:
            return [key]
        return [key, *(at for at in self.shares(key)[1:] if not self.of(at).settled)]

    def _end(self, version: int) -> None:
        """An execution that was only admitted ends, and what it took in is free."""
        self.live = False
        for key, known in list(self.known.items()):
            if known.lead is None and not (known.accepted or known.settled):
                for at in self.shares(key)[1:]:
                    if not self.of(at).settled:
                        self.of(at).lead = None
        self.ended = version


def right_acting(log: Log, requests: Sequence[Request]) -> int | None:
    """The request started last and not settled, else the last of the list."""
    best, at = 0, len(requests) - 1 if requests else None
    for place, request in enumerate(requests):
        known = log.known.get(request.key or "")
        if known is None or known.settled or known.stripped or not known.started:
            continue
        if known.started >= best:
            best, at = known.started, place
    return at


def _behind(log: Log, requests: Sequence[Request]) -> int:
    """How many requests of the list stand at or before the boundary."""
    keys = [request.key for request in requests]
    if log.boundary is not None and log.boundary in keys and log.cut == log.ended:
        return keys.index(log.boundary) + 1
    known = [log.known.get(key or "") for key in keys]
    started = [at for at, one in enumerate(known) if one and one.started]
    before = [at for at in started if (one := known[at]) and one.started < log.ended]
    if before:
        return before[-1] + 1
    return next((at for at, one in enumerate(known) if one), 0)


def right_verdicts(
    log: Log, requests: Sequence[Request], acting: int | None
) -> list[str]:
    """The verdict of each request: the first row that holds."""
    served: set[str] = set()
    if acting is not None and (key := requests[acting].key) is not None:
        served = {key, *(log.shares(key) if key in log.known else ())}
    behind = _behind(log, requests)
    first = next(
        (at for at, one in enumerate(requests) if one.key in log.known), len(requests)
    )
    if first == len(requests):
        first = 0
    return [
        _verdict(log, request, place, behind, first, request.key in served)
        for place, request in enumerate(requests)
    ]


def _verdict(  # noqa: C901  the rows of the table, one after the other
    log: Log,
    request: Request,
    place: int,
    behind: int,
    first: int,
    served: bool,  # noqa: FBT001  a fact of the table
) -> str:
    key = request.key
    known = log.known.get(key) if key is not None else None
    if known is not None and known.stripped:
        return known.stripped
    begun = known is not None and bool(known.started or known.settled)
    if key and log.running(key) and not (begun or request.answered or served):
        return "queued"
    never_ended = not log.ended
    if never_ended and known is not None and (known.admitted or known.settled):
        return "current"
    if never_ended and known is None and place < first:
        return "current"
    if known is not None and log.cut and known.admitted > log.cut:
        return "successor"
    if known is not None and known.accepted and not begun:
        return "unadmitted_human"
    after = never_ended or place >= behind
    if key is not None and known is None and after and request.human:
        return "unadmitted_human"
    if never_ended and key is not None:
        return "not_admitted"
    if begun or (known is None and not after):
        return "history"
    if known is not None and known.admitted:
        return "stale_admitted"
    return "stale_unadmitted" if key is not None else "missing_physical_id"
