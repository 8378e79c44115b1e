"""--token and --token-file: tenants, their file, and its change under --watch."""

from pathlib import Path

import pytest

from tests.cli.conftest import said, script
from tests.conftest import eventually
from tests.contract import CREATED
from tests.program import not_started, run
from tests.redis_server import RedisServer
from tests.wire import call

pytestmark = pytest.mark.process


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tokens"
    path.write_text("\ufeff# of two teams\n\nteam-a=secret-a # until May\r\n  secret-b  \n")
    path.chmod(0o600)
    return path


def status_for(url: str, token: str) -> int:
    return call(url, "/v1/projects", token=token).status_code


def test_the_tokens_of_a_file_are_valid_beside_those_that_are_given(file: Path) -> None:
    def ask(url: str) -> list[int]:
        tokens = ("secret-a", "secret-a.job", "secret-b", "secret-c", "dev-token")
        return [status_for(url, token) for token in tokens]

    done = run("--token-file", str(file), during=ask)
    assert done.result == [200, 200, 200, 401, 401]
    assert "secret" not in done.stderr
    assert "team-a/job #1 GET /v1/projects 200" in done.stderr
    assert "warning" not in done.stderr
    env = {"STUB_TOKEN": "team-c=secret-c", "STUB_TOKEN_FILE": str(file)}
    assert run(during=ask, env=env).result == [200, 200, 200, 200, 401]


def test_a_file_that_others_can_read_is_a_warning(file: Path) -> None:
    file.chmod(0o604)
    done = run("--token-file", str(file))
    warning = f"every user of this machine can read {file}: give it mode 0400\n"
    assert warning in done.stderr

    def replace(url: str) -> None:
        with file.open("a") as tokens:
            tokens.write("secret-new")
        eventually(lambda: status_for(url, "secret-new") == 200)

    assert run("--watch", "--token-file", str(file), during=replace).stderr.count(warning) == 2


def test_the_error_of_two_sources_names_both(file: Path) -> None:
    shown = not_started("--token-file", str(file), env={"STUB_TOKEN": "secret-a"})
    assert "the same token: one without a name and team-a; the tokens of the file and" in shown


def test_the_command_gets_a_token_without_its_name(file: Path) -> None:
    words = script("sys.exit(fetch('/v1/projects')[0][0].split()[1] == '200')")
    done = run("--token-file", str(file), "--quiet", "--", *words)
    assert (done.status, "secret" in done.stderr) == (1, False)


INVALID = [
    ("# none\n", "no line has a token"),
    ("good\nto ken\na.b=hidden", "line 3: a token is made of one or more of A-Z"),
]


@pytest.mark.parametrize(("text", "reason"), INVALID)
def test_the_invalid_lines_of_a_file_are_shown_without_their_text(
    file: Path, text: str, reason: str
) -> None:
    file.write_text(text)
    shown = not_started("--token-file", str(file))
    assert reason in shown
    assert "hidden" not in shown


def test_watched_tokens_are_replaced_and_the_worlds_stay(file: Path) -> None:
    log = file.with_name("log")

    def ask(url: str) -> None:
        body = b'{"name": "kept"}'
        assert call(url, "/v1/projects", body=body, token="secret-a.job").status_code == CREATED
        file.write_text("team-a=secret-new\nteam-a=secret-a")  # both, while clients change
        eventually(lambda: status_for(url, "secret-new") == 200)
        assert b"kept" in call(url, "/v1/projects", token="secret-new.job").data
        assert status_for(url, "secret-b") == 401
        file.write_text("team-a=secret new")
        eventually(lambda: "the previous files stay in use\n" in said())
        assert status_for(url, "secret-a.job") == 200
        file.write_text("team-a=secret-new")
        eventually(lambda: status_for(url, "secret-a.job") == 401)
        call(url, "/v1/projects?secret-a&secret-new&secret-b", token="secret-new.job")
        requests = call(url, "/_stub/requests", token="secret-new.job").json["requests"]
        assert requests[-1]["query"] == "***&***&***"  # also those of before

    done = run("--watch", "--token-file", str(file), "--log", str(log), during=ask)
    for text in (done.stderr, log.read_text("utf-8")):
        assert "secret" not in text
    assert "tokens: line 1: a token is made of" in done.stderr
    assert f"read {file}: 2 tokens from now on\n" in done.stderr


def test_with_a_changed_seed_the_current_tokens_stay_valid(file: Path) -> None:
    seed = file.with_name("seed.json")
    seed.write_text("{}")

    def ask(url: str) -> None:
        file.write_text("secret-new")
        eventually(lambda: status_for(url, "secret-new") == 200)
        seed.write_text('{"projects": [{"name": "new"}]}')
        eventually(lambda: b"new" in call(url, "/v1/projects", token="secret-new").data)
        assert status_for(url, "secret-a") == 401
        call(url, "/v1/projects?secret-a", token="secret-new")  # which is masked still
        requests = call(url, "/_stub/requests", token="secret-new").json["requests"]
        assert requests[-1]["query"] == "***"

    run("--watch", "--token-file", str(file), "--seed", str(seed), during=ask)


def test_over_a_store_the_tokens_alone_are_watched(file: Path, shared_redis: RedisServer) -> None:
    shared_redis.clear()

    def ask(url: str) -> None:
        call(url, "/v1/projects", token="secret-a", body=b'{"name": "kept"}')
        file.write_text("team-a=secret-new")
        eventually(lambda: status_for(url, "secret-new") == 200)
        assert b"kept" in call(url, "/v1/projects", token="secret-new").data
        assert shared_redis.client.dbsize()

    run("--watch", "--token-file", str(file), "--store", shared_redis.url, during=ask)
