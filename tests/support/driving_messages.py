"""The steps about messages."""

from __future__ import annotations

import reference_messages as messages
from driving import Drive
from driving_choices import (
    DIGESTS,
    KEYS,
    ORIGINS,
    REASONS,
    anybody,
    authority,
    idle,
    ids_of,
    inbox,
    message,
    said,
    some,
    somebody,
)
from driving_words import Chooser

__all__ = [
    "accept",
    "admit",
    "bar_replay",
    "history_rewritten",
    "settle",
    "settle_interrupt",
    "start",
]


def accept(drive: Drive, choose: Chooser) -> object:
    """Accept a message for any owner."""
    ref, name = anybody(drive, choose), choose(KEYS)
    digest, human = choose(DIGESTS), choose((True, False))
    plan = messages.accept_message(drive.reference, ref, name, digest, human=human)
    call = said("accept", ref, name, "router", None, digest, human)
    return drive.ask(choose, plan, call)


def admit(drive: Drive, choose: Chooser) -> object:
    """Admit a message, with what it absorbs."""
    by, origin, digest = authority(drive, choose), choose(ORIGINS), choose(DIGESTS)
    own = drive.reference.at(by.owner)
    new = [k for k in KEYS if k not in own.messages or k in ids_of(own.waiting())]
    name = choose([*new * 3, *KEYS])
    absorbed = some(choose, [one for one in [*new * 3, *KEYS] if one != name])
    absorbed = choose((absorbed,) * 9 + ((name,),))
    plan = messages.admit_message(drive.reference, by, name, origin, digest, absorbed)
    call = said("admit", by, name, origin, None, digest, absorbed)
    return drive.ask(choose, plan, call)


def start(drive: Drive, choose: Chooser) -> object:
    """Start it, by itself or into a running one."""
    by = authority(drive, choose)
    if idle(choose, inbox(drive, by)):
        return None
    own = drive.reference.at(by.owner)
    name = message(own, choose)
    running = [m.key for m in own.messages.values() if own.running(m.key) and m.started]
    into = choose((None, None, choose([*running, *KEYS[:2]])))
    plan = messages.start(drive.reference, by, name, into)
    return drive.ask(choose, plan, said("start", by, name, into))


def settle(drive: Drive, choose: Chooser) -> object:
    """Settle it in one of the host's ways."""
    by = authority(drive, choose)
    if idle(choose, inbox(drive, by)):
        return None
    name = message(drive.reference.at(by.owner), choose)
    outcome = choose(("completed", "failed", "cancelled"))
    plan = messages.settle_message(drive.reference, by, name, outcome)
    return drive.ask(choose, plan, said("settle", by, name, outcome))


def settle_interrupt(drive: Drive, choose: Chooser) -> object:
    """Give an interrupt up."""
    own = somebody(drive, choose)
    if idle(choose, own.interrupts):
        return None
    name = choose([*own.interrupts, *own.interrupts, "i9"])
    outcome = choose(("given up", "gone"))
    plan = messages.settle_interrupt(drive.reference, own.ref, name, outcome)
    call = said("settle_interrupt", own.ref, name, outcome, "a person")
    return drive.ask(choose, plan, call)


def history_rewritten(drive: Drive, choose: Chooser) -> object:
    """Rewrite the history."""
    by, generation = authority(drive, choose), choose((0, 1, 2, 3))
    floor = choose((None, "m1"))
    plan = messages.history_rewritten(drive.reference, by, generation, floor)
    call = said("history_rewritten", by, generation, floor)
    return drive.ask(choose, plan, call)


def bar_replay(drive: Drive, choose: Chooser) -> object:
    """Bar everything or something; the same again adds nothing."""
    ref, reason = somebody(drive, choose).ref, choose(REASONS)
    names = choose((None, None, *((name,) for name in KEYS), KEYS[:2]))
    plan = messages.bar(drive.reference, ref, reason, names)
    call = said("bar_replay", ref, reason, "a person", names)
    return drive.ask(choose, plan, call)
