"""`app.py verify URL`: asks a real service for what the contract says, part by part."""

from pathlib import Path
from typing import Any, NamedTuple

import click

import stub

from ..options import Number, Start, file, flag, option, several


def parse_given(text: str) -> str:
    if not text:
        raise ValueError("give a value, or leave the option out")
    return text


KINDS = ("broken", "differs", "leaks", "drift", "unseen")  # of findings


class Options(NamedTuple):
    """The options of `verify`. What stands in place of a field's default makes its option.

    Without `har` there is a URL.
    """

    url: str
    write: bool = flag("Create one project, and follow its deployment.")
    abuse: bool = flag("With --write: send invalid bodies, too, which may create projects.")
    wait: float = option("Longest seconds of each poll.", Number(0, 3600), default=60.0)
    pause: float = option("Seconds between two requests.", Number(0, 60), default=0.2)
    body: Path | None = file("JSON body of the creation, in which {name} stands once.")
    deployment: str | None = option(
        "The id of a deployment, where no response names one.", parse_given
    )
    har: Path | None = file("Judge the exchanges of this HAR file; nothing is asked.")
    base: str | None = option(
        "With --har: the URL before /v1, of several in the file.", parse_given
    )
    ca: Path | None = file("File of a certificate authority to trust, too, as PEM.")
    known: Path | None = file("File of known findings, one a line, as for --allow.")
    save: Path | None = file("File for the profile of the service, for --like.")
    force: bool = flag("Let --save replace a file that is no profile.")
    like: Path | None = file("Profile of the service: find what has changed since.")
    report: Path | None = file("File for the verdicts, as JSON.")
    fail_on: tuple[str, ...] = several(
        f"Exit with 1 if one of these is found: {', '.join(KINDS)}",
        lambda given: stub.parse_kinds(given, KINDS),
        metavar="KINDS",
        default=["broken,leaks,drift,unseen"],
    )


OPTIONS = [
    click.Option([f"--{name.replace('_', '-')}"], **more)
    for name, more in Options._field_defaults.items()
]


@click.command(
    params=[click.Argument(["url"], default=""), *OPTIONS], context_settings={"show_default": True}
)
@click.pass_obj
def verify(start: Start, /, **values: Any) -> int:
    """Ask a real service for what the contract says.

    The URL is the one before /v1. The token is read from the environment variable VERIFY_TOKEN
    alone. Without --write only GET and OPTIONS are sent. For each part of the contract, the
    result says whether the service keeps what the interface fixes, and whether it does what this
    program chose where the interface is silent. With --har, recorded exchanges are judged.

    Exit status: 0 if there is no finding, 1 if there is one, 2 if nothing could be checked.
    """
    from .main import verify_service  # no other command needs what it imports

    return verify_service(start.environ, Options(**values))
