"""Which message: keys of executions, first requests, boundaries, origins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tenure_ledger.values.checks import (
    check_choice,
    check_id,
    check_integer,
    check_optional_id,
    set_plain,
)

__all__ = ["Boundary", "ChatExecutionKey", "First", "Origin", "ReplayReason"]

Origin = Literal[
    "human",
    "continue_relay",
    "human_successor_root",
    "assistant_run",
    "runtime_recovery",
    "tool_probe",
]
"""How an execution came about. Only the two human ones decide something: they came from
outside the term, so they are accepted as well as admitted, and they count as sent by a
person, so a notice lists them when nobody finished them (design section 4)."""

ReplayReason = Literal[
    "visible_output_started",
    "user_cancelled",
    "user_cancelled_whole_stream",
    "agent_closed",
    "model_switch",
    "context_reset",
    "runtime_work_reap",
    "cron_exec_timeout",
    "successor_accepted",
]
"""Why something must not run again: verbatim from seed 000 section 4.1, in the order in
which they are reported (design section 7.2)."""


@dataclass(frozen=True, slots=True)
class ChatExecutionKey:
    """The key of an admission: one physical message in one session."""

    session_id: str
    physical_user_message_id: str

    def __post_init__(self) -> None:
        message_id = self.physical_user_message_id
        set_plain(
            self,
            session_id=check_id("session_id", self.session_id),
            physical_user_message_id=check_id("physical_user_message_id", message_id),
        )


@dataclass(frozen=True, slots=True)
class First:
    """The first request of a term, admitted in the transaction that opens it."""

    message_id: str
    origin: Origin
    sender: str | None = None
    digest: str | None = None

    def __post_init__(self) -> None:
        set_plain(
            self,
            message_id=check_id("message_id", self.message_id),
            origin=check_choice("origin", self.origin, Origin),
            sender=check_optional_id("sender", self.sender),
            digest=check_optional_id("digest", self.digest),
        )


@dataclass(frozen=True, slots=True)
class Boundary:
    """Where in the host's list a term ends; the index is evidence only."""

    message_id: str
    index: int | None = None

    def __post_init__(self) -> None:
        set_plain(self, message_id=check_id("boundary", self.message_id))
        if self.index is not None:
            set_plain(self, index=check_integer("boundary index", self.index, 0))
