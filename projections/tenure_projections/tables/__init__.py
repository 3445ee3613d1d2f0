"""The tables that are written in the same transaction as the events."""

from tenure_ledger.errors import InvalidInput
from tenure_ledger.values import kind_of
from tenure_projections.tables.approvals import APPROVALS
from tenure_projections.tables.calls import TOOL_CALLS
from tenure_projections.tables.checkpoints import RUNTIME_RESTART_CHECKPOINTS
from tenure_projections.tables.cuts import RETIREMENT_CUTS
from tenure_projections.tables.executions import CHAT_EXECUTIONS
from tenure_projections.tables.interrupts import INTERRUPTS
from tenure_projections.tables.notices import NOTICES
from tenure_projections.tables.owners import RECOVERY_OWNERS
from tenure_projections.tables.shape import Table
from tenure_projections.tables.stream_states import STREAM_STATES
from tenure_projections.tables.terminal_events import RECOVERY_OWNER_TERMINAL_EVENTS

__all__ = ["TABLES", "Table", "table_named"]

TABLES: tuple[Table, ...] = (
    RECOVERY_OWNERS,
    RUNTIME_RESTART_CHECKPOINTS,
    RECOVERY_OWNER_TERMINAL_EVENTS,
    CHAT_EXECUTIONS,
    RETIREMENT_CUTS,
    INTERRUPTS,
    NOTICES,
    TOOL_CALLS,
    APPROVALS,
    STREAM_STATES,
)


def table_named(name: object) -> Table:
    """Return the table of that name. Raises `InvalidInput` when there is none."""
    for table in TABLES:
        if table.spec.name == name:
            return table
    names = ", ".join(table.spec.name for table in TABLES)
    asked = repr(name) if isinstance(name, str) else kind_of(name)
    raise InvalidInput(f"there is no table {asked}: the tables are {names}")
