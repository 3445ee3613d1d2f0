"""Faults: something broke, and nothing more is known than is said."""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "Contended",
    "Corrupt",
    "Fault",
    "OutcomeUnknown",
    "SchemaMissing",
    "SchemaTooNew",
    "StoreFull",
    "StoreUnavailable",
]


class Fault(Exception):  # noqa: N818  the names say what broke
    """Something broke. Nothing is assumed about what was not confirmed."""

    code: ClassVar[str] = "fault"


class StoreUnavailable(Fault):
    """The store cannot be reached or opened; nothing was written."""

    code = "store_unavailable"


class StoreFull(Fault):
    """The store has no room; nothing was written."""

    code = "store_full"


class Corrupt(Fault):
    """The store holds bytes that this library did not write so."""

    code = "corrupt"


class Contended(Fault):
    """Other writers were faster until the deadline; nothing was written."""

    code = "contended"


class SchemaMissing(Fault):
    """The database lacks tables of tenure, and they cannot be made here."""

    code = "schema_missing"


class SchemaTooNew(Fault):
    """The database was written by a newer version of tenure."""

    code = "schema_too_new"


class OutcomeUnknown(Fault):
    """The commit was not answered in time: ask again under ``.command_id``."""

    code = "outcome_unknown"

    def __init__(self, text: str, command_id: str) -> None:
        super().__init__(text)
        self.command_id = command_id

    def __reduce__(self) -> tuple[object, ...]:
        """Travel between processes with the command id."""
        return (OutcomeUnknown, (str(self), self.command_id))
