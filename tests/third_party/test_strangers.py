"""Every format against every other with two strangers' formats among them; and both as they are installed."""

from __future__ import annotations

import os
import subprocess
import venv
from functools import cache
from pathlib import Path

import pytest

from loomconv import LoomconvError, load
from loomconv.errors import PluginFault
from loomconv.registry import Registry
from loomconv.roundtrip import round_trip
from tests.test_matrix import EXCEPTIONS, FIXTURES

ROOT = Path(__file__).parents[2]
PROJECTS = {name: FIXTURES / "third_party" / f"loomconv-{name}" for name in ("canopy", "mycelium")}
STRANGERS = sorted(PROJECTS)


@cache
def registry() -> Registry:
    """What comes along, and the strangers."""
    return Registry.from_entry_points([str(project / "src" / f"loomconv_{name}") for name, project in PROJECTS.items()])


FORMATS = sorted(registry().formats)


@cache
def is_clean(path: Path) -> bool:
    """Whether the file can be read and nothing in it had to be mended or left out."""
    try:
        return load(path, registry=registry()).pristine
    except PluginFault:
        raise
    except LoomconvError:
        return False


OURS = [path for name in FORMATS if name not in PROJECTS for path in sorted((FIXTURES / name).rglob("*"))]
OURS = [path for path in OURS if path.is_file() and path.suffix != ".md" and "backups" not in path.parts]
THEIRS = [path for project in PROJECTS.values() for path in sorted((project / "tests" / "fixtures").iterdir())]


def test_nothing_is_left_out() -> None:
    assert registry().broken == {}
    assert len(FORMATS) == 8 and len(THEIRS) >= 5


@pytest.mark.parametrize("via", FORMATS)
@pytest.mark.parametrize("path", THEIRS, ids=[path.name for path in THEIRS])
def test_strangers_files_come_home_from_every_format(path: Path, via: str) -> None:
    assert is_clean(path)
    if via not in path.name:
        assert round_trip(path, [via], registry=registry()).differences == []


@pytest.mark.parametrize("via", STRANGERS)
@pytest.mark.parametrize("path", OURS, ids=[path.relative_to(FIXTURES).as_posix() for path in OURS])
def test_every_file_comes_home_from_a_strangers_format(path: Path, via: str) -> None:
    if not is_clean(path) or path.relative_to(FIXTURES).as_posix() in EXCEPTIONS:
        return
    trip = round_trip(path, [via], registry=registry())
    assert [(each.pointer, each.left, each.right) for each in trip.differences[:5]] == []


@pytest.mark.parametrize("path", THEIRS, ids=[path.name for path in THEIRS])
def test_a_chain_through_all_formats_comes_home(path: Path) -> None:
    others = [name for name in FORMATS if name not in path.name]
    assert round_trip(path, [*others, *reversed(others)], registry=registry()).differences == []


@pytest.mark.slow
def test_both_pass_their_own_tests_where_they_are_installed(tmp_path: Path) -> None:
    """In an environment with nothing but loomconv, its extra for tests, and the two."""
    venv.create(tmp_path / "env", with_pip=True)
    binaries = next(path for path in (tmp_path / "env" / "bin", tmp_path / "env" / "Scripts") if path.is_dir())

    def run(*command: str | Path, folder: Path = tmp_path) -> str:
        done = subprocess.run(
            [str(each) for each in command],
            cwd=folder,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "LOOMCONV_TEST_EFFORT": "0.3"},
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run(binaries / "pip", "install", "-q", f"{ROOT}[testing]", *PROJECTS.values())
    listed = run(binaries / "loomconv", "formats")
    assert "canopy" in listed and "mycelium" in listed
    for project in PROJECTS.values():
        assert "passed" in run(binaries / "pytest", "-q", "-p", "no:cacheprovider", folder=project)
    for name in STRANGERS:
        run(binaries / "loomconv", "plugin", "check", name, "--effort", "0.2", folder=PROJECTS[name])
    source = PROJECTS["canopy"] / "tests" / "fixtures" / "walk.canopy"
    run(binaries / "loomconv", "roundtrip", source, "--via", "mycelium")
