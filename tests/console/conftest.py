"""A browser, Debian's chromium, and a page of the console."""

import os
import re
import shutil
from collections.abc import Iterator
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import TOKEN, needs
from tests.wire import Reply, call

if TYPE_CHECKING:  # the import takes a third of a second of a run that leaves these tests out
    from playwright.sync_api import Browser, Locator, Page

AS_LOADED = """import("/_stub/console/state.js").then(({set}) =>
    set({tab: "Controls", part: "Response", isPaused: false, dialog: null}))"""


def expect(locator: "Locator") -> Any:
    from playwright.sync_api import expect

    expect.set_options(timeout=20_000)
    return expect(locator)


class Console:
    """The console in a page, and a client of the world that it shows."""

    def __init__(self, page: "Page", url: str, token: str = TOKEN) -> None:
        self.page, self.url, self.token = page, url, token
        self.world = token.removeprefix(TOKEN).removeprefix(".")
        self.requests = page.get_by_role("region", name="Requests")
        self.projects = page.get_by_role("region", name="Projects")
        self.inspector = page.get_by_role("complementary")
        self.title = self.inspector.get_by_role("heading", level=2)
        self.filter = page.get_by_role("searchbox", name="Filter")
        self.status = page.get_by_role("status")
        self.alert = page.get_by_role("alert")
        self.announced = page.locator("#console > [aria-live=polite]")
        self.count = self.requests.locator(".count")
        self.rows = self.requests.locator("tbody").get_by_role("row")
        self.project_rows = self.projects.locator("tbody").get_by_role("row")

    def visit(self) -> None:
        """Open the console, or show the world in the page that has it, and wait for the data."""
        self.page.goto(f"{self.url}/#world={self.world}")
        expect(self.field("World")).to_have_value(self.world)
        expect(self.status).to_have_text("Connected")
        self.page.evaluate(AS_LOADED)

    def send(self, *targets: str, method: str = "", body: bytes = b"") -> Reply:
        """Send requests as a client of the world does; then the page has polled."""
        for target in targets:
            reply = call(self.url, target, token=self.token, method=method, body=body)
        with self.page.expect_request_finished(lambda each: each.url.endswith("/_stub/console")):
            self.page.evaluate("dispatchEvent(new Event('online'))")  # on which it polls
        return reply

    def tab(self, name: str) -> "Locator":
        """Select a tab of the rail or the inspector, and return what it shows."""
        self.page.get_by_role("tab", name=name, exact=True).click()
        return self.page.get_by_role("tabpanel", name=name, exact=True)

    def field(self, label: str) -> "Locator":
        return self.page.get_by_label(label, exact=True)

    def button(self, name: str) -> "Locator":
        return self.page.get_by_role("button", name=name, exact=True)

    def press(self, *names: str) -> None:
        for name in names:
            self.button(name).click()

    def copied(self, name: str) -> str:
        """What a button copies."""
        self.press(name)
        text: str = self.page.evaluate("navigator.clipboard.readText()")
        return text


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    needs("chromium")
    from playwright.sync_api import sync_playwright

    # Chromium's sandbox does not run as root.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    path = shutil.which("chromium")
    # Chromium makes a socket in its folder, whose path must be short, as that of TMPDIR may not be.
    with TemporaryDirectory(prefix="chromium-", dir="/tmp") as folder:
        env: dict[str, Any] = {**os.environ, "HOME": folder, "TMPDIR": folder}
        with sync_playwright() as playwright:
            yield playwright.chromium.launch(executable_path=path, args=arguments, env=env)


@pytest.fixture(scope="session")
def shared_page(browser: "Browser") -> Iterator["Page"]:
    """Loading a page takes as long as most tests, so they share one. It gives no secret away."""
    context = browser.new_context(reduced_motion="reduce")
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    sent: list[str] = []
    errors: list[object] = []
    context.on("request", lambda request: sent.append(request.url))
    context.on("weberror", lambda error: errors.append(error.error))
    context.on("console", lambda line: errors.extend(re.findall(".*Security Policy.*", line.text)))
    yield context.new_page()
    assert errors == []
    assert TOKEN not in "".join(sent)
    stored = context.storage_state()
    assert [stored["cookies"], stored["origins"]] == [[], []]
    context.close()


@pytest.fixture
def page(shared_page: "Page") -> "Page":
    """The shared page, for a test with a server of its own, which has an origin of its own."""
    shared_page.set_viewport_size({"width": 1280, "height": 900})
    shared_page.mouse.move(1, 1)  # who points at a list holds it
    return shared_page


@pytest.fixture
def console(page: "Page", live_url: str, own_token: str) -> Console:
    """The console with a world that no other test uses."""
    console = Console(page, live_url, own_token)
    console.visit()
    return console
