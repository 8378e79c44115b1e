"""`app.py verify URL`: the command that learns and checks a real service, with its options."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import click

import stub
from verify.options import FINDINGS, VerifyOptions, find_contradictions

from .options import Number, Start, file, flag, option, parse_existing, several


def parse_given(text: str) -> str:
    if not text:
        raise ValueError("give a value, or leave the option out")
    return text


ROWS: dict[str, dict[str, Any]] = {
    "write": flag("Create one project, and follow its deployment."),
    "wait": option("Maximum seconds of a poll.", Number(0, 3600)),
    "pause": option("Seconds between two requests.", Number(0, 60)),
    "body": file(
        "JSON file with the body of the creation; {name} stands for the name.", parse_existing
    ),
    "deployment": option("Id of a deployment, if no response has an id.", parse_given),
    "har": file("Judge the exchanges of this HAR file; send no request.", parse_existing),
    "ca": file("PEM file of a certificate authority to trust, too.", parse_existing),
    "known": file("File of accepted findings, a line for each, as for --allow.", parse_existing),
    "save": file("File for the profile of the service, for --like."),
    "force": flag("Let --save replace a file that is no profile."),
    "like": file("Profile of the service: find what has changed since.", parse_existing),
    "report": file("File for the verdicts, as JSON; FILE.xml: JUnit XML."),
    "fail_on": several(
        f"Exit with 1 if one of these is found: {', '.join(FINDINGS)}",
        lambda given: stub.parse_kinds(given, FINDINGS),
        metavar="KINDS",
        default=["broken,leaks,drift,unseen"],
    ),
}
DEFAULTS = {each.name: each.default for each in fields(VerifyOptions)}
OPTIONS = [
    click.Option([f"--{name.replace('_', '-')}"], **{"default": DEFAULTS[name], **row})
    for name, row in ROWS.items()
]


class Verify(click.Command):
    """The command `verify`. An unknown option may belong to a COMMAND without `--`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            hint = f"{error.message} A COMMAND and its options come after --."
            raise click.NoSuchOption(error.option_name, hint, error.possibilities) from None


@click.command(
    cls=Verify,
    params=[
        click.Argument(["url"], default="", metavar="[URL]"),
        click.Argument(["words"], nargs=-1, metavar="[-- COMMAND [ARG]...]"),
        *OPTIONS,
    ],
    epilog="Exit status: 0 without a finding, 1 with a finding, 2 if nothing could be checked; the "
    "status of a COMMAND if that is not 0.",
    context_settings={"show_default": True},
)
@click.pass_obj
def verify(start: Start, /, words: Sequence[str], **values: Any) -> int:
    """Learn and check a real service: does it follow the contract?

    The URL is the one before /v1. The token is read only from the environment variable
    VERIFY_TOKEN. Without --write it only reads. With -- COMMAND after the options, the requests of
    that command to the service are recorded and judged: its STUB_URL is a proxy on this machine.
    With --har, recorded exchanges are judged.
    """
    if words:
        raise click.UsageError("put -- before the command: verify URL -- COMMAND.")
    from .verify_run import run_verify  # Only a run needs what this imports, and not --help.

    options = VerifyOptions(words=start.words, **values)
    for message in find_contradictions(options):
        raise click.UsageError(message)
    return run_verify(options, start.environ)
