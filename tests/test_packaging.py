"""What a person gets who installs the wheel into an empty environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def _run(*command: str | Path, cwd: Path) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, cwd=cwd, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    _run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.mark.slow
def test_wheel_holds_hub_plugins_schemas_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {
        "loomconv",
        "loomconv_plugins",
        "loomconv_schemas",
    }
    assert "loomconv/py.typed" in names
    for schema in (ROOT / "schemas" / "loomconv_schemas").glob("*.json"):
        assert f"loomconv_schemas/{schema.name}" in names


@pytest.mark.slow
def test_wheel_converts_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    scripts = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin")
    _run(scripts / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", wheel, cwd=tmp_path)
    listed = json.loads(_run(scripts / "loomconv", "formats", "--json", cwd=tmp_path))
    assert {"openloom-1", "openloom-2", "socketteer"} <= {entry["name"] for entry in listed["formats"]}
    source = ROOT / "fixtures" / "openloom-2" / "minimal.openloom"
    _run(scripts / "loomconv", "convert", source, "out.json", "--to", "socketteer", "--report", "r.json", cwd=tmp_path)
    assert "root" in json.loads((tmp_path / "out.json").read_text("utf-8"))
    report = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert report["source"]["format"] == "openloom-2"
    assert report["target"]["format"] == "socketteer"
    _run(scripts / "loomconv", "roundtrip", source, "--via", "openloom-1", cwd=tmp_path)
