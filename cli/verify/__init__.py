"""`app.py verify URL`: asks a real service for what the contract says, part by part."""

from pathlib import Path
from typing import Any

import click

from ..options import Number, Start

FILE = click.Path(dir_okay=False, path_type=Path)
EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("verify", context_settings={"show_default": True})
@click.argument("url")
@click.option("--write", is_flag=True, help="Create one project, and follow its deployment.")
@click.option(
    "--abuse",
    is_flag=True,
    help="With --write: send bodies that the contract rejects, which may create projects.",
)
@click.option("--wait", type=Number(0, 3600), default=60.0, help="Longest seconds of each poll.")
@click.option("--pause", type=Number(0, 60), default=0.2, help="Seconds between two requests.")
@click.option("--ca", type=EXISTING, help="File of a certificate authority to trust, too, as PEM.")
@click.option("--known", type=EXISTING, help="File of known findings, one a line, as for --allow.")
@click.option("--save", type=FILE, help="File for the profile of the service, for --like.")
@click.option("--force", is_flag=True, help="Let --save replace a file that is no profile.")
@click.option("--like", type=EXISTING, help="Profile of the service: find what has changed since.")
@click.option("--report", type=FILE, help="File for the verdicts, as JSON.")
@click.option(
    "--fail-on",
    multiple=True,
    metavar="KINDS",
    default=["broken,leaks,drift"],
    help="Exit with 1 if one of these is found: broken, differs, leaks, drift; repeatable.",
)
@click.pass_obj
def verify(start: Start, /, **values: Any) -> int:
    """Ask a real service for what the contract says.

    The URL is the one before /v1. The token is read from the environment variable VERIFY_TOKEN
    alone. Without --write only GET, HEAD and OPTIONS are sent. For each part of the contract, the
    result says whether the service keeps what the interface fixes, and whether it does what this
    program chose where the interface is silent.

    Exit status: 0 if there is no finding, 1 if there is one, 2 if nothing could be checked.
    """
    from .main import Options, verify_service  # no other command needs what it imports

    return verify_service(start.environ, Options(**values))
