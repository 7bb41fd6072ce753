"""The program: its commands, found when they are called, and what becomes of errors."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import click

from loomconv import __version__
from loomconv.cli import statuses
from loomconv.cli.terminal import hush, neutralised, paint, print_message, tolerate
from loomconv.errors import LoomconvError

__all__ = ["Program", "program"]

# Each is a module of this package with a `command`.
_COMMANDS: Final = (
    "convert",
    "batch",
    "inspect",
    "validate",
    "roundtrip",
    "diff",
    "media",
    "formats",
    "plugin",
    "completion",
)
_DEBUG_VARIABLE: Final = "LOOMCONV_DEBUG"
_PLUGIN_FLAG: Final = "--plugin"


class Program(click.Group):
    """Commands of its own by the table above, and those of plugins, which are asked only when need be."""

    _asked = False

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, the program's own first."""
        self._ask_plugins()
        return [*_COMMANDS, *sorted(self.commands.keys() - set(_COMMANDS))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name; a plugin cannot replace one of the program's own."""
        if cmd_name in _COMMANDS:
            command: click.Command = import_module(f"loomconv.cli.{cmd_name}").command
            return command
        self._ask_plugins()
        return super().get_command(ctx, cmd_name)

    def _ask_plugins(self) -> None:
        if self._asked:
            return
        self._asked = True
        from loomconv.registry import default_registry

        default_registry().call("loomconv_register_commands", cli=self)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a reader of its output who goes away ends it quietly."""
        try:
            status = super().invoke(ctx)
            if sys.stdout is not None:
                sys.stdout.flush()
        except BrokenPipeError:
            hush()
            return statuses.DONE
        return status

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run with the given arguments and exit with the status; without `standalone_mode`, return it."""
        tolerate()
        left_out: dict[str, str] = {}
        try:
            with _with_plugin_files(list(sys.argv[1:] if args is None else args)) as rest:
                try:
                    result = super().main(
                        rest, prog_name or "loomconv", complete_var, standalone_mode=False,
                        windows_expand_args=windows_expand_args, **extra,
                    )  # fmt: skip
                finally:
                    left_out = _broken_plugins()
            status = result if isinstance(result, int) else statuses.DONE
        except Exception as error:
            status = _explain(error)
        except KeyboardInterrupt:
            status = statuses.INTERRUPTED
        # A conversion without a plugin that should have had a say is another one than was asked for.
        for name, reason in left_out.items():
            print_message(neutralised(f"loomconv: the plugin {name} is left out: {reason}"))
        if standalone_mode:
            sys.exit(status)
        return status


def _explain(error: Exception) -> int:
    """Say on stderr what went wrong; gives the exit status."""
    if isinstance(error, click.Abort):
        return statuses.INTERRUPTED
    if isinstance(error, click.ClickException):
        error.show()
        return error.exit_code
    if os.environ.get(_DEBUG_VARIABLE):
        traceback.print_exception(error)
    if isinstance(error, LoomconvError):
        _say(str(error))
        return statuses.status_of(error)
    if isinstance(error, MemoryError):
        _say("there is not enough memory for this file")
        return statuses.FAILED
    if isinstance(error, OSError) and error.strerror:
        _say(f"the system says: {error.strerror}")
        return statuses.FAILED
    # The exception's own words may quote the file, and are not shown.
    step = "" if os.environ.get(_DEBUG_VARIABLE) else f"; run it with {_DEBUG_VARIABLE}=1 for the traceback"
    _say(f"this is a fault of loomconv or of a plugin ({type(error).__name__} in {_scene(error)}){step}")
    return statuses.FAILED


def _say(message: str) -> None:
    print_message(f"loomconv: {paint('error:', sys.stderr, fg='red', bold=True)} {neutralised(message)}")


def _scene(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name} line {frames[-1].lineno}" if frames else "an unknown place"


@contextmanager
def _with_plugin_files(arguments: list[str]) -> Iterator[list[str]]:
    """Take `--plugin PATH` out of the arguments, wherever it stands, and let the files count until the command is done.

    They have to be known before a command is: formats bring options, and plugins commands. Worker processes find them
    in the environment.
    """
    paths, rest, count = [], [], 0
    while count < len(arguments):
        argument = arguments[count]
        count += 1
        if argument == "--":
            rest += arguments[count - 1 :]
            break
        if argument == _PLUGIN_FLAG:
            if count == len(arguments):
                raise click.UsageError(f"Option '{_PLUGIN_FLAG}' requires an argument.")
            paths.append(arguments[count])
            count += 1
        elif argument.startswith(f"{_PLUGIN_FLAG}="):
            paths.append(argument.partition("=")[2])
        else:
            rest.append(argument)
    if not paths:
        yield rest
        return
    from loomconv.registry import FILES_VARIABLE

    former = os.environ.get(FILES_VARIABLE)
    os.environ[FILES_VARIABLE] = os.pathsep.join([*map(os.path.abspath, paths), *([former] if former else [])])
    try:
        yield rest
    finally:
        if former is None:
            del os.environ[FILES_VARIABLE]
        else:
            os.environ[FILES_VARIABLE] = former


def _broken_plugins() -> dict[str, str]:
    """The plugins that are left out, and why."""
    if "loomconv.registry" not in sys.modules:
        return {}  # nobody has asked for a plugin
    from loomconv.registry import broken_plugins

    return broken_plugins()


@click.group(
    "loomconv",
    cls=Program,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=f"""\b
Examples:
  loomconv convert story.json story.openloom
  loomconv inspect story.openloom
  loomconv convert - - --to socketteer < story.openloom > story.json
  loomconv roundtrip story.openloom --via socketteer
Each command explains itself: loomconv convert --help

{statuses.TABLE}""",
)
@click.version_option(__version__, prog_name="loomconv", message="%(prog)s %(version)s")
@click.option(
    _PLUGIN_FLAG,
    "plugin_files",
    multiple=True,
    metavar="PATH",
    help="Use the plugin in this file or folder, too, without installing it; may stand behind the command as well. "
    "Repeatable.",
)
def program(plugin_files: tuple[str, ...] = ()) -> None:
    """Convert loom files, trees of text written by people and language models, from any app's format to any other's.

    What the target cannot hold is reported, kept aside in the file, and put back when the file returns.
    """
