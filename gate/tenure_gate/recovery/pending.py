"""What a restart does with each tool call and approval, one by one.

What the ledger recorded about a call wins over what a checkpoint says of it. Source of
the rules: design section 7.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from tenure_ledger.attribution import Attribution, latest
from tenure_ledger.bodies import Json, body_digest, encode_body
from tenure_ledger.decisions.live import of_term
from tenure_ledger.decisions.recovering.waits import Wait, seconds_left, undecided
from tenure_ledger.errors import InvalidInput
from tenure_ledger.folds.effects import Approval, Call
from tenure_ledger.folds.stream import State
from tenure_ledger.payloads import call_id_of
from tenure_ledger.values import check_id

__all__ = ["Pending"]

_Key = tuple[str | None, str]
"""Message id and call id; a message that nobody knows is None."""


class Pending(NamedTuple):
    """The calls of the executions that a checkpoint would resume."""

    state: State
    keys: tuple[str, ...]
    """The executions, and what they absorbed."""
    saved: int
    """Version of the checkpoint; 0: none."""
    now: datetime
    attribution: Attribution
    pending: tuple[Json, ...] = ()
    """Calls without a result, as the checkpoint has them; each item has an id."""
    outputs: tuple[Json, ...] = ()
    """Results that the host had, and had not put into its history."""
    wait: Wait | None = None
    """The wait that the checkpoint is of; None: of none, or of one without end."""
    dispatched: bool = False
    """The checkpoint says that what waited may have run."""
    waits: bool = False
    """The checkpoint is of a wait: it lists no calls, so all open ones are its own."""

    def steps(self) -> list[Step]:
        """Return a step or two for each call, every call once."""
        done: set[_Key] = set()
        steps: list[Step] = []
        for item in self.outputs:
            key = self._key(item)
            if key not in done:
                done.add(key)
                steps.append(self._kept(key, item))
        for item in self.pending:
            key = self._key(item)
            if key not in done:
                done.add(key)
                steps += self._call(key, item)
        for key in self._others(done):
            steps += self._call(key, None)
        return steps

    def _key(self, item: Json) -> _Key:
        return self.attribution.of_item(item), call_id_of(item)

    def _known(self, key: _Key) -> Call | None:
        at, call_id = key
        return None if at is None else self.state.effects.calls.get((at, call_id))

    def _kept(self, key: _Key, item: Json) -> Step:
        known = self._known(key)
        result = None
        if known is not None and (known.completed or known.late):
            result = known.result
        return KeepOutput(*key, item, result)

    def _call(self, key: _Key, item: Json) -> list[Step]:
        """Return what to do about a call that has no output in the checkpoint."""
        known, asked = self._known(key), self.attribution.request(*key)
        if known is not None and (known.completed or known.late):
            return [KeepOutput(*key, None, known.result)]
        if known is not None and (known.closed or known.dispatched):
            never = known.outcome == "never_started"
            return _tell(key, asked, "never_started" if never else "unknown")
        if self.dispatched or (asked is not None and asked.consumed):
            return _tell(key, asked, "unknown")
        if asked is not None and asked.closed:
            return _tell(key, asked, "expired" if asked.reason == "expired" else "void")
        if asked is not None and asked.decision == "denied":
            return _tell(key, asked, "denied")
        run = self._run(key, known, asked, item)
        if run is None:
            # Its execution has ended, or nobody can say what it was to do.
            return _tell(key, asked, "never_started")
        if asked is None or asked.decision == "approved":
            return [run]
        alone = len(undecided(self.state)) == 1
        left = seconds_left(asked, self.wait, self.now, alone=alone)
        return [AwaitApproval(asked.request_id, run, left)]

    def _run(
        self, key: _Key, known: Call | None, asked: Approval | None, item: Json
    ) -> RunCall | None:
        """Return how to run the call; None: it cannot be run."""
        at, call_id = key
        one = None if at is None else self.state.executions.by_key.get(at)
        if one is None or not (one.open and of_term(self.state.ownership, one)):
            return None
        approval = None if asked is None else asked.request_id
        if known is not None:
            tool, digest = known.tool, known.arguments
            return RunCall(one.key, call_id, tool, None, digest, approval)
        told = _told(item)
        if asked is None:
            return told and RunCall(one.key, call_id, *told, None, None)
        if told and (asked.tool, asked.arguments) == (told[0], _digest(told[1])):
            return RunCall(one.key, call_id, *told, None, approval)
        return RunCall(one.key, call_id, asked.tool, None, asked.arguments, approval)

    def _others(self, done: set[_Key]) -> list[_Key]:
        """Return the other calls that the host may not know the end of, in order."""
        mine, found = set(self.keys), dict[_Key, int]()
        for at, known in self.state.effects.calls.items():
            if known.key in mine and at not in done and self._new(known):
                found[at] = known.intended
        since = self.state.ownership.term_version
        for asked in self.state.effects.approvals.values():
            new = asked.open or _ended(asked) > self.saved
            if asked.requested < since or not new:
                continue
            key = (self.attribution.of_request(asked), asked.call_id)
            if key[0] in mine and key not in done:
                found.setdefault(key, asked.requested)
        return sorted(found, key=lambda key: (found[key], key[1]))

    def _new(self, known: Call) -> bool:
        """Say whether something came of the call that the checkpoint did not know."""
        if latest(known) > self.saved:
            return True
        if not known.open:
            return False
        asked = self.attribution.request(known.key, known.call_id)
        if known.dispatched or asked is None:
            return bool(known.dispatched) or self.waits
        return asked.open or _ended(asked) > self.saved


def _tell(key: _Key, asked: Approval | None, what: Told) -> list[Step]:
    """Tell of a call that is not run, and leave no request for it open."""
    told = TellCall(*key, what)
    if asked is None or not asked.open:
        return [told]
    return [CloseApproval(asked.request_id, "void"), told]


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
    try:
        tool = check_id("tool", named.get("tool", named.get("name")))
    except InvalidInput:
        return None  # no call can be made under it
    return tool, named.get("arguments", named.get("input"))


def _digest(arguments: Json) -> str | None:
    try:
        return body_digest(encode_body("arguments", arguments))
    except InvalidInput:
        return None
