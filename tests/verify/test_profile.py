"""verify --save writes the ids, times and statuses of a service; --like finds how they drifted."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from app import create_app
from cli.verify.names import in_snake_case
from cli.verify.profile import id_form, is_same
from stub import StubOptions
from stub.grease.axes import AXES
from stub.like.profile import make_profile
from tests.conftest import Clock
from tests.live import serving
from tests.verify.conftest import Change, Service, listening, verify
from tests.verify.differences import on, on_deployment, on_projects, put
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
    with stub(like=make_profile(known)) as url:
        options = ("--save", str(again), "--fail-on", "broken,differs,leaks,drift", "--wait", "5")
        done = verify(url, "--like", str(file), *options, level="write", env=STUB)
    assert (done.status, "\ndiffers (" in done.stdout) == (0, False), done.stdout
    found = json.loads(again.read_text("utf-8"))
    sizes = {"shortest": 0, "longest": 0}  # which are within those that are known
    for name in known.keys() & {"times", "statuses"}:
        assert found[name] == known[name]
    for kind, form in known.get("ids", {}).items():
        assert found["ids"][kind] | sizes == form | sizes


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
    prefix = profile.get("ids", {}).get("projects", {}).get("prefix")
    kept = {"ids": prefix, "/times": profile.get("times"), "/statuses": profile.get("statuses")}
    assert kept == forms
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
    limited = plain(lambda *each: on("deployment", status=429)(*each) if each[2] else None)
    assert "statuses" not in save(limited, tmp_path / "p")


def test_ids_that_are_made_from_others_do_not_drift(tmp_path: Path) -> None:
    form = {"observed_at": "2026-11-24", "ids": {"projects": {"slug": True}}}
    (tmp_path / "p").write_text(json.dumps(form), "utf-8")
    assert verify(plain(), "--like", str(tmp_path / "p")).status == 0


def test_a_profile_tells_of_a_run_that_failed(tmp_path: Path) -> None:
    service = plain(on_deployment(put(status="canceled")))
    done = verify(service, "--save", str(tmp_path / "p"), level="write")
    assert "warning: the deployment ended as canceled, and so will those of the stub" in done.stdout


CHANGES = {
    "/ids/projects": on_projects(put(id=lambda each: f"new_{each}")),
    "/times": FORMS["/times"][1][1],
    "/statuses": FORMS["/statuses"][1][1],
}


@pytest.mark.parametrize("place", CHANGES)
def test_what_has_changed_since_is_drift(place: str, known: Path) -> None:
    done = verify(plain(CHANGES[place]), "--like", str(known), level="write")
    assert (done.status, f"finding: drift: {place}: " in done.stdout) == (1, True), done.stdout


ENDS = {"succeeded", "failed", "canceled"}
IDS = {"prefix": "", "alphabet": ["a-z"], "shortest": 1, "longest": 9}


def test_a_run_that_shows_less_of_a_form_is_no_drift() -> None:
    ids = [id_form([each]) for each in ("dQwGzWgXcQ", "Wg3czQ9-w_", "Wg3czQ9.w~", "Wg3czQ9wWg3")]
    run = {"run": ["a", "b"], "ended": "b"}
    good, bad = ({"run": ["a", end], "ended": end} for end in ("succeeded", "failed"))
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
    ):
        assert is_same(form, before, now, ENDS) == is_known, (form, before, now)


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


def test_a_member_in_camel_case_takes_no_other_ones_place() -> None:
    record = {"created_at": 1, "createdAt": 2, "projectId": 3}
    assert in_snake_case(record) == {**record, "project_id": 3}


def test_a_file_that_is_no_profile_is_replaced_by_force_alone(tmp_path: Path) -> None:
    file = tmp_path / "seed.json"
    file.write_text('{"projects": []}', "utf-8")
    with listening(plain()) as url:
        done = verify(url, "--save", str(file))
        assert (done.status, "only --force replaces what" in done.stderr) == (2, True)
        assert file.read_text("utf-8") == '{"projects": []}'
        done = verify(url, "--save", str(file), "--force")
        lacks = f"saved {file}, which has no bodies; not in it: /statuses\n"
        assert (done.status, lacks in done.stdout) == (0, True)
        assert verify(url, "--save", str(file)).status == 0  # a profile
        assert json.loads(file.read_text("utf-8"))["observed_at"]
        file.write_text('{"observed_at": "x"}', "utf-8")
        done = verify(url, "--like", str(file))
        assert (done.status, "/observed_at: must be a date" in done.stderr) == (2, True)
        for path in (tmp_path / "no" / "file", tmp_path):
            done = verify(url, "--save", str(path), "--force")
            assert (done.status, done.stdout) == (2, "")  # before it asks the service
