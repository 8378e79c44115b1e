"""What a demo does: break a deployment, freeze the clock, take a fault back, change the world."""

import json

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.conftest import ROOT
from tests.console.conftest import (
    Send,
    announced,
    filter_by,
    inspector,
    open_tab,
    press,
    region,
    rows,
    visit,
)
from tests.wire import call

pytestmark = [pytest.mark.process, pytest.mark.xdist_group("console")]


@pytest.mark.slow
def test_the_status_of_a_deployment_is_set_from_its_row(page: Page, send: Send) -> None:
    status = rows(page, "Projects").first.get_by_role("combobox")
    status.focus()
    for chosen in ("failed", "succeeded"):
        status.select_option(chosen)
        expect(status).to_have_value(chosen)
        expect(status).to_be_focused()
        assert send("/v1/deployments/dpl_queued").json["status"] == chosen


def test_a_status_is_sent_when_it_is_chosen(page: Page, send: Send) -> None:
    status = rows(page, "Projects").first.get_by_role("combobox")
    box = status.bounding_box()
    assert box
    assert box["height"] >= 24
    sent: list[str] = []
    page.on("request", lambda each: sent.append(each.url) if each.method == "PUT" else None)
    for key in ("ArrowDown", "f"):  # which open the list
        status.press(key)
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Escape")
        expect(status).to_be_focused()
        expect(status).to_have_value("queued")
    assert sent == []
    status.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_text("search is building")).to_be_attached()
    assert send("/v1/deployments/dpl_queued").json["status"] == "building"
    # A browser that does not know `base-select` has a list of its own.
    status.evaluate("(each) => each.style.appearance = 'auto'")
    status.press("ArrowUp")
    expect(status).to_have_value("building")
    page.keyboard.press("Escape")
    assert len(sent) == 1
    page.route("**/_stub/deployments/*", lambda route: route.abort())
    status.select_option("failed")
    expect(region(page, "Projects").get_by_role("alert")).to_contain_text("did not respond")
    expect(status).to_have_value("building")
    page.unroute("**/_stub/deployments/*")


def test_the_clock_is_frozen_and_goes_on(page: Page, send: Send) -> None:
    press(page, "Freeze")
    frozen = page.get_by_role("button", name="Frozen", exact=True)
    expect(frozen).to_have_attribute("aria-pressed", "true")
    assert send("/_stub/clock").json["frozen"] is True
    frozen.click()
    freeze = page.get_by_role("button", name="Freeze", exact=True)
    expect(freeze).to_have_attribute("aria-pressed", "false")
    assert send("/_stub/clock").json["frozen"] is False


def test_faults_have_all_parts_and_go_one_by_one(page: Page, send: Send) -> None:
    fields = {"Path": "/v1/deployments/*", "Status": "503", "Retry after (s)": "7",
              "Cut (bytes)": "3", "Times": "2"}  # fmt: skip
    controls = region(page, "Controls")
    controls.get_by_text("Path, delay").click()
    for label, value in fields.items():
        controls.get_by_label(label, exact=True).fill(value)
    press(page, "Add fault")
    expect(controls.get_by_role("listitem")).to_have_count(1)
    send("/_stub/faults", body=b'{"delay": 0.01, "times": null}')
    expect(controls.get_by_role("listitem")).to_have_count(2)
    (fault, _) = send("/_stub/faults").json["faults"]
    assert {**fault, "id": ""} == {
        "id": "", "path": "/v1/deployments/*", "status": 503, "retry_after": 7, "cut": 3,
        "times": 2, "remaining": 2,
    }  # fmt: skip
    press(page, f"Remove {fault['id']}")
    expect(controls.get_by_role("listitem")).to_have_count(1)
    expect(controls.get_by_role("listitem")).to_contain_text("delay 0.01 s")


@pytest.mark.slow
def test_the_worlds_are_listed_with_their_counts(context: BrowserContext, own_url: str) -> None:
    call(own_url, "/v1/projects", body=b'{"name": "a"}', token="dev-token.job-5")
    page = context.new_page()
    visit(page, own_url)
    press(page, "All worlds")
    worlds = page.locator("#worlds").get_by_role("button")
    expect(worlds).to_have_text(["main 3 projects 0 requests", "job-5 4 projects 1 request"])
    for width in (390, 768, 1024, 1920):
        page.set_viewport_size({"width": width, "height": 800})
        button = page.get_by_role("button", name="All worlds").bounding_box()
        shown = page.locator("#worlds").bounding_box()
        assert button
        assert shown
        assert 0 <= shown["x"] <= button["x"] < shown["x"] + shown["width"] <= width
        assert 0 <= shown["y"] - button["y"] - button["height"] < 10
    page.keyboard.press("Escape")
    press(page, "Requests of search")
    filter_by(page, "nothing")
    expect(page.get_by_role("button", name="Remove the filter")).to_have_count(1)
    press(page, "All worlds")
    worlds.last.click()
    expect(page.get_by_role("textbox", name="World")).to_have_value("job-5")
    expect(page.get_by_role("searchbox", name="Filter")).to_have_value("")
    expect(page.get_by_role("button", name="Remove the filter")).to_have_count(0)
    expect(rows(page, "Requests")).to_have_count(1)
    press(page, "All worlds")
    worlds.first.click()
    expect(page.get_by_role("textbox", name="World")).to_have_value("")
    expect(rows(page, "Requests")).to_have_count(0)


def test_state_and_journal_are_saved_as_files(page: Page, send: Send) -> None:
    send("/v1/projects", body=b'{"name": "shop"}')
    for name, member in {"Export state": "projects", "Export journal": "requests"}.items():
        with page.expect_download() as download:
            press(page, name)
        document = json.loads(download.value.path().read_text("utf-8"))
        assert len(document[member]) == (4 if member == "projects" else 1)


def test_keys_reach_the_filter_the_pause_and_the_help(page: Page) -> None:
    page.keyboard.press("/")
    field = page.get_by_role("searchbox", name="Filter")
    expect(field).to_be_focused()
    page.keyboard.type("p?/")
    expect(field).to_have_value("p?/")
    field.fill("")
    region(page, "Requests").get_by_role("group", name="Newest requests").focus()
    for name, pressed, text in (
        ("Paused", "true", "Paused"),
        ("Pause", "false", "New requests are shown again"),
    ):
        page.keyboard.press("p")
        expect(announced(page)).to_have_text(text)
        pause = page.get_by_role("button", name=name, exact=True)
        expect(pause).to_have_attribute("aria-pressed", pressed)
    dialog = page.get_by_role("dialog")
    page.set_viewport_size({"width": 390, "height": 844})
    for is_key in (True, False):
        if is_key:
            page.keyboard.press("?")
        else:
            press(page, "Help")
        for text in ("Variation on purpose", "The interface promises", "The interface is silent"):
            expect(dialog).to_contain_text(text)
        expect(dialog.locator("kbd")).to_have_text(["/", "p", "?", "↑", "↓", "Enter", "Escape"])
        expect(dialog.get_by_role("heading", name="Help")).to_be_focused()
        expect(dialog.get_by_role("heading", name="Help")).to_be_in_viewport()
        dialog.get_by_role("button", name="Close help").click(position={"x": 5, "y": 5})
        expect(dialog).to_be_hidden()


@pytest.mark.slow
def test_a_word_explains_itself_on_hover_and_focus(page: Page) -> None:
    word = page.get_by_role("link", name="grease", exact=True)
    tip = page.get_by_role("tooltip").filter(has_text="Variation on purpose")
    expect(tip).to_be_hidden()
    word.hover()
    expect(tip).to_be_visible()
    page.mouse.move(1, 1)
    expect(tip).to_be_hidden()
    word.focus()
    expect(tip).to_be_visible()
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()
    expect(word).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    press(page, "Close help")
    for width in (390, 1024, 1280):
        page.set_viewport_size({"width": width, "height": 600})
        for name in ("Controls", "Coverage"):
            tab = open_tab(page, name)
            for each in tab.locator(".term a").all():
                each.focus()
                shown = tab.get_by_role("tooltip").filter(visible=True)
                expect(shown).to_be_in_viewport(ratio=1)
                assert tab.evaluate("(each) => each.scrollWidth <= each.clientWidth")


def test_the_contract_says_what_is_promised_and_what_was_used(page: Page, send: Send) -> None:
    send("/v1/projects?page=1", "/v1/projects")
    tab = open_tab(page, "Contract")
    contract = json.loads((ROOT / "openapi.json").read_text("utf-8"))
    for path, item in contract["paths"].items():
        for method in {"get", "post"} & item.keys():
            operation = tab.get_by_role("group").filter(has_text=item[method]["operationId"])
            expect(operation).to_contain_text(f"{method.upper()} {path}")
            expect(operation).to_contain_text("fixed §4")
            for status in item[method]["responses"]:
                expect(operation.get_by_text(status, exact=True)).to_have_count(1)
    listed = tab.get_by_role("group").filter(has_text="listProjects")
    summaries = tab.locator("summary")
    expect(summaries).to_contain_text(["1 of 8 met", "0 of 11 met", "0 of 9 met"])
    expect(tab.locator("details[open] summary")).to_have_text(["GET /v1/projects 1 of 8 met"])
    expect(listed).to_contain_text("query parameter page1\u00d7")
    chosen = contract["paths"]["/v1/projects"]["get"]["responses"]["200"]["x-origin"]["chosen"]
    expect(listed).to_contain_text(chosen)
    expect(listed).to_contain_text("projects.latest_deployment_id")
    expect(tab).to_contain_text("§ is a section")
    listed.get_by_role("button", name="✓ 2: the requests of listProjects with 200").click()
    expect(rows(page, "Requests")).to_have_count(2)
    listed.get_by_role("button", name="unpromised: listProjects: query parameter page").click()
    expect(rows(page, "Requests")).to_have_count(1)


@pytest.mark.parametrize("size", [(1280, 800), pytest.param((1920, 1080), marks=pytest.mark.slow)])
def test_the_page_is_one_screen(page: Page, send: Send, size: tuple[int, int]) -> None:
    for number in range(30):
        send("/v1/projects", body=f'{{"name": "p{number}"}}'.encode())
    page.set_viewport_size({"width": size[0], "height": size[1]})
    for tab in ("Controls", "Coverage", "Contract"):
        open_tab(page, tab)
        assert page.evaluate("document.documentElement.scrollHeight") == size[1]
    heights = [region(page, name).bounding_box() for name in ("Projects", "Requests")]
    assert all(heights)
    projects, requests = (box["height"] for box in heights if box)
    assert projects <= 0.4 * size[1] < requests
    assert inspector(page).count() == 0
