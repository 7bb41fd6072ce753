"""What we write is what the app shows: our patches through the app's own library, npm's diff-match-patch on Node.js.

Skipped where Node.js or the package is missing. The package is looked for in the folder that LOOMCONV_NODE_MODULES
names, in `node_modules` of the working folder, and where Node.js looks by itself:
`npm install diff-match-patch@1.0.5`.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from loomconv import jsontext
from loomconv.api import convert
from loomconv_plugins.miniloom.patches import make_patch
from loomconv_plugins.miniloom.utf16 import from_units, to_units
from tests.plugins.miniloom.harness import FIXTURES, read

NODE = shutil.which("node")
PROGRAM = Path(__file__).with_name("apply_patches.cjs")
POOLS = [
    "abc de\n", "事実は三つ ", "e\u0301a\u0300 o\u0302", "😀😁👍🏽👍🏿🦊🦉👩‍🚀🇫🇷", "one two one two ", "\r\n\t",
    "𠮷𠮟 漢字",
]  # fmt: skip


def _environment() -> dict[str, str]:
    places = [os.environ.get("LOOMCONV_NODE_MODULES"), str(Path.cwd() / "node_modules"), os.environ.get("NODE_PATH")]
    return {**os.environ, "NODE_PATH": os.pathsep.join(place for place in places if place)}


def _has_library() -> bool:
    if NODE is None:
        return False
    asked = [NODE, "-e", "process.exit(require('diff-match-patch/package.json').version === '1.0.5' ? 0 : 1)"]
    return subprocess.run(asked, env=_environment(), capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(not _has_library(), reason="needs Node.js and npm's diff-match-patch 1.0.5")


def app_texts(steps: list[tuple[Any, str]]) -> list[dict[str, Any]]:
    """What the app makes of each patch and parent."""
    lines = "".join(json.dumps({"patch": patch, "parent": parent}) + "\n" for patch, parent in steps)
    done = subprocess.run(
        [str(NODE), str(PROGRAM)], input=lines, env=_environment(), capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.split("\n") if line]


def _edited(text: str, chance: random.Random) -> str:
    kind = chance.randrange(6)
    piece = "".join(chance.choice(chance.choice(POOLS)) for _ in range(chance.randrange(30)))
    start, end = sorted(chance.randrange(len(text) + 1) for _ in range(2))
    return [text + piece, piece + text, text[:start] + piece + text[end:], piece, text[:start], text][kind]


def test_patches_of_ours_are_applied_exactly() -> None:
    chance = random.Random(7)
    pairs = []
    for _ in range(2500):
        text = "".join(chance.choice(chance.choice(POOLS)) for _ in range(chance.choice([0, 3, 40, 400])))
        pairs.append((text, _edited(text, chance)))
    found = app_texts([(make_patch(to_units(old), to_units(new)), old) for old, new in pairs])
    wrong = [pair for pair, each in zip(pairs, found, strict=True) if each["text"] != pair[1] or not each["whole"]]
    assert wrong == []


def _rendered_by_app(value: Any) -> dict[str, str]:
    """The text of each node, level by level as the app would render it."""
    store = value["loomTree"]["nodeStore"]
    texts = {"1": ""}
    level = ["1"]
    while level:
        below = [(str(child), parent) for parent in level for child in store[parent]["children"]]
        found = app_texts([(store[key]["patch"], texts[parent]) for key, parent in below])
        texts.update({key: each["text"] for (key, _), each in zip(below, found, strict=True)})
        level = [key for key, _ in below]
    return texts


FOREIGN = sorted((FIXTURES.parent / "openloom-2").glob("*.openloom"))


@pytest.mark.parametrize("path", FOREIGN, ids=lambda path: path.stem)
def test_files_of_ours_show_every_text(path: Path, tmp_path: Path) -> None:
    try:
        files = convert(path, tmp_path / "a.miniloom.json").files
    except Exception as error:  # what cannot be read has tests of its own
        pytest.skip(type(error).__name__)
    for file in files:
        value = jsontext.decode(Path(file).read_bytes())
        texts = _rendered_by_app(value)
        document, _ = read(value)
        tree = document.trees[0]
        shown = sorted(text for key, text in texts.items() if key != "1")
        if tree.fields["mode"] == "buffer":
            expected = [
                "".join(tree.nodes[each]["content"][0]["text"] for each in tree.graph.path_to(node_id))
                for node_id in tree.nodes
            ]
            assert sorted(from_units(to_units(text)) for text in expected) == shown
        else:
            assert all(json.loads(text)["messages"] for text in shown)


@pytest.mark.parametrize("name", ["full", "surrogates", "many-emoji", "crlf", "diff-objects", "chat"])
def test_files_of_the_app_read_as_it_shows_them(name: str) -> None:
    value = jsontext.decode((FIXTURES / f"{name}.json").read_bytes())
    texts = _rendered_by_app(value)
    tree = read(value, text="full")[0].trees[0]
    assert {key: node["content"][0]["text"] for key, node in tree.nodes.items()} == {
        key: text for key, text in texts.items() if key != "1"
    }
