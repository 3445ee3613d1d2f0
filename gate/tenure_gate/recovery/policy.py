"""When a host saves a checkpoint: at the moments that a restart must not lose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from tenure_ledger.errors import InvalidInput
from tenure_ledger.values import check_flag, check_integer, check_seconds, kind_of

__all__ = ["CheckpointPolicy", "Moment"]

Moment = Literal[
    "tool_call", "approval_wait", "queue_merge", "output_ready", "model_stream"
]
"""``tool_call``: before a call is dispatched. ``approval_wait``: before a person is
asked. ``queue_merge``: before a merged submission is begun. ``output_ready``: a call
has a result that the history has not. ``model_stream``: in the middle of an answer."""


@dataclass(frozen=True, slots=True)
class CheckpointPolicy:
    """Says whether a checkpoint is due.

    The four moments between two steps are always due: each is one small write, and what
    lies before it costs money or acts on the world. Inside a long model stream it is
    the host's choice, by time or by length; both None: never.
    Source: seed 000 section 8.

    >>> policy = CheckpointPolicy(stream_seconds=30)
    >>> policy.due("tool_call")
    True
    >>> policy.due("model_stream", seconds=12.5)
    False
    >>> policy.due("model_stream", seconds=31)
    True
    >>> policy.due("model_stream", seconds=31, output_started=True)
    False
    """

    stream_seconds: float | None = None
    stream_characters: int | None = None

    def __post_init__(self) -> None:
        check_seconds("stream_seconds", self.stream_seconds)
        if self.stream_characters is not None:
            check_integer("stream_characters", self.stream_characters, 1)

    def due(
        self,
        moment: Moment,
        *,
        seconds: float = 0.0,
        characters: int = 0,
        output_started: bool = False,
    ) -> bool:
        """Say whether to save now.

        ``seconds`` and ``characters`` are counted since the last save. With
        ``output_started`` a person may have seen a part of the answer: then it is never
        run again, and a snapshot of the stream would be of no use. Raises
        `InvalidInput`.
        """
        if moment not in get_args(Moment):
            msg = f"moment must be one of {', '.join(get_args(Moment))}"
            raise InvalidInput(msg)
        _check_number("seconds", seconds)
        _check_number("characters", characters)
        check_flag("output_started", output_started)
        if moment != "model_stream":
            return True
        if output_started:
            return False
        waited = self.stream_seconds is not None and seconds >= self.stream_seconds
        grown = (
            self.stream_characters is not None and characters >= self.stream_characters
        )
        return waited or grown


def _check_number(what: str, value: object) -> None:
    """Refuse what is no number; a clock that went back or far ahead is none of ours."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or value != value:  # noqa: PLR0124  only NaN is not itself
        msg = f"{what} must be a number, not {kind_of(value)}"
        raise InvalidInput(msg)
