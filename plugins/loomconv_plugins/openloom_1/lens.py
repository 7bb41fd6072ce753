"""The lens between an object of the file and its core in the pivot, the same machine for nodes and for the tree.

What each side has over the other stands under `extensions["openloom-1"]` there:

* The *stash* (pivot) is the difference between the file's object and what would be written from the core alone: raw
  values under their own keys, `absent` keys, `unknown` ones, and under `extensions` what stood under our key in the
  file.
* The *marks* (file) are the difference between the core and what reading the object alone would give: `…Unknown` for a
  date that is none (OL1-w-nodate), and under `core` the values of the core, null for one that is not there.

Both are minimal, hence mostly empty. A raw value is used on writing if it still says what the core says; a mark is used
on reading if the object is still the one that was written with it. So edits win on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from loomconv_plugins.openloom_1.bookmarks import Bookmarks
from loomconv_plugins.openloom_1.shape import MISSING, NAMESPACE, difference, own_part, same_json

__all__ = ["Found", "Group", "Lens", "Setting"]

# Takes a finding: code, message, JSON pointer below the object, value.
Found = Callable[[str, str, str, Any], None]


class Setting(NamedTuple):
    """What reading an object needs besides it: its id, the map of bookmarks, and the zone that the user states."""

    own_id: str | None
    bookmarks: Bookmarks
    zone: str | None = None


class Group(NamedTuple):
    """Keys of the file that together say some keys of the core, and how they are read."""

    keys: tuple[str, ...]
    says: tuple[str, ...]
    read: Callable[[dict[str, Any], Setting, Found], dict[str, Any]]


def _unheard(code: str, message: str, pointer: str, value: Any) -> None:
    """Takes the findings of a trial."""


@dataclass(frozen=True, slots=True)
class Lens:
    """How one kind of object is read and written; all by tables.

    `base` gives what is written from the core alone. `aside` are keys of the core that are dealt with elsewhere,
    `known` all keys of the file, `stash_keys` the names in the stash. `date` names the key of the file, the one of the
    core and the mark of the date that must always be written.
    """

    groups: tuple[Group, ...]
    base: Callable[[dict[str, Any]], dict[str, Any]]
    aside: frozenset[str]
    known: frozenset[str]
    stash_keys: frozenset[str]
    date: tuple[str, str, str]
    # Types of the core's values, `NoneType` among them where a mark may say that there is none.
    kinds: Mapping[str, tuple[type, ...]]
    # Whether a core can be that of an object in such a setting.
    fits: Callable[[dict[str, Any], Setting], bool] = lambda core, setting: True

    # -- reading -----------------------------------------------------------------------------------------------

    def values(self, raw: dict[str, Any], setting: Setting, found: Found = _unheard) -> dict[str, Any]:
        """The core that an object of the file says, without marks and extensions."""
        core: dict[str, Any] = {}
        for group in self.groups:
            core.update(group.read(raw, setting, found))
        return core

    def get(
        self,
        raw: dict[str, Any],
        setting: Setting,
        found: Found,
        *,
        more: dict[str, Any] | None = None,
        absent: Iterable[str] = (),
        used: Iterable[str] = (),
    ) -> dict[str, Any]:
        """The core of an object of the file with its `extensions`, the stash among them.

        `more` and `absent` are what the stash must hold besides, `used` the names of marks that were dealt with.
        """
        others, marks, stash = _split_extensions(raw)
        if marks:
            core = self.values(raw, setting)
            unused = self.apply_marks(core, raw, marks, setting)
            self._report_unless_marked(core, raw, setting, found)
            for name in used:
                unused.pop(name, None)
        else:
            core, unused = self.values(raw, setting, found), {}
        other, lacking = difference(raw, self.base(core), [key for group in self.groups for key in group.keys])
        stash = {**other, **(more or {}), **stash}
        lacking += absent
        if lacking:
            stash["absent"] = lacking
        unknown = {key: value for key, value in raw.items() if key not in self.known}
        if unknown:
            stash["unknown"] = {**unknown, **stash.get("unknown", {})}
        own = self._whole_stash(stash, unused)
        if own is not MISSING:
            others[NAMESPACE] = own
        if others:
            core["extensions"] = others
        return core

    def _report_unless_marked(self, core: dict[str, Any], raw: dict[str, Any], setting: Setting, found: Found) -> None:
        """Report on the values that are read as they stand; of those that marks overrule there is nothing to say."""
        for group in self.groups:
            if all(same_json(core.get(key), value) for key, value in group.read(raw, setting, _unheard).items()):
                group.read(raw, setting, found)

    def apply_marks(
        self, core: dict[str, Any], raw: dict[str, Any], marks: dict[str, Any], setting: Setting
    ) -> dict[str, Any]:
        """Let the marks say what the core is, where the object is still the one that was written with them.

        Changes the core; gives the marks that were of no use.
        """
        unused = dict(marks)
        raw_key, core_key, mark = self.date
        if marks.get(mark) is True and same_json(raw.get(raw_key), 0):
            core.pop(core_key, None)
            del unused[mark]
        said = marks.get("core")
        if not isinstance(said, dict) or not said:
            return unused
        stale = {key: value for key, value in said.items() if key in self.aside}
        grouped = set(self.aside)
        for group in self.groups:
            grouped.update(group.says)
            part = {key: said[key] for key in group.says if key in said}
            stale.update(self._apply_part(core, raw, group, part, setting))
        others = {key: value for key, value in said.items() if key not in grouped}
        stale.update(self._apply_part(core, raw, None, others, setting))
        if stale:
            unused["core"] = stale
        else:
            del unused["core"]
        return unused

    def _apply_part(
        self, core: dict[str, Any], raw: dict[str, Any], group: Group | None, part: dict[str, Any], setting: Setting
    ) -> dict[str, Any]:
        """Let values of the mark `core` say what the core is; gives those that are nothing new, or impossible."""
        news = {
            key: value
            for key, value in part.items()
            if isinstance(value, self.kinds.get(key, object)) and not same_json(core.get(key), value)
        }
        changed = {key: value for key, value in {**core, **news}.items() if value is not None}
        if not news or not self.fits(changed, setting) or not self._still_written(group, changed, raw):
            return part
        core.clear()
        core.update(changed)
        return {key: value for key, value in part.items() if key not in news}

    def _still_written(self, group: Group | None, core: dict[str, Any], raw: dict[str, Any]) -> bool:
        if group is None:
            return True
        base = self.base(core)
        return all(same_json(base.get(key, MISSING), raw.get(key, MISSING)) for key in group.keys)

    def _whole_stash(self, stash: dict[str, Any], unused: dict[str, Any]) -> Any:
        """The stash, with what the mark `stash` held and the unused marks; MISSING when there is nothing."""
        former = unused.get("stash", MISSING)
        if isinstance(former, dict) and former and not (former.keys() & self.stash_keys):
            unused = {key: value for key, value in unused.items() if key != "stash"}
            stash = {**stash, **former}
        elif former is not MISSING and not (isinstance(former, dict) and former) and not stash and len(unused) == 1:
            return former
        if unused:
            return {**stash, "extensions": unused}
        return stash or MISSING

    # -- writing -----------------------------------------------------------------------------------------------

    def put(self, core: dict[str, Any], setting: Setting) -> dict[str, Any]:
        """The object of the file for a core; unknown keys and `extensions` come last.

        `setting` is the one in which the object will be read again.
        """
        extensions = core.get("extensions")
        stash = own_part(extensions)
        raw = self._with_raw_forms(self.base(core), core, stash, setting)
        marks = {**self._marks(raw, core, setting), **self._foreign_stash(extensions)}
        former = self._former_marks(raw, core, stash, marks, setting)
        unknown = stash.get("unknown")
        if isinstance(unknown, dict):
            raw.update((key, value) for key, value in unknown.items() if key not in self.known or key == "extensions")
        united = _unite_extensions(extensions, former, marks)
        if united:
            raw["extensions"] = united
        return raw

    def _with_raw_forms(
        self, raw: dict[str, Any], core: dict[str, Any], stash: dict[str, Any], setting: Setting
    ) -> dict[str, Any]:
        absent = stash.get("absent")
        missing = absent if isinstance(absent, list) else ()
        if not stash:
            return raw
        for group in self.groups:
            forms = {key: stash.get(key, MISSING) for key in group.keys if key in stash or key in missing}
            if not forms:
                continue
            said = {key: core[key] for key in group.says if key in core}
            # All of them together if that fits, else each that fits by itself.
            for part in [forms, *({key: form} for key, form in forms.items() if len(forms) > 1)]:
                trial = {key: value for key, value in {**raw, **part}.items() if value is not MISSING}
                if group.read(trial, setting, _unheard) == said:
                    raw = trial
        return raw

    def _marks(self, raw: dict[str, Any], core: dict[str, Any], setting: Setting) -> dict[str, Any]:
        """What has to be written beside the object, so that reading gives the core again."""
        seen = self.values(raw, setting)
        said = {key: core.get(key) for key in self._unlike(core, seen)}
        raw_key, core_key, mark = self.date
        marks: dict[str, Any] = {}
        if said.get(core_key, MISSING) is None and same_json(raw.get(raw_key), 0):
            del said[core_key]
            marks[mark] = True
        return {**marks, "core": said} if said else marks

    def _unlike(self, core: dict[str, Any], other: dict[str, Any]) -> list[str]:
        """Keys under which two cores differ; null is the same as no value (A9)."""
        return [
            key
            for key in dict.fromkeys([*core, *other])
            if key not in self.aside and not same_json(core.get(key), other.get(key))
        ]

    def _foreign_stash(self, extensions: Any) -> dict[str, Any]:
        """The mark for what stands in our part of the pivot's extensions without being a stash: it comes back, too."""
        own = extensions.get(NAMESPACE, MISSING) if isinstance(extensions, dict) else MISSING
        if own is MISSING:
            return {}
        if not isinstance(own, dict) or not own:
            return {"stash": own}
        rest = {key: value for key, value in own.items() if key not in self.stash_keys}
        return {"stash": rest} if rest else {}

    def _former_marks(
        self, raw: dict[str, Any], core: dict[str, Any], stash: dict[str, Any], marks: dict[str, Any], setting: Setting
    ) -> Any:
        """What stood under our key in the file, unless it would now say what the core does not; MISSING without any."""
        former = stash.get("extensions", MISSING)
        names = {self.date[2], "core"}
        if isinstance(former, dict) and former.keys() & names:
            seen = self.values(raw, setting)
            self.apply_marks(seen, raw, _united_marks(former, marks), setting)
            if self._unlike(core, seen):
                return {key: value for key, value in former.items() if key not in names}
        return former


def _split_extensions(raw: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The `extensions` of an object of the file: other apps' parts, the marks, and what of it goes to the stash.

    To the stash go, as an unknown key, an object that is none or empty, and a part of ours that is none or empty.
    """
    extensions = raw.get("extensions", MISSING)
    if extensions is MISSING:
        return {}, {}, {}
    if not isinstance(extensions, dict) or not extensions:
        return {}, {}, {"unknown": {"extensions": extensions}}
    others = {key: value for key, value in extensions.items() if key != NAMESPACE}
    marks = extensions.get(NAMESPACE, MISSING)
    if marks is MISSING:
        return others, {}, {}
    return (others, marks, {}) if isinstance(marks, dict) and marks else (others, {}, {"extensions": marks})


def _unite_extensions(extensions: Any, former: Any, marks: dict[str, Any]) -> dict[str, Any]:
    """The `extensions` of an object of the file: other apps' parts, what stood under our key, and the marks."""
    others = dict(extensions) if isinstance(extensions, dict) else {}
    others.pop(NAMESPACE, None)
    if former is not MISSING:
        others[NAMESPACE] = _united_marks(former, marks) if isinstance(former, dict) else marks or former
    elif marks:
        others[NAMESPACE] = marks
    return others


def _united_marks(former: dict[str, Any], marks: dict[str, Any]) -> dict[str, Any]:
    """Marks beside such as were of no use, the values under `core` one by one."""
    united = {**former, **marks}
    if isinstance(former.get("core"), dict) and "core" in marks:
        united["core"] = {**former["core"], **marks["core"]}
    return united
