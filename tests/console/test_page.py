"""What is on the page, found by role and name, and what each control does."""

import json
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import Send, press, region, rows


def test_the_head_has_service_address_world_and_status(page: Page, url: str) -> None:
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text("Project and Deployment Service")
    expect(page.get_by_text(url, exact=True)).to_be_visible()
    expect(page.get_by_role("textbox", name="World", exact=True)).to_have_value("")
    expect(page.get_by_role("status")).to_have_count(1)
    for name in ("Projects", "Requests", "Coverage", "Controls"):
        expect(region(page, name)).to_be_visible()


def test_projects_are_shown_newest_first(page: Page) -> None:
    page.get_by_role("textbox", name="Name", exact=True).fill("shop")
    press(page, "Create project")
    first = rows(page, "Projects").first
    expect(first).to_contain_text("shop")
    expect(first).to_contain_text("prj_")
    expect(first).to_contain_text("dpl_")
    expect(first).to_contain_text("queued")
    expect(page.get_by_role("textbox", name="Name", exact=True)).to_have_value("")
    expect(rows(page, "Projects")).to_have_count(4)
    expect(rows(page, "Requests").first).to_contain_text("POST")


def test_a_status_moves_before_ones_eyes(page: Page, send: Send) -> None:
    send("/v1/projects", body=b'{"name": "shop"}')
    pill = rows(page, "Projects").first.get_by_role("cell").last
    expect(pill).to_contain_text("queued")
    send("/_stub/clock", body=b'{"advance": 300}')
    expect(pill).to_contain_text("building")
    send("/_stub/clock", body=b'{"advance": 300}')
    expect(pill).to_contain_text("succeeded")


def test_an_error_of_the_service_is_shown_in_its_words(page: Page, send: Send) -> None:
    field = page.get_by_role("textbox", name="Name", exact=True)
    field.fill("website")
    press(page, "Create project")
    detail = send("/v1/projects", body=b'{"name": "website"}').json["detail"]
    expect(region(page, "Projects").get_by_role("alert")).to_contain_text(detail)
    expect(field).to_have_value("website")
    field.fill(" ")
    press(page, "Create project")
    problem = send("/v1/projects", body=b'{"name": " "}').json["errors"][0]
    alert = region(page, "Projects").get_by_role("alert")
    expect(alert).to_contain_text(f"{problem['pointer']} {problem['detail']}")
    field.fill("shop")
    press(page, "Create project")
    expect(alert).to_have_count(0)


def test_requests_are_marked_without_colors(page: Page, send: Send) -> None:
    send("/v1/projects?page=1")
    expect(rows(page, "Requests").first).to_contain_text("/v1/projects?page=1")
    expect(rows(page, "Requests").first).to_contain_text("unpromised")
    send("/v1/nowhere")
    expect(rows(page, "Requests").first).to_contain_text("violation")


def test_the_dialog_of_a_request_has_headers_body_and_reasons(page: Page, send: Send) -> None:
    send("/v1/projects", body=b'{"name": "shop", "team": "<b>a</b>"}')
    rows(page, "Requests").first.click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Content-Type")
    expect(dialog).to_contain_text("application/json")
    expect(dialog).to_contain_text('{"name": "shop", "team": "<b>a</b>"}')
    expect(dialog).to_contain_text("createProject: body member team")
    press(page, "Close")
    expect(dialog).to_be_hidden()


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


@pytest.mark.parametrize("world", ["", "job-42"])
@pytest.mark.parametrize(("method", "target", "body"), CURLED)
def test_the_copied_curl_repeats_the_request(
    page: Page, send: Send, world: str, method: str, target: str, body: bytes
) -> None:
    if world:
        page.get_by_role("textbox", name="World", exact=True).fill(world)
        press(page, "Connect")
        token = f"dev-token.{world}"
    else:
        token = "dev-token"
    raw = target.replace("'", "%27").replace("[]", "%5B%5D")
    send(raw, method=method, body=body, token=token)
    expect(rows(page, "Requests")).to_have_count(1)
    rows(page, "Requests").first.click()
    press(page, "Copy as curl")
    expect(page.get_by_role("dialog")).to_contain_text("Copied")
    command = page.evaluate("navigator.clipboard.readText()")
    assert "dev-token" not in command
    environment = {"STUB_TOKEN": "dev-token", "PATH": "/usr/bin:/bin"}
    subprocess.run(["sh", "-c", f"{command} -s -o /dev/null"], env=environment, check=True)
    first, second = json.loads(send("/_stub/requests", token=token).data)["requests"]
    for name in ("method", "path", "body", "operation"):
        assert first[name] == second[name]
    assert second["query"] == first["query"]
    assert second["status"] in (first["status"], 409)


def test_the_copied_curl_of_a_long_body_takes_it_from_a_file(
    page: Page, send: Send, tmp_path: Path
) -> None:
    body = json.dumps({"name": "long", "text": 5000 * "x"}).encode()
    send("/v1/projects", method="POST", body=body)
    rows(page, "Requests").first.click()
    expect(page.get_by_role("dialog")).to_contain_text("save the whole as the file body")
    press(page, "Copy as curl")
    command = page.evaluate("navigator.clipboard.readText()")
    (tmp_path / "body").write_bytes(body)
    environment = {"STUB_TOKEN": "dev-token", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        ["sh", "-c", f"{command} -s"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        check=True,
    )
    assert json.loads(done.stdout)["code"] == "name_taken"


def test_the_filter_leaves_what_matches(page: Page, send: Send) -> None:
    send("/v1/projects")
    send("/v1/deployments/nope")
    send("/v1/projects?page=1")
    expect(rows(page, "Requests")).to_have_count(3)
    field = page.get_by_role("textbox", name="Filter", exact=True)
    for words, count in {"404": 1, "get projects": 2, "unpromised": 1, "delete": 0, "": 3}.items():
        field.fill(words)
        expect(rows(page, "Requests")).to_have_count(count)
    field.fill("x=1")
    expect(region(page, "Requests")).to_contain_text("No request matches the filter")
    send("/v1/deployments/nope?x=1")
    expect(rows(page, "Requests")).to_have_count(1)


def test_pause_keeps_the_rows_and_counts_the_new_ones(page: Page, send: Send) -> None:
    send("/v1/projects")
    expect(rows(page, "Requests")).to_have_count(1)
    press(page, "Pause")
    send("/v1/deployments/a")
    send("/v1/deployments/b")
    expect(page.get_by_role("button", name="2 new requests")).to_be_visible()
    expect(rows(page, "Requests")).to_have_count(1)
    press(page, "Pause")
    expect(rows(page, "Requests")).to_have_count(3)
    expect(page.get_by_role("button", name="new requests")).to_be_hidden()


def test_the_coverage_shows_what_is_met_with_its_count(page: Page, send: Send) -> None:
    row = region(page, "Coverage").get_by_role("row", name="404")
    expect(row).to_contain_text("not met")
    for _ in range(3):
        send("/v1/deployments/nope")
    expect(row).to_contain_text("✓ 3")
    expect(region(page, "Coverage")).to_contain_text("1 of 28 outcomes met")
    send("/v1/projects?page=1")
    expect(region(page, "Coverage")).to_contain_text("listProjects: query parameter page")


def test_the_clock_is_advanced(page: Page, send: Send) -> None:
    press(page, "Advance 10 seconds")
    expect(region(page, "Controls")).to_contain_text("10 s ahead")
    press(page, "Advance 1 minute")
    expect(region(page, "Controls")).to_contain_text("70 s ahead")


def test_a_fault_is_added_and_cleared(page: Page, send: Send) -> None:
    controls = region(page, "Controls")
    controls.get_by_label("Operation").select_option("getDeployment")
    controls.get_by_label("Status").fill("503")
    controls.get_by_label("Delay").fill("0.01")
    controls.get_by_label("Times").fill("2")
    press(page, "Add fault")
    expect(controls.get_by_role("listitem")).to_have_text(
        "getDeployment status 503, delay 0.01 s 2 left"
    )
    assert send("/v1/deployments/dpl_failed").status_code == 503
    expect(controls.get_by_role("listitem")).to_contain_text("1 left")
    expect(rows(page, "Requests").first).to_contain_text("fault")
    press(page, "Clear faults")
    expect(controls.get_by_role("listitem")).to_have_count(0)
    assert send("/v1/deployments/dpl_failed").status_code == 200
    press(page, "Add fault")
    expect(controls.get_by_role("alert").last).to_contain_text("must have a status, a delay")


def test_grease_is_switched(page: Page, send: Send) -> None:
    switch = page.get_by_role("switch", name="Grease", exact=True)
    switch.check()
    expect(switch).to_be_checked()
    press(page, "Advance 10 seconds")
    expect(region(page, "Controls")).to_contain_text("10 s ahead")
    assert "members" in send("/_stub/grease").json["axes"]
    switch.uncheck()
    press(page, "Advance 10 seconds")
    expect(region(page, "Controls")).to_contain_text("20 s ahead")
    assert send("/_stub/grease").json["axes"] == []
    expect(switch).not_to_be_checked()


def test_reset_asks_first(page: Page, send: Send) -> None:
    send("/v1/projects", body=b'{"name": "shop"}')
    expect(rows(page, "Projects")).to_have_count(4)
    press(page, "Reset")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_be_hidden()
    expect(rows(page, "Projects")).to_have_count(4)
    press(page, "Reset")
    dialog.get_by_role("button", name="Reset").click()
    expect(rows(page, "Projects")).to_have_count(3)
    expect(rows(page, "Requests")).to_have_count(0)


def test_empty_states_say_what_to_do(page: Page, send: Send, url: str) -> None:
    send("/_stub/reset", body=b'{"projects": []}')
    targets = {
        "Projects": "/v1/projects",
        "Requests": "/v1/projects",
        "Controls": "/_stub/faults",
        "Coverage": "/v1/projects",
    }
    for name, target in targets.items():
        state = region(page, name).get_by_role("group", name="Command")
        expect(state).to_contain_text("curl -H")
        expect(state).to_contain_text(f"{url}{target}")
    region(page, "Projects").get_by_role("button", name="Copy command").click()
    expect(region(page, "Projects").get_by_text("Copied")).to_be_visible()
    command = page.evaluate("navigator.clipboard.readText()")
    environment = {"STUB_TOKEN": "dev-token", "PATH": "/usr/bin:/bin"}
    subprocess.run(["sh", "-c", f"{command} -s -o /dev/null"], env=environment, check=True)
    expect(rows(page, "Projects").first).to_contain_text("shop")
    expect(region(page, "Projects").get_by_role("group", name="Command")).to_be_hidden()
