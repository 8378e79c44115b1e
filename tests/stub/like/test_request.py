"""The request that creates a project has the form of the profile."""

from typing import Any

import pytest

from tests.conftest import Clock
from tests.contract import CREATED
from tests.services import DOCUMENTS
from tests.stub.conftest import entries
from tests.stub.like.conftest import NAME, STATUS, client_of, like, profile

BODY: Any = {
    "of": {"name": NAME, "region": "fra", "size": 1, "tags": ["a"], "note": None,
           "at": {"zone": 1}, "any": {}},
    "size": 5,
}  # fmt: skip
NESTED = {"request": {"a": {"b": NAME, "region": "fra"}, "c": 1}, "body": BODY}


def test_what_was_sent_beside_the_name_replaces_a_constant_of_its_type() -> None:
    listed = {"body": [{"title": NAME, "region": "any", "id": "{project.id}", "name": "fixed"}]}
    client = client_of(like(profile(create=NESTED, list=listed)))
    sent: Any = {"a": {"b": "shop", "region": "ams", "size": 2, "tags": [], "id": "x", "more": 1}}
    sent["a"] |= {"at": {"zone": 7, "rack": 1}, "any": {"x": 1}}
    created = client.post("/v1/projects", json=sent).json
    changed = {"name": "shop", "region": "ams", "size": 2, "tags": [], "note": None}
    changed |= {"at": {"zone": 7, "rack": 1}, "any": {"x": 1}}
    assert created == {"of": changed, "size": 5}
    listed_one = client.get("/v1/projects").json[-1]
    assert (listed_one["title"], listed_one["region"]) == ("shop", "ams")
    assert (listed_one["id"] != "x", listed_one["name"]) == (True, "fixed")
    other = {"b": "other", "region": 5, "size": 1.5, "tags": [1], "note": "x"}
    kept = {**BODY["of"], "name": "other"}
    assert client.post("/v1/projects", json={"a": other}).json == {"of": kept, "size": 5}


def test_what_was_sent_keeps_its_spelling() -> None:
    client = client_of(like(profile(create=NESTED)))
    at = b'{"zone":1e0,  "caf\\u00e9": "\\/"}'
    sent = b'{"a": {"b": "shop", "at":%b}}' % at
    created = client.post("/v1/projects", data=sent, content_type="application/json")
    assert b'"at": %b' % at in created.data


def test_each_value_of_a_choice_takes_what_was_sent() -> None:
    words = {word: {"name": NAME, "region": word} for word in ("queued", "")}
    clock = Clock()
    create = {"body": 1, "request": {"name": NAME}}
    client = client_of(like(profile(create=create, list={"body": [{STATUS: words}]}), clock))
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


def test_a_name_may_be_optional_and_the_content_type_any() -> None:
    client = client_of(like(profile(create=DOCUMENTS["vercel"]["create"])))
    names = set()
    for headers in ({}, {"Content-Type": "text/plain"}, {"Content-Type": "application/json"}):
        created = client.post("/v1/projects", data=b"{}", headers=headers)
        assert created.status_code == 200
        names.add(created.json["name"])
    null = client.post("/v1/projects", json={"name": None})
    assert {null.json["name"], *names} > names
    assert len(names) == 3
    encoded = client.post("/v1/projects", data=b"{}", headers={"Content-Encoding": "gzip"})
    assert encoded.status_code == 415
    own = client_of(like(profile(create={"body": BODY})))
    assert own.post("/v1/projects", data=b'{"name": "x"}').status_code == 415
    reserved = own.post("/v1/projects", json={"name": "x", "id": "y"})
    assert reserved.json["errors"][0]["pointer"] == "/id"
