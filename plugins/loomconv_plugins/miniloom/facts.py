"""Names and tables of the app's files (dossier §1)."""

from __future__ import annotations

from typing import Any, Final

from loomconv import jsontext

__all__ = [
    "CARRIER",
    "EDIT_TYPES",
    "NAMESPACE",
    "ORDER",
    "PLACEHOLDERS",
    "ROLE_OF_TYPE",
    "ROOT",
    "TYPE_OF_ROLE",
    "Raw",
    "same",
]

# A JSON object as the file has it.
Raw = dict[str, Any]

NAMESPACE: Final = "miniloom"
ROOT: Final = "1"
# The key in the root's `finishReason` under which what the app has no place for stands (dossier §5).
CARRIER: Final = "openloom"

# Keys of an entry in the order of the app's versions; others follow as they come.
ORDER: Final = (
    *("id", "timestamp", "type", "patch", "summary", "cache", "rating", "read", "parent", "children"),
    *("model", "error", "finishReason"),
)

ROLE_OF_TYPE: Final = {"user": "human", "gen": "model", "rewrite": "model", "import": "mixed", "root": "human"}
# `import` stands for everything that is neither a person's nor a model's alone.
TYPE_OF_ROLE: Final = {"human": "user", "model": "gen", "mixed": "import", "system": "import"}
# Types of nodes whose parent is what they were made from (dossier §4.4).
EDIT_TYPES: Final = ("rewrite",)

# Summaries that the app puts where there is none (dossier §1.2).
PLACEHOLDERS: Final = frozenset(
    {
        *("", "Root Node", "New Node", "New message", "Editing...", "Resubmitting..."),
        *("Branch Complete", "Branch Empty", "Branch Error", "Summary Not Given", "Server Response Error"),
    }
)


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are written alike: types, order of keys and spelling of numbers included."""
    if type(left) is not type(right):
        return False
    if left is None or isinstance(left, str | bool) or type(left) is int:
        return bool(left == right)
    return jsontext.encode(left) == jsontext.encode(right)
