"""The ledger: every public method, on one store."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from tenure_ledger.methods.effects import EffectMethods
from tenure_ledger.methods.gating import GatingMethods
from tenure_ledger.methods.ownership import OwnershipMethods
from tenure_ledger.methods.reads import ReadMethods
from tenure_ledger.methods.recovering import RecoveringMethods
from tenure_ledger.methods.recovery import RecoveryMethods
from tenure_ledger.methods.relay import RelayMethods

__all__ = ["Ledger"]


class Ledger(
    OwnershipMethods,
    RelayMethods,
    GatingMethods,
    RecoveryMethods,
    RecoveringMethods,
    EffectMethods,
    ReadMethods,
):
    """One durable, append-only record of who owns what, and what was decided.

    Made by `open_ledger`; safe to share between threads. Methods raise a kind of
    `Refused` when a rule says no (nothing was written, but for a late result) and a
    kind of `Fault` when something broke.
    """

    @property
    def deadline_seconds(self) -> float:
        """How long a call waits for other writers, as given to `open_ledger`."""
        return self._shell.deadline_seconds

    def setup(self) -> None:
        """Create or migrate the store's tables now, not at first use."""
        self._shell.store.setup(self._shell.deadline_seconds)

    def close(self) -> None:
        """Answer what is waiting and release the store; safe to call again."""
        self._shell.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
