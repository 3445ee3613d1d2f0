"""Successor or ghost: which term a request belongs to, by the ledger's versions.

The table of design section 6, row by row; the first that holds decides. Nothing here
looks at what a message says, at ids' order or at clocks, and the place in the host's
list counts only for what the ledger does not know. Source of the question: seed 003
section 3.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from tenure_gate.journal import JournalSnapshot
from tenure_gate.verdicts import ListFacts, RequestFacts, Verdict, VerdictName
from tenure_ledger.errors import InvalidInput
from tenure_ledger.folds.executions import Execution
from tenure_ledger.folds.recovery import CANCELLING
from tenure_ledger.values import check_id, kind_of

__all__ = [
    "Hindrance",
    "ListFacts",
    "Reason",
    "RequestFacts",
    "acting_request",
    "is_admitted_successor_request",
    "judge",
    "locate",
    "may_act",
    "serving",
]


def is_admitted_successor_request(
    durable_cut_version: int, physical_message_id: str, journal: JournalSnapshot
) -> bool:
    """Say whether an admission of this message lies above that cut.

    The seed's one question. A later cut does not change the answer for this one; 0
    stands before every cut. Raises `InvalidInput`: a wrong argument is no "no".
    """
    _check_question(durable_cut_version, physical_message_id, journal)
    known = journal.executions.get(physical_message_id)
    return known is not None and known.admitted > durable_cut_version


def _check_question(version: object, message_id: object, journal: object) -> None:
    """Raise `InvalidInput` that says what to pass."""
    if not isinstance(journal, JournalSnapshot):
        msg = (
            "journal must be a JournalSnapshot: pass JournalSnapshot.of("
            f"ledger.fresh_state(owner)), not {kind_of(journal)}"
        )
        raise InvalidInput(msg)
    if not isinstance(version, int) or isinstance(version, bool) or version < 0:
        shown = version if type(version) is int else kind_of(version)
        msg = (
            "durable_cut_version must be a version in the owner's stream: pass "
            f"journal.cut_version, or a Cut's .version, not {shown}"
        )
        raise InvalidInput(msg)
    if not isinstance(message_id, str):
        msg = (
            "physical_message_id must be a message's id as text: pass a key's "
            "physical_user_message_id, or the message_id of a First, not "
            f"{kind_of(message_id)}"
        )
        raise InvalidInput(msg)
    check_id("physical_message_id", message_id)


def judge(
    journal: JournalSnapshot, request: RequestFacts, list_facts: ListFacts
) -> Verdict:
    """Return the verdict of one request: the first row of the table that holds."""
    key = request.key
    known = journal.executions.get(key) if key is not None else None
    name: VerdictName
    if known is None:
        name = _unknown(request, list_facts)
        return Verdict(name, request, None, journal, list_facts)
    if known.stripped:
        name = known.verdict or "stale_unadmitted"
    elif (
        known.admitted
        and known.term == journal.live_term
        and not (known.started or known.settled or request.answered or request.acting)
    ):
        name = "queued"
    elif not journal.ended:
        name = _before_any_end(known)
    elif known.admitted > journal.cut_version > 0:
        name = "successor"
    elif known.started or known.settled:
        name = "history"
    elif known.accepted:
        name = "unadmitted_human"
    else:
        name = "stale_admitted" if known.admitted else "stale_unadmitted"
    return Verdict(name, request, known, journal, list_facts)


def _before_any_end(known: Execution) -> VerdictName:
    """Return what a message is that the ledger knows, while no term has ended."""
    if known.admitted or known.settled:
        return "current"
    waits = known.accepted and not known.started
    return "unadmitted_human" if waits else "not_admitted"


def _unknown(request: RequestFacts, list_facts: ListFacts) -> VerdictName:
    """Return what a request is that the ledger knows nothing of."""
    boundary = list_facts.boundary
    if boundary is None:
        first = list_facts.first_known
        if first is not None and request.place < first:
            return "current"
        if request.key is None:
            return "missing_physical_id"
        return "unadmitted_human" if request.human else "not_admitted"
    if request.place < boundary:
        return "history"
    if request.key is None:
        return "missing_physical_id"
    return "unadmitted_human" if request.human else "stale_unadmitted"


def locate(journal: JournalSnapshot, keys: Sequence[str | None]) -> ListFacts:
    """Find the boundary of the term that ended last in a list of requests.

    By the message id of the latest cut's boundary; else behind the last request that
    the ledger knows as started before; else before the first that it knows. A list
    without any has no past, so that what a person said is never silently history.
    """
    executions = journal.executions
    known = (key is not None and key in executions for key in keys)
    first = next((place for place, one in enumerate(known) if one), None)
    ended = journal.ended
    if not ended:
        return ListFacts(None, first)
    cut = journal.cut
    if cut is not None and cut.version == ended and cut.boundary is not None:
        named = cut.boundary.message_id
        if named in keys:
            # Of two with one id the second is kept out: the first is the message.
            return ListFacts(keys.index(named) + 1, first)
    for place in range(len(keys) - 1, -1, -1):
        key = keys[place]
        one = executions.get(key) if key is not None else None
        if one is not None and 0 < one.started < ended:
            return ListFacts(place + 1, first)
    return ListFacts(first or 0, first)


def acting_request(journal: JournalSnapshot, keys: Sequence[str | None]) -> int | None:
    """Return the place of the request that the next model call serves.

    That is the one started last and not settled; if there is none, the last of the
    list. None: the list has no request.
    """
    found = len(keys) - 1 if keys else None
    latest = 1
    for place, key in enumerate(keys):
        known = journal.executions.get(key) if key is not None else None
        # What was merged into one execution started at one version: its last message.
        if known is not None and known.started >= latest and known.open:
            found, latest = place, known.started
    return found


def serving(journal: JournalSnapshot, key: str | None) -> frozenset[str]:
    """Return all messages that a call for this request serves: its whole execution."""
    if key is None:
        return frozenset()
    lead = journal.lead(key)
    known = journal.executions.get(lead)
    absorbed = known.absorbed if known is not None else ()
    shared = [at for at in absorbed if journal.lead(at) == lead]
    return frozenset({key, lead, *shared})


Reason = Literal[
    "no_holding", "no_request", "not_admitted", "settled", "cancelled", "kept_out"
]
"""`NothingToSay.reason`."""


class Hindrance(NamedTuple):
    """Why a request may not be answered now."""

    code: Reason
    text: str
    version: int
    """What says so: a version in the owner's stream; 0: nothing does."""


def may_act(journal: JournalSnapshot, key: str | None) -> Hindrance | None:
    """Return why no model may be called for this request; None: one may.

    It must be admitted to the live term, not settled, and not covered by what a person
    cancelled, reset or closed.
    """
    if not journal.live_term:
        at = journal.state.ownership.ended
        return Hindrance(
            "no_holding", "nobody holds the owner: begin the next term first", at
        )
    known = journal.executions.get(key) if key is not None else None
    if known is not None and known.stripped:
        text = f"{key} was stripped at version {known.stripped}: send it under a new id"
        return Hindrance("not_admitted", text, known.stripped)
    if known is not None and known.settled:
        text = (
            f"{key} was settled {known.outcome} at version {known.settled}: unfinished "
            "work goes on under a new message id"
        )
        return Hindrance("settled", text, known.settled)
    if known is None or not journal.live(known):
        what = key or "a request without an id"
        text = f"{what} is not admitted to the live term: admit it first"
        return Hindrance("not_admitted", text, known.known if known else 0)
    return _cancelled(journal, known)


def _cancelled(journal: JournalSnapshot, known: Execution) -> Hindrance | None:
    lead = journal.executions.get(known.absorbed_by or known.key, known)
    recovery = journal.state.recovery
    for bar in [*recovery.bars(known), *recovery.bars(lead)]:
        if bar.reason in CANCELLING:
            text = f"{known.key} is barred by {bar.reason} at version {bar.version}"
            return Hindrance("cancelled", text, bar.version)
    return None
