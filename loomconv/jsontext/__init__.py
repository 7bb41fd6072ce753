"""JSON text, read and written without losing anything: the lowest layer of loomconv.

| to | use |
|---|---|
| read a whole text, fast if nothing is lost by it | `load` |
| read a block | `decode`, `keys_accounted` |
| read anything, with all oddities | `parse_exact` |
| look into the head of a file | `parse_prefix` |
| find where a value stands | `locate`, `find_pointers` |
| write a block | `encode` |
| write a whole text as it was laid out | `recognise_layout`, `dump` |
| write anything, in chunks | `iter_exact`, `write_exact` |

Nothing here knows of formats or reports: what a caller should know comes as `Oddity`, what fails as an error with a
`Place`. No function recurses over a value, so that depth is no matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loomconv.jsontext.exact_writer import iter_exact, write_exact
from loomconv.jsontext.fast import Loaded, decode, dump, encode, encode_plain, keys_accounted, load
from loomconv.jsontext.layout import COMPACT, PYTHON_INDENT_4, SWIFT, TWO_SPACES, Layout
from loomconv.jsontext.places import Oddity, locate
from loomconv.jsontext.prefix import parse_prefix
from loomconv.jsontext.recognise import recognise_layout, settled_layout
from loomconv.jsontext.strings import line_breaks, strings_in_text, strings_in_value
from loomconv.jsontext.values import NOTHING, ExactFloat, same_number

if TYPE_CHECKING:
    from loomconv.jsontext.exact_reader import Parsed, parse_exact
    from loomconv.jsontext.pointers import find_pointers

__all__ = [
    "COMPACT",
    "NOTHING",
    "PYTHON_INDENT_4",
    "SWIFT",
    "TWO_SPACES",
    "ExactFloat",
    "Layout",
    "Loaded",
    "Oddity",
    "Parsed",
    "decode",
    "dump",
    "encode",
    "encode_plain",
    "find_pointers",
    "iter_exact",
    "keys_accounted",
    "line_breaks",
    "load",
    "locate",
    "parse_exact",
    "parse_prefix",
    "recognise_layout",
    "same_number",
    "settled_layout",
    "strings_in_text",
    "strings_in_value",
    "write_exact",
]

# What most conversions do without is imported when first used.
_HOMES = {"Parsed": "exact_reader", "find_pointers": "pointers", "parse_exact": "exact_reader"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
