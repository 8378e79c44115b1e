"""For everybody: axe-core, the keyboard, the widths, the two schemes, and reduced motion."""

import re
from typing import Literal, get_args

import pytest
from axe_playwright_python.base import AXE_SCRIPT, AxeResults
from playwright.sync_api import Page, expect

from tests.console.conftest import (
    Send,
    announced,
    focused,
    inspector,
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


Scheme = Literal["light", "dark", "forced"]
WIDTHS = (390, 1280, 2560)
# One pair in the command of the README, all in .ci/run.
LOOKS = [
    pytest.param(scheme, width, marks=[pytest.mark.slow] if (index, at) != (1, 1) else [])
    for index, scheme in enumerate(get_args(Scheme))
    for at, width in enumerate(WIDTHS)
]
in_each_look = pytest.mark.parametrize(("scheme", "width"), LOOKS)
# The text spacing of WCAG 1.4.12.
SPACING = (
    "* { line-height: 1.5; letter-spacing: 0.12em; word-spacing: 0.16em } p { margin-bottom: 2em }"
)


def set_look(page: Page, scheme: Scheme, width: int) -> None:
    page.emulate_media(
        color_scheme="light" if scheme == "light" else "dark",
        forced_colors="active" if scheme == "forced" else "none",
        reduced_motion="reduce",
    )
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate(AXE_SCRIPT)


def assert_accessible(page: Page) -> None:
    """axe-core, which is in the page, finds no violation."""
    options = {"resultTypes": ["violations"]}
    found = page.evaluate("async (options) => (await axe.run(options)).violations", options)
    assert found == [], AxeResults({"violations": found}).generate_report()


@in_each_look
def test_axe_finds_no_violation(page: Page, send: Send, scheme: Scheme, width: int) -> None:
    set_look(page, scheme, width)
    assert_accessible(page)
    send("/v1/projects?page=1", token="wrong")
    send("/v1/projects", body=b'{"name": "shop", "team": 1}')
    send("/_stub/faults", body=b'{"status": 503}')
    send("/v1/nowhere")
    press(page, "Create project")
    expect(rows(page, "Requests")).not_to_have_count(0)
    press(page, "Pause")
    expect(region(page, "Projects").get_by_role("alert")).to_be_visible()
    assert_accessible(page)
    rows(page, "Requests").first.click()
    expect(page.get_by_role("button", name="Copy as curl")).to_be_enabled()
    assert_accessible(page)
    page.keyboard.press("Escape")
    press(page, "Timeline of dpl_building")
    expect(inspector(page)).to_contain_text("Your client asked")
    assert_accessible(page)
    page.keyboard.press("Escape")
    open_tab(page, "Coverage").get_by_role("button", name="body member team").click()
    expect(page.get_by_role("button", name="Remove the filter")).to_be_visible()
    assert_accessible(page)
    expect(open_tab(page, "Contract")).to_contain_text("listProjects")
    assert_accessible(page)
    open_tab(page, "Controls")
    press(page, "Reset")
    assert_accessible(page)


def test_no_width_needs_sideways_scrolling(page: Page, send: Send) -> None:
    send("/v1/projects", body=b'{"name": "' + 100 * b"W" + b'"}')
    send("/v1/deployments/" + 255 * "x" + "?" + 400 * "y")
    expect(rows(page, "Requests")).to_have_count(2)
    for width in (360, 480, 768, 1024, 1440, 1920, 2560):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") == width
        for name in ("Projects", "Requests"):
            scroller = region(page, name).get_by_role("group").first
            assert scroller.evaluate("(each) => each.scrollWidth <= each.clientWidth"), width


def focus(page: Page, name: str) -> None:
    """Press Tab until the element of that name has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        found = page.evaluate(
            "(document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim()"
        )
        if found == name:
            return
    raise AssertionError(f"Tab does not reach {name}")


def test_the_keyboard_alone_is_enough(page: Page, send: Send) -> None:
    focus(page, "Name")
    page.keyboard.type("shop")
    page.keyboard.press("Enter")
    expect(rows(page, "Projects").first).to_contain_text("shop")
    send("/v1/deployments/a")
    expect(rows(page, "Requests")).to_have_count(2)
    focus(page, "/v1/deployments/a")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    focus(page, "Response")
    for name in ("Request", "curl"):
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("tabpanel", name=name)).to_be_visible()
    expect(inspector(page)).to_contain_text('{"name":"shop"}')
    page.keyboard.press("Escape")
    expect(inspector(page)).to_be_hidden()
    expect(rows(page, "Requests").nth(1).get_by_role("button")).to_be_focused()
    focus(page, "Grease")
    page.keyboard.press("Space")
    expect(page.get_by_role("switch", name="Grease")).to_be_checked()
    focus(page, "Reset")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    focus(page, "Reset")
    page.keyboard.press("Enter")
    expect(rows(page, "Requests")).to_have_count(0)
    focus(page, "Advance 1 minute")
    page.keyboard.press("Space")
    expect(region(page, "Controls")).to_contain_text("60 s ahead")


def test_tab_reaches_one_row_of_a_list_and_the_arrows_the_others(page: Page, send: Send) -> None:
    send("/v1/deployments/a", "/v1/deployments/b")
    expect(rows(page, "Requests")).to_have_count(2)
    focus(page, "search")
    page.keyboard.press("ArrowDown")
    assert focused(page) == "Requests of billing"
    page.keyboard.press("Tab")
    assert focused(page) == "Timeline of dpl_building"
    page.keyboard.press("ArrowDown")
    assert focused(page) == "Timeline of dpl_succeeded"
    page.keyboard.press("Tab")
    assert focused(page) == "Status of website"
    page.keyboard.press("Tab")
    assert focused(page) == "Pause"
    page.get_by_role("textbox", name="Name").fill("shop")
    press(page, "Create project")
    expect(announced(page)).to_have_text("Project shop created")
    focus(page, "shop")


def test_no_cell_cuts_the_ring_of_the_focus(page: Page) -> None:
    row = rows(page, "Projects").first
    row.get_by_role("button").first.press("Shift")  # the keyboard is in use
    for each in [*row.get_by_role("button").all(), row.get_by_role("combobox")]:
        each.focus()
        assert each.evaluate("(each) => parseFloat(getComputedStyle(each).outlineOffset)") < 0


def test_the_focus_of_a_request_is_around_its_row(page: Page, send: Send) -> None:
    send("/v1/deployments/a")
    focus(page, "/v1/deployments/a")
    row = rows(page, "Requests").first
    for each, style in {row: "solid", row.get_by_role("button"): "none"}.items():
        assert each.evaluate("(each) => getComputedStyle(each).outlineStyle") == style


def test_a_row_keeps_the_focus_while_others_arrive(page: Page, send: Send) -> None:
    send("/v1/deployments/c")
    expect(rows(page, "Requests")).to_have_count(1)
    page.get_by_role("searchbox", name="Filter").press("Tab")
    assert focused(page) == "Newest requests"  # which is no row
    send("/v1/deployments/b")
    expect(rows(page, "Requests")).to_have_count(2)
    page.keyboard.press("PageDown")
    send("/v1/deployments/a")
    expect(rows(page, "Requests")).to_have_count(3)
    page.keyboard.press("Tab")
    send(*[f"/v1/deployments/b{number}" for number in range(5)])
    expect(page.get_by_role("button", name="5 new requests")).to_be_visible()
    expect(page.get_by_role("button", name="/v1/deployments/a")).to_be_focused()


def test_reduced_motion_is_honored(page: Page, send: Send) -> None:
    send("/v1/deployments/a")
    expect(rows(page, "Requests")).to_have_count(1)
    send("/v1/deployments/b")
    new = rows(page, "Requests").filter(has_text="/b")
    expect(new).to_be_visible()
    assert new.evaluate("(row) => getComputedStyle(row).animationName") == "arrive"
    page.emulate_media(reduced_motion="reduce")
    assert new.evaluate("(row) => getComputedStyle(row).animationName") == "none"


def test_the_scheme_is_that_of_the_system(page: Page) -> None:
    color = "getComputedStyle(document.body).backgroundColor"
    page.emulate_media(color_scheme="light")
    light = page.evaluate(color)
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(color) != light


def test_what_changes_is_announced(page: Page, send: Send) -> None:
    page.get_by_role("textbox", name="Name").fill("shop")
    press(page, "Create project")
    expect(announced(page)).to_have_text("Project shop created")
    press(page, "Advance 1 minute")
    expect(announced(page)).to_have_text("The clock is advanced by 1 minute")
    page.get_by_label("Status", exact=True).fill("503")
    press(page, "Add fault")
    expect(announced(page)).to_have_text("Fault added")
    page.get_by_role("searchbox", name="Filter").fill("POST")
    expect(announced(page)).to_have_text("1 request matches the filter")


def test_new_requests_are_announced_with_all_that_came_meanwhile(
    stopped: Page, own_url: str
) -> None:
    call(own_url, "/v1/projects")
    visit(stopped, own_url)
    for counts, text in {
        (2,): "2 new requests",
        (1, 2): "3 new requests",
        (3,): "3 new requests\u00a0",
    }.items():
        for count in counts:
            for _ in range(count):
                call(own_url, "/v1/projects")
            look(stopped)
        stopped.clock.run_for(5001)
        look(stopped)
        expect(announced(stopped)).to_have_js_property("textContent", text)


def test_a_row_is_named_by_method_path_status_and_time(page: Page, send: Send) -> None:
    send("/v1/deployments/a?b=1")
    name = rows(page, "Requests").get_by_role("button").first.get_attribute("aria-label")
    assert re.fullmatch(r"GET /v1/deployments/a\?b=1 404 at \d\d:\d\d:\d\d\.\d{3}", name or "")


def test_the_focus_never_falls_to_the_body(page: Page, send: Send) -> None:
    def press_key(name: str, key: str = "Enter") -> None:
        page.get_by_role("button", name=name, exact=True).focus()
        page.keyboard.press(key)

    send("/v1/deployments/a")
    focus(page, "/v1/deployments/a")
    send("/v1/deployments/b")
    press_key("1 new request")
    expect(page.get_by_role("button", name="1 new request")).to_be_hidden()
    assert focused(page) == "Newest requests"
    send("/v1/deployments/c")  # the list is not held
    expect(rows(page, "Requests").first).to_contain_text("/c")
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 844})
        rows(page, "Requests").last.get_by_role("button").focus()
        page.keyboard.press("Enter")
        expect(inspector(page)).to_be_visible()
        page.keyboard.press("Escape")
        expect(inspector(page)).to_be_hidden()
        assert "/v1/deployments/a" in focused(page)
    send("/v1/deployments/d")
    expect(rows(page, "Requests").first).to_contain_text("/d")
    press_key("Reset")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    assert focused(page) == "Reset"
    expect(page.locator("dialog")).to_have_count(0)
    for button in ("Cancel", "Reset"):
        press_key("Reset")
        page.get_by_role("dialog").get_by_role("button", name=button).press("Enter")
        expect(page.locator("dialog")).to_have_count(0)
        assert focused(page) == "Reset"
    send("/_stub/faults", body=b'{"status": 503}')
    press_key("Remove flt_1")
    expect(region(page, "Controls").get_by_role("listitem")).to_have_count(0)
    assert focused(page) == "Clear faults"
    world = page.get_by_role("textbox", name="World")
    world.press("Enter")
    expect(world).to_be_focused()


@pytest.mark.slow
def test_an_error_points_to_its_field_and_ends_when_that_is_corrected(page: Page) -> None:
    def places() -> list[object]:
        parts = "#projects tr, #create *, #rail :is(input, button, h3, .hint, li)"
        return [each.bounding_box() for each in page.locator(parts).all()]

    before = places()
    forms = {
        ("Name", "Create project"): ("website", "shop"),
        ("Status", "Add fault"): ("700", "503"),
        ("Times", "Add fault"): ("0", "2"),
    }
    for (label, button), (wrong, right) in forms.items():
        field = page.get_by_role("textbox" if label == "Name" else "spinbutton", name=label)
        field.fill(wrong)
        press(page, button)
        expect(field).to_have_attribute("aria-invalid", "true")
        error = page.locator(f"#{field.get_attribute('aria-describedby')}")
        expect(error).to_be_visible()
        assert places() == before
        if label != "Name":
            expect(error).to_have_text(re.compile(f"^{label} must be an integer from .*[.]$"))
        field.fill(right)
        expect(error).to_be_hidden()
        expect(field).not_to_have_attribute("aria-invalid", "true")
    delay = page.get_by_label("Delay (s)", exact=True)
    page.get_by_text("Path, delay").click()
    delay.fill("31")
    page.get_by_text("Path, delay").click()
    expect(delay).to_be_hidden()
    press(page, "Add fault")
    expect(delay).to_be_visible()


@pytest.mark.slow
def test_what_shows_a_state_is_visible_in_forced_colors(page: Page, send: Send) -> None:
    page.emulate_media(forced_colors="active", reduced_motion="reduce")
    switch = page.get_by_role("switch", name="Grease")
    off = switch.screenshot()
    switch.check()
    page.mouse.move(1, 1)
    assert switch.screenshot() != off
    bar = open_tab(page, "Coverage").get_by_role("progressbar")
    none = bar.screenshot()
    send("/v1/projects", "/v1/deployments/a")
    expect(bar).to_have_attribute("value", "2")
    assert bar.screenshot() != none
    send("/v1/projects?page=1", "/v1/nowhere")
    press(page, "Create project")
    edge = "(each) => getComputedStyle(each).borderTopWidth + getComputedStyle(each).borderTopStyle"
    for shown in ("#findings li.unpromised", "#findings li.violation", "#projects .error", ".met"):
        assert page.locator(shown).first.evaluate(edge) == "1pxsolid"
    tabs = page.get_by_role("tab").all()
    color = "(each) => getComputedStyle(each).borderBottomColor"
    ground = page.evaluate("getComputedStyle(document.querySelector('#rail')).backgroundColor")
    assert [each.evaluate(color) == ground for each in tabs] == [True, False, True]
    open_tab(page, "Controls")
    assert page.locator("#rail pre").evaluate(edge) == "1pxsolid"
    open_tab(page, "Contract")
    for shown in (".fixed", ".chosen"):
        assert page.locator(shown).first.evaluate(edge) == "1pxsolid"


@in_each_look
def test_text_keeps_its_contrast_while_the_server_is_gone(
    page: Page, send: Send, scheme: Scheme, width: int
) -> None:
    set_look(page, scheme, width)
    send("/v1/projects?page=1")
    page.route("**/_stub/console?*", lambda route: route.abort())
    poll_now(page)
    expect(page.get_by_role("alert").filter(has_text="gone")).to_be_visible()
    assert_accessible(page)
    page.unroute("**/_stub/console?*")


def test_nothing_is_cut_at_the_text_spacing_of_wcag(page: Page, send: Send) -> None:
    send("/v1/projects", body=b'{"name": "storefront"}')
    send("/v1/projects?page=1", "/v1/projects/a")
    rows(page, "Requests").first.click()
    expect(page.get_by_role("button", name="Copy as curl")).to_be_enabled()
    page.evaluate(
        "(text) => { const sheet = new CSSStyleSheet(); sheet.replaceSync(text);"
        "document.adoptedStyleSheets = [sheet]; }",
        SPACING,
    )
    cut = """[...document.querySelectorAll("#console :not(pre, input, .unseen, thead, thead *)")]
        .filter((each) => each.checkVisibility({visibilityProperty: true}))
        .filter((each) => /hidden|clip/.test(getComputedStyle(each).overflowX))
        .filter((each) => each.scrollWidth > each.clientWidth
            || each.scrollHeight > each.clientHeight + 1)
        .map((each) => each.outerHTML.slice(0, 99))"""
    for width in (1280, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(cut) == []
