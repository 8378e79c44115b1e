"""Each rule of the format in its smallest case: what a profile has, and what a client gets."""

import re
from typing import Any

import pytest

from tests.profiles.conftest import STATUS, client_of, deployment_of, like, profile

STATUSES = {"run": ["new", "done"], "others": ["gone"]}

# A body of the deployment, and what it is for one of a project that is done, and for a new one of
# no project.
BODIES: list[tuple[Any, Any, Any]] = [
    ("<{project.name}>", "<website>", "<>"),
    ("{project.created_at:s}", 1767603600, None),
    ("{project.created_at:ms}", 1767603600123, None),
    ("at {project.created_at:s}", "at 1767603600", "at "),
    ("{project.created_at}", "2026-01-05T09:00:00.123Z", None),
    ("{project.created_at:2026-01-05T09:00:00Z}", "2026-01-05T09:00:00Z", None),
    ("{project.created_at:2020-02-29t23:59:59.1z}", "2026-01-05t09:00:00.1z", None),
    ("{project.created_at:2020-02-29 23:59:59.000000+00:00}", "2026-01-05 09:00:00.123000+00:00",
     None),
    ("{project.created_at:2020-02-29T23:59:59.123456789-0530}",
     "2026-01-05T03:30:00.123000000-0530", None),
    ("on {project.created_at:2020-02-29 23:59:59}", "on 2026-01-05 09:00:00", "on "),
    ([1, "{project.name}", None], [1, "website", None], [1, None, None]),
    ("{project.name:text}", "website", None),
    ("{project} {x.y} {{project.name}} {id}", "{project} {x.y} {website} {id}",
     "{project} {x.y} {} {id}"),
    ({STATUS: {"new": None, "": {STATUS: {"": {"is": True}}}}}, {"is": True}, None),
    ({"a": {STATUS: {"done": 1}}, "b": [2]}, {"a": 1, "b": [2]}, {"b": [2]}),
    ({"a": {STATUS: {"done": {"b": {STATUS: {"new": 1}}}}}}, {"a": {}}, {}),
    ([{STATUS: {"new": 1, "done": 2, "gone": 3}}], [2], [1]),
    ('"\\ü{deployment.status}', '"\\üdone', '"\\ünew'),
    ("{base}/a", "http://localhost/a", "http://localhost/a"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "of_project", "of_none"), BODIES)
def test_a_marker_has_its_value_and_inside_a_text_its_text(
    body: Any, of_project: Any, of_none: Any
) -> None:
    client = client_of(like(profile(statuses=STATUSES, deployment={"body": body})))
    path = f"/v1/deployments/{deployment_of(client, 'website')}"
    assert read(client.get(path)) == of_project
    client.put("/_stub/deployments/alone", json={"status": "new"})
    assert read(client.get("/v1/deployments/alone")) == of_none


def read(response: Any) -> Any:
    return response.json if response.data else None


# An example of an id, and a pattern of ids like it.
HEX = "[0-9a-f]"
IDS: list[tuple[Any, str]] = [
    ("prj_5f2c9a4be1d07c36", f"prj_{HEX}{{16}}"),
    ("PRJ_5F2C", "PRJ_[0-9A-F]{4}"),
    ("dx297gq8", "[a-z]{2}[0-9]{3}[a-z]{2}[0-9]"),
    ("shiny-wind-7f3x", "shiny-wind-[1-9][a-z][0-9][a-z]"),
    ("shiny-wind-calm", "shiny-wind-[a-z]{4}"),
    ("kemubcrd", "[a-z]{8}"),
    ("cp.aB1-x", "cp.[a-z][A-Z][0-9]-[a-z]"),
    ("{c6486c47-9e84-4a3b-8f3e-9c0d11aa22bb}",
     rf"\{{{HEX}{{8}}-{HEX}{{4}}-4{HEX}{{3}}-[89ab]{HEX}{{3}}-{HEX}{{12}}\}}"),
    ("a1/ABCDEFAB-ABCD-7BCD-8BCD-ABCDEFABCDEF",
     "[0-9a-f]{2}/[0-9A-F]{8}-[0-9A-F]{4}-7[0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12}"),
    ("415104041262", "[1-9][0-9]{11}"),
    ("007", "[0-9]{3}"),
    (7040, "[1-9][0-9]{7,8}"),
    (-1, "[1-9][0-9]{7,8}"),
]  # fmt: skip


@pytest.mark.parametrize(("example", "pattern"), IDS)
def test_an_id_is_like_its_example(example: Any, pattern: str) -> None:
    body = {"id": "{project.id}", "text": "{project.id:text}", "of": "{deployment.id}"}
    ids = {"projects": example, "deployments": example}
    service = profile(ids=ids, create={"body": body, "unique": False})
    client = client_of(like(service, ids_seed=1))
    seen = set()
    for _ in range(8):
        created = client.post("/v1/projects", json={"name": "x"}).json
        assert type(created["id"]) is type(created["of"]) is type(example)
        for text in (created["text"], str(created["of"])):
            assert re.fullmatch(pattern, text)
            seen.add(text)
    assert len(seen) == 16
