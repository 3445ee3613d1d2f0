"""I7 and I8 on real histories: what a verdict rests on, and what never changes one.

The histories are the walks of the ledger beside its reference; every prefix of every
stream is a moment at which a gate may have judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from driving_choices import KEYS
from driving_walk import walk
from tenure import Event, OwnerRef, Recorded
from tenure_gate.journal import JournalSnapshot
from tenure_gate.membership import (
    RequestFacts,
    is_admitted_successor_request,
    judge,
    locate,
    serving,
)
from tenure_gate.verdicts import STALE, Verdict
from tenure_ledger import events as e
from tenure_ledger.folds.stream import State, evolve, fold

SEEDS = range(40)
"""Walks of every kind; so many that what must be reached is, whoever adds a step."""
STEPS = 220
LIST = ("before", *KEYS, "after", None)
"""A host's list with every message of a walk, two that it never heard of, and one
without an id."""


@cache
def streams() -> Sequence[Sequence[Recorded]]:
    """Return the owners' streams of all walks in which two terms were cut."""
    found: list[Sequence[Recorded]] = []
    with TemporaryDirectory() as folder:
        for seed in SEEDS:
            drive = walk(seed, STEPS, Path(folder))
            for stream, history in drive.recorded.items():
                cuts = [
                    one for one in history if isinstance(one.event, e.RetirementCut)
                ]
                if OwnerRef.of_stream(stream) and len(cuts) >= 2:
                    found.append(history)
    return found


def moments(
    history: Sequence[Recorded],
) -> Iterator[tuple[JournalSnapshot, Event, JournalSnapshot]]:
    """Yield each event with what a gate reads before and after it."""
    state = State(history[0].stream)
    before = JournalSnapshot.of(state)
    for recorded in history:
        assert isinstance(recorded.event, Event)
        state = evolve(state, recorded)
        after = JournalSnapshot.of(state)
        yield before, recorded.event, after
        before = after


def judged(journal: JournalSnapshot, acting: str | None = None) -> list[Verdict]:
    """Judge every request of the list."""
    served, place = serving(journal, acting), locate(journal, LIST)
    return [
        judge(
            journal,
            RequestFacts(
                key, answered=False, human=False, place=at, acting=key in served
            ),
            place,
        )
        for at, key in enumerate(LIST)
    ]


def test_the_walks_have_three_terms_and_two_cuts_and_every_verdict() -> None:
    seen: Counter[str] = Counter()
    terms = 0
    for history in streams():
        for _, _, after in moments(history):
            terms = max(terms, after.state.ownership.term)
            seen.update(verdict.name for verdict in judged(after))
    assert len(streams()) >= 12
    assert terms >= 4
    wanted = {"queued", "current", "successor", "history", "unadmitted_human"}
    wanted |= {"not_admitted", "missing_physical_id", *STALE}
    assert wanted <= seen.keys()


def test_a_verdict_is_a_function_of_what_is_on_record() -> None:
    """I7: the same prefix, folded again from zero, gives the same verdicts."""
    for history in streams():
        for at in {len(history), len(history) // 2, len(history) // 3}:
            once = judged(JournalSnapshot.of(fold(history[0].stream, history[:at])))
            *_, (_, _, journal) = moments(history[:at])
            assert judged(journal) == once
            assert [one.explain() for one in judged(journal)] == [
                one.explain() for one in once
            ]


def test_for_a_fixed_cut_a_successor_stays_one_whatever_is_appended() -> None:
    """I8, of the seed's question: for every cut that ever was, to the end."""
    members: Counter[bool] = Counter()
    for history in streams():
        yes: set[tuple[int, str]] = set()
        for _, _, after in moments(history):
            for cut in (0, *after.cuts):
                for key in KEYS:
                    found = is_admitted_successor_request(cut, key, after)
                    members[found] += 1
                    assert found or (cut, key) not in yes
                    if found:
                        yes.add((cut, key))
    assert min(members.values()) > 1000


def test_for_the_latest_cut_a_successor_stays_one_until_the_next() -> None:
    """I8, of the verdict; acting or not."""
    kept = 0
    for history in streams():
        for before, _, after in moments(history):
            if before.cut_version != after.cut_version:
                continue
            for acting in (None, *KEYS):
                for was, now in zip(
                    judged(before, acting), judged(after, acting), strict=True
                ):
                    if was.name == "successor":
                        assert now.name == "successor", (was.evidence, now.evidence)
                        kept += 1
    assert kept > 1000


def test_a_strip_on_record_stays_for_ever() -> None:
    """I8: over cuts, terms, ends and deletions, whatever acts."""
    stripped = cuts_later = 0
    for history in streams():
        first: dict[str, tuple[str, int]] = {}
        for _, _, after in moments(history):
            for verdict in judged(after):
                key = verdict.key or ""
                if key in first:
                    assert verdict.recorded
                    assert verdict.name == first[key][0]
                    later = len(after.cuts) - first[key][1]
                    cuts_later = max(cuts_later, later)
                elif verdict.recorded:
                    assert verdict.name in STALE
                    first[key] = (verdict.name, len(after.cuts))
                    stripped += 1
    assert stripped >= 5
    assert cuts_later >= 2


def test_a_new_generation_inside_of_a_term_changes_no_verdict() -> None:
    """A renewal, a migration and a restart by the same agent are no new term."""
    reasons: Counter[str] = Counter()
    for history in streams():
        for before, event, after in moments(history):
            same = before.state.ownership.term == after.state.ownership.term
            if not (isinstance(event, e.GenerationAdvanced) and same):
                continue
            reasons[event.reason] += 1
            for acting in (None, *KEYS):
                were = [one.name for one in judged(before, acting)]
                assert [one.name for one in judged(after, acting)] == were
    assert reasons.keys() == {"lease_renewal", "migration", "instance_restart"}


def test_a_takeover_by_another_changes_no_verdict_of_the_terms_before() -> None:
    """What had ended before the forced cut is what it was, or was carried over."""
    seen = 0
    for history in streams():
        for before, event, after in moments(history):
            if not (isinstance(event, e.RetirementCut) and event.outcome == "forced"):
                continue
            for was, now in zip(judged(before), judged(after), strict=True):
                known = was.known
                if known is not None and not before.live(known) and before.ended:
                    assert was.name in {now.name, "successor"}
                    seen += 1
    assert seen >= 5


def test_only_an_admission_makes_a_member() -> None:
    """No other event turns what is none into a successor, but a turn that begins."""
    admitted = 0
    for history in streams():
        for before, event, after in moments(history):
            for acting in (None, *KEYS):
                for was, now in zip(
                    judged(before, acting), judged(after, acting), strict=True
                ):
                    if now.name != "successor" or was.name in {"successor", "queued"}:
                        continue
                    assert isinstance(event, e.ExecutionAdmitted), event
                    assert now.key in {event.key, *event.absorbed}
                    admitted += 1
    assert admitted > 100
