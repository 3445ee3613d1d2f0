"""The face of tenure: every public name, and nothing else."""

from tenure_gate.guard import (
    GuardRejected,
    HoldingRef,
    Interrupted,
    InterruptTarget,
    SessionGuard,
    SessionWideGuard,
)
from tenure_gate.journal import JournalSnapshot
from tenure_gate.membership import is_admitted_successor_request
from tenure_gate.readers import (
    AnthropicReader,
    MessageReader,
    OpenAIReader,
    OpenCodeReader,
)
from tenure_gate.refusals import NothingToSay, RelayGateFailure
from tenure_gate.transform import NarrativeTransform
from tenure_gate.verdicts import Verdict
from tenure_gate.view import View
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
from tenure_projections.differences import Difference
from tenure_projections.followers import (
    Follower,
    ModelRows,
    ModelTable,
    Parked,
    ReadModel,
)
from tenure_projections.ledger import Ledger
from tenure_projections.opening import open_ledger
from tenure_projections.past import Past
from tenure_projections.rebuild import Rebuilt

__all__ = [
    "NOTICE",
    "AgentIsBound",
    "AlreadyDecided",
    "AlreadyStripped",
    "AnthropicReader",
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
    "Difference",
    "Event",
    "EventUnion",
    "Evidence",
    "Execution",
    "Fact",
    "Fault",
    "FencedOut",
    "First",
    "Follower",
    "GuardRejected",
    "Head",
    "HoldingRef",
    "InterruptTarget",
    "Interrupted",
    "InvalidInput",
    "JournalSnapshot",
    "Json",
    "KeyReused",
    "Ledger",
    "MessageReader",
    "ModelRows",
    "ModelTable",
    "NarrativeTransform",
    "NotAdmitted",
    "NotFound",
    "NothingToSay",
    "Notice",
    "OpenAIReader",
    "OpenCodeReader",
    "OutcomeUnknown",
    "OwnerEnded",
    "OwnerIsLive",
    "OwnerMoved",
    "OwnerRef",
    "OwnerView",
    "Parked",
    "Past",
    "Problem",
    "Quarantined",
    "ReadModel",
    "Rebuilt",
    "Recorded",
    "Refused",
    "RelayGateFailure",
    "RuntimeRestartQueuedSubmission",
    "RuntimeRestartReactionLoopState",
    "RuntimeRestartScheduledWorkContext",
    "RuntimeRestartToolApprovalWait",
    "SchemaMissing",
    "SchemaTooNew",
    "SessionGuard",
    "SessionWideGuard",
    "StaleCheckpoint",
    "StoreFull",
    "StoreUnavailable",
    "TermRetired",
    "Terminal",
    "TooNew",
    "ToolCall",
    "Unknown",
    "UnknownOwner",
    "Verdict",
    "Verification",
    "View",
    "arguments_digest",
    "is_admitted_successor_request",
    "open_ledger",
]
