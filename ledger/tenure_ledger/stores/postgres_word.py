"""Is a server still the primary? Its standbys say so, by confirming what it wrote.

A server that was left behind goes on answering from what it has, and cannot know what
was written elsewhere since. So an answer that only reads rests on a word that standbys
confirmed a moment ago, where the server waits for any.
"""

from __future__ import annotations

from time import monotonic

from tenure_ledger.errors import StoreUnavailable
from tenure_ledger.stores.postgres_connect import sql
from tenure_ledger.stores.postgres_wire import Call, Result, Wire

__all__ = ["WORD", "answered", "confirm", "heard", "is_word_due"]

WORD = Call(sql("word"))

_MOMENT_SECONDS = 0.5
"""How much older than a confirmed word an answer may be."""
_STANDBY_SECONDS = 3.0
"""How long a reader waits until a standby has what it read."""


def answered(wire: Wire, calls: list[Call], name: str, seconds: float) -> list[Result]:
    """Return the answers of a server that still is the primary, as far as one can know.

    ``seconds``: how long an answer may take. Raises ServerError, ConnectionLost,
    StoreUnavailable.
    """
    if not is_word_due(wire):
        return wire.run(calls, monotonic() + seconds)
    if wire.synchronous:
        # By itself: what is asked may take longer than a standby may be waited for.
        confirm(wire, name)
        return wire.run(calls, monotonic() + seconds)
    sent = monotonic()
    *answers, last = wire.run([*calls, WORD], sent + seconds)
    heard(wire, last, sent)
    return answers


def confirm(wire: Wire, name: str) -> None:
    """Return once a standby has all that the server has shown on this connection.

    Raises ServerError, ConnectionLost, StoreUnavailable.
    """
    sent = monotonic()
    (answer,) = wire.run([WORD], sent + _STANDBY_SECONDS)
    heard(wire, answer, sent)
    if wire.doubtful:
        msg = f"What {name} holds is not on a standby yet: call again."
        raise StoreUnavailable(msg)


def is_word_due(wire: Wire) -> bool:
    """Say whether the last word is too old to answer from what the server has."""
    return wire.heard_at < monotonic() - _MOMENT_SECONDS


def heard(wire: Wire, answer: Result, sent: float) -> None:
    """Take in the answer to `WORD`, which was sent then."""
    wire.synchronous = answer.get_value(0, 0) == b"\1"
    if not wire.doubtful:
        wire.heard_at = sent
