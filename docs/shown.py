"""Runs what the pages show (commands, Python, files) and tells where what they print is not what is shown.

Each page is run from top to bottom in a folder of its own with a copy of `fixtures/`. A fence is

| fence | above it | what happens |
|---|---|---|
| `console` | | each line that starts with `$ ` is run; the lines below it are its output, stderr included |
| `sh` | | of commands joined by `&&` those of loomconv are run; the next `text` fence is their output |
| any | `<!-- file: NAME -->` | is written to that file |
| `python` | `<!-- run -->` | is run; the next `text` fence is its output |
| `json` | `<!-- from FILE at POINTER -->` | is that value of a JSON file |

Anything else is left alone. In an output a line `...` stands for any lines. Commands that set up or leave the machine
(`pip`, `venv`, `pytest`) are passed over. A page that writes a `pyproject.toml` with entry points is run as if that
project were installed.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner

from loomconv.cli.program import program
from loomconv.registry import registry

__all__ = ["Fence", "Mismatch", "fences", "run_page"]

ROOT = Path(__file__).resolve().parents[1]

_OPENING = re.compile(r"^(?P<indent> {0,3})(?P<ticks>`{3,})(?P<info>\S*)\s*$")
_MARK = re.compile(r"^\s*<!-- (?P<mark>.+?) -->\s*$")
_SETUP = re.compile(r"^(?:python3? -m venv|pip |pipx |uv |\. |\.venv/bin/(?:pip|pytest)|pytest)")
_SHELL = re.compile(r"[|<>&;*$`\\()~#]")
# Shown after a command to tell its exit status.
_STATUS = '; echo "status $?"'
_ANY_LINES = "..."


@dataclass(slots=True)
class Fence:
    """One fenced block: its language, the comment above it, its lines, and the number of its first line (from 0)."""

    info: str
    mark: str
    start: int
    lines: list[str]

    @property
    def text(self) -> str:
        """The content, as a file would hold it."""
        return "".join(f"{line}\n" for line in self.lines)


@dataclass(slots=True)
class Mismatch:
    """Lines `start` to `end` (from 0, `end` left out) of a page should be `actual`; `what` produced them."""

    what: str
    start: int
    end: int
    expected: list[str]
    actual: list[str]

    @property
    def renewable(self) -> bool:
        """Whether the lines can simply be replaced; not where somebody chose which of them to show."""
        return _ANY_LINES not in [line.strip() for line in self.expected]

    def __str__(self) -> str:
        shown = "\n".join([*(f"- {line}" for line in self.expected), *(f"+ {line}" for line in self.actual)])
        return f"line {self.start + 1}: {self.what}\n{shown}"


def fences(lines: list[str]) -> Iterator[Fence]:
    """The fenced blocks of a page, in order."""
    position = 0
    while position < len(lines):
        opening = _OPENING.match(lines[position])
        if opening is None:
            position += 1
            continue
        above = next((line for line in reversed(lines[:position]) if line.strip()), "")
        marked = _MARK.match(above)
        start = end = position + 1
        while end < len(lines) and lines[end].strip() != opening["ticks"]:
            end += 1
        yield Fence(opening["info"], marked["mark"] if marked else "", start, lines[start:end])
        position = end + 1


class _Stage:
    """The folder in which a page is run, and what is installed there. A context manager."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment: dict[str, str] = {}
        self._modules = set(sys.modules)
        self._registries = dict(registry._default)
        # Files that a page gives in parts: file → part → text.
        self._parts: dict[str, dict[str, str]] = {}

    def __enter__(self) -> _Stage:
        # Without the projects of strangers, which are no folder of looms.
        shutil.copytree(ROOT / "fixtures", self.folder / "fixtures", ignore=shutil.ignore_patterns("third_party"))
        tools = self.folder.parent / "bin"
        tools.mkdir()
        command = tools / "loomconv"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m loomconv "$@"\n')
        command.chmod(0o755)
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("LOOMCONV_", "SOURCE_DATE"))}
        self.environment = {
            **kept,
            "PATH": f"{tools}{os.pathsep}{os.environ.get('PATH', '')}",
            "PYTHONPATH": os.pathsep.join(filter(None, [str(self.folder), os.environ.get("PYTHONPATH")])),
            "PYTHONDONTWRITEBYTECODE": "1",
            "NO_COLOR": "1",
            "LC_ALL": "C.UTF-8",
        }
        sys.path.insert(0, str(self.folder))
        return self

    def __exit__(self, *_: object) -> None:
        sys.path.remove(str(self.folder))
        for name in set(sys.modules) - self._modules:
            if str(getattr(sys.modules[name], "__file__", None)).startswith(str(self.folder)):
                del sys.modules[name]
        registry._default.clear()
        registry._default.update(self._registries)

    def write(self, name: str, text: str) -> None:
        """A file of the page; the project of a `pyproject.toml` counts as installed from then on.

        `file#part` is one part of a file: the file is all its parts in the order of their names, and a part that comes
        again takes the place of the former one.
        """
        name, _, part = name.partition("#")
        if part:
            parts = self._parts.setdefault(name, {})
            parts[part] = text
            text = joined(parts)
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        registry._default.clear()  # so that plugins are looked for, and loaded, again
        if name == "pyproject.toml":
            self._install(tomllib.loads(text)["project"])

    def _install(self, project: dict[str, Any]) -> None:
        installed = self.folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
        installed.mkdir()
        about = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        (installed / "METADATA").write_text(about, encoding="utf-8")
        points = [
            line
            for group, named in project.get("entry-points", {}).items()
            for line in (f"[{group}]", *(f"{key} = {value}" for key, value in named.items()))
        ]
        (installed / "entry_points.txt").write_text("\n".join(points) + "\n", encoding="utf-8")
        importlib.invalidate_caches()

    def output_of(self, command: str) -> str:
        """What a shell command prints, stdout and stderr together."""
        plain = command.removesuffix(_STATUS)
        if plain.startswith("loomconv ") and not _SHELL.search(plain):
            output, status = self._in_process(shlex.split(plain)[1:])
            return output if plain == command else f"{output}status {status}\n"
        # One stream for both, so that their lines stand in the order in which they were written.
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
            check=False,
        )
        return done.stdout.decode("utf-8", "replace")

    def _in_process(self, arguments: list[str]) -> tuple[str, int]:
        """Output and status of loomconv, without the time that a process takes to start."""
        with contextlib.chdir(self.folder):
            _forget_formats()
            result = CliRunner(env={"NO_COLOR": "1", "SOURCE_DATE_EPOCH": None, "LOOMCONV_DEBUG": None}).invoke(
                program, arguments
            )
            _forget_formats()
        return result.output, result.exit_code

    def output_of_python(self, text: str) -> str:
        """What a Python script prints."""
        printed = io.StringIO()
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(printed):
            exec(compile(text, "<page>", "exec"), {"__name__": "__main__"})
        return printed.getvalue()

    def value(self, name: str, pointer: str) -> Any:
        """A value in a JSON file of the page."""
        value = json.loads((self.folder / name).read_text("utf-8"))
        for step in pointer.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            value = value[int(key)] if isinstance(value, list) else value[key]
        return value


def joined(parts: Mapping[str, str]) -> str:
    """A Python file from its parts: a blank line before what is indented, two before what is not."""
    text = ""
    for name in sorted(parts):
        part = parts[name].strip("\n")
        gap = "" if not text else "\n" if part.startswith(" ") else "\n\n"
        text += f"{gap}{part}\n"
    return text


def _forget_formats() -> None:
    """Let commands make their options of formats anew, for what is installed now."""
    context = click.Context(program)
    for name in program.list_commands(context):
        command = program.get_command(context, name)
        if command is not None:
            command.__dict__.pop("of_formats", None)


def run_page(page: Path) -> list[Mismatch]:
    """Run a page; gives what is not as it is shown."""
    lines = page.read_text("utf-8").split("\n")
    found: list[Mismatch] = []
    with tempfile.TemporaryDirectory(prefix="loomconv-docs-") as place, _Stage(Path(place) / "here") as stage:
        expecting: str | None = None
        for fence in fences(lines):
            if fence.info == "text" and expecting is not None:
                found += _compare("its output", fence.start, fence.lines, expecting)
            expecting = None
            if fence.mark.startswith("file: "):
                stage.write(fence.mark.removeprefix("file: "), fence.text)
            elif fence.info == "console":
                found += _run_console(fence, stage)
            elif fence.info == "sh":
                expecting = _run_setup(fence, stage)
            elif fence.info == "python" and fence.mark == "run":
                expecting = stage.output_of_python(fence.text)
            elif fence.info == "json" and fence.mark.startswith("from "):
                found += _compare_json(fence, stage)
    return found


def _run_console(fence: Fence, stage: _Stage) -> Iterator[Mismatch]:
    position = 0
    while position < len(fence.lines):
        if not fence.lines[position].startswith("$ "):
            position += 1
            continue
        command = fence.lines[position][2:]
        end = position + 1
        while command.endswith("\\"):
            command = f"{command[:-1]}{fence.lines[end].lstrip()}"
            end += 1
        start = end
        while end < len(fence.lines) and not fence.lines[end].startswith("$ "):
            end += 1
        if not _SETUP.match(command):
            yield from _compare(command, fence.start + start, fence.lines[start:end], stage.output_of(command))
        position = end


def _run_setup(fence: Fence, stage: _Stage) -> str | None:
    """The output of the loomconv commands among those joined by `&&`; None when there are none."""
    commands = [each.strip() for each in " ".join(fence.lines).split("&&")]
    ours = [each.removeprefix(".venv/bin/") for each in commands if each.startswith(".venv/bin/loomconv ")]
    return "".join(map(stage.output_of, ours)) if ours else None


def _compare(what: str, start: int, expected: list[str], output: str) -> Iterator[Mismatch]:
    actual = [line.rstrip() for line in output.splitlines()]
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == _ANY_LINES else f"{re.escape(line)}\n" for line in expected)
    if re.fullmatch(pattern, "".join(f"{line}\n" for line in actual)) is None:
        yield Mismatch(what, start, start + len(expected), expected, actual)


def _compare_json(fence: Fence, stage: _Stage) -> Iterator[Mismatch]:
    name, _, pointer = fence.mark.removeprefix("from ").partition(" at ")
    value = stage.value(name, pointer)
    if not fence.lines or json.loads(fence.text) != value:
        actual = json.dumps(value, indent=2, ensure_ascii=False).splitlines()
        yield Mismatch(fence.mark, fence.start, fence.start + len(fence.lines), fence.lines, actual)
