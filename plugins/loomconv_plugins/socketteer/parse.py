"""From bytes to nodes: which of the app's shapes a file has, and what only looks like one (dossier §1.1, §1.2)."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from loomconv import jsontext
from loomconv.errors import InvalidDocument, Place, TruncatedInput, UnreadableFile
from loomconv.format import ReadContext
from loomconv.storage import Source
from loomconv_plugins.socketteer.facts import Raw
from loomconv_plugins.socketteer.unfold import link_of

__all__ = ["FLAT_EXPORT", "Parsed", "parse", "relative_of", "shape_of"]

Shape = Literal["tree", "node", "array", "lines"]

# What the app prints as "flat export": JavaScript, with Python's quotes (dossier §1.2 W5).
FLAT_EXPORT: Final = re.compile(rb"\s*\[\s*\{\s*id:\s*['\"]")
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
_GIVE_TREE: Final = "Give the tree file itself; socketteer's loom keeps trees as JSON files with a `root`."


@dataclass(slots=True)
class Parsed:
    """A file taken apart.

    `shape` is `tree` (object with `root`), `node`, `array` or `lines` (JSON Lines). `top` has the tree's keys beside
    `root`, `nodes` the root or the listed nodes, `strays` what stood among them and is no object, by place. `flat`
    lists name parents by id instead of nesting.
    """

    shape: Shape
    nodes: list[Raw]
    top: Raw = field(default_factory=dict)
    top_keys: list[str] = field(default_factory=list)
    strays: dict[str, Any] = field(default_factory=dict)
    flat: bool = False


def parse(source: Source, context: ReadContext) -> Parsed:
    """Read the text and recognise the shape.

    Raises UnreadableFile for what is no JSON, InvalidDocument for JSON that is no tree.
    """
    if FLAT_EXPORT.match(bytes(source.data[:4096])):
        raise InvalidDocument(
            "this is what the app's flat export prints, not JSON", source=source.name, next_step=_GIVE_TREE
        )
    source = _in_utf8(source, context)
    if _is_lines(source):
        return _listed("lines", _read_lines(source, context), source)
    return shape_of(context.load_json(source, non_finite="null"), source)


def _in_utf8(source: Source, context: ReadContext) -> Source:
    """The source, re-encoded when it is plainly Windows text (dossier §5.11).

    A file with whole UTF-8 characters and a damaged one stays UTF-8: the JSON reader keeps the bad bytes.
    """
    data = source.data
    if data[:2] in _UTF16:
        return source
    with memoryview(data) as view:
        try:
            codecs.utf_8_decode(view, "strict", True)
        except UnicodeDecodeError as error:
            whole = codecs.utf_8_decode(view, "surrogateescape", True)[0]
            if error.end == len(data) and "end of data" in error.reason:
                return source  # cut in the middle of a character
        else:
            return source
    if any(not ("\udc80" <= character <= "\udcff") for character in set(whole) if character > "\x7f"):
        return source
    try:
        text = bytes(data).decode("cp1252")
    except UnicodeDecodeError:
        return source
    context.touched = True
    context.report.add("read.bad-encoding", "The file is not UTF-8; it was read as Windows text (cp1252).")
    return Source(source.name, text.encode(), source.limits, path=source.path)


# -- JSON Lines ----------------------------------------------------------------------------------------------------


def _is_lines(source: Source) -> bool:
    """Whether the first line is an object of its own and another one follows."""
    data = source.data
    end = data.find(b"\n")
    if end < 0:
        return False
    first = bytes(data[:end]).removeprefix(codecs.BOM_UTF8).strip()
    rest = bytes(data[end : end + 4096]).lstrip()
    if not (first.startswith(b"{") and first.endswith(b"}") and rest.startswith(b"{")):
        return False
    return isinstance(jsontext.parse_prefix(first), dict)


def _read_lines(source: Source, context: ReadContext) -> list[Any]:
    """The values of the lines; only a line feed ends one. A last line that is cut is reported and left out."""
    values: list[Any] = []
    start = number = 0
    size = len(source.data)
    while start < size:
        end = source.data.find(b"\n", start)
        end = size if end < 0 else end
        line = bytes(source.data[start:end])
        number += 1
        if line.strip():
            try:
                loaded = jsontext.load(line, non_finite="null")
            except TruncatedInput as error:
                if end < size:
                    raise _at_line(error, number, start, source) from None
                context.truncated = True
                place = Place(number, 1, start)
                context.report.add("read.truncated", "The last line is cut; it was left out.", place=place)
                break
            except UnreadableFile as error:
                raise _at_line(error, number, start, source) from None
            if loaded.oddities:
                context.note([replace(odd, place=_moved(odd.place, number, start)) for odd in loaded.oddities])
            values.append(loaded.value)
        start = end + 1
    return values


def _at_line(error: UnreadableFile, number: int, start: int, source: Source) -> UnreadableFile:
    place = _moved(error.place or Place(1, 1, 0), number, start)
    return type(error)(error.message, source=source.name, place=place, next_step="Correct or remove that line")


def _moved(place: Place, number: int, start: int) -> Place:
    return Place(number, place.column, start + place.byte)


# -- shapes --------------------------------------------------------------------------------------------------------


def relative_of(value: Any) -> str | None:
    """What a JSON value is instead of a tree, when it is something else from the app's surroundings; None if not."""
    if isinstance(value, dict) and "root" not in value and value:
        if value.keys() == {"tabs"} and isinstance(value["tabs"], list):
            return "this is the app's list of open tabs, not a tree"
        if all(isinstance(each, dict) and isinstance(each.get("completions"), list) for each in value.values()):
            return "this is a companion file with model responses (a sidecar of a tree), not a tree"
    if isinstance(value, list):
        sample = value[:20]
        if all(isinstance(each, dict) for each in sample) and any(
            "role" in each and "children" not in each for each in sample
        ):
            return "this is a list of chat messages, not a tree of socketteer's loom"
    return None


def shape_of(value: Any, source: Source) -> Parsed:
    """The shape of a JSON value. Raises InvalidDocument when it is no tree."""
    relative = relative_of(value)
    if relative is not None:
        raise InvalidDocument(relative, source=source.name, next_step=_GIVE_TREE)
    if isinstance(value, list):
        return _listed("array", value, source)
    if isinstance(value, dict) and "root" in value:
        root = value["root"]
        if not isinstance(root, dict) or not ("text" in root or "children" in root):
            raise InvalidDocument("`root` is no node", source=source.name, pointer="/root", next_step=_GIVE_TREE)
        top = {key: each for key, each in value.items() if key != "root"}
        return Parsed("tree", [root], top, list(value))
    if isinstance(value, dict) and ("text" in value or "children" in value):
        return Parsed("node", [value])
    raise InvalidDocument("the JSON is no tree of socketteer's loom", source=source.name, next_step=_GIVE_TREE)


def _listed(shape: Literal["array", "lines"], values: list[Any], source: Source) -> Parsed:
    nodes = [value for value in values if type(value) is dict]
    if not any("text" in node or "children" in node or link_of(node) is not None for node in nodes):
        problem = "the list is empty" if not values else "the list holds no nodes"
        raise InvalidDocument(problem, source=source.name, next_step=_GIVE_TREE)
    strays = {str(place): value for place, value in enumerate(values) if type(value) is not dict}
    nested = any(node.get("children") or "masked_head" in node for node in nodes)
    flat = not nested and (shape == "lines" or any(link_of(node) is not None for node in nodes))
    return Parsed(shape, nodes, strays=strays, flat=flat)
