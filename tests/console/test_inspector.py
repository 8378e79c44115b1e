"""The inspector: a request with its response, a deployment with its timeline, and curl commands."""

import re
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.conftest import needs
from tests.console.conftest import Console, expect
from tests.wire import Connection, port_of

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.xdist_group("console")]

INDENTED = """\
{
  "name": "",
  "a": [],
  "b": [
    {
      "c,:": 12345678901234567890.10
    }
  ]
}"""
BODY = re.sub(r"\n *", "", INDENTED).encode()


def test_the_arrows_go_through_the_requests_with_their_bodies(console: Console) -> None:
    for body in (bytes(100_000), b'[{},"' + 5000 * b"x", BODY):
        console.send("/v1/projects?x=1", body=body)
    expect(console.rows).to_have_count(3)
    console.rows.first.click()
    expect(console.title).to_have_text("422 POST /v1/projects?x=1")
    response = console.tab("Response")
    for text in ("422 Unprocessable Entity", "Duration", '\n  "code": "invalid_body",\n'):
        expect(response).to_contain_text(text)
    request = console.tab("Request")
    expect(request).to_contain_text("△ unpromised: createProject: body member a")
    assert request.get_by_role("group", name="Request body").text_content() == INDENTED
    replay = console.button("Replay")
    replay.focus()
    console.page.keyboard.press("ArrowDown")
    expect(request).to_contain_text("The first 4,096 of 5,005 bytes")
    expect(replay).to_have_accessible_description("No replay: the body is cut")
    expect(replay).to_be_disabled()
    expect(replay).to_be_focused()
    console.page.keyboard.press("ArrowDown")
    expect(request).to_contain_text("The 100,000 bytes cannot be shown.")
    console.page.keyboard.press("ArrowUp")
    curl = console.tab("curl")
    expect(curl).to_contain_text("Differs from the original: the body is cut")
    assert console.copied("Copy as curl") == curl.get_by_role("group").text_content()
    console.page.keyboard.press("Escape")
    expect(console.rows.nth(1).get_by_role("button")).to_be_focused()
    console.page.evaluate("location.hash = 'request=7'")
    expect(console.inspector).to_contain_text("The journal no longer has this request.")


def test_a_request_is_replayed_with_the_current_token(console: Console) -> None:
    console.send("/v1/projects", body=b'{"name": "shop"}')
    console.rows.first.click()
    console.press("Replay")
    expect(console.button("1 new request")).to_be_visible()  # while the list has the one shown
    console.button("Replayed: 409").press("Enter")
    expect(console.rows.first).to_have_attribute("aria-current", "true")
    expect(console.title).to_have_text("409 POST /v1/projects")
    expect(console.title).to_be_focused()


IDENTIFIER = "5%/a b"
DEPLOYMENT = b"""{
    "project_id": "prj_search",
    "timeline": [{"status": "queued", "seconds": 300}, {"status": "succeeded"}]
}"""
SHOWN = {  # by the button that leads there
    f"Timeline of {IDENTIFIER}": ["○ queued now, 300 s left", "✓ succeeded in 300 s"],
    "Advance to succeeded": ["○ queued took 300 s", "✓ succeeded now"],
}


def test_a_deployment_with_any_id_opens_its_timeline(console: Console) -> None:
    path = f"/deployments/{quote(IDENTIFIER, safe='')}"
    console.send("/_stub/clock", body=b'{"frozen": true}')
    console.send(f"/_stub{path}", method="PUT", body=DEPLOYMENT)
    console.send(f"/v1{path}4")  # another one
    for button, shown in SHOWN.items():
        console.button(button).press("Enter")
        expect(console.inspector.get_by_role("listitem")).to_have_text(shown)
        expect(console.inspector.locator("[aria-current]")).to_have_count(1)
        console.send(f"/v1{path}")
    expect(console.project_rows.first).to_have_attribute("aria-current", "true")
    expect(console.inspector).to_contain_text("Your client read it 2 times.")
    got = console.inspector.get_by_role("definition").filter(has_text="200 ")
    expect(got).to_have_text(["200 succeeded", "200 queued"])
    link = console.copied("Copy link")
    console.press("Close")
    console.page.goto(link)
    expect(console.title).to_have_text(IDENTIFIER)


TYPE = "Content-Type: application/json\r\n"
TERMINAL = b"\x15\x1b[2Jrm ~\r\n\x7f'\\'\xe2\x80\xae$(touch p)`touch p`\xc2\x85"
# Request line, header fields, body, and how the command differs from the request.
CURLED = [
    ("GET /v1/projects?page=1&x%5B%5D=%20", "", b"", ""),
    ("GET /v1/deployments/a%20b%27%22$(id)%C3%A9", "", b"", ""),
    ("GET /v1/deployments/a%2Fb%25", "", b"", ""),
    ("GET /v1/a/../b", "", b"", ""),
    ("GET /v1/projects", "User-Agent: a\r\n", b"", ""),
    ("HEAD /v1/projects", "", b"", ""),
    ("POST /v1/projects", TYPE, b'{"name": "it\'s $HOME \\"x\\" `id`\\n"}', ""),
    ("POST /v1/projects", TYPE, TERMINAL, ""),
    ("POST /v1/projects", TYPE, b"\\'(touch p) #\\\\';touch p;'\\", ""),
    ("POST /v1/projects", "", b"-n %s!!\t%d\\0101\n\n", ""),
    ("GET /v1/projects?x=`id`'<>", "", b"", "the query is percent-encoded"),
    ("GET /v1/projects?access_token=a", "", b"", "the query has masked secrets"),
    ("GET /v1/projects", "X-Api-Key: a\r\n", b"", "without the header X-Api-Key"),
    ("GET /v1/projects", "Cookie: b\r\nX-A: \xe9\r\n", b"", "without the headers Cookie, X-A"),
    ("POST /v1/projects", "", b"{\0}", "the body has masked secrets, or bytes that are not text"),
    ("POST /v1/projects", "", 5000 * b"x", "save the whole body in the file body"),
]
CURL_OF_EACH = """() =>
    Promise.all([import("/_stub/console/state.js"), import("/_stub/console/command.js")])
        .then(([{state}, {buildCurl}]) => state.loaded.rows.map(buildCurl))"""


def sent(entry: dict[str, Any]) -> list[Any]:
    """What the command of an entry of the journal repeats."""
    of_entry = [entry[name] for name in ("method", "path", "query", "body", "operation")]
    return [*of_entry, entry["headers"].get("Content-Type")]


def test_a_copied_command_repeats_the_request_or_says_what_it_changes(
    console: Console, tmp_path: Path
) -> None:
    needs("curl", "bash")
    common = f"Host: localhost\r\nAuthorization: Bearer {console.token}\r\n"
    with Connection(port_of(console.url)) as client:
        for line, fields, body, _ in CURLED:
            head = f"{line} HTTP/1.1\r\n{common}{fields}Content-Length: {len(body)}\r\n\r\n"
            client.send(head.encode("latin-1") + body)
            client.reply(head=line.startswith("HEAD"))
    expect(console.rows).to_have_count(len(CURLED))
    found = console.page.evaluate(CURL_OF_EACH)
    commands = []
    for (*_, difference), curl in zip(CURLED, found, strict=True):
        assert curl["command"].splitlines()[-1].strip(" '").startswith(f"{console.url}/")
        assert difference in curl["differs"]
        if not difference:
            assert curl["differs"] == ""
            commands.append(f"{curl['command']} -s -o /dev/null")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", "".join(commands))
    for shell in ("sh", "bash"):
        script = [shell, "-ec", "\n".join(commands)]
        subprocess.run(script, cwd=tmp_path, env={"PATH": "/usr/bin:/bin"}, check=True)
    assert [*tmp_path.iterdir()] == []
    requests = [sent(entry) for entry in console.send("/_stub/requests").json["requests"]]
    originals = requests[: len(commands)]
    assert requests[len(CURLED) :] == [*originals, *originals]
