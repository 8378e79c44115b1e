"""The filter and the history: the server searches the whole journal, however old an entry is."""

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.console.conftest import (
    Send,
    filter_by,
    hide,
    look,
    open_tab,
    poll_now,
    press,
    region,
    rows,
    visit,
)
from tests.wire import call

pytestmark = [pytest.mark.process, pytest.mark.xdist_group("console")]


def scroll_to_the_end(page: Page) -> None:
    scroller = region(page, "Requests").get_by_role("group", name="Newest requests")
    scroller.evaluate("(each) => each.scrollTo(0, each.scrollHeight)")


@pytest.fixture
def filled(page: Page, live_url: str, own_token: str) -> Page:
    """The page, loaded after one invalid POST and 1,099 other requests."""
    call(live_url, "/v1/deployments/a", token=own_token)
    for number in range(100):
        call(live_url, f"/v1/deployments/n{number}", token=own_token)
    call(live_url, "/v1/projects", body=b'{"name": ""}', token=own_token)
    for _ in range(998):
        call(live_url, "/v1/projects", token=own_token)
    visit(page, f"{page.url}?again#world={own_token.partition('.')[2]}")
    return page


@pytest.mark.slow
def test_the_whole_journal_is_searched_and_scrolled(filled: Page) -> None:
    page = filled
    count = region(page, "Requests").locator(".count")
    expect(count).to_have_text("1,000 · 200 shown")
    for words in ("422", "POST 4xx", "invalid_body", "post /v1/projects 422"):
        filter_by(page, words)
        expect(rows(page, "Requests")).to_have_count(1)
        expect(rows(page, "Requests")).to_contain_text("422")
        expect(count).to_have_text("1 of 1,000 match")
    filter_by(page, "4xx")  # `4` is in the id of many
    expect(rows(page, "Requests")).to_have_count(2)
    filter_by(page, "5xx")
    expect(page.get_by_text("No request matches the filter.")).to_be_visible()
    expect(count).to_have_text("0 of 1,000 match")
    press(page, "Clear the filter")
    expect(page.get_by_role("searchbox", name="Filter")).to_be_focused()
    expect(page.get_by_role("searchbox", name="Filter")).to_have_value("")
    expect(rows(page, "Requests")).to_have_count(200)
    for shown in range(300, 1001, 100):
        scroll_to_the_end(page)
        expect(count).to_have_text("1,000" if shown == 1000 else f"1,000 · {shown} shown")
    expect(rows(page, "Requests").last).to_contain_text("/v1/deployments/n99")


@pytest.mark.slow
def test_more_than_a_page_of_matches_is_scrolled(filled: Page) -> None:
    page = filled
    filter_by(page, "GET 200")
    expect(rows(page, "Requests")).to_have_count(200)
    expect(region(page, "Requests").locator(".count")).to_have_text("200 or more of 1,000 match")
    scroll_to_the_end(page)
    expect(rows(page, "Requests")).to_have_count(300)


@pytest.mark.slow
def test_a_paused_list_keeps_what_the_journal_drops(
    filled: Page, live_url: str, own_token: str
) -> None:
    press(filled, "Pause")
    first = rows(filled, "Requests").first.get_attribute("data-number")
    for _ in range(1000):
        call(live_url, "/v1/projects", token=own_token)
    look(filled)
    expect(filled.get_by_role("button", name="1,000 new requests")).to_be_visible()
    assert rows(filled, "Requests").count() == 200
    assert rows(filled, "Requests").first.get_attribute("data-number") == first
    press(filled, "Paused")
    expect(rows(filled, "Requests").first).to_have_attribute("data-number", "2100")


def test_what_matches_and_arrives_later_is_shown(page: Page, send: Send) -> None:
    send("/v1/projects", "/v1/deployments/nope")
    filter_by(page, "404")
    expect(rows(page, "Requests")).to_have_count(1)
    send("/v1/deployments/a", "/v1/projects", "/v1/deployments/b")
    expect(rows(page, "Requests")).to_have_count(3)
    send("/_stub/reset", method="POST")
    look(page)
    expect(rows(page, "Requests")).to_have_count(0)
    send(*3 * ["/v1/deployments/c"])
    expect(rows(page, "Requests")).to_have_count(3)
    send("/_stub/requests", method="DELETE")
    expect(rows(page, "Requests")).to_have_count(0)
    for count in (1, 2):
        send("/v1/projects")
        expect(region(page, "Requests").locator(".count")).to_have_text(f"0 of {count} match")
        expect(page.get_by_text("No request matches the filter.")).to_be_visible()


@pytest.mark.slow
def test_a_cell_a_finding_and_a_project_filter_the_requests_that_made_it(
    page: Page, send: Send
) -> None:
    made = send("/v1/projects", body=b'{"name": "shop", "team": 1}').json
    send("/v1/projects?page=1", "/v1/projects", "/v1/deployments/a")
    send(f"/v1/deployments/{made['latest_deployment_id']}")
    pause = page.get_by_role("button", name="Pause", exact=True)
    place = pause.bounding_box()
    filter_by(page, "POST")
    coverage = open_tab(page, "Coverage")
    coverage.get_by_role("button", name="the requests of listProjects with 200").click()
    expect(rows(page, "Requests")).to_have_count(2)
    expect(page.get_by_role("searchbox", name="Filter")).to_have_value("")
    press(page, "Requests of shop")
    expect(rows(page, "Requests")).to_have_count(2)
    expect(rows(page, "Requests").filter(has_text="/v1/deployments/a")).to_have_count(0)
    expect(rows(page, "Requests").last).to_contain_text("POST")
    expect(page.get_by_role("button", name="Remove the filter")).to_have_text("shop ✕")
    expect(page.get_by_role("searchbox", name="Filter")).to_have_value("")
    filter_by(page, "GET")
    expect(rows(page, "Requests")).to_have_count(1)
    coverage.get_by_role("button", name="unpromised: listProjects: query parameter page").click()
    expect(rows(page, "Requests")).to_have_count(1)
    expect(rows(page, "Requests")).to_contain_text("/v1/projects?page=1")
    coverage.get_by_role("button", name="unpromised: createProject: body member team").click()
    expect(rows(page, "Requests")).to_contain_text("POST")
    assert pause.bounding_box() == place
    press(page, "Remove the filter createProject: body member team")
    expect(page.get_by_role("searchbox", name="Filter")).to_be_focused()
    expect(rows(page, "Requests")).to_have_count(5)


@pytest.mark.slow
def test_what_is_filtered_is_in_view_where_the_list_is_above(page: Page, send: Send) -> None:
    send("/v1/projects")
    page.set_viewport_size({"width": 390, "height": 844})
    cell = open_tab(page, "Coverage").get_by_role("button", name="listProjects with 200")
    cell.click()
    expect(rows(page, "Requests").first).to_be_in_viewport()
    expect(
        page.get_by_role("button", name="Remove the filter listProjects 200")
    ).to_be_in_viewport()


def test_a_search_that_failed_is_made_when_the_server_is_back(page: Page, send: Send) -> None:
    send("/v1/projects", "/v1/deployments/a")
    expect(rows(page, "Requests")).to_have_count(2)
    page.route("**/_stub/*", lambda route: route.abort())
    poll_now(page)
    expect(page.get_by_role("status")).to_have_text("Not connected")
    filter_by(page, "404")
    count = region(page, "Requests").locator(".count")
    expect(count).to_have_text("Searching…")
    page.unroute("**/_stub/*")
    look(page)
    expect(count).to_have_text("1 of 2 match")


@pytest.mark.slow
def test_what_failed_offline_is_made_when_the_connection_is_back(
    context: BrowserContext, live_url: str, own_token: str
) -> None:
    for number in range(250):
        call(live_url, f"/v1/deployments/n{number}", token=own_token)
    page = context.new_page()
    visit(page, f"{live_url}/#world={own_token.partition('.')[2]}")
    count = region(page, "Requests").locator(".count")
    expect(count).to_have_text("250 · 200 shown")
    context.set_offline(True)
    with page.expect_event("requestfailed", lambda request: "limit=1" in request.url):
        rows(page, "Requests").first.click()
    with page.expect_event("requestfailed", lambda request: "before=" in request.url):
        scroll_to_the_end(page)
    poll_now(page)
    expect(page.get_by_role("status")).to_have_text("Not connected")
    expect(page.get_by_role("tabpanel", name="Response")).to_have_text("Loading…")
    context.set_offline(False)
    expect(page.get_by_role("tabpanel", name="Response")).to_contain_text("404 Not Found")
    expect(count).to_have_text("250")


@pytest.mark.slow
def test_a_burst_is_followed_and_a_finding_of_long_ago_is_found(
    page: Page, send: Send, live_url: str, own_token: str
) -> None:
    send("/v1/projects?page=1")
    filter_by(page, "GET")
    expect(rows(page, "Requests")).to_have_count(1)
    hide(page, True)  # it does not poll
    for _ in range(250):
        call(live_url, "/v1/projects", token=own_token)
    hide(page, False)
    expect(rows(page, "Requests").first).to_have_attribute("data-number", "251")
    coverage = open_tab(page, "Coverage")
    coverage.get_by_role("button", name="unpromised: listProjects: query parameter page").click()
    expect(rows(page, "Requests")).to_have_count(1)
    expect(rows(page, "Requests")).to_contain_text("/v1/projects?page=1")
