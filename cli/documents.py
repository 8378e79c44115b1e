"""The documents, which the one file includes: `app.py docs [NAME]` prints one."""

import re

import click

from web.files import read_file

FIXTURES = {
    "pytest": "stub_fixture.py",
    "node": "stub_fixture.mjs",
    "go": "stub.go",
    "junit": "Stub.java",
}
FILES = {
    "readme": "README.md",
    "choices": "docs/choices.md",
    "ci": "docs/ci.md",
    "contract": "docs/contract.md",
    "development": "docs/development.md",
    "grease": "docs/grease.md",
    "https": "docs/https.md",
    "like": "docs/like.md",
    "scale": "docs/scale.md",
    "testing": "docs/testing.md",
    "verify": "docs/verify.md",
    "profile": "stub/like/profile.json",
    **{name: f"docs/fixtures/{file}" for name, file in FIXTURES.items()},
}
TYPES_OF_NODE = "docs/fixtures/stub_fixture.d.mts"


@click.command("docs", short_help="Print a document; without a NAME, the names.")
@click.argument("name", metavar="[NAME]", required=False, type=click.Choice([*FILES]))
@click.option("--types", "is_typed", is_flag=True, help="Print the types of the fixture `node`.")
def show_document(name: str | None, is_typed: bool) -> None:
    """Print README.md, one of docs/ as Markdown, a schema, or a fixture to copy beside your tests.

    Without a NAME, print the names and titles.
    """
    if is_typed and name != "node":
        raise click.UsageError("--types needs one of these names: node.")
    if is_typed:
        click.echo(text_of(TYPES_OF_NODE), nl=False)
    elif name:
        click.echo(text_of(FILES[name]), nl=False)
    else:
        for each, file in FILES.items():
            click.echo(f"{each:16} {title_of(file)}")


def text_of(file: str) -> str:
    return read_file(file).decode()


def title_of(file: str) -> str:
    """The first line of a file, without the signs of a heading, a comment or a JSON member."""
    first, _, _ = text_of(file).partition("\n")
    return re.sub('^[^A-Z`]*|",$', "", first)
