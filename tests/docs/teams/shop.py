"""The tests of a client team that uses the fixture of pytest; with FAILING also those that fail."""

import json
import os
from contextlib import closing
from http.client import HTTPConnection
from types import SimpleNamespace

import pytest

PROJECTS = "/v1/projects"


def call(stub, method, path, body=None, **headers):
    fields = {"Content-Type": "application/json", **stub.headers, **headers}
    with closing(HTTPConnection(stub.url.removeprefix("http://"))) as connection:
        connection.request(method, path, body and json.dumps(body), fields)
        response = connection.getresponse()
        return response.status, json.load(response)


def list_projects(url, token):
    call(SimpleNamespace(url=url, headers={"Authorization": f"Bearer {token}"}), "GET", PROJECTS)


client = SimpleNamespace(list_projects=list_projects)  # that of the README


def test_seeds(stub, tmp_path):
    stub.reset({"projects": []})
    assert call(stub, "GET", PROJECTS) == (200, {"projects": []})
    seed = tmp_path / "seed.json"
    seed.write_text('{"projects": [{"name": "café"}]}', "utf-8")
    for path in (seed, str(seed)):
        stub.reset(path)
        (project,) = call(stub, "GET", PROJECTS)[1]["projects"]
        assert project["name"] == "café"
    stub.reset()
    assert len(call(stub, "GET", PROJECTS)[1]["projects"]) == 3


def test_time(stub):
    assert stub.freeze()["frozen"]
    stages = [{"status": "queued", "seconds": 60}, {"status": "failed"}]
    made = stub.put_deployment("a/b é", timeline=stages, project_id="prj_website")
    assert (made["status"], made["project_id"]) == ("queued", "prj_website")
    now = stub.advance(60)["now"]
    assert call(stub, "GET", "/v1/deployments/a%2Fb%20%C3%A9")[1]["status"] == "failed"
    assert stub.put_deployment("b", status="canceled")["status"] == "canceled"
    assert stub.advance(0)["now"] == now
    assert stub.tick(1.5)["tick"] == 1.5
    assert call(stub, "GET", "/v1/deployments/b")[1]["status"] == "canceled"
    assert stub.advance(0)["now"] > now


def test_records(stub):
    assert stub.fault(operation="listProjects", status=503, times=2)["remaining"] == 2
    assert call(stub, "GET", PROJECTS)[0] == 503
    (request,) = stub.requests()
    assert (request["status"], request["headers"]["Authorization"]) == (503, "Bearer ***")
    stub.headers["Authorization"] = "Bearer of-the-client"
    assert stub.coverage()["operations"]["listProjects"]["503"] == 1


@pytest.mark.parametrize("text", ["é/[a b]", 300 * "long"])
def test_worlds(stub, text):
    assert stub.requests() == []
    assert call(stub, "POST", PROJECTS, {"name": "one"})[0] < 300


@pytest.fixture(scope="session")
def shared(stub_program):
    world = stub_program.world("client-abc123")
    yield world
    world.reset()


def test_shared(shared, stub_program, monkeypatch):
    assert call(shared, "POST", PROJECTS, {"name": "one"})[0] < 300
    assert len(shared.requests()) == 1
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw7")
    other = stub_program.world("client-abc123")
    assert other.token == f"{stub_program.token}.client-abc123-gw7"
    other.reset()


@pytest.fixture
def judged(stub):
    yield stub
    assert stub.coverage()["violations"] == []


if os.environ.get("FAILING"):

    def test_rejected(stub):
        call(stub, "GET", f"{PROJECTS}?page=1")
        assert call(stub, "POST", PROJECTS, {"name": ""})[0] == 201

    def test_unauthorized(stub):
        assert call(stub, "GET", PROJECTS, Authorization="")[0] == 200

    def test_many(stub):
        stub.fault(status=503, operation="listProjects")
        assert [call(stub, "GET", f"/v1/deployments/{number}") for number in range(20)]
        assert call(stub, "GET", PROJECTS)[0] == 503
        stub.fault(status=9, staus=503)

    def test_torn_down(judged):
        call(judged, "GET", "/v2/projects")
