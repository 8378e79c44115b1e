"""The documents, which the one file includes: `app.py docs [NAME]` prints one."""

import re

import click

from web.files import read_file

DOCUMENTS = (
    *("choices", "ci", "contract", "development", "grease", "https", "like", "scale"),
    "testing",
)
FIXTURES = {
    "pytest": "stub_fixture.py",
    "node": "stub_fixture.mjs",
    "go": "stub.go",
    "junit": "Stub.java",
}
TYPES = {"node": "stub_fixture.d.mts"}
FILES = {
    "readme": "README.md",
    **{name: f"docs/{name}.md" for name in (*DOCUMENTS, "verify")},
    "profile": "stub/like/profile.json",
    **{name: f"docs/fixtures/{file}" for name, file in FIXTURES.items()},
}


@click.command("docs", short_help="Print a document; without a NAME, the names.")
@click.argument("name", metavar="[NAME]", required=False, type=click.Choice([*FILES]))
@click.option("--types", "is_typed", is_flag=True, help="Print the types of the fixture `node`.")
def show_document(name: str | None, is_typed: bool) -> None:
    """Print README.md, one of docs/ as Markdown, a schema, or a fixture to copy beside your tests.

    Without a NAME, print the names and titles.
    """
    if is_typed:
        if name not in TYPES:
            raise click.UsageError(f"--types needs one of these names: {', '.join(TYPES)}.")
        click.echo(read_file(f"docs/fixtures/{TYPES[name]}").decode(), nl=False)
    elif name:
        click.echo(read_file(FILES[name]).decode(), nl=False)
    else:
        for each, file in FILES.items():
            title = re.sub('^[^A-Z`]*|",$', "", read_file(file).decode().partition("\n")[0])
            click.echo(f"{each:16} {title}")
