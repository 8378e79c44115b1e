"""A browser, Debian's chromium, and a page of the console.

A page polls its world once a second. `look(page)` makes it poll at once, so that a test need not
wait for the next second.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Dialog,
    Locator,
    Page,
    Request,
    ViewportSize,
    WebError,
    expect,
    sync_playwright,
)

from app import create_app
from tests.conftest import SAMPLE_SEED, TOKEN, needs
from tests.live import serving
from tests.wire import Reply, call

PATIENCE = 20_000  # milliseconds
VIEWPORT: ViewportSize = {"width": 1280, "height": 900}
POLL = "**/_stub/console?after=*"

Send = Callable[..., Reply]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    needs("chromium")
    expect.set_options(timeout=PATIENCE)
    # Chromium's sandbox does not run as root.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    # Chromium makes a socket in it, whose path must be short.
    with TemporaryDirectory(prefix="chromium-") as folder:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HOME", folder)
            patch.setenv("TMPDIR", folder)
            playwright = sync_playwright().start()
        try:
            path = shutil.which("chromium")
            browser = playwright.chromium.launch(executable_path=path, args=arguments)
            yield browser
            browser.close()
        finally:
            playwright.stop()


def new_context(browser: Browser) -> BrowserContext:
    context = browser.new_context(viewport=VIEWPORT)
    context.set_default_timeout(PATIENCE)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    context.add_init_script(
        "window.reports = [];"
        "addEventListener('securitypolicyviolation', (event) => reports.push(event.blockedURI))"
    )
    return context


@contextmanager
def checked(context: BrowserContext) -> Iterator[None]:
    """Asserts at the end what holds for every page."""
    requests: list[Request] = []
    faults: list[str] = []  # errors of scripts, and dialogs

    def note_request(request: Request) -> None:
        requests.append(request)

    def note_error(error: WebError) -> None:
        faults.append(str(error.error))

    def note_dialog(dialog: Dialog) -> None:
        faults.append(dialog.message)
        dialog.dismiss()

    context.on("request", note_request)
    context.on("weberror", note_error)
    context.on("dialog", note_dialog)
    yield
    for page in context.pages:
        assert page.evaluate("[reports, localStorage.length]") == [[], 0]
        text = page.evaluate("document.documentElement.innerText")
        assert TOKEN not in text.replace(f"${{STUB_TOKEN:-{TOKEN}}}", "")
        assert TOKEN not in page.url
    assert context.cookies() == []
    assert faults == []
    for request in requests:
        assert urlsplit(request.url).hostname == "127.0.0.1"
        assert TOKEN not in request.url
        assert [request.headers.get(name) or "" for name in ("cookie", "referer")] == ["", ""]
    context.remove_listener("request", note_request)
    context.remove_listener("weberror", note_error)
    context.remove_listener("dialog", note_dialog)


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A context for a test that opens pages itself, or stops their clock."""
    context = new_context(browser)
    with checked(context):
        yield context
    context.close()


@pytest.fixture
def stopped(context: BrowserContext) -> Page:
    """A page whose timers wait for `clock.run_for()`."""
    page = context.new_page()
    page.clock.install(time=0)
    page.clock.pause_at(1)
    return page


@pytest.fixture
def own_url() -> Iterator[str]:
    """The URL of a server of its own, for a test of the main world."""
    with serving(create_app(seed=SAMPLE_SEED, pace=300)) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="session")
def shared_page(browser: Browser) -> Page:
    """A new page takes as long as most tests: they load the console in the same one."""
    return new_context(browser).new_page()


@pytest.fixture
def page(shared_page: Page, live_url: str, own_token: str) -> Iterator[Page]:
    """The console, just loaded, connected to a world that no other test uses."""
    shared_page.mouse.move(1, 1)
    with checked(shared_page.context):
        # If the fragment alone were new, the page would not be loaded anew.
        world = own_token.partition(".")[2]
        visit(shared_page, f"{live_url}/?{world}#world={world}")
        yield shared_page


@pytest.fixture
def send(page: Page, live_url: str, own_token: str) -> Send:
    """Sends requests as a client of the page's world does; the page polls after the last one."""

    def send(*targets: str, token: str = own_token, method: str = "", body: bytes = b"") -> Reply:
        for target in targets:
            reply = call(live_url, target, token=token, method=method, body=body)
        look(page)
        return reply

    return send


def visit(page: Page, url: str) -> None:
    """Open the console and wait until it is connected."""
    with page.expect_response(POLL):
        page.goto(url)
    expect(page.get_by_role("status")).to_have_text("Connected")


def poll_now(page: Page) -> None:
    """What happens in the page when the network comes back: it polls."""
    page.evaluate("dispatchEvent(new Event('online'))")


def hide(page: Page, is_hidden: bool) -> None:
    page.evaluate(
        "(value) => { Object.defineProperty(document, 'hidden', {value, configurable: true});"
        "document.dispatchEvent(new Event('visibilitychange')); }",
        is_hidden,
    )


def look(page: Page) -> None:
    """Let the page poll now, and wait until it has the response."""
    with page.expect_request_finished(lambda request: "/_stub/console?after=" in request.url):
        poll_now(page)


def region(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


def rows(page: Page, name: str) -> Locator:
    """The rows of a region's table, without its head."""
    return region(page, name).locator("tbody").get_by_role("row")


def open_tab(page: Page, name: str) -> Locator:
    """Select a tab of the rail, and return its region."""
    page.get_by_role("tab", name=name, exact=True).click()
    return region(page, name)


def open_part(page: Page, name: str) -> Locator:
    """Select a tab of the inspector, and return what it shows."""
    page.get_by_role("tab", name=name, exact=True).click()
    return page.get_by_role("tabpanel", name=name, exact=True)


def inspector(page: Page) -> Locator:
    return page.get_by_role("complementary")


def announced(page: Page) -> Locator:
    return page.locator("#console > [aria-live=polite]")


def filter_by(page: Page, words: str) -> None:
    page.get_by_role("searchbox", name="Filter").fill(words)


def focused(page: Page) -> str:
    """The name of the element that has the focus."""
    script = "document.activeElement.ariaLabel ?? document.activeElement.textContent.trim()"
    name: str = page.evaluate(f"document.activeElement === document.body ? 'body' : {script}")
    return name


def tab_to(page: Page, name: str) -> None:
    """Press Tab until the element of that name has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        found = page.evaluate(
            "(document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim()"
        )
        if found == name:
            return
    raise AssertionError(f"Tab does not reach {name}")


def copied(page: Page, name: str = "Copy as curl", part: Locator | None = None) -> str:
    """What a button copies."""
    (part or page).get_by_role("button", name=name, exact=True).click()
    text: str = page.evaluate("navigator.clipboard.readText()")
    return text


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()
