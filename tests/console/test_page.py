"""The page: its projects, controls, coverage, contract and worlds, by pointer and by keyboard."""

import json
import re

import pytest
from axe_playwright_python.base import AXE_SCRIPT, AxeResults
from playwright.sync_api import Page, expect

from tests.conftest import ROOT, SAMPLE_SEED, make_stub
from tests.console.conftest import VIEWPORT, Console
from tests.live import serving
from tests.wire import call

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.xdist_group("console")]


def test_a_project_is_created_or_its_error_is_at_the_field(console: Console) -> None:
    field = console.page.get_by_label("Name", exact=True)
    alert = console.projects.get_by_role("alert")
    said = {
        "website": "409 Conflict: Another project has this name",
        " ": "Name must not be blank.",
    }
    for name, text in said.items():
        field.fill(name)
        console.press("Create project")
        expect(alert).to_contain_text(text)
        expect(field).to_have_value(name)
        expect(field).to_have_attribute("aria-invalid", "true")
    field.fill("shop")
    expect(alert).to_have_count(0)
    console.press("Create project")
    first = console.project_rows.first
    for text in ("shop", "prj_", "dpl_", "queued"):
        expect(first).to_contain_text(text)
    expect(console.announced).to_have_text("Project shop created")
    expect(field).to_have_value("")
    expect(console.project_rows).to_have_count(4)


def test_a_status_is_set_when_it_is_chosen(console: Console) -> None:
    page = console.page
    status = console.project_rows.first.get_by_role("combobox")
    sent: list[str] = []
    page.on("request", lambda each: sent.append(each.url) if each.method == "PUT" else None)
    status.press("ArrowDown")  # which opens the list
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    expect(status).to_have_value("queued")
    assert sent == []
    status.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_text("search is building")).to_be_attached()
    expect(status).to_be_focused()
    assert console.send("/v1/deployments/dpl_queued").json["status"] == "building"
    page.route("**/_stub/deployments/*", lambda route: route.abort())
    status.select_option("failed")
    expect(console.projects.get_by_role("alert")).to_contain_text("did not respond")
    expect(status).to_have_value("building")
    page.unroute("**/_stub/deployments/*")


def test_clock_and_grease_are_switched_and_the_head_shows_what_is_on(console: Console) -> None:
    controls, active = console.controls, console.page.locator("#active")
    expect(active).to_have_count(0)
    console.press("Advance 10 seconds")
    expect(controls).to_contain_text("10 s ahead")
    console.press("Advance 1 minute")
    expect(console.announced).to_have_text("The clock is advanced by 1 minute")
    expect(controls).to_contain_text("70 s ahead")
    console.press("Freeze")
    expect(console.button("Frozen")).to_have_attribute("aria-pressed", "true")
    assert console.send("/_stub/clock").json["frozen"] is True
    switch = console.page.get_by_role("switch", name="Grease", exact=True)
    expect(switch).to_be_hidden()
    console.page.get_by_text("Vary the responses").click()
    switch.check()
    expect(console.announced).to_have_text("Grease is on")
    assert "members" in console.send("/_stub/grease").json["axes"]
    console.send("/_stub/faults", body=b'{"status": 503, "times": 7}')
    console.send("/_stub/faults", body=b'{"delay": 0.01}')
    console.press("Pause")
    expect(active).to_have_text("⚡ 2 faults ❄ frozen ≈ grease ‖ paused")
    active.click()
    expect(console.page.get_by_role("tab", name="Controls")).to_be_focused()
    switch.uncheck()
    expect(console.announced).to_have_text("Grease is off")
    console.press("Frozen")
    expect(console.button("Freeze")).to_have_attribute("aria-pressed", "false")


def test_on_a_phone_world_and_token_are_folded_until_they_are_needed(console: Console) -> None:
    page, world = console.page, console.page.get_by_role("textbox", name="World")
    fold = page.locator("#fold")
    expect(fold).to_be_hidden()
    page.set_viewport_size({"width": 390, "height": 844})
    expect(world).to_be_hidden()
    expect(fold).to_contain_text(f"World {console.world}")
    fold.click()
    expect(world).to_be_visible()
    world.fill("a.")
    world.press("Enter")
    fold.click()
    expect(world).to_be_visible()  # since it is invalid
    page.set_viewport_size(VIEWPORT)


def test_faults_are_added_met_and_removed(console: Console) -> None:
    controls = console.controls
    listed = controls.locator("#faults li")
    status = console.page.get_by_label("Status", exact=True)
    status.fill("700")
    console.press("Add fault")
    expect(status).to_have_attribute("aria-invalid", "true")
    expect(status).to_have_accessible_description(re.compile("^Status must be an integer .*[.]$"))
    status.fill("503")
    controls.get_by_text("Path, delay").click()
    fields = {"Path": "/v1/deployments/*", "Delay (s)": "0.01", "Retry after (s)": "7",
              "Cut (bytes)": "3", "Times": "2", "Headers (one a line)": "X-A: 1:2\n\nLink:",
              "Body": "<p>\n", "Content type": "text/html"}  # fmt: skip
    for label, value in fields.items():
        controls.get_by_label(label, exact=True).fill(value)
    console.press("Add fault")
    expect(console.announced).to_have_text("Fault added")
    expect(listed).to_have_text(
        "any method /v1/deployments/* status 503, headers X-A Link, body text/html, "
        "retry after 7 s, delay 0.01 s, cut after 3 bytes 2 left✕"
    )
    (added,) = console.send("/_stub/faults").json["faults"]
    assert (added["headers"], added["body"]) == ({"X-A": "1:2", "Link": ""}, "<p>\n")
    controls.get_by_label("Operation").select_option("listProjects")
    controls.get_by_label("Stall (s)").fill("0.01")
    controls.get_by_label("Drop").select_option("before the operation")
    console.press("Add fault")
    expect(listed).to_have_count(2)
    console.press(f"Remove {added['id']}")
    expect(console.button("Clear faults")).to_be_focused()
    expect(listed).to_have_text(["listProjects stall 0.01 s, drop before the operation 1 left✕"])
    with pytest.raises(AssertionError, match="closed after b''"):
        console.send("/v1/projects")
    console.look()
    expect(console.rows.first).to_contain_text("⚡ fault")
    console.send("/_stub/faults", body=b'{"status": 503, "times": null}')
    expect(listed).to_contain_text("all")
    console.press("Clear faults")
    expect(listed).to_have_count(0)
    expect(console.button("Clear faults")).to_be_disabled()


def test_a_world_is_saved_as_files_and_reset_after_a_question(console: Console) -> None:
    console.send("/v1/projects", body=b'{"name": "shop"}')
    expect(console.project_rows).to_have_count(4)
    console.page.set_viewport_size({"width": 1280, "height": 800})
    expect(console.button("Reset")).to_be_in_viewport(ratio=1)
    console.page.set_viewport_size(VIEWPORT)
    field = console.page.get_by_label("Name", exact=True)
    field.fill("website")
    console.press("Create project")
    expect(console.projects.get_by_role("alert")).to_contain_text("name")
    for name, member, count in (("state", "projects", 4), ("journal", "requests", 2)):
        with console.page.expect_download() as download:
            console.press(f"Export {name}")
        assert download.value.suggested_filename == f"{console.world}-{name}.json"
        assert len(json.loads(download.value.path().read_text("utf-8"))[member]) == count
    dialog = console.page.get_by_role("dialog")
    for button, count in {"Cancel": 4, "Reset": 3}.items():
        console.button("Reset").press("Enter")
        expect(dialog.get_by_role("heading")).to_have_text(f"Reset the world {console.world}?")
        expect(dialog).to_contain_text("4 projects, 2 requests, 0 faults")
        dialog.get_by_role("button", name=button).press("Enter")
        expect(dialog).to_have_count(0)
        expect(console.button("Reset")).to_be_focused()
        expect(console.project_rows).to_have_count(count)
    expect(console.rows).to_have_count(0)
    expect(field).to_have_value("")  # of a name that was rejected
    expect(console.projects.get_by_role("alert")).to_have_count(0)


def test_coverage_and_projects_lead_to_their_requests(console: Console) -> None:
    coverage = console.tab("Coverage")
    row = coverage.get_by_role("row", name="404")
    expect(row.get_by_role("img", name="not met")).to_have_count(1)
    made = console.send("/v1/projects", body=b'{"name": "shop", "team": 1}').json
    console.send(*[f"/v1/projects?{query}" for query in ("page=1", "limit=1", "page=2", "")])
    console.send("/v1/deployments/a", f"/v1/deployments/{made['latest_deployment_id']}")
    expect(row).to_contain_text("✓ 1")
    expect(coverage).to_contain_text("4 of 28 responses")
    finding = coverage.get_by_role("listitem").filter(has_text="△ unpromised: listProjects")
    expect(finding.get_by_role("button")).to_have_text(
        ["query parameter page2\u00d7", "query parameter limit1\u00d7"]
    )
    console.filter.fill("POST")
    coverage.get_by_role("button", name="the requests of listProjects with 200").click()
    expect(console.rows).to_have_count(4)
    expect(console.filter).to_have_value("")
    console.press("Requests of shop")
    expect(console.rows).to_have_count(2)
    expect(console.page.get_by_role("button", name="Remove the filter")).to_have_text("shop ✕")
    coverage.get_by_role("button", name="unpromised: createProject: body member team").click()
    expect(console.rows).to_contain_text("POST")
    console.press("Remove the filter createProject: body member team")
    expect(console.filter).to_be_focused()
    expect(console.rows).to_have_count(7)


def test_the_contract_says_what_is_promised_and_what_was_used(console: Console) -> None:
    console.send("/v1/projects?page=1", "/v1/projects")
    contract = json.loads((ROOT / "openapi.json").read_text("utf-8"))
    tab = console.tab("Contract")
    for path, item in contract["paths"].items():
        for method in {"get", "post"} & item.keys():
            shown = tab.get_by_role("group").filter(has_text=item[method]["operationId"])
            expect(shown).to_contain_text(f"{method.upper()} {path}")
            for status in item[method]["responses"]:
                expect(shown.get_by_text(status, exact=True)).to_have_count(1)
    expect(tab.locator("summary")).to_contain_text(["1 of 8 met", "0 of 11 met", "0 of 9 met"])
    expect(tab.get_by_role("group").filter(has_text="createProject")).to_contain_text("fixed §4")
    listed = tab.get_by_role("group").filter(has_text="listProjects")
    chosen = contract["paths"]["/v1/projects"]["get"]["responses"]["200"]["x-origin"]["chosen"]
    for text in (chosen, "projects.latest_deployment_id", "query parameter page1\u00d7"):
        expect(listed).to_contain_text(text)
    expect(tab.get_by_text("code", exact=True)).to_have_count(0)  # a member of each error
    listed.get_by_role("button", name="✓ 2: the requests of listProjects with 200").click()
    expect(console.rows).to_have_count(2)


def test_the_keyboard_alone_is_enough(console: Console) -> None:
    page = console.page
    console.tab_to("Name")
    page.keyboard.type("shop")
    page.keyboard.press("Enter")
    expect(console.project_rows.first).to_contain_text("shop")
    console.send("/v1/deployments/a")
    expect(console.rows).to_have_count(2)
    console.tab_to("/v1/deployments/a")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    console.tab_to("Response")
    for name in ("Request", "curl"):
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("tabpanel", name=name)).to_be_visible()
        expect(page.get_by_role("tab", name=name, selected=True)).to_be_focused()
    page.keyboard.press("Escape")
    expect(console.inspector).to_be_hidden()
    expect(console.rows.nth(1).get_by_role("button")).to_be_focused()
    console.tab_to("shop")
    for key, name in {"ArrowDown": "Requests of search", "Tab": "Timeline of dpl_queued",
                      "End": "Timeline of dpl_succeeded"}.items():  # fmt: skip
        page.keyboard.press(key)
        expect(console.button(name)).to_be_focused()
    console.tab_to("Vary the responses")
    page.keyboard.press("Enter")
    console.tab_to("Grease")
    page.keyboard.press("Space")
    expect(page.get_by_role("switch", name="Grease")).to_be_checked()


def test_keys_reach_the_filter_the_pause_and_the_help(console: Console) -> None:
    page = console.page
    page.keyboard.press("/")
    page.keyboard.type("p?/")
    expect(console.filter).to_have_value("p?/")
    console.filter.fill("")
    console.requests.get_by_role("group", name="Newest requests").focus()
    page.keyboard.press("Alt+p")
    for name, text in {"Paused": "Paused", "Pause": "New requests are shown again"}.items():
        page.keyboard.press("p")
        expect(console.announced).to_have_text(text)
        expect(console.button(name)).to_be_visible()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Variation on purpose")
    expect(dialog.get_by_role("heading", name="Help")).to_be_focused()
    console.press("Close help")
    tip = page.get_by_role("tooltip").filter(has_text="Variation on purpose")
    expect(tip).to_be_hidden()
    page.get_by_text("Vary the responses").click()
    page.get_by_role("link", name="grease", exact=True).focus()
    expect(tip).to_be_visible()
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()


def test_worlds_are_those_of_the_tenant_listed_chosen_and_apart(page: Page) -> None:
    app = make_stub(tokens=["team-a=dev-token", "team-b=two"], seed=SAMPLE_SEED)
    with serving(app) as port:
        console = Console(page, f"http://127.0.0.1:{port}")
        console.visit()
        expect(page.get_by_role("banner")).to_contain_text("tenant team-a")
        call(console.url, "/v1/projects", token="two.job-2")
        call(console.url, "/v1/projects", body=b'{"name": "job-shop"}', token="dev-token.job-5")
        console.send("/v1/projects", body=b'{"name": "main-shop"}')
        console.press("Requests of main-shop")
        console.press("All worlds")
        worlds = console.page.locator("#worlds").get_by_role("button")
        expect(worlds).to_have_text(["main 4 projects 1 request", "job-5 4 projects 1 request"])
        worlds.last.click()
        world = console.page.get_by_role("textbox", name="World")
        expect(world).to_have_value("job-5")
        expect(console.project_rows.first).to_contain_text("job-shop")
        expect(console.projects).not_to_contain_text("main-shop")
        expect(console.page.get_by_role("button", name="Remove the filter")).to_have_count(0)
        expect(console.rows).to_have_count(1)
        used = set()
        console.page.on("request", lambda each: used.add(each.headers.get("authorization")))
        world.press_sequentially("-more")
        console.look()
        assert used == {"Bearer dev-token.job-5"}  # no world of each letter
        world.fill("日本")
        world.press("Enter")
        expect(console.alert).to_contain_text("The world is invalid.")
        expect(world).to_have_attribute("aria-invalid", "true")
        world.fill("main")
        world.press("Enter")
        expect(console.project_rows.first).to_contain_text("main-shop")
        expect(world).to_have_value("")
        console.page.get_by_label("Token").fill("wrong")
        console.press("Connect")
        expect(console.status).to_have_text("Not connected")
        console.press("Connect")  # with an empty field: the default token
        expect(console.status).to_have_text("Connected")


def test_axe_finds_no_violation(console: Console) -> None:
    page = console.page
    page.emulate_media(color_scheme="dark")
    page.evaluate(AXE_SCRIPT)
    console.send("/v1/projects?page=1", token="wrong")
    console.send("/v1/projects", body=b'{"name": "shop", "team": 1}')
    console.send("/_stub/faults", body=b'{"status": 503}')
    console.send("/v1/nowhere")
    console.press("Create project", "Pause")
    console.tab("Coverage").get_by_role("button", name="body member team").click()
    console.rows.first.click()
    expect(console.button("Copy as curl")).to_be_enabled()
    found = page.evaluate("axe.run({resultTypes: ['violations']}).then((all) => all.violations)")
    assert found == [], AxeResults({"violations": found}).generate_report()
    page.emulate_media(color_scheme="light")
