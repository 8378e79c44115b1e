"""An invalid profile is rejected with all its errors, each at its place."""

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator

from stub.like.check import OWN_WORDS, errors_in
from stub.like.ids import make_id
from stub.rules import schemas
from tests.contract import STATUSES, V1
from tests.program import not_started, run
from tests.services import DOCUMENTS
from tests.stub.like.conftest import DATE, NAME, STATUS

ITEM = {"id": "{project.id}"}
OPAQUE = {"prefix": "", "alphabet": ["a-b"], "shortest": 1, "longest": 9}


def in_list(body: Any) -> dict[str, Any]:
    return {"list": {"body": body}}


def in_deployment(body: Any, **more: Any) -> dict[str, Any]:
    return {"deployment": {"body": body, **more}}


def request(example: Any) -> dict[str, Any]:
    return {"create": {"body": 1, "request": example}}


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
    (in_deployment({STATUS: {"queued": 1}}), f"/deployment/body/{STATUS}"),
    (in_deployment({STATUS: {"": 1}, "x": 1}), f"/deployment/body/{STATUS}"),
    (in_deployment({STATUS: 1}), f"/deployment/body/{STATUS}"),
    (in_deployment([{STATUS: {"": "{error.code}", "ready": 2}}]),
     f"/deployment/body/0/{STATUS}/ready /deployment/body/0/{STATUS}/"),
    (in_deployment(1, headers={"Content-Length": "1", "X": "a\nb", "x": "{count}"}),
     "/deployment/headers/Content-Length /deployment/headers/X /deployment/headers/x"),
    (in_deployment(1, headers={"Y-a": "1", "y-A": "1"}), "/deployment/headers/y-A"),
    (in_deployment(1, content_type="json"), "/deployment/content_type"),
    (in_deployment(1, content_type="text/plain\n"), "/deployment/content_type"),
    (request({"a": [NAME]}), "/create/request /create/request/a/0"),
    (request({"a": NAME, "b": {"c": NAME}}), "/create/request/b/c"),
    (request({"a": NAME, "b": "{project.id}", "{count}": 1}),
     "/create/request/b /create/request/{count}"),
    ({"errors": {"teapot": {"body": 1}, "default": {"body": 1, "status": 400}}},
     "/errors/teapot /errors/default/status"),
    ({"errors": {"not_found": {"body": [NAME, {STATUS: {"": 1}}], "status": 200}}},
     f"/errors/not_found/status /errors/not_found/body/0 /errors/not_found/body/1/{STATUS}"),
    ({"statuses": {"run": [], "ended": None}, **in_deployment({STATUS: {"": 1, "x": 2}})},
     "/statuses/run"),
    ({"statuses": {"run": ["a", "a"], "ended": "a"}}, "/statuses/run"),
    ({"statuses": {"run": ["a"], "ended": "b", "others": ["a"]}},
     "/statuses/ended /statuses/others/0"),
    ({"statuses": {"run": ["a\u0007", "b" * 65, ""], "ended": "x"}},
     "/statuses/run/0 /statuses/run/1 /statuses/run/2"),
    ({"ids": {"projects": {**OPAQUE, "alphabet": [], "longest": 10**9}}},
     "/ids/projects/alphabet /ids/projects/longest"),
    ({"ids": {"projects": {**OPAQUE, "shortest": 10, "alphabet": [".", "0"]}}},
     "/ids/projects/longest /ids/projects/alphabet"),
    ({"ids": {"projects": {**OPAQUE, "shortest": 10}}}, "/ids/projects/longest"),  # two letters
    ({"ids": {"projects": {"prefix": ""}, "deployments": {"prefix": "a b"}}},
     "/ids/projects/alphabet /ids/projects/shortest /ids/projects/longest "
     "/ids/deployments/prefix"),
    ({"ids": {"projects": {"same": True}, "deployments": {"slug": True, "same": True}}},
     "/ids/projects/same /ids/deployments/same"),
    ({"ids": {"projects": {"integers": 1}, "deployments": {"slug": True, "prefix": ""}}},
     "/ids/projects/integers /ids/deployments/prefix"),
    ({"ids": {"projects": {}}, "times": {"offset": "+1", "digits": 10}},
     "/ids/projects /times/offset /times/digits /times/case"),
]  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_valid_profile_has_no_error(name: str) -> None:
    Draft202012Validator(schemas()["Profile"]).validate(DOCUMENTS[name])
    assert errors_in(DOCUMENTS[name]) == []


@pytest.mark.parametrize(("more", "places"), INVALID)
def test_each_error_is_told_at_its_place(more: dict[str, Any], places: str) -> None:
    errors = errors_in({"observed_at": DATE, **more})
    assert sorted(error.pointer for error in errors) == sorted(places.split()), errors


def test_a_choice_takes_the_words_of_the_profile() -> None:
    statuses = {"run": ["A", "b c"], "ended": "b c", "others": ["D"]}
    choice = in_deployment({STATUS: {"A": 1, "b c": 2, "D": 3, "": 4}})
    assert errors_in({"observed_at": DATE, "statuses": statuses, **choice}) == []
    assert [*OWN_WORDS] == STATUSES


def test_the_codes_of_errors_are_those_of_the_contract() -> None:
    responses = [*V1.components["responses"].values()]
    for _, _, operation in V1.operations():
        responses += [each for each in operation["responses"].values() if "content" in each]
    codes = set()
    for response in responses:
        for content in response["content"].values():
            codes |= {name for name, each in content["examples"].items() if "code" in each["value"]}
    known = schemas()["Profile"]["properties"]["errors"]["properties"]
    assert {*known} - {"default"} == codes


def test_an_id_has_its_form() -> None:
    form: dict[str, Any] = {"prefix": "deployment_", "alphabet": ["0-9", "A-F", "-"]}
    for shortest, longest in ((3, 3), (8, 10)):
        form |= {"shortest": shortest, "longest": longest}
        for seed in range(20):
            assert re.fullmatch(
                f"deployment_[-0-9A-F]{{{shortest},{longest}}}", make_id(form, Random(seed))
            )


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
    file.write_text(f'{{"observed_at": "{DATE}", "deployment": {{"body": {{"id": 1}}}}}}', "utf-8")
    warning = f"warning: {file}: /deployment/body has no {{deployment.status}}\n"
    assert warning in run("--like", str(file)).stderr
    file.write_text(f'{{"observed_at": "{DATE}", "times": null}}', "utf-8")
    for text, reasons in (
        ('{"observed_at": "x", "list": {"body": [{"a": "{project.x}"}]}}',
         ["/observed_at: must be a date", "/list/body/0/a: {project.x} is no marker"]),
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
