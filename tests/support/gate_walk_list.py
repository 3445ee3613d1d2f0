"""Generated lists of a host: in any order, some requests twice, some answered."""

from __future__ import annotations

from collections.abc import Sequence

from driving_words import Chooser
from gate_reference import Request
from gates import Message, asks, result, said, user

__all__ = ["a_list", "by_a_person"]


def by_a_person(key: str | None) -> bool:
    """Every third message is vouched for, in every list."""
    return key is not None and int(key[1:]) % 3 == 1


def a_list(keys: Sequence[str], choose: Chooser) -> tuple[list[Message], list[Request]]:
    """A host's list: some keys in some order, some of them twice, some answered."""
    messages: list[Message] = []
    requests: list[Request] = []
    late: list[Message] = []
    """Results that come behind everything."""
    calls = 0
    if choose((True, False)):
        messages.append({"role": "system", "content": "be good"})
    for _ in range(choose((1, 2, 3, 4, 5, 6, 7, 8))):
        key = choose((*keys, *keys, None))
        known = [one.key for one in requests]
        if key is not None and key in known:
            messages.append(user(key, human=by_a_person(key)))
        else:
            human = by_a_person(key)
            messages.append(user(key, human=human))
            requests.append(Request(key, answered=False, human=human))
        if choose((False, False, True)):
            calls += 1
            parent = key or ""
            answer: Message = asks(f"c{calls}") if choose((0, 1)) else said("so far")
            if parent:
                # An answer that names its request hangs on it, wherever it stands.
                messages.append({**answer, "parent_id": parent})
                place = [one.key for one in requests].index(key)
                requests[place] = requests[place]._replace(answered=True)
                if answer.get("tool_calls") and (when := choose((0, 1, 2))):
                    (messages if when == 1 else late).append(result(f"c{calls}"))
    return [*messages, *late], requests
