"""Grease is a function of its seed: what POST creates varies alike in every process.

The apps here have random ids, as the program has, unless a test says otherwise.
"""

import itertools
import json
import re
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from stub.seed import SAMPLE, read_seed
from tests.conftest import client_of, control_client_of, counting_ids, seed_of
from tests.stub.conftest import in_thread, interrupted
from tests.stub.greased import AXES, greased_app, session, wire

BUT_IDS = tuple(axis for axis in AXES if axis not in ("ids", "ids-encoded"))
SEEDS = range(2)
KNOWN = {"projects", "id", "name", "created_at", "latest_deployment_id", "project_id", "status"}
KNOWN |= {"type", "title", "detail", "code", "errors", "pointer"}
SENT = {"note", "of"}
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def greased(axes: tuple[str, ...], grease_seed: int = 7, **options: Any) -> FlaskClient:
    return client_of(greased_app(axes, grease_seed, **options))


@cache
def responses_of(axes: tuple[str, ...], grease_seed: int = 7) -> list[TestResponse]:
    """A session with these axes: it is the same each time, which the first test shows."""
    return session(greased(axes, grease_seed))


def objects(document: Any) -> list[dict[str, Any]]:
    """The objects that the service describes: the document and its records, by name or id."""
    if not isinstance(document, dict):
        return []
    records = sorted(document.get("projects", ()), key=lambda record: record["name"])
    return [document, *records]


def spellings(response: TestResponse) -> dict[str, str]:
    """The strings in a response, and how each is spelled."""
    return {json.loads(token): token for token in STRING.findall(response.text)}


def ids_in(found: list[dict[str, Any]]) -> list[str]:
    names = ("id", "project_id", "latest_deployment_id")
    return [each[name] for each in found for name in names if name in each]


LOOKS: dict[str, Callable[[TestResponse, list[dict[str, Any]]], Any]] = {
    "members": lambda _, found: [
        {name: value for name, value in each.items() if name not in KNOWN | SENT} for each in found
    ],
    "member-order": lambda _, found: [[name for name in each if name in KNOWN] for each in found],
    "json-text": lambda response, _: [
        re.split(r"\S", response.text)[0],
        *(spellings(response).get(known) for known in sorted(KNOWN)),
    ],
    "headers": lambda response, _: [pair for pair in response.headers if pair[0][:2] == "X-"],
    "ids": lambda _, found: [each[:1] for each in ids_in(found)],
    "ids-encoded": lambda _, found: [re.sub(r"[ -~]", "", each) for each in ids_in(found)],
    "times": lambda _, found: [re.findall(r"\.\d*", each.get("created_at", "")) for each in found],
    "times-odd": lambda _, found: [
        re.findall(r"[Tt]|[Zz]$|[+-]\d\d:\d\d$", each.get("created_at", "")) for each in found
    ],
    "list-order": lambda _, found: [each["name"] for each in found[0].get("projects", ())],
    "status-values": lambda _, found: [each.get("status") for each in found],
    "success-code": lambda response, _: response.status_code,
    "error-text": lambda _, found: [(each.get("title"), each.get("detail")) for each in found],
    "media-type": lambda response, _: response.headers["Content-Type"],
}


def look(axis: str, responses: list[TestResponse]) -> list[Any]:
    """What the axis varies in each response."""
    return [LOOKS[axis](each, objects(json.loads(each.data or "{}"))) for each in responses]


@pytest.mark.parametrize("seed", SEEDS)
def test_two_apps_with_random_ids_respond_alike_to_the_byte(seed: int) -> None:
    again = session(greased(AXES, seed))
    assert [wire(each) for each in again] == [wire(each) for each in responses_of(AXES, seed)]


def test_another_seed_varies_otherwise() -> None:
    for axis in AXES:
        # Three projects have two orders with another first.
        seeds = range(5) if axis == "list-order" else SEEDS
        seen = [look(axis, responses_of(AXES, seed)) for seed in seeds]
        assert axis == "success-code" or any(each != seen[0] for each in seen), axis


@pytest.mark.parametrize("axis", AXES)
def test_an_axis_varies_alike_alone_and_among_others(axis: str) -> None:
    for seed in SEEDS:
        alone = look(axis, responses_of((axis,), seed))
        assert alone != look(axis, responses_of((), seed))
        assert alone == look(axis, responses_of(AXES, seed))
        others = tuple(other for other in BUT_IDS if other != axis)
        for half in (others[::2], others[1::2]) if seed < 1 else ():
            assert alone == look(axis, responses_of((*half, axis), seed))


def test_the_spelling_of_an_id_does_not_depend_on_its_letters() -> None:
    def escapes(client: FlaskClient) -> list[list[int]]:
        return [
            [token.find("\\u") for token in STRING.findall(each.text)] for each in session(client)
        ]

    assert escapes(greased(("json-text",))) == escapes(greased(("json-text",)))


@pytest.mark.parametrize("axes", [AXES, BUT_IDS], ids=["with ids", "without ids"])
@pytest.mark.parametrize("axis", BUT_IDS)
def test_halving_the_axes_finds_the_one_that_breaks_a_client(
    axis: str, axes: tuple[str, ...]
) -> None:
    breaking = look(axis, responses_of(axes))
    while len(axes) > 1:
        half = axes[: len(axes) // 2]
        breaks = look(axis, responses_of(half)) == breaking
        axes = half if breaks else axes[len(half) :]
    assert axes == (axis,)


def test_what_was_created_without_grease_varies_alike_once_it_is_on() -> None:
    client = greased(())
    session(client)
    control = control_client_of(client.application)
    control.put("/_stub/grease", json={"axes": list(BUT_IDS), "seed": 7})
    late = client.get("/v1/projects")
    early = greased(AXES)
    session(early)
    for axis in BUT_IDS:
        assert look(axis, [late]) == look(axis, [early.get("/v1/projects")]), axis


@pytest.mark.parametrize("where", ["start", "reset"])
def test_the_records_of_a_seed_without_ids_vary_alike(where: str) -> None:
    document = {"projects": [{"name": "shop"}, {"name": "blog", "id": "mine"}, {"name": "wiki"}]}

    def listed(axes: tuple[str, ...]) -> TestResponse:
        at_start = where == "start"
        client = greased(axes, seed=seed_of(document if at_start else {}))
        if not at_start:
            control_client_of(client.application).post("/_stub/reset", json=document)
        client.post("/v1/projects", json={"name": "news"})
        return client.get("/v1/projects")

    for axis in BUT_IDS:
        assert look(axis, [listed(BUT_IDS)]) == look(axis, [listed(AXES)]), axis
    assert wire(listed(AXES)) == wire(listed(AXES))


def test_what_is_created_varies_unlike_the_records_of_the_seed() -> None:
    client = greased(("members",), seed=seed_of({"projects": [{"name": "shop"}]}))
    client.post("/v1/projects", json={"name": "blog"})
    shop, blog = (each.keys() - KNOWN for each in client.get("/v1/projects").json["projects"])
    assert shop
    assert blog
    assert not shop & blog


def test_the_order_of_two_projects_does_not_depend_on_a_third() -> None:
    for seed in SEEDS:
        client = greased(("list-order",), seed)
        session(client)
        (before,) = look("list-order", [client.get("/v1/projects")])
        client.post("/v1/projects", json={"name": "late"})
        (after,) = look("list-order", [client.get("/v1/projects")])
        assert [name for name in after if name != "late"] == before


# Stub-Grease


def test_a_get_that_shows_a_greased_id_says_so_and_changes_nothing_else() -> None:
    client = greased(("ids",), seed=read_seed(SAMPLE))
    control = control_client_of(client.application)
    sent = '{"name": "n\\u0061me", "n": [1.10, -0, 1e2]}'
    created = client.post("/v1/projects", data=sent, content_type="application/json")
    project = json.loads(created.data)
    control.put("/_stub/deployments/mine", json={"status": "failed", "project_id": project["id"]})
    shows = ["/v1/projects", f"/v1/deployments/{project['latest_deployment_id']}"]
    shows.append("/v1/deployments/mine")
    shows_none = ["/v1/deployments/dpl_failed", "/v1/deployments/x"]
    shows_none.append(f"/v1/deployments/{project['id']}")
    greased_bodies = [client.get(path).data for path in shows]
    for path in shows:
        assert client.get(path).headers["Stub-Grease"] == "seed=7; axes=ids", path
        assert client.head(path).headers["Stub-Grease"] == "seed=7; axes=ids", path
    for path in shows_none:
        assert "Stub-Grease" not in client.get(path).headers, path
    assert sent[1:-1] in client.get("/v1/projects").text
    counts = control.get("/_stub/coverage").json["grease"]
    assert counts["ids"] == 1 + 3 * len(shows) + 1
    control.put("/_stub/grease", json={"axes": ["success-code"]})
    assert client.get("/v1/projects").headers["Stub-Grease"] == "seed=7; axes=ids"
    control.put("/_stub/grease", json={"axes": []})
    assert [client.get(path).data for path in shows] == greased_bodies
    for path in shows:
        assert client.get(path).headers["Stub-Grease"] == "seed=7; axes=ids", path


def lists_and_session(axes: tuple[str, ...], seed: int) -> list[TestResponse]:
    client = greased(axes, seed, new_id=counting_ids())
    listed = [client.get("/v1/projects")]
    for name in ("shop", "blog"):
        client.post("/v1/projects", json={"name": name})
        listed.append(client.get("/v1/projects"))
    return [*listed, *session(greased(axes, seed, new_id=counting_ids()))]


@pytest.fixture(scope="module")
def plain() -> list[Any]:
    """The responses without grease."""
    return [wire(each) for each in lists_and_session((), 0)]


@pytest.mark.parametrize("axis", AXES)
def test_stub_grease_stands_on_what_varies_and_on_nothing_else(axis: str, plain: list[Any]) -> None:
    for seed in SEEDS:
        for response, expected in zip(lists_and_session((axis,), seed), plain, strict=True):
            header = response.headers.pop("Stub-Grease", None)
            if response.request.method != "HEAD":  # its header fields are those of a GET
                varied = f"seed={seed}; axes={axis}"
                assert header == (None if wire(response) == expected else varied)


# A switch is one step


def test_nobody_sees_half_a_switch() -> None:
    client = greased(("members",), 7)
    control = control_client_of(client.application)
    before = control.get("/_stub/grease").json
    after = {"axes": ["times"], "seed": 9}
    seen: list[Any] = []

    def read(_: int) -> None:
        seen.extend(in_thread(lambda: control.get("/_stub/grease").json, 5)[1])

    with interrupted(read):
        response = control.put("/_stub/grease", json=after)
    assert response.json == after
    assert len(seen) > 5
    assert seen[0] == before
    assert all(each in (before, after) for each in seen)


def test_a_switch_without_a_seed_undoes_no_other_switch() -> None:
    control = control_client_of(greased((), 7).application)

    def seed_after_interruption(line: int) -> int | None:
        """The seed if another switch is sent before this line of a switch, if it is reached."""
        control.put("/_stub/grease", json={"axes": [], "seed": 7})
        others: list[threading.Thread] = []

        def switch_too(current: int) -> None:
            if current == line:
                other = {"axes": ["members"], "seed": 9}
                others.append(in_thread(lambda: control.put("/_stub/grease", json=other), 0.02)[0])

        with interrupted(switch_too):
            control.put("/_stub/grease", json={"axes": ["times"]})
        for each in others:
            each.join()
        seed: int = control.get("/_stub/grease").json["seed"]
        return seed if others else None

    for line in itertools.count():
        seed = seed_after_interruption(line)
        if seed is None:
            break
        assert seed == 9, line
    assert line > 5
