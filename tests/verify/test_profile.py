"""verify --save writes the forms of a service, and --like finds what has drifted from them."""

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from app import create_app
from stub import StubOptions
from stub.grease.axes import AXES
from stub.profile import DEFAULTS, forms_of
from tests.conftest import SAMPLE_SEED, Clock
from tests.live import serving
from tests.stub.like import LIKE
from tests.verify.conftest import TOKEN, Change, Request, Response, Service, listening, verify
from tests.wire import call

pytestmark = pytest.mark.process

STUB = {"VERIFY_TOKEN": "dev-token"}
LIST = "#/paths/~1v1~1projects/get/responses/200"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deployment whose status is unknown is followed for so long without a change."""
    monkeypatch.setattr("cli.verify.session.STILL", 0.4)


class Ticking(Clock):
    """Each look at it is later, so that each status is seen however busy the machine is."""

    def __call__(self) -> datetime:
        self.advance(0.2)
        return self.now


def save(service: Any, file: Path, *options: str, **more: Any) -> Any:
    done = verify(service, "--save", str(file), *options, level="write", **more)
    assert done.status in (0, 1), done
    return json.loads(file.read_text("utf-8"))


def save_of_stub(file: Path, *options: str, like: Any = None, **more: Any) -> Any:
    """The profile of a stub, which has two projects if it is like a service."""
    stub_options = StubOptions(**({"like": like} if like else {}), **more)
    seed = None if like else SAMPLE_SEED
    app = create_app(seed=seed, clock=Ticking(), stub_options=stub_options)
    with serving(app, control_prefix="/_stub/") as port:
        url = f"http://127.0.0.1:{port}"
        call(url, "/v1/projects", body=b'{"name": "first"}')
        return save(url, file, "--wait", "5", *options, env=STUB)


def assert_same(again: Any, first: Any) -> None:
    """Each form that was seen is that of the first profile, or the contract's where it has none."""
    known = {form: default for form, (default, _) in DEFAULTS.items()} | forms_of(first)
    for form, seen in forms_of(again).items():
        expected = known[form]
        if form.startswith("/ids/"):
            assert expected["shortest"] <= seen["shortest"] <= seen["longest"]
            assert seen["longest"] <= expected["longest"]
            expected = {**expected, "shortest": seen["shortest"], "longest": seen["longest"]}
        assert seen == expected, form
    assert {*forms_of(again)} >= {*forms_of(first)} - {"/list_order"}


@pytest.mark.parametrize("axis", ["", *AXES])
def test_a_stub_that_is_like_a_profile_has_that_profile(axis: str, tmp_path: Path) -> None:
    grease = {"grease": (axis,), "grease_seed": 7} if axis else {}
    first = save_of_stub(tmp_path / "1", **grease)
    assert_same(save_of_stub(tmp_path / "2", like=first), first)


def test_every_form_comes_back_and_nothing_drifts(tmp_path: Path) -> None:
    assert_same(save_of_stub(tmp_path / "like", like=LIKE), LIKE)
    file = tmp_path / "known"
    file.write_text(json.dumps(LIKE), "utf-8")
    app = create_app(clock=Ticking(), stub_options=StubOptions(like=LIKE))
    with serving(app, control_prefix="/_stub/") as port:
        url = f"http://127.0.0.1:{port}"
        done = verify(url, "--wait", "5", "--like", str(file), level="write", env=STUB)
    assert done.status == 0, done.stdout
    assert "no finding of the kinds broken, leaks, drift" in done.stdout


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
        response.body |= {"status": "s3cr3t ready!", "region": None}
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
    told = {each["part"] for each in profile["not_imitated"]}
    assert "#/components/schemas/Problem" in told
    assert "#/components/schemas/Deployment/properties/status" in told
    text = (tmp_path / "p").read_text("utf-8")
    values = [each["id"] for each in service.projects] + [*service.deployments, TOKEN, "s3cr3t"]
    values += [each["name"] for each in service.projects] + ["stub-verify", "2026-01"]
    assert {"part": LIST, "what": "application/json here, another one there"} in (
        profile["not_imitated"]
    )
    assert [each for each in values if each in text] == []


def envelope(response: Response, request: Request, number: int) -> None:
    if response.status < 300:
        response.body = {"data": response.body}


def integers(response: Response, request: Request, number: int) -> None:
    text = json.dumps(response.body)
    response.body = json.loads(re.sub(r'"[pd]-zq7xk(\d+)"', lambda match: str(int(match[1])), text))


@pytest.mark.parametrize("change", [envelope, integers])
def test_what_cannot_be_imitated_is_told(change: Change, tmp_path: Path) -> None:
    profile = save(planted(change), tmp_path / "p")
    assert profile["not_imitated"]
    assert all(each["what"].count(" here, ") == 1 for each in profile["not_imitated"])
    assert ("ids" in profile) == (change is envelope)


def other_status(response: Response, request: Request, number: int) -> None:
    response.status = 200 if response.case == "created" else response.status


def other_times(response: Response, request: Request, number: int) -> None:
    text = json.dumps(response.body).replace("09:00:00Z", "09:00:00.000Z")
    response.body = json.loads(text)


def more_members(response: Response, request: Request, number: int) -> None:
    if response.case == "deployment":
        response.body["url"] = "here"


def more_headers(response: Response, request: Request, number: int) -> None:
    response.headers["X-Zone"] = "1"


DRIFTS: list[tuple[Change, str]] = [
    (other_status, "drift: /creation_status: 201 in the profile, 200 there"),
    (other_times, 'drift: /times: {"offset": "Z", "digits": 0, "case": "upper"} in the profile, '),
    (more_members, 'drift: /members/deployment: {"added": {}, "absent": []} in the profile, '),
    (more_headers, 'drift: /headers: [] in the profile, ["X-Zone"] there'),
    (envelope, "drift: #/components/schemas/ProjectList: "),
]


@pytest.mark.parametrize(("change", "finding"), DRIFTS)
def test_what_has_changed_since_is_drift(change: Change, finding: str, tmp_path: Path) -> None:
    file = tmp_path / "p"
    save(planted(), file)
    done = verify(planted(change), "--like", str(file), level="write")
    assert done.status == 1
    assert f"finding: {finding}" in done.stdout, done.stdout
    assert verify(planted(), "--like", str(file), level="write").status == 0
    assert verify(planted(), "--like", str(file)).status == 0  # which sees less


@pytest.mark.parametrize("shape", ["{}-zq7xklong{:03}", "{}_zq7xk{:03}", "{}-ZQ7XK{:03}"])
def test_ids_of_another_shape_are_drift(shape: str, tmp_path: Path) -> None:
    file = tmp_path / "p"
    save(planted(), file)
    done = verify(Service(id_form=shape), "--like", str(file), level="write")
    assert done.status == 1
    assert "finding: drift: /ids/projects: " in done.stdout


def test_a_file_that_is_no_profile_is_replaced_by_force_alone(tmp_path: Path) -> None:
    file = tmp_path / "seed.json"
    file.write_text('{"projects": []}', "utf-8")
    with listening(planted()) as url:
        done = verify(url, "--save", str(file))
        assert done.status == 2
        assert "--save would replace a file that is no profile" in done.stderr
        assert file.read_text("utf-8") == '{"projects": []}'
        assert verify(url, "--save", str(file), "--force").status == 0
        assert verify(url, "--save", str(file)).status == 0  # a profile
        assert json.loads(file.read_text("utf-8"))["observed_at"]
        file.write_text('{"observed_at": "x"}', "utf-8")
        done = verify(url, "--like", str(file))
        assert (done.status, "/observed_at: must match" in done.stderr) == (2, True)
