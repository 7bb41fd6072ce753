"""`loomconv plugin`: for authors of formats."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from loomconv.cli import statuses
from loomconv.cli.parameters import complete_format
from loomconv.cli.terminal import neutralised, paint, print_data, print_json, print_message
from loomconv.errors import UsageFault

__all__ = ["command"]

_STATUS_TABLE = """\b
Exit status:
  0  the format conforms
  1  it does not
  2  wrong usage
"""


@click.group("plugin", short_help="Write a format plugin, and prove that it is faithful.")
def command() -> None:
    """Write a plugin for a format of your own, and prove that it is faithful."""


@command.command(
    "new",
    epilog="""\b
Examples:
  loomconv plugin new twigs
      Writes loomconv-twigs/, whose own tests pass at once.
  loomconv plugin new my-loom --title "My Loom" --suffix .myloom --into ~/src
""",
)
@click.argument("name")
@click.option("--title", help="The app's name, for people. Default: made from NAME.")
@click.option("--suffix", help="Suffix of the app's files. Default: .NAME")
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    metavar="DIR",
    help="The folder to put the project's folder in. Default: here.",
)
def new(name: str, title: str | None, suffix: str | None, into: Path) -> int:
    """Write a complete plugin project for the format NAME: package, schema, fixture, tests, README, CI.

    It is a working format, whose tests pass as it is; change it step by step into yours. Nothing is overwritten.
    """
    from loomconv.scaffold import create_project

    files = create_project(name, into, title=title, suffix=suffix)
    root = into / files[0].parts[0]
    for path in files:
        print_data(neutralised(str(into / path)))
    print_message(neutralised(f"loomconv: wrote {root}; next:"))
    for line in (f"cd {root}", "pip install -e '.[dev]'", "pytest", f"loomconv plugin check {name} --card CARD.md"):
        print_message(neutralised(f"  {line}"))
    return statuses.DONE


@command.command(
    "check",
    epilog=f"""\b
Examples:
  loomconv plugin check twigs --fixtures tests/fixtures
  loomconv --plugin twigs.py plugin check twigs
      A plugin in a file that is not installed.
  loomconv plugin check twigs --card CARD.md --json > card.json

{_STATUS_TABLE}""",
)
@click.argument("name", shell_complete=complete_format)
@click.option(
    "--fixtures",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    metavar="PATH",
    help="Files, or folders of files, as the app writes them. Repeatable. Default: tests/fixtures, if it is there.",
)
@click.option(
    "--card", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write the card as Markdown."
)
@click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
@click.option(
    "--effort",
    type=click.FloatRange(0, 1000, min_open=True),
    default=1.0,
    show_default=True,
    metavar="N",
    help="Try so many times as many generated documents.",
)
def check(name: str, fixtures: tuple[Path, ...], card: Path | None, as_json: bool, effort: float) -> int:
    """Run every check of the conformance suite on an installed format, and print its fidelity card.

    The card says what of a loom the format's files hold, what comes home through the format, and how its files come
    back from each other format.
    """
    from loomconv.registry import default_registry
    from loomconv.storage import AtomicFile
    from loomconv.testing.card import fidelity_card
    from loomconv.testing.outcomes import Outcome, check_format
    from loomconv.testing.subject import Subject

    registry = default_registry()
    if not fixtures and (usual := Path("tests/fixtures")).is_dir():
        fixtures = (usual,)
    subject = Subject.of(registry.format(name), fixtures, registry=registry, effort=effort)
    outcomes: list[Outcome] = []
    for outcome in check_format(subject):
        outcomes.append(outcome)
        _tell(outcome)
    made = fidelity_card(subject, outcomes)
    if as_json:
        print_json(made.to_json())
    else:
        print_data(made.to_markdown().rstrip())
    if card is not None:
        if card.is_dir():
            raise UsageFault("the card is a folder", source=str(card), next_step="Name a file in it.")
        with AtomicFile(card) as out:
            out.write(made.to_markdown().encode())
    if not subject.fixtures:
        print_message("loomconv: no fixtures were named: only files that the format wrote itself were looked at")
    return statuses.DONE if made.conforms else statuses.FAILED


def _tell(outcome: object) -> None:
    """One line for a check, and what it found."""
    from loomconv.testing.outcomes import Outcome

    assert isinstance(outcome, Outcome)
    colours = {"passed": "green", "failed": "red", "skipped": "yellow"}
    status = paint(f"{outcome.status:7}", sys.stderr, fg=colours[outcome.status])
    reason = f" ({outcome.reason})" if outcome.reason else ""
    print_message(f"{status} {neutralised(outcome.check.title)}{neutralised(reason)}")
    for problem in outcome.problems[:5]:
        for line in str(problem).split("\n"):
            print_message(f"        {neutralised(line)}")
    if len(outcome.problems) > 5:
        print_message(f"        and {len(outcome.problems) - 5} more")
