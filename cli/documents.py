"""`docs NAME` prints the files that a team copies, and the contract."""

import json
from importlib.resources import files
from pathlib import Path

import click

from profiles.check import read_schema
from profiles.contract import build_contract
from profiles.profile import read_profile
from web.files import read_file

from .files import has_text, name_errors
from .options import file, parse_existing

PACKAGE = "deployment_stub"
FILES = {
    "pytest": f"{PACKAGE}/stub_fixture.py",
    "node": "docs/fixtures/stub_fixture.mjs",
    "go": "docs/fixtures/stub.go",
    "junit": "docs/fixtures/Stub.java",
    "profile": "profiles/profile.json",
    "openapi": "openapi.json",
}
NODE_TYPES = "docs/fixtures/stub_fixture.d.mts"


@click.command("docs", short_help="Print a fixture, the schema of a profile, or the contract.")
@click.argument("name", metavar="NAME", required=False, type=click.Choice([*FILES]))
@click.option("--types", "is_typed", is_flag=True, help="Print the types of the fixture `node`.")
@click.option(
    "--like", **file("Profile of a service: print the contract with its bodies.", parse_existing)
)
@click.option("-o", "--output", **file("New file to write, in place of stdout."))
def show_document(name: str | None, is_typed: bool, like: Path | None, output: Path | None) -> None:
    """Print a file.

    pytest, node, go and junit are fixtures to copy beside your tests; profile is the JSON Schema
    of a profile, and openapi the contract.
    """
    if name is None:
        raise click.UsageError(f"give one of these names: {', '.join(FILES)}.")
    if is_typed and name != "node":
        raise click.UsageError("--types needs the name node.")
    if like and name != "openapi":
        raise click.UsageError("--like needs the name openapi.")
    content = read_document(NODE_TYPES if is_typed else FILES[name])
    if name == "profile":
        content = f"{json.dumps(read_schema(), indent=2, ensure_ascii=False)}\n".encode()
    if like:
        try:
            content = build_contract(content, read_profile(like))
        except ValueError as error:
            raise click.UsageError(str(error)) from None
    if output:
        with name_errors(output):
            write_new_file(output, content)
    else:
        click.echo(content.decode(), nl=False)


def write_new_file(path: Path, content: bytes) -> None:
    """Write a file. Raises `click.UsageError` if it has another content."""
    if has_text(path) and path.read_bytes() != content:
        raise click.UsageError(
            f"{path} has another content: remove it first, or print to it with > in place of -o."
        )
    path.write_bytes(content)


def read_document(path: str) -> bytes:
    """Read a file of the program, such as `openapi.json`, or of its package.

    The package stands beside `cli/` in a clone, and around it in an installation.
    """
    folder, _, name = path.partition("/")
    if folder == PACKAGE:
        return files(PACKAGE).joinpath(name).read_bytes()
    return read_file(path)
