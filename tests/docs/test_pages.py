"""What the pages show is what happens: commands and their output, Python, JSON. And how that is found out."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import generate
import pytest
import shown

PAGES = generate.written_pages()

pytestmark = pytest.mark.skipif(
    os.name == "nt" or shutil.which("bash") is None, reason="the pages show commands of a POSIX shell"
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(generate.ROOT)))
def test_a_page_shows_what_happens(page: Path) -> None:
    found = shown.run_page(page)
    assert not found, "run python docs/generate.py\n" + "\n".join(map(str, found))


def test_the_readme_and_the_guide_are_among_them() -> None:
    names = {str(page.relative_to(generate.ROOT)) for page in PAGES}
    assert {"README.md", "docs/guide.md", "docs/plugins.md", "docs/residue.md"} <= names


def test_the_first_screen_has_two_commands() -> None:
    """Each in a block of its own, the second one where `.ci/run` looks for it."""
    text = (generate.ROOT / "README.md").read_text("utf-8")
    blocks = [fence for fence in shown.fences(text.split("\n")) if fence.info == "sh"]
    assert [len(block.lines) for block in blocks] == [1, 1]
    assert blocks[0].text.startswith(
        "python3 -m venv .venv && .venv/bin/pip install -q . && .venv/bin/loomconv convert "
    )
    assert blocks[1].mark == "test command"
    assert blocks[1].text.rstrip().endswith(".venv/bin/pytest -q -n auto")
    assert blocks[1].start < 40


def run(tmp_path: Path, text: str) -> list[shown.Mismatch]:
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    return shown.run_page(page)


def test_another_output_is_a_mismatch(tmp_path: Path) -> None:
    (found,) = run(
        tmp_path, "Words.\n\n```console\n$ loomconv --version\nloomconv 0\n$ echo a; echo b >&2\na\nb\n```\n"
    )
    assert (found.what, found.start, found.end, found.expected) == ("loomconv --version", 4, 5, ["loomconv 0"])
    assert found.actual[0].startswith("loomconv ")
    assert found.renewable
    assert str(found).startswith("line 5: loomconv --version\n- loomconv 0\n+ loomconv ")


def test_three_dots_stand_for_any_lines(tmp_path: Path) -> None:
    page = "```console\n$ seq 1 9\n1\n...\n9\n$ seq 1 2\n1\n...\n2\n$ seq 1 3\n...\n2\n```\n"
    (found,) = run(tmp_path, page)
    assert (found.what, found.renewable) == ("seq 1 3", False)


def test_commands_of_one_page_share_a_folder_and_others_do_not(tmp_path: Path) -> None:
    assert (
        run(tmp_path, "```console\n$ ls\nfixtures\n$ touch here\n```\n\n```console\n$ ls\nfixtures\nhere\n```\n") == []
    )
    assert run(tmp_path, "```console\n$ ls\nfixtures\n```\n") == []


def test_set_up_is_passed_over_and_what_follows_it_is_run(tmp_path: Path) -> None:
    page = "```sh\nfalse && .venv/bin/pip install . && .venv/bin/loomconv inspect nothing\n```\n\n```text\nwrong\n```\n"
    (found,) = run(tmp_path, page)
    assert found.actual == ["loomconv: error: nothing: there is no such file. Check the spelling of the path."]
    assert run(tmp_path, "```console\n$ pip install nothing-of-the-kind\nwhatever\n```\n") == []


def test_the_status_can_be_shown(tmp_path: Path) -> None:
    commands = (
        '$ loomconv --version; echo "status $?"',
        "...",
        "status 0",
        '$ loomconv -; echo "status $?"',
        "...",
        "status 2",
    )
    page = "\n".join(["```console", *commands, "```"])
    assert run(tmp_path, page) == []


def test_a_project_of_the_page_is_installed_for_the_page_only(tmp_path: Path) -> None:
    files = {
        "pyproject.toml": '[project]\nname = "a"\nversion = "1"\nentry-points.loomconv.a = "a_module"',
        "a_module.py": "raise ImportError('of the page')",
    }
    written = "".join(f"<!-- file: {name} -->\n\n```text\n{text}\n```\n\n" for name, text in files.items())
    broken = "loomconv: the plugin a is left out: ImportError: of the page"
    commands = (
        f"```console\n$ loomconv formats\n...\n{broken}\n$ loomconv formats 2>&1 >/dev/null | cat\n{broken}\n```\n"
    )
    assert run(tmp_path, written + commands) == []
    assert run(tmp_path, f"```console\n$ loomconv formats\n...\n{broken}\n```\n") != []


def test_python_is_run_when_it_is_marked(tmp_path: Path) -> None:
    page = '<!-- run -->\n\n```python\nprint("one")\n```\n\n```text\ntwo\n```\n\n```python\nnot even Python\n```\n'
    (found,) = run(tmp_path, page)
    assert (found.expected, found.actual) == (["two"], ["one"])


def test_json_is_looked_up_in_a_file(tmp_path: Path) -> None:
    file = '<!-- file: a.json -->\n\n```json\n{"a/b": [1, {"c": 2.5}]}\n```\n\n'
    assert run(tmp_path, f'{file}<!-- from a.json at /a~1b/1 -->\n\n```json\n{{ "c": 2.5 }}\n```\n') == []
    (found,) = run(tmp_path, f"{file}<!-- from a.json at /a~1b/0 -->\n\n```json\n2\n```\n")
    assert found.actual == ["1"]


def test_outputs_can_be_renewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo 1\n$ echo 2\n3\n4\n$ seq 1 2\n...\n```\nThe end.\n")
    assert generate._renew_outputs(page, check=False)
    assert page.read_text() == "```console\n$ echo 1\n1\n$ echo 2\n2\n$ seq 1 2\n...\n```\nThe end.\n"
    page.write_text("```console\n$ echo 1\n...\n2\n```\n")
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    assert not generate._renew_outputs(page, check=False)
