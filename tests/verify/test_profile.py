"""verify --save writes the forms of a service, and --like finds what has drifted from them."""

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from app import create_app
from stub import StubOptions
from stub.grease.axes import AXES
from stub.profile import defaults, forms_of
from tests.conftest import Clock
from tests.live import serving
from tests.verify.conftest import Change, Service, listening, verify
from tests.verify.differences import (
    CREATED,
    ID,
    STATUS,
    on,
    on_deployment,
    on_list,
    on_projects,
    put,
    without,
)
from tests.verify.planted import FORMS, planted, sent_by
from tests.wire import call

pytestmark = pytest.mark.process

STUB = {"VERIFY_TOKEN": "dev-token"}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deployment whose status is unknown is followed for so long without a change."""
    monkeypatch.setattr("cli.verify.session.STILL", 0.5)


def save(service: Any, file: Path, *options: str, **more: Any) -> Any:
    """The profile of a service."""
    done = verify(service, "--save", str(file), *options, level="write", **more)
    assert done.status in (0, 1), done
    profile = json.loads(file.read_text("utf-8"))
    is_over = profile.get("statuses", {"ended": ""})["ended"] is not None
    assert is_over != ("warning: the deployment did not end: give a longer --wait" in done.stdout)
    return profile


@contextmanager
def stub(**options: Any) -> Iterator[str]:
    """The URL of a stub, which has a project or more."""
    clock = Clock(step=0.45)  # each status is seen however busy the machine is
    app = create_app(seed=None, clock=clock, stub_options=StubOptions(**options))
    with serving(app, control_prefix="/_stub/") as port:
        url = f"http://127.0.0.1:{port}"
        call(url, "/v1/projects", body=b'{"name": "first"}')
        yield url


def assert_comes_back(file: Path) -> None:
    """A stub that is like a profile has this profile again, and does not drift from it."""
    known, again = json.loads(file.read_text("utf-8")), file.with_suffix(".again")
    with stub(like=known) as url:
        options = ("--save", str(again), "--fail-on", "broken,differs,leaks,drift", "--wait", "5")
        done = verify(url, "--like", str(file), *options, level="write", env=STUB)
    assert (done.status, "\ndiffers (" in done.stdout) == (0, False), done.stdout
    found = forms_of(json.loads(again.read_text("utf-8")))
    sizes = {"shortest": 0, "longest": 0}  # which are within those that are known
    for form, each in forms_of(known).items():
        assert found[form] == each or ("/ids/" in form and found[form] | sizes == each | sizes)


@pytest.mark.parametrize("axis", ["", *AXES])
def test_a_stub_that_is_like_a_profile_does_not_drift_from_it(axis: str, tmp_path: Path) -> None:
    grease = {"grease": (axis,), "grease_seed": 7} if axis else {}
    with stub(**grease) as url:
        save(url, tmp_path / "p", "--wait", "5", env=STUB)
    assert_comes_back(tmp_path / "p")


def plain(*changes: Change, **more: Any) -> Service:
    return Service(*changes, new_id="{}-zq7xk{:03}".format, **more)


# The first services have each row of planted.py.
NUMBERS = range(30 if os.environ.get("CASES") == "large" else 8)


@pytest.mark.generated
@pytest.mark.parametrize("number", NUMBERS)
def test_a_profile_has_the_forms_of_a_service_and_none_of_its_values(
    number: int, tmp_path: Path
) -> None:
    (forms, service), file = planted(number), tmp_path / "p"
    profile = save(service, file, "--fail-on", "broken", "--wait", "3")
    kept = forms_of(profile)
    prefix = kept.get("/ids/projects", {}).get("prefix")
    assert {"ids": prefix, **{form: kept.get(form) for form in [*forms][1:]}} == forms
    told = [(each["part"], each["what"]) for each in profile["not_imitated"]]
    assert len(told) == len({*told})
    assert all(what.count(" here, ") == 1 for _, what in told)
    assert ("oldest first here" in str(told)) == (forms["/list_order"] is None)
    for form, part in (("ids", ID), ("/statuses", STATUS), ("/times", CREATED)):
        assert (forms[form] is None) == (part in dict(told))
    text = file.read_text("utf-8")
    words = {*profile.get("statuses", {}).get("run", ())}
    assert [each for each in sent_by(service) - words if each in text] == []
    done = verify(service, "--like", str(file), "--fail-on", "drift")
    assert (done.status, "\ndiffers (" in done.stdout) == (0, False), done.stdout
    assert_comes_back(file)


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The profile of a service that has not changed yet."""
    file = tmp_path_factory.mktemp("known") / "profile"
    save(plain(), file)
    return file


def test_nothing_has_changed_where_the_same_is_seen_or_less(known: Path, tmp_path: Path) -> None:
    still = plain(on_deployment(put(status="queued")))
    for service, level in ((plain(), "write"), (still, "write"), (plain(), "read")):
        done = verify(service, "--like", str(known), level=level)
        assert (done.status, "did not end" in done.stdout) == (0, service is still)
    assert save(still, tmp_path / "p")["statuses"] == {"run": ["queued"], "ended": None}
    ended = save(plain(on_deployment(put(status="succeeded"))), tmp_path / "p")
    assert ended["statuses"] == {"run": ["succeeded"], "ended": "succeeded"}
    again = save(plain(), tmp_path / "q", "--like", f"{tmp_path}/p")
    assert again["statuses"]["run"] == ["queued", "building", "succeeded"]
    assert save(plain(sample=0), tmp_path / "p")["members"]["project"]["added"] == {}  # not its own
    some = on_deployment(lambda x: x | {"done": 1} if x["status"] == "building" else x)
    assert save(plain(some), tmp_path / "p")["members"]["deployment"]["added"] == {
        "done": "integer"
    }
    bare = save(plain(on_deployment(without("status", "project_id"))), tmp_path / "p")
    assert bare["members"]["deployment"]["absent"] == ["project_id"]  # the status is fixed


def test_what_the_save_did_not_see_is_no_drift(tmp_path: Path) -> None:
    empty, full = (Service(new_id=lambda kind, index: index, sample=x) for x in (0, 3))
    assert verify(empty, "--save", str(tmp_path / "p")).status == 0
    done = verify(full, "--like", str(tmp_path / "p"))
    assert (done.status, "\ndiffers (" in done.stdout) == (0, False)
    assert verify(Service(on("list", status=203)), "--like", str(tmp_path / "p")).status == 1
    save(full, tmp_path / "p")  # which tells of the ids
    full.changes = (on_projects(put(id=[])),)
    assert "finding: drift: #/" in verify(full, "--like", str(tmp_path / "p")).stdout
    assert "list_order" not in save(plain(sample=0), tmp_path / "p")  # whose one project was seen
    for change in (lambda found: {"items": found["projects"]}, lambda found: found["projects"]):
        done = verify(plain(on("list", body=change)), "--like", str(tmp_path / "p"))
        assert (done.status, "\ndiffers (" in done.stdout) == (1, True), done.stdout
    limited = plain(lambda *each: on("deployment", status=429)(*each) if each[2] else None)
    assert "statuses" not in save(limited, tmp_path / "p")


def test_what_another_run_sees_is_no_drift(tmp_path: Path) -> None:
    counted = on("list", headers={"X-Total": "3"})  # as no other response is
    some = on_projects(lambda x: x | ({} if "verify" in x["name"] else {"note": ""}))
    turned = on_list(lambda found: [*found[1:], *found[:1]])
    for change, before, now in ((counted, 3, 0), (counted, 0, 3), (some, 3, 3), (turned, 0, 3)):
        save(plain(change, sample=before), tmp_path / "p")
        done = verify(plain(change, sample=now), "--like", str(tmp_path / "p"))
        assert done.status == 0, done.stdout
    save(plain(on_projects(put(size=1))), tmp_path / "p")
    for change in (turned, on_projects(put(size="1")), on_projects(without("size"))):
        done = verify(plain(on_projects(put(size=1)), change), "--like", str(tmp_path / "p"))
        assert done.status == 1, done.stdout
    for gone in ("project_id", "created_at"):  # read alone, and behind another run
        changes = on_deployment(put(status="failed")), on_deployment(without(gone))
        for level in ("read", "write"):
            assert verify(plain(*changes), "--like", str(tmp_path / "p"), level=level).status == 1


def test_what_has_drifted_is_printed_and_what_was_known_is_not(tmp_path: Path) -> None:
    envelope = on("list", body=lambda body: {"data": body["projects"]})
    save(plain(envelope), tmp_path / "p")
    changed = on_projects(without("created_at")), on_deployment(without("status"))
    done = verify(plain(*changed, envelope), "--like", str(tmp_path / "p"), level="write")
    assert "\nbroken (" in done.stdout
    assert "\n  #/components/schemas/Project/properties/created_at\n" in done.stdout
    assert "\n  #/components/schemas/ProjectList" not in done.stdout


def test_a_member_that_comes_with_a_status_is_no_drift(tmp_path: Path) -> None:
    def ending(status: str) -> Service:
        late = on_deployment(lambda x: x | {"url": ""} if x["status"] == "succeeded" else x)
        turned = put(status=lambda each: status if each == "succeeded" else each)
        return plain(on_deployment(turned), late)

    save(ending("succeeded"), tmp_path / "p")
    by_hand = {"observed_at": "2026-11-24", "members": {"deployment": {"absent": []}}}
    (tmp_path / "q").write_text(json.dumps(by_hand), "utf-8")
    for file in ("p", "q"):
        done = verify(ending("failed"), "--like", str(tmp_path / file), level="write")
        assert done.status == 0, done.stdout


def camel(record: dict[str, Any]) -> dict[str, Any]:
    words = {name: re.sub("_(.)", lambda found: found[1].upper(), name) for name in record}
    return {words[name]: value for name, value in record.items()}


def test_members_in_camel_case_are_those_of_the_contract(tmp_path: Path) -> None:
    profile = save(plain(on_projects(camel), on_deployment(camel)), tmp_path / "p")
    assert [form for form in defaults() if form not in forms_of(profile)] == []
    added = {"createdAt": "string", "latestDeploymentId": "string"}
    assert profile["members"]["project"]["added"] == added
    alone = save(plain(on_projects(camel), sample=0), tmp_path / "q")
    assert alone["members"]["project"]["added"] == added  # without the own member
    gone = save(plain(on_projects(camel), on("deployment", status=404)), tmp_path / "q")
    assert gone["ids"].keys() == {"projects", "deployments"}
    for changed in (on_projects(put(createdAt="late")), on_deployment(put(projectId="p-zq7xk009"))):
        late = plain(on_projects(camel), on_deployment(camel), changed)
        done = verify(late, "--like", str(tmp_path / "p"))
        assert (done.status, "    service:   missing" in verify(late).stdout) == (1, True)
    assert_comes_back(tmp_path / "p")
    numbers = Service(on_projects(camel), on_deployment(camel), new_id=lambda kind, index: index)
    profile = save(numbers, tmp_path / "p")
    assert profile["members"]["project"]["added"] == added
    assert "string here, integer there" in str(profile["not_imitated"])
    assert_comes_back(tmp_path / "p")
    alone = on_deployment(lambda x: camel(x | {"project_id": None}))
    save(plain(on_projects(camel), alone), tmp_path / "p")
    assert_comes_back(tmp_path / "p")


def test_a_profile_tells_of_a_run_that_failed_and_of_more_than_the_list(tmp_path: Path) -> None:
    service = plain(on("list", body=put(next=None)), on_deployment(put(status="canceled")))
    done = verify(service, "--save", str(tmp_path / "p"), level="write")
    assert "warning: the deployment ended as canceled, and so will those of the stub" in done.stdout
    assert "the array alone here, other members beside it" in (tmp_path / "p").read_text("utf-8")


@pytest.mark.parametrize("form", FORMS)
def test_what_has_changed_since_is_drift(form: str, known: Path) -> None:
    kept, *changes = FORMS[form][-1]
    done = verify(plain(*changes), "--like", str(known), level="write")
    place = f"{form}: " if kept else "#/"  # what the profile would not keep
    assert (done.status, f"finding: drift: {place}" in done.stdout) == (1, True), done.stdout


def test_a_file_that_is_no_profile_is_replaced_by_force_alone(tmp_path: Path) -> None:
    file = tmp_path / "seed.json"
    file.write_text('{"projects": []}', "utf-8")
    with listening(plain()) as url:
        done = verify(url, "--save", str(file))
        assert (done.status, "only --force replaces what" in done.stderr) == (2, True)
        assert file.read_text("utf-8") == '{"projects": []}'
        done = verify(url, "--save", str(file), "--force")
        lacks = f"saved {file}; not in it: /creation_status, /statuses\n"
        assert (done.status, lacks in done.stdout) == (0, True)
        assert verify(url, "--save", str(file)).status == 0  # a profile
        assert json.loads(file.read_text("utf-8"))["observed_at"]
        file.write_text('{"observed_at": "x"}', "utf-8")
        done = verify(url, "--like", str(file))
        assert (done.status, "/observed_at: must be a date" in done.stderr) == (2, True)
        for path in (tmp_path / "no" / "file", tmp_path):
            done = verify(url, "--save", str(path), "--force")
            assert (done.status, done.stdout) == (2, "")  # before it asks the service
