"""Is a server still the primary? Its standbys say so, by confirming what it wrote.

A server that was left behind goes on answering from what it has, and cannot know what
was written elsewhere since. So an answer that only reads rests on a word that standbys
confirmed a moment ago, where the server waits for any.
"""

from __future__ import annotations

from time import monotonic

from tenure_ledger.stores.postgres_connect import sql
from tenure_ledger.stores.postgres_wire import Call, Result, Wire

__all__ = ["WORD", "heard", "is_word_due"]

WORD = Call(sql("word"))

_MOMENT_SECONDS = 0.5
"""How much older than a confirmed word an answer may be."""


def is_word_due(wire: Wire) -> bool:
    """Say whether the last word is too old to answer from what the server has."""
    return wire.heard_at < monotonic() - _MOMENT_SECONDS


def heard(wire: Wire, answer: Result, sent: float) -> None:
    """Take in the answer to `WORD`, which was sent then."""
    wire.synchronous = answer.get_value(0, 0) == b"\1"
    if not wire.doubtful:
        wire.heard_at = sent
