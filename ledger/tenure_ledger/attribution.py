"""Which execution a tool call is of: one rule for all that read a checkpoint.

A call is known by its message and its call id together: some models number their calls
anew in each answer. What a host puts into a checkpoint may say the call id alone.
Source: design section 7.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from tenure_ledger.bodies import Json
from tenure_ledger.decisions.ending import leads
from tenure_ledger.decisions.live import acting_at, of_term
from tenure_ledger.folds.effects import Approval, Call
from tenure_ledger.folds.recovery import Checkpoint
from tenure_ledger.folds.stream import State
from tenure_ledger.payloads import call_id_of

__all__ = ["Attribution", "latest"]


class Attribution:
    """Says of each call which message it is of, settled or not.

    ``items`` are all calls and outputs of the live checkpoint.
    """

    def __init__(
        self, state: State, live: Checkpoint, items: Iterable[Json] = ()
    ) -> None:
        self._state = state
        self._saved = live.version
        self._by_key = state.executions.by_key
        self._calls: dict[str, list[Call]] = defaultdict(list)
        for call in state.effects.calls.values():
            self._calls[call.call_id].append(call)
        self._acting = _acting(state, live)
        self._said: dict[str, str] = {}
        for item in items:
            at = self._own_word(item)
            if at is not None:
                self._said.setdefault(call_id_of(item), at)

    def of_item(self, item: Json) -> str | None:
        """Return the message of a call or an output of the checkpoint.

        Its own ``message_id``, or that of another item of the same call; else what is
        on record of the call id, unless that had ended before; else what was acting
        when the checkpoint was saved. None: it names a message that nobody knows.
        """
        call_id = call_id_of(item)
        said = self._own_word(item) or self._said.get(call_id)
        if said is not None:
            return said
        acting = self._acting
        found = [one for one in self._calls[call_id] if self._at_work(one.key)]
        if any(one.key == acting for one in found):
            return acting
        if found:
            return max(found, key=latest).key
        asked = self._asked(call_id)
        about = None if asked is None else self.of_request(asked)
        if about is not None and self._at_work(about):
            return about
        return acting if _says(item) is None else None

    def of_request(self, asked: Approval) -> str | None:
        """Return the message of the call that a person was asked about."""
        calls = self._calls[asked.call_id]
        for one in calls:
            if asked.consumed and one.dispatched == asked.consumed + 1:
                return one.key  # use and dispatch are one command
        found = [one for one in calls if one.open or latest(one) > asked.requested]
        if not found:
            at = acting_at(self._state, asked.requested)
            return self._acting if at is None else at.key
        same = (asked.tool, asked.arguments)
        return max(
            found, key=lambda one: ((one.tool, one.arguments) == same, latest(one))
        ).key

    def request(self, message_id: str | None, call_id: str) -> Approval | None:
        """Return the latest request of this term for the call."""
        asked = self._asked(call_id)
        if asked is None or self.of_request(asked) != message_id:
            return None
        return asked

    def _asked(self, call_id: str) -> Approval | None:
        effects = self._state.effects
        at = effects.by_call.get(call_id)
        asked = None if at is None else effects.approvals[at]
        since = self._state.ownership.term_version
        return None if asked is None or asked.requested < since else asked

    def _own_word(self, item: Json) -> str | None:
        said = _says(item)
        return said if said in self._by_key else None

    def _at_work(self, key: str) -> bool:
        """Say whether it is of this term, and had not ended at the save."""
        known = self._by_key.get(key)
        if known is None or not of_term(self._state.ownership, known):
            return False
        return not 0 < known.settled <= self._saved


def _acting(state: State, live: Checkpoint) -> str | None:
    """Return what began last, and had not ended, when the checkpoint was saved.

    Of those that it names, if it names any; if none had begun, that which began last
    since.
    """
    saved, named = live.version, set(leads(state, live.keys))
    there = [
        one
        for one in state.executions.by_key.values()
        if one.absorbed_by is None
        and of_term(state.ownership, one)
        and not 0 < one.settled <= saved
        and (not named or one.key in named)
    ]
    acting = max(
        there,
        key=lambda one: (0 < one.started <= saved, one.started, -one.admitted),
        default=None,
    )
    return None if acting is None else acting.key


def latest(call: Call) -> int:
    """Return the version of the last fact that is on record of a call."""
    return max(call.intended, call.dispatched, call.completed, call.closed, call.late)


def _says(item: Json) -> str | None:
    said = item.get("message_id") if isinstance(item, dict) else None
    return said if isinstance(said, str) else None
