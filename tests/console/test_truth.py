"""What the page says is so: one state without a connection, counts that agree, errors that end."""

import re

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from app import create_app
from tests.console.conftest import Send, inspector, look, poll_now, press, region, rows, visit
from tests.live import serving
from tests.wire import call, free_port, port_of

pytestmark = [pytest.mark.process, pytest.mark.xdist_group("console")]


def boxes(page: Page) -> list[object]:
    """Where the parts of the head are."""
    parts = page.locator("header, header > :not(#active), header form > *").all()
    return [each.bounding_box() for each in parts]


@pytest.mark.slow
def test_what_is_on_is_in_sight_and_leads_to_the_controls(page: Page, send: Send) -> None:
    for width in (1920, 1024):
        page.set_viewport_size({"width": width, "height": 800})
        send("/v1/projects")
        rows(page, "Requests").first.click()
        before = boxes(page)
        active = page.get_by_role("button", name="Controls")
        expect(active).to_have_text("Controls")
        send("/_stub/faults", body=b'{"status": 503, "times": 7}')
        send("/_stub/faults", body=b'{"delay": 0.01}')
        send("/_stub/clock", body=b'{"frozen": true}')
        send("/_stub/grease", method="PUT", body=b'{"axes": ["members"]}')
        press(page, "Pause")
        active = page.get_by_role("button", name="2 faults ❄ frozen ≈ grease ‖ paused")
        expect(active).to_be_in_viewport(ratio=1)
        assert boxes(page) == before
        active.focus()
        send("/_stub/reset", method="POST")
        press(page, "Paused")
        expect(page.get_by_role("button", name="Controls")).to_have_text("Controls")
        expect(inspector(page)).to_have_count(0)  # its request is of the time before the reset
    send("/v1/projects")
    rows(page, "Requests").first.click()
    expect(inspector(page)).to_be_visible()
    press(page, "Controls")
    expect(inspector(page)).to_have_count(0)
    expect(page.get_by_role("tab", name="Controls")).to_be_focused()


def test_a_rejected_token_is_one_state_that_moves_nothing(
    context: BrowserContext, live_url: str
) -> None:
    page = context.new_page()
    visit(page, live_url)
    before = boxes(page)
    page.get_by_label("Token").fill("wrong")
    press(page, "Connect")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("The token is rejected.")
    expect(alert).to_contain_text("or leave the field empty for the default one")
    expect(alert).to_contain_text("401 Unauthorized")
    expect(page.get_by_label("Token")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Token")).to_have_accessible_description(re.compile("is rejected"))
    assert (alert.bounding_box() or {})["width"] <= 40 * 14
    expect(page.get_by_role("status")).to_have_text("Not connected")
    assert page.get_by_role("region").count() == 0
    assert boxes(page) == before
    press(page, "Connect")  # with an empty field: the default token
    expect(page.get_by_role("status")).to_have_text("Connected")
    page.get_by_role("textbox", name="World").fill("a b")
    press(page, "Connect")
    expect(alert).to_contain_text("The world is invalid.")
    expect(page.get_by_role("textbox", name="World")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Token")).not_to_have_attribute("aria-invalid", "true")


@pytest.mark.slow
def test_a_world_without_room_is_the_fault_of_the_world(
    context: BrowserContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stub.worlds.MAX_WORLDS", 1)
    page = context.new_page()
    with serving(create_app()) as port:
        visit(page, f"http://127.0.0.1:{port}")
        call(f"http://127.0.0.1:{port}", "/v1/projects", token="dev-token.only")
        world = page.get_by_role("textbox", name="World")
        world.fill("more")
        press(page, "Connect")
        expect(page.get_by_role("alert")).to_contain_text("There is no room for another world.")
        expect(world).to_have_attribute("aria-invalid", "true")
        expect(world).to_have_value("more")
        world.fill("main")
        press(page, "Connect")
        expect(page.get_by_role("status")).to_have_text("Connected")


def test_an_old_error_ends_when_the_server_is_back(context: BrowserContext) -> None:
    page = context.new_page()
    with serving(create_app(), port=free_port()) as port:
        url = f"http://127.0.0.1:{port}"
        visit(page, url)
        page.set_viewport_size({"width": 390, "height": 844})
        before = boxes(page)
    page.get_by_role("textbox", name="Name").fill("shop")
    press(page, "Create project")
    error = region(page, "Projects").get_by_role("alert")
    expect(error).to_contain_text("did not respond")
    gone = page.get_by_role("alert").last
    expect(gone).to_contain_text("The server is gone.")
    expect(gone).to_contain_text(re.compile(r"shows what was there at \d\d:\d\d:\d\d UTC"))
    assert boxes(page) == before
    with serving(create_app(), port=port_of(url)):
        poll_now(page)
        expect(page.get_by_role("status")).to_have_text("Connected")
        expect(error).to_have_count(0)
        expect(page.get_by_role("textbox", name="Name")).to_have_value("shop")


def test_the_counts_agree_after_the_journal_was_cleared(page: Page, send: Send) -> None:
    requests = region(page, "Requests")
    send(*7 * ["/v1/projects"])
    expect(requests.locator(".count")).to_have_text("7")
    send("/_stub/requests", method="DELETE")
    expect(requests.locator(".count")).to_have_text("0")
    expect(rows(page, "Requests")).to_have_count(0)
    send("/v1/deployments/a")
    expect(requests.locator(".count")).to_have_text("1")
    expect(rows(page, "Requests")).to_have_count(1)


def test_a_placeholder_is_what_an_empty_field_means(page: Page, send: Send) -> None:
    press(page, "Add fault")
    expect(page.get_by_role("alert").filter(has_text="must have a status")).to_be_visible()
    for label, default in {"Status": "", "Cut (bytes)": "", "Times": "1"}.items():
        assert page.get_by_label(label, exact=True).get_attribute("placeholder") == default
    page.get_by_label("Status", exact=True).fill("503")
    press(page, "Add fault")
    expect(region(page, "Controls").get_by_role("listitem")).to_contain_text("1 left")


def test_a_long_status_leaves_the_name_its_room(page: Page, send: Send) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    made = send("/v1/projects", body=b'{"name": "storefront"}').json
    path = f"/_stub/deployments/{made['latest_deployment_id']}"
    send(path, method="PUT", body=b'{"status": "' + 50 * b"x" + b'"}')
    row = rows(page, "Projects").first
    expect(row.get_by_role("combobox")).to_have_value(50 * "x")
    name = row.get_by_role("cell").first
    assert name.evaluate("(each) => each.scrollWidth <= each.clientWidth")
    box = name.bounding_box()
    assert box
    assert box["width"] > 120


def test_the_same_world_is_not_made_by_each_key(page: Page, live_url: str) -> None:
    worlds = set()
    page.on("request", lambda each: worlds.add(each.headers.get("authorization")))
    page.get_by_role("textbox", name="World").press_sequentially("another")
    look(page)
    assert len(worlds) == 1


def test_a_burst_of_more_than_a_view_has_loses_no_row(
    page: Page, send: Send, live_url: str, own_token: str
) -> None:
    send("/v1/deployments/first")
    expect(rows(page, "Requests")).to_have_count(1)
    for number in range(150):
        call(live_url, f"/v1/deployments/d{number}", token=own_token)
    look(page)
    expect(rows(page, "Requests")).to_have_count(151)
    expect(rows(page, "Requests").last).to_contain_text("first")


def test_a_switch_that_failed_is_as_before(page: Page) -> None:
    page.route("**/_stub/grease", lambda route: route.abort())
    switch = page.get_by_role("switch", name="Grease")
    switch.click()
    expect(region(page, "Controls").get_by_role("alert")).to_contain_text("did not respond")
    expect(switch).not_to_be_checked()
    page.unroute("**/_stub/grease")
    switch.check()
    expect(switch).to_be_checked()
