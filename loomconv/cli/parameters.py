"""Options that several commands share, and those that formats bring."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

import click
from click.shell_completion import CompletionItem

from loomconv.errors import UsageFault
from loomconv.model.times import format_ms, to_ms
from loomconv.options import ConversionOptions
from loomconv.privacy import PARTS
from loomconv.registry import default_registry
from loomconv.storage import Limits

__all__ = [
    "FILE",
    "ConvertingCommand",
    "ReadingCommand",
    "assume_timezone",
    "complete_format",
    "exported_at",
    "findings",
    "keep_secrets",
    "limits",
    "make_options",
    "media",
    "media_root",
    "parsed_size",
    "residue",
    "source_format",
    "without",
]

_FORMAT_OPTIONS: Final = "loomconv.format_options"
_ZONE: Final = re.compile(r"([+-])([01][0-9]):?([0-5][0-9])")
_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])

# A path or `-`; whether it can be read or written is found out, and explained, when that is tried.
FILE: Final = click.Path(allow_dash=True)


def complete_format(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Installed formats whose names begin as typed. (An unknown one is refused by the registry, naming the known.)"""
    formats = default_registry().formats
    return [CompletionItem(name, help=formats[name].title) for name in sorted(formats) if name.startswith(incomplete)]


def _zone(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is None:
        return None
    if value.upper() in ("Z", "UTC"):
        return "+00:00"
    found = _ZONE.fullmatch(value)
    if found is None or int(found[2]) > 14:
        raise click.BadParameter("a zone is written like +02:00 or -05:30.", ctx, param)
    return f"{found[1]}{found[2]}:{found[3]}"


def _moment(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is None:
        return _moment_of_environment()
    milliseconds = to_ms(value)
    moment = None if milliseconds is None else format_ms(milliseconds)
    if moment is None:
        raise click.BadParameter("a time is written like 2026-03-01T18:00:00Z, with its zone.", ctx, param)
    return moment


def _moment_of_environment() -> str | None:
    """SOURCE_DATE_EPOCH as a time: seconds since 1970, for reproducible builds."""
    text = os.environ.get("SOURCE_DATE_EPOCH", "").strip()
    if not text:
        return None
    moment = format_ms(int(text) * 1000) if text.isdecimal() and len(text) < 16 else None
    if moment is None:
        raise click.UsageError("SOURCE_DATE_EPOCH is no number of seconds since 1970.")
    return moment


def _number(ctx: click.Context, param: click.Parameter, value: str) -> int | None:
    if value == "all":
        return None
    if not value.isdecimal() or not 0 < len(value) < 16 or int(value) < 1:
        raise click.BadParameter("a number from 1 on, or `all`.", ctx, param)
    return int(value)


def parsed_size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """A size with its unit, in bytes, as a callback of an option."""
    if value is None:
        return None
    try:
        return Limits.parse([f"document-bytes={value}"]).document_bytes
    except UsageFault:
        raise click.BadParameter("a size is written like 2GiB or 800MB.", ctx, param) from None


def _parts(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> frozenset[str]:
    parts = frozenset(part.strip() for value in values for part in value.split(",") if part.strip())
    unknown = sorted(parts - PARTS.keys())
    if unknown:
        raise click.BadParameter(f"unknown: {', '.join(unknown)}. Known parts: {', '.join(PARTS)}.", ctx, param)
    return parts


source_format = click.option(
    "--from",
    "source_format",
    shell_complete=complete_format,
    metavar="FORMAT",
    help="Read it as this format, instead of detecting.",
)
limits = click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="NAME=VALUE",
    help="Change a safety limit (document-bytes=2GiB, ratio=500:1) or switch it off (nesting=none). Repeatable.",
)
assume_timezone = click.option(
    "--assume-timezone",
    callback=_zone,
    metavar="±HH:MM",
    help="The zone of times that have none. Without it they are kept, but not understood.",
)
keep_secrets = click.option(
    "--keep-secrets", is_flag=True, help="Keep API keys and passwords that the file holds; otherwise they are left out."
)
residue = click.option(
    "--residue",
    type=click.Choice(["embed", "beside", "none"]),
    default="embed",
    show_default=True,
    help="Where to keep what the target cannot hold: in the file, out of the app's sight (beside it where that is not "
    "possible); in DST.loomconv-residue.json beside it; or nowhere, so that it is lost.",
)
without = click.option(
    "--without",
    multiple=True,
    callback=_parts,
    metavar="PARTS",
    help=f"Leave private parts out, separated by commas: {', '.join(PARTS)}. Repeatable.",
)
exported_at = click.option(
    "--exported-at",
    callback=_moment,
    metavar="TIME",
    help="Record this time of the export. Default: SOURCE_DATE_EPOCH, else none, so that output is reproducible.",
)


media_root = click.option(
    "--media-root",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    metavar="DIR",
    help="Look here, too, for pictures and sounds that the file names; else only in its own folder.",
)
_media_mode = click.option(
    "--media",
    type=click.Choice(["auto", "bundle", "inline", "beside", "keep", "drop"]),
    default="auto",
    show_default=True,
    help="Where pictures and sounds go: into a ZIP with the document, into the document, to files in DST.media beside "
    "it, or nowhere (their text stands for them); `keep` leaves references as they are. auto: a bundle for names that "
    "end with .zip, else what the target needs.",
)
_image_sizes = click.option(
    "--image-sizes", "fill_image_sizes", is_flag=True, help="Add width and height to images that lack both."
)


def media(command: _Decorated) -> _Decorated:
    """The options about pictures and sounds."""
    return _media_mode(media_root(_image_sizes(command)))


def findings(default: int) -> Callable[[_Decorated], _Decorated]:
    """The option that says how many findings of one code are kept."""
    return click.option(
        "--findings",
        "findings_limit",
        callback=_number,
        default=str(default),
        show_default=True,
        metavar="N|all",
        help="How many findings of one kind are listed one by one; the counts are always complete.",
    )


def make_options(given: dict[str, Any], **more: Any) -> ConversionOptions:
    """The options of the hub from a command's parameters (those that are its own are passed over) and `more`.

    Raises UsageFault for a limit that cannot be read.
    """
    known = ConversionOptions.__dataclass_fields__.keys()
    chosen = {name: value for name, value in given.items() if name in known and value is not None}
    chosen["limits"] = Limits.parse(given.get("limits") or ())
    if "findings_limit" in given:
        chosen["findings_limit"] = given["findings_limit"]
    chosen["format_options"] = click.get_current_context().meta.get(_FORMAT_OPTIONS, {})
    return ConversionOptions(**chosen, **more)


# -- options of formats --------------------------------------------------------------------------------------------


class ReadingCommand(click.Command):
    """A command with the reading options of all installed formats: `--<format>-<name>`."""

    applies_to: ClassVar[tuple[str, ...]] = ("read",)

    @cached_property
    def of_formats(self) -> list[click.Option]:
        """The formats' options; made when the command's parameters are first asked for."""
        formats = default_registry().formats
        return [
            _option_of(name, option)
            for name in sorted(formats)
            for option in formats[name].options
            if option.applies_to in self.applies_to
        ]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The command's own parameters, the formats' options, and `--help`."""
        own = super().get_params(ctx)
        return [*own[:-1], *self.of_formats, *own[-1:]]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The formats' options under a heading of their own."""
        theirs = {id(option) for option in self.of_formats}
        for heading, is_theirs in (("Options", False), ("Options of formats", True)):
            records = [
                record
                for parameter in self.get_params(ctx)
                if isinstance(parameter, click.Option)
                and (id(parameter) in theirs) == is_theirs
                and (record := parameter.get_help_record(ctx)) is not None
            ]
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


class ConvertingCommand(ReadingCommand):
    """A command with the reading and the writing options of all installed formats."""

    applies_to = ("read", "write")


def _option_of(format_name: str, option: Any) -> click.Option:
    def keep(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
        if value is not None:
            ctx.meta.setdefault(_FORMAT_OPTIONS, {}).setdefault(format_name, {})[option.name] = value

    return click.Option(
        [f"--{format_name}-{option.name}"],
        type=click.Choice(option.choices),
        help=f"{option.help} Default: {option.default}.",
        expose_value=False,
        callback=keep,
    )
