from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from loomconv import __version__
from loomconv.cli.program import program
from loomconv.cli.terminal import columns, cut, neutralised
from loomconv.errors import LoomconvError
from loomconv.registry import default_registry
from tests.cli.conftest import FIXTURES, Run


def test_version(run: Run) -> None:
    assert run("--version").stdout == f"loomconv {__version__}\n"


def test_help_names_commands_examples_and_statuses(run: Run) -> None:
    for arguments in (["--help"], ["-h"]):
        text = run(*arguments).stdout
        for word in (
            "convert",
            "inspect",
            "validate",
            "roundtrip",
            "formats",
            "completion",
            "Examples:",
            "Exit status:",
        ):
            assert word in text


@pytest.mark.parametrize("name", ["convert", "inspect", "validate", "roundtrip", "formats", "completion"])
def test_every_command_explains_itself(run: Run, name: str) -> None:
    result = run(name, "--help")
    assert result.exit_code == 0
    assert f"Usage: loomconv {name}" in result.stdout
    assert "Exit status:" in result.stdout
    assert f"loomconv {name}" in result.stdout.partition("Options:")[2]
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_no_command_shows_the_help(run: Run) -> None:
    result = run()
    assert result.exit_code == 2
    assert "Usage: loomconv" in result.stdout + result.stderr


def test_unknown_command(run: Run) -> None:
    result = run("conversion")
    assert result.exit_code == 2
    assert "No such command 'conversion'" in result.stderr


def test_commands_of_plugins(run: Run, simple: Path, tmp_path: Path) -> None:
    assert run("shuffle").stdout == "shuffled\n"
    assert "Shuffle cards." in run("--help").stdout
    # One of the program's own is not replaced.
    assert "not ours" not in run("convert", simple, tmp_path / "x.openloom").output


def test_a_plugin_that_fails_to_add_commands_takes_none_away(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: object, cli: click.Group) -> None:
        raise RuntimeError("quoted")

    monkeypatch.setattr("tests.cli.conftest.Plugin.loomconv_register_commands", fail)
    result = run("--help")
    assert result.exit_code == 0
    assert "convert" in result.stdout


def test_a_fault_is_explained_without_quoting(run: Run, simple: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("quoted")

    monkeypatch.setattr("loomconv.cli.inspect.inspect_file", fail)
    result = run("inspect", simple)
    assert result.exit_code == 1
    assert "ValueError in test_commands.py" in result.stderr
    assert "LOOMCONV_DEBUG=1" in result.stderr
    assert "quoted" not in result.stderr


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(), 0, ""),
        (MemoryError(), 1, "not enough memory"),
        (OSError(28, "No space left on device"), 1, "No space left on device"),
        (LoomconvError("it went wrong", next_step="Try again."), 1, "it went wrong. Try again."),
    ],
)
def test_ways_to_end(
    run: Run, simple: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int, message: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("loomconv.cli.inspect.inspect_file", fail)
    monkeypatch.setattr("loomconv.cli.program.hush", lambda: None)
    result = run("inspect", simple)
    assert result.exit_code == status
    assert message in result.stderr
    assert bool(result.stderr.strip()) == bool(message)


def test_the_status_is_returned_on_request() -> None:
    assert program.main(["--version"], standalone_mode=False) == 0
    assert program.main(["inspect", "no-such-file"], standalone_mode=False) == 1


# -- inspect -------------------------------------------------------------------------------------------------------


def test_inspect(run: Run) -> None:
    result = run("inspect", FIXTURES / "full.openloom")
    assert result.exit_code == 0
    for text in (
        "openloom-2 (OpenLoom 2.0), 100 % sure: format is open-loom",
        "14,381 bytes",
        "3 with 16 nodes, 5 roots, depth 4",
        "human 7, model 6",
        "tide-1 3",
        "2026-03-01T18:00:00Z to 2026-03-01T18:05:00Z",
        "image 1 embedded",
        "1 system prompt, 1 agent prompt, 3 raw responses (--without system-context,agent-prompts,raw-responses ",
        'tree 1 "The harbour at night" (id 01J9Z3TALE0000000000000001, buffer)',
        "  > + human: The harbour",
        "  *     human: met. The end.",
    ):
        assert text in result.stdout


def test_inspect_json_and_streams(run: Run, simple: Path) -> None:
    value = json.loads(run("inspect", "-", "--json", stdin=simple.read_bytes()).stdout)
    assert value["source"] == {"name": "-", "container": "plain", "bytes": simple.stat().st_size}
    assert value["format"]["name"] == "openloom-2"
    assert [line["node"] for line in value["trees"][0]["preview"]] == ["n1", "n2", "n3"]


def test_inspect_counts_secrets_and_lists_findings(run: Run) -> None:
    result = run("inspect", FIXTURES / "secrets.openloom")
    assert "2 keys or passwords (conversions leave them out)" in result.stdout
    assert "privacy." not in result.stdout
    assert "[repair.missing-source]" in run("inspect", FIXTURES / "repair-dangling-edges.openloom").stdout


def test_inspect_says_why_not(run: Run, tmp_path: Path) -> None:
    result = run("inspect", tmp_path / "no-such-file")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "there is no such file" in result.stderr


def test_inspect_with_a_given_format(run: Run, simple: Path) -> None:
    assert "as given" in run("inspect", simple, "--from", "openloom-2").stdout


def test_inspect_cannot_steer_the_terminal(run: Run) -> None:
    source = json.dumps({"cards": [["a", None, "red \u001b[31m and \u202e back \u2028"]]}).encode()
    text = run("inspect", "-", stdin=source).stdout
    assert "\\x1b[31m" in text
    assert not {"\x1b", "\u202e", "\u2028"} & set(text)


def test_inspect_shows_many_trees_in_part(run: Run) -> None:
    tree = {"title": "T", "rootNodeIds": ["a"], "edges": []}
    nodes = {"a": {"id": "a", "content": [], "author": {"role": "human"}}}
    trees = [{"id": f"t{i}", **tree, "nodes": nodes} for i in range(25)]
    text = run(
        "inspect", "-", stdin=json.dumps({"format": "open-loom", "version": "2.0", "trees": trees}).encode()
    ).stdout
    assert "... 5 more trees" in text


# -- validate ------------------------------------------------------------------------------------------------------


def test_validate(run: Run, simple: Path) -> None:
    result = run("validate", simple)
    assert (result.exit_code, result.stdout) == (0, f"{simple}: valid openloom-2\n")


def test_validate_names_line_and_column(run: Run) -> None:
    path = FIXTURES / "broken-trailing-comma.openloom"
    result = run("validate", path)
    assert result.exit_code == 1
    assert result.stdout.startswith(f"{path}:74:8: error: ")
    assert result.stdout.endswith("not valid openloom-2: 1 error\n")


def test_validate_lists_repairs(run: Run) -> None:
    path = FIXTURES / "repair-dangling-edges.openloom"
    result = run("validate", path, "--findings", "1")
    assert result.exit_code == 1
    assert "[repair.missing-source] (tree t1, node c)" in result.stdout
    assert "... 1 more finding (--findings all)" in result.stdout


def test_validate_json(run: Run) -> None:
    value = json.loads(run("validate", FIXTURES / "repair-dangling-edges.openloom", "--json").stdout)
    assert value["valid"] is False
    assert value["counts"]["codes"] == {"repair.missing-source": 2, "repair.missing-target": 1}


# -- roundtrip -----------------------------------------------------------------------------------------------------


def test_roundtrip(run: Run, simple: Path) -> None:
    result = run("roundtrip", simple, "--via", "openloom-2")
    assert result.exit_code == 0
    assert result.stdout.endswith("openloom-2 -> openloom-2 -> openloom-2: no difference, the same bytes\n")


def test_roundtrip_lists_differences(run: Run, simple: Path) -> None:
    result = run("roundtrip", simple, "--via", "cards,openloom-2", "--findings", "2")
    assert result.exit_code == 1
    assert "openloom-2 -> cards -> openloom-2 -> openloom-2" in result.stdout
    assert "    before  " in result.stdout
    assert "more differences (--findings all)" in result.stdout


def test_roundtrip_json_and_streams(run: Run, simple: Path) -> None:
    result = run("roundtrip", "-", "--via", "cards", "--json", stdin=simple.read_bytes())
    value = json.loads(result.stdout)
    assert result.exit_code == 1
    assert value["source"] == "-"
    assert value["formats"] == ["openloom-2", "cards", "openloom-2"]
    assert value["total"] == len(value["differences"]) > 0
    assert value["steps"][0]["counts"]["nodes"] == 3


@pytest.mark.parametrize("via", ["", ",", "nope"])
def test_roundtrip_needs_a_format(run: Run, simple: Path, via: str) -> None:
    assert run("roundtrip", simple, "--via", via).exit_code == 2
    assert run("roundtrip", simple).exit_code == 2


# -- formats and completion ----------------------------------------------------------------------------------------


def test_formats(run: Run) -> None:
    result = run("formats")
    assert result.exit_code == 0
    assert "Stack of cards" in result.stdout
    assert "many trees, many roots, many parents, any content" in result.stdout
    assert result.stderr == ""


def test_a_plugin_that_is_left_out_is_named_whatever_is_done(run: Run, simple: Path, tmp_path: Path) -> None:
    default_registry().broken["odd-plugin"] = "ImportError: no such module"
    for arguments in (["formats"], ["inspect", simple], ["convert", simple, tmp_path / "x.openloom"]):
        assert "the plugin odd-plugin is left out: ImportError: no such module" in run(*arguments).stderr


def test_formats_json(run: Run) -> None:
    formats = {each["name"]: each for each in json.loads(run("formats", "--json").stdout)["formats"]}
    assert list(formats) == ["cards", "openloom-2", "wild-cards"]
    assert formats["cards"]["suffixes"] == [".cards"]
    assert formats["cards"]["reads"] is formats["cards"]["writes"] is True
    assert formats["cards"]["capabilities"]["parents"] == "one"
    assert formats["cards"]["options"] == [
        {
            "name": "case",
            "flag": "--cards-case",
            "help": "How texts are written.",
            "choices": ["same", "upper"],
            "default": "same",
            "applies_to": "write",
        }
    ]
    assert formats["openloom-2"]["media_type"]


def test_one_format(run: Run) -> None:
    text = run("formats", "cards").stdout
    assert "cards: Stack of cards" in text
    assert "--cards-case same|upper (default same)" in text
    assert run("formats", "nope").exit_code == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(run: Run, shell: str) -> None:
    script = run("completion", shell).stdout
    assert "_LOOMCONV_COMPLETE" in script
    assert run("completion", "tcsh").exit_code == 2


def test_completion_knows_formats(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_LOOMCONV_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "loomconv convert --to op")
    monkeypatch.setenv("COMP_CWORD", "3")
    assert "openloom-2" in run().stdout


# -- the terminal --------------------------------------------------------------------------------------------------


def test_neutralised() -> None:
    assert neutralised("plain é 🧵") == "plain é 🧵"
    assert neutralised("a\nb\tc\rd") == "a\\nb\\tc\\rd"
    assert neutralised("\x1b[0m\x9b\u202e\ud83e") == "\\x1b[0m\\x9b\\u202e\\ud83e"


def test_cut_and_columns() -> None:
    assert cut("short", 5) == "short"
    assert cut("longer", 5) == "lo..."
    assert columns([("a", "b"), ("long", "c")]) == ["a     b", "long  c"]


def test_the_input_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.openloom"
    path.write_bytes(b'{"format": "open-loom"}')
    (tmp_path / "link.openloom").symlink_to(path)
    for target in (path, tmp_path / "link.openloom"):
        done = CliRunner().invoke(program, ["convert", str(path), str(target), "--without", "private"])
        assert done.exit_code == 2
        assert "would replace the input" in done.stderr
    assert path.read_bytes() == b'{"format": "open-loom"}'
