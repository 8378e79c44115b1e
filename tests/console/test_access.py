"""For everybody: axe-core, the keyboard, the widths, the two schemes, and reduced motion."""

from typing import Literal

import pytest
from axe_playwright_python.base import AXE_SCRIPT, AxeResults
from playwright.sync_api import Page, expect

from tests.console.conftest import Send, inspector, press, region, rows

pytestmark = [pytest.mark.process, pytest.mark.xdist_group("console")]


LOOKS: list[tuple[Literal["light", "dark"], int]] = [
    ("light", 360),
    ("light", 1280),
    ("dark", 2560),
]


def assert_no_violation(page: Page, part: str) -> None:
    """axe-core, which is in the page, finds no violation in a part of it."""
    options = {"resultTypes": ["violations"]}
    found = page.evaluate(
        "async ([part, options]) => (await axe.run(part, options)).violations", [part, options]
    )
    assert found == [], AxeResults({"violations": found}).generate_report()


def assert_accessible(page: Page, part: str = "html") -> None:
    """axe-core finds no violation at any width, nor in the dark scheme, which is alike at all."""
    for scheme, width in LOOKS:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.set_viewport_size({"width": width, "height": 900})
        assert_no_violation(page, part)


def test_axe_finds_no_violation(page: Page, send: Send) -> None:
    page.evaluate(AXE_SCRIPT)
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
    press(page, "Reset")
    assert_no_violation(page, "html")
    assert_accessible(page, "dialog[open]")


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


def test_a_row_keeps_the_focus_while_others_arrive(page: Page, send: Send) -> None:
    send("/v1/deployments/a")
    expect(rows(page, "Requests")).to_have_count(1)
    focus(page, "/v1/deployments/a")
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
