"""The documents, which the one file includes: `app.py docs [NAME]` prints one."""

from pkgutil import get_data

import click

DOCUMENTS = ("choices", "ci", "contract", "development", "grease", "https", "scale", "testing")


@click.command("docs", short_help="Print a document; without a NAME, the names.")
@click.argument("name", metavar="[NAME]", required=False, type=click.Choice(["readme", *DOCUMENTS]))
def show_document(name: str | None) -> None:
    """Print README.md or one of docs/ as Markdown. Without a NAME, print the names and titles."""
    if name:
        click.echo(read_document(name), nl=False)
    else:
        for each in ("readme", *DOCUMENTS):
            title = read_document(each).partition("\n")[0].lstrip("# ")
            click.echo(f"{each:12} {title}")


def read_document(name: str) -> str:
    path = "README.md" if name == "readme" else f"docs/{name}.md"
    data = get_data("auth", path)  # of the folder of auth.py, which may be a zip file
    assert data
    return data.decode()
