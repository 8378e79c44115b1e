"""The page: its projects, controls, coverage, contract and worlds, by pointer and by keyboard."""

import json
import re

import pytest
from axe_playwright_python.base import AXE_SCRIPT, AxeResults
from playwright.sync_api import BrowserContext, Page, expect

from tests.conftest import ROOT
from tests.console.conftest import (
    Send,
    announced,
    filter_by,
    focused,
    inspector,
    look,
    open_tab,
    press,
    region,
    rows,
    tab_to,
    visit,
)
from tests.wire import call

pytestmark = [pytest.mark.process, pytest.mark.xdist_group("console")]


def test_a_project_is_created_or_its_error_is_at_the_field(page: Page, send: Send) -> None:
    field = page.get_by_role("textbox", name="Name", exact=True)
    alert = region(page, "Projects").get_by_role("alert")
    field.fill("website")
    press(page, "Create project")
    expect(alert).to_contain_text(send("/v1/projects", body=b'{"name": "website"}').json["detail"])
    expect(field).to_have_value("website")
    expect(field).to_have_attribute("aria-invalid", "true")
    field.fill(" ")
    press(page, "Create project")
    problem = send("/v1/projects", body=b'{"name": " "}').json["errors"][0]
    expect(alert).to_have_text(f"Name {problem['detail']}.")
    field.fill("shop")
    expect(alert).to_have_count(0)
    press(page, "Create project")
    first = rows(page, "Projects").first
    for text in ("shop", "prj_", "dpl_", "queued"):
        expect(first).to_contain_text(text)
    expect(announced(page)).to_have_text("Project shop created")
    expect(field).to_have_value("")
    expect(rows(page, "Projects")).to_have_count(4)
    for status in ("building", "succeeded"):
        send("/_stub/clock", body=b'{"advance": 300}')
        expect(first.get_by_role("cell").last).to_contain_text(status)


def test_a_status_is_set_when_it_is_chosen(page: Page, send: Send) -> None:
    status = rows(page, "Projects").first.get_by_role("combobox")
    sent: list[str] = []
    page.on("request", lambda each: sent.append(each.url) if each.method == "PUT" else None)
    for key in ("ArrowDown", "f"):  # which open the list
        status.press(key)
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Escape")
        expect(status).to_have_value("queued")
    assert sent == []
    status.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_text("search is building")).to_be_attached()
    expect(status).to_be_focused()
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


def test_clock_and_grease_are_switched_and_the_head_shows_what_is_on(
    page: Page, send: Send
) -> None:
    controls, active = region(page, "Controls"), page.locator("#active")
    pressed = controls.locator("[aria-pressed]")
    expect(active).to_have_text("Controls")
    press(page, "Advance 10 seconds")
    expect(controls).to_contain_text("10 s ahead")
    press(page, "Advance 1 minute")
    expect(announced(page)).to_have_text("The clock is advanced by 1 minute")
    expect(controls).to_contain_text("70 s ahead")
    press(page, "Freeze")
    expect(pressed).to_have_attribute("aria-pressed", "true")
    assert send("/_stub/clock").json["frozen"] is True
    switch = page.get_by_role("switch", name="Grease", exact=True)
    page.route("**/_stub/grease", lambda route: route.abort())
    switch.click()
    expect(controls.get_by_role("alert")).to_contain_text("did not respond")
    expect(switch).not_to_be_checked()
    page.unroute("**/_stub/grease")
    switch.check()
    expect(announced(page)).to_have_text("Grease is on")
    assert "members" in send("/_stub/grease").json["axes"]
    send("/v1/projects")
    rows(page, "Requests").first.click()
    send("/_stub/faults", body=b'{"status": 503, "times": 7}')
    send("/_stub/faults", body=b'{"delay": 0.01}')
    press(page, "Pause")
    expect(active).to_have_text("Controls ⚡ 2 faults ❄ frozen ≈ grease ‖ paused")
    active.click()
    expect(inspector(page)).to_have_count(0)
    expect(page.get_by_role("tab", name="Controls")).to_be_focused()
    switch.uncheck()
    expect(announced(page)).to_have_text("Grease is off")
    assert send("/_stub/grease").json["axes"] == []
    press(page, "Frozen")
    expect(pressed).to_have_attribute("aria-pressed", "false")


def test_faults_are_added_met_and_removed(page: Page, send: Send) -> None:
    controls = region(page, "Controls")
    listed = controls.locator("#faults li")
    press(page, "Add fault")
    expect(controls.get_by_role("alert")).to_contain_text("must have a status")
    status = page.get_by_label("Status", exact=True)
    status.fill("700")
    press(page, "Add fault")
    expect(status).to_have_attribute("aria-invalid", "true")
    error = page.locator(f"#{status.get_attribute('aria-describedby')}")
    expect(error).to_have_text(re.compile("^Status must be an integer from .*[.]$"))
    status.fill("503")
    expect(error).to_be_hidden()
    controls.get_by_text("Path, delay").click()
    fields = {"Path": "/v1/deployments/*", "Delay (s)": "0.01", "Retry after (s)": "7",
              "Cut (bytes)": "3", "Times": "2"}  # fmt: skip
    for label, value in fields.items():
        controls.get_by_label(label, exact=True).fill(value)
    press(page, "Add fault")
    expect(announced(page)).to_have_text("Fault added")
    expect(listed).to_have_text(
        "any method /v1/deployments/* status 503, retry after 7 s, delay 0.01 s, "
        "cut after 3 bytes 2 left✕"
    )
    controls.get_by_label("Operation").select_option("listProjects")
    status.fill("500")
    press(page, "Add fault")
    expect(listed).to_have_count(2)
    press(page, f"Remove {send('/_stub/faults').json['faults'][0]['id']}")
    assert focused(page) == "Clear faults"
    expect(listed).to_have_text(["listProjects status 500 1 left✕"])
    assert send("/v1/projects").status_code == 500
    expect(rows(page, "Requests").first).to_contain_text("⚡ fault")
    send("/_stub/faults", body=b'{"status": 503, "times": null}')
    expect(listed).to_contain_text("all")
    press(page, "Clear faults")
    expect(listed).to_have_count(0)
    expect(controls.get_by_role("button", name="Clear faults")).to_be_disabled()


def test_a_world_is_saved_as_files_and_reset_after_a_question(page: Page, send: Send) -> None:
    send("/v1/projects", body=b'{"name": "shop"}')
    expect(rows(page, "Projects")).to_have_count(4)
    for name, member, count in (("state", "projects", 4), ("journal", "requests", 1)):
        with page.expect_download() as download:
            press(page, f"Export {name}")
        assert len(json.loads(download.value.path().read_text("utf-8"))[member]) == count
    dialog = page.get_by_role("dialog")
    world = page.get_by_role("textbox", name="World").input_value()
    for button, count in {"Cancel": 4, "Reset": 3}.items():
        page.get_by_role("button", name="Reset", exact=True).press("Enter")
        expect(dialog.get_by_role("heading")).to_have_text(f"Reset the world {world}?")
        expect(dialog).to_contain_text("4 projects, 1 request, 0 faults")
        dialog.get_by_role("button", name=button).press("Enter")
        expect(page.locator("dialog")).to_have_count(0)
        assert focused(page) == "Reset"
        expect(rows(page, "Projects")).to_have_count(count)
    expect(rows(page, "Requests")).to_have_count(0)


def test_coverage_and_projects_lead_to_their_requests(page: Page, send: Send) -> None:
    coverage = open_tab(page, "Coverage")
    row = coverage.get_by_role("row", name="404")
    expect(row.get_by_role("img", name="not met")).to_have_count(1)
    made = send("/v1/projects", body=b'{"name": "shop", "team": 1}').json
    send("/v1/projects?page=1", "/v1/projects?limit=1", "/v1/projects?page=2", "/v1/projects")
    send("/v1/deployments/a", f"/v1/deployments/{made['latest_deployment_id']}")
    expect(row).to_contain_text("✓ 1")
    expect(coverage).to_contain_text("4 of 28 outcomes")
    finding = coverage.get_by_role("listitem").filter(has_text="△ unpromised: listProjects")
    expect(finding.get_by_role("button")).to_have_text(
        ["query parameter page2\u00d7", "query parameter limit1\u00d7"]
    )
    filter_by(page, "POST")
    coverage.get_by_role("button", name="the requests of listProjects with 200").click()
    expect(rows(page, "Requests")).to_have_count(4)
    expect(page.get_by_role("searchbox", name="Filter")).to_have_value("")
    press(page, "Requests of shop")
    expect(rows(page, "Requests")).to_have_count(2)
    expect(page.get_by_role("button", name="Remove the filter")).to_have_text("shop ✕")
    filter_by(page, "GET")
    expect(rows(page, "Requests")).to_have_count(1)
    coverage.get_by_role("button", name="unpromised: createProject: body member team").click()
    expect(rows(page, "Requests")).to_contain_text(["POST"])
    press(page, "Remove the filter createProject: body member team")
    expect(page.get_by_role("searchbox", name="Filter")).to_be_focused()
    expect(rows(page, "Requests")).to_have_count(7)


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
    expect(tab.locator("summary")).to_contain_text(["1 of 8 met", "0 of 11 met", "0 of 9 met"])
    chosen = contract["paths"]["/v1/projects"]["get"]["responses"]["200"]["x-origin"]["chosen"]
    for text in (chosen, "projects.latest_deployment_id", "query parameter page1\u00d7"):
        expect(listed).to_contain_text(text)
    listed.get_by_role("button", name="✓ 2: the requests of listProjects with 200").click()
    expect(rows(page, "Requests")).to_have_count(2)
    first, *_ = contract["paths"]["/v1/projects"]["get"]["responses"].values()
    first["x-origin"] = {"observed": "2026-11-24"}
    first.pop("$ref", None)
    operation = contract["paths"]["/v1/projects"]["get"]
    operation["x-origin"] = {"chosen": "as here", "confirmed": "2026-11-25"}
    page.route("**/openapi.json", lambda route: route.fulfill(json=contract))
    open_tab(page, "Controls")
    listed = open_tab(page, "Contract").get_by_role("group").filter(has_text="listProjects")
    expect(listed).to_contain_text("observed✓ 2 2026-11-24")
    expect(listed).to_contain_text("as here; confirmed 2026-11-25")
    page.unroute("**/openapi.json")


def test_the_keyboard_alone_is_enough(page: Page, send: Send) -> None:
    tab_to(page, "Name")
    page.keyboard.type("shop")
    page.keyboard.press("Enter")
    expect(rows(page, "Projects").first).to_contain_text("shop")
    send("/v1/deployments/a")
    expect(rows(page, "Requests")).to_have_count(2)
    tab_to(page, "/v1/deployments/a")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    tab_to(page, "Response")
    for name in ("Request", "curl"):
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("tabpanel", name=name)).to_be_visible()
    page.keyboard.press("Escape")
    expect(inspector(page)).to_be_hidden()
    expect(rows(page, "Requests").nth(1).get_by_role("button")).to_be_focused()
    tab_to(page, "shop")
    for key, name in {"ArrowDown": "Requests of search", "Tab": "Timeline of dpl_queued",
                      "End": "Timeline of dpl_succeeded"}.items():  # fmt: skip
        page.keyboard.press(key)
        assert focused(page) == name
    page.get_by_role("textbox", name="Name").fill("newest")
    page.keyboard.press("Enter")
    expect(announced(page)).to_have_text("Project newest created")
    tab_to(page, "newest")  # and not the row that had the focus before
    tab_to(page, "Grease")
    page.keyboard.press("Space")
    expect(page.get_by_role("switch", name="Grease")).to_be_checked()


def test_keys_reach_the_filter_the_pause_and_the_help(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type("p?/")
    field = page.get_by_role("searchbox", name="Filter")
    expect(field).to_have_value("p?/")
    field.fill("")
    region(page, "Requests").get_by_role("group", name="Newest requests").focus()
    for name, text in {"Paused": "Paused", "Pause": "New requests are shown again"}.items():
        page.keyboard.press("p")
        expect(announced(page)).to_have_text(text)
        expect(page.get_by_role("button", name=name, exact=True)).to_be_visible()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Variation on purpose")
    expect(dialog.get_by_role("heading", name="Help")).to_be_focused()
    press(page, "Close help")
    tip = page.get_by_role("tooltip").filter(has_text="Variation on purpose")
    expect(tip).to_be_hidden()
    page.get_by_role("link", name="grease", exact=True).focus()
    expect(tip).to_be_visible()
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()


def test_worlds_are_listed_chosen_and_shown_apart(
    context: BrowserContext, own_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = context.new_page()
    visit(page, own_url)
    expect(page.get_by_text(own_url, exact=True)).to_be_visible()
    call(own_url, "/v1/projects", body=b'{"name": "main-shop"}')
    call(own_url, "/v1/projects", body=b'{"name": "job-shop"}', token="dev-token.job-5")
    look(page)
    press(page, "Requests of main-shop")
    filter_by(page, "nothing")
    press(page, "All worlds")
    worlds = page.locator("#worlds").get_by_role("button")
    expect(worlds).to_have_text(["main 4 projects 1 request", "job-5 4 projects 1 request"])
    worlds.last.click()
    world = page.get_by_role("textbox", name="World")
    expect(world).to_have_value("job-5")
    expect(rows(page, "Projects").first).to_contain_text("job-shop")
    expect(region(page, "Projects")).not_to_contain_text("main-shop")
    expect(page.get_by_role("searchbox", name="Filter")).to_have_value("")
    expect(page.get_by_role("button", name="Remove the filter")).to_have_count(0)
    expect(rows(page, "Requests")).to_have_count(1)
    used = set()
    page.on("request", lambda each: used.add(each.headers.get("authorization")))
    world.press_sequentially("-more")
    look(page)
    assert used == {"Bearer dev-token.job-5"}  # no world of each letter
    alert = page.get_by_role("alert")
    for name in ("a.", "日本", "x" * 65, "x$(touch$IFS'p')"):
        world.fill(name)
        world.press("Enter")
        expect(alert).to_contain_text("The world is invalid.")
        expect(world).to_have_attribute("aria-invalid", "true")
        expect(page.get_by_text("curl")).to_have_count(0)
        expect(rows(page, "Requests")).to_have_count(0)
    monkeypatch.setattr("stub.worlds.MAX_WORLDS", 1)
    world.fill("more")
    world.press("Enter")
    expect(alert).to_contain_text("There is no room for another world.")
    expect(world).to_have_attribute("aria-invalid", "true")
    expect(world).to_have_value("more")
    world.fill("main")
    world.press("Enter")
    expect(rows(page, "Projects").first).to_contain_text("main-shop")
    expect(world).to_have_value("")


def test_axe_finds_no_violation(page: Page, send: Send) -> None:
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    page.evaluate(AXE_SCRIPT)
    send("/v1/projects?page=1", token="wrong")
    send("/v1/projects", body=b'{"name": "shop", "team": 1}')
    send("/_stub/faults", body=b'{"status": 503}')
    send("/v1/nowhere")
    press(page, "Create project")
    press(page, "Pause")
    open_tab(page, "Coverage").get_by_role("button", name="body member team").click()
    rows(page, "Requests").first.click()
    expect(page.get_by_role("button", name="Copy as curl")).to_be_enabled()
    options = {"resultTypes": ["violations"]}
    found = page.evaluate("async (options) => (await axe.run(options)).violations", options)
    assert found == [], AxeResults({"violations": found}).generate_report()
