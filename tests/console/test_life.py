"""The poll: a server that goes and comes back, a hidden page, and rows that stay where they are."""

import signal
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.conftest import program
from tests.console.conftest import Send, press, region, rows
from tests.wire import call, port_of


def hide(page: Page, is_hidden: bool) -> None:
    page.evaluate(
        "(value) => { Object.defineProperty(document, 'hidden', {value, configurable: true});"
        "document.dispatchEvent(new Event('visibilitychange')); }",
        is_hidden,
    )


@pytest.fixture
def servers() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def test_a_server_that_was_started_anew_leaves_no_stale_rows(
    context: BrowserContext, servers: ExitStack
) -> None:
    process, url = servers.enter_context(program())
    for name in ("old-1", "old-2", "old-3"):
        call(url, "/v1/projects", body=f'{{"name": "{name}"}}'.encode())
    page = context.new_page()
    page.goto(url)
    expect(rows(page, "Requests")).to_have_count(3)
    process.kill()
    process.wait()
    expect(page.get_by_role("status")).to_have_text(
        "Not connected: the server is gone. Trying again."
    )
    press(page, "Advance 10 seconds")
    expect(region(page, "Controls").get_by_role("alert")).to_contain_text("did not respond")
    servers.enter_context(program("--port", str(port_of(url))))
    for name in ("new-1", "new-2", "new-3", "new-4"):
        call(url, "/v1/projects", body=f'{{"name": "{name}"}}'.encode())
    expect(page.get_by_role("status")).to_have_text("Connected")
    expect(rows(page, "Requests")).to_have_count(4)
    expect(rows(page, "Projects").first).to_contain_text("new-4")
    expect(page.get_by_role("main")).not_to_contain_text("old-")


def test_a_server_that_stands_still_is_gone_until_it_goes_on(
    context: BrowserContext, servers: ExitStack
) -> None:
    process, url = servers.enter_context(program())
    page = context.new_page()
    page.clock.install()
    page.goto(url)
    page.clock.run_for(1000)
    expect(page.get_by_role("status")).to_have_text("Connected")
    process.send_signal(signal.SIGSTOP)
    page.clock.run_for(30_000)
    expect(page.get_by_role("status")).to_contain_text("the server is gone")
    process.send_signal(signal.SIGCONT)
    page.clock.run_for(10_000)
    expect(page.get_by_role("status")).to_have_text("Connected")


def test_the_page_polls_once_a_second_and_not_while_it_is_hidden(page: Page) -> None:
    page.clock.install()
    page.reload()
    expect(page.get_by_role("status")).to_have_text("Connected")
    polls: list[str] = []
    page.on("request", lambda request: polls.append(request.url))
    for count in range(1, 4):
        with page.expect_response("**/_stub/console?after=*"):
            page.clock.run_for(1000)
        assert len(polls) == count
        expect(page.get_by_role("status")).to_have_text("Connected")
    hide(page, True)
    page.clock.run_for(60_000)
    assert len(polls) == 3
    with page.expect_response("**/_stub/console?after=*"):
        hide(page, False)
    assert len(polls) == 4


def top_of(page: Page, name: str, text: str) -> float:
    box = rows(page, name).filter(has_text=text).bounding_box()
    assert box
    return box["y"]


@pytest.mark.parametrize("width", [360, 1280])
def test_no_row_moves_under_the_pointer(page: Page, send: Send, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    send("/v1/deployments/first")
    send("/v1/deployments/second")
    row = rows(page, "Requests").filter(has_text="second")
    row.hover()
    top = top_of(page, "Requests", "second")
    for number in range(30):
        send(f"/v1/deployments/d{number}")
    new = page.get_by_role("button", name="30 new requests")
    expect(new).to_be_visible()
    assert top_of(page, "Requests", "second") == top
    send("/v1/deployments/last")
    expect(page.get_by_role("button", name="31 new requests")).to_be_visible()
    assert top_of(page, "Requests", "second") == top
    page.mouse.move(1, 1)
    expect(page.get_by_role("button", name="new requests")).to_be_hidden()
    expect(rows(page, "Requests").first).to_contain_text("last")
    expect(rows(page, "Requests").first).to_be_in_viewport()


def test_no_row_moves_that_has_been_scrolled_to(page: Page, send: Send) -> None:
    for number in range(60):
        send(f"/v1/deployments/d{number}-")
    expect(rows(page, "Requests")).to_have_count(60)
    rows(page, "Requests").filter(has_text="d5-").scroll_into_view_if_needed()
    top = top_of(page, "Requests", "d5-")
    page.mouse.move(1, 1)
    for number in range(20):
        send(f"/v1/deployments/e{number}")
    expect(page.get_by_role("button", name="20 new requests")).to_be_visible()
    assert top_of(page, "Requests", "d5-") == top
    page.get_by_role("button", name="20 new requests").click()
    expect(rows(page, "Requests").first).to_be_in_viewport()
    expect(page.get_by_role("button", name="new requests")).to_be_hidden()


def test_new_projects_move_no_row_under_the_pointer(page: Page, send: Send) -> None:
    rows(page, "Projects").first.hover()
    top = top_of(page, "Projects", "prj_search")
    for number in range(60):
        send("/v1/projects", body=f'{{"name": "p{number}"}}'.encode())
    expect(region(page, "Projects")).to_contain_text("63")
    expect(region(page, "Projects").get_by_role("button", name="new projects")).to_be_visible()
    assert top_of(page, "Projects", "prj_search") == top
    page.mouse.move(1, 1)
    expect(rows(page, "Projects")).to_have_count(50)
    expect(rows(page, "Projects").first).to_be_in_viewport()


def test_the_regions_stay_where_they_are(page: Page, send: Send) -> None:
    def places() -> list[object]:
        names = ("Projects", "Requests", "Controls", "Coverage")
        return [region(page, name).bounding_box() for name in names]

    before = places()
    send("/_stub/faults", body=b'{"status": 503, "times": 3}')
    for number in range(12):
        send(f"/v1/projects?q{number}=1")
    expect(rows(page, "Requests")).to_have_count(12)
    assert places() == before


def test_the_newest_rows_are_shown_of_many(page: Page, send: Send) -> None:
    for number in range(450):
        send(f"/v1/deployments/d{number}")
    expect(rows(page, "Requests").first).to_contain_text("d449")
    expect(region(page, "Requests")).to_contain_text("450")
    assert rows(page, "Requests").count() <= 200
