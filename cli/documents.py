"""The documents, which the one file includes: `app.py docs [NAME]` prints one."""

from pkgutil import get_data

import click

DOCUMENTS = (
    "choices",
    "ci",
    "contract",
    "development",
    "grease",
    "https",
    "scale",
    "testing",
    "verify",
)
FIXTURES = {
    "pytest": "stub_fixture.py",
    "node": "stub_fixture.mjs",
    "go": "stub.go",
    "junit": "Stub.java",
}
NAMES = ("readme", *DOCUMENTS, *FIXTURES)


@click.command("docs", short_help="Print a document; without a NAME, the names.")
@click.argument("name", metavar="[NAME]", required=False, type=click.Choice(NAMES))
def show_document(name: str | None) -> None:
    """Print README.md, one of docs/ as Markdown, or a fixture to copy beside your tests.

    Without a NAME, print the names and titles.
    """
    if name:
        click.echo(read_document(name), nl=False)
    else:
        for each in NAMES:
            title = read_document(each).partition("\n")[0].lstrip('#"/ ')
            click.echo(f"{each:16} {title}")


def read_document(name: str) -> str:
    if name == "readme":
        return read_file("README.md")
    return read_file(f"docs/fixtures/{FIXTURES[name]}" if name in FIXTURES else f"docs/{name}.md")


def read_file(path: str) -> str:
    """A file of the program, in the folder of auth.py, which may be a zip file."""
    data = get_data("auth", path)
    assert data
    return data.decode()
