"""What is on the page, found by role and name, and what each control does."""

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.console.conftest import (
    Send,
    filter_by,
    inspector,
    open_part,
    open_tab,
    press,
    region,
    rows,
    visit,
)

pytestmark = [pytest.mark.process, pytest.mark.xdist_group("console")]


def test_the_head_has_service_address_world_and_status(
    context: BrowserContext, live_url: str
) -> None:
    page = context.new_page()
    visit(page, live_url)
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text("Project and Deployment Service")
    expect(page.get_by_text(live_url, exact=True)).to_be_visible()
    expect(page.get_by_role("textbox", name="World", exact=True)).to_have_value("")
    expect(page.get_by_role("status")).to_have_count(1)
    for name in ("Projects", "Requests"):
        expect(region(page, name)).to_be_visible()
    for name in ("Coverage", "Controls"):
        expect(open_tab(page, name)).to_be_visible()


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
    expect(alert).to_have_text(f"Name {problem['detail']}.")
    field.fill("shop")
    press(page, "Create project")
    expect(alert).to_have_count(0)


def test_requests_are_marked_without_colors(page: Page, send: Send) -> None:
    send("/v1/projects?page=1")
    expect(rows(page, "Requests").first).to_contain_text("/v1/projects?page=1")
    expect(rows(page, "Requests").first).to_contain_text("unpromised")
    send("/v1/nowhere")
    expect(rows(page, "Requests").first).to_contain_text("violation")


def test_a_row_says_what_happened(page: Page, send: Send) -> None:
    send("/v1/projects", body=b'{"name": ""}')
    send("/v1/projects", body=b'{"name": "website"}')
    send("/v1/projects", body=b'{"name": "shop"}')
    send("/v1/projects", body=b'{"name": 1}')
    said = ["invalid_body", '"shop"', 'name_taken "website"', 'invalid_body ""']
    for words in ("", "POST"):  # the view, and the journal
        page.get_by_role("searchbox", name="Filter").fill(words)
        expect(rows(page, "Requests").locator(".what")).to_have_text(said)


def test_an_empty_list_has_no_head(page: Page, send: Send) -> None:
    requests = region(page, "Requests")
    expect(requests.get_by_text("Waiting for requests…")).to_be_visible()
    expect(requests.get_by_role("columnheader")).to_have_count(0)
    send("/v1/projects")
    expect(requests.get_by_role("columnheader")).to_have_count(5)


def test_a_path_has_the_room_of_a_narrow_row(page: Page, send: Send) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    target = "/v1/deployments/dpl_unknown?page=1"
    send(target)
    cells = rows(page, "Requests").first.get_by_role("cell")
    expect(cells.nth(2)).to_have_attribute("title", target)
    assert cells.get_by_role("button").evaluate("(each) => each.scrollWidth <= each.clientWidth")
    boxes = [each.bounding_box() for each in (cells.nth(2).get_by_text("unpromised"), cells.last)]
    note, time = (box["y"] + box["height"] / 2 for box in boxes if box)
    assert abs(note - time) < 5


def test_the_inspector_of_a_request_has_headers_body_and_reasons(page: Page, send: Send) -> None:
    send("/v1/projects", body=b'{"name": "shop", "team": "<b>a</b>"}')
    rows(page, "Requests").first.click()
    shown = open_part(page, "Request")
    expect(shown).to_contain_text("Content-Type")
    expect(shown).to_contain_text("application/json")
    expect(shown).to_contain_text('"team": "<b>a</b>"\n}')
    expect(shown).to_contain_text("createProject: body member team")
    press(page, "Close")
    expect(shown).to_be_hidden()


def test_the_filter_leaves_what_matches(page: Page, send: Send) -> None:
    send("/v1/projects")
    send("/v1/deployments/nope")
    send("/v1/projects?page=1")
    expect(rows(page, "Requests")).to_have_count(3)
    field = page.get_by_role("searchbox", name="Filter", exact=True)
    for words, count in {"404": 1, "get projects": 2, "2xx": 2, "4": 1, "delete": 0, "": 3}.items():
        field.fill(words)
        expect(rows(page, "Requests")).to_have_count(count)
    field.fill("x=1")
    expect(region(page, "Requests")).to_contain_text("No request matches the filter")
    send("/v1/deployments/nope?x=1")
    expect(rows(page, "Requests")).to_have_count(1)
    for key in ("Enter", "ArrowDown"):
        field.press(key)
        expect(rows(page, "Requests").first.get_by_role("button")).to_be_focused()
    expect(inspector(page)).to_have_count(0)
    page.keyboard.press("Enter")
    expect(inspector(page)).to_be_visible()
    field.press("Escape")
    expect(rows(page, "Requests")).to_have_count(4)
    expect(inspector(page)).to_be_visible()


def test_pause_keeps_the_rows_and_counts_the_new_ones(page: Page, send: Send) -> None:
    send("/v1/projects")
    expect(rows(page, "Requests")).to_have_count(1)
    press(page, "Pause")
    send("/v1/deployments/a")
    send("/v1/deployments/b")
    expect(page.get_by_role("button", name="2 new requests")).to_be_visible()
    expect(rows(page, "Requests")).to_have_count(1)
    press(page, "Paused")
    expect(rows(page, "Requests")).to_have_count(3)
    expect(page.get_by_role("button", name="new requests")).to_be_hidden()
    press(page, "Pause")
    send("/v1/deployments/c")
    expect(page.get_by_role("button", name="1 new request")).to_be_visible()
    filter_by(page, "/c")  # finds what came after the pause
    expect(rows(page, "Requests")).to_contain_text(["/v1/deployments/c"])
    press(page, "Paused")


def test_the_coverage_shows_what_is_met_with_its_count(page: Page, send: Send) -> None:
    coverage = open_tab(page, "Coverage")
    groups = coverage.get_by_role("rowheader").filter(has_text="xx")
    expect(groups).to_have_text(["2xx", "4xx", "5xx"])
    expect(coverage.get_by_role("row", name="other").get_by_role("cell")).to_have_text(
        3 * ["\u2013"]
    )
    row = coverage.get_by_role("row", name="404")
    expect(row.get_by_role("img", name="not met")).to_have_count(1)
    send(*3 * ["/v1/deployments/nope"])
    expect(row).to_contain_text("✓ 3")
    expect(region(page, "Coverage")).to_contain_text("1 of 28 outcomes")
    cell, target = row.get_by_role("cell").last, row.get_by_role("button")
    size = "(each) => [each.clientWidth, each.clientHeight].map((each) => Math.round(each / 2))"
    assert target.evaluate(size) == cell.evaluate(size)
    send("/v1/projects?page=1", "/v1/projects?limit=1", "/v1/projects?page=2")
    finding = coverage.get_by_role("listitem")
    expect(finding).to_have_count(1)
    expect(finding.get_by_text("unpromised: listProjects")).to_have_count(1)
    expect(finding.get_by_role("button")).to_have_text(
        ["query parameter page2\u00d7", "query parameter limit1\u00d7"]
    )


def test_the_clock_is_advanced(page: Page, send: Send) -> None:
    press(page, "Advance 10 seconds")
    expect(region(page, "Controls")).to_contain_text("10 s ahead")
    press(page, "Advance 1 minute")
    expect(region(page, "Controls")).to_contain_text("70 s ahead")


def test_a_fault_is_added_and_cleared(page: Page, send: Send) -> None:
    controls = region(page, "Controls")
    controls.get_by_label("Operation").select_option("getDeployment")
    clear = controls.get_by_role("button", name="Clear faults")
    expect(clear).to_be_disabled()
    controls.get_by_label("Status").fill("503")
    controls.get_by_text("Path, delay").click()
    controls.get_by_label("Delay").fill("0.01")
    controls.get_by_label("Times").fill("2")
    press(page, "Add fault")
    expect(controls.get_by_role("listitem")).to_have_text(
        "getDeployment status 503, delay 0.01 s 2 left✕"
    )
    assert send("/v1/deployments/dpl_failed").status_code == 503
    expect(controls.get_by_role("listitem")).to_contain_text("1 left")
    expect(rows(page, "Requests").first).to_contain_text("fault")
    expect(clear).to_be_enabled()
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
    world = page.get_by_role("textbox", name="World").input_value()
    expect(dialog.get_by_role("heading")).to_have_text(f"Reset the world {world}?")
    expect(dialog).to_contain_text("4 projects, 1 request, 0 faults")
    again = """async () => {
        document.querySelector("dialog button").click();
        while (document.querySelector("dialog")) await null;
        document.querySelector("button.danger").click(); // before the event "close" of the first
    }"""
    page.evaluate(again)
    page.evaluate("() => new Promise((resolve) => setTimeout(resolve))")
    expect(dialog).to_be_visible()
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_be_hidden()
    expect(rows(page, "Projects")).to_have_count(4)
    press(page, "Reset")
    dialog.get_by_role("button", name="Reset").click()
    expect(rows(page, "Projects")).to_have_count(3)
    expect(rows(page, "Requests")).to_have_count(0)


def test_texts_have_four_sizes_that_follow_the_readers_own(page: Page, send: Send) -> None:
    send("/v1/projects?page=1")
    sizes = """[...document.querySelectorAll("#console :is(input, button, select, h1, h2, h3, p)")]
        .filter((each) => each.checkVisibility())
        .map((each) => getComputedStyle(each).fontSize)"""
    found = set()
    for name in ("Coverage", "Contract", "Controls"):
        open_tab(page, name)
        found |= {round(float(size[:-2])) for size in page.evaluate(sizes)}
    assert found == {12, 13, 16, 18}
    size = "(each) => parseFloat(getComputedStyle(each).fontSize)"
    heading = page.get_by_role("heading", name="Requests")
    assert round(heading.evaluate(size)) == 18
    assert page.locator(".clock time").evaluate(size) < 14
    page.evaluate("document.documentElement.style.fontSize = '150%'")
    assert heading.evaluate(size) > 30
    page.evaluate("document.documentElement.style.fontSize = ''")
    rule = "[...document.styleSheets[0].cssRules].find((each) => each.selectorText === 'html')"
    assert page.evaluate(f"{rule}.style.fontSize") == "87.5%"
    page.set_viewport_size({"width": 390, "height": 844})
    for each in page.locator("#console :is(input, select:not(.pill))").filter(visible=True).all():
        assert each.evaluate(size) >= 16


@pytest.mark.slow
def test_edges_meet_and_targets_have_24_pixels(page: Page, send: Send) -> None:
    send("/_stub/faults", body=b'{"status": 503}')
    send("/v1/projects?page=1")

    def edge(selector: str, side: str) -> float:
        """Where the text of an element begins or ends."""
        script = f"""(each) => {{
            const range = document.createRange();
            range.selectNodeContents(each);
            return range.getBoundingClientRect().{side};
        }}"""
        return float(page.locator(selector).first.evaluate(script))

    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        open_tab(page, "Controls")
        assert abs(width - 14 - edge("#status", "right")) < 1
        panel = edge("#rail h3", "left")
        assert abs(edge("#tab-Controls", "left") - panel) < 1
        assert abs(page.get_by_role("switch").evaluate("(each) => each.offsetLeft") - 14) < 1
        for name in ("Controls", "Coverage"):
            targets = open_tab(page, name).locator("button, input, select").filter(visible=True)
            side = "(each) => Math.min(each.offsetWidth, each.offsetHeight)"
            assert min(each.evaluate(side) for each in targets.all()) >= 24
