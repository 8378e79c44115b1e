"""The documents: `app.py docs [NAME]` prints one."""

import json
import re
from importlib.resources import files
from pathlib import Path

import click

from web.files import read_file

from .reports import ReportFile

PACKAGE = "deployment_stub"  # in a clone beside cli/, and around it in an installation
FIXTURES = {
    "pytest": f"{PACKAGE}/stub_fixture.py",
    "node": "docs/fixtures/stub_fixture.mjs",
    "go": "docs/fixtures/stub.go",
    "junit": "docs/fixtures/Stub.java",
}
PAGES = ("choices", "ci", "contract", "development", "grease", "https", "like", "scale", "testing",
         "verify")  # fmt: skip
FILES = {
    "readme": "README.md",
    **{name: f"docs/{name}.md" for name in PAGES},
    "profile": "profiles/profile.json",
    "skill": "llms.txt",
    **FIXTURES,
}
TYPES_OF_NODE = "docs/fixtures/stub_fixture.d.mts"
MARKUP = '^[^A-Z`]*|",$'  # of a heading, a comment or a JSON member, around a title
SUMMARY = re.compile(r"^> (.*(?:\n> .*)*)$", re.MULTILINE)
PUBLIC = 0o644  # the mode of a new file


@click.command("docs", short_help="Print a document; without a NAME, the names.")
@click.argument("name", metavar="[NAME]", required=False, type=click.Choice([*FILES]))
@click.option("--types", "is_typed", is_flag=True, help="Print the types of the fixture `node`.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the document to this file, or nothing if that fails.",
)
def show_document(name: str | None, is_typed: bool, output: Path | None) -> int:
    """Print README.md, one of docs/ as Markdown, a schema, or a fixture to copy beside your tests.

    `skill` is the guide for coding agents as a SKILL.md. Without a NAME, print the names and
    titles.
    """
    if is_typed and name != "node":
        raise click.UsageError("--types needs one of these names: node.")
    if output and not name:
        raise click.UsageError("--output needs a NAME.")
    text = content_of(name, is_typed) if name else list_of_titles()
    if output:
        file = ReportFile(output, is_kept=True, mode=PUBLIC)
        return 0 if file.write(text) else 2
    click.echo(text, nl=False)
    return 0


def content_of(name: str, is_typed: bool) -> str:
    text = read_text(TYPES_OF_NODE if is_typed else FILES[name])
    return skill_of(text) if name == "skill" else text


def skill_of(guide: str) -> str:
    """The guide as a skill (agentskills.io): its summary says what it is for, in one line."""
    summary = SUMMARY.search(guide)
    assert summary
    description = json.dumps(" ".join(summary[1].split("\n> ")))  # YAML reads it as JSON does
    return f"---\nname: deployment-stub\ndescription: {description}\n---\n\n{guide}"


def list_of_titles() -> str:
    lines = []
    for name, file in FILES.items():
        first, _, _ = read_text(file).partition("\n")
        title = re.sub(MARKUP, "", first)
        lines.append(f"{name:16} {title}\n")
    return "".join(lines)


def read_text(file: str) -> str:
    folder, _, name = file.partition("/")
    if folder == PACKAGE:
        return files(PACKAGE).joinpath(name).read_text("utf-8")
    return read_file(file).decode()
