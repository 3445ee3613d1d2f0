"""The table of design section 5 as data: a cell for every state and command.

A cell is the refusal's type, or the lines that the command appends.
"""

from __future__ import annotations

from collections.abc import Mapping

from tenure import (
    Deleted,
    OwnerEnded,
    OwnerIsLive,
    Quarantined,
    Refused,
    TermRetired,
    TooNew,
    UnknownOwner,
)

__all__ = [
    "ACCEPT",
    "CLAIM",
    "FENCED",
    "LATE",
    "LIVE_WRITES",
    "SAYS",
    "SUCCEED",
    "TAKE_OVER",
    "Cell",
]

Cell = type[Refused] | tuple[str, ...]

ENDED = (
    "{id} ExecutionSettled@1 m1 retired",
    "{id} ToolCallClosed@1 m1 c1 outcome_unknown",
    "{id} ReplayBarred@1 successor_accepted",
)
"""What any end of scene `live` closes."""
LET_GO = ("{id} RetirementCut@1 forced", "manager/1 AgentReleased@1")
CARRIED = "{id} ExecutionAdmitted@2 m2"
TOLD = "{id} NoticeIssued@2 retirement_cut"

CLAIM: Mapping[str, Cell] = {
    "absent": ("{id} OwnershipClaimed@1", "manager/2 AgentBound@1"),
    "live": OwnerIsLive,
    "cut": TermRetired,
    "terminal": (
        "{id} RetirementCut@1 forced",
        "{id} GenerationAdvanced@2 reclaim",
        "manager/2 AgentBound@2",
        CARRIED,
    ),
    "imported_at_zero": (
        "{id} CheckpointCleared@0 term_ended",
        "{id} GenerationAdvanced@1 adopted",
        "manager/2 AgentBound@1",
    ),
    "imported_without_agent": (
        "{id} GenerationAdvanced@3 adopted",
        "manager/2 AgentBound@3",
    ),
    "deleted": Deleted,
    "quarantined": Quarantined,
    "too_new": TooNew,
}
SUCCEED: Mapping[str, Cell] = {
    "absent": UnknownOwner,
    "live": OwnerIsLive,
    "cut": ("{id} GenerationAdvanced@2 succession", "manager/2 AgentBound@2", CARRIED),
    "terminal": OwnerEnded,
    "imported_at_zero": OwnerEnded,
    "imported_without_agent": OwnerEnded,
    "deleted": Deleted,
    "quarantined": Quarantined,
    "too_new": TooNew,
}
TAKE_OVER: Mapping[str, Cell] = {
    "absent": UnknownOwner,
    "live": (
        *ENDED,
        *LET_GO,
        "{id} GenerationAdvanced@2 takeover",
        "manager/2 AgentBound@2",
        CARRIED,
        TOLD,
    ),
    "cut": TermRetired,
    "terminal": OwnerEnded,
    "imported_at_zero": CLAIM["imported_at_zero"],
    "imported_without_agent": CLAIM["imported_without_agent"],
    "deleted": Deleted,
    "quarantined": Quarantined,
    "too_new": TooNew,
}
FENCED: Mapping[str, type[Refused]] = {
    "absent": UnknownOwner,
    "cut": TermRetired,
    "terminal": OwnerEnded,
    "imported_at_zero": OwnerEnded,
    "imported_without_agent": OwnerEnded,
    "deleted": Deleted,
    "quarantined": Quarantined,
    "too_new": TooNew,
}
LIVE_WRITES: Mapping[str, tuple[str, ...]] = {
    "advance: renew": ("{id} GenerationAdvanced@2 lease_renewal",),
    "advance: migrate": ("{id} GenerationAdvanced@2 migration",),
    "advance: to another agent": (
        *ENDED,
        *LET_GO,
        "{id} GenerationAdvanced@2 migration",
        "manager/3 AgentBound@2",
        CARRIED,
        TOLD,
    ),
    "spawn": (
        "{id} ChildSpawned@1",
        "kid_2 OwnershipClaimed@1",
        "kid/2 AgentBound@1",
    ),
    "grant": ("kid_1 AuthorityGranted@1",),
    "revoke": ("kid_1 AuthorityRevoked@1",),
    "terminate": (
        *ENDED,
        "{id} OwnerTerminated@1 closed",
        "manager/1 AgentReleased@1",
        "{id} NoticeIssued@1 closed",
    ),
    "admit": ("{id} SubmissionAccepted@1 m3", "{id} ExecutionAdmitted@1 m3"),
    "start": ("{id} ExecutionStarted@1 m2",),
    "settle": ("{id} ExecutionSettled@1 m1 completed",),
    "retire": (
        *ENDED,
        "{id} RetirementCut@1 accepted",
        "manager/1 AgentReleased@1",
        "{id} NoticeIssued@1 retirement_cut",
    ),
    "history_rewritten": ("{id} HistoryRewritten@1",),
    "save_checkpoint": ("{id} CheckpointSaved@1",),
    "clear_checkpoint": (),
    "mark_output_started": ("{id} OutputStarted@1 m1",),
    "record_verdicts": ("{id} VerdictGiven@1 m1",),
    "request_approval": ("{id} ApprovalRequested@1 c2",),
    "close_approval": (
        "{id} ApprovalRequested@1 c2",
        "{id} ApprovalClosed@1 expired",
    ),
    "intend_tool_call": ("{id} ToolCallIntended@1 m1 c2",),
    "begin_tool_call": (
        "{id} ToolCallIntended@1 m1 c2",
        "{id} ToolCallDispatched@1 m1 c2",
    ),
    "complete_tool_call": ("{id} ToolCallCompleted@1 m1 c1",),
}
_TAKEN_IN_AT = [
    (f"{{id}} SubmissionAccepted@{generation} m9",) for generation in range(3)
]
ACCEPT: Mapping[str, tuple[Cell, Cell]] = {
    "absent": (_TAKEN_IN_AT[0], UnknownOwner),
    "live": (_TAKEN_IN_AT[1], _TAKEN_IN_AT[1]),
    "cut": (_TAKEN_IN_AT[1], _TAKEN_IN_AT[1]),
    "terminal": (_TAKEN_IN_AT[1], OwnerEnded),
    "imported_at_zero": (
        _TAKEN_IN_AT[0],
        _TAKEN_IN_AT[0],
    ),
    "imported_without_agent": (
        _TAKEN_IN_AT[2],
        _TAKEN_IN_AT[2],
    ),
    "deleted": (Deleted, Deleted),
    "quarantined": (
        _TAKEN_IN_AT[1],
        _TAKEN_IN_AT[1],
    ),
    "too_new": (TooNew, TooNew),
}
"""For a session, and for an owner of any other class."""
_TOLD = "{id} NoticeIssued@1 late_result"
LATE = {
    "settle": ("{id} LateResult@1 m1 completed", _TOLD),
    "complete_tool_call": ("{id} LateResult@1 m1 c1", _TOLD),
}
"""What is stored all the same when the holding ended: a fact, not an act."""
SAYS: Mapping[type[Refused], str] = {
    TermRetired: "succeed",
    UnknownOwner: "claim",
    Deleted: "a new id",
    Quarantined: "resolve_quarantine",
    TooNew: "upgrade",
}
"""The way out, in the sentence."""
