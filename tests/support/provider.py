"""A provider that takes no list that is out of order, written apart from the gate.

It knows of messages what an OpenAI or Anthropic endpoint does: roles, calls, results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["complaint"]


def complaint(messages: Sequence[Any]) -> str | None:
    """Return why the list is refused; None: it is taken.

    A call without any result is the host's to answer, and is not looked at.
    """
    callers: set[str] = set()
    spoken = False
    """Something else than results came since the calls."""
    for at, message in enumerate(messages):
        made, results, says = _read(message)
        if message["role"] == "assistant":
            callers, spoken = made, False
            continue
        if results and spoken:
            return f"message {at}: a result does not stand right behind its call"
        if not results <= callers:
            return f"message {at}: a result of what the last answer did not call"
        spoken = spoken or says
    return None


def _read(message: Any) -> tuple[set[str], set[str], bool]:  # noqa: ANN401  any host's
    """Return the calls, the results, and whether it says anything else."""
    if message["role"] == "tool":
        return set(), {message["tool_call_id"]}, False
    content: Any = message["content"]
    blocks: list[Any] = [] if content is None or isinstance(content, str) else content
    made = {call["id"] for call in message.get("tool_calls") or ()}
    made |= {block["id"] for block in blocks if block["type"] == "tool_use"}
    results: set[str] = {
        block["tool_use_id"] for block in blocks if block["type"] == "tool_result"
    }
    says = isinstance(content, str) or len(blocks) > len(results)
    return made, results, says
