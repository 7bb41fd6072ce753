"""`loomconv formats`."""

from __future__ import annotations

import sys
from typing import Any

import click

from loomconv.capabilities import ANY
from loomconv.cli import statuses
from loomconv.cli.parameters import complete_format
from loomconv.cli.terminal import columns, neutralised, paint, print_data, print_json
from loomconv.format import Format
from loomconv.registry import default_registry

__all__ = ["command"]

_EPILOG = f"""\b
Examples:
  loomconv formats
  loomconv formats openloom-1
      What one format can hold, and its options.
  loomconv formats --json

{statuses.READING_TABLE}"""


@click.command("formats", short_help="List the installed formats and what they hold.", epilog=_EPILOG)
@click.argument("name", required=False, shell_complete=complete_format, metavar="[FORMAT]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(name: str | None, as_json: bool) -> int:
    """List what is installed, what each format can read and write, and what its files hold."""
    registry = default_registry()
    chosen = [registry.format(name)] if name else [registry.formats[each] for each in sorted(registry.formats)]
    if as_json:
        print_json({"formats": [describe(each) for each in chosen]})
    elif name:
        _print_one(chosen[0])
    else:
        _print_table(chosen)
    return statuses.DONE


def describe(chosen: Format) -> dict[str, Any]:
    """A format as a JSON object."""
    return {
        "name": chosen.name,
        "title": chosen.title,
        "suffixes": list(chosen.suffixes),
        "reads": chosen.reads,
        "writes": chosen.writes,
        "media_type": chosen.media_type,
        "capabilities": chosen.capabilities.to_json(),
        "options": [
            {
                "name": option.name,
                "flag": f"--{chosen.name}-{option.name}",
                "help": option.help,
                "choices": list(option.choices),
                "default": option.default,
                "applies_to": option.applies_to,
            }
            for option in chosen.options
        ],
    }


def _print_table(formats: list[Format]) -> None:
    if not formats:
        print_data("no format is installed")
        return
    rows = [("name", "title", "can", "suffixes", "holds")]
    rows += [(each.name, each.title, _abilities(each), " ".join(each.suffixes), _holds(each)) for each in formats]
    lines = columns([tuple(map(neutralised, row)) for row in rows])
    print_data(paint(lines[0], sys.stdout, bold=True))
    for line in lines[1:]:
        print_data(line)


def _abilities(chosen: Format) -> str:
    return ", ".join(name for name, can in (("read", chosen.reads), ("write", chosen.writes)) if can)


def _holds(chosen: Format) -> str:
    """The heart of its capabilities in a few words."""
    held = chosen.capabilities
    blocks = "any content" if held.blocks == ANY else ", ".join(held.blocks)
    return (
        f"{held.trees} tree{'s' * (held.trees == 'many')}, {held.roots} root{'s' * (held.roots == 'many')}, "
        f"{held.parents} parent{'s' * (held.parents == 'many')}, {blocks}"
    )


def _print_one(chosen: Format) -> None:
    print_data(paint(neutralised(f"{chosen.name}: {chosen.title}"), sys.stdout, bold=True))
    rows = [("can", _abilities(chosen)), ("suffixes", " ".join(chosen.suffixes)), ("media type", chosen.media_type)]
    rows += [(key.replace("_", " "), _shown(value)) for key, value in chosen.capabilities.to_json().items()]
    for line in columns([(f"  {name}", neutralised(value)) for name, value in rows]):
        print_data(line)
    for option in describe(chosen)["options"]:
        print_data(neutralised(f"  {option['flag']} {'|'.join(option['choices'])} (default {option['default']})"))
        print_data(neutralised(f"      {option['help']}"))


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
