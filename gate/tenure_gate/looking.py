"""One look of the gate: what each request of a list is by one state of the record.

Pure: the state is given, nothing is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from msgspec.structs import replace

from tenure_gate.journal import JournalSnapshot
from tenure_gate.membership import (
    Hindrance,
    acting_request,
    judge,
    locate,
    may_act,
    serving,
)
from tenure_gate.readers import Message, MessageReader
from tenure_gate.turns import Split, Turn
from tenure_gate.verdicts import ANSWERED, STALE, Verdict, VerdictName
from tenure_gate.view import History
from tenure_ledger.errors import InvalidInput
from tenure_ledger.values import Authority, OwnerRef

__all__ = [
    "Asked",
    "HumanPolicy",
    "Judged",
    "MissingIdPolicy",
    "Settings",
    "could_act",
    "hindrance",
    "look",
]

HumanPolicy = Literal["admit", "hold", "refuse"]
MissingIdPolicy = Literal["refuse", "strip"]


class Settings(NamedTuple):
    """How a gate is set; `NarrativeTransform` says what each means."""

    reader: MessageReader
    history: History
    unadmitted_human: HumanPolicy
    missing_id: MissingIdPolicy
    record_verdicts: bool


class Asked(NamedTuple):
    """What one call of `NarrativeTransform.apply` was asked."""

    owner: OwnerRef
    messages: Sequence[Message]
    authority: Authority | None
    acting: str | None
    """The id that the caller named."""
    side: bool
    writes: bool


class Judged(NamedTuple):
    """One look: the owner's journal, and what each request of the list is by it."""

    journal: JournalSnapshot
    split: Split
    verdicts: list[Verdict]
    """Of the requests; a side call's own instruction is none, and has none."""
    names: frozenset[VerdictName]
    """Of the verdicts."""
    acting: int | None
    """Place of the acting request."""

    @property
    def verdict(self) -> Verdict | None:
        """Of the acting request."""
        return None if self.acting is None else self.verdicts[self.acting]


def look(
    settings: Settings, asked: Asked, split: Split, journal: JournalSnapshot
) -> Judged:
    """Judge every request. Raises `InvalidInput` for one without an id."""
    requests = _requests(settings.reader, asked, split, journal)
    keys = split.keys[: len(requests)]
    acting = None if asked.side else _place(asked.acting, journal, keys)
    served = serving(journal, None if acting is None else keys[acting])
    list_facts = locate(journal, keys)
    verdicts: list[Verdict] = []
    for turn in requests:
        if turn.place == acting or turn.key in served:
            turn = replace(turn, acting=True)  # noqa: PLW2901  the same, served
        verdicts.append(judge(journal, turn, list_facts))
    names: frozenset[VerdictName] = frozenset(verdict.name for verdict in verdicts)
    if "missing_physical_id" in names:
        _check_ids(settings, requests, verdicts)
    return Judged(journal, split, verdicts, names, acting)


def _requests(
    reader: MessageReader, asked: Asked, split: Split, journal: JournalSnapshot
) -> Sequence[Turn]:
    """Return what is to be judged: a side call's own instruction is no request."""
    if not asked.side:
        return split.requests
    last = len(asked.messages) - 1
    name = reader.id(asked.messages[last])
    if name is not None and journal.execution(name) is not None:
        msg = (
            f"side: the last message is the host's own instruction, and {name} is on "
            f"record as a message of {asked.owner}: put your instruction behind it, "
            "under an id of its own or none"
        )
        raise InvalidInput(msg, index=last, key=name)
    if split.requests and split.requests[-1].index == last:
        return split.requests[:-1]
    if reader.role(asked.messages[last]) == "system":
        return split.requests
    msg = (
        "side: the last message is the host's own instruction: a user or system "
        "message that no other of the list has the id of"
    )
    raise InvalidInput(msg, index=last)


def _place(
    named: str | None, journal: JournalSnapshot, keys: Sequence[str | None]
) -> int | None:
    if named is None:
        return acting_request(journal, keys)
    return keys.index(named) if named in keys else None


def _check_ids(
    settings: Settings, requests: Sequence[Turn], verdicts: Sequence[Verdict]
) -> None:
    refused = settings.missing_id == "refuse"
    for turn, verdict in zip(requests, verdicts, strict=True):
        # What a person said is never dropped, whatever the policy.
        if verdict.name == "missing_physical_id" and (refused or turn.human):
            msg = f"message {turn.index}: {verdict.explain()}"
            raise InvalidInput(msg, index=turn.index, verdict=verdict)


def could_act(judged: Judged) -> tuple[str, ...]:
    """Return the ids of the list's requests that a model may be called for."""
    journal, open_to = judged.journal, {*ANSWERED, "queued"}
    return tuple(
        verdict.key
        for verdict in judged.verdicts
        if verdict.key is not None
        and verdict.name in open_to
        and may_act(journal, verdict.key) is None
    )


def hindrance(asked: Asked, judged: Judged) -> Hindrance | None:
    """Return why the acting request may not be answered now; None: it may."""
    journal = judged.journal
    if asked.side:
        if journal.live_term:
            return None
        at = journal.state.ownership.ended
        return Hindrance("no_holding", "nobody holds the owner", at)
    verdict = judged.verdict
    if verdict is None:
        text = "the list has no request: there is nothing to answer"
        if asked.acting is not None:
            text = (
                f"acting names {asked.acting}, which is no request of this list: pass "
                "the list that holds it"
            )
        return Hindrance("no_request", text, 0)
    found = may_act(journal, verdict.key)
    stale = verdict.name in STALE and journal.live_term
    if stale or (found is None and verdict.name not in ANSWERED):
        return Hindrance("kept_out", verdict.explain(), journal.ended)
    return found
