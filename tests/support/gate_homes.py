"""What hangs on what in a list that was taken apart, for tests of the gate."""

from __future__ import annotations

from tenure_gate.reading import LOOSE, PREFIX, SYSTEM
from tenure_gate.turns import Split

__all__ = ["belonging", "hanging", "orphans", "outside"]


def belonging(parts: Split) -> dict[str | None, tuple[int, ...]]:
    """Return the indices of all messages that hang on each request, by its key."""
    return {turn.key: hanging(parts, turn.place) for turn in parts.requests}


def outside(parts: Split) -> dict[str, tuple[int, ...]]:
    """Return the indices of what hangs on no request, by what it is, but for copies."""
    kinds = {"prefix": PREFIX, "system": SYSTEM, "loose": LOOSE}
    homed = {name: hanging(parts, kind) for name, kind in kinds.items()}
    return {name: found for name, found in homed.items() if found}


def orphans(parts: Split) -> tuple[int, ...]:
    """Return the indices of messages with a result whose call is nowhere."""
    return tuple(
        index
        for index, answers in parts.answers.items()
        if any(answer.call is None for answer in answers)
    )


def hanging(parts: Split, home: int) -> tuple[int, ...]:
    """Return the indices of what hangs there, be it with a result that it holds."""
    return tuple(
        index
        for index, at in enumerate(parts.homes)
        if at == home
        or any(
            answer.call is not None and parts.homes[answer.call] == home
            for answer in parts.answers.get(index, ())
        )
    )
