"""verify --save writes the forms of a service, and --like finds what has drifted from them."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from app import create_app
from stub import StubOptions
from stub.profile import forms_of
from tests.conftest import Clock
from tests.live import serving
from tests.stub.like import LIKE
from tests.verify.conftest import TOKEN, Change, Request, Response, Service, listening, verify
from tests.verify.differences import at, on, on_deployment, put, without
from tests.wire import call

pytestmark = pytest.mark.process

STUB = {"VERIFY_TOKEN": "dev-token"}
# Axes of which a profile has the forms.
FORMED = ("", "ids", "times", "times-odd", "list-order", "members", "success-code", "media-type")
LIST = "#/paths/~1v1~1projects/get/responses/200"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deployment whose status is unknown is followed for so long without a change."""
    monkeypatch.setattr("cli.verify.session.STILL", 0.8)


class Ticking(Clock):
    """Each look at it is later, so that each status is seen however busy the machine is."""

    def __call__(self) -> datetime:
        self.advance(0.3)
        return self.now


def save(service: Any, file: Path, *options: str, **more: Any) -> Any:
    """The profile of a service."""
    done = verify(service, "--save", str(file), *options, level="write", **more)
    assert done.status in (0, 1), done
    return json.loads(file.read_text("utf-8"))


@contextmanager
def stub(**options: Any) -> Iterator[str]:
    """The URL of a stub, which has a project or more."""
    app = create_app(seed=None, clock=Ticking(), stub_options=StubOptions(**options))
    with serving(app, control_prefix="/_stub/") as port:
        url = f"http://127.0.0.1:{port}"
        call(url, "/v1/projects", body=b'{"name": "first"}')
        yield url


def save_of_like(file: Path) -> Any:
    """The profile of a stub that is like a profile, from which it must not drift."""
    with stub(like=json.loads(file.read_text("utf-8"))) as url:
        files = ("--like", str(file), "--save", str(file))
        kinds = ("--fail-on", "broken,differs,leaks,drift")
        done = verify(url, "--wait", "5", *files, *kinds, level="write", env=STUB)
    assert done.status == 0, done.stdout
    return json.loads(file.read_text("utf-8"))


@pytest.mark.parametrize("axis", FORMED)
def test_a_stub_that_is_like_a_profile_does_not_drift_from_it(axis: str, tmp_path: Path) -> None:
    grease = {"grease": (axis,), "grease_seed": 7} if axis else {}
    with stub(**grease) as url:
        save(url, tmp_path / "p", "--wait", "5", env=STUB)
    save_of_like(tmp_path / "p")


def test_every_form_comes_back(tmp_path: Path) -> None:
    (tmp_path / "p").write_text(json.dumps(LIKE), "utf-8")
    found, known = forms_of(save_of_like(tmp_path / "p")), forms_of(LIKE)
    assert known.keys() - found.keys() == {"/list_order"}  # which times alone show
    others = [form for form in found if not form.startswith("/ids/")]
    assert [found[form] for form in others] == [known[form] for form in others]


def test_a_slow_build_has_not_ended(tmp_path: Path) -> None:
    profile = save(Service(on_deployment(put(status="building"))), tmp_path / "p", "--wait", "1")
    assert profile["statuses"] == {"run": ["building"], "ended": None}


def planted(*changes: Change, **more: Any) -> Service:
    return Service(*changes, id_form="{}-zq7xk{:03}", **more)


def secrets(response: Response, request: Request, number: int) -> None:
    """Values in all places that a profile could take them from."""
    response.headers |= {"Set-Cookie": "sid=s3cr3t-cookie", "X-Api-Key": "s3cr3t-key"}
    response.headers |= {"X-Trace": f"s3cr3t-{uuid4()}", "X-Zone": "s3cr3t-zone"}
    if response.case == "list":
        response.headers["Content-Type"] = "application/s3cr3t"
        for each in response.body["projects"]:
            each |= {"owner": "s3cr3t-owner", "labels": ["s3cr3t-label"]}
    if response.case == "created":
        response.body |= {"owner": "s3cr3t-owner", "labels": []}
        response.status = 200
    if response.case == "deployment":
        response.body |= {"id": "s3cr3t", "status": "s3cr3t ready!", "region": None}
    if response.status >= 400:
        response.body = {"error": {"message": "s3cr3t-message", "token": TOKEN}}
        response.headers["Content-Type"] = "application/json"


def test_a_profile_has_forms_and_no_value_of_the_service(tmp_path: Path) -> None:
    service = planted(secrets)
    profile = save(service, tmp_path / "p", "--fail-on", "broken")
    assert profile["members"] == {
        "project": {"added": {"labels": "array", "owner": "string"}, "absent": []},
        "deployment": {"added": {"region": "null"}, "absent": []},
    }
    assert profile["headers"] == ["X-Trace", "X-Zone"]
    assert profile["creation_status"] == 200
    assert profile["media_types"]["problem"] == "application/json"
    assert "statuses" not in profile
    told = {each["part"]: each["what"] for each in profile["not_imitated"]}
    assert told[LIST] == "application/json here, another one there"
    assert "#/components/schemas/Problem" in told
    assert "#/paths/~1v1~1deployments~1{id}/get/parameters/0" not in told  # is fixed
    assert "#/components/schemas/Deployment/properties/status" in told
    text = (tmp_path / "p").read_text("utf-8")
    values = [each["id"] for each in service.projects] + [*service.deployments, TOKEN, "s3cr3t"]
    values += [each["name"] for each in service.projects] + ["stub-verify", "2026-01"]
    assert [each for each in values if each in text] == []


ENVELOPE = on("list", "created", "deployment", body=lambda body: {"data": body})


def integers(response: Response, request: Request, number: int) -> None:
    text = json.dumps(response.body)
    response.body = json.loads(re.sub(r'"[pd]-zq7xk(\d+)"', lambda match: str(int(match[1])), text))


@pytest.mark.parametrize("change", [ENVELOPE, integers])
def test_what_cannot_be_imitated_is_told(change: Change, tmp_path: Path) -> None:
    profile = save(planted(change), tmp_path / "p")
    told = [(each["part"], each["what"]) for each in profile["not_imitated"]]
    assert 0 < len(told) == len({*told})
    assert all(what.count(" here, ") == 1 for _, what in told)
    again = verify(planted(change), "--like", str(tmp_path / "p"), level="write")
    assert "finding: drift" not in again.stdout
    assert ("ids" in profile) == (change is ENVELOPE)


CREATED_AT = "#/components/schemas/Project/properties/created_at"
DRIFTS: list[tuple[Sequence[Change], str]] = [
    ([on("created", status=200)], "/creation_status: 201 in the profile, 200 there"),
    (at("2026-01-05T09:00:00.000Z"), '/times: {"offset": "Z", "digits": 0, "case": "upper"} in '),
    (at("2026-01-05T09:00:00.000Z")[:1], f"{CREATED_AT}: times of one form here, of others there"),
    ([on_deployment(put(url="here"))], '/members/deployment: {"added": {}, "absent": []} in the '),
    ([on_deployment(put(status="READY"))], '/statuses: {"run": ["queued", "building", "succ'),
    ([on(headers={"X-Zone": "1"})], '/headers: [] in the profile, ["X-Zone"] there'),
    ([ENVELOPE], "#/components/schemas/ProjectList: "),
]


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The profile of a service that has not changed yet."""
    file = tmp_path_factory.mktemp("known") / "profile"
    save(planted(), file)
    return file


def test_nothing_has_changed_where_the_same_is_seen_or_less(known: Path, tmp_path: Path) -> None:
    still = planted(on_deployment(put(status="queued")))
    for service, level in ((planted(), "write"), (still, "write"), (planted(), "read")):
        assert verify(service, "--like", str(known), level=level).status == 0
    empty = save(planted(sample=0), tmp_path / "p")
    assert empty["members"]["project"]["added"] == {}  # not what verify has sent
    bare = save(planted(on_deployment(without("status", "project_id"))), tmp_path / "p")
    assert bare["members"]["deployment"]["absent"] == ["project_id"]  # the status is fixed


@pytest.mark.parametrize(("changes", "finding"), DRIFTS)
def test_what_has_changed_since_is_drift(
    changes: Sequence[Change], finding: str, known: Path
) -> None:
    done = verify(planted(*changes), "--like", str(known), level="write")
    assert done.status == 1
    assert f"finding: drift: {finding}" in done.stdout, done.stdout


@pytest.mark.parametrize("shape", ["{}-zq7xklong{:03}", "{}_zq7xk{:03}", "{}-ZQ7XK{:03}"])
def test_ids_of_another_shape_are_drift(shape: str, known: Path) -> None:
    done = verify(Service(id_form=shape), "--like", str(known))
    assert done.status == 1
    assert "finding: drift: /ids/projects: " in done.stdout


def test_a_file_that_is_no_profile_is_replaced_by_force_alone(tmp_path: Path) -> None:
    file = tmp_path / "seed.json"
    file.write_text('{"projects": []}', "utf-8")
    with listening(planted()) as url:
        done = verify(url, "--save", str(file))
        told = "--save would replace what is no profile"
        assert (done.status, told in done.stderr) == (2, True)
        assert file.read_text("utf-8") == '{"projects": []}'
        assert verify(url, "--save", str(file), "--force").status == 0
        assert verify(url, "--save", str(file)).status == 0  # a profile
        assert json.loads(file.read_text("utf-8"))["observed_at"]
        file.write_text('{"observed_at": "x"}', "utf-8")
        done = verify(url, "--like", str(file))
        assert (done.status, "/observed_at: must be a date" in done.stderr) == (2, True)
        done = verify(url, "--save", str(tmp_path / "no" / "file"))
        assert (done.status, done.stdout) == (2, "")  # before it asks the service
