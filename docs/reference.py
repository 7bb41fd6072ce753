"""The plugin API as it is: its page, and its surface as lines of text for the test that watches it."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import is_dataclass
from types import ModuleType
from typing import Any

import loomconv.plugin as api
from loomconv.registry import hookspecs

__all__ = ["reference_page", "surface"]

_HEAD = """# Plugin reference

Everything that a plugin may rely on, by subject. All of it is imported from `loomconv.plugin`; tests import from
[`loomconv.testing`](plugin-testing.md) besides. [Writing a plugin](plugins.md) builds a format step by step.

## Versions

This is plugin API {version}. As long as the first number stays, every name here keeps its meaning; the second number
counts additions. A format says with `api = (1, 0)` what it was written for, and is refused, by name and with the advice
to update, by a loomconv that is older or of another first number.

A name that is going to go is deprecated first: for at least one version with a higher second number, importing it warns
(`DeprecationWarning`) and says what to use instead. It goes with the next first number. What is not on this page may
change with every release.

| version | what changed |
|---|---|
| 1.0 | the first one |
"""
# Members of every object, and those that a dataclass or a named tuple brings.
_INHERITED = frozenset(dir(object)) | {"count", "index"}


def reference_page() -> str:
    """The page in Markdown."""
    version = ".".join(map(str, api.API_VERSION))
    parts = [_HEAD.format(version=version).rstrip()]
    parts.append("## Hooks\n\nA plugin implements any of these, decorated with `@hookimpl`; arguments may be left out.")
    for name, hook in _hooks():
        parts.append(f"### `{name}`\n\n{_fenced(_signature(name, hook))}\n\n{_prose(hook)}")
    for subject, homes in api.SUBJECTS.items():
        parts.append(f"## {subject}")
        for names in homes.values():
            parts += [_entry(name, getattr(api, name)) for name in names]
    return "\n\n".join(parts) + "\n"


def surface() -> list[str]:
    """Every public name with its signature, and every public member of the classes and modules, one a line."""
    lines = [f"hook {_signature(name, hook)}" for name, hook in _hooks()]
    for name in api.__all__:
        lines += _surface_of(name, getattr(api, name))
    return sorted(lines)


def _hooks() -> list[tuple[str, Any]]:
    return [(name, hook) for name, hook in vars(hookspecs).items() if name.startswith("loomconv_")]


def _surface_of(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, ModuleType):
        for each in value.__all__:
            yield from _surface_of(f"{name}.{each}", getattr(value, each))
    elif inspect.isclass(value):
        yield f"class {_signature(name, value)}"
        for member, annotation, _ in _attributes(value):
            yield f"{name}.{member}: {annotation}"
        for member, found in _methods(value):
            yield _signature(f"{name}.{member}", found)
    elif inspect.isfunction(inspect.unwrap(value)):
        yield _signature(name, value)
    else:
        yield f"{name}: {type(value).__name__}"


def _entry(name: str, value: Any) -> str:
    heading = f"### `{name}`"
    if isinstance(value, ModuleType):
        parts = [heading, _prose(value)]
        rows = [
            f"* `{_signature(f'{name}.{each}', found)}`: {_first_sentence(found)}"
            if callable(found)
            else f"* `{name}.{each}`"
            for each, found in ((each, getattr(value, each)) for each in value.__all__)
        ]
        return "\n\n".join([*parts, "\n".join(rows)])
    if inspect.isclass(value):
        return "\n\n".join(_class_entry(heading, name, value))
    if inspect.isfunction(inspect.unwrap(value)):
        return f"{heading}\n\n{_fenced(_signature(name, value))}\n\n{_prose(value)}"
    return f"{heading}\n\n{_CONSTANTS[name]}"


# What has no docstring of its own.
_CONSTANTS = {
    "hookimpl": "Marks a function or method as the implementation of a hook: `@hookimpl`.",
    "API_VERSION": "The version of this API, as a pair of numbers.",
    "ANY": "Stands in `Capabilities` for whatever comes, where otherwise the held values are listed.",
    "EVERYTHING": "The `Capabilities` of OpenLoom 2.0, which holds all there is.",
    "NO_IDS": "Stands in `Capabilities.ids` for files that have no ids of nodes.",
    "CONTINUATION": "The kind of an edge in `EdgeTable.kinds` by which a story goes on.",
    "SQLITE_MAGIC": "What SQLite databases begin with.",
    "HUB_VERSION": "The version of loomconv as text.",
    "Node": "An OpenLoom 2.0 node as a plain dictionary (a `TypedDict`): `id`, `content`, `author`, and perhaps "
    "`createdAt`, `editedFrom`, `meta`, `generation`, `extensions` and unknown keys.",
    "Edge": "An OpenLoom 2.0 edge as a plain dictionary (a `TypedDict`): `type`, `sources` (each with `nodeId` and "
    "perhaps `role`), `targetNodeId`, and perhaps `id`, `createdAt`, `extensions` and unknown keys.",
    "Steps": "Where the inner objects of a nested value stand, for `walk_nested`.",
}


def _class_entry(heading: str, name: str, value: type) -> Iterator[str]:
    yield heading
    if name in _CONSTANTS:
        yield _CONSTANTS[name]
        return
    if not issubclass(value, Exception) and (is_dataclass(value) or "__init__" in vars(value)):
        yield _fenced(_signature(name, value))
    yield _prose(value)
    attributes = _attributes(value)
    if attributes:
        yield "\n".join(
            f"* `{member}: {annotation}`" + (f" — {comment}" if comment else "")
            for member, annotation, comment in attributes
        )
    for member, found in _methods(value):
        yield f"**`{_signature(member, found)}`**  \n{_prose(found)}"


def _attributes(value: type) -> list[tuple[str, str, str]]:
    """Annotated public attributes of a class: name, annotation, and the comment above it."""
    try:
        source = textwrap.dedent(inspect.getsource(value))
    except (OSError, TypeError):
        return []
    lines = source.split("\n")
    found = []
    (definition,) = (each for each in ast.parse(source).body if isinstance(each, ast.ClassDef))
    for each in definition.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and not each.target.id.startswith("_"):
            annotation = ast.unparse(each.annotation)
            if annotation.startswith("ClassVar["):
                annotation = annotation[len("ClassVar[") : -1]
            default = f" = {ast.unparse(each.value)}" if each.value is not None else ""
            found.append((each.target.id, annotation + default, _comment_above(lines, each.lineno - 1)))
    return found


def _comment_above(lines: list[str], position: int) -> str:
    comment: list[str] = []
    while position > 0 and lines[position - 1].strip().startswith("#"):
        position -= 1
        comment.insert(0, lines[position].strip().lstrip("# "))
    return " ".join(comment)


def _methods(value: type) -> list[tuple[str, Any]]:
    """Public methods and properties that the class defines, in their order."""
    found = []
    for name, member in vars(value).items():
        if name.startswith("_") or name in _INHERITED:
            continue
        inner = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if isinstance(inner, property) or inspect.isfunction(inner):
            found.append((name, inner))
    return found


def _signature(name: str, value: Any) -> str:
    if isinstance(value, property):
        annotation = inspect.signature(value.fget).return_annotation if value.fget is not None else ""
        return f"{name}: {annotation}"
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return name
    parameters = [
        each.replace(annotation=_Plain(each.annotation), default=_plain_default(each.default))
        for each in signature.parameters.values()
        if each.name not in ("self", "cls")
    ]
    returned = signature.return_annotation
    returned = inspect.Signature.empty if returned in (None, "None") else _Plain(returned)
    shown = signature.replace(parameters=parameters, return_annotation=returned)
    return f"{name}{shown}".replace(" -> <empty>", "")


class _Plain:
    """An annotation that shows as it is written."""

    def __init__(self, annotation: Any) -> None:
        self.text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)

    def __repr__(self) -> str:
        return self.text


def _plain_default(default: Any) -> Any:
    """Defaults that are functions or made anew have no text that stays the same."""
    if default is inspect.Parameter.empty or isinstance(default, str | int | float | bool | tuple | type(None)):
        return default
    return _Plain("...")


def _prose(value: Any) -> str:
    """The docstring as Markdown: code blocks by indentation stay as they are."""
    return inspect.cleandoc(value.__doc__ or "")


def _first_sentence(value: Any) -> str:
    return " ".join(_prose(value).split("\n\n")[0].split())


def _fenced(text: str) -> str:
    return f"```python\n{text}\n```"
