"""The command line, `roi`. Every command says what is wrong in plain words on standard error and then exits 2."""

from __future__ import annotations

import sys
from importlib import import_module

import click

from roi import InputError, __version__
from roi.terminal import complain

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


class Commands(click.Group):
    """Imports a command when it is asked for: to import them all takes longer than `roi evaluate` takes to answer."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(COMMANDS[cmd_name]), f"{cmd_name}_command")
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            # click looks for the nearest name among the commands that it holds, and it holds none.
            raise click.NoSuchCommand(error.command_name, possibilities=COMMANDS, ctx=ctx) from None

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            # The exit code that shells know an interrupted program by; click would say that it was aborted, and exit 1.
            ctx.exit(130)


@click.group(
    cls=Commands,
    epilog="PROPOSAL is the path of a YAML file, or the name of a proposal that is shipped, such as two-region.",
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(__version__, message="roi %(version)s", help="Show the version.")
def app() -> None:
    """Decide whether a multi-region Kubeflow GPU-training deployment pays back."""


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


if __name__ == "__main__":
    main()
