"""The request that creates a project has the form of the profile."""

from typing import Any

import pytest

from tests.conftest import Clock
from tests.contract import CREATED
from tests.profiles.conftest import NAME, SERVICES, STATUS, client_of, deployment_of, like, profile
from tests.stub.conftest import entries

BODY: Any = {
    "of": {"name": NAME, "region": "fra", "size": 1, "tags": ["a"], "note": None,
           "at": {"zone": 1}, "any": {}, "type": "WEB"},
    "size": 5,
}  # fmt: skip
EXAMPLE = {"b": NAME, "region": "fra", "size": 1, "tags": [], "note": "", "at": {}, "any": {}}
NESTED = {"request": {"a": EXAMPLE, "c": 1}, "body": BODY}


def test_what_was_sent_beside_the_name_replaces_a_constant_of_its_type() -> None:
    listed = {"body": [{"title": NAME, "region": "any", "id": "{project.id}", "name": "fixed"}]}
    deployment = {"body": {"of": [{"name": NAME, "size": 7}]}}
    client = client_of(like(profile(create=NESTED, list=listed, deployment=deployment)))
    sent: Any = {"a": {"b": "shop", "region": "ams", "size": 2, "tags": [], "id": "x", "more": 1}}
    sent["a"] |= {"at": {"zone": 7, "rack": 1}, "any": {"x": 1}, "type": "INVALID"}
    created = client.post("/v1/projects", json=sent).json
    changed = {"name": "shop", "region": "ams", "size": 2, "tags": [], "note": None}
    changed |= {"at": {"zone": 7, "rack": 1}, "any": {"x": 1}, "type": "WEB"}
    assert created == {"of": changed, "size": 5}
    listed_one = client.get("/v1/projects").json[-1]
    assert (listed_one["title"], listed_one["region"]) == ("shop", "ams")
    assert (listed_one["id"] != "x", listed_one["name"]) == (True, "fixed")
    found = client.get(f"/v1/deployments/{deployment_of(client, 'shop')}").json
    assert found == {"of": [{"name": "shop", "size": 2}]}
    other = {"b": "other", "region": 5, "size": 1.5, "tags": [1], "note": "x", "at": {"rack": 1}}
    kept = {**BODY["of"], "name": "other"}
    assert client.post("/v1/projects", json={"a": other}).json == {"of": kept, "size": 5}


def test_without_an_example_of_the_request_all_constants_stay() -> None:
    client = client_of(like(profile(create={"body": {"name": NAME, "region": "fra"}})))
    created = client.post("/v1/projects", json={"name": "shop", "region": "ams"})
    assert created.json == {"name": "shop", "region": "fra"}


def test_each_value_of_a_choice_takes_what_was_sent() -> None:
    words = {word: {"name": NAME, "region": word} for word in ("new", "")}
    clock = Clock()
    create = {"body": 1, "request": {"name": NAME, "region": ""}}
    statuses = {"run": ["new", "done"]}
    listed = {"body": [{STATUS: words}]}
    client = client_of(like(profile(create=create, list=listed, statuses=statuses), clock))
    client.post("/v1/projects", json={"name": "shop", "region": "ams"})
    for _ in range(2):
        assert client.get("/v1/projects").json[-1] == {"name": "shop", "region": "ams"}
        clock.advance(9)


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        ({}, "/a is required"),
        ({"a": "shop"}, "/a must be a JSON object"),
        ({"a": {}}, "/a/b is required"),
        ({"a": {"b": " "}}, "/a/b must not be blank"),
    ],
)
def test_an_invalid_request_is_told_where_the_name_should_stand(sent: Any, error: str) -> None:
    errors = {"default": {"body": "{error.detail}"}}
    client = client_of(like(profile(create=NESTED, errors=errors)))
    response = client.post("/v1/projects", json=sent)
    assert (response.status_code, response.json) == (422, error)


def test_the_first_object_that_is_missing_on_the_way_to_the_name_is_told() -> None:
    create = {"request": {"a": {"b": {"c": NAME}}}, "body": {}}
    client = client_of(like(profile(create=create)))
    for sent, pointer in (({}, "/a"), ({"a": {}}, "/a/b"), ({"a": {"b": {}}}, "/a/b/c")):
        rejected = client.post("/v1/projects", json=sent)
        assert [each["pointer"] for each in rejected.json["errors"]] == [pointer]


def test_strict_rejects_what_the_example_lacks() -> None:
    client = client_of(like(profile(create=NESTED), strict=True))
    sent: Any = {"a": {"b": "x", "region": "fra", "more": 1}, "c": 2}
    rejected = client.post("/v1/projects", json=sent)
    assert [each["pointer"] for each in rejected.json["errors"]] == ["/a/more"]
    del sent["a"]["more"]
    assert client.post("/v1/projects", json=sent).status_code == CREATED


def test_a_member_of_the_example_is_promised() -> None:
    client = client_of(like(profile(create=NESTED)))
    client.post("/v1/projects", json={"a": {"b": "x", "more": 1}, "c": 1, "d": 1})
    assert entries(client)[0]["unpromised"] == [
        "createProject: body member a/more",
        "createProject: body member d",
    ]


def test_a_name_may_be_optional() -> None:
    client = client_of(like(SERVICES["vercel"]))
    unnamed = [client.post("/v1/projects", json=sent) for sent in ({}, {}, {"name": None})]
    assert [each.status_code for each in unnamed] == [200] * 3
    assert len({each.json["name"] for each in unnamed}) == 3
    own = client_of(like(profile(create={"body": BODY})))
    reserved = own.post("/v1/projects", json={"name": "x", "id": "y"})
    assert reserved.json["errors"][0]["pointer"] == "/id"


def test_the_content_type_of_a_request_may_be_any_unless_its_error_is_in_the_profile() -> None:
    create = {"body": 1, "content_type": "application/vnd.api+json; v=1"}
    wrong = {"unsupported_media_type": {"body": "{error.detail}"}}
    for errors, statuses in (({}, [CREATED] * 4), (wrong, [415, 415, CREATED, CREATED])):
        client = client_of(like(profile(create={**create, "unique": False}, errors=errors)))
        found = []
        api = "application/vnd.api+json"
        for content_type in (None, "application/json", api, f"{api.upper()}; charset=utf-8"):
            sent: Any = {"content_type": content_type, "data": b'{"name": "x"}'}
            found.append(client.post("/v1/projects", **sent))
        assert [each.status_code for each in found] == statuses
        encoded = {"Content-Encoding": "gzip", "Content-Type": api}
        assert client.post("/v1/projects", data=b"{}", headers=encoded).status_code == 415
    assert found[0].json == "Send `Content-Type: application/vnd.api+json`."
