"""The list of requests: the poll, the filter, and rows that stay where they are."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from app import create_app
from tests.console.conftest import (
    POLL,
    Send,
    announced,
    filter_by,
    focused,
    hide,
    inspector,
    look,
    open_tab,
    poll_now,
    press,
    region,
    rows,
    visit,
)
from tests.live import serving
from tests.wire import call, free_port, port_of

pytestmark = [pytest.mark.process, pytest.mark.xdist_group("console")]


def count_of(page: Page) -> Locator:
    return region(page, "Requests").locator(".count")


def test_a_row_says_what_happened_with_and_without_a_filter(page: Page, send: Send) -> None:
    expect(region(page, "Requests").get_by_text("Waiting for requests…")).to_be_visible()
    for body in (b'{"name": ""}', b'{"name": "website"}', b'{"name": "shop"}', b'{"name": 1}'):
        send("/v1/projects", body=body)
    said = ["invalid_body", '"shop"', 'name_taken "website"', 'invalid_body ""']
    for words in ("", "POST"):  # the view, and the journal
        filter_by(page, words)
        expect(rows(page, "Requests").locator(".what")).to_have_text(said)
    filter_by(page, "")
    send("/v1/projects?page=1", "/v1/nowhere")
    expect(rows(page, "Requests").nth(1)).to_contain_text("△ unpromised")
    expect(rows(page, "Requests").first).to_contain_text("✕ violation")
    name = rows(page, "Requests").nth(1).get_by_role("button").get_attribute("aria-label")
    pattern = r"GET /v1/projects\?page=1 200 at \d\d:\d\d:\d\d\.\d{3}"
    assert re.fullmatch(pattern, name or "")


def test_the_filter_leaves_what_matches_and_follows(page: Page, send: Send) -> None:
    send("/v1/projects", "/v1/deployments/nope", "/v1/projects?page=1")
    expect(rows(page, "Requests")).to_have_count(3)
    field = page.get_by_role("searchbox", name="Filter", exact=True)
    for words, count in {"get projects": 2, "4": 1, "delete": 0}.items():
        field.fill(words)
        expect(count_of(page)).to_have_text(f"{count} of 3 match")
        expect(rows(page, "Requests")).to_have_count(count)
    expect(announced(page)).to_have_text("0 requests match the filter")
    press(page, "Clear the filter")
    expect(field).to_be_focused()
    page.mouse.move(1, 1)  # who points at the list holds it
    field.fill("x=1")
    expect(count_of(page)).to_have_text("0 of 3 match")
    send("/v1/deployments/nope?x=1", "/v1/projects")
    expect(rows(page, "Requests")).to_have_count(1)
    field.press("Enter")
    expect(rows(page, "Requests").first.get_by_role("button")).to_be_focused()
    expect(inspector(page)).to_have_count(0)
    page.keyboard.press("Enter")
    expect(inspector(page)).to_be_visible()
    field.press("Escape")
    expect(rows(page, "Requests")).to_have_count(5)
    expect(inspector(page)).to_be_visible()
    filter_by(page, "404")
    expect(rows(page, "Requests")).to_have_count(2)
    send("/_stub/reset", method="POST")
    expect(rows(page, "Requests")).to_have_count(0)
    send(*3 * ["/v1/deployments/c"])
    expect(rows(page, "Requests")).to_have_count(3)
    send("/_stub/requests", method="DELETE")
    expect(rows(page, "Requests")).to_have_count(0)
    for count in (1, 2):
        send("/v1/projects")
        expect(count_of(page)).to_have_text(f"0 of {count} match")


def test_pause_keeps_the_rows_and_counts_the_new_ones(page: Page, send: Send) -> None:
    send("/v1/projects")
    expect(rows(page, "Requests")).to_have_count(1)
    press(page, "Pause")
    send("/v1/deployments/a", "/v1/deployments/b")
    expect(page.get_by_role("button", name="2 new requests")).to_be_visible()
    expect(rows(page, "Requests")).to_have_count(1)
    filter_by(page, "/b")  # finds what came after the pause
    expect(rows(page, "Requests")).to_contain_text(["/v1/deployments/b"])
    filter_by(page, "")
    expect(rows(page, "Requests")).to_have_count(3)
    send("/_stub/requests", method="DELETE")
    expect(count_of(page)).to_have_text("0")
    press(page, "Paused")
    expect(rows(page, "Requests")).to_have_count(0)


def test_no_row_moves_under_the_pointer_or_the_keyboard(page: Page, send: Send) -> None:
    send(*[f"/v1/deployments/d{number}-" for number in range(40)])
    expect(rows(page, "Requests")).to_have_count(40)
    new = region(page, "Requests").get_by_role("button", name=re.compile("new request"))
    held = rows(page, "Requests").filter(has_text="d39-")
    held.hover()
    box = held.bounding_box()
    send(*20 * ["/v1/projects"])
    expect(new).to_have_text("20 new requests")
    assert held.bounding_box() == box
    page.mouse.move(1, 1)
    expect(rows(page, "Requests").first).to_contain_text("/v1/projects")
    rows(page, "Requests").filter(has_text="d5-").scroll_into_view_if_needed()
    page.evaluate("() => new Promise(requestAnimationFrame)")  # when the page learns of it
    send("/v1/projects")
    expect(new).to_have_text("1 new request")
    new.press("Enter")
    expect(new).to_be_hidden()
    page.get_by_role("searchbox", name="Filter").press("Tab")
    assert focused(page) == "Newest requests"  # which is no row, and does not hold the list
    send("/v1/deployments/last")
    expect(rows(page, "Requests").first).to_contain_text("last")
    page.keyboard.press("Tab")
    send("/v1/deployments/later")
    expect(new).to_have_text("1 new request")
    expect(page.get_by_role("button", name="/v1/deployments/last")).to_be_focused()
    first = rows(page, "Projects").first
    first.hover()
    send("/v1/projects", body=b'{"name": "shop"}')
    expect(region(page, "Projects").get_by_role("button", name="1 new project")).to_be_visible()
    expect(first).to_contain_text("search")
    page.mouse.move(1, 1)
    expect(first).to_contain_text("shop")


def test_the_whole_journal_is_listed_and_searched_although_the_connection_was_lost(
    page: Page, live_url: str, own_token: str
) -> None:
    def request(*targets: str) -> None:
        hide(page, True)  # it does not poll
        for target in targets:
            call(live_url, target, token=own_token)
        hide(page, False)

    request("/v1/projects?page=1", *[f"/v1/deployments/n{number}" for number in range(130)])
    expect(rows(page, "Requests")).to_have_count(131)
    expect(rows(page, "Requests").last).to_contain_text("page=1")
    page.route("**/_stub/requests?*", lambda route: route.abort())
    with page.expect_event("requestfailed"):
        filter_by(page, "404")
    expect(count_of(page)).to_have_text("Searching…")
    page.unroute("**/_stub/requests?*")
    look(page)
    expect(count_of(page)).to_have_text("130 of 131 match")
    request("/v1/deployments/later", "/v1/projects")
    expect(count_of(page)).to_have_text("131 of 133 match")
    numbers = [int(row.get_attribute("data-number") or 0) for row in rows(page, "Requests").all()]
    assert numbers == [*range(132, 1, -1)]
    coverage = open_tab(page, "Coverage")
    coverage.get_by_role("button", name="unpromised: listProjects: query parameter page").click()
    expect(rows(page, "Requests")).to_contain_text(["/v1/projects?page=1"])
    expect(announced(page)).to_have_text("1 request matches the filter")


@contextmanager
def serving_projects(*names: str, port: int = 0, **options: Any) -> Iterator[str]:
    """The URL of a server with projects that a client has created."""
    with serving(create_app(**options), port=port) as port:
        url = f"http://127.0.0.1:{port}"
        for name in names:
            call(url, "/v1/projects", body=f'{{"name": "{name}"}}'.encode())
        yield url


def test_a_server_that_is_gone_and_started_anew_leaves_no_stale_rows(stopped: Page) -> None:
    page = stopped
    with serving_projects("old-1", "old-2", "old-3", port=free_port()) as url:
        visit(page, url)
        expect(rows(page, "Requests")).to_have_count(3)
    poll_now(page)
    expect(page.get_by_role("status")).to_have_text("Not connected")
    gone = page.get_by_role("alert").last
    expect(gone).to_contain_text("The server is gone.")
    expect(gone).to_contain_text(re.compile(r"shows what was there at \d\d:\d\d:\d\d UTC"))
    error = region(page, "Controls").get_by_role("alert")
    press(page, "Advance 10 seconds")
    expect(error).to_contain_text("did not respond")
    with serving_projects("new-1", "new-2", "new-3", "new-4", port=port_of(url)):
        page.clock.run_for(5000)
        expect(page.get_by_role("status")).to_have_text("Connected")
        expect(error).to_have_count(0)
        page.clock.run_for(100)  # an effect is run after a frame
        expect(rows(page, "Requests")).to_have_count(4)
        expect(rows(page, "Projects").first).to_contain_text("new-4")
        expect(page.get_by_role("main")).not_to_contain_text("old-")
    with serving_projects(tokens=["another"], port=port_of(url)):
        page.clock.run_for(5000)
        expect(page.get_by_role("alert")).to_contain_text("The token is rejected.")
        expect(page.get_by_role("main")).not_to_contain_text("new-")


def test_the_page_polls_once_a_second_and_announces_what_came(stopped: Page, own_url: str) -> None:
    call(own_url, "/v1/projects")
    visit(stopped, own_url)
    polls: list[str] = []
    stopped.on("request", lambda each: polls.append(each.url) if "console?" in each.url else None)
    for count in range(1, 4):
        call(own_url, "/v1/projects")
        stopped.clock.run_for(999)
        assert len(polls) == count - 1
        stopped.clock.run_for(1)
        expect(rows(stopped, "Requests")).to_have_count(1 + count)
    stopped.clock.run_for(5001)
    look(stopped)
    expect(announced(stopped)).to_have_text("3 new requests")  # not the one that it found
    polls.clear()
    hide(stopped, True)
    stopped.clock.run_for(60_000)
    assert polls == []
    with stopped.expect_response(POLL):
        hide(stopped, False)
    stopped.route("**/_stub/*", lambda route: None)  # a server that stands still
    with stopped.expect_request(POLL):
        stopped.clock.run_for(1000)
    stopped.clock.run_for(9999)
    expect(stopped.get_by_role("status")).to_have_text("Connected")
    stopped.clock.run_for(1)
    expect(stopped.get_by_role("alert").last).to_contain_text("The server is gone.")
    stopped.unroute("**/_stub/*")
    stopped.clock.run_for(2000)
    expect(stopped.get_by_role("status")).to_have_text("Connected")
