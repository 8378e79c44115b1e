"""The page as a whole: token and world, keys, a small screen, a server that is gone, safety."""

import json
import re
import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.conftest import make_stub
from tests.console.conftest import Console, expect
from tests.live import serving
from tests.wire import call, free_port

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.xdist_group("console")]

SECRET = "s3cret+to/ken=="


@pytest.fixture
def secret_console(page: "Page") -> Iterator[Console]:
    """The page of a stub with two tokens, neither of which is the default one."""
    with serving(make_stub(tokens=[SECRET, "two"])) as port:
        yield Console(page, f"http://127.0.0.1:{port}", SECRET)


def test_a_token_typed_or_of_the_fragment_is_kept_by_the_tab_alone(secret_console: Console) -> None:
    console, page = secret_console, secret_console.page
    token = console.field("Token")
    page.goto(console.url)
    expect(console.alert).to_contain_text("The token is rejected.")
    expect(token).to_have_accessible_description(re.compile("is rejected"))
    expect(console.status).to_have_text("Not connected")
    token.fill("two.job-1")
    console.press("Connect")
    expect(console.status).to_have_text("Connected")
    expect(token).to_have_value("")
    expect(console.field("World")).to_have_value("job-1")
    page.goto(f"{console.url}/#token={SECRET}&world=job-42")
    expect(console.status).to_have_text("Connected")
    page.reload()
    expect(console.status).to_have_text("Connected")
    expect(console.field("World")).to_have_value("job-42")
    assert page.url == f"{console.url}/"
    assert SECRET not in page.content()
    other = page.context.new_page()
    other.goto(console.url)
    expect(other.get_by_role("alert")).to_contain_text("The token is rejected.")
    other.close()


def test_an_empty_field_is_the_default_token_after_a_rejected_one(console: Console) -> None:
    console.field("Token").fill("wrong")
    console.press("Connect")
    expect(console.alert).to_contain_text("The token is rejected.")
    console.press("Connect")
    expect(console.status).to_have_text("Connected")


def test_worlds_are_listed_chosen_and_apart(secret_console: Console) -> None:
    console, page = secret_console, secret_console.page
    call(console.url, "/v1/projects", body=b'{"name": "of-5"}', token=f"{SECRET}.job-5")
    call(console.url, "/v1/projects", body=b'{"name": "of-main"}', token=SECRET)
    page.goto(f"{console.url}/#token={SECRET}")
    console.press("Requests of of-main")
    console.press("All worlds")
    worlds = page.locator("#worlds").get_by_role("button")
    expect(worlds).to_have_text(["main 1 project 1 request", "job-5 1 project 1 request"])
    worlds.last.click()
    world = console.field("World")
    expect(world).to_have_value("job-5")
    expect(console.project_rows).to_contain_text("of-5")
    expect(page.get_by_role("button", name="Remove the filter")).to_have_count(0)
    used: set[str | None] = set()
    page.on("request", lambda each: used.add(each.headers.get("authorization")))
    world.press_sequentially("-more")
    world.fill("main")
    world.press("Enter")
    expect(console.project_rows).to_contain_text("of-main")
    assert used <= {f"Bearer {SECRET}.job-5", f"Bearer {SECRET}"}  # no world of each letter
    expect(world).to_have_value("")
    world.fill("new")
    world.press("Enter")
    commands = page.get_by_role("group", name="Command")  # which make something of what is empty
    expect(commands).to_contain_text(["-d", "/v1/projects"])
    console.projects.get_by_role("button", name="Copy command").click()
    command = page.evaluate("navigator.clipboard.readText()")
    assert '"Authorization: Bearer $STUB_TOKEN.new"' in command
    environment = {"PATH": "/usr/bin:/bin", "STUB_TOKEN": SECRET}
    subprocess.run(["sh", "-ec", f"{command} -sfo /dev/null"], env=environment, check=True)
    expect(console.project_rows).to_contain_text("shop")


def test_a_phone_folds_the_connection_and_shows_a_request_alone(console: Console) -> None:
    page, world, fold = console.page, console.field("World"), console.page.locator("#fold")
    console.send("/v1/deployments/a")
    console.rows.first.click()
    link = console.copied("Copy link")
    assert link == f"{console.url}/#world={console.world}&request=1"
    console.press("Close")
    expect(fold).to_be_hidden()
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(link)
    expect(console.title).to_have_text("404 GET /v1/deployments/a")
    expect(console.title).to_be_focused()
    expect(fold).to_contain_text(f"World {console.world}")
    expect(world).to_be_hidden()
    console.press("Close")
    fold.click()
    world.fill("a.")
    world.press("Enter")
    fold.click()
    expect(world).to_be_visible()  # since it is invalid


FOCUSED = [  # what has the focus after a key
    ("ArrowDown", "billing"),
    ("Tab", "dpl_building"),
    ("End", "dpl_succeeded"),
    ("?", "Help"),
    ("Escape", "dpl_succeeded"),
    ("Enter", "dpl_succeeded"),  # which opens its timeline
]
ANNOUNCED = ["Paused", "New requests are shown again"]


def test_the_keyboard_alone_is_enough(console: Console) -> None:
    page, keyboard = console.page, console.page.keyboard
    console.button("Requests of search").focus()
    for key, focused in FOCUSED:
        keyboard.press(key)
        expect(page.locator(":focus")).to_have_text(focused)
    expect(console.title).to_have_text("dpl_succeeded")
    for announced in ANNOUNCED:
        keyboard.press("p")
        expect(console.announced).to_have_text(announced)
    page.get_by_role("tab", name="Controls").focus()
    keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Coverage", selected=True)).to_be_focused()
    tip = page.get_by_role("tooltip").filter(has_text="A status that the contract declares")
    keyboard.press("Tab")
    keyboard.press("Tab")
    expect(tip).to_be_visible()
    keyboard.press("Escape")
    expect(tip).to_be_hidden()
    keyboard.press("/")
    keyboard.type("p?/")
    expect(console.filter).to_have_value("p?/")
    expect(console.announced).to_have_text("0 requests match the filter")


AXE = "(part) => axe.run(part, {resultTypes: ['violations']}).then((all) => all.violations)"


def test_axe_finds_no_violation(console: Console) -> None:
    from axe_playwright_python.base import AXE_SCRIPT, AxeResults

    page = console.page
    page.emulate_media(color_scheme="dark")
    page.evaluate(AXE_SCRIPT)
    console.send("/v1/projects", body=b'{"name": "shop", "team": 1}')
    console.send("/_stub/faults", body=b'{"status": 503}')
    console.send("/v1/nowhere")
    console.press("Create project", "Pause")
    console.tab("Coverage").get_by_role("button", name="body member team").click()
    console.rows.first.click()
    found = page.evaluate(AXE, "body")
    for tab in ("Contract", "Controls"):
        console.tab(tab)
        found += page.evaluate(AXE, "#rail")
    console.press("Timeline of dpl_queued")
    found += page.evaluate(AXE, "#inspector")
    console.press("Help")
    found += page.evaluate(AXE, "dialog")
    assert found == [], AxeResults({"violations": found}).generate_report()
    console.press("Close help")
    page.emulate_media(color_scheme="light")


ODD_NAMES = {
    "\u202egnp.exe": "⟨U+202E⟩gnp.exe",
    "a\u2028b\u00a0c": "a⟨U+2028⟩b⟨U+00A0⟩c",
    "pay\u200bments\u3164": "pay⟨U+200B⟩ments⟨U+3164⟩",
    "👩\u200d🚀 ❤\ufe0f é": "👩\u200d🚀 ❤\ufe0f é",
    "<script>alert(2)</script>&lt;b&gt;": "<script>alert(2)</script>&lt;b&gt;",
}


def test_what_a_client_sent_is_visible_text_and_no_script_runs(console: Console) -> None:
    elements = console.page.locator("img, script, b")
    before = elements.count()
    for name in ODD_NAMES:
        console.send("/v1/projects", body=json.dumps({"name": name}).encode())
    expect(console.project_rows).to_have_count(3 + len(ODD_NAMES))
    shown = console.project_rows.locator(".name").all_text_contents()
    assert shown[: len(ODD_NAMES)] == [*ODD_NAMES.values()][::-1]
    console.send("/v1/%3Cimg%20src=x%20onerror=alert(3)%3E?%3Cb%3E=1")
    expect(console.rows.first).to_contain_text("/v1/<img src=x onerror=alert(3)>")
    console.send("/v1/projects", body=b"<b>\x15\x1b[2J\xe2\x80\xae")
    console.rows.filter(has_text="malformed_json").click()
    expect(console.tab("Request")).to_contain_text("<b>␕␛[2J⟨U+202E⟩")
    assert elements.count() == before


HIDE = """(value) => {
    Object.defineProperty(document, "hidden", {value, configurable: true});
    document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_the_page_polls_once_a_second_while_it_is_visible(browser: "Browser") -> None:
    polls: list[str] = []
    page = browser.new_context().new_page()
    page.on("request", lambda each: polls.extend(re.findall("console$", each.url)))
    page.clock.install(time=0)
    page.clock.pause_at(1)  # from here on its timers wait for run_for()
    with serving(make_stub()) as port:
        console = Console(page, f"http://127.0.0.1:{port}")
        call(console.url, "/v1/projects")
        console.visit()
        call(console.url, "/v1/projects")
        page.clock.run_for(999)
        assert len(polls) == 1
        page.clock.run_for(1)
        expect(console.rows).to_have_count(2)
        expect(console.announced).to_have_text("")  # soon after the start
        page.clock.run_for(5000)
        expect(console.announced).to_have_text("1 new request")  # not the one that it found
        page.evaluate(HIDE, True)
        polls.clear()
        page.clock.run_for(60_000)
        assert polls == []
        page.route("**/_stub/*", lambda route: None)  # from here on the server hangs
        with page.expect_request("**/_stub/console"):
            page.evaluate(HIDE, False)
        page.clock.run_for(9999)
        expect(console.status).to_have_text("Connected")
        page.clock.run_for(1)
        expect(console.status).to_have_text("Not connected")
    page.context.close()


def test_a_server_that_is_gone_or_starts_anew_leaves_no_stale_rows(page: "Page") -> None:
    port = free_port()
    console = Console(page, f"http://127.0.0.1:{port}")
    error = page.get_by_role("region", name="Controls").get_by_role("alert")
    with serving(make_stub(), port=port):
        console.visit()
        console.send("/v1/projects", body=b'{"name": "old"}')
        expect(console.rows).to_contain_text("old")
    expect(console.alert.last).to_contain_text("The server does not respond.")
    expect(console.alert.last).to_contain_text(re.compile(r"as it was at \d\d:\d\d:\d\d UTC"))
    console.press("Advance 10 seconds")
    expect(error).to_contain_text("did not respond")
    with serving(make_stub(), port=port):
        call(console.url, "/v1/projects", body=b'{"name": "new"}')
        expect(console.status).to_have_text("Connected")
        expect(error).to_have_count(0)
        expect(console.rows).to_contain_text("new")
        expect(console.project_rows).to_contain_text("new")
    with serving(make_stub(tokens=["another"]), port=port):
        expect(console.alert).to_contain_text("The token is rejected.")
        expect(page.get_by_role("main")).not_to_contain_text("new")
