"""A profile is checked by its schema, and the ids that it makes show its form."""

import json
from random import Random
from typing import Any
from uuid import UUID

import pytest
from jsonschema_rs import Draft202012Validator

from stub.profile import SCHEMA, contradictions, errors_of, id_form, make_id
from tests.contract import V1

DATE = {"observed_at": "2026-11-24"}
IDS = {"prefix": "", "alphabet": ["a-z"], "shortest": 1, "longest": 9}
TIMES = {"offset": "Z", "digits": 3, "case": "upper"}
VALID: list[dict[str, Any]] = [
    DATE,
    {
        **DATE,
        "ids": {"projects": {**IDS, "alphabet": ["0-9", "-"]}, "deployments": IDS},
        "times": {**TIMES, "offset": "-05:30"},
        "creation_status": 202,
        "list_order": "newest first",
        "statuses": {"run": ["PENDING", "READY"], "ended": "READY"},
        "members": {
            "project": {"added": {"owner": "object"}, "absent": ["created_at"]},
            "deployment": {"absent": ["project_id", "id"]},
        },
        "headers": ["ETag", "X-Request-Id"],
        "media_types": {"json": "application/vnd.api+json; charset=utf-8", "problem": "text/json"},
        "not_imitated": [{"part": "#/paths/~1v1~1projects/get", "what": "an envelope"}],
    },
    {**DATE, "statuses": {"run": ["queued"], "ended": None}},
]
# What is added to a valid profile, and the place of each error.
INVALID: list[tuple[dict[str, Any], list[str]]] = [
    ({"observed_at": "today"}, ["/observed_at"]),
    ({"observed_at": "2026-11-24\n"}, ["/observed_at"]),
    ({"x/y": 1}, ["/x~1y"]),
    ({"ids": []}, ["/ids"]),
    ({"ids": {"users": IDS}}, ["/ids/users"]),
    ({"ids": {"projects": {**IDS, "alphabet": []}}}, ["/ids/projects/alphabet"]),
    ({"ids": {"projects": {**IDS, "alphabet": ["é-ü"]}}}, ["/ids/projects/alphabet/0"]),
    ({"ids": {"projects": {**IDS, "longest": 10**9}}}, ["/ids/projects/longest"]),
    ({"ids": {"projects": {**IDS, "shortest": True}}}, ["/ids/projects/shortest"]),
    ({"ids": {"projects": {**IDS, "shortest": 0}}}, ["/ids/projects/shortest"]),
    ({"times": {**TIMES, "offset": "+24:00", "digits": 10}}, ["/times/offset", "/times/digits"]),
    ({"times": {"offset": "Z", "digits": 3}}, ["/times/case"]),
    ({"creation_status": 204, "list_order": "by name"}, ["/creation_status", "/list_order"]),
    ({"statuses": {"run": ["a", "a"], "ended": "a"}}, ["/statuses/run"]),
    ({"statuses": {"run": ["a b"], "ended": None}}, ["/statuses/run/0"]),
    ({"members": {"project": {"added": {"a": "date"}}}}, ["/members/project/added/a"]),
    ({"headers": ["X\nY"]}, ["/headers/0"]),
    ({"media_types": {"json": "json"}}, ["/media_types/json"]),
    ({"not_imitated": [{"part": "#/x"}]}, ["/not_imitated/0/what"]),
]
# What the schema cannot say.
CONTRADICTIONS: list[tuple[dict[str, Any], list[str]]] = [
    ({"ids": {"projects": {**IDS, "shortest": 10}}}, ["/ids/projects/longest"]),
    ({"ids": {"projects": {**IDS, "alphabet": ["z-a"]}}}, ["/ids/projects/alphabet/0"]),
    ({"statuses": {"run": ["a", "b"], "ended": "a"}}, ["/statuses/ended"]),
    ({"statuses": {"run": ["a"], "ended": 1}}, ["/statuses/ended"]),
    ({"members": {"project": {"added": {"name": "string"}}}}, ["/members/project/added/name"]),
    ({"members": {"deployment": {"absent": ["status"]}}}, ["/members/deployment/absent/0"]),
    ({"members": {"project": {"absent": ["project_id"]}}}, ["/members/project/absent/0"]),
    ({"headers": ["ETag", "Set-Cookie", "date"]}, ["/headers/1", "/headers/2"]),
]
ID_SHAPES = [
    ["prj_5f2c9a4be1d07c36"],
    ["proj_live_8sj2", "proj_test_9sj2kk"],
    [str(UUID(int=5 << 99))],
    ["01ARZ3NDEKTSV4RRFFQ69G5FAV"],
    ["V1StGXR8_Z5jdHi6B-myT"],
    ["shop"],
    ["7f-a"],
]


@pytest.mark.parametrize("profile", VALID)
def test_a_valid_profile_has_no_error(profile: dict[str, Any]) -> None:
    Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(profile)))
    schemas = V1.components["schemas"]
    assert [*errors_of(profile, SCHEMA), *contradictions(profile, schemas)] == []  # type: ignore[arg-type]


@pytest.mark.parametrize(("more", "places"), INVALID)
def test_the_places_of_errors_are_those_that_the_schema_rejects(
    more: dict[str, Any], places: list[str]
) -> None:
    profile = {**DATE, **more}
    assert not Draft202012Validator(SCHEMA).is_valid(profile)
    assert [error.pointer for error in errors_of(profile, SCHEMA)] == places


@pytest.mark.parametrize(("more", "places"), CONTRADICTIONS)
def test_contradictions_have_places(more: dict[str, Any], places: list[str]) -> None:
    profile: Any = {**DATE, **more}
    assert [*errors_of(profile, SCHEMA)] == []
    found = contradictions(profile, V1.components["schemas"])
    assert [error.pointer for error in found] == places


@pytest.mark.parametrize("ids", ID_SHAPES)
def test_the_ids_of_a_form_have_that_form(ids: list[str]) -> None:
    form = id_form(ids)
    for seed in range(300):
        made = make_id(form, Random(seed))
        size = len(made) - len(form["prefix"])
        assert form["shortest"] <= size <= form["longest"]
        assert id_form([made]) == {**form, "shortest": size, "longest": size}, made


def test_a_prefix_is_what_all_ids_begin_with_in_words() -> None:
    for ids, prefix in (
        (["prj_12345", "prj_2345"], "prj_"),
        (["a_b_c_1234567", "a_b_d_1234567"], "a_b_"),
        (["project_a"], ""),  # over half of the id
        ([str(UUID(int=5 << 99))], ""),
        (["ab_123", "cd_123"], ""),
    ):
        assert id_form(ids)["prefix"] == prefix, ids
