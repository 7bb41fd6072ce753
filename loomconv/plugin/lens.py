"""Reading and writing one object without losing what the core has no word for.

An object of a file says more than the core of an OpenLoom node: unknown keys, odd values, keys in an order of its own.
`Lens` keeps the difference in `extensions[namespace]` and puts it back on writing, as long as it still says what the
core says. The laws it keeps are those of docs/lenses.md: writing what was read gives the object that was read, and
reading what was written gives the core that was written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from loomconv import jsontext

__all__ = ["Lens", "same_json"]

Raw = dict[str, Any]

_SET: Final = "set"
_ABSENT: Final = "absent"
_ORDER: Final = "order"
# What stood in the file itself where the stash stands in a document.
_CARRIED: Final = "carried"


def same_json(left: Any, right: Any) -> bool:
    """Whether two JSON values are the same in every letter: 1, 1.0 and true differ, and so do orders of keys."""
    return left is right or jsontext.encode(left) == jsontext.encode(right)


class Lens:
    """The two ways between an object of a file and the core of a document, tree, node or edge.

    `core(raw)` gives what the object says in OpenLoom's words: a dictionary without extensions. It has to answer for
    any values, and says nothing of those that it cannot understand. `base(core)` gives the object that a file would
    have from the core alone. Both are pure, and both get plain JSON values.

    `namespace` is that of the format. `carrier` is the object's key under which the extensions of everybody else
    travel; None when the app would not keep such a key. `inner` are keys whose lists or objects hold further objects,
    which are read and written by themselves: the lens takes them as empty ones.
    """

    def __init__(
        self,
        namespace: str,
        *,
        core: Callable[[Raw], Raw],
        base: Callable[[Raw], Raw],
        carrier: str | None = "extensions",
        inner: Collection[str] = (),
    ) -> None:
        self.namespace = namespace
        self.core = core
        self.base = base
        self.carrier = carrier
        self.inner = frozenset(inner)

    def read(self, raw: Raw) -> Raw:
        """The core, with `extensions`: what others keep in the object, and the difference between object and core."""
        plain = {key: _emptied(value) if key in self.inner else value for key, value in raw.items()}
        others: Raw = {}
        if self.carrier is not None and isinstance(plain.get(self.carrier), dict):
            others = dict(plain.pop(self.carrier))
        carried = [others.pop(self.namespace)] if self.namespace in others else []
        core = self.core(plain)
        stash = _difference(plain, self.base(core))
        if carried:
            stash[_CARRIED] = carried
        if [*self._patched(core, stash)] != [*plain]:
            stash[_ORDER] = [*plain]
        extensions = {**others, **({self.namespace: stash} if stash else {})}
        return {**core, "extensions": extensions} if extensions else core

    def write(self, holder: Mapping[str, Any]) -> Raw:
        """The object for the file: the base of the core, patched by the difference where that still holds."""
        core = {key: value for key, value in holder.items() if key != "extensions"}
        given = holder.get("extensions")
        extensions = dict(given) if isinstance(given, dict) else {}
        stash = extensions.pop(self.namespace, None)
        stash = stash if isinstance(stash, dict) else {}
        raw = self._patched(core, stash)
        carried = stash.get(_CARRIED)
        if isinstance(carried, list) and carried:
            extensions[self.namespace] = carried[0]
        if extensions and self.carrier is not None:
            raw[self.carrier] = extensions
        return raw

    def _patched(self, core: Raw, stash: Raw) -> Raw:
        base = self.base(core)
        changed, absent = stash.get(_SET), stash.get(_ABSENT)
        changed = changed if isinstance(changed, dict) else {}
        absent = [key for key in absent if isinstance(key, str)] if isinstance(absent, list) else []
        if not changed and not absent:
            return _ordered(base, stash.get(_ORDER))
        # All of it together first: values may say the same only with each other.
        whole = {key: value for key, value in {**base, **changed}.items() if key not in absent}
        if self._is_as_true(whole, base, core):
            return _ordered(whole, stash.get(_ORDER))
        for key, value in changed.items():
            trial = {**base, key: value}
            if self._is_as_true(trial, base, core):
                base = trial
        for key in absent:
            trial = {other: value for other, value in base.items() if other != key}
            if self._is_as_true(trial, base, core):
                base = trial
        return _ordered(base, stash.get(_ORDER))

    def _is_as_true(self, trial: Raw, base: Raw, core: Raw) -> bool:
        """Whether the object, when it is read, agrees with the core wherever the base does."""
        said, usual = self.core(trial), self.core(base)
        return all(
            key in said and same_json(said[key], core[key])
            for key in core
            if key in usual and same_json(usual[key], core[key])
        ) and all(key in usual or key in core for key in said)


def _emptied(value: Any) -> Any:
    """The value without what it holds, which is read by itself."""
    if isinstance(value, list):
        return []
    return {} if isinstance(value, dict) else value


def _difference(raw: Raw, base: Raw) -> Raw:
    """What the object says otherwise than the base."""
    changed = {key: value for key, value in raw.items() if key not in base or not same_json(base[key], value)}
    absent = [key for key in base if key not in raw]
    return {**({_SET: changed} if changed else {}), **({_ABSENT: absent} if absent else {})}


def _ordered(raw: Raw, order: Any) -> Raw:
    """The object with its keys in this order, as far as it goes; keys that are not in it come last."""
    if not isinstance(order, list):
        return raw
    first = {key: raw[key] for key in order if isinstance(key, str) and key in raw}
    return {**first, **raw}
