"""A browser, Debian's chromium, and a page of the console."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Locator,
    Page,
    ViewportSize,
    expect,
    sync_playwright,
)

from tests.conftest import TOKEN, needs
from tests.wire import Reply, call

POLL = "**/_stub/console"
VIEWPORT: ViewportSize = {"width": 1280, "height": 900}
AS_LOADED = """import("/_stub/console/state.js").then(({set}) =>
    set({tab: "Controls", part: "Response", isPaused: false, dialog: null}))"""


class Console:
    """The console in a page, and a client of the world that it shows.

    The page polls once a second. `look()` makes it poll at once.
    """

    def __init__(self, page: Page, url: str, token: str = TOKEN) -> None:
        self.page, self.url, self.token = page, url, token
        self.world = token.removeprefix(TOKEN).removeprefix(".")
        self.requests = self.region("Requests")
        self.projects = self.region("Projects")
        self.controls = self.region("Controls")
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
        expect(self.page.get_by_role("textbox", name="World")).to_have_value(self.world)
        expect(self.status).to_have_text("Connected")

    def send(self, *targets: str, token: str = "", method: str = "", body: bytes = b"") -> Reply:
        """Send requests as a client of the world does; the page polls after the last one."""
        for target in targets:
            reply = call(self.url, target, token=token or self.token, method=method, body=body)
        self.look()
        return reply

    def poll(self) -> None:
        """What happens in the page when the network comes back: it polls."""
        self.page.evaluate("dispatchEvent(new Event('online'))")

    def look(self) -> None:
        """Let the page poll, and wait until it has the response."""
        with self.page.expect_request_finished(lambda each: each.url.endswith("/_stub/console")):
            self.poll()

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """The tab is in the background: the page does not poll."""
        script = """(value) => {
            Object.defineProperty(document, "hidden", {value, configurable: true});
            document.dispatchEvent(new Event("visibilitychange"));
        }"""
        self.page.evaluate(script, True)
        yield
        self.page.evaluate(script, False)

    def region(self, name: str) -> Locator:
        return self.page.get_by_role("region", name=name, exact=True)

    def tab(self, name: str) -> Locator:
        """Select a tab of the rail or the inspector, and return what it shows."""
        self.page.get_by_role("tab", name=name, exact=True).click()
        return self.page.get_by_role("tabpanel", name=name, exact=True)

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def press(self, *names: str) -> None:
        for name in names:
            self.button(name).click()

    def copied(self, name: str = "Copy as curl") -> str:
        """What a button copies."""
        self.press(name)
        text: str = self.page.evaluate("navigator.clipboard.readText()")
        return text

    def tab_to(self, name: str) -> None:
        """Press Tab until the element with this text has the focus."""
        script = "(document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim()"
        for _ in range(60):
            self.page.keyboard.press("Tab")
            if self.page.evaluate(script) == name:
                return
        raise AssertionError(f"Tab does not reach {name}")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    needs("chromium")
    expect.set_options(timeout=20_000)
    # Chromium's sandbox does not run as root.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    path = shutil.which("chromium")
    # Chromium makes a socket in its folder, whose path must be short, as that of TMPDIR may not be.
    with TemporaryDirectory(prefix="chromium-", dir="/tmp") as folder:
        env: dict[str, str | float | bool] = {**os.environ, "HOME": folder, "TMPDIR": folder}
        with sync_playwright() as playwright:
            yield playwright.chromium.launch(executable_path=path, args=arguments, env=env)


def check(page: Page) -> None:
    """What holds for every page, at the end of every test."""
    assert page.evaluate("[reports, localStorage.length]") == [[], 0]
    text = page.evaluate("document.documentElement.innerText")
    assert TOKEN not in text.replace(f"${{STUB_TOKEN:-{TOKEN}}}", "")
    assert TOKEN not in page.url


@contextmanager
def new_context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport=VIEWPORT, reduced_motion="reduce")
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    context.add_init_script(
        "window.reports = [];"
        "addEventListener('securitypolicyviolation', (event) => reports.push(event.blockedURI))"
    )
    sent: list[tuple[str, dict[str, str]]] = []
    errors: list[object] = []
    context.on("request", lambda request: sent.append((request.url, request.headers)))
    context.on("weberror", lambda error: errors.append(error.error))
    yield context
    for page in context.pages:
        check(page)
    assert context.cookies() == []
    assert errors == []
    for url, headers in sent:
        assert urlsplit(url).hostname == "127.0.0.1"
        assert TOKEN not in url
        assert [headers.get(name, "") for name in ("cookie", "referer")] == ["", ""]
    context.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A context for a test that opens pages itself, or stops their clock."""
    with new_context(browser) as context:
        yield context


@pytest.fixture(scope="session")
def shared_page(browser: Browser) -> Iterator[Page]:
    """Loading a page takes as long as most tests, so they share one."""
    with new_context(browser) as context:
        yield context.new_page()


@pytest.fixture
def page(shared_page: Page) -> Iterator[Page]:
    """The shared page, for a test with a server of its own, which has an origin of its own."""
    shared_page.mouse.move(1, 1)
    yield shared_page
    check(shared_page)


@pytest.fixture
def console(page: Page, live_url: str, own_token: str) -> Console:
    """The console with a world that no other test uses."""
    console = Console(page, live_url, own_token)
    console.visit()
    page.evaluate(AS_LOADED)
    return console
