"""The inspector: a request with its response, and a deployment with its timeline."""

import json

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.conftest import TOKEN
from tests.console.conftest import Send, inspector, press, rows, visit
from tests.wire import call

pytestmark = [pytest.mark.process, pytest.mark.xdist_group("console")]


def copied(page: Page, name: str) -> str:
    press(page, name)
    text: str = page.evaluate("navigator.clipboard.readText()")
    return text


def open_first(page: Page) -> None:
    rows(page, "Requests").first.click()
    expect(page.get_by_role("button", name="Copy as curl")).to_be_enabled()


def test_a_response_has_status_headers_and_indented_body(page: Page, send: Send) -> None:
    send(
        "/v1/projects",
        body=b'{"name": "", "n": 12345678901234567890.10, "a": [], "b": [{"c,:": 1}]}',
    )
    expect(rows(page, "Requests")).to_have_count(1)
    open_first(page)
    shown = inspector(page)
    expect(shown.get_by_role("heading", level=2)).to_have_text("422 POST /v1/projects")
    response = shown.get_by_role("group", name="Response body")
    expect(response).to_contain_text('\n  "code": "invalid_body",\n')
    expect(shown).to_contain_text("application/problem+json")
    lines = ["{", '  "name": "",', '  "n": 12345678901234567890.10,', '  "a": [],', '  "b": [',
             "    {", '      "c,:": 1', "    }", "  ]", "}"]  # fmt: skip
    assert shown.get_by_role("group", name="Request body").text_content() == "\n".join(lines)


@pytest.mark.slow
def test_a_long_body_says_that_it_is_cut(page: Page, send: Send) -> None:
    for number in range(40):
        send("/v1/projects", body=json.dumps({"name": f"p{number}", "text": 150 * "x"}).encode())
    reply = send("/v1/projects")
    expect(rows(page, "Requests")).to_have_count(41)
    open_first(page)
    expect(inspector(page)).to_contain_text(f"The body had {len(reply.data):,} bytes")


def test_the_arrows_go_through_the_list_beside_it(page: Page, send: Send) -> None:
    send("/v1/deployments/a", "/v1/deployments/b", "/v1/deployments/c")
    expect(rows(page, "Requests")).to_have_count(3)
    open_first(page)
    title = inspector(page).get_by_role("heading", level=2)
    expect(title).to_contain_text("/c")
    assert rows(page, "Requests").first.is_visible()
    page.keyboard.press("ArrowDown")  # where the pointer has opened it
    expect(title).to_contain_text("/b")
    page.keyboard.press("ArrowUp")
    page.get_by_role("button", name="Copy link").focus()
    for key, end in (
        ("ArrowDown", "/b"),
        ("ArrowDown", "/a"),
        ("ArrowDown", "/a"),
        ("ArrowUp", "/b"),
    ):
        page.keyboard.press(key)
        expect(title).to_contain_text(end)
    row = rows(page, "Requests").nth(1)
    expect(row).to_have_attribute("aria-current", "true")
    page.keyboard.press("Escape")
    expect(inspector(page)).to_be_hidden()
    expect(row.get_by_role("button")).to_be_focused()


@pytest.mark.parametrize(("width", "is_page"), [(390, True), (1280, False), (1920, False)])
def test_it_is_a_page_where_there_is_no_room_beside_the_list(
    page: Page, send: Send, width: int, is_page: bool
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    send("/v1/deployments/" + 1000 * "a")
    expect(rows(page, "Requests")).to_have_count(1)
    open_first(page)
    box = inspector(page).bounding_box()
    assert box
    assert (box["width"] == width) == is_page
    assert rows(page, "Requests").first.is_visible() != is_page
    inspector(page).evaluate("(each) => each.scrollTo(0, each.scrollHeight)")
    for name in ("Copy as curl", "Replay", "Close"):
        expect(page.get_by_role("button", name=name, exact=True)).to_be_in_viewport()


def test_a_request_is_replayed_with_the_current_token(page: Page, send: Send) -> None:
    send("/v1/projects", body=b'{"name": "shop"}')
    expect(rows(page, "Requests")).to_have_count(1)
    open_first(page)
    press(page, "Replay")
    expect(inspector(page)).to_contain_text("Replayed: 409")
    page.keyboard.press("Escape")
    page.mouse.move(1, 1)
    expect(rows(page, "Requests")).to_have_count(2)
    first, second = send("/_stub/requests").json["requests"]
    assert (first["body"], first["status"]) == (second["body"], 201)


def test_a_link_shows_the_request_and_has_no_token(context: BrowserContext, live_url: str) -> None:
    for path in ("/v1/deployments/a", "/v1/deployments/b"):
        call(live_url, path, token=f"{TOKEN}.linked")
    page = context.new_page()
    visit(page, f"{live_url}/#token={TOKEN}&world=linked")
    rows(page, "Requests").last.click()
    link = copied(page, "Copy link")
    assert link == f"{live_url}/#world=linked&request=1"
    other = context.new_page()
    visit(other, link)
    expect(inspector(other).get_by_role("heading", level=2)).to_contain_text("/v1/deployments/a")


def test_a_deployment_opens_its_timeline(page: Page, send: Send) -> None:
    send("/_stub/clock", body=b'{"frozen": true}')
    made = send("/v1/projects", body=b'{"name": "shop"}').json
    identifier = made["latest_deployment_id"]
    send(f"/v1/deployments/{identifier}?verbose=1", "/v1/deployments/other")
    press(page, f"Timeline of {identifier}")
    stages = inspector(page).get_by_role("listitem")
    expect(stages).to_have_text(["○ queued now, 300 s left", "◐ building in 300 s",
                                 "✓ succeeded in 600 s"])  # fmt: skip
    expect(inspector(page)).to_contain_text("asked for it 1 time.")
    send("/_stub/clock", body=b'{"advance": 310}')
    expect(stages).to_have_text(["○ queued over", "◐ building now, 290 s left",
                                 "✓ succeeded in 290 s"])  # fmt: skip
    send(f"/v1/deployments/{identifier}")
    expect(inspector(page).locator("svg line:not(.now)")).to_have_count(2)
    assert copied(page, "Copy id") == identifier
    expect(rows(page, "Projects").first).to_have_attribute("aria-current", "true")
    page.keyboard.press("Escape")
    expect(inspector(page)).to_be_hidden()


def test_a_timeline_says_of_how_many_requests_its_ticks_are(page: Page, send: Send) -> None:
    send("/v1/deployments/dpl_building", *230 * ["/v1/projects"])
    expect(rows(page, "Requests")).to_have_count(200)
    press(page, "Timeline of dpl_building")
    expect(inspector(page)).to_contain_text("asked for it 0 times in the newest 200 requests.")
