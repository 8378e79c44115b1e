"""verify --har judges recorded exchanges as those of a session."""

import base64
import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.verify import differences as parts
from tests.verify.conftest import TOKEN, Request, Service, Verified, save, verify
from tests.verify.differences import on, on_list, on_projects, put, without

pytestmark = pytest.mark.process

COOKIE = "session=cookie-7f3a9; theme=dark"


URL = "https://service.example"


def entry_of(
    service: Service, number: int, target: str, body: str = "", token: str = TOKEN
) -> dict[str, Any]:
    """A request and its response, as a HAR file has them."""
    method = "POST" if body else "GET"
    headers = {"Authorization": f"Bearer {token}", "Cookie": COOKIE, "Content-Type": parts.JSON}
    response = service.respond(Request(method, target, [*headers.items()], body.encode(), at=0))
    text = response.data().decode()
    got = {name: str(value) for name, value in response.headers.items()}
    return {
        "startedDateTime": f"2026-02-03T09:00:{number:02}.5Z",
        "request": {
            "method": method, "url": URL + target, "cookies": [], "headers": named(headers),
            "postData": {"text": body},
        },
        "response": {
            "status": response.status, "cookies": [{"name": "id", "value": "cookie-8b1c2"}],
            "headers": named({**got, ":status": "200", "set-cookie": COOKIE}),
            "content": {"size": len(text), "text": text},
        },
    }  # fmt: skip


def named(pairs: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in pairs.items()]


def record(service: Service) -> list[Any]:
    """A recorded session: the list, a creation, its deployment until it has ended, errors."""
    sent = [
        ("/v1/projects",),
        ("/v1/projects", '{"name": "my shop", "plan": "pro"}'),
        *[("/v1/deployments/d-4",), ("/v1/projects",)] * 3,
        ("/v1/projects?page=2",),
        ("/v1/deployments/none",),
        ("/v1/projects", "", "wrong-token-5"),
        ("/v1/projects", "{}"),
        ("/elsewhere/v1/other",),
    ]
    return [entry_of(service, number, *each) for number, each in enumerate(sent)]


def judge(entries: Any, *options: str, **more: Any) -> Verified:
    """A run with a HAR file of these entries, or of this text."""
    text = entries if isinstance(entries, str) else json.dumps({"log": {"entries": entries}})
    return verify(None, *options, har=text, env={}, **more)


def profile_of(entries: Any, *options: str) -> Any:
    """The profile that is made of these entries."""
    return judge(entries, *options, saves=True).profile


def test_the_verdicts_and_the_profile_are_those_of_a_session() -> None:
    changes = (on("created", status=200), on("list", headers={"X-Total": "4"}))
    known = save(Service(*changes)).profile
    done = judge(record(Service(*changes)), saves=True)
    profile = done.profile
    assert (done.status, done.found) == (0, parts.differs(parts.POST_201))
    assert done.parts[parts.METHOD]["reason"] == "it was not recorded"
    assert (done.report["level"], done.report["created"]) == ("recorded", [])
    known["list"]["body"]["projects"][0]["plan"] = "pro"
    assert profile["list"]["body"] == known["list"]["body"]
    assert profile["deployment"] == known["deployment"]
    assert profile["statuses"] == known["statuses"]
    assert profile["create"]["request"] == {"name": "{project.name}", "plan": "pro"}
    assert {"deployment_not_found", "token_invalid", "invalid_body"} <= profile["errors"].keys()
    changed = record(Service(*changes, on("created", body=without("name"))))
    other = judge(changed, like=json.dumps(profile)).stdout
    assert other.count("finding: ") == 1
    assert "finding: drift: /create/body/name: string in the profile, missing there" in other


def test_tokens_and_cookies_are_in_no_output() -> None:
    sent = f"{TOKEN} and cookie-7f3a9"
    leaks = on_projects(put(sent=sent, note="cookie-8b1c2", api_key="s3cr3t"))
    done = judge(record(Service(leaks)), saves=True)
    texts = done.stdout + json.dumps([done.report, done.profile])
    for secret in (TOKEN, "wrong-token-5", "cookie-7f3a9", "cookie-8b1c2"):
        assert secret not in texts
    assert "s3cr3t" not in json.dumps(done.profile)
    assert "finding: leaks: list: " in done.stdout
    assert "leaks" not in judge(record(Service())).stdout.partition("no finding")[0]


def test_what_is_no_secret_is_not_masked() -> None:
    """A page token, the words of cookies, an empty credential; secrets of responses are masked."""
    entries = record(Service())
    entries[0]["request"]["url"] += "?page_token=2&next_token=sample-1-x"
    entries[0]["request"]["headers"] = named({"Cookie": "tab=projects; last=2026-02-03; a=sample"})
    entries[2]["request"]["headers"] = named({"Authorization": "Bearer "})
    entries[0]["response"]["headers"] += [
        {"name": "X-Auth-Token", "value": "sess-abc-123456"}, {"name": "Vary", "value": "a"},
        {"name": "vary", "value": "b"}, {"name": "X-N", "value": 5}, {"name": None, "value": None},
        {"name": "Set-Cookie", "value": "a=1\nsid=cookie-9d4e"},
    ]  # fmt: skip
    text = entries[0]["response"]["content"]["text"]
    entries[0]["response"]["content"]["text"] = text.replace("{", '{"x": "sess-abc-123456", ', 1)
    again = json.loads(json.dumps(entries[0]).replace('"x": ', '"y": "cookie-9d4e", "x": '))
    done = judge([entries[0], again, *entries[1:]], saves=True)
    assert (done.status, done.profile["observed_at"]) == (0, "2026-02-03")
    profile = json.dumps(done.profile)
    assert "***" not in profile
    for secret in ("sess-abc-123456", "cookie-9d4e"):
        assert secret not in done.stdout + profile


@pytest.mark.parametrize(
    ("sent", "got", "request_of_profile"),
    [
        ('{"name": "Web Shop", "region": "fra"}', {"id": "p-4", "slug": "web-shop"}, "name"),
        ('{"title": "shop", "region": "sample-1"}', {"id": "p-4", "a": "sample-1", "b": "shop"},
         "title"),
        ('{"name": "api"}', {"id": "p-4", "name": "api"}, "name"),
        ("[" * 3000, {"id": "p-4", "label": ""}, "name"),
    ],
)  # fmt: skip
def test_the_created_project_of_a_recording_is_none_of_the_others(
    sent: str, got: Any, request_of_profile: str
) -> None:
    private = {"region": "fra", "kind": "api", "text": "", "of": "private", "ref": "p-4"}
    other = on_list(lambda found: [{**each, **private} for each in found[:3]])
    entries = record(Service(other))
    entries[1]["request"]["postData"] = {"text": sent}
    entries[1]["response"]["content"]["text"] = json.dumps(got)
    profile = profile_of(entries)
    assert profile["create"]["request"][request_of_profile] == "{project.name}"
    assert "private" not in json.dumps(profile)


def test_without_a_creation_all_values_are_those_of_others() -> None:
    entries = [each for each in record(Service()) if each["request"]["method"] == "GET"][:1]
    told = judge(entries).stdout
    assert "no deployment was recorded\nno creation was recorded\n" in told
    profile = profile_of(entries)
    assert profile["list"]["body"]["projects"][0]["name"] == "{project.name}"
    assert "sample-" not in json.dumps(profile)


def test_a_deployment_that_no_response_names_may_be_given() -> None:
    entries = record(Service(on_projects(without("latest_deployment_id"))))
    plain = judge(entries).requests
    assert (plain["deployment"], "created deployment" in plain) == (3, False)
    profile = profile_of(entries, "--deployment", "d-4")
    assert profile["statuses"]["run"] == ["queued", "building", "succeeded"]


def test_a_recording_without_what_was_sent_has_a_name() -> None:
    entries = record(Service())
    for entry in entries:
        entry["request"].pop("postData")
        entry["request"]["headers"] = []
        content = entry["response"]["content"]
        encoded = base64.b64encode(content["text"].encode()).decode()
        content |= {"text": encoded, "encoding": "base64"}
    profile = profile_of(entries[::-1])  # some proxies write the end first
    assert profile["create"]["body"]["name"] == "{project.name}"
    assert profile["statuses"]["run"] == ["queued", "building", "succeeded"]
    assert profile["create"]["request"] == {"name": "{project.name}"}


def test_of_lists_with_a_query_the_first_page_counts() -> None:
    entries = record(Service())
    plain = judge(entries).requests
    for entry in entries:
        request = entry["request"]
        if request["method"] == "GET" and request["url"] == f"{URL}/v1/projects":
            request["url"] += "?page=1"
    assert judge(entries).requests == plain


def test_a_key_in_a_query_is_masked() -> None:
    entries = record(Service(on_projects(put(note="q7f3a9c2e1"))))
    entries[0]["request"]["url"] += "?api_key=q7f3a9c2e1"
    done = judge(entries, saves=True)
    assert "q7f3a9c2e1" not in done.stdout + json.dumps([done.report, done.profile])


def test_a_rejected_creation_is_judged_by_what_it_had() -> None:
    found = judge(record(Service(on("invalid", status=400)))).parts
    part = found["#/components/responses/InvalidBody"]
    assert (part["verdict"], part["observed"]) == ("differs", "400")
    assert found["#/components/responses/MalformedBody"]["verdict"] == "not seen"


def test_a_deployment_that_was_not_recorded_is_told() -> None:
    assert "\nd-99 was not recorded\n" in judge(record(Service()), "--deployment", "d-99").stdout


def test_of_a_long_recording_the_first_exchanges_of_a_kind_count() -> None:
    entries = record(Service())
    done = judge([*entries[:1] * 300, *entries[1:]])
    assert (done.status, done.requests["list"], done.requests["created is listed"]) == (0, 100, 1)
    others = [copy.deepcopy(entries[2]) for _ in range(2100)]
    for number, each in enumerate(others):
        each["request"]["url"] += str(number)
    assert sum(judge([*entries, *others]).requests.values()) == 2000


def test_a_recording_without_bodies_says_nothing_and_replaces_nothing(tmp_path: Path) -> None:
    entries, file = record(Service()), tmp_path / "p"
    judge(entries, "--save", str(file))
    saved = file.read_text("utf-8")
    for entry in entries:
        del entry["response"]["content"]["text"]
    done = judge(entries, "--save", str(file), "--deployment", "none")
    assert (done.status, done.report) == (2, None)
    assert "error: nothing could be checked: it was recorded without its body.\n" in done.stderr
    assert file.read_text("utf-8") == saved


@pytest.mark.parametrize(
    ("part", "members", "verdict"),
    [
        ("response", {"content": {"text": "%", "encoding": "base64"}}, "could not check"),
        ("response", {"content": {}}, "could not check"),
        ("response", {"status": 0}, "could not check"),
        ("response", {"status": 503}, "could not check"),
        ("response", {"status": 304}, "not seen"),
        ("response", {"headers": None}, "not seen"),
        ("request", {"url": "http://[::1"}, "not seen"),
    ],
)
def test_an_entry_that_says_nothing_is_not_judged(
    part: str, members: dict[str, Any], verdict: str
) -> None:
    entries = record(Service())
    for entry in entries:
        if "/deployments/d-" in entry["request"]["url"]:
            entry[part] |= members
    assert judge(entries).parts[parts.DID]["verdict"] == verdict


def test_a_body_that_is_empty_is_none_that_was_not_recorded() -> None:
    entries = record(Service())
    for entry in entries:
        if "/deployments/d-" in entry["request"]["url"]:
            entry["response"]["content"] = {"size": 0}
    found = judge(entries).parts["#/paths/~1v1~1deployments~1{id}/get/responses/200"]
    assert (found["verdict"], found["observed"]) == ("differs", "no JSON")


def test_a_file_that_cannot_be_used_is_a_sentence() -> None:
    entries = record(Service())
    other = json.loads(json.dumps(entries).replace(URL, f"{URL}/api"))
    unchanged = {**entries[0], "response": {**entries[0]["response"], "status": 304}}
    text = json.dumps({"log": {"entries": entries}})
    for given, options, reason in (
        (text[: len(text) // 2], (), "no JSON, perhaps cut off"),
        ("[]", (), "there is no log with entries"),
        ('{"log": {"entries": {}}}', (), "there is no log with entries"),
        ([], (), "no request to a path that ends in /v1/projects or /v1/deployments/{id}"),
        ([None, 7, {}, {"request": {"url": 5}}], (), "no request to a path that ends in"),
        ([unchanged], (), "says anything"),
        (entries + other, (), "several services; give --base with one of "),
        (entries, ("--base", "https://b.example"), f"https://b.example is none of {URL} (12 "),
        (entries, ("--write",), "--write: with --har nothing is asked"),
        (entries, ("http://127.0.0.1:1",), "give either the URL of a service or --har FILE"),
    ):
        done = judge(given, *options)
        assert (done.status, done.stdout) == (2, "")
        assert reason in done.stderr
    assert judge(entries + other, "--base", f"{URL}/api/").status == 0
    assert judge("\ufeff" + text).status == 0
