"""`loomconv plugin` and `--plugin`, as an author uses them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

from loomconv.errors import UsageFault
from loomconv.scaffold import create_project

ROOT = Path(__file__).parents[2]
OUTLINE = ROOT / "tests" / "outline.py"


def loomconv(*arguments: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "loomconv", *map(str, arguments)]
    given = {**os.environ, "NO_COLOR": "1", **environment}
    return subprocess.run(command, cwd=cwd, env=given, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("place", ["before", "behind", "equals"])
def test_a_plugin_from_a_file_wherever_the_flag_stands(place: str, tmp_path: Path) -> None:
    source = ROOT / "fixtures" / "openloom-2" / "minimal.openloom"
    flag = [f"--plugin={OUTLINE}"] if place == "equals" else ["--plugin", str(OUTLINE)]
    arguments = ["convert", str(source), "out.outline"]
    done = loomconv(*([*flag, *arguments] if place == "before" else [*arguments, *flag]), cwd=tmp_path)
    assert (done.returncode, "(outline)" in done.stderr) == (0, True)
    assert (tmp_path / "out.outline").read_text().startswith("!outline\n")
    assert loomconv("inspect", "out.outline", cwd=tmp_path).returncode == 1, "only for that command"
    assert loomconv("inspect", "out.outline", cwd=tmp_path, LOOMCONV_PLUGINS=str(OUTLINE)).returncode == 0


def test_worker_processes_know_the_plugin_too(tmp_path: Path) -> None:
    source = ROOT / "fixtures" / "openloom-2" / "minimal.openloom"
    (tmp_path / "in").mkdir()
    for number in range(3):
        (tmp_path / "in" / f"{number}.openloom").write_bytes(source.read_bytes())
    done = loomconv("batch", "in", "out", "--to", "outline", "--jobs", "2", "--plugin", OUTLINE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "out").glob("*.outline"))) == 3


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--plugin", "gone.py", "formats"], 1, "there is no such plugin file"),
        (["formats", "--plugin"], 2, "requires an argument"),
        (["plugin", "check", "nonsense"], 2, "there is no format 'nonsense'"),
        (["plugin", "new", "My Loom"], 2, "a format cannot be called"),
        (["plugin", "new", "x", "--suffix", "x"], 2, "a suffix cannot be"),
        (["plugin", "new", "x", "--title", 'a "b"'], 2, "the title"),
        (["plugin", "check", "openloom-2", "--effort", "0"], 2, "effort"),
    ],
)
def test_what_cannot_be_done_is_said(arguments: list[str], status: int, said: str, tmp_path: Path) -> None:
    done = loomconv(*arguments, cwd=tmp_path)
    assert (done.returncode, said in done.stderr) == (status, True), done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_check_says_what_holds_and_what_does_not(tmp_path: Path) -> None:
    text = OUTLINE.read_text().replace('roots="many"', 'roots="many", meta=("bookmarked",)')
    (tmp_path / "bad.py").write_text(text)
    done = loomconv("plugin", "check", "outline", "--plugin", "bad.py", "--effort", "0.1", "--json",
                    "--card", "CARD.md", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 1
    card = json.loads(done.stdout)
    assert card["conforms"] is False
    assert "capabilities" in {each["check"] for each in card["checks"] if each["status"] == "failed"}
    assert "`meta` claims it" in done.stderr and "take it out of `meta`" in done.stderr
    assert "**claimed and lost**" in (tmp_path / "CARD.md").read_text()
    assert "no fixtures were named" in done.stderr


# -- plugin new --------------------------------------------------------------------------------------------------------


def test_a_project_is_complete_and_nothing_is_left_to_fill_in(tmp_path: Path) -> None:
    files = create_project("my-loom", tmp_path, title="My Loom", suffix=".ml.json")
    names = {str(path) for path in files}
    assert {
        "loomconv-my-loom/.github/workflows/ci.yml",
        "loomconv-my-loom/README.md",
        "loomconv-my-loom/pyproject.toml",
        "loomconv-my-loom/src/loomconv_my_loom/__init__.py",
        "loomconv-my-loom/src/loomconv_my_loom/my-loom.schema.json",
        "loomconv-my-loom/tests/fixtures/example.ml.json",
        "loomconv-my-loom/tests/test_conformance.py",
    } <= names
    for path in files:
        text = (tmp_path / path).read_text("utf-8")
        assert "{{" not in text.replace("${{", "") and "PACKAGE" not in text
    project = tomllib.loads((tmp_path / "loomconv-my-loom" / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["entry-points"]["loomconv"] == {"my-loom": "loomconv_my_loom"}
    with pytest.raises(UsageFault, match="this is there already"):
        create_project("my-loom", tmp_path)


@pytest.mark.slow
def test_a_new_format_conforms_as_it_is(tmp_path: Path) -> None:
    assert loomconv("plugin", "new", "twigs", cwd=tmp_path).returncode == 0
    project = tmp_path / "loomconv-twigs"
    done = loomconv("--plugin", "src/loomconv_twigs", "plugin", "check", "twigs", "--effort", "0.1", cwd=project)
    assert done.returncode == 0, done.stderr
    assert "failed" not in done.stderr and "example.twigs: the file comes home" in done.stderr


@pytest.mark.slow
def test_from_an_empty_folder_to_a_green_run_and_a_card(tmp_path: Path) -> None:
    """The commands that `plugin new` prints, in an environment with nothing but loomconv in it."""
    assert loomconv("plugin", "new", "twigs", cwd=tmp_path).returncode == 0
    project = tmp_path / "loomconv-twigs"
    venv.create(tmp_path / "env", with_pip=True)
    binaries = next(path for path in (tmp_path / "env" / "bin", tmp_path / "env" / "Scripts") if path.is_dir())

    def run(*command: str | Path) -> str:
        done = subprocess.run(
            [str(each) for each in command], cwd=project, capture_output=True, text=True, check=False, timeout=500
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run(binaries / "pip", "install", "-q", ROOT)
    run(binaries / "pip", "install", "-q", "-e", ".[dev]")
    assert "passed" in run(binaries / "pytest", "-q")
    run(binaries / "loomconv", "plugin", "check", "twigs", "--card", "CARD.md")
    assert "| text | held | returns |" in (project / "CARD.md").read_text("utf-8")


@pytest.mark.slow
def test_the_template_is_in_the_house_style_and_typed(tmp_path: Path) -> None:
    create_project("twigs", tmp_path)
    project = tmp_path / "loomconv-twigs"
    for command in (
        ["ruff", "check", "--config", str(ROOT / "pyproject.toml"), "src"],
        ["ruff", "format", "--check", "--config", str(ROOT / "pyproject.toml"), "src"],
        ["mypy", "--strict", "--config-file", os.devnull, "src/loomconv_twigs"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=project, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
