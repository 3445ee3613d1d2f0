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
from tenure_gate.recovery.coordinator import arecover, recover, recover_each
from tenure_gate.recovery.environment import RecoveryEnvironment
from tenure_gate.recovery.executor import execute_plan
from tenure_gate.recovery.holders import HolderAnswer, holder_of_process
from tenure_gate.recovery.plans import run_key
from tenure_gate.recovery.policy import CheckpointPolicy
from tenure_gate.recovery.port import ResumeHost, Rewritten
from tenure_gate.recovery.reaper import reap
from tenure_gate.recovery.results import (
    Closed,
    Discarded,
    Failed,
    RecoveryReport,
    Resumed,
    Skipped,
    SuccessionDue,
)
from tenure_gate.recovery.steps import (
    AwaitApproval,
    CloseApproval,
    Compact,
    DropJob,
    GoOn,
    KeepOutput,
    QueuedMessage,
    QueueSubmission,
    ResumePlan,
    RunCall,
    RunJob,
    TellCall,
    TimeOutJob,
    Unstarted,
)
from tenure_gate.refusals import NothingToSay, RelayGateFailure
from tenure_gate.transform import NarrativeTransform
from tenure_gate.verdicts import Verdict
from tenure_gate.view import View
from tenure_ledger.bodies import Json
from tenure_ledger.decisions.recovering.command import Identity
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
    ExecutionConfig,
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
from tenure_projections.restored import Restored

__all__ = [
    "NOTICE",
    "AgentIsBound",
    "AlreadyDecided",
    "AlreadyStripped",
    "AnthropicReader",
    "Approval",
    "Authority",
    "AwaitApproval",
    "Boundary",
    "Call",
    "ChatExecutionKey",
    "Checkpoint",
    "CheckpointPolicy",
    "CloseApproval",
    "Closed",
    "CommandIdReused",
    "Compact",
    "Contended",
    "Corrupt",
    "Cut",
    "Deleted",
    "Difference",
    "Discarded",
    "DropJob",
    "Event",
    "EventUnion",
    "Evidence",
    "Execution",
    "ExecutionConfig",
    "Fact",
    "Failed",
    "Fault",
    "FencedOut",
    "First",
    "Follower",
    "GoOn",
    "GuardRejected",
    "Head",
    "HolderAnswer",
    "HoldingRef",
    "Identity",
    "InterruptTarget",
    "Interrupted",
    "InvalidInput",
    "JournalSnapshot",
    "Json",
    "KeepOutput",
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
    "QueueSubmission",
    "QueuedMessage",
    "ReadModel",
    "Rebuilt",
    "Recorded",
    "RecoveryEnvironment",
    "RecoveryReport",
    "Refused",
    "RelayGateFailure",
    "Restored",
    "ResumeHost",
    "ResumePlan",
    "Resumed",
    "Rewritten",
    "RunCall",
    "RunJob",
    "RuntimeRestartQueuedSubmission",
    "RuntimeRestartReactionLoopState",
    "RuntimeRestartScheduledWorkContext",
    "RuntimeRestartToolApprovalWait",
    "SchemaMissing",
    "SchemaTooNew",
    "SessionGuard",
    "SessionWideGuard",
    "Skipped",
    "StaleCheckpoint",
    "StoreFull",
    "StoreUnavailable",
    "SuccessionDue",
    "TellCall",
    "TermRetired",
    "Terminal",
    "TimeOutJob",
    "TooNew",
    "ToolCall",
    "Unknown",
    "UnknownOwner",
    "Unstarted",
    "Verdict",
    "Verification",
    "View",
    "arecover",
    "arguments_digest",
    "execute_plan",
    "holder_of_process",
    "is_admitted_successor_request",
    "open_ledger",
    "reap",
    "recover",
    "recover_each",
    "run_key",
]
