"""What changes a world: the form of a project, statuses, clock, grease, faults and the reset."""

import json
import re
from typing import TYPE_CHECKING

import pytest

from profiles.profile import make_profile
from tests.console.conftest import Console, expect
from tests.live import serving
from tests.profiles.conftest import like
from tests.services import DOCUMENTS

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.xdist_group("console")]

INVALID = [
    ("Create project", "Name", " ", "^Name must not be blank[.]$"),
    ("Create project", "Name", "website", "^409 Conflict: Another project has this name"),
    ("Add fault", "Status", "700", "^Status must be an integer .*[.]$"),
    ("Connect", "World", "日本", "The name of a world has 1 to 64 of"),
]


def test_an_error_is_at_its_field(console: Console) -> None:
    for button, label, value, reason in INVALID:
        field = console.field(label)
        field.fill(value)
        console.press(button)
        expect(field).to_have_accessible_description(re.compile(reason))
        expect(field).to_have_attribute("aria-invalid", "true")


def test_a_project_is_created_and_its_status_is_sent_when_it_is_chosen(console: Console) -> None:
    console.field("Name").fill("shop")
    console.press("Create project")
    expect(console.announced).to_have_text("Project shop created")
    expect(console.field("Name")).to_have_value("")
    sent: list[str | None] = []
    console.page.on("request", lambda each: sent.append(each.post_data))
    status = console.project_rows.first.get_by_role("combobox")
    for last_key in ("Escape", "Enter"):
        status.press("ArrowDown")  # which opens the list
        console.page.keyboard.press("ArrowDown")
        console.page.keyboard.press(last_key)
    expect(console.announced).to_have_text("shop is building")
    expect(status).to_have_value("building")
    expect(status).to_be_focused()
    assert [body for body in sent if body] == ['{"status":"building"}']
    console.page.route("**/_stub/deployments/*", lambda route: route.abort(), times=1)
    status.select_option("failed")
    expect(console.projects.get_by_role("alert")).to_contain_text("did not respond")
    expect(status).to_have_value("building")


def test_a_stub_that_is_like_a_service_has_its_form_and_words(page: "Page") -> None:
    profile = make_profile(DOCUMENTS["prisma"], "service.json")
    with serving(like(profile, pace=300, outcomes=[("*-gone", "failed")])) as port:
        console = Console(page, f"http://127.0.0.1:{port}")
        console.visit()
        expect(page.get_by_role("banner")).to_contain_text("like service.json, observed 2026-11-25")
        name, row = console.field("Name"), console.project_rows.first
        name.fill("shop")
        expect(page.locator("#names option")).to_have_attribute("value", "shop-gone")
        console.press("Create project")
        expect(console.rows).to_contain_text('"shop"')
        expect(row.get_by_role("option")).to_have_text(
            ["◐ new", "◐ provisioning", "✓ running", "◇ failed"]
        )
        row.locator(".deployment button").click()
        expect(console.inspector).to_contain_text("new now")
        name.fill("shop")
        console.press("Create project")
        alert = console.projects.get_by_role("alert")
        expect(alert).to_contain_text("409 CONFLICT: Conflict: Another", ignore_case=True)


CLOCK = [
    ("Advance 10 seconds", "10 s ahead", "The clock is advanced by 10 seconds"),
    ("Freeze", "10 s ahead, stands still", "The clock stands still"),
    ("Frozen", "10 s ahead", "The clock runs"),
    ("Advance 1 minute", "70 s ahead", "The clock is advanced by 1 minute"),
]


def test_clock_and_grease_are_switched_and_the_head_shows_what_is_on(console: Console) -> None:
    page, active = console.page, console.page.locator("#active")
    for button, shown, announced in CLOCK:
        console.press(button)
        expect(page.locator(".clock .hint")).to_have_text(shown)
        expect(console.announced).to_have_text(announced)
    switch = page.get_by_role("switch", name="Grease", exact=True)
    switch.check()
    expect(console.announced).to_have_text("Grease is on")
    console.press("Freeze", "Pause")
    console.send("/_stub/faults", body=b'{"delay": 0.01}')
    expect(active).to_have_text("⚡ 1 fault ❄ frozen ≈ grease ‖ paused")
    console.tab("Coverage")
    active.click()
    expect(page.get_by_role("tab", name="Controls", selected=True)).to_be_focused()
    switch.uncheck()
    expect(console.announced).to_have_text("Grease is off")


def test_the_tick_and_a_time_to_freeze_at_are_set_where_the_clock_is(console: Console) -> None:
    facts, at = console.page.locator(".clock"), console.field("Freeze at")
    console.field("Tick (s)").fill("1.5")
    console.press("Set")
    expect(facts).to_contain_text("1.5 s at each read of a deployment")
    expect(console.announced).to_have_text("The clock is set")
    at.fill("noon")
    console.press("Set")
    expect(at).to_have_attribute("aria-invalid", "true")
    at.fill("2026-01-01T00:00:00Z")
    console.field("Tick (s)").fill("0")
    console.press("Set")
    expect(facts).to_have_text("2026-01-01 00:00:00 UTC stands still")
    expect(at).to_have_value("")


POSITIONS = """() => [...document.querySelectorAll("button, input, h1, h2, h3, label, #status")]
    .filter((each) => each.checkVisibility() && !each.closest("#active, #faults"))
    .map((each) => `${each.textContent} ${JSON.stringify(each.getBoundingClientRect())}`)"""


@pytest.mark.parametrize("width", [1440, 1280, 1024, 820, 390])
def test_nothing_moves_when_the_first_fault_is_added(console: Console, width: int) -> None:
    console.page.set_viewport_size({"width": width, "height": 900})
    before = console.page.evaluate(POSITIONS)
    console.send("/_stub/faults", body=b'{"status": 503, "path": "/v1/deployments/dpl_succeeded"}')
    expect(console.page.locator("#active")).to_be_visible()
    assert console.page.evaluate(POSITIONS) == before


FAULT = {
    "Status": "503",
    "Times": "2",
    "Path": "/v1/deployments/*",
    "Delay (s)": "0.01",
    "Cut (bytes)": "3",
    "Headers (one a line)": "X-A: 1:2\n\nLink:\nX-A: 3",
    "Body": "<p>\n",
    "Content type": "text/html",
}
SHOWN_FAULTS = [
    "any method /v1/deployments/* status 503, headers X-A Link, body text/html,"
    " delay 0.01 s, cut after 3 bytes 2 left✕",
    "listProjects delay 0.02 s, drop before the operation 1 left✕",
    "any method any path status 503 all✕",
]


def test_faults_are_added_shown_and_removed(console: Console) -> None:
    listed = console.page.locator("#faults li")
    console.page.get_by_text("Path, delay").click()
    for label, value in FAULT.items():
        console.field(label).fill(value)
    console.press("Add fault")
    expect(console.announced).to_have_text("Fault added")
    console.field("Operation").select_option("listProjects")
    console.field("Delay (s)").fill("0.02")
    console.field("Drop").select_option("before the operation")
    console.press("Add fault")
    expect(listed).to_have_count(2)
    console.send("/_stub/faults", body=b'{"status": 503, "times": null}')
    expect(listed).to_have_text(SHOWN_FAULTS)
    first, *_ = console.send("/_stub/faults").json["faults"]
    assert (first["headers"], first["body"]) == ({"X-A": ["1:2", "3"], "Link": ""}, "<p>\n")
    console.press(f"Remove {first['id']}")
    expect(listed).to_have_count(2)
    expect(console.button("Clear faults")).to_be_focused()
    console.press("Clear faults")
    expect(listed).to_have_text(["No faults are waiting."])


def test_a_world_is_saved_as_files_and_reset_after_a_question(console: Console) -> None:
    console.send("/v1/projects", body=b'{"name": "shop"}')
    field = console.field("Name")
    field.fill("website")
    console.press("Create project")
    expect(field).to_have_attribute("aria-invalid", "true")
    for file, member, count in (("state", "projects", 4), ("journal", "requests", 2)):
        with console.page.expect_download() as download:
            console.press(f"Export {file}")
        assert download.value.suggested_filename == f"{console.world}-{file}.json"
        assert len(json.loads(download.value.path().read_bytes())[member]) == count
    for button, count, rejected in (("Cancel", 4, "website"), ("Reset", 3, "")):
        console.button("Reset").press("Enter")
        dialog = console.page.get_by_role("dialog", name=f"Reset the world {console.world}?")
        expect(dialog).to_contain_text("4 projects, 2 requests, 0 faults")
        dialog.get_by_role("button", name=button).press("Enter")
        expect(dialog).to_have_count(0)
        expect(console.button("Reset")).to_be_focused()
        expect(console.project_rows).to_have_count(count)
        expect(field).to_have_value(rejected)
    expect(console.rows).to_have_count(0)
