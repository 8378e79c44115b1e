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
PAGES = ("choices", "ci", "contract", "development", "grease", "https", "like", "scale", "testing",
         "verify")  # fmt: skip
FILES = {
    "readme": "README.md",
    **{name: f"docs/{name}.md" for name in PAGES},
    "profile": "profiles/profile.json",
    **{name: f"docs/fixtures/{file}" for name, file in FIXTURES.items()},
}
TYPES_OF_NODE = "docs/fixtures/stub_fixture.d.mts"
MARKUP = '^[^A-Z`]*|",$'  # of a heading, a comment or a JSON member, around a title


@click.command("docs", short_help="Print a document; without a NAME, the names.")
@click.argument("name", metavar="[NAME]", required=False, type=click.Choice([*FILES]))
@click.option("--types", "is_typed", is_flag=True, help="Print the types of the fixture `node`.")
def show_document(name: str | None, is_typed: bool) -> None:
    """Print README.md, one of docs/ as Markdown, a schema, or a fixture to copy beside your tests.

    Without a NAME, print the names and titles.
    """
    if is_typed and name != "node":
        raise click.UsageError("--types needs one of these names: node.")
    if name:
        file = TYPES_OF_NODE if is_typed else FILES[name]
        click.echo(read_file(file).decode(), nl=False)
        return
    for each, file in FILES.items():
        first, _, _ = read_file(file).decode().partition("\n")
        title = re.sub(MARKUP, "", first)
        click.echo(f"{each:16} {title}")
