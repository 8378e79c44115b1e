"""A browser, Debian's chromium, and a page of the console."""

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright

from tests.conftest import TOKEN, program
from tests.wire import call

CHROMIUM = shutil.which("chromium")
PATIENCE = 10_000  # milliseconds

Send = Callable[..., Any]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None or shutil.which("curl") is None:
        pytest.skip("needs chromium and curl: apt-get install chromium curl")
    expect.set_options(timeout=PATIENCE)
    # Chromium's sandbox does not run as root.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A context of its own, which asserts at the end what holds for every page."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    context.add_init_script(
        "window.reports = [];"
        "addEventListener('securitypolicyviolation', (event) => reports.push(event.blockedURI))"
    )
    requested: list[tuple[str, dict[str, str]]] = []
    context.on("request", lambda request: requested.append((request.url, request.headers)))
    errors: list[str] = []
    context.on("weberror", lambda error: errors.append(str(error.error)))
    yield context
    for page in context.pages:
        assert page.evaluate("reports") == []
        assert page.evaluate("localStorage.length") == 0
        assert TOKEN not in page.evaluate("document.documentElement.innerText")
        assert TOKEN not in page.url
    assert context.cookies() == []
    assert errors == []
    assert {urlsplit(url).hostname for url, _ in requested} <= {"127.0.0.1"}
    assert not [url for url, _ in requested if TOKEN in url]
    for _, headers in requested:
        assert not headers.get("cookie")
        assert not headers.get("referer")
    context.close()


@pytest.fixture
def url() -> Iterator[str]:
    """The URL of a running program."""
    with program("--pace", "300") as (_, url):
        yield url


@pytest.fixture
def page(context: BrowserContext, url: str) -> Page:
    """The console, connected."""
    page = context.new_page()
    page.goto(url)
    expect(page.get_by_role("status")).to_have_text("Connected")
    return page


@pytest.fixture
def send(url: str) -> Send:
    """Sends a request as a client does."""
    return lambda target, **more: call(url, target, **more)


def region(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


def rows(page: Page, name: str) -> Locator:
    """The rows of a region's table, without its head."""
    return region(page, name).locator("tbody").get_by_role("row")


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()
