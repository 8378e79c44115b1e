"""The list of requests: the poll, the filter, and rows that stay where they are."""

import re

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.conftest import make_stub
from tests.console.conftest import POLL, Console
from tests.live import serving
from tests.wire import call, free_port

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.xdist_group("console")]


def test_a_row_says_what_happened(console: Console) -> None:
    expect(console.requests.get_by_text("Waiting for requests…")).to_be_visible()
    for body in ('{"name": ""}', '{"name": "website"}', '{"name": "shop"}', '{"name": 1}', "["):
        console.send("/v1/projects", body=body.encode())
    expect(console.rows.locator(".what")).to_have_text(
        ["malformed_json", "invalid_body", '"shop"', 'name_taken "website"', 'invalid_body ""']
    )
    console.send("/v1/projects?page=1", "/v1/nowhere")
    expect(console.rows.nth(1)).to_contain_text("△ unpromised")
    expect(console.rows.first).to_contain_text("✕ violation")
    name = re.compile(r"^GET /v1/projects\?page=1 200 at \d\d:\d\d:\d\d\.\d{3}$")
    expect(console.rows.nth(1).get_by_role("button")).to_have_accessible_name(name)


def test_the_polls_of_a_deployment_are_one_row_with_a_count(console: Console) -> None:
    first, other = "/v1/deployments/dpl_queued", "/v1/deployments/dpl_building"
    console.send(first, other, first, "/v1/projects", other, first, f"{first}?x=1")
    console.send("/_stub/faults", body=b'{"delay": 0.01}')
    console.send(first)
    buttons = console.rows.get_by_role("button").filter(has_text="/v1")
    expect(buttons).to_have_text([first, f"{first}?x=1", first, other, "/v1/projects"])
    expect(console.rows.locator(".polls")).to_have_text(["3\u00d7", "2\u00d7"])
    expect(console.count).to_have_text("8")
    console.button("3 polls: show each").press("Enter")
    expect(buttons).to_have_text([first, f"{first}?x=1", first, first, first])
    expect(console.inspector).to_have_count(0)


def test_the_filter_leaves_what_matches_and_follows(console: Console) -> None:
    console.send("/v1/projects", "/v1/deployments/nope", "/v1/projects?page=1")
    expect(console.rows).to_have_count(3)
    for words, count in {"get projects": 2, "4": 1, "delete": 0}.items():
        console.filter.fill(words)
        expect(console.count).to_have_text(f"{count} of 3 match")
        expect(console.rows).to_have_count(count)
    expect(console.announced).to_have_text("0 requests match the filter")
    console.press("Clear the filter")
    expect(console.filter).to_be_focused()
    console.page.mouse.move(1, 1)  # who points at the list holds it
    console.filter.fill("x=1")
    expect(console.count).to_have_text("0 of 3 match")
    console.send("/v1/deployments/nope?x=1", "/v1/projects")
    expect(console.rows).to_have_count(1)
    console.filter.press("Enter")
    expect(console.rows.first.get_by_role("button")).to_be_focused()
    console.page.keyboard.press("Enter")
    expect(console.inspector).to_be_visible()
    console.filter.press("Escape")
    expect(console.rows).to_have_count(5)
    expect(console.inspector).to_be_visible()
    console.send("/_stub/reset", method="POST")
    expect(console.inspector).to_have_count(0)
    expect(console.rows).to_have_count(0)


def test_pause_keeps_the_rows_and_counts_the_new_ones(console: Console) -> None:
    console.send("/v1/projects")
    expect(console.rows).to_have_count(1)
    console.press("Pause")
    console.send("/v1/deployments/a", "/v1/deployments/b")
    expect(console.button("2 new requests")).to_be_visible()
    expect(console.rows).to_have_count(1)
    console.filter.fill("/b")  # finds what came after the pause
    expect(console.rows).to_contain_text("/v1/deployments/b")
    console.filter.fill("")
    expect(console.rows).to_have_count(3)
    console.send("/_stub/requests", method="DELETE")
    console.send("/v1/projects")
    expect(console.count).to_have_text("1")
    expect(console.rows).to_have_count(3)
    console.press("Paused")
    expect(console.rows).to_have_count(1)


def test_no_row_moves_under_the_pointer_or_the_keyboard(console: Console) -> None:
    page = console.page
    console.send(*[f"/v1/deployments/d{number}-" for number in range(40)])
    expect(console.rows).to_have_count(40)
    new = console.requests.get_by_role("button", name=re.compile("new request"))
    console.rows.first.hover()
    console.send(*20 * ["/v1/projects"])
    expect(new).to_have_text("20 new requests")
    expect(console.rows.first).to_contain_text("d39-")
    page.mouse.move(1, 1)
    expect(console.rows.first).to_contain_text("/v1/projects")
    console.rows.filter(has_text="d5-").scroll_into_view_if_needed()
    console.send("/v1/projects")
    expect(new).to_have_text("1 new request")
    new.press("Enter")
    expect(new).to_be_hidden()
    console.filter.press("Tab")  # to the list, which is no row, and does not hold it
    expect(console.requests.get_by_role("group", name="Newest requests")).to_be_focused()
    console.send("/v1/deployments/last")
    expect(console.rows.first).to_contain_text("last")
    page.keyboard.press("Tab")
    console.send("/v1/deployments/later")
    expect(new).to_have_text("1 new request")
    expect(page.get_by_role("button", name="/v1/deployments/last")).to_be_focused()


def test_the_whole_journal_is_searched_although_a_connection_was_lost(console: Console) -> None:
    def request(*targets: str) -> None:
        with console.hidden():  # it does not poll
            for target in targets:
                call(console.url, target, token=console.token)

    request("/v1/projects?page=1", *[f"/v1/deployments/n{number}" for number in range(30)])
    expect(console.rows).to_have_count(31)
    expect(console.rows.last).to_contain_text("page=1")
    console.page.route("**/_stub/requests?*", lambda route: route.abort())
    with console.page.expect_event("requestfailed"):
        console.filter.fill("404")
    expect(console.count).to_have_text("Searching…")
    console.page.unroute("**/_stub/requests?*")
    console.look()
    expect(console.count).to_have_text("30 of 31 match")
    request("/v1/deployments/later", "/v1/projects")
    expect(console.count).to_have_text("31 of 33 match")
    numbers = console.rows.evaluate_all("(all) => all.map((row) => Number(row.dataset.number))")
    assert numbers == [*range(32, 1, -1)]
    coverage = console.tab("Coverage")
    coverage.get_by_role("button", name="unpromised: listProjects: query parameter page").click()
    expect(console.rows).to_contain_text("/v1/projects?page=1")
    expect(console.announced).to_have_text("1 request matches the filter")


def test_a_server_that_hangs_or_starts_anew_leaves_no_stale_rows(context: BrowserContext) -> None:
    page, port = context.new_page(), free_port()
    page.clock.install(time=0)
    page.clock.pause_at(1)  # from here on its timers wait for run_for()
    console = Console(page, f"http://127.0.0.1:{port}")

    def create(name: str) -> None:
        call(console.url, "/v1/projects", body=f'{{"name": "{name}"}}'.encode())

    with serving(make_stub(), port=port):
        create("old-0")
        console.visit()
        polls: list[str] = []
        page.on("request", lambda each: polls.extend(re.findall("console$", each.url)))
        for count in range(1, 4):
            create(f"old-{count}")
            page.clock.run_for(999)
            assert len(polls) == count - 1
            page.clock.run_for(1)
            expect(console.rows).to_have_count(1 + count)
        expect(console.announced).to_have_text("")
        page.clock.run_for(5001)
        console.look()
        expect(console.announced).to_have_text("3 new requests")  # not the one that it found
        polls.clear()
        with console.hidden():
            page.clock.run_for(60_000)
            assert polls == []
            create("old-4")
        expect(console.rows).to_have_count(5)
        page.route("**/_stub/*", lambda route: None)
        with page.expect_request(POLL):
            page.clock.run_for(1000)
        page.clock.run_for(9999)
        expect(console.status).to_have_text("Connected")
        page.clock.run_for(1)
        expect(console.status).to_have_text("Not connected")
        page.unroute("**/_stub/*")
        page.clock.run_for(1000)
        expect(console.status).to_have_text("Connected")
    console.poll()
    expect(console.alert.last).to_contain_text("The server is gone.")
    shown = re.compile(r"shows what was there at \d\d:\d\d:\d\d UTC")
    expect(console.alert.last).to_contain_text(shown)
    error = console.controls.get_by_role("alert")
    console.press("Advance 10 seconds")
    expect(error).to_contain_text("did not respond")
    page.clock.resume()
    with serving(make_stub(), port=port):
        for number in range(6):
            create(f"new-{number}")
        console.poll()
        expect(console.status).to_have_text("Connected")
        expect(error).to_have_count(0)
        expect(console.rows).to_have_count(6)
        expect(console.project_rows.first).to_contain_text("new-5")
        expect(page.get_by_role("main")).not_to_contain_text("old-")
    with serving(make_stub(tokens=["another"]), port=port):
        expect(console.alert).to_contain_text("The token is rejected.")
        expect(page.get_by_role("main")).not_to_contain_text("new-")
