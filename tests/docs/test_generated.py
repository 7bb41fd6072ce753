"""Pages and tables that follow from the code are what the code says, and leave nothing out."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import generate
import pytest

from loomconv.capabilities import Capabilities
from loomconv.registry import Registry
from loomconv.report.codes import CODES
from loomconv.storage import Limits
from loomconv_plugins import openloom_2
from tests.cli.conftest import Plugin


def test_generated_pages_and_tables_are_up_to_date() -> None:
    stale = [str(path.relative_to(generate.ROOT)) for path in generate.outdated()]
    assert stale == [], "run python docs/generate.py"


def test_what_is_out_of_date_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(generate.CAPABILITIES, "trees", "other words")
    assert list(generate.outdated()) == [generate.DOCS / "capabilities.md"]
    monkeypatch.setitem(CODES, "read.of-yesterday", CODES["read.bom"])
    assert set(generate.outdated()) == {generate.DOCS / "capabilities.md", generate.DOCS / "findings.md"}


def test_the_check_fails_and_writes_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "findings.md"
    page.write_text("old")
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    monkeypatch.setattr(generate, "outdated", lambda: {page: "new"})
    monkeypatch.setattr(generate, "written_pages", list)
    assert generate.main(["--check"]) == 1
    assert page.read_text() == "old"
    assert capsys.readouterr().err == "findings.md is out of date; run python docs/generate.py\n"
    assert generate.main([]) == 0
    assert page.read_text() == "new"


def test_every_code_and_stage_is_explained() -> None:
    assert {code.partition(".")[0] for code in CODES} == generate.STAGES.keys()
    page = (generate.DOCS / "findings.md").read_text("utf-8")
    assert [code for code in CODES if f"| `{code}` |" not in page] == []


def test_every_capability_and_limit_is_explained() -> None:
    names = {each.name for each in fields(Capabilities)}
    assert names == generate.CAPABILITIES.keys()
    assert names == {name for group in generate.CAPABILITY_GROUPS.values() for name in group}
    assert {each.name for each in fields(Limits)} == generate.LIMITS.keys()


def test_every_command_and_option_is_listed() -> None:
    import click

    from loomconv.cli.program import program

    page = (generate.DOCS / "commands.md").read_text("utf-8")
    context = click.Context(program)
    names = program.list_commands(context)
    assert len(names) >= 6
    for name in names:
        command = program.get_command(context, name)
        assert command is not None
        if not generate._is_ours(command):
            continue
        section = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        missing = [
            option
            for parameter in click.Command.get_params(command, context)
            if isinstance(parameter, click.Option)
            for option in parameter.opts
            if option not in section
        ]
        assert missing == [], name


def test_only_formats_that_come_with_loomconv_are_described(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry([("openloom-2", openloom_2), ("cards", Plugin())])
    monkeypatch.setattr(generate, "default_registry", lambda: registry)
    assert [each.name for each in generate.formats()] == ["openloom-2"]
