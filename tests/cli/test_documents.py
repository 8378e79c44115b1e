"""`app.py docs NAME` prints what a team copies; no message names another file."""

import json
from pathlib import Path

from cli.documents import FILES, NODE_TYPES
from profiles.check import read_schema
from tests.conftest import ROOT
from tests.program import not_started, run
from tests.wire import call

KERNEL = str(ROOT / "tests" / "services" / "kernel.json")


def test_each_fixture_and_the_contract_are_printed_as_they_are(tmp_path: Path) -> None:
    fixtures = {*ROOT.glob("docs/fixtures/*.*")} - {ROOT / NODE_TYPES}
    assert fixtures <= {ROOT / path for path in FILES.values()}
    for name, path in FILES.items():
        if name == "profile":  # the codes of the contract are filled in
            continue
        content = (ROOT / path).read_bytes()
        assert run("docs", name)[:3] == (0, content.decode(), "")
        file = tmp_path / name
        for _ in range(2):
            assert run("docs", name, "-o", str(file))[:3] == (0, "", "")
            assert file.read_bytes() == content
    assert run("docs", "node", "--types").stdout == (ROOT / NODE_TYPES).read_text("utf-8")


def test_the_schema_of_a_profile_is_printed_with_the_codes_of_the_contract() -> None:
    schema = json.loads(run("docs", "profile").stdout)
    assert schema == read_schema()
    assert {"name_taken", "default"} <= schema["properties"]["errors"]["properties"].keys()


def test_the_contract_of_a_profile_is_the_one_that_is_served() -> None:
    printed = run("docs", "openapi", "--like", KERNEL).stdout
    served = run("--like", KERNEL, during=lambda url: call(url, "/openapi.json").json).result
    assert json.loads(printed) == served


# Words that name no document that could be printed or written.
INVALID = [
    ([], "give one of these names: pytest, node, go, junit, profile, openapi.\n"),
    (["readme", "-o", "FILE"], "Invalid value for 'NAME': 'readme' is not one of"),
    (["pytest", "--types"], "--types needs the name node.\n"),
    (["profile", "--like", KERNEL], "--like needs the name openapi.\n"),
    (["openapi", "--like", "FILE"], "'--like': there is no file FILE.\n"),
    (["openapi", "--like", __file__], "Extra data"),
    (["node", "-o", "FILE/deeper"], "FILE/deeper: there is no folder FILE.\n"),
    (["node", "-o", "/dev/full"], "/dev/full: No space left on device.\n"),
]


def test_what_cannot_be_printed_or_written_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "file"
    for words, reason in INVALID:
        shown = not_started("docs", *(word.replace("FILE", str(file)) for word in words))
        assert reason.replace("FILE", str(file)) in shown
        assert not file.exists()


def test_a_file_with_another_content_stays(tmp_path: Path) -> None:
    file = tmp_path / "stub_fixture.py"
    file.write_text("")
    assert run("docs", "pytest", "-o", str(file)).status == 0
    file.write_text("mine")
    shown = not_started("docs", "pytest", "-o", str(file))
    assert f"{file} has another content: remove it first, or print to it with >" in shown
    assert file.read_text() == "mine"


def test_no_message_names_a_document_that_the_reader_may_not_have() -> None:
    folders = ("web", "server", "stub", "cli", "redis_store")
    paths = [*ROOT.glob("*.py"), *(path for each in folders for path in ROOT.glob(f"{each}/**/*"))]
    texts = [path for path in paths if path.suffix in (".py", ".json", ".js", ".html")]
    naming = {path.name for path in texts if "docs/" in path.read_text("utf-8")}
    assert naming == {"documents.py"}
