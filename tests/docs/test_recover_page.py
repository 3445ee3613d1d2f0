"""The page about recovery lists what the code has; what it calls opaque is not read."""

import ast
import re
from dataclasses import fields
from typing import get_args

import pages
import tenure
from tenure_gate.recovery.policy import Moment
from tenure_gate.recovery.steps import Step
from tenure_ledger.decisions.recovering.assertions import ASSERTIONS
from tenure_ledger.payloads import PAYLOADS, ExecutionConfig

PAGE = (pages.ROOT / "docs" / "howto-recover.md").read_text(encoding="utf-8")
HANDED_ON = {"attempt", "version"}
"""Copied into a step, for the host."""


def _table(after: str) -> list[str]:
    """Return the names in the first column of the first table behind this text."""
    text = PAGE.partition(after)[2].partition("\n|")[2].partition("\n\n")[0]
    rows = [line.split(" | ")[0] for line in text.splitlines()[1:]]
    return [name for row in rows for name in re.findall(r"`(\w+)", row)]


def test_each_moment_to_save_is_listed() -> None:
    assert _table("`CheckpointPolicy` knows the moments.") == [*get_args(Moment)]


def test_each_field_of_a_config_is_listed() -> None:
    assert _table("### How the work was run") == [*ExecutionConfig.model_fields]


def test_each_question_to_the_host_is_listed() -> None:
    asked = [field.name for field in fields(tenure.RecoveryEnvironment)]
    listed = _table("## Tell it what only you know")
    assert [name for name in listed if name in asked] == asked


def test_each_kind_of_step_is_listed() -> None:
    listed = _table("what the ledger recorded about a call wins")
    assert set(listed) == {kind.__name__ for kind in get_args(Step)}


def test_the_assertions_are_listed_in_their_order() -> None:
    assert _table("The **assertions**") == [*ASSERTIONS]


def _opaque() -> set[str]:
    text = PAGE.partition("**Opaque to us**")[2].partition("; of `pending_compact`")[0]
    return set(re.findall(r"`(\w+)`", text))


def test_each_name_of_the_paper_is_explained_or_said_to_be_opaque() -> None:
    named = {name for kind in PAYLOADS.values() for name in kind.model_fields}
    assert _opaque() <= named
    elsewhere = set(re.findall(r"`(\w+)`", PAGE.replace("\n", " "))) | {
        "absorbed_submission_keys",  # "all that it absorbed"
        "submission_key",
        "job_id",
    }
    assert named <= elsewhere


def test_what_is_called_opaque_is_read_by_no_rule() -> None:
    read: set[str] = set()
    for folder in ("gate/tenure_gate/recovery", "ledger/tenure_ledger/decisions"):
        for file in (pages.ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if (
                    isinstance(node, ast.Attribute)
                    and isinstance(node.value, ast.Name)
                    and node.value.id == "payload"
                ):
                    read.add(node.attr)
    assert "pending_tool_calls" in read
    assert read & _opaque() == HANDED_ON
