"""Exceptions that a plugin's code raises: whose fault they are, and how they are told without the file's words."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from loomconv.errors import LoomconvError, PluginFault
from loomconv.format import Format

__all__ = ["is_of_the_file", "plugin_at_work", "told_briefly"]

_HUB: Final = Path(__file__).parents[1]


def is_of_the_file(error: Exception) -> bool:
    """Whether the exception speaks of the user's file or machine, and is no fault of the plugin that raised it."""
    if isinstance(error, LoomconvError):
        return not isinstance(error, PluginFault)
    return isinstance(error, OSError | MemoryError)


def told_briefly(error: Exception) -> str:
    """The exception's type and the plugin's line that raised it; its words may quote the file, and are not repeated."""
    if isinstance(error, PluginFault):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return type(error).__name__
    frame = next((each for each in reversed(frames) if not Path(each.filename).is_relative_to(_HUB)), frames[-1])
    path = Path(frame.filename)
    # `__init__.py` says nothing without its folder.
    shown = path.name if path.stem != "__init__" else f"{path.parent.name}/{path.name}"
    return f"{type(error).__name__} at {shown} line {frame.lineno}"


@contextmanager
def plugin_at_work(chosen: Format, plugin: str, doing: str, source: str | None) -> Iterator[None]:
    """Whatever a format's own code raises in here is told as its plugin's fault: PluginFault with `source` as the file.

    `doing` says what the format does, such as "reading".
    """
    try:
        yield
    except PluginFault as error:
        error.message = f"the format {chosen.name} of the plugin {plugin!r} failed while {doing}: {error.message}"
        error.source = error.source or source
        raise
    except LoomconvError as error:
        error.source = error.source or source
        raise
    except Exception as error:
        if is_of_the_file(error):
            raise
        raise PluginFault(
            f"the format {chosen.name} of the plugin {plugin!r} failed while {doing} ({told_briefly(error)})",
            source=source,
            next_step="Tell the plugin's author; LOOMCONV_DEBUG=1 shows the traceback.",
        ) from error
