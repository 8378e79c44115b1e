"""The documents come along: `app.py docs [NAME]` prints them, and no message names another file."""

from pathlib import Path

import yaml

from cli.documents import FILES, TYPES_OF_NODE
from tests.conftest import ROOT
from tests.program import not_started, run

NAMES = (
    *("readme", "choices", "ci", "contract", "development", "grease", "https", "like", "scale"),
    *("testing", "verify", "profile", "skill", "pytest", "node", "go", "junit"),
)


def test_each_document_is_printed_as_it_is() -> None:
    pages = {*ROOT.glob("docs/*.md"), *ROOT.glob("docs/fixtures/*.*")} - {ROOT / TYPES_OF_NODE}
    assert pages <= {ROOT / path for path in FILES.values()}
    for name, path in FILES.items():
        if name != "skill":
            done = run("docs", name)
            assert done[:3] == (0, (ROOT / path).read_text("utf-8"), "")
    assert run("docs", "node", "--types").stdout == (ROOT / TYPES_OF_NODE).read_text("utf-8")


# Words that name no document that could be printed or written.
INVALID = [
    (["pytes", "-o", "FILE"], "Invalid value for '[NAME]': 'pytes' is not one of"),
    (["-o", "FILE"], "--output needs a NAME.\n"),
    (["pytest", "--types"], "--types needs one of these names: node.\n"),
    (["node", "-o", "FILE/deeper"], "No such file or directory.\n"),
]


def test_what_cannot_be_printed_or_written_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "file"
    for words, reason in INVALID:
        shown = not_started("docs", *(word.replace("FILE", str(file)) for word in words))
        assert reason in shown
        assert not file.exists()


def test_a_document_is_written_to_a_file(tmp_path: Path) -> None:
    file = tmp_path / "stub_fixture.py"
    assert run("docs", "pytest", "-o", str(file))[:3] == (0, "", "")
    assert file.read_bytes() == (ROOT / FILES["pytest"]).read_bytes()
    assert file.stat().st_mode & 0o777 == 0o644


def test_the_skill_is_the_guide_for_agents_with_its_summary_as_the_description() -> None:
    guide = (ROOT / "llms.txt").read_text("utf-8")
    _, header, text = run("docs", "skill").stdout.split("---\n", 2)
    fields = yaml.safe_load(header)
    assert text == f"\n{guide}"
    assert (fields.keys(), fields["name"]) == ({"name", "description"}, "deployment-stub")
    assert fields["description"] in guide.replace("\n> ", " ")
    assert len(fields["description"]) <= 1024  # characters, as agentskills.io says


def test_without_a_name_all_are_listed_with_their_titles() -> None:
    lines = run("docs").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [*NAMES]
    assert "ci               Use the stub in CI" in lines
    title = "`Stub`, and the fixture `stub` of pytest: a world of its own for each test."
    assert f"pytest           {title}" in lines


def test_no_message_names_a_document_that_the_reader_may_not_have() -> None:
    folders = ("web", "server", "stub", "cli", "redis_store")
    paths = [*ROOT.glob("*.py"), *(path for each in folders for path in ROOT.glob(f"{each}/**/*"))]
    texts = [path for path in paths if path.suffix in (".py", ".json", ".js", ".html")]
    naming = {path.name for path in texts if "docs/" in path.read_text("utf-8")}
    assert naming == {"documents.py"}
