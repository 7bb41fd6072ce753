"""How a JSON text is laid out: everything about its bytes that its value does not say."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Final, Literal

from loomconv.errors import UnreadableFile, UsageFault
from loomconv.jsontext.places import BOM

__all__ = ["COMPACT", "PYTHON_INDENT_4", "SWIFT", "TWO_SPACES", "Layout"]

_SEPARATOR_SPACE: Final = " \t"
_WIDEST_INDENT: Final = 64


@dataclass(frozen=True)
class Layout:
    """The layout of a JSON text. Numbers are not part of it: they keep their own spelling.

    * `indent`: spaces per level, "\\t" for one tab per level, or None for a text on one line.
    * `item_separator`, `key_separator`: a comma or colon with the spaces around it. With an indent, the line break
      follows the item separator.
    * `escape`: "ascii" writes every character above `~` as `\\uxxxx` (small letters), "raw" writes UTF-8. Both use
      the short escapes, `\\u00xx` for other control characters, and escapes for lone surrogates.
    * `escape_slash`: `/` is written as `\\/`.
    * `empty`: empty containers as `[]` ("closed"), with a line break in them ("open"), or with a blank line in them
      ("blank", as Foundation on Apple systems prints them). Without an indent always closed.
    * `newline`, `final_newline`, `bom`: the line break, whether one ends the text, and whether a BOM starts it.

    Raises `UsageFault` if a field does not make sense.
    """

    indent: int | Literal["\t"] | None = None
    item_separator: str = ","
    key_separator: str = ":"
    escape: Literal["ascii", "raw"] = "raw"
    escape_slash: bool = False
    empty: Literal["closed", "open", "blank"] = "closed"
    newline: Literal["\n", "\r\n"] = "\n"
    final_newline: bool = False
    bom: bool = False

    def __post_init__(self) -> None:
        wrong = [name for name, right in self._checks().items() if not right]
        if wrong:
            raise UsageFault(f"a JSON layout cannot have this {wrong[0]}")

    def _checks(self) -> dict[str, bool]:
        indent: Any = self.indent
        number = isinstance(indent, int) and not isinstance(indent, bool) and 0 <= indent <= _WIDEST_INDENT
        return {
            "indent": indent is None or indent == "\t" or number,
            "item_separator": _is_separator(self.item_separator, ","),
            "key_separator": _is_separator(self.key_separator, ":"),
            "escape": self.escape in ("ascii", "raw"),
            "empty": self.empty in ("closed", "open", "blank"),
            "newline": self.newline in ("\n", "\r\n"),
            **{name: isinstance(getattr(self, name), bool) for name in ("escape_slash", "final_newline", "bom")},
        }

    @property
    def unit(self) -> str:
        """The indentation of one level ("" without one)."""
        if self.indent is None:
            return ""
        return " " * self.indent if isinstance(self.indent, int) else self.indent

    def line(self, level: int) -> str:
        """A line break with the indentation of `level`; "" for a text on one line."""
        return "" if self.indent is None else self.newline + self.unit * level

    def empty_container(self, brackets: str, level: int) -> str:
        """An empty container (`brackets` is "[]" or "{}") that begins on a line of `level`."""
        if self.indent is None or self.empty == "closed":
            return brackets
        blank = self.newline if self.empty == "blank" else ""
        return f"{brackets[0]}{blank}{self.line(level)}{brackets[1]}"

    @property
    def before(self) -> bytes:
        """What stands before the value in a file."""
        return BOM if self.bom else b""

    @property
    def after(self) -> bytes:
        """What stands after the value in a file."""
        return self.newline.encode() if self.final_newline else b""

    def to_json(self) -> dict[str, Any]:
        """All fields as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Any) -> Layout:
        """The layout that `to_json` described; missing fields have their default, unknown ones are ignored.

        Raises `UnreadableFile` if the value does not describe a layout.
        """
        if not isinstance(value, dict):
            raise UnreadableFile("a JSON layout should be an object")
        try:
            return cls(**{field.name: value[field.name] for field in fields(cls) if field.name in value})
        except UsageFault as fault:
            raise UnreadableFile(fault.message) from None


def _is_separator(text: Any, mark: str) -> bool:
    return isinstance(text, str) and len(text) <= _WIDEST_INDENT and text.strip(_SEPARATOR_SPACE) == mark


COMPACT: Final = Layout()
"""JavaScript's `JSON.stringify(x)`."""

TWO_SPACES: Final = Layout(indent=2, key_separator=": ")
"""JavaScript's `JSON.stringify(x, null, 2)`."""

PYTHON_INDENT_4: Final = Layout(indent=4, key_separator=": ", escape="ascii")
"""Python's `json.dump(x, file, indent=4)`."""

SWIFT: Final = Layout(escape_slash=True)
"""Swift's `JSONEncoder` as it comes."""
