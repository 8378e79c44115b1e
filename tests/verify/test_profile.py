"""verify --save writes the bodies of a service, with markers in place of what varies."""

import base64
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from profiles.profile import Profile, make_profile
from stub.seed import sample_of
from tests.conftest import Clock, make_stub
from tests.live import serving
from tests.services import DOCUMENTS
from tests.verify.conftest import (
    TOKEN,
    Request,
    Response,
    Service,
    Verified,
    listening,
    save,
    verify,
)
from tests.verify.differences import on, on_deployment, on_errors, on_others, on_projects, put
from tests.wire import call

pytestmark = pytest.mark.process

STUB = {"VERIFY_TOKEN": "dev-token"}
CHOICE = "{deployment.status}"
TIME = "2026-01-01T00:00:00Z"
EXAMPLE = "2026-01-05T09:00:00Z"  # of a time, in a profile that was saved


@contextmanager
def stub(like: Profile) -> Iterator[str]:
    """The URL of a stub with the sample of a profile, whose statuses are seen however busy the
    machine is.
    """
    clock = Clock(step=0.2)
    clock.now = datetime.now(UTC)
    app = make_stub(seed=sample_of(like), clock=clock, like=like)
    with serving(app) as port:
        yield f"http://127.0.0.1:{port}"


def run(like: Profile, before: Any) -> tuple[Verified, bool]:
    """A run on a stub, with what a person says of it; whether it follows the deployment."""
    body = json.dumps(like.request).replace("{project.name}", "{name}")
    shown = json.dumps([like.form("list"), like.form("create")])
    is_followed = "{deployment." in shown
    options = ["--wait", "9"]
    with stub(like) as url:
        if not is_followed:
            options += ["--deployment", call(url, "/_stub/state").json["deployments"][0]["id"]]
        done = save(url, *options, body=body, like=json.dumps(before), env=STUB)
    assert done.status == 0, done.stdout
    return done, is_followed


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_profile_of_a_stub_is_the_one_that_it_is_like(name: str) -> None:
    known = DOCUMENTS[name]
    like = make_profile(known)
    done, is_followed = run(like, known)
    found = make_profile(done.profile)
    assert (found.run == like.run) == is_followed
    for part in ("list", "create", *(["deployment"] if is_followed else [])):
        body = plain(found, part)
        if known["ids"]["deployments"] == "{project.id}" and part == "deployment":
            body = body.replace("{deployment.id}", "{project.id}")
            body = body.replace("{deployment.created_at", "{project.created_at")
        # No run has shown a failure, as in `concluded`.
        shown = plain(like, part).replace('"FAILURE": true, ', "")
        assert json.loads(body) == json.loads(shown), part
        form = found.form(part)
        assert form
        headers = {name: without_base(value) for name, value in form.headers.items()}
        assert headers == {"Cache-Control": "no-store", **known[part].get("headers", {})}
    secret = {"db_pass": ""} if "db_pass" in like.request else {}
    assert found.request == {**like.request, **secret}
    assert found.is_newest_first == like.is_newest_first
    run(found, done.profile)


def plain(profile: Profile, part: str) -> str:
    """The body of a part as JSON, without what verify does not see in it: the base, second ids."""
    form = profile.form(part)
    assert form
    text = without_base(json.dumps(form.body))
    text = re.sub(r"(created_at:)[-0-9T:.]{11,}\.([0-9]*)", r"\1\2", text)
    text = re.sub("(created_at:)[0-9]*", lambda found: re.sub("[0-9]", "0", found[0]), text)
    return re.sub('("(?:uid|cursor)"): "[^"]*"', r'\1: ""', text)


def without_base(text: str) -> str:
    return re.sub(r"http://127\.0\.0\.1:[0-9]+", "{base}", text)


def test_records_in_other_arrays_are_hidden_where_the_list_is_not_sure() -> None:
    def paged(body: Any) -> Any:
        users = [{"id": "u-1", "email": "alice@private.example"}]
        return {"links": [{"rel": "self"}], "users": users, "page": {"items": body["projects"][:3]}}

    text = json.dumps(save(Service(on("list", body=paged)), level="read").profile)
    assert "private" not in text
    assert "sample-" not in text


# What the records of others have, and the created one has not.
PRIVATE = {
    "owner": "private-owner", "notes": ["private-note"], "size": 918273645,
    "nested": {"deep": {"text": "private-deep"}}, "url": "https://private.example/x",
    "build": {"state": "private-state"},
}  # fmt: skip


def privately(response: Response, request: Request, number: int) -> None:
    """Lists whose envelope has private values, and those of the projects."""
    if response.case != "list":
        return
    projects = response.body["projects"]
    response.body |= {
        "first_id": projects[0]["id"], "last": {"href": f"/v1/projects?after={projects[-1]['id']}"},
        "second": projects[1]["id"], "hint": "ask private-owner", "total": len(projects),
        "by_id": {projects[1]["id"]: 1}, "limit": 50,
    }  # fmt: skip
    response.headers |= {"X-Total": str(len(projects)), "X-Owner": "private-owner"}


@pytest.mark.parametrize("level", ["read", "write"])
def test_no_value_of_another_record_is_in_a_profile(level: str) -> None:
    error = on("no deployment", body=put(owner="private-owner", detail="of private-owner"))
    service = Service(privately, on_others(**PRIVATE), error, new_id="{}-zq7xk{:03}".format)
    done = save(service, level=level)
    text, listed = json.dumps(done.profile), done.profile["list"]
    for value in ("private", "918273645", "sample-", *(f"zq7xk{each:03}" for each in (1, 2, 3))):
        assert value not in text
    (item,) = listed["body"].pop("projects")
    assert listed["body"] == {
        "first_id": "{first.id}", "last": {"href": "/v1/projects?after={last.id}"}, "second": "",
        "hint": "", "total": "{count}", "by_id": {}, "limit": 50,
    }  # fmt: skip
    assert listed["headers"] == {"Cache-Control": "no-store", "X-Total": "{count}"}
    if level == "read":
        assert item["nested"] == {"deep": {"text": "text"}}
        assert (item["size"], item["created_at"]) == (1, f"{{project.created_at:{EXAMPLE}}}")
        assert item["build"] == {"state": "{deployment.status}"}
        assert done.profile["statuses"] == {"run": ["succeeded"]}
        assert done.profile["deployment"]["body"]["status"] == "{deployment.status}"
        assert "it lacks create: these are as the contract says\n" in done.stdout


def test_a_word_that_others_have_too_does_no_harm() -> None:
    """Another record may have the words of a marker, of a content type or of a member's name."""
    words = {"state": "created", "kind": "project", "phase": "deploy", "by": "created_at",
             "app": "application", "region": "europe", "name": "projects",
             "sort": "id"}  # fmt: skip
    region = on(headers={"X-Region": "zone-europe"})
    for level in ("read", "write"):
        profile = save(Service(on_others(**words), region), level=level).profile
        assert profile["content_type"] == "application/json"
        assert profile["list"]["body"]["projects"][0]["id"] == "{project.id}"
        assert "created_at" in profile["list"]["body"]["projects"][0]
        assert profile["list"]["headers"]["X-Region"] == "zone-europe"
        assert profile["errors"]["not_found"]["body"]["code"] == "unknown"


def test_records_and_header_fields_of_others_beside_the_list_are_hidden() -> None:
    around = put(
        included=[{"email": "alice@private.example", "rank": 7}], owner=98765432, link="/u/zed1/x",
        page={"tokens": ["t"], "next": 7731}, api_version=1, of="ZED1",
        cursor=base64.b64encode(b"project:p-2").decode(),
    )  # fmt: skip
    others = on_others(account="98765432", user="zed1", n=7731)
    is_other = lambda request: not request.target.endswith("4")  # noqa: E731
    field = on("deployment", headers={"X-Owner": "alice"}, has=is_other)
    for level in ("read", "write"):
        profile = save(Service(on("list", body=around), others, field), level=level).profile
        body = profile["list"]["body"]
        assert body["included"] == [{"email": "text", "rank": 1}]
        assert (body["owner"], body["link"], body["page"]["next"]) == (0, "", 0)
        assert (body["cursor"], body["of"]) == ("", "")
        assert body["api_version"] == 1
        assert "X-Owner" not in profile["deployment"]["headers"]
    one = Service(on("list", body=put(page=1, total=1)), sample=1)
    body = save(one, level="read").profile["list"]["body"]
    assert (body["page"], body["total"]) == (1, "{count}")


def test_no_secret_is_in_a_profile() -> None:
    """The token, and what has the name of a secret, wherever a response has room for it."""
    encoded = quote(TOKEN, safe="")
    secrets = put(**{
        "token": "s3cr3t-1", "api_key": "s3cr3t-2", "apiKey": {"value": "s3cr3t-3"},
        "passwords": ["s3cr3t-4"], "cookie": "s3cr3t-5", "basic_auth": "s3cr3t-6",
        "sent": f"Bearer {TOKEN}", "link": f"https://a.example/?t={encoded}", TOKEN: 1,
        "database": "postgres://user:s3cr3t-7@db.example/x",
        "signed": "https://a.example/x?X-Amz-Signature=s3cr3t-8", "in": [{"deep": TOKEN}],
        "clone": "git clone https://me:s3cr3t-a@git.example/x", "cb": "/cb#access_token=s3cr3t-b",
        "passphrase": "s3cr3t-d", "db_pass": "s3cr3t-e",
        "password_number": 5318008, "tokens": {"s3cr3t-c": {"on": 1}},
    })  # fmt: skip
    headers: Any = {"X-Sent": TOKEN, "X-Api-Key": "s3cr3t-9", "Set-Cookie": "a=s3cr3t-0"}
    leaking = Service(on(body=secrets, headers=headers), on_projects(secrets))
    body = '{"name": "{name}", "password": "s3cr3t-x"}'
    done = save(leaking, level="abuse", body=body)
    profile = done.profile
    for secret in ("s3cr3t", "5318008", TOKEN, encoded):
        assert secret not in json.dumps(profile)
    assert profile["create"]["request"] == {"name": "{project.name}", "password": ""}
    assert {"list", "create", "deployment", "errors"} <= profile.keys()
    assert profile["deployment"]["body"]["apiKey"] == {"value": ""}
    assert "/deployment/body/signed" in done.stdout.partition("URLs with a signature")[2]
    assert (done.status, "finding: leaks: create: " in done.stdout) == (1, True)


def test_what_varies_between_two_readings_is_told_and_is_no_choice() -> None:
    def varying(response: Response, request: Request, number: int) -> None:
        key = f"{len(request.headers)}{request.at}"
        response.headers |= {"X-Request-Id": key, "X-Remaining": str(900 - number)}
        response.body["request_id"] = key
        if response.case == "deployment" and number % 2:
            response.body["hint"] = "now and then"

    service = Service(varying)
    done = save(service)
    assert "  header fields that vary: X-Remaining, X-Request-Id\n" in done.stdout
    assert "  /list/body/request_id: another value in each reading" in done.stdout
    assert "  /deployment/body/hint: another value in each reading" in done.stdout
    place = "/deployment/body/request_id"
    assert f"  {place}: another value in each reading; the profile has the first one" in done.stdout
    read = next(each.body for each in service.sent if each.case == "deployment")
    assert f'\n  {place}: "{read["request_id"]}"\n' in done.stdout  # among the constants
    form = done.profile["deployment"]
    assert form["body"]["request_id"] == read["request_id"]
    assert form["headers"] == {"Cache-Control": "no-store"}


def test_what_changes_with_the_status_is_a_choice() -> None:
    def change(body: Any) -> Any:
        status = body["status"]
        steps = ["build"] if status == "queued" else ["build", "ship"]
        at = None if status == "queued" else "2026-01-01"
        url = f"https://{body['id']}.example"
        stages = [
            {"name": "build", "is_done": status != "queued"},
            {"name": "ship", "is_done": status == "succeeded"},
        ]
        # A word of a choice may be a value, too.
        words = {"note": "", "stage": "succeeded"}
        ok = status == "succeeded"
        return {
            **body, **words, "url": url, "steps": steps, "stages": stages, "ok": ok, "at": at,
        }  # fmt: skip

    profile = save(Service(on_deployment(change))).profile
    body = profile["deployment"]["body"]
    assert body["ok"] == {CHOICE: {"succeeded": True, "": False}}
    assert body["at"] == {CHOICE: {"queued": None, "": "2026-01-01"}}
    assert body["steps"] == {CHOICE: {"queued": ["build"], "": ["build", "ship"]}}
    assert body["stages"] == [
        {"name": "build", "is_done": {CHOICE: {"queued": False, "": True}}},
        {"name": "ship", "is_done": {CHOICE: {"succeeded": True, "": False}}},
    ]
    assert body["url"] == "https://{deployment.id}.example"
    assert profile["statuses"] == {"run": ["queued", "building", "succeeded"]}


def test_what_changes_within_a_status_is_no_reading_of_another() -> None:
    """As a progress: it stands still in the last status, where another value would vary, too."""
    numbers = count(1)

    def change(body: Any) -> Any:
        number = next(numbers)
        progress = {"queued": None, "succeeded": 100}.get(body["status"], number)
        return {**body, "progress": progress, "nonce": f"n-{number}"}

    body = save(Service(on_deployment(change))).profile["deployment"]["body"]
    assert body["progress"] == {CHOICE: {"building": 2, "succeeded": 100, "": None}}
    assert body["nonce"] == "n-1"


def test_names_of_members_that_are_values_are_left_out() -> None:
    def named(project: Any) -> Any:
        env = {f"prod-{project['id']}": {"key": 1}, "all": {"key": 2}}
        return {**project, "team": f"team{project['id'][2:].replace('1', 'one')}", "env": env}

    def mapped(body: Any) -> Any:
        by_name = {
            f"by_{name}": {each[name]: 1 for each in body["projects"]} for name in ("team", "id")
        }
        return {**body, **by_name}

    routes = on_deployment(lambda body: {**body, "routes": {f"{body['id']}.x.example": 1, TIME: 2}})
    service = Service(
        on_projects(named), on("list", body=mapped), routes, new_id="{}-zq7xk{:03}".format
    )
    for level in ("read", "write"):
        profile = save(service, level=level).profile
        body = profile["list"]["body"]
        assert (body["by_team"], body["by_id"]) == ({}, {})
        assert body["projects"][0]["env"] == {"all": {"key": 1 if level == "read" else 2}}
        assert profile["deployment"]["body"]["routes"] == {}


def test_braces_of_a_service_are_no_markers() -> None:
    change = on_projects(put(hint="{project.id} {count}", note="{x} {{error.code}}"))
    with stub(make_profile(save(Service(change)).profile)) as url:
        created = call(url, "/v1/projects", body=b'{"name": "shop"}').json
    assert (created["hint"], created["note"]) == ("project.id count", "{x} error.code")


def test_abuse_shows_what_a_creation_accepts() -> None:
    profile = save(Service(), level="abuse").profile
    assert not profile["create"].keys() & {"optional", "unique"}
    codes = {"invalid_body", "malformed_json", "body_too_large", "name_taken"}
    assert codes < profile["errors"].keys()
    assert profile["errors"]["name_taken"]["status"] == 409
    assert "Allow" not in profile["errors"]["method_not_allowed"]["headers"]
    tolerant = Service(accepts={"name", "taken", "media type"})
    create = save(tolerant, level="abuse").profile["create"]
    assert (create["optional"], create["unique"]) == (True, False)


def test_errors_that_were_not_seen_have_the_form_of_those_that_were() -> None:
    more = {404: {"details": {"name": "x"}}}  # what one of them has alone
    shape = on_errors(lambda body: {"error": {"code": body["code"], "message": f"A {body['code']}"},
                                    "status": body["status"], "ok": False,
                                    **more.get(body["status"], {})})  # fmt: skip
    errors = save(Service(shape), level="read").profile["errors"]
    assert errors["default"]["body"] == {
        "error": {"code": "{error.code}", "message": "{error.detail}"},
        "status": "{error.status}", "ok": False,
    }  # fmt: skip
    echo = on("no deployment", body=lambda body: {"no": "stub-verify-1 is none"})
    errors = save(Service(echo), level="read").profile["errors"]
    assert errors["deployment_not_found"]["body"] == {"no": "{error.detail}"}
    assert "default" not in errors


def test_errors_of_one_status_say_nothing_of_others() -> None:
    html = on("anonymous", "unauthorized", raw=b"<p>")
    errors = save(Service(html), level="read").profile["errors"]
    assert errors["default"]["body"]["code"] == "{error.code}"  # of 404 and 405
    same = save(Service(html, on("method", status=204, raw=b"")), level="read").profile
    assert "default" not in same["errors"]
    assert verify(Service(html), like=json.dumps(same)).status == 0  # it was no JSON before


def test_small_numbers_are_ids_in_urls_alone() -> None:
    headers: dict[str, str | None] = {"Location": "/v1/deployments/94?p=93"}
    change = on("created", headers=headers, body=put(version="1.94"))
    service = Service(change, new_id=lambda kind, number, _: 89 + number + (kind == "d"))
    create = save(service).profile["create"]
    location = "/v1/deployments/{deployment.id}?p={project.id}"
    assert (create["headers"]["Location"], create["body"]["version"]) == (location, "1.94")


def test_ids_that_are_made_from_a_name_have_no_form() -> None:
    service = Service(new_id=lambda kind, number, name: f"{kind}-{name if kind == 'd' else number}")
    done = save(service)
    assert "  ids of deployments that are made from the name\n" in done.stdout
    assert "stub-verify" not in json.dumps(done.profile)


def test_a_named_deployment_is_shown_and_has_no_run() -> None:
    hidden = on_projects(lambda body: {each: body[each] for each in ("id", "name")})
    shown = on_deployment(put(region="fra", owner="u-private"))
    service = Service(hidden, shown, on_others(owner="u-private"))
    for level in ("read", "write"):
        done = save(service, "--deployment", "d-2", level=level)
        assert done.profile["deployment"]["body"] == {
            "id": "{deployment.id}", "created_at": f"{{deployment.created_at:{EXAMPLE}}}",
            "region": "fra",
            "owner": "",  # its project has it
            "project_id": "{project.id}", "status": "{deployment.status}",
        }  # fmt: skip
        assert len(done.profile["statuses"]["run"]) == 1
        assert "  the run of a deployment: the one that was named is over\n" in done.stdout
        assert done.status == 0


def test_a_body_that_is_no_json_is_not_in_a_profile() -> None:
    for changes, parts in (
        ((on("list", raw=b'{"projects": [NaN]}'),), ["list"]),
        ((on("created", status=204, raw=b""), on("deployment", "unknown", raw=b"<p>")),
         ["create", "deployment", "errors/not_found"]),
    ):  # fmt: skip
        done = save(Service(*changes))
        for part in parts:
            name, _, code = part.partition("/")
            assert (code or name) not in (done.profile[name] if code else done.profile)
            assert f"  /{part}/body: the body of the service is no " in done.stdout


def test_a_status_that_a_profile_cannot_have_is_told() -> None:
    told = save(Service(on("created", "list", status=203))).stdout
    assert "  the status of a creation: 203\n" in told
    assert "  the status of the list: 203, not 200\n" in told


def test_a_part_that_a_profile_cannot_have_is_left_out_and_told() -> None:
    done = save(Service(new_id=lambda kind, number, _: "_" * (2 * number + (kind == "d"))))
    why = "is no example of an id: nothing follows its last sign"
    assert f"  /ids: /ids/projects {why}\n" in done.stdout
    assert done.profile["ids"] == {}
    assert make_profile(done.profile)


def test_a_profile_that_nobody_could_read_replaces_none(tmp_path: Path) -> None:
    file = tmp_path / "service.json"
    assert verify(Service(), "--save", str(file), level="write").status == 0
    assert file.stat().st_mode & 0o777 == 0o600  # it has what the service sent
    saved = file.read_bytes()
    large = on_deployment(put(log="x" * 2**20))
    done = verify(Service(large), "--save", str(file), level="write")
    assert done.status == 2
    assert f"{file}: it would have over {2**20} bytes.\n" in done.stderr
    assert file.read_bytes() == saved


def test_a_read_that_fails_once_does_not_end_the_run() -> None:
    def fail_once(response: Response, request: Request, number: int) -> None:
        if number == 1:
            on("deployment", status=503)(response, request, number)

    run = save(Service(fail_once)).profile["statuses"]["run"]
    assert run == ["queued", "succeeded"]  # the response that failed was `building`


def test_a_run_that_did_not_end_or_failed_is_told() -> None:
    done = save(Service(on_deployment(put(status="queued"))))
    assert "warning: the deployment did not end: give a longer --wait\n" in done.stdout
    assert done.profile["statuses"]["run"] == ["queued"]
    done = save(Service(on_deployment(put(status="canceled"))))
    assert "warning: the deployment ended as canceled, and so will those of the stub" in done.stdout


def test_a_clock_that_is_wrong_is_no_reason_to_miss_a_time() -> None:
    created = on_projects(put(created_at=lambda at: at.replace("2026-01-04", "2031-05-06")))
    date = on(headers={"Date": "Tue, 06 May 2031 09:00:01 GMT"})
    create = save(Service(created, date)).profile["create"]
    assert create["body"]["created_at"] == f"{{project.created_at:{EXAMPLE}}}"


def test_a_file_that_is_no_profile_is_replaced_by_force_alone(tmp_path: Path) -> None:
    file = tmp_path / "seed.json"
    file.write_text('{"projects": []}', "utf-8")
    with listening(Service()) as url:
        done = verify(url, "--save", str(file))
        assert (done.status, "only --force replaces what" in done.stderr) == (2, True)
        assert file.read_text("utf-8") == '{"projects": []}'
        assert verify(url, "--save", str(file), "--force").status == 0
        assert verify(url, "--save", str(file)).status == 0  # a profile
        file.write_text('{"observed_at": "x"}', "utf-8")
        done = verify(url, "--like", str(file))
        assert (done.status, "/observed_at: must be a date" in done.stderr) == (2, True)
        for path in (tmp_path / "no" / "file", tmp_path):
            done = verify(url, "--save", str(path), "--force")
            assert (done.status, done.stdout) == (2, "")  # before it asks the service
