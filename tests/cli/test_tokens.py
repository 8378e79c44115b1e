"""--token and --token-file: tenants, and their file."""

from pathlib import Path

import pytest

from tests.program import not_started, run
from tests.wire import call

pytestmark = pytest.mark.process


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tokens"
    path.write_text("\ufeff# of two teams\n\nteam-a=secret-a # until May\r\n  secret-b  \n")
    path.chmod(0o600)
    return path


def test_the_tokens_of_a_file_are_valid_beside_those_that_are_given(file: Path) -> None:
    def ask(url: str) -> list[int]:
        tokens = ("secret-a", "secret-a.job", "secret-b", "secret-c", "dev-token")
        return [call(url, "/v1/projects", token=token).status_code for token in tokens]

    done = run("--token-file", str(file), during=ask)
    assert done.result == [200, 200, 200, 401, 401]
    assert "secret" not in done.stderr
    assert "team-a/job #1 GET /v1/projects 200" in done.stderr
    assert "warning" not in done.stderr
    file.chmod(0o604)
    env = {"STUB_TOKEN": "team-c=secret-c", "STUB_TOKEN_FILE": str(file)}
    done = run(during=ask, env=env)
    assert done.result == [200, 200, 200, 200, 401]
    assert f"every user of this machine can read {file}: give it mode 0400\n" in done.stderr


INVALID = [
    ("# none\n", "no line has a token"),
    ("good\nto ken\na.b=hidden", "line 3: a token is made of one or more of A-Z"),
    ("team-a=given", "the same token: one without a name and team-a; the tokens of the file and"),
]


def test_the_invalid_lines_of_a_file_are_shown_without_their_text(file: Path) -> None:
    for text, reason in INVALID:
        file.write_text(text)
        shown = not_started("--token-file", str(file), env={"STUB_TOKEN": "given"})
        assert reason in shown
        assert "hidden" not in shown
