"""A profile is checked by its schema, and the ids that it makes show its form."""

import json
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pytest
from jsonschema_rs import Draft202012Validator

from stub.profile import (
    characters,
    contradictions,
    id_form,
    in_snake_case,
    is_same,
    make_id,
    read_profile,
)
from stub.rules import check, schemas
from tests.contract import V1
from tests.stub.like import LIKE

SCHEMA = schemas()["Profile"]
DATE = {"observed_at": "2026-11-24"}
IDS = {"prefix": "", "alphabet": ["a-z"], "shortest": 1, "longest": 9}
VALID = [DATE, LIKE, {**DATE, "statuses": {"run": ["queued"], "ended": None}}]
# What is added to a valid profile, and the place of each error.
INVALID: list[tuple[dict[str, Any], list[str]]] = [
    ({"observed_at": "today"}, ["/observed_at"]),
    ({"observed_at": "2026-11-24\n"}, ["/observed_at"]),
    ({"x/y": 1}, ["/x~1y"]),
    ({"ids": {"projects": {**IDS, "alphabet": []}}}, ["/ids/projects/alphabet"]),
    ({"ids": {"projects": {**IDS, "longest": 10**9}}}, ["/ids/projects/longest"]),
    ({"ids": {"projects": {**IDS, "shortest": True}}}, ["/ids/projects/shortest"]),
    ({"creation_status": [204], "list_order": {"by": 1}}, ["/creation_status", "/list_order"]),
    ({"statuses": {"run": ["a", "a"], "ended": "a"}}, ["/statuses/run"]),
    ({"members": {"project": {"added": {"a": "date"}}}}, ["/members/project/added/a"]),
    ({"not_imitated": [{"part": "#/x"}]}, ["/not_imitated/0/what"]),
    ({"members": {"deployment": {"added": {"status": "null"}, "absent": ["status"]}}},
     ["/members/deployment/added/status", "/members/deployment/absent/0"]),
    ({"headers": [f"X-{number}" for number in range(65)]}, ["/headers"]),
]  # fmt: skip
# Which no keyword of JSON Schema rejects: secrets, what is the server's own, and relations.
UNSAID: list[tuple[dict[str, Any], list[str]]] = [
    ({"observed_at": "2026-02-29"}, ["/observed_at"]),
    ({"headers": ["ETag", "Set-Cookie", "date", "Upgrade"]}, [f"/headers/{n}" for n in (1, 2, 3)]),
    ({"ids": {"deployments": {**IDS, "shortest": 10}}}, ["/ids/deployments/longest"]),
    ({"ids": {"projects": {**IDS, "prefix": "prj_"}}}, ["/ids/projects/prefix"]),
    ({"ids": {"projects": {**IDS, "alphabet": [".", "-"]}}}, ["/ids/projects/alphabet"]),
    ({"statuses": {"run": ["a", "b"], "ended": ["b"]}}, ["/statuses/ended"]),
]  # fmt: skip
ID_SHAPES = [
    ["prj_5f2c9a4be1d07c36"],
    ["proj_live_8sj2", "proj_test_9sj2kk"],
    ["5f2c9a4b-e1d0-4c36-8d1e-0123456789ab"],
    ["01ARZ3NDEKTSV4RRFFQ69G5FAV"],
    ["V1StGXR8_Z5jdHi6B-myT"],
    ["5StGX8_Z-m"],
    ["shop"],
    ["7f-a"],
]


@pytest.mark.parametrize("profile", VALID)
def test_a_valid_profile_has_no_error(profile: dict[str, Any]) -> None:
    Draft202012Validator(SCHEMA).validate(profile)
    assert [*check(profile, "Profile"), *contradictions(profile)] == []


@pytest.mark.parametrize(("more", "places"), INVALID + UNSAID)
def test_the_places_of_errors_are_those_that_the_schema_rejects(
    more: dict[str, Any], places: list[str]
) -> None:
    profile = {**DATE, **more}
    assert Draft202012Validator(SCHEMA).is_valid(profile) == ((more, places) in UNSAID)
    errors = [*check(profile, "Profile")] or [*contradictions(profile)]
    assert [error.pointer for error in errors] == places


@pytest.mark.parametrize("kind", ["project", "deployment"])
def test_a_member_of_the_contract_is_never_added_and_absent_if_chosen(kind: str) -> None:
    own = V1.components["schemas"][kind.title()]["properties"]
    rules = SCHEMA["properties"]["members"]["properties"][kind]["properties"]
    assert [*rules["added"]["properties"]] == [*own]
    chosen = [name for name in own if "chosen" in own[name]["x-origin"]]
    assert rules["absent"]["items"]["enum"] == chosen


@pytest.mark.parametrize("ids", ID_SHAPES)
def test_the_ids_of_a_form_have_that_form(ids: list[str]) -> None:
    form, sizes = id_form(ids), set()
    for seed in range(300):
        made = make_id(form, Random(seed))
        size = len(made) - len(form["prefix"])
        sizes.add(size)
        found = id_form([made])
        assert found["prefix"] == form["prefix"], made
        assert len(ids[0]) != 36 or UUID(made).version == 4
        assert {*made[-size:]} <= {*characters(*form["alphabet"])}
        assert found["alphabet"] == form["alphabet"] or size < 2 * len(form["alphabet"])
    assert (min(sizes), max(sizes)) == (form["shortest"], form["longest"])


def test_a_number_with_a_point_is_an_integer(tmp_path: Path) -> None:
    (tmp_path / "p").write_text(json.dumps(LIKE | {"times": {**LIKE["times"], "digits": 3.0}}))
    assert repr(read_profile(tmp_path / "p")["times"]["digits"]) == "3"


ENDS = {"succeeded", "failed", "canceled"}


def test_a_run_that_shows_less_of_a_form_is_no_drift() -> None:
    ids = [id_form([each]) for each in ("dQwGzWgXcQ", "Wg3czQ9-w_", "Wg3czQ9.w~", "Wg3czQ9wWg3")]
    run = {"run": ["a", "b"], "ended": "b"}
    good, bad = ({"run": ["a", end], "ended": end} for end in ("succeeded", "failed"))
    absent = {"added": {}, "absent": ["id", "created_at"]}
    for form, before, now, is_known in (
        ("/ids/projects", ids[0], ids[1], True),
        ("/ids/projects", ids[0], ids[2], False),
        ("/ids/projects", ids[0], ids[3], False),
        ("/ids/projects", ids[0], {**ids[0], "prefix": "prj_"}, False),
        ("/ids/projects", IDS, {**IDS, "alphabet": ["A-Z"]}, False),
        ("/ids/projects", IDS, {**IDS, "shortest": 9, "longest": 10}, True),
        ("/ids/projects", {**IDS, "shortest": 9}, {**IDS, "longest": 8}, False),
        ("/ids/projects", {**IDS, "alphabet": ["J-N"]}, {**IDS, "alphabet": ["A-Z"]}, True),
        ("/statuses", run, {"run": ["a"], "ended": None}, True),
        ("/statuses", run, {"run": ["a", "c"], "ended": None}, False),
        ("/statuses", run, {"run": ["b", "a"], "ended": None}, False),
        ("/statuses", good, bad, True),
        ("/statuses", bad, run, False),
        ("/statuses", run, bad, False),
        ("/headers", ["X-a", "ETag"], ["Etag", "X-A"], True),
        ("/members/project", {"absent": ["created_at", "id"]}, absent, True),
        ("/members/project", {}, absent, False),
    ):
        assert is_same(form, before, now, ENDS) == is_known, (form, before, now)


def test_a_member_in_camel_case_takes_no_other_ones_place() -> None:
    record = {"created_at": 1, "createdAt": 2, "projectId": 3}
    assert in_snake_case(record) == {**record, "project_id": 3}


def test_a_prefix_is_what_all_ids_begin_with_in_words() -> None:
    for ids, prefix in (
        (["prj_12345", "prj_2345"], "prj_"),
        (["a_b_c_1234567", "a_b_d_1234567"], "a_b_"),
        (["pv1_1234567"], "pv1_"),
        (["project_a"], ""),  # over half of the id
        ([str(UUID(int=5 << 99))], ""),
        (["dep:abcdefab-1234-4abc-8abc-abcdefabcdef"], "dep:"),
        (["ab_123", "cd_123"], ""),
        (["nYQLFh0-x7Kd2mVtq_9Bc"], ""),  # of one id, any letters may be random
        (["aB-12345", "aB-23456"], "aB-"),
        (["Prj_12345"], "Prj_"),
        (["PRJ_12345"], "PRJ_"),
    ):
        assert id_form(ids)["prefix"] == prefix, ids
