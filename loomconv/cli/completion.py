"""`loomconv completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from loomconv.cli import statuses
from loomconv.cli.terminal import print_data
from loomconv.errors import UsageFault

__all__ = ["command"]

_EPILOG = f"""\b
To install:
  bash  loomconv completion bash > ~/.local/share/bash-completion/completions/loomconv
  zsh   loomconv completion zsh > a file _loomconv in a folder of $fpath
  fish  loomconv completion fish > ~/.config/fish/completions/loomconv.fish

{statuses.READING_TABLE}"""


@click.command("completion", short_help="Print a script that completes commands in a shell.", epilog=_EPILOG)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Print a script that lets a SHELL complete commands, options and names of formats."""
    kind = get_completion_class(shell)
    if kind is None:
        raise UsageFault(f"there is no completion for {shell} here", next_step="Update click.")
    script = kind(click.Group(), {}, "loomconv", "_LOOMCONV_COMPLETE")
    print_data(script.source_template % script.source_vars())
    return statuses.DONE
