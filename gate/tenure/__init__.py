"""The face of tenure: every public name, and nothing else."""

from tenure_ledger.bodies import Json
from tenure_ledger.errors import (
    AgentIsBound,
    AlreadyDecided,
    AlreadyStripped,
    CommandIdReused,
    Contended,
    Corrupt,
    Deleted,
    Fault,
    FencedOut,
    InvalidInput,
    KeyReused,
    NotAdmitted,
    NotFound,
    OutcomeUnknown,
    OwnerEnded,
    OwnerIsLive,
    OwnerMoved,
    Quarantined,
    Refused,
    SchemaMissing,
    SchemaTooNew,
    StaleCheckpoint,
    StoreFull,
    StoreUnavailable,
    TermRetired,
    TooNew,
    UnknownOwner,
)
from tenure_ledger.events import Event, EventUnion, Fact, Recorded, Unknown
from tenure_ledger.folds.effects import Approval, Call
from tenure_ledger.folds.executions import Execution
from tenure_ledger.folds.notices import NOTICE, Notice
from tenure_ledger.folds.ownership import Cut, Terminal
from tenure_ledger.folds.recovery import Checkpoint
from tenure_ledger.methods.effects import arguments_digest
from tenure_ledger.payloads import (
    RuntimeRestartQueuedSubmission,
    RuntimeRestartReactionLoopState,
    RuntimeRestartScheduledWorkContext,
    RuntimeRestartToolApprovalWait,
)
from tenure_ledger.values import (
    Authority,
    Boundary,
    ChatExecutionKey,
    Evidence,
    First,
    OwnerRef,
)
from tenure_ledger.verification import Head, Problem, Verification
from tenure_ledger.views import OwnerView, ToolCall
from tenure_projections.ledger import Ledger
from tenure_projections.opening import open_ledger

__all__ = [
    "NOTICE",
    "AgentIsBound",
    "AlreadyDecided",
    "AlreadyStripped",
    "Approval",
    "Authority",
    "Boundary",
    "Call",
    "ChatExecutionKey",
    "Checkpoint",
    "CommandIdReused",
    "Contended",
    "Corrupt",
    "Cut",
    "Deleted",
    "Event",
    "EventUnion",
    "Evidence",
    "Execution",
    "Fact",
    "Fault",
    "FencedOut",
    "First",
    "Head",
    "InvalidInput",
    "Json",
    "KeyReused",
    "Ledger",
    "NotAdmitted",
    "NotFound",
    "Notice",
    "OutcomeUnknown",
    "OwnerEnded",
    "OwnerIsLive",
    "OwnerMoved",
    "OwnerRef",
    "OwnerView",
    "Problem",
    "Quarantined",
    "Recorded",
    "Refused",
    "RuntimeRestartQueuedSubmission",
    "RuntimeRestartReactionLoopState",
    "RuntimeRestartScheduledWorkContext",
    "RuntimeRestartToolApprovalWait",
    "SchemaMissing",
    "SchemaTooNew",
    "StaleCheckpoint",
    "StoreFull",
    "StoreUnavailable",
    "TermRetired",
    "Terminal",
    "TooNew",
    "ToolCall",
    "Unknown",
    "UnknownOwner",
    "Verification",
    "arguments_digest",
    "open_ledger",
]
