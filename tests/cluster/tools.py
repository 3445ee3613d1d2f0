"""What a cluster is made of: etcd, Patroni, PostgreSQL. What is missing is named."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

from postgres import binaries
from privileges import NOBODY, as_nobody

__all__ = ["Missing", "Tools", "found"]


class Missing(Exception):  # noqa: N818  what it says, not what it is
    """A tool is not here; the text says how to get it."""


class Tools(NamedTuple):
    """Programs that the servers' user can run."""

    etcd: str
    python: str
    packages: str
    """Where this Python finds Patroni; empty: by itself."""
    postgres: Path
    """The folder of `initdb` and all others."""


def found() -> Tools:
    """Find everything. Raises Missing."""
    kept = _kept()
    if importlib.util.find_spec("patroni") is None:
        raise Missing("no Patroni: pip install 'tenure[cluster]'")
    python, packages = _python(kept)
    return Tools(_etcd(kept), python, packages, _postgres(kept))


def _kept() -> Path:
    """Return a folder of our own that outlives a run."""
    folder = Path(tempfile.gettempdir(), f"tenure-cluster-tools-{os.geteuid()}")
    folder.mkdir(mode=0o755, exist_ok=True)
    if folder.stat().st_uid != os.geteuid():
        raise Missing(f"{folder} belongs to somebody else: remove it")
    return folder


def _python(kept: Path) -> tuple[str, str]:
    """Return a Python for Patroni, and where it finds it.

    That of root may lie where only root reads. Another of the same version does as
    well, with copies of the packages.
    """
    if _runs([sys.executable, "-c", "import patroni"]):
        return sys.executable, ""
    version = f"python3.{sys.version_info.minor}"
    for folder in ("/usr/bin", "/usr/local/bin"):
        other = f"{folder}/{version}"
        if _runs([other, "-c", ""]):
            copies = kept / f"packages-{version}"
            if not copies.exists():
                _copy_packages(copies)
            return other, str(copies)
    raise Missing(
        f"{sys.executable} cannot be run by user {NOBODY}, as the servers are for "
        f"root, and there is no other {version}: run this as an ordinary user"
    )


def _copy_packages(to: Path) -> None:
    """Copy Patroni, psycopg and all that they need."""
    wanted, done = ["patroni", "python-etcd", "psycopg", "psycopg-binary"], set[str]()
    new = to.with_suffix(".new")
    shutil.rmtree(new, ignore_errors=True)
    while wanted:
        name = wanted.pop()
        if name in done:
            continue
        done.add(name)
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue  # For another version, or another system.
        wanted += [
            re.split(r"[^\w.-]", one, maxsplit=1)[0].lower()
            for one in package.requires or ()
            if "extra ==" not in one
        ]
        for file in package.files or ():
            if ".." not in file.parts:
                (new / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(str(file.locate()), new / file)
    new.rename(to)


def _etcd(kept: Path) -> str:
    here = shutil.which("etcd")
    if here:
        return here
    program = kept / "etcd" / "usr" / "bin" / "etcd"
    apt, dpkg = shutil.which("apt-get"), shutil.which("dpkg")
    if not program.exists() and apt and dpkg:
        # Unpacked into the folder: nothing is installed.
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(
                [apt, "download", "-qq", "etcd-server"],
                cwd=folder,
                capture_output=True,
                check=False,
            )
            for package in Path(folder).glob("etcd-server_*.deb"):
                unpack = [dpkg, "-x", str(package), str(kept / "etcd")]
                subprocess.run(unpack, check=True, capture_output=True)
    if not program.exists():
        raise Missing(
            "no etcd: install one so that `etcd` is in PATH (Debian, Ubuntu: "
            "apt-get install etcd-server)"
        )
    return str(program)


def _postgres(kept: Path) -> Path:
    try:
        folder = binaries()
    except AssertionError as none:
        raise Missing(str(none)) from None
    for name in ("pg_basebackup", "pg_rewind", "pg_controldata", "pg_isready"):
        if not (folder / name).exists():
            raise Missing(f"no {name} in {folder}: install a whole PostgreSQL server")
    if _runs([str(folder / "postgres"), "-V"]):
        return folder
    copy = kept / "pginstall"
    if not copy.exists():
        shutil.copytree(folder.parent, copy, symlinks=True)
    return copy / "bin"


def _runs(command: list[str]) -> bool:
    try:
        subprocess.run(command, check=True, capture_output=True, cwd="/", **as_nobody())
    except (PermissionError, subprocess.CalledProcessError):
        return False
    return True
