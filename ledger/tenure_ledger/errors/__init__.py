"""Two families of errors, and the value a pure decision returns.

::

    Refused                      a rule said no; nothing of what was asked is done
      FencedOut                  your holding ended (.holder, .generation, .late)
        TermRetired              it ended by a retirement cut
      OwnerIsLive OwnerMoved OwnerEnded UnknownOwner Deleted
      AgentIsBound               .owner, .generation
      NotAdmitted AlreadyDecided AlreadyStripped KeyReused CommandIdReused
      StaleCheckpoint Quarantined TooNew InvalidInput
      NotFound                   .kind, .id
    Fault                        something broke; what it says is what is known
      StoreUnavailable StoreFull Corrupt Contended SchemaMissing SchemaTooNew
      OutcomeUnknown             .command_id: ask again under the same id

The families share no base but ``Exception``: whoever tolerates a refusal must not
tolerate a fault (design section 5, rule 7). A refusal stores nothing, but for one case:
`settle` and `complete_tool_call` under an ended holding keep the result as a late one,
unless it is about the live holding's own work.
"""

from tenure_ledger.errors.faults import (
    Contended,
    Corrupt,
    Fault,
    OutcomeUnknown,
    SchemaMissing,
    SchemaTooNew,
    StoreFull,
    StoreUnavailable,
)
from tenure_ledger.errors.refusals import (
    AgentIsBound,
    AlreadyDecided,
    AlreadyStripped,
    CommandIdReused,
    Deleted,
    FencedOut,
    InvalidInput,
    KeyReused,
    NotAdmitted,
    NotFound,
    OwnerEnded,
    OwnerIsLive,
    OwnerMoved,
    Quarantined,
    Refused,
    Rejection,
    StaleCheckpoint,
    TermRetired,
    TooNew,
    UnknownOwner,
    refuse,
)

__all__ = [
    "AgentIsBound",
    "AlreadyDecided",
    "AlreadyStripped",
    "CommandIdReused",
    "Contended",
    "Corrupt",
    "Deleted",
    "Fault",
    "FencedOut",
    "InvalidInput",
    "KeyReused",
    "NotAdmitted",
    "NotFound",
    "OutcomeUnknown",
    "OwnerEnded",
    "OwnerIsLive",
    "OwnerMoved",
    "Quarantined",
    "Refused",
    "Rejection",
    "SchemaMissing",
    "SchemaTooNew",
    "StaleCheckpoint",
    "StoreFull",
    "StoreUnavailable",
    "TermRetired",
    "TooNew",
    "UnknownOwner",
    "refuse",
]
