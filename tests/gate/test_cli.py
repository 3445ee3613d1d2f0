"""The command line hands each subcommand its arguments and hands back its status."""

import sys
from importlib.metadata import version
from types import ModuleType

import pytest

import tenure_gate
from tenure_gate.cli import main


def test_a_subcommand_gets_what_follows_its_name_and_gives_the_exit_status(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    handed: list[list[str] | None] = []

    def demo(argv: list[str] | None = None) -> int:
        handed.append(argv)
        return 3

    double = ModuleType("tenure_gate.demo")
    monkeypatch.setattr(double, "main", demo, raising=False)
    monkeypatch.setitem(sys.modules, "tenure_gate.demo", double)
    monkeypatch.setattr(tenure_gate, "demo", double, raising=False)
    assert main(["demo", "--help", "x"]) == 3
    assert handed == [["--help", "x"]]


@pytest.mark.parametrize("argv", [[], ["unheard-of"]])
def test_a_command_line_without_a_known_subcommand_is_refused(argv: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(argv)
    assert stop.value.code == 2


def test_help_names_the_subcommands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    assert "demo" in capsys.readouterr().out


def test_the_version_is_that_of_the_distribution(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"tenure {version('tenure')}\n"
