"""verify --har judges recorded exchanges as those of a session."""

import base64
import copy
import gzip
import json
import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from tests.verify import differences as parts
from tests.verify.conftest import TOKEN, Request, Service, Verified, save, verify
from tests.verify.differences import on, without
from verify.exchange import Log
from verify.har import read_har
from verify.spellings import secrets_of

COOKIE = "session=cookie-7f3a9; theme=dark"
URL = "https://service.example"
PROJECTS = "/v1/projects"

pytestmark = pytest.mark.process

Entry = dict[str, Any]


def entry_of(
    service: Service, number: int, target: str, body: str = "", token: str = TOKEN
) -> Entry:
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


def record(service: Service) -> list[Entry]:
    """A recorded session: the list, a creation, its deployment until it has ended, errors."""
    sent = [
        (PROJECTS,),
        (PROJECTS, '{"name": "my shop", "plan": "pro"}'),
        *[("/v1/deployments/d-4",), (PROJECTS,)] * 3,
        ("/v1/deployments/none",),
        (PROJECTS, "", "wrong-token-5"),
        (PROJECTS, "{}"),
        ("/elsewhere/v1/other",),
    ]
    return [entry_of(service, number, *each) for number, each in enumerate(sent)]


def har_of(entries: Any) -> bytes:
    return json.dumps({"log": {"entries": entries}}).encode()


def written(file: Path, entries: Any) -> Path:
    file.write_bytes(har_of(entries))
    return file


def read(folder: Path, entries: Any) -> Log:
    return read_har(written(folder / "har", entries))


def shown(log: Log) -> list[tuple[Any, ...]]:
    """What is the same, whoever has written the file."""
    return [
        (each.method, each.target, each.status, each.json, each.sent_json) for each in log.exchanges
    ]


def test_a_recording_has_the_exchanges_with_the_service_in_their_order(tmp_path: Path) -> None:
    log = read(tmp_path, record(Service()))
    assert (log.base, log.remarks) == (URL, ())
    assert [(each.method, each.target, each.status) for each in log.exchanges] == [
        ("GET", "/v1/projects", 200),
        ("POST", "/v1/projects", 201),
        ("GET", "/v1/deployments/d-4", 200),
        ("GET", "/v1/projects", 200),  # the second of three equal ones is left out
        ("GET", "/v1/deployments/d-4", 200),
        ("GET", "/v1/deployments/d-4", 200),
        ("GET", "/v1/projects", 200),
        ("GET", "/v1/deployments/none", 404),
        ("GET", "/v1/projects", 401),
        ("POST", "/v1/projects", 422),
    ]
    (created,) = log.creations
    assert created.sent_json == {"name": "my shop", "plan": "pro"}
    assert created.json["name"] == "my shop"
    assert created.token == TOKEN
    assert created.sent_at - log.exchanges[0].sent_at == 1


# How other tools write the same.


def without_times(entry: Entry) -> None:
    del entry["startedDateTime"]


def with_headers_as_objects(entry: Entry) -> None:
    for message in (entry["request"], entry["response"]):
        message["headers"] = {each["name"]: each["value"] for each in message["headers"]}


def with_status_as_text(entry: Entry) -> None:
    entry["response"]["status"] = str(entry["response"]["status"])


def with_port_of_the_scheme(entry: Entry) -> None:
    entry["request"]["url"] = entry["request"]["url"].replace(URL, "https://SERVICE.example:443")


def encoded(encoding: str, encode: Callable[[bytes], str], **headers: str) -> Any:
    def change(entry: Entry) -> None:
        content = entry["response"]["content"]
        content |= {"text": encode(content["text"].encode()), "encoding": encoding}
        entry["response"]["headers"] += named(headers)

    return change


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


def chunks_of(data: bytes) -> str:
    """As Polly writes a compressed body."""
    zipped = gzip.compress(data)
    return json.dumps([zipped[:9].hex(), zipped[9:].hex()])


OTHER_WRITERS = [
    without_times,
    with_headers_as_objects,
    with_status_as_text,
    with_port_of_the_scheme,
    encoded("base64", base64_of),
    encoded("BASE64", base64_of),
    encoded("base64", lambda data: base64.encodebytes(data).decode()),
    encoded("hex", bytes.hex),
    encoded("hex", chunks_of, **{"Content-Encoding": "gzip"}),
    encoded("", chunks_of, **{"Content-Encoding": "gzip"}),
    encoded("gzip", lambda data: base64_of(gzip.compress(data))),
    encoded("utf-8", bytes.decode),
]


@pytest.mark.parametrize("change", OTHER_WRITERS)
def test_other_tools_write_the_same(change: Callable[[Entry], None], tmp_path: Path) -> None:
    entries = record(Service())
    plain = shown(read(tmp_path, entries))
    for entry in entries:
        change(entry)
    log = read(tmp_path, entries)
    assert (log.base, shown(log)) == (URL, plain)


def test_bodies_beside_the_file_are_read(tmp_path: Path) -> None:
    """Playwright's `attach`, beside the HAR file, and with it in a zip file."""
    entries = record(Service())
    plain = shown(read(tmp_path, entries))
    files: dict[str, str] = {}
    for number, entry in enumerate(entries):
        for holder in (entry["request"]["postData"], entry["response"]["content"]):
            if text := holder.pop("text"):
                holder["_file"] = f"{number}-{len(files)}.json"
                files[holder["_file"]] = text
    folder = tmp_path / "attached"
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    har = written(folder / "har.har", entries)
    with ZipFile(tmp_path / "all.zip", "w") as archive:
        for path in folder.iterdir():
            archive.write(path, path.name)
    assert shown(read_har(har)) == shown(read_har(tmp_path / "all.zip")) == plain
    zipped = tmp_path / "har.gz"
    zipped.write_bytes(gzip.compress(written(tmp_path / "x", record(Service())).read_bytes()))
    assert shown(read_har(zipped)) == plain
    (folder / "large").write_bytes(b"x" * (4 << 20) + b"x")
    for name, failure in (
        ("../har", "the file of its body is missing: ../har"),
        ("large", "its body is over 4 MiB"),
    ):
        entries[0]["response"]["content"]["_file"] = name
        assert read_har(written(folder / "har.har", entries)).exchanges[0].failure == failure


def test_some_tools_write_the_end_first(tmp_path: Path) -> None:
    entries = record(Service())
    assert shown(read(tmp_path, entries[::-1])) == shown(read(tmp_path, entries))


UNREADABLE = [
    ({"content": {"text": "%", "encoding": "base64"}}, "its body cannot be read: base64"),
    ({"content": {"text": "{}", "encoding": "rot13"}}, "its body cannot be read: rot13"),
    ({"content": {"text": "aGn/", "encoding": "base64"}, "headers": {"Content-Encoding": "br"}},
     "its body cannot be read: base64 br"),
    ({"content": {}}, "it was recorded without its body"),
    ({"content": {"size": -1}}, "it was recorded without its body"),
    ({"content": {"text": "x" * (4 << 20) + "x"}}, "its body is over 4 MiB"),
    ({"status": 0}, "it was not answered"),
    ({"content": {"size": 0}}, ""),
    ({"status": 503}, ""),
]  # fmt: skip


@pytest.mark.parametrize(("members", "failure"), UNREADABLE)
def test_a_body_that_cannot_be_read_is_no_text(
    members: dict[str, Any], failure: str, tmp_path: Path
) -> None:
    entries = record(Service())
    entries[2]["response"] |= members
    assert read(tmp_path, entries).exchanges[2].failure == failure


def test_an_entry_that_is_none_is_left_out(tmp_path: Path) -> None:
    entries = record(Service())
    count = len(read(tmp_path, entries).exchanges)
    broken: list[Any] = [None, 7, {}, {"request": {"url": 5}}]
    for part, members in (
        ("request", {"url": "http://[::1"}),
        ("request", {"url": "ws://service.example/v1/projects"}),
        ("response", {"status": "later"}),
        ("response", {"status": float("inf")}),
    ):
        broken.append(copy.deepcopy(entries[0]))
        broken[-1][part] |= members
    assert len(read(tmp_path, broken + entries).exchanges) == count


# Long recordings


def polls(number: int, status: str, **more: Any) -> Entry:
    entry = entry_of(Service(), number % 60, "/v1/deployments/d-1")
    entry["response"]["content"]["text"] = json.dumps({"id": "d-1", "status": status, **more})
    del entry["startedDateTime"]
    return entry


def statuses_of(log: Log) -> list[str]:
    return [each.json["status"] for each in log.exchanges if each.is_deployment]


def test_of_equal_exchanges_in_a_row_the_first_and_the_last_count(tmp_path: Path) -> None:
    lists = [entry_of(Service(), 0, PROJECTS) for _ in range(300)]
    for each in lists:
        del each["startedDateTime"]
    building = [polls(number, "building") for number in range(300)]
    mixed = [each for pair in zip(lists, building, strict=True) for each in pair]
    log = read(tmp_path, [polls(0, "queued"), *mixed, polls(0, "succeeded")])
    assert statuses_of(log) == ["queued", "building", "building", "succeeded"]
    assert len([each for each in log.exchanges if each.is_list]) == 2
    assert log.remarks == ()


def test_a_time_in_each_response_hides_no_status(tmp_path: Path) -> None:
    entries = []
    for status in ("queued", "building", "deploying", "succeeded"):
        entries += [polls(number, status, seconds=number) for number in range(150)]
    log = read(tmp_path, entries)
    assert list(dict.fromkeys(statuses_of(log))) == [
        "queued", "building", "deploying", "succeeded",
    ]  # fmt: skip


def test_of_very_long_recordings_both_ends_count_and_that_is_told(tmp_path: Path) -> None:
    entry = polls(0, "succeeded")
    entries = [copy.deepcopy(entry) for _ in range(2100)]
    for number, each in enumerate(entries):
        each["request"]["url"] += str(number)
    log = read(tmp_path, entries)
    ids = [each.deployment_id for each in log.exchanges]
    assert (len(ids), ids[0], ids[-1]) == (2000, "d-10", "d-12099")
    assert "the first and the last exchanges" in log.remarks[0]


def test_of_several_pages_one_counts(tmp_path: Path) -> None:
    entries = record(Service())
    for number, entry in enumerate(entries):
        request = entry["request"]
        is_list = request["url"] == URL + PROJECTS and request["method"] == "GET"
        if is_list and entry["response"]["status"] == 200:  # one without the token has no query
            entry["request"]["url"] += f"?page={number}"
    log = read(tmp_path, entries)
    lists = [each.target for each in log.exchanges if each.is_list and each.is_success]
    assert lists == ["/v1/projects?page=0"]
    assert 401 in [each.status for each in log.exchanges]
    assert "other pages, were left out" in log.remarks[0]
    plain = [*entries, entry_of(Service(), 59, PROJECTS)]
    log = read(tmp_path, plain)
    assert [each.target for each in log.exchanges if each.is_list and each.is_success] == [PROJECTS]


def test_responses_without_a_body_since_nothing_changed_are_told(tmp_path: Path) -> None:
    entries = record(Service())
    entries[3]["response"] |= {"status": 304}
    log = read(tmp_path, entries)
    assert 304 not in [each.status for each in log.exchanges]
    assert "304" in log.remarks[0]


# Secrets


def test_tokens_leak_and_other_secrets_are_masked(tmp_path: Path) -> None:
    entries = record(Service())
    entries[1]["request"]["url"] += "?api_key=q7f3a9c2e1&next_token=sample-1-x"
    entries[1]["request"]["postData"]["text"] = (
        '{"name": "a", "code": "c0de-4711", "password": "p4ssw0rd", "otp": "48 29 13", "pin": 7713}'
    )
    text: Any = {"x": f"{TOKEN} and cookie-7f3a9", "apiKey": "ak-998877", "key": "shop-4711"}
    text["vars"] = [
        {"key": "DB_PASSWORD", "value": "db-5511"},
        {"key": "REGION", "value": "eu-1101"},
    ]
    entries[3]["response"]["content"]["text"] = json.dumps(text)
    log = read(tmp_path, entries)
    secrets = secrets_of(log)
    leaks = [index for index, each in enumerate(log.exchanges) if secrets.leak_in(each)]
    assert leaks == [3]
    for secret in (TOKEN, "wrong-token-5", "cookie-7f3a9", "cookie-8b1c2", "q7f3a9c2e1",
                   "c0de-4711", "p4ssw0rd", "48 29 13", "7713", "ak-998877",
                   "db-5511"):  # fmt: skip
        assert secrets.mask(f"a {secret} b") == "a *** b"
        assert secrets.are_in(secret)
    for word in ("dark", "sample-1-x", "2026-02-03", "shop-4711", "eu-1101"):
        assert secrets.mask(word) == word


PLACEHOLDERS = [
    "REDACTED",
    "[Filtered]",
    "***",
    "<removed by sanitizer>",
    "xxxxxxxxxxxxxxxxxxxx",
    "XXXX-XXXX-XXXX-XXXX-XXXX",
    "projects",
]


@pytest.mark.parametrize("placeholder", PLACEHOLDERS)
def test_a_placeholder_of_a_token_leaks_nowhere(placeholder: str, tmp_path: Path) -> None:
    entries = record(Service())
    for entry in entries:
        entry["request"]["headers"] = named({"Authorization": f"Bearer {placeholder}"})
    entries[0]["response"]["content"]["text"] = json.dumps({"projects": [placeholder]})
    log = read(tmp_path, entries)
    secrets = secrets_of(log)
    assert not [each for each in log.exchanges if secrets.leak_in(each)]
    assert secrets.mask(placeholder) == placeholder


# A run


def judge(entries: Any, *options: str, **more: Any) -> Verified:
    """A run with a HAR file of these entries."""
    return verify(None, *options, har=har_of(entries).decode(), env={}, **more)


def test_the_verdicts_and_the_profile_are_those_of_a_session() -> None:
    changes = (on("created", status=200), on("list", headers={"X-Region": "fra"}))
    known = save(Service(*changes)).profile
    done = judge(record(Service(*changes)), saves=True)
    assert (done.status, done.found) == (0, parts.differs(parts.POST_201))
    assert (done.report["level"], done.report["created"]) == ("recorded", [])
    for name in ("statuses", "deployment"):
        assert done.profile[name] == known[name]
    assert done.profile["create"]["request"] == {"name": "{project.name}", "plan": "pro"}
    changed = record(Service(*changes, on("created", body=without("name"))))
    drift = judge(changed, like=json.dumps(done.profile)).stdout
    assert "finding: drift: /create/body/name: " in drift
    assert TOKEN not in done.stdout + drift


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


# Files that cannot be used


def test_a_file_that_cannot_be_used_is_a_sentence(tmp_path: Path) -> None:
    entries = record(Service())
    other = json.loads(json.dumps(entries).replace(URL, f"{URL}/api"))
    unchanged = copy.deepcopy(entries)
    for entry in unchanged:
        entry["response"]["status"] = 304
    data = har_of(entries)
    archive = BytesIO()
    with ZipFile(archive, "w") as empty:
        empty.writestr("trace.network", "{}")
    for given, reason in (
        (data[: len(data) // 2], "no JSON, perhaps cut off"),
        (gzip.compress(data)[:-20], "it cannot be unpacked, perhaps cut off"),
        (gzip.compress(b" " * (64 << 20) + data), "over 64 MiB"),
        (b"PK\3\4", "it cannot be unpacked, perhaps cut off"),
        (archive.getvalue(), "it has 0 files that end in .har, not one"),
        (b"[]", "there is no log with entries"),
        (har_of({}), "there is no log with entries"),
        (har_of([]), "no request to a path that ends in /v1/projects or /v1/deployments/{id}"),
        (har_of(unchanged), f"all responses of {URL} are 304"),
        (
            har_of(entries + other),
            f"several services: {URL} (11 requests), {URL}/api (11 requests)",
        ),
    ):
        file = tmp_path / "har"
        file.write_bytes(given)
        with pytest.raises(ValueError, match=re.escape(reason)):
            read_har(file)
    assert read(tmp_path, other).base == f"{URL}/api"
    (tmp_path / "har").write_bytes(b"\xef\xbb\xbf" + data)
    assert read_har(tmp_path / "har").base == URL
