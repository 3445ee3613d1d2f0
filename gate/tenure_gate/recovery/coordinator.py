"""Recover after a restart (design section 7)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator

from tenure_gate.recovery.environment import RecoveryEnvironment
from tenure_gate.recovery.results import Failed, RecoveryReport, Result
from tenure_gate.recovery.run import Run
from tenure_ledger.values import OwnerRef
from tenure_projections.ledger import Ledger

__all__ = ["TOGETHER", "arecover", "recover", "recover_each"]

TOGETHER = 64
"""Owners in one commit of `recover`: others wait for it, for 0.1 s at most."""


def recover(
    ledger: Ledger,
    environment: RecoveryEnvironment | None = None,
    *,
    only: Iterable[OwnerRef] | None = None,
    dry_run: bool = False,
    max_age_seconds: float | None = None,
) -> RecoveryReport:
    """Settle what a restart left: resume, close, clear, or leave alone.

    Looks at every owner whose work is not done, or at ``only`` these, idle or not. An
    owner is touched only when its holder is gone. With ``dry_run`` nothing is written.
    What nobody worked on for more than ``max_age_seconds`` is left alone. A second run
    over an unchanged ledger writes nothing. Raises `InvalidInput`, `TypeError` for what
    is no ledger, and a fault when the candidates cannot be read; a fault of one owner
    is in the report.
    """
    results: list[Result] = []
    failed: list[Failed] = []
    run = Run(
        ledger,
        environment,
        only=only,
        dry_run=dry_run,
        max_age_seconds=max_age_seconds,
        together=TOGETHER,
    )
    for one in run:
        if isinstance(one, Failed):
            failed.append(one)
        else:
            results.append(one)
    return RecoveryReport(tuple(results), tuple(failed), dry_run)


def recover_each(
    ledger: Ledger,
    environment: RecoveryEnvironment | None = None,
    *,
    only: Iterable[OwnerRef] | None = None,
    dry_run: bool = False,
    max_age_seconds: float | None = None,
) -> Iterator[Result | Failed]:
    """Do what `recover` does, and hand over each result as soon as it is settled.

    So the first owner goes on before the last one is looked at, and no report of very
    many is kept. Where you stop, the run stops; the next one ends it. Raises as
    `recover` does.
    """
    run = Run(
        ledger,
        environment,
        only=only,
        dry_run=dry_run,
        max_age_seconds=max_age_seconds,
        together=1,
    )
    return iter(run)


async def arecover(
    ledger: Ledger,
    environment: RecoveryEnvironment | None = None,
    *,
    only: Iterable[OwnerRef] | None = None,
    dry_run: bool = False,
    max_age_seconds: float | None = None,
) -> RecoveryReport:
    """Do what `recover` does, in a thread: the event loop goes on."""
    return await asyncio.to_thread(
        recover,
        ledger,
        environment,
        only=only,
        dry_run=dry_run,
        max_age_seconds=max_age_seconds,
    )
