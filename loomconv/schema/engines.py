"""`jsonschema` and `jsonschema-rs` behind one call: a value in, faults out, the same ones from both."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple, TypeVar

from loomconv.errors import LimitExceeded, PluginFault, UsageFault

__all__ = ["Bulk", "FastCheck", "RawFault", "ReferenceCheck", "engines"]

# Which engine: the fast one if there is one, always the reference, or an error when there is no fast one.
Bulk = Literal["auto", "reference", "fast"]


# How deep a value may be under a schema that recurses. Both engines recurse with it: the reference takes some 3 frames
# of Python's 1,000 a level (and its own containers crash when these run out), the fast one has the machine's stack.
_MOST_LEVELS = 100

_ODD_KEY = re.compile(r"|\+[0-9]+|0[0-9]+")


class RawFault(NamedTuple):
    """A fault, ordered by its place: list positions count as numbers and come before keys."""

    order: tuple[tuple[int, int, str], ...]
    keyword: str
    message: str
    path: tuple[str | int, ...]


# Give the faults of a value; the fast engine gives None for a value that it cannot take.
FastCheck = Callable[[Any], "list[RawFault] | None"]
ReferenceCheck = Callable[[Any], list[RawFault]]

_Answer = TypeVar("_Answer")


def _raw(path: Iterable[str | int], keyword: str, around: Any, key: str) -> RawFault:
    """A fault; `around` is the part of the schema that has the keyword, `key` a required key that is missing."""
    steps = tuple(path)
    order = tuple((0, step, "") if isinstance(step, int) else (1, 0, step) for step in steps)
    return RawFault(order, keyword, _say(keyword, around if isinstance(around, dict) else {}, key), steps)


_KINDS = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "text",
}

_PHRASES = {
    "additionalProperties": "has a key that the schema does not know",
    "pattern": "must have the form {}",
    "propertyNames": "has a key that is not allowed",
    "const": "must be {}",
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "minItems": "must have at least {} items",
    "maxItems": "must have at most {} items",
    "minProperties": "must have at least {} keys",
    "maxProperties": "must have at most {} keys",
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be more than {}",
    "exclusiveMaximum": "must be less than {}",
}


def _say(keyword: str, around: dict[str, Any], key: str) -> str:
    """What the schema asks for, in words; only the schema is quoted."""
    expected = around.get(keyword)
    if keyword == "type":
        names = [expected] if isinstance(expected, str) else expected or []
        return "must be " + " or ".join(_KINDS[name] for name in names)
    if keyword == "required":
        return f"lacks the key {key!r}"
    if keyword == "enum":
        return "must be one of " + ", ".join(map(repr, expected or []))
    if expected == 1 and keyword in ("minLength", "minItems", "minProperties"):
        return "must not be empty"
    if keyword == "not" and isinstance(expected, dict) and "const" in expected:
        return f"must not be {expected['const']!r}"
    if keyword == "pattern" and around.get("examples"):
        return f"must have a form such as {around['examples'][0]}"
    phrase = _PHRASES.get(keyword)
    if phrase is None:
        return f"breaks the schema's rule {keyword!r}"
    return phrase.format(repr(expected) if keyword == "const" else expected)


# By engine, schema id and definition: the schema that was compiled, and what came of it. One entry per schema and
# definition in use, hence small.
_compiled: dict[tuple[str, Any, str | None], tuple[Mapping[str, Any], Any]] = {}


def engines(schema: Mapping[str, Any], def_name: str | None, bulk: Bulk) -> tuple[FastCheck | None, ReferenceCheck]:
    """The checks for a schema or one of its definitions; the fast one is None when it is not there or not wanted.

    Each schema is compiled once in a process, and by the reference engine only when that is needed.
    """
    recursive = _once("recursive", schema, def_name, _is_recursive)
    fast: FastCheck | None = None
    if bulk != "reference":
        if _fast_library() is not None:
            fast = _once("fast", schema, def_name, _fast_engine)
        elif bulk == "fast":
            raise UsageFault("the fast schema engine is not installed", next_step="Install loomconv[fast].")

    def reference(instance: Any) -> list[RawFault]:
        faults: list[RawFault] = _once("reference", schema, def_name, _reference_engine)(instance)
        return faults

    return (fast, reference) if not recursive else (fast and _guarded(fast), _guarded(reference))


def _guarded(check: Callable[[Any], _Answer]) -> Callable[[Any], _Answer]:
    """The check, with a limit on depth."""

    def guarded(instance: Any) -> _Answer:
        if _is_deeper(instance, _MOST_LEVELS):
            raise LimitExceeded(
                "the value is nested too deeply to be checked against its schema as a whole",
                next_step="Check its nodes one by one.",
            )
        return check(instance)

    return guarded


def _once(engine: str, schema: Mapping[str, Any], def_name: str | None, build: Callable[[dict[str, Any]], Any]) -> Any:
    key = (engine, schema.get("$id", id(schema)), def_name)
    known = _compiled.get(key)
    if known is None or (known[0] is not schema and known[0] != schema):
        known = _compiled[key] = (schema, build(_part(schema, def_name)))
    return known[1]


def _part(schema: Mapping[str, Any], def_name: str | None) -> dict[str, Any]:
    """The schema, or its one definition with all definitions beside it so that references still resolve."""
    if def_name is None:
        return dict(schema)
    if def_name not in schema.get("$defs", {}):
        raise PluginFault(f"the schema {schema.get('$id', '')} has no definition {def_name!r}")
    part = {key: schema[key] for key in ("$schema", "$id", "$defs") if key in schema}
    return {**part, "$ref": f"#/$defs/{def_name}"}


@cache
def _fast_library() -> Any:
    try:
        import jsonschema_rs
    except ImportError:
        return None
    return jsonschema_rs


def _refuse(uri: str) -> Any:
    raise PluginFault(f"the schema refers to another document ({uri}), which is never fetched")


def _fast_engine(schema: dict[str, Any]) -> FastCheck:
    try:
        validator = _fast_library().Draft202012Validator(schema, retriever=_refuse)
    except ValueError as error:
        raise PluginFault(f"the schema {schema.get('$id', '')} cannot be used: {str(error).splitlines()[0]}") from error

    def check(instance: Any) -> list[RawFault] | None:
        try:
            if validator.is_valid(instance):
                return []
            errors = list(validator.iter_errors(instance))
        except (ValueError, OverflowError):  # UnicodeEncodeError is a ValueError, too
            return None
        odd: dict[int, bool] = {}
        faults: dict[RawFault, None] = {}
        for error in errors:
            path = _true_path(instance, error.instance_path, odd)
            # Of a schema that is just `false` the two say different things.
            if path is None or type(error.kind).__name__ == "FalseSchema":
                return None
            faults[_fast_fault(schema, path, error)] = None
        return list(faults)

    return check


def _is_recursive(schema: dict[str, Any]) -> bool:
    """Whether following the schema's references can go on without end, so that its depth is that of the value."""
    reachable: dict[str, set[str]] = {}
    waiting = list(_references(schema))
    while waiting:
        reference = waiting.pop()
        if not reference.startswith("#/"):
            return True
        if reference not in reachable:
            reachable[reference] = _references(_target(schema, reference))
            waiting.extend(reachable[reference])
    # What refers only to ends is an end itself; what is left when no more ends turn up goes in circles.
    while ends := {reference for reference, further in reachable.items() if not further & reachable.keys()}:
        for reference in ends:
            del reachable[reference]
    return bool(reachable)


def _references(schema: Any) -> set[str]:
    """The references in a schema, its `$defs` aside."""
    found: set[str] = set()
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            found.update(part[key] for key in ("$ref", "$dynamicRef") if isinstance(part.get(key), str))
            waiting.extend(held for key, held in part.items() if key != "$defs")
        elif isinstance(part, list):
            waiting.extend(part)
    return found


def _is_deeper(value: Any, levels: int) -> bool:
    """Whether lists and objects are nested in more than so many levels."""
    layer = [value]
    for _ in range(levels + 1):
        layer = [
            below
            for held in layer
            if isinstance(held, dict | list)
            for below in (held.values() if isinstance(held, dict) else held)
            if isinstance(below, dict | list)
        ]
        if not layer:
            return False
    return True


def _true_path(instance: Any, path: Iterable[str | int], odd: dict[int, bool]) -> list[str | int] | None:
    """A path of jsonschema-rs with keys that are keys again, or None when it cannot be told.

    Version 0.61 gives a key that reads as a number as a number, without its sign or zeros, and leaves empty keys out.
    `odd` remembers which objects have keys that cannot be told from others.
    """
    steps: list[str | int] = []
    for step in path:
        if isinstance(instance, dict):
            if id(instance) not in odd:
                odd[id(instance)] = any(_ODD_KEY.fullmatch(key) for key in instance)
            step = str(step)
            if odd[id(instance)] or step not in instance:
                return None
        steps.append(step)
        instance = instance[step]
    return None if isinstance(instance, dict) and "" in instance else steps


def _fast_fault(schema: dict[str, Any], path: list[str | int], error: Any) -> RawFault:
    where = list(error.schema_path)
    if type(error.kind).__name__ == "PropertyNames":
        return _raw(path, "propertyNames", schema, "")
    around: Any = schema
    for step in where[:-1]:
        around = around[step]
        if step == "$ref":
            around = _target(schema, around)
    return _raw(path, str(where[-1]), around, getattr(error.kind, "property", ""))


def _target(schema: dict[str, Any], reference: str) -> Any:
    """What a reference inside the schema names."""
    target: Any = schema
    try:
        for step in reference.partition("#/")[2].split("/"):
            target = target[step.replace("~1", "/").replace("~0", "~")]
    except (LookupError, TypeError) as error:
        raise PluginFault(f"the schema {schema.get('$id', '')} has a reference that leads nowhere") from error
    return target


def _reference_engine(schema: dict[str, Any]) -> ReferenceCheck:
    from jsonschema.exceptions import SchemaError
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    validators = _reference_class()
    try:
        validators.check_schema(schema)
    except SchemaError as error:
        raise PluginFault(f"the schema {schema.get('$id', '')} is not valid: {error.message}") from error
    # An empty registry: a reference to another document is an error and never a download.
    validator = validators(schema, registry=Registry())

    def check(instance: Any) -> list[RawFault]:
        try:
            return [
                _raw(error.absolute_path, error.validator or "false", error.schema, error.message)
                for error in validator.iter_errors(instance)
            ]
        except Unresolvable as error:
            raise PluginFault(f"the schema {schema.get('$id', '')} has a reference that leads nowhere") from error

    return check


def _same(value: Any, option: Any) -> bool:
    return isinstance(value, bool) is isinstance(option, bool) and bool(value == option)


@cache
def _python_pattern(pattern: str) -> re.Pattern[str]:
    """An ECMA-262 pattern for Python, whose `$` would also match before a last line feed."""
    if pattern.endswith("$") and not pattern.endswith("\\$"):
        pattern = pattern[:-1] + r"\Z"
    return re.compile(pattern)


# The library's own functions put the offending value into their messages; with a value of many megabytes or levels
# that costs time or fails. These say nothing, since `_say` finds the words.
_HOLDS: dict[str, Callable[[Any, Any, Any], bool]] = {
    "type": lambda v, kinds, x: any(v.is_type(x, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)),
    "const": lambda v, value, x: _same(x, value),
    "enum": lambda v, values, x: any(_same(x, value) for value in values),
    "pattern": lambda v, pattern, x: not isinstance(x, str) or _python_pattern(pattern).search(x) is not None,
    "minLength": lambda v, least, x: not isinstance(x, str) or len(x) >= least,
    "maxLength": lambda v, most, x: not isinstance(x, str) or len(x) <= most,
    "minItems": lambda v, least, x: not isinstance(x, list) or len(x) >= least,
    "maxItems": lambda v, most, x: not isinstance(x, list) or len(x) <= most,
    "minProperties": lambda v, least, x: not isinstance(x, dict) or len(x) >= least,
    "maxProperties": lambda v, most, x: not isinstance(x, dict) or len(x) <= most,
    "not": lambda v, schema, x: not v.evolve(schema=schema).is_valid(x),
    "propertyNames": lambda v, schema, x: (
        not isinstance(x, dict) or all(v.evolve(schema=schema).is_valid(name) for name in x)
    ),
}


@cache
def _reference_class() -> Any:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError
    from jsonschema.validators import extend

    def leaf(holds: Callable[[Any, Any, Any], bool]) -> Callable[..., Iterator[Any]]:
        def keyword(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
            if not holds(validator, value, instance):
                yield ValidationError("")

        return keyword

    def required(validator: Any, names: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(instance, dict):
            for name in names:
                if name not in instance:
                    yield ValidationError(name)

    leaves = {name: leaf(holds) for name, holds in _HOLDS.items()}
    return extend(Draft202012Validator, {**leaves, "required": required})  # type: ignore[no-untyped-call]
