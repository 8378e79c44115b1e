"""verify --har judges recorded exchanges as those of a session."""

import copy
import gzip
import json
import os
import re
import zlib
from base64 import b64encode, encodebytes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.verify import differences as parts
from tests.verify.conftest import TOKEN, Service, learn, told, verify
from tests.verify.differences import on
from verify.inputs import Inputs
from verify.judge import judge
from verify.learn.infer import infer_profile
from verify.options import VerifyOptions
from verify.seen.find_places import find_places
from verify.seen.hints import Hints
from verify.seen.kinds import find_defect
from verify.seen.repeats import leave_out_repeats
from verify.seen.secrets import find_secrets, has_token
from verify.seen.service_log import PROJECTS, Log, ServiceExchange
from verify.seen.strangers import Strangers
from verify.sources.har import read_har

COOKIE = "session=cookie-7f3a9; theme=dark"
URL = "https://service.example"
BODY = '{"name": "my shop", "plan": "pro"}'

JSONEntry = dict[str, Any]


def entry_of(
    service: Service, number: int, target: str, body: str = "", token: str = TOKEN
) -> JSONEntry:
    """A request and its response, as a HAR file has them."""
    method = "POST" if body else "GET"
    headers = {"Authorization": f"Bearer {token}", "Cookie": COOKIE, "Content-Type": parts.JSON}
    response = service.respond(
        ServiceExchange(method, target, tuple(headers.items()), body.encode())
    )
    text = response.content.decode()
    return {
        "startedDateTime": f"2026-02-03T09:00:{number:02}.5Z",
        "request": {
            "method": method, "url": URL + target, "headers": named(headers),
            "postData": {"text": body},
        },
        "response": {
            "status": 0 if response.failure else response.status,
            "headers": named(dict(response.fields) | {":status": "200", "set-cookie": COOKIE}),
            "content": {"size": len(text), "text": text},
        },
    }  # fmt: skip


def named(pairs: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in pairs.items()]


def record(service: Service) -> list[JSONEntry]:
    """A recorded session: the list, a creation, its deployment until it has ended, errors."""
    sent = [
        (PROJECTS,),
        (PROJECTS, BODY),
        *[("/v1/deployments/d-4",), (PROJECTS,)] * 3,
        ("/v1/deployments/none",),
        (PROJECTS, "", "wrong-token-5"),
        (PROJECTS, "{}"),
        ("/elsewhere/v1/other",),
    ]
    return [entry_of(service, number, *each) for number, each in enumerate(sent)]


def har_of(entries: Any) -> bytes:
    return json.dumps({"log": {"entries": entries}}).encode()


def read(folder: Path, entries: Any) -> Log:
    (folder / "har").write_bytes(har_of(entries))
    return read_har(folder / "har")


def changed(entries: list[JSONEntry], part: str, members: JSONEntry) -> list[JSONEntry]:
    """The entries with other members in their requests or responses."""
    return [{**each, part: {**each[part], **members}} for each in entries]


def shown(log: Log) -> list[tuple[Any, ...]]:
    """What is the same, whoever has written the file."""
    return [
        (each.method, each.target, each.status, each.response_json, each.request_json)
        for each in log.exchanges
    ]


def test_a_recording_has_the_exchanges_with_the_service_in_their_order(tmp_path: Path) -> None:
    log = read(tmp_path, record(Service()))
    assert (log.base, log.remarks) == (URL, ())
    pairs = [("/v1/deployments/d-4", 200), (PROJECTS, 200)] * 3
    errors = [("/v1/deployments/none", 404), (PROJECTS, 401), (PROJECTS, 422)]
    expected = [(PROJECTS, 200), (PROJECTS, 201), *pairs, *errors]
    assert [(each.target, each.status) for each in log.exchanges] == expected
    (created,) = log.creations
    assert created.request_json == {"name": "my shop", "plan": "pro"}
    assert created.response_json["name"] == "my shop"
    assert created.token == TOKEN
    assert created.sent_at - log.exchanges[0].sent_at == 1


# How other tools write the same.


def without_times(entry: JSONEntry) -> None:
    del entry["startedDateTime"]


def with_other_times(entry: JSONEntry) -> None:
    entry["startedDateTime"] = entry["startedDateTime"].replace("T", " ").replace("Z", "+0000")


def with_other_types(entry: JSONEntry) -> None:
    entry["response"]["status"] = str(entry["response"]["status"])
    entry["request"]["url"] = entry["request"]["url"].replace(URL, "https://SERVICE.example:443")


def with_types_beside_the_fields(entry: JSONEntry) -> None:
    holders = (entry["request"], "postData"), (entry["response"], "content")
    for message, name in holders:
        fields = {each["name"]: each["value"] for each in message["headers"]}
        message[name]["mimeType"] = fields.pop("Content-Type")
        message["headers"] = named(fields)


def encoded(encoding: str, encode: Callable[[bytes], bytes], compression: str = "") -> Any:
    def change(entry: JSONEntry) -> None:
        content = entry["response"]["content"]
        content |= {"text": encode(content["text"].encode()).decode(), "encoding": encoding}
        entry["response"]["headers"] += named({"Content-Encoding": compression})

    return change


OTHER_WRITERS = [
    without_times,
    with_other_times,
    with_other_types,
    with_types_beside_the_fields,
    encoded("BASE64", encodebytes),
    encoded("base64", lambda data: b64encode(gzip.compress(data)), "gzip"),
    encoded("base64", lambda data: b64encode(zlib.compress(data)), "deflate"),
    encoded("utf-8", bytes, "gzip"),  # it is unpacked already
]


def test_other_tools_write_the_same(tmp_path: Path) -> None:
    entries = record(Service())
    plain = shown(read(tmp_path, entries))
    for change in OTHER_WRITERS:
        changed = copy.deepcopy(entries)
        for entry in changed:
            change(entry)
        log = read(tmp_path, changed)
        assert (log.base, shown(log)) == (URL, plain), changed[0]
        assert {each.media_type for each in log.exchanges} == {
            "application/json", "application/problem+json",
        }  # fmt: skip
    assert shown(read(tmp_path, entries[::-1])) == plain  # some write the end first


def test_what_is_not_of_the_service_is_left_out(tmp_path: Path) -> None:
    entries = record(Service())
    plain = shown(read(tmp_path, entries))
    first = entries[0]
    more = [
        {**first, "request": {**first["request"], "method": "OPTIONS"}},
        {**first, "_fromCache": "disk"},
        *changed([first], "response", {"status": 304}),
    ]
    assert shown(read(tmp_path, more + entries)) == plain
    elsewhere = json.loads(json.dumps(first).replace("https:", "http:"))
    for status in (0, 307):  # as it was sent before the redirect to HTTPS
        (other,) = changed([elsewhere], "response", {"status": status})
        assert shown(read(tmp_path, [other, *entries])) == plain


def test_the_day_is_that_of_the_first_time_or_of_the_file(tmp_path: Path) -> None:
    entries = record(Service())
    secrets = find_secrets(read(tmp_path, entries))
    for time, day in (("2026-02-03 09:00:00", "2026-02-03"), ("soon", "1998-07-09")):
        for entry in entries:
            entry["startedDateTime"] = time
        (tmp_path / "har").write_bytes(har_of(entries))
        os.utime(tmp_path / "har", (900_000_000, 900_000_000))
        log = read_har(tmp_path / "har")
        places = find_places(log)
        inferred = infer_profile(log, places, secrets, Strangers(log, places))
        assert inferred.document["observed_at"] == day


def test_bodies_beside_the_file_are_read(tmp_path: Path) -> None:
    """Playwright's `attach`."""
    entries = record(Service())
    plain = shown(read(tmp_path, entries))
    for number, entry in enumerate(entries):
        for holder in (entry["request"]["postData"], entry["response"]["content"]):
            if text := holder.pop("text"):
                name = f"{number}-{len(text)}.json"
                holder["_file"] = name
                (tmp_path / name).write_text(text, "utf-8")
    assert shown(read(tmp_path, entries)) == plain
    entries[0]["response"]["content"]["_file"] = "../har"
    missing = read(tmp_path, entries).exchanges[0].failure
    assert missing == "the file with the body of the response is missing: ../har"


UNREADABLE_BASE64 = "the body of the response cannot be read: base64"
UNREADABLE: list[tuple[JSONEntry, str]] = [
    ({"content": {"text": "%", "encoding": "base64"}}, UNREADABLE_BASE64),
    ({"content": {}}, "the recording lacks the body of the response"),
    ({"content": {"size": -1}}, "the recording lacks the body of the response"),
    ({"content": {"text": "x" * (4 << 20) + "x"}}, "the body of the response is over 4 MiB"),
    ({"content": {"size": 0}}, ""),
]  # fmt: skip


def test_a_body_that_cannot_be_read_is_no_text(tmp_path: Path) -> None:
    entries = record(Service())[:1]
    for members, failure in UNREADABLE:
        (exchange,) = read(tmp_path, changed(entries, "response", members)).exchanges
        assert exchange.failure == failure


def test_a_text_has_no_coding_whatever_its_field_says(tmp_path: Path) -> None:
    (entry,) = record(Service())[:1]
    entry["response"]["content"]["text"] = "<p>Sign in</p>"
    entry["response"]["headers"] += named({"Content-Encoding": "br"})
    (exchange,) = read(tmp_path, [entry]).exchanges
    assert find_defect(exchange, "list") == "200, but its body is not JSON"


BROKEN: list[tuple[str, JSONEntry]] = [
    ("request", {"url": "http://[::1"}),
    ("request", {"url": "ws://service.example/v1/projects"}),
    ("response", {"status": "later"}),
    ("response", {"status": float("inf")}),
]


def test_an_entry_that_is_none_is_left_out(tmp_path: Path) -> None:
    entries = record(Service())
    count = len(read(tmp_path, entries).exchanges)
    more: list[Any] = [None, {}, {"request": {"url": 5}}]
    for part, members in BROKEN:
        more += changed(entries[:1], part, members)
    assert len(read(tmp_path, more + entries).exchanges) == count


# Long recordings


def a_list(page: str = "", status: int = 200) -> ServiceExchange:
    return ServiceExchange("GET", f"{PROJECTS}{page}", status=status, response_body=b"[]")


def poll(status: str, number: int = 0) -> ServiceExchange:
    body = json.dumps({"status": status, "seconds": number})
    return ServiceExchange("GET", "/v1/deployments/d-1", status=200, response_body=body.encode())


def keep_new(*exchanges: ServiceExchange) -> tuple[list[Any], str]:
    """The statuses and targets that stay, and the remarks."""
    log = leave_out_repeats(Log(URL, exchanges))
    seen = [
        each.response_json["status"] if each.is_deployment else each.target
        for each in log.exchanges
    ]
    return seen, " ".join(log.remarks)


def test_of_equal_exchanges_in_a_row_the_first_and_the_last_count() -> None:
    mixed = [each for _ in range(300) for each in (a_list(), poll("building"))]
    seen = ["queued", PROJECTS, "building", PROJECTS, PROJECTS, "building", "succeeded"]
    assert keep_new(poll("queued"), *mixed, poll("succeeded")) == (seen, "")


def test_a_list_that_stays_the_same_counts_at_each_status() -> None:
    words = ["queued", "building", "deploying", "succeeded"]
    seen, _ = keep_new(*[each for word in words for each in (poll(word), a_list())])
    assert seen.count(PROJECTS) == 4


def test_of_several_pages_one_counts_and_what_is_left_out_is_told() -> None:
    pages = [a_list("?page=1"), a_list("?page=2"), a_list("?page=3", status=401)]
    seen, remark = keep_new(*pages)
    assert seen == [f"{PROJECTS}?page=1", f"{PROJECTS}?page=3"]
    assert "further pages of the list" in remark
    seen, remark = keep_new(pages[0], a_list(), a_list(status=304))
    assert seen == [PROJECTS]
    assert "304" in remark


# Secrets


SECRETS = [
    TOKEN, "wrong-token-5", "cookie-7f3a9", "q7f3a9c2e1", "c0de-4711", "p4ssw0rd",
    "48 29 13", "7713", "ak-998877", "db-5511", "field-6613",
]  # fmt: skip
SENT = '{"name": "a", "code": "c0de-4711", "password": "p4ssw0rd", "otp": "48 29 13", "pin": 7713}'
VARIABLES = [{"key": "DB_PASSWORD", "value": "db-5511"}, {"key": "REGION", "value": "eu-1101"}]
ANSWERED = {"x": f"{TOKEN} and cookie-7f3a9", "apiKey": "ak-998877", "key": "shop-4711"}


def test_tokens_leak_and_other_secrets_are_masked(tmp_path: Path) -> None:
    entries = record(Service())
    entries[1]["request"]["url"] += "?api_key=q7f3a9c2e1&next_token=sample-1-x"
    entries[1]["request"]["postData"]["text"] = SENT
    entries[1]["request"]["headers"] += named({"X-Api-Key": "field-6613"})
    entries[3]["response"]["content"]["text"] = json.dumps({**ANSWERED, "variables": VARIABLES})
    log = read(tmp_path, entries)
    secrets = find_secrets(log)
    assert [index for index, each in enumerate(log.exchanges) if has_token(each, secrets)] == [3]
    for secret in SECRETS:
        assert secrets.mask(f"a {secret} b") == "a *** b"
        assert secrets.has_secret(secret)
    for word in ("dark", "sample-1-x", "2026-02-03", "shop-4711", "eu-1101"):
        assert secrets.mask(word) == word


PLACEHOLDERS = ["REDACTED", "[Filtered]", "***", "<removed by sanitizer>", "XXXX-XXXX", "projects"]


def test_a_placeholder_of_a_token_leaks_nowhere() -> None:
    for text in PLACEHOLDERS:
        sent = (("Authorization", f"Bearer {text}"),)
        exchange = ServiceExchange(
            "GET", PROJECTS, sent, status=200, response_body=json.dumps([text]).encode()
        )
        secrets = find_secrets(Log(URL, (exchange,)))
        assert not has_token(exchange, secrets), text
        assert secrets.mask(text) == text


# Verdicts


def test_the_verdicts_and_the_profile_are_those_of_a_session(tmp_path: Path) -> None:
    changes = (on("created", status=200), on("list", headers={"X-Region": "fra"}))
    known = learn(Service(*changes))
    log = read(tmp_path, record(Service(*changes)))
    options = VerifyOptions(har=tmp_path / "har", save=tmp_path / "profile")
    result = judge(log, options, Inputs(Hints()), token="")
    assert told(result) == parts.differs(parts.POST_201)
    assert result.inferred
    for name in ("statuses", "deployment"):
        assert result.inferred.document[name] == known[name]
    created = result.inferred.document["create"]["request"]
    assert created == {"name": "{project.name}", "plan": "pro"}


@pytest.mark.process
def test_a_recording_needs_no_token_and_one_without_bodies_replaces_nothing(tmp_path: Path) -> None:
    har, profile = tmp_path / "har", tmp_path / "profile"
    profile.write_text("previous")
    entries = record(Service())
    har.write_bytes(har_of(entries))
    done = verify("", "--har", str(har), env={})
    assert (done.status, done.report["level"], done.report["created"]) == (0, "recorded", [])
    har.write_bytes(har_of(changed(entries, "response", {"content": {}})))
    done = verify("", "--har", str(har), "--save", str(profile), "--force", env={})
    assert (done.status, done.report) == (2, None)
    assert (
        "error: nothing could be checked: the recording lacks the body of the response.\n"
        in done.stderr
    )
    assert profile.read_text() == "previous"


@pytest.mark.process
def test_a_recorded_token_is_not_printed(tmp_path: Path) -> None:
    leak = on("list", status=206, headers={"X-Sent": TOKEN})
    (tmp_path / "har").write_bytes(har_of(record(Service(leak))))
    done = verify("", "--har", f"{tmp_path}/har", env={})
    assert "    < X-Sent: ***\n" in done.stdout
    assert TOKEN not in done.stdout


def test_a_file_that_cannot_be_used_is_a_sentence(tmp_path: Path) -> None:
    entries = record(Service())
    elsewhere = json.loads(json.dumps(entries).replace(URL, f"{URL}/api"))
    unanswered = changed(entries, "response", {"status": 0})
    assert read(tmp_path, elsewhere).base == f"{URL}/api"
    data = har_of(entries)
    for given, reason in (
        (data[: len(data) // 2], "not JSON, perhaps cut off"),
        (b"[]", "it has no log with entries"),
        (har_of({}), "it has no log with entries"),
        (har_of([]), "no response to a request whose path ends in /v1/projects or "),
        (har_of(unanswered), "no response to a request whose path ends in /v1/projects or "),
        (har_of(entries + elsewhere), f"several services: {URL} (11 requests), {URL}/api (11 "),
    ):
        (tmp_path / "har").write_bytes(given)
        with pytest.raises(ValueError, match=re.escape(reason)):
            read_har(tmp_path / "har")
