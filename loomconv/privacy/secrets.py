"""Finding keys and passwords in plain JSON values: by the name of the key, or by the shape of the text."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from loomconv.report.shown import looks_secret

__all__ = ["drop_secrets"]

# Names as they end, without case, underscores and hyphens.
_NAME_ENDS = ("apikey", "password", "passwd", "passphrase", "secretkey", "clientsecret", "privatekey")
_NAMES = frozenset(
    {
        "accesstoken",
        "apisecret",
        "apitoken",
        "authorization",
        "authtoken",
        "bearertoken",
        "cookie",
        "refreshtoken",
        "secret",
        "sessiontoken",
        "setcookie",
        "xapikey",
    }
)
# Evidence of a generation is kept as it is (OL2-5-verbatim), also where a whole node or its former values are set
# aside; leaving it out is a switch of its own.
_HOLDERS_OF_EVIDENCE = frozenset({"residue", "node", "original"})


_CONTAINERS = (dict, list)
# Shorter texts have the shape of no key, and longer names are not worth remembering.
_SHORTEST = 15
_LONGEST_REMEMBERED = 64


def _is_secret(key: str, value: str) -> bool:
    text = value.strip()
    return bool(text) and ((len(text) >= _SHORTEST and looks_secret(text)) or _names_secret(key))


def _names_secret(key: str) -> bool:
    """Whether what stands under the key is a secret by its name."""
    return _has_secret_name(key) if len(key) > _LONGEST_REMEMBERED else _remembered_name(key)


def _has_secret_name(key: str) -> bool:
    name = key.lower().replace("_", "").replace("-", "").replace(" ", "").removesuffix("s")
    return name in _NAMES or name.endswith(_NAME_ENDS)


# Nodes have the same keys over and over.
_remembered_name = lru_cache(maxsize=1024)(_has_secret_name)


def drop_secrets(value: Any, *, keep: bool = False) -> tuple[Any, list[str]]:
    """The value without keys and passwords, and JSON pointers to where they stood.

    The very same object comes back when there are none; otherwise the containers on the way to each are copied. With
    `keep` they are only found. A node's `generation` that is set aside in a residue is passed over. Iterative, linear.
    """
    places: list[tuple[str | int, ...]] = []
    stack: list[tuple[Any, tuple[Any, ...] | None]] = [(value, None)]
    while stack:
        current, trail = stack.pop()
        if isinstance(current, dict):
            for key, item in current.items():
                if len(key) >= _SHORTEST and looks_secret(key.strip()):
                    places.append(_unroll((trail, key)))
                elif isinstance(item, str):
                    if _is_secret(key, item):
                        places.append(_unroll((trail, key)))
                elif isinstance(item, _CONTAINERS):
                    evidence = key == "generation" and trail is not None and trail[1] in _HOLDERS_OF_EVIDENCE
                    if item and not evidence:
                        stack.append((item, (trail, key)))
        elif isinstance(current, list):
            name = trail[1] if trail is not None else ""
            for position, item in enumerate(current):
                if isinstance(item, str):
                    if _is_secret(name if isinstance(name, str) else "", item):
                        places.append(_unroll((trail, position)))
                elif item and isinstance(item, _CONTAINERS):
                    stack.append((item, (trail, position)))
    if not places:
        return value, []
    # Where two places part they are in one container, so that only like steps are compared.
    places.sort()
    if not keep:
        value = _without(value, places)
    return value, ["".join(f"/{_escape(step)}" for step in place) for place in places]


def _unroll(trail: tuple[Any, ...] | None) -> tuple[str | int, ...]:
    steps: list[str | int] = []
    while trail is not None:
        trail, step = trail
        steps.append(step)
    steps.reverse()
    return tuple(steps)


def _without(value: Any, places: list[tuple[str | int, ...]]) -> Any:
    # Ids of the copies that were made. A container that stands in two places gets a copy for each.
    fresh: set[int] = set()

    def copied(container: Any) -> Any:
        if id(container) in fresh:
            return container
        copy = dict(container) if isinstance(container, dict) else list(container)
        fresh.add(id(copy))
        return copy

    result = copied(value)
    # From the end, so that positions in lists hold until their turn comes.
    for place in reversed(places):
        container = result
        for step in place[:-1]:
            container[step] = copied(container[step])
            container = container[step]
        del container[place[-1]]
    return result


def _escape(step: str | int) -> str:
    if isinstance(step, str) and looks_secret(step.strip()):
        return "…"
    return str(step).replace("~", "~0").replace("/", "~1")
