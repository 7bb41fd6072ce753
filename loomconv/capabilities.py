"""What a format's files can hold, as data: the hub projects a document by this declaration and nothing else."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from loomconv.errors import PluginFault

__all__ = ["ANY", "EVERYTHING", "NO_IDS", "Capabilities"]

# Stands for "whatever comes" where otherwise the held values are listed.
ANY: Literal["any"] = "any"

# Files have no ids of nodes at all.
NO_IDS: Literal["none"] = "none"

Names = tuple[str, ...] | Literal["any"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Capabilities:
    """A format's declaration of what comes back when its app's file is read again.

    Lists name what is held; `ANY` means that nothing of the kind is lost. The defaults describe the poorest format:
    one tree, one root, one parent, plain text.
    """

    # Structure.
    trees: Literal["one", "many"] = "one"
    roots: Literal["one", "many"] = "one"
    parents: Literal["one", "many"] = "one"
    source_roles: Names = ("primary",)
    edge_types: Names = ("continuation",)
    # What becomes of a note that only annotations reach: it is `loose` as in OpenLoom; a `child` of what it is about,
    # since the app has floating notes or would make a root of it; or nothing. `note_tag` is the tag that makes of a
    # child a note beside its parent.
    notes: Literal["loose", "child", "none"] = "none"
    note_tag: str | None = None
    # Ids, times, extensions and unknown keys of edges.
    edge_details: bool = False
    # Content: block types, and whether a node may hold several blocks (their number and order come back).
    blocks: Names = ("text",)
    block_list: bool = False
    media: tuple[Literal["inline", "file", "bundle"], ...] = ()
    # Authorship. `author_names` lists the roles whose `author.name` is held.
    roles: Names = ("human", "model")
    author_names: Names = ()
    agents: bool = False
    # Keys of `meta` and of `generation` that are held.
    meta: Names = ()
    # Which ratings: any whole number, or only 1 and -1.
    ratings: Literal["any", "sign"] = "any"
    generation: Names = ()
    edit_lineage: bool = False
    # Times of nodes: finest unit that comes back.
    node_times: Literal["none", "second", "millisecond", "exact"] = "none"
    # Keys of the tree (beyond rootNodeIds, nodes, edges) and of the document (beyond format, trees) that are held.
    tree_fields: Names = ()
    tree_times: Literal["none", "second", "millisecond", "exact"] = "none"
    modes: Names = ("dialogue",)
    document_fields: Names = ()
    # Ids of nodes in the file: "any"; "none", then the hub finds nodes again by place and content; or a regular
    # expression that the whole of every id matches, and what is written instead of ids that do not fit is the plugin's
    # to say.
    ids: str = ANY
    lone_surrogates: bool = True
    nul: bool = True
    # Depth of a chain that the app survives; None when there is no limit.
    depth: int | None = None
    # Levels at which the app keeps and hides keys that it does not know; `extensions` travel there, residue too.
    unknown_keys: tuple[Literal["document", "tree", "node", "edge"], ...] = ()

    def __post_init__(self) -> None:
        """Raise PluginFault for a value that makes no sense, naming the capability and what it may be."""
        for name, hint in _hints().items():
            value = getattr(self, name)
            if not _fits(value, hint):
                raise PluginFault(f"in the capabilities {name} is {value!r}, and not {_words(hint)}")
        for name in ("modes", "roles", "blocks"):
            if not getattr(self, name):
                raise PluginFault(f"in the capabilities {name} is empty, and the first one stands for what is not held")
        if self.depth is not None and self.depth < 1:
            raise PluginFault(f"in the capabilities depth is {self.depth}, and no tree is that flat")
        try:
            re.compile(self.ids)
        except re.error as error:
            raise PluginFault(f"in the capabilities ids is no regular expression ({error})") from None

    def holds(self, names: Names, name: str) -> bool:
        """Whether the list holds the name."""
        return names == ANY or name in names

    @property
    def holds_everything(self) -> bool:
        """Whether nothing but media has to be fitted to the format."""
        return replace(self, media=()) == replace(EVERYTHING, media=())

    def to_json(self) -> dict[str, Any]:
        """The declaration as plain JSON, for `loomconv formats --json`."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}


@cache
def _hints() -> dict[str, Any]:
    return get_type_hints(Capabilities)


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type as the fields above have them."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return isinstance(value, str) and value in arguments
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(each, arguments[0]) for each in value)
    if arguments:  # a union
        return any(_fits(value, each) for each in arguments)
    return type(value) is hint


def _words(hint: Any) -> str:
    """The type in words."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return f"one of {', '.join(map(repr, arguments))}" if len(arguments) > 1 else repr(arguments[0])
    if origin is tuple:
        return f"a tuple of {_words(arguments[0]).removeprefix('a ')}"
    if arguments:
        return " or ".join(map(_words, arguments))
    return {str: "a text", bool: "True or False", int: "a number"}.get(hint, "None")


# What OpenLoom 2.0 holds: nothing is taken out, and extensions are part of the format itself.
EVERYTHING = Capabilities(
    notes="loose",
    trees="many",
    roots="many",
    parents="many",
    source_roles="any",
    edge_types="any",
    edge_details=True,
    blocks="any",
    block_list=True,
    media=("inline", "bundle"),
    roles="any",
    author_names="any",
    agents=True,
    meta="any",
    generation="any",
    edit_lineage=True,
    node_times="exact",
    tree_fields="any",
    tree_times="exact",
    modes="any",
    document_fields="any",
    unknown_keys=("document", "tree", "node", "edge"),
)
