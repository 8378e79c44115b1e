"""The inspector: a request with its response, a deployment with its timeline, and curl commands."""

import json
import re
import subprocess
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.conftest import make_stub, needs
from tests.console.conftest import VIEWPORT, Console
from tests.contract import CREATED
from tests.live import serving
from tests.wire import Connection, port_of

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.xdist_group("console")]


def test_a_request_has_headers_reasons_and_bodies_that_are_indented(console: Console) -> None:
    console.send("/v1/projects", body=bytes(100_000))
    console.send("/v1/projects", body=b'[{},"' + 5000 * b"x")
    body = b'{"name": "", "n": 12345678901234567890.10, "a": [], "b": [{"c,:": 1}]}'
    console.send("/v1/projects?x=1", body=body)
    expect(console.rows).to_have_count(3)
    console.rows.first.click()
    expect(console.title).to_have_text("422 POST /v1/projects?x=1")
    response = console.tab("Response")
    expect(response.get_by_role("definition").first).to_have_text("422 Unprocessable Entity")
    for text in ("Code", "Duration", "application/problem+json", '\n  "code": "invalid_body",\n'):
        expect(response).to_contain_text(text)
    request = console.tab("Request")
    expect(request).to_contain_text("Content-Type")
    expect(request).to_contain_text("△ unpromised: createProject: body member n")
    lines = ["{", '  "name": "",', '  "n": 12345678901234567890.10,', '  "a": [],', '  "b": [',
             "    {", '      "c,:": 1', "    }", "  ]", "}"]  # fmt: skip
    assert request.get_by_role("group", name="Request body").text_content() == "\n".join(lines)
    replay = console.button("Replay")
    replay.focus()
    console.page.keyboard.press("ArrowDown")
    expect(request).to_contain_text("The first 4,096 of 5,005 bytes")
    text = request.get_by_role("group", name="Request body").text_content() or ""
    assert text.startswith('[\n  {},\n  "xx')
    expect(replay).to_have_accessible_description("No replay: the body is cut")
    expect(replay).to_be_disabled()
    expect(replay).to_be_focused()
    console.page.keyboard.press("ArrowDown")
    expect(request).to_contain_text("Nothing can be shown of the 100,000 bytes.")
    console.press("Close")
    expect(console.inspector).to_be_hidden()


def test_the_arrows_go_through_the_list_and_a_link_leads_back(console: Console) -> None:
    console.send("/v1/deployments/a", "/v1/deployments/b", "/v1/deployments/c")
    expect(console.rows).to_have_count(3)
    console.rows.first.click()
    for key, end in {"ArrowDown": "/b", "ArrowUp": "/c"}.items():  # where the pointer opened it
        console.page.keyboard.press(key)
        expect(console.title).to_contain_text(end)
    curl = console.tab("curl")
    console.button("Copy link").focus()
    for end in ("/b", "/a", "/a"):
        console.page.keyboard.press("ArrowDown")
        expect(console.title).to_contain_text(end)
    expect(curl).to_contain_text("/v1/deployments/a")
    row = console.rows.nth(2)
    expect(row).to_have_attribute("aria-current", "true")
    link = console.copied("Copy link")
    console.page.keyboard.press("Escape")
    expect(console.inspector).to_be_hidden()
    expect(row.get_by_role("button")).to_be_focused()
    assert link == f"{console.url}/#world={console.world}&request=1"
    console.page.set_viewport_size({"width": 390, "height": 844})  # where it is the whole page
    console.page.goto(link)
    expect(console.title).to_contain_text("/v1/deployments/a")
    console.page.evaluate("location.hash = 'request=7'")
    expect(console.inspector).to_contain_text("The journal no longer has this request.")
    console.page.set_viewport_size(VIEWPORT)


def test_a_request_is_replayed_with_the_current_token(console: Console) -> None:
    console.send("/v1/projects", body=b'{"name": "shop"}')
    console.rows.first.click()
    console.press("Replay")
    expect(console.button("1 new request")).to_be_visible()  # while the list has the one shown
    console.button("Replayed: 409").press("Enter")
    expect(console.rows).to_have_count(2)
    expect(console.rows.first).to_have_attribute("aria-current", "true")
    expect(console.title).to_have_text("409 POST /v1/projects")
    expect(console.title).to_be_focused()
    first, second = console.send("/_stub/requests").json["requests"]
    assert (first["body"], first["status"]) == (second["body"], CREATED)


def test_a_deployment_with_any_id_opens_its_timeline(console: Console) -> None:
    identifier = "5%/a b"
    quoted = quote(identifier, safe="")
    stages = [{"status": "queued", "seconds": 300}, {"status": "building", "seconds": 300}]
    body = {"project_id": "prj_search", "timeline": [*stages, {"status": "succeeded"}]}
    console.send("/_stub/clock", body=b'{"frozen": true}')
    path = f"/_stub/deployments/{quoted}"
    console.send(path, method="PUT", body=json.dumps(body).encode())
    console.send(f"/v1/deployments/{quoted}?verbose=1", f"/v1/deployments/{quoted}4")
    button = console.button(f"Timeline of {identifier}")
    button.press("Enter")
    expect(console.project_rows.first).to_have_attribute("aria-current", "true")
    listed = console.inspector.get_by_role("listitem")
    expect(listed).to_have_text(["○ queued now, 300 s left", "◐ building in 300 s",
                                 "✓ succeeded in 600 s"])  # fmt: skip
    expect(console.inspector).to_contain_text("Your client asked for it 1 time.")
    console.press("Advance to building")
    expect(listed).to_have_text(["○ queued took 300 s", "◐ building now, 300 s left",
                                 "✓ succeeded in 300 s"])  # fmt: skip
    console.send(f"/v1/deployments/{quoted}")
    got = console.inspector.get_by_role("definition").filter(has_text="200 ")
    expect(got).to_have_text(["200 building", "200 queued"])
    console.press("Advance to succeeded")
    expect(console.page.get_by_role("button", name="Advance to")).to_have_count(0)
    assert console.copied("Copy id") == identifier
    link = console.copied("Copy link")
    console.press("Close")
    expect(button).to_be_focused()
    assert link.endswith(f"&deployment={quoted}")
    console.page.goto(link)
    expect(console.title).to_have_text(identifier)


def run_in_shell(commands: str, folder: Path, shell: str = "sh", **environment: str) -> None:
    """Run the commands in a fresh terminal."""
    needs("curl", shell)
    environment = {"PATH": "/usr/bin:/bin", **environment}
    subprocess.run([shell, "-ec", commands], cwd=folder, env=environment, check=True)


CURLED = [
    ("GET", "/v1/projects?page=1&x%5B%5D=%20", b""),
    ("GET", "/v1/deployments/a%20b%27%22$(id)%C3%A9", b""),
    ("GET", "/v1/deployments/a%2Fb%25", b""),
    ("GET", "/v1/a/../b", b""),
    ("POST", "/v1/projects", b'{"name": "it\'s $HOME \\"x\\" `id`\\n"}'),
    ("HEAD", "/v1/projects", b""),
    ("POST", "/v1/projects", b"\x15\x1b[2Jrm ~\r\n\x7f'\\'\xe2\x80\xae$(touch p)`touch p`\xc2\x85"),
    ("POST", "/v1/projects", b"\\'(touch p) #\\\\';touch p;'\\"),
    ("POST", "/v1/projects", b"-n %s!!\t%d\\0101\n\n"),
]


def test_the_copied_curl_repeats_the_request_and_no_more(console: Console, tmp_path: Path) -> None:
    for method, target, body in CURLED:
        console.send(target, method=method, body=body)
    commands = []
    for number in range(1, 1 + len(CURLED)):
        row = console.requests.locator(f"[data-number='{number}']")
        row.click()
        expect(row).to_have_attribute("aria-current", "true")
        commands.append(f"{console.copied()} -s -o /dev/null")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", "".join(commands))
    for shell in ("sh", "bash"):
        run_in_shell("\n".join(commands), tmp_path, shell)
    assert [*tmp_path.iterdir()] == []
    entries = console.send("/_stub/requests").json["requests"]
    names = ("method", "path", "query", "body", "operation")
    sent, *others = (
        [[entry[name] for name in names] for entry in entries[start : start + len(CURLED)]]
        for start in range(0, len(entries), len(CURLED))
    )
    assert others == [sent, sent]


DIFFERENCES = [
    (b"GET /v1/projects", b"X-Api-Key: a\r\nCookie: b\r\nX-Name: \xc3\xa9\r\n", b"",
     "without the headers X-Api-Key, Cookie, X-Name"),
    (b"GET /v1/projects", b"X-Api-Key: a\r\n", b"", "without the header X-Api-Key"),
    (b"POST /v1/projects", b"", b"{\0}", "the body has secrets, or bytes that are no text"),
    (b"GET /v1/projects?x=`id`'<>", b"", b"", "the query is percent-encoded"),
    (b"GET /v1/projects?access_token=a", b"", b"", "the query has secrets"),
    (b"POST /v1/projects", b"", 5000 * b"x", "save the whole as the file body"),
    (b"GET /v1/projects", b"User-Agent: a\r\n", b"", ""),
]  # fmt: skip


def test_a_copied_command_says_what_it_changes_and_goes_to_this_server(console: Console) -> None:
    with Connection(port_of(console.url)) as client:
        for line, fields, body, _ in DIFFERENCES:
            more = f"Authorization: Bearer {console.token}\r\nContent-Length: {len(body)}\r\n\r\n"
            client.send(line + b" HTTP/1.1\r\nHost: localhost\r\n" + fields + more.encode() + body)
            client.reply()
    console.look()
    for number, (_, _, body, difference) in enumerate(DIFFERENCES, 1):
        row = console.requests.locator(f"[data-number='{number}']")
        row.click()
        expect(row).to_have_attribute("aria-current", "true")
        shown = console.tab("curl")
        said = shown.get_by_text("Differs from the original: ")
        expect(said).to_have_count(int(bool(difference)))
        expect(shown).to_contain_text(difference)
        expect(shown).to_contain_text("-H 'Content-Type:'" if body else "curl")  # had none
        *_, target = (shown.get_by_role("group", name="As curl").text_content() or "").split()
        assert target.strip("'").startswith(f"{console.url}/")


def test_empty_states_have_a_command_with_the_tokens_variable(page: Page, tmp_path: Path) -> None:
    with serving(make_stub(tokens=["another-secret"])) as port:
        console = Console(page, f"http://127.0.0.1:{port}")
        console.page.goto(f"{console.url}/#token=another-secret&world=job")
        for name in ("Projects", "Requests", "Controls", "Coverage"):
            part = console.tab(name) if name[0] == "C" else console.region(name)
            expect(part.get_by_role("group", name="Command")).to_contain_text(console.url)
        console.projects.get_by_role("button", name="Copy command").click()
        command = console.page.evaluate("navigator.clipboard.readText()")
        assert '"Authorization: Bearer $STUB_TOKEN.job"' in command
        assert "another-secret" not in console.page.content()
        run_in_shell(f"{command} -sfo /dev/null", tmp_path, STUB_TOKEN="another-secret")
        console.look()
        expect(console.project_rows.first).to_contain_text("shop")
        expect(console.projects.get_by_role("group", name="Command")).to_be_hidden()
