"""The page about read models, and the reference of followers: complete and true."""

import inspect
import re

import pages
import tenure

REFERENCE = (pages.ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
PAGE = (pages.ROOT / "docs" / "howto-follow.md").read_text(encoding="utf-8")


def _shown(name: str, kind: type) -> list[str]:
    """Return each public name of a class as a reader would write it."""
    found: list[str] = []
    for at, what in vars(kind).items():
        if at.startswith("_"):
            continue
        if isinstance(what, property):
            found.append(f"{name}.{at}")
        elif inspect.isfunction(what):
            signature = inspect.signature(what)
            shown = ", ".join(
                str(one.replace(annotation=inspect.Parameter.empty))
                for one in signature.parameters.values()
                if one.name != "self"
            )
            found.append(f"{name}.{at}({shown})")
    return found


def test_the_reference_shows_each_method_of_a_follower() -> None:
    told = re.findall(r"^\| `(follower\..*?)` \|", REFERENCE, re.MULTILINE)
    assert sorted(told) == sorted(_shown("follower", tenure.Follower))


def test_the_reference_and_the_page_show_each_method_of_a_models_rows() -> None:
    rows = _shown("rows", tenure.ModelRows)
    for text in (REFERENCE, PAGE):
        told = re.findall(r"^\| `(rows\..*?)` \|", text, re.MULTILINE)
        assert sorted(told) == sorted(rows)


def test_the_page_names_the_defaults_of_the_code() -> None:
    signature = inspect.signature(tenure.Ledger.follower)
    for name in ("events_max", "seconds_max"):
        assert f"`{name}`" in PAGE
        assert f"({signature.parameters[name].default})" in PAGE
    close = inspect.signature(tenure.Follower.close)
    assert close.parameters["timeout_seconds"].default == 10
    assert "after ten seconds" in PAGE
