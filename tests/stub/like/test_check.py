"""An invalid profile is rejected with all its errors, each at its place."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator

from stub.like.check import errors_in
from stub.like.ids import characters, make_id
from stub.like.profile import OWN_WORDS, read_profile
from stub.rules import schemas
from tests.conftest import START
from tests.contract import STATUSES, V1
from tests.program import not_started, run
from tests.services import DOCUMENTS
from tests.stub.like.conftest import DATE, NAME, STATUS

ITEM = {"id": "{project.id}"}
OPAQUE = {"prefix": "", "alphabet": ["a-z"], "shortest": 1, "longest": 9}
RUN = {"run": ["A", "b c"], "ended": "b c", "others": ["D"]}
# What is added to a valid profile, and the places of the errors.
INVALID: list[tuple[dict[str, Any], list[str]]] = [
    ({"observed_at": "2026-02-29"}, ["/observed_at"]),
    ({"observed_at": "2026-11-24\n"}, ["/observed_at"]),
    ({"deployment": {"body": 1, "content_type": "text/plain\n"}}, ["/deployment/content_type"]),
    ({"creation_status": 200, "x/y": 1}, ["/creation_status", "/x~1y"]),
    ({"list": {"body": {"projects": []}}}, ["/list/body"]),
    ({"list": {"body": {"projects": [ITEM, ITEM]}}}, ["/list/body/projects"]),
    ({"list": {"body": {"a": [ITEM], "b": [ITEM]}}}, ["/list/body/b"]),
    ({"list": {"body": {"a": [ITEM], "b": NAME}}}, ["/list/body/b"]),
    ({"list": {"body": {"a": [ITEM], "b": {STATUS: {"": 1}}}}}, [f"/list/body/b/{STATUS}"]),
    ({"list": {"body": {"a": [{"id": "{project.nope}"}]}}}, ["/list/body/a/0/id"]),
    ({"list": {}, "create": {"status": 204}}, ["/list/body", "/create/status", "/create/body"]),
    ({"list": [], "create": {"body": {}, "request": []}}, ["/list", "/create/request"]),
    ({"list": {"body": [ITEM], "order": "by name"}}, ["/list/order"]),
    ({"deployment": {"body": {"a": ["{first.id}", "{count}"]}}},
     ["/deployment/body/a/0", "/deployment/body/a/1"]),
    ({"deployment": {"body": {"x {project.id}": 1}}}, ["/deployment/body/x {project.id}"]),
    ({"deployment": {"body": {STATUS: {"queued": 1}}}}, [f"/deployment/body/{STATUS}"]),
    ({"deployment": {"body": {STATUS: {"": 1}, "x": 1}}}, [f"/deployment/body/{STATUS}"]),
    ({"deployment": {"body": {STATUS: 1}}}, [f"/deployment/body/{STATUS}"]),
    ({"deployment": {"body": [{STATUS: {"": 1, "ready": 2}}]}},
     [f"/deployment/body/0/{STATUS}/ready"]),
    ({"deployment": {"body": {STATUS: {"": "{error.code}"}}}}, [f"/deployment/body/{STATUS}/"]),
    ({"deployment": {"body": 1, "headers": {"Content-Length": "1", "X": "a\nb", "x": "{count}"}}},
     ["/deployment/headers/Content-Length", "/deployment/headers/X", "/deployment/headers/x"]),
    ({"deployment": {"body": 1, "headers": {"Y-a": "1", "y-A": "1"}}},
     ["/deployment/headers/y-A"]),
    ({"deployment": {"body": 1, "content_type": "json"}}, ["/deployment/content_type"]),
    ({"create": {"body": 1, "request": {"a": "x"}}}, ["/create/request"]),
    ({"create": {"body": 1, "request": {"a": [NAME]}}}, ["/create/request", "/create/request/a/0"]),
    ({"create": {"body": 1, "request": {"a": NAME, "b": {"c": NAME}}}}, ["/create/request/b/c"]),
    ({"create": {"body": 1, "request": {"a": NAME, "b": "{project.id}"}}}, ["/create/request/b"]),
    ({"create": {"body": 1, "request": {"a": NAME, "{count}": 1}}}, ["/create/request/{count}"]),
    ({"statuses": {"run": [], "ended": None}, "deployment": {"body": {STATUS: {"": 1, "x": 2}}}},
     ["/statuses/run"]),
    ({"create": {"body": 1, "optional": "yes", "unique": 0}},
     ["/create/optional", "/create/unique"]),
    ({"errors": {"teapot": {"body": 1}, "default": {"body": 1, "status": 400}}},
     ["/errors/teapot", "/errors/default/status"]),
    ({"errors": {"not_found": {"body": NAME, "status": 200}}},
     ["/errors/not_found/status", "/errors/not_found/body"]),
    ({"errors": {"not_found": {"body": {STATUS: {"": 1}}}}},
     [f"/errors/not_found/body/{STATUS}"]),
    ({"statuses": {"run": ["a", "a"], "ended": "a"}}, ["/statuses/run"]),
    ({"statuses": {"run": ["a"], "ended": "b", "others": ["a"]}},
     ["/statuses/ended", "/statuses/others/0"]),
    ({"statuses": {"run": ["a\u0007", "b" * 65, ""], "ended": "x"}},
     ["/statuses/run/0", "/statuses/run/1", "/statuses/run/2"]),
    ({"ids": {"projects": {**OPAQUE, "alphabet": [], "longest": 10**9}}},
     ["/ids/projects/alphabet", "/ids/projects/longest"]),
    ({"ids": {"projects": {**OPAQUE, "shortest": 10}}}, ["/ids/projects/longest"]),
    ({"ids": {"projects": {**OPAQUE, "alphabet": [".", "-"]}}}, ["/ids/projects/alphabet"]),
    ({"ids": {"projects": {"prefix": ""}, "deployments": {"prefix": "a b"}}},
     ["/ids/projects/alphabet", "/ids/projects/shortest", "/ids/projects/longest",
      "/ids/deployments/prefix"]),
    ({"ids": {"projects": {}}}, ["/ids/projects"]),
    ({"ids": {"projects": {"same": True}, "deployments": {"slug": True, "same": True}}},
     ["/ids/projects/same", "/ids/deployments/same"]),
    ({"ids": {"projects": {"integers": 1}, "deployments": {"slug": True, "prefix": ""}}},
     ["/ids/projects/integers", "/ids/deployments/prefix"]),
    ({"times": {"offset": "+1", "digits": 10}},
     ["/times/offset", "/times/digits", "/times/case"]),
]  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_valid_profile_has_no_error(name: str) -> None:
    Draft202012Validator(schemas()["Profile"]).validate(DOCUMENTS[name])
    assert errors_in(DOCUMENTS[name], OWN_WORDS) == []


@pytest.mark.parametrize(("more", "places"), INVALID)
def test_each_error_is_told_at_its_place(more: dict[str, Any], places: list[str]) -> None:
    errors = errors_in({"observed_at": DATE, **more}, OWN_WORDS)
    assert sorted(error.pointer for error in errors) == sorted(places), errors
    assert all(len(error.detail) > 10 for error in errors)


def test_a_choice_takes_the_words_of_the_profile() -> None:
    choice = {STATUS: {"A": 1, "b c": 2, "D": 3, "": 4}}
    found = errors_in(
        {"observed_at": DATE, "statuses": RUN, "deployment": {"body": choice}}, OWN_WORDS
    )
    assert found == []
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
    for form in (
        {"prefix": "srv-", "alphabet": ["0-9", "a-z"], "shortest": 3, "longest": 3},
        {"prefix": "deployment_", "alphabet": ["0-9", "A-F", "-"], "shortest": 8, "longest": 10},
    ):
        for seed in range(50):
            made = make_id(form, Random(seed))
            rest = made.removeprefix(str(form["prefix"]))
            assert form["shortest"] <= len(rest) <= form["longest"]  # type: ignore[operator]
            assert {*rest} <= {*characters(*form["alphabet"])}  # type: ignore[misc]
    for name, slug in (("Shop Nº 1", "shop-no-1"), ("Ünïcode!", "unicode"), ("漢字", "unnamed")):
        made_ids = [make_id({"slug": True}, Random(0), base=name, attempt=n) for n in range(2)]
        assert made_ids == [slug, f"{slug}-2"]


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


def test_a_number_with_a_point_is_an_integer(tmp_path: Path) -> None:
    times = {"offset": "Z", "digits": 3.0, "case": "upper"}
    (tmp_path / "p").write_text(json.dumps({"observed_at": DATE, "times": times}), "utf-8")
    assert read_profile(tmp_path / "p").times.spell(START) == "2026-11-21T10:00:00.000Z"
