"""A new plugin project: `loomconv plugin new`."""

from __future__ import annotations

import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath
from typing import Final

from loomconv.errors import UsageFault
from loomconv.storage import AtomicGroup

__all__ = ["create_project"]

_NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_SUFFIX: Final = re.compile(r"(\.[a-z0-9_-]+)+")
_PLACEHOLDER: Final = re.compile(r"\{\{(\w+)\}\}")
# Files of the template whose names an installer or a tool would take for its own.
_NAMES: Final = {"github": ".github", "gitignore": ".gitignore"}


def create_project(name: str, into: Path, *, title: str | None = None, suffix: str | None = None) -> list[Path]:
    """Write a plugin project for a format of this name into a new folder `loomconv-<name>` in `into`.

    Gives the files, relative to `into`. Raises UsageFault for a name that no format can have, and when the folder is
    there already; then nothing is written.
    """
    if not _NAME.fullmatch(name):
        raise UsageFault(
            f"a format cannot be called {name!r}",
            next_step="Use small letters, digits and single hyphens, such as `my-loom`.",
        )
    suffix = suffix or f".{name}"
    if not _SUFFIX.fullmatch(suffix):
        raise UsageFault(f"a suffix cannot be {suffix!r}", next_step="It is written like `.myloom` or `.loom.json`.")
    if title is not None and (not title.strip() or any(character in title for character in '"\\\n\r{}')):
        raise UsageFault("the title is empty, or has quotes, braces, backslashes or line breaks")
    root = into / f"loomconv-{name}"
    if root.exists():
        raise UsageFault("this is there already", source=str(root), next_step="Choose another name, or another --into.")
    words = {
        "name": name,
        "module": f"loomconv_{name.replace('-', '_')}",
        "class": "".join(part.capitalize() for part in name.split("-")),
        "title": title or " ".join(part.capitalize() for part in name.split("-")),
        "suffix": suffix,
    }
    texts = {path: _filled(text, words) for path, text in _template(words)}
    with AtomicGroup() as group:
        for path, text in texts.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with group.open(target) as out:
                out.write(text.encode())
    return [Path(root.name) / path for path in texts]


def _template(words: dict[str, str]) -> list[tuple[PurePosixPath, str]]:
    """The template's files by their paths in the project."""
    found: list[tuple[PurePosixPath, str]] = []
    waiting: list[tuple[Traversable, PurePosixPath]] = [(files(__package__) / "template", PurePosixPath())]
    while waiting:
        folder, path = waiting.pop()
        for each in sorted(folder.iterdir(), key=lambda entry: entry.name):
            name = each.name.removesuffix(".tmpl").replace("PACKAGE", words["module"])
            name = name.replace("SUFFIX", words["suffix"]).replace("NAME", words["name"])
            below = path / _NAMES.get(name, name)
            if each.is_dir():
                waiting.append((each, below))
            elif each.name.endswith(".tmpl"):
                found.append((below, each.read_text("utf-8")))
    return sorted(found)


def _filled(text: str, words: dict[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: words[match[1]], text)
