"""The commands that the page shows and copies: curl repeats with them what a client sent."""

import json
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.conftest import needs
from tests.console.conftest import Send, inspector, look, open_tab, press, region, rows, visit
from tests.wire import call

pytestmark = [pytest.mark.process, pytest.mark.xdist_group("console")]


def run_in_shell(commands: str, folder: Path) -> bytes:
    """What the commands print, where $STUB_TOKEN is the token."""
    needs("curl")
    environment = {"STUB_TOKEN": "dev-token", "PATH": "/usr/bin:/bin"}
    return subprocess.run(
        ["sh", "-ec", commands], cwd=folder, env=environment, stdout=subprocess.PIPE, check=True
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
    expect(inspector(page)).to_contain_text("save the whole as the file body")
    press(page, "Copy as curl")
    command = page.evaluate("navigator.clipboard.readText()")
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
