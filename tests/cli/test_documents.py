"""The documents come along: `app.py docs [NAME]` prints them, and no message names another file."""

from pathlib import Path

import pytest
import yaml

from cli.documents import FIXTURES, TYPES_OF_NODE
from tests.conftest import ROOT
from tests.program import run

pytestmark = pytest.mark.process

FILES = {
    "readme": ROOT / "README.md",
    **{path.stem: path for path in ROOT.glob("docs/*.md")},
    **{name: ROOT / "docs" / "fixtures" / file for name, file in FIXTURES.items()},
    "profile": ROOT / "profiles" / "profile.json",
}


@pytest.mark.parametrize("name", FILES)
def test_each_document_is_printed_as_it_is(name: str) -> None:
    done = run("docs", name)
    assert (done.status, done.stdout, done.stderr) == (0, FILES[name].read_text("utf-8"), "")


def test_a_document_is_written_to_a_file_or_there_is_none(tmp_path: Path) -> None:
    file = tmp_path / "stub_fixture.py"
    invalid = run("docs", "pytes", "--output", str(file))
    assert (invalid.status, file.exists()) == (2, False)
    done = run("docs", "pytest", "-o", str(file))
    assert (done.status, done.stdout, done.stderr) == (0, "", "")
    assert file.read_bytes() == FILES["pytest"].read_bytes()
    no_name = run("docs", "-o", str(file))
    assert (no_name.status, no_name.stderr) == (2, "error: --output needs a NAME.\n")
    no_folder = run("docs", "node", "-o", f"{file}/deeper")
    assert (no_folder.status, no_folder.stderr) == (2, f"error: {file}/deeper: Not a directory.\n")
    assert file.read_bytes() == FILES["pytest"].read_bytes()


def test_the_skill_is_the_guide_for_agents_with_its_summary_as_the_description() -> None:
    guide = (ROOT / "llms.txt").read_text("utf-8")
    _, header, text = run("docs", "skill").stdout.split("---\n", 2)
    fields = yaml.safe_load(header)
    assert text == f"\n{guide}"
    assert [*fields] == ["name", "description"]
    assert fields["name"] == "deployment-stub"
    assert fields["description"] in guide.replace("\n> ", " ")
    assert len(fields["description"]) <= 1024  # characters, as agentskills.io says


def test_the_types_of_a_fixture_are_printed_as_they_are() -> None:
    text = (ROOT / TYPES_OF_NODE).read_text("utf-8")
    done = run("docs", "node", "--types")
    assert (done.status, done.stdout, done.stderr) == (0, text, "")


@pytest.mark.parametrize("words", [["pytest"], []])
def test_what_has_no_types_is_named(words: list[str]) -> None:
    done = run("docs", *words, "--types")
    error = "error: --types needs one of these names: node.\n"
    assert (done.status, done.stdout, done.stderr) == (2, "", error)


def test_without_a_name_all_are_listed_with_their_titles() -> None:
    lines = run("docs").stdout.splitlines()
    assert {line.split()[0] for line in lines} == {*FILES, "skill"}
    assert "ci               Use the stub in CI" in lines
    assert (
        "pytest           `Stub`, and the fixture `stub`: a world of its own for each test."
        in lines
    )


def test_no_message_names_a_document_that_the_reader_may_not_have() -> None:
    folders = ("web", "server", "stub", "cli", "redis_store")
    paths = [*ROOT.glob("*.py"), *(path for each in folders for path in ROOT.glob(f"{each}/**/*"))]
    texts = [path for path in paths if path.suffix in (".py", ".json", ".js", ".html")]
    naming = {path.name for path in texts if "docs/" in path.read_text("utf-8")}
    assert naming == {"documents.py"}
