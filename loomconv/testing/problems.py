"""What a check finds, told like advice: what is wrong, where, and what helps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from loomconv.compare import Difference

__all__ = ["Nonconformance", "Problem", "advice_for", "problems_of"]

_SHOWN: Final = 5
_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is not as the plugin API asks for.

    `what` is a sentence, `where` a file, a step or a JSON pointer, `advice` says what helps.
    """

    what: str
    where: str
    advice: str

    def __str__(self) -> str:
        return f"{self.what}\n    where:  {self.where}\n    advice: {self.advice}"

    def to_json(self) -> dict[str, str]:
        """The problem as a JSON object."""
        return {"what": self.what, "where": self.where, "advice": self.advice}


class Nonconformance(AssertionError):
    """A check found problems; its text is all that an author needs to see."""

    def __init__(self, title: str, problems: Sequence[Problem]) -> None:
        self.title = title
        self.problems = tuple(problems)
        shown = "\n\n".join(map(str, problems[:_SHOWN]))
        more = f"\n\nand {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        super().__init__(f"not so: {title}\n\n{shown}{more}")


def problems_of(differences: Iterable[Difference], journey: str) -> Iterator[Problem]:
    """The differences between what left and what came back, as problems; `journey` says from where to where."""
    for each in differences:
        if each.right == "missing":
            what = f"{_name(each.pointer)} is lost: it was {each.left}"
        elif each.left == "missing":
            what = f"{_name(each.pointer)} was not there before: it is {each.right}"
        else:
            what = f"{_name(each.pointer)} was {each.left} and came back as {each.right}"
        yield Problem(what, f"{journey}, at {each.pointer or 'the whole file'}", advice_for(each))


def _name(pointer: str) -> str:
    return f"`{pointer.rpartition('/')[2]}`" if pointer else "the file"


def advice_for(difference: Difference) -> str:
    """Which part of the plugin API keeps a value of this kind."""
    key = difference.pointer.rpartition("/")[2]
    left, right = difference.left, difference.right
    if not difference.pointer:
        return "compare the two files; a format of databases, or with a history, sets compared_by = 'document'"
    if "/extensions" in difference.pointer:
        return (
            "extensions of other formats have to travel through the file: give `Lens` a `carrier`, and declare the "
            "level in `unknown_keys`; where the app would lose them, leave the level out of `unknown_keys`"
        )
    if key in ("createdAt", "updatedAt"):
        return "declare in `node_times` or `tree_times` the finest unit that comes back; `times` has the conversions"
    if key in ("rootNodeIds", "currentNodeId"):
        return "write roots and siblings in the order of `tree.graph.walk(tree.root_ordinals)`, and read them so"
    if key == "id" or difference.pointer.endswith("/nodes"):
        return "write ids as they are; where the file has room only for some, declare them in `Capabilities.ids`"
    if _NUMBER.fullmatch(left) and _NUMBER.fullmatch(right):
        return "numbers keep their spelling with `context.load_json` and `jsontext.dump`, and lose it in `json`"
    if right == "missing":
        return (
            "keep what the core has no word for in `extensions[namespace]`: `Lens` does it for every key; a value that "
            "the files cannot hold must not be declared in `capabilities`, so that the hub keeps it"
        )
    if left == "missing":
        return (
            "write nothing that nobody said: a key that the file lacked is one that `Lens` keeps lacking; fields that "
            "`read` makes up belong into `derived_fields`"
        )
    return (
        "a value that maps only one way needs its raw form kept: `Lens` uses it as long as it says what the core says"
    )
