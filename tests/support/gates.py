"""A relay gate on a world: messages, a host's guard, sessions that changed hands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, cast

import pytest

from tenure import (
    Authority,
    First,
    GuardRejected,
    Interrupted,
    InterruptTarget,
    Ledger,
    NarrativeTransform,
    NothingToSay,
    OwnerRef,
    View,
)
from tenure_ledger import events as e
from worlds import World

__all__ = [
    "CODES",
    "HANDOVER",
    "Gate",
    "Host",
    "Message",
    "S",
    "asks",
    "count",
    "first_term",
    "next_term",
    "relayed",
    "result",
    "said",
    "texts",
    "user",
    "verdicts",
]

Message = dict[str, Any]
S = OwnerRef("session", "ses_1")
HANDOVER = "Done: A. Next: B."
CODES = (
    "managed_session",
    "root_session_protected",
    "no_active_execution",
    "different_generation_active",
    "session_closed",
)
"""The five by which a guard does its job, as design section 6 lists them."""


def user(key: str | None, text: str | None = None, *, human: bool = False) -> Message:
    """A request; its text says which unless told otherwise."""
    message: Message = {"role": "user", "content": text or f"text of {key}"}
    if key is not None:
        message["id"] = key
    if human:
        message["human"] = True
    return message


def said(text: str, *calls: str) -> Message:
    """An answer, with these calls."""
    message: Message = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": call, "type": "function", "function": {"name": "f"}}
            for call in calls
        ]
    return message


def asks(*calls: str) -> Message:
    """An answer of nothing but calls."""
    return said("", *calls)


def result(call: str, text: str = "done") -> Message:
    """What a call returned."""
    return {"role": "tool", "tool_call_id": call, "content": text}


class Host:
    """A host's guard: it gives these answers in turn, the last one from then on."""

    def __init__(self, *answers: object) -> None:
        self.asked: list[InterruptTarget] = []
        self.answers: Sequence[object] = answers or (Interrupted(),)

    def interrupt(self, target: InterruptTarget) -> Interrupted | GuardRejected:
        """Answer, or raise what is to be raised."""
        self.asked.append(target)
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        if isinstance(answer, BaseException):
            raise answer
        return cast("Interrupted | GuardRejected", answer)

    @property
    def keys(self) -> list[str]:
        """The messages that it was asked to stop, in order."""
        return [one.key.physical_user_message_id for one in self.asked]


class Gate:
    """The gate of one process of a world, and its host's guard."""

    def __init__(
        self,
        on: World | Ledger,
        *answers: object,
        owner: OwnerRef = S,
        **options: Any,  # noqa: ANN401  handed on to the gate
    ) -> None:
        self.ledger = on.ledger if isinstance(on, World) else on
        self.owner = owner
        self.host = Host(*answers)
        self.transform = NarrativeTransform(self.ledger, self.host, **options)

    def apply(
        self,
        messages: Sequence[Message],
        authority: Authority | None,
        *,
        acting: str | None = None,
        side: bool = False,
        record: bool = True,
    ) -> View:
        """Project, and hold that the host's list and its messages are as they were."""
        before = [dict(message) for message in messages]
        given = list(messages)
        try:
            return self.transform.apply(
                self.owner,
                messages,
                authority=authority,
                acting=acting,
                side=side,
                record=record,
            )
        finally:
            assert list(messages) == before
            assert [id(one) for one in messages] == [id(one) for one in given]

    def nothing(
        self,
        messages: Sequence[Message],
        authority: Authority | None,
        *,
        acting: str | None = None,
        side: bool = False,
        record: bool = True,
    ) -> NothingToSay:
        """Project a list for which the model may not be called."""
        with pytest.raises(NothingToSay) as refused:
            self.apply(messages, authority, acting=acting, side=side, record=record)
        return refused.value


def verdicts(view: View | None) -> dict[str | None, str]:
    """The name of the verdict of each request, by its id."""
    assert view is not None
    return {verdict.key: verdict.name for verdict in view.verdicts}


def texts(view: View | None) -> list[str]:
    """What the model sees, message by message."""
    assert view is not None
    return [str(cast("Message", message)["content"]) for message in view.messages]


def count(ledger: Ledger, kind: type[e.Event], owner: OwnerRef = S) -> int:
    """How many events of this kind the owner's stream has."""
    return sum(isinstance(one.event, kind) for one in ledger.history(owner))


def first_term(ledger: Ledger, owner: OwnerRef = S) -> Authority:
    """The first term, at work: ``m1`` of a person was answered."""
    one = ledger.claim(owner, f"{owner}/1", "host", first=First("m1", "human"))
    ledger.start(one, "m1")
    ledger.settle(one, "m1", "completed")
    return one


def next_term(
    ledger: Ledger,
    first: str | None,
    number: int = 2,
    owner: OwnerRef = S,
) -> Authority:
    """The next term after a cut, with its first request."""
    begins = None if first is None else First(first, "continue_relay")
    return ledger.succeed(owner, f"{owner}/{number}", "host", first=begins)


def relayed(
    ledger: Ledger,
    *,
    leaves: Iterable[str] = (),
    waits: Mapping[str, bool] | None = None,
    outcome: Literal["accepted", "continue"] = "continue",
    handover: str | None = HANDOVER,
) -> tuple[Authority, Authority]:
    """Two terms: the first answered ``m1``, the second begins with ``m2``.

    ``leaves``: what the first one only admitted; ``waits``: what was accepted, and
    whether a person sent it.
    """
    one = first_term(ledger)
    for key in leaves:
        ledger.admit(one, key, "tool_probe")
    for key, human in (waits or {}).items():
        ledger.accept(S, key, "inbox", human=human)
    ledger.retire(one, outcome, handover)
    return one, next_term(ledger, "m2")
