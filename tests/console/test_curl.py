"""The commands that the page shows and copies: curl repeats with them what a client sent."""

import json
import re
import socket
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from app import create_app
from tests.conftest import needs
from tests.console.conftest import (
    Send,
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
from tests.wire import call, port_of

pytestmark = [pytest.mark.process, pytest.mark.xdist_group("console")]


def run_in_shell(commands: str, folder: Path, shell: str = "sh", **environment: str) -> bytes:
    """What the commands print in a fresh terminal."""
    needs("curl", shell)
    environment = {"PATH": "/usr/bin:/bin", **environment}
    return subprocess.run(
        [shell, "-ec", commands], cwd=folder, env=environment, stdout=subprocess.PIPE, check=True
    ).stdout


CURLED = [
    ("GET", "/v1/projects?page=1&x[]=%20", b""),
    ("GET", "/v1/deployments/a%20b'%22$(id)%C3%A9", b""),
    ("GET", "/v1/deployments/50%25off", b""),
    ("GET", "/v1/deployments/a%2Fb%25", b""),
    ("GET", "/v1/a/../b", b""),
    ("POST", "/v1/projects", b'{"name": "it\'s $HOME \\"x\\" `id`\\n"}'),
    ("HEAD", "/v1/projects", b""),
    ("DELETE", "/v1/projects", b""),
]


@pytest.mark.parametrize(("world", "requests"), [("", CURLED), ("job-42", CURLED[:1])])
def test_the_copied_curl_repeats_the_request(
    context: BrowserContext,
    own_url: str,
    world: str,
    requests: list[tuple[str, str, bytes]],
    tmp_path: Path,
) -> None:
    page = context.new_page()
    visit(page, own_url)
    if world:
        page.get_by_role("textbox", name="World", exact=True).fill(world)
        press(page, "Connect")
    token = f"dev-token.{world}" if world else "dev-token"
    for method, target, body in requests:
        raw = target.replace("'", "%27").replace("[]", "%5B%5D")
        call(own_url, raw, method=method, body=body, token=token)
    look(page)
    expect(rows(page, "Requests")).to_have_count(len(requests))
    commands = []
    for row in reversed(rows(page, "Requests").all()):
        row.click()
        press(page, "Copy as curl")
        expect(inspector(page)).to_contain_text("Copied")
        commands.append(page.evaluate("navigator.clipboard.readText()"))
        page.keyboard.press("Escape")
    run_in_shell("\n".join(f"{each} -s -o /dev/null" for each in commands), tmp_path)
    entries = json.loads(call(own_url, "/_stub/requests", token=token).data)["requests"]
    assert len(entries) == 2 * len(requests)
    for first, second in zip(entries, entries[len(requests) :], strict=False):
        for name in ("method", "path", "query", "body", "operation"):
            assert first[name] == second[name]
        assert second["status"] in (first["status"], 409)


def test_the_copied_curl_of_a_long_body_takes_it_from_a_file(
    page: Page, send: Send, tmp_path: Path
) -> None:
    body = json.dumps({"name": "long", "text": 5000 * "x"}).encode()
    send("/v1/projects", method="POST", body=body)
    rows(page, "Requests").first.click()
    expect(open_part(page, "curl")).to_contain_text("save the whole as the file body")
    command = copied(page)
    (tmp_path / "body").write_bytes(body)
    assert json.loads(run_in_shell(f"{command} -s", tmp_path))["code"] == "name_taken"


def test_empty_states_say_what_to_do(page: Page, send: Send, live_url: str, tmp_path: Path) -> None:
    send("/_stub/reset", body=b'{"projects": []}')
    targets = {
        "Projects": "/v1/projects",
        "Requests": "/v1/projects",
        "Controls": "/_stub/faults",
        "Coverage": "/v1/projects",
    }
    for name, target in targets.items():
        part = open_tab(page, name) if name[0] == "C" else region(page, name)
        state = part.get_by_role("group", name="Command")
        expect(state).to_contain_text("curl -H")
        expect(state).to_contain_text(f"{live_url}{target}")
    region(page, "Projects").get_by_role("button", name="Copy command").click()
    expect(region(page, "Projects").get_by_text("Copied")).to_be_visible()
    command = page.evaluate("navigator.clipboard.readText()")
    run_in_shell(f"{command} -s -o /dev/null", tmp_path)
    look(page)
    expect(rows(page, "Projects").first).to_contain_text("shop")
    expect(region(page, "Projects").get_by_role("group", name="Command")).to_be_hidden()


def copied(page: Page, name: str = "Copy as curl", part: Locator | None = None) -> str:
    (part or page).get_by_role("button", name=name, exact=True).click()
    command: str = page.evaluate("navigator.clipboard.readText()")
    return command


ODD_BODIES = [
    b"\x15\x1b[2Jrm -rf ~\r\n\x7f'\\'\xe2\x80\xae$(touch p)`touch p`\xc2\x85",
    b"\x01'$(touch p) #",
    b"\n';touch p #",
    b"\\'(touch p) #\\\\';touch p;'\\",
    b"-n %s!!\t%d\\0101\n\n",
    b"=ls",
]


def test_a_copied_body_runs_nothing_and_is_no_key_press_in_any_shell(
    page: Page, send: Send, tmp_path: Path
) -> None:
    for body in ODD_BODIES:
        send("/v1/projects", method="POST", body=body)
    look(page)
    commands = []
    for row in reversed(rows(page, "Requests").all()):
        row.click()
        commands.append(copied(page))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", "".join(commands))
    for shell in ("sh", "bash"):
        run_in_shell("\n".join(f"{each} -s -o /dev/null" for each in commands), tmp_path, shell)
        assert [*tmp_path.iterdir()] == []
    sent = [each["body"] for each in json.loads(send("/_stub/requests").data)["requests"]]
    assert sent == 3 * [body.decode() for body in ODD_BODIES]


def test_invisible_characters_are_shown(page: Page, send: Send) -> None:
    send("/v1/projects", method="POST", body=ODD_BODIES[0])
    rows(page, "Requests").first.click()
    expect(open_part(page, "Request")).to_contain_text("␕␛[2J")
    expect(inspector(page)).to_contain_text("⟨U+202E⟩")


@pytest.mark.parametrize("target", ["CONNECT .other.example:80", "OPTIONS *"])
def test_a_target_that_is_no_path_is_sent_to_this_server_only(
    page: Page, send: Send, own_token: str, tmp_path: Path, target: str
) -> None:
    origin = page.url.partition("/?")[0]
    with socket.create_connection(("127.0.0.1", port_of(origin))) as client:
        head = f"{target} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {own_token}\r\n"
        client.sendall(head.encode() + b"Connection: close\r\n\r\n")
        client.recv(65536)
    look(page)
    rows(page, "Requests").first.click()
    expect(inspector(page).get_by_role("button", name="Replay")).to_be_disabled()
    command = copied(page)
    assert command.endswith(f"{origin}/")
    run_in_shell(f"{command} -s -o /dev/null", tmp_path)
    first, second = json.loads(send("/_stub/requests").data)["requests"]
    assert (first["method"], first["path"]) == (second["method"], second["path"])


def test_a_header_is_repeated_byte_for_byte(
    page: Page, send: Send, own_token: str, tmp_path: Path
) -> None:
    port = port_of(page.url.partition("/?")[0])
    with socket.create_connection(("127.0.0.1", port)) as client:
        head = (
            f"GET /v1/projects HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {own_token}\r\n"
        )
        client.sendall(
            head.encode() + b"X-Odd: \xe2\x80\xae'\\\t$(id)\xe9\r\nConnection: close\r\n\r\n"
        )
        client.recv(65536)
    look(page)
    rows(page, "Requests").first.click()
    command = copied(page)
    assert command.isascii()
    run_in_shell(f"{command} -s -o /dev/null", tmp_path)
    first, second = json.loads(send("/_stub/requests").data)["requests"]
    assert first["headers"]["X-Odd"] == second["headers"]["X-Odd"]


FRAGMENTS = ["x$(touch$IFS'p')", "a;b", "a%0Ab", "%22", "%24(id)", "a b", "x" * 65, "é"]


@pytest.mark.parametrize(
    "world", [FRAGMENTS[0], *(pytest.param(each, marks=pytest.mark.slow) for each in FRAGMENTS[1:])]
)
def test_no_command_has_a_world_that_is_no_name(
    context: BrowserContext, live_url: str, world: str
) -> None:
    page = context.new_page()
    page.goto(f"{live_url}/#world={world}")
    expect(page.get_by_role("alert")).to_contain_text("The world is invalid.")
    expect(page.get_by_text("curl")).to_have_count(0)
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("The world is invalid.")


DIFFERENCES = [
    (b"GET /v1/projects HTTP/1.1\r\nAuthorization: Basic abc\r\n\r\n", "the credential is yours"),
    (b"GET /v1/projects HTTP/1.1\r\nAuthorization: Bearer no\r\n\r\n", "the credential is yours"),
    (b"GET /v1/projects HTTP/1.1\r\nX-Api-Key: a\r\nCookie: b\r\n\r\n",
     "without the headers X-Api-Key, Cookie"),
    (b"GET /v1/projects HTTP/1.1\r\nUser-Agent: shop/1\r\n\r\n", "without the header User-Agent"),
    (b"POST /v1/projects HTTP/1.1\r\nContent-Length: 3\r\n\r\n\xff\xfe\x00",
     "bytes that are no text"),
    (b'POST /v1/projects HTTP/1.1\r\nContent-Length: 3\r\n\r\n\xf0\x9f\x98',
     "bytes that are no text"),
    (b"GET /v1/deployments/%ff HTTP/1.1\r\n\r\n", "the path has secrets, or bytes that"),
    (b"HEAD /v1/projects HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", "without the body"),
    (b"GET /v1/deployments/" + 2100 * b"a" + b" HTTP/1.1\r\n\r\n", "the path is cut"),
    (b"GET /v1/projects?x=`id`'<> HTTP/1.1\r\n\r\n", "the query is percent-encoded"),
    (b"GET /v1/projects?access_token=a HTTP/1.1\r\n\r\n", "the query has secrets"),
    (b"GET /v1/projects HTTP/1.1\r\nX-Long: " + 9000 * b"a" + b"\r\n\r\n", "the headers are cut"),
]  # fmt: skip


@pytest.mark.slow
def test_a_copied_command_says_what_it_changes(
    context: BrowserContext, own_url: str, tmp_path: Path
) -> None:
    page = context.new_page()
    visit(page, own_url)
    for count, (request, difference) in enumerate(DIFFERENCES):
        head, _, rest = request.partition(b"\r\n")
        extra = b"Host: 127.0.0.1\r\nConnection: close\r\n"
        if b"Authorization" not in request:
            extra += b"Authorization: Bearer dev-token\r\n"
        with socket.create_connection(("127.0.0.1", port_of(own_url))) as client:
            client.sendall(head + b"\r\n" + extra + rest)
            client.recv(65536)
        look(page)
        expect(rows(page, "Requests")).to_have_count(2 * count + 1)
        rows(page, "Requests").first.click()
        said = open_part(page, "curl").get_by_text("Differs from the original: ")
        expect(said).to_contain_text(difference)
        run_in_shell(f"{copied(page)} -s -o /dev/null", tmp_path)
        page.keyboard.press("Escape")
        page.mouse.move(1, 1)  # who points at the list holds it
    call(own_url, "/v1/projects")
    look(page)
    expect(rows(page, "Requests")).to_have_count(2 * len(DIFFERENCES) + 1)
    rows(page, "Requests").first.click()
    expect(inspector(page).get_by_role("group", name="As curl")).to_be_visible()
    expect(inspector(page)).not_to_contain_text("Differs from")


@pytest.mark.slow
def test_a_command_has_the_variable_alone_where_the_token_is_another(
    context: BrowserContext, tmp_path: Path
) -> None:
    with serving(create_app(tokens=["another-secret"])) as port:
        page = context.new_page()
        visit(page, f"http://127.0.0.1:{port}/#token=another-secret&world=job")
        command = copied(page, "Copy command", region(page, "Projects"))
        assert '"Authorization: Bearer $STUB_TOKEN.job"' in command
        assert "another-secret" not in page.content()
        run_in_shell(f"{command} -sf", tmp_path, STUB_TOKEN="another-secret")
