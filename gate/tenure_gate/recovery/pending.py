"""What a restart does with each tool call and approval, one by one, by call id.

What the ledger recorded about a call wins over what a checkpoint says of it. Source of
the rules: design section 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple, cast

from tenure_gate.recovery.steps import (
    AwaitApproval,
    CloseApproval,
    KeepOutput,
    RunCall,
    Step,
    TellCall,
    Told,
)
from tenure_ledger.bodies import Json
from tenure_ledger.folds.effects import Approval, Call
from tenure_ledger.folds.stream import State
from tenure_ledger.payloads import call_id_of

__all__ = ["Pending"]


class Pending(NamedTuple):
    """The calls of the executions that a checkpoint would resume."""

    state: State
    keys: tuple[str, ...]
    """The executions, and what they absorbed."""
    saved: int
    """Version of the checkpoint; 0: none."""
    acting: str | None
    """The execution that a call belongs to if nobody says otherwise."""
    now: datetime
    seconds_saved: float | None = None
    """What was left of the wait when the checkpoint was saved; None: not said."""
    saved_at: datetime | None = None
    dispatched: bool = False
    """The checkpoint says that what waited may have run."""
    waits: bool = False
    """The checkpoint is of a wait: it lists no calls, so all open ones are its own."""

    def steps(
        self, pending: Iterable[Json] = (), outputs: Iterable[Json] = ()
    ) -> list[Step]:
        """Return a step or two for each call, every call once.

        ``outputs`` are results that the host had and had not put into its history,
        ``pending`` calls without a result; each item has an id.
        """
        done: set[str] = set()
        steps: list[Step] = []
        for item in outputs:
            at = call_id_of(item)
            if at not in done:
                done.add(at)
                steps.append(self._kept(at, item))
        wanted = {call_id_of(item): item for item in pending}
        for at, item in wanted.items():
            if at not in done:
                done.add(at)
                steps += self._call(at, item)
        for at in self._others(done):
            steps += self._call(at, None)
        return steps

    def _kept(self, call_id: str, item: Json) -> Step:
        known = self._known(call_id, item)
        result = None
        if known is not None and (known.completed or known.late):
            result = known.result
        return KeepOutput(self._message(call_id, item), call_id, item, result)

    def _call(self, call_id: str, item: Json) -> list[Step]:
        """Return what to do about a call that has no output in the checkpoint."""
        at = self._message(call_id, item)
        known, asked = self._known(call_id, item), self._asked(call_id)
        if known is not None and (known.completed or known.late):
            return [KeepOutput(at, call_id, None, known.result)]
        if known is not None and (known.closed or known.dispatched):
            never = known.outcome == "never_started"
            return [TellCall(at, call_id, "never_started" if never else "unknown")]
        if self.dispatched or (asked is not None and asked.consumed):
            return self._unknown(at, call_id, asked)
        if asked is not None and (asked.closed or asked.decision != "approved"):
            return self._waiting(at, asked, _run(at, call_id, known, asked, item))
        run = _run(at, call_id, known, asked, item)
        # Without it nobody can say what the call was to do, or for whom.
        return [run or TellCall(at, call_id, "never_started")]

    def _unknown(
        self, at: str | None, call_id: str, asked: Approval | None
    ) -> list[Step]:
        told = TellCall(at, call_id, "unknown")
        if asked is None or not asked.open:
            return [told]
        return [CloseApproval(asked.request_id, "void"), told]

    def _waiting(
        self, at: str | None, asked: Approval, run: RunCall | None
    ) -> list[Step]:
        if asked.closed:
            what: Told = "expired" if asked.reason == "expired" else "void"
            return [TellCall(at, asked.call_id, what)]
        if asked.decision == "denied":
            return [TellCall(at, asked.call_id, "denied")]
        left = self._seconds_left(asked)
        if left is not None and left <= 0:
            return [
                CloseApproval(asked.request_id, "expired"),
                TellCall(at, asked.call_id, "expired"),
            ]
        if run is None:
            return [TellCall(at, asked.call_id, "never_started")]
        return [AwaitApproval(asked.request_id, run, left)]

    def _seconds_left(self, asked: Approval) -> float | None:
        """Return what is left of a wait; a clock that went back gives nothing more."""
        left: list[float] = []
        if asked.expires_at is not None:
            left.append((asked.expires_at - self.now).total_seconds())
            if asked.timeout_seconds is not None:
                left.append(asked.timeout_seconds)
        alone = asked.expires_at is None or len(self._undecided()) == 1
        if self.seconds_saved is not None and self.saved_at is not None and alone:
            gone = (self.now - self.saved_at).total_seconds()
            left.append(self.seconds_saved - max(0.0, gone))
        return min(left, default=None)

    def _undecided(self) -> list[Approval]:
        listed = self.state.effects.listed_approvals()
        return [one for one in listed if not one.decided]

    def _asked(self, call_id: str) -> Approval | None:
        """Return the latest request of this term for the call."""
        effects = self.state.effects
        at = effects.by_call.get(call_id)
        asked = None if at is None else effects.approvals[at]
        since = self.state.ownership.term_version
        return None if asked is None or asked.requested < since else asked

    def _known(self, call_id: str, item: Json) -> Call | None:
        at = self._message(call_id, item)
        return None if at is None else self.state.effects.calls.get((at, call_id))

    def _message(self, call_id: str, item: Json) -> str | None:
        """Return which execution a call belongs to."""
        named = item.get("message_id") if isinstance(item, dict) else None
        if isinstance(named, str):
            return named
        calls = self.state.effects.calls
        found = [known for key in self.keys if (known := calls.get((key, call_id)))]
        return max(found, key=_latest).key if found else self.acting

    def _others(self, done: set[str]) -> list[str]:
        """Return the other calls that the host may not know the end of, in order."""
        effects = self.state.effects
        mine, found = set(self.keys), dict[str, int]()
        elsewhere: set[str] = set()
        for known in effects.calls.values():
            if known.key not in mine:
                elsewhere.add(known.call_id)
            elif known.call_id not in done and self._new(known):
                found[known.call_id] = known.intended
        since = self.state.ownership.term_version
        for asked in effects.approvals.values():
            at = asked.call_id
            # Of a call that is on record, the record says whether it is new.
            if asked.requested < since or at in done or at in found or at in elsewhere:
                continue
            if asked.open or _ended(asked) > self.saved:
                found[at] = asked.requested
        return sorted(found, key=lambda at: (found[at], at))

    def _new(self, known: Call) -> bool:
        """Say whether something came of the call that the checkpoint did not know."""
        if max(known.intended, known.dispatched, _latest(known)) > self.saved:
            return True
        if not known.open:
            return False
        asked = self._asked(known.call_id)
        if known.dispatched or asked is None:
            return bool(known.dispatched) or self.waits
        return asked.open or _ended(asked) > self.saved


def _run(
    at: str | None,
    call_id: str,
    known: Call | None,
    asked: Approval | None,
    item: Json,
) -> RunCall | None:
    """Return how to run the call; None: nobody can say what it was to do."""
    if at is None:
        return None
    approval = None if asked is None else asked.request_id
    if known is not None:
        return RunCall(at, call_id, known.tool, None, known.arguments, approval)
    if asked is not None:
        return RunCall(at, call_id, asked.tool, None, asked.arguments, approval)
    told = _told(item)
    return None if told is None else RunCall(at, call_id, *told, None, None)


def _latest(known: Call) -> int:
    return max(
        known.intended, known.dispatched, known.completed, known.closed, known.late
    )


def _ended(asked: Approval) -> int:
    return max(asked.decided, asked.closed, asked.consumed)


def _told(item: Json) -> tuple[str, Json] | None:
    """Return tool and arguments, if the item says them in a format in use."""
    if not isinstance(item, dict):
        return None
    inner = item.get("function")
    named: Mapping[str, Json] = item
    if isinstance(inner, dict):
        named = cast("Mapping[str, Json]", inner)
    tool = named.get("tool", named.get("name"))
    if not isinstance(tool, str) or not tool:
        return None
    return tool, named.get("arguments", named.get("input"))
