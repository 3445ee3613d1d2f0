"""The command line hands each subcommand its arguments and hands back its status."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
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


@pytest.mark.parametrize(
    "path", ["no-folder/x.db", "x" * 5000, "y" * 300, ".", "other.db"]
)
def test_a_ledger_that_cannot_be_opened_is_one_line_and_status_2(
    tmp_path: Path, path: str
) -> None:
    (tmp_path / "other.db").write_text("this is no database")
    command = [sys.executable, "-m", "tenure", "demo", "--ledger", path]
    ran = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr
    last = ran.stderr.splitlines()[-1]
    assert last.startswith("tenure")
    if "exists" not in last:
        # What argparse refuses has its usage in front.
        assert ran.stderr.splitlines() == [last]
        assert len(last) < 1500


def test_the_package_runs_as_the_command() -> None:
    command = [sys.executable, "-m", "tenure", "--version"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout == f"tenure {version('tenure')}\n"


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
