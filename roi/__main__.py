"""The command line, `roi`. Every command says what is wrong in plain words on standard error and then exits 2."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from roi import InputError, __version__
from roi.terminal import complain, say

EVALUATION, UNCERTAINTY, CHOICE, OUTPUT = (f"roi.commands.{name}" for name in ("evaluation", "uncertainty", "choice", "output"))
EVIDENCE, REVIEW = "roi.evidence.commands", "roi.review.commands"
COMMANDS = {
    "serve": OUTPUT,
    "check": EVALUATION,
    "evaluate": EVALUATION,
    "decide": CHOICE,
    "simulate": UNCERTAINTY,
    "breakeven": UNCERTAINTY,
    "information": UNCERTAINTY,
    "sensitivity": UNCERTAINTY,
    "compare": EVALUATION,
    "alternatives": CHOICE,
    "portfolio": CHOICE,
    "report": OUTPUT,
    "export": OUTPUT,
    "evidence": EVIDENCE,
    **dict.fromkeys(("tco", "pitch", "audit", "scaling", "readiness", "policy"), REVIEW),
}
"""The module of each command, in the order of `roi --help`."""


class Commands(TyperGroup):
    """Makes a command when it is asked for: to import them all takes longer than `roi evaluate` takes to answer."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            made: Any = typer.main.get_command(import_module(COMMANDS[cmd_name]).app)
            # A module holds several commands, or is one with commands of its own.
            self.commands[cmd_name] = made.commands.get(cmd_name, made)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in COMMANDS:
            # The nearest to it is looked for among those that are made.
            for name in COMMANDS:
                self.get_command(ctx, name)
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=Commands,
    help="Decide whether a multi-region Kubeflow GPU-training deployment pays back.",
    epilog="PROPOSAL is the path of a YAML file, or the name of a proposal that is shipped, such as two-region.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line on the arguments of the process."""
    # Where jsonschema finds this, its import builds a grammar of international addresses for a second; no schema here needs it.
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
    try:
        app()
    except InputError as error:
        complain(str(error))
        sys.exit(2)
    except OSError as error:
        complain(": ".join(str(each) for each in (error.filename, error.strerror) if each))
        sys.exit(2)


def _version(wanted: bool) -> None:
    if wanted:
        say(f"roi {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    pass


if __name__ == "__main__":
    main()
