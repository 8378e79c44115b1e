"""The poll: a server that goes and comes back, a hidden page, and rows that stay where they are."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from app import create_app
from tests.console.conftest import POLL, Send, hide, look, poll_now, press, region, rows, visit
from tests.live import serving
from tests.wire import call, free_port, port_of

pytestmark = [pytest.mark.process, pytest.mark.xdist_group("console")]


@contextmanager
def serving_projects(*names: str, port: int = 0) -> Iterator[str]:
    """The URL of a server with projects that a client has created."""
    with serving(create_app(), port=port) as port:
        url = f"http://127.0.0.1:{port}"
        for name in names:
            call(url, "/v1/projects", body=f'{{"name": "{name}"}}'.encode())
        yield url


def test_a_server_that_was_started_anew_leaves_no_stale_rows(context: BrowserContext) -> None:
    page = context.new_page()
    page.clock.install()
    with serving_projects("old-1", "old-2", "old-3", port=free_port()) as url:
        visit(page, url)
        expect(rows(page, "Requests")).to_have_count(3)
    poll_now(page)
    expect(page.get_by_role("status")).to_have_text("Not connected")
    expect(page.get_by_role("alert").last).to_contain_text("The server is gone.")
    press(page, "Advance 10 seconds")
    expect(region(page, "Controls").get_by_role("alert")).to_contain_text("did not respond")
    with serving_projects("new-1", "new-2", "new-3", "new-4", port=port_of(url)):
        page.clock.run_for(5000)
        expect(page.get_by_role("status")).to_have_text("Connected")
        expect(rows(page, "Requests")).to_have_count(4)
        expect(rows(page, "Projects").first).to_contain_text("new-4")
        expect(page.get_by_role("main")).not_to_contain_text("old-")


def test_a_token_that_is_rejected_later_leaves_no_rows(stopped: Page) -> None:
    with serving_projects("shop", port=free_port()) as url:
        visit(stopped, url)
        expect(rows(stopped, "Requests")).to_have_count(1)
    with serving(create_app(tokens=["another"]), port=port_of(url)):
        stopped.clock.run_for(1000)
        expect(stopped.get_by_role("alert")).to_contain_text("The token is rejected.")
        expect(stopped.get_by_role("main")).not_to_contain_text("shop")


class Proxy:
    """The app behind a proxy that may hold requests back, and reject polls."""

    def __init__(self) -> None:
        self.app = create_app()
        self.is_open = threading.Event()
        self.is_open.set()
        self.rejects = False
        self.rejected = 0
        self.url = ""

    def __call__(self, environ: Any, start_response: Any) -> Any:
        self.is_open.wait()
        if not self.rejects or environ["PATH_INFO"] != "/_stub/console":
            return self.app(environ, start_response)
        self.rejected += 1
        body = json.dumps({"detail": f"poll {self.rejected}"}).encode()
        start_response("503 Service Unavailable", [("Content-Length", str(len(body)))])
        return [body]


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    proxy = Proxy()
    with serving(proxy) as port:
        proxy.url = f"http://127.0.0.1:{port}"
        yield proxy
        proxy.is_open.set()


def test_a_server_that_stands_still_is_gone_until_it_goes_on(stopped: Page, proxy: Proxy) -> None:
    status = stopped.get_by_role("status")
    gone = stopped.get_by_role("alert").filter(has_text="The server is gone.")
    visit(stopped, proxy.url)
    proxy.is_open.clear()
    with stopped.expect_request(POLL):
        stopped.clock.run_for(1000)
    stopped.clock.run_for(9999)
    expect(status).to_have_text("Connected")
    stopped.clock.run_for(1)
    expect(gone).to_be_visible()
    proxy.is_open.set()
    stopped.clock.run_for(1999)
    expect(gone).to_be_visible()
    stopped.clock.run_for(1)
    expect(status).to_have_text("Connected")


@pytest.mark.slow
def test_the_page_polls_less_often_while_it_gets_errors(stopped: Page, proxy: Proxy) -> None:
    visit(stopped, proxy.url)
    proxy.rejects = True
    stopped.clock.run_for(1000)
    error = stopped.get_by_role("alert").filter(has_text="The server reports an error.")
    expect(error).to_contain_text("503 Service Unavailable: poll 1")
    expect(stopped.get_by_role("status")).to_have_text("Not connected")
    for count, seconds in enumerate((2, 4, 5, 5), 1):
        stopped.clock.run_for(seconds * 1000 - 1)
        assert proxy.rejected == count
        stopped.clock.run_for(1)
        expect(error).to_contain_text(f"503 Service Unavailable: poll {count + 1}")
    proxy.rejects = False
    stopped.clock.run_for(5000)
    expect(stopped.get_by_role("status")).to_have_text("Connected")
    expect(error).to_be_hidden()
    with stopped.expect_response(POLL):
        stopped.clock.run_for(1000)


def test_the_page_polls_once_a_second_and_not_while_it_is_hidden(
    stopped: Page, own_url: str
) -> None:
    visit(stopped, own_url)
    polls: list[str] = []
    stopped.on("request", lambda request: polls.append(request.url.rpartition("?")[2]))
    for count in range(1, 4):
        call(own_url, "/v1/projects")
        stopped.clock.run_for(999)
        assert len(polls) == count - 1
        stopped.clock.run_for(1)
        expect(rows(stopped, "Requests")).to_have_count(count)
    assert polls == ["after=0", "after=1", "after=2"]
    hide(stopped, True)
    stopped.clock.run_for(60_000)
    assert len(polls) == 3
    with stopped.expect_response(POLL):
        hide(stopped, False)
    assert len(polls) == 4


def top_of(page: Page, name: str, text: str) -> float:
    box = rows(page, name).filter(has_text=text).bounding_box()
    assert box
    return box["y"]


def targets(prefix: str, count: int) -> list[str]:
    return [f"/v1/deployments/{prefix}{number}-" for number in range(count)]


@pytest.mark.parametrize("width", [360, 1280])
def test_no_row_moves_under_the_pointer(page: Page, send: Send, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    send("/v1/deployments/first", "/v1/deployments/second")
    row = rows(page, "Requests").filter(has_text="second")
    row.hover()
    top = top_of(page, "Requests", "second")
    send(*targets("d", 30))
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
    send(*targets("d", 60))
    expect(rows(page, "Requests")).to_have_count(60)
    rows(page, "Requests").filter(has_text="d5-").scroll_into_view_if_needed()
    top = top_of(page, "Requests", "d5-")
    page.mouse.move(1, 1)
    send(*targets("e", 20))
    expect(page.get_by_role("button", name="20 new requests")).to_be_visible()
    assert top_of(page, "Requests", "d5-") == top
    page.get_by_role("button", name="20 new requests").click()
    expect(rows(page, "Requests").first).to_be_in_viewport()
    expect(page.get_by_role("button", name="new requests")).to_be_hidden()


def test_new_projects_move_no_row_under_the_pointer(
    page: Page, live_url: str, own_token: str
) -> None:
    rows(page, "Projects").first.hover()
    top = top_of(page, "Projects", "prj_search")
    for number in range(60):
        call(live_url, "/v1/projects", body=f'{{"name": "p{number}"}}'.encode(), token=own_token)
    look(page)
    expect(region(page, "Projects")).to_contain_text("63")
    expect(region(page, "Projects").get_by_role("button", name="new projects")).to_be_visible()
    assert top_of(page, "Projects", "prj_search") == top
    page.mouse.move(1, 1)
    expect(rows(page, "Projects")).to_have_count(50)
    expect(rows(page, "Projects").first).to_be_in_viewport()


def test_the_regions_stay_where_they_are(page: Page, send: Send) -> None:
    def places() -> list[object]:
        names = ("Projects", "Requests", "Controls")
        return [region(page, name).bounding_box() for name in names]

    before = places()
    send("/_stub/faults", body=b'{"status": 503, "times": 3}')
    send(*[f"/v1/projects?q{number}=1" for number in range(12)])
    expect(rows(page, "Requests")).to_have_count(12)
    assert places() == before


def test_the_newest_rows_are_shown_of_many(page: Page, send: Send) -> None:
    for start in range(0, 450, 90):  # a view has 100
        send(*[f"/v1/deployments/d{start + number}" for number in range(90)])
    expect(rows(page, "Requests").first).to_contain_text("d449")
    expect(region(page, "Requests")).to_contain_text("450 · 200 shown")
    assert rows(page, "Requests").count() <= 200
