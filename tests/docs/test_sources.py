"""Each design section that a docstring or comment cites has its row in a page."""

import re
from collections.abc import Iterator

import pytest

import pages

SOURCES = (pages.ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([\d][^|]*?) \|", SOURCES, re.MULTILINE)
NUMBERS = re.compile(
    r"(?P<seed>seed \d+ )?sections? (?P<first>\d+(?:\.\d+)?)"
    r"(?P<rule>,? rules? \d+(?: to \d+)?)?"
    r"(?P<more>(?:(?:, | and )\d+(?:\.\d+)?)*)"
)


def _cited() -> Iterator[str]:
    """Yield the row that each citation in the sources needs."""
    for folder in ("ledger", "gate"):
        for file in sorted((pages.ROOT / folder).rglob("*.py")):
            # Across the ends of lines, without what begins a line of a comment.
            text = re.sub(r"\s*\n\s*(?:# )?", " ", file.read_text(encoding="utf-8"))
            for match in NUMBERS.finditer(text):
                yield from _needed(match)


def _needed(match: re.Match[str]) -> Iterator[str]:
    seed = match["seed"]
    if seed:
        yield f"{seed.split()[1]}, section {match['first']}"
        return
    yield match["first"]
    if match["rule"]:
        first, *last = re.findall(r"\d+", match["rule"])
        for number in range(int(first), int(last[0] if last else first) + 1):
            yield f"{match['first']}, rule {number}"
    yield from re.findall(r"\d+(?:\.\d+)?", match["more"])


@pytest.mark.parametrize("section", sorted(set(_cited())))
def test_a_cited_section_is_explained(section: str) -> None:
    assert section in ROWS


def test_the_citations_are_found() -> None:
    found = set(_cited())
    assert {"5, rule 1", "7.3", "12", "000, section 5.2"} <= found


def test_no_row_is_there_twice() -> None:
    assert len(ROWS) == len(set(ROWS))
