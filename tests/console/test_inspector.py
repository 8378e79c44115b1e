"""The inspector: a request with its response, a deployment with its timeline, and curl commands."""

import json
import re
import socket
import subprocess
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from app import create_app
from tests.conftest import needs
from tests.console.conftest import (
    Send,
    copied,
    inspector,
    look,
    open_part,
    open_tab,
    press,
    region,
    rows,
    visit,
)
from tests.live import serving
from tests.wire import port_of

pytestmark = [pytest.mark.process, pytest.mark.xdist_group("console")]


def open_first(page: Page) -> None:
    rows(page, "Requests").first.click()
    expect(page.get_by_role("button", name="Copy as curl")).to_be_enabled()


CUT = [  # of different lengths, so that one is not seen as another
    (b'{"a":1,"a":1.0,"b":"', '{\n  "a": 1,\n  "a": 1.0,\n  "b": "xx'),
    (b' [ { } ,"', '[\n  {},\n  "xx'),
    (b"[]]}{[", "[]\n]\n}{\n[\nxx"),
    (b"no [12,", "no [12,xx"),
]


def test_a_request_has_headers_reasons_and_bodies_indented_as_far_as_they_go(
    page: Page, send: Send
) -> None:
    send("/v1/projects", body=bytes(100_000))
    for start, _ in CUT:
        send("/v1/projects", body=start + 5000 * b"x")
    body = b'{"name": "", "n": 12345678901234567890.10, "a": [], "b": [{"c,:": 1}]}'
    send("/v1/projects?x=1", body=body)
    expect(rows(page, "Requests")).to_have_count(2 + len(CUT))
    open_first(page)
    shown = inspector(page)
    expect(shown.get_by_role("heading", level=2)).to_have_text("422 POST /v1/projects?x=1")
    expect(shown.get_by_role("definition").first).to_have_text("422 Unprocessable Entity")
    for text in ("Code", "Duration", "application/problem+json"):
        expect(shown).to_contain_text(text)
    response = shown.get_by_role("group", name="Response body")
    expect(response).to_contain_text('\n  "code": "invalid_body",\n')
    request = open_part(page, "Request")
    expect(request).to_contain_text("Content-Type")
    expect(request).to_contain_text("△ unpromised: createProject: body member n")
    lines = ["{", '  "name": "",', '  "n": 12345678901234567890.10,', '  "a": [],', '  "b": [',
             "    {", '      "c,:": 1', "    }", "  ]", "}"]  # fmt: skip
    assert request.get_by_role("group", name="Request body").text_content() == "\n".join(lines)
    replay = page.get_by_role("button", name="Replay", exact=True)
    replay.focus()
    for start, indented in reversed(CUT):
        page.keyboard.press("ArrowDown")
        expect(request).to_contain_text(f"The first 4,096 of {len(start) + 5000:,} bytes")
        text = request.get_by_role("group", name="Request body").text_content() or ""
        assert text.startswith(indented)
    expect(replay).to_have_accessible_description("No replay: the body is cut")
    expect(replay).to_be_disabled()
    expect(replay).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(request).to_contain_text("Nothing can be shown of the 100,000 bytes.")
    press(page, "Close")
    expect(shown).to_be_hidden()


def test_the_arrows_go_through_the_list_and_a_link_leads_back(
    page: Page, send: Send, context: BrowserContext
) -> None:
    send("/v1/deployments/a", "/v1/deployments/b", "/v1/deployments/c")
    expect(rows(page, "Requests")).to_have_count(3)
    open_first(page)
    title = inspector(page).get_by_role("heading", level=2)
    for key, end in {"ArrowDown": "/b", "ArrowUp": "/c"}.items():  # where the pointer opened it
        page.keyboard.press(key)
        expect(title).to_contain_text(end)
    open_part(page, "curl")
    page.get_by_role("button", name="Copy link").focus()
    for end in ("/b", "/a", "/a"):
        page.keyboard.press("ArrowDown")
        expect(title).to_contain_text(end)
    expect(page.get_by_role("tabpanel", name="curl")).to_contain_text("/v1/deployments/a")
    row = rows(page, "Requests").nth(2)
    expect(row).to_have_attribute("aria-current", "true")
    link = copied(page, "Copy link")
    page.keyboard.press("Escape")
    expect(inspector(page)).to_be_hidden()
    expect(row.get_by_role("button")).to_be_focused()
    assert link == f"{page.url.partition('?')[0]}#world={page.url.rpartition('?')[2]}&request=1"
    other = context.new_page()
    other.set_viewport_size({"width": 390, "height": 844})  # where it is the whole page
    other.goto(link)
    title = inspector(other).get_by_role("heading", level=2)
    expect(title).to_contain_text("/v1/deployments/a")
    expect(title).to_be_focused()


def test_a_request_is_replayed_with_the_current_token(page: Page, send: Send) -> None:
    send("/v1/projects", body=b'{"name": "shop"}')
    expect(rows(page, "Requests")).to_have_count(1)
    open_first(page)
    press(page, "Replay")
    page.get_by_role("button", name="Replayed: 409", exact=True).press("Enter")
    expect(rows(page, "Requests")).to_have_count(2)
    expect(rows(page, "Requests").first).to_have_attribute("aria-current", "true")
    title = inspector(page).get_by_role("heading", level=2)
    expect(title).to_have_text("409 POST /v1/projects")
    expect(title).to_be_focused()
    first, second = send("/_stub/requests").json["requests"]
    assert (first["body"], first["status"]) == (second["body"], 201)


def test_a_deployment_opens_its_timeline(page: Page, send: Send) -> None:
    send("/_stub/clock", body=b'{"frozen": true}')
    made = send("/v1/projects", body=b'{"name": "shop"}').json
    identifier = made["latest_deployment_id"]
    send(f"/v1/deployments/{identifier}?verbose=1", f"/v1/deployments/{identifier}4")
    press(page, f"Timeline of {identifier}")
    expect(rows(page, "Projects").first).to_have_attribute("aria-current", "true")
    stages = inspector(page).get_by_role("listitem")
    expect(stages).to_have_text(["○ queued now, 300 s left", "◐ building in 300 s",
                                 "✓ succeeded in 600 s"])  # fmt: skip
    expect(inspector(page)).to_contain_text("asked for it 1 time.")
    press(page, "Advance to building")
    expect(stages).to_have_text(["○ queued took 300 s", "◐ building now, 300 s left",
                                 "✓ succeeded in 300 s"])  # fmt: skip
    send(f"/v1/deployments/{identifier}")
    expect(inspector(page).locator("svg line")).to_have_count(2)
    got = inspector(page).get_by_role("definition").filter(has_text="200 ")
    expect(got).to_have_text(["200 building", "200 queued"])
    press(page, "Advance to succeeded")
    expect(stages.last).to_have_text("✓ succeeded now")
    expect(page.get_by_role("button", name="Advance to")).to_have_count(0)
    send("/_stub/reset", method="POST")
    expect(inspector(page)).to_contain_text("asked for it 0 times.")


def test_a_deployment_with_any_id_has_a_link_and_gives_the_focus_back(
    page: Page, send: Send
) -> None:
    identifier = "5%/a b"
    quoted = quote(identifier, safe="")
    body = b'{"status": "building", "project_id": "prj_search"}'
    send(f"/_stub/deployments/{quoted}", method="PUT", body=body)
    send(f"/v1/deployments/{quoted}")
    button = page.get_by_role("button", name=f"Timeline of {identifier}")
    button.press("Enter")
    expect(inspector(page)).to_contain_text("Your client asked for it 1 time.")
    assert copied(page, "Copy id") == identifier
    link = copied(page, "Copy link")
    press(page, "Close")
    expect(button).to_be_focused()
    assert link.endswith(f"&deployment={quoted}")
    page.goto("about:blank")
    visit(page, link)
    expect(inspector(page).get_by_role("heading", level=2)).to_have_text(identifier)


def run_in_shell(commands: str, folder: Path, shell: str = "sh", **environment: str) -> bytes:
    """What the commands print in a fresh terminal."""
    needs("curl", shell)
    environment = {"PATH": "/usr/bin:/bin", **environment}
    return subprocess.run(
        [shell, "-ec", commands], cwd=folder, env=environment, stdout=subprocess.PIPE, check=True
    ).stdout


def commands_of(page: Page) -> list[str]:
    """The command of each row, oldest first, that writes nothing."""
    found = []
    for row in reversed(rows(page, "Requests").all()):
        row.click()
        expect(row).to_have_attribute("aria-current", "true")
        expect(page.get_by_role("button", name="Copy as curl")).to_be_enabled()
        found.append(f"{copied(page)} -s -o /dev/null")
        page.keyboard.press("Escape")
    return found


CURLED = [
    ("GET", "/v1/projects?page=1&x[]=%20", b""),
    ("GET", "/v1/deployments/a%20b'%22$(id)%C3%A9", b""),
    ("GET", "/v1/deployments/a%2Fb%25", b""),
    ("GET", "/v1/a/../b", b""),
    ("POST", "/v1/projects", b'{"name": "it\'s $HOME \\"x\\" `id`\\n"}'),
    ("HEAD", "/v1/projects", b""),
    ("POST", "/v1/projects", b"\x15\x1b[2Jrm ~\r\n\x7f'\\'\xe2\x80\xae$(touch p)`touch p`\xc2\x85"),
    ("POST", "/v1/projects", b"\n';touch p #"),
    ("POST", "/v1/projects", b"\\'(touch p) #\\\\';touch p;'\\"),
    ("POST", "/v1/projects", b"-n %s!!\t%d\\0101\n\n"),
]


def test_the_copied_curl_repeats_the_request_and_runs_nothing_else(
    page: Page, send: Send, tmp_path: Path
) -> None:
    for method, target, body in CURLED:
        raw = target.replace("'", "%27").replace("[]", "%5B%5D")
        send(raw, method=method, body=body)
    expect(rows(page, "Requests")).to_have_count(len(CURLED))
    commands = commands_of(page)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", "".join(commands))
    for shell in ("sh", "bash"):
        run_in_shell("\n".join(commands), tmp_path, shell)
        assert [*tmp_path.iterdir()] == []
    entries = json.loads(send("/_stub/requests").data)["requests"]
    count = len(CURLED)
    assert len(entries) == 3 * count
    for first, *others in zip(entries, entries[count:], entries[2 * count :], strict=False):
        for name in ("method", "path", "query", "body", "operation"):
            assert {other[name] for other in others} == {first[name]}


DIFFERENCES = [
    (b"GET /v1/projects HTTP/1.1\r\nX-Api-Key: a\r\nCookie: b\r\nX-Name: \xc3\xa9\r\n\r\n",
     "without the headers X-Api-Key, Cookie, X-Name"),
    (b"POST /v1/projects HTTP/1.1\r\nContent-Length: 3\r\n\r\n{\0}",
     "the body has secrets, or bytes that are no text"),
    (b"GET /v1/deployments/%ff HTTP/1.1\r\n\r\n", "the path has secrets, or bytes that"),
    (b"GET /v1/projects?x=`id`'<> HTTP/1.1\r\n\r\n", "the query is percent-encoded"),
    (b"GET /v1/projects?access_token=a HTTP/1.1\r\n\r\n", "the query has secrets"),
    (b"POST /v1/projects HTTP/1.1\r\nContent-Length: 5000\r\n\r\n" + 5000 * b"x",
     "save the whole as the file body"),
    (b"GET /v1/projects HTTP/1.1\r\n\r\n", ""),
]  # fmt: skip


def test_a_copied_command_says_what_it_changes_and_goes_to_this_server_only(
    page: Page, own_token: str
) -> None:
    origin = page.url.partition("/?")[0]
    for request, _ in DIFFERENCES:
        head, _, rest = request.partition(b"\r\n")
        extra = f"Host: localhost\r\nConnection: close\r\nAuthorization: Bearer {own_token}\r\n"
        with socket.create_connection(("127.0.0.1", port_of(origin))) as client:
            client.sendall(head + b"\r\n" + extra.encode() + rest)
            client.recv(65536)
    look(page)
    expect(rows(page, "Requests")).to_have_count(len(DIFFERENCES))
    shown_rows = reversed(rows(page, "Requests").all())
    for row, (_, difference) in zip(shown_rows, DIFFERENCES, strict=True):
        row.click()
        shown = open_part(page, "curl")
        expect(row).to_have_attribute("aria-current", "true")
        expect(shown.get_by_text("Differs from the original: ")).to_have_count(
            int(bool(difference))
        )
        expect(shown).to_contain_text(difference)
        *_, target = copied(page).split()
        assert target.strip("'").startswith(f"{origin}/")


def test_empty_states_have_a_command_with_the_variable_of_the_token(
    context: BrowserContext, tmp_path: Path
) -> None:
    with serving(create_app(tokens=["another-secret"])) as port:
        page = context.new_page()
        url = f"http://127.0.0.1:{port}"
        visit(page, f"{url}/#token=another-secret&world=job")
        for name in ("Projects", "Requests", "Controls", "Coverage"):
            part = open_tab(page, name) if name[0] == "C" else region(page, name)
            expect(part.get_by_role("group", name="Command")).to_contain_text(url)
        command = copied(page, "Copy command", region(page, "Projects"))
        assert '"Authorization: Bearer $STUB_TOKEN.job"' in command
        assert "another-secret" not in page.content()
        run_in_shell(f"{command} -sf", tmp_path, STUB_TOKEN="another-secret")
        look(page)
        expect(rows(page, "Projects").first).to_contain_text("shop")
        expect(region(page, "Projects").get_by_role("group", name="Command")).to_be_hidden()
