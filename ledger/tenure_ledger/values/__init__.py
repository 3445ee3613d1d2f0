"""The words of design section 2 as values that cannot be built invalid.

All are frozen and hashable. A bad value is `InvalidInput`, raised while it is built,
before anything is written.
"""

from tenure_ledger.values.checks import (
    ID_BYTES_MAX,
    ID_CHARACTERS_MAX,
    TEXT_CHARACTERS_MAX,
    check_choice,
    check_flag,
    check_id,
    check_integer,
    check_name,
    check_optional_id,
    check_text,
    check_unicode,
    json_fields,
    kind_of,
    set_plain,
)
from tenure_ledger.values.messages import (
    Boundary,
    ChatExecutionKey,
    First,
    Origin,
    ReplayReason,
)
from tenure_ledger.values.owners import (
    Authority,
    Evidence,
    EvidenceKind,
    OwnerRef,
    Seen,
    agent_stream,
)

__all__ = [
    "ID_BYTES_MAX",
    "ID_CHARACTERS_MAX",
    "TEXT_CHARACTERS_MAX",
    "Authority",
    "Boundary",
    "ChatExecutionKey",
    "Evidence",
    "EvidenceKind",
    "First",
    "Origin",
    "OwnerRef",
    "ReplayReason",
    "Seen",
    "agent_stream",
    "check_choice",
    "check_flag",
    "check_id",
    "check_integer",
    "check_name",
    "check_optional_id",
    "check_text",
    "check_unicode",
    "json_fields",
    "kind_of",
    "set_plain",
]
