"""An invalid profile is rejected with all its errors, each at its place."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator
from waitress.task import hop_by_hop

from profiles.check import MAX_BYTES, errors_in, schemas
from profiles.profile import DEPTH, Profile, read_profile
from tests.contract import V1
from tests.profiles.conftest import DATE, NAME, STATUS, client_of, deployment_of, like
from tests.program import not_started, run
from tests.services import DOCUMENTS
from web.strict_json import parse_json

ITEM = {"id": "{project.id}"}
WORDS = {"run": ["queued"]}


def in_list(body: Any) -> dict[str, Any]:
    return {"list": {"body": body}}


def in_deployment(body: Any, **more: Any) -> dict[str, Any]:
    return {"statuses": WORDS, "deployment": {"body": body, **more}}


def request(example: Any) -> dict[str, Any]:
    return {"create": {"body": 1, "request": example}}


def ids(projects: Any = 1, deployments: Any = 1) -> dict[str, Any]:
    return {"ids": {"projects": projects, "deployments": deployments}}


# What is added to a valid profile, and the places of the errors.
INVALID: list[tuple[dict[str, Any], str]] = [
    ({"observed_at": "2026-02-29"}, "/observed_at"),
    ({"creation_status": 200, "x/y": 1, "list": [], "create": {"body": {}, "request": []}},
     "/creation_status /x~1y /list /create/request"),
    ({"list": {}, "create": {"status": 204, "optional": "yes", "unique": 0}},
     "/list/body /create/status /create/body /create/optional /create/unique"),
    (in_list({"projects": []}), "/list/body"),
    (in_list({"projects": [ITEM, ITEM]}), "/list/body/projects"),
    (in_list({"a": [ITEM], "b": [ITEM]}), "/list/body/b"),
    (in_list({"a": [{"id": "{project.nope}"}], "b": NAME}), "/list/body/a/0/id /list/body/b"),
    ({"list": {"body": [ITEM], "order": "by name"}}, "/list/order"),
    (in_deployment({"a": ["{count}"], "x{project.id}": 1}),
     "/deployment/body/a/0 /deployment/body/x{project.id}"),
    (in_deployment([{STATUS: {"queued": [{STATUS: {"other": 1}}]}}]),
     f"/deployment/body/0/{STATUS}/queued/0/{STATUS} "
     f"/deployment/body/0/{STATUS}/queued/0/{STATUS}/other"),
    (in_deployment({STATUS: {"": 1}, "x": 1}), f"/deployment/body/{STATUS}"),
    (in_deployment([{STATUS: {"": "{error.code}", "ready": 2}}]),
     f"/deployment/body/0/{STATUS}/ready /deployment/body/0/{STATUS}/"),
    (in_deployment(1, headers={"Content-Length": "1", "X": "a\nb", "access-control-max-age": "1"}),
     "/deployment/headers/Content-Length /deployment/headers/X "
     "/deployment/headers/access-control-max-age"),
    (in_deployment(1, headers={"X": "{count}"}), "/deployment/headers/X"),
    (in_deployment(1, content_type="text/plain\n"), "/deployment/content_type"),
    (in_deployment(["{project.created_at:2026-02-30T09:00:00Z}", "{project.created_at:text}",
                    "{deployment.created_at:2026-01-05}", "{project.created_at:"
                    "2026-01-05T09:00:00.1234567890Z}", "{project.created_at:5}"]),
     " ".join(f"/deployment/body/{index}" for index in range(5))),
    (in_deployment(["{project.id:prj_}", "{deployment.id:a b}", "{project.name:x}", "{base:x}"]),
     " ".join(f"/deployment/body/{index}" for index in range(4))),
    (in_deployment("{deployment.id:{c6486c47-9e84-4a3b-8f3e-9c0d11aa22bb}}"), "/deployment/body"),
    ({"deployment": {"body": [STATUS, "is {deployment.status:text}"]}},
     "/deployment/body/0 /deployment/body/1"),
    ({"record": {"a": "{record}", "b": "{count}"}}, "/record/a /record/b"),
    (in_deployment("{record}"), "/deployment/body"),
    ({"record": 1, "create": {"body": ["a {record}"], "headers": {"X": "{record}"}}},
     "/create/body/0 /create/headers/X"),
    (request({"a": [NAME]}), "/create/request /create/request/a/0"),
    (request({"a": NAME, "b": {"c": NAME}}), "/create/request/b/c"),
    (request({"a": NAME, "b": "{project.id}", "{count}": 1, "c": "{base}", "d": "{record}"}),
     "/create/request/b /create/request/{count} /create/request/c /create/request/d"),
    ({"errors": {"teapot": {"body": 1}, "default": {"body": 1, "status": 400}}},
     "/errors/teapot /errors/default/status"),
    ({"errors": {"not_found": {"body": 1, "status": 200}}}, "/errors/not_found/status"),
    ({"errors": {"not_found": {"body": [NAME, {STATUS: {"": 1}}]}}},
     f"/errors/not_found/body/0 /errors/not_found/body/1/{STATUS}"),
    ({"errors": {"not_found": {"status": 410}}}, "/errors/not_found/body"),
    ({"statuses": {"run": []}, "deployment": {"body": {STATUS: {"": 1, "x": 2}}}},
     "/statuses/run"),
    ({"statuses": {"run": ["a"], "others": ["a"]}}, "/statuses/others/0"),
    ({"statuses": {"run": ["a\u0007", "b" * 65, ""]}},
     "/statuses/run/0 /statuses/run/1 /statuses/run/2"),
    ({"statuses": {"run": [str(number) for number in range(60)],
                   "others": [str(number) for number in range(60, 120)]}}, "/statuses"),
    ({"deployment": {"body": {STATUS: {"a\u0007": 1}}}},
     "/deployment/body"),
    ({"record": {STATUS: {"a\u0007": 1}}, **in_list(["{record}"])}, "/record"),
    (ids("prj_"), "/ids/projects"),
    (ids(1, ""), "/ids/deployments"),
    (ids("{project.name}-{project.name}", "{project.id}{project.name}"),
     "/ids/projects /ids/deployments"),
    (ids("{project.id}", "{record}{count}"), "/ids/projects /ids/deployments"),
]  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_valid_profile_has_no_error(name: str) -> None:
    Draft202012Validator(schemas()["profile"]).validate(DOCUMENTS[name])
    assert errors_in(DOCUMENTS[name]) == []


@pytest.mark.parametrize(("more", "places"), INVALID)
def test_each_error_is_told_at_its_place(more: dict[str, Any], places: str) -> None:
    errors = errors_in({"observed_at": DATE, **more})
    assert sorted(error.pointer for error in errors) == sorted(places.split()), errors


def test_a_header_field_that_the_server_rejects_is_an_error() -> None:
    fields = dict.fromkeys([*hop_by_hop, "Proxy-Connection"], "1")
    errors = errors_in({"observed_at": DATE, **in_deployment(1, headers=fields)})
    assert {error.pointer for error in errors} == {f"/deployment/headers/{each}" for each in fields}


# A creation, and whether its response shows a way to the deployment with each status.
WAYS: list[tuple[Any, bool]] = [
    ({"url": "x/{deployment.id}"}, True),
    ("{deployment.id:text}", True),
    ({"uid": "{deployment.id:abc-1}"}, False),
    ({"id": {STATUS: {"A": "{deployment.id}"}}}, False),
    ([{STATUS: {"A": "{deployment.id}", "": 1}}], False),
    ([{STATUS: {"A": "{deployment.id}", "": ["{deployment.id}"]}}], True),
]


@pytest.mark.parametrize(("body", "is_shown"), WAYS)
def test_a_creation_without_a_way_to_its_deployment_is_a_warning(body: Any, is_shown: bool) -> None:
    statuses = {"run": ["A", "B"]}
    service = Profile({"observed_at": DATE, "statuses": statuses, "create": {"body": body}})
    assert any("shows no way" in each for each in service.warnings) is not is_shown


def test_what_looks_like_a_marker_and_is_none_is_a_warning() -> None:
    body = ["{projects.id}", "a {Project.id:s} {x} {project.id}", STATUS]
    service = Profile({"observed_at": DATE, **in_deployment(body)})
    assert service.warnings == [
        "/deployment/body/0: {projects.id} is no marker, and stays as it is",
        "/deployment/body/1: {Project.id:s} is no marker, and stays as it is",
    ]


def test_a_choice_takes_the_words_of_the_profile() -> None:
    statuses = {"run": ["A", "b c"], "others": ["D"]}
    choice = {"deployment": {"body": {STATUS: {"A": 1, "b c": 2, "D": 3, "": 4}}}}
    assert errors_in({"observed_at": DATE, "statuses": statuses, **choice}) == []


def test_what_is_gone_is_told_with_what_to_write() -> None:
    gone = {"times": 1, "statuses": {"run": ["a"], "ended": "a"}}
    details = [error.detail for error in errors_in({"observed_at": DATE, **gone})]
    assert "the last status of `run` stays" in details[1]
    assert "{project.created_at:2026-01-05T09:00:00.000Z}" in details[0]
    ids = {"projects": {"integers": True}, "deployments": {"prefix": "dpl_", "alphabet": "ab"}}
    for wrong in errors_in({"observed_at": DATE, "ids": ids}):
        for example in ("prj_5f2c9a4be1d07c36", "7040", "{project.name}", "{project.id}"):
            assert example in wrong.detail


def numbered(count: int, value: Any = 1) -> dict[str, Any]:
    return {f"m{number}": value for number in range(count)}


HUNDRED = [str(number) for number in range(100)]
CODES = [*schemas()["profile"]["properties"]["errors"]["properties"]]
# Large profiles that a service may have, and the number of the errors that are told.
LARGE: dict[str, tuple[Callable[[], Any], int]] = {
    "items": (lambda: in_deployment([NAME, *[1] * 500_000]), 0),
    "levels": (lambda: in_deployment(json.loads("[" * 30 + "1," * 400_000 + "1" + "]" * 30)), 0),
    "names": (lambda: in_list([numbered(40_000, NAME)]), 0),
    "braces": (lambda: in_deployment("{project." * 100_000), 0),
    "request": (lambda: request({"a": NAME, **numbered(40_000, [{"b": {}}])}), 0),
    "words": (lambda: in_deployment([{STATUS: {"": 1, "wrong": 2}}] * 20_000), 100),
    "choices": (lambda: {"statuses": {"run": HUNDRED},
                         "deployment": {"body": numbered(25_000, {STATUS: {"1": 1}})}}, 0),
    "named errors": (lambda: {"errors": {code: {"body": [numbered(4_500)]} for code in CODES}}, 0),
    "marker": (lambda: in_deployment([f"{{project.{'x' * 1_000_000}}}"]), 1),
    "media type": (lambda: {"content_type": "a/b" + ";a=b" * 250_000 + "!\n"}, 1),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_a_large_profile_is_read_in_time_and_has_its_first_errors(name: str) -> None:
    make, count = LARGE[name]
    document = {"observed_at": DATE, **make()}
    data = json.dumps(document, separators=(",", ":")).encode()
    assert len(data) <= MAX_BYTES, len(data)
    started = time.process_time()
    parse_json(data, DEPTH)
    errors = errors_in(document)
    if not errors:
        client = client_of(like(Profile(document)))
        assert client.get("/v1/projects").status_code == 200
        client.get(f"/v1/deployments/{deployment_of(client, 'website')}")
    spent = time.process_time() - started
    assert len(errors) == count
    assert sum(len(error.detail) for error in errors) < 100_000
    assert spent < 10, spent  # a check that is quadratic takes more than 30 s


def test_a_long_name_is_cut_where_its_place_is_told(tmp_path: Path) -> None:
    file = tmp_path / "service.json"
    document = {"observed_at": DATE, **in_deployment({"x" * 5_000: ["{count}"] * 100})}
    file.write_text(json.dumps(document), "utf-8")
    with pytest.raises(ValueError, match=f"/deployment/body/{'x' * 60}…/0: ") as told:
        read_profile(file)
    assert len(str(told.value)) < 100_000


def test_the_codes_of_errors_are_those_of_the_contract() -> None:
    responses = [*V1.components["responses"].values()]
    for _, _, operation in V1.operations():
        responses += [each for each in operation["responses"].values() if "content" in each]
    codes = set()
    for response in responses:
        for content in response["content"].values():
            codes |= {name for name, each in content["examples"].items() if "code" in each["value"]}
    known = schemas()["profile"]["properties"]["errors"]["properties"]
    assert {*known} - {"default"} == codes


@pytest.mark.process
def test_the_program_starts_with_a_file_or_says_what_is_wrong_in_it(tmp_path: Path) -> None:
    file = tmp_path / "service.json"
    file.write_text(json.dumps(DOCUMENTS["kernel"]), "utf-8")
    seed = {"deployments": [{"id": "one", "status": "in_progress"}]}
    (tmp_path / "seed").write_text(json.dumps(seed), "utf-8")
    (tmp_path / "states").write_text(json.dumps({"a failure": seed}), "utf-8")
    files = ("--seed", f"{tmp_path}/seed", "--states", f"{tmp_path}/states")
    for words in (files, ()):
        done = run(*words, env={"STUB_LIKE": str(file)})
        assert (done.status, f"responses are like {file}\n" in done.stderr) == (0, True)
        assert "{deployment.status}" not in done.stderr
    warned = {
        "observed_at": DATE,
        "create": {"body": {"id": "{project.id}"}, "headers": {"Set-Cookie": "a=b", "X": "1"}},
        "deployment": {"body": {"id": 1}},
    }
    file.write_text(json.dumps(warned), "utf-8")
    told = run("--like", str(file)).stderr
    for place in (
        "/create/headers/Set-Cookie is left out",
        "/deployment/body has no {deployment.status}",
        "/create shows no way to the deployment",
    ):
        assert f"warning: {file}: {place}" in told
    for text, reasons in (
        ('{"observed_at": "x", "list": {}}',
         ["/observed_at: must be a date", "/list/body: is required"]),
        ('{"observed_at": "2026-11-25", "list": {"body": [{"a": "{project.x}"}]}}',
         ["/list/body/0/a: {project.x} is no marker"]),
        ("[" * 10_000 + "]" * 10_000, ["levels deep"]),
        ("[]", ["the document: must be a JSON object"]),
        ("{", ["line 1, column 2"]),
        (f'{{"x": "{"x" * 4_000_000}"}}', ["the document: must have at most 1048576 bytes"]),
    ):  # fmt: skip
        file.write_text(text, "utf-8")
        told = not_started("--like", str(file))
        for reason in reasons:
            assert f"{file}: " in told, told
            assert reason in told, told
    assert "No such file" in not_started("--like", str(tmp_path / "none"))
