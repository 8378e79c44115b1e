"""The files that the program reads: --seed and --states."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.contract import assert_problem
from tests.program import not_started, run
from tests.stub.test_state import ODD_PROJECTS, exact
from tests.wire import call

pytestmark = pytest.mark.process


def test_seed_pace_and_maximum_are_those_of_the_options(tmp_path: Path) -> None:
    seed = tmp_path / "seed.json"
    seed.write_text('{"projects": [{"name": "a"}]}', "utf-8")

    def ask(url: str) -> None:
        created = call(url, "/v1/projects", body=b'{"name": "b"}')
        assert created.status_code == 201
        path = f"/v1/deployments/{created.json['latest_deployment_id']}"
        assert call(url, path).json["status"] == "succeeded"
        assert_problem(call(url, "/v1/projects", body=b'{"name": "c"}'), 507, "store_full")

    run("--seed", str(seed), "--pace", "0", "--max-projects", "2", during=ask)


@pytest.mark.parametrize(("maximum", "most"), [(1, 3), (3, 3), (5, 5)])
def test_a_seed_that_is_larger_than_store_and_sample_does_not_start(
    tmp_path: Path, maximum: int, most: int
) -> None:
    seed = tmp_path / "seed.json"
    seed.write_text(json.dumps({"projects": [{"name": str(n)} for n in range(most + 1)]}), "utf-8")
    message = not_started("--seed", str(seed), "--max-projects", str(maximum))
    assert message == f"error: {seed}: /projects: must have at most {most} items\n"


@pytest.mark.parametrize("maximum", ["1", "2"])
def test_the_state_of_a_sample_that_is_larger_than_the_store_can_be_read(
    tmp_path: Path, maximum: str
) -> None:
    seed, states = tmp_path / "seed.json", tmp_path / "states.json"
    options = ("--max-projects", maximum)
    state = run(*options, during=lambda url: call(url, "/_stub/state").data).result
    seed.write_bytes(state)
    states.write_bytes(b'{"s": %s}' % state)

    def ask(url: str) -> Any:
        assert call(url, "/_stub/pact", body=b'{"state": "s"}').status_code == 200
        assert call(url, "/_stub/reset", body=state).status_code == 204
        return call(url, "/_stub/state").data

    for start in ((), ("--seed", str(seed))):
        assert run(*options, "--states", str(states), *start, during=ask).result == state


INVALID: list[tuple[str, bytes, list[str]]] = [
    ("--seed", b"\xff", ["byte 1: not UTF-8"]),
    ("--seed", b'{"projects":\n [}', ["line 2, column 3: Expecting value"]),
    ("--seed", b"[]", ["the document: must be a JSON object"]),
    (
        "--seed",
        b'{"projects": [{}, 1], "x\\nerror: \\u001b": 1}',
        [
            "/x\\nerror: \\u001b: is not a known member",
            "/projects/0/name: is required",
            "/projects/1: must be a JSON object",
        ],
    ),
    ("--states", b"[]", ["the document: must be a JSON object of seed documents by name"]),
    ("--states", b'{"a": []}', ["/a: must be a JSON object"]),
    ("--states", b'{"a": {"projects": [{}]}}', ["/a/projects/0/name: is required"]),
    (
        "--states",
        b'{"a": {"projects": [{"name": "b"}, {"name": "c"}]}}',
        ["/a/projects: must have at most 1 items"],
    ),
    (
        "--states",
        b'{"a": {"projects": [{"name": "b", "x": %s}]}}' % (400 * b"9"),
        ["/a/projects/0/x: NaN, Infinity or a number too large for an IEEE double"],
    ),
]


@pytest.mark.parametrize(("option", "content", "reasons"), INVALID)
def test_an_invalid_file_is_one_line_for_each_error(
    tmp_path: Path, option: str, content: bytes, reasons: list[str]
) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    empty = ["--empty"] if option == "--states" else []
    lines = not_started(*empty, "--max-projects", "1", option, str(path)).splitlines()
    assert lines == [f"error: {path}: {reason}" for reason in reasons]


def test_the_states_of_a_file_can_be_set_up(tmp_path: Path) -> None:
    path = tmp_path / "states.json"
    path.write_text('{"ready": {"projects": [{"name": "shop"}]}}', "utf-8")

    def ask(url: str) -> Any:
        response = call(url, "/_stub/pact", body=b'{"state": "ready"}')
        assert (response.status_code, response.json["name"]) == (200, "shop")
        return call(url, "/v1/projects").json["projects"]

    (project,) = run("--empty", "--states", str(path), during=ask).result
    assert project["name"] == "shop"


def test_the_state_of_a_program_starts_another(tmp_path: Path) -> None:
    file = tmp_path / "state.json"

    def export(url: str) -> Any:
        for body in ODD_PROJECTS:
            assert call(url, "/v1/projects", body=body).status_code == 201
        file.write_bytes(call(url, "/_stub/state").data)
        return call(url, "/v1/projects").data

    listed = run("--pace", "3600", during=export).result
    again = run("--seed", str(file), during=lambda url: call(url, "/v1/projects").data)
    assert exact(again.result) == exact(listed)


def test_a_file_may_be_as_deep_as_a_body(tmp_path: Path) -> None:
    file = tmp_path / "seed.json"
    for depth in (31, 32):
        deep = depth * "[" + depth * "]"
        file.write_text(f'{{"projects": [{{"name": "a", "deep": {deep}}}]}}')
        if depth == 31:
            assert run("--seed", str(file)).status == 0
        else:
            assert f"/deep{31 * '/0'}: More levels" in not_started("--seed", str(file))
