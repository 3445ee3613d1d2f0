"""What users install is complete: built as for a release, used far from the sources."""

import os
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

import pages

pytestmark = pytest.mark.wheel

ROOT = pages.ROOT
PACKAGES = {
    "tenure": ROOT / "gate" / "tenure",
    "tenure_gate": ROOT / "gate" / "tenure_gate",
    "tenure_ledger": ROOT / "ledger" / "tenure_ledger",
    "tenure_projections": ROOT / "projections" / "tenure_projections",
}
# A user who writes this has every public name, with its types.
PROGRAM = """\
import importlib.resources
import tenure

for name in tenure.__all__:
    assert getattr(tenure, name) is not None, name
for package in ("tenure", "tenure_gate", "tenure_ledger", "tenure_projections"):
    assert importlib.resources.files(package).joinpath("py.typed").is_file(), package
print(tenure.__file__)
"""


@dataclass(frozen=True)
class Installed:
    """A fresh environment that holds the wheel, and an empty folder to work in."""

    wheel: Path
    sdist: Path
    bin: Path
    folder: Path

    def run(self, program: str, *arguments: str) -> str:
        """Run a program of the environment; its output, or a failure that shows it."""
        return _run([str(self.bin / program), *arguments], self.folder)


def _run(command: list[str], folder: Path) -> str:
    # Nothing of this environment's settings leads Python back to the sources.
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "COV"))}
    env.pop("TENURE_URL", None)
    done = subprocess.run(
        command,
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    base = tmp_path_factory.mktemp("wheel")
    dist, venv, folder = base / "dist", base / "venv", base / "folder"
    folder.mkdir()
    # The wheel is built from the sdist, so a file missing there is missing in both.
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(dist)]
    _run([*build, str(ROOT)], folder)
    (wheel,) = dist.glob("*.whl")
    (sdist,) = dist.glob("*.tar.gz")
    _run([sys.executable, "-m", "venv", str(venv)], folder)
    pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    _run([*pip, "--constraint", str(ROOT / "constraints.txt"), str(wheel)], folder)
    return Installed(wheel, sdist, venv / "bin", folder)


def _source_files() -> set[str]:
    return {
        str(Path(package) / file.relative_to(folder))
        for package, folder in PACKAGES.items()
        for file in folder.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }


def test_the_wheel_holds_the_four_packages_whole_and_nothing_else(
    installed: Installed,
) -> None:
    names = set(zipfile.ZipFile(installed.wheel).namelist())
    inside = {name for name in names if ".dist-info/" not in name}
    assert inside == _source_files()
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_sdist_can_be_tested_and_carries_its_licence(installed: Installed) -> None:
    with tarfile.open(installed.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = {"LICENSE", "Makefile", "README.md", "constraints.txt", "pyproject.toml"}
    assert needed <= names
    assert {"tests/conftest.py", "docs/README.md"} <= names
    assert not {n for n in names if "__pycache__" in n or n.startswith(".venv")}


def test_a_program_far_from_the_sources_finds_every_public_name(
    installed: Installed,
) -> None:
    where = Path(installed.run("python", "-c", PROGRAM).strip())
    assert where.is_relative_to(installed.bin.parent)


def test_the_readme_program_runs_on_the_wheel(installed: Installed) -> None:
    installed.run("python", "-c", pages.program(ROOT / "README.md"))


def test_a_users_type_checker_reads_the_types(installed: Installed) -> None:
    program = installed.folder / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    checker = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull]
    python = ["--python-executable", str(installed.bin / "python")]
    _run([*checker, *python, str(program)], installed.folder)


def test_the_command_says_what_it_can_do(installed: Installed) -> None:
    assert "demo" in installed.run("tenure", "--help")
    assert installed.wheel.name.split("-")[1] in installed.run("tenure", "--version")
