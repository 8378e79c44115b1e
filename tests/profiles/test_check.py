"""An invalid profile is rejected with its errors, each at its place; a valid one has warnings."""

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator
from waitress.task import hop_by_hop

from profiles.check import check_profile, load_schemas
from profiles.profile import Profile, make_profile, read_profile
from tests.contract import V1
from tests.profiles.conftest import DATE, NAME, client_of, like, profile
from tests.program import not_started, run
from tests.services import DOCUMENTS

STATUS = "{deployment.status}"
ITEM = {"id": "{project.id}"}
RUN = {"statuses": {"run": ["queued"]}}


def in_list(body: Any) -> dict[str, Any]:
    return {"list": {"body": body}}


def in_deployment(body: Any, **more: Any) -> dict[str, Any]:
    return {**RUN, "deployment": {"body": body, **more}}


def request(example: Any, **more: Any) -> dict[str, Any]:
    return {"create": {"body": 1, "request": example, **more}}


def ids(projects: Any, deployments: Any) -> dict[str, Any]:
    return {"ids": {"projects": projects, "deployments": deployments}}


# What is added to a valid profile, and the places of the errors.
INVALID: list[tuple[dict[str, Any], str]] = [
    # Of the schema
    ({"observed_at": "2026-02-29"}, "/observed_at"),
    ({"x/y": 1, "list": [], "create": {"status": 204}}, "/x~1y /list /create/status /create/body"),
    (in_deployment(1, headers={"Content-Length": "1"}), "/deployment/headers/Content-Length"),
    (in_deployment(1, headers={"X": "a\nb"}), "/deployment/headers/X"),
    (in_deployment(1, content_type="text/plain\n"), "/deployment/content_type"),
    ({"statuses": {"run": ["a\u0007", "b" * 65]}}, "/statuses/run/0 /statuses/run/1"),
    ({"errors": {"not_found": {"body": 1, "status": 200}}}, "/errors/not_found/status"),
    # Of the list
    (in_list({"projects": []}), "/list/body"),
    (in_list({"data": {"name": "{project.nam}"}}), "/list/body /list/body/data/name"),
    (in_list({"projects": [ITEM, ITEM]}), "/list/body/projects"),
    (in_list({"a": [ITEM], "b": ["{record}"]}), "/list/body/b"),
    (in_list({"a": [{"id": "{project.nope}"}], "b": NAME}), "/list/body/a/0/id /list/body/b"),
    # Of markers
    (in_deployment({"a": ["{count}"]}), "/deployment/body/a/0"),
    (in_deployment({"x{project.id}": 1}), "/deployment/body/x{project.id}"),
    (in_deployment("{base:x}"), "/deployment/body"),
    (in_deployment("{project.created_at:2026-02-30T09:00:00Z}"), "/deployment/body"),
    (in_deployment("{project.id:prj_}"), "/deployment/body"),
    (in_deployment("{deployment.id:a b}"), "/deployment/body"),
    (in_deployment("{deployment.id:{c6486c47-9e84}}"), "/deployment/body"),
    (in_deployment(1, headers={"X": "{count}"}), "/deployment/headers/X"),
    ({"record": 1, "create": {"body": ["a {record}"], "headers": {"X": "{record}"}}},
     "/create/body/0 /create/headers/X"),
    ({"record": {"a": "{record}", "b": "{count}"}}, "/record/a /record/b"),
    (in_deployment("{record}"), "/deployment/body"),
    ({"deployment": {"body": [f"is {STATUS}"]}}, "/deployment/body/0"),
    # Of choices
    (in_deployment({STATUS: 1}), f"/deployment/body/{STATUS}"),
    (in_deployment({STATUS: {"": 1}, "x": 1}), f"/deployment/body/{STATUS}"),
    (in_deployment({STATUS: {"": "{error.code}", "ready": 2}}),
     f"/deployment/body/{STATUS}/ready /deployment/body/{STATUS}/"),
    (in_deployment([{STATUS: {"queued": [{STATUS: {"other": 1}}]}}]),
     f"/deployment/body/0/{STATUS}/queued/0/{STATUS} "
     f"/deployment/body/0/{STATUS}/queued/0/{STATUS}/other"),
    ({"errors": {"not_found": {"body": [NAME, {STATUS: {"": 1}}]}}},
     f"/errors/not_found/body/0 /errors/not_found/body/1/{STATUS}"),
    # Of the request
    (request({"a": [NAME]}), "/create/request /create/request/a/0"),
    (request({"a": NAME, "b": {"c": NAME}}), "/create/request/b/c"),
    (request({"a": NAME, "b": ["{base}"], "{count}": 1}),
     "/create/request/b/0 /create/request/{count}"),
    (request({"a": NAME, "b": [{"c": 1}]}, required=["/a", "/b", "/b/0", "/b/0/c", "b", "", "/x"]),
     "/create/required/2 /create/required/3 /create/required/4 /create/required/5 "
     "/create/required/6"),
    (request({"a": NAME, "~/": {"c": 1}}, required=["/~0~1"], optional=["/a", "/~0~1", "/~/"]),
     "/create/optional/1 /create/optional/2"),
    (request({"a": NAME}, optional=True, required="/a"), "/create/optional /create/required"),
    ({"create": {"body": 1, "optional": ["/name"], "required": ["/other"]}}, "/create/required/0"),
    # Of errors, statuses and ids
    ({"errors": {"not_found": {"status": 410}}}, "/errors/not_found/body"),
    ({"errors": {"not_found": {"body": 64 * 1024 * "x"}}}, "/errors/not_found/body"),
    ({"statuses": {"run": [f"a{n}" for n in range(100)]}}, ""),
    ({"statuses": {"run": ["a"], "others": ["b", "a"]}}, "/statuses/others/1"),
    ({"statuses": {"run": [f"a{n}" for n in range(60)], "others": [f"b{n}" for n in range(41)]}},
     "/statuses"),
    ({"deployment": {"body": {STATUS: {"a\u0007": 1}}}}, "/deployment/body"),
    ({"record": {STATUS: {"a\u0007": 1}}, **in_list(["{record}"])}, "/record"),
    ({"record": {STATUS: {"": 1, "x": 1}}, "create": {"body": {STATUS: {"a": 1, "": "{record}"}}}},
     f"/record/{STATUS}/x"),
    (ids("prj_", ""), "/ids/deployments"),
    (ids("prj_", 1), "/ids/projects"),
    (ids("{project.name}-{project.name}", "{record}"), "/ids/projects /ids/deployments"),
    (ids("{project.id}", 1), "/ids/projects"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "places"), INVALID)
def test_each_error_is_told_at_its_place(more: dict[str, Any], places: str) -> None:
    errors = check_profile({"observed_at": DATE, **more})
    assert sorted(error.pointer for error in errors) == sorted(places.split()), errors


def test_a_header_field_that_the_server_rejects_is_an_error() -> None:
    fields = dict.fromkeys([*hop_by_hop, "Access-Control-Max-Age"], "1")
    errors = check_profile({"observed_at": DATE, **in_deployment(1, headers=fields)})
    assert {error.pointer for error in errors} == {f"/deployment/headers/{each}" for each in fields}


def test_what_is_gone_is_told_with_what_to_write() -> None:
    gone = {"times": 1, "statuses": {"run": ["a"], "ended": "a"}}
    details = " ".join(error.detail for error in check_profile({"observed_at": DATE, **gone}))
    assert "the last status of `run` stays" in details
    assert "{project.created_at:2026-01-05T09:00:00.000Z}" in details


def test_a_name_in_place_of_a_pointer_is_told_with_a_pointer() -> None:
    (error,) = check_profile({"observed_at": DATE, **request({"a": NAME}, required=["a"])})
    assert "'a' is not a pointer to a member of the example, such as /name" in error.detail


def test_an_unknown_member_is_told_with_the_known_ones() -> None:
    unknown = {"errors": {"unauthorized": {"body": 1}}, "deployments": 1, "ids": {"x": 1}}
    found = {
        error.pointer: error.detail for error in check_profile({"observed_at": DATE, **unknown})
    }
    assert found["/errors/unauthorized"].startswith("is not a known member: there are default, ")
    assert ", token_missing, unknown_query" in found["/errors/unauthorized"]
    assert ", create, deployment, errors, " in found["/deployments"]
    assert found["/ids/x"] == "is not a known member: there are projects, deployments"


def test_the_schema_is_one_and_has_the_codes_of_the_contract() -> None:
    for document in DOCUMENTS.values():
        Draft202012Validator(load_schemas()["profile"]).validate(document)
    codes = {"default"}
    for part in [*V1.components["responses"].values(), *V1.document["paths"].values()]:
        codes |= {*re.findall(r'"code": "(\w+)"', json.dumps(part))}
    assert {*load_schemas()["profile"]["properties"]["errors"]["properties"]} == codes


def created(body: Any, **headers: str) -> dict[str, Any]:
    return {"statuses": {"run": ["A", "B"]}, "create": {"body": body, "headers": headers}}


NO_WAY = "/create shows no way to the deployment: no {deployment.id} in body or headers"
# Parts of a profile, and its warnings.
WARNINGS: list[tuple[dict[str, Any], list[str]]] = [
    (created({"url": "x/{deployment.id}"}), []),
    (created(1, Location="{deployment.id:text}"), []),
    (created({"uid": "{deployment.id:abc-1}"}), [NO_WAY]),
    (created({"id": "{project.id}"}), [NO_WAY]),
    ({**created({"id": "{project.id}"}), "ids": {"deployments": "{project.id}"}}, []),
    (created([{STATUS: {"A": "{deployment.id}", "": 1}}]), [NO_WAY]),
    (created({"id": {STATUS: {"A": "{deployment.id}"}}}), [NO_WAY]),
    (created({"id": {STATUS: {"A": "{deployment.id}", "B": ["{deployment.id}"]}}}), []),
    ({"deployment": {"body": {"id": 1}}}, ["/deployment/body has no {deployment.status}"]),
    (in_deployment([STATUS, "a {Project.id:s} {x} {project.id}"]),
     ["/deployment/body/1: {Project.id:s} is not a marker: it stays as it is"]),
    (in_deployment(STATUS, headers={"X": "1", "Set-Cookie": "a=b"}),
     ["/deployment/headers/Set-Cookie is left out: clients would keep it for this host"]),
]  # fmt: skip


@pytest.mark.parametrize(("parts", "warnings"), WARNINGS)
def test_what_a_client_will_miss_is_a_warning(parts: dict[str, Any], warnings: list[str]) -> None:
    assert profile(**parts).warnings == warnings


# The text of a file, and what is wrong with it.
FILES: list[tuple[str, str]] = [
    ('{"observed_at": "x", "list": {}}', "/observed_at: must be a date"),
    ("[" * 40 + "]" * 40, "levels deep"),
    ("[]", "the document: must be a JSON object"),
    ("{", "line 1, column 2"),
    (f'{{"x": "{"x" * 1_048_576}"}}', "the document: must have at most 1048576 bytes"),
    (json.dumps({"observed_at": DATE, **in_list([[{"x" * 99: "{count:x}"}], "{project.id}"])}),
     f"/list/body/0/0/{'x' * 60}…: "),
]  # fmt: skip


def test_a_file_that_is_no_profile_is_rejected_with_the_reason(tmp_path: Path) -> None:
    file = tmp_path / "service.json"
    for text, reason in FILES:
        file.write_text(text, "utf-8")
        with pytest.raises(ValueError, match=re.escape(f"{file}: ")) as told:
            read_profile(file)
        assert reason in str(told.value)


def test_the_first_hundred_errors_are_told() -> None:
    wrong = in_deployment([{STATUS: {"": 1, "x" * 1000: 2}}] * 200)
    errors = check_profile({"observed_at": DATE, **wrong})
    assert len(errors) == 100
    assert max(len(error.detail) for error in errors) < 1000


def numbered(count: int, value: Any) -> dict[str, Any]:
    return {f"m{number}": value for number in range(count)}


# Large profiles, and whether they are valid.
LARGE: dict[str, tuple[Callable[[], Any], bool]] = {
    "items": (lambda: in_deployment([NAME, *[1] * 100_000]), True),
    "names": (lambda: in_list([numbered(20_000, NAME)]), True),
    "request": (lambda: request({"a": NAME, **numbered(20_000, [{"b": {}}])}), True),
    "braces": (lambda: in_deployment("{project." * 100_000), True),
    "marker": (lambda: in_deployment([f"{{project.{'x' * 1_000_000}}}"]), False),
    "media type": (lambda: {"content_type": "a/b" + ";a=b" * 250_000 + "!\n"}, False),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_a_large_profile_is_read_in_time(name: str) -> None:
    make, is_valid = LARGE[name]
    document = {"observed_at": DATE, **make()}
    started = time.process_time()
    assert bool(check_profile(document)) is not is_valid
    if is_valid:
        client = client_of(like(Profile(document)))
        assert client.get("/v1/projects").status_code == 200
        client.put("/_stub/deployments/d", json={"status": "queued"})
        assert client.get("/v1/deployments/d").status_code == 200
    assert time.process_time() - started < 10  # what is quadratic takes minutes


@pytest.mark.process
def test_the_program_starts_with_a_file_and_tells_its_warnings_or_its_errors(
    tmp_path: Path,
) -> None:
    file = tmp_path / "service.json"
    file.write_text(json.dumps({"observed_at": DATE, "deployment": {"body": 1}}), "utf-8")
    done = run(env={"STUB_LIKE": str(file)})
    assert done.status == 0
    assert f"like {file}; it lacks these, which follow the contract: statuses, list," in done.stderr
    assert f"warning: {file}: /deployment/body has no {STATUS}" in done.stderr
    shown = client_of(like(make_profile(json.loads(file.read_text("utf-8"))))).get("/_stub/like")
    codes = shown.json["unobserved_errors"]
    assert {"deployment_not_found", "not_found"} <= {*codes}
    assert not {"internal_error", "headers_too_large"} & {*codes}
    unobserved = "the status and the body of these errors were not observed: deployment_not_found, "
    assert unobserved in done.stderr
    file.write_text("{}", "utf-8")
    assert f"{file}: /observed_at: is required" in not_started("--like", str(file))
